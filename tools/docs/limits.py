"""docs/limits.md: every bound of the core, its default, and its consequence."""

from __future__ import annotations

import inspect
import sys
from typing import Final

from amqp_sansio import Limits
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.client.settings import ANSWER_TIMEOUT, OUTCOME_TIMEOUT
from tools.docs.pages import run

_OCTETS = frozenset(
    {"unparsed", "message", "bodies", "header", "backlog_high", "backlog_low", "backlog_hard"}
    | {"in_doubt_octets", "replay_octets", "transaction_octets", "memory_high", "memory_low", "topology", "login"}
)

POLICY: Final = {
    "deadline": "seconds of one recovery: then it is given up",
    "attempts": "attempts of one recovery: then it is given up",
    "first_delay": "seconds before the first attempt",
    "factor": "how much later each round of attempts comes",
    "ceiling": "seconds between two rounds",
    "jitter": "the part by which a delay may be shorter",
    "steady": "seconds: a connection that dies earlier counts as one more attempt",
    "patience": "seconds for which everybody waits for what somebody else holds",
    "tries": "connections with which one message may be lost: then it is reported",
    "redirects": "redirects of a server of 1.0 that are followed in a row",
    "in_doubt_octets": "octets of messages that might be sent again: above it publishes wait",
    "remembered": "messages without confirms that a loss reports: older ones are forgotten",
    "declared": "exchanges, queues and bindings that are declared again: temporary and old ones are forgotten",
}
"""The bounds of `RecoveryPolicy`."""


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
        "\n\n".join([" ".join(part.split()) for part in _paragraphs(BrokerLimits)[2:]]),
        "",
        "## The client",
        "",
        "`connect(..., recover=RecoveryPolicy(...))` bounds what is tried again, and what is kept for it; None is no "
        f"bound. Each wait for an answer takes {ANSWER_TIMEOUT:g} seconds at most (`answer_timeout`), each for what "
        f"becomes of a message {OUTCOME_TIMEOUT:g} (`outcome_timeout`).",
        "",
        "| field | default | what it bounds |",
        "|---|---|---|",
        *[f"| `{name}` | {_default(name)} | {text} |" for name, text in POLICY.items()],
    ]
    return "\n".join(lines) + "\n"


def _paragraphs(of: type[Limits | BrokerLimits]) -> list[str]:
    return inspect.cleandoc(of.__doc__ or "").split("\n\n")


def _table(limits: Limits | BrokerLimits) -> list[str]:
    texts = rows(type(limits))
    return [
        "| field | default | at the limit |",
        "|---|---|---|",
        *[f"| `{name}` | {_amount(name, getattr(limits, name))} | {texts[name]} |" for name in limits.__match_args__],
    ]


def _default(name: str) -> str:
    value = getattr(RecoveryPolicy(), name)
    if value is None or isinstance(value, float):
        return f"{value}" if value is None else f"{value:g}"
    return _amount(name, value)


def _amount(name: str, value: int) -> str:
    if name not in _OCTETS:
        return f"{value:,}"
    return f"{value // 1024**2:,} MiB" if value % 1024**2 == 0 else f"{value // 1024:,} KiB"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the page; return the exit status."""
    return run("limits.md", page, arguments)


if __name__ == "__main__":
    sys.exit(main())
