"""Field tables: ordered maps of typed values that keep their octets (section 4.2.5.5)."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, KeysView, Mapping, ValuesView
from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING, Protocol, cast
from ..._compiled import COMPILED
from ...errors import CodecError
from .table_encode import check_names, encode_table
from .table_rules import (
    QPID,
    QPID_0_8,
    RABBIT,
    RABBIT_0_8,
    SPEC_0_8,
    SPEC_0_9_1,
    FieldValue,
    TableOctets,
    TableRules,
    Timestamp,
    Typed,
    syntax_error,
)
from .violation import SYNTAX_ERROR

if TYPE_CHECKING:
    from typing import ClassVar, Final

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_table

_new: Final = object.__new__
_READ_U32: Final = Struct(">I").unpack_from
_READ_I32: Final = Struct(">i").unpack_from
_READ_U64: Final = Struct(">Q").unpack_from
_READ_F64: Final = Struct(">d").unpack_from
_READ_FAULTS: Final = (IndexError, StructError, UnicodeDecodeError, KeyError, ValueError)

NOTHING: Final[Mapping[str, FieldValue]] = {}


class Table(TableOctets, Mapping[str, FieldValue]):
    """A field table over its own octets: a read-only mapping, in the order of the wire.

    Values: `t` bool; `b B s U u I i l L` int; `f d` float; `D` Decimal; `T` Timestamp; `S` str, with octets that
    aren't UTF-8 as surrogate escapes, so that they survive; `x` bytes; `V` None; `F` Table; `A` list. `rules` say
    which type a tag means, and which of several entries with one name counts. Nothing is decoded before it's asked
    for, so any access may raise CodecError for octets from the wire; `check_table` tells beforehand.

    `Table({"x-max-length": 10})` encodes at once; for the Python types it takes see `encode_table`. A table equals any
    mapping with the same items, and is hashable. Pickling keeps octets and rules.
    """

    __slots__ = ("_values",)

    _values: dict[str, FieldValue] | None

    def __init__(self, values: Mapping[str, FieldValue] = NOTHING, *, rules: TableRules = RABBIT) -> None:
        self._raw = encode_table(values, rules)[4:]
        self._rules = rules
        self._values = None

    @staticmethod
    def from_wire(raw: bytes, rules: TableRules) -> Table:
        """A table over `raw`, its octets without the length in front. Checks nothing yet."""
        table = _new(Table)
        table._raw = raw
        table._rules = rules
        table._values = None
        return table

    def entries(self) -> list[tuple[str, str, FieldValue]]:
        """Every entry as (name, tag, value) in the wire's order, also where a name comes twice."""
        return _entries(self._raw, 0, len(self._raw), self._rules, 1)

    def to_dict(self) -> dict[str, FieldValue]:
        """A plain dict, with plain dicts and lists within."""
        return {name: _plain(value) for name, value in (self._values or self._load()).items()}

    def __getitem__(self, name: str) -> FieldValue:
        return (self._values or self._load())[name]

    def get(self, name: str, default: FieldValue = None) -> FieldValue:
        """The value of `name`, or `default` when there is none."""
        return (self._values or self._load()).get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in (self._values or self._load())

    def __iter__(self) -> Iterator[str]:
        return iter(self._values or self._load())

    def __len__(self) -> int:
        return len(self._values or self._load())

    def __bool__(self) -> bool:
        return bool(self._raw)

    def keys(self) -> KeysView[str]:
        """The names, in the order of the wire."""
        return (self._values or self._load()).keys()

    def values(self) -> ValuesView[FieldValue]:
        """The values, in the order of the wire."""
        return (self._values or self._load()).values()

    def items(self) -> ItemsView[str, FieldValue]:
        """The names with their values, in the order of the wire."""
        return (self._values or self._load()).items()

    def _read(self) -> dict[str, FieldValue]:
        raw, rules = self._raw, self._rules
        try:
            values = _decode(raw, 0, len(raw), rules, 1) if raw else {}
        except _READ_FAULTS:
            values = _mapping(_entries(raw, 0, len(raw), rules, 1), rules)
        self._values = values
        return values

    def _scan(self) -> dict[str, FieldValue]:
        """As `_read`, to which it leaves what is wrong or out of the ordinary, with the module in C."""
        raw, rules = self._raw, self._rules
        values = scan_table(
            raw,
            rules.first_wins,
            rules.l_is_unsigned,
            rules.s_is_string,
            rules.entries,
            rules.depth,
            rules,
            _made,
            Timestamp,
        )
        if values is None:
            return self._read()
        self._values = values
        return values

    _load = _scan if COMPILED else _read
    """Decode the octets; an empty table does so each time."""

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Table):
            if self._raw == other._raw and self._rules.name == other._rules.name:
                return True
            return (self._values or self._load()) == (other._values or other._load())
        if isinstance(other, Mapping):
            return (self._values or self._load()) == dict(cast("Mapping[str, FieldValue]", other))
        return NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._values or self._load()))

    def __repr__(self) -> str:
        try:
            return f"Table({self._values or self._load()!r})"
        except CodecError:
            return f"<Table of {len(self._raw)} damaged octets>"

    def __reduce__(self) -> tuple[object, ...]:
        return Table.from_wire, (self._raw, self._rules)


EMPTY: Final = Table.from_wire(b"", RABBIT)
"""The table without entries."""


def decode_table(raw: bytes, rules: TableRules) -> Table:
    """A table from its octets with their length in front, wholly decoded. Raises CodecError."""
    if len(raw) < 4 or _READ_U32(raw, 0)[0] != len(raw) - 4:
        raise syntax_error("a table's length doesn't match its octets", 0)
    table = Table.from_wire(raw[4:], rules)
    len(table)
    return table


def check_table(buf: bytes, pos: int, end: int, rules: TableRules) -> None:
    """Skim a table's structure without building values, from behind its length to its end.

    Rules with `strict_names` have the names checked as well, in 0-9-1 also that none is there
    twice. Raises CodecError (code 502) with the offset in `buf`.
    """
    if not rules.strict_names:
        try:
            if _skim(buf, pos, end, rules, 1, True) == end:
                return
        except _READ_FAULTS:
            pass
    _entries(buf, pos, end, rules, 1)
    if rules.strict_names:
        check_names(Table.from_wire(buf[pos:end], rules), rules)


class _Record(Protocol):
    """A method, or the properties of a message."""

    FIELDS: ClassVar[tuple[tuple[str, str], ...]]


def check_tables(owner: _Record, rules: TableRules) -> None:
    """Skim every table among the fields of a method or of properties, whatever the kind of the field.

    Raises CodecError (code 502).
    """
    for name, _ in owner.FIELDS:
        table = getattr(owner, name)
        if table.__class__ is Table:
            check_table(table.raw, 0, len(table.raw), rules)


def _plain(value: FieldValue) -> FieldValue:
    if isinstance(value, Table):
        return value.to_dict()
    if isinstance(value, list):
        return [_plain(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _made(raw: bytes, rules: TableRules, values: dict[str, FieldValue]) -> Table:
    """A table within another one, whose values are decoded already."""
    table: FieldValue = _new(Table)
    table._raw = raw
    table._rules = rules
    table._values = values
    return cast("Table", table)


def _decode(buf: bytes, pos: int, end: int, rules: TableRules, depth: int) -> dict[str, FieldValue]:
    # Raises _READ_FAULTS for whatever is wrong or out of the ordinary; `_entries` then decides.
    if end - pos > rules.entries or depth > rules.depth:
        raise ValueError
    values: dict[str, FieldValue] = {}
    first_wins = rules.first_wins
    while pos < end:
        start = pos + 1
        at = start + buf[pos]
        name = buf[start:at].decode()
        tag = buf[at]
        at += 1
        value: FieldValue
        if tag == 83:  # S
            start = at + 4
            pos = start + _READ_U32(buf, at)[0]
            value = buf[start:pos].decode()
        elif tag == 73:  # I
            value = _READ_I32(buf, at)[0]
            pos = at + 4
        elif tag == 116:  # t
            value = buf[at] != 0
            pos = at + 1
        elif tag == 108:  # l
            value = rules.read_l(buf, at)[0]
            pos = at + 8
        elif tag == 70:  # F
            start = at + 4
            pos = start + _READ_U32(buf, at)[0]
            value = _new(Table)
            value._raw = buf[start:pos]
            value._rules = rules
            value._values = _decode(buf, start, pos, rules, depth + 1)
        elif tag == 65:  # A
            start = at + 4
            pos = start + _READ_U32(buf, at)[0]
            value = _decode_array(buf, start, pos, rules, depth + 1)
        else:
            value, pos = _decode_value(buf, at - 1, rules, depth)
        if first_wins and name in values:
            continue
        values[name] = value
    if pos != end:
        raise ValueError
    return values


def _decode_array(buf: bytes, pos: int, end: int, rules: TableRules, depth: int) -> list[FieldValue]:
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


def _decode_value(buf: bytes, pos: int, rules: TableRules, depth: int) -> tuple[FieldValue, int]:
    tag = buf[pos]
    if tag == 70 or tag == 65 or tag == 83 or tag == 120:  # F A S x
        at = pos + 5
        pos = at + _READ_U32(buf, pos + 1)[0]
        if tag == 70:
            return _made(buf[at:pos], rules, _decode(buf, at, pos, rules, depth + 1)), pos
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


def _mapping(entries: list[tuple[str, str, FieldValue]], rules: TableRules) -> dict[str, FieldValue]:
    values: dict[str, FieldValue] = {}
    for name, _, value in entries:
        if not rules.first_wins or name not in values:
            values[name] = value
    return values


def _entries(
    buf: bytes, pos: int, end: int, rules: TableRules, depth: int, what: str = "a table"
) -> list[tuple[str, str, FieldValue]]:
    """The careful way to read a table, or an array without names: every bound checked before octets are touched."""
    if depth > rules.depth:
        raise syntax_error(f"a table nests deeper than {rules.depth} levels", pos)
    found: list[tuple[str, str, FieldValue]] = []
    while pos < end:
        if len(found) == rules.entries:
            raise syntax_error(f"{what} has more than {rules.entries} entries", pos)
        name, at = "", pos
        if what == "a table":
            at = pos + 1 + buf[pos] if pos < len(buf) else end
            if at >= end:
                raise syntax_error("a table ends within a name", pos)
            name = buf[pos + 1 : at].decode("utf-8", "surrogateescape")
        value, pos = _careful(buf, at, end, rules, depth)
        found.append((name, chr(buf[at]), value))
    return found


def _careful(buf: bytes, pos: int, end: int, rules: TableRules, depth: int) -> tuple[FieldValue, int]:
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
            raise syntax_error(f"no table type has the tag 0x{tag:02x}", pos)
    else:
        at = pos + 1
        stop = at + size
    if stop > end:
        raise syntax_error(f"a table ends within a value of type {chr(tag)!r}", pos)
    if tag == 83:
        return buf[at:stop].decode("utf-8", "surrogateescape"), stop
    if tag == 70:
        return _made(buf[at:stop], rules, _mapping(_entries(buf, at, stop, rules, depth + 1), rules)), stop
    if tag == 65:
        return [inner for _, _, inner in _entries(buf, at, stop, rules, depth + 1, "an array")], stop
    return _decode_value(buf, pos, rules, depth)


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


__all__ = [
    "EMPTY",
    "QPID",
    "QPID_0_8",
    "RABBIT",
    "RABBIT_0_8",
    "SPEC_0_8",
    "SPEC_0_9_1",
    "SYNTAX_ERROR",
    "FieldValue",
    "Table",
    "TableRules",
    "Timestamp",
    "Typed",
    "check_table",
    "check_tables",
    "decode_table",
    "encode_table",
]
