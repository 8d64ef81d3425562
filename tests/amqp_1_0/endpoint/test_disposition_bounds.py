"""From how many deliveries on a disposition is paid for, and how often (1.0 part 2 section 2.7.6)."""

from __future__ import annotations

import pytest

from amqp_sansio import Failed
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.model.link_state import EACH, FREE
from tests.kit.links_1_0 import Mapped

STATES = (amqp.spec.Received(0, 0), amqp.spec.Received(0, 1))


def sending(count: int) -> Mapped:
    """A sender with so many unsettled deliveries."""
    facing = Mapped.begun(incoming_window=1 << 20)
    link = facing.sender(credit=count)
    for _ in range(count):
        link.send(amqp.Message("m"))
    return facing.forget()


def tell(facing: Mapped, count: int, times: int) -> list[str]:
    """The receiver tells states of the first deliveries; returns the conditions with which that was refused."""
    for index in range(times):
        facing.get(spec.Disposition(True, 0, count - 1, False, STATES[index % 2]))
    return [event.error.condition for event in facing.of(Failed)]


@pytest.mark.rule("1.0/transport/error/resource-limit")
def test_a_range_above_what_is_free_is_paid_by_its_transfers() -> None:
    facing = sending(FREE + 1)
    assert tell(facing, FREE + 1, EACH) == []
    assert tell(facing, FREE + 1, 1) == ["amqp:resource-limit-exceeded"]


def test_a_free_range_is_free_also_when_nothing_is_left_to_pay_with() -> None:
    facing = sending(FREE + 1)
    assert tell(facing, FREE + 1, EACH) == []
    assert tell(facing, FREE, EACH) == []
    assert tell(facing, FREE + 1, 1) == ["amqp:resource-limit-exceeded"]
