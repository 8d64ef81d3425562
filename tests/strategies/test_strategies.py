"""The public strategies: what they give encodes, and decodes to itself; their examples run."""

import doctest
import importlib
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from amqp_sansio import Side
from amqp_sansio import amqp_0_8 as old
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio import amqp_1_0 as one
from amqp_sansio.amqp_0_9_1 import Message, Table, get_dialect
from amqp_sansio.amqp_0_10.codec.record import decode_command, decode_control, decode_headers, encode_headers
from amqp_sansio.amqp_0_10.codec.structs import decode_struct
from amqp_sansio.amqp_0_10.codec.types import decode_value, encode_value
from amqp_sansio.amqp_1_0.codec.composite import decode_frame_body
from amqp_sansio.amqp_1_0.codec.message import check_message
from amqp_sansio.amqp_1_0.codec.values import decode, encode
from amqp_sansio.testing import amqp_0_8, amqp_0_9_1, amqp_0_10, amqp_1_0

DIALECTS = ("0-8", "0-8-rabbit", "0-8-qpid", "0-9-1", "0-9-1-rabbit", "0-9-1-qpid")
SIDES = pytest.mark.parametrize("side", [None, Side.CLIENT, Side.SERVER], ids=["either", "client", "server"])
by_dialect = pytest.mark.parametrize("name", DIALECTS)
few = settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def module_of(name: str) -> Any:
    """The strategies of a dialect's version."""
    return amqp_0_8 if name.startswith("0-8") else amqp_0_9_1


@by_dialect
@given(data=st.data())
@few
def test_tables_come_back(name: str, data: st.DataObject) -> None:
    dialect = get_dialect(name)
    table = data.draw(module_of(name).tables(name))
    kind = dialect.named["queue.declare"]
    method = kind(queue="q", arguments=table)
    back = dialect.decode_method(method.encode(dialect.tables))
    arguments = getattr(back, "arguments")  # noqa: B009
    assert isinstance(arguments, Table)
    assert arguments == table
    assert list(arguments) == list(table)


@by_dialect
@SIDES
@given(data=st.data())
@few
def test_methods_come_back(name: str, side: Side | None, data: st.DataObject) -> None:
    dialect = get_dialect(name)
    method = data.draw(module_of(name).methods(sent_by=side, dialect=dialect))
    assert dialect.decode_method(method.encode(dialect.tables)) == method
    assert side is None or side in dialect.senders[method.ID]


@by_dialect
@given(data=st.data())
@few
def test_properties_and_messages_come_back(name: str, data: st.DataObject) -> None:
    dialect = get_dialect(name)
    message: Message[Any] = data.draw(module_of(name).messages(dialect=name))
    assert message.method.HAS_CONTENT
    octets = message.properties.encode(dialect.tables)
    assert dialect.properties[message.method.CLASS_ID].from_wire(octets, dialect.tables) == message.properties


@given(message=amqp_0_9_1.messages(amqp_0_9_1_publish := get_dialect("0-9-1").named["basic.publish"], max_body=7))
@few
def test_messages_of_one_method(message: Message[Any]) -> None:
    assert isinstance(message.method, amqp_0_9_1_publish)
    assert len(message.body) <= 7


def test_no_messages_of_a_method_that_carries_none() -> None:
    with pytest.raises(ValueError, match="no such method carries content"):
        amqp_0_8.messages(old.spec.QueueDeclare)
    with pytest.raises(ValueError, match="dialect"):
        amqp_0_8.tables("0-7")


@by_dialect
@given(data=st.data())
@few
def test_classic_frames_are_whole(name: str, data: st.DataObject) -> None:
    dialect = get_dialect(name)
    octets = data.draw(module_of(name).frames(dialect=name))
    kind, channel = octets[0], int.from_bytes(octets[1:3], "big")
    size = int.from_bytes(octets[3:7], "big")
    assert len(octets) == size + 8
    assert octets[-1] == 0xCE
    if kind == 1:
        method = dialect.decode_method(octets[7:-1])
        assert (channel == 0) is method.NAME.startswith("connection.")
    elif kind == 2:
        properties = dialect.properties[int.from_bytes(octets[7:9], "big")]
        properties.from_wire(octets[19:-1], dialect.tables).check()
    else:
        assert kind == 3 or octets == b"\x08\0\0\0\0\0\0\xce"


@given(value=amqp_0_10.values())
@few
def test_values_of_0_10_come_back(value: Any) -> None:
    octets = encode_value(value)
    assert decode_value(octets) == (value, len(octets))


@given(entries=amqp_0_10.maps())
@few
def test_maps_of_0_10_come_back(entries: dict[str, Any]) -> None:
    assert ten.Map.from_wire(ten.Map(entries).raw) == entries


@pytest.mark.parametrize(
    "kind", [*amqp_0_10.STRUCTS, *amqp_0_10.CONTROLS, *amqp_0_10.COMMANDS], ids=lambda kind: kind.__name__
)
@given(data=st.data())
@few
def test_records_of_0_10_come_back(kind: type[Any], data: st.DataObject) -> None:
    record = data.draw(amqp_0_10.records(kind))
    assert not record.missing()
    assert kind.decode(record.encode()) == record


@SIDES
@given(data=st.data())
@few
def test_commands_and_controls_of_a_side(side: Side | None, data: st.DataObject) -> None:
    command = data.draw(amqp_0_10.commands(sent_by=side))
    octets = command.encode_segment(sync=True)
    assert decode_command(octets, 0, len(octets)) == (command, True)
    control = data.draw(amqp_0_10.controls(sent_by=side))
    octets = control.encode_assembly()
    assert decode_control(octets, 0, len(octets)) == control
    if side is not None:
        assert side.other.value in command.HANDLERS
        assert side.other.value in control.HANDLERS


@given(found=amqp_0_10.headers(), struct=amqp_0_10.structs())
@few
def test_headers_and_structs_of_0_10_come_back(found: tuple[Any, ...], struct: Any) -> None:
    octets = encode_headers(found)
    assert decode_headers(octets, 0, len(octets)) == found
    octets = struct.encode_struct32()[4:]
    assert decode_struct(octets, 0, len(octets)) == struct


@given(message=amqp_0_10.messages())
@few
def test_messages_of_0_10_come_back(message: ten.Message) -> None:
    again = ten.Message(message.body, headers=ten.Headers(message.headers.raw))
    assert again == message
    assert again.delivery_properties == message.delivery_properties
    assert again.message_properties == message.message_properties


@given(octets=amqp_0_10.frames())
@few
def test_frames_of_0_10_are_whole(octets: bytes) -> None:
    assert int.from_bytes(octets[2:4], "big") == len(octets)
    kind, end = octets[1], len(octets)
    if kind == 0:
        decode_control(octets, 12, end)
    elif kind == 1:
        decode_command(octets, 12, end)
    elif kind == 2:
        decode_headers(octets, 12, end)


@given(value=amqp_1_0.values(), other=amqp_1_0.encoded_alike())
@few
def test_values_of_1_0_come_back(value: Any, other: Any) -> None:
    assert decode(encode(value))[0] == value
    again = decode(encode(other))[0]
    assert encode(again) == encode(other)


@given(found=amqp_1_0.maps())
@few
def test_maps_of_1_0_come_back(found: dict[Any, Any]) -> None:
    assert decode(encode(found))[0] == found


@given(record=st.one_of(amqp_1_0.performatives(), amqp_1_0.outcomes(), amqp_1_0.delivery_states(), amqp_1_0.errors()))
@few
def test_records_of_1_0_come_back(record: Any) -> None:
    octets = record.encode()
    assert record.decode(octets) == (record, len(octets))


@given(message=amqp_1_0.messages())
@few
def test_messages_of_1_0_come_back(message: one.Message) -> None:
    payload = message.encode()
    check_message(payload)
    assert one.Message.from_wire(payload) == message


@given(octets=amqp_1_0.frames(), sasl=amqp_1_0.frames(sasl=True))
@few
def test_frames_of_1_0_are_whole(octets: bytes, sasl: bytes) -> None:
    for frame, kind in ((octets, 0), (sasl, 1)):
        assert int.from_bytes(frame[:4], "big") == len(frame)
        assert frame[4:6] == bytes((2, kind))
        if len(frame) > 8:
            record, end = decode_frame_body(frame, 8)
            assert isinstance(record, one.spec.SaslFrame if kind else one.spec.Performative)
            if isinstance(record, one.spec.Transfer):
                check_message(frame[end:])
            else:
                assert end == len(frame)


@pytest.mark.parametrize("name", ["", ".amqp_0_8", ".amqp_0_9_1", ".amqp_0_10", ".amqp_1_0"])
def test_the_examples_run(name: str) -> None:
    module = importlib.import_module("amqp_sansio.testing" + name)
    failed, tried = doctest.testmod(module)
    assert tried
    assert not failed
