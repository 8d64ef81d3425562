"""Transfers, credit and settlement (1.0 part 2 sections 2.6.7 to 2.6.14 and 2.7.4 to 2.7.6, part 3 section 3.4)."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import LimitExceeded, Limits, LocalProtocolError, Settled, Side
from amqp_sansio.amqp_1_0 import (
    Accepted,
    AvailableChanged,
    Config,
    CreditChanged,
    Delivery,
    DeliveryAborted,
    Disposition,
    Drained,
    Error,
    Flow,
    Message,
    Modified,
    NoCredit,
    Received,
    Rejected,
    Released,
    Symbol,
    TransactionalState,
    Transfer,
    Updated,
)
from tests.support.facing_1_0 import BOTH_SIDES, octets_of
from tests.support.links_1_0 import BODY, Mapped, transfer
from tests.support.links_1_0 import flow as session_flow

BIG = 0xFFFF_FFFF


def flow(credit: int, count: int | None = 0, **changes: Any) -> Flow:
    """The peer's flow for the link with handle 0, as its receiver."""
    return session_flow(handle=0, delivery_count=count, link_credit=credit, **changes)


# Credit.


@pytest.mark.rule("1.0/transport/flow/initial")
@pytest.mark.rule("1.0/transport/flow/no-credit")
@pytest.mark.rule("1.0/transport/flow/credit-decrease")
@pytest.mark.rule("1.0/transport/flow/delivery-count")
@BOTH_SIDES
def test_credit_is_zero_at_first_and_goes_down_with_each_delivery(side: Side) -> None:
    facing = Mapped.begun(side)
    link = facing.sender(credit=0)
    assert link.credit == 0
    with pytest.raises(NoCredit, match="no credit"):
        link.send(Message("m"))
    facing.get(flow(2))
    assert [event.credit for event in facing.of(CreditChanged)] == [2]
    link.send(Message("m"))
    assert link.credit == 1
    link.send(Message("m"))
    with pytest.raises(NoCredit):
        link.send(Message("m"))
    assert len([each for each in facing.frames() if isinstance(each, Transfer)]) == 2


@pytest.mark.rule("1.0/transport/flow/link-credit")
@pytest.mark.rule("1.0/transport/flow/link-credit-owner")
def test_the_senders_credit_follows_from_both_counts() -> None:
    facing = Mapped.begun()
    link = facing.sender(credit=0)
    facing.get(flow(5))
    for _ in range(3):
        link.send(Message("m"), settled=True)
    # Sent before the first of them had come: count 0 of the receiver, so 3 are on their way.
    facing.get(flow(5, 0))
    assert link.credit == 2
    facing.get(flow(5, 3))
    assert link.credit == 5
    facing.get(flow(0, 3))
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/credit-unknown-count")
def test_credit_without_a_count_means_the_initial_one() -> None:
    """The receiver attached first and sent its flow before it had seen the sender's attach."""
    facing = Mapped.begun()
    link: Any = facing.session.open_sender("target", name="out")
    facing.settle()
    from tests.support.links_1_0 import attach

    facing.get(attach("out", 0, True))
    facing.get(flow(4, None))
    assert link.credit == 4


@pytest.mark.rule("1.0/transport/sequence-no")
def test_counts_and_ids_wrap_around() -> None:
    facing = Mapped.begun()
    link = facing.receiver(credit=0, theirs={"initial_delivery_count": BIG})
    link.flow(3)
    (told,) = facing.frames()
    assert (told.delivery_count, told.link_credit) == (BIG, 3)
    for number in (BIG, 0, 1):
        facing.get(transfer(number & 0xFF, delivery_id=number, settled=True), BODY)
    assert link.credit == 0
    assert [event.delivery_id for event in facing.of(Delivery)] == [BIG, 0, 1]


@pytest.mark.rule("1.0/transport/error/transfer-limit")
def test_deliveries_far_beyond_the_credit_detach_the_link() -> None:
    """As much again as the last flow granted is taken: RabbitMQ 3 adds up flows that cross its transfers."""
    facing = Mapped.begun()
    link = facing.receiver(credit=3)
    for number in range(6):
        facing.get(transfer(number, settled=True), BODY)
    assert len(facing.of(Delivery)) == 6
    assert link.credit == 0
    facing.get(transfer(9, settled=True), BODY)
    facing.fails_link("amqp:link:transfer-limit-exceeded", "transport/error/transfer-limit")


@pytest.mark.rule("1.0/transport/error/transfer-limit")
@pytest.mark.rule("1.0/transport/flow/credit-cut")
def test_credit_that_is_lowered_is_not_held_against_what_was_on_its_way() -> None:
    facing = Mapped.begun()
    link = facing.receiver(credit=5)
    link.flow(0)
    facing.get(transfer(0, settled=True), BODY)
    assert len(facing.of(Delivery)) == 1
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/delivery-count-sender")
def test_a_senders_flow_without_count_detaches_the_link() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(session_flow(handle=0, link_credit=1))
    facing.fails_link("amqp:invalid-field", "transport/flow/delivery-count-sender")


@pytest.mark.rule("1.0/transport/flow/delivery-count-sender")
@pytest.mark.rule("1.0/transport/flow/echo")
def test_the_own_senders_flow_has_its_count() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    link.send(Message("m"), settled=True)
    facing.forget()
    facing.get(flow(9, 1, echo=True))
    (told,) = facing.frames()
    assert (told.handle, told.delivery_count, told.link_credit, told.echo) == (0, 1, 9, False)
    facing.forget()
    link.set_available(7)
    (told,) = facing.frames()
    assert (told.available, told.delivery_count) == (7, 1)


@pytest.mark.rule("1.0/transport/flow/delivery-count-receiver")
def test_the_own_receivers_flow_has_the_senders_count_once_it_is_known() -> None:
    facing = Mapped.begun()
    link = facing.session.open_receiver("source", name="in", credit=3)
    first, told = facing.frames()
    assert (first.NAME, told.delivery_count, told.link_credit) == ("attach", None, 3)
    facing.forget()
    from tests.support.links_1_0 import attach

    facing.get(attach("in", 0, False, initial_delivery_count=100))
    assert link.credit == 3
    facing.get(transfer(0, settled=True), BODY)
    link.flow(5)
    assert facing.frames()[-1].delivery_count == 101


@pytest.mark.rule("1.0/transport/flow/delivery-count-receiver")
def test_a_receivers_flow_without_count_is_taken_as_rabbitmq_means_it() -> None:
    facing = Mapped.begun()
    link = facing.sender(credit=0)
    facing.get(flow(6, None))
    assert link.credit == 6
    assert link.is_open


@pytest.mark.rule("1.0/transport/flow/available")
def test_available_is_a_hint_with_a_floor_of_zero() -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(session_flow(handle=0, delivery_count=0, available=1))
    assert [event.available for event in facing.of(AvailableChanged)] == [1]
    for number in range(3):
        facing.get(transfer(number, settled=True), BODY)
    assert link.available == 0
    assert len(facing.of(Delivery)) == 3


@pytest.mark.rule("1.0/transport/flow/drain")
@pytest.mark.rule("1.0/transport/flow/drain-meaning")
def test_a_sender_that_drains_gives_its_credit_up() -> None:
    facing = Mapped.begun()
    link = facing.sender(credit=0)
    facing.get(flow(5, drain=True))
    assert [event.drain for event in facing.of(CreditChanged)] == [True]
    link.send(Message("last"), settled=True)
    facing.forget()
    link.drained()
    (told,) = facing.frames()
    assert (told.delivery_count, told.link_credit, told.drain) == (5, 0, True)
    assert link.credit == 0


@pytest.mark.rule("1.0/transport/flow/drain")
def test_a_receiver_hears_that_its_credit_is_used_or_given_up() -> None:
    facing = Mapped.begun()
    link = facing.receiver(credit=3)
    link.drain()
    assert [(each.drain, each.link_credit) for each in facing.frames()] == [(True, 3)]
    facing.get(transfer(0, settled=True), BODY)
    assert not facing.of(Drained)
    facing.get(session_flow(handle=0, delivery_count=3, link_credit=0, drain=True))
    assert len(facing.of(Drained)) == 1
    assert link.credit == 0
    link.flow(1)
    link.drain()
    facing.get(transfer(1, settled=True), BODY)
    assert len(facing.of(Drained)) == 2


def test_top_up_waits_until_half_is_used() -> None:
    facing = Mapped.begun()
    link = facing.receiver(credit=4)
    assert not link.top_up(4)
    facing.get(transfer(0, settled=True), BODY)
    assert not link.top_up(4)
    facing.get(transfer(1, settled=True), BODY)
    assert link.top_up(4)
    assert link.credit == 4
    with pytest.raises(LocalProtocolError, match="credit -1"):
        link.flow(-1)


# Transfers received.


@pytest.mark.rule("1.0/transport/transfer/more")
@pytest.mark.rule("1.0/transport/transfer/settled-default")
def test_a_delivery_of_several_frames_is_one_event() -> None:
    facing = Mapped.begun()
    facing.receiver()
    payload = Message(b"0123456789").encode()
    facing.get(transfer(0, more=True, settled=True), payload[:4])
    facing.get(Transfer(0, more=True), payload[4:7])
    assert not facing.of(Delivery)
    facing.get(Transfer(0, 0, b"\x00"), payload[7:])
    (delivery,) = facing.of(Delivery)
    assert (delivery.payload, delivery.settled, delivery.body) == (payload, True, b"0123456789")
    assert facing.held == 0


@pytest.mark.rule("1.0/transport/transfer/interleave-links")
def test_deliveries_of_different_links_may_mix() -> None:
    facing = Mapped.begun()
    facing.receiver()
    from tests.support.links_1_0 import attach

    other = facing.session.open_receiver("source", name="second", credit=5)
    facing.get(attach("second", 1, False))
    facing.get(transfer(0, more=True), b"\x00\x53")
    facing.get(transfer(1, handle=1, more=True), b"\x00\x53")
    facing.get(Transfer(0), b"\x77\x41")
    facing.get(Transfer(1), b"\x77\x42")
    assert [(event.link, event.body) for event in facing.of(Delivery)] == [(0, True), (other.handle, False)]


@pytest.mark.rule("1.0/transport/transfer/no-interleave")
@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (transfer(1), "transport/transfer/delivery-id"),
        (Transfer(0, 0, b"other"), "transport/transfer/no-interleave"),
    ],
    ids=["delivery-id", "delivery-tag"],
)
def test_deliveries_of_one_link_do_not_mix(frame: Transfer, rule: str) -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(frame, BODY)
    facing.fails_link("amqp:invalid-field", rule)
    assert facing.held == 0


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        pytest.param(Transfer(0, None, b"t", 0), "transport/transfer/delivery-id",
                     marks=pytest.mark.rule("1.0/transport/transfer/delivery-id")),
        pytest.param(Transfer(0, 0, None, 0), "transport/transfer/delivery-tag",
                     marks=[pytest.mark.rule("1.0/transport/transfer/delivery-tag"),
                            pytest.mark.rule("1.0/transport/delivery/tag-present")]),
        pytest.param(Transfer(0, 0, b"t", None), "transport/transfer/message-format",
                     marks=pytest.mark.rule("1.0/transport/transfer/message-format")),
    ],
)  # fmt: skip
def test_the_first_transfer_names_its_delivery(frame: Transfer, rule: str) -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(frame, BODY)
    error = facing.fails_link("amqp:invalid-field", rule)
    assert "'in'" in str(error)


@pytest.mark.rule("1.0/transport/delivery/tag-size")
def test_a_delivery_tag_has_at_most_32_octets() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, delivery_tag=b"t" * 32, settled=True), BODY)
    assert len(facing.of(Delivery)) == 1
    octets = transfer(1, delivery_tag=b"t" * 32).encode()
    longer = octets.replace(b"\xa0\x20", b"\xa0\x21t")
    assert octets[3] == 0xC0
    longer = longer[:4] + bytes([longer[4] + 1]) + longer[5:]
    facing.feed(octets_of(longer, 0, BODY))
    facing.fails_link("amqp:invalid-field", "transport/delivery/tag-size")


@pytest.mark.rule("1.0/transport/delivery/tag-unique")
@pytest.mark.parametrize("frame", [transfer(0), transfer(7, delivery_tag=b"\x00")], ids=["id", "tag"])
def test_a_delivery_that_is_not_settled_keeps_its_id_and_tag(frame: Transfer) -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(transfer(0), BODY)
    facing.get(frame, BODY)
    facing.fails_link("amqp:not-allowed", "transport/delivery/tag-unique")
    assert link.report is not None


@pytest.mark.rule("1.0/transport/delivery/tag-unique")
def test_a_settled_delivery_gives_its_tag_free() -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(transfer(0), BODY)
    link.accept(*facing.of(Delivery))
    facing.get(transfer(1, delivery_tag=b"\x00"), BODY)
    assert len(facing.of(Delivery)) == 2


@pytest.mark.rule("1.0/transport/transfer/aborted")
@pytest.mark.rule("1.0/transport/transfer/aborted-payload")
@pytest.mark.rule("1.0/transport/transfer/more-aborted")
@pytest.mark.parametrize("more", [False, True])
def test_an_aborted_delivery_is_dropped_and_settled(more: bool) -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(Transfer(0, more=more, aborted=True), b"payload that counts for nothing")
    assert [event.delivery_tag for event in facing.of(DeliveryAborted)] == [b"\x00"]
    assert not facing.of(Delivery)
    assert facing.held == 0
    with pytest.raises(LocalProtocolError, match="isn't unsettled"):
        link.accept(0)
    facing.get(transfer(0), BODY)
    assert len(facing.of(Delivery)) == 1


def test_an_abort_of_nothing_detaches_the_link() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, aborted=True))
    facing.fails_link("amqp:illegal-state", "transport/transfer/aborted")


@pytest.mark.rule("1.0/transport/transfer/settled-mode-unsettled")
def test_a_sender_that_never_settles_does_not() -> None:
    facing = Mapped.begun()
    facing.receiver(theirs={"snd_settle_mode": 0})
    facing.get(transfer(0, settled=True), BODY)
    facing.fails_link("amqp:not-allowed", "transport/transfer/settled-mode-unsettled")


@pytest.mark.rule("1.0/transport/transfer/settled-mode-settled")
def test_a_sender_that_settles_all_does() -> None:
    facing = Mapped.begun()
    facing.receiver(theirs={"snd_settle_mode": 1})
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(Transfer(0, settled=True), BODY[2:])
    assert len(facing.of(Delivery)) == 1
    facing.get(transfer(1), BODY)
    facing.fails_link("amqp:not-allowed", "transport/transfer/settled-mode-settled")


@pytest.mark.rule("1.0/transport/transfer/rcv-illegal")
@pytest.mark.rule("1.0/transport/transfer/rcv-ignored")
def test_mode_second_where_the_link_has_first() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, rcv_settle_mode=1, settled=True), BODY)
    assert len(facing.of(Delivery)) == 1
    facing.get(transfer(1, rcv_settle_mode=1), BODY)
    facing.fails_link("amqp:invalid-field", "transport/transfer/rcv-illegal")


@pytest.mark.rule("1.0/transport/attach/max-message-size")
def test_a_message_above_the_announced_size_detaches_the_link() -> None:
    facing = Mapped.begun()
    facing.session.open_receiver("source", name="in", credit=5, max_message_size=10)
    sent = facing.frames()[0]
    assert sent.max_message_size == 10
    from tests.support.links_1_0 import attach

    facing.get(attach("in", 0, False))
    facing.forget()
    facing.get(transfer(0, more=True), b"123456")
    facing.get(Transfer(0, more=True), b"12345")
    facing.fails_link("amqp:link:message-size-exceeded", "transport/attach/max-message-size")
    assert facing.held == 0


def test_messages_under_way_are_bounded_together() -> None:
    facing = Mapped.begun(config=Config(container_id="x", limits=Limits(message=100, bodies=150)))
    facing.receiver()
    from tests.support.links_1_0 import attach

    facing.session.open_receiver("source", name="second", credit=5)
    facing.get(attach("second", 1, False))
    facing.get(transfer(0, more=True), b"x" * 90)
    facing.forget()
    facing.get(transfer(1, handle=1, more=True), b"x" * 90)
    assert [each.error.condition for each in facing.frames()] == ["amqp:resource-limit-exceeded"]
    assert facing.held == 90


def test_unsettled_deliveries_are_bounded() -> None:
    facing = Mapped.begun(config=Config(container_id="x", limits=Limits(unsettled=2)))
    facing.receiver()
    for number in range(3):
        facing.get(transfer(number), BODY)
    facing.fails_link("amqp:resource-limit-exceeded", "transport/error/resource-limit")


@pytest.mark.rule("1.0/delivery-state/terminal-final")
@pytest.mark.rule("1.0/transport/transfer/state-terminal")
def test_a_terminal_state_of_the_sender_stays() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, more=True, state=Accepted()), BODY[:2])
    facing.get(Transfer(0, state=Released()), BODY[2:])
    facing.fails_link("amqp:illegal-state", "delivery-state/terminal-final")


@pytest.mark.rule("1.0/received/sender-only-first-resume")
def test_a_sender_says_received_only_when_it_resumes() -> None:
    facing = Mapped.begun()
    facing.receiver()
    facing.get(transfer(0, state=Received(0, 0)), BODY)
    facing.fails_link("amqp:invalid-field", "received/sender-only-first-resume")


@pytest.mark.rule("1.0/transport/transfer/resume-own-map")
def test_only_what_the_senders_map_has_is_resumed() -> None:
    facing = Mapped.begun()
    facing.receiver(theirs={"unsettled": {b"a": None}})
    facing.get(transfer(0, resume=True), BODY)
    facing.fails_link("amqp:not-allowed", "transport/transfer/resume-own-map")


@pytest.mark.rule("1.0/message/section-order")
def test_a_server_refuses_messages_whose_sections_are_out_of_order() -> None:
    facing = Mapped.begun(Side.SERVER)
    facing.receiver()
    facing.get(transfer(0), b"\x00\x53\x77\x41\x00\x53\x70\x45")
    error = facing.fails_link("amqp:decode-error", "message/section-order")
    assert error.offset is not None


def test_other_formats_are_not_looked_into() -> None:
    facing = Mapped.begun(Side.SERVER)
    facing.receiver()
    facing.get(transfer(0, message_format=0x0102_0300), b"\xff anything")
    (delivery,) = facing.of(Delivery)
    assert (delivery.payload, delivery.message_format) == (b"\xff anything", 0x0102_0300)


# Transfers sent.


@pytest.mark.rule("1.0/transport/transfer/more")
@pytest.mark.rule("1.0/transport/transfer/delivery-id")
@pytest.mark.rule("1.0/transport/open/max-frame-size")
def test_a_large_message_is_cut_at_the_peers_frame_size() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    facing.peer_takes(512)
    payload = Message(b"x" * 2000).encode()
    handle = link.send(payload, delivery_tag=b"tag")
    facing.settle()
    sent = facing.sent()
    assert all([each.size <= 512 for each in sent])
    assert b"".join([each.payload for each in sent]) == payload
    assert [each.body.more for each in sent] == [True] * (len(sent) - 1) + [False]
    assert (sent[0].body.delivery_id, sent[0].body.delivery_tag, sent[0].body.message_format) == (0, b"tag", 0)
    assert not handle.done
    assert link.credit == 9


@pytest.mark.parametrize("size", range(420, 520))
def test_every_size_around_one_frame(size: int) -> None:
    facing = Mapped.begun()
    link = facing.sender()
    facing.peer_takes(512)
    payload = b"p" * size
    link.send(payload, message_format=7)
    link.send(payload, message_format=7, settled=True)
    facing.settle()
    sent = facing.sent()
    assert all([each.size <= 512 for each in sent])
    assert b"".join([each.payload for each in sent]) == payload * 2


def test_a_large_message_goes_on_as_the_window_opens() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    facing.peer_takes(512)
    facing.get(flow(10, incoming_window=2))
    facing.forget()
    handle = link.send(Message(b"x" * 2000))
    with pytest.raises(NoCredit, match="earlier delivery"):
        link.send(Message("next"))
    assert len(facing.frames()) == 2
    facing.get(session_flow(next_incoming_id=2, incoming_window=2))
    assert len(facing.frames()) == 4
    assert link.credit == 0
    facing.get(session_flow(next_incoming_id=4, incoming_window=2))
    assert [event.credit for event in facing.of(CreditChanged)] == [9]
    facing.get(Disposition(True, 0, None, True, Accepted()))
    assert handle.result == Accepted()
    link.send(Message("next"))


def test_a_delivery_in_parts() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handle = link.begin(b"\x00\x53\x75\xa0\x04")
    with pytest.raises(LocalProtocolError, match="under way"):
        link.send(Message("m"))
    link.continue_delivery(b"ab")
    link.continue_delivery(b"cd", more=False)
    facing.settle()
    sent = facing.sent()
    assert [(each.body.more, each.payload) for each in sent] == [
        (True, b"\x00\x53\x75\xa0\x04"),
        (True, b"ab"),
        (False, b"cd"),
    ]
    facing.get(Disposition(True, 0, None, True, Accepted()))
    assert handle.result == Accepted()
    with pytest.raises(LocalProtocolError, match="begun in parts"):
        link.continue_delivery(b"x")


def test_a_delivery_given_up() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handle = link.begin(b"\x00\x53")
    link.abort()
    facing.settle()
    assert [(each.body.more, each.body.aborted) for each in facing.sent()] == [(True, False), (False, True)]
    assert handle.result is None
    assert [event.handles for event in facing.of(Settled)] == [(handle,)]
    link.send(Message("m"))


@pytest.mark.rule("1.0/transport/delivery/tag-unique")
@pytest.mark.rule("1.0/transport/delivery/tag-size")
def test_own_tags_are_unique_and_short() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    link.send(Message("m"), delivery_tag=b"a")
    with pytest.raises(LocalProtocolError, match="unsettled delivery"):
        link.send(Message("m"), delivery_tag=b"a")
    with pytest.raises(LocalProtocolError, match="32 is the most"):
        link.send(Message("m"), delivery_tag=b"a" * 33)
    for _ in range(3):
        link.send(Message("m"))
    tags = [each.delivery_tag for each in facing.frames()]
    assert len(set(tags)) == 4


@pytest.mark.rule("1.0/transport/settle-mode/sender")
@pytest.mark.rule("1.0/transport/transfer/settled-mode-settled")
@pytest.mark.rule("1.0/transport/transfer/settled-mode-unsettled")
def test_the_links_mode_says_what_may_be_settled() -> None:
    facing = Mapped.begun()
    link = facing.sender(snd_settle_mode=1)
    assert link.send(Message("m")).done
    with pytest.raises(LocalProtocolError, match="snd-settle-mode settled"):
        link.send(Message("m"), settled=False)
    facing = Mapped.begun()
    link = facing.sender(snd_settle_mode=0)
    assert not link.send(Message("m")).done
    with pytest.raises(LocalProtocolError, match="snd-settle-mode unsettled"):
        link.send(Message("m"), settled=True)


def test_the_peers_size_limit_and_own_limits() -> None:
    facing = Mapped.begun(config=Config(container_id="x", limits=Limits(unsettled=1, bodies=50)))
    link = facing.sender(theirs={"max_message_size": 60})
    with pytest.raises(LocalProtocolError, match="the peer takes 60"):
        link.send(b"x" * 61)
    with pytest.raises(LimitExceeded, match=r"Limits\.bodies"):
        link.send(b"x" * 55)
    link.send(b"x" * 40)
    with pytest.raises(LimitExceeded, match=r"Limits\.unsettled"):
        link.send(b"x")
    link.settle(b"\x00\x00\x00\x00")
    with pytest.raises(LocalProtocolError, match="rcv-settle-mode first"):
        link.send(b"x", rcv_settle_mode=1)


# Settlement.


@pytest.mark.rule("1.0/transport/disposition/range")
@pytest.mark.rule("1.0/transport/disposition/settled")
@pytest.mark.rule("1.0/transport/transfer/rcv-first")
@pytest.mark.rule("1.0/transport/settle-mode/receiver")
def test_one_disposition_settles_many() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handles = [link.send(Message(str(number))) for number in range(4)]
    facing.get(Disposition(True, 0, 2, True, Accepted()))
    (settled,) = facing.of(Settled)
    assert (settled.handles, settled.state) == (tuple(handles[:3]), Accepted())
    assert list(link.pending) == [handles[3].key[2]]
    # Unset, last is first.
    facing.get(Disposition(True, 3, None, True, Rejected(Error(Symbol("a:b")))))
    assert handles[3].result == Rejected(Error(Symbol("a:b")))
    # What is settled already, and what was never sent, is nothing to complain about.
    facing.get(Disposition(True, 0, 9, True, Released()))
    assert len(facing.of(Settled)) == 2


@pytest.mark.rule("1.0/transport/disposition/role")
def test_a_disposition_covers_all_links_of_its_direction_and_no_others() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    from tests.support.links_1_0 import attach

    other = facing.session.open_sender("target", name="second")
    facing.get(attach("second", 1, True))
    facing.get(session_flow(handle=1, delivery_count=0, link_credit=5))
    receiver = facing.session.open_receiver("source", name="in", credit=5)
    facing.get(attach("in", 2, False))
    handles = [link.send(Message("a")), other.send(Message("b"))]
    facing.get(transfer(0, handle=2), BODY)
    facing.get(Disposition(True, 0, 1, True, Accepted()))
    assert all([handle.done for handle in handles])
    receiver.accept(0)
    facing.forget()
    facing.get(Disposition(True, 0, None, True, Released()))
    assert not facing.events


def test_a_range_that_runs_backwards_ends_the_session() -> None:
    facing = Mapped.begun()
    facing.get(Disposition(True, 5, 3, True, Accepted()))
    facing.fails_session("amqp:invalid-field", "transport/disposition/range")


@pytest.mark.rule("1.0/transport/disposition/range")
def test_a_huge_range_costs_what_is_there() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handle = link.send(Message("m"))
    facing.get(Disposition(True, 0, 0x7FFF_FFFE, True, Accepted()))
    assert handle.done


@pytest.mark.rule("1.0/transport/delivery/settle-once")
@pytest.mark.rule("1.0/transport/transfer/rcv-second")
def test_mode_second_settles_after_the_sender() -> None:
    facing = Mapped.begun()
    link = facing.receiver(rcv_settle_mode=1)
    facing.get(transfer(0), BODY)
    (handle,) = link.accept(*facing.of(Delivery))
    assert facing.frames() == [Disposition(True, 0, None, False, Accepted())]
    assert not handle.done
    with pytest.raises(LocalProtocolError, match="settles it first"):
        link.update([0], Accepted(), settled=True)
    facing.get(Disposition(False, 0, None, True, Accepted()))
    assert [(event.handles, event.state) for event in facing.of(Settled)] == [((handle,), Accepted())]


@pytest.mark.rule("1.0/transport/transfer/rcv-second")
def test_a_receiver_that_settles_first_in_mode_second_is_detached() -> None:
    facing = Mapped.begun()
    link = facing.sender(rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    link.send(Message("m"))
    facing.forget()
    facing.get(Disposition(True, 0, None, True, Accepted()))
    facing.fails_link("amqp:not-allowed", "transport/transfer/rcv-second")


@pytest.mark.rule("1.0/transport/transfer/rcv-default")
def test_the_senders_part_of_mode_second_is_done_by_itself() -> None:
    facing = Mapped.begun()
    link = facing.sender(rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    handles = [link.send(Message(str(number))) for number in range(3)]
    facing.forget()
    facing.get(Disposition(True, 0, 2, False, Accepted()))
    assert facing.frames() == [Disposition(False, 0, 2, True, Accepted())]
    assert [event.handles for event in facing.of(Settled)] == [tuple(handles)]


def test_an_application_may_settle_by_itself() -> None:
    facing = Mapped.begun()
    link = facing.sender(auto_settle=False, rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    first, second = link.send(Message("1")), link.send(Message("2"))
    facing.forget()
    facing.get(Disposition(True, 0, 1, False, Modified(True)))
    assert [(event.handles, event.state) for event in facing.of(Updated)] == [((first, second), Modified(True))]
    assert not first.done
    tag: Any = second.key[2]
    link.settle(first)
    link.settle(tag, Released())
    assert facing.frames() == [
        Disposition(False, 0, None, True, Modified(True)),
        Disposition(False, 1, None, True, Released()),
    ]
    assert (first.result, second.result) == (Modified(True), Released())
    with pytest.raises(LocalProtocolError, match="no unsettled delivery"):
        link.settle(first)


@pytest.mark.rule("1.0/transport/delivery/receiver-settles-quietly")
def test_what_the_sender_settled_needs_no_frame() -> None:
    facing = Mapped.begun()
    link = facing.receiver()
    facing.get(transfer(0, settled=True), BODY)
    with pytest.raises(LocalProtocolError, match="isn't unsettled"):
        link.accept(*facing.of(Delivery))
    assert not facing.frames()


@pytest.mark.rule("1.0/transport/delivery/spontaneous")
def test_a_sender_may_reach_a_terminal_state_by_itself() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    handle = link.send(Message("m"))
    facing.forget()
    link.update(handle, Released())
    assert facing.frames() == [Disposition(False, 0, None, False, Released())]
    facing.get(Disposition(True, 0, None, True, Released()))
    assert handle.result == Released()


@pytest.mark.rule("1.0/delivery-state/terminal-final")
def test_a_receiver_does_not_change_its_mind() -> None:
    facing = Mapped.begun()
    link = facing.sender(auto_settle=False)
    link.send(Message("m"))
    facing.forget()
    facing.get(Disposition(True, 0, None, False, Accepted()))
    facing.get(Disposition(True, 0, None, True, Released()))
    facing.fails_link("amqp:illegal-state", "delivery-state/terminal-final")


def test_the_four_outcomes_and_consecutive_ids_in_one_frame() -> None:
    facing = Mapped.begun()
    link = facing.receiver(credit=20)
    for number in range(8):
        facing.get(transfer(number), BODY)
    deliveries = facing.of(Delivery)
    facing.forget()
    link.accept(*deliveries[:3], deliveries[5])
    link.reject(deliveries[3], error=Error(Symbol("a:b"), "bad"))
    link.release(deliveries[4])
    link.modify(deliveries[6], delivery_failed=True, undeliverable_here=True, message_annotations={"x": 1})
    assert facing.frames() == [
        Disposition(True, 0, 2, True, Accepted()),
        Disposition(True, 5, None, True, Accepted()),
        Disposition(True, 3, None, True, Rejected(Error(Symbol("a:b"), "bad"))),
        Disposition(True, 4, None, True, Released()),
        Disposition(True, 6, None, True, Modified(True, True, {Symbol("x"): 1})),
    ]
    with pytest.raises(LocalProtocolError, match="delivery 0 isn't unsettled"):
        link.accept(deliveries[0], deliveries[7])
    link.update([deliveries[7]], TransactionalState(b"t", Accepted()))
    assert facing.frames()[-1].state == TransactionalState(b"t", Accepted())


@pytest.mark.rule("1.0/transport/disposition/partial")
def test_a_delivery_may_be_settled_while_it_is_being_sent() -> None:
    facing = Mapped.begun()
    link = facing.sender()
    facing.peer_takes(512)
    facing.get(flow(10, incoming_window=1))
    handle = link.send(Message(b"x" * 2000))
    facing.get(Disposition(True, 0, None, True, Rejected()))
    assert handle.result == Rejected()
    facing.get(session_flow(next_incoming_id=1, incoming_window=50))
    facing.settle()
    assert facing.sent()[-1].body.more is False
    assert not link.pending
    assert link.kept_octets == 0
    link.send(Message("next"))
