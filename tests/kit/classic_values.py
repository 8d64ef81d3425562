"""Hypothesis strategies for the records, properties and field tables of 0-8 and 0-9-1."""

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import strategies as st

from amqp_sansio._classic.codec.dialect import DIALECTS, Dialect, get_dialect
from amqp_sansio._classic.codec.method import Method
from amqp_sansio._classic.codec.table import (
    QPID,
    QPID_0_8,
    RABBIT,
    RABBIT_0_8,
    SPEC_0_8,
    SPEC_0_9_1,
    Table,
    TableRules,
    Timestamp,
    Typed,
    check_table,
    encode_table,
)
from amqp_sansio.errors import CodecError

RULES = (RABBIT, RABBIT_0_8, SPEC_0_9_1, SPEC_0_8, QPID, QPID_0_8)

Kind = type[Any]


def every_method() -> list[tuple[Dialect, Kind]]:
    """Each method record once for each dialect that has it."""
    found: list[tuple[Dialect, Kind]] = []
    for name in DIALECTS:
        dialect = get_dialect(name)
        found += [(dialect, kind) for kind in dialect.methods.values()]
    return found


def every_properties() -> list[tuple[Dialect, Kind]]:
    """Each properties record once for each dialect that has it."""
    found: list[tuple[Dialect, Kind]] = []
    for name in DIALECTS:
        dialect = get_dialect(name)
        found += [(dialect, kind) for kind in dialect.properties.values()]
    return found


names = st.text(st.sampled_from("abcXYZ019_$#"), max_size=12).map(lambda text: "n" + text)
short_strings = st.text(max_size=63) | st.binary(max_size=255).map(lambda data: data.decode("utf-8", "surrogateescape"))

RANGES = {
    "b": (-(2**7), 2**7 - 1),
    "B": (0, 2**8 - 1),
    "s": (-(2**15), 2**15 - 1),
    "U": (-(2**15), 2**15 - 1),
    "u": (0, 2**16 - 1),
    "I": (-(2**31), 2**31 - 1),
    "i": (0, 2**32 - 1),
    "l": (-(2**63), 2**63 - 1),
    "L": (-(2**63), 2**63 - 1),
}


def tagged(rules: TableRules, tag: str) -> st.SearchStrategy[Any]:
    """Values for one table type that isn't made of others."""
    if tag == "l" and rules.l_is_unsigned:
        return st.integers(0, 2**64 - 1)
    if tag == "s" and rules.s_is_string:
        return short_strings.filter(lambda text: len(text.encode("utf-8", "surrogateescape")) < 256)
    if tag in RANGES:
        return st.integers(*RANGES[tag])
    return {
        "t": st.booleans(),
        "f": st.floats(width=32, allow_nan=False),
        "d": st.floats(allow_nan=False),
        "D": st.builds(_decimal, st.integers(-(2**31), 2**31 - 1), st.integers(0, 20)),
        "S": st.text(max_size=300),
        "T": st.integers(0, 2**64 - 1).map(Timestamp),
        "V": st.none(),
        "x": st.binary(max_size=300),
    }[tag]


def _decimal(number: int, scale: int) -> Decimal:
    return Decimal(number).scaleb(-scale)


def _typed(tag: str) -> Callable[[Any], Typed]:
    return lambda value: Typed(tag, value)


@cache
def table_values(rules: TableRules) -> st.SearchStrategy[dict[str, Any]]:
    """Mappings that the rules can say; every value of every type they may send, nested ones too."""
    plain = st.one_of([tagged(rules, tag).map(_typed(tag)) for tag in rules.writes if tag not in "FA"])
    own: st.SearchStrategy[Any] = st.text(max_size=20) | st.integers(-(2**31), 2**31 - 1)
    if rules.has_bool:
        own |= st.booleans() | st.floats(allow_nan=False) | st.none() | st.integers(-(2**63), -1)
    values = st.recursive(
        plain | own,
        lambda inner: (
            st.dictionaries(names, inner, max_size=4)
            | (st.lists(inner, max_size=4) if "A" in rules.writes else st.nothing())
        ),
        max_leaves=8,
    )
    return st.dictionaries(names, values, max_size=6)


def untyped(value: Any) -> Any:
    """A value as it's read back: without the types that were said outright."""
    if isinstance(value, Typed):
        return untyped(value.value)
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        return {name: untyped(inner) for name, inner in inside.items()}
    if isinstance(value, list):
        return [untyped(inner) for inner in cast("list[object]", value)]
    return value


@cache
def field_values(kind: str, rules: TableRules) -> st.SearchStrategy[Any]:
    """Values for one argument or property by its wire type."""
    if kind == "table":
        return table_values(rules).map(untyped).filter(lambda value: _sayable(value, rules))
    if kind == "optional-table":
        return st.none() if not rules.consume_arguments else field_values("table", rules)
    bits = {"octet": 8, "short": 16, "long": 32, "longlong": 64, "timestamp": 64}
    if kind in bits:
        return st.integers(0, 2 ** bits[kind] - 1)
    if kind == "bit":
        return st.booleans()
    if kind == "longstr":
        return st.binary(max_size=300)
    return short_strings.filter(lambda text: len(text.encode("utf-8", "surrogateescape")) < 256)


def _sayable(value: Any, rules: TableRules) -> bool:
    try:
        encode_table(value, rules)
    except CodecError:
        return False
    return True


def records(kind: type[Method], rules: TableRules) -> st.SearchStrategy[Any]:
    """Records of one method with any values."""
    return st.builds(kind, **{name: field_values(wire, rules) for name, wire in kind.FIELDS})


def properties(kind: Kind, rules: TableRules) -> st.SearchStrategy[Any]:
    """Properties of one class, with any of them absent."""
    return st.builds(kind, **{name: st.none() | field_values(wire, rules) for name, wire in kind.FIELDS})


def raw_of(values: Mapping[str, Any], rules: TableRules) -> bytes:
    """A table's octets without its length."""
    return encode_table(values, rules)[4:]


def accepted(raw: bytes, rules: TableRules) -> bool:
    """Whether a table may be read; the skimming check and the reading must agree on it."""
    if rules.strict_names:  # of which reading knows nothing
        own = (rules.consume_arguments, False, rules.depth, rules.entries)
        rules = TableRules(
            rules.name, rules.writes, rules.wide, rules.s_is_string, rules.l_is_unsigned, rules.first_wins, *own
        )
    try:
        check_table(b"\x01" + raw + b"\x01\x01aV", 1, 1 + len(raw), rules)
    except CodecError as error:
        assert error.code == 502
        assert error.offset is not None and 1 <= error.offset <= 1 + len(raw)
        with pytest.raises(CodecError):
            Table.from_wire(raw, rules).to_dict()
        with pytest.raises(CodecError):
            Table.from_wire(raw, rules).entries()
        return False
    table = Table.from_wire(raw, rules)
    assert table.to_dict().keys() == {name for name, _, _ in table.entries()}
    return True


class Other(Mapping[str, Any]):
    """A mapping that is neither dict nor Table."""

    def __init__(self, values: dict[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)
