"""The embedded broker with py-amqp and kombu, unmodified (0-9-1)."""

import time
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import Any

import pytest

from tests.interop.brokers.embedded import Embedded

# Their types aren't whole.
amqp: Any = import_module("amqp")
exceptions: Any = import_module("amqp.exceptions")
kombu: Any = import_module("kombu")

numbers = count(1)


def named(what: str) -> str:
    return f"kombu.{what}.{next(numbers)}"


def connect(embedded: Embedded, **changes: Any) -> Any:
    given = {"userid": embedded.user, "password": embedded.password, "connect_timeout": 5, **changes}
    connection: Any = amqp.Connection(f"{embedded.host}:{embedded.port}", **given)
    connection.connect()
    return connection


@pytest.fixture
def connection(embedded: Embedded) -> Iterator[Any]:
    connection = connect(embedded)
    yield connection
    connection.close()


@pytest.fixture
def channel(connection: Any) -> Any:
    return connection.channel()


def wait_for(connection: Any, got: list[Any], count: int) -> None:
    deadline = time.monotonic() + 10
    while len(got) < count and time.monotonic() < deadline:
        try:
            connection.drain_events(timeout=1)
        except TimeoutError:
            continue
    assert len(got) == count


# py-amqp.


def test_publish_and_consume(connection: Any, channel: Any) -> None:
    queue, exchange = named("queue"), named("exchange")
    channel.exchange_declare(exchange, "direct", auto_delete=False)
    assert channel.queue_declare(queue, auto_delete=False, durable=True) == (queue, 0, 0)
    channel.queue_bind(queue, exchange, "k")
    channel.basic_qos(0, 2, False)
    got: list[Any] = []

    def take(message: Any) -> None:
        got.append(message)
        channel.basic_ack(message.delivery_tag)

    channel.basic_consume(queue, consumer_tag="mine", callback=take)
    for number in range(5):
        message = amqp.Message(str(number), application_headers={"n": number}, content_type="text/plain")
        channel.basic_publish(message, exchange, "k")
    wait_for(connection, got, 5)
    assert [(each.body, each.headers["n"]) for each in got] == [(str(number), number) for number in range(5)]
    channel.basic_cancel("mine")
    channel.queue_unbind(queue, exchange, "k")
    assert channel.queue_delete(queue) == 0
    channel.exchange_delete(exchange)


def test_rejecting_and_recovering(channel: Any) -> None:
    queue = named("recover")
    channel.queue_declare(queue, auto_delete=False, durable=True)
    channel.basic_publish(amqp.Message("m"), "", queue)
    message = channel.basic_get(queue)
    assert not message.delivery_info["redelivered"]
    channel.basic_recover(requeue=True)
    message = channel.basic_get(queue)
    assert message.delivery_info["redelivered"]
    channel.basic_reject(message.delivery_tag, requeue=True)
    message = channel.basic_get(queue)
    channel.basic_reject(message.delivery_tag, requeue=False)
    assert channel.basic_get(queue) is None


def test_transactions(channel: Any) -> None:
    queue = named("tx")
    channel.queue_declare(queue, auto_delete=False, durable=True)
    channel.tx_select()
    channel.basic_publish(amqp.Message("forgotten"), "", queue)
    channel.tx_rollback()
    channel.basic_publish(amqp.Message("kept"), "", queue)
    channel.tx_commit()
    assert channel.basic_get(queue, no_ack=True).body == "kept"
    assert channel.basic_get(queue) is None


def test_confirms_and_returns(embedded: Embedded) -> None:
    connection = connect(embedded, confirm_publish=True)
    channel = connection.channel()
    queue = named("confirmed")
    channel.queue_declare(
        queue, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}, auto_delete=False, durable=True
    )
    channel.basic_publish_confirm(amqp.Message("one"), "", queue)
    with pytest.raises(exceptions.MessageNacked):
        channel.basic_publish_confirm(amqp.Message("two"), "", queue)
    returned: list[Any] = []

    def note(*given: Any) -> None:
        returned.append(given)

    channel.events["basic_return"].add(note)
    channel.basic_publish(amqp.Message("three"), "", named("absent"), mandatory=True)
    ((error, _, _, message),) = returned
    assert (error.reply_code, error.reply_text, message.body) == (312, "NO_ROUTE", "three")
    connection.close()


@pytest.mark.parametrize("size", [1, 131_064, 131_065, 2_000_000])
def test_sizes(channel: Any, size: int) -> None:
    queue = named("large")
    channel.queue_declare(queue, auto_delete=False, durable=True)
    channel.basic_publish(amqp.Message(b"x" * size), "", queue)
    assert channel.basic_get(queue, no_ack=True).body == b"x" * size


def test_errors(connection: Any, embedded: Embedded) -> None:
    attempts: list[tuple[Any, str, dict[str, Any]]] = [
        (exceptions.NotFound, "queue_declare", {"queue": "kombu.absent", "passive": True}),
        (exceptions.NotFound, "basic_consume", {"queue": "kombu.absent"}),
        (
            exceptions.PreconditionFailed,
            "exchange_declare",
            {"exchange": "amq.direct", "type": "topic", "durable": True},
        ),
        (exceptions.AccessRefused, "queue_declare", {"queue": "amq.mine"}),
    ]
    for kind, method, given in attempts:
        channel = connection.channel()
        with pytest.raises(kind):
            getattr(channel, method)(**given)
    with pytest.raises(exceptions.AccessRefused):
        connect(embedded, password="wrong")
    with pytest.raises((exceptions.NotFound, exceptions.NotAllowed)):
        connect(embedded, virtual_host="/absent")


def test_channels_and_heartbeats(embedded: Embedded) -> None:
    connection = connect(embedded, heartbeat=1)
    channels = [connection.channel() for _ in range(30)]
    queue, _, _ = channels[0].queue_declare("", exclusive=True)
    for channel in channels:
        channel.basic_publish(amqp.Message("m"), "", queue)
    # The broker would give up after two seconds of silence.
    for _ in range(7):
        time.sleep(0.5)
        connection.heartbeat_tick()
        try:
            connection.drain_events(timeout=0.01)
        except TimeoutError:
            continue
    assert channels[-1].basic_get(queue, no_ack=True).delivery_info["message_count"] == 29
    connection.close()


# kombu.


@pytest.fixture
def broker(embedded: Embedded) -> Iterator[Any]:
    with kombu.Connection(embedded.url, connect_timeout=5) as connection:
        yield connection


def test_producers_and_consumers(broker: Any) -> None:
    exchange = kombu.Exchange(named("exchange"), "topic")
    queues = [kombu.Queue(named("queue"), exchange, routing_key=key) for key in ("a.#", "a.b")]
    producer = broker.Producer(serializer="json")
    for number in range(3):
        producer.publish(
            {"n": number},
            exchange=exchange,
            routing_key="a.b",
            declare=queues,
            headers={"h": number},
            priority=1,
            compression="zlib",
            retry=True,
        )
    got: list[tuple[str, int, int]] = []

    def take(body: Any, message: Any) -> None:
        got.append((message.delivery_info["routing_key"], body["n"], message.headers["h"]))
        message.ack()

    with broker.Consumer(queues, callbacks=[take], prefetch_count=1):
        wait_for(broker, got, 6)
    assert sorted(got) == sorted([("a.b", number, number) for number in range(3)] * 2)
    for queue in queues:
        assert queue(broker.default_channel).delete() == 0


def test_simple_queues(broker: Any) -> None:
    queue = broker.SimpleQueue(named("simple"))
    queue.put({"hello": ["world", 1, None]})
    assert queue.qsize() == 1
    message = queue.get(timeout=5)
    assert message.payload == {"hello": ["world", 1, None]}
    message.requeue()
    message = queue.get(timeout=5)
    assert message.delivery_info["redelivered"]
    message.ack()
    with pytest.raises(queue.Empty):
        queue.get(block=False)
    queue.close()


def test_an_error_and_a_pool(broker: Any) -> None:
    with pytest.raises(broker.channel_errors):
        broker.default_channel.queue_declare(named("absent"), passive=True)
    pool = broker.Pool(2)
    with pool.acquire() as one, pool.acquire() as two:
        queue = kombu.Queue(named("pooled"), durable=True, auto_delete=True)
        bound = queue(one.default_channel)
        bound.declare()
        two.Producer().publish("m", routing_key=queue.name)
        assert bound.get(no_ack=True).payload == "m"
    pool.force_close_all()


def test_rpc_by_a_reply_queue(broker: Any) -> None:
    requests = kombu.Queue(named("requests"), durable=True)
    answers: list[Any] = []

    def note(*given: Any) -> None:
        answers.append(given)

    reply_to = kombu.Queue(named("replies"), exclusive=True)

    def serve(body: Any, message: Any) -> None:
        broker.Producer().publish(
            body * 2, routing_key=message.properties["reply_to"], correlation_id=message.properties["correlation_id"]
        )
        message.ack()

    with broker.Consumer(requests, callbacks=[serve]), broker.Consumer(reply_to, no_ack=True, callbacks=[note]):
        broker.Producer().publish(21, routing_key=requests.name, reply_to=reply_to.name, correlation_id="c1")
        wait_for(broker, answers, 1)
    assert (answers[0][0], answers[0][1].properties["correlation_id"]) == (42, "c1")
