"""Every type of AMQP 1.0, through Broker-J, RabbitMQ and a node on proton and back."""

import datetime
import uuid
from typing import Any

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.interop.brokers.facing_1_0 import Peer
from tests.interop.brokers.rabbitmq import RabbitMQ

VALUES: dict[str, Any] = {
    "nothing": None,
    "yes": True,
    "no": False,
    "ubyte": spec.UByte(255),
    "ushort": spec.UShort(65_535),
    "uint": spec.UInt(2**32 - 1),
    "uint small": spec.UInt(0),
    "ulong": spec.ULong(2**63 + 1),
    "byte": spec.Byte(-128),
    "short": spec.Short(-32_768),
    "int": spec.Int(-(2**31)),
    "long": -(2**63),
    "long small": 5,
    "float": spec.Float(1.5),
    "double": -2.25e300,
    "char": spec.Char("€"),
    "timestamp": amqp.Timestamp(1_700_000_000_123),
    "uuid": uuid.UUID(int=0x1234_5678_9ABC_DEF0_0011_2233_4455_6677),
    "binary": b"\x00\xff" * 200,
    "string": "äöü€𐍈",
    "long string": "s" * 300,
    "symbol": amqp.Symbol("amqp:symbol"),
    "list": [1, "two", [], [[3]]],
    "map": {"a": 1, "b": {"c": None}},
    "array": spec.Array([1, 2, 3]),
    "symbols": spec.Array([amqp.Symbol("en"), amqp.Symbol("de")]),
    "decimal32": spec.Decimal32.from_decimal("12.5"),
    "decimal64": spec.Decimal64.from_decimal("-0.001"),
    "decimal128": spec.Decimal128.from_decimal("123456789012345678901234567890"),
    "described": amqp.Described(amqp.Symbol("example:point"), [1, 2]),
}


def test_every_type_comes_back_as_it_went(exact: Peer) -> None:
    wire = exact.open()
    session = wire.session()
    address = exact.address()
    sender = wire.sender(session, address)
    bodies: list[Any] = [
        amqp.AmqpValue(VALUES),
        amqp.AmqpValue(list(VALUES.values())),
        amqp.AmqpSequence([1, "a"], [2]),
    ]
    bodies += [amqp.AmqpValue(value) for name, value in VALUES.items() if name != "nothing"]
    for body in bodies:
        assert wire.send(sender, amqp.Message(body)) == amqp.Accepted()
    receiver = wire.receiver(session, address, credit=len(bodies))
    for body in bodies:
        delivery = wire.delivery(receiver)
        found = delivery.message.typed_body
        if exact.kind == "proton" and isinstance(body, amqp.AmqpSequence):
            # Its Message has room for one sequence only.
            assert delivery.message.body_kind == "sequence"
        else:
            assert found == body, f"{found!r} for {body!r}"
            assert type(delivery.body) is type(amqp.Message.from_wire(amqp.Message(body).encode()).body)
        receiver.accept(delivery)
    wire.close()


def test_application_properties_and_annotations_of_every_simple_type(exact: Peer) -> None:
    wire = exact.open()
    session = wire.session()
    address = exact.address()
    simple = {
        name: value for name, value in VALUES.items() if not isinstance(value, (list, dict, spec.Array, amqp.Described))
    }
    now = amqp.Timestamp.from_datetime(datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC))
    properties = amqp.Properties(
        message_id=uuid.UUID(int=5),
        user_id=b"guest",
        to="there",
        subject="s",
        reply_to="r",
        correlation_id=spec.ULong(7),
        content_type=amqp.Symbol("a/b"),
        content_encoding=amqp.Symbol("gzip"),
        absolute_expiry_time=amqp.Timestamp(4_000_000_000_000),
        creation_time=now,
        group_id="g",
        group_sequence=2**32 - 1,
        reply_to_group_id="rg",
    )
    message = amqp.Message(
        b"body",
        header=amqp.Header(durable=False, priority=9, ttl=500_000),
        message_annotations={amqp.Symbol("x-opt-a"): [1, 2], amqp.Symbol("x-opt-b"): amqp.Symbol("v")},
        properties=properties,
        application_properties=simple,
        footer={amqp.Symbol("x-opt-end"): 1},
    )
    assert wire.send(wire.sender(session, address), message) == amqp.Accepted()
    receiver = wire.receiver(session, address, credit=1)
    delivery = wire.delivery(receiver)
    found = delivery.message
    assert found.properties == properties
    assert dict(found.application_properties) == simple
    assert dict(found.message_annotations)["x-opt-a"] == [1, 2]
    assert dict(found.message_annotations)["x-opt-b"] == amqp.Symbol("v")
    assert found.priority == 9
    if exact.kind == "brokerj":
        assert found.bare == message.bare
        assert dict(found.footer) == {"x-opt-end": 1}
    receiver.accept(delivery)
    wire.close()


def test_types_that_rabbitmq_passes_on(rabbitmq: RabbitMQ) -> None:
    # A list of several items as the body, and arrays of most types, end its connection.
    bodies = {name: value for name, value in VALUES.items() if name not in ("list", "array")}
    simple = {
        name: value for name, value in VALUES.items() if not isinstance(value, (list, dict, spec.Array, amqp.Described))
    }
    peer = Peer("rabbitmq", rabbitmq)
    wire = peer.open()
    session = wire.session()
    address = peer.address()
    sender = wire.sender(session, address)
    receiver = wire.receiver(session, address, credit=len(bodies))
    for name, value in bodies.items():
        message = amqp.Message(amqp.AmqpValue(value), application_properties=simple)
        assert wire.send(sender, message) == amqp.Accepted(), name
        delivery = wire.delivery(receiver)
        assert delivery.message.typed_body == amqp.AmqpValue(value)
        assert dict(delivery.message.application_properties) == simple
        receiver.accept(delivery)
    wire.close()
