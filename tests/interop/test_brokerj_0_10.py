"""The client of AMQP 0-10 and Qpid Broker-J: connections, exchanges, queues, what is published."""

import select
import time
from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import Accepted, AmqpError, By, EndpointClosed, RemoteProtocolError
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.values import CODES, NAMES
from amqp_sansio.sasl import Anonymous, ClientMechanism, Plain, ScramSha256
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.facing_0_10 import NONCE, Facing, facing, keyed
from tests.kit.wire_0_10 import Wire010

UNROUTABLE = amqp.Rejected(1, "Unroutable")


@pytest.fixture
def peer(brokerj: BrokerJ) -> Iterator[Facing]:
    with facing(brokerj) as found:
        yield found


# Connections.


def test_what_is_agreed_on(peer: Facing, brokerj: BrokerJ) -> None:
    wire = peer.open(heartbeat=30)
    connection = wire.connection
    assert connection.peer_properties["version"] == brokerj.version
    assert (connection.mechanism, connection.locale) == ("PLAIN", "en_US")
    assert (connection.max_frame_size, connection.channel_max, connection.heartbeat) == (65535, 256, 30)
    wire.close()
    assert wire.closed is not None
    assert wire.closed.report.by is By.LOCAL
    assert not wire.failures()


@pytest.mark.parametrize("vhost", ["", "/", "default"])
def test_names_of_the_virtual_host(peer: Facing, vhost: str) -> None:
    peer.open(vhost=vhost).close()


def test_the_mechanisms(peer: Facing, brokerj: BrokerJ) -> None:
    scram = ScramSha256(brokerj.user, brokerj.password, NONCE)
    mechanisms: tuple[tuple[int, ClientMechanism], ...] = (
        (brokerj.port, Plain(brokerj.user, brokerj.password)),
        (brokerj.scram_port, scram),
        (brokerj.anonymous_port, Anonymous()),
    )
    for port, mechanism in mechanisms:
        wire = peer.connect(port, mechanism)
        wire.opened()
        assert wire.connection.mechanism == mechanism.name
        wire.session()
        wire.close()


def test_wrong_passwords(peer: Facing, brokerj: BrokerJ) -> None:
    for port, mechanism in (
        (brokerj.port, Plain(brokerj.user, "wrong")),
        (brokerj.scram_port, ScramSha256(brokerj.user, "wrong", NONCE)),
    ):
        report = peer.connect(port, mechanism).end().report
        assert (report.by, report.code) == (By.REMOTE, 320)
        assert "Authentication failed" in report.text
        assert "login was refused" in report.hint


def test_a_mechanism_that_is_not_offered(peer: Facing, brokerj: BrokerJ) -> None:
    report = peer.connect(brokerj.scram_port).end().report
    assert report.by is By.LOCAL
    assert "SCRAM-SHA-256" in report.text


def test_an_unknown_virtual_host(peer: Facing) -> None:
    wire = peer.connect(vhost="absent")
    report = wire.end().report
    assert (report.by, report.code) == (By.REMOTE, 402)
    (failed,) = wire.failures()
    assert isinstance(failed.error, RemoteProtocolError)
    assert failed.error.condition == "invalid-path"


def test_heartbeats(peer: Facing) -> None:
    wire = peer.open(heartbeat=1)
    session = wire.session()
    assert wire.connection.heartbeat == 1
    # Either end would give up after two seconds of silence.
    wire.idle(3.2)
    assert wire.closed is None
    wire.sync(session)
    wire.close()


def test_a_silent_client_is_dropped(peer: Facing) -> None:
    wire = peer.open(heartbeat=1)
    session = wire.session()
    hung_up = select.poll()
    hung_up.register(wire.socket, select.POLLRDHUP)
    assert hung_up.poll(10_000)
    report = wire.end().report
    assert report.by is By.TRANSPORT
    assert session.report == report
    with pytest.raises(EndpointClosed):
        session.sync()


def test_sessions_and_channels(peer: Facing, wire: Wire010) -> None:
    sessions = [wire.session() for _ in range(5)]
    assert [session.channel for session in sessions] == [0, 1, 2, 3, 4]
    queues = [peer.queue(wire, session) for session in sessions]
    outcomes = [
        session.transfer("", keyed(queue, str(number).encode()), sync=True).outcome
        for number, (session, queue) in enumerate(zip(sessions, queues, strict=True))
    ]
    assert all(outcome and wire.result(outcome) == Accepted() for outcome in outcomes)
    sessions[2].close()
    assert not wire.session_closed(sessions[2]).resumable
    assert wire.session().channel == 2
    assert [wire.drain(sessions[0], queue) for queue in queues] == [b"0 1 2 3 4".split()[n : n + 1] for n in range(5)]


def test_all_channels_are_taken(peer: Facing) -> None:
    wire = peer.open(channel_max=2)
    wire.session()
    last = wire.session()
    with pytest.raises(AmqpError, match="all 2 channels"):
        wire.connection.open_session()
    last.detach()
    assert wire.session_closed(last).report.by is By.LOCAL
    assert wire.session().channel == last.channel
    wire.close()


def test_what_is_sent_before_the_session_is_attached(peer: Facing, wire: Wire010) -> None:
    session = wire.connection.open_session()
    name = peer.name("queue")
    peer.queues.append(name)
    session.call(spec.QueueDeclare(name))
    sent = session.transfer("", keyed(name, b"early"), sync=True)
    assert sent.outcome is not None
    assert wire.result(sent.outcome) == Accepted()
    assert wire.drain(session, name) == [b"early"]


# Exchanges and queues.


def test_exchanges_are_declared_asked_for_and_deleted(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    for kind in ("direct", "topic", "fanout", "headers"):
        name = peer.name("exchange")
        assert wire.call(session, spec.ExchangeQuery(name)).not_found
        wire.call(session, spec.ExchangeDeclare(name, kind))
        wire.call(session, spec.ExchangeDeclare(name, kind))
        wire.call(session, spec.ExchangeDeclare(name, kind, passive=True))
        found = wire.call(session, spec.ExchangeQuery(name))
        assert (found.type, found.not_found, found.durable) == (kind, False, False)
        wire.call(session, spec.ExchangeDelete(name))
        assert wire.call(session, spec.ExchangeQuery(name)).not_found
    for name, kind in (
        *(("", "direct"), ("amq.direct", "direct"), ("amq.topic", "topic"), ("amq.fanout", "fanout")),
        ("amq.match", "headers"),
    ):
        found = wire.call(session, spec.ExchangeQuery(name))
        assert (found.type, found.not_found, found.durable) == (kind, False, True)


def test_queues_are_declared_asked_for_purged_and_deleted(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session, alternate_exchange="amq.fanout", durable=True)
    wire.call(session, spec.QueueDeclare(queue, passive=True))
    for _ in range(3):
        assert wire.publish(session, "", keyed(queue)) == Accepted()
    destination = wire.subscribe(session, queue)
    found = wire.call(session, spec.QueueQuery(queue))
    assert (found.queue, found.message_count, found.subscriber_count) == (queue, 3, 1)
    assert (found.durable, found.exclusive, found.auto_delete) == (True, False, False)
    wire.call(session, spec.QueuePurge(queue))
    found = wire.call(session, spec.QueueQuery(queue))
    assert (found.message_count, found.subscriber_count) == (0, 1)
    assert wire.fetch(session, destination) == []
    wire.call(session, spec.QueueDelete(queue))
    assert wire.call(session, spec.QueueQuery(queue)).queue is None


def test_an_exclusive_queue_that_goes_with_its_session(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    other = wire.session()
    queue = peer.queue(wire, session, exclusive=True, auto_delete=True)
    assert wire.call(other, spec.QueueQuery(queue)).exclusive
    with pytest.raises(RemoteProtocolError) as caught:
        wire.call(other, spec.MessageSubscribe(queue, "d"))
    assert (caught.value.code, caught.value.condition) == (405, "resource-locked")
    session.close()
    wire.session_closed(session)
    assert wire.call(wire.session(), spec.QueueQuery(queue)).queue is None


def test_the_default_exchange(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    assert wire.publish(session, "", keyed(queue, b"here")) == Accepted()
    assert wire.publish(session, "", keyed("absent")) == UNROUTABLE
    assert wire.drain(session, queue) == [b"here"]
    bound = wire.call(session, spec.ExchangeBound("", queue, queue))
    assert not (bound.queue_not_found or bound.queue_not_matched or bound.key_not_matched)
    assert wire.call(session, spec.ExchangeBound("", queue, "other")).key_not_matched


def test_a_direct_exchange(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    for exchange in ("amq.direct", peer.exchange(wire, session, "direct")):
        first = peer.bound(wire, session, exchange, "a", "b")
        second = peer.bound(wire, session, exchange, "b")
        for key in ("a", "b"):
            assert wire.publish(session, exchange, keyed(key, key.encode())) == Accepted()
        assert wire.publish(session, exchange, keyed("c")) == UNROUTABLE
        assert wire.drain(session, first) == [b"a", b"b"]
        assert wire.drain(session, second) == [b"b"]
        wire.call(session, spec.ExchangeUnbind(second, exchange, "b"))
        assert wire.publish(session, exchange, keyed("b", b"again")) == Accepted()
        assert wire.drain(session, second) == []
        assert wire.call(session, spec.QueueQuery(first)).message_count == 1


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("*.stock.#", ["usd.stock", "eur.stock.db"], ["stock.nasdaq", "usd.bond"]),
        ("a.#", ["a", "a.b", "a.b.c"], ["b", "ab"]),
        # The last one has an empty word, which Broker-J doesn't count.
        ("a.*", ["a.b"], ["a", "a.b.c", "a."]),
        ("#", ["a", "a.b.c", ""], []),
    ],
)
def test_a_topic_exchange(peer: Facing, pattern: str, matching: list[str], others: list[str]) -> None:
    wire, session = peer.attach()
    exchange = peer.exchange(wire, session, "topic")
    queue = peer.bound(wire, session, exchange, pattern)
    for key in matching:
        assert wire.publish(session, exchange, keyed(key, key.encode())) == Accepted(), key
    for key in others:
        assert wire.publish(session, exchange, keyed(key)) == UNROUTABLE, key
    assert wire.drain(session, queue) == [key.encode() for key in matching]
    wire.close()


def test_a_fanout_exchange(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queues = [peer.bound(wire, session, "amq.fanout", "any") for _ in range(3)]
    assert wire.publish(session, "amq.fanout", keyed("other", b"to all")) == Accepted()
    assert [wire.drain(session, queue) for queue in queues] == [[b"to all"]] * 3


def test_a_headers_exchange(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    both = {"colour": "red", "size": 3}
    queues: dict[str, str] = {}
    for match in ("all", "any"):
        queues[match] = peer.queue(wire, session)
        wire.call(session, spec.ExchangeBind(queues[match], "amq.match", "k", {"x-match": match, **both}))
    for headers, expected in (
        (both, Accepted()),
        ({"colour": "red"}, Accepted()),
        ({"colour": "blue"}, UNROUTABLE),
        ({}, UNROUTABLE),
    ):
        message = amqp.Message(str(len(headers)).encode(), application_headers=headers)
        assert wire.publish(session, "amq.match", message) == expected, headers
    assert wire.drain(session, queues["all"]) == [b"2"]
    assert wire.drain(session, queues["any"]) == [b"2", b"1"]


def test_what_is_bound(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    exchange = peer.exchange(wire, session, "headers")
    queue = peer.queue(wire, session)
    arguments = {"x-match": "all", "colour": "red"}
    wire.call(session, spec.ExchangeBind(queue, exchange, "k", arguments))
    found = wire.call(session, spec.ExchangeBound(exchange, queue, "k", arguments))
    assert not any(getattr(found, name) for name in found.__match_args__)
    for asked, name in (
        (spec.ExchangeBound("absent", queue), "exchange_not_found"),
        (spec.ExchangeBound(exchange, "absent"), "queue_not_found"),
        (spec.ExchangeBound("amq.direct", queue), "queue_not_matched"),
        (spec.ExchangeBound(exchange, queue, "other"), "key_not_matched"),
        (spec.ExchangeBound(exchange, queue, "k", {"x-match": "any"}), "args_not_matched"),
    ):
        found = wire.call(session, asked)
        assert {each for each in found.__match_args__ if getattr(found, each)} == {name}


# Publishing.


def test_what_happens_to_the_unroutable(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    alternate = peer.exchange(wire, session, "fanout")
    exchange = peer.exchange(wire, session, "direct", alternate_exchange=alternate)
    caught = peer.bound(wire, session, alternate, "")
    discarded = keyed("nowhere", delivery_properties=amqp.DeliveryProperties(discard_unroutable=True))
    assert wire.publish(session, "amq.direct", keyed("nowhere")) == UNROUTABLE
    assert wire.publish(session, "amq.direct", discarded) == Accepted()
    assert wire.publish(session, "amq.direct", keyed("nowhere"), accept_mode=amqp.spec.NONE) is None
    assert wire.drain(session, caught) == []
    # Broker-J has an alternate exchange take what would be rejected, whatever the accept-mode.
    assert wire.publish(session, exchange, keyed("nowhere", b"none"), accept_mode=amqp.spec.NONE) is None
    assert wire.publish(session, exchange, keyed("nowhere", b"explicit")) == Accepted()
    assert wire.drain(session, caught) == [b"none", b"explicit"]


def test_what_a_queue_rejects_goes_to_its_alternate_exchange(
    peer: Facing, wire: Wire010, session: amqp.Session
) -> None:
    alternate = peer.exchange(wire, session, "fanout")
    caught = peer.bound(wire, session, alternate, "")
    queue = peer.queue(wire, session, alternate_exchange=alternate)
    for body in (b"rejected", b"orphaned"):
        assert wire.publish(session, "", keyed(queue, body)) == Accepted()
    destination = wire.subscribe(session, queue, flow_mode=amqp.spec.CREDIT, credit=1)
    message = wire.message(session, destination)
    wire.result(session.reject(message.command_id, code=0, text="no", sync=True))
    assert wire.drain(session, caught) == [b"rejected"]
    wire.call(session, spec.QueueDelete(queue))
    assert wire.drain(session, caught) == [b"orphaned"]


def test_an_exchange_that_is_not_there_counts_as_the_default_one(
    peer: Facing, wire: Wire010, session: amqp.Session
) -> None:
    """The specification asks for not-found."""
    queue = peer.queue(wire, session)
    assert wire.publish(session, "absent", keyed(queue, b"here")) == Accepted()
    assert wire.publish(session, "absent", keyed("nowhere")) == UNROUTABLE
    assert wire.drain(session, queue) == [b"here"]


def test_a_million_octets_in_small_frames(peer: Facing) -> None:
    wire, session = peer.attach(max_frame_size=4096)
    assert wire.connection.max_frame_size == 4096
    queue = peer.queue(wire, session)
    bodies = [bytes(range(256)) * 4096, b"", b"x" * (4096 - 12), b"y" * (4096 - 11)]
    sent = [session.transfer("", keyed(queue, body)) for body in bodies]
    wire.sync(session)
    assert [wire.result(each.outcome) for each in sent if each.outcome] == [Accepted()] * 4
    assert wire.drain(session, queue) == bodies
    wire.close()


def test_a_body_in_pieces(peer: Facing) -> None:
    wire, session = peer.attach(max_frame_size=4096, stream_above=10_000)
    queue = peer.queue(wire, session)
    body = bytes(range(256)) * 200
    assert wire.publish(session, "", keyed(queue, body, content_type="x")) == Accepted()
    wire.subscribe(session, queue, credit=1)
    begun, octets = wire.streamed()
    assert octets == body
    assert begun.headers.message_properties == amqp.MessageProperties(content_type="x")
    wire.result(session.accept(begun.command_id, sync=True))
    assert wire.call(session, spec.QueueQuery(queue)).message_count == 0
    wire.close()


def test_properties_round_trip(peer: Facing, wire: Wire010, session: amqp.Session, brokerj: BrokerJ) -> None:
    queue = peer.bound(wire, session, "amq.direct", "key")
    delivery = amqp.DeliveryProperties(
        routing_key="key", priority=7, delivery_mode=2, ttl=600_000, timestamp=1_700_000_000
    )
    properties = amqp.MessageProperties(
        message_id=UUID(int=7),
        correlation_id=b"\x00\xffcorrelation",
        reply_to=spec.ReplyTo("amq.direct", "replies"),
        content_type="text/plain",
        content_encoding="identity",
        user_id=brokerj.user.encode(),
        app_id=b"core",
        application_headers={"a": 1},
    )
    message = amqp.Message(b"body", delivery_properties=delivery, message_properties=properties)
    assert wire.publish(session, "amq.direct", message) == Accepted()
    destination = wire.subscribe(session, queue, credit=1)
    found = wire.message(session, destination)
    assert found.body == b"body"
    assert found.headers.message_properties == properties
    got = found.headers.delivery_properties
    assert got is not None
    for name in ("routing_key", "priority", "delivery_mode", "ttl", "timestamp"):
        assert getattr(got, name) == getattr(delivery, name), name
    # Broker-J adds the exchange, and when the message expires: in milliseconds, where datetime has seconds.
    assert got.exchange == "amq.direct"
    assert got.expiration is not None
    assert abs(got.expiration - (time.time() * 1000 + 600_000)) < 60_000
    assert not got.redelivered
    wire.result(session.accept(found.command_id, sync=True))


def test_a_user_id_is_not_compared_with_the_login(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    """The specification asks for unauthorized-access."""
    queue = peer.queue(wire, session)
    message = keyed(queue, message_properties=amqp.MessageProperties(user_id=b"somebody"))
    assert wire.publish(session, "", message) == Accepted()
    assert wire.drain(session, queue) == [b"body"]


SAME: Any = object()
VALUES: dict[str, tuple[Any, str, Any]] = {
    "bin8": (b"\x07", "int16", 7),
    "int8": (-7, "int8", SAME),
    "uint8": (250, "int16", SAME),
    "char": ("c", "char", SAME),
    "boolean": (True, "boolean", SAME),
    "bin16": (b"ab", "int32", 0x6162),
    "int16": (-700, "int16", SAME),
    "uint16": (60_000, "int32", SAME),
    "bin32": (b"abcd", "int64", 0x61626364),
    "int32": (-70_000, "int32", SAME),
    "uint32": (4_000_000_000, "int64", SAME),
    "float": (1.5, "float", SAME),
    "char-utf32": ("\u20ac", "int32", 0x20AC),
    "bin64": (b"abcdefgh", "int64", 0x6162636465666768),
    "int64": (-(2**40), "int64", SAME),
    "uint64": (2**63, "int64", -(2**63)),
    "double": (0.1, "double", SAME),
    "datetime": (amqp.spec.Datetime(1_700_000_000), "int64", SAME),
    "bin128": (bytes(16), "vbin32", SAME),
    "uuid": (UUID(int=9), "uuid", SAME),
    "bin256": (bytes(32), "vbin32", SAME),
    "bin512": (bytes(64), "vbin32", SAME),
    "bin1024": (bytes(128), "vbin32", SAME),
    "vbin8": (b"octets", "vbin32", SAME),
    "str8-latin": ("\xe9", "str16", SAME),
    "str8": ("\u20ac", "str16", SAME),
    "str8-utf16": ("\u20ac", "str16", SAME),
    "vbin16": (b"octets", "vbin32", SAME),
    "str16-latin": ("\xe9", "str16", SAME),
    "str16": ("\u20ac", "str16", SAME),
    "str16-utf16": ("\u20ac", "str16", SAME),
    "vbin32": (b"octets", "vbin32", SAME),
    "map": ({"inner": 1}, "map", SAME),
    "list": ([1, "two"], "list", SAME),
    "array": ([1, 2], "list", SAME),
    "bin40": (b"abcde", "vbin32", SAME),
    "dec32": (Decimal("1.25"), "vbin32", b"\x02\x00\x00\x00}"),
    "bin72": (b"abcdefghi", "vbin32", SAME),
    "dec64": (Decimal("-12.5"), "vbin32", b"\x01\xff\xff\xff\xff\xff\xff\xff\x83"),
    "void": (None, "void", SAME),
    "bit": (True, "vbin32", b""),
}
"""What is published, and what arrives: Broker-J writes values anew, from those that Java has."""


def test_application_headers_of_all_types(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    given = {name: amqp.spec.Typed(name, value) for name, (value, _, _) in VALUES.items()}
    message = keyed(queue, application_headers=given)
    assert set(given) == set(CODES) - {"struct32"}
    assert wire.publish(session, "", message) == Accepted()
    destination = wire.subscribe(session, queue, credit=1)
    found = wire.message(session, destination).headers.message_properties
    assert found is not None
    headers = found.application_headers
    assert isinstance(headers, amqp.Map)
    for name, code, value in headers.entries():
        sent, kind, expected = VALUES[name]
        assert (NAMES[code], value) == (kind, sent if expected is SAME else expected), name
    assert set(headers) == set(given)


def test_a_struct_among_the_application_headers(peer: Facing, wire: Wire010, session: amqp.Session) -> None:
    queue = peer.queue(wire, session)
    message = keyed(queue, application_headers={"struct": amqp.DeliveryProperties(priority=1)})
    with pytest.raises(RemoteProtocolError) as caught:
        wire.publish(session, "", message)
    assert (caught.value.code, caught.value.condition) == (541, "internal-error")


@pytest.mark.parametrize("exchange", ["", "amq.direct"])
def test_a_publisher_is_stopped_by_a_full_queue(
    peer: Facing, wire: Wire010, session: amqp.Session, exchange: str
) -> None:
    queue = peer.queue(wire, session, arguments={"x-qpid-capacity": 1000, "x-qpid-flow-resume-capacity": 500})
    wire.call(session, spec.ExchangeBind(queue, "amq.direct", queue))
    other = wire.session()
    assert session.credit(exchange) == (None, None)
    for _ in range(2):
        while session.credit(exchange)[0] != 0:
            assert wire.publish(session, exchange, keyed(queue, bytes(400))) == Accepted()
            wire.idle(0.05)
        # Broker-J stops the default exchange, and means the session.
        with pytest.raises(amqp.NoCredit):
            session.transfer(exchange, keyed(queue, b"more"))
        wire.events = [event for event in wire.events if not isinstance(event, amqp.CreditChanged)]
        assert len(wire.drain(other, queue)) >= 3
        # It goes on with messages alone: octets were never granted, and don't count.
        granted = wire.next(amqp.CreditChanged)
        assert (granted.destination, granted.octets) == ("", None)
        assert granted.messages
    assert wire.publish(session, exchange, keyed(queue, b"more")) == Accepted()
    assert session.report is None
