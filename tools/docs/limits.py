"""docs/limits.md: every bound of the core, its default, and its consequence."""

from __future__ import annotations

import inspect
import sys

from amqp_sansio import Limits
from amqp_sansio.broker import BrokerLimits
from tools.docs.pages import run

_OCTETS = frozenset(
    {"unparsed", "message", "bodies", "header", "backlog_high", "backlog_low", "backlog_hard"}
    | {"replay_octets", "transaction_octets", "memory_high", "memory_low", "login"}
)


def rows(of: type[Limits | BrokerLimits] = Limits) -> dict[str, str]:
    """Return the description of each field in the docstring of a record of limits."""
    found: dict[str, str] = {}
    for line in inspect.cleandoc(of.__doc__ or "").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 2 and cells[0].startswith("`"):
            for name in cells[0].split(","):
                found[name.strip().strip("`")] = cells[1]
    return found


def page() -> str:
    """Return the whole page."""
    lines = [
        "# Limits",
        "",
        "Written by `python -m tools.docs.limits` from `amqp_sansio.Limits`; a test compares the two.",
        "",
        "An endpoint or observer never holds more than these bounds allow, whatever its peer sends. "
        "Each check comes before the octets are stored. `Config(limits=Limits(message=1024 * 1024))` changes a bound.",
        "",
        *_table(Limits()),
        "",
        " ".join(inspect.cleandoc(Limits.__doc__ or "").split("\n\n")[1].split()),
        "",
        "## The broker",
        "",
        "`amqp_sansio.broker.BrokerLimits`: bounds of the model, `Settings(limits=...)`; each connection to it has "
        "the bounds above, `Settings(connection_limits=...)`.",
        "",
        *_table(BrokerLimits()),
        "",
        " ".join(inspect.cleandoc(BrokerLimits.__doc__ or "").split("\n\n")[-1].split()),
    ]
    return "\n".join(lines) + "\n"


def _table(limits: Limits | BrokerLimits) -> list[str]:
    texts = rows(type(limits))
    return [
        "| field | default | at the limit |",
        "|---|---|---|",
        *[f"| `{name}` | {_amount(name, getattr(limits, name))} | {texts[name]} |" for name in limits.__match_args__],
    ]


def _amount(name: str, value: int) -> str:
    if name not in _OCTETS:
        return f"{value:,}"
    return f"{value // 1024**2:,} MiB" if value % 1024**2 == 0 else f"{value // 1024:,} KiB"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    return run("limits.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
