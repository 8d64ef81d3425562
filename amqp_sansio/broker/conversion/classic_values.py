"""Converts field tables of 0-8 and 0-9-1 to values and back (section 4.2.5.5)."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ..._classic.codec.table import Table, Timestamp, Typed
from ..._classic.codec.table_rules import write_decimal
from ...errors import CodecError
from ..contents.tables import fitted, spans
from .values import INTEGERS, NULL, Entries, Value, octets_of, plain_text

if TYPE_CHECKING:
    from ..._classic.codec.table_rules import TableRules

_READ_U32: Final = Struct(">I").unpack_from
_READ_F64: Final = Struct(">d").unpack_from
_NAMES: Final = {
    ">b": "int8",
    ">B": "uint8",
    ">h": "int16",
    ">H": "uint16",
    ">i": "int32",
    ">I": "uint32",
    ">q": "int64",
    ">Q": "uint64",
}
_SECOND: Final = 1000
_LATEST: Final = 1 << 64


def read_table(table: Table) -> Entries:
    """Return the entries of a table that count. Raises CodecError for damaged octets."""
    raw, rules = table.raw, table.rules
    found: dict[str, Value] = {}
    for name, start, _ in spans(raw, rules):
        if rules.first_wins and name in found:
            continue
        found[name] = _read(raw, start + 1 + raw[start], rules)[0]
    return list(found.items())


def _read(raw: bytes, at: int, rules: TableRules) -> tuple[Value, int]:
    # `spans` has read all of it: every size is right.
    tag = chr(raw[at])
    at += 1
    if tag in "SxFA":
        stop = at + 4 + _READ_U32(raw, at)[0]
        return _read_sized(tag, raw[at + 4 : stop], rules), stop
    if tag == "V":
        return NULL, at
    if tag == "t":
        return ("bool", raw[at] != 0), at + 1
    if tag == "T":
        seconds = int.from_bytes(raw[at : at + 8], "big")
        return ("time", seconds * _SECOND), at + 8
    if tag == "d":
        return ("double", _READ_F64(raw, at)[0]), at + 8
    value, stop = rules.readers[ord(tag)](raw, at)
    if tag == "s" and rules.s_is_string:
        return ("text", value), stop
    kind = {"f": "float", "D": "decimal"}.get(tag)
    return (kind or _NAMES[rules.integers[tag]], value), stop


def _read_sized(tag: str, octets: bytes, rules: TableRules) -> Value:
    if tag == "S":
        return "text", octets.decode("utf-8", "surrogateescape")
    if tag == "x":
        return "binary", octets
    if tag == "F":
        entries = read_table(Table.from_wire(octets, rules))
        return "map", [(("text", name), value) for name, value in entries]
    found: list[Value] = []
    at = 0
    while at < len(octets):
        value, at = _read(octets, at, rules)
        found.append(value)
    return "list", found


def write_table(entries: Entries, rules: TableRules) -> Table:
    """Return a table of the entries, as far as its rules can express them; a value without a type gets the nearest."""
    return fitted({name: _typed(value, rules) for name, value in entries}, rules)


def holds(value: Value, rules: TableRules) -> bool:
    """Whether a table of these rules expresses a value exactly, including its kind."""
    kind, content = value
    if kind in INTEGERS:
        return _tag(kind, rules) != ""
    if kind == "list":
        return "A" in rules.writes and all([holds(each, rules) for each in content])
    if kind == "map":
        names = [key[1] for key, _ in content if key[0] == "text" and len(octets_of(key[1])) <= 255]
        return len(set(names)) == len(content) and all([holds(each, rules) for _, each in content])
    if kind == "time":
        return bool(content % _SECOND == 0 and 0 <= content < _LATEST * _SECOND)
    if kind == "decimal":
        try:
            write_decimal(content)
        except CodecError:
            return False
        return "D" in rules.writes and int(content.as_tuple().exponent) <= 0
    tag = {"text": "S", "binary": "x", "bool": "t", "null": "V", "float": "f", "double": "d"}.get(kind)
    return tag is not None and tag in rules.writes


def _tag(kind: str, rules: TableRules) -> str:
    for tag, form in rules.integers.items():
        if _NAMES[form] == kind and tag in rules.writes:
            return tag
    return ""


def _typed(value: Value, rules: TableRules) -> Any:
    """Return the entry's value in the form that `fitted` gives it."""
    kind, content = value
    if kind in INTEGERS:
        tag = _tag(kind, rules)
        return Typed(tag, content) if tag else content
    if kind == "float":
        return Typed("f", content)
    if kind == "time":
        return Timestamp(content // _SECOND) if content >= 0 else content // _SECOND
    if kind == "list" or kind == "array":
        return [_typed(each, rules) for each in content]
    if kind == "map":
        named: dict[str, Any] = {}
        for key, each in content:
            named.setdefault(plain_text(key), _typed(each, rules))
        return named
    if kind in ("null", "bool", "double", "text", "binary"):
        return content
    if kind == "decimal" or kind == "decimal32" or kind == "decimal64":
        return content
    return content if kind in ("encoded", "other") else plain_text(value)


__all__ = ["holds", "read_table", "write_table"]
