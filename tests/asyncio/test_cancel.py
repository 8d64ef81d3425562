"""Cancellation at every single await of a session: nothing leaks, nothing is lost, the connection stays usable."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import BasicQos, QueueDeclare
from amqp_sansio.client.classic.client import ClassicClient
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import Connection, connect, serve_broker
from examples.server import Broker
from tests.kit.asyncio_broker import broker, driver_of, state_of, until, url_of
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_stepping import Suspend, at_once, cancelled_at, with_the_answer


async def session(connection: Connection) -> None:
    """Something of everything, on a channel of its own."""
    async with connection.open_channel(confirm=True) as ch:
        await ch.call(QueueDeclare(queue="q"))
        await ch.call(BasicQos(0, 3, False))
        assert await ch.publish(b"published", routing_key="q", mandatory=True) == Accepted()
        await ch.publish(b"lost", routing_key="nowhere", mandatory=True)
        fetched = await ch.get("q")
        assert fetched is not None
        await fetched.release()
        async with ch.consume("q", prefetch=2) as deliveries:
            for _ in range(2):
                delivery = await anext(deliveries)
                await delivery.release()
        consumer = ch.consume("q", prefetch=2)
        async for delivery in consumer:
            await delivery.release()
            await consumer.cancel()
            break


async def check(connection: Connection, made: Broker, published: int) -> None:
    """The connection works, no channel or consumer is left, and every message is in the queue."""
    await until(lambda: not connection.core.channels)
    queue = made.queues["q"]
    await until(lambda: not queue.subscriptions)
    await until(lambda: len(queue.messages) in (published, published + 1))
    client = driver_of(connection).core
    assert isinstance(client, ClassicClient)
    assert not client.channels
    async with connection.open_channel(confirm=True) as ch:
        assert (await ch.call(QueueDeclare(queue="q"))).message_count == len(queue.messages)
        assert await ch.publish(b"check", routing_key="check") == Accepted()


@pytest.mark.parametrize("cancel", [at_once, with_the_answer])
def test_cancelled_at_every_step(cancel: Suspend) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with broker() as (server, made), connect(url_of(server)) as connection:
            async with connection.open_channel() as ch:
                await ch.call(QueueDeclare(queue="q"))
                await ch.publish(b"first", routing_key="q")
            number, finished = 0, False
            while not finished:
                number += 1
                before = len(made.queues["q"].messages)
                task = asyncio.ensure_future(cancelled_at(session(connection), number, cancel))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await check(connection, made, before)
            assert number > 10
            client: Any = state_of(ch).client
            assert client._waiting == client._late == {}
        assert problems.contexts == []

    run(main())


def test_a_cancelled_request_is_waited_for_no_more() -> None:
    async def main() -> None:
        async with serve_broker() as server, connect(server.url) as connection:
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q"))
            client: Any = state_of(ch).client
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await ch.request(b"nobody answers", routing_key="q")
            assert client._waiting == {}

    run(main())
