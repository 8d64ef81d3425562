"""Consumers: deliveries and what becomes of them, bounds, and how an iteration ends."""

from __future__ import annotations

import itertools
from collections.abc import Generator

import pytest

from amqp_sansio.amqp_0_9_1 import MethodReceived
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_sync import Channel, connect
from amqp_sansio_sync.transport import Transport
from tests.kit.inside import driver_of
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, finished, started, wait_until


def fill_jobs(broker: ScriptedBroker, count: int, size: int = 1) -> None:
    """Put messages into the queue "jobs"."""
    broker.fill("jobs", *[(b"%d" % n).ljust(size) for n in range(count)])


def settlements(broker: ScriptedBroker) -> list[str]:
    """The names of the settling methods that came."""
    methods = [event.method for event in broker.peer.of(MethodReceived)]
    return [method.NAME for method in methods if method.NAME.startswith("basic.")]


@pytest.fixture
def channel(broker: ScriptedBroker) -> Generator[Channel]:
    """A channel of a connection of its own."""
    with connect(broker.url) as connection:
        yield connection.open_channel()


def test_settlements_go_together(broker: ScriptedBroker, channel: Channel, monkeypatch: pytest.MonkeyPatch) -> None:
    """One write for each would be most of what a consumer costs."""
    fill_jobs(broker, 500)
    writes: list[int] = []
    whole = Transport.write

    def counting(transport: Transport, octets: bytes | memoryview) -> int:
        writes.append(len(octets))
        return whole(transport, octets)

    with channel.consume("jobs", prefetch=500, timeout=WAIT) as deliveries:
        taken = [next(deliveries)]
        channel.call(QueueDeclare("other", durable=True))  # its answer comes behind the deliveries
        assert len(deliveries._inbox.items) == 499  # pyright: ignore[reportPrivateUsage]
        monkeypatch.setattr(Transport, "write", counting)
        for delivery in itertools.islice(deliveries, 499):
            taken[-1].accept()
            taken.append(delivery)
        taken[-1].accept()
        wait_until(lambda: len(settlements(broker)) == 500)
    assert len(writes) < 250


@pytest.mark.parametrize("another_waits", [False, True])
def test_a_settlement_is_told_by_itself(broker: ScriptedBroker, channel: Channel, another_waits: bool) -> None:
    fill_jobs(broker, 3)
    broker.fill("nothing")
    other = channel.consume("nothing", timeout=None)
    waiting = started(next, other, None) if another_waits else None
    deliveries = channel.consume("jobs", prefetch=3, timeout=WAIT)
    one = next(deliveries)
    channel.call(QueueDeclare("other", durable=True))  # its answer comes behind the deliveries
    assert len(deliveries._inbox.items) == 2  # pyright: ignore[reportPrivateUsage]
    one.accept()
    # Two are there already, and nobody calls anything any more.
    wait_until(lambda: settlements(broker) == ["basic.ack"])
    # The keeper's haste is over soon.
    wait_until(lambda: not driver_of(channel)._hurried)
    deliveries.close()
    other.close()
    if waiting is not None:
        finished(waiting)
