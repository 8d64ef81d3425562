"""Search: how far a queue was looked through for a message that can be fetched."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Protocol

from .entry import FEW, place_of
from .faults import Postponed
from .states import State

if TYPE_CHECKING:
    from .content import Filter
    from .entry import Entry
    from .queue import Queue

_AVAILABLE: Final = State.AVAILABLE


class Budget(Protocol):
    """The part of `Ledger` that counts the work of a turn."""

    room: int

    @property
    def is_spent(self) -> bool: ...


class Search:
    """A place in a queue, by level: up to there no message can be fetched.

    An owner's, where others hold groups, counts while `regrouped` is that of the queue. A queue's own, for a filter,
    goes on for good: it learns of each message that comes back.
    """

    __slots__ = ("_again", "_places", "cursors", "filter", "queue", "regrouped")

    def __init__(self, queue: Queue, filter: Filter | None) -> None:
        self.queue = queue
        """The one that was looked at."""
        self.filter = filter
        """Accepts the messages that are looked for; None: all are."""
        self.regrouped = queue.regrouped
        """`Queue.regrouped` at that time: with another value an owner's look begins anew."""
        self.cursors = [-1] * (queue.levels_high + 1)
        """By level of priority, the position up to which nothing can be taken."""
        self._again: dict[tuple[int, int], Entry] = {}
        """Messages up to there that have come back since, by their place; some may be gone again."""
        self._places: list[tuple[int, int]] = []
        """These places, as a heap."""

    def is_passed_by(self, entry: Entry) -> None:
        """Look again at a message that has come back."""
        place = place_of(entry)
        if entry.position <= self.cursors[entry.priority] and place not in self._again:
            self._again[place] = entry
            heappush(self._places, place)
            if len(self._again) > 2 * self.queue.ready + FEW:
                self._again = {place: each for place, each in self._again.items() if each.state is _AVAILABLE}
                self._places = list(self._again)
                heapify(self._places)

    def first(self, ledger: Budget) -> Entry | None:
        """Return the first available message that the filter accepts. Raises Postponed where the turn's budget is
        spent: the next call goes on from there."""
        back = self._first_back()
        for entry in self.queue.unseen(self.cursors):
            if back is not None and place_of(back) < place_of(entry):
                return back
            if self.filter is None or self.filter.accepts(entry.message):
                return entry
            self.pay(ledger, entry)
        return back

    def pay(self, ledger: Budget, entry: Entry) -> None:
        """Count the look at a message that can't be taken. Raises Postponed."""
        ledger.room -= 1 if self.filter is None else self.filter.cost
        if ledger.room <= 0 and ledger.is_spent:
            self.cursors[entry.priority] = entry.position
            raise Postponed

    def _first_back(self) -> Entry | None:
        """The first of those that have come back."""
        places = self._places
        while places:
            entry = self._again[places[0]]
            if entry.state is _AVAILABLE and (self.filter is None or self.filter.accepts(entry.message)):
                return entry
            del self._again[heappop(places)]
        return None
