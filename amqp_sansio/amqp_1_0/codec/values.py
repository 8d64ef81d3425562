"""Values of AMQP 1.0: the Python types of its primitive types, `encode` and `decode` (1.0 part 1).

| AMQP | decoded as | encoded from |
|---|---|---|
| null | None | None |
| boolean | bool | bool |
| ubyte, ushort, uint, ulong | UByte, UShort, UInt, ULong | the same |
| byte, short, int | Byte, Short, Int | the same |
| long | int | int |
| float, double | Float, float | the same |
| decimal32, 64, 128 | Decimal32, Decimal64, Decimal128 | the same; decimal.Decimal is a decimal128 |
| char, string, symbol | Char, str, Symbol | the same |
| timestamp | Timestamp | the same; datetime.datetime |
| uuid | uuid.UUID | the same |
| binary | bytes | bytes, bytearray, memoryview |
| list | list | list, tuple |
| map | Map | Map, any mapping |
| array | Array | Array |
| described | the record of a known composite type, else Described | the same |
| a format code without a type | Opaque | Opaque |
"""

from __future__ import annotations

from .decimals import Decimal32, Decimal64, Decimal128
from .decode import Map, decode, skip
from .encode import encode
from .types import (
    AmqpMap,
    Array,
    Byte,
    Char,
    Described,
    Float,
    Int,
    Opaque,
    Short,
    Symbol,
    Timestamp,
    UByte,
    UInt,
    ULong,
    UShort,
)

__all__ = [
    "AmqpMap",
    "Array",
    "Byte",
    "Char",
    "Decimal32",
    "Decimal64",
    "Decimal128",
    "Described",
    "Float",
    "Int",
    "Map",
    "Opaque",
    "Short",
    "Symbol",
    "Timestamp",
    "UByte",
    "UInt",
    "ULong",
    "UShort",
    "decode",
    "encode",
    "skip",
]
