"""Transactions of 0-10, standard and distributed: what is illegal, provisional, kept (classes 5 and 6)."""

from typing import Any

import pytest

from amqp_sansio import Accepted, LocalProtocolError, Settled, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.model.dtx import Branches
from tests.kit import octets_0_10 as raw
from tests.kit.ends_0_10 import Ends
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing


def in_tx() -> Facing:
    """A server whose client has selected transactions."""
    facing = Facing.subscribed(SERVER)
    facing.feed(raw.TX_SELECT + raw.flow("d", 0, None) + raw.flow("d", 1, None))
    facing.complete_all()
    return facing.forget()


def selecting(count: int = 0) -> Facing:
    """A client that has selected transactions, and got messages; everything is completed."""
    facing = Facing.subscribed(CLIENT)
    facing.session.top_up("d", 100)
    facing.session.call(spec.TxSelect())
    done(facing)
    for number in range(count):
        facing.feed(raw.transfer("d", b"%d" % number, header=raw.routed()))
    return facing.forget()


def done(facing: Facing) -> None:
    """The peer completes all commands."""
    facing.settle()
    facing.feed(raw.completed((0, facing.last_id)))


def test_transactions_octet_by_octet(client: Facing) -> None:
    for command in (spec.TxSelect(), spec.TxCommit(), spec.TxRollback()):
        client.session.call(command, sync=False)
    client.settle()
    assert client.out == raw.TX_SELECT + raw.TX_COMMIT + raw.TX_ROLLBACK


# The server.


@pytest.mark.rule("0-10/tx.commit/order")
@pytest.mark.parametrize("end", [raw.TX_COMMIT, raw.TX_ROLLBACK])
def test_what_is_accepted_in_a_transaction_waits_for_its_end(end: bytes) -> None:
    facing = in_tx()
    session = facing.session
    one, two = session.transfer("d", b"a"), session.transfer("d", b"b")
    assert one.outcome is not None
    assert two.outcome is not None
    facing.feed(raw.accept(0))
    assert facing.asked().pendings == (one.outcome,)
    facing.complete_all()
    assert not one.outcome.done
    assert facing.of(Settled) == []
    facing.feed(end)
    asked = facing.asked()
    assert isinstance(asked.command, (spec.TxCommit, spec.TxRollback))
    assert asked.pendings == (one.outcome,)
    session.complete(asked.command_id)
    facing.settle()
    assert one.outcome.done is (end == raw.TX_COMMIT)
    assert not two.outcome.done
    if end == raw.TX_COMMIT:
        assert facing.of(Settled) == [Settled((one.outcome,), Accepted())]
    else:
        # Still acquired, so it can be accepted once more (or released).
        facing.feed(raw.accept(0) + raw.TX_COMMIT)
        facing.complete_all()
        assert one.outcome.result == Accepted()


@pytest.mark.rule("0-10/tx.commit/order")
def test_a_commit_covers_what_came_before_it_and_nothing_behind() -> None:
    facing = in_tx()
    session = facing.session
    sent = [session.transfer("d", b"x") for _ in range(3)]
    facing.feed(raw.accept(0) + raw.TX_COMMIT + raw.accept(1) + raw.TX_ROLLBACK + raw.accept((1, 2)) + raw.TX_COMMIT)
    asked = facing.of(amqp.CommandReceived)
    handles = [each.outcome for each in sent]
    assert [event.pendings for event in asked if isinstance(event.command, (spec.TxCommit, spec.TxRollback))] == [
        (handles[0],),
        (handles[1],),
        (handles[1], handles[2]),
    ]
    for event in asked:
        session.complete(event.command_id)
    assert [each.result for each in handles if each] == [Accepted()] * 3


def test_reject_and_release_are_not_part_of_it() -> None:
    facing = in_tx()
    session = facing.session
    sent = [session.transfer("d", b"x") for _ in range(2)]
    facing.feed(raw.reject(0) + raw.release(1))
    facing.complete_all()
    assert [each.outcome.result for each in sent if each.outcome] == [amqp.Rejected(), amqp.Released()]


@pytest.mark.rule("0-10/message.transfer/tx-publish")
def test_what_is_published_in_a_transaction_is_told_with_its_place() -> None:
    facing = in_tx()
    facing.feed(
        raw.transfer("e", b"a") + raw.transfer("e", b"b") + raw.TX_COMMIT + raw.transfer("e", b"c") + raw.TX_ROLLBACK
    )
    told: list[object] = []
    for event in facing.events:
        if isinstance(event, amqp.MessageReceived):
            told.append(event.body)
        elif isinstance(event, amqp.CommandReceived):
            told.append(event.command.NAME)
    assert told == [b"a", b"b", "tx.commit", b"c", "tx.rollback"]


@pytest.mark.rule("0-10/tx.commit/order")
def test_a_commit_is_told_completed_at_once_when_its_client_waits() -> None:
    facing = in_tx()
    facing.feed(raw.transfer("e", b"a") + raw.TX_COMMIT)
    one, two = facing.session.incomplete
    facing.session.complete(one)
    facing.session.complete(two)
    facing.feed(raw.flush("completed"))
    assert facing.sent()[-1].octets == raw.completed((0, two))


# The client.


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired")
def test_after_a_rollback_the_messages_are_still_the_clients() -> None:
    facing = selecting(3)
    session = facing.session
    session.accept(0, 1)
    assert session.unsettled == (2,)
    handle = session.call(spec.TxRollback())
    assert session.unsettled == (2,)
    done(facing)
    assert handle.done
    assert set(session.unsettled) == {0, 1, 2}
    session.release(0)
    session.accept(1)
    session.call(spec.TxCommit())
    done(facing)
    assert session.unsettled == (2,)
    with pytest.raises(LocalProtocolError, match="already settled"):
        session.accept(1)


def test_a_commit_ends_what_was_accepted() -> None:
    facing = selecting(2)
    session = facing.session
    session.accept(0)
    handle = session.call(spec.TxCommit())
    facing.forget()
    done(facing)
    assert handle.result is None
    assert any([isinstance(event.state, amqp.Completed) and handle in event.pendings for event in facing.of(Settled)])
    session.call(spec.TxRollback())
    done(facing)
    assert session.unsettled == (1,)


@pytest.mark.rule("0-10/tx.rollback/keeps-acquired")
def test_what_is_accepted_behind_a_commit_belongs_to_the_next_transaction() -> None:
    facing = selecting(2)
    session = facing.session
    session.accept(0)
    session.call(spec.TxCommit())
    session.accept(1)
    session.call(spec.TxRollback())
    done(facing)
    assert session.unsettled == (1,)


@pytest.mark.rule("0-10/message.transfer/tx-publish")
def test_what_is_published_is_sent_before_the_commit() -> None:
    facing = selecting()
    session = facing.session
    sent = session.transfer("e", b"a")
    session.call(spec.TxCommit())
    assert facing.names() == ["message.transfer", "tx.commit"]
    done(facing)
    assert sent.outcome is not None
    assert sent.outcome.result == Accepted()


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_server_has_no_transactions_with_its_client(side: Side) -> None:
    facing = Facing.attached(side)
    if side is SERVER:
        with pytest.raises(LocalProtocolError, match="isn't for a client"):
            facing.session.call(spec.TxSelect())
    else:
        facing.feed(raw.TX_SELECT)
        facing.excepts(530, None, 0, 0x0501)


# Distributed transactions over sessions: what a session itself forbids, and a server that keeps its branches.


ONE = spec.Xid(1, b"global", b"one")
TWO = spec.Xid(1, b"global", b"two")


class Branching(Ends):
    """A server that keeps the branches of all its sessions."""

    def __init__(self) -> None:
        self.branches = Branches()
        super().__init__()

    def answer(self, here: amqp.Connection, event: Any) -> None:
        if not isinstance(event, (amqp.CommandReceived, amqp.MessageReceived)):
            super().answer(here, event)
            return
        session = here.session(event.channel)
        if isinstance(event, amqp.MessageReceived):
            if here is self.server:
                self.branches.mark_work(event.channel)
            session.complete(event.command_id)
            return
        if event.command.NAME == "message.accept":
            self.branches.mark_work(event.channel)
        if not event.command.NAME.startswith("dtx."):
            session.complete(event.command_id)
            return
        try:
            result = self.branches.execute(event.channel, event.command, 0.0)
        except amqp.ExecutionError as error:
            session.fail(error, event.command_id)
            self.branches.close_session(event.channel)
            return
        session.complete(event.command_id, result)
        for xid, outcome in self.branches.take_outcomes():
            for channel in here.sessions:
                here.session(channel).decide(xid, committed=outcome == "committed")


def delivered(ends: Ends) -> Any:
    """A message that the client has been delivered; its outcome's handle at the server."""
    ends.session.call(spec.MessageSubscribe("q", "d"))
    ends.session.top_up("d", 10)
    ends.move()
    outcome = ends.served.transfer("d", amqp.Message(b"x")).outcome
    ends.move()
    return outcome


@pytest.mark.rule("0-10/dtx/transactionality")
@pytest.mark.parametrize("how", ["one-phase", "two-phase"])
def test_what_a_branch_accepts_is_settled_by_its_commit(how: str) -> None:
    ends = Branching()
    outcome = delivered(ends)
    ends.session.call(spec.DtxSelect())
    started = ends.session.call(spec.DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ended = ends.session.call(spec.DtxEnd(ONE))
    ends.move()
    assert (started.result, ended.result) == (spec.XaResult(0), spec.XaResult(0))
    assert not outcome.done
    assert ends.session.unsettled == ()
    if how == "two-phase":
        ends.session.call(spec.DtxPrepare(ONE))
        found = ends.session.call(spec.DtxRecover())
        ends.move()
        assert isinstance(found.result, spec.RecoverResult)
        assert found.result.in_doubt == [ONE]
    committed = ends.session.call(spec.DtxCommit(ONE, one_phase=how == "one-phase"))
    ends.move()
    assert committed.result == spec.XaResult(0)
    assert outcome.result == Accepted()
    # Outside of a branch an accept is final at once.
    another = ends.served.transfer("d", amqp.Message(b"x")).outcome
    ends.move()
    ends.session.accept(*ends.session.unsettled, sync=True)
    ends.move()
    assert another is not None
    assert another.result == Accepted()


def test_what_a_branch_accepts_is_acquired_again_by_its_rollback() -> None:
    ends = Branching()
    outcome = delivered(ends)
    before = ends.session.unsettled
    ends.session.call(spec.DtxSelect())
    ends.session.call(spec.DtxStart(ONE))
    ends.session.accept(*before)
    ends.session.call(spec.DtxEnd(ONE, fail=True))
    ends.move()
    # Doomed: the server has told so, the client knows when it rolls back.
    ends.session.call(spec.DtxRollback(ONE))
    ends.move()
    assert ends.session.unsettled == before
    assert not outcome.done
    ends.session.release(*before, sync=True)
    ends.move()
    assert outcome.done


def test_a_branch_is_committed_by_another_session() -> None:
    ends = Branching()
    outcome = delivered(ends)
    other = ends.client.open_session("coordinator")
    ends.session.call(spec.DtxSelect())
    ends.session.call(spec.DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ends.session.call(spec.DtxEnd(ONE))
    ends.move()
    other.call(spec.DtxCommit(ONE, one_phase=True))
    ends.move()
    assert outcome.result == Accepted()
    settled = [event for event in ends.told[ends.server] if isinstance(event, Settled)]
    assert settled[-1].pendings == (outcome,)


SELECTED = [spec.DtxSelect()]
STARTED = [spec.DtxSelect(), spec.DtxStart(ONE)]
UNACCEPTED = spec.MessageSubscribe("q", "d", amqp.spec.NONE, 0)
ILLEGAL = [
    pytest.param([], spec.DtxStart(ONE), 409, "dtx.select/required", id="start before select"),
    pytest.param([], spec.DtxEnd(ONE), 409, "dtx.select/required", id="end before select"),
    pytest.param(STARTED, spec.DtxStart(TWO), 409, "dtx.start/illegal-state", id="two branches"),
    pytest.param(SELECTED, spec.DtxEnd(ONE), 409, "dtx.end/not-associated", id="end without start"),
    pytest.param(STARTED, spec.DtxEnd(TWO), 409, "dtx.end/not-associated", id="end of another"),
    pytest.param(SELECTED, spec.DtxStart(ONE, join=True, resume=True), 530, "dtx.start/join-and-resume", id="both"),
    pytest.param(STARTED, spec.DtxEnd(ONE, suspend=True, fail=True), 530, "dtx.end/suspend-and-fail", id="both ends"),
    pytest.param(SELECTED, spec.TxSelect(), 409, "tx.select/no-dtx", id="tx behind dtx"),
    pytest.param([spec.TxSelect()], spec.DtxSelect(), 409, None, id="dtx behind tx"),
    pytest.param([spec.TxSelect()], spec.TxSelect(), 409, "tx.select/exactly-once", id="tx twice"),
    pytest.param([UNACCEPTED], spec.TxSelect(), 530, "tx.select/explicit-accepts", id="tx behind accept-mode none"),
    pytest.param([spec.TxSelect()], UNACCEPTED, 530, "tx.select/explicit-accepts", id="accept-mode none behind tx"),
    pytest.param([], spec.TxCommit(), 409, "tx.commit/select-required", id="commit before select"),
    pytest.param([], spec.TxRollback(), 409, "tx.rollback/select-required", id="rollback before select"),
    pytest.param(SELECTED, spec.TxCommit(), 409, "tx.commit/select-required", id="commit behind dtx"),
    pytest.param(SELECTED, spec.TxRollback(), 409, "tx.rollback/select-required", id="rollback behind dtx"),
]


@pytest.mark.rule("0-10/tx.commit/select-required", "0-10/tx.rollback/select-required")
@pytest.mark.rule("0-10/tx.select/exactly-once", "0-10/tx.select/no-dtx", "0-10/tx.select/explicit-accepts")
@pytest.mark.rule("0-10/dtx.select/required", "0-10/dtx.start/illegal-state -> illegal-state 409")
@pytest.mark.rule("0-10/dtx.start/join-and-resume -> not-allowed 530")
@pytest.mark.rule("0-10/dtx.end/illegal-state -> illegal-state 409", "0-10/dtx.end/not-associated -> illegal-state 409")
@pytest.mark.rule("0-10/dtx.end/suspend-and-fail -> not-allowed 530", "0-10/tx.select/no-dtx -> illegal-state 409")
@pytest.mark.parametrize(("before", "command", "code", "rule"), ILLEGAL)
def test_a_session_refuses_what_is_out_of_place(before: list[Any], command: Any, code: int, rule: str | None) -> None:
    full = None if rule is None else f"0-10/{rule}"
    ends = Branching()
    for each in before:
        ends.session.call(each)
    with pytest.raises(LocalProtocolError) as caught:
        ends.session.call(command)
    assert caught.value.rule == full
    ends.move()
    assert ends.commands(ends.server) == before
    ends.forced(ends.session, command)
    assert ends.commands(ends.server) == before
    error = ends.failure(ends.server)
    assert (error.code, error.rule) == (code, full)
    assert ends.failure(ends.client).code == code


def test_a_branch_that_is_known_is_refused_by_its_server() -> None:
    ends = Branching()
    for command in (spec.DtxSelect(), spec.DtxStart(ONE), spec.DtxEnd(ONE), spec.DtxStart(ONE)):
        ends.session.call(command)
    ends.move()
    error = ends.failure(ends.client)
    assert (error.code, error.condition) == (530, "not-allowed")


def test_an_accept_of_a_suspended_branch_waits_for_it() -> None:
    ends = Branching()
    outcome = delivered(ends)
    ends.session.call(spec.DtxSelect())
    ends.session.call(spec.DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ends.session.call(spec.DtxEnd(ONE, suspend=True))
    ends.session.call(spec.DtxStart(TWO))
    ends.session.call(spec.DtxEnd(TWO))
    ends.session.call(spec.DtxCommit(TWO, one_phase=True))
    ends.move()
    assert not outcome.done
    ends.session.call(spec.DtxStart(ONE, resume=True))
    ends.session.call(spec.DtxEnd(ONE))
    ends.session.call(spec.DtxCommit(ONE, one_phase=True))
    ends.move()
    assert outcome.result == Accepted()


# A second settlement in a transaction.


@pytest.mark.parametrize("end", [raw.TX_COMMIT, raw.TX_ROLLBACK])
def test_a_release_of_what_the_transaction_has_accepted_is_its_outcome_after_a_rollback(end: bytes) -> None:
    facing = in_tx()
    one, two = facing.session.transfer("d", b"a"), facing.session.transfer("d", b"b")
    assert one.outcome is not None
    assert two.outcome is not None
    facing.feed(raw.accept(0), raw.accept(1), raw.release(0))
    facing.complete_all()
    assert not one.outcome.done
    assert facing.of(Settled) == []
    facing.feed(end)
    assert {*facing.asked().pendings} >= {two.outcome}
    facing.complete_all()
    assert one.outcome.result == (Accepted() if end == raw.TX_COMMIT else amqp.Released(False))
    assert two.outcome.done is (end == raw.TX_COMMIT)
    assert one.outcome not in facing.session.pending


def test_a_client_may_release_what_the_transaction_has_accepted_once() -> None:
    facing = selecting(2)
    session = facing.session
    session.accept(0, 1)
    session.release(0)
    for again in (session.release, session.reject, session.accept):
        with pytest.raises(LocalProtocolError, match=r"of \[0\]: no transfers of these ids wait for it"):
            again(0)
    session.call(spec.TxRollback())
    done(facing)
    assert session.unsettled == (1,)
    session.accept(1)
    session.call(spec.TxCommit())
    # The release was of the transaction that is over.
    with pytest.raises(LocalProtocolError):
        session.release(1)
