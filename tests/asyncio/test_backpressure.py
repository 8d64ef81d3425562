"""Bounded buffers: a slow server stops publishers, a slow consumer stops the reading, and neither stops the rest."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_0_9_1 import Config, MessageReturned, Published, Request
from amqp_sansio.amqp_0_9_1.spec import (
    BasicCancel,
    BasicCancelOk,
    BasicConsume,
    BasicConsumeOk,
    BasicQos,
    BasicQosOk,
    BasicReturn,
    QueueDeclare,
    QueueDeclareOk,
)
from amqp_sansio.events import Event
from amqp_sansio.limits import Limits
from amqp_sansio_asyncio import ServerConnection, connect, serve
from tests.kit.asyncio_broker import connect_small, driver_of, hog, state_of, until, url_of
from tests.kit.asyncio_loops import run


class Floods:
    """A server that answers, and pushes deliveries to a consumer as fast as they are taken.

    `alone`: it takes nothing from the client meanwhile.
    """

    def __init__(self, count: int, size: int = 1000, alone: bool = False) -> None:
        self.alone = alone
        self.count = count
        self.size = size
        self.sent = 0
        self.published = 0
        self.cancelled = False
        self.gate = asyncio.Event()
        self.gate.set()
        self.connection: ServerConnection | None = None
        self.flood: asyncio.Task[None] | None = None

    async def handle(self, connection: ServerConnection) -> None:
        self.connection = connection
        async for event in connection:
            await self.gate.wait()
            self.answer(connection, event)
            await connection.drain()
            if self.alone and self.flood is not None:
                await self.flood

    def answer(self, connection: ServerConnection, event: Event) -> None:
        if isinstance(event, Published):
            self.published += 1
        if not isinstance(event, Request):
            return
        channel = connection.channel(event.channel)
        match event.method:
            case BasicQos():
                channel.reply(BasicQosOk())
            case BasicConsume():
                channel.reply(BasicConsumeOk("c"))
                self.flood = asyncio.create_task(self.push(connection, event.channel))
            case QueueDeclare(queue=name):
                channel.reply(QueueDeclareOk(name, 0, 0))
            case BasicCancel(consumer_tag=tag):
                self.cancelled = True
                channel.reply(BasicCancelOk(tag))
            case _:
                raise AssertionError(event.method)

    async def push(self, connection: ServerConnection, number: int) -> None:
        while self.sent < self.count and not self.cancelled and connection.is_open:
            body = self.sent.to_bytes(4) + bytes(self.size - 4)
            connection.channel(number).deliver(body, consumer_tag="c")
            self.sent += 1
            await connection.drain()
            await asyncio.sleep(0)


def test_a_publisher_lets_others_have_their_turn() -> None:
    async def main() -> None:
        floods = Floods(0)
        async with serve(floods.handle) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            turns = 0

            async def count() -> None:
                nonlocal turns
                while True:
                    turns += 1
                    await asyncio.sleep(0)

            counting = asyncio.create_task(count())
            for _ in range(1000):
                await ch.publish(bytes(1000), routing_key="q")
            assert turns >= 10
            counting.cancel()
            await until(lambda: floods.published == 1000)

    run(main())


@pytest.mark.parametrize("busy", [False, True])
def test_heartbeats_go_on_while_reading_is_paused(busy: bool) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        floods = Floods(3000)
        async with (
            serve(floods.handle) as server,
            connect(
                url_of(server), heartbeat=2, connector=lambda factory: connect_small(factory, server.port)
            ) as connection,
        ):
            ch = await connection.open_channel()
            async with ch.consume("q", no_ack=True, buffer=50) as deliveries:
                await until(lambda: state_of(ch).inboxes["c"].full)
                end = loop.time() + 9
                while loop.time() < end:
                    if busy:
                        # The task hogs the loop, longer than from heartbeat to heartbeat.
                        hog(1.5)
                    await asyncio.sleep(0.5)
                assert connection.is_open
                assert floods.connection is not None
                assert floods.connection.is_open
                for _ in range(3000):
                    await anext(deliveries)
            assert (await connection.close()).code == 200

    run(main())


def test_a_small_budget_is_never_passed() -> None:
    async def main() -> None:
        limits = Limits(unparsed=32 * 1024)
        floods = Floods(500, 900)
        async with (
            serve(floods.handle, config=Config(limits=limits, frame_max=8192)) as server,
            connect(url_of(server), limits=limits, frame_max=8192) as connection,
        ):
            ch = await connection.open_channel()
            for _ in range(100):
                await ch.publish(bytes(5000), routing_key="q")
            async with ch.consume("q", prefetch=0) as deliveries:
                for _ in range(500):
                    await anext(deliveries)
            await until(lambda: floods.published == 100)

    run(main())


def test_an_event_stream_that_is_not_read_is_bounded() -> None:
    async def main() -> None:
        async def handle(connection: ServerConnection) -> None:
            async for event in connection:
                if isinstance(event, Published):
                    returned = BasicReturn(312, "NO_ROUTE", "", "q")
                    connection.channel(1).send(returned, event.properties, event.body)
                await connection.drain()

        async with serve(handle) as server, connect(url_of(server)) as connection:
            ch = await connection.open_channel()
            async with ch.events(MessageReturned, limit=10) as returns:
                for _ in range(100):
                    await ch.publish(b"x", mandatory=True)
                await until(lambda: driver_of(connection).reading_paused)
                for _ in range(100):
                    assert (await anext(returns)).body == b"x"

    run(main())
