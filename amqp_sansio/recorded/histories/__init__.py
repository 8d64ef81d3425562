"""Message histories: the steps of a message on all the connections that it moved on.

`histories` joins rows of the table `messages` across connections and versions; `fold_topology` reads from `events` the
exchanges, queues and bindings that clients created, which helps the join; `steps_of` does both from the rows of
`amqp_sansio.recorded.tables`. docs/histories.md explains the columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from .._columns import COLUMNS
from ..tables import Row
from .columns import HISTORY_COLUMNS, TOPOLOGY_COLUMNS, Happening, Message, picked
from .matching import Matcher, Step, histories
from .topology import EVENTS, Topology, TopologyFold, fold_topology


def steps_of(rows: Iterable[Row], *, skew_ns: int = 0) -> list[Step]:
    """Return the histories in rows of `amqp_sansio.recorded.tables`, in the order of bodies, histories and steps.

    Rows of `messages` are joined, with the help of those of `events` if there are any; others are skipped. All are held
    in memory.

    >>> steps_of([])
    []
    """
    gathered = Gathered()
    for table, values in rows:
        gathered.add(table, values)
    return list(gathered.steps(gathered.topology(), skew_ns=skew_ns))


class Gathered:
    """The rows of `messages` and `events` that histories and the topology are made of, all of them in memory."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._happenings: list[Happening] = []

    def add(self, table: str, values: tuple[Any, ...]) -> None:
        """Take a whole row of `amqp_sansio.recorded.tables`; those of other tables are skipped."""
        if table == "messages":
            self._messages.append(Message(*[values[place] for place in _OF_MESSAGE]))
        elif table == "events" and values[_EVENT] in EVENTS:
            self._happenings.append(Happening(*[values[place] for place in _OF_EVENT]))

    def topology(self) -> list[tuple[Any, ...]]:
        """Return the rows of the topology (`TOPOLOGY_COLUMNS`)."""
        return list(fold_topology(sorted(self._happenings, key=_in_order)))

    def steps(self, topology: Iterable[tuple[Any, ...]], *, skew_ns: int = 0) -> Iterator[Step]:
        """Yield the histories' steps (`HISTORY_COLUMNS`), as `histories` does, with the rows of the topology."""
        return histories(self._messages, Topology(topology), skew_ns=skew_ns)


def _in_order(event: Happening) -> tuple[str, int]:
    return event.connection, event.seq


def as_dict(step: Step) -> dict[str, Any]:
    """Return a step by the names of its columns."""
    return {name: value for (name, _), value in zip(HISTORY_COLUMNS, step, strict=True)}


_OF_MESSAGE: Final = picked(Message._fields, COLUMNS["messages"])
_OF_EVENT: Final = picked(Happening._fields, COLUMNS["events"])
_EVENT: Final = [name for name, _ in COLUMNS["events"]].index("event")

__all__ = [
    "EVENTS",
    "HISTORY_COLUMNS",
    "TOPOLOGY_COLUMNS",
    "Gathered",
    "Happening",
    "Matcher",
    "Message",
    "Step",
    "Topology",
    "TopologyFold",
    "fold_topology",
    "histories",
    "picked",
    "steps_of",
]
