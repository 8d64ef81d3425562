"""Clients that recover in the simulated world: what each version's settle modes promise is kept through every fault."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from amqp_sansio import StaleDelivery
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.testing.simulate import Fault, Kind, Process, Promise, World, replay
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated
from tools.simulate.modes import MODES
from tools.simulate.running import run

FOREVER = RecoveryPolicy(deadline=None)


def test_an_attempt_that_isnt_answered_in_time_is_followed_by_another() -> None:
    """The handshake times out at this end, which isn't a close that the user asked for."""
    with World() as world:
        world.declare("jobs")

        async def consumer(process: Process) -> None:
            async with process.connect(recover=FOREVER) as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("jobs"):
                    world.worked(delivery.body)
                    await delivery.accept()

        async def publisher(process: Process) -> None:
            await process.sleep(200.0)
            async with process.connect() as connection, connection.open_channel(confirm=True) as channel:
                await channel.publish(b"1", routing_key="jobs", properties=BasicProperties(delivery_mode=2))

        world.start(consumer)
        world.start(publisher, ends=True)
        world.pass_time(1.0)
        (line,) = world.lines
        world.cut(line)
        world.run(lambda: len(world.lines) == 2)
        world.lines[1].hold(world.now + 100.0)
        world.run(patience=1000.0)
        assert (world.ledger.worked, world.findings()) == ({b"1": 1}, [])


@pytest.mark.parametrize(("version", "mode"), MODES)
def test_every_mode_keeps_its_promise_through_many_faults(version: str, mode: str) -> None:
    """`python -m tools.simulate` does the same with a million messages."""
    result = run(version, mode, messages=600, faults=12, seed=3)
    assert (result.messages, result.findings) == (600, ())
    assert result.faults >= 6
    assert result.missed == 0 or MODES[version, mode].promise is Promise.AT_MOST_ONCE


async def recovers(work: Callable[[bytes], object]) -> None:
    """A consumer of asyncio whose jitter and names are random elsewhere."""
    async with connect("amqp://broker/", recover=True) as connection, connection.open_channel() as channel:
        async for delivery in channel.consume("jobs", prefetch=1):
            async with delivery.process():
                await asyncio.sleep(0.45)
                work(delivery.body)


def jobs(world: World) -> None:
    world.declare("jobs", b"1", b"2")
    world.start(simulated(lambda: recovers(world.worked), name="consumer"))


@pytest.mark.parametrize("place", [12, 20, 37])
def test_a_program_of_asyncio_that_recovers_is_the_same_in_every_run(place: int) -> None:
    runs = [replay(jobs, f"{place}:1") for _ in range(3)]
    assert runs[0].faults
    assert runs[0].ok
    assert runs[1].trace == runs[0].trace == runs[2].trace


def raised(how: str, error: Exception) -> None:
    """Raise an error as it is, as another's cause, or in a group, as a task group does."""
    if how == "itself":
        raise error
    if how == "a cause":
        raise RuntimeError("the job has failed") from error
    raise ExceptionGroup("tasks", [ValueError(), ExceptionGroup("more", [error])])


@pytest.mark.parametrize("how", ["itself", "a cause", "in a group"])
def test_a_program_that_dies_of_a_stale_delivery_is_found_although_it_is_started_again(how: str) -> None:
    def fragile(world: World) -> None:
        world.declare("jobs", b"1")

        async def consumer() -> None:
            async with connect("amqp://broker/", recover=True) as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("jobs"):
                    await asyncio.sleep(1.0)
                    world.worked(delivery.body)
                    try:
                        await delivery.accept()
                    except StaleDelivery as error:
                        raised(how, error)

        world.start(simulated(consumer, name="consumer"))

    with World() as world:
        fragile(world)
        world.pass_time(0.5)
        world.cut(world.lines[0])
        world.run()
        assert [each.kind for each in world.findings()] == [Kind.FAILED]
        assert "StaleDelivery" in str(world.findings()[0])


def test_a_broker_that_takes_no_publishes_for_a_while_gets_them_later() -> None:
    with World() as world:
        world.declare("jobs")
        done: list[float] = []

        async def publisher(process: Process) -> None:
            async with process.connect() as connection, connection.open_channel(confirm=True) as channel:
                for number in range(3):
                    await process.sleep(1.0)
                    await channel.publish(b"%d" % number, routing_key="jobs")
                    done.append(process.now)

        world.start(publisher, ends=True)
        world.pass_time(1.5)
        assert world.go_wrong((Fault.BLOCK,), 0)
        world.pass_time(0.9)
        assert len(done) == 1
        world.run()
        assert len(done) == 3
        assert done[1] >= 2.5
