"""Serial numbers of 32 bits that wrap around (RFC 1982): ids, counts and limits of 0-10 and 1.0."""

from __future__ import annotations

from .._checking import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Final

MASK: Final = 0xFFFF_FFFF
HALF: Final = 0x8000_0000


def add(number: int, count: int) -> int:
    """`number` moved on by `count`, which may be negative.

    >>> add(4294967295, 2)
    1
    """
    return (number + count) & MASK


def bound(start: int, count: int) -> int:
    """The number that lies `count` behind `start`, or as far behind as one can lie: a larger count says no more.

    >>> bound(5, 4294967295) == bound(5, 2147483647) == 2147483652
    True
    """
    return (start + min(count, HALF - 1)) & MASK


def distance(start: int, end: int) -> int:
    """How far `end` lies behind `start`; negative when it lies before it.

    >>> distance(4294967295, 1), distance(1, 4294967295)
    (2, -2)
    """
    forward = (end - start) & MASK
    return forward if forward < HALF else forward - MASK - 1


def later(one: int, other: int) -> int:
    """The one of two numbers that comes behind the other.

    >>> later(4294967295, 1)
    1
    """
    return one if (one - other) & MASK < HALF else other
