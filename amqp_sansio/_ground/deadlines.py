"""Deadlines: when many things are due that come and go, such as kept sessions."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import Final, Generic, TypeVar

from .invariants import ensure

_K = TypeVar("_K")

_SPARE: Final = 16
"""Entries that were moved or cleared and are kept, beside as many as there are others."""


class Deadlines(Generic[_K]):
    """One deadline for each of any number of keys, in seconds on the caller's clock."""

    __slots__ = ("_heap", "_serial", "_serials")

    def __init__(self) -> None:
        # Deadline, serial and key, the earliest first. An entry counts only while `_serials` has its serial: a deadline
        # that moves leaves the old entry behind.
        self._heap: list[tuple[float, int, _K]] = []
        # The serial of each key's entry that counts.
        self._serials: dict[_K, int] = {}
        # The last one given out: it never repeats, and orders what is due at one time.
        self._serial = 0

    def set(self, key: _K, deadline: float) -> None:
        """Give `key` a deadline in place of the one that it has."""
        self._serial += 1
        self._serials[key] = self._serial
        heappush(self._heap, (deadline, self._serial, key))
        if len(self._heap) > 2 * len(self._serials) + _SPARE:
            # Else entries that were moved or cleared go only when their time comes.
            self._heap = [each for each in self._heap if self._holds(each)]
            heapify(self._heap)

    def clear(self, key: _K) -> None:
        """Let `key` have no deadline."""
        self._serials.pop(key, None)

    @property
    def first(self) -> _K | None:
        """The key that is due first; of several at one time the one that was set first. None without deadlines."""
        return None if self.next is None else self._heap[0][2]

    @property
    def next(self) -> float | None:
        """The earliest deadline, or None."""
        while self._heap and not self._holds(self._heap[0]):
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def pop_due(self, now: float) -> _K | None:
        """Clear the first deadline that has come, and return its key; None when none has."""
        deadline = self.next
        if deadline is None or deadline > now:
            return None
        key = heappop(self._heap)[2]
        del self._serials[key]
        return key

    def __contains__(self, key: _K) -> bool:
        """Whether `key` has a deadline."""
        return key in self._serials

    def check(self, most: int) -> None:
        """Check that at most so many keys have one, and that entries that don't count are few. For tests; raises
        AssertionError."""
        where = "deadlines"
        ensure(len(self._serials) <= most, where, "few keys have one", len(self._serials), most)
        ensure(len(self._heap) <= 2 * most + _SPARE, where, "few entries don't count", len(self._heap))
        counting = [each[2] for each in self._heap if self._holds(each)]
        same = len(counting) == len(self._serials) and set(counting) == set(self._serials)
        ensure(same, where, "each key has one entry that counts", counting)

    def _holds(self, entry: tuple[float, int, _K]) -> bool:
        return self._serials.get(entry[2]) == entry[1]
