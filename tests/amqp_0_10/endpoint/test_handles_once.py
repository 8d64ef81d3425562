"""Handles, credit and outcomes of AMQP 0-10 end once and right: the single cases that random use of two ends has found.

`test_exactly_once` is the random use.
"""

# pyright: reportPrivateUsage=false
from __future__ import annotations

import pickle
from typing import Any

import pytest

from amqp_sansio import (
    Accepted,
    EndpointClosed,
    Failed,
    Handle,
    Limits,
    LocalProtocolError,
    Settled,
    Side,
)
from amqp_sansio.amqp_0_10 import (
    NONE,
    XA_OK,
    XA_RBROLLBACK,
    BodyAborted,
    BodyReceived,
    CommandReceived,
    Completed,
    DtxCommit,
    DtxEnd,
    DtxSelect,
    DtxStart,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageStop,
    MessageSubscribe,
    QueueDeclare,
    Rejected,
    Session,
    SessionState,
    TxCommit,
    TxRollback,
    TxSelect,
    XaResult,
    Xid,
)
from tests.kit.pair_0_10 import Pair, client_config, server_config

CLIENT, SERVER = Side.CLIENT, Side.SERVER


def lost(pair: Pair, *sessions: Session, arriving: tuple[int, ...] = ()) -> list[SessionState]:
    """The transport is cut; what is kept of the sessions."""
    pair.cut(*arriving)
    return [pickle.loads(pickle.dumps(each.detached_state())) for each in sessions]


def resumed(pair: Pair, states: list[SessionState]) -> tuple[Pair, Any, Any]:
    """The next connection, on which the session of both ends is attached again, not in step yet."""
    again = Pair(client=pair.client.config, server=pair.server.config, watched=True).open()
    session = again.client.resume_session(states[0])
    again.pump()
    other = again.server.accept_session(session.channel, states[1])
    return again, session, other


def subscribed(pair: Pair, session: Any, other: Any, *, credit: int) -> None:
    """The subscription "d", with so much credit for messages of any size."""
    session.call(MessageSubscribe("q", "d", 0, 0))
    pair.pump()
    other.complete(other.incomplete[-1])
    if credit:
        session.top_up("d", credit)
    pair.pump()


def begun(credit: int | None = None, **ends: Any) -> tuple[Pair, Any, Any]:
    """A pair, and both ends of its session; with `credit` also the subscription "d"."""
    pair = Pair(**ends).open()
    session, other = pair.sessions()
    if credit is not None:
        subscribed(pair, session, other, credit=credit)
    return pair, session, other


def test_the_outcome_that_was_lost_comes_before_the_completion() -> None:
    """Told at once after a re-attachment, the completion would mean that the message was accepted."""
    pair, session, other = begun()
    sent = session.transfer("", b"x")
    pair.pump()
    other.reject(0, code=1, text="no")
    pair, session, other = resumed(pair, lost(pair, session, other))
    pair.pump()
    (settled, *_) = [event for event in pair.of(CLIENT, Settled) if event.state != Completed()]
    assert settled == Settled((sent.outcome,), Rejected(1, "no"))
    assert not session.pending


@pytest.mark.rule("0-10/message.stop/zero")
def test_messages_from_before_a_stop_give_no_credit_back() -> None:
    pair, session, other = begun(2)
    for _ in range(2):
        other.transfer("d", b"x", accept_mode=NONE)
    pair.pump()
    session.call(MessageStop("d"))
    session.complete(0)
    pair.pump()
    session.complete(1)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    session.top_up("d", 1)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (1, None)


@pytest.mark.rule("0-10/message.stop/zero", "0-10/message.flush/zero")
@pytest.mark.parametrize("command", [MessageStop("d"), MessageFlush("d")])
def test_no_credit_is_granted_while_it_is_being_taken(command: Any) -> None:
    """What the peer has left of it could not be known."""
    pair, session, other = begun(2)
    session.call(command)
    with pytest.raises(LocalProtocolError, match="wait for its handle"):
        session.call(MessageFlow("d", 0, 5))
    with pytest.raises(LocalProtocolError, match="wait for its handle"):
        session.top_up("d", 5)
    pair.pump()
    for number in other.incomplete:
        other.complete(number)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    session.top_up("d", 5)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (5, None)


def test_credit_that_came_behind_a_flush_stays_when_that_is_completed() -> None:
    """A peer may grant it without waiting; the application flushes late."""
    pair, session, other = begun(2)
    session.call(MessageFlush("d"))
    session._state.granted["d"].taking.clear()
    session.call(MessageFlow("d", 0, 3))
    session.call(MessageFlow("d", 1, None))
    pair.pump()
    assert other.credit("d") == (5, None)
    other.transfer("d", b"x")
    other.complete(other.incomplete[0])
    assert other.credit("d") == (3, None)


@pytest.mark.rule("0-10/message.subscribe/unique-destination -> not-allowed 530")
def test_a_destination_is_not_subscribed_again_before_its_cancel_is_completed() -> None:
    """A message that is under way to the first one has no credit of the second one."""
    pair, session, other = begun(2)
    other.transfer("d", b"x")
    session.call(MessageCancel("d"))
    with pytest.raises(LocalProtocolError, match="wait for its handle"):
        session.call(MessageSubscribe("q", "d", 0, 0))
    pair.pump()
    other.complete(other.incomplete[0])
    pair.pump()
    session.call(MessageSubscribe("q", "d", 0, 0))
    session.accept(0)
    pair.pump()
    assert session.granted("d") == other.credit("d") == (0, 0)
    assert not pair.of(CLIENT, Failed)


def test_a_message_in_pieces_that_is_cut_gives_its_credit_back() -> None:
    client = client_config(stream_above=0, max_frame_size=4096)
    pair, session, other = begun(1, client=client)
    other.transfer("d", bytes(9000))
    pair.write(SERVER)
    states = lost(pair, session, other, arriving=(5000,))
    assert pair.of(CLIENT, BodyAborted)
    pair, session, other = resumed(pair, states)
    pair.pump()
    assert not pair.of(CLIENT, Failed)
    assert sum([len(event.octets) for event in pair.of(CLIENT, BodyReceived)]) == 9000
    assert session.granted("d") == other.credit("d") == (0, None)


def test_nothing_is_sent_on_a_channel_that_was_left() -> None:
    """Not even an answer: the peer may have a new session there."""
    pair, session, other = begun(watched=True)
    other.flush(expected=True, confirmed=True)
    other.sync()
    other.request_timeout(5)
    pair.write(SERVER)
    session.detach()
    with pytest.raises(EndpointClosed):
        session.transfer("", b"x")
    pair.pump()
    assert not pair.violations
    again = pair.client.open_session("t")
    pair.pump()
    pair.server.accept_session(again.channel)
    pair.pump()
    assert again.is_attached


def accepting(pair: Pair, session: Any, other: Any, count: int) -> list[Handle[Any]]:
    """So many messages for the client, and the handles of their outcomes."""
    subscribed(pair, session, other, credit=count)
    sent = [other.transfer("d", b"x").outcome for _ in range(count)]
    pair.pump()
    return sent


def test_a_transaction_has_what_was_accepted_before_its_end_whatever_is_completed_first() -> None:
    pair, session, other = begun()
    session.call(TxSelect())
    first, second = accepting(pair, session, other, 2)
    session.accept(0)
    session.call(TxCommit())
    session.accept(1)
    session.call(TxRollback())
    pair.pump()
    heard: dict[Any, Any] = {type(event.command): event for event in pair.of(SERVER, CommandReceived)}
    assert heard[TxCommit].handles == (first,)
    assert heard[TxRollback].handles == (second,)
    for number in reversed(other.incomplete):
        other.complete(number)
    pair.pump()
    assert (first.done, second.done) == (True, False)
    assert session.unsettled == (1,)
    session.accept(1)
    session.call(TxCommit())
    pair.pump()
    for number in other.incomplete:
        other.complete(number)
    assert second.result == Accepted()


def test_what_was_accepted_before_transactions_began_is_not_part_of_one() -> None:
    pair, session, other = begun()
    (outcome,) = accepting(pair, session, other, 1)
    session.accept(0)
    session.call(TxSelect())
    pair.pump()
    for number in reversed(other.incomplete):
        other.complete(number)
    assert outcome.result == Accepted()


@pytest.mark.rule("0-10/session.gap/confirm-complete")
def test_a_command_that_is_given_up_leaves_its_number_out() -> None:
    """The commands behind it keep theirs."""
    pair, session, other = begun()
    for name in "abc":
        session.call(QueueDeclare(name), sync=False)
    states = lost(pair, session, other)
    pair, session, other = resumed(pair, states)
    session.gap(1)
    pair.pump()
    heard = [(event.command_id, event.command.queue) for event in pair.of(SERVER, CommandReceived)]
    assert heard == [(0, "a"), (2, "c")]
    other._state.receiving.check()
    for number in other.incomplete:
        other.complete(number)
    session.flush()
    pair.pump()
    assert not session.pending
    assert not pair.violations


def test_ids_of_commands_may_lie_anywhere_and_be_completed_in_any_order() -> None:
    """More ranges than a control holds."""
    pair, session, other = begun(server=server_config(limits=Limits(requests=20_000)))
    count = 17_000
    handles = [session.transfer("", b"", accept_mode=NONE).completion for _ in range(count)]
    pair.pump()
    other._state.tell_at = count
    for number in range(0, count, 2):
        other.complete(number)
    session.flush()
    pair.pump()
    assert sum([handle.done for handle in handles]) == count / 2
    for number in range(1, count, 2):
        other.complete(number)
    session.flush()
    pair.pump()
    assert all([handle.done for handle in handles])
    assert not other._state.receiving.completed


def test_two_requests_for_a_timeout_are_answered_in_turn() -> None:
    pair = Pair(watched=True).open()
    session, _ = pair.sessions()
    longest, short = session.request_timeout(None), session.request_timeout(5)
    pair.pump()
    assert (longest.result, short.result) == (3600, 5)
    assert not pair.violations


@pytest.mark.parametrize(("status", "left"), [(XA_OK, ()), (XA_RBROLLBACK, (0,))])
def test_a_branch_that_was_rolled_back_at_its_commit_settles_nothing(status: int, left: tuple[int, ...]) -> None:
    pair, session, other = begun()
    (outcome,) = accepting(pair, session, other, 1)
    xid = Xid(1, b"g", b"b")
    session.call(DtxSelect())
    session.call(DtxStart(xid))
    session.accept(0)
    session.call(DtxEnd(xid))
    session.call(DtxCommit(xid, True))
    pair.pump()
    assert session.unsettled == ()
    for event in pair.of(SERVER, CommandReceived):
        if event.command_id in other.incomplete:
            named = event.command.RESULT
            other.complete(event.command_id, XaResult(status) if named else None)
    other.decide(xid, committed=status == XA_OK)
    pair.pump()
    assert outcome.done is (status == XA_OK)
    assert session.unsettled == left
