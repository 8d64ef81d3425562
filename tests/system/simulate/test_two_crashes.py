"""The schedule that `explore` shows of a fault that a hundred random runs find; tests/simulate has cheaper ones."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulate import Kind, Process, Report, Schedule, World, explore, replay
from amqp_sansio.testing.simulate.exploring import Scene
from tests.simulate.test_shrinking import MANY


def two_crashes(messages: int = 1, others: int = 1) -> Scene:
    """A consumer that accepts before it works once it has been started three times, among programs without a bug."""

    def scene(world: World) -> None:
        world.declare("jobs", *[b"m%d" % number for number in range(messages)])
        world.declare("noise", *[b"x%d" % number for number in range(messages)])
        starts: list[int] = []

        async def consumer(process: Process) -> None:
            starts.append(process.number)
            async with process.connect() as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("jobs", prefetch=4):
                    early = len(starts) >= 3 and delivery.redelivered
                    if early:
                        await delivery.accept()
                    await process.sleep(0.1)
                    world.worked(delivery.body)
                    if not early:
                        await delivery.accept()

        async def other(process: Process) -> None:
            async with process.connect() as connection, connection.open_channel() as channel:
                async for delivery in channel.consume("noise", prefetch=2):
                    await process.sleep(0.05)
                    world.worked(delivery.body)
                    await delivery.accept()

        world.start(consumer)
        for number in range(others):
            world.start(other, name=f"other{number}")

    return scene


@pytest.fixture(scope="module")
def report() -> Report:
    """The report of the first failure, which a random run with many faults has found."""
    return explore(two_crashes(), depth=0, seeds=300, random_hazards=MANY)


def test_the_schedule_that_is_shown_has_the_faults_that_matter_and_little_else(report: Report) -> None:
    # Three runs of the program are needed; each fault is one step off the plain course, and its span or way another.
    assert 2 <= len(report.faults) <= 3
    named = report.schedule.partition(";")[2]
    deviations = Schedule.parse(report.schedule).deviations
    assert len(deviations) <= 2 * len(report.faults)
    assert {each.kind for each in report.findings} == {Kind.LOST}
    for place in deviations:
        shorter = Schedule({key: pick for key, pick in deviations.items() if key != place})
        found = replay(two_crashes(), f"{shorter};{named}").findings
        assert Kind.LOST not in {each.kind for each in found}, f"{place} isn't needed"


def test_what_is_shown_is_replayed_with_the_same_findings_without_naming_the_hazards(report: Report) -> None:
    again = replay(two_crashes(), report.schedule)
    assert (again.findings, again.trace, again.faults) == (report.findings, report.trace, report.faults)
    assert f"again: replay(scene, {report.schedule!r})" in str(report)
