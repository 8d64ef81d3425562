"""Messages that come back to a queue whose consumers have declined messages before.

A consumer remembers by position what it has declined (`Consumer.passed`), so it has to hear of a message that comes
back below that. Telling each consumer would make a release as dear as there are consumers. In place of that the returns
are numbered: a message is judged again by a consumer whose `learned` is below the number of its last return.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import Final, Generic, Protocol, TypeVar

from .states import State

_AVAILABLE: Final = State.AVAILABLE
_FEW: Final = 64
"""Returns of messages that have left that may be kept in excess of the live ones."""


class Returning(Protocol):
    """The attributes of an entry of a queue that `Returns` reads."""

    position: int
    priority: int
    state: State


E = TypeVar("E", bound=Returning)


class Returns(Generic[E]):
    """The returns to one queue, in their order.

    Between calls: `_numbers` has the last return of each message in `_returned`; the pairs in each list of `_lows`
    ascend in both parts.
    """

    __slots__ = ("_lows", "_numbers", "_returned", "last")

    def __init__(self) -> None:
        self.last = 0
        """The number of the last return."""
        self._returned: list[tuple[int, E]] = []
        """The number of each return and its message; some have left or come back once more since."""
        self._numbers: dict[E, int] = {}
        """The number of each message's last return."""
        self._lows: dict[int, list[tuple[int, int]]] = {}
        """By level, numbers and positions: from each number on nothing has come back before its position."""

    def add(self, entry: E, ready: int) -> None:
        """Number the return of a message, which is available again; `ready` are in the queue."""
        self.last += 1
        self._append(self.last, entry)
        if len(self._returned) > 2 * ready + _FEW:
            self._thin_out()

    def number_of(self, entry: E) -> int:
        """Return the number of a message's last return; 0: it never came back."""
        return self._numbers.get(entry, 0)

    def lowest(self, level: int, learned: int) -> int | None:
        """Return a position in a level before which nothing has come back after the return of that number; None:
        nothing has."""
        lows = self._lows.get(level)
        if lows is None:
            return None
        at = bisect_left(lows, (learned + 1, -1))
        return lows[at][1] if at < len(lows) else None

    def learn(self, learned: int, passed: dict[int, int], declined: dict[E, int]) -> int:
        """Return the number up to which a consumer knows all returns, from the one up to which it did.

        It knows those of messages that have left, of those that it hasn't come to (`passed`), and of those in
        `declined`, which are taken out there.
        """
        returned = self._returned
        for at in range(bisect_left(returned, (learned + 1,)), len(returned)):
            number, entry = returned[at]
            is_last = self._numbers.get(entry) == number
            if is_last and entry.state is _AVAILABLE and entry.position <= passed.get(entry.priority, -1):
                if declined.get(entry) != number:
                    return learned
                del declined[entry]
            learned = number
        return learned

    def _append(self, number: int, entry: E) -> None:
        self._returned.append((number, entry))
        self._numbers[entry] = number
        lows = self._lows.setdefault(entry.priority, [])
        while lows and lows[-1][1] >= entry.position:
            lows.pop()
        lows.append((number, entry.position))

    def _thin_out(self) -> None:
        """Forget the returns of messages that aren't there any more."""
        numbers = self._numbers
        kept = [each for each in self._returned if each[1].state is _AVAILABLE and numbers[each[1]] == each[0]]
        self._returned = []
        self._numbers = {}
        self._lows = {}
        for number, entry in kept:
            self._append(number, entry)
