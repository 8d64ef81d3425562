"""Distributed transactions over sessions: what a session itself forbids, and a server that keeps its branches."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import Accepted, LocalProtocolError, Settled
from amqp_sansio.amqp_0_10 import (
    Branches,
    CommandReceived,
    Connection,
    DtxCommit,
    DtxEnd,
    DtxPrepare,
    DtxRecover,
    DtxRollback,
    DtxSelect,
    DtxStart,
    ExecutionError,
    Message,
    MessageReceived,
    MessageSubscribe,
    RecoverResult,
    TxSelect,
    XaResult,
    Xid,
)
from tests.kit.ends_0_10 import Ends

ONE = Xid(1, b"global", b"one")
TWO = Xid(1, b"global", b"two")


class Branching(Ends):
    """A server that keeps the branches of all its sessions."""

    def __init__(self) -> None:
        self.branches = Branches()
        super().__init__()

    def answer(self, here: Connection, event: Any) -> None:
        if not isinstance(event, (CommandReceived, MessageReceived)):
            super().answer(here, event)
            return
        session = here.session(event.channel)
        if isinstance(event, MessageReceived):
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
        except ExecutionError as error:
            session.fail(error, event.command_id)
            self.branches.close_session(event.channel)
            return
        session.complete(event.command_id, result)
        for xid, outcome in self.branches.take_outcomes():
            for channel in here.sessions:
                here.session(channel).decide(xid, committed=outcome == "committed")


def delivered(ends: Ends) -> Any:
    """A message that the client has been delivered; its outcome's handle at the server."""
    ends.session.call(MessageSubscribe("q", "d"))
    ends.session.top_up("d", 10)
    ends.move()
    outcome = ends.served.transfer("d", Message(b"x")).outcome
    ends.move()
    return outcome


@pytest.mark.rule("0-10/dtx/transactionality")
@pytest.mark.parametrize("how", ["one-phase", "two-phase"])
def test_what_a_branch_accepts_is_settled_by_its_commit(how: str) -> None:
    ends = Branching()
    outcome = delivered(ends)
    ends.session.call(DtxSelect())
    started = ends.session.call(DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ended = ends.session.call(DtxEnd(ONE))
    ends.move()
    assert (started.result, ended.result) == (XaResult(0), XaResult(0))
    assert not outcome.done
    assert ends.session.unsettled == ()
    if how == "two-phase":
        ends.session.call(DtxPrepare(ONE))
        found = ends.session.call(DtxRecover())
        ends.move()
        assert isinstance(found.result, RecoverResult)
        assert found.result.in_doubt == [ONE]
    committed = ends.session.call(DtxCommit(ONE, one_phase=how == "one-phase"))
    ends.move()
    assert committed.result == XaResult(0)
    assert outcome.result == Accepted()
    # Outside of a branch an accept is final at once.
    another = ends.served.transfer("d", Message(b"x")).outcome
    ends.move()
    ends.session.accept(*ends.session.unsettled, sync=True)
    ends.move()
    assert another is not None
    assert another.result == Accepted()


def test_what_a_branch_accepts_is_acquired_again_by_its_rollback() -> None:
    ends = Branching()
    outcome = delivered(ends)
    before = ends.session.unsettled
    ends.session.call(DtxSelect())
    ends.session.call(DtxStart(ONE))
    ends.session.accept(*before)
    ends.session.call(DtxEnd(ONE, fail=True))
    ends.move()
    # Doomed: the server has told so, the client knows when it rolls back.
    ends.session.call(DtxRollback(ONE))
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
    ends.session.call(DtxSelect())
    ends.session.call(DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ends.session.call(DtxEnd(ONE))
    ends.move()
    other.call(DtxCommit(ONE, one_phase=True))
    ends.move()
    assert outcome.result == Accepted()
    settled = [event for event in ends.told[ends.server] if isinstance(event, Settled)]
    assert settled[-1].handles == (outcome,)


SELECTED = [DtxSelect()]
STARTED = [DtxSelect(), DtxStart(ONE)]
ILLEGAL = [
    pytest.param([], DtxStart(ONE), 409, "dtx.select/required", id="start before select"),
    pytest.param([], DtxEnd(ONE), 409, "dtx.select/required", id="end before select"),
    pytest.param(STARTED, DtxStart(TWO), 409, "dtx.start/illegal-state", id="two branches"),
    pytest.param(SELECTED, DtxEnd(ONE), 409, "dtx.end/not-associated", id="end without start"),
    pytest.param(STARTED, DtxEnd(TWO), 409, "dtx.end/not-associated", id="end of another"),
    pytest.param(SELECTED, DtxStart(ONE, join=True, resume=True), 530, "dtx.start/join-and-resume", id="both"),
    pytest.param(STARTED, DtxEnd(ONE, suspend=True, fail=True), 530, "dtx.end/suspend-and-fail", id="both ends"),
    pytest.param(SELECTED, TxSelect(), 409, "tx.select/no-dtx", id="tx behind dtx"),
    pytest.param([TxSelect()], DtxSelect(), 409, None, id="dtx behind tx"),
]


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
    ends.forced(ends.session, command)
    error = ends.failure(ends.server)
    assert (error.code, error.rule) == (code, full)
    assert ends.failure(ends.client).code == code


def test_a_branch_that_is_known_is_refused_by_its_server() -> None:
    ends = Branching()
    for command in (DtxSelect(), DtxStart(ONE), DtxEnd(ONE), DtxStart(ONE)):
        ends.session.call(command)
    ends.move()
    error = ends.failure(ends.client)
    assert (error.code, error.condition) == (530, "not-allowed")


def test_an_accept_of_a_suspended_branch_waits_for_it() -> None:
    ends = Branching()
    outcome = delivered(ends)
    ends.session.call(DtxSelect())
    ends.session.call(DtxStart(ONE))
    ends.session.accept(*ends.session.unsettled)
    ends.session.call(DtxEnd(ONE, suspend=True))
    ends.session.call(DtxStart(TWO))
    ends.session.call(DtxEnd(TWO))
    ends.session.call(DtxCommit(TWO, one_phase=True))
    ends.move()
    assert not outcome.done
    ends.session.call(DtxStart(ONE, resume=True))
    ends.session.call(DtxEnd(ONE))
    ends.session.call(DtxCommit(ONE, one_phase=True))
    ends.move()
    assert outcome.result == Accepted()
