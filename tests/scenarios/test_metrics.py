"""The metrics of a client: what it has done, counted in every version and by every adapter."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.client.metrics import Metrics
from amqp_sansio.client.recovery import RecoveryPolicy
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World
from tests.scenarios.test_hooks import publish, take

VERSIONS = (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0)
each_version = pytest.mark.parametrize("version", VERSIONS, ids=lambda each: each.label)
SOON = RecoveryPolicy(first_delay=0.01, jitter=0.0)


@each_version
async def test_messages_are_counted(world: World, broker: ScriptedBroker, version: Version) -> None:
    broker.fill("jobs")
    opening: Any = world.connect(broker.url, version)
    async with opening as connection:
        await publish(connection, version, "jobs", {})
        await take(connection, version, "jobs")
        metrics: Metrics = connection.metrics
        # What was released may have come again by now.
        assert (metrics.published, metrics.accepted, metrics.rejected, metrics.released) == (4, 2, 1, 1)
        assert metrics.delivered in (4, 5)
        assert metrics.confirmed == (0 if version in (AMQP_0_8, AMQP_0_9_1) else 4)
        assert (metrics.is_open, metrics.opened, metrics.is_blocked) == (True, 1, False)
        assert metrics.channels == 1
        assert metrics.octets_in > 100
        assert metrics.octets_out > 100
    values = metrics.snapshot()
    assert values["amqp_client_published_total"] == 4
    assert values['amqp_client_settled_total{outcome="accepted"}'] == 2
    assert values["amqp_client_connections"] == values["amqp_client_channels"] == 0


async def test_outcomes_are_counted_by_kind(world: World, broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"1", b"2", b"3")
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel(confirm=True)
        await channel.publish(b"", routing_key="jobs")
        await channel.publish(b"", routing_key="nobody", mandatory=True)
        metrics = connection.metrics
        assert (metrics.published, metrics.confirmed, metrics.returned) == (2, 1, 1)
        first = await channel.get("jobs")
        second = await channel.get("jobs")
        assert first is not None and second is not None
        await second.accept(multiple=True)
        assert (metrics.delivered, metrics.accepted) == (2, 2)


@each_version
async def test_a_recovery_is_counted_and_told(world: World, broker: ScriptedBroker, version: Version) -> None:
    told: list[tuple[bool, bool, int, int]] = []

    def changed(metrics: Metrics) -> None:
        told.append((metrics.is_open, metrics.is_recovering, metrics.lost, metrics.recovered))

    opening: Any = world.connect(broker.url, version, recover=SOON, on_metrics=changed)
    async with opening as connection:
        broker.peer.cut()
        await world.until(lambda: connection.metrics.recovered == 1)
        assert connection.metrics.opened == 2
    assert told[:3] == [(True, False, 0, 0), (False, True, 1, 0), (True, False, 1, 1)]
    assert told[-1] == (False, False, 1, 1)


async def test_blocked_time_is_counted(world: World, broker: ScriptedBroker) -> None:
    async with world.connect(broker.url) as connection:
        channel = await connection.open_channel()
        await channel.publish(b"", routing_key="jobs")
        broker.faults.block("memory")
        await world.until(lambda: connection.metrics.is_blocked)
        await world.pause(0.2)
        broker.faults.unblock()
        await world.until(lambda: not connection.metrics.is_blocked)
        assert connection.metrics.blocked_seconds >= 0.15


async def test_a_callback_that_fails_costs_a_line_in_the_log(
    world: World, broker: ScriptedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Metrics) -> None:
        raise ZeroDivisionError("a bug")

    async with world.connect(broker.url, on_metrics=fail) as connection:
        await connection.open_channel()
    assert "on_metrics has failed: ZeroDivisionError('a bug')" in caplog.text
