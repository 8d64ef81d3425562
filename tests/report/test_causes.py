"""The first finding is the cause: of a silent peer, a consumer that is too slow, a message that nobody can work on."""

from __future__ import annotations

import re
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.broker import Settings
from amqp_sansio.messaging import Message
from amqp_sansio.testing.simulate import Process
from amqp_sansio_report.findings import Finding, findings
from amqp_sansio_report.report import report_segments
from tests.kit.recorded_world import RecordedWorld
from tests.report.making import rows_in

VERSIONS = pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
Program = Callable[[Process], Coroutine[Any, Any, None]]


def new_world(heartbeat: float = 0) -> RecordedWorld:
    world = RecordedWorld(settings=Settings(seed=b"broker", heartbeat=heartbeat, auto_create=True))
    world.declare("jobs")
    world.declare("fast")
    return world


def run(world: RecordedWorld, *programs: Program, seconds: float) -> RecordedWorld:
    with world:
        for program in programs:
            world.start(program, restarts=False)
        world.pass_time(seconds)
    return world


def first_finding(world: RecordedWorld) -> tuple[Finding, dict[str, Any]]:
    """The first finding, which the page has too, and the row of its connection."""
    segments = world.segments()
    report = report_segments(segments)
    found = findings(report.gather)[0]
    text = report.text()
    assert f"- {found.level}: {found.text}: {found.more}" in re.sub(" +", " ", text)
    assert found.connection in {one.connection for one in report.diagrams}
    (row,) = [row for row in rows_in(segments)["connections"] if row["connection"] == found.connection]
    return found, row


def publisher(version: Version, bodies: int, every: float) -> Program:
    async def publish(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version, connection_name="shop") as connection,
            connection.sender("/queues/jobs") as sender,
        ):
            for number in range(bodies):
                await sender.send(Message(b"job %d" % number, message_id=f"m{number}"))
                await process.sleep(every)
            await process.sleep(1000)

    return publish


@VERSIONS
def test_a_heartbeat_timeout_says_who_was_silent_for_how_long(version: Version) -> None:
    async def hangs(process: Process) -> None:
        url = "amqp://broker/?heartbeat=10"
        async with (
            process.messaging(url, version=version, connection_name="worker-7") as connection,
            connection.receiver("/queues/jobs", credit=5),
        ):
            await process.sleep(25)
            (line,) = world.lines
            line.up.held_until = 1000.0
            await process.sleep(1000)

    world = new_world(heartbeat=10)
    run(world, hangs, seconds=100)
    found, row = first_finding(world)
    assert found.text == "1 connection lost to a heartbeat timeout"
    assert row["connection_name"] is not None and row["connection_name"].startswith("worker-7")
    silent = re.search(
        r"heartbeat timeout: the client sent nothing for ([\d.]+) s, 10 s were agreed, and the server ended the "
        "connection by (a FIN|a reset|its close)",
        row["hint"],
    )
    assert silent is not None and 10 <= float(silent[1]) <= 25
    assert row["hint"] in found.more and "worker-7" in found.more and row["client"] in found.more
    assert str(row["client_product"]) in found.more


@VERSIONS
def test_a_slow_consumer_is_named_with_its_queues_backlog(version: Version) -> None:
    def consumer(name: str, queue: str, seconds: float) -> Program:
        async def consume(process: Process) -> None:
            url = "amqp://broker/"
            async with (
                process.messaging(url, version=version, connection_name=name) as connection,
                connection.receiver(f"/queues/{queue}", credit=2) as receiver,
            ):
                async for delivery in receiver:
                    await process.sleep(seconds)
                    await delivery.accept()

        return consume

    async def other(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version) as connection,
            connection.sender("/queues/fast") as sender,
        ):
            for number in range(40):
                await sender.send(Message(b"quick %d" % number))
                await process.sleep(0.5)
            await process.sleep(1000)

    consumers = consumer("slow", "jobs", 5), consumer("quick", "fast", 0.01)
    world = run(new_world(), publisher(version, 40, 0.5), other, *consumers, seconds=60)
    found, row = first_finding(world)
    words = re.fullmatch(r"a consumer had no room for ([\d.]+) (?:s|min) \(\d+ % of its time\)", found.text)
    assert words is not None and found.level == "warning"
    assert row["connection_name"].startswith("slow")
    assert "slow" in found.more and row["client"] in found.more and "jobs" in found.more
    backlog = re.search(r"40 published to it, (\d+) delivered, (\d+) ready at the end, (\d+) at most", found.more)
    assert backlog is not None, found.more
    delivered, ready, most = map(int, backlog.groups())
    assert 10 <= delivered <= 16 and ready == 40 - delivered and most > ready


@VERSIONS
def test_a_poison_loop_is_named(version: Version) -> None:
    async def gives_back(process: Process) -> None:
        async with (
            process.messaging("amqp://broker/", version=version, connection_name="parser") as connection,
            connection.receiver("/queues/jobs", credit=1) as receiver,
        ):
            async for delivery in receiver:
                if bytes(delivery.message.body) == b"job 3":
                    await process.sleep(1)
                    await delivery.release()
                else:
                    await delivery.accept()

    found, row = first_finding(run(new_world(), publisher(version, 6, 0.01), gives_back, seconds=20))
    times = re.fullmatch(r"a poison loop: the same message was delivered (\d+) times", found.text)
    assert times is not None and 15 <= int(times[1]) <= 22
    assert row["connection_name"].startswith("parser")
    assert "parser" in found.more and row["client"] in found.more
    # The neutral message's id is no UUID, so 0-10 has none.
    message = "a message of 5 B" if version is AMQP_0_10 else "message m3"
    assert f"{message} of queue jobs" in found.more and "consumer" in found.more
