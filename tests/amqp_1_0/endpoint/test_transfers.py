"""Transfers received and sent (1.0 part 2 sections 2.6.14 and 2.7.5)."""

from typing import Any

import pytest

from amqp_sansio import Failed, LimitExceeded, Limits, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from tests.kit.facing_1_0 import octets_of
from tests.kit.links_1_0 import BODY, Mapped, attach, transfer
from tests.kit.links_1_0 import flow as session_flow

BIG = 0xFFFF_FFFF


def flow(credit: int, count: int | None = 0, **changes: Any) -> amqp.Flow:
    """The peer's flow for the link with handle 0, as its receiver."""
    return session_flow(handle=0, delivery_count=count, link_credit=credit, **changes)


# Transfers received.


@pytest.mark.rule("1.0/transport/transfer/more", "1.0/transport/transfer/settled-default")
def test_a_delivery_of_several_frames_is_one_event(facing: Mapped) -> None:
    facing.receiver()
    payload = amqp.Message(b"0123456789").encode()
    facing.get(transfer(0, more=True, settled=True), payload[:4])
    facing.get(amqp.Transfer(0, more=True), payload[4:7])
    assert not facing.of(amqp.Delivery)
    facing.get(amqp.Transfer(0, 0, b"\x00"), payload[7:])
    (delivery,) = facing.of(amqp.Delivery)
    assert (delivery.payload, delivery.settled, delivery.body) == (payload, True, b"0123456789")
    assert facing.held == 0


@pytest.mark.rule("1.0/transport/transfer/interleave-links")
def test_deliveries_of_different_links_may_mix(facing: Mapped) -> None:
    facing.receiver()
    other = facing.session.open_receiver("source", name="second", credit=5)
    facing.get(attach("second", 1, False))
    facing.get(transfer(0, more=True), b"\x00\x53")
    facing.get(transfer(1, handle=1, more=True), b"\x00\x53")
    facing.get(amqp.Transfer(0), b"\x77\x41")
    facing.get(amqp.Transfer(1), b"\x77\x42")
    assert [(event.link, event.body) for event in facing.of(amqp.Delivery)] == [(0, True), (other.handle, False)]


@pytest.mark.rule("1.0/transport/transfer/no-interleave")
@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        (transfer(1), "transport/transfer/delivery-id"),
        (amqp.Transfer(0, 0, b"other"), "transport/transfer/no-interleave"),
        (amqp.Transfer(0, message_format=256), "transport/transfer/message-format"),
    ],
    ids=["delivery-id", "delivery-tag", "message-format"],
)
def test_deliveries_of_one_link_do_not_mix(facing: Mapped, frame: amqp.Transfer, rule: str) -> None:
    facing.receiver()
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(frame, BODY)
    facing.fails_link("amqp:invalid-field", rule)
    assert facing.held == 0


@pytest.mark.parametrize(
    ("frame", "rule"),
    [
        pytest.param(amqp.Transfer(0, None, b"t", 0), "transport/transfer/delivery-id",
                     marks=pytest.mark.rule("1.0/transport/transfer/delivery-id")),
        pytest.param(amqp.Transfer(0, 0, None, 0), "transport/transfer/delivery-tag",
                     marks=[pytest.mark.rule("1.0/transport/transfer/delivery-tag"),
                            pytest.mark.rule("1.0/transport/delivery/tag-present")]),
    ],
)  # fmt: skip
def test_the_first_transfer_names_its_delivery(facing: Mapped, frame: amqp.Transfer, rule: str) -> None:
    facing.receiver()
    facing.get(frame, BODY)
    error = facing.fails_link("amqp:invalid-field", rule)
    assert "'in'" in str(error)


@pytest.mark.rule("1.0/transport/transfer/message-format")
@pytest.mark.parametrize("again", [None, 0])
def test_a_first_transfer_without_message_format_has_0(facing: Mapped, again: int | None) -> None:
    """Real clients leave it out; an observer has a row for it."""
    facing.receiver()
    facing.get(amqp.Transfer(0, 0, b"t", None, more=True), BODY[:2])
    facing.get(amqp.Transfer(0, message_format=again), BODY[2:])
    (delivery,) = facing.of(amqp.Delivery)
    assert (delivery.message_format, delivery.body) == (0, True)
    assert not facing.of(Failed)


@pytest.mark.rule("1.0/transport/transfer/message-format")
def test_a_continuation_may_repeat_the_message_format(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, message_format=7, more=True), b"a")
    facing.get(amqp.Transfer(0, message_format=7), b"b")
    (delivery,) = facing.of(amqp.Delivery)
    assert (delivery.message_format, delivery.payload) == (7, b"ab")


@pytest.mark.rule("1.0/transport/delivery/tag-size")
def test_a_delivery_tag_has_at_most_32_octets(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, delivery_tag=b"t" * 32, settled=True), BODY)
    assert len(facing.of(amqp.Delivery)) == 1
    octets = transfer(1, delivery_tag=b"t" * 32).encode()
    longer = octets.replace(b"\xa0\x20", b"\xa0\x21t")
    assert octets[3] == 0xC0
    longer = longer[:4] + bytes([longer[4] + 1]) + longer[5:]
    facing.feed(octets_of(longer, 0, BODY))
    facing.fails_link("amqp:invalid-field", "transport/delivery/tag-size")


@pytest.mark.rule("1.0/transport/delivery/tag-unique")
@pytest.mark.parametrize("frame", [transfer(0), transfer(7, delivery_tag=b"\x00")], ids=["id", "tag"])
def test_a_delivery_that_is_not_settled_keeps_its_id_and_tag(facing: Mapped, frame: amqp.Transfer) -> None:
    link = facing.receiver()
    facing.get(transfer(0), BODY)
    facing.get(frame, BODY)
    facing.fails_link("amqp:not-allowed", "transport/delivery/tag-unique")
    assert link.report is not None


@pytest.mark.rule("1.0/transport/delivery/tag-unique")
def test_a_settled_delivery_gives_its_tag_free(facing: Mapped) -> None:
    link = facing.receiver()
    facing.get(transfer(0), BODY)
    link.accept(*facing.of(amqp.Delivery))
    facing.get(transfer(1, delivery_tag=b"\x00"), BODY)
    assert len(facing.of(amqp.Delivery)) == 2


@pytest.mark.rule("1.0/transport/transfer/aborted", "1.0/transport/transfer/aborted-payload")
@pytest.mark.rule("1.0/transport/transfer/more-aborted")
@pytest.mark.parametrize("more", [False, True])
def test_an_aborted_delivery_is_dropped_and_settled(facing: Mapped, more: bool) -> None:
    link = facing.receiver()
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(amqp.Transfer(0, more=more, aborted=True), b"payload that counts for nothing")
    assert [event.delivery_tag for event in facing.of(amqp.DeliveryAborted)] == [b"\x00"]
    assert not facing.of(amqp.Delivery)
    assert facing.held == 0
    with pytest.raises(LocalProtocolError, match="isn't unsettled"):
        link.accept(0)
    facing.get(transfer(0), BODY)
    assert len(facing.of(amqp.Delivery)) == 1


def test_an_abort_of_nothing_detaches_the_link(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, aborted=True))
    facing.fails_link("amqp:illegal-state", "transport/transfer/aborted")


@pytest.mark.rule("1.0/transport/transfer/settled-mode-unsettled")
def test_a_sender_that_never_settles_does_not(facing: Mapped) -> None:
    facing.receiver(theirs={"snd_settle_mode": 0})
    facing.get(transfer(0, settled=True), BODY)
    facing.fails_link("amqp:not-allowed", "transport/transfer/settled-mode-unsettled")


@pytest.mark.rule("1.0/transport/transfer/settled-mode-settled")
def test_a_sender_that_settles_all_does(facing: Mapped) -> None:
    facing.receiver(theirs={"snd_settle_mode": 1})
    facing.get(transfer(0, more=True), BODY[:2])
    facing.get(amqp.Transfer(0, settled=True), BODY[2:])
    assert len(facing.of(amqp.Delivery)) == 1
    facing.get(transfer(1), BODY)
    facing.fails_link("amqp:not-allowed", "transport/transfer/settled-mode-settled")


@pytest.mark.rule("1.0/transport/transfer/rcv-illegal", "1.0/transport/transfer/rcv-ignored")
def test_mode_second_where_the_link_has_first(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, rcv_settle_mode=1, settled=True), BODY)
    assert len(facing.of(amqp.Delivery)) == 1
    facing.get(transfer(1, rcv_settle_mode=1), BODY)
    facing.fails_link("amqp:invalid-field", "transport/transfer/rcv-illegal")


@pytest.mark.rule("1.0/transport/attach/max-message-size")
def test_a_message_above_the_announced_size_detaches_the_link(facing: Mapped) -> None:
    facing.session.open_receiver("source", name="in", credit=5, max_message_size=10)
    sent = facing.frames()[0]
    assert sent.max_message_size == 10
    facing.get(attach("in", 0, False))
    facing.forget()
    facing.get(transfer(0, more=True), b"123456")
    facing.get(amqp.Transfer(0, more=True), b"12345")
    facing.fails_link("amqp:link:message-size-exceeded", "transport/attach/max-message-size")
    assert facing.held == 0


def test_messages_under_way_are_bounded_together() -> None:
    facing = Mapped.begun(config=amqp.Config(container_id="x", limits=Limits(message=100, bodies=150)))
    facing.receiver()
    facing.session.open_receiver("source", name="second", credit=5)
    facing.get(attach("second", 1, False))
    facing.get(transfer(0, more=True), b"x" * 90)
    facing.forget()
    facing.get(transfer(1, handle=1, more=True), b"x" * 90)
    assert [each.error.condition for each in facing.frames()] == ["amqp:resource-limit-exceeded"]
    assert facing.held == 90


def test_unsettled_deliveries_are_bounded() -> None:
    facing = Mapped.begun(config=amqp.Config(container_id="x", limits=Limits(unsettled=2)))
    facing.receiver()
    for number in range(3):
        facing.get(transfer(number), BODY)
    facing.fails_link("amqp:resource-limit-exceeded", "transport/error/resource-limit")


@pytest.mark.rule("1.0/delivery-state/terminal-final", "1.0/transport/transfer/state-terminal")
def test_a_terminal_state_of_the_sender_stays(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, more=True, state=amqp.Accepted()), BODY[:2])
    facing.get(amqp.Transfer(0, state=amqp.Released()), BODY[2:])
    facing.fails_link("amqp:illegal-state", "delivery-state/terminal-final")


@pytest.mark.rule("1.0/received/sender-only-first-resume")
def test_a_sender_says_received_only_when_it_resumes(facing: Mapped) -> None:
    facing.receiver()
    facing.get(transfer(0, state=amqp.Received(0, 0)), BODY)
    facing.fails_link("amqp:invalid-field", "received/sender-only-first-resume")


@pytest.mark.rule("1.0/transport/transfer/resume-own-map")
def test_only_what_the_senders_map_has_is_resumed(facing: Mapped) -> None:
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
    (delivery,) = facing.of(amqp.Delivery)
    assert (delivery.payload, delivery.message_format) == (b"\xff anything", 0x0102_0300)


# Transfers sent.


@pytest.mark.rule("1.0/transport/transfer/more", "1.0/transport/transfer/delivery-id")
@pytest.mark.rule("1.0/transport/open/max-frame-size")
def test_a_large_message_is_cut_at_the_peers_frame_size(facing: Mapped) -> None:
    link = facing.sender()
    facing.peer_takes(512)
    payload = amqp.Message(b"x" * 2000).encode()
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
def test_every_size_around_one_frame(facing: Mapped, size: int) -> None:
    link = facing.sender()
    facing.peer_takes(512)
    payload = b"p" * size
    link.send(payload, message_format=7)
    link.send(payload, message_format=7, settled=True)
    facing.settle()
    sent = facing.sent()
    assert all([each.size <= 512 for each in sent])
    assert b"".join([each.payload for each in sent]) == payload * 2


def test_a_large_message_goes_on_as_the_window_opens(facing: Mapped) -> None:
    link = facing.sender()
    facing.peer_takes(512)
    facing.get(flow(10, incoming_window=2))
    facing.forget()
    handle = link.send(amqp.Message(b"x" * 2000))
    with pytest.raises(amqp.NoCredit, match="earlier delivery"):
        link.send(amqp.Message("next"))
    assert len(facing.frames()) == 2
    facing.get(session_flow(next_incoming_id=2, incoming_window=2))
    assert len(facing.frames()) == 4
    assert link.credit == 0
    facing.get(session_flow(next_incoming_id=4, incoming_window=2))
    assert [event.credit for event in facing.of(amqp.CreditChanged)] == [9]
    facing.get(amqp.Disposition(True, 0, None, True, amqp.Accepted()))
    assert handle.result == amqp.Accepted()
    link.send(amqp.Message("next"))


def test_a_delivery_in_parts(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.begin(b"\x00\x53\x75\xa0\x04")
    with pytest.raises(LocalProtocolError, match="under way"):
        link.send(amqp.Message("m"))
    link.continue_delivery(b"ab")
    link.continue_delivery(b"cd", more=False)
    facing.settle()
    sent = facing.sent()
    assert [(each.body.more, each.payload) for each in sent] == [
        (True, b"\x00\x53\x75\xa0\x04"),
        (True, b"ab"),
        (False, b"cd"),
    ]
    facing.get(amqp.Disposition(True, 0, None, True, amqp.Accepted()))
    assert handle.result == amqp.Accepted()
    with pytest.raises(LocalProtocolError, match="begun in parts"):
        link.continue_delivery(b"x")


def test_a_delivery_given_up(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.begin(b"\x00\x53")
    link.abort()
    facing.settle()
    assert [(each.body.more, each.body.aborted) for each in facing.sent()] == [(True, False), (False, True)]
    assert handle.result is None
    assert [event.pendings for event in facing.of(Settled)] == [(handle,)]
    link.send(amqp.Message("m"))


@pytest.mark.rule("1.0/transport/delivery/tag-unique", "1.0/transport/delivery/tag-size")
def test_own_tags_are_unique_and_short(facing: Mapped) -> None:
    link = facing.sender()
    link.send(amqp.Message("m"), delivery_tag=b"a")
    with pytest.raises(LocalProtocolError, match="unsettled delivery"):
        link.send(amqp.Message("m"), delivery_tag=b"a")
    with pytest.raises(LocalProtocolError, match="32 is the most"):
        link.send(amqp.Message("m"), delivery_tag=b"a" * 33)
    for _ in range(3):
        link.send(amqp.Message("m"))
    tags = [each.delivery_tag for each in facing.frames()]
    assert len(set(tags)) == 4


@pytest.mark.rule("1.0/transport/settle-mode/sender", "1.0/transport/transfer/settled-mode-settled")
@pytest.mark.rule("1.0/transport/transfer/settled-mode-unsettled")
def test_the_links_mode_says_what_may_be_settled(facing: Mapped) -> None:
    link = facing.sender(snd_settle_mode=1)
    assert link.send(amqp.Message("m")).done
    with pytest.raises(LocalProtocolError, match="snd-settle-mode settled"):
        link.send(amqp.Message("m"), settled=False)
    facing = Mapped.begun()
    link = facing.sender(snd_settle_mode=0)
    assert not link.send(amqp.Message("m")).done
    with pytest.raises(LocalProtocolError, match="snd-settle-mode unsettled"):
        link.send(amqp.Message("m"), settled=True)


def test_the_peers_size_limit_and_own_limits() -> None:
    facing = Mapped.begun(config=amqp.Config(container_id="x", limits=Limits(unsettled=1, bodies=50)))
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
