"""Hooks of the blocking adapter see what is published, delivered and settled, in every version that it has them in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_1_0, Version
from amqp_sansio.client.hooks import Delivering, Hooks, Publishing, Settling
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect


@pytest.mark.parametrize("version", [AMQP_0_8, AMQP_0_9_1, AMQP_1_0], ids=lambda each: each.label)
def test_hooks_see_every_message_of_a_connection(version: Version, amqp_broker: EmbeddedBroker) -> None:
    published: list[Publishing] = []
    delivered: list[Delivering] = []
    settled: list[Settling] = []

    def publish(message: Publishing) -> Mapping[str, Any]:
        published.append(message)
        return {"number": len(published)}

    def deliver(message: Delivering) -> int:
        delivered.append(message)
        return len(delivered)

    amqp_broker.preload({"queues": ["jobs"]})
    hooks = Hooks(on_publish=publish, on_deliver=deliver, on_settle=settled.append)
    connection: Any = connect(amqp_broker.url, version=version, hooks=hooks)
    found: list[Any] = []
    channel: Any = None
    with connection:
        if version is AMQP_1_0:
            session = connection.open_session()
            with session.open_sender("jobs") as sender:
                for number in range(4):
                    sender.send_text(f"{number}")
            source = session.open_receiver("jobs", timeout=10)
        else:
            channel = connection.open_channel()
            for number in range(4):
                channel.publish_text(f"{number}", routing_key="jobs")
            source = channel.consume("jobs", timeout=10)
        with source:
            for delivery, settle in zip(source, ("accept", "reject", "release", "accept"), strict=False):
                getattr(delivery, settle)()
                found.append(delivery)
                if len(found) == 4:
                    break
        if channel is not None:
            channel.publish_text("last", routing_key="jobs")
            while (got := channel.get("jobs")) is not None and got.text != "last":
                got.accept()
            assert got is not None and got.context == len(delivered)
            got.accept(multiple=True)
            assert settled[-1] == ("accepted", got.context, True)
    assert [each.headers["number"] for each in delivered][:4] == [1, 2, 3, 4]
    bodies = [each.delivery.text for each in delivered][:4]
    assert bodies == [each.text for each in found] == ["0", "1", "2", "3"]
    assert [(each.outcome, each.context) for each in settled][:4] == [
        ("accepted", 1),
        ("rejected", 2),
        ("released", 3),
        ("accepted", 4),
    ]
