"""Transfers received and sent (1.0 part 2 sections 2.6.14 and 2.7.5)."""

from typing import Any

import pytest

from amqp_sansio import Failed, LimitExceeded, Limits, LocalProtocolError, Scope, Settled, Side
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.links_1_0 import BODY, Mapped, attach, transfer
from tests.kit.links_1_0 import flow as session_flow
from tests.kit.links_1_0 import link_flow as flow
from tests.kit.octets_1_0 import octets_of

BIG = 0xFFFF_FFFF


# Transfers received.


@pytest.mark.rule("1.0/transport/transfer/more", "1.0/transport/transfer/settled-default")
def test_a_delivery_of_several_frames_is_one_event(facing: Mapped) -> None:
    facing.receiver()
    payload = amqp.Message(b"0123456789").encode()
    facing.get(transfer(0, more=True, settled=True), payload[:4])
    facing.get(spec.Transfer(0, more=True), payload[4:7])
    assert not facing.of(amqp.Delivery)
    facing.get(spec.Transfer(0, 0, b"\x00"), payload[7:])
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
    facing.get(spec.Transfer(0), b"\x77\x41")
    facing.get(spec.Transfer(1), b"\x77\x42")
    assert [(event.link, event.body) for event in facing.of(amqp.Delivery)] == [(0, True), (other.handle, False)]


INVALID, DENIED, ILLEGAL = "amqp:invalid-field", "amqp:not-allowed", "amqp:illegal-state"
BEGUN, SETTLED = transfer(0, more=True), spec.Transfer(0, settled=True)
RELEASED, SECOND = spec.Transfer(0, state=amqp.Released()), {"rcv_settle_mode": 1}
WRONG: list[tuple[str, str, dict[str, Any], list[spec.Transfer], spec.Transfer]] = [
    ("1.0/transport/transfer/delivery-id", INVALID, {}, [], spec.Transfer(0, None, b"t", 0)),
    ("1.0/transport/transfer/delivery-id", INVALID, {}, [BEGUN], transfer(1)),
    ("1.0/transport/transfer/delivery-tag", INVALID, {}, [], spec.Transfer(0, 0, None, 0)),
    ("1.0/transport/transfer/no-interleave", INVALID, {}, [BEGUN], spec.Transfer(0, 0, b"other")),
    ("1.0/transport/transfer/message-format", INVALID, {}, [BEGUN], spec.Transfer(0, message_format=256)),
    ("1.0/transport/delivery/tag-unique", DENIED, {}, [transfer(0)], transfer(0)),
    ("1.0/transport/delivery/tag-unique", DENIED, {}, [transfer(0)], transfer(7, delivery_tag=b"\0")),
    ("1.0/transport/transfer/aborted", ILLEGAL, {}, [], transfer(0, aborted=True)),
    ("1.0/transport/transfer/settled-mode-unsettled", DENIED, {"snd_settle_mode": 0}, [], transfer(0, settled=True)),
    ("1.0/transport/transfer/settled-mode-settled", DENIED, {"snd_settle_mode": 1}, [BEGUN, SETTLED], transfer(1)),
    ("1.0/transport/transfer/rcv-illegal", INVALID, {}, [transfer(0, settled=True, **SECOND)], transfer(1, **SECOND)),
    ("1.0/delivery-state/terminal-final", ILLEGAL, {}, [transfer(0, more=True, state=amqp.Accepted())], RELEASED),
    ("1.0/received/sender-only-first-resume", INVALID, {}, [], transfer(0, state=amqp.spec.Received(0, 0))),
    ("1.0/transport/transfer/resume-own-map", DENIED, {"unsettled": {b"a": None}}, [], transfer(0, resume=True)),
]
"""The rule that a transfer breaks; its condition, what the sender attached with, and the transfers before."""


@pytest.mark.parametrize(
    ("rule", "condition", "theirs", "before", "wrong"),
    [pytest.param(*row, marks=pytest.mark.rule(row[0]), id=f"{row[0]}-{number}") for number, row in enumerate(WRONG)],
)
@pytest.mark.rule("1.0/transport/delivery/tag-present", "1.0/transport/transfer/rcv-ignored")
@pytest.mark.rule("1.0/transport/transfer/state-terminal")
def test_a_transfer_that_breaks_a_rule_detaches_its_link(
    facing: Mapped, rule: str, condition: str, theirs: dict[str, Any], before: list[spec.Transfer], wrong: spec.Transfer
) -> None:
    link = facing.receiver(theirs=theirs)
    for frame in before:
        facing.get(frame, BODY[2:] if frame.delivery_id is None else BODY[:2] if frame.more else BODY)
    assert len(facing.of(amqp.Delivery)) == len([frame for frame in before if not frame.more])
    facing.get(wrong, BODY)
    assert "'in'" in str(facing.fails_link(condition, rule.removeprefix("1.0/")))
    assert link.report is not None
    assert facing.held == 0


@pytest.mark.rule("1.0/transport/transfer/message-format")
@pytest.mark.parametrize(("first", "again"), [(None, None), (None, 0), (7, 7), (7, None)])
def test_the_message_format_is_the_first_transfers(facing: Mapped, first: int | None, again: int | None) -> None:
    """Real clients leave it out where it is 0; an observer has a row for it."""
    facing.receiver()
    facing.get(spec.Transfer(0, 0, b"t", first, more=True), BODY[:2])
    facing.get(spec.Transfer(0, message_format=again), BODY[2:])
    (delivery,) = facing.of(amqp.Delivery)
    assert (delivery.message_format, delivery.payload) == (first or 0, BODY)
    assert not facing.of(Failed)


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
    facing.get(spec.Transfer(0, more=more, aborted=True), b"payload that counts for nothing")
    assert [event.delivery_tag for event in facing.of(amqp.DeliveryAborted)] == [b"\x00"]
    assert not facing.of(amqp.Delivery)
    assert facing.held == 0
    with pytest.raises(LocalProtocolError, match="isn't unsettled"):
        link.accept(0)
    facing.get(transfer(0), BODY)
    assert len(facing.of(amqp.Delivery)) == 1


@pytest.mark.rule("1.0/transport/attach/max-message-size")
def test_a_message_above_the_announced_size_detaches_the_link(facing: Mapped) -> None:
    facing.session.open_receiver("source", name="in", credit=5, max_message_size=10)
    sent = facing.frames()[0]
    assert sent.max_message_size == 10
    facing.get(attach("in", 0, False))
    facing.forget()
    facing.get(transfer(0, more=True), b"123456")
    facing.get(spec.Transfer(0, more=True), b"12345")
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


@pytest.mark.rule("1.0/message/section-order")
def test_a_server_rejects_messages_whose_sections_are_out_of_order() -> None:
    facing = Mapped.begun(Side.SERVER)
    link = facing.receiver()
    facing.get(transfer(0), b"\x00\x53\x77\x41\x00\x53\x70\x45")
    (refused,) = facing.of(amqp.DeliveryRefused)
    assert (refused.delivery_id, refused.error.scope) == (0, Scope.MESSAGE)
    assert (refused.error.condition, refused.error.rule) == ("amqp:decode-error", "1.0/message/section-order")
    told = facing.frames()[0]
    assert isinstance(told, spec.Disposition)
    assert told.settled
    assert isinstance(told.state, amqp.Rejected)
    assert told.state.error is not None
    assert told.state.error.condition == "amqp:decode-error"
    assert link.is_open


@pytest.mark.rule("1.0/message/section-order")
def test_a_strict_server_ends_the_link_of_messages_whose_sections_are_out_of_order() -> None:
    facing = Mapped.begun(Side.SERVER, config=amqp.Config(container_id="x", strict=True))
    facing.receiver()
    facing.get(transfer(0), b"\x00\x53\x77\x41\x00\x53\x70\x45")
    error = facing.fails_link("amqp:decode-error", "message/section-order")
    assert error.offset is not None


def test_a_settled_message_that_can_not_be_read_is_told_and_dropped() -> None:
    facing = Mapped.begun(Side.SERVER)
    link = facing.receiver()
    facing.get(transfer(0, settled=True), b"?")
    (refused,) = facing.of(amqp.DeliveryRefused)
    assert refused.error.condition == "amqp:decode-error"
    assert not facing.of(amqp.Delivery)
    assert not [each for each in facing.frames() if isinstance(each, spec.Disposition)]
    assert link.is_open


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
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
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
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
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
