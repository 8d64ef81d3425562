"""SequenceSet: command ids as ranges of serial numbers; ByteRanges: parts of a command (0-10 part 1 section 2.2)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._ground.serial import MASK, add, distance
from ...errors import CodecError

if TYPE_CHECKING:
    from typing import ClassVar, Final, Self

_WIDTH: Final = 8
_FURTHEST: Final = 0x7FFF_FFFF
_MOST_RANGES: Final = 0xFFFF // _WIDTH
"""More ranges can't be written: the size of a sequence-set has two octets."""


class _Ranges:
    """Inclusive ranges of numbers, and their octets."""

    __slots__ = ("ranges",)

    ranges: tuple[tuple[int, int], ...]
    _KIND: ClassVar[str]
    _FORM: ClassVar[Struct]

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        self.ranges = tuple(ranges)

    @classmethod
    def decode(cls, octets: bytes) -> Self:
        """The set whose ranges fill `octets`, without their size. Raises CodecError."""
        width = cls._FORM.size
        if len(octets) % width:
            raise CodecError(f"{cls._KIND} of {len(octets)} octets, ranges have {width} each", code=501)
        return cls(cls._FORM.iter_unpack(octets))

    def encode(self) -> bytes:
        """The ranges' octets, without their size."""
        pack = self._FORM.pack
        return b"".join([pack(lower, upper) for lower, upper in self.ranges])

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self.ranges)!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.ranges,)


class SequenceSet(_Ranges):
    """An immutable set of 32-bit command ids, kept as inclusive ranges in the order they were given.

    A range may wrap around: its upper end comes behind its lower one as RFC 1982 says, so `(4294967295, 1)` holds three
    ids. Two sets are equal when they hold the same ids. `|` and `-` give ranges that ascend, from behind the widest gap
    between them on, and that neither overlap nor touch.

    >>> done = SequenceSet([(0, 3), (5, 5)])
    >>> 5 in done, 4 in done, len(done), done.with_id(4).ranges
    (True, False, 5, ((0, 5),))
    >>> (done - SequenceSet([(1, 5)])).ranges
    ((0, 0),)
    """

    __slots__ = ()

    _KIND = "a sequence-set"
    _FORM = Struct(">II")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        """Raises CodecError for a range that runs backwards, and for ids outside 32 bits."""
        self.ranges = tuple(ranges)
        for lower, upper in self.ranges:
            if not (0 <= lower <= MASK and 0 <= upper <= MASK) or (upper - lower) & MASK > _FURTHEST:
                raise CodecError(f"{lower} to {upper} is no range of 32-bit serial numbers", code=501)

    @classmethod
    def of(cls, *ids: int) -> SequenceSet:
        """The set of some ids, consecutive ones joined.

        >>> SequenceSet.of(3, 4, 5, 9).ranges
        ((3, 5), (9, 9))
        """
        ranges: list[tuple[int, int]] = []
        for number in ids:
            if ranges and number == (ranges[-1][1] + 1) & MASK:
                ranges[-1] = ranges[-1][0], number
            else:
                ranges.append((number, number))
        return cls(ranges) if len(ranges) < 2 else cls(_around(_line(ranges)))

    def with_id(self, number: int) -> SequenceSet:
        """This set and one more id, joined to the ranges it touches."""
        if len(self.ranges) == 1:
            ((lower, upper),) = self.ranges
            if number == (upper + 1) & MASK and (number - lower) & MASK <= _FURTHEST:
                return SequenceSet(((lower, number),))
        return self | SequenceSet(((number, number),))

    def parts(self) -> list[SequenceSet]:
        """The same ids in as many sets as it takes to write them."""
        ranges = self.ranges
        if len(ranges) <= _MOST_RANGES:
            return [self]
        return [SequenceSet(ranges[begin : begin + _MOST_RANGES]) for begin in range(0, len(ranges), _MOST_RANGES)]

    def __or__(self, other: SequenceSet) -> SequenceSet:
        return SequenceSet(_around(_line(self.ranges + other.ranges)))

    def __sub__(self, other: SequenceSet) -> SequenceSet:
        return SequenceSet(_around(_without(_line(self.ranges), _line(other.ranges))))

    def __contains__(self, number: object) -> bool:
        if not isinstance(number, int):
            return False
        return any([distance(lower, number) >= 0 and distance(number, upper) >= 0 for lower, upper in self.ranges])

    def __iter__(self) -> Iterator[int]:
        for lower, upper in self.ranges:
            for number in range(lower, lower + ((upper - lower) & MASK) + 1):
                yield number & MASK

    def __len__(self) -> int:
        return sum([((upper - lower) & MASK) + 1 for lower, upper in self.ranges])

    def __bool__(self) -> bool:
        return bool(self.ranges)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SequenceSet):
            return NotImplemented
        return self.ranges == other.ranges or _line(self.ranges) == _line(other.ranges)

    def __hash__(self) -> int:
        return hash(tuple(_line(self.ranges)))


class ByteRanges(_Ranges):
    """Some octets of a command: inclusive ranges of 64-bit offsets, ascending, not touching each other.

    >>> ByteRanges([(0, 99), (200, 299)]).encode().hex()
    '0000000000000000000000000000006300000000000000c8000000000000012b'
    """

    __slots__ = ()

    _KIND = "byte-ranges"
    _FORM = Struct(">QQ")

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        """Raises CodecError for ranges that aren't in order, overlap or touch."""
        self.ranges = tuple(ranges)
        least = 0
        for lower, upper in self.ranges:
            if not least <= lower <= upper < 1 << 64:
                text = f"byte ranges {list(self.ranges)} don't ascend, or touch"
                raise CodecError(text, code=501, rule="0-10/wire/byte-ranges")
            least = upper + 2

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteRanges) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash(self.ranges)


def _line(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ids in ranges that ascend without touching; what wraps around is cut in two."""
    pieces: list[tuple[int, int]] = []
    for lower, upper in ranges:
        pieces += [(lower, upper)] if lower <= upper else [(lower, MASK), (0, upper)]
    if len(pieces) < 2:
        return pieces
    pieces.sort()
    found: list[tuple[int, int]] = []
    start, end = pieces[0]
    for lower, upper in pieces:
        if lower > end + 1:
            found.append((start, end))
            start, end = lower, upper
        elif upper > end:
            end = upper
    found.append((start, end))
    return found


def _without(ranges: list[tuple[int, int]], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Subtract ranges from others; both, and the result, are as `_line` gives them."""
    left: list[tuple[int, int]] = []
    place = 0
    for start, end in ranges:
        while place < len(others) and others[place][1] < start:
            place += 1
        rest = place
        while rest < len(others) and others[rest][0] <= end:
            lower, upper = others[rest]
            if lower > start:
                left.append((start, lower - 1))
            start = upper + 1
            rest += 1
        if start <= end:
            left.append((start, end))
    return left


def _around(pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges as `_line` gives them, joined where they wrap around, none wider than serial numbers compare."""
    if len(pieces) > 1:
        if pieces[0][0] == 0 and pieces[-1][1] == MASK:
            pieces = [*pieces[1:-1], (pieces[-1][0], pieces[0][1])]
        gaps = [(lower - pieces[place - 1][1]) & MASK for place, (lower, _) in enumerate(pieces)]
        first = gaps.index(max(gaps))
        pieces = pieces[first:] + pieces[:first]
    found: list[tuple[int, int]] = []
    for lower, upper in pieces:
        while (upper - lower) & MASK > _FURTHEST:
            found.append((lower, add(lower, _FURTHEST)))
            lower = add(lower, _FURTHEST + 1)
        found.append((lower, upper))
    return found
