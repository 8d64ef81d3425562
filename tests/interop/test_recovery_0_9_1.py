"""Recovery of both adapters from brokers that are killed and networks that are cut: nothing confirmed is lost.

RECOVERY_RESTARTS and RECOVERY_MESSAGES say how often, and how many messages.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from amqp_sansio import Accepted, StaleDelivery
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.client.recovery import Recovered, RecoveryPolicy
from tests.interop.brokers.cutting import CuttingRelay
from tests.interop.brokers.rabbitmq import RabbitMQ, run_rabbitmq
from tests.kit.worlds import World

RESTARTS = int(os.environ.get("RECOVERY_RESTARTS", "3"))
MESSAGES = int(os.environ.get("RECOVERY_MESSAGES", "3000"))
POLICY = RecoveryPolicy(first_delay=0.05, ceiling=1.0, deadline=120.0)
WINDOW = 200


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    """A node of this module's own, to be killed."""
    with run_rabbitmq(tmp_path_factory.mktemp("mortal")) as node:
        yield node


class Run:
    """Confirmed publishes of numbers, at most WINDOW of them in doubt at a time."""

    def __init__(self, world: World, connection: Any, queue: str) -> None:
        self.world = world
        self.connection = connection
        self.queue = queue
        self.confirmed = 0
        self.events: list[Recovered] = []

    async def publish(self) -> None:
        channel = await self.connection.open_channel(confirm=True)
        await channel.declare_queue(self.queue, durable=True)
        self.world.start(self._watch())
        sent: list[Any] = []
        for number in range(MESSAGES):
            properties = BasicProperties(delivery_mode=2, message_id=str(number))
            sent.append(await channel.publish(b"x" * 50, routing_key=self.queue, properties=properties, wait=False))
            if len(sent) >= WINDOW:
                await self._settled(sent)
        await self._settled(sent)

    async def consumed(self) -> tuple[int, list[int]]:
        """Take all messages; return how many numbers there were, and those that came more than once unmarked.

        A message may come twice if it was sent again, or delivered again.
        """
        channel = await self.connection.open_channel()
        found: set[int] = set()
        unmarked: list[int] = []
        async with channel.consume(self.queue, prefetch=500) as consumer:
            async for delivery in consumer:
                number = int(delivery.properties.message_id)
                if number in found and not (delivery.redelivered or "x-publish-try" in delivery.headers):
                    unmarked.append(number)
                found.add(number)
                with suppress(StaleDelivery):  # It comes again.
                    await delivery.accept()
                if len(found) == MESSAGES:
                    return len(found), unmarked
        raise AssertionError("the consumer ended")

    async def _settled(self, sent: list[Any]) -> None:
        for each in sent:
            assert await each == Accepted()
            self.confirmed += 1
        sent.clear()

    async def _watch(self) -> None:
        async with self.connection.events(Recovered) as events:
            async for event in events:
                self.events.append(event)


def test_a_broker_that_is_killed_loses_nothing(world: World, mortal: RabbitMQ, request: pytest.FixtureRequest) -> None:
    async def kill(run: Run) -> None:
        for turn in range(1, RESTARTS + 1):
            while run.confirmed < MESSAGES * turn // (RESTARTS + 1):
                await world.pause(0.01)
            mortal.kill()
            starting = threading.Thread(target=mortal.start_again)
            starting.start()
            while starting.is_alive():
                await world.pause(0.01)

    async def main() -> None:
        async with world.connect(mortal.url, recover=POLICY) as connection:
            run = Run(world, connection, request.node.name)
            killing = world.start(kill(run))
            await run.publish()
            await killing
            assert await run.consumed() == (MESSAGES, [])
            assert len(run.events) >= RESTARTS
            assert sum(event.resent for event in run.events)

    world.run(main(), 3600)


@pytest.mark.parametrize(("kind", "seed"), [("rabbitmq", 1), ("rabbitmq", 2), ("brokerj", 3)])
def test_a_cut_network_loses_nothing(world: World, kind: str, seed: int, request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue(kind)

    async def main() -> None:
        with CuttingRelay(broker.port, seed, 3 * RESTARTS, 40 * MESSAGES) as relay:
            through = broker.url.replace(f":{broker.port}/", f":{relay.port}/")
            async with world.connect(through, recover=POLICY) as connection:
                run = Run(world, connection, request.node.name)
                await run.publish()
                assert await run.consumed() == (MESSAGES, [])
            assert run.events
            assert relay.cuts_left < 3 * RESTARTS - 1

    world.run(main(), 600)
