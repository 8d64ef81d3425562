"""Every hazard happens where its version has it, and programs that are right survive all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.testing.simulate import RANDOM, Fault, Hazards, Process, Seeded, World, explore
from amqp_sansio.testing.simulate.exploring import Scene
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated
from tests.simulate.test_world import VERSIONS, jobs
from tests.test_layout import ROOT

IN: Final[dict[Fault, tuple[Version, ...]]] = {
    Fault.CLOSE: (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0),
    Fault.CHANNEL: (AMQP_0_8, AMQP_0_9_1),
    Fault.SESSION: (AMQP_0_10, AMQP_1_0),
    Fault.LINK: (AMQP_1_0,),
    Fault.CANCEL: (AMQP_0_9_1,),
    Fault.NACK: (AMQP_0_9_1,),
    Fault.REJECT: (AMQP_0_10, AMQP_1_0),
}
"""The versions that have a hazard; the others are of the network, of brokers and of programs."""
TELLS: Final = {
    Fault.CLOSE: "broker 'broker' closes connection",
    Fault.CHANNEL: "broker 'broker' ends channel 1 of connection",
    Fault.SESSION: "broker 'broker' ends session 0 of connection",
    Fault.LINK: "broker 'broker' ends link 0/0 of connection",
    Fault.CANCEL: "broker 'broker' ends consumer",
    Fault.NACK: "queues refuse the next publish of connection",
    Fault.REJECT: "queues refuse the next publish of connection",
}
BY_VERSION: Final = pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)


@BY_VERSION
@pytest.mark.parametrize("fault", IN, ids=lambda fault: fault.value)
def test_a_hazard_happens_where_its_version_has_it(version: Version, fault: Fault) -> None:
    with World(Seeded(1), Hazards(faults=(), most=0)) as world:
        jobs(version)(world)
        world.pass_time(5.0)
        assert world.go_wrong([fault], 0) is (version in IN[fault])
        if world.faults:
            assert world.faults[0].startswith(TELLS[fault])
            world.run()
            assert world.findings() == []


async def publish(process: Process, connection: Any, version: Version) -> object:
    """Publish after ten seconds on what is open, and return the outcome."""
    if version is AMQP_0_10:
        async with connection.open_session() as session:
            await process.sleep(10.0)
            return await session.publish(b"1", routing_key="jobs")
    if version is AMQP_1_0:
        async with connection.open_session() as session, session.open_sender("jobs") as sender:
            await process.sleep(10.0)
            return await sender.send(b"1")
    async with connection.open_channel(confirm=True) as channel:
        await process.sleep(10.0)
        return await channel.publish(b"1", routing_key="jobs")


def publisher(version: Version) -> Scene:
    """A program that publishes once, and notes what became of it."""

    def scene(world: World) -> None:
        world.declare("jobs")

        async def publishes(process: Process) -> None:
            async with process.connect(version=version) as connection:
                world.note(f"told {type(await publish(process, connection, version)).__name__}")

        world.start(publishes, ends=True, restarts=False)

    return scene


@pytest.mark.parametrize(
    ("fault", "version"),
    [(fault, version) for fault in (Fault.NACK, Fault.REJECT) for version in IN[fault]],
    ids=lambda each: each.value if isinstance(each, Fault) else each.label,
)
def test_a_publish_is_refused_once_in_the_way_of_its_version(fault: Fault, version: Version) -> None:
    with World() as world:
        world.trace = []
        publisher(version)(world)
        world.pass_time(5.0)
        assert world.go_wrong([fault], 0)
        world.run()
        publisher(version)(world)
        world.run()
        told = [line.rpartition("told ")[2] for line in world.trace if "told " in line]
    assert told == ["Rejected", "Accepted"]


@BY_VERSION
@pytest.mark.parametrize("fault", [*IN, Fault.SLOW, Fault.BLOCK], ids=lambda fault: fault.value)
def test_a_consumer_that_is_right_survives_each_hazard_at_every_step(version: Version, fault: Fault) -> None:
    hazards = Hazards(faults=(fault,), most=1, order=False)
    report = explore(jobs(version, bodies=(b"1",)), hazards=hazards, seeds=0)
    assert report.ok, str(report)
    has = version in IN.get(fault, VERSIONS)
    assert (report.runs > 2) is has


def sleeper(kind: str, world: World) -> Callable[[Process], Any]:
    """A program that notes each second of its own, in asyncio or of the world."""

    async def plain(process: Process) -> None:
        for _ in range(5):
            await process.sleep(1.0)
            world.note("goes on", process)

    async def asynchronous() -> None:
        async with connect("amqp://broker/"):
            for _ in range(5):
                await asyncio.sleep(1.0)
                world.note("goes on")

    return plain if kind == "world" else simulated(asynchronous)


@pytest.mark.parametrize("kind", ["world", "asyncio"])
def test_a_slow_program_does_nothing_for_a_while_and_then_goes_on(kind: str) -> None:
    with World() as world:
        world.trace = []
        world.start(sleeper(kind, world), name="slow", ends=True)
        world.start(sleeper("world", world), name="other", ends=True)
        world.pass_time(1.5)
        world.slow(world.programs[0])
        world.run()
        times = [round(float(line.split()[0]), 1) for line in world.trace if line.endswith("goes on")]
        assert world.findings() == []
    assert times.count(2.0) == 1
    assert sorted(set(times)) == [1.0, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 5.5]


def test_seeds_choose_all_hazards_but_those_that_lose_what_no_program_can_keep() -> None:
    left_out = {Fault.STALL, Fault.WIPE, Fault.SUSPEND, Fault.PARTITION, Fault.JUMP}
    assert set(RANDOM.faults) == set(Fault) - left_out


def test_the_guide_names_every_hazard_and_its_versions() -> None:
    page = (ROOT / "docs" / "simulate.md").read_text(encoding="utf-8")
    for fault in Fault:
        (row,) = [line for line in page.splitlines() if line.startswith(f"| `{fault.name}` |")]
        for version in IN.get(fault, ()):
            assert version.label in row or set(IN[fault]) == set(VERSIONS), row
