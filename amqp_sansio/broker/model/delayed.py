"""Messages that wait to be routed: those with a delay, in the order in which their time comes."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .commands import Publish
    from .content import Message

DELAY: Final = "x-delay"
"""The header with the milliseconds for which an exchange of type "x-delayed-message" holds a message."""
_LONGEST: Final = (1 << 32) - 1


class Waiting(NamedTuple):
    """A message with its publish; `due` is in seconds of the broker's clock, `number` keeps the order of equal ones."""

    due: float
    number: int
    command: Publish
    message: Message


class Delayed:
    """The messages that wait."""

    __slots__ = ("_heap",)

    def __init__(self) -> None:
        self._heap: list[Waiting] = []
        """The one whose time comes first is first."""

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def next_deadline(self) -> float | None:
        """When the next one is due; None: there is none."""
        return self._heap[0].due if self._heap else None

    def add(self, waiting: Waiting) -> None:
        """Let a message wait."""
        heappush(self._heap, waiting)

    def take(self, now: float) -> Waiting | None:
        """Return the next one that is due, which waits no more; None: there is none."""
        return heappop(self._heap) if self._heap and self._heap[0].due <= now else None

    def drop_transient(self) -> list[Waiting]:
        """Remove and return those that don't survive a restart."""
        gone = [each for each in self._heap if not each.message.content.persistent]
        if gone:
            self._heap = [each for each in self._heap if each.message.content.persistent]
            heapify(self._heap)
        return gone


def delay_of(headers: Mapping[str, Any]) -> float:
    """Return the seconds in a message's headers; 0 for none, and for what is no delay."""
    value = headers.get(DELAY)
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        return 0.0
    return min(value, _LONGEST) / 1000


__all__ = ["DELAY", "Delayed", "Waiting", "delay_of"]
