"""The types of field tables: what each tag means, and what each value becomes, in every dialect."""

from __future__ import annotations

import struct
from collections import OrderedDict
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest

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
    encode_table,
)
from amqp_sansio.errors import CodecError
from tests.kit.classic_values import RULES, Other, accepted, raw_of
from tests.kit.facing import both_rules

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
