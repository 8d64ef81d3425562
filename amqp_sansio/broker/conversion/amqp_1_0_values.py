"""Values of 1.0 to values of no version and back (part 1 section 1.6)."""

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
"""Annotations and bodies put a few levels around a value."""

NOTHING: Final[Mapping[Symbol, Any]] = {}

_KINDS: Final[dict[type[Any], str]] = {
    bool: "bool", Byte: "int8", Short: "int16", Int: "int32", int: "int64", UByte: "uint8", UShort: "uint16",
    UInt: "uint32", ULong: "uint64", Float: "float", float: "double", str: "text", Symbol: "symbol", Char: "char",
    bytes: "binary", Timestamp: "time", UUID: "uuid",
}  # fmt: skip
_DECIMALS: Final[dict[type[Any], str]] = {Decimal32: "decimal32", Decimal64: "decimal64", Decimal128: "decimal"}
_CLASSES: Final = {kind: each for each, kind in _KINDS.items()}
_MOST_REPEATED: Final = 256
"""Elements without octets that other versions get as a list. More of them stay octets: a few say any number."""


def read(value: Any) -> Value:
    """A decoded value. Raises CodecError for damage in octets that weren't looked at so far."""
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
    """A value as 1.0 encodes it. Of one that has no type there, the nearest that has."""
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
    """A value as it's read again once it was written. Raises CodecError."""
    return decode(encode(write(value)))[0]


def write_pairs(pairs: list[tuple[Value, Value]], more: Mapping[Symbol, Any] = NOTHING) -> bytes:
    """The octets of a map of those pairs that 1.0 can say, and of `more`; b"" where there is none.

    Of one key the first pair counts.
    """
    found: dict[bytes, bytes] = {encode(key): encode(value) for key, value in more.items()}
    for key, value in pairs:
        if can_hold(key) and can_hold(value):
            found.setdefault(encode(write(key)), encode(write(value)))
    return encode_items(0xC1, 2 * len(found), b"".join([b"".join(each) for each in found.items()])) if found else b""


def can_hold(value: Value) -> bool:
    """Whether 1.0 can say a value in an annotation, exactly or nearly."""
    if depth_of(value) > _DEEPEST:
        return False
    try:
        decode(encode(write(value)), nesting=_DEEPEST)
    except CodecError:
        return False
    return True


def is_simple(value: Value) -> bool:
    """Whether application properties may have it: no compound, and no described value (part 3 section 3.2.5)."""
    return value[0] in SIMPLE


__all__ = ["can_hold", "decoded", "is_simple", "read", "write", "write_pairs"]
