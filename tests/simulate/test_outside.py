"""What a program asks of time, random, uuid, os and secrets is the world's, the same in each run, and given back."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import time
import uuid
from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio.testing.simulate import (
    Fault,
    Hazards,
    Kind,
    Process,
    Program,
    Schedule,
    Seeded,
    World,
    explore,
    replay,
)
from amqp_sansio.testing.simulate.exploring import Scene
from amqp_sansio.testing.simulate.outside import EPOCH
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated
from amqp_sansio_sync import connect as connect_blocking
from amqp_sansio_sync.simulated import simulated as simulated_blocking

ASKED: Final[dict[str, Callable[[], object]]] = {
    "random.random": random.random,
    "random.randint": lambda: random.randint(1, 10**9),
    "random.choice": lambda: random.choice(range(10**9)),
    "random.shuffle": lambda: random.sample(range(1000), 1000),
    "random.SystemRandom": lambda: random.SystemRandom().random(),
    "uuid.uuid1": lambda: uuid.uuid1(),
    "uuid.uuid4": uuid.uuid4,
    "os.urandom": lambda: os.urandom(40),
    "secrets.token_hex": secrets.token_hex,
    "secrets.choice": lambda: secrets.choice(range(10**9)),
    "time.time": lambda: time.time(),
    "time.time_ns": lambda: time.time_ns(),
    "time.monotonic": lambda: time.monotonic(),
    "time.monotonic_ns": lambda: time.monotonic_ns(),
    "time.perf_counter": lambda: time.perf_counter(),
    "time.perf_counter_ns": lambda: time.perf_counter_ns(),
    "time.localtime": lambda: time.localtime(),
    "time.gmtime": lambda: time.gmtime(),
    "time.ctime": lambda: time.ctime(),
    "time.strftime": lambda: time.strftime("%c"),
}
"""What programs ask for, each differs between two runs on a machine."""
REPLACED: Final = [
    *[(time, name.partition(".")[2]) for name in ASKED if name.startswith("time.")],
    *[(time, "sleep"), (os, "urandom"), (uuid, "uuid1"), (random, "_urandom")],
]
WORLDS: Final = pytest.mark.parametrize("kind", ["world", "asyncio", "blocking"])


def in_world(kind: str, act: Callable[[], object]) -> Program:
    """A program that calls a function behind a second, of each kind of program."""

    async def plain(process: Process) -> None:
        await process.sleep(1.0)
        act()

    async def asynchronous() -> None:
        await asyncio.sleep(1.0)
        act()

    def blocking() -> None:
        time.sleep(1.0)
        act()

    if kind == "world":
        return plain
    return simulated(asynchronous) if kind == "asyncio" else simulated_blocking(blocking)


def run(kind: str, act: Callable[[], object]) -> None:
    with World() as world:
        world.start(in_world(kind, act), ends=True, restarts=False)
        world.run()
        assert world.findings() == []


@WORLDS
@pytest.mark.parametrize("name", ASKED)
def test_what_a_program_asks_for_is_the_same_in_every_run(name: str, kind: str) -> None:
    found: list[object] = []
    for _ in range(2):
        # What happened before doesn't matter.
        random.random()
        run(kind, lambda: found.extend([ASKED[name](), ASKED[name]()]))
    assert found[:2] == found[2:]
    if not name.startswith("time."):
        assert found[0] != found[1]


@WORLDS
def test_the_clocks_are_the_worlds(kind: str) -> None:
    def look() -> None:
        found.append((time.time() - EPOCH, time.monotonic(), time.perf_counter(), time.monotonic_ns() / 1e9))
        found.append(tuple(time.gmtime())[:6])

    found: list[Any] = []
    run(kind, look)
    assert found == [(1.0, 1.0, 1.0, 1.0), (2023, 11, 14, 22, 13, 21)]


@WORLDS
def test_a_pause_of_time_takes_the_worlds_time(kind: str) -> None:
    found: list[float] = []

    def rest() -> None:
        time.sleep(3600.0)
        found.append(time.monotonic())
        with pytest.raises(ValueError, match="non-negative"):
            time.sleep(-1.0)

    run(kind, rest)
    assert found == [3601.0]


def test_a_blocking_pause_holds_nobody_else_up() -> None:
    found: list[str] = []

    def blocking() -> None:
        time.sleep(2.0)
        found.append("late")

    async def other(process: Process) -> None:
        await process.sleep(1.0)
        found.append("early")

    with World() as world:
        world.start(simulated_blocking(blocking))
        world.start(other)
        world.run()
    assert found == ["early", "late"]


def test_everything_is_given_back_also_where_worlds_end_in_another_order() -> None:
    before = [getattr(module, name) for module, name in REPLACED]
    state = random.getstate()
    one, two = World(), World()
    one.__enter__()
    two.__enter__()
    assert all(getattr(module, name) is not real for (module, name), real in zip(REPLACED, before, strict=True))
    one.__exit__()
    two.__exit__()
    assert [getattr(module, name) for module, name in REPLACED] == before
    with World() as world:
        random.seed(1)
        world.run()
    assert [getattr(module, name) for module, name in REPLACED] == before
    random.setstate(state)
    with pytest.raises(ZeroDivisionError), World():
        random.random()
        _ = 1 / 0
    assert random.getstate() == state
    assert [getattr(module, name) for module, name in REPLACED] == before


def test_who_is_in_no_process_is_given_the_machines() -> None:
    """`os.urandom` of a test differs from that of its programs."""
    with World():
        assert os.urandom(20) != os.urandom(20)
        assert uuid.uuid1().node != 0x02_00_00_00_00_01


async def asynchronous(work: Callable[[bytes], object]) -> None:
    async with connect("amqp://broker/", recover=True) as connection, connection.open_channel() as channel:
        async for delivery in channel.consume("jobs", prefetch=1):
            async with delivery.process():
                await asyncio.sleep(random.uniform(0.1, 1.0))
                work(delivery.body + uuid.uuid4().bytes[:1])


def blocking(work: Callable[[bytes], object]) -> None:
    with connect_blocking("amqp://broker/", recover=True) as connection, connection.open_channel() as channel:
        for delivery in channel.consume("jobs", prefetch=1):
            with delivery.process():
                time.sleep(random.uniform(0.1, 1.0))
                work(delivery.body + secrets.token_bytes(1))


def together(world: World) -> None:
    """Two programs of asyncio and two blocking ones, which start at once and draw lots."""

    def work(body: bytes) -> None:
        world.note(f"has drawn {body!r}")
        world.worked(body[:1])

    world.declare("jobs", *[b"%d" % number for number in range(8)])
    for number in range(2):
        world.start(simulated(lambda: asynchronous(work), name=f"asyncio{number}"))
        world.start(simulated_blocking(lambda: blocking(work), name=f"blocking{number}"))


@pytest.mark.parametrize("seed", range(3))
def test_programs_that_start_together_go_the_same_way_in_every_run(seed: int) -> None:
    traces: list[list[str]] = []
    for _ in range(3):
        world = World(Seeded(seed), Hazards(faults=(Fault.CUT, Fault.SLOW), most=3, odds=60, pieces=True))
        world.trace = []
        with world:
            together(world)
            world.run()
            assert world.faults
            assert world.findings() == []
        traces.append(world.trace)
    assert traces[1] == traces[0] == traces[2]


def flaky(early: float) -> Scene:
    """A consumer that loses a message if its recovery, whose delay is drawn by lot, was quick."""

    async def consume(work: Callable[[bytes], object]) -> None:
        url = "amqp://broker/?heartbeat=0"
        async with connect(url, recover=True) as connection, connection.open_channel() as channel:
            async for delivery in channel.consume("jobs", prefetch=1):
                if delivery.redelivered and time.monotonic() < early + random.random() / 100:
                    await delivery.accept()
                    continue
                async with delivery.process():
                    await asyncio.sleep(1.0)
                    work(delivery.body)

    def scene(world: World) -> None:
        world.declare("jobs", b"1")
        world.start(simulated(lambda: consume(world.worked), name="consumer"))

    return scene


@pytest.mark.large
def test_what_explore_finds_replay_finds_each_time() -> None:
    report = explore(flaky(0.46), seeds=0)
    assert [each.kind for each in report.findings] == [Kind.LOST]
    for _ in range(5):
        again = replay(flaky(0.46), report.schedule)
        assert (again.findings, again.trace) == (report.findings, report.trace)


def test_the_delays_of_a_recovery_are_among_what_a_schedule_decides() -> None:
    """They are drawn by lot elsewhere, so a program may not depend on one of them."""
    delays: set[float] = set()
    for place in range(8):
        for pick in range(4):
            with World(Schedule({place: pick}), Hazards(faults=(), most=0)) as world:
                world.trace = []
                flaky(0.0)(world)
                world.pass_time(0.1)
                world.cut(world.lines[0])
                world.run()
                delays.update(float(line.split()[0]) for line in world.trace if line.endswith("delivers b'1' again"))
    assert len(delays) >= 4
    assert all(0.5 <= each <= 0.6 for each in delays)
