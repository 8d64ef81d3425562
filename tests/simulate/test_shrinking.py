"""The schedule that `explore` shows: its faults are those that matter, its steps few, and its run is the same again."""

from __future__ import annotations

from itertools import count

import pytest

from amqp_sansio.testing.simulate import RANDOM, Fault, Hazards, Kind, Process, Promise, World, explore, replay

MANY = Hazards(most=6, pieces=True)


@pytest.mark.parametrize(
    "hazards",
    [RANDOM, MANY, RANDOM.but(faults=tuple(Fault), order=False, jumps=(2.5,)), Hazards(odds=3), Hazards(faults=())],
)
def test_a_schedule_names_its_hazards(hazards: Hazards) -> None:
    def scene(world: World) -> None:
        world.declare("jobs", b"1")

    report = explore(scene, depth=0, hazards=hazards)
    assert report.schedule == replay(scene, report.schedule).schedule
    assert replay(scene, report.schedule, hazards=hazards).schedule == report.schedule


def test_a_text_that_names_unknown_hazards_is_refused() -> None:
    with pytest.raises(ValueError, match="no 'speed'"):
        replay(lambda world: None, "1:1;speed=3")


def test_a_finding_of_the_plain_course_is_shown_without_a_step() -> None:
    def scene(world: World) -> None:
        world.declare("jobs", b"1")

    report = explore(scene, depth=0, seeds=1)
    assert (report.schedule, report.faults, [each.kind for each in report.findings]) == ("", (), [Kind.LEFT])


def test_a_program_that_differs_from_run_to_run_is_a_finding() -> None:
    runs = count()

    def scene(world: World) -> None:
        world.declare("jobs", b"1")

        async def consumer(process: Process) -> None:
            await process.sleep(next(runs))

        world.start(consumer)

    report = explore(scene, depth=0, seeds=0)
    (unsteady,) = [each for each in report.findings if each.kind is Kind.UNSTEADY]
    assert "two runs of one schedule differ: once" in unsteady.text


@pytest.mark.parametrize("promise", [Promise.EXACTLY_ONCE])
def test_what_one_fault_suffices_for_is_shown_with_one(promise: Promise) -> None:
    def scene(world: World) -> None:
        world.declare("jobs", b"1", b"2", b"3")

        async def consumer(process: Process) -> None:
            async with process.connect() as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("jobs"):
                    world.worked(delivery.body)
                    await process.sleep(1.0)
                    await delivery.accept()

        world.start(consumer)

    report = explore(scene, depth=0, seeds=100, promise=promise, random_hazards=MANY)
    assert len(report.faults) == 1
    assert {each.kind for each in report.findings} == {Kind.DOUBLED}


def test_the_order_of_steps_is_shrunk_where_no_fault_is_needed() -> None:
    """Only steps out of order break this one: the second publisher is first."""

    def scene(world: World) -> None:
        world.declare("jobs", b"1")
        order: list[str] = []

        async def begin(process: Process) -> None:
            await process.sleep(0.0)
            order.append(process.name)
            if order == ["b", "a"]:
                raise AssertionError(order)

        async def consumer(process: Process) -> None:
            async with process.connect() as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("jobs"):
                    world.worked(delivery.body)
                    await delivery.accept()

        world.start(consumer)
        world.start(begin, name="a", restarts=False)
        world.start(begin, name="b", restarts=False)

    report = explore(scene, depth=0, seeds=50, random_hazards=Hazards(faults=(), most=0, pieces=True))
    assert [each.kind for each in report.findings] == [Kind.FAILED]
    assert len(report.schedule.partition(";")[0].split(",")) <= 2
