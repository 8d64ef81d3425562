"""The simulated world: programs of every version through faults, exact repetition, findings, asyncio's programs."""

import asyncio
import gc
import inspect
import warnings
from collections.abc import AsyncIterator
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Accepted, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Settings
from amqp_sansio.messaging import Message
from amqp_sansio.testing.simulate import (
    RANDOM,
    USUAL,
    Fault,
    Hazards,
    Kind,
    Pause,
    Process,
    Promise,
    Recorded,
    Schedule,
    Seeded,
    World,
    discard,
    explore,
    memory,
    replay,
)
from amqp_sansio.testing.simulate.exploring import Scene
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import simulated, simulated_loop
from tools.simulate.modes import LIMITS, SETTINGS

VERSIONS = [AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0]
BODIES = (b"1", b"2")


async def deliveries(connection: Any, version: Version) -> AsyncIterator[Any]:
    """The deliveries of queue "jobs"."""
    if version is AMQP_0_10:
        async with connection.open_session() as session, session.subscribe("jobs") as subscription:
            async for delivery in subscription:
                yield delivery
    elif version is AMQP_1_0:
        async with connection.open_session() as session, session.open_receiver("jobs") as receiver:
            async for delivery in receiver:
                yield delivery
    else:
        async with connection.open_channel() as channel:
            async for delivery in channel.consume("jobs"):
                yield delivery


def body_of(delivery: Any) -> bytes:
    return bytes(delivery.message.body) if hasattr(delivery, "message") else delivery.body


def jobs(
    version: Version = AMQP_0_9_1,
    *,
    accept_first: bool = False,
    accepts: bool = True,
    delay: float = 0.0,
    bodies: tuple[bytes, ...] = BODIES,
) -> Scene:
    """A queue and a consumer, which may accept before it works, or not at all."""

    def scene(world: World) -> None:
        world.declare("jobs", *bodies)

        async def consumer(process: Process) -> None:
            await process.sleep(delay)
            async with process.connect(version=version) as connection:
                async for delivery in deliveries(connection, version):
                    if accept_first:
                        await delivery.accept()
                        await process.sleep(1.0)
                    world.worked(body_of(delivery))
                    if accepts and not accept_first:
                        await delivery.accept()

        world.start(consumer)

    return scene


HARMLESS = tuple([each for each in Fault if each is not Fault.WIPE])
"""The faults that lose nothing of a program that accepts what it has done."""
PARTS = 4
"""So many cases share the faults."""


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
@pytest.mark.parametrize("part", [0, *(pytest.param(part, marks=pytest.mark.large) for part in range(1, PARTS))])
def test_a_consumer_that_accepts_what_it_has_done_loses_nothing(version: Version, part: int) -> None:
    """At each step one of the faults; a part of them at a time."""
    hazards = RANDOM.but(faults=HARMLESS[part::PARTS], most=1, pieces=False)
    report = explore(jobs(version), hazards=hazards, seeds=0)
    assert report.ok, str(report)
    assert report.depth == 1
    assert report.runs > 50


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_no_random_faults_lose_what_a_consumer_has_not_done(version: Version) -> None:
    report = explore(jobs(version), depth=0, random_hazards=RANDOM.but(faults=HARMLESS), seeds=10)
    assert report.ok, str(report)
    assert report.runs == 11


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_a_consumer_that_accepts_before_it_works_is_found_with_one_fault(version: Version) -> None:
    scene = jobs(version, accept_first=True, bodies=(b"1",))
    report = explore(scene)
    assert [each.kind for each in report.findings] == [Kind.LOST] * len(report.findings)
    assert len(report.faults) == 1
    assert "crashes" in report.faults[0]
    text = str(report)
    assert "lost: b'1' was accepted, and nobody worked on it" in text
    again = replay(scene, report.schedule)
    assert (again.findings, again.trace) == (report.findings, report.trace)
    with pytest.raises(AssertionError, match="replay"):
        report.check()


def test_what_is_worked_on_twice_is_found_where_once_was_promised() -> None:
    report = explore(jobs(), promise=Promise.EXACTLY_ONCE)
    assert {each.kind for each in report.findings} == {Kind.DOUBLED}
    assert len(report.faults) == 1


def test_what_nobody_settles_is_found_without_a_fault() -> None:
    report = explore(jobs(accepts=False))
    assert (report.runs, report.faults) == (1, ())
    assert [str(each) for each in report.findings] == [
        f"unsettled: {body!r} of queue 'jobs' was delivered, and is neither settled nor returned" for body in BODIES
    ]


def test_who_has_filled_a_line_is_told_of_room() -> None:
    bodies = tuple([bytes([number]) * 150_000 for number in range(4)])
    with World() as world:
        jobs(accepts=False, bodies=bodies)(world)
        world.run()
        assert world.ledger.worked == dict.fromkeys(bodies, 1)


def test_what_nobody_takes_and_who_waits_for_ever_is_found() -> None:
    def scene(world: World) -> None:
        world.declare("jobs", b"1")

        async def waiter(process: Process) -> None:
            await process.event()

        async def failing(process: Process) -> None:
            raise ValueError("always")

        world.start(waiter, ends=True)
        world.start(failing)

    report = explore(scene, seeds=0, depth=0)
    assert [each.kind for each in report.findings] == [Kind.LEFT, Kind.STUCK, Kind.FAILED]
    assert "failing has failed 21 times, at last with ValueError: always" in str(report)


def test_a_wiped_broker_loses_what_it_had() -> None:
    report = explore(jobs(), hazards=Hazards(faults=(Fault.WIPE,), most=1))
    assert Kind.LOST in {each.kind for each in report.findings}
    assert "has lost everything" in report.faults[0]


@pytest.mark.parametrize("seed", range(3))
def test_a_seed_repeats_exactly_and_so_does_what_it_picked(seed: int) -> None:
    def run(choices: Any) -> tuple[list[str], int, float]:
        with World(choices, RANDOM.but(most=20, faults=tuple(Fault))) as world:
            world.trace = []
            jobs()(world)
            world.run()
            return world.trace, world.steps, world.now

    recorded = Recorded(Seeded(seed))
    first = run(recorded)
    assert first == run(Seeded(seed)) == run(Schedule.parse(str(recorded.schedule)))
    assert first != run(Seeded(seed + 100))


def publishing(*, confirm: bool = False, persistent: bool = True) -> Scene:
    """A publisher that counts a message as sent when it is confirmed, or at once; a consumer."""

    def scene(world: World) -> None:
        jobs(bodies=(), delay=5.0)(world)

        async def publisher(process: Process) -> None:
            connection = await process.connect()
            channel = await connection.open_channel(confirm=confirm)
            properties = BasicProperties(delivery_mode=2 if persistent else 1)
            await channel.publish(b"new", routing_key="jobs", properties=properties)
            world.sent(b"new")
            await process.sleep(1.0)

        world.start(publisher, ends=True)

    return scene


@pytest.mark.parametrize(
    ("scene", "text"),
    [
        (publishing(), "lost: b'new' was sent, as its sender knows, and never entered a queue"),
        (publishing(confirm=True, persistent=False), "lost: b'new' was dropped (restarted)"),
        pytest.param(publishing(confirm=True), "", marks=pytest.mark.large),
    ],
    ids=["without confirms", "not persistent", "confirmed"],
)
def test_a_publishers_belief_is_judged(scene: Scene, text: str) -> None:
    report = explore(scene, seeds=0, hazards=Hazards(most=1))
    found = [str(each) for each in report.findings if each.kind is Kind.LOST]
    assert [each.partition(text)[1] for each in found] == ([text] if text else [])
    assert len(report.faults) == (1 if text else 0)


def consume(world: World, version: Version, bodies: tuple[bytes, ...] = BODIES, *, accept_first: bool) -> Scene:
    world.declare("jobs", *bodies)

    async def consumer() -> None:
        async with connect("amqp://broker/", version=version) as connection:
            async for delivery in deliveries(connection, version):
                if accept_first:
                    await delivery.accept()
                    await asyncio.sleep(1.0)
                world.worked(body_of(delivery))
                if not accept_first:
                    await delivery.accept()

    world.start(simulated(consumer))
    return lambda world: None


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_what_a_program_of_asyncio_loses_is_found(version: Version) -> None:
    crashes = USUAL.but(faults=(Fault.CRASH,))
    report = explore(lambda world: consume(world, version, (b"1",), accept_first=True), hazards=crashes, seeds=0)
    assert {each.kind for each in report.findings} == {Kind.LOST}
    assert len(report.faults) == 1


@pytest.mark.parametrize("version", VERSIONS, ids=lambda version: version.label)
def test_asyncios_programs_run_unchanged_in_the_world(version: Version) -> None:
    random = RANDOM.but(faults=tuple(each for each in Fault if each is not Fault.WIPE))
    report = explore(lambda world: consume(world, version, accept_first=False), depth=0, seeds=5, random_hazards=random)
    assert report.ok, str(report)


def test_an_event_loop_drives_a_world() -> None:
    async def main() -> tuple[float, list[bytes]]:
        async with connect("amqp://broker/") as connection, connection.open_channel(confirm=True) as channel:
            await channel.declare_queue("jobs", durable=True)
            await channel.publish(b"hello", routing_key="jobs")
            async with channel.consume("jobs") as consumer:
                delivery = await anext(consumer)
                await delivery.accept()
            try:
                async with asyncio.timeout(60):
                    await asyncio.Event().wait()
            except TimeoutError:
                return asyncio.get_running_loop().time(), [delivery.body]
        raise AssertionError

    with World() as world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        assert runner.run(main()) == (60.0, [b"hello"])
        with pytest.raises(RuntimeError, match="never comes"):
            runner.run(asyncio.Event().wait())


def test_a_broker_that_is_down_or_unknown_refuses_connections() -> None:
    async def come(process: Process, url: str) -> Any:
        return await process.connect(url)

    with World(settings=Settings(seed=b"1")) as world:
        world.restart(world.nodes["broker"])
        process = Process(world, "one")
        with pytest.raises(ConnectionRefusedError, match="down"):
            world.complete(come(process, "amqp://broker/"))
        world.pass_time(1.0)
        assert world.complete(come(process, "amqp://broker/")).is_open
        with pytest.raises(OSError, match="no broker is called 'elsewhere' in this world; it has broker"):
            world.complete(come(process, "amqp://elsewhere/"))
        world.partition(world.nodes["broker"])
        begun = world.now
        with pytest.raises(TimeoutError, match=r"within 0\.5 seconds"):
            world.complete(come(process, "amqp://broker/?connection_timeout=500"))
        assert world.now == begun + 0.5


def test_a_neutral_program_runs_on_every_version_and_has_time_limits() -> None:
    async def ask(process: Process, version: Version) -> list[object]:
        async with process.messaging(f"amqp://broker/?version={version.label}") as connection:
            async with connection.sender("/queues/jobs") as sender:
                outcome = await sender.send(Message(b"hello", durable=True))
            with pytest.raises(TimeoutError, match="more than 5"):
                await connection.request("/queues/jobs", Message(b"ping"), timeout=5)
            async with connection.receiver("/queues/jobs") as receiver:
                delivery = await anext(receiver)
                await delivery.accept()
                return [outcome, bytes(delivery.message.body)]

    for version in (AMQP_0_9_1, AMQP_0_10, AMQP_1_0):
        with World() as world:
            world.declare("jobs")
            assert world.complete(ask(Process(world, "asking"), version)) == [Accepted(), b"hello"]
            assert world.now == 5.0


@pytest.mark.parametrize(
    ("who", "text"),
    [("client", "a client keeps"), ("connection", "a client's connection has"), ("broker", "a broker has")],
)
def test_more_memory_than_limits_allow_is_found(monkeypatch: pytest.MonkeyPatch, who: str, text: str) -> None:
    async def program(process: Process) -> None:
        async with process.connect(limits=LIMITS):
            await process.sleep(600.0)

    with World(settings=SETTINGS) as world:
        process = world.start(program)
        world.pass_time(1.0)
        assert world.findings() == []
        (client,) = process.clients
        if who == "client":
            client.kept = 2 * client.kept_high
        elif who == "connection":
            monkeypatch.setattr(memory, "IDLE", -memory.allowed(LIMITS))
        else:
            world.hub().shared["leak"] = bytes(3 * SETTINGS.limits.memory_high)
        (finding,) = world.findings()
        assert (finding.kind, text in finding.text) == (Kind.MEMORY, True)


def test_a_coroutine_that_is_discarded_is_closed_with_all_that_it_awaits() -> None:
    """Each waits on its way out; what isn't closed to the end is told of by Python when it is destroyed."""
    left: list[str] = []

    async def inner(depth: int) -> None:
        try:
            if depth:
                await inner(depth - 1)
            await Pause()
        finally:
            await Pause()
            left.append(f"{depth}")
            await Pause()

    coroutine = inner(3)
    coroutine.send(None)
    discard(coroutine)
    assert left == []
    assert inspect.getcoroutinestate(coroutine) == inspect.CORO_CLOSED
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        del coroutine
        gc.collect()
