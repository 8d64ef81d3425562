"""OpenIds: what is open by command id, and which of it a set of ids names (0-10 part 1 section 3.2).

A peer may name any range of ids, again and again, for the octets of one frame. To find what such a set names costs a
search for each of its ranges and a step for each id that is found, neither a step for each id that the ranges hold nor
one for each that is open.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

from ..._checking import TYPE_CHECKING, TypeVar
from ..._ground.serial import HALF, MASK, distance

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Final

    from ..codec.sequence_set import SequenceSet

_V = TypeVar("_V")

_FEW: Final = 64
_TURN: Final = MASK + 1


class OpenIds(dict[int, _V]):
    """Values by id. Ids are set in their order, as they are on the wire; `add` and `put_back` take others, too.

    >>> from amqp_sansio.amqp_0_10 import SequenceSet
    >>> waiting = OpenIds()
    >>> waiting.update({4294967295: "a", 0: "b", 1: "c"})
    >>> waiting.named(SequenceSet([(4294967295, 0)]))
    [4294967295, 0]
    """

    __slots__ = ("_order",)

    def __init__(self) -> None:
        super().__init__()
        self._order: list[int] = []
        """Ids in their order, as numbers that don't wrap around: all that are open up to the last one, and some that
        were. It is brought up to date by `named`, so that to set and delete ids costs what it costs in a dict."""

    def named(self, ids: SequenceSet) -> list[int]:
        """The open ones of some ids, each once, in their order."""
        if not self:
            return []
        ranges = ids.ranges
        if len(ranges) == 1:
            number, upper = ranges[0]
            if number == upper:
                return [number] if number in self else []
        if len(ids) <= _FEW:
            few = [number for number in dict.fromkeys(ids) if number in self]
            return few if len(few) < 2 else sorted(few, key=lambda number: distance(few[0], number))
        order = self._up_to_date()
        last = order[-1] if order else 0
        spans: list[tuple[int, int]] = []
        for lower, upper in ranges:
            begin = last - ((last - lower) & MASK)
            end = begin + ((upper - lower) & MASK)
            # A range that begins before all that is open may go on from behind it.
            spans += [(begin, end), (begin - _TURN, end - _TURN)]
        spans.sort()
        found: list[int] = []
        at = 0
        for begin, end in spans:
            at = bisect_left(order, begin, at)
            stop = bisect_right(order, end, at)
            if at < stop:
                live = [number for number in order[at:stop] if number & MASK in self]
                if len(live) < stop - at:
                    # Each id that isn't open any more is looked at once.
                    order[at:stop] = live
                found += [number & MASK for number in live]
                at += len(live)
        return found

    def add(self, number: int, value: _V) -> None:
        """Set an id that may come before others, or again."""
        # Most ids come behind all others: comparisons without a call of `distance` find that out.
        order = self._order
        if (not order or 0 < (number - order[-1]) & MASK < HALF) and (
            not self or 0 < (number - next(reversed(self))) & MASK < HALF
        ):
            self[number] = value
        else:
            self.put_back({number: value})

    def clear(self) -> None:
        """Delete all ids."""
        super().clear()
        self._order.clear()

    def put_back(self, entries: Mapping[int, _V]) -> None:
        """Set ids that were deleted before."""
        order = self._up_to_date()
        self.update(entries)
        for number in entries:
            place = order[-1] + distance(order[-1] & MASK, number) if order else number
            at = bisect_left(order, place)
            if at == len(order) or order[at] != place:
                order.insert(at, place)

    def pop_oldest(self, count: int) -> list[_V]:
        """Delete the first ids in their order, up to that many, and return their values."""
        order = self._up_to_date()
        oldest: list[_V] = []
        at = 0
        while at < len(order) and len(oldest) < count:
            number = order[at] & MASK
            if number in self:
                oldest.append(self.pop(number))
            at += 1
        # This shifts all that follow: a caller takes many at once.
        del order[:at]
        return oldest

    def _up_to_date(self) -> list[int]:
        """The order with all ids that are open."""
        order = self._order
        if len(order) > 2 * len(self) + _FEW:
            order[:] = [number for number in order if number & MASK in self]
        if not self:
            return order
        last = order[-1] if order else next(iter(self)) - 1
        news: list[int] = []
        for number in reversed(self):
            step = distance(last & MASK, number)
            if step <= 0:
                break
            news.append(last + step)
        news.reverse()
        order += news
        return order
