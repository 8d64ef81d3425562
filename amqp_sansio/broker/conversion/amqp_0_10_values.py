"""Converts maps of 0-10 to values and back (part 1 section 2.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...amqp_0_10.codec.types import Map, decode_typed, decode_value, encode_entries, encode_value, width_of
from ...amqp_0_10.codec.values import CODES, NAMES, Datetime, Typed
from ...errors import CodecError
from ..contents.amqp_0_10 import map_entries
from .values import INTEGERS, NULL, Entries, Value, depth_of, is_utf8, octets_of, plain_text, text_value

if TYPE_CHECKING:
    from collections.abc import Sequence

_SECOND: Final = 1000
_DEEPEST: Final = 30
_LONGEST_KEY: Final = 255
_LONGEST_TEXT: Final = 0xFFFF
_TIMES: Final = 1 << 63
_KINDS: Final = {
    **{name: name for name in INTEGERS},
    **{name: "text" for name in CODES if name.startswith("str")},
    **{name: "binary" for name in CODES if name.startswith(("bin", "vbin"))},
    **{name: name for name in ("float", "double", "uuid")},
    **dict.fromkeys(("char", "char-utf32"), "char"),
    **dict.fromkeys(("boolean", "bit"), "bool"),
    "dec32": "decimal32",
    "dec64": "decimal",
}
"""The kind of value of every type that is no compound, void or datetime."""

_TYPES: Final = {
    **{name: name for name in INTEGERS},
    **{name: name for name in ("float", "double", "uuid")},
    "bool": "boolean",
    "char": "char-utf32",
    "decimal32": "dec32",
    "decimal64": "dec64",
    "decimal": "dec64",
    "binary": "vbin32",
    "encoded": "vbin32",
    "other": "vbin32",
    "null": "void",
}
"""The type of each kind of value that always has the same one."""


def read_map(found: Map) -> Entries:
    """Return the entries of a map. Raises CodecError for damaged octets, and for a repeated name."""
    len(found)
    raw = found.raw
    return [(name, read_value(octets[1 + octets[0] :])) for name, octets in map_entries(raw)]


def read_value(octets: bytes) -> Value:
    """Read a value after its type code, from octets that have been decoded before."""
    # The whole map has been decoded: every size is right.
    code = octets[0]
    name = NAMES.get(code, "")
    if name in ("map", "list", "array", "struct32"):
        start, size = width_of(code, octets, 1, len(octets))
        inner = octets[start : start + size]
        if name == "map":
            return "map", [(text_value(key), value) for key, value in read_map(Map.from_wire(inner))]
        if name == "list":
            return "list", [read_value(each) for each in _elements(inner)]
        if name == "array":
            return "array", _read_array(inner)
        return "other", inner
    value, _ = decode_typed(code, octets, 1, len(octets), _DEEPEST)
    if name == "void":
        return NULL
    if name == "datetime":
        return "time", int(value) * _SECOND
    kind = _KINDS.get(name)
    if kind is None:
        return "other", value.value
    return text_value(value) if kind == "text" else (kind, value)


def _elements(inner: bytes) -> list[bytes]:
    found: list[bytes] = []
    pos = 4
    while pos < len(inner):
        start, size = width_of(inner[pos], inner, pos + 1, len(inner))
        found.append(inner[pos : start + size])
        pos = start + size
    return found


def _read_array(inner: bytes) -> list[Value]:
    if len(inner) < 5:
        return []
    code, count = inner[:1], int.from_bytes(inner[1:5], "big")
    found: list[Value] = []
    pos = 5
    for _ in range(count):
        start, size = width_of(code[0], inner, pos, len(inner))
        found.append(read_value(code + inner[pos : start + size]))
        pos = start + size
    return found


def write_map(entries: Entries) -> Map:
    """Return a map of the entries, as far as 0-10 can express them.

    A value without a type becomes the nearest. Names above 255 octets, and values nested too deep, are left out.
    """
    found: dict[str, Any] = {}
    for name, value in entries:
        if len(octets_of(name)) <= _LONGEST_KEY and depth_of(value) <= _DEEPEST:
            found[name] = typed(value)
    return Map.from_wire(encode_entries(found))


def holds(value: Value) -> bool:
    """Whether 0-10 expresses a value exactly, including its kind."""
    if depth_of(value) > _DEEPEST:
        return False
    try:
        octets = encode_value(typed(value))
        decode_value(octets)
        return read_value(octets) == value
    except CodecError:
        return False


def typed(value: Value) -> Any:
    """Return the value in the form that the encoder takes."""
    kind, content = value
    if kind == "text":
        octets = octets_of(content)
        return content if is_utf8(content) and len(octets) <= _LONGEST_TEXT else octets
    if kind == "symbol":
        return typed(("text", content))
    if kind == "time":
        seconds = content // _SECOND
        return Datetime(seconds) if -_TIMES <= seconds < _TIMES else seconds
    if kind == "list":
        return [typed(each) for each in content]
    if kind == "array":
        return _array(content)
    if kind == "map":
        named: dict[str, Any] = {}
        for key, each in content:
            name = plain_text(key)
            if len(octets_of(name)) <= _LONGEST_KEY:
                named.setdefault(name, typed(each))
        return named
    written = Typed(_TYPES[kind], content)
    if kind.startswith("decimal"):
        try:
            encode_value(written)
        except CodecError:
            return str(content)
    return written


def _array(content: Sequence[Value]) -> Any:
    elements = [typed(each) for each in content]
    found = Typed("array", elements)
    try:
        encode_value(found)
    except CodecError:
        return elements
    return found


__all__ = ["holds", "read_map", "read_value", "typed", "write_map"]
