"""Converts values of 1.0 to version-independent values and back (part 1 section 1.6)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final
from uuid import UUID

from ...amqp_1_0.codec.decimals import Decimal32, Decimal64, Decimal128
from ...amqp_1_0.codec.decode import Map, decode
from ...amqp_1_0.codec.encode import encode, encode_items
from ...amqp_1_0.codec.types import (
    Array,
    Byte,
    Char,
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
from ...errors import CodecError
from .values import NULL, SIMPLE, Value, depth_of, is_utf8, octets_of

_DEEPEST: Final = 26
"""Deepest value, since annotations and bodies add a few levels."""

NOTHING: Final[Mapping[Symbol, Any]] = {}

_KINDS: Final[dict[type[Any], str]] = {
    bool: "bool",
    Byte: "int8",
    Short: "int16",
    Int: "int32",
    int: "int64",
    UByte: "uint8",
    UShort: "uint16",
    UInt: "uint32",
    ULong: "uint64",
    Float: "float",
    float: "double",
    str: "text",
    Symbol: "symbol",
    Char: "char",
    bytes: "binary",
    Timestamp: "time",
    UUID: "uuid",
}
_DECIMALS: Final[dict[type[Any], str]] = {Decimal32: "decimal32", Decimal64: "decimal64", Decimal128: "decimal"}
_CLASSES: Final = {kind: each for each, kind in _KINDS.items()}
_MOST_REPEATED: Final = 256
"""Most elements without octets that become a list elsewhere. More stay octets: a few octets declare any number."""


def read(value: Any) -> Value:
    """Read a decoded value. Raises CodecError for damage in octets that are decoded on access."""
    if value is None:
        return NULL
    kind = _KINDS.get(value.__class__)
    if kind is not None:
        if kind in ("text", "symbol", "char"):
            return kind, str.__str__(value)
        return kind, int(value) if isinstance(value, int) and kind != "bool" else _plain(value)
    kind = _DECIMALS.get(value.__class__)
    if kind is not None:
        return kind, value.to_decimal()
    if isinstance(value, Map):
        return "map", [(read(key), read(each)) for key, each in value.pairs()]
    elements: Any = value
    if isinstance(value, Mapping):
        return "map", [(read(key), read(each)) for key, each in elements.items()]
    if isinstance(value, list):
        return "list", [read(each) for each in elements]
    if isinstance(value, Array) and not value.descriptors and value.repeats <= _MOST_REPEATED:
        found = [read(each) for each in value]
        if not any([kind == "encoded" for kind, _ in found]):
            return "array", found
    return "encoded", encode(value)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, float) else value


def write(value: Value) -> Any:
    """Return a value in 1.0's types; the nearest one if there is no exact type."""
    kind, content = value
    if kind == "null":
        return None
    if kind == "text":
        return content if is_utf8(content) else octets_of(content)
    if kind == "encoded":
        return Opaque(content)
    if kind == "binary" or kind == "other" or kind == "uuid":
        return content
    if kind == "list":
        return [write(each) for each in content]
    if kind == "array":
        return _array([write(each) for each in content])
    if kind == "map":
        return Map([(write(key), write(each)) for key, each in content])
    if kind in ("decimal32", "decimal64", "decimal"):
        return _decimal(kind, content)
    if kind == "time" and not Timestamp.LOW <= content <= Timestamp.HIGH:
        return ULong(content // 1000) if content > 0 else content // 1000
    return _CLASSES[kind](content)


def _decimal(kind: str, content: Any) -> Any:
    for name, each in (("decimal32", Decimal32), ("decimal64", Decimal64), ("decimal", Decimal128)):
        if kind == name or name == "decimal":
            try:
                return each.from_decimal(content)
            except ValueError:
                pass
    return str(content)


def _array(items: list[Any]) -> Any:
    if not items:
        return Array([], element=type(None))
    try:
        found = Array(items)
        encode(found)
    except (CodecError, ValueError):
        return items
    return found


def decoded(value: Value) -> Any:
    """Encode and decode a value. Raises CodecError."""
    return decode(encode(write(value)))[0]


def write_pairs(pairs: list[tuple[Value, Value]], more: Mapping[Symbol, Any] = NOTHING) -> bytes:
    """Return the octets of a map of `more` and those pairs that 1.0 can express; b"" if there are none.

    The first pair of a key counts.
    """
    found: dict[bytes, bytes] = {encode(key): encode(value) for key, value in more.items()}
    for key, value in pairs:
        if can_hold(key) and can_hold(value):
            found.setdefault(encode(write(key)), encode(write(value)))
    return encode_items(0xC1, 2 * len(found), b"".join([b"".join(each) for each in found.items()])) if found else b""


def can_hold(value: Value) -> bool:
    """Whether 1.0 can express a value in an annotation, exactly or nearly."""
    if depth_of(value) > _DEEPEST:
        return False
    try:
        decode(encode(write(value)), nesting=_DEEPEST)
    except CodecError:
        return False
    return True


def is_simple(value: Value) -> bool:
    """Whether application properties may contain it: no compound, and no described value (part 3 section 3.2.5)."""
    return value[0] in SIMPLE


__all__ = ["can_hold", "decoded", "is_simple", "read", "write", "write_pairs"]
