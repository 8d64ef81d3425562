"""A disposition costs what it settles: one that settles nothing can't be had for 58 octets, again and again.

1.0 part 2 section 2.7.6. Steps are the lines of the engine that run, not time.
"""

from typing import Any

import pytest

from amqp_sansio import Failed, Settled
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.model.link_state import EACH, FREE
from tests.kit.links_1_0 import BODY, Mapped, flow
from tests.kit.octets_1_0 import octets_of
from tests.kit.steps import count_steps
from tests.kit.talk_1_0 import Talk10, credit, transfer

COUNT = 2000
"""Deliveries that stay unsettled."""
FRAMES = 60


STATES = (amqp.spec.Received(0, 0), amqp.spec.Received(0, 1))


def sending(count: int = COUNT, *, auto_settle: bool = True) -> tuple[Mapped, Any]:
    """A sender with `count` unsettled deliveries."""
    facing = Mapped.begun(incoming_window=1 << 20)
    link = facing.sender(credit=count, auto_settle=auto_settle)
    for _ in range(count):
        link.send(amqp.Message("m"))
    facing.settle()
    facing.forget()
    return facing, link


def receiving(count: int = COUNT) -> tuple[Mapped, Any]:
    """A receiver with `count` unsettled deliveries."""
    facing = Mapped.begun(config=amqp.Config("c", incoming_window=1 << 20))
    link = facing.receiver(credit=count)
    for number in range(count):
        facing.get(spec.Transfer(0, number, number.to_bytes(4, "big"), 0), BODY)
    facing.forget()
    return facing, link


def repeat(facing: Mapped, frames: list[spec.Disposition]) -> int:
    """The steps that many range dispositions cost."""
    octets = [octets_of(each, facing.channel) for each in frames]
    assert max(map(len, octets)) <= 58
    return count_steps(lambda: [facing.feed(each) for each in octets])


def refused(facing: Mapped) -> list[str]:
    """The conditions with which the endpoint ended something."""
    return [event.error.condition for event in facing.of(Failed)]


@pytest.mark.rule("1.0/transport/error/resource-limit")
def test_states_that_a_receiver_tells_again_and_again_are_bounded() -> None:
    """Before, each frame took a step for each of the deliveries and more: 60 frames over 2,000 of them, 2 million."""
    facing, _ = sending()
    frames = [spec.Disposition(True, 0, COUNT - 1, False, STATES[index % 2]) for index in range(FRAMES)]
    assert repeat(facing, frames) < 60 * EACH * COUNT
    assert refused(facing) == ["amqp:resource-limit-exceeded"]
    assert len(facing.of(amqp.Updated)) == EACH


@pytest.mark.rule("1.0/transport/error/resource-limit")
def test_states_that_a_sender_tells_again_and_again_are_bounded() -> None:
    facing, _ = receiving()
    frames = [spec.Disposition(False, 0, COUNT - 1, False, amqp.Accepted()) for _ in range(FRAMES)]
    assert repeat(facing, frames) < 60 * EACH * COUNT
    assert refused(facing) == ["amqp:resource-limit-exceeded"]
    assert len(facing.of(amqp.DeliveryUpdated)) == EACH


@pytest.mark.parametrize("settled", [False, True])
def test_ranges_without_deliveries_are_bounded(settled: bool) -> None:
    """Nothing is there of what they name."""
    facing, _ = sending()
    frames = [spec.Disposition(True, 10_000, 10_000 + COUNT - 2, settled, amqp.Accepted()) for _ in range(FRAMES)]
    assert repeat(facing, frames) < 60 * EACH * COUNT
    assert refused(facing) == ["amqp:resource-limit-exceeded"]


def test_what_says_nothing_costs_nothing() -> None:
    facing, _ = sending()
    assert repeat(facing, [spec.Disposition(True, 0, COUNT - 1) for _ in range(FRAMES)]) < 300 * FRAMES
    assert not refused(facing)


def test_each_transfer_pays_for_some_words() -> None:
    """What receivers do is let in: progress, an outcome, and the settlement, over all at once."""
    facing, link = sending(auto_settle=False)
    for round_ in range(3):
        for state in (*STATES, amqp.Accepted()):
            last = (round_ + 1) * COUNT - 1
            facing.get(spec.Disposition(True, last - COUNT + 1, last, False, state))
        facing.get(spec.Disposition(True, 0, (round_ + 1) * COUNT - 1, True, amqp.Accepted()))
        assert not link.unsettled
        facing.get(flow(handle=0, delivery_count=link.delivery_count, link_credit=COUNT, incoming_window=1 << 20))
        for _ in range(COUNT):
            link.send(amqp.Message("m"))
        facing.settle()
    assert not refused(facing)
    assert sum(len(event.pendings) for event in facing.of(Settled)) == 3 * COUNT


def test_small_ranges_are_free() -> None:
    facing, _ = sending(FREE)
    for index in range(5 * EACH):
        facing.get(spec.Disposition(True, 0, FREE - 1, False, STATES[index % 2]))
    assert not refused(facing)


def test_ids_that_a_peer_skips_pay_for_nothing() -> None:
    """A flow may say any next-outgoing-id."""
    facing, _ = receiving()
    frames = [spec.Disposition(False, 0, COUNT - 1, False, amqp.Accepted()) for _ in range(EACH)]
    repeat(facing, frames)
    assert not refused(facing)
    facing.get(flow(next_outgoing_id=1 << 30))
    repeat(facing, frames[:1])
    assert refused(facing) == ["amqp:resource-limit-exceeded"]


@pytest.mark.rule("1.0/transport/error/resource-limit")
@pytest.mark.parametrize("state", [amqp.spec.Received(0, 0), spec.TransactionalState(b"t", amqp.Accepted())])
def test_an_observer_reports_what_an_endpoint_refuses(state: Any) -> None:
    count = 900
    talk = Talk10(twice=False).open().session().sender().server(credit(0, count))
    talk.client(*[transfer(number, amqp.Message("m")) for number in range(count)])
    frames = [octets_of(spec.Disposition(True, 0, count - 1, False, state)) for _ in range(FRAMES)]
    assert count_steps(lambda: talk.server(*frames).events) < 60 * EACH * count
    assert talk.rules == ["1.0/transport/error/resource-limit"] * (FRAMES - EACH)
