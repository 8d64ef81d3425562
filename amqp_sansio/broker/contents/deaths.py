"""The history of a dead-lettered message in its headers: RabbitMQ's "x-death" (0-8, 0-9-1 and 0-10).

It is an array of tables, the last death first: `count`, `reason`, `queue`, `time`, `exchange`, `routing-keys`, and
`original-expiration` if a time to live was removed from the message.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from ..model.content import Death

DEATH: Final = "x-death"
FIRST: Final = "x-first-death-"
LAST: Final = "x-last-death-"
KEPT: Final = ("reason", "queue", "exchange")
"""Fields of the first and of the last death that have a header of their own."""

FIRSTS: Final = tuple([FIRST + name for name in KEPT])
"""The headers that are written once and never changed."""

Expirations: TypeAlias = dict[tuple[str, str], str]
"""By queue and reason of a death, the time to live before it, as text of milliseconds."""


def listed(value: Any) -> list[Any]:
    """Return the elements of an array, or the values of a table that represents one. Anything else has none."""
    table = _table(value)
    if table is not None:
        return list(table.values())
    elements: Any = value
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return list(elements)
    return []


def read_death(entry: Any, time: str = "time", per_second: int = 1, separator: str = "-") -> Death | None:
    """Return the death in an entry; None for an invalid one."""
    table = _table(entry)
    if table is None:
        return None
    queue, reason, exchange = table.get("queue"), table.get("reason"), table.get("exchange", "")
    count: Any = table.get("count")
    moment: Any = table.get(time, 0)
    keys = listed(table.get(f"routing{separator}keys"))
    if not all([isinstance(text, str) for text in (queue, reason, exchange, *keys)]):
        return None
    if not _is_number(count) or not _is_number(moment):
        return None
    routing_keys = tuple([str(key) for key in keys])
    return Death(str(queue), str(reason), int(count), str(exchange), routing_keys, moment / per_second)


def _table(value: Any) -> Mapping[Any, Any] | None:
    found: Any = value
    return found if isinstance(value, Mapping) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def read_deaths(value: Any, separator: str = "-") -> tuple[Death, ...]:
    """Return all deaths in "x-death", without invalid entries."""
    found = [read_death(entry, separator=separator) for entry in listed(value)]
    return tuple([death for death in found if death is not None])


def read_expirations(value: Any, separator: str = "-") -> Expirations:
    """Return the times to live in "x-death"."""
    found: Expirations = {}
    for entry in listed(value):
        death = read_death(entry, separator=separator)
        if death is not None:
            text = entry.get(f"original{separator}expiration")
            if isinstance(text, str):
                found[death.queue, death.reason] = text
    return found


def add_expiration(known: Expirations, deaths: Sequence[Death], text: str | None) -> Expirations:
    """Add the time to live at a message's last death, unless an earlier death for this reason had one."""
    if text is None or not deaths:
        return known
    key = (deaths[0].queue, deaths[0].reason)
    return known if key in known else {**known, key: text}


def write_deaths(deaths: Iterable[Death], expirations: Expirations) -> list[dict[str, Any]]:
    """Return the entries of "x-death", with plain values; `time` is a whole number of seconds."""
    found: list[dict[str, Any]] = []
    for death in deaths:
        entry: dict[str, Any] = {
            "count": death.count,
            "reason": death.reason,
            "queue": death.queue,
            "time": int(death.time),
            "exchange": death.exchange,
            "routing-keys": list(death.routing_keys),
        }
        text = expirations.get((death.queue, death.reason))
        if text is not None:
            entry["original-expiration"] = text
        found.append(entry)
    return found


def headers_of(deaths: Sequence[Death], entries: Any, known: Container[str]) -> dict[str, Any]:
    """Return all headers about deaths: "x-first-death-queue" and so on, unless they are `known`, "x-death" with
    `entries`, and "x-last-death-queue" and so on."""
    found: dict[str, Any] = {}
    for prefix, death in ((FIRST, deaths[-1:]), (LAST, deaths[:1])):
        if prefix is LAST:
            found[DEATH] = entries
        for each in death:
            names = [name for name in KEPT if prefix is LAST or FIRST + name not in known]
            found.update({prefix + name: getattr(each, name) for name in names})
    return found


__all__ = [
    "DEATH",
    "FIRST",
    "FIRSTS",
    "KEPT",
    "LAST",
    "Expirations",
    "add_expiration",
    "headers_of",
    "listed",
    "read_death",
    "read_deaths",
    "read_expirations",
    "write_deaths",
]
