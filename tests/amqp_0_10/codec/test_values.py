"""Values and structs of 0-10: every type there and back, the damaged, the unknown (part 1 sections 2.2 and 5.3)."""

import pickle
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import CodecError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.record import decode_headers, encode_headers
from amqp_sansio.amqp_0_10.codec.types import decode_value, encode_value
from amqp_sansio.amqp_0_10.codec.values import CODES
from amqp_sansio.amqp_0_10.model.open_ids import OpenIds
from tests.kit.steps import count_steps

SIMPLE: list[tuple[str, Any]] = [
    ("bin8", b"\x01"),
    ("int8", -128),
    ("uint8", 255),
    ("char", "\xe9"),
    ("boolean", True),
    ("boolean", False),
    ("bin16", b"12"),
    ("int16", -32768),
    ("uint16", 65535),
    ("bin32", b"1234"),
    ("int32", -(1 << 31)),
    ("uint32", (1 << 32) - 1),
    ("float", 1.5),
    ("char-utf32", "\U0001f600"),
    ("bin64", b"12345678"),
    ("int64", -(1 << 63)),
    ("uint64", (1 << 64) - 1),
    ("double", -0.1),
    ("datetime", amqp.spec.Datetime(1 << 40)),
    ("bin128", b"x" * 16),
    ("uuid", UUID(int=7)),
    ("bin256", b"x" * 32),
    ("bin512", b"x" * 64),
    ("bin1024", b"x" * 128),
    ("vbin8", b""),
    ("vbin8", b"a" * 255),
    ("str8-latin", "caf\xe9"),
    ("str8", "caf\xe9"),
    ("str8-utf16", "caf\xe9"),
    ("vbin16", b"a" * 300),
    ("str16-latin", "\xff"),
    ("str16", "\u20ac"),
    ("str16-utf16", "\u20ac"),
    ("vbin32", b"a" * 70000),
    ("map", {"a": 1, "b": [True, None]}),
    ("list", [1, "a", {}]),
    ("array", ["a", "b"]),
    ("bin40", b"12345"),
    ("dec32", Decimal("-1.25")),
    ("bin72", b"123456789"),
    ("dec64", Decimal("123456789.123")),
    ("void", None),
    ("bit", True),
]


@pytest.mark.rule("0-10/wire/mandatory-types")
@pytest.mark.parametrize(("name", "value"), SIMPLE, ids=lambda each: each if isinstance(each, str) else "")
def test_every_type_there_and_back(name: str, value: Any) -> None:
    octets = encode_value(amqp.spec.Typed(name, value))
    assert octets[0] == CODES[name]
    found, end = decode_value(octets)
    assert (found, end) == (value, len(octets))
    assert encode_value(amqp.spec.Typed(name, found)) == octets


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (None, "void"),
        (True, "boolean"),
        (1, "int64"),
        (1 << 63, "uint64"),
        (1.0, "double"),
        ("a", "str16"),
        (b"a", "vbin32"),
        (UUID(int=1), "uuid"),
        (amqp.spec.Datetime(1), "datetime"),
        (Decimal("1.5"), "dec64"),
        ({}, "map"),
        ([], "list"),
        ((1,), "list"),
        (amqp.spec.Struct32(0x0901, b"\x00\x00"), "struct32"),
        (spec.ReplyTo(), ""),
    ],
)
def test_what_plain_values_become(value: Any, name: str) -> None:
    if not name:
        with pytest.raises(CodecError, match="no type of 0-10"):
            encode_value(value)
        return
    assert encode_value(value)[0] == CODES[name]


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 63), (1 << 64) - 1)
    | st.text()
    | st.binary(max_size=50)
    | st.floats(allow_nan=False)
    | st.uuids(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=40), inner, max_size=4),
    max_leaves=20,
)


@given(value=VALUES)
def test_any_value_there_and_back(value: Any) -> None:
    octets = encode_value(value)
    found, end = decode_value(octets)
    assert (found, end) == (value, len(octets))
    assert encode_value(found) == octets


@pytest.mark.parametrize("code", [0x03, 0x8F, 0x9F, 0xAF, 0xC1, 0xD1, 0xF7])
def test_types_nobody_knows_are_passed_on_by_their_width(code: int) -> None:
    group = code >> 4
    content = {
        0x0: b"x",
        0x8: b"\x02ab",
        0x9: b"\x00\x02ab",
        0xA: b"\x00\x00\x00\x02ab",
        0xC: b"12345",
        0xD: b"123456789",
        0xF: b"",
    }[group]
    octets = bytes((code,)) + content
    found, end = decode_value(octets + b"more")
    assert end == len(octets)
    assert encode_value(found) == octets


@pytest.mark.rule("0-10/wire/map-distinct")
def test_a_key_comes_once() -> None:
    entry = b"\x01a\x02\x07"
    twice = amqp.Map.from_wire(b"\x00\x00\x00\x02" + entry + entry)
    with pytest.raises(CodecError, match="twice"):
        len(twice)
    assert twice.entries() == [("a", 2, 7), ("a", 2, 7)]


def test_maps_keep_their_octets() -> None:
    raw = b"\x00\x00\x00\x02\x01b\x02\x07\x01a\x85\x01x"
    found = amqp.Map.from_wire(raw)
    assert found == {"b": 7, "a": "x"}
    assert list(found) == ["b", "a"]
    assert encode_value(found) == b"\xa8" + len(raw).to_bytes(4, "big") + raw
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.rule("0-10/wire/struct-flags", "0-10/wire/struct-spare-flags")
def test_the_first_field_is_the_first_octets_lowest_bit() -> None:
    assert spec.MessageTransfer("q").encode() == b"\x01\x00\x01q"
    assert spec.MessageTransfer(accept_mode=1).encode() == b"\x02\x00\x01"
    properties = amqp.DeliveryProperties(routing_key="k", redelivered=True)
    assert properties.encode() == b"\x04\x02\x01k"
    assert spec.MessageTransfer().encode() == b"\x00\x00"
    # What a peer set besides is written again as it came.
    odd = spec.MessageTransfer.decode(b"\x01\x80\x01q")
    assert (odd.destination, odd.encode()) == ("q", b"\x01\x80\x01q")


@pytest.mark.rule("0-10/wire/struct-size-includes", "0-10/wire/struct-code")
def test_sizes_and_codes_of_structs() -> None:
    assert spec.ReplyTo("x", "k").encode_sized() == b"\x00\x06\x03\x00\x01x\x01k"
    assert spec.Xid(1, b"g", b"b").encode_sized() == b"\x00\x00\x00\x0c\x06\x04\x07\x00\x00\x00\x00\x01\x01g\x01b"
    message = amqp.MessageProperties(reply_to=spec.ReplyTo("x", "k"))
    assert amqp.MessageProperties.decode(message.encode()).reply_to == spec.ReplyTo("x", "k")
    fragment = spec.CommandFragment(7, amqp.spec.ByteRanges([(0, 9)]))
    assert fragment.encode_sized() == b"\x00\x00\x00\x07\x00\x10" + bytes(15) + b"\x09"


@pytest.mark.rule("0-10/wire/struct32", "0-10/wire/header-unknown-pass")
def test_structs_nobody_knows_are_kept_octet_for_octet() -> None:
    unknown = amqp.spec.Struct32(0x7F01, b"\x01\x02\x03")
    result = spec.ExecutionResult(5, unknown)
    again = spec.ExecutionResult.decode(result.encode())
    assert again.value == unknown
    known = spec.ExecutionResult(5, spec.QueueQueryResult("q", message_count=3))
    assert spec.ExecutionResult.decode(known.encode()).value == spec.QueueQueryResult("q", message_count=3)
    headers = (unknown, amqp.DeliveryProperties(routing_key="k"))
    octets = encode_headers(headers)
    assert decode_headers(octets, 0, len(octets)) == headers
    assert encode_headers(decode_headers(octets, 0, len(octets))) == octets


@pytest.mark.rule("0-10/wire/header-any-order")
def test_header_structs_in_any_order_and_once() -> None:
    one, other = amqp.DeliveryProperties(priority=3), amqp.MessageProperties(content_type="a/b")
    for headers in ((one, other), (other, one)):
        octets = encode_headers(headers)
        assert decode_headers(octets, 0, len(octets)) == headers
    octets = encode_headers((one, one))
    with pytest.raises(CodecError, match="twice"):
        decode_headers(octets, 0, len(octets))


@pytest.mark.rule("0-10/wire/byte-ranges")
@pytest.mark.parametrize("ranges", [[(5, 4)], [(0, 5), (6, 7)], [(0, 5), (3, 9)], [(9, 9), (0, 1)]], ids=str)
def test_byte_ranges_ascend_and_do_not_touch(ranges: list[tuple[int, int]]) -> None:
    with pytest.raises(CodecError, match="byte ranges"):
        amqp.spec.ByteRanges(ranges)
    with pytest.raises(CodecError, match="16"):
        amqp.spec.ByteRanges.decode(b"x" * 15)


def test_records_are_values() -> None:
    record = spec.SessionCompleted(amqp.SequenceSet.of(1, 2), timely_reply=True)
    assert record == spec.SessionCompleted(amqp.SequenceSet.of(1, 2), timely_reply=True)
    assert hash(record) == hash(spec.SessionCompleted(amqp.SequenceSet.of(1, 2), timely_reply=True))
    assert record != spec.SessionCompleted(amqp.SequenceSet.of(1, 2))
    assert repr(record) == "SessionCompleted(commands=SequenceSet([(1, 2)]), timely_reply=True)"
    assert pickle.loads(pickle.dumps(record)) == record
    login = spec.ConnectionStartOk(mechanism="PLAIN", response=b"secret")
    assert "secret" not in repr(login)
    with pytest.raises(CodecError, match="destination is 7"):
        spec.MessageTransfer(7).encode()  # type: ignore[arg-type]


def test_what_a_set_has_of_some_ids_costs_a_step_for_each_of_them() -> None:
    """Neither for each id that its ranges name, nor for each range that overlaps."""
    ids: OpenIds[None] = OpenIds()
    ids.update(dict.fromkeys(range(1000)))
    wide = amqp.SequenceSet([(0, 0x7FFF_FFFF), (0x8000_0000, 0xFFFF_FFFF)])
    assert count_steps(lambda: ids.named(wide)) < 12 * len(ids)
    overlapping = amqp.SequenceSet([(number, number + 2000) for number in range(500)])
    assert count_steps(lambda: ids.named(overlapping)) < 12 * len(ids) + 20 * 500
    assert ids.named(wide) == ids.named(overlapping) == list(ids)


@given(
    ranges=st.lists(st.tuples(st.integers(-20, 20), st.integers(0, 8)), max_size=6), ids=st.sets(st.integers(-20, 28))
)
def test_what_a_set_has_of_some_ids(ranges: list[tuple[int, int]], ids: set[int]) -> None:
    """Also where ranges overlap and wrap around."""
    mask = 0xFFFF_FFFF
    wanted = amqp.SequenceSet([(lower & mask, (lower + width) & mask) for lower, width in ranges])
    waiting: OpenIds[None] = OpenIds()
    waiting.update({number & mask: None for number in sorted(ids)})
    assert waiting.named(wanted) == [number for number in waiting if number in wanted]


@pytest.mark.parametrize(("body", "text"), [("text", r"not str: pass text\.encode"), (5, "not int: encode it")])
def test_bodies_that_are_no_octets_are_refused_with_what_to_pass(body: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        amqp.Message(body)
