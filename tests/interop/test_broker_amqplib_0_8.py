"""The embedded broker with py-amqplib, unmodified, as Debian packages it (0-8)."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.interop.brokers.embedded import Embedded
from tests.interop.brokers.process import apt_install

PACKAGE = Path("/usr/lib/python3/dist-packages/amqplib")

numbers = count(1)


@pytest.fixture(scope="module")
def amqplib(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The library, without what else Debian's Python has."""
    if not PACKAGE.exists():
        apt_install("python3-amqplib")
    folder = tmp_path_factory.mktemp("amqplib")
    (folder / "amqplib").symlink_to(PACKAGE)
    sys.path.insert(0, str(folder))
    try:
        yield import_module("amqplib.client_0_8")
    finally:
        sys.path.remove(str(folder))


def named(what: str) -> str:
    return f"old.{what}.{next(numbers)}"


def connect(amqplib: Any, embedded: Embedded, **changes: Any) -> Any:
    given = {"userid": embedded.user, "password": embedded.password, **changes}
    return amqplib.Connection(host=f"{embedded.host}:{embedded.port}", **given)


@pytest.fixture
def connection(amqplib: Any, embedded: Embedded) -> Iterator[Any]:
    connection = connect(amqplib, embedded)
    yield connection
    connection.close()


def test_it_speaks_0_8(connection: Any) -> None:
    assert (connection.version_major, connection.version_minor) == (8, 0)


def test_publish_and_consume(amqplib: Any, connection: Any) -> None:
    channel = connection.channel()
    ticket = channel.access_request("/data", active=True, read=True, write=True)
    exchange, queue = named("exchange"), named("queue")
    channel.exchange_declare(exchange, "topic", auto_delete=False, ticket=ticket)
    assert channel.queue_declare(queue, auto_delete=False, ticket=ticket) == (queue, 0, 0)
    channel.queue_bind(queue, exchange, "a.*", ticket=ticket)
    channel.basic_qos(0, 3, False)
    for number in range(5):
        message = amqplib.Message(
            f"m{number}", content_type="text/plain", application_headers={"n": number}, delivery_mode=2
        )
        channel.basic_publish(message, exchange, "a.b", ticket=ticket)
    got: list[tuple[str, int]] = []

    def take(message: Any) -> None:
        got.append((message.body, message.application_headers["n"]))
        message.channel.basic_ack(message.delivery_tag)

    tag = channel.basic_consume(queue, callback=take, ticket=ticket)
    while len(got) < 5:
        channel.wait()
    assert got == [(f"m{number}", number) for number in range(5)]
    channel.basic_cancel(tag)
    assert channel.queue_purge(queue) == 0
    assert channel.queue_delete(queue) == 0
    channel.exchange_delete(exchange)
    channel.close()


def test_rejecting_and_recovering(amqplib: Any, connection: Any) -> None:
    channel = connection.channel()
    queue = named("reject")
    channel.queue_declare(queue, auto_delete=False)
    channel.basic_publish(amqplib.Message("m"), "", queue)
    message = channel.basic_get(queue)
    channel.basic_reject(message.delivery_tag, True)
    message = channel.basic_get(queue)
    assert message.delivery_info["redelivered"]
    channel.basic_reject(message.delivery_tag, False)
    assert channel.basic_get(queue) is None


def test_transactions(amqplib: Any, connection: Any) -> None:
    channel = connection.channel()
    queue = named("tx")
    channel.queue_declare(queue, auto_delete=False)
    channel.tx_select()
    channel.basic_publish(amqplib.Message("forgotten"), "", queue)
    channel.tx_rollback()
    channel.basic_publish(amqplib.Message("kept"), "", queue)
    channel.tx_commit()
    assert channel.basic_get(queue, no_ack=True).body == "kept"


def test_returned_messages(amqplib: Any, connection: Any) -> None:
    channel = connection.channel()
    channel.basic_publish(amqplib.Message("nowhere"), "", named("absent"), mandatory=True)
    channel.queue_declare(named("there"), auto_delete=False)
    found = channel.returned_messages.get_nowait()
    assert (found[0], found[4].body) == (312, "nowhere")


def test_immediate_is_refused_as_rabbitmq_does(amqplib: Any, embedded: Embedded) -> None:
    channel = connect(amqplib, embedded).channel()
    queue, _, _ = channel.queue_declare(named("immediate"), auto_delete=False)
    channel.basic_publish(amqplib.Message("nobody"), "", queue, immediate=True)
    with pytest.raises(amqplib.AMQPConnectionException) as closed:
        channel.queue_declare(queue, passive=True, auto_delete=False)
    assert closed.value.amqp_reply_code == 540


@pytest.mark.parametrize("size", [1, 131_064, 131_065, 1_500_000])
def test_sizes(amqplib: Any, connection: Any, size: int) -> None:
    channel = connection.channel()
    queue = named("large")
    channel.queue_declare(queue, auto_delete=False)
    channel.basic_publish(amqplib.Message("x" * size), "", queue)
    assert channel.basic_get(queue, no_ack=True).body == "x" * size


def test_errors(amqplib: Any, connection: Any, embedded: Embedded) -> None:
    channel = connection.channel()
    with pytest.raises(amqplib.AMQPChannelException) as closed:
        channel.queue_declare(named("absent"), passive=True)
    assert closed.value.amqp_reply_code == 404
    channels = [connection.channel() for _ in range(20)]
    queue, _, _ = channels[0].queue_declare(named("channels"), auto_delete=False)
    for number, each in enumerate(channels):
        each.basic_publish(amqplib.Message(str(number)), "", queue)
    assert [each.basic_get(queue, no_ack=True).body for each in channels] == [str(number) for number in range(20)]
    with pytest.raises((amqplib.AMQPException, OSError)):
        connect(amqplib, embedded, password="wrong")
