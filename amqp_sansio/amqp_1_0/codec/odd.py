"""Odd fields: what is wrong with one field of a composite type, and what it means where that is plain.

Peers send fields in other forms than the specification has: a string for a symbol, a list for an array, a filter
without its descriptor. The codec reads on behind such a field, and raises `OddRecord` at the end, which has the record:
what couldn't be read has its default in it. The model says how much each of them ends.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..._checking import TYPE_CHECKING, cast
from ..._ground.record import record
from ...errors import CodecError
from .decode import Map
from .restricted import SOURCES
from .types import Array, Symbol, Timestamp

if TYPE_CHECKING:
    from typing import Any, Final

UNREAD: Final[Any] = NotImplemented
"""Stands for a value whose meaning isn't plain."""


@record
class Odd:
    """One field that isn't as its type says: `field` of the composite type or section `owner`, "" for the whole of it.

    `error` says what is wrong, `read` whether the meaning is plain all the same.
    """

    owner: str
    field: str
    error: CodecError
    read: bool


class OddRecord(CodecError):
    """A composite type some fields of which are odd: the first of `odds` is the error.

    `record` has what could be read; the octets from `start` to `stop` are its.
    """

    def __init__(self, record: object, odds: tuple[Odd, ...], start: int, stop: int) -> None:
        first = odds[0].error
        super().__init__(str(first), offset=first.offset, rule=first.rule, condition=first.condition)
        self.record = record
        self.odds = odds
        self.start = start
        self.stop = stop


_MOST: Final = {"ubyte": 0xFF, "ushort": 0xFFFF, "uint": 0xFFFF_FFFF, "ulong": 0xFFFF_FFFF_FFFF_FFFF}
_PLAIN_MAPS: Final = ("fields", "node-properties", "filter-set")
"""Maps whose keys may be strings for symbols, and a filter-set's values any: nobody takes one for another by that."""
_EMPTY: Final = {
    **dict.fromkeys(_MOST, 0),
    "boolean": False,
    "string": "",
    "symbol": Symbol(""),
    "error-condition": Symbol("amqp:decode-error"),
    "binary": b"",
    "timestamp": Timestamp(0),
}


def placeholder(kind: str, multiple: bool) -> object:
    """The value that stands where a mandatory field has none that can be read."""
    return () if multiple else _EMPTY.get(kind, _EMPTY.get(SOURCES.get(kind, kind)))


def meant(kind: str, multiple: bool, value: object) -> object:
    """What a field of this kind means by a value of another type, as real peers send it; UNREAD where that isn't plain.

    >>> meant("symbol", True, ["en", "de"])
    (Symbol('en'), Symbol('de'))
    >>> meant("uint", False, -1) is UNREAD
    True
    """
    if not multiple:
        return _one(kind, value)
    several: Iterable[object] = cast("Iterable[object]", value) if isinstance(value, (list, Array)) else (value,)
    items = tuple([_one(kind, each) for each in several])
    return UNREAD if any([each is UNREAD for each in items]) else items


def _one(kind: str, value: object) -> object:
    base = SOURCES.get(kind, kind)
    if base in _MOST or base == "timestamp":
        if not isinstance(value, int) or value.__class__ is bool:
            return UNREAD
        if base == "timestamp":
            return Timestamp(value) if -(2**63) <= value < 2**63 else UNREAD
        return int(value) if 0 <= value <= _MOST[base] else UNREAD
    if base == "message-id" and isinstance(value, int) and value.__class__ is not bool:
        return int(value) if 0 <= value <= _MOST["ulong"] else UNREAD
    if isinstance(value, str):
        text = str(value)
        if base in ("string", "address", "message-id"):
            return text
        if base == "symbol":
            return Symbol(text) if text.isascii() else UNREAD
        return text.encode() if base == "binary" else UNREAD
    if kind in _PLAIN_MAPS and isinstance(value, Map):
        return value if all([isinstance(key, str) for key, _ in value.pairs()]) else UNREAD
    return UNREAD


def undescribed(kind: str, value: object) -> bool:
    """Whether a list stands where the type of the field is plain without a descriptor."""
    return value.__class__ is list and kind in ("error", "source", "target")


__all__ = ["UNREAD", "Odd", "OddRecord", "meant", "placeholder", "undescribed"]
