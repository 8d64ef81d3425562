"""Version-independent values of headers and annotations: a kind, and a Python value.

| kind | value |
|---|---|
| null, bool | None, bool |
| int8 to int64, uint8 to uint64 | int |
| float, double | float |
| decimal32, decimal64, decimal | Decimal |
| text | str; octets that aren't UTF-8 as surrogates |
| symbol, char | str |
| binary | bytes |
| time | int, milliseconds since 1970 |
| uuid | UUID |
| list, array | list of values |
| map | list of pairs of values |
| encoded | octets of a value of 1.0 that no other version has |
| other | octets of a value of 0-10 that no other version has |
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

Value: TypeAlias = tuple[str, Any]
"""A kind, and its value."""

Entries: TypeAlias = list[tuple[str, Value]]
"""Names with values, in order."""

NULL: Final[Value] = ("null", None)
SIMPLE: Final = frozenset(
    {
        *("null", "bool", "float", "double", "decimal32", "decimal64", "decimal", "text", "symbol", "char", "binary"),
        *("time", "uuid", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    }
)
"""Kinds of values that contain no others."""

INTEGERS: Final = {
    f"{sign}int{bits}": (0, (1 << bits) - 1) if sign else (-(1 << bits - 1), (1 << bits - 1) - 1)
    for sign in ("", "u")
    for bits in (8, 16, 32, 64)
}
"""The least and greatest number of every kind of integer."""


def text_value(text: str) -> Value:
    """Return text as a value, or its octets if they aren't UTF-8, which 1.0 requires."""
    return ("text", text) if is_utf8(text) else ("binary", octets_of(text))


def is_utf8(text: str) -> bool:
    """Whether the octets that a text represents are UTF-8."""
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def octets_of(text: str) -> bytes:
    """Return the octets that a text represents."""
    return text.encode("utf-8", "surrogateescape")


def text_of(octets: bytes) -> str:
    """Return a text that represents any octets."""
    return octets.decode("utf-8", "surrogateescape")


def depth_of(value: Value) -> int:
    """Return the nesting depth of a value: 0 if it contains no others."""
    kind, content = value
    if kind == "map":
        return 1 + max([max(depth_of(key), depth_of(each)) for key, each in content], default=0)
    if kind == "list" or kind == "array":
        return 1 + max([depth_of(each) for each in content], default=0)
    return 0


def plain_text(value: Value) -> str:
    """Return a value as text, for a name or a target without a type for it."""
    kind, content = value
    if kind in ("binary", "encoded", "other"):
        return text_of(content)
    if kind == "bool":
        return "true" if content else "false"
    return content if isinstance(content, str) else str(content)


__all__ = [
    "INTEGERS",
    "NULL",
    "SIMPLE",
    "Entries",
    "Value",
    "depth_of",
    "is_utf8",
    "octets_of",
    "plain_text",
    "text_of",
    "text_value",
]
