"""Recovery of both adapters from brokers that are killed and networks that are cut: nothing accepted is lost.

RECOVERY_RESTARTS and RECOVERY_MESSAGES say how often, and how many messages; `-rP` shows what became of them.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from amqp_sansio import Accepted, StaleDelivery
from amqp_sansio.client.recovery import TRIES, Recovered, RecoveryPolicy
from amqp_sansio.messaging import Message
from amqp_sansio_sync import connect as connect_blocking
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.cutting import CuttingRelay
from tests.interop.brokers.process import Program
from tests.interop.brokers.rabbitmq import RabbitMQ
from tests.kit.worlds import World

RESTARTS = int(os.environ.get("RECOVERY_RESTARTS", "2"))
MESSAGES = int(os.environ.get("RECOVERY_MESSAGES", "1000"))
POLICY = RecoveryPolicy(first_delay=0.05, ceiling=1.0, deadline=900.0)
WINDOW = 100
QUERIES = {
    "rabbitmq": ("version=0-9-1", "version=1.0&addresses=rabbitmq3"),
    "brokerj": ("version=0-9-1", "version=0-10", "version=1.0&addresses=qpid"),
}


class Run:
    """Numbers that go through a queue of their own in one version, and what becomes of them."""

    def __init__(self, world: World, broker: Any, query: str, name: str, *, durable: bool = True) -> None:
        self.world = world
        self.broker = broker
        self.query = query
        self.queue = f"{name.split('[')[0]}-{world.name}-{query}"
        self.durable = durable
        # 1.0 has no header for a message that is sent again; Broker-J's store doesn't know what was delivered before.
        self.marks = "version=1.0" not in query and not (durable and isinstance(broker, BrokerJ))
        self.sent: list[Any] = []
        self.events: list[Recovered] = []
        self.found: Counter[int] = Counter()
        """The numbers that came, with the times that each did."""
        self.unmarked = 0
        """Those that came again, and were neither sent again nor delivered again by what they say."""
        with connect_blocking(broker.url) as connection:
            connection.open_channel().declare_queue(self.queue, durable=True)

    async def open(self, stack: AsyncExitStack, port: int) -> None:
        """Connect by a port; 1.0 names no virtual host."""
        url = f"amqp://{self.broker.user}:{self.broker.password}@{self.broker.host}:{port}/?{self.query}"
        self.connection = await stack.enter_async_context(self.world.connect_any(url, recover=POLICY))
        self.sender: Any = await stack.enter_async_context(self.connection.sender(f"/queues/{self.queue}"))
        self.world.start(self._watch())

    async def send(self, numbers: range) -> None:
        """Publish without waiting for the outcomes."""
        for number in numbers:
            message = Message(b"%d" % number, durable=self.durable, message_id=str(number))
            self.sent.append(await self.sender.send(message, wait=False))

    async def settle(self) -> None:
        """Wait until all is accepted."""
        for each in self.sent:
            assert await each == Accepted()
        self.sent.clear()

    async def consume(self) -> None:
        """Take all numbers."""
        async with self.connection.receiver(f"/queues/{self.queue}", credit=500) as receiver:
            async for delivery in receiver:
                number = int(delivery.message.body)
                self.found[number] += 1
                if self.found[number] > 1 and not (delivery.redelivered or TRIES in delivery.message.headers):
                    self.unmarked += 1
                with suppress(StaleDelivery):  # It comes again.
                    await delivery.accept()
                if len(self.found) == MESSAGES:
                    break

    def check(self) -> str:
        """Check that all came, and return a line about it."""
        assert set(self.found) == set(range(MESSAGES))
        assert self.unmarked == 0 or not self.marks
        resent = sum(event.resent for event in self.events)
        doubled = sum(self.found.values()) - MESSAGES
        return f"{self.query}: {len(self.events)} recoveries, {resent} sent again, 0 lost, {doubled} doubled"

    async def _watch(self) -> None:
        async with self.connection.native.events(Recovered) as events:
            async for event in events:
                self.events.append(event)


def kill(server: Program, seconds: float) -> None:
    """Kill a server after some time, and start it again."""
    time.sleep(seconds)
    server.kill()
    server.start_again()


async def move(world: World, runs: list[Run], port: int, server: Program | None = None) -> None:
    """Move all numbers, WINDOW of each run in doubt at a time; kill a server meanwhile, and start it again."""
    begun = time.monotonic()
    chance = random.Random(MESSAGES)
    killed = {MESSAGES * turn // (RESTARTS + 1) // WINDOW * WINDOW for turn in range(1, RESTARTS + 1) if server}
    async with AsyncExitStack() as stack:
        for run in runs:
            await run.open(stack, port)
        consuming = [world.start(run.consume()) for run in runs]
        for begin in range(0, MESSAGES, WINDOW):
            killing = threading.Thread(target=kill, args=(server, chance.random() / 50)) if begin in killed else None
            if killing:
                killing.start()
            await world.gather(*(run.send(range(begin, min(begin + WINDOW, MESSAGES))) for run in runs))
            await world.gather(*(run.settle() for run in runs))
            if killing:
                killing.join()
        for each in consuming:
            await each
    for run in runs:
        print(f"{MESSAGES} messages in {time.monotonic() - begun:.0f} s, {run.check()}")


@pytest.mark.parametrize("kind", ["mortal_rabbitmq", "mortal_brokerj"])
def test_a_broker_that_is_killed_loses_nothing(world: World, kind: str, request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue(kind)
    runs = [Run(world, broker, query, request.node.name) for query in QUERIES[kind.removeprefix("mortal_")]]
    if isinstance(broker, RabbitMQ):
        # It answers a declaration before that is on disk, and forgets the queue if it is killed within two seconds.
        broker.ctl("eval", "mnesia:sync_log().")
    world.run(move(world, runs, broker.port, broker.server), 7200)
    assert all(len(run.events) >= RESTARTS for run in runs)
    assert sum(event.resent for run in runs for event in run.events)


@pytest.mark.parametrize(("kind", "query"), [(kind, query) for kind in QUERIES for query in QUERIES[kind]])
def test_a_cut_network_loses_nothing(world: World, kind: str, query: str, request: pytest.FixtureRequest) -> None:
    broker = request.getfixturevalue(kind)
    # This Broker-J keeps messages in memory, and says so in 1.0.
    run = Run(world, broker, query, request.node.name, durable=kind == "rabbitmq")
    with CuttingRelay(broker.port, 1, 3 * RESTARTS, 60 * MESSAGES) as relay:
        world.run(move(world, [run], relay.port), 3600)
    assert run.events
    assert relay.cuts_left < 3 * RESTARTS - 1
