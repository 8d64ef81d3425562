"""Blocking programs in a simulated world: one thread at a time, crashes that end them all, and the same run again."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, EndpointClosed, Version
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.testing.simulate import Fault, Hazards, Kind, Promise, Schedule, Seeded, World, explore, replay
from amqp_sansio.uri import parse
from amqp_sansio_sync import connect, simulated, system
from amqp_sansio_sync.simulated import ProcessEnded, SimulatedThread, inside
from amqp_sansio_sync.simulated import simulated as program
from amqp_sansio_sync.system import MACHINE, current
from tests.kit.sync_user import each_version
from tests.sync.test_examples import examples

URL = "amqp://guest:guest@broker/"
PLAIN = Hazards(faults=(Fault.CUT, Fault.CRASH), most=1, order=False)
"""One fault, and every step in its turn."""


def consume(work: Callable[[bytes], object], is_early: bool = False, **options: Any) -> None:
    """A consumer whose work takes a second; `is_early`: it accepts before."""
    opened: Any = connect(URL, **options)
    with opened as connection, connection.open_channel() as channel:
        for delivery in channel.consume("jobs"):
            if is_early:
                delivery.accept()
            current().sleep(1.0)
            work(delivery.body)
            if not is_early:
                delivery.accept()


def scene(is_early: bool, **options: Any) -> Callable[[World], None]:
    """Two messages, and that consumer."""

    def jobs(world: World) -> None:
        world.declare("jobs", b"1", b"2")
        world.start(program(lambda: consume(world.worked, is_early, **options), name="consumer"))

    return jobs


@pytest.mark.parametrize("of", [simulated.simulated, simulated.inside])
def test_the_examples(of: object) -> None:
    examples(of, dict(vars(simulated)))


@pytest.mark.usefixtures("world")
def test_the_example_of_pauses_and_threads() -> None:
    examples(system, dict(vars(system)))


def test_a_world_finds_what_a_blocking_consumer_loses() -> None:
    hazards = Hazards(faults=(Fault.CRASH,), most=1, order=False)
    found = explore(scene(True), hazards=hazards, seeds=0)
    assert [each.kind for each in found.findings] == [Kind.LOST]
    again = replay(scene(True), str(found.schedule), hazards=hazards)
    assert [each.text for each in again.findings] == [each.text for each in found.findings]
    assert again.trace == found.trace


@pytest.mark.large
def test_a_consumer_that_accepts_after_its_work_loses_nothing() -> None:
    explore(scene(False), seeds=2, most_runs=30).check()
    assert explore(scene(False), hazards=PLAIN, promise=Promise.EXACTLY_ONCE, seeds=0).findings[0].kind is Kind.DOUBLED


@pytest.mark.parametrize("seed", range(6))
def test_a_connection_that_recovers_goes_on_after_every_loss(seed: int) -> None:
    hazards = Hazards(faults=(Fault.CUT, Fault.RESTART, Fault.PARTITION, Fault.STALL), most=3, odds=60, pieces=True)
    with World(Seeded(seed), hazards) as world:
        scene(False, recover=RecoveryPolicy(first_delay=0.1), heartbeat=10)(world)
        world.run()
        assert world.findings() == []
        assert set(world.ledger.worked) == {b"1", b"2"}


def traced(seed: int) -> list[str]:
    """What happens in a run with threads whose order the world chooses."""
    with World(Seeded(seed), Hazards(faults=(), most=0, pieces=True)) as world:
        world.trace = []
        world.declare("jobs")

        def main() -> None:
            with connect(URL) as connection:
                channel = connection.open_channel(confirm=True)

                def publish(number: int) -> None:
                    for n in range(3):
                        channel.publish(b"%d.%d" % (number, n), routing_key="jobs")
                        world.sent(b"%d.%d" % (number, n))

                threads = [current().start(lambda number=number: publish(number), "publisher") for number in range(3)]  # type: ignore[misc]
                for thread in threads:
                    thread.join()

        world.start(program(main), ends=True)
        world.run()
        assert [each.kind for each in world.findings()] == [Kind.LEFT] * 9
        return world.trace


def test_the_order_of_threads_follows_from_the_choices() -> None:
    runs = [traced(seed) for seed in range(4)]
    assert [traced(seed) for seed in range(4)] == runs
    assert len({tuple(run) for run in runs}) > 1


def test_a_crash_ends_every_thread_of_a_process_where_it_waits() -> None:
    ends: list[str] = []
    threads: list[SimulatedThread] = []

    def beside() -> None:
        try:
            current().sleep(3600.0)
        except ProcessEnded:
            ends.append("beside")
            with pytest.raises(ProcessEnded):
                current().sleep(1.0)  # It doesn't wait any more.
            raise

    def main() -> None:
        started = current().start(beside, "beside")
        assert isinstance(started, SimulatedThread)
        threads.append(started)
        try:
            with connect(URL):
                started.join()
        finally:
            ends.append("main")

    with World() as world:
        process = world.start(program(main), restarts=False)
        world.run(lambda: world.now > 100.0, patience=1000.0)
        assert threads[0].is_alive()
        process.end("it crashes")
        assert sorted(ends) == ["beside", "main"]
        assert not threads[0].is_alive()
        assert threading.active_count() == 1 or all(each.name != "beside" for each in threading.enumerate())
        world.pass_time(60.0)
        assert world.hub().clients == {}


def test_a_program_that_swallows_its_end_is_left_where_it_is() -> None:
    rounds: list[int] = []

    def main() -> None:
        while True:
            try:
                current().sleep(1.0)
            except ProcessEnded:
                rounds.append(1)

    with World() as world:
        world.start(program(main))
        world.pass_time(10.0)
    assert len(rounds) == simulated.LEAVING


def test_the_error_of_a_thread_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []

    def tell(arguments: threading.ExceptHookArgs) -> None:
        told.append(arguments.exc_type)

    monkeypatch.setattr(threading, "excepthook", tell)

    def fail() -> None:
        raise LookupError("mine")

    with World() as world, inside(world) as inner:
        thread = inner.start(fail, "failing")
        thread.join()
        with pytest.raises(LookupError, match="mine"):
            _ = thread.result
    assert told == [LookupError]
    with World() as world:
        world.trace = []
        world.start(program(lambda: current().start(fail, "failing").join()))
        world.run()
        assert any("failing: LookupError('mine')" in line for line in world.trace)


def test_a_program_that_waits_for_nothing_is_told() -> None:
    with World() as world, inside(world) as inner:
        with pytest.raises(RuntimeError, match="something that never comes"):
            inner.bell().wait(None)
        with pytest.raises(RuntimeError, match="only threads of"):
            world.complete(_waiting(world))


async def _waiting(world: World) -> None:
    """What isn't a thread of the program can't wait for it."""
    from amqp_sansio.testing.simulate import Process

    simulated.SimulatedSystem(Process(world, "other"), is_host=False).sleep(1.0)


def test_locks_and_bells_of_a_world() -> None:
    with World() as world, inside(world) as inner:
        lock, bell = inner.lock(), inner.bell()
        order: list[str] = []

        def hold() -> None:
            with lock:
                order.append("held")
                inner.sleep(5.0)
                order.append("left")

        thread = inner.start(hold, "holding")
        inner.sleep(1.0)
        assert lock.locked()
        assert not lock.acquire(blocking=False)
        begun = inner.now()
        assert not lock.acquire(timeout=2.0)
        assert inner.now() == begun + 2.0
        with lock:
            order.append("mine")
        thread.join()
        assert order == ["held", "left", "mine"]
        with pytest.raises(RuntimeError, match="unlocked"):
            lock.release()
        bell.ring()
        bell.wait(None)
        begun = inner.now()
        bell.wait(0.5)
        assert inner.now() == begun + 0.5
        thread = inner.start(lambda: inner.sleep(10.0), "sleeping")
        thread.join(1.0)
        assert thread.is_alive()
        with pytest.raises(RuntimeError, match="still runs"):
            _ = thread.result


@each_version
def test_a_day_of_heartbeats_takes_no_time(version: Version) -> None:
    options: dict[str, Any] = {"heartbeat": 600} if version is AMQP_0_9_1 else {}
    with World() as world, inside(world), connect(URL, version=version, **options) as connection:
        current().sleep(20_000.0)
        assert connection.is_open
        assert world.now >= 20_000.0


def test_nobody_answers_in_a_partition_and_a_broker_that_is_down_refuses() -> None:
    with World(Schedule()) as world, inside(world):
        world.partition(world.nodes["broker"])
        with pytest.raises(TimeoutError, match="nothing answers in time"):
            connect(URL, timeout=0.5)
        world.nodes["broker"].unreachable_until = 0.0
        world.restart(world.nodes["broker"])
        with pytest.raises(ConnectionRefusedError, match=r"no connection to amqp://guest:.*is down"):
            connect(URL)
        with pytest.raises(OSError, match="no broker is called 'elsewhere'"):
            connect("amqp://elsewhere/")
        world.pass_time(200.0)
        with connect(URL) as connection:
            world.cut(world.lines[-1])
            with pytest.raises(EndpointClosed, match="reset"):
                connection.open_channel()


def test_the_context_ends_what_was_opened_in_it() -> None:
    with World() as world:
        with inside(world) as inner:
            connect(URL)
            assert len(inner.threads) == 1
            assert current() is inner
        assert inner.threads == []
        assert current() is MACHINE
        world.run()
        assert world.hub().clients == {}
    assert system.current() is MACHINE


@pytest.mark.parametrize("write", [False, True], ids=["", "write"])
@pytest.mark.parametrize("read", [False, True], ids=["", "read"])
@pytest.mark.parametrize("kind", ["somewhere", "nowhere"])
def test_shutting_a_transport_ends_each_wait(world: World, kind: str, read: bool, write: bool) -> None:
    here = current()
    transport = here.nowhere() if kind == "nowhere" else here.open_transport(parse(URL), None, None, here.now(), None)
    transport.write_wanted = write
    waits = here.start(lambda: transport.wait(read, None), "waits")
    here.sleep(1.0)
    transport.shut()
    waits.join(1.0)
    assert not waits.is_alive()
    transport.close()
