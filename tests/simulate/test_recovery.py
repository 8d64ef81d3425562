"""Clients that recover in the simulated world: what each version's settle modes promise is kept through every fault."""

from __future__ import annotations

import pytest

from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.testing.simulate import Process, Promise, World
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
