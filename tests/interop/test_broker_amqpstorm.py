"""The embedded broker with AMQPStorm, unmodified (0-9-1)."""

import time
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from typing import Any

import pytest

from tests.interop.brokers.embedded import Embedded

# Its types aren't whole.
amqpstorm: Any = import_module("amqpstorm")

numbers = count(1)


def named(what: str) -> str:
    return f"storm.{what}.{next(numbers)}"


def connect(embedded: Embedded, **changes: Any) -> Any:
    given = {"port": embedded.port, "timeout": 5, **changes}
    return amqpstorm.Connection(embedded.host, embedded.user, embedded.password, **given)


@pytest.fixture
def connection(embedded: Embedded) -> Iterator[Any]:
    with connect(embedded) as connection:
        yield connection


@pytest.fixture
def channel(connection: Any) -> Iterator[Any]:
    with connection.channel(rpc_timeout=10) as channel:
        yield channel


def test_publish_and_get(channel: Any) -> None:
    queue, exchange = named("get"), named("exchange")
    channel.exchange.declare(exchange, "topic")
    channel.queue.declare(queue, durable=True)
    channel.queue.bind(queue, exchange, "a.*")
    message = amqpstorm.Message.create(channel, "hello", {"headers": {"n": 1}, "priority": 3})
    message.publish("a.b", exchange)
    found = channel.basic.get(queue)
    assert (found.body, found.properties["headers"], found.priority) == ("hello", {"n": 1}, 3)
    assert (found.method["exchange"], found.method["routing_key"]) == (exchange, "a.b")
    found.reject(requeue=True)
    again = channel.basic.get(queue)
    assert again.method["redelivered"]
    again.ack()
    assert channel.basic.get(queue) is None
    channel.queue.unbind(queue, exchange, "a.*")
    channel.exchange.delete(exchange)
    assert channel.queue.delete(queue)["message_count"] == 0


def test_consuming(channel: Any) -> None:
    queue = named("consume")
    channel.queue.declare(queue, durable=True)
    channel.basic.qos(2)
    for number in range(5):
        channel.basic.publish(str(number), queue)
    got: list[str] = []

    def take(message: Any) -> None:
        got.append(message.body)
        message.ack()
        if len(got) == 5:
            channel.stop_consuming()

    channel.basic.consume(take, queue)
    channel.start_consuming()
    assert got == list("01234")


def test_confirms_and_returns(channel: Any) -> None:
    queue = named("confirmed")
    channel.queue.declare(queue, durable=True, arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    channel.confirm_deliveries()
    assert channel.basic.publish("one", queue) is True
    assert channel.basic.publish("two", queue) is False
    with pytest.raises(amqpstorm.AMQPMessageError, match="312"):
        channel.basic.publish("nowhere", named("absent"), mandatory=True)


def test_transactions(channel: Any) -> None:
    queue = named("tx")
    channel.queue.declare(queue, durable=True)
    with channel.tx:
        channel.basic.publish("kept", queue)
        assert channel.basic.get(queue) is None
    channel.tx.select()
    channel.basic.publish("forgotten", queue)
    channel.tx.rollback()
    assert channel.basic.get(queue).body == "kept"
    assert channel.basic.get(queue) is None


@pytest.mark.parametrize("size", [1, 131_064, 131_065, 3_000_000])
def test_sizes(channel: Any, size: int) -> None:
    queue = named("large")
    channel.queue.declare(queue, durable=True)
    channel.basic.publish("x" * size, queue)
    found = channel.basic.get(queue)
    assert found.body == "x" * size
    found.ack()


@pytest.mark.parametrize(
    ("code", "kind", "method", "given"),
    [
        (404, "queue", "declare", {"queue": "storm.absent", "passive": True}),
        (404, "basic", "consume", {"callback": print, "queue": "storm.absent"}),
        (406, "exchange", "declare", {"exchange": "amq.direct", "exchange_type": "fanout", "durable": True}),
        (403, "queue", "declare", {"queue": "amq.mine"}),
    ],
    ids=["absent-queue", "absent-consume", "inequivalent", "reserved"],
)
def test_errors(connection: Any, code: int, kind: str, method: str, given: dict[str, Any]) -> None:
    channel = connection.channel()
    with pytest.raises(amqpstorm.AMQPChannelError) as closed:
        getattr(getattr(channel, kind), method)(**given)
    assert closed.value.error_code == code
    with connection.channel() as other:
        other.queue.declare("", exclusive=True)


def test_who_is_not_let_in(embedded: Embedded) -> None:
    with pytest.raises(amqpstorm.AMQPConnectionError):
        amqpstorm.Connection(embedded.host, "guest", "wrong", port=embedded.port, timeout=5)


def test_several_channels(connection: Any) -> None:
    channels = [connection.channel() for _ in range(20)]
    names = [each.queue.declare("", exclusive=True)["queue"] for each in channels]
    assert len(set(names)) == 20
    for channel, name in zip(channels, reversed(names), strict=True):
        channel.basic.publish(name, name)
    assert [each.basic.get(name).body for each, name in zip(channels, names, strict=True)] == names


def test_heartbeats(embedded: Embedded) -> None:
    with connect(embedded, heartbeat=1) as connection:
        time.sleep(3)
        connection.check_for_errors()
        assert connection.is_open
