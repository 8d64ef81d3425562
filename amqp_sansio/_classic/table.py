"""Field tables: ordered maps of typed values that keep the octets they came in (0-8 and 0-9-1 section 4.2.5.5)."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from struct import Struct
from struct import error as StructError
from typing import Any, Final

from ..errors import CodecError
from .table_rules import (
    QPID,
    RABBIT,
    SPEC_0_8,
    SPEC_0_9_1,
    SYNTAX_ERROR,
    FieldValue,
    TableRules,
    Timestamp,
    Typed,
    write_decimal,
    write_integer,
)

_new: Final = object.__new__
_U32: Final = Struct(">I")
_READ_U32: Final = _U32.unpack_from
_READ_I32: Final = Struct(">i").unpack_from
_READ_U64: Final = Struct(">Q").unpack_from
_READ_F64: Final = Struct(">d").unpack_from
_LENGTH: Final = _U32.pack
_TAG_LENGTH: Final = Struct(">BI").pack
_TAG_I32: Final = Struct(">Bi").pack
_OCTET: Final = tuple([bytes((n,)) for n in range(256)])
_READ_FAULTS: Final = (IndexError, StructError, UnicodeDecodeError, KeyError, ValueError)
_WRITE_FAULTS: Final = (AttributeError, IndexError, TypeError, StructError, UnicodeEncodeError)


class Table(Mapping[str, FieldValue]):
    """A field table over its own octets: a read-only mapping of names to decoded values, in the order of the wire.

    Values: `t` bool; `b B s U u I i l L` int; `f d` float; `D` Decimal; `T` Timestamp; `S` str (octets that aren't
    UTF-8 as surrogate escapes, so that they survive); `x` bytes; `V` None; `F` Table; `A` list. What a tag means, and
    which of several entries with one name counts, is up to `rules`. Nothing is decoded before it's asked for, so
    any access may raise CodecError for octets from the wire; `check_table` tells beforehand.

    `Table({"x-max-length": 10})` encodes at once; for the Python types it takes see `encode_table`. A table equals any
    mapping with the same items, and is hashable. Pickling keeps octets and rules.
    """

    __slots__ = ("_raw", "_rules", "_values")

    _raw: bytes
    _rules: TableRules
    _values: dict[str, FieldValue] | None

    def __init__(
        self,
        values: Mapping[str, FieldValue] | Iterable[tuple[str, FieldValue]] = (),
        *,
        rules: TableRules = RABBIT,
    ) -> None:
        self._raw = encode_table(values, rules)[4:]
        self._rules = rules
        self._values = None

    @staticmethod
    def from_wire(raw: bytes, rules: TableRules) -> Table:
        """A table over `raw`, its octets without the 4-octet length in front of it. Checks nothing yet."""
        table = _new(Table)
        table._raw = raw
        table._rules = rules
        table._values = None
        return table

    @property
    def raw(self) -> bytes:
        """The table's octets, without the 4-octet length in front of it."""
        return self._raw

    @property
    def rules(self) -> TableRules:
        """The rules it's read by."""
        return self._rules

    def entries(self) -> list[tuple[str, str, FieldValue]]:
        """Every entry as (name, tag, value) in the order of the wire, also those whose name comes twice."""
        return _entries(self._raw, 0, len(self._raw), self._rules, 1)

    def to_dict(self) -> dict[str, FieldValue]:
        """A plain dict, with plain dicts and lists within."""
        values = self._values
        if values is None:
            values = self._load()
        return {name: _plain(value) for name, value in values.items()}

    def __getitem__(self, name: str) -> FieldValue:
        values = self._values
        if values is None:
            values = self._load()
        return values[name]

    def get(self, name: str, default: Any = None) -> FieldValue:
        """The value of `name`, or `default` when there is none."""
        values = self._values
        if values is None:
            values = self._load()
        return values.get(name, default)

    def __contains__(self, name: object) -> bool:
        values = self._values
        if values is None:
            values = self._load()
        return name in values

    def __iter__(self) -> Iterator[str]:
        values = self._values
        if values is None:
            values = self._load()
        return iter(values)

    def __len__(self) -> int:
        values = self._values
        if values is None:
            values = self._load()
        return len(values)

    def __bool__(self) -> bool:
        return bool(self._raw)

    def keys(self) -> KeysView[str]:
        """The names, in the order of the wire."""
        values = self._values
        if values is None:
            values = self._load()
        return values.keys()

    def values(self) -> ValuesView[FieldValue]:
        """The values, in the order of the wire."""
        values = self._values
        if values is None:
            values = self._load()
        return values.values()

    def items(self) -> ItemsView[str, FieldValue]:
        """The names with their values, in the order of the wire."""
        values = self._values
        if values is None:
            values = self._load()
        return values.items()

    def _load(self) -> dict[str, FieldValue]:
        raw = self._raw
        try:
            values = _decode(raw, 0, len(raw), self._rules, 1)
        except _READ_FAULTS:
            values = _mapping(_entries(raw, 0, len(raw), self._rules, 1), self._rules)
        self._values = values
        return values

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Table):
            if self._raw == other._raw and self._rules.name == other._rules.name:
                return True
            return self._loaded() == other._loaded()
        if isinstance(other, Mapping):
            return self._loaded() == dict(other)
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._loaded()))

    def __repr__(self) -> str:
        return f"Table({self._loaded()!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Table.from_wire, (self._raw, self._rules)

    def _loaded(self) -> dict[str, FieldValue]:
        values = self._values
        return self._load() if values is None else values


EMPTY: Final = Table.from_wire(b"", RABBIT)
"""The table without entries."""


def encode_table(
    values: Mapping[str, FieldValue] | Iterable[tuple[str, FieldValue]], rules: TableRules
) -> bytes:
    """The octets of a table, with its length in octets in front.

    bool becomes `t`, int `I` or where it doesn't fit the rules' 64-bit tag, float `d`, str `S`, bytes `x` (or `S`
    where rules have no byte array), Decimal `D`, Timestamp and datetime (naive: UTC) `T`, None `V`, a mapping `F`, a
    list or tuple `A`, `Typed` what it says. A Table keeps its octets; only one of other rules is re-encoded, its
    tags kept where both read them alike.

    Raises CodecError for what the rules can't say, a name above 255 octets, and nesting beyond `rules.depth`.
    """
    if type(values) is Table and values._rules.name == rules.name:
        raw = values._raw
        return _LENGTH(len(raw)) + raw
    body = _encode(values, rules, 1)
    return _LENGTH(len(body)) + body


def decode_table(raw: bytes, rules: TableRules) -> Table:
    """A table from its octets with their length in front, wholly decoded. Raises CodecError."""
    if len(raw) < 4 or _READ_U32(raw, 0)[0] != len(raw) - 4:
        raise CodecError("a table's length doesn't match its octets", offset=0, code=SYNTAX_ERROR)
    table = Table.from_wire(raw[4:], rules)
    table._load()
    return table


def check_table(buf: bytes, pos: int, end: int, rules: TableRules) -> None:
    """Skim a table's structure without building values. `pos` is behind its length, `end` where it must end.

    Raises CodecError (code 502) with the offset in `buf`.
    """
    try:
        if _skim(buf, pos, end, rules, 1, True) == end:
            return
    except _READ_FAULTS:
        pass
    _entries(buf, pos, end, rules, 1)
    raise CodecError("a table doesn't end where its length says", offset=end, code=SYNTAX_ERROR)


def _plain(value: FieldValue) -> FieldValue:
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _decode(buf: bytes, pos: int, end: int, rules: TableRules, depth: int) -> dict[str, FieldValue]:
    # Raises _READ_FAULTS for whatever is wrong or out of the ordinary; `_entries` then decides.
    if end - pos > rules.entries or depth > rules.depth:
        raise ValueError
    values: dict[str, FieldValue] = {}
    first_wins = rules.first_wins
    while pos < end:
        at = pos + 1 + buf[pos]
        name = buf[pos + 1 : at].decode()
        tag = buf[at]
        value: FieldValue
        if tag == 83:  # S
            pos = at + 5 + _READ_U32(buf, at + 1)[0]
            value = buf[at + 5 : pos].decode()
        elif tag == 73:  # I
            value = _READ_I32(buf, at + 1)[0]
            pos = at + 5
        elif tag == 116:  # t
            value = buf[at + 1] != 0
            pos = at + 2
        elif tag == 108:  # l
            value = rules.read_l(buf, at + 1)[0]
            pos = at + 9
        elif tag == 84:  # T
            value = Timestamp(_READ_U64(buf, at + 1)[0])
            pos = at + 9
        elif tag == 70:  # F
            pos = at + 5 + _READ_U32(buf, at + 1)[0]
            value = _new(Table)
            value._raw = buf[at + 5 : pos]
            value._rules = rules
            value._values = _decode(buf, at + 5, pos, rules, depth + 1)
        elif tag == 65:  # A
            pos = at + 5 + _READ_U32(buf, at + 1)[0]
            value = _decode_array(buf, at + 5, pos, rules, depth + 1)
        elif tag == 100:  # d
            value = _READ_F64(buf, at + 1)[0]
            pos = at + 9
        elif tag == 120:  # x
            pos = at + 5 + _READ_U32(buf, at + 1)[0]
            value = buf[at + 5 : pos]
        elif tag == 86:  # V
            value = None
            pos = at + 1
        else:
            value, pos = rules.readers[tag](buf, at + 1)
        if first_wins and name in values:
            continue
        values[name] = value
    if pos != end:
        raise ValueError
    return values


def _decode_array(
    buf: bytes, pos: int, end: int, rules: TableRules, depth: int
) -> list[FieldValue]:
    if end - pos > rules.entries or depth > rules.depth:
        raise ValueError
    values: list[FieldValue] = []
    while pos < end:
        tag = buf[pos]
        if tag == 83:  # S
            at = pos + 5
            pos = at + _READ_U32(buf, pos + 1)[0]
            values.append(buf[at:pos].decode())
        elif tag == 73:  # I
            values.append(_READ_I32(buf, pos + 1)[0])
            pos += 5
        else:
            value, pos = _decode_value(buf, pos, rules, depth)
            values.append(value)
    if pos != end:
        raise ValueError
    return values


def _decode_value(
    buf: bytes, pos: int, rules: TableRules, depth: int
) -> tuple[FieldValue, int]:
    tag = buf[pos]
    if tag == 70 or tag == 65 or tag == 83 or tag == 120:  # F A S x
        at = pos + 5
        pos = at + _READ_U32(buf, pos + 1)[0]
        if tag == 70:
            table = Table.from_wire(buf[at:pos], rules)
            table._values = _decode(buf, at, pos, rules, depth + 1)
            return table, pos
        if tag == 65:
            return _decode_array(buf, at, pos, rules, depth + 1), pos
        return (buf[at:pos].decode() if tag == 83 else buf[at:pos]), pos
    if tag == 116:  # t
        return buf[pos + 1] != 0, pos + 2
    if tag == 84:  # T
        return Timestamp(_READ_U64(buf, pos + 1)[0]), pos + 9
    if tag == 100:  # d
        return _READ_F64(buf, pos + 1)[0], pos + 9
    if tag == 86:  # V
        return None, pos + 1
    return rules.readers[tag](buf, pos + 1)


def _mapping(
    entries: list[tuple[str, str, FieldValue]], rules: TableRules
) -> dict[str, FieldValue]:
    values: dict[str, FieldValue] = {}
    for name, _, value in entries:
        if not rules.first_wins or name not in values:
            values[name] = value
    return values


def _entries(
    buf: bytes, pos: int, end: int, rules: TableRules, depth: int
) -> list[tuple[str, str, FieldValue]]:
    """The careful way to read a table: every bound checked before its octets are touched."""
    _check_depth(pos, rules, depth)
    found: list[tuple[str, str, FieldValue]] = []
    while pos < end:
        if len(found) == rules.entries:
            raise _fault(f"a table has more than {rules.entries} entries", pos)
        at = pos + 1 + buf[pos] if pos < len(buf) else end
        if at >= end:
            raise _fault("a table ends within a name", pos)
        name = buf[pos + 1 : at].decode("utf-8", "surrogateescape")
        value, pos = _careful(buf, at, end, rules, depth)
        found.append((name, chr(buf[at]), value))
    return found


def _careful_array(
    buf: bytes, pos: int, end: int, rules: TableRules, depth: int
) -> list[FieldValue]:
    _check_depth(pos, rules, depth)
    found: list[FieldValue] = []
    while pos < end:
        if len(found) == rules.entries:
            raise _fault(f"an array has more than {rules.entries} entries", pos)
        value, pos = _careful(buf, pos, end, rules, depth)
        found.append(value)
    return found


def _careful(
    buf: bytes, pos: int, end: int, rules: TableRules, depth: int
) -> tuple[FieldValue, int]:
    tag = buf[pos]
    size = rules.sizes.get(tag)
    if size is None:
        if tag == 115 and rules.s_is_string:
            at = pos + 2
            stop = at + buf[pos + 1] if at <= end else end + 1
        elif tag == 83 or tag == 70 or tag == 65 or tag == 120:
            at = pos + 5
            stop = at + _READ_U32(buf, pos + 1)[0] if at <= end else end + 1
        else:
            raise _fault(f"no table type has the tag 0x{tag:02x}", pos)
    else:
        at = pos + 1
        stop = at + size
    if stop > end:
        raise _fault(f"a table ends within a value of type {chr(tag)!r}", pos)
    if tag == 83:
        return buf[at:stop].decode("utf-8", "surrogateescape"), stop
    if tag == 70:
        table = Table.from_wire(buf[at:stop], rules)
        table._values = _mapping(_entries(buf, at, stop, rules, depth + 1), rules)
        return table, stop
    if tag == 65:
        return _careful_array(buf, at, stop, rules, depth + 1), stop
    return _decode_value(buf, pos, rules, depth)


def _check_depth(pos: int, rules: TableRules, depth: int) -> None:
    if depth > rules.depth:
        raise _fault(f"a table nests deeper than {rules.depth} levels", pos)


def _fault(text: str, offset: int) -> CodecError:
    return CodecError(text, offset=offset, code=SYNTAX_ERROR)


def _skim(buf: bytes, pos: int, end: int, rules: TableRules, depth: int, named: bool) -> int:
    # Gives the offset behind the last entry, which isn't `end` when a value overruns.
    if end - pos > rules.entries or depth > rules.depth:
        raise ValueError
    sizes = rules.sizes
    while pos < end:
        if named:
            pos += 1 + buf[pos]
        tag = buf[pos]
        size = sizes.get(tag)
        if size is not None:
            pos += 1 + size
        elif tag == 83 or tag == 120:
            pos += 5 + _READ_U32(buf, pos + 1)[0]
        elif tag == 70 or tag == 65:
            stop = pos + 5 + _READ_U32(buf, pos + 1)[0]
            if stop > end or _skim(buf, pos + 5, stop, rules, depth + 1, tag == 70) != stop:
                raise ValueError
            pos = stop
        elif tag == 115 and rules.s_is_string:
            pos += 2 + buf[pos + 1]
        else:
            raise ValueError
    return pos


def _encode(
    values: Mapping[str, FieldValue] | Iterable[tuple[str, FieldValue]],
    rules: TableRules,
    depth: int,
) -> bytes:
    if isinstance(values, dict) and rules.first_wins is False:
        try:
            return _encode_dict(values, rules, depth)
        except _WRITE_FAULTS:
            pass
    return _encode_carefully(values, rules, depth)


def _encode_dict(values: dict[str, FieldValue], rules: TableRules, depth: int) -> bytes:
    # Only for rules that may send `t`. Raises _WRITE_FAULTS for what needs a second look.
    if depth > rules.depth:
        raise TypeError
    parts: list[bytes] = []
    for name, value in values.items():
        key = name.encode()
        kind = type(value)
        if kind is str:
            data = value.encode()
            parts.append(_OCTET[len(key)] + key + _TAG_LENGTH(83, len(data)) + data)
        elif kind is int:
            if -0x8000_0000 <= value <= 0x7FFF_FFFF:
                parts.append(_OCTET[len(key)] + key + _TAG_I32(73, value))
            else:
                parts.append(_OCTET[len(key)] + key + write_integer(rules.wide, value, rules))
        elif kind is bool:
            parts.append(_OCTET[len(key)] + key + (b"t\1" if value else b"t\0"))
        elif kind is dict:
            data = _encode_dict(value, rules, depth + 1)
            parts.append(_OCTET[len(key)] + key + _TAG_LENGTH(70, len(data)) + data)
        else:
            parts.append(_OCTET[len(key)] + key + _encode_value(value, rules, depth))
    return b"".join(parts)


def _encode_carefully(
    values: Mapping[str, FieldValue] | Iterable[tuple[str, FieldValue]],
    rules: TableRules,
    depth: int,
) -> bytes:
    if depth > rules.depth:
        raise _refusal(f"the table nests deeper than {rules.depth} levels")
    if isinstance(values, Table):
        if values._rules.name == rules.name:
            return values._raw
        pairs: Iterable[tuple[str, FieldValue]] = _translated(values, rules)
    else:
        pairs = values.items() if isinstance(values, Mapping) else values
    parts: list[bytes] = []
    for name, value in pairs:
        if not isinstance(name, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise _refusal(f"the table's name {name!r} is a {type(name).__name__}, not a str")
        key = name.encode("utf-8", "surrogateescape")
        if len(key) > 255:
            raise _refusal(f"the table's name {name[:32]!r}... is longer than 255 octets")
        parts.append(_OCTET[len(key)] + key + _encode_value(value, rules, depth))
    return b"".join(parts)


def _translated(table: Table, rules: TableRules) -> Iterator[tuple[str, FieldValue]]:
    source = table._rules
    for name, tag, value in table.entries():
        alike = source.integers.get(tag) == rules.integers.get(tag) and tag not in "FAx"
        yield name, Typed(tag, value) if alike and tag in rules.writes else value


def _encode_value(value: FieldValue, rules: TableRules, depth: int) -> bytes:
    kind = type(value)
    if kind is str:
        data = value.encode("utf-8", "surrogateescape")
        return _TAG_LENGTH(83, len(data)) + data
    if kind is int:
        if -0x8000_0000 <= value <= 0x7FFF_FFFF:
            return _TAG_I32(73, value)
        return _encode_typed(_need(rules.wide, value, rules), value, rules, depth)
    if kind is Typed:
        return _encode_typed(_need(value.tag, value.value, rules), value.value, rules, depth)
    return _encode_typed(_need(_default_tag(value, rules), value, rules), value, rules, depth)


def _default_tag(value: FieldValue, rules: TableRules) -> str:
    if isinstance(value, bool):
        return "t"
    if isinstance(value, Timestamp):
        return "T"
    if isinstance(value, int):
        return "I" if -0x8000_0000 <= value <= 0x7FFF_FFFF else rules.wide
    if isinstance(value, float):
        return "d"
    if isinstance(value, str):
        return "S"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "x" if "x" in rules.writes else "S"
    if value is None:
        return "V"
    if isinstance(value, Mapping):
        return "F"
    if isinstance(value, (list, tuple)):
        return "A"
    from datetime import datetime
    from decimal import Decimal

    if isinstance(value, Decimal):
        return "D"
    if isinstance(value, datetime):
        return "T"
    raise _refusal(f"a table can't hold a {type(value).__name__}")


def _need(tag: str, value: FieldValue, rules: TableRules) -> str:
    if tag and tag in rules.writes:
        return tag
    what = f"the type {tag!r}" if tag else "64-bit integers"
    raise _refusal(
        f"tables of the dialect {rules.name!r} have no {what}, which {value!r:.60} needs; "
        f"they have {' '.join(rules.writes)}: convert the value, or say its type with Typed(tag, value)"
    )


def _encode_typed(tag: str, value: FieldValue, rules: TableRules, depth: int) -> bytes:
    try:
        if tag == "S" or tag == "x":
            data = (
                value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
            )
            return _TAG_LENGTH(ord(tag), len(data)) + data
        if tag == "F":
            data = _encode(value, rules, depth + 1)
            return _TAG_LENGTH(70, len(data)) + data
        if tag == "A":
            return _encode_array(value, rules, depth + 1)
        if tag == "t":
            return b"t\1" if value else b"t\0"
        if tag == "V":
            if value is not None:
                raise TypeError
            return b"V"
        if tag == "T":
            return b"T" + Struct(">Q").pack(_seconds(value))
        if tag == "d" or tag == "f":
            return tag.encode() + Struct(">" + tag).pack(value)
        if tag == "D":
            return write_decimal(value)
        if tag == "s" and rules.s_is_string:
            data = value.encode("utf-8", "surrogateescape")
            return b"s" + _OCTET[len(data)] + data
        return write_integer(tag, value, rules)
    except (AttributeError, IndexError, OverflowError, TypeError, StructError, ValueError) as error:
        if isinstance(error, CodecError):
            raise
        raise _refusal(f"{value!r:.60} doesn't fit the table type {tag!r}") from None


def _encode_array(values: Iterable[FieldValue], rules: TableRules, depth: int) -> bytes:
    if depth > rules.depth:
        raise _refusal(f"the array nests deeper than {rules.depth} levels")
    data = b"".join([_encode_value(value, rules, depth) for value in values])
    return _TAG_LENGTH(65, len(data)) + data


def _seconds(value: Any) -> int:
    if isinstance(value, int):
        return value
    from calendar import timegm

    return timegm(value.utctimetuple())


def _refusal(text: str) -> CodecError:
    return CodecError(text, code=SYNTAX_ERROR)


__all__ = [
    "EMPTY",
    "QPID",
    "RABBIT",
    "SPEC_0_8",
    "SPEC_0_9_1",
    "FieldValue",
    "Table",
    "TableRules",
    "Timestamp",
    "Typed",
    "check_table",
    "decode_table",
    "encode_table",
]
