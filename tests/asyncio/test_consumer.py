"""Consumers: what they give, how they are settled, and that each iteration ends, with the reason."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.amqp_0_9_1 import MethodReceived, Request
from amqp_sansio.amqp_0_9_1.spec import BasicConsume, BasicConsumeOk, QueueDeclare
from amqp_sansio.events import Event
from amqp_sansio_asyncio import Consumer, Delivery, ServerConnection
from tests.kit.asyncio_broker import channel, client, fill, scripted, state_of, until
from tests.kit.asyncio_loops import run


async def take(consumer: Consumer, count: int) -> list[Delivery]:
    """The next deliveries."""
    return [await anext(consumer) for _ in range(count)]


def test_a_cancelled_wait_loses_no_delivery() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q", durable=True))
            consumer = ch.consume("q", prefetch=10)
            await consumer.start()
            one, two = (asyncio.ensure_future(anext(consumer)), asyncio.ensure_future(anext(consumer)))
            await asyncio.sleep(0)
            feed = state_of(ch).inboxes[consumer.consumer_tag]
            tables = state_of(ch).client.core.dialect.tables
            # The first is woken and cancelled in the same turn: the second has to take over.
            feed.put(Delivered(1, "", 1, False, "", "q", b"only", b"\0\0", tables))
            driver: Any = state_of(ch).client.driver
            driver.take_events()
            one.cancel()
            assert (await two).body == b"only"
            with pytest.raises(asyncio.CancelledError):
                await one
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(consumer), 0.01)
            await fill(ch, "q", [b"next"])
            assert (await anext(consumer)).body == b"next"

    run(main())


def test_a_wait_with_a_timeout_while_it_starts() -> None:
    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q", durable=True))
            await fill(ch, "q", [b"one"])
            consumer = ch.consume("q")
            waiting = asyncio.ensure_future(anext(consumer))
            await asyncio.sleep(0)
            waiting.cancel()
            delivery = await anext(consumer)
            assert delivery.body == b"one"
            await consumer.close()
            await delivery.accept()

    run(main())


def test_a_consumer_may_outlive_its_loop() -> None:
    kept: list[Consumer] = []

    async def main() -> None:
        async with channel() as ch:
            await ch.call(QueueDeclare(queue="q", durable=True))
            kept.append(ch.consume("q"))
            await kept[0].start()

    run(main())
    kept.clear()
    gc.collect()


def test_acknowledgements_of_one_turn_are_written_at_once() -> None:
    async def main() -> None:
        seen: list[int] = []

        def answer(connection: ServerConnection, event: Event) -> None:
            if isinstance(event, Request) and isinstance(event.method, BasicConsume):
                core = connection.channel(1)
                core.reply(BasicConsumeOk("c"))
                for _ in range(100):
                    core.deliver(b"x", consumer_tag="c")
            if isinstance(event, MethodReceived):
                seen.append(1)

        async with client(scripted(answer)) as connection:
            ch = await connection.open_channel()
            consumer = ch.consume("q", prefetch=None)
            deliveries = [await anext(consumer)]
            driver: Any = state_of(ch).client.driver
            transport = driver.transport
            assert transport is not None
            writes: list[int] = []
            write = transport.write

            def counted(data: bytes | bytearray | memoryview) -> None:
                writes.append(len(data))
                write(data)

            transport.write = counted
            deliveries += await take(consumer, 99)
            for delivery in deliveries:
                await delivery.accept()
            await until(lambda: len(seen) == 100)
            assert writes == [2100]
            del transport.write

    run(main())
