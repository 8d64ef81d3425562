"""1.0 on the broker: messages that ask to be delivered later, by their annotations."""

from __future__ import annotations

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.hub_1_0 import World

DELAY, TIME = amqp.Symbol("x-opt-delivery-delay"), amqp.Symbol("x-opt-delivery-time")


def later(body: bytes, **annotations: object) -> amqp.Message:
    return amqp.Message(
        body, message_annotations={amqp.Symbol(f"x-opt-delivery-{k}"): v for k, v in annotations.items()}
    )


def test_a_message_waits_for_its_delay_and_for_its_time() -> None:
    world = World(epoch=1_000_000.0)
    world.queue("jobs")
    world.advance(10)
    user = world.connect()
    sender = user.sender("jobs")
    messages = (
        later(b"delay", delay=3000),
        later(b"time", time=1_000_012_000),
        later(b"past", time=1_000_000_000),
        later(b"both", delay=1000, time=2_000_000_000),
    )
    assert user.send(sender, *messages) == [amqp.Accepted()] * 4
    assert world.state("jobs") == (1, 0)
    found: list[tuple[float, int]] = []
    for _ in range(4):
        found.append((world.now, world.state("jobs")[0]))
        world.advance(1)
    assert found == [(10, 1), (11, 2), (12, 3), (13, 4)]


@pytest.mark.parametrize("value", ["soon", -1, True])
def test_what_is_no_time_is_refused(value: object) -> None:
    world = World()
    world.queue("jobs")
    user = world.connect()
    (outcome,) = user.send(user.sender("jobs"), later(b"x", delay=value))
    assert isinstance(outcome, amqp.Rejected)
    assert "x-opt-delivery-delay" in str(outcome.error)
    assert world.state("jobs") == (0, 0)


def test_a_transaction_delays_from_its_end_on() -> None:
    world = World()
    world.queue("jobs")
    user = world.connect()
    sender = user.sender("jobs")
    controller = user.controller(user.session())
    txn = user.declare(controller)
    user.send(sender, later(b"x", delay=1000), state=spec.TransactionalState(txn))
    world.advance(5)
    user.discharge(controller, txn)
    assert world.state("jobs") == (0, 0)
    world.advance(1)
    assert world.state("jobs") == (1, 0)
