"""Messages of AMQP 1.0: sections, their order, laziness, positions within them (1.0 part 3 section 3.2)."""

import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio.amqp_1_0.codec.message import AmqpSequence, AmqpValue, Data, Message, check_message
from amqp_sansio.amqp_1_0.codec.performatives import Accepted, Header, Properties, Received
from amqp_sansio.amqp_1_0.codec.sections import position_octets, section_position
from amqp_sansio.amqp_1_0.codec.values import Array, Described, Map, Symbol, UInt, ULong, encode
from amqp_sansio.errors import CodecError
from tests.kit.values_1_0 import messages, values


def section(number: int, value: Any) -> bytes:
    return b"\0\x53" + bytes((number,)) + encode(value)


HEADER = section(0x70, [True])
DELIVERY = section(0x71, {Symbol("d"): 1})
ANNOTATIONS = section(0x72, {Symbol("m"): 1})
PROPERTIES = section(0x73, ["id"])
APPLICATION = section(0x74, {"a": 1})
DATA = section(0x75, b"data")
SEQUENCE = section(0x76, [1])
VALUE = section(0x77, "value")
FOOTER = section(0x78, {Symbol("f"): 1})
SECTIONS = [HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, SEQUENCE, VALUE, FOOTER]


def refused(payload: bytes, rule: str) -> CodecError:
    """Check a message that breaks a rule; reading it all refuses it, too."""
    with pytest.raises(CodecError) as caught:
        check_message(payload)
    assert caught.value.rule == "1.0/" + rule, caught.value
    assert caught.value.condition
    with pytest.raises(CodecError):
        read_all(Message.from_wire(payload))
    return caught.value


def read_all(message: Message) -> list[Any]:
    """Every section of a message, as far as it can be read."""
    found: list[Any] = [
        message.header,
        message.delivery_annotations,
        message.message_annotations,
        message.properties,
        message.application_properties,
        message.typed_body,
        message.footer,
    ]
    for one in found:
        if isinstance(one, Map):
            len(one)
    return found


@pytest.mark.rule("1.0/message/section-order")
@given(messages)
@settings(max_examples=150)
def test_messages_come_back(message: Message) -> None:
    payload = message.encode()
    check_message(payload)
    found = Message.from_wire(payload)
    assert found.encode() is payload
    assert found == message
    assert read_all(found) == read_all(message)
    assert found.body == message.body
    assert found.body_kind == message.body_kind
    assert hash(found) == hash(message)
    again = pickle.loads(pickle.dumps(found))
    assert again == found
    assert again.encode() == payload
    assert pickle.loads(pickle.dumps(message)).encode() == payload
    assert (
        Message(
            found.typed_body,
            header=found.header,
            delivery_annotations=found.delivery_annotations,
            message_annotations=found.message_annotations,
            properties=found.properties,
            application_properties=found.application_properties,
            footer=found.footer,
        ).encode()
        == payload
    )


@given(messages, st.data())
@settings(max_examples=100)
def test_a_message_cut_within_a_section_is_refused(message: Message, data: st.DataObject) -> None:
    payload = message.encode()
    edges = {0, *[stop for _, _, stop in message.sections]}
    size = data.draw(st.integers(0, len(payload) - 1).filter(lambda size: size not in edges))
    with pytest.raises(CodecError):
        check_message(payload[:size])
    with pytest.raises(CodecError):
        read_all(Message.from_wire(payload[:size]))


@given(messages, st.data())
@settings(max_examples=150)
def test_damage_is_found_by_the_check_when_reading_finds_it(message: Message, data: st.DataObject) -> None:
    payload = bytearray(message.encode())
    payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    octets = bytes(payload)
    try:
        check_message(octets)
    except CodecError as error:
        assert error.condition
        with pytest.raises(CodecError):
            read_all(Message.from_wire(octets))
    else:
        read_all(Message.from_wire(octets))
        assert Message.from_wire(octets).encode() == octets


@pytest.mark.rule("1.0/message/section-order")
def test_sections_come_in_their_order_and_once() -> None:
    for body in (DATA, SEQUENCE, VALUE, DATA + DATA, SEQUENCE + SEQUENCE):
        whole = HEADER + DELIVERY + ANNOTATIONS + PROPERTIES + APPLICATION + body + FOOTER
        check_message(whole)
        read_all(Message.from_wire(whole))
    for first in range(len(SECTIONS)):
        for second in range(first):
            rule = "message/section-order"
            if 5 <= first <= 7 and 5 <= second <= 7:
                refused(SECTIONS[first] + SECTIONS[second], rule)
                refused(SECTIONS[second] + SECTIONS[first], "message/body-choice")
                continue
            refused(SECTIONS[first] + SECTIONS[second], rule)
    for one in (HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION, VALUE, FOOTER):
        refused(one + one, "message/section-order")


@pytest.mark.rule("1.0/message/section-order")
@pytest.mark.parametrize(
    "octets",
    [
        b"\x41",
        b"\0\x53\x79\x45",
        b"\0\x53\x24\x45",
        encode("x"),
        b"\0\xa3\x01x\x45",
        b"\0\x53\x70\x40",
        b"\0\x53\x75\xa1\x01x",
        b"\0\x53\x76\x41",
        b"\0\x53\x71\x45",
        b"\0\x53\x78\xa0\x00",
        b"\0\x53\x73\xc1\x01\x00",
    ],
)
def test_what_is_no_section_is_refused(octets: bytes) -> None:
    refused(octets, "message/section-order")
    refused(HEADER + octets, "message/section-order")


@pytest.mark.rule("1.0/message/body-choice")
def test_a_body_is_data_or_sequences_or_one_value() -> None:
    assert Message.from_wire(DATA + DATA).body == b"datadata"
    assert Message.from_wire(DATA + DATA).typed_body == Data(b"data", b"data")
    assert Message.from_wire(SEQUENCE + SEQUENCE).body == [1, 1]
    assert Message.from_wire(SEQUENCE + SEQUENCE).typed_body == AmqpSequence([1], [1])
    assert Message.from_wire(VALUE).body == "value"
    assert Message.from_wire(HEADER).body is None
    kinds = [Message.from_wire(one).body_kind for one in (DATA, SEQUENCE, VALUE, HEADER, b"")]
    assert kinds == ["data", "sequence", "value", "none", "none"]
    check_message(HEADER)
    check_message(b"")


@pytest.mark.rule("1.0/types/descriptor-symbolic")
def test_sections_by_symbolic_and_wide_descriptors() -> None:
    named = b"".join(
        b"\0" + encode(Symbol(symbol)) + octets[3:]
        for symbol, octets in [
            ("amqp:header:list", HEADER),
            ("amqp:delivery-annotations:map", DELIVERY),
            ("amqp:message-annotations:map", ANNOTATIONS),
            ("amqp:properties:list", PROPERTIES),
            ("amqp:application-properties:map", APPLICATION),
            ("amqp:data:binary", DATA),
            ("amqp:footer:map", FOOTER),
        ]
    )
    wide = b"".join(
        b"\0\x80" + bytes(7) + octets[2:]
        for octets in (HEADER, DELIVERY, ANNOTATIONS, PROPERTIES, APPLICATION, DATA, FOOTER)
    )
    plain = HEADER + DELIVERY + ANNOTATIONS + PROPERTIES + APPLICATION + DATA + FOOTER
    for payload in (named, wide):
        check_message(payload)
        assert Message.from_wire(payload) == Message.from_wire(plain)
        assert Message.from_wire(payload).encode() == payload
    assert Message.from_wire(b"\0" + encode(Symbol("amqp:amqp-value:*")) + b"\x41").body is True
    assert Message.from_wire(b"\0" + encode(Symbol("amqp:amqp-sequence:list")) + b"\x45").body == []


@pytest.mark.rule("1.0/application-properties/keys", "1.0/application-properties/values")
def test_application_properties_have_strings_and_simple_values() -> None:
    for key in (Symbol("a"), None, 1, b"a"):
        refused(section(0x74, Map([(key, 1)])), "application-properties/keys")
        with pytest.raises(CodecError) as caught:
            Message("x", application_properties={key: 1}).encode()  # type: ignore[dict-item]
        assert caught.value.rule == "1.0/application-properties/keys"
    for value in ([], [1], {"a": 1}, Array([1]), Described(Symbol("x"), [1]), Accepted()):
        refused(section(0x74, {"a": value}), "application-properties/values")
        with pytest.raises(CodecError) as caught:
            Message("x", application_properties={"a": value}).encode()
        assert caught.value.rule == "1.0/application-properties/values"
    simple = {"a": Described(Symbol("url"), "x"), "b": None, "c": Symbol("y"), "d": 1.5}
    check_message(Message("x", application_properties=simple).encode())


@pytest.mark.parametrize(
    ("name", "text"), [("properties", r"Properties\(subject=...\), not dict"), ("header", r"Header\(.*, not dict")]
)
def test_sections_of_another_class_are_refused_with_what_to_pass(name: str, text: str) -> None:
    wrong: Any = {name: {"subject": "a"}}
    with pytest.raises(TypeError, match=text):
        Message("x", **wrong).encode()


@pytest.mark.rule("1.0/annotations/keys")
@pytest.mark.parametrize("number", [0x71, 0x72, 0x78])
def test_annotations_have_symbols_and_ulongs(number: int) -> None:
    payload = section(number, Map([(Symbol("a"), [1]), (ULong(5), {"x": 1})]))
    check_message(payload)
    for key in ("a", None, 1, UInt(1)):
        refused(section(number, Map([(key, 1)])), "annotations/keys")
    with pytest.raises(CodecError) as caught:
        Message("x", footer={1: 1}).encode()
    assert caught.value.rule == "1.0/annotations/keys"


@pytest.mark.rule("1.0/delivery-annotations/absent", "1.0/message-annotations/absent", "1.0/header/absent-defaults")
def test_sections_that_are_not_there() -> None:
    message = Message.from_wire(VALUE)
    assert message.delivery_annotations == message.message_annotations == {}
    assert message.application_properties == message.footer == {}
    assert (message.header, message.properties) == (None, None)
    assert (message.durable, message.priority, message.ttl) == (False, 4, None)
    assert (message.first_acquirer, message.delivery_count) == (False, 0)
    assert message.message_id is message.subject is message.to is None
    assert Message("value").encode() == VALUE
    assert Message("value", footer={}, application_properties={}).encode() == VALUE


def test_shortcuts_give_what_the_sections_have() -> None:
    message = Message(
        b"x",
        header=Header(True, 7, 1000, True, 3),
        properties=Properties("id", b"me", "to", "subject", "reply", 5, "a/b", "gzip", creation_time=9),
    )
    for one in (message, Message.from_wire(message.encode())):
        assert (one.durable, one.priority, one.ttl) == (True, 7, 1000)
        assert (one.first_acquirer, one.delivery_count) == (True, 3)
        assert (one.message_id, one.user_id, one.to, one.subject) == ("id", b"me", "to", "subject")
        assert (one.reply_to, one.correlation_id, one.content_type) == ("reply", 5, "a/b")
        assert (one.content_encoding, one.creation_time) == ("gzip", 9)


@pytest.mark.parametrize(
    ("body", "kind", "content"),
    [
        (b"x", "data", b"x"),
        (bytearray(b"x"), "data", b"x"),
        (memoryview(b"x"), "data", b"x"),
        (b"", "data", b""),
        (Data(b"a", b"b"), "data", b"ab"),
        (AmqpSequence([1], (2,)), "sequence", [1, 2]),
        (AmqpValue(b"x"), "value", b"x"),
        ("x", "value", "x"),
        ([1, 2], "value", [1, 2]),
        ({"a": 1}, "value", {"a": 1}),
        (None, "value", None),
        (5, "value", 5),
    ],
)
def test_bodies(body: Any, kind: str, content: Any) -> None:
    message = Message(body)
    for one in (message, Message.from_wire(message.encode())):
        assert (one.body_kind, one.body) == (kind, content)


@pytest.mark.rule("1.0/message/bare-immutable")
def test_the_bare_message_keeps_its_octets() -> None:
    odd = b"\0\x80\0\0\0\0\0\0\0\x73\xd0\0\0\0\x0c\0\0\0\x02\xb1\0\0\0\x02id\x40"
    wide = b"\0\x53\x75\xb0\0\0\0\x01x"
    payload = HEADER + ANNOTATIONS + odd + wide + wide + FOOTER
    check_message(payload)
    message = Message.from_wire(payload)
    assert message.message_id == "id"
    assert message.bare == odd + wide + wide
    assert Message.from_wire(HEADER).bare == b""
    changed = message.replace(header=Header(delivery_count=2))
    assert changed.bare == message.bare
    assert changed.delivery_count == 2
    assert changed.footer == message.footer
    assert changed.encode() == Header(delivery_count=2).encode() + ANNOTATIONS + odd + wide + wide + FOOTER
    assert message.replace(body=b"y").bare == odd + b"\0\x53\x75\xa0\x01y"
    assert pickle.loads(pickle.dumps(changed)).bare == message.bare
    bodiless = Message.from_wire(PROPERTIES).replace(application_properties={"a": 1})
    assert (bodiless.encode(), bodiless.body_kind) == (PROPERTIES + APPLICATION, "none")
    assert HEADER + Message.from_wire(HEADER).replace(header=None).encode() == HEADER


@pytest.mark.rule("1.0/properties.content-encoding/non-data", "1.0/properties.content-encoding/identity")
def test_a_content_encoding_is_for_data_and_never_identity() -> None:
    zipped = Properties(content_encoding="gzip")
    assert Message(b"x", properties=zipped).content_encoding == "gzip"
    check_message(Message(b"x", properties=zipped).encode())
    wrong = [
        (Message("x", properties=zipped), "non-data"),
        (Message(AmqpSequence([1]), properties=zipped), "non-data"),
        (Message(b"x", properties=Properties(content_encoding="identity")), "identity"),
    ]
    for message, rule in wrong:
        with pytest.raises(CodecError) as caught:
            message.encode()
        assert caught.value.rule == "1.0/properties.content-encoding/" + rule
    received = Message.from_wire(zipped.encode() + VALUE)
    received.check()
    assert received.content_encoding == "gzip"
    assert received.replace(header=Header(durable=True)).encode() == HEADER + zipped.encode() + VALUE


def test_a_checked_message_has_read_everything() -> None:
    payload = HEADER + DELIVERY + ANNOTATIONS + PROPERTIES + APPLICATION + VALUE + FOOTER
    message = Message.from_wire(payload)
    message.check()
    before = read_all(message)
    assert all(one is other for one, other in zip(before, read_all(message), strict=True))
    assert message.encode() == payload
    built = Message("x")
    built.check()
    assert built.body == "x"


def test_sections_are_read_when_they_are_asked_for() -> None:
    payload = HEADER + section(0x73, [1.5]) + section(0x74, {"a": 1}) + VALUE
    message = Message.from_wire(payload)
    assert message.durable
    assert message.application_properties == {"a": 1}
    assert message.body == "value"
    with pytest.raises(CodecError):
        _ = message.properties
    with pytest.raises(CodecError):
        check_message(payload)
    assert message.sections == (
        ("header", 0, 7),
        ("properties", 7, 22),
        ("application-properties", 22, 33),
        ("amqp-value", 33, 43),
    )
    broken = Message.from_wire(b"\0")
    for name in ("header", "body", "footer", "sections", "bare", "subject", "durable"):
        with pytest.raises(CodecError):
            getattr(broken, name)
    assert broken.encode() == b"\0"


@given(values)
def test_any_value_is_a_body(value: Any) -> None:
    message = Message(AmqpValue(value))
    assert Message.from_wire(message.encode()).body == value


def test_messages_are_compared_and_shown() -> None:
    one = Message(b"x", properties=Properties(subject="s"), application_properties={"a": 1})
    assert one == Message.from_wire(one.encode())
    assert one != Message(b"y", properties=Properties(subject="s"), application_properties={"a": 1})
    assert one != Message(b"x")
    assert one != b"x"
    assert repr(one) == "Message(Data(b'x'), properties=Properties(subject='s'), application_properties={'a': 1})"
    assert repr(Message("x")) == "Message(AmqpValue('x'))"
    assert repr(AmqpSequence([1])) == "AmqpSequence([1])"
    for body in (Data(b"x"), AmqpSequence([1], [2]), AmqpValue({"a": [1]})):
        assert pickle.loads(pickle.dumps(body)) == body
        assert body != b"x"
    assert hash(Data(b"x")) == hash(Data(b"x"))


# Positions, as `Received` names them.


@pytest.mark.rule("1.0/received/offset-meaning")
@given(messages, st.data())
@settings(max_examples=100)
def test_positions_and_octets(message: Message, data: st.DataObject) -> None:
    payload = message.encode()
    octets = data.draw(st.integers(0, len(payload)))
    number, offset = section_position(payload, octets)
    starts = [start for _, start, _ in message.sections] + [len(payload)]
    assert starts[number] + offset == octets
    assert number == len(starts) - 1 or octets < starts[number + 1]
    assert section_position(payload[:octets], octets) == (number, offset)
    assert position_octets(payload, number, offset) == octets
    assert position_octets(payload[:octets], number, offset) == octets


@pytest.mark.rule("1.0/received/offset-meaning")
def test_positions_at_the_edges_of_sections() -> None:
    payload = HEADER + DATA
    assert section_position(payload, 0) == (0, 0)
    assert section_position(payload, len(HEADER)) == (1, 0)
    assert position_octets(payload, 0, len(HEADER)) == position_octets(payload, 1, 0) == len(HEADER)
    assert section_position(payload, len(payload)) == (2, 0)
    assert position_octets(payload, 2, 0) == len(payload)
    for number, offset in ((0, len(payload) + 1), (3, 0), (2, 1)):
        with pytest.raises(CodecError):
            position_octets(payload, number, offset)
    for octets in (-1, len(payload) + 1):
        with pytest.raises(ValueError, match="octets"):
            section_position(payload, octets)
    assert Received(*section_position(payload, 10)) == Received(1, 3)
