"""The embedded broker with pika, unmodified (0-9-1)."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false
import time
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pika
import pytest
from pika import exceptions

from tests.interop.brokers.embedded import Embedded

numbers = count(1)


def named(what: str) -> str:
    return f"pika.{what}.{next(numbers)}"


def connect(embedded: Embedded, **changes: Any) -> Any:
    return pika.BlockingConnection(
        pika.ConnectionParameters(embedded.host, embedded.port, socket_timeout=10, **changes)
    )


@pytest.fixture
def connection(embedded: Embedded) -> Iterator[Any]:
    connection = connect(embedded)
    yield connection
    if connection.is_open:
        connection.close()


@pytest.fixture
def channel(connection: Any) -> Any:
    return connection.channel()


def take(channel: Any, queue: str, count: int) -> list[tuple[Any, Any, bytes]]:
    """So many deliveries of a queue, not acknowledged."""
    found: list[tuple[Any, Any, bytes]] = []
    for method, properties, body in channel.consume(queue, inactivity_timeout=10):
        assert method is not None, f"{len(found)} of {count} came"
        found.append((method, properties, body))
        if len(found) == count:
            return found
    raise AssertionError("it was cancelled")


def process(connection: Any, is_over: Callable[[], bool]) -> None:
    """Let the connection work until something has happened."""
    deadline = time.monotonic() + 10
    while not is_over() and time.monotonic() < deadline:
        connection.process_data_events(0.1)


def test_it_knows_what_it_talks_to(connection: Any) -> None:
    properties = connection._impl.server_properties
    assert properties["product"] == "RabbitMQ"
    assert properties["capabilities"]["publisher_confirms"] is True


def test_messages_with_all_properties(channel: Any) -> None:
    queue = named("properties")
    declared = channel.queue_declare(queue, durable=True)
    assert (declared.method.queue, declared.method.message_count) == (queue, 0)
    properties = pika.BasicProperties(
        content_type="text/plain",
        content_encoding="utf-8",
        headers={"n": 1, "t": {"a": [1, "x", None, True]}},
        delivery_mode=2,
        priority=3,
        correlation_id="c",
        reply_to="r",
        expiration="60000",
        message_id="m",
        timestamp=1_700_000_000,
        type="t",
        user_id="guest",
        app_id="a",
        cluster_id="k",
    )
    channel.basic_publish("", queue, b"hello", properties)
    method, found, body = channel.basic_get(queue)
    assert (method.routing_key, method.redelivered, method.message_count) == (queue, False, 0)
    assert (body, vars(found)) == (b"hello", vars(properties))
    channel.basic_ack(method.delivery_tag)
    assert channel.basic_get(queue) == (None, None, None)


@pytest.mark.parametrize(
    ("kind", "key", "arguments", "sent", "headers"),
    [
        ("direct", "k", None, "k", {}),
        ("fanout", "", None, "any", {}),
        ("topic", "a.#.z", None, "a.b.c.z", {}),
        ("headers", "", {"x-match": "any", "h": 1, "g": 2}, "", {"h": 1}),
    ],
)
def test_every_exchange_type(
    channel: Any, kind: str, key: str, arguments: dict[str, Any] | None, sent: str, headers: dict[str, Any]
) -> None:
    exchange = named(kind)
    channel.exchange_declare(exchange, kind)
    queue = channel.queue_declare("", exclusive=True).method.queue
    assert queue.startswith("amq.gen-")
    channel.queue_bind(queue, exchange, key, arguments)
    channel.basic_publish(exchange, sent, b"in", pika.BasicProperties(headers=headers))
    channel.basic_publish(exchange, "elsewhere.b", b"out" if kind != "fanout" else b"in")
    method, _, body = channel.basic_get(queue, auto_ack=True)
    assert (body, method.exchange, method.routing_key) == (b"in", exchange, sent)
    assert method.message_count == (1 if kind == "fanout" else 0)
    channel.queue_unbind(queue, exchange, key, arguments)
    channel.exchange_delete(exchange)


def test_exchanges_bound_to_exchanges(channel: Any) -> None:
    first, second = named("first"), named("second")
    queue = channel.queue_declare("", exclusive=True).method.queue
    channel.exchange_declare(first, "topic", auto_delete=True)
    channel.exchange_declare(second, "fanout", internal=True)
    channel.exchange_bind(second, first, "a.*")
    channel.queue_bind(queue, second)
    channel.basic_publish(first, "a.b", b"through")
    assert channel.basic_get(queue, auto_ack=True)[2] == b"through"
    channel.exchange_unbind(second, first, "a.*")
    with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
        channel.exchange_declare(first, passive=True)
    assert closed.value.reply_code == 404


def test_consuming_with_acknowledgements(channel: Any) -> None:
    queue = named("acks")
    channel.queue_declare(queue, durable=True)
    for number in range(10):
        channel.basic_publish("", queue, b"%d" % number)
    channel.basic_qos(prefetch_count=3)
    three = take(channel, queue, 3)
    assert [body for _, _, body in three] == [b"0", b"1", b"2"]
    assert channel.queue_declare(queue, passive=True).method.message_count == 7
    channel.basic_ack(three[1][0].delivery_tag, multiple=True)
    assert [body for _, _, body in take(channel, queue, 2)] == [b"3", b"4"]
    channel.basic_nack(three[2][0].delivery_tag, requeue=True)
    again = take(channel, queue, 1)[0]
    assert (again[2], again[0].redelivered) == (b"2", True)
    channel.cancel()
    channel.close()


def test_what_was_not_acknowledged_comes_back(connection: Any) -> None:
    queue = named("back")
    first, second = connection.channel(), connection.channel()
    first.queue_declare(queue, durable=True)
    for number in range(3):
        first.basic_publish("", queue, b"%d" % number)
    assert [body for _, _, body in take(first, queue, 3)] == [b"0", b"1", b"2"]
    first.close()
    again = take(second, queue, 3)
    assert [(body, method.redelivered) for method, _, body in again] == [(b"0", True), (b"1", True), (b"2", True)]
    second.basic_recover(requeue=True)
    assert [body for _, _, body in take(second, queue, 3)] == [b"0", b"1", b"2"]


def test_dead_letters(channel: Any) -> None:
    dead, queue = named("dead"), named("letters")
    channel.queue_declare(dead, durable=True)
    channel.queue_declare(
        queue,
        arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead, "x-message-ttl": 200},
        durable=True,
    )
    channel.basic_publish("", queue, b"rejected")
    method, _, _ = channel.basic_get(queue)
    channel.basic_reject(method.delivery_tag, requeue=False)
    channel.basic_publish("", queue, b"expired")
    found = take(channel, dead, 2)
    assert [body for _, _, body in found] == [b"rejected", b"expired"]
    deaths = [properties.headers["x-death"][0] for _, properties, _ in found]
    assert [(each["reason"], each["queue"], each["count"]) for each in deaths] == [
        ("rejected", queue, 1),
        ("expired", queue, 1),
    ]
    assert found[1][1].headers["x-first-death-reason"] == "expired"


def test_confirms_and_returns(channel: Any) -> None:
    queue = named("confirmed")
    channel.queue_declare(queue, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}, durable=True)
    channel.confirm_delivery()
    channel.basic_publish("", queue, b"confirmed", mandatory=True)
    with pytest.raises(exceptions.NackError):
        channel.basic_publish("", queue, b"one too many")
    with pytest.raises(exceptions.UnroutableError) as returned:
        channel.basic_publish("", named("absent"), b"nowhere", mandatory=True)
    (message,) = returned.value.messages
    assert (message.method.reply_code, message.method.reply_text, message.body) == (312, "NO_ROUTE", b"nowhere")


def test_transactions(channel: Any) -> None:
    queue = named("tx")
    channel.queue_declare(queue, durable=True)
    channel.tx_select()
    channel.basic_publish("", queue, b"forgotten")
    channel.tx_rollback()
    channel.basic_publish("", queue, b"kept")
    assert channel.basic_get(queue) == (None, None, None)
    channel.tx_commit()
    method, _, body = channel.basic_get(queue)
    assert body == b"kept"
    channel.basic_ack(method.delivery_tag)
    channel.tx_rollback()
    channel.basic_nack(method.delivery_tag, requeue=True)
    channel.tx_commit()
    assert channel.basic_get(queue)[0].redelivered


@pytest.mark.parametrize("size", [0, 131_064, 131_065, 5_000_000])
def test_sizes(channel: Any, size: int) -> None:
    queue = named("large")
    channel.queue_declare(queue, durable=True)
    body = bytes(range(251)) * (size // 251) + b"x" * (size % 251)
    channel.basic_publish("", queue, body)
    assert take(channel, queue, 1)[0][2] == body


@pytest.fixture
def other(embedded: Embedded) -> Iterator[Any]:
    connection = connect(embedded)
    yield connection
    if connection.is_open:
        connection.close()


def test_errors_of_a_channel(connection: Any, other: Any) -> None:
    queue = named("errors")
    connection.channel().queue_declare(queue, durable=True)
    locked = other.channel().queue_declare("", exclusive=True).method.queue
    absent = named("absent")
    attempts: list[tuple[int, str, dict[str, Any]]] = [
        (404, "queue_declare", {"queue": absent, "passive": True}),
        (404, "basic_consume", {"queue": absent, "on_message_callback": print}),
        (404, "queue_bind", {"queue": queue, "exchange": absent}),
        (405, "queue_declare", {"queue": locked, "passive": True}),
        (406, "queue_declare", {"queue": queue, "durable": False}),
        (406, "exchange_declare", {"exchange": "amq.direct", "exchange_type": "topic", "durable": True}),
        (403, "exchange_declare", {"exchange": "amq.mine", "exchange_type": "direct"}),
        (403, "exchange_delete", {"exchange": "amq.direct"}),
        (406, "queue_declare", {"queue": absent, "arguments": {"x-message-ttl": "soon"}}),
    ]
    for code, method, given in attempts:
        channel = connection.channel()
        with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
            getattr(channel, method)(**given)
        assert closed.value.reply_code == code, closed.value
    channel = connection.channel()
    channel.basic_publish(named("absent"), "", b"")
    with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
        channel.queue_declare(queue, passive=True)
    assert closed.value.reply_code == 404
    channel = connection.channel()
    channel.basic_ack(99)
    with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
        channel.queue_declare(queue, passive=True)
    assert closed.value.reply_code == 406


def test_an_error_of_the_connection(connection: Any, other: Any) -> None:
    with pytest.raises(exceptions.ConnectionClosedByBroker) as closed:
        other.channel().exchange_declare(named("odd"), "x-unheard-of")
    assert closed.value.reply_code in (503, 540)
    assert connection.channel().queue_declare("", exclusive=True).method.queue


def test_who_is_not_let_in(embedded: Embedded) -> None:
    with pytest.raises(exceptions.ProbableAuthenticationError):
        connect(embedded, credentials=pika.PlainCredentials("guest", "wrong"))
    with pytest.raises(exceptions.ProbableAccessDeniedError):
        connect(embedded, virtual_host="/absent")


def test_many_channels(connection: Any) -> None:
    queue = named("channels")
    channels = [connection.channel() for _ in range(50)]
    channels[0].queue_declare(queue, durable=True)
    for number, channel in enumerate(channels):
        channel.basic_publish("", queue, b"%d" % number)
    bodies = [channel.basic_get(queue, auto_ack=True)[2] for channel in channels]
    assert bodies == [b"%d" % number for number in range(50)]


def test_consumers_take_turns_and_are_cancelled(connection: Any) -> None:
    queue = named("turns")
    channel = connection.channel()
    channel.queue_declare(queue, durable=True)
    got: list[tuple[str, bytes]] = []
    cancelled: list[str] = []

    def take(_: Any, method: Any, __: Any, body: bytes) -> None:
        got.append((method.consumer_tag, body))

    def note(frame: Any) -> None:
        cancelled.append(frame.method.consumer_tag)

    channel.add_on_cancel_callback(note)
    for tag in ("one", "two"):
        channel.basic_consume(queue, take, True, consumer_tag=tag)
    for number in range(4):
        channel.basic_publish("", queue, b"%d" % number)
    process(connection, lambda: len(got) == 4)
    assert got == [("one", b"0"), ("two", b"1"), ("one", b"2"), ("two", b"3")]
    connection.channel().queue_delete(queue)
    process(connection, lambda: len(cancelled) == 2)
    assert sorted(cancelled) == ["one", "two"]


def test_direct_reply(connection: Any) -> None:
    client, server = connection.channel(), connection.channel()
    queue = named("rpc")
    server.queue_declare(queue, durable=True)
    replies: list[bytes] = []

    def take(*given: Any) -> None:
        replies.append(given[3])

    client.basic_consume("amq.rabbitmq.reply-to", take, auto_ack=True)
    client.basic_publish("", queue, b"question", pika.BasicProperties(reply_to="amq.rabbitmq.reply-to"))
    _, properties, body = server.basic_get(queue, auto_ack=True)
    assert properties.reply_to.startswith("amq.rabbitmq.reply-to.")
    server.basic_publish("", properties.reply_to, b"answer to " + body)
    process(connection, lambda: bool(replies))
    assert replies == [b"answer to question"]


def test_heartbeats_keep_an_idle_connection(embedded: Embedded) -> None:
    connection = connect(embedded, heartbeat=1)
    connection.sleep(3.5)
    assert connection.is_open
    connection.close()


def test_who_is_silent_is_given_up(embedded: Embedded) -> None:
    connection = connect(embedded, heartbeat=1)
    time.sleep(4)
    with pytest.raises(exceptions.AMQPError):
        connection.channel()


def test_exclusive_queues_go_with_their_connection(connection: Any, other: Any) -> None:
    queue = other.channel().queue_declare(named("mine"), exclusive=True).method.queue
    other.close()
    with pytest.raises(exceptions.ChannelClosedByBroker) as closed:
        connection.channel().queue_declare(queue, passive=True)
    assert closed.value.reply_code == 404
