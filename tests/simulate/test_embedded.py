"""EmbeddedBroker in a world: its views, faults, waits and clock, without a thread and without real time."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Generator
from typing import Any

import pytest

from amqp_sansio import EndpointClosed
from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated, simulated_loop
from amqp_sansio_pytest import EmbeddedBroker, NotAsExpected

Brokered = tuple[World, EmbeddedBroker]


@pytest.fixture
def brokered() -> Generator[Brokered]:
    """A world with a broker in it, which has the queue "jobs"."""
    with World() as world, EmbeddedBroker(world=world, definitions={"queues": ["jobs"]}) as broker:
        yield world, broker
        assert broker.errors == []


def run(world: World, main: Coroutine[Any, Any, None]) -> None:
    with asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        runner.run(main)


def test_views_history_and_waits(brokered: Brokered) -> None:
    world, broker = brokered
    broker.publish(b"1", routing_key="jobs")

    async def consume() -> None:
        async with connect(broker.url) as connection, connection.open_channel() as channel:
            async for delivery in channel.consume("jobs"):
                await asyncio.sleep(3)
                await delivery.accept()

    process = world.start(simulated(consume), restarts=False)
    assert broker.wait_for(lambda each: each.queue("jobs").unsettled) == 1
    assert world.now == 0
    assert broker.history.wait_for("accepted").bodies == [b"1"]
    assert world.now == 3
    with pytest.raises(NotAsExpected, match="within 60"):
        broker.history.wait_for("rejected", timeout=60)
    assert world.now >= 60
    assert [each.user for each in broker.connections] == ["guest"]
    process.end("enough")
    assert broker.wait_for(lambda each: not each.connections)


def test_faults_and_time(brokered: Brokered) -> None:
    world, broker = brokered

    async def main() -> None:
        async with connect(broker.url, heartbeat=10) as connection, connection.open_channel(confirm=True) as channel:
            with broker.faults.delay(5, "to_client") as delay:
                await channel.publish(b"1", routing_key="jobs")
                assert world.now == 5
                delay.wait_hit()
            with pytest.raises(AssertionError, match="no effect within 2"):
                broker.faults.delay(1).wait_hit(2)
            broker.faults.clear()
            broker.faults.drop("to_client")
            before = world.now
            with pytest.raises(EndpointClosed, match="nothing arrived"):
                await channel.publish(b"2", routing_key="jobs")
            assert 10 <= world.now - before <= 20

    run(world, main())
    assert not broker.clock.is_virtual
    now = broker.clock.now
    assert broker.clock.advance(100) == now + 100
    assert world.now < 100, "the broker's clock alone was advanced"


def test_a_restart_and_a_stop(brokered: Brokered) -> None:
    world, broker = brokered
    port = broker.port

    async def main() -> None:
        connection = await connect(broker.url)
        broker.restart()
        assert not (await connection.wait_closed()).code
        async with connect(broker.url) as again:
            assert again.is_open

    run(world, main())
    with pytest.raises(RuntimeError, match="runs already"):
        broker.start()
    broker.stop()
    broker.stop()
    assert not broker.is_running
    with pytest.raises(ConnectionRefusedError):
        world.is_reachable("127.0.0.1", port)
    with pytest.raises(RuntimeError, match="isn't running"):
        broker.publish(b"x")
    broker.start()
    assert broker.queues == ("jobs",)
