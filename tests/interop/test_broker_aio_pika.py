"""The embedded broker with aio-pika, unmodified (0-9-1)."""

# pyright: reportUnknownMemberType=false
import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import count
from typing import Any

import aio_pika
import pytest
from aio_pika import exceptions

from tests.interop.brokers.embedded import Embedded

numbers = count(1)


def named(what: str) -> str:
    return f"aio.{what}.{next(numbers)}"


@asynccontextmanager
async def channel_on(embedded: Embedded, **options: Any) -> AsyncGenerator[Any]:
    connection = await aio_pika.connect(embedded.url, timeout=10)
    async with connection:
        yield await connection.channel(**options)


def run(embedded: Embedded, work: Callable[[Any], Awaitable[None]], **options: Any) -> None:
    async def main() -> None:
        async with channel_on(embedded, **options) as channel:
            await work(channel)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_publish_and_consume(embedded: Embedded) -> None:
    async def work(channel: Any) -> None:
        await channel.set_qos(prefetch_count=2)
        exchange = await channel.declare_exchange(named("exchange"), aio_pika.ExchangeType.TOPIC)
        queue = await channel.declare_queue(named("queue"), durable=True)
        await queue.bind(exchange, "a.#")
        for number in range(6):
            message = aio_pika.Message(
                b"%d" % number,
                headers={"n": number},
                delivery_mode=aio_pika.DeliveryMode.PERSISTENT,
                message_id=f"m{number}",
                expiration=60,
            )
            await exchange.publish(message, f"a.{number}")
        got: list[tuple[bytes, object, str | None]] = []
        async with queue.iterator(timeout=10) as messages:
            async for message in messages:
                async with message.process():
                    got.append((message.body, message.headers["n"], message.message_id))
                if len(got) == 6:
                    break
        assert got == [(b"%d" % number, number, f"m{number}") for number in range(6)]
        assert await queue.get(fail=False) is None
        await queue.unbind(exchange, "a.#")
        await queue.delete()
        await exchange.delete()

    run(embedded, work)


def test_rejecting(embedded: Embedded) -> None:
    async def work(channel: Any) -> None:
        dead = await channel.declare_queue(named("dead"), durable=True)
        queue = await channel.declare_queue(
            named("rejecting"),
            arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": dead.name},
            durable=True,
        )
        await channel.default_exchange.publish(aio_pika.Message(b"again"), queue.name)
        message = await queue.get()
        await message.reject(requeue=True)
        message = await queue.get()
        assert message.redelivered
        await message.reject(requeue=False)
        message = await dead.get()
        assert message.headers["x-death"][0]["reason"] == "rejected"
        await message.nack(requeue=False)

    run(embedded, work)


def test_confirms(embedded: Embedded) -> None:
    async def work(channel: Any) -> None:
        queue = await channel.declare_queue(
            named("full"), arguments={"x-max-length": 1, "x-overflow": "reject-publish"}, durable=True
        )
        await channel.default_exchange.publish(aio_pika.Message(b"1"), queue.name)
        with pytest.raises(exceptions.DeliveryError):
            await channel.default_exchange.publish(aio_pika.Message(b"2"), queue.name)
        with pytest.raises(exceptions.PublishError):
            await channel.default_exchange.publish(aio_pika.Message(b"3"), named("absent"))
        queue = await channel.declare_queue(named("many"), auto_delete=True, durable=True)
        many = [channel.default_exchange.publish(aio_pika.Message(b"m"), queue.name) for _ in range(200)]
        await asyncio.gather(*many)
        assert (await channel.declare_queue(queue.name, passive=True)).declaration_result.message_count == 200

    run(embedded, work, on_return_raises=True)


def test_transactions(embedded: Embedded) -> None:
    async def work(channel: Any) -> None:
        queue = await channel.declare_queue(named("tx"), durable=True)
        async with channel.transaction():
            await channel.default_exchange.publish(aio_pika.Message(b"kept"), queue.name)
            assert await queue.get(fail=False) is None
        assert (await queue.get()).body == b"kept"
        with pytest.raises(ZeroDivisionError):
            async with channel.transaction():
                await channel.default_exchange.publish(aio_pika.Message(b"forgotten"), queue.name)
                raise ZeroDivisionError
        assert await queue.get(fail=False) is None

    run(embedded, work, publisher_confirms=False)


def test_large_messages(embedded: Embedded) -> None:
    async def work(channel: Any) -> None:
        queue = await channel.declare_queue(named("large"), exclusive=True)
        body = bytes(range(256)) * 10_000
        await channel.default_exchange.publish(aio_pika.Message(body), queue.name)
        message = await queue.get(timeout=10)
        assert message.body == body
        await message.ack()

    run(embedded, work)


def test_errors(embedded: Embedded) -> None:
    async def main() -> None:
        async with await aio_pika.connect(embedded.url) as connection:
            channel = await connection.channel()
            with pytest.raises(exceptions.ChannelNotFoundEntity):
                await channel.declare_queue(named("absent"), passive=True)
            channel = await connection.channel()
            with pytest.raises(exceptions.ChannelPreconditionFailed):
                await channel.declare_exchange("amq.topic", "direct", durable=True)
            channel = await connection.channel()
            queue = await channel.declare_queue(named("after"), exclusive=True)
            assert queue.declaration_result.message_count == 0

    asyncio.run(asyncio.wait_for(main(), 30))


def test_robust_connections(embedded: Embedded) -> None:
    async def main() -> None:
        connection = await aio_pika.connect_robust(embedded.url, heartbeat=1)
        async with connection:
            channels = [await connection.channel() for _ in range(10)]
            queue = await channels[0].declare_queue(named("robust"), auto_delete=True, durable=True)
            got: asyncio.Queue[bytes] = asyncio.Queue()

            async def take(message: Any) -> None:
                async with message.process():
                    got.put_nowait(message.body)

            tag = await queue.consume(take)
            for channel in channels:
                await channel.default_exchange.publish(aio_pika.Message(b"m"), queue.name)
            assert [await got.get() for _ in channels] == [b"m"] * 10
            await asyncio.sleep(3)
            assert not connection.is_closed
            await queue.cancel(tag)

    asyncio.run(asyncio.wait_for(main(), 30))


def test_who_is_not_let_in(embedded: Embedded) -> None:
    async def main() -> None:
        with pytest.raises(exceptions.AMQPConnectionError):
            await aio_pika.connect(f"amqp://guest:wrong@{embedded.host}:{embedded.port}/")

    asyncio.run(main())
