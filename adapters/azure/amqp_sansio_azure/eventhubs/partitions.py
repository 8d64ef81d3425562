"""Partition: a log of events that keeps them for a time and up to a size."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.broker.nodes import Refusal

from ..conditions import ARGUMENT_ERROR
from .events import Event
from .positions import ENQUEUED_TIME, LATEST, OFFSET, START, Position

if TYPE_CHECKING:
    from collections.abc import Callable

    from .events import Arrival

NEVER: Final = -62_135_596_800_000
"""When the last event came, in milliseconds of Unix time, as the service says it of a partition that had none."""
_GAP: Final = 1024
"""Removed events at the front of the list from which on that is cut, if they are half of it."""


class Retention(NamedTuple):
    """How long a partition keeps its events, in `seconds`, and how many `octets` of them: the oldest go first."""

    seconds: float = 86_400.0
    octets: int = 64 * 1024 * 1024


class Partition:
    """A partition of an event hub: its events in their order. Times are milliseconds of Unix time."""

    __slots__ = (
        "_events",
        "_front",
        "_octets",
        "id",
        "last_offset",
        "last_time",
        "next_offset",
        "next_sequence",
        "retention",
    )

    def __init__(self, id: str, retention: Retention) -> None:
        self.id = id
        self.retention = retention
        self.next_sequence = 0
        """The sequence number of the next event."""
        self.next_offset = 0
        """The offset of the next event."""
        self.last_offset = START
        """The offset of the last event, "-1" before there was one."""
        self.last_time: int = NEVER
        """When the last event came."""
        self._events: list[Event] = []
        self._front = 0
        self._octets = 0

    def __len__(self) -> int:
        return len(self._events) - self._front

    @property
    def octets(self) -> int:
        """Octets of the events that it keeps."""
        return self._octets

    @property
    def last_sequence(self) -> int:
        """The sequence number of the last event, -1 before there was one."""
        return self.next_sequence - 1

    @property
    def first_sequence(self) -> int:
        """The sequence number of the oldest event that is kept; that of the next event if none is."""
        return self.next_sequence - len(self)

    def append(self, arrival: Arrival, now: int, key: str = "", publisher: str = "") -> Event:
        """Add an event, and remove what is too old or too much."""
        # The clock of a log doesn't go back.
        event = Event(arrival, self.next_sequence, self.next_offset, max(now, self.last_time), key, publisher)
        self._events.append(event)
        self._octets += event.octets
        self.next_sequence += 1
        self.next_offset += event.octets
        self.last_offset = str(event.offset)
        self.last_time = event.enqueued
        self.trim(now)
        return event

    def trim(self, now: int) -> None:
        """Remove events that are older than the retention time, and the oldest ones above the retained size."""
        oldest = now - int(self.retention.seconds * 1000)
        events = self._events
        while self._front < len(events) and (
            events[self._front].enqueued <= oldest or self._octets > self.retention.octets
        ):
            self._octets -= events[self._front].octets
            self._front += 1
        if self._front == len(events):
            events.clear()
            self._front = 0
        elif self._front >= _GAP and self._front * 2 >= len(events):
            del events[: self._front]
            self._front = 0

    def at(self, sequence: int) -> Event | None:
        """Return the event with a sequence number, or the oldest one after it; None if there is none yet."""
        index = self._front + max(0, sequence - self.first_sequence)
        return self._events[index] if index < len(self._events) else None

    def start(self, position: Position) -> int:
        """Return the sequence number with which a receiver begins.

        Raises Refusal (com.microsoft:argument-error) for an offset or sequence number above the last one, as the
        service does. Below the oldest one, it is the oldest.
        """
        if position.kind == OFFSET and position.value == START:
            return self.first_sequence
        if position.kind == OFFSET and position.value == LATEST:
            return self.next_sequence
        number = position.number
        if position.kind == ENQUEUED_TIME:
            found = self._index(number, position.inclusive, _enqueued)
        elif position.kind == OFFSET:
            if number > int(self.last_offset):
                raise Refusal(
                    ARGUMENT_ERROR,
                    f"The supplied offset '{number}' is invalid. The last offset in the system is '{self.last_offset}'",
                )
            found = self._index(number, position.inclusive, _offset)
        else:
            if number > self.last_sequence:
                raise Refusal(
                    ARGUMENT_ERROR,
                    f"The supplied sequence number '{number}' is invalid. The last sequence number in the system is "
                    f"'{self.last_sequence}'",
                )
            return max(self.first_sequence, number if position.inclusive else number + 1)
        return self.first_sequence + found - self._front

    def _index(self, number: int, inclusive: bool, key: Callable[[Event], int]) -> int:
        """Return the place of the first event above a number, or with `inclusive` of the first one that has it."""
        search = bisect_left if inclusive else bisect_right
        return search(self._events, number, lo=self._front, key=key)


def _offset(event: Event) -> int:
    return event.offset


def _enqueued(event: Event) -> int:
    return event.enqueued


__all__ = ["NEVER", "Partition", "Retention"]
