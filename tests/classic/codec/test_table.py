"""Field tables: what each tag means, octets kept, names and bounds checked, nothing malformed gets through."""

import pickle
import struct
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from functools import partial
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio._classic.codec.table import (
    EMPTY,
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
    decode_table,
    encode_table,
)
from amqp_sansio._classic.codec.table_rules import name_fault
from amqp_sansio.errors import CodecError
from tests.kit.captures import everywhere
from tests.kit.classic_values import RULES, Other, accepted, raw_of, table_values, untyped
from tests.kit.damage import spoilt
from tests.kit.facing_classic import both_rules
from tests.kit.pcap_streams import METHOD, frames
from tests.kit.steps import assert_linear

every_rules = pytest.mark.parametrize("rules", RULES, ids=lambda rules: rules.name)


@every_rules
@given(data=st.data())
@pytest.mark.rule("0-8/wire/table-layout", "0-9-1/wire/table-layout")
def test_tables_survive(rules: TableRules, data: st.DataObject) -> None:
    values = data.draw(table_values(rules))
    octets = encode_table(values, rules)
    assert octets[:4] == struct.pack(">I", len(octets) - 4)
    table = decode_table(octets, rules)
    expected = untyped(values)
    assert table == expected
    assert expected == table
    assert table.to_dict() == expected
    assert list(table) == list(values)
    assert encode_table(table, rules) == octets
    assert encode_table(Other(values), rules) == octets
    assert Table(values, rules=rules).raw == octets[4:]
    assert accepted(octets[4:], rules)
    copy = pickle.loads(pickle.dumps(table))
    assert copy == table
    assert (copy.raw, copy.rules) == (table.raw, table.rules)
    assert hash(copy) == hash(table)
    for size in range(4, len(octets) - 1, 7):
        # Cut anywhere it may only be whole when it's cut behind an entry.
        if accepted(octets[4:size], rules):
            short = list(Table.from_wire(octets[4:size], rules))
            assert short == list(values)[: len(short)]


@every_rules
@given(raw=st.binary(max_size=60))
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_any_octets_are_a_table_or_refused(rules: TableRules, raw: bytes) -> None:
    if accepted(raw, rules):
        assert encode_table(Table.from_wire(raw, rules), rules)[4:] == raw


@every_rules
@given(data=st.data())
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_damaged_tables_are_tables_or_refused(rules: TableRules, data: st.DataObject) -> None:
    raw = spoilt(data, raw_of(data.draw(table_values(rules)), rules))
    if accepted(raw, rules):
        assert encode_table(Table.from_wire(raw, rules), rules)[4:] == raw


@pytest.mark.parametrize("path", everywhere("o0[89]*.pcap"))
def test_tables_of_captures_are_built_again_octet_for_octet(path: Any) -> None:
    for frame in frames(path):
        tables = frame.dialect.tables
        found: list[Any] = []
        if frame.kind == METHOD:
            if frame.payload[:4] in (b"\0\x63\0\x01", b"\0\x3c\0\x28"):
                continue
            method = frame.dialect.decode_method(frame.payload)
            found = [getattr(method, name) for name in method.__match_args__]
        else:
            kind = frame.dialect.properties[int.from_bytes(frame.payload[:2], "big")]
            found = [getattr(kind.from_wire(frame.payload[12:], tables), "headers", None)]
        for table in found:
            if isinstance(table, Table):
                check_table(table.raw, 0, len(table.raw), tables)
                rebuilt = again(table)
                if not holds_array(table.to_dict()):
                    assert encode_table(rebuilt, ANY)[4:] == table.raw
                assert Table(rebuilt, rules=ANY) == table
                assert encode_table(table.to_dict(), RABBIT)[4:] == Table(table.to_dict()).raw
                assert Table(table.to_dict()) == table


ANY = TableRules("any", "tbBsUuIilLfdDSATFVx", "l")
"""Rules that can send every tag."""


def holds_array(value: Any) -> bool:
    """Whether there is an array within, whose items don't say their types when they are read."""
    if isinstance(value, dict):
        return any(holds_array(inner) for inner in cast("dict[str, Any]", value).values())
    return isinstance(value, list)


def again(value: Any) -> Any:
    """A value with the wire types within."""
    if isinstance(value, Table):
        return {name: Typed(tag, again(inner)) for name, tag, inner in value.entries()}
    if isinstance(value, list):
        return [again(inner) for inner in cast("list[object]", value)]
    return value


# Names, duplicates.


@pytest.mark.rule("0-8/wire/table-duplicates", "0-9-1/wire/table-duplicates")
def test_which_of_two_entries_with_one_name_counts() -> None:
    raw = b"\x01aI\0\0\0\x01\x01bI\0\0\0\x02\x01aI\0\0\0\x03"
    for rules in RULES:
        for octets in (raw, raw + b"\x01\xffV"):  # the second is read the careful way
            table = Table.from_wire(octets, rules)
            first = rules in (SPEC_0_8, RABBIT_0_8, QPID_0_8)
            assert table["a"] == (1 if first else 3)
            assert list(table)[:2] == ["a", "b"]
            assert [value for _, _, value in table.entries()][:3] == [1, 2, 3]
            assert encode_table(table, rules)[4:] == octets
    # By the specifications a server refuses it in 0-9-1; in 0-8 it knows which one counts.
    check_table(raw, 0, len(raw), SPEC_0_8)
    check_table(raw, 0, len(raw), RABBIT)
    with pytest.raises(CodecError, match="there twice") as error:
        check_table(raw, 0, len(raw), SPEC_0_9_1)
    assert (error.value.code, error.value.rule) == (502, "wire/table-duplicates")
    # A mapping has no name twice, so none is ever sent.
    assert Table({"a": 1, "b": 2}).entries() == [("a", "I", 1), ("b", "I", 2)]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("", "doesn't begin"),
        ("9a", "doesn't begin"),
        ("_a", "doesn't begin"),
        ("a b", "more than letters"),
        ("x-death", "more than letters"),
        ("a" * 129, "longer than 128"),
    ],
)
@both_rules("wire/table-name-syntax", "wire/table-name-check")
def test_names_by_the_specifications(name: str, words: str) -> None:
    for rules in (SPEC_0_8, SPEC_0_9_1):
        for values in ({name: 1}, {"ok": {name: 1}}):
            with pytest.raises(CodecError, match=words) as error:
                encode_table(values, rules)
            assert error.value.rule == "wire/table-name-syntax"
            raw = raw_of(values, RABBIT)
            with pytest.raises(CodecError, match=words) as error:
                check_table(raw, 0, len(raw), rules)
            assert (error.value.code, error.value.rule) == (502, "wire/table-name-check")
            # It can be read all the same, and RabbitMQ has no such rule.
            assert Table.from_wire(raw, rules) == values
            check_table(raw, 0, len(raw), RABBIT)
    raw = b"\x01lA\0\0\0\x0d" + b"F\0\0\0\x08" + bytes((2,)) + b"9aI\0\0\0\x01"
    with pytest.raises(CodecError, match="doesn't begin"):
        check_table(raw, 0, len(raw), SPEC_0_9_1)


@pytest.mark.parametrize("name", ["a", "$", "#", "a_9$#", "é", "a" * 128, "x-match"])
@pytest.mark.rule("0-8/wire/table-name-syntax", "0-9-1/wire/table-name-syntax")
def test_names_that_the_specifications_allow(name: str) -> None:
    assert name_fault(name) is None
    for rules in (SPEC_0_8, SPEC_0_9_1):
        raw = raw_of({name: 1}, rules)
        check_table(raw, 0, len(raw), rules)


# Bounds.


def nested(levels: int, tag: bytes) -> bytes:
    raw = b""
    for _ in range(levels):
        raw = (b"\x01n" if tag == b"F" else b"") + tag + struct.pack(">I", len(raw)) + raw
    return raw if tag == b"F" else b"\x01n" + raw


@every_rules
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_nesting_is_bounded(rules: TableRules) -> None:
    shallow = rules.limited(5, rules.entries)
    for tag in (b"F", b"A"):
        assert accepted(nested(4, tag), shallow)
        assert not accepted(nested(5, tag), shallow)
        assert accepted(nested(31, tag), rules)
        assert not accepted(nested(32, tag), rules)
        assert not accepted(nested(3000, tag), rules)
    four: list[dict[str, Any]] = [{"a": {"a": {"a": {}}}}, {"a": {"a": Other({"a": {}})}}]
    for values in four:
        assert encode_table(values, rules.limited(4, 10))
        with pytest.raises(CodecError, match="deeper than 3 levels"):
            encode_table(values, rules.limited(3, 10))
    if "A" in rules.writes:
        assert encode_table({"a": [[[]]]}, rules.limited(4, 10))
        with pytest.raises(CodecError, match="deeper than 3 levels"):
            encode_table({"a": [[[]]]}, rules.limited(3, 10))


def _in_itself(form: str) -> Any:
    table: dict[str, Any] = {}
    table["self"] = table
    array: list[Any] = []
    array.append(array)
    forms: dict[str, Any] = {
        "a table": table,
        "an array": {"array": array},
        "a table in another mapping": Other({"t": table}),
    }
    return forms[form]


@pytest.mark.parametrize("form", ["a table", "an array", "a table in another mapping"])
def test_a_value_in_itself_is_refused(form: str) -> None:
    with pytest.raises(CodecError, match="deeper than 32 levels"):
        encode_table(_in_itself(form), RABBIT)


@every_rules
def test_the_number_of_entries_is_bounded(rules: TableRules) -> None:
    few = rules.limited(rules.depth, 9)
    ten = b"".join([b"\x02n%dV" % number for number in range(10)])
    assert accepted(ten[:-4], few)
    assert not accepted(ten, few)
    for size, fits in ((9, True), (10, False)):
        assert accepted(b"\x01aA" + struct.pack(">I", size) + b"V" * size, few) is fits
    # Octets don't count as entries.
    assert accepted(b"\x01aS\0\0\0\x64" + b"x" * 100, few)


@pytest.mark.parametrize("depth", [0, -1, 129])
def test_rules_refuse_a_depth_beyond_what_can_be_read(depth: int) -> None:
    with pytest.raises(ValueError, match="from 1 to 128"):
        RABBIT.limited(depth, 10)


def test_the_deepest_nesting_that_rules_may_allow_can_be_read() -> None:
    deep = RABBIT.limited(128, 65_536)
    for tag in (b"F", b"A"):
        assert accepted(nested(127, tag), deep)
        assert not accepted(nested(128, tag), deep)
        table = Table.from_wire(nested(127, tag), deep)
        assert table == Table.from_wire(table.raw, deep).to_dict()
        assert hash(table) == hash(pickle.loads(pickle.dumps(table)))
        assert len(repr(table)) > 127
        assert encode_table(table.to_dict(), deep)[4:] == table.raw


HOSTILE: dict[str, Callable[[int], bytes]] = {
    "nested tables": lambda size: nested(31, b"F")[:-7] + b"\x01nF" + struct.pack(">I", size) + b"\0V" * (size // 2),
    "one name again and again": lambda size: b"\x01aV" * (size // 3),
    "names": lambda size: b"".join([b"\x06%06dV" % number for number in range(size // 8)]),
    "array of nothing": lambda size: b"\x01aA" + struct.pack(">I", size) + b"V" * size,
    "array of empty tables": lambda size: b"\x01aA" + struct.pack(">I", size) + b"F\0\0\0\0" * (size // 5),
    "nested too deep": lambda size: nested(size // 60, b"F"),
    "long names": lambda size: (b"\xff" + b"\xff" * 255 + b"V") * (size // 257),
    "no table": lambda size: b"\xff" * size,
}


def read_hostile(raw: bytes) -> None:
    """Check the octets of a table and read it, whether it is refused or not."""
    for work in (lambda: check_table(raw, 0, len(raw), RABBIT), lambda: Table.from_wire(raw, RABBIT).to_dict()):
        try:
            work()
        except CodecError:
            continue


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_work_grows_with_the_octets(name: str) -> None:
    """`tests/system` measures the time of large ones, with what the interpreter does inside a step."""
    assert_linear(lambda size: partial(read_hostile, HOSTILE[name](size)), 3000)


# The mapping itself.


MAPPING = Table({"a": 1, "b": [True, {"c": "d"}], "e": {"f": None}})


def test_a_table_is_a_mapping() -> None:
    assert isinstance(MAPPING, Mapping)
    assert list(MAPPING) == list(MAPPING.keys()) == ["a", "b", "e"]
    assert list(MAPPING.values()) == [1, [True, {"c": "d"}], {"f": None}]
    assert dict(MAPPING.items()) == dict(MAPPING) == {**MAPPING}


def test_a_table_gives_values_by_name() -> None:
    assert MAPPING["a"] == 1
    assert MAPPING.get("a") == 1
    assert MAPPING.get("z") is None
    assert MAPPING.get("z", 5) == 5
    with pytest.raises(KeyError):
        MAPPING["z"]


def test_a_table_contains_its_names() -> None:
    assert "a" in MAPPING
    assert "z" not in MAPPING
    assert cast("Any", 1) not in MAPPING


def test_a_table_has_a_length_and_an_empty_one_is_false() -> None:
    assert len(MAPPING) == 3
    assert MAPPING
    assert not EMPTY


def test_a_table_shows_its_inner_tables() -> None:
    assert repr(MAPPING) == "Table({'a': 1, 'b': [True, Table({'c': 'd'})], 'e': Table({'f': None})})"


def test_a_table_as_a_dict_is_a_copy_of_dicts() -> None:
    plain = MAPPING.to_dict()
    assert type(plain["e"]) is dict
    assert type(plain["b"][1]) is dict
    plain["b"].append(5)
    assert len(MAPPING["b"]) == 2


def test_an_inner_table_is_written_as_what_it_is_equal_to() -> None:
    assert encode_table(MAPPING["e"], RABBIT) == encode_table({"f": None}, RABBIT)


def test_equality_is_that_of_mappings() -> None:
    table = Table({"a": 1, "b": [1, 2], "n": {"x": 1}})
    same = {"n": {"x": 1}, "b": [1, 2], "a": 1}
    assert table == same == table
    assert table == Table(same)
    assert table == Other(same)
    assert hash(table) == hash(Table(same))
    assert Table({"a": Typed("l", 1)}) == Table({"a": 1})
    assert table != {"a": 1}
    assert table != [("a", 1)]
    assert Table({"nan": float("nan")}) == Table({"nan": float("nan")})
    assert EMPTY == {} == Table()


def test_timestamps() -> None:
    moment = Timestamp(1_700_000_000)
    assert moment.as_datetime() == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    assert repr(moment) == "Timestamp(1700000000)"
    assert moment == 1_700_000_000
    with pytest.raises(OverflowError):
        Timestamp(2**64 - 1).as_datetime()


def test_tables_of_other_rules_are_translated() -> None:
    table = Table(
        {"s": Typed("s", "text"), "l": Typed("l", 7), "b": Typed("b", 1), "n": {"S": Typed("s", "x")}}, rules=SPEC_0_9_1
    )
    moved = Table.from_wire(encode_table(table, RABBIT)[4:], RABBIT)
    assert moved == table
    assert [tag for _, tag, _ in moved.entries()] == ["S", "I", "b", "F"]
    assert moved["n"].entries() == [("S", "S", "x")]
    # What has one meaning for both keeps its type, and an error says what can't be said.
    assert encode_table(Table({"a": Typed("u", 5)}), QPID)[4:] == b"\x01au\0\x05"
    with pytest.raises(CodecError, match="dialect '0-8' have no type 't'"):
        encode_table(Table({"a": True}), SPEC_0_8)
    assert encode_table(Table({"a": 1}), SPEC_0_8) == encode_table({"a": 1}, RABBIT)
    assert encode_table({"inner": Table({"a": Typed("u", 5)})}, RABBIT)[15:] == b"\x01au\0\x05"
    assert encode_table(EMPTY, SPEC_0_8) == bytes(4)


def test_rules_pickle_and_compare() -> None:
    for rules in RULES:
        assert pickle.loads(pickle.dumps(rules)) is rules
        smaller = rules.limited(3, 5)
        assert pickle.loads(pickle.dumps(smaller)) == smaller != rules
        assert hash(pickle.loads(pickle.dumps(smaller))) == hash(smaller)
        assert rules.limited(rules.depth, rules.entries) is rules
        assert rules.name in repr(rules)
        assert rules != rules.name


WITH_LENGTH = b"\0\0\0\x03\x01aV"


def test_a_table_with_its_length() -> None:
    assert decode_table(WITH_LENGTH, RABBIT) == {"a": None}


@pytest.mark.parametrize(
    "octets",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\0\0", id="a part of the length"),
        pytest.param(WITH_LENGTH[:-1], id="too few"),
        pytest.param(WITH_LENGTH + b"\0", id="too many"),
        pytest.param(b"\0\0\0\x02\x01a", id="a name without a value"),
    ],
)
def test_a_table_of_another_length_is_refused(octets: bytes) -> None:
    with pytest.raises(CodecError):
        decode_table(octets, RABBIT)


# What other implementations write is read, and the reverse.


def test_pika_understands_us_and_we_pika() -> None:
    data = pytest.importorskip("pika.data")
    values = {
        "text": "é",
        "small": 5,
        "big": 2**40,
        "yes": True,
        "octets": b"\0\xff",
        "none": None,
        "table": {"a": 1, "b": [1, "x", {"c": False}]},
        "decimal": Decimal("1.5"),
        "moment": datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC),
    }
    pieces: list[bytes] = []
    data.encode_table(pieces, values)
    read = decode_table(b"".join(pieces), RABBIT).to_dict()
    assert read.pop("moment").as_datetime() == datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read == {name: value for name, value in values.items() if name != "moment"}
    octets = encode_table(values, RABBIT)
    assert data.decode_table(octets, 0) == (values, len(octets))


def test_py_amqp_understands_us_and_we_py_amqp() -> None:
    serialization = pytest.importorskip("amqp.serialization")
    values = {
        "text": "é",
        "small": 5,
        "big": 2**40,
        "yes": True,
        "float": 1.5,
        "none": None,
        "table": {"a": 1, "b": [1, "x", {"c": False}]},
        "moment": datetime(2023, 1, 2, 3, 4, 5),
    }
    read = decode_table(serialization.dumps("F", [values]), RABBIT).to_dict()
    assert read.pop("moment").as_datetime() == datetime(2023, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert read == {name: value for name, value in values.items() if name != "moment"}
    (understood,), _ = serialization.loads("F", encode_table(values, RABBIT), 0)
    assert understood == values


# The types of field tables: what each tag means, and what each value becomes, in every dialect.


# What each type is on the wire, in each dialect.

EVERYWHERE: list[tuple[bytes, Any, str | None]] = [
    (b"S\0\0\0\x03\xc3\xa9x", "éx", "S"),
    (b"I\xff\xff\xff\xfe", -2, "I"),
    (b"D\x02\xff\xff\xff\x85", Decimal("-1.23"), "D"),
    (b"D\x00\x00\x00\x00\x07", Decimal(7), "D"),
    (b"T\xff\xff\xff\xff\xff\xff\xff\xff", Timestamp(2**64 - 1), "T"),
    (b"F\0\0\0\x06\x01aI\0\0\0", None, None),
    (b"F\0\0\0\x07\x01aI\0\0\0\x05", {"a": 5}, "F"),
    (b"t\x01", True, "t"),
    (b"t\x00", False, "t"),
    (b"t\x07", True, "t"),
    (b"b\xff", -1, "b"),
    (b"B\xff", 255, "B"),
    (b"U\xff\xff", -1, "U"),
    (b"u\xff\xff", 65_535, "u"),
    (b"i\xff\xff\xff\xff", 2**32 - 1, "i"),
    (b"L" + b"\xff" * 8, -1, "L"),
    (b"f\x3f\xc0\x00\x00", 1.5, "f"),
    (b"d\x3f\xf8" + bytes(6), 1.5, "d"),
    (b"A\0\0\0\x07I\0\0\0\x01t\x01", [1, True], "A"),
    (b"A\0\0\0\0", [], "A"),
    (b"x\0\0\0\x02\x00\xff", b"\x00\xff", "x"),
    (b"V", None, "V"),
    (b"z\0", None, None),
    (b"\0", None, None),
]
LIKE_RABBIT: list[tuple[bytes, Any, str | None]] = [
    (b"s\xff\xff", -1, "s"),
    (b"s\x02ab", None, None),
    (b"l" + b"\xff" * 8, -1, "l"),
]
LIKE_0_9_1: list[tuple[bytes, Any, str | None]] = [
    (b"s\x02ab", "ab", "s"),
    (b"s\x00", "", "s"),
    (b"s\x02a", None, None),
    (b"l" + b"\xff" * 8, 2**64 - 1, "l"),
]


def readings() -> list[Any]:
    found: list[Any] = []
    for rules in RULES:
        own = LIKE_0_9_1 if rules is SPEC_0_9_1 else LIKE_RABBIT
        for octets, value, tag in EVERYWHERE + own:
            found.append(pytest.param(rules, octets, value, tag, id=f"{rules.name}-{octets!r}"))
    return found


@pytest.mark.parametrize(("rules", "octets", "value", "tag"), readings())
@both_rules("wire/table-tags", "wire/table-decimal")
@pytest.mark.rule("0-8/wire/table-signed", "0-9-1/wire/table-array")
def test_what_a_tag_means(rules: TableRules, octets: bytes, value: Any, tag: str | None) -> None:
    raw = b"\x01k" + octets
    # Alone, before another entry, and within a table and an array.
    shapes = [
        (raw, {"k": value}),
        (raw + b"\x01mV", {"k": value, "m": None}),
        (b"\x01nF" + struct.pack(">I", len(raw)) + raw, {"n": {"k": value}}),
        (b"\x01nA" + struct.pack(">I", len(octets)) + octets, {"n": [value]}),
    ]
    for shape, expected in shapes:
        assert accepted(shape, rules) is (tag is not None)
        if tag is not None:
            table = Table.from_wire(shape, rules)
            assert table == expected
            assert table.to_dict() == expected
            assert encode_table(table, rules)[4:] == shape
    if tag is not None:
        table = Table.from_wire(raw, rules)
        assert table.entries() == [("k", tag, value)]
        assert type(table["k"]) is (Table if isinstance(value, dict) else type(value))


@pytest.mark.parametrize(
    ("value", "octets"),
    [
        (True, b"t\x01"),
        (False, b"t\x00"),
        (0, b"I\0\0\0\0"),
        (-(2**31), b"I\x80\0\0\0"),
        (2**31 - 1, b"I\x7f\xff\xff\xff"),
        (2**31, b"l\0\0\0\0\x80\0\0\0"),
        (-(2**63), b"l\x80" + bytes(7)),
        (2**63 - 1, b"l\x7f" + b"\xff" * 7),
        (1.5, b"d\x3f\xf8" + bytes(6)),
        ("é", b"S\0\0\0\x02\xc3\xa9"),
        ("x" * 300, b"S\0\0\x01\x2c" + b"x" * 300),
        ("a\udcff", b"S\0\0\0\x02a\xff"),
        (b"\0\xff", b"x\0\0\0\x02\0\xff"),
        (bytearray(b"ab"), b"x\0\0\0\x02ab"),
        (memoryview(b"ab"), b"x\0\0\0\x02ab"),
        (Decimal("-1.23"), b"D\x02\xff\xff\xff\x85"),
        (Decimal("1E+3"), b"D\x00\0\0\x03\xe8"),
        (Decimal("1E-255"), b"D\xff\0\0\0\x01"),
        (Timestamp(5), b"T\0\0\0\0\0\0\0\x05"),
        (datetime(1970, 1, 1, 0, 0, 5, tzinfo=UTC), b"T\0\0\0\0\0\0\0\x05"),
        (datetime(1970, 1, 1, 0, 0, 5), b"T\0\0\0\0\0\0\0\x05"),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), b"T" + bytes(8)),
        (None, b"V"),
        ({}, b"F\0\0\0\0"),
        ({"a": {"b": "c"}}, b"F\0\0\0\x0f\x01aF\0\0\0\x08\x01bS\0\0\0\x01c"),
        ([], b"A\0\0\0\0"),
        ((1, "a", [None]), b"A\0\0\0\x11I\0\0\0\x01S\0\0\0\x01aA\0\0\0\x01V"),
        (Typed("b", -1), b"b\xff"),
        (Typed("B", 255), b"B\xff"),
        (Typed("s", -2), b"s\xff\xfe"),
        (Typed("u", 2), b"u\0\x02"),
        (Typed("i", 2**32 - 1), b"i\xff\xff\xff\xff"),
        (Typed("I", 2), b"I\0\0\0\x02"),
        (Typed("l", 2), b"l" + bytes(7) + b"\x02"),
        (Typed("f", 1.5), b"f\x3f\xc0\0\0"),
        (Typed("S", b"\xff"), b"S\0\0\0\x01\xff"),
        (Typed("x", b"\xff"), b"x\0\0\0\x01\xff"),
        (Typed("T", 5), b"T" + bytes(7) + b"\x05"),
        (Typed("A", (Typed("b", 1),)), b"A\0\0\0\x02b\x01"),
        (Typed("F", {"a": Typed("b", 1)}), b"F\0\0\0\x04\x01ab\x01"),
    ],
)
def test_what_a_value_becomes(value: Any, octets: bytes) -> None:
    for rules in (RABBIT, RABBIT_0_8, QPID, QPID_0_8):
        assert raw_of({"k": value}, rules) == b"\x01k" + octets
        # The careful way, which a mapping that is no dict takes, is the same.
        assert raw_of(Other({"k": value}), rules) == b"\x01k" + octets


class Colour(IntEnum):
    RED = 3


class Name(str):
    __slots__ = ()


class Number(int):
    __slots__ = ()


class Flags(dict[str, int]):
    """A dict of its own kind."""


class Row(list[int]):
    """A list of its own kind."""


def test_subclasses_are_what_their_bases_are() -> None:
    same = {"a": 3, "b": "n", "c": 5, "d": {"x": 1}, "e": {"y": 2}, "f": [1], "g": 2**40}
    values: dict[str, Any] = {
        "a": Colour.RED,
        "b": Name("n"),
        "c": Number(5),
        "d": Flags(x=1),
        "e": OrderedDict(y=2),
        "f": Row([1]),
        "g": Number(2**40),
    }
    assert raw_of(values, RABBIT) == raw_of(same, RABBIT)
    assert raw_of({"d": Other({"x": 1})}, RABBIT) == raw_of({"d": {"x": 1}}, RABBIT)


@pytest.mark.parametrize(
    ("rules", "value", "octets"),
    [
        (SPEC_0_9_1, 2**40, b"L\0\0\x01" + bytes(5)),
        (SPEC_0_9_1, -(2**40), b"L\xff\xff\xff" + bytes(5)),
        (SPEC_0_9_1, Typed("l", 2**64 - 1), b"l" + b"\xff" * 8),
        (SPEC_0_9_1, Typed("s", "ab"), b"s\x02ab"),
        (SPEC_0_9_1, Typed("U", -1), b"U\xff\xff"),
        (SPEC_0_9_1, b"ab", b"S\0\0\0\x02ab"),
        (SPEC_0_9_1, True, b"t\x01"),
        (SPEC_0_8, b"ab", b"S\0\0\0\x02ab"),
        (SPEC_0_8, {"a": 1}, b"F\0\0\0\x07\x01aI\0\0\0\x01"),
    ],
)
def test_what_a_value_becomes_by_the_specifications(rules: TableRules, value: Any, octets: bytes) -> None:
    assert raw_of({"k": value}, rules) == b"\x01k" + octets


@pytest.mark.parametrize(
    ("rules", "value", "words"),
    [
        (RABBIT, 2**63, "doesn't fit the table type 'l'"),
        (RABBIT, Typed("U", 1), "have no type 'U'"),
        (RABBIT, Typed("L", 1), "have no type 'L'"),
        (RABBIT, Typed("b", 128), "128 doesn't fit the table type 'b'"),
        (RABBIT, Typed("B", -1), "-1 doesn't fit the table type 'B'"),
        (RABBIT, Typed("I", 2**31), "doesn't fit the table type 'I'"),
        (RABBIT, Typed("I", "1"), "'1' doesn't fit the table type 'I'"),
        (RABBIT, Typed("f", 1e300), "doesn't fit the table type 'f'"),
        (RABBIT, Typed("d", "x"), "doesn't fit the table type 'd'"),
        (RABBIT, Typed("S", 5), "5 doesn't fit the table type 'S'"),
        (RABBIT, Typed("x", None), "doesn't fit the table type 'x'"),
        (RABBIT, Typed("V", 0), "0 doesn't fit the table type 'V'"),
        (RABBIT, Typed("T", -1), "-1 doesn't fit the table type 'T'"),
        (RABBIT, Typed("T", 1.5), "1.5 doesn't fit the table type 'T'"),
        (RABBIT, Typed("D", 1.5), "1.5 doesn't fit the table type 'D'"),
        (RABBIT, Typed("F", 5), "5, which isn't a mapping"),
        (RABBIT, Typed("A", 5), "5 doesn't fit the table type 'A'"),
        (RABBIT, Typed("z", 5), "have no type 'z'"),
        (RABBIT, Typed("SI", 5), "doesn't fit the table type 'SI'"),
        (RABBIT, Typed("", 5), "have no"),
        (RABBIT, object(), "a table can't hold a object"),
        (RABBIT, {1, 2}, "a table can't hold a set"),
        (RABBIT, 1j, "a table can't hold a complex"),
        (RABBIT, "\ud800", "half a surrogate pair"),
        (RABBIT, Decimal("NaN"), "NaN doesn't fit the table type 'D'"),
        (RABBIT, Decimal("Infinity"), "Infinity doesn't fit the table type 'D'"),
        (RABBIT, Decimal(2**31), "2147483648 doesn't fit the table type 'D'"),
        (RABBIT, Decimal("1E-256"), "doesn't fit the table type 'D'"),
        (RABBIT, Decimal("1E+999999"), "doesn't fit the table type 'D'"),
        (RABBIT, Timestamp(2**64), "doesn't fit the table type 'T'"),
        (RABBIT, datetime(1969, 1, 1, tzinfo=UTC), "doesn't fit the table type 'T'"),
        (RABBIT, {"inner": object()}, "a table can't hold a object"),
        (RABBIT, [object()], "a table can't hold a object"),
        (RABBIT, {1: 2}, "the table's name 1 is a int, not a str"),
        (RABBIT, {"n" * 256: 2}, "longer than 255 octets"),
        (RABBIT, {"\ud800": 2}, "half a surrogate pair"),
        (SPEC_0_8, True, "dialect '0-8' have no type 't', which True needs; they have S I D T F"),
        (SPEC_0_8, 1.5, "have no type 'd'"),
        (SPEC_0_8, None, "have no type 'V'"),
        (SPEC_0_8, [1], "have no type 'A'"),
        (SPEC_0_8, 2**40, "have no 64-bit integer, which 1099511627776 needs"),
        (SPEC_0_9_1, Typed("x", b""), "dialect '0-9-1' have no type 'x'"),
        (SPEC_0_9_1, Typed("s", "x" * 256), "doesn't fit the table type 's'"),
        (SPEC_0_9_1, Typed("s", 5), "is a int, not a str"),
        (SPEC_0_9_1, Typed("l", -1), "-1 doesn't fit the table type 'l'"),
    ],
)
def test_what_the_rules_cannot_say_is_refused(rules: TableRules, value: Any, words: str) -> None:
    for values in ({"k": value}, Other({"k": value})):
        with pytest.raises(CodecError) as error:
            encode_table(values, rules)
        assert words in str(error.value)
        assert error.value.code == 502


def test_only_a_mapping_is_a_table() -> None:
    wrong: Any = [("a", 1)]
    with pytest.raises(CodecError, match="isn't a mapping"):
        encode_table(wrong, RABBIT)
