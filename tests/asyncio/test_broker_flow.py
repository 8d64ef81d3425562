"""What bounds a served broker: slow consumers, publishers while it is full, many messages at once; and faults."""

from __future__ import annotations

import asyncio
import pickle
import tracemalloc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import MessageReturned
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10.spec import MessageFlow
from amqp_sansio.amqp_0_10.spec import MessageSubscribe as MessageSubscribe010
from amqp_sansio.amqp_1_0 import Message
from amqp_sansio.broker import BrokerLimits, Hub, Settings
from amqp_sansio.broker.model.commands import OpenOwner, PurgeQueue
from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import BrokerServer, Connection, connect, serve_broker
from amqp_sansio_asyncio.clock import VirtualClock
from amqp_sansio_asyncio.faults import Faults, Line
from tests.kit import asyncio_loops
from tests.kit.asyncio_broker import driver_of, stop_reading, until
from tests.kit.asyncio_loops import run

BODY = bytes(100_000)


async def queue_of(connection: Connection, name: str = "jobs", **arguments: Any) -> Any:
    """A channel, in confirm mode, and a queue."""
    channel = await connection.open_channel(confirm=True)
    await channel.call(QueueDeclare(queue=name, arguments=arguments, durable=True))
    return channel


def backlog_of(broker: BrokerServer) -> int:
    """The octets that wait for all clients, in the hub and in the transports."""
    total = 0
    for number, client in broker.hub.clients.items():
        transport = broker.line(number).transport
        assert transport is not None
        total += client.send_backlog + transport.get_write_buffer_size()
    return total


@asynccontextmanager
async def slow_consumer(url: str, version: Version) -> AsyncGenerator[None]:
    """A consumer of "jobs" without any credit limit, on a connection that reads nothing more."""
    connection, keep = await _consume(url, version)
    try:
        yield
    finally:
        transport = driver_of(connection).transport
        assert transport is not None
        transport.abort()
        await connection.wait_closed()
        del keep


async def _consume(url: str, version: Version) -> tuple[Any, Any]:
    if version is AMQP_1_0:
        newer = await connect(url, version=AMQP_1_0, incoming_window=1_000_000)
        session = await newer.open_session()
        receiver = await session.open_receiver("/queues/jobs", credit=0)
        stop_reading(newer)
        await receiver.flow(1_000_000)
        return newer, receiver
    if version is AMQP_0_10:
        ten = await connect(url, version=AMQP_0_10)
        work = await ten.open_session()
        await work.call(MessageSubscribe010(queue="jobs", destination="d"))
        stop_reading(ten)
        for unit in (0, 1):
            work.core.call(MessageFlow(destination="d", unit=unit, value=0xFFFFFFFF))
        driver_of(work).schedule_flush()
        return ten, work
    connection = await connect(url)
    channel = await connection.open_channel()
    consumer = channel.consume("jobs", no_ack=True)
    await consumer.start()
    stop_reading(connection)
    return connection, consumer


@pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0])
def test_a_slow_consumer_gets_no_more_than_the_limit(version: Version) -> None:
    """What it doesn't read stays in the queue, whether it was there before or comes afterwards."""
    limits = BrokerLimits(backlog_high=500_000, backlog_low=100_000)

    async def main() -> None:
        async with serve_broker(Settings(limits=limits)) as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            for _ in range(100):
                await channel.publish(BODY, routing_key="jobs")
            queue = broker.hub.model.vhosts["/"].queues["jobs"]
            async with slow_consumer(broker.url, version):
                await until(lambda: queue.ready < 100)
                for _ in range(100):
                    await channel.publish(BODY, routing_key="jobs")
                # What went into the sockets is some megabytes.
                assert queue.ready > 100
                assert backlog_of(broker) <= 2 * limits.backlog_high + len(BODY) + 1000  # and the last delivery

    run(main())


def test_a_consumer_that_reads_again_gets_everything() -> None:
    limits = BrokerLimits(backlog_high=500_000, backlog_low=100_000)

    async def main() -> None:
        async with serve_broker(Settings(limits=limits)) as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            async with connect(broker.url) as other:
                receiving = await other.open_channel()
                consumer = receiving.consume("jobs", no_ack=True)
                await consumer.start()
                stop_reading(other)
                for number in range(200):
                    await channel.publish(number.to_bytes(4, "big") + BODY, routing_key="jobs")
                assert broker.hub.model.vhosts["/"].queues["jobs"].ready
                stop_reading(other, False)
                for number in range(200):
                    delivery = await anext(consumer)
                    assert delivery.body[:4] == number.to_bytes(4, "big")

    run(main())


def test_memory_stays_bounded_with_a_slow_consumer_and_a_long_queue() -> None:
    """Four megabytes in the queue, ten over sockets: its consumer doesn't get them copied all at once."""
    count = 10_000 if asyncio_loops.is_real else 4_000

    async def main() -> None:
        async with serve_broker() as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            body = bytes(1000)
            waiting = [channel.publish(body, routing_key="jobs") for _ in range(count)]
            await asyncio.gather(*waiting)
            tracemalloc.start()
            async with slow_consumer(broker.url, AMQP_0_9_1):
                await asyncio.sleep(0.1)
                _, most = tracemalloc.get_traced_memory()
                tracemalloc.stop()
                assert backlog_of(broker) <= 2 * BrokerLimits().backlog_high + 2 * len(body)
                assert most < (8_000_000 if asyncio_loops.is_real else 4_000_000)

    run(main())


def test_publishers_wait_while_the_broker_is_full() -> None:
    """connection.blocked, and the socket isn't read; consumers go on, which lets publishers go on."""
    limits = BrokerLimits(memory_high=1_000_000, memory_low=500_000)

    async def main() -> None:
        async with serve_broker(Settings(limits=limits)) as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            publishing = [asyncio.ensure_future(channel.publish(BODY, routing_key="jobs")) for _ in range(100)]
            await until(lambda: broker.hub.is_blocked)
            await until(lambda: connection.blocked is not None)
            publisher = next(iter(broker.hub.clients.values()))
            assert publisher.receive_budget == 0
            assert broker.line(publisher.number).reading_paused
            # It isn't given up for its silence.
            async with connect(broker.url) as other:
                receiving = await other.open_channel()
                async with receiving.consume("jobs", prefetch=5) as consumer:
                    for _ in range(100):
                        await (await anext(consumer)).accept()
            await asyncio.wait_for(asyncio.gather(*publishing), 10)
            await until(lambda: connection.blocked is None)
            assert not broker.hub.is_blocked
            assert publisher.receive_budget > 0

    run(main())


def test_a_client_that_does_not_read_what_is_returned_is_not_read() -> None:
    limits = BrokerLimits(backlog_high=500_000, backlog_low=100_000)
    count = 400

    async def main() -> None:
        async with serve_broker(Settings(limits=limits)) as broker, connect(broker.url) as connection:
            channel = await connection.open_channel()
            returned: list[MessageReturned] = []

            async def take() -> None:
                async for event in channel.events(MessageReturned):
                    returned.append(event)
                    if len(returned) == count:
                        return

            async def publish() -> None:
                for _ in range(count):
                    await channel.publish(BODY, routing_key="nowhere", mandatory=True)

            taking, publishing = asyncio.ensure_future(take()), asyncio.ensure_future(publish())
            await until(lambda: returned)
            stop_reading(connection)
            (number,) = broker.hub.clients
            await until(lambda: broker.line(number).reading_paused)
            assert not publishing.done()
            async with connect(broker.url) as other:
                await queue_of(other)
            assert backlog_of(broker) < 2 * (limits.backlog_high + len(BODY)) + 10_000
            stop_reading(connection, False)
            await publishing
            await taking

    run(main(), world=World(capacity=64 * 1024))


def test_a_client_that_reads_nothing_is_given_up_for_its_silence() -> None:
    limits = BrokerLimits(backlog_high=50_000, backlog_low=10_000)

    async def main() -> None:
        clock = VirtualClock()
        async with serve_broker(Settings(limits=limits), clock=clock) as broker:
            connection = await connect(broker.url)
            channel = await connection.open_channel()
            stop_reading(connection)
            publishing = [
                asyncio.ensure_future(channel.publish(BODY, routing_key="nowhere", mandatory=True)) for _ in range(400)
            ]
            (number,) = broker.hub.clients
            # It is paused for good when all buffers on the way to the client are full.
            await asyncio.sleep(1)
            assert broker.line(number).reading_paused
            for _ in range(10):
                clock.advance(30)
                await asyncio.sleep(0)
            await until(lambda: not broker.connections)
            stop_reading(connection, False)
            await connection.wait_closed()
            await asyncio.gather(*publishing, return_exceptions=True)

    run(main())


def test_a_blocked_publisher_is_not_given_up_for_its_silence() -> None:
    limits = BrokerLimits(memory_high=1_000_000, memory_low=500_000)

    async def main() -> None:
        clock = VirtualClock()
        settings = Settings(limits=limits)
        async with serve_broker(settings, clock=clock) as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            publishing = [asyncio.ensure_future(channel.publish(BODY, routing_key="jobs")) for _ in range(50)]
            await until(lambda: broker.hub.is_blocked)
            await until(lambda: connection.blocked is not None)
            for _ in range(10):
                clock.advance(30)
                await asyncio.sleep(0)
            assert broker.connections == 1
            owner = broker.apply(OpenOwner())
            while not all(each.done() for each in publishing):
                broker.apply(PurgeQueue(owner, "jobs"))
                await asyncio.sleep(0.01)
            await asyncio.gather(*publishing)

    run(main())


def test_a_snapshot_of_the_hub_while_it_serves() -> None:
    async def main() -> None:
        async with serve_broker() as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            await channel.publish(b"hello", routing_key="jobs")
            hub: Hub = pickle.loads(pickle.dumps(broker.hub))
            assert hub.model.vhosts["/"].queues["jobs"].ready == 1
            assert list(hub.clients) == list(broker.hub.clients)

    run(main())


class Scripted(Faults):
    """Does to octets what the test says."""

    def __init__(self) -> None:
        self.lines: list[Line] = []
        self.refuses = False
        self.drops = False
        self.delay = 0.0
        self.cut_after: int | None = None
        self.gone = 0

    def connected(self, line: Line) -> bool:
        self.lines.append(line)
        return not self.refuses

    def received(self, line: Line, data: bytes) -> bytes:
        if self.delay:
            line.call_later(self.delay, lambda: line.give(data))
            return b""
        return b"" if self.drops else data

    def sending(self, line: Line, data: bytes) -> bytes:
        if self.cut_after is None:
            return data
        data, self.cut_after = data[: self.cut_after], max(0, self.cut_after - len(data))
        if not self.cut_after:
            asyncio.get_running_loop().call_soon(line.cut)
        return data

    def lost(self, line: Line) -> None:
        self.gone += 1


def test_faults_refuse_a_client() -> None:
    async def main() -> None:
        faults = Scripted()
        faults.refuses = True
        async with serve_broker(faults=faults) as broker:
            with pytest.raises((EndpointClosed, OSError)):
                await connect(broker.url)
            await until(lambda: not broker.connections)
            assert faults.gone == 1 and not broker.hub.clients
            faults.refuses = False
            async with connect(broker.url):
                pass

    run(main())


def test_faults_cut_after_some_octets() -> None:
    async def main() -> None:
        faults = Scripted()
        async with serve_broker(faults=faults) as broker:
            connection = await connect(broker.url)
            channel = await queue_of(connection)
            faults.cut_after = 3
            with pytest.raises(EndpointClosed):
                await channel.call(QueueDeclare(queue="jobs", durable=True))
            await until(lambda: not broker.hub.clients)

    run(main())


def test_faults_delay_on_the_brokers_clock() -> None:
    async def main() -> None:
        faults, clock = Scripted(), VirtualClock()
        async with serve_broker(faults=faults, clock=clock) as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            faults.delay = 5.0
            waiting = asyncio.ensure_future(channel.call(QueueDeclare(queue="late", durable=True)))
            await asyncio.sleep(0.05)
            clock.advance(4.9)
            await asyncio.sleep(0.05)
            assert "late" not in broker.hub.model.vhosts["/"].queues
            clock.advance(0.2)
            assert "late" in broker.hub.model.vhosts["/"].queues
            await waiting
            faults.delay = 0.0

    run(main())


def test_faults_drop_and_hold() -> None:
    async def main() -> None:
        faults = Scripted()
        async with serve_broker(faults=faults) as broker:
            connection = await connect(broker.url)
            channel = await queue_of(connection)
            faults.lines[0].hold(True)
            waiting = asyncio.ensure_future(channel.call(QueueDeclare(queue="later", durable=True)))
            await asyncio.sleep(0.05)
            assert "later" not in broker.hub.model.vhosts["/"].queues
            faults.lines[0].hold(False)
            await asyncio.wait_for(waiting, 5)
            faults.drops = True
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(channel.call(QueueDeclare(queue="never", durable=True)), 0.1)
            assert "never" not in broker.hub.model.vhosts["/"].queues
            faults.lines[0].cut()
            await connection.wait_closed()

    run(main())


def test_many_messages_from_one_version_to_another() -> None:
    async def main() -> None:
        async with serve_broker() as broker, connect(broker.url) as connection:
            channel = await queue_of(connection)
            async with (
                connect(broker.url, version=AMQP_1_0) as newer,
                newer.open_session() as session,
                session.open_sender("/queues/jobs") as sender,
            ):
                for number in range(500):
                    await sender.send(Message(body=b"%d" % number), settled=True)
                await sender.send(Message(body=b"last"))
            async with channel.consume("jobs", prefetch=50) as consumer:
                for number in range(500):
                    delivery = await anext(consumer)
                    assert delivery.body == b"%d" % number
                    await delivery.accept()

    run(main())
