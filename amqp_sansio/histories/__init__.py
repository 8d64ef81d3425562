"""Message histories: the steps of a message on all the connections that it moved on.

`histories` joins rows of the table `messages` across connections and versions; `fold_topology` reads from `events` the
exchanges, queues and bindings that clients created, which helps the join; `steps_of` does both from the rows of
`amqp_sansio.tables`. docs/histories.md explains the columns.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._columns import COLUMNS
from ..tables import Row
from .columns import HISTORY_COLUMNS, TOPOLOGY_COLUMNS, Happening, Message, picked
from .matching import Matcher, Step, body_key, histories, order_key
from .topology import EVENTS, Topology, fold_topology


def steps_of(rows: Iterable[Row], *, skew_ns: int = 0) -> list[Step]:
    """Return the histories in rows of `amqp_sansio.tables`, in the order of bodies, histories and steps.

    Rows of `messages` are joined, with the help of those of `events` if there are any; others are skipped. All are held
    in memory.

    >>> steps_of([])
    []
    """
    of_message = picked(Message._fields, COLUMNS["messages"])
    of_event = picked(Happening._fields, COLUMNS["events"])
    event = [name for name, _ in COLUMNS["events"]].index("event")
    messages: list[Message] = []
    happenings: list[Happening] = []
    for table, values in rows:
        if table == "messages":
            messages.append(Message(*[values[index] for index in of_message]))
        elif table == "events" and values[event] in EVENTS:
            happenings.append(Happening(*[values[index] for index in of_event]))
    happenings.sort(key=_in_order)
    topology = Topology(fold_topology(happenings))
    return list(histories(messages, topology, skew_ns=skew_ns))


def _in_order(event: Happening) -> tuple[str, int]:
    return event.connection, event.seq


def as_dict(step: Step) -> dict[str, Any]:
    """Return a step by the names of its columns."""
    return {name: value for (name, _), value in zip(HISTORY_COLUMNS, step, strict=True)}


__all__ = [
    "EVENTS",
    "HISTORY_COLUMNS",
    "TOPOLOGY_COLUMNS",
    "Happening",
    "Matcher",
    "Message",
    "Step",
    "Topology",
    "as_dict",
    "body_key",
    "fold_topology",
    "histories",
    "order_key",
    "picked",
    "steps_of",
]
