"""Recovery of 0-10 and 1.0 in both adapters: a network that is cut loses nothing that the broker has accepted."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from amqp_sansio import Accepted, StaleDelivery
from amqp_sansio.messaging import Message
from amqp_sansio_sync import connect as connect_blocking
from tests.interop.brokers.cutting import CuttingRelay
from tests.interop.test_recovery_0_9_1 import POLICY, RESTARTS
from tests.kit.worlds import World

MESSAGES = 1000
WINDOW = 100


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("rabbitmq", "version=1.0&addresses=rabbitmq3"),
        ("brokerj", "version=1.0&addresses=qpid"),
        ("brokerj", "version=0-10"),
    ],
)
def test_a_cut_network_loses_nothing(world: World, kind: str, query: str, request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue(kind)
    queue = request.node.name.replace("[", "-").replace("]", "")
    with connect_blocking(broker.url) as connection:
        connection.open_channel().declare_queue(queue, durable=True)

    async def main() -> None:
        with CuttingRelay(broker.port, 1, 3 * RESTARTS, 80 * MESSAGES) as relay:
            through = f"amqp://{broker.user}:{broker.password}@{broker.host}:{relay.port}/?{query}"
            async with world.connect_any(through, recover=POLICY) as connection:
                # This Broker-J keeps messages in memory, and says so in 1.0.
                async with connection.sender(f"/queues/{queue}") as sender:
                    await publish(sender, durable="qpid" not in query)
                async with connection.receiver(f"/queues/{queue}", credit=WINDOW) as receiver:
                    found = await consume(receiver)
            assert found == set(range(MESSAGES))
            assert relay.cuts_left < 3 * RESTARTS - 1

    world.run(main(), 100)


async def publish(sender: Any, *, durable: bool) -> None:
    """Send all numbers, WINDOW of them in doubt at a time."""
    for begin in range(0, MESSAGES, WINDOW):
        sent = [
            await sender.send(Message(b"%d" % number, durable=durable), wait=False)
            for number in range(begin, begin + WINDOW)
        ]
        for each in sent:
            assert await each == Accepted()


async def consume(receiver: Any) -> set[int]:
    """Take all numbers; some come twice, because they were sent again, or delivered again."""
    found: set[int] = set()
    async for delivery in receiver:
        found.add(int(delivery.message.body))
        with suppress(StaleDelivery):
            await delivery.accept()
        if len(found) == MESSAGES:
            break
    return found
