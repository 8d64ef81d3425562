"""FreeNumbers: the lowest number that nothing has, found without a look at all those that are taken."""

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class FreeNumbers:
    """The numbers from `first` on. What takes one need not say so; what gives one back must.

    >>> taken = {0, 1, 2}
    >>> numbers = FreeNumbers()
    >>> numbers.lowest(taken.__contains__)
    3
    >>> taken.remove(1)
    >>> numbers.give_back(1)
    >>> numbers.lowest(taken.__contains__)
    1
    """

    __slots__ = ("_back", "_first", "_next")

    def __init__(self, first: int = 0) -> None:
        # The lowest number that may be given out.
        self._first = first
        self._next = first
        """All below were taken at some time."""
        self._back: tuple[list[int], set[int]] | None = None
        """Those of them that were given back, as a heap and as a set; some may be taken again. None while there were
        none: many connections and sessions never give one back."""

    def lowest(self, is_taken: Callable[[int], bool]) -> int:
        """Return the lowest one that isn't taken."""
        if self._back is not None:
            # Most connections never come here: they don't load the module.
            from heapq import heappop

            heap, known = self._back
            while heap:
                if not is_taken(heap[0]):
                    return heap[0]
                known.discard(heappop(heap))
        while is_taken(self._next):
            self._next += 1
        return self._next

    def give_back(self, number: int) -> None:
        """A number may be free again."""
        if number >= self._next:
            return
        if self._back is None:
            self._back = [], set()
        heap, known = self._back
        if number not in known:
            from heapq import heappush

            known.add(number)
            heappush(heap, number)

    def __reduce__(self) -> tuple[object, ...]:
        # What is known of the numbers is found again: who asks for one and doesn't take it has changed nothing.
        return FreeNumbers, (self._first,)
