"""Timers: what a namespace has to do at a time of the broker's clock, the earliest first."""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


class Due(ABC):
    """Work for a given time; a value that pickles."""

    __slots__ = ()

    @abstractmethod
    def ring(self, now: float) -> None:
        """Do the work; `now` are seconds of the broker's clock."""


class Timers:
    """Work by key: each key has one time, and setting it again replaces that."""

    __slots__ = ("_heap", "_keys", "_number")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Hashable]] = []
        self._keys: dict[Hashable, tuple[int, Due]] = {}
        self._number = 0

    def __len__(self) -> int:
        return len(self._keys)

    def set(self, key: Hashable, when: float, due: Due) -> None:
        """Have `due` rung at `when`, in place of what `key` had."""
        self._number += 1
        self._keys[key] = self._number, due
        heapq.heappush(self._heap, (when, self._number, key))
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._keys):
            self._heap = [each for each in self._heap if self._is_set(each)]
            heapq.heapify(self._heap)

    def clear(self, key: Hashable) -> None:
        """Ring nothing for `key`."""
        self._keys.pop(key, None)

    @property
    def next_deadline(self) -> float | None:
        """The earliest time; None without any."""
        heap = self._heap
        while heap and not self._is_set(heap[0]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def ring(self, now: float) -> None:
        """Ring everything that is due, in the order of the times."""
        while (when := self.next_deadline) is not None and when <= now:
            _, _, key = heapq.heappop(self._heap)
            self._keys.pop(key)[1].ring(now)

    def _is_set(self, item: tuple[float, int, Hashable]) -> bool:
        found = self._keys.get(item[2])
        return found is not None and found[0] == item[1]


__all__ = ["Due", "Timers"]
