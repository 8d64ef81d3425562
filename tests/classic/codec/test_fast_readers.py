"""The generated readers of methods and properties, and the careful ones: the same records, the same errors."""

# pyright: reportPrivateUsage=false
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio._classic.codec.dialect import Dialect
from amqp_sansio._classic.codec.method import Method, decode_slowly
from amqp_sansio._classic.codec.properties import Properties, load_slowly
from amqp_sansio._classic.codec.table import TableRules
from tests.kit.classic_values import every_method, every_properties, properties, records
from tests.kit.damage import BEHIND, FRONT, content, damaged, outcome, spoilt

Kind = type[Any]

METHODS = [
    pytest.param(dialect, kind, id=f"{dialect.name}-{kind.NAME}")
    for kind, dialect in {kind: dialect for dialect, kind in every_method()}.items()
]
PROPERTIES = [
    pytest.param(dialect, kind, id=f"{dialect.name}-{kind.CLASS_ID}")
    for kind, dialect in {kind: dialect for dialect, kind in every_properties()}.items()
]
TABLE = {"x": 1, "y": "text"}
EXAMPLES: dict[str, Any] = {
    **{"octet": 200, "short": 60_000, "long": 2**31, "longlong": 2**63, "timestamp": 2**40, "bit": True},
    **{"shortstr": "n\u00e4me", "longstr": b"octets", "table": TABLE},
}


def _full(kind: Kind, rules: TableRules) -> Any:
    """A record all of whose fields hold something."""
    optional = TABLE if rules.consume_arguments else None
    examples = {**EXAMPLES, "optional-table": optional}
    return kind(**{name: examples[wire] for name, wire in kind.FIELDS})


def _fields(record: Any) -> list[tuple[object, ...]]:
    return [content(getattr(record, name)) for name in record.__match_args__]


def _method(record: Method) -> tuple[object, ...]:
    return (record.__class__, record.spare, *_fields(record))


def _compare_method(kind: Kind, octets: bytes, rules: TableRules) -> None:
    buf = FRONT + octets + BEHIND
    start, end = len(FRONT), len(FRONT) + len(octets)
    fast = outcome(lambda: _method(kind.decode(buf, start, end, rules)))
    assert fast == outcome(lambda: _method(decode_slowly(kind, buf, start, end, rules)))


def _compare_properties(kind: Kind, octets: bytes, rules: TableRules) -> None:
    def slowly() -> Properties:
        found: Properties = kind.from_wire(octets, rules)
        load_slowly(found, octets, rules, kind)
        return found

    def fast() -> Properties:
        found: Properties = kind.from_wire(octets, rules)
        found._load()  # of a class without properties none can be asked for
        return found

    assert outcome(lambda: _fields(fast())) == outcome(lambda: _fields(slowly()))


@pytest.mark.parametrize(("dialect", "kind"), METHODS)
def test_every_damage_to_a_full_method(dialect: Dialect, kind: Kind) -> None:
    for octets in damaged(_full(kind, dialect.tables).encode(dialect.tables)[4:]):
        _compare_method(kind, octets, dialect.tables)


@given(which=st.sampled_from(every_method()), data=st.data())
@settings(max_examples=200)
def test_methods_that_are_damaged_anywhere(which: tuple[Dialect, Kind], data: st.DataObject) -> None:
    dialect, kind = which
    octets = data.draw(records(kind, dialect.tables)).encode(dialect.tables)[4:]
    _compare_method(kind, spoilt(data, octets, 0), dialect.tables)


@pytest.mark.parametrize(("dialect", "kind"), PROPERTIES)
def test_every_damage_to_full_properties(dialect: Dialect, kind: Kind) -> None:
    for octets in damaged(_full(kind, dialect.tables).encode(dialect.tables)):
        _compare_properties(kind, octets, dialect.tables)


@pytest.mark.parametrize(("dialect", "kind"), PROPERTIES)
def test_every_word_of_flags(dialect: Dialect, kind: Kind, at_large: bool) -> None:
    """The default suite takes every 29th of the words that `tests/system` takes."""
    octets = _full(kind, dialect.tables).encode(dialect.tables)[2:]
    step = 7 if len(kind.FIELDS) > 4 else 1
    for flags in range(0, 0x1_0000, step if at_large else 29 * step):
        _compare_properties(kind, flags.to_bytes(2, "big") + octets, dialect.tables)


@given(which=st.sampled_from(every_properties()), data=st.data())
def test_properties_that_are_damaged_anywhere(which: tuple[Dialect, Kind], data: st.DataObject) -> None:
    dialect, kind = which
    octets = data.draw(properties(kind, dialect.tables)).encode(dialect.tables)
    _compare_properties(kind, spoilt(data, octets, 0), dialect.tables)
