"""Tables and packers that straight-line code takes octets from and makes octets with."""

from __future__ import annotations

from functools import partial
from struct import Struct

from ..._checking import TYPE_CHECKING
from .types import Symbol, Timestamp

if TYPE_CHECKING:
    from typing import Any, Final

NEW: Final[Any] = object.__new__
INT: Final[Any] = int.__new__
STR: Final[Any] = str.__new__
TIMESTAMP: Final = partial(INT, Timestamp)
"""Makes a timestamp of its milliseconds."""
JOIN: Final = b"".join

READ_I8: Final = Struct(">b").unpack_from
READ_U16: Final = Struct(">H").unpack_from
READ_I16: Final = Struct(">h").unpack_from
READ_U32: Final = Struct(">I").unpack_from
READ_I32: Final = Struct(">i").unpack_from
READ_TWO_U32: Final = Struct(">II").unpack_from
READ_U32_TWO_U8: Final = Struct(">IBB").unpack_from
READ_U16_TWO_U8: Final = Struct(">HBB").unpack_from
READ_U16_U8_I64: Final = Struct(">HBq").unpack_from
READ_U64: Final = Struct(">Q").unpack_from
READ_I64: Final = Struct(">q").unpack_from
READ_F32: Final = Struct(">f").unpack_from
READ_F64: Final = Struct(">d").unpack_from

PACK_U32: Final = Struct(">BI").pack
PACK_I64: Final = Struct(">Bq").pack
PACK_F64: Final = Struct(">Bd").pack

NULL: Final = b"\x40"
BOOLEANS: Final[dict[object, bytes]] = {True: b"\x41", False: b"\x42"}
UINTS: Final = (b"\x43", *[bytes((0x52, value)) for value in range(1, 256)])
"""The uints of at most one octet."""
UBYTES: Final = tuple([bytes((0x50, value)) for value in range(256)])
LONGS: Final = tuple([bytes((0x55, value)) for value in range(256)])
"""The longs from 0 to 127, then those from -128 to -1: a negative index finds these, too."""
BINARY: Final = tuple([bytes((0xA0, size)) for size in range(256)])
"""The octets in front of a binary, by its size."""
STRING: Final = tuple([bytes((0xA1, size)) for size in range(256)])
SYMBOL: Final = tuple([bytes((0xA3, size)) for size in range(256)])
TAG: Final = BINARY[:33]
MODES: Final = {0: b"\x50\x00", 1: b"\x50\x01"}

SYMBOLS: Final = {
    name.encode(): Symbol(name)
    for name in (
        *("text/plain", "text/plain; charset=utf-8", "text/xml", "application/json"),
        *("application/octet-stream", "application/xml", "gzip", "deflate"),
    )
}
"""Symbols that most messages have one of: they needn't be made anew for each."""

_SIZED: Final = (0xA0, 0xB0, 0xA1, 0xB1, 0xA3, 0xB3, 0xC0, 0xD0, 0xC1, 0xD1, 0xE0, 0xF0)
VALUES: Final = {0x0053_7700 | code: code & 0x10 == 0 for code in _SIZED}
"""Whether an amqp-value's size has one octet, by its section's first four."""

ACCEPTED_OCTETS: Final = b"\x00\x53\x24\x45"
