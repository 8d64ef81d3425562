"""Recovery of blocking clients from brokers that are killed and networks that are cut: nothing confirmed is lost.

See `test_recovery_asyncio` for the numbers.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, Accepted, StaleDelivery, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio_sync import connect
from tests.interop.brokers.brokerj import BrokerJ
from tests.interop.brokers.cutting import CuttingRelay
from tests.interop.brokers.rabbitmq import RabbitMQ, run_rabbitmq
from tests.interop.test_recovery_asyncio import MESSAGES, POLICY, RESTARTS, WINDOW


@pytest.fixture(scope="module")
def mortal(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RabbitMQ]:
    """A node of this module's own, to be killed."""
    with run_rabbitmq(tmp_path_factory.mktemp("mortal")) as node:
        yield node


class Run:
    """Confirmed publishes of numbers, at most WINDOW of them in doubt at a time."""

    def __init__(self, connection: Any, queue: str) -> None:
        self.connection = connection
        self.queue = queue
        self.confirmed = 0
        self.progress = threading.Condition()

    def publish(self) -> None:
        channel = self.connection.open_channel(confirm=True)
        channel.declare_queue(self.queue, durable=True)
        sent: list[Any] = []
        for number in range(MESSAGES):
            properties = BasicProperties(delivery_mode=2, message_id=str(number))
            sent.append(channel.publish(b"x" * 50, routing_key=self.queue, properties=properties, wait=False))
            if len(sent) >= WINDOW or number == MESSAGES - 1:
                assert all(each.result(120) == Accepted() for each in sent)
                with self.progress:
                    self.confirmed += len(sent)
                    self.progress.notify_all()
                sent.clear()

    def consumed(self) -> tuple[int, list[int]]:
        """Take all messages; return how many numbers there were, and those that came more than once unmarked."""
        channel = self.connection.open_channel()
        found: set[int] = set()
        unmarked: list[int] = []
        with channel.consume(self.queue, prefetch=500, timeout=120) as consumer:
            for delivery in consumer:
                number = int(delivery.properties.message_id)
                if number in found and not (delivery.redelivered or "x-publish-try" in delivery.headers):
                    unmarked.append(number)
                found.add(number)
                with suppress(StaleDelivery):  # It comes again.
                    delivery.accept()
                if len(found) == MESSAGES:
                    return len(found), unmarked
        raise AssertionError("the consumer ended")


def test_a_broker_that_is_killed_loses_nothing(mortal: RabbitMQ) -> None:
    with connect(mortal.url, recover=POLICY) as connection:
        run = Run(connection, "killed")
        publishing = threading.Thread(target=run.publish)
        publishing.start()
        for turn in range(1, RESTARTS + 1):
            with run.progress:
                assert run.progress.wait_for(lambda: run.confirmed >= MESSAGES * turn // (RESTARTS + 1), 120)  # noqa: B023
            mortal.kill()
            mortal.start_again()
        publishing.join(600)
        assert run.consumed() == (MESSAGES, [])


@pytest.mark.parametrize("seed", [1, 2])
def test_a_cut_network_loses_nothing(rabbitmq: RabbitMQ, seed: int) -> None:
    _cut(rabbitmq.url, rabbitmq.port, AMQP_0_9_1, f"sync-cut-{seed}", seed)


@pytest.mark.parametrize("version", [AMQP_0_9_1])
def test_a_cut_network_before_broker_j_loses_nothing(brokerj: BrokerJ, version: Version) -> None:
    _cut(brokerj.url, brokerj.port, version, f"sync-cut-{version.label}", 3)


def _cut(url: str, port: int, version: Version, queue: str, seed: int) -> None:
    with CuttingRelay(port, seed, 3 * RESTARTS, 40 * MESSAGES) as relay:
        through = url.replace(f":{port}/", f":{relay.port}/")
        with connect(through, version=version, recover=POLICY) as connection:
            run = Run(connection, queue)
            run.publish()
            assert run.consumed() == (MESSAGES, [])
        assert relay.cuts_left < 3 * RESTARTS - 1
