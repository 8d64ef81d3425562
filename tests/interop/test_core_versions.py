"""The core on real sockets against RabbitMQ and Qpid Broker-J, 0-8 and 0-9-1 alike, without any adapter."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest

from amqp_sansio import By, EndpointClosed, amqp_0_8, amqp_0_9_1
from amqp_sansio.amqp_0_8 import spec
from amqp_sansio.sasl import Anonymous, ClientMechanism, Plain, ScramSha256
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.interop.brokers.wires import at_once
from tests.kit.wire import Wire

BROKERS = ("rabbitmq", "brokerj")
VERSIONS = {"0-8": amqp_0_8, "0-9-1": amqp_0_9_1}


class Peer:
    """A broker and a version of the protocol to speak to it."""

    def __init__(self, broker: RabbitMQ | BrokerJ, version: ModuleType, label: str) -> None:
        self.broker = broker
        self.amqp = version
        self.label = label
        self.is_rabbit = isinstance(broker, RabbitMQ)
        dialect = f"{label}-rabbit" if self.is_rabbit else f"{label}-qpid"
        self.dialect = amqp_0_9_1.get_dialect(dialect)
        self.wires: list[Wire] = []

    def connect(self, sasl: ClientMechanism | None = None, port: int | None = None, **options: object) -> Wire:
        """A connection that is being opened."""
        broker = self.broker
        config = self.amqp.Config(sasl=sasl or Plain(broker.user, broker.password), dialect=self.dialect, **options)
        wire = at_once(Wire(self.amqp.Connection.client(config), broker.host, port or broker.port))
        self.wires.append(wire)
        return wire

    def open(self, **options: object) -> Wire:
        wire = self.connect(**options)  # type: ignore[arg-type]
        wire.opened()
        return wire


@pytest.fixture(params=[(b, v) for b in BROKERS for v in VERSIONS], ids=lambda p: f"{p[0]}-{p[1]}")
def peer(request: pytest.FixtureRequest) -> Iterator[Peer]:
    broker, label = request.param
    found = Peer(request.getfixturevalue(broker), VERSIONS[label], label)
    yield found
    for wire in found.wires:
        wire.socket.close()


def channel_of(wire: Wire) -> amqp_0_9_1.Channel:
    channel = wire.connection.open_channel()
    assert channel.opening is not None
    wire.result(channel.opening)
    return channel


def queue_of(peer: Peer, wire: Wire, channel: amqp_0_9_1.Channel, name: str) -> str:
    declared = wire.result(channel.call(peer.amqp.spec.QueueDeclare(queue=name, auto_delete=False)))
    wire.result(channel.call(peer.amqp.spec.QueuePurge(queue=name)))
    assert declared.queue == name
    return name


def test_publish_get_and_consume(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open()
    channel = channel_of(wire)
    queue = queue_of(peer, wire, channel, "core.basic")
    headers = {"text": "ä", "number": 7, "nested": {"deep": 1}}
    for number, body in enumerate((b"first", b"", b"x" * 300_000)):
        properties = amqp.BasicProperties(
            content_type="text/plain", message_id=f"m{number}", headers=headers, delivery_mode=1
        )
        channel.publish(body, routing_key=queue, properties=properties)
    got = wire.result(channel.call(amqp.spec.BasicGet(queue=queue)))
    assert isinstance(got, amqp.Message)
    assert got.body == b"first"
    channel.accept(got.method.delivery_tag)
    wire.result(channel.call(amqp.spec.BasicConsume(queue=queue, consumer_tag="c1")))
    empty, big = wire.next(amqp.Delivery), wire.next(amqp.Delivery)
    assert (empty.body, len(big.body)) == (b"", 300_000)
    assert big.properties.message_id == "m2"
    assert dict(big.properties.headers or {}) == headers
    assert (big.consumer_tag, big.exchange, big.routing_key) == ("c1", "", queue)
    channel.accept(big.delivery_tag, multiple=True)
    wire.result(channel.call(amqp.spec.BasicCancel(consumer_tag="c1")))
    assert isinstance(wire.result(channel.call(amqp.spec.BasicGet(queue=queue))), amqp.spec.BasicGetEmpty)
    wire.result(channel.call(amqp.spec.QueueDelete(queue=queue)))
    wire.close()
    assert wire.closed is not None and wire.closed.report.by is By.LOCAL


def test_reject_and_release(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open()
    channel = channel_of(wire)
    queue = queue_of(peer, wire, channel, "core.release")
    channel.publish(b"again", routing_key=queue)
    channel.publish(b"never", routing_key=queue)
    wire.result(channel.call(amqp.spec.BasicConsume(queue=queue, consumer_tag="c")))
    first, second = wire.next(amqp.Delivery), wire.next(amqp.Delivery)
    channel.release(first.delivery_tag)
    channel.reject(second.delivery_tag)
    again = wire.next(amqp.Delivery)
    assert (again.body, again.redelivered) == (b"again", True)
    channel.accept(again.delivery_tag)
    wire.result(channel.call(amqp.spec.BasicCancel(consumer_tag="c")))
    deleted = wire.result(channel.call(amqp.spec.QueueDelete(queue=queue)))
    # Broker-J keeps a rejected message that has no alternate exchange to go to until its delivery count is used up.
    assert deleted.message_count == (0 if peer.is_rabbit else 1)
    wire.close()


def test_transactions(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open()
    channel = channel_of(wire)
    queue = queue_of(peer, wire, channel, "core.tx")
    wire.result(channel.call(amqp.spec.TxSelect()))
    channel.publish(b"kept", routing_key=queue)
    wire.result(channel.call(amqp.spec.TxCommit()))
    channel.publish(b"dropped", routing_key=queue)
    wire.result(channel.call(amqp.spec.TxRollback()))
    got = wire.result(channel.call(amqp.spec.BasicGet(queue=queue)))
    assert got.body == b"kept"
    channel.accept(got.method.delivery_tag)
    if peer.is_rabbit:
        # After a rollback Broker-J takes its delivery back, RabbitMQ leaves it with the consumer.
        wire.result(channel.call(amqp.spec.TxRollback()))
        channel.accept(got.method.delivery_tag)
    wire.result(channel.call(amqp.spec.TxCommit()))
    assert wire.result(channel.call(amqp.spec.QueueDelete(queue=queue))).message_count == 0
    wire.close()


def test_a_missing_queue_closes_the_channel_only(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open()
    channel = channel_of(wire)
    with pytest.raises(EndpointClosed) as failed:
        wire.result(channel.call(amqp.spec.QueueDeclare(queue="core.absent", passive=True)))
    assert failed.value.report is not None
    assert failed.value.report.code == 404
    assert failed.value.report.by is By.REMOTE
    other = channel_of(wire)
    assert other.number == channel.number
    wire.close()


def test_a_mandatory_publish_comes_back(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open()
    channel = channel_of(wire)
    channel.publish(b"nowhere", exchange="amq.direct", routing_key="core.no-such-key", mandatory=True)
    returned = wire.next(amqp.MessageReturned)
    assert returned.body == b"nowhere"
    assert returned.reply_code == 312
    wire.close()


def test_a_wrong_password_is_named_as_the_likely_cause(peer: Peer) -> None:
    wire = peer.connect(sasl=Plain(peer.broker.user, "wrong"))
    report = wire.end().report
    assert report.code == 403 or "password" in report.hint, report
    assert report.by in (By.REMOTE, By.TRANSPORT)


def test_a_missing_virtual_host(peer: Peer) -> None:
    wire = peer.connect(vhost="/absent" if peer.label == "0-8" else "absent")
    report = wire.end().report
    assert report.code in (402, 404, 530) or "virtual host" in report.hint, report


@pytest.mark.parametrize("all_of", [BROKERS], indirect=True, ids=["all"])
def test_heartbeats_keep_idle_connections(all_of: dict[str, RabbitMQ | BrokerJ]) -> None:
    def check(peer: Peer) -> None:
        wire = peer.open(heartbeat=1, report_heartbeats=True)
        assert wire.connection.heartbeat == 1
        end = time.monotonic() + 3.5

        def enough() -> bool:
            seen = [event for event in wire.events if isinstance(event, peer.amqp.HeartbeatReceived)]
            return len(seen) >= 3 and time.monotonic() > end

        wire.until(enough, timeout=12)
        channel_of(wire)
        wire.close()

    peers = [Peer(broker, version, label) for broker in all_of.values() for label, version in VERSIONS.items()]
    with ThreadPoolExecutor(len(peers)) as pool:
        assert list(pool.map(check, peers)) == [None] * len(peers)


def test_frames_of_4096_octets(peer: Peer) -> None:
    amqp = peer.amqp
    wire = peer.open(frame_max=4096)
    assert wire.connection.frame_max == 4096
    channel = channel_of(wire)
    queue = queue_of(peer, wire, channel, "core.small-frames")
    body = bytes(range(256)) * 400
    channel.publish(body, routing_key=queue)
    got = wire.result(channel.call(amqp.spec.BasicGet(queue=queue, no_ack=True)))
    assert got.body == body
    wire.result(channel.call(amqp.spec.QueueDelete(queue=queue)))
    wire.close()


def test_scram_of_broker_j(brokerj: BrokerJ) -> None:
    peer = Peer(brokerj, amqp_0_9_1, "0-9-1")
    nonce = "c2FtZSBub25jZSBmb3IgdGVzdHM"
    good = ScramSha256(brokerj.user, brokerj.password, nonce)
    wire = peer.connect(sasl=good, port=brokerj.scram_port)
    wire.opened()
    wire.close()
    wire = peer.connect(sasl=ScramSha256(brokerj.user, "wrong", nonce), port=brokerj.scram_port)
    assert wire.end().report.code in (0, 403, 530)


def test_anonymous_of_broker_j(brokerj: BrokerJ) -> None:
    peer = Peer(brokerj, amqp_0_9_1, "0-9-1")
    wire = peer.connect(sasl=Anonymous(), port=brokerj.anonymous_port)
    wire.opened()
    wire.close()


def test_the_access_class_in_0_8(rabbitmq: RabbitMQ) -> None:
    peer = Peer(rabbitmq, amqp_0_8, "0-8")
    wire = peer.open()
    channel = channel_of(wire)
    granted = wire.result(channel.call(spec.AccessRequest(realm="/data", active=True, read=True, write=True)))
    assert granted.ticket == 1
    wire.close()
