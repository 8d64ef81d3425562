"""The blocking adapter against RabbitMQ: login, TLS, publishing, consuming, errors, heartbeats."""

import threading
import time
from collections.abc import Iterator

import pytest

from amqp_sansio import AMQP_0_8, Accepted, By, EndpointClosed
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_8 import QueueDeclare as QueueDeclare08
from amqp_sansio_sync import Connection, ConsumerEnded, connect
from tests.interop.brokers.rabbitmq import RabbitMQ

WAIT = 30.0


@pytest.fixture
def connection(rabbitmq: RabbitMQ) -> Iterator[Connection]:
    connection = connect(rabbitmq.url)
    yield connection
    connection.close()


@pytest.fixture
def queue(connection: Connection, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"sync.{request.node.name}"
    channel = connection.open_channel()
    channel.call(amqp.QueueDelete(name))
    channel.call(amqp.QueueDeclare(name))
    yield name
    if channel.is_open and connection.is_open:
        channel.call(amqp.QueueDelete(name))


def test_messages_go_round(connection: Connection, queue: str) -> None:
    channel = connection.open_channel(confirm=True)
    properties = amqp.BasicProperties(content_type="text/plain", headers={"n": 1, "deep": {"a": [b"x"]}})
    bodies = [b"", b"small", bytes(400_000)]
    for body in bodies:
        outcome = channel.publish(body, routing_key=queue, mandatory=True, properties=properties)
        assert outcome == Accepted()
    with channel.consume(queue, prefetch=2, timeout=WAIT) as deliveries:
        for body in bodies:
            delivery = next(deliveries)
            assert delivery.body == body
            assert delivery.properties.content_type == "text/plain"
            assert delivery.properties.headers == {"n": 1, "deep": {"a": [b"x"]}}
            delivery.accept()
    assert channel.call(amqp.QueueDeclare(queue, passive=True)).message_count == 0


def test_many_publishes_under_way_and_one_acknowledgement(connection: Connection, queue: str) -> None:
    channel = connection.open_channel(confirm=True)
    pending = [channel.publish(b"%d" % n, routing_key=queue, wait=False) for n in range(5000)]
    assert [each.result(WAIT) for each in pending] == [Accepted()] * 5000
    taken = 0
    with channel.consume(queue, prefetch=1000, timeout=WAIT) as deliveries:
        for delivery in deliveries:
            assert delivery.body == b"%d" % taken
            taken += 1
            if taken % 500 == 0:
                delivery.accept(multiple=True)
            if taken == 5000:
                break
    assert channel.call(amqp.QueueDeclare(queue, passive=True)).message_count == 0


def test_what_nobody_gets_comes_back(connection: Connection) -> None:
    channel = connection.open_channel(confirm=True)
    outcome = channel.publish(b"x", routing_key="sync.no.such.queue", mandatory=True)
    assert outcome == amqp.Returned(312, "NO_ROUTE")
    plain = connection.open_channel()
    with plain.events(amqp.MessageReturned, timeout=WAIT) as returned:
        plain.publish(b"y", routing_key="sync.no.such.queue", mandatory=True)
        assert next(returned).body == b"y"


def test_what_was_not_taken_goes_back(connection: Connection, queue: str) -> None:
    channel = connection.open_channel()
    for n in range(20):
        channel.publish(b"%d" % n, routing_key=queue)
    for delivery in channel.consume(queue, prefetch=10, timeout=WAIT):
        delivery.accept()
        break
    deadline = time.monotonic() + WAIT
    other = connection.open_channel()
    while other.call(amqp.QueueDeclare(queue, passive=True)).message_count < 19:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    got = other.get(queue)
    assert got is not None
    assert (got.body, got.message_count) == (b"1", 18)
    got.release()
    with other.consume(queue, timeout=WAIT) as deliveries:
        again = next(deliveries)
        assert (again.body, again.redelivered) == (b"1", True)
        again.reject()


def test_errors_say_what_is_wrong(connection: Connection, queue: str) -> None:
    channel = connection.open_channel()
    with pytest.raises(EndpointClosed, match=r"404 NOT_FOUND - no queue 'sync\.none'") as caught:
        channel.call(amqp.QueueDeclare("sync.none", passive=True))
    assert caught.value.report is not None
    assert caught.value.report.by is By.REMOTE
    channel = connection.open_channel()
    with pytest.raises(EndpointClosed, match="406 PRECONDITION_FAILED - inequivalent arg"):
        channel.call(amqp.QueueDeclare(queue, durable=True))
    channel = connection.open_channel()
    with pytest.raises(EndpointClosed, match=r"404 NOT_FOUND - no exchange 'sync\.none'"):
        for _ in range(2000):
            channel.publish(b"x", exchange="sync.none")
            time.sleep(0.001)


def test_logins_that_are_refused(rabbitmq: RabbitMQ) -> None:
    with pytest.raises(EndpointClosed, match="403 ACCESS_REFUSED"):
        connect(rabbitmq.url.replace("guest:guest", "guest:wrong"))
    with pytest.raises(EndpointClosed, match="530 NOT_ALLOWED"):
        connect(rabbitmq.url.replace("guest:guest", f"{rabbitmq.noperm_user}:{rabbitmq.noperm_user}"))
    with pytest.raises(EndpointClosed, match="530 NOT_ALLOWED"):
        connect(rabbitmq.url.replace("%2F", "nowhere"))


def test_tls_and_a_client_certificate(rabbitmq: RabbitMQ) -> None:
    certificates = rabbitmq.certificates
    ca = f"{rabbitmq.tls_url}?cacertfile={certificates.ca}"
    with connect(ca) as connection:
        channel = connection.open_channel(confirm=True)
        assert channel.publish(bytes(1_000_000), routing_key="sync.none") == Accepted()
    files = f"certfile={certificates.client}&keyfile={certificates.client_key}"
    with connect(f"{ca}&{files}&auth_mechanism=external") as connection:
        assert connection.core.mechanism == "EXTERNAL"


def test_version_0_8(rabbitmq: RabbitMQ) -> None:
    with connect(rabbitmq.url, version=AMQP_0_8) as connection:
        channel = connection.open_channel()
        name = channel.call(QueueDeclare08(exclusive=True, auto_delete=True)).queue
        channel.publish(b"hello", routing_key=name)
        with channel.consume(name, timeout=WAIT) as deliveries:
            delivery = next(deliveries)
            assert delivery.body == b"hello"
            delivery.accept()


def test_transactions(connection: Connection, queue: str) -> None:
    channel = connection.open_channel()
    channel.call(amqp.TxSelect())
    channel.publish(b"x", routing_key=queue)
    channel.call(amqp.TxRollback())
    channel.publish(b"y", routing_key=queue)
    channel.call(amqp.TxCommit())
    got = connection.open_channel().get(queue, no_ack=True)
    assert got is not None
    assert (got.body, got.message_count) == (b"y", 0)


def test_a_consumer_ends_when_its_queue_is_deleted(connection: Connection, queue: str) -> None:
    deliveries = connection.open_channel().consume(queue, timeout=WAIT)
    other = connection.open_channel()
    other.call(amqp.QueueDelete(queue))
    with pytest.raises(ConsumerEnded, match="the server cancelled the consumer"):
        next(deliveries)


def test_a_connection_that_the_server_closes(rabbitmq: RabbitMQ) -> None:
    connection = connect(rabbitmq.url, properties={"connection_name": "sync-closed-by-server"})
    channel = connection.open_channel()
    name = channel.call(amqp.QueueDeclare(exclusive=True)).queue
    deliveries = channel.consume(name, timeout=WAIT)
    closer = threading.Thread(target=rabbitmq.ctl, args=("close_all_connections", "--vhost", "/", "bye"))
    closer.start()
    with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - bye"):
        next(deliveries)
    closer.join(WAIT)
    report = connection.close()
    assert (report.by, report.code) == (By.REMOTE, 320)


def test_heartbeats_go_on_while_user_code_works(rabbitmq: RabbitMQ) -> None:
    with connect(rabbitmq.url, heartbeat=1) as connection:
        assert connection.core.heartbeat == 1
        channel = connection.open_channel(confirm=True)
        time.sleep(4.5)
        assert channel.publish(b"x", routing_key="sync.none") == Accepted()


def test_threads_share_a_connection(connection: Connection, queue: str) -> None:
    channel = connection.open_channel(confirm=True)
    failures: list[BaseException] = []

    def publish() -> None:
        try:
            for _ in range(200):
                assert channel.publish(b"x" * 1000, routing_key=queue, timeout=WAIT) == Accepted()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=publish) for _ in range(4)]
    for thread in threads:
        thread.start()
    with connection.open_channel().consume(queue, prefetch=50, timeout=WAIT) as deliveries:
        for _ in range(800):
            next(deliveries).accept()
    for thread in threads:
        thread.join(WAIT)
    assert not failures


def test_routing_through_an_exchange(connection: Connection, queue: str) -> None:
    channel = connection.open_channel(confirm=True)
    channel.call(amqp.ExchangeDeclare(exchange="sync.topic", type="topic", auto_delete=True))
    channel.call(amqp.QueueBind(queue=queue, exchange="sync.topic", routing_key="a.#"))
    assert channel.publish(b"1", exchange="sync.topic", routing_key="a.b", mandatory=True) == Accepted()
    outcome = channel.publish(b"2", exchange="sync.topic", routing_key="b", mandatory=True)
    assert outcome == amqp.Returned(312, "NO_ROUTE")
