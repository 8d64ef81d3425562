"""Entry: a message in a queue, with its state there, and its place in the order of delivery."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .states import State

if TYPE_CHECKING:
    from collections.abc import Hashable

    from .consumer import Consumer
    from .content import Message
    from .owner import Owner, Transaction
    from .queue import Hold, Queue

_AVAILABLE: Final = State.AVAILABLE
FEW: Final = 64
"""Stale entries that may remain in excess of the live ones."""


class Entry:
    """A message in a queue, with its state there."""

    __slots__ = (
        "consumer",
        "delivery_count",
        "excluded",
        "expires",
        "group",
        "hold",
        "key",
        "linked",
        "message",
        "owner",
        "position",
        "priority",
        "queue",
        "redelivered",
        "state",
        "transaction",
    )

    def __init__(self, message: Message, queue: Queue, position: int, priority: int, expires: float | None) -> None:
        self.message = message
        """Shared with the other queues that hold it."""
        self.queue = queue
        """Where it is; an entry never moves to another."""
        self.position = position
        """The order in which messages entered the queue; one that returns keeps it."""
        self.priority = priority
        """The level that it waits in."""
        self.expires = expires
        """When it expires, in seconds; None: never."""
        self.state = _AVAILABLE
        """A row of the table MESSAGE."""
        self.redelivered = False
        """Whether it may have been delivered before."""
        self.delivery_count = 0
        """The number of deliveries that have failed."""
        self.linked = True
        """Whether it stands in its level, where an acquired one may stay for the case that it comes back."""
        self.owner: Owner | None = None
        """The holder while it is acquired."""
        self.consumer: Consumer | None = None
        """The one of that owner that it was delivered to; None after a get or an acquire by name."""
        self.transaction: Transaction | None = None
        """The open one that settles it."""
        self.excluded: tuple[tuple[int, str], ...] = ()
        """The `Consumer.place` of each consumer that may not receive it again (1.0 undeliverable-here)."""
        self.key: Hashable = None
        """Its value in a last-value queue."""
        self.group: Hashable = None
        """Its message group."""
        self.hold: Hold | None = None
        """The group's holder while that has the message."""

    def __repr__(self) -> str:
        return f"<Entry {self.position} of {self.queue.name!r}, {self.state.value}>"


def position_of(entry: Entry) -> int:
    return entry.position


def place_of(entry: Entry) -> tuple[int, int]:
    """The place of a message in the order of delivery."""
    return -entry.priority, entry.position
