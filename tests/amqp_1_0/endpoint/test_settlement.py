"""Settlement: outcomes, ranges, both settle modes (1.0 part 2 sections 2.6.12 and 2.7.6, part 3 section 3.4)."""

from typing import Any

import pytest

from amqp_sansio import LocalProtocolError, Settled
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from tests.kit.links_1_0 import BODY, Mapped, transfer
from tests.kit.links_1_0 import flow as session_flow
from tests.kit.links_1_0 import link_flow as flow

BIG = 0xFFFF_FFFF


@pytest.mark.rule("1.0/transport/disposition/range", "1.0/transport/disposition/settled")
@pytest.mark.rule("1.0/transport/transfer/rcv-first", "1.0/transport/settle-mode/receiver")
def test_one_disposition_settles_many(facing: Mapped) -> None:
    link = facing.sender()
    handles = [link.send(amqp.Message(str(number))) for number in range(4)]
    facing.get(spec.Disposition(True, 0, 2, True, amqp.Accepted()))
    (settled,) = facing.of(Settled)
    assert (settled.pendings, settled.state) == (tuple(handles[:3]), amqp.Accepted())
    assert list(link.pending) == [handles[3].key[2]]
    # Unset, last is first.
    facing.get(spec.Disposition(True, 3, None, True, amqp.Rejected(amqp.Error(amqp.Symbol("a:b")))))
    assert handles[3].result == amqp.Rejected(amqp.Error(amqp.Symbol("a:b")))
    # What is settled already, and what was never sent, is nothing to complain about.
    facing.get(spec.Disposition(True, 0, 9, True, amqp.Released()))
    assert len(facing.of(Settled)) == 2


@pytest.mark.rule("1.0/transport/disposition/role")
def test_a_disposition_covers_all_links_of_its_direction_and_no_others(facing: Mapped) -> None:
    link = facing.sender()
    from tests.kit.links_1_0 import attach

    other = facing.session.open_sender("target", name="second")
    facing.get(attach("second", 1, True))
    facing.get(session_flow(handle=1, delivery_count=0, link_credit=5))
    receiver = facing.session.open_receiver("source", name="in", credit=5)
    facing.get(attach("in", 2, False))
    handles = [link.send(amqp.Message("a")), other.send(amqp.Message("b"))]
    facing.get(transfer(0, handle=2), BODY)
    facing.get(spec.Disposition(True, 0, 1, True, amqp.Accepted()))
    assert all([handle.done for handle in handles])
    receiver.accept(0)
    facing.forget()
    facing.get(spec.Disposition(True, 0, None, True, amqp.Released()))
    assert not facing.events


@pytest.mark.rule("1.0/transport/disposition/range")
def test_a_huge_range_costs_what_is_there(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    facing.get(spec.Disposition(True, 0, 0x7FFF_FFFE, True, amqp.Accepted()))
    assert handle.done


@pytest.mark.rule("1.0/transport/delivery/settle-once", "1.0/transport/transfer/rcv-second")
def test_mode_second_settles_after_the_sender(facing: Mapped) -> None:
    link = facing.receiver(rcv_settle_mode=1)
    facing.get(transfer(0), BODY)
    (handle,) = link.accept(*facing.of(amqp.Delivery))
    assert facing.frames() == [spec.Disposition(True, 0, None, False, amqp.Accepted())]
    assert not handle.done
    with pytest.raises(LocalProtocolError, match="settles it first"):
        link.update([0], amqp.Accepted(), settled=True)
    facing.get(spec.Disposition(False, 0, None, True, amqp.Accepted()))
    assert [(event.pendings, event.state) for event in facing.of(Settled)] == [((handle,), amqp.Accepted())]


@pytest.mark.rule("1.0/transport/transfer/rcv-second")
def test_a_receiver_that_settles_first_in_mode_second_is_detached(facing: Mapped) -> None:
    link = facing.sender(rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    link.send(amqp.Message("m"))
    facing.forget()
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
    facing.fails_link("amqp:not-allowed", "transport/transfer/rcv-second")


@pytest.mark.rule("1.0/transport/transfer/rcv-default")
def test_the_senders_part_of_mode_second_is_done_by_itself(facing: Mapped) -> None:
    link = facing.sender(rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    handles = [link.send(amqp.Message(str(number))) for number in range(3)]
    facing.forget()
    facing.get(spec.Disposition(True, 0, 2, False, amqp.Accepted()))
    assert facing.frames() == [spec.Disposition(False, 0, 2, True, amqp.Accepted())]
    assert [event.pendings for event in facing.of(Settled)] == [tuple(handles)]


def test_an_application_may_settle_by_itself(facing: Mapped) -> None:
    link = facing.sender(auto_settle=False, rcv_settle_mode=1, theirs={"rcv_settle_mode": 1})
    first, second = link.send(amqp.Message("1")), link.send(amqp.Message("2"))
    facing.forget()
    facing.get(spec.Disposition(True, 0, 1, False, amqp.Modified(True)))
    assert [(event.pendings, event.state) for event in facing.of(amqp.Updated)] == [
        ((first, second), amqp.Modified(True))
    ]
    assert not first.done
    tag: Any = second.key[2]
    link.settle(first)
    link.settle(tag, amqp.Released())
    assert facing.frames() == [
        spec.Disposition(False, 0, None, True, amqp.Modified(True)),
        spec.Disposition(False, 1, None, True, amqp.Released()),
    ]
    assert (first.result, second.result) == (amqp.Modified(True), amqp.Released())
    with pytest.raises(LocalProtocolError, match="no unsettled delivery"):
        link.settle(first)


@pytest.mark.rule("1.0/transport/delivery/receiver-settles-quietly")
def test_what_the_sender_settled_needs_no_frame(facing: Mapped) -> None:
    link = facing.receiver()
    facing.get(transfer(0, settled=True), BODY)
    with pytest.raises(LocalProtocolError, match="isn't unsettled"):
        link.accept(*facing.of(amqp.Delivery))
    assert not facing.frames()


@pytest.mark.rule("1.0/transport/delivery/spontaneous")
def test_a_sender_may_reach_a_terminal_state_by_itself(facing: Mapped) -> None:
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    facing.forget()
    link.update(handle, amqp.Released())
    assert facing.frames() == [spec.Disposition(False, 0, None, False, amqp.Released())]
    facing.get(spec.Disposition(True, 0, None, True, amqp.Released()))
    assert handle.result == amqp.Released()


@pytest.mark.rule("1.0/delivery-state/terminal-final")
def test_a_receiver_does_not_change_its_mind(facing: Mapped) -> None:
    link = facing.sender(auto_settle=False)
    link.send(amqp.Message("m"))
    facing.forget()
    facing.get(spec.Disposition(True, 0, None, False, amqp.Accepted()))
    facing.get(spec.Disposition(True, 0, None, True, amqp.Released()))
    facing.fails_link("amqp:illegal-state", "delivery-state/terminal-final")


def test_the_four_outcomes_and_consecutive_ids_in_one_frame(facing: Mapped) -> None:
    link = facing.receiver(credit=20)
    for number in range(8):
        facing.get(transfer(number), BODY)
    deliveries = facing.of(amqp.Delivery)
    facing.forget()
    link.accept(*deliveries[:3], deliveries[5])
    link.reject(deliveries[3], error=amqp.Error(amqp.Symbol("a:b"), "bad"))
    link.release(deliveries[4])
    link.modify(deliveries[6], delivery_failed=True, undeliverable_here=True, message_annotations={"x": 1})
    assert facing.frames() == [
        spec.Disposition(True, 0, 2, True, amqp.Accepted()),
        spec.Disposition(True, 5, None, True, amqp.Accepted()),
        spec.Disposition(True, 3, None, True, amqp.Rejected(amqp.Error(amqp.Symbol("a:b"), "bad"))),
        spec.Disposition(True, 4, None, True, amqp.Released()),
        spec.Disposition(True, 6, None, True, amqp.Modified(True, True, {amqp.Symbol("x"): 1})),
    ]
    with pytest.raises(LocalProtocolError, match="delivery 0 isn't unsettled"):
        link.accept(deliveries[0], deliveries[7])
    link.update([deliveries[7]], spec.TransactionalState(b"t", amqp.Accepted()))
    assert facing.frames()[-1].state == spec.TransactionalState(b"t", amqp.Accepted())


@pytest.mark.rule("1.0/transport/disposition/partial")
def test_a_delivery_may_be_settled_while_it_is_being_sent(facing: Mapped) -> None:
    link = facing.sender()
    facing.peer_takes(512)
    facing.get(flow(10, incoming_window=1))
    handle = link.send(amqp.Message(b"x" * 2000))
    facing.get(spec.Disposition(True, 0, None, True, amqp.Rejected()))
    assert handle.result == amqp.Rejected()
    facing.get(session_flow(next_incoming_id=1, incoming_window=50))
    facing.settle()
    assert facing.sent()[-1].body.more is False
    assert not link.pending
    assert link.kept_octets == 0
    link.send(amqp.Message("next"))


@pytest.mark.rule("1.0/transport/disposition/detached-links")
def test_a_delivery_is_settled_after_its_link_was_detached(facing: Mapped) -> None:
    """The handle has ended with the link; the event has another one of the same key, and nothing is left to resume."""
    link = facing.sender()
    handle = link.send(amqp.Message("m"))
    facing.get(spec.Detach(0, False))
    assert handle.error is not None
    facing.get(spec.Disposition(True, 0, None, True, amqp.Accepted()))
    (settled,) = facing.of(Settled)
    assert settled.pendings == (handle,)
    assert settled.pendings[0].result == amqp.Accepted()
    assert link.saved_state().unsettled == ()


@pytest.mark.parametrize("name", ["accept", "reject", "release", "modify"])
def test_deliveries_are_given_one_by_one(facing: Mapped, name: str) -> None:
    link = facing.receiver(credit=2)
    facing.get(transfer(0), payload=BODY)
    wrong: Any = [0]
    with pytest.raises(TypeError, match=r"one by one, as in accept\(\*deliveries\); got \[0\]"):
        getattr(link, name)(wrong)
    getattr(link, name)(0)
    assert not link.unsettled
