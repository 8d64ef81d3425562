"""One program over every version of real brokers: RabbitMQ by 0-9-1 and 1.0, Broker-J by all four."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any
from uuid import uuid4

import pytest

import amqp_sansio_sync
from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, Accepted
from amqp_sansio.amqp_0_9_1 import get_dialect
from amqp_sansio.messaging import Connection, Message, Receiver
from amqp_sansio_asyncio.messaging import connect
from tests.kit.asyncio_loops import run_real as run


@pytest.fixture(
    params=[
        ("rabbitmq", "?version=0-9-1"),
        ("rabbitmq", "?version=1.0&addresses=rabbitmq3"),
        ("brokerj", "?version=0-8"),
        ("brokerj", "?version=0-9-1"),
        ("brokerj", "?version=0-10"),
        ("brokerj", "?version=1.0&addresses=qpid"),
    ],
    ids="".join,
)
def url(request: pytest.FixtureRequest) -> str:
    """Each broker, by each of its versions."""
    kind, query = request.param
    return f"{root_of(request, kind)}{query}"


def root_of(request: pytest.FixtureRequest, kind: str) -> str:
    """The URL of a broker, without a version."""
    broker = request.getfixturevalue(kind)
    return f"amqp://{broker.user}:{broker.password}@{broker.host}:{broker.port}/"


@pytest.fixture
def queue(url: str) -> Iterator[str]:
    """An empty queue, which is deleted in the end."""
    name = f"messaging-{uuid4().hex[:8]}"
    with amqp_sansio_sync.connect(url.partition("?")[0]) as connection, connection.open_channel() as channel:
        channel.declare_queue(name, durable=True)
        yield name
        channel.delete_queue(name)


def outcome(connection: Connection, found: object, *, transaction: bool = False) -> object:
    """The outcome that a version tells."""
    silent = connection.version is AMQP_0_8 or (transaction and connection.version is AMQP_0_9_1)
    return None if silent else found


async def fetched(receiver: Receiver) -> Any:
    """The next delivery."""
    delivery = await receiver.fetch(timeout=10)
    assert delivery is not None
    return delivery


def used(url: str, program: Callable[[Connection], Any]) -> None:
    """Run a program over a connection."""

    async def main() -> None:
        # Qpid's 0-8 has no arguments in basic.consume.
        qpid: dict[str, Any] = {"dialect": get_dialect("0-8-qpid")} if "version=0-8" in url else {}
        async with connect(url, **qpid) as connection:
            await program(connection)

    run(main())


def test_a_message_there_and_back(url: str, queue: str) -> None:
    # This Broker-J keeps messages in memory, and says so in 1.0.
    fields: dict[str, Any] = {"durable": "addresses=qpid" not in url, "headers": {"try": 1, "t": True}}
    sent = Message.from_text("grün", subject="greeting", message_id="m", correlation_id="c", **fields)

    async def program(connection: Connection) -> None:
        async with connection.sender(f"/queues/{queue}") as sender:
            assert await sender.send(sent) == outcome(connection, Accepted())
        async with connection.receiver(queue, credit=5) as receiver:
            await (await fetched(receiver)).release()
            delivery = await fetched(receiver)
            found = delivery.message
            await delivery.accept()
            assert await receiver.fetch(timeout=0.2) is None
        assert {name: getattr(found, name) for name in fields} == fields
        assert (found.text, found.subject, found.content_type) == ("grün", "greeting", "text/plain")
        assert (found.message_id, found.correlation_id) == ("m", "c")

    used(url, program)


def test_an_exchange(url: str) -> None:
    async def program(connection: Connection) -> None:
        async with (
            connection.receiver("/exchanges/amq.topic/a.*") as receiver,
            connection.sender("/exchanges/amq.topic") as by_subject,
            connection.sender("/exchanges/amq.topic/a.c") as by_key,
        ):
            assert await by_subject.send(Message(b"1", subject="a.b")) == outcome(connection, Accepted())
            assert await by_key.send(b"2") == outcome(connection, Accepted())
            for body in (b"1", b"2"):
                delivery = await fetched(receiver)
                assert delivery.message.body == body
                await delivery.accept()

    used(url, program)


def test_a_request(url: str, queue: str) -> None:
    async def serve(connection: Connection) -> None:
        async with connection.receiver(f"/queues/{queue}") as receiver:
            request = await fetched(receiver)
            await request.accept()
            async with connection.sender(request.message.reply_to) as sender:
                await sender.send(request.message.reply(b"pong"))

    async def program(connection: Connection) -> None:
        service = asyncio.create_task(serve(connection))
        assert (await connection.request(f"/queues/{queue}", b"ping", timeout=10)).body == b"pong"
        await service

    used(url, program)


def test_transactions(url: str, queue: str) -> None:
    async def program(connection: Connection) -> None:
        if connection.version is AMQP_1_0 and "rabbitmq" in url:
            return  # RabbitMQ has no coordinator in 1.0.
        with pytest.raises(KeyError):
            async with connection.transaction() as transaction:
                await (await transaction.sender(queue)).send(b"undone")
                raise KeyError
        async with connection.transaction() as transaction, transaction.sender(queue) as sender:
            assert await sender.send(b"1") == outcome(connection, Accepted(), transaction=True)
            await transaction.commit()
            await sender.send(b"2")
        async with connection.transaction() as transaction, transaction.receiver(queue) as receiver:
            for body in (b"1", b"2"):
                delivery = await fetched(receiver)
                assert delivery.message.body == body
                await delivery.accept()
        async with connection.receiver(queue) as receiver:
            assert await receiver.fetch(timeout=0.2) is None

    used(url, program)


@pytest.mark.parametrize("kind", ["rabbitmq", "brokerj"])
def test_1_0_is_offered_first(request: pytest.FixtureRequest, kind: str) -> None:
    async def program(connection: Connection) -> None:
        assert connection.version is AMQP_1_0

    used(root_of(request, kind), program)
