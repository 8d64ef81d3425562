"""The AMQP 1.0 codec against proton's: what one encodes the other reads as the same value, of the same type."""

# Decoded values have no types to check before they are there, and proton's own are partial.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

import proton
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.message import check_message
from amqp_sansio.amqp_1_0.codec.values import decode, encode

Constants: Any = proton.Data
UNDESCRIBED: Any = proton.UNDESCRIBED

INTEGERS: dict[type[Any], tuple[type[Any], int, int]] = {
    spec.UByte: (proton.ubyte, 0, 2**8 - 1),
    spec.UShort: (proton.ushort, 0, 2**16 - 1),
    spec.UInt: (proton.uint, 0, 2**32 - 1),
    spec.ULong: (proton.ulong, 0, 2**64 - 1),
    spec.Byte: (proton.byte, -(2**7), 2**7 - 1),
    spec.Short: (proton.short, -(2**15), 2**15 - 1),
    spec.Int: (proton.int32, -(2**31), 2**31 - 1),
    amqp.Timestamp: (proton.timestamp, -(2**63), 2**63 - 1),
}
ARRAYS: dict[type[Any], int] = {
    bool: Constants.BOOL,
    spec.UByte: Constants.UBYTE,
    spec.UShort: Constants.USHORT,
    spec.UInt: Constants.UINT,
    spec.ULong: Constants.ULONG,
    spec.Byte: Constants.BYTE,
    spec.Short: Constants.SHORT,
    spec.Int: Constants.INT,
    int: Constants.LONG,
    float: Constants.DOUBLE,
    spec.Float: Constants.FLOAT,
    spec.Char: Constants.CHAR,
    amqp.Timestamp: Constants.TIMESTAMP,
    uuid.UUID: Constants.UUID,
    bytes: Constants.BINARY,
    str: Constants.STRING,
    amqp.Symbol: Constants.SYMBOL,
}

# A NUL and lone surrogates aside, any text: proton's strings end at a NUL in some places.
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))
symbols = st.text(st.characters(min_codepoint=33, max_codepoint=126)).map(amqp.Symbol)
by_type: dict[type[Any], st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: st.integers(-(2**63), 2**63 - 1),
    float: st.floats(allow_nan=False),
    spec.Float: st.floats(allow_nan=False, width=32).map(spec.Float),
    spec.Char: st.characters(exclude_categories=["Cs"]).map(spec.Char),
    bytes: st.binary(max_size=300),
    str: texts,
    amqp.Symbol: symbols,
    uuid.UUID: st.uuids(),
    **{kind: st.integers(low, high).map(kind) for kind, (_, low, high) in INTEGERS.items()},
}
decimals = (
    st.binary(min_size=4, max_size=4).map(spec.Decimal32)
    | st.binary(min_size=8, max_size=8).map(spec.Decimal64)
    | st.binary(min_size=16, max_size=16).map(spec.Decimal128)
)
simple = st.none() | st.one_of(*by_type.values()) | decimals
keys = st.one_of(
    *(by_type[kind] for kind in (bool, int, str, amqp.Symbol, spec.ULong, spec.Int, spec.UByte, uuid.UUID))
)


def arrays() -> st.SearchStrategy[spec.Array]:
    kinds = st.sampled_from(list(ARRAYS))
    return kinds.flatmap(
        lambda kind: st.lists(by_type[kind], max_size=5).map(lambda items: spec.Array(items, element=kind))
    )


values = st.recursive(
    simple | arrays(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(keys, inner, max_size=4)
        # Proton doesn't read a described value in a described one right, not even its own.
        | st.builds(
            amqp.Described,
            # Below are the specification's own composite types, which have to hold what it says.
            symbols | st.integers(256, 2**64 - 1).map(spec.ULong),
            inner.filter(lambda value: not isinstance(value, amqp.Described)),
        )
    ),
    max_leaves=15,
)


def to_proton(value: Any) -> Any:
    """The same value in proton's types."""
    kind = type(value)
    if kind in INTEGERS:
        return INTEGERS[kind][0](value)
    match value:
        case spec.Decimal32():
            return proton.decimal32(int.from_bytes(value.bits))
        case spec.Decimal64():
            return proton.decimal64(int.from_bytes(value.bits))
        case spec.Decimal128():
            return proton.decimal128(value.bits)
        case amqp.Symbol():
            return proton.symbol(value)
        case spec.Char():
            return proton.char(value)
        case spec.Float():
            return proton.float32(value)
        case spec.Array():
            found = value.element
            assert isinstance(found, type)
            items = [to_proton(each) for each in value]
            return proton.Array(UNDESCRIBED, ARRAYS[found], *items)
        case amqp.Described():
            return proton.Described(to_proton(value.descriptor), to_proton(value.value))
        case list():
            return [to_proton(each) for each in value]
        case dict():
            return {to_proton(key): to_proton(each) for key, each in value.items()}
        case _:
            return value


def assert_same(found: Any, expected: Any) -> None:
    """Equal, and of equal types all the way down; mappings and sequences of either library count as such."""
    if isinstance(expected, dict):
        assert isinstance(found, Mapping)
        assert len(found) == len(expected)
        pairs = zip(found.items(), expected.items(), strict=True)
        for (key, value), (expected_key, expected_value) in pairs:
            assert_same(key, expected_key)
            assert_same(value, expected_value)
    elif isinstance(expected, list):
        assert isinstance(found, Sequence)
        assert len(found) == len(expected)
        for value, expected_value in zip(found, expected, strict=True):
            assert_same(value, expected_value)
    elif isinstance(expected, proton.Described):
        assert isinstance(found, proton.Described)
        assert_same(found.descriptor, expected.descriptor)
        assert_same(found.value, expected.value)
    elif isinstance(expected, proton.Array):
        assert isinstance(found, proton.Array)
        assert (found.descriptor, found.type) == (expected.descriptor, expected.type)
        assert_same(list(found.elements), list(expected.elements))
    elif isinstance(expected, amqp.Described):
        assert isinstance(found, amqp.Described)
        assert_same(found.descriptor, expected.descriptor)
        assert_same(found.value, expected.value)
    elif isinstance(expected, spec.Array):
        assert isinstance(found, spec.Array)
        assert found.element is expected.element
        assert_same(list(found), list(expected))
    elif type(expected) is bytes:
        assert isinstance(found, (bytes, memoryview))
        assert bytes(found) == expected
    else:
        assert type(found) is type(expected)
        assert found == expected


def assert_proton_reads(octets: bytes, value: Any) -> None:
    data: Any = proton.Data()
    assert data.decode(octets) == len(octets)
    data.rewind()
    assert data.next()
    # Binary is a view of `data`, which has to live on.
    assert_same(data.get_object(), to_proton(value))


def proton_encode(value: Any) -> bytes:
    data: Any = proton.Data()
    data.put_object(value)
    return bytes(data.encode())


@given(values)
@example({})
@example([])
@example([[], {}, "", b"", amqp.Symbol("")])
@example(list(range(300)))
@example({n: n for n in range(300)})
@example("x" * 256)
def test_proton_reads_what_is_encoded(value: Any) -> None:
    assert_proton_reads(encode(value), value)


@given(values)
@example({})
@example([[], {}, "", b"", amqp.Symbol("")])
@example({n: n for n in range(300)})
def test_what_proton_encodes_is_read(value: Any) -> None:
    octets = proton_encode(to_proton(value))
    found, end = decode(octets)
    assert end == len(octets)
    assert_same(found, value)
    # A value that was read is written as it was.
    assert_proton_reads(encode(found), value)


@given(simple)
def test_neither_encodes_smaller(value: Any) -> None:
    assert len(encode(value)) <= len(proton_encode(to_proton(value)))


annotation_maps = st.dictionaries(symbols.filter(bool), values, max_size=3)
message_ids = st.none() | by_type[spec.ULong] | st.uuids() | st.binary(max_size=20) | texts.filter(bool)
moments = st.integers(1, 2**62)


bodies: st.SearchStrategy[Any] = st.one_of(
    st.builds(amqp.Data, st.binary(max_size=400)),
    # Proton leaves out a body that is a null.
    st.builds(amqp.AmqpValue, values.filter(lambda value: value is not None)),
    st.builds(amqp.AmqpSequence, st.lists(values, max_size=4)),
)


@st.composite
def messages(draw: st.DrawFn) -> amqp.Message:
    """Messages whose every field proton can tell from its absence."""
    body: Any = draw(bodies)
    header = amqp.Header(
        durable=draw(st.booleans()),
        priority=draw(st.integers(0, 255)),
        ttl=draw(st.integers(1, 2**32 - 1)),
        first_acquirer=draw(st.booleans()),
        delivery_count=draw(st.integers(0, 2**32 - 1)),
    )
    some = texts.filter(bool)
    properties = amqp.Properties(
        message_id=draw(message_ids),
        user_id=draw(st.binary(min_size=1, max_size=10)),
        to=draw(some),
        subject=draw(some),
        reply_to=draw(some),
        correlation_id=draw(message_ids),
        content_type=draw(symbols.filter(bool)),
        # Only data can be encoded so.
        content_encoding=draw(symbols.filter(bool)) if isinstance(body, amqp.Data) else None,
        absolute_expiry_time=amqp.Timestamp(draw(moments)),
        creation_time=amqp.Timestamp(draw(moments)),
        group_id=draw(some),
        group_sequence=draw(st.integers(1, 2**31 - 1)),
        reply_to_group_id=draw(some),
    )
    return amqp.Message(
        body,
        header=header,
        delivery_annotations=draw(annotation_maps),
        message_annotations=draw(annotation_maps),
        properties=properties,
        application_properties=draw(st.dictionaries(texts, simple, max_size=4)),
    )


@given(messages())
def test_messages_both_ways(message: amqp.Message) -> None:
    octets = message.encode()
    check_message(octets)
    theirs: Any = proton.Message()
    theirs.decode(octets)
    header, properties = message.header, message.properties
    assert header is not None
    assert properties is not None
    assert (theirs.durable, theirs.priority) == (header.durable, header.priority)
    assert theirs.ttl == pytest.approx((header.ttl or 0) / 1000)
    assert (theirs.first_acquirer, theirs.delivery_count) == (header.first_acquirer, header.delivery_count)
    assert (theirs.id, theirs.correlation_id) == (properties.message_id, properties.correlation_id)
    assert theirs.user_id == properties.user_id
    assert (theirs.address, theirs.subject, theirs.reply_to) == (properties.to, properties.subject, properties.reply_to)
    assert theirs.content_type == properties.content_type
    if properties.content_encoding is not None:
        # Proton shows one that isn't there as the symbol "None".
        assert theirs.content_encoding == properties.content_encoding
    assert (theirs.group_id, theirs.group_sequence, theirs.reply_to_group_id) == (
        properties.group_id,
        properties.group_sequence,
        properties.reply_to_group_id,
    )
    assert_same(theirs.properties or {}, to_proton(dict(message.application_properties)))
    assert_same(theirs.annotations or {}, to_proton(dict(message.message_annotations)))
    assert_same(theirs.instructions or {}, to_proton(dict(message.delivery_annotations)))
    assert_same(theirs.body, to_proton(message.body))
    # And back. Proton's own form of times is in seconds, as a float, so they are left out.
    theirs.ttl = 0
    theirs.expiry_time = 0
    theirs.creation_time = 0
    back = amqp.Message.from_wire(bytes(theirs.encode()))
    assert back.properties is not None
    for name in properties.__match_args__:
        if not name.endswith("_time"):
            assert getattr(back.properties, name) == getattr(properties, name), name
    assert back.body_kind == message.body_kind
    assert_same(back.body, message.body)
    assert_same(dict(back.application_properties), dict(message.application_properties))
    assert_same(dict(back.message_annotations), dict(message.message_annotations))
