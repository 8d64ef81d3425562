"""Credit of links: granting, counting, draining (1.0 part 2 section 2.6.7)."""

from typing import Any

import pytest

from amqp_sansio import LocalProtocolError, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.facing import BOTH_SIDES
from tests.kit.links_1_0 import BODY, Mapped, transfer
from tests.kit.links_1_0 import flow as session_flow
from tests.kit.links_1_0 import link_flow as flow

BIG = 0xFFFF_FFFF


@pytest.mark.rule("1.0/transport/flow/initial", "1.0/transport/flow/no-credit", "1.0/transport/flow/credit-decrease")
@pytest.mark.rule("1.0/transport/flow/delivery-count")
@BOTH_SIDES
def test_credit_is_zero_at_first_and_goes_down_with_each_delivery(side: Side) -> None:
    facing = Mapped.begun(side)
    link = facing.sender(credit=0)
    assert link.credit == 0
    with pytest.raises(amqp.NoCredit, match="no credit"):
        link.send(amqp.Message("m"))
    facing.get(flow(2))
    assert [event.credit for event in facing.of(amqp.CreditChanged)] == [2]
    link.send(amqp.Message("m"))
    assert link.credit == 1
    link.send(amqp.Message("m"))
    with pytest.raises(amqp.NoCredit):
        link.send(amqp.Message("m"))
    assert len([each for each in facing.frames() if isinstance(each, spec.Transfer)]) == 2


@pytest.mark.rule("1.0/transport/flow/link-credit", "1.0/transport/flow/link-credit-owner")
def test_the_senders_credit_follows_from_both_counts(facing: Mapped) -> None:
    link = facing.sender(credit=0)
    facing.get(flow(5))
    for _ in range(3):
        link.send(amqp.Message("m"), settled=True)
    # Sent before the first of them had come: count 0 of the receiver, so 3 are on their way.
    facing.get(flow(5, 0))
    assert link.credit == 2
    facing.get(flow(5, 3))
    assert link.credit == 5
    facing.get(flow(0, 3))
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/credit-unknown-count")
def test_credit_without_a_count_means_the_initial_one(facing: Mapped) -> None:
    """The receiver attached first and sent its flow before it had seen the sender's attach."""
    link: Any = facing.session.open_sender("target", name="out")
    facing.settle()
    from tests.kit.links_1_0 import attach

    facing.get(attach("out", 0, True))
    facing.get(flow(4, None))
    assert link.credit == 4


@pytest.mark.rule("1.0/transport/sequence-no")
def test_counts_and_ids_wrap_around(facing: Mapped) -> None:
    link = facing.receiver(credit=0, theirs={"initial_delivery_count": BIG})
    link.flow(3)
    (told,) = facing.frames()
    assert (told.delivery_count, told.link_credit) == (BIG, 3)
    for number in (BIG, 0, 1):
        facing.get(transfer(number & 0xFF, delivery_id=number, settled=True), BODY)
    assert link.credit == 0
    assert [event.delivery_id for event in facing.of(amqp.Delivery)] == [BIG, 0, 1]


@pytest.mark.rule("1.0/transport/error/transfer-limit")
def test_deliveries_far_beyond_the_credit_detach_the_link(facing: Mapped) -> None:
    """As much again as the last flow granted is taken: RabbitMQ 3 adds up flows that cross its transfers."""
    link = facing.receiver(credit=3)
    for number in range(6):
        facing.get(transfer(number, settled=True), BODY)
    assert len(facing.of(amqp.Delivery)) == 6
    assert link.credit == 0
    facing.get(transfer(9, settled=True), BODY)
    facing.fails_link("amqp:link:transfer-limit-exceeded", "transport/error/transfer-limit")


@pytest.mark.rule("1.0/transport/error/transfer-limit", "1.0/transport/flow/credit-cut")
def test_credit_that_is_lowered_is_not_held_against_what_was_on_its_way(facing: Mapped) -> None:
    link = facing.receiver(credit=5)
    link.flow(0)
    facing.get(transfer(0, settled=True), BODY)
    assert len(facing.of(amqp.Delivery)) == 1
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/delivery-count-sender")
def test_a_senders_flow_without_count_detaches_the_link(facing: Mapped) -> None:
    facing.receiver()
    facing.get(session_flow(handle=0, link_credit=1))
    facing.fails_link("amqp:invalid-field", "transport/flow/delivery-count-sender")


@pytest.mark.rule("1.0/transport/flow/delivery-count-sender", "1.0/transport/flow/echo")
def test_the_own_senders_flow_has_its_count(facing: Mapped) -> None:
    link = facing.sender()
    link.send(amqp.Message("m"), settled=True)
    facing.forget()
    facing.get(flow(9, 1, echo=True))
    (told,) = facing.frames()
    assert (told.handle, told.delivery_count, told.link_credit, told.echo) == (0, 1, 9, False)
    facing.forget()
    link.set_available(7)
    (told,) = facing.frames()
    assert (told.available, told.delivery_count) == (7, 1)


@pytest.mark.rule("1.0/transport/flow/delivery-count-receiver")
def test_the_own_receivers_flow_has_the_senders_count_once_it_is_known(facing: Mapped) -> None:
    link = facing.session.open_receiver("source", name="in", credit=3)
    first, told = facing.frames()
    assert (first.NAME, told.delivery_count, told.link_credit) == ("attach", None, 3)
    facing.forget()
    from tests.kit.links_1_0 import attach

    facing.get(attach("in", 0, False, initial_delivery_count=100))
    assert link.credit == 3
    facing.get(transfer(0, settled=True), BODY)
    link.flow(5)
    assert facing.frames()[-1].delivery_count == 101


@pytest.mark.rule("1.0/transport/flow/delivery-count-receiver")
def test_a_receivers_flow_without_count_is_taken_as_rabbitmq_means_it(facing: Mapped) -> None:
    link = facing.sender(credit=0)
    facing.get(flow(6, None))
    assert link.credit == 6
    assert link.is_open


@pytest.mark.rule("1.0/transport/flow/available")
def test_available_is_a_hint_with_a_floor_of_zero(facing: Mapped) -> None:
    link = facing.receiver()
    facing.get(session_flow(handle=0, delivery_count=0, available=1))
    assert [event.available for event in facing.of(amqp.AvailableChanged)] == [1]
    for number in range(3):
        facing.get(transfer(number, settled=True), BODY)
    assert link.available == 0
    assert len(facing.of(amqp.Delivery)) == 3


@pytest.mark.rule("1.0/transport/flow/drain", "1.0/transport/flow/drain-meaning")
def test_a_sender_that_drains_gives_its_credit_up(facing: Mapped) -> None:
    link = facing.sender(credit=0)
    facing.get(flow(5, drain=True))
    assert [event.drain for event in facing.of(amqp.CreditChanged)] == [True]
    link.send(amqp.Message("last"), settled=True)
    facing.forget()
    link.drained()
    (told,) = facing.frames()
    assert (told.delivery_count, told.link_credit, told.drain) == (5, 0, True)
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/drain")
def test_a_receiver_hears_that_its_credit_is_used_or_given_up(facing: Mapped) -> None:
    link = facing.receiver(credit=3)
    link.drain()
    assert [(each.drain, each.link_credit) for each in facing.frames()] == [(True, 3)]
    facing.get(transfer(0, settled=True), BODY)
    assert not facing.of(amqp.Drained)
    facing.get(session_flow(handle=0, delivery_count=3, link_credit=0, drain=True))
    assert len(facing.of(amqp.Drained)) == 1
    assert link.credit == 0
    link.flow(1)
    link.drain()
    facing.get(transfer(1, settled=True), BODY)
    assert len(facing.of(amqp.Drained)) == 2


def test_top_up_waits_until_half_is_used(facing: Mapped) -> None:
    link = facing.receiver(credit=4)
    assert not link.top_up(4)
    facing.get(transfer(0, settled=True), BODY)
    assert not link.top_up(4)
    facing.get(transfer(1, settled=True), BODY)
    assert link.top_up(4)
    assert link.credit == 4
    with pytest.raises(LocalProtocolError, match="credit -1"):
        link.flow(-1)


def given(facing: Mapped) -> list[int | None]:
    """The credit of the flows sent since the last look."""
    found = [each.link_credit for each in facing.frames() if isinstance(each, spec.Flow)]
    facing.out = b""
    return found


def test_credit_that_brought_no_delivery_is_given_again(facing: Mapped) -> None:
    """An application that grants more only when it takes a delivery would wait for ever."""
    link = facing.receiver(credit=3)
    for number in range(2):
        facing.get(transfer(number, more=True), BODY[:2])
        facing.get(spec.Transfer(0, aborted=True))
    assert (link.credit, given(facing)) == (1, [])
    facing.get(transfer(2), BODY)
    assert (link.credit, given(facing)) == (2, [2])
    facing.get(transfer(3), BODY)
    facing.get(transfer(4), BODY)
    assert (link.credit, given(facing), len(facing.of(amqp.Delivery))) == (0, [], 3)


def test_the_late_answer_to_a_drain_takes_no_credit_that_was_given_since(facing: Mapped) -> None:
    link = facing.receiver(credit=3)
    link.drain()
    link.flow(0)
    link.flow(2)
    given(facing)
    facing.get(session_flow(handle=0, delivery_count=3, link_credit=0, drain=True))
    assert (link.credit, given(facing), facing.of(amqp.Drained)) == (2, [2], [])
    facing.get(session_flow(handle=0, delivery_count=3, link_credit=2))
    assert (link.credit, given(facing)) == (2, [])


def test_credit_given_anew_counts_from_then(facing: Mapped) -> None:
    link = facing.receiver(credit=2)
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(spec.Transfer(0, aborted=True))
    link.flow(1)
    given(facing)
    facing.get(transfer(1), BODY)
    assert (link.credit, given(facing)) == (0, [])


def test_a_drain_ends_with_a_delivery_that_is_aborted(facing: Mapped) -> None:
    link = facing.receiver(credit=1)
    link.drain()
    given(facing)
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(spec.Transfer(0, aborted=True))
    assert len(facing.of(amqp.Drained)) == 1
    assert (link.draining, given(facing)) == (False, [])


RABBITMQ_3 = spec.Open("rabbit", properties={"product": "RabbitMQ", "version": "3.10.8"})


def test_credit_is_taken_back_where_a_drain_would_end_the_session() -> None:
    facing = Mapped.begun(peer=RABBITMQ_3)
    link = facing.receiver(credit=3)
    link.drain()
    assert [(each.link_credit, each.drain, each.echo) for each in facing.frames()] == [(0, False, True)]
    # The answer to an earlier flow, and a delivery that crossed the last one.
    facing.get(session_flow(handle=0, delivery_count=0, link_credit=3))
    facing.get(transfer(0), BODY)
    assert (len(facing.of(amqp.Delivery)), facing.of(amqp.Drained), link.draining) == (1, [], True)
    facing.get(session_flow(handle=0, delivery_count=1, link_credit=0, echo=True))
    assert (len(facing.of(amqp.Drained)), link.draining) == (1, False)
    assert [(each.link_credit, each.drain) for each in facing.frames()[1:]] == [(0, False)]


def test_credit_that_comes_with_a_drain_is_given_first() -> None:
    facing = Mapped.begun(peer=RABBITMQ_3)
    link = facing.receiver(credit=0)
    facing.forget()
    link.flow(1, drain=True)
    sent = [(each.link_credit, each.drain, each.echo) for each in facing.frames()]
    assert sent == [(1, False, False), (0, False, True)]
    facing.get(transfer(0), BODY)
    facing.get(session_flow(handle=0, delivery_count=1, link_credit=0))
    assert len(facing.of(amqp.Drained)) == 1


@pytest.mark.parametrize("version", ["4.0.1", "4.2", ""])
def test_later_versions_are_drained(version: str) -> None:
    peer = spec.Open("rabbit", properties={"product": "RabbitMQ", "version": version})
    facing = Mapped.begun(peer=peer)
    link = facing.receiver(credit=3)
    facing.forget()
    link.drain()
    assert [(each.link_credit, each.drain, each.echo) for each in facing.frames()] == [(3, True, False)]
