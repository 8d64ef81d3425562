"""What was published and consumed in a broker, as collections that a test waits for, in a simulated world."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated, simulated_loop
from amqp_sansio_pytest import EmbeddedBroker


@pytest.fixture
def world() -> Iterator[World]:
    with World() as world:
        yield world


@pytest.fixture
def broker(world: World) -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(world=world, definitions={"queues": ["jobs"]}) as broker:
        yield broker


async def work(url: str) -> None:
    """Accept, reject and give back what comes, by its body."""
    async with connect(url) as connection, connection.open_channel() as channel, channel.consume("jobs") as consumer:
        async for delivery in consumer:
            await asyncio.sleep(0.3)
            if delivery.body == b"bad":
                await delivery.reject()
            elif delivery.body == b"again" and not delivery.redelivered:
                await delivery.release()
            elif delivery.body != b"kept":
                await delivery.accept()


def test_who_waits_gets_what_comes_until_nothing_happens(world: World, broker: EmbeddedBroker) -> None:
    world.start(simulated(lambda: work(broker.url)))
    for body in (b"good", b"bad", b"again", b"kept"):
        broker.publish(body, routing_key="jobs")
    assert [each.body for each in broker.published.list()] == [b"good", b"bad", b"again", b"kept"]
    begun = world.now
    assert broker.consumed.where(outcome="accepted").first().body == b"good"
    assert world.now - begun < 1
    outcomes = [(each.body, each.outcome, each.redelivered) for each in broker.consumed.all()]
    assert outcomes == [
        (b"good", "accepted", False),
        (b"bad", "rejected", False),
        (b"again", "released", False),
        (b"kept", "", False),
        (b"again", "accepted", True),
    ]
    (rejected,) = broker.consumed.where(outcome="rejected").list()
    assert (rejected.queue, rejected.user, bool(rejected.consumer), rejected.connection > 0) == (
        "jobs",
        "guest",
        True,
        True,
    )
    assert "rejected" in repr(rejected)


def test_a_wait_for_what_never_comes_ends_when_nothing_happens(world: World, broker: EmbeddedBroker) -> None:
    broker.publish(b"x", routing_key="jobs")
    begun = world.now
    assert not broker.published.where(body="y").within(3).any()
    assert world.now - begun <= 3
    with pytest.raises(AssertionError, match=r"there is none with body='y'; what happened:\n.*published.*b'x'"):
        broker.published.where(body="y").first()
    with pytest.raises(TypeError, match="colour"):
        broker.published.where(colour="red").any()


def test_coroutines_wait_too(world: World, broker: EmbeddedBroker) -> None:
    async def main() -> None:
        async with connect(broker.url) as connection, connection.open_channel() as channel:

            async def later() -> None:
                for number in range(3):
                    await asyncio.sleep(0.7)
                    await channel.publish(b"%d" % number, routing_key="jobs")

            task = asyncio.create_task(later())
            loop = asyncio.get_running_loop()
            assert await broker.published.where(routing_key="jobs").awaited.any()
            assert loop.time() == pytest.approx(0.7, abs=0.1)
            assert [each.body async for each in broker.published.awaited] == [b"0", b"1", b"2"]
            assert loop.time() == pytest.approx(3.1, abs=0.1)
            assert [each.body for each in await broker.published.where(body="1").awaited] == [b"1"]
            assert (await broker.published.awaited.first()).body == b"0"
            assert not await broker.consumed.awaited.any()
            await task

    with asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        runner.run(main())


def test_each_one_comes_as_it_happens(world: World, broker: EmbeddedBroker) -> None:
    async def publish() -> None:
        async with connect(broker.url) as connection, connection.open_channel() as channel:
            for number in range(3):
                await channel.publish(b"%d" % number, routing_key="jobs")
                await asyncio.sleep(0.9)

    world.start(simulated(publish))
    seen = [(each.body, round(world.now - start)) for start in (world.now,) for each in broker.published]
    assert seen == [(b"0", 0), (b"1", 1), (b"2", 2)]
