"""The Python classes of AMQP 1.0's values: what they are equal to, hold, refuse; how they pickle."""

import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.values import decode, encode
from amqp_sansio.errors import CodecError
from tests.kit.values_1_0 import maps, scalars, strings, symbols, values

RANGES: list[tuple[Any, int, int]] = [
    (spec.UByte, 0, 2**8 - 1),
    (spec.UShort, 0, 2**16 - 1),
    (spec.UInt, 0, 2**32 - 1),
    (spec.ULong, 0, 2**64 - 1),
    (spec.Byte, -(2**7), 2**7 - 1),
    (spec.Short, -(2**15), 2**15 - 1),
    (spec.Int, -(2**31), 2**31 - 1),
    (amqp.Timestamp, -(2**63), 2**63 - 1),
]


@pytest.mark.parametrize(("kind", "low", "high"), RANGES)
def test_integers_know_their_range(kind: Any, low: int, high: int) -> None:
    for value in (low, high):
        made = kind(value)
        assert made == value
        assert made.__class__ is kind
        assert decode(encode(made))[0].__class__ is kind
        assert decode(encode(made))[0] == value
    for value in (low - 1, high + 1):
        with pytest.raises(ValueError, match=kind.__name__):
            kind(value)
    assert repr(kind(5)) == f"{kind.__name__}(5)"
    assert str(kind(5)) == f"{kind(5)}" == "5"
    assert (kind(5) + 1).__class__ is int


def test_other_classes_of_single_values() -> None:
    assert (repr(spec.Float(1.5)), str(spec.Float(1.5)), spec.Float(1.5)) == ("Float(1.5)", "1.5", 1.5)
    assert (repr(amqp.Symbol("a")), str(amqp.Symbol("a")), amqp.Symbol("a")) == ("Symbol('a')", "a", "a")
    assert repr(spec.Char("a")) == "Char('a')"
    for text in ("", "ab"):
        with pytest.raises(ValueError, match="one character"):
            spec.Char(text)


@given(values)
def test_values_pickle_as_they_are(value: Any) -> None:
    for one in (value, decode(encode(value))[0]):
        again = pickle.loads(pickle.dumps(one))
        assert again.__class__ is one.__class__
        assert again == one
        assert encode(again) == encode(one)


@pytest.mark.rule("1.0/types/timestamp")
def test_timestamps_and_datetimes() -> None:
    moment = datetime(2011, 7, 26, 18, 21, 3, 521_000, tzinfo=UTC)
    assert amqp.Timestamp.from_datetime(moment) == 1_311_704_463_521
    assert amqp.Timestamp(1_311_704_463_521).datetime == moment
    east = moment.astimezone(timezone(timedelta(hours=2)))
    assert decode(encode(east))[0] == amqp.Timestamp(1_311_704_463_521)
    assert amqp.Timestamp.from_datetime(moment.replace(tzinfo=None)) == 1_311_704_463_521
    assert amqp.Timestamp(-1).datetime == datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
    with pytest.raises(OverflowError):
        _ = amqp.Timestamp(2**62).datetime


def test_plain_values_take_the_types_that_are_named_for_them() -> None:
    assert encode(Decimal("1.5"))[0] == 0x94
    assert decode(encode(Decimal("1.5")))[0] == spec.Decimal128.from_decimal("1.5")
    assert encode((1, 2)) == encode([1, 2])
    assert encode(memoryview(b"ab")) == encode(bytearray(b"ab")) == encode(b"ab")
    assert encode({"a": [1]}) == encode(spec.Map({"a": [1]}))

    class Own(int):
        pass

    class Text(str):
        __slots__ = ()

    assert encode(Own(5)) == encode(5)
    assert encode(Text("x")) == encode("x")


# Maps.


@given(maps)
def test_a_map_is_the_mapping_it_was_made_of(pairs: dict[Any, Any]) -> None:
    made = spec.Map(pairs)
    assert made == pairs
    assert list(made) == list(pairs)
    assert len(made) == len(pairs)
    again = spec.Map.from_wire(made.raw)
    assert again == made
    assert again == pairs
    assert hash(again) == hash(made)
    assert again.raw == encode(again) == made.raw
    assert dict(again.items()) == pairs
    for key in pairs:
        assert key in again
        assert again.get(key) == again[key]


@given(st.dictionaries(strings, scalars, max_size=4) | st.dictionaries(symbols, scalars, max_size=4), st.data())
def test_a_map_reads_what_decoding_reads(pairs: dict[Any, Any], data: st.DataObject) -> None:
    """Late reading takes a shorter way than decoding does."""
    raw = bytearray(encode(pairs))
    if data.draw(st.booleans()):
        raw[data.draw(st.integers(1, len(raw) - 1))] = data.draw(st.integers(0, 255))
    octets = bytes(raw)
    known: Any = None
    end = 0
    try:
        known, end = decode(octets)
    except CodecError as error:
        assert error.rule
    late = spec.Map.from_wire(octets)
    if end != len(octets):
        with pytest.raises(CodecError):
            len(late)
        return
    for (key, value), (other, again) in zip(known.items(), late.items(), strict=True):
        assert (key.__class__, value.__class__) == (other.__class__, again.__class__)
        assert encode(key) == encode(other)
        assert encode(value) == encode(again)


def test_a_map_reads_when_it_is_asked() -> None:
    broken = spec.Map.from_wire(b"\xc1\x03\x02\xa1\x01")
    accesses: list[Callable[[spec.Map], Any]] = [len, list, hash, spec.Map.pairs, spec.Map.to_dict, dict]
    for access in accesses:
        with pytest.raises(CodecError):
            access(broken)
    assert repr(broken) == "<Map of 5 damaged octets>"
    assert broken.raw == b"\xc1\x03\x02\xa1\x01"
    assert pickle.loads(pickle.dumps(broken)).raw == broken.raw
    twice = b"\xc1\x09\x04\xa1\x01a\x41\xa1\x01a\x41"
    for octets in (b"\xc1\x01\x00\x40", b"\xc0\x01\x00", b"\x40", twice):
        with pytest.raises(CodecError):
            len(spec.Map.from_wire(octets))


def test_a_map_keeps_the_octets_that_it_came_in() -> None:
    wide = b"\xd1\0\0\0\x0f\0\0\0\x02\xb1\0\0\0\x01a\x70\0\0\0\x01"
    found, end = decode(wide)
    assert end == len(wide)
    assert found == {"a": spec.UInt(1)}
    assert encode(found) == encode([found])[3:] == wide
    assert found == spec.Map({"a": spec.UInt(1)})
    assert spec.Map(found).raw == wide


def test_a_map_gives_plain_values() -> None:
    found = spec.Map({"a": {"b": [{"c": 1}]}, (1, 2): None})
    assert found.to_dict() == {"a": {"b": [{"c": 1}]}, (1, 2): None}
    assert found["a"].__class__ is spec.Map
    assert found[(1, 2)] is None
    assert spec.Map() == {}
    assert not spec.Map()
    assert spec.Map() != 5
    assert repr(spec.Map({"a": 1})) == "Map({'a': 1})"


def test_keys_without_a_hash_in_python_become_ones_with() -> None:
    keys = [
        [1, 2],
        {"a": 1},
        amqp.Described(amqp.Symbol("a"), [1]),
        spec.Array([1, 2]),
        amqp.Accepted(),
        amqp.Error("a:b", info={"x": [1]}),
    ]
    for key in keys:
        raw = encode(key)
        octets = bytes((0xC1, len(raw) + 2, 2)) + raw + b"\x41"
        found = decode(octets)[0]
        assert list(found.values()) == [True]
        assert encode(next(iter(found))) == raw


# Arrays, described and opaque values.


def test_arrays_are_sequences() -> None:
    found = spec.Array([spec.UInt(1), spec.UInt(2)])
    assert found == [1, 2] == found
    assert found == (1, 2)
    assert found[0] == 1
    assert found[1:] == (2,)
    assert len(found) == 2
    assert 2 in found
    assert found != spec.Array([1, 2])
    assert found != spec.Array([spec.UInt(1)])
    assert found != "x"
    assert hash(found) == hash(decode(encode(found))[0])
    assert repr(found) == "Array([UInt(1), UInt(2)])"
    assert repr(spec.Array([], amqp.Symbol)) == "Array([], element=Symbol)"
    same = decode(b"\xe0\x02\x03\x41")[0]
    assert list(same[1:]) == [True, True]
    assert same == spec.Array([True, True, True]) == same
    assert hash(same) == hash(spec.Array([True, True, True]))
    assert same == decode(b"\xf0\0\0\0\x05\0\0\0\x03\x41")[0]
    assert same != decode(b"\xe0\x02\x02\x41")[0]
    assert repr(same) == "Array([True] * 3)"
    with pytest.raises(ValueError, match="element"):
        spec.Array([])
    with pytest.raises(IndexError):
        same[3]


def test_described_and_opaque_values() -> None:
    one = amqp.Described(amqp.Symbol("a:b"), [1])
    assert one == amqp.Described("a:b", [1])
    assert one != amqp.Described(amqp.Symbol("a:b"), [2])
    plain: Any = [1]
    assert one != plain
    assert hash(one) == hash(amqp.Described(amqp.Symbol("a:b"), [1]))
    match one:
        case amqp.Described(descriptor, value):
            assert (descriptor, value) == ("a:b", [1])
    octets: Any = b"\x5a\x01"
    assert spec.Opaque(octets) == spec.Opaque(octets) != octets
    assert len({spec.Opaque(b"\x5a\x01"), spec.Opaque(b"\x5a\x01")}) == 1
    assert repr(spec.Opaque(b"F")) == "Opaque(b'F')"
