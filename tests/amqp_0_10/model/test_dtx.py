"""Distributed transactions: what class dtx forbids, what becomes of a branch, every input in every state."""

from __future__ import annotations

import doctest
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from amqp_sansio import LocalProtocolError
from amqp_sansio._ground.state_table import mermaid, unreachable
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.choices import (
    XA_HEURCOM,
    XA_HEURHAZ,
    XA_HEURMIX,
    XA_HEURRB,
    XA_OK,
    XA_RBROLLBACK,
    XA_RBTIMEOUT,
    XA_RDONLY,
)
from amqp_sansio.amqp_0_10.model import dtx
from amqp_sansio.amqp_0_10.model.dtx import Branches, Decision
from amqp_sansio.amqp_0_10.model.dtx_states import (
    ASSOCIATION,
    BRANCH,
    Association,
    AssociationInput,
    Branch,
    BranchInput,
)
from amqp_sansio.amqp_0_10.model.execution import ExecutionError

X, Y, Z = XIDS = [spec.Xid(7, b"global", bytes([number])) for number in range(3)]
SETTLING = (spec.DtxPrepare(X), spec.DtxCommit(X), spec.DtxCommit(X, True), spec.DtxRollback(X), spec.DtxForget(X))


class Server:
    """A server's branches with the sessions a, b and c, which are selected; the time only goes on when told."""

    def __init__(self, **options: Any) -> None:
        self.branches = Branches(**options)
        self.now = 0.0
        for owner in "abc":
            self.do(spec.DtxSelect(), owner)

    def do(self, command: spec.Command[Any], owner: str = "a") -> Any:
        result = self.branches.execute(owner, command, self.now)
        self.branches.check()
        return result

    def status(self, command: spec.Command[Any], owner: str = "a") -> int:
        result = self.do(command, owner)
        assert isinstance(result, spec.XaResult)
        assert result.status is not None
        assert spec.XaResult.decode(result.encode()) == result
        return result.status

    def fails(self, command: spec.Command[Any], code: int, name: str, owner: str = "a") -> None:
        """The command raises, for that rule, and changes nothing."""
        before = pickle.dumps(self.branches)
        with pytest.raises(ExecutionError) as caught:
            self.do(command, owner)
        assert (caught.value.code, caught.value.rule) == (code, f"0-10/{name}" if name else None)
        assert pickle.dumps(self.branches) == before

    def work(self, xid: spec.Xid = X, owner: str = "a") -> Server:
        """A whole portion of work."""
        assert self.status(spec.DtxStart(xid), owner) == XA_OK
        assert self.branches.mark_work(owner) == xid
        assert self.status(spec.DtxEnd(xid), owner) == XA_OK
        return self

    def prepared(self, xid: spec.Xid = X) -> Server:
        self.work(xid)
        assert self.status(spec.DtxPrepare(xid)) == XA_OK
        return self

    def outcomes(self) -> list[tuple[spec.Xid, str]]:
        return list(self.branches.take_outcomes())


@pytest.fixture
def server() -> Server:
    """A server without branches."""
    return Server()


@pytest.mark.rule("0-10/dtx/transactionality")
def test_only_work_between_start_and_end_belongs_to_the_branch(server: Server) -> None:
    branches = server.branches
    assert branches.mark_work("a") is None
    server.do(spec.DtxStart(X))
    assert (branches.current("a"), branches.mark_work("a"), branches.mark_work("b")) == (X, X, None)
    server.do(spec.DtxEnd(X, suspend=True))
    assert branches.mark_work("a") is None
    server.do(spec.DtxStart(Y))
    assert branches.mark_work("a") == Y
    server.do(spec.DtxEnd(Y))
    assert branches.current("a") is None
    assert branches.current("stranger") is None


@pytest.mark.rule("0-10/dtx.select/required", "0-10/dtx.start/illegal-state", "0-10/dtx.end/illegal-state")
def test_demarcation_wants_select_coordination_does_not() -> None:
    server = Server().work()
    assert not server.branches.selected("new")
    server.fails(spec.DtxStart(Y), 409, "dtx.start/illegal-state", "new")
    server.fails(spec.DtxEnd(X), 409, "dtx.end/illegal-state", "new")
    assert server.do(spec.DtxSetTimeout(X, 9), "new") is None
    assert server.do(spec.DtxGetTimeout(X), "new") == spec.GetTimeoutResult(9)
    assert server.status(spec.DtxPrepare(X), "new") == XA_OK
    assert server.do(spec.DtxRecover(), "new") == spec.RecoverResult([X])
    assert server.status(spec.DtxRollback(X), "new") == XA_OK
    assert server.do(spec.DtxSelect(), "new") is None
    assert server.do(spec.DtxSelect(), "new") is None
    assert server.branches.selected("new")
    assert server.status(spec.DtxStart(X), "new") == XA_OK


@pytest.mark.rule("0-10/dtx.start/illegal-state")
def test_a_session_works_for_one_branch_at_a_time(server: Server) -> None:
    server.do(spec.DtxStart(X))
    for command in (spec.DtxStart(X), spec.DtxStart(Y), spec.DtxStart(X, join=True), spec.DtxStart(X, resume=True)):
        server.fails(command, 409, "dtx.start/illegal-state")


@pytest.mark.rule("0-10/dtx.start/illegal-state")
def test_only_who_suspended_resumes_and_does_not_join(server: Server) -> None:
    server.do(spec.DtxStart(X))
    server.fails(spec.DtxStart(X, resume=True), 409, "dtx.start/illegal-state", "b")
    server.do(spec.DtxEnd(X, suspend=True))
    server.fails(spec.DtxStart(X, resume=True), 409, "dtx.start/illegal-state", "b")
    server.fails(spec.DtxStart(X, join=True), 409, "dtx.start/illegal-state")
    assert server.status(spec.DtxStart(X, join=True), "b") == XA_OK
    assert server.status(spec.DtxStart(X, resume=True)) == XA_OK


@pytest.mark.rule("0-10/dtx.start/already-known", "0-10/dtx.start/unknown-xid(sic)")
def test_start_wants_an_unknown_xid_and_join_and_resume_a_known_one(server: Server) -> None:
    server.fails(spec.DtxStart(X, join=True), 530, "dtx.start/unknown-xid(sic)")
    server.fails(spec.DtxStart(X, resume=True), 530, "dtx.start/unknown-xid(sic)")
    server.do(spec.DtxStart(X))
    server.fails(spec.DtxStart(X), 530, "dtx.start/already-known", "b")
    server.do(spec.DtxEnd(X))
    server.fails(spec.DtxStart(X), 530, "dtx.start/already-known")
    # The same xid in records of their own, of which one came from the wire.
    server.fails(spec.DtxStart(spec.Xid.decode(X.encode())), 530, "dtx.start/already-known")
    assert server.status(spec.DtxStart(spec.Xid(7, b"global", b"\x00"), join=True)) == XA_OK
    server.do(spec.DtxEnd(X))
    server.do(spec.DtxRollback(X))
    assert server.status(spec.DtxStart(X)) == XA_OK


@pytest.mark.rule("0-10/dtx.start/join-and-resume")
def test_join_and_resume_exclude_each_other() -> None:
    server = Server().work()
    server.fails(spec.DtxStart(X, join=True, resume=True), 530, "dtx.start/join-and-resume")


@pytest.mark.rule("0-10/dtx.start/join-unsupported")
def test_join_can_be_unsupported() -> None:
    server = Server(join=False).work()
    server.fails(spec.DtxStart(X, join=True), 540, "dtx.start/join-unsupported")
    server.fails(spec.DtxStart(X, join=True, resume=True), 530, "dtx.start/join-and-resume")


@pytest.mark.rule("0-10/dtx.end/suspend-and-fail", "0-10/dtx.end/not-associated")
def test_end_is_for_the_branch_that_the_session_works_for(server: Server) -> None:
    server.fails(spec.DtxEnd(X), 409, "dtx.end/not-associated")
    server.do(spec.DtxStart(X))
    server.fails(spec.DtxEnd(Y), 409, "dtx.end/not-associated")
    server.fails(spec.DtxEnd(X), 409, "dtx.end/not-associated", "b")
    server.fails(spec.DtxEnd(X, fail=True, suspend=True), 530, "dtx.end/suspend-and-fail")
    server.do(spec.DtxEnd(X))
    server.fails(spec.DtxEnd(X), 409, "dtx.end/not-associated")


@pytest.mark.rule("0-10/dtx.end/success", "0-10/dtx.end/failure")
@pytest.mark.parametrize("fail", [False, True])
def test_a_failed_portion_makes_the_branch_rollback_only(server: Server, fail: bool) -> None:
    server.do(spec.DtxStart(X))
    server.do(spec.DtxStart(X, join=True), "b")
    assert server.status(spec.DtxEnd(X, fail=fail)) == (XA_RBROLLBACK if fail else XA_OK)
    assert server.outcomes() == []
    assert server.status(spec.DtxEnd(X), "b") == (XA_RBROLLBACK if fail else XA_OK)
    assert server.outcomes() == ([(X, "rolled-back")] if fail else [])
    assert server.status(spec.DtxStart(X, join=True), "c") == (XA_RBROLLBACK if fail else XA_OK)
    assert server.branches.current("c") == (None if fail else X)


@pytest.mark.rule("0-10/dtx.end/failure")
@pytest.mark.parametrize("one_phase", [False, True])
def test_commit_of_a_failed_branch_says_so_and_completes_it(server: Server, one_phase: bool) -> None:
    server.do(spec.DtxStart(X))
    server.branches.mark_work("a")
    server.do(spec.DtxEnd(X, fail=True))
    assert server.outcomes() == [(X, "rolled-back")]
    assert server.status(spec.DtxPrepare(X)) == XA_RBROLLBACK
    assert server.status(spec.DtxCommit(X, one_phase)) == XA_RBROLLBACK
    assert server.outcomes() == []
    server.fails(spec.DtxRollback(X), 404, "dtx.rollback/unknown-xid")


@pytest.mark.rule("0-10/dtx.end/session-closed")
def test_a_closed_session_dooms_the_branches_that_it_has_not_ended() -> None:
    server = Server().work(Z)
    server.do(spec.DtxStart(X))
    server.do(spec.DtxEnd(X, suspend=True))
    server.do(spec.DtxStart(Y))
    server.do(spec.DtxStart(Y, join=True), "b")
    server.do(spec.DtxStart(Y, join=True), "c")
    server.do(spec.DtxEnd(Y, suspend=True), "c")
    server.branches.close_session("a")
    server.branches.check()
    assert not server.branches.selected("a")
    assert [server.branches.state(xid) for xid in (X, Y, Z)] == [
        Branch.ROLLBACK_ONLY,
        Branch.ROLLBACK_ONLY,
        Branch.IDLE,
    ]
    assert server.outcomes() == [(X, "rolled-back")]
    # What others suspended can't be resumed; what they work at ends with the status.
    assert server.status(spec.DtxStart(Y, resume=True), "c") == XA_RBROLLBACK
    assert server.branches.current("c") is None
    assert server.status(spec.DtxEnd(Y, suspend=True), "b") == XA_RBROLLBACK
    assert server.outcomes() == [(Y, "rolled-back")]
    server.branches.close_session("a")
    server.fails(spec.DtxStart(Y), 409, "dtx.start/illegal-state")
    assert server.outcomes() == []


@pytest.mark.rule("0-10/dtx.end/suspend")
@pytest.mark.parametrize("command", SETTLING, ids=repr)
def test_suspended_work_must_be_resumed(server: Server, command: spec.Command[Any]) -> None:
    server.do(spec.DtxStart(X))
    server.branches.mark_work("a")
    assert server.status(spec.DtxEnd(X, suspend=True)) == XA_OK
    server.fails(command, 409, f"{command.NAME}/illegal-state")
    server.fails(spec.DtxEnd(X), 409, "dtx.end/not-associated")
    assert server.status(spec.DtxStart(X, resume=True)) == XA_OK
    assert server.status(spec.DtxEnd(X)) == XA_OK
    assert server.status(spec.DtxPrepare(X)) == XA_OK


@pytest.mark.rule("0-10/dtx.commit/unknown-xid", "0-10/dtx.forget/unknown-xid", "0-10/dtx.get-timeout/unknown-xid")
@pytest.mark.rule("0-10/dtx.prepare/unknown-xid", "0-10/dtx.rollback/unknown-xid", "0-10/dtx.set-timeout/unknown-xid")
@pytest.mark.parametrize("command", [*SETTLING, spec.DtxGetTimeout(X), spec.DtxSetTimeout(X, 1)], ids=repr)
def test_a_branch_is_unknown_before_its_start_and_after_its_completion(
    server: Server, command: spec.Command[Any]
) -> None:
    server.fails(command, 404, f"{command.NAME}/unknown-xid")
    server.work().do(spec.DtxCommit(X, True))
    server.fails(command, 404, f"{command.NAME}/unknown-xid")
    server.prepared().do(spec.DtxCommit(X))
    server.fails(command, 404, f"{command.NAME}/unknown-xid")
    server.work().do(spec.DtxRollback(X))
    server.fails(command, 404, f"{command.NAME}/unknown-xid")


@pytest.mark.rule("0-10/dtx.commit/not-disassociated", "0-10/dtx.forget/not-disassociated")
@pytest.mark.rule("0-10/dtx.prepare/not-disassociated", "0-10/dtx.rollback/not-disassociated")
@pytest.mark.parametrize("doomed", [False, True])
@pytest.mark.parametrize("command", SETTLING, ids=repr)
def test_nothing_is_settled_while_a_session_is_associated(
    server: Server, command: spec.Command[Any], doomed: bool
) -> None:
    server.do(spec.DtxStart(X))
    server.do(spec.DtxStart(X, join=True), "b")
    server.do(spec.DtxEnd(X, suspend=not doomed, fail=doomed))
    server.fails(command, 409, f"{command.NAME}/not-disassociated")


@pytest.mark.rule("0-10/dtx.commit/illegal-state", "0-10/dtx.rollback/illegal-state", "0-10/dtx.prepare/illegal-state")
def test_what_is_suspended_or_prepared_twice_is_out_of_context() -> None:
    server = Server().prepared()
    server.fails(spec.DtxPrepare(X), 409, "dtx.prepare/illegal-state")
    server.fails(spec.DtxStart(X, join=True), 409, "dtx.start/illegal-state")
    server.do(spec.DtxStart(Y))
    server.do(spec.DtxEnd(Y, suspend=True))
    server.fails(spec.DtxCommit(Y), 409, "dtx.commit/illegal-state")
    server.fails(spec.DtxRollback(Y), 409, "dtx.rollback/illegal-state")


@pytest.mark.rule("0-10/dtx.commit/one-phase", "0-10/dtx.commit/two-phase")
def test_one_phase_is_for_branches_that_were_not_prepared() -> None:
    server = Server().work(X).prepared(Y)
    server.fails(spec.DtxCommit(X), 409, "dtx.commit/one-phase")
    server.fails(spec.DtxCommit(Y, True), 409, "dtx.commit/two-phase")
    assert server.status(spec.DtxCommit(Y)) == XA_OK
    assert server.status(spec.DtxCommit(X, True)) == XA_OK
    assert server.outcomes() == [(Y, "committed"), (X, "committed")]


@pytest.mark.rule("0-10/dtx.forget/illegal-state")
def test_only_what_is_heuristically_completed_is_forgotten() -> None:
    server = Server().work(X).prepared(Y)
    for xid in (X, Y):
        server.fails(spec.DtxForget(xid), 409, "dtx.forget/illegal-state")
    server.branches.decide(Y, "commit")
    assert server.do(spec.DtxForget(Y)) is None
    server.do(spec.DtxStart(Z))
    server.do(spec.DtxEnd(Z, fail=True))
    server.fails(spec.DtxForget(Z), 409, "dtx.forget/illegal-state")


@pytest.mark.rule("0-10/dtx.prepare/durable", "0-10/dtx.prepare/remember")
@pytest.mark.parametrize("commit", [False, True])
def test_a_prepared_branch_outlives_everything(commit: bool) -> None:
    server = Server(default_timeout=5, limit=2).prepared().work(Y)
    for owner in "abc":
        server.branches.close_session(owner)
    server.now = 1e9
    assert server.branches.handle_timeout(server.now) == (Y,)
    server.do(spec.DtxSelect())
    assert server.do(spec.DtxSetTimeout(X, 1)) is None
    for _ in range(3):
        server.do(spec.DtxStart(Z))
        server.do(spec.DtxEnd(Z, fail=True))
        server.do(spec.DtxRollback(Z))
    server.branches = pickle.loads(pickle.dumps(server.branches))
    assert server.branches.next_deadline is None
    assert server.do(spec.DtxRecover(), "new") == spec.RecoverResult([X])
    server.outcomes()
    assert server.status(spec.DtxCommit(X) if commit else spec.DtxRollback(X), "new") == XA_OK
    assert server.outcomes() == [(X, "committed" if commit else "rolled-back")]
    assert server.do(spec.DtxRecover(), "new") == spec.RecoverResult([])


def test_a_branch_without_work_is_read_only(server: Server) -> None:
    server.do(spec.DtxStart(X))
    server.do(spec.DtxEnd(X))
    assert server.status(spec.DtxPrepare(X)) == XA_RDONLY
    assert server.outcomes() == [(X, "committed")]
    server.fails(spec.DtxCommit(X), 404, "dtx.commit/unknown-xid")


@pytest.mark.rule("0-10/dtx.set-timeout/effective", "0-10/dtx.set-timeout/reset")
def test_a_timeout_holds_until_it_is_changed_and_0_is_the_default_again() -> None:
    server = Server(default_timeout=60).work()
    assert server.do(spec.DtxGetTimeout(X)) == spec.GetTimeoutResult(60)
    server.now = 10.0
    server.do(spec.DtxSetTimeout(X, 5))
    assert (server.do(spec.DtxGetTimeout(X)), server.branches.next_deadline) == (spec.GetTimeoutResult(5), 15.0)
    server.do(spec.DtxStart(X, join=True))
    server.do(spec.DtxEnd(X))
    assert (server.do(spec.DtxGetTimeout(X)), server.branches.next_deadline) == (spec.GetTimeoutResult(5), 15.0)
    server.do(spec.DtxSetTimeout(X, 0))
    assert (server.do(spec.DtxGetTimeout(X)), server.branches.next_deadline) == (spec.GetTimeoutResult(60), 70.0)
    assert server.branches.handle_timeout(69.9) == ()
    assert server.branches.handle_timeout(70.0) == (X,)
    unlimited = Server().work()
    assert unlimited.do(spec.DtxGetTimeout(X)) == spec.GetTimeoutResult(0)
    assert unlimited.branches.next_deadline is None


def test_a_branch_that_took_too_long_says_so() -> None:
    server = Server(default_timeout=3)
    server.do(spec.DtxStart(X))
    server.do(spec.DtxStart(X, join=True), "b")
    server.do(spec.DtxEnd(X, suspend=True), "b")
    server.now = 1.0
    server.work(Y, "c")
    assert server.branches.next_deadline == 3.0
    server.now = 4.0
    assert server.branches.handle_timeout(4.0) == (X, Y)
    assert server.outcomes() == [(X, "rolled-back"), (Y, "rolled-back")]
    assert server.status(spec.DtxStart(X, resume=True), "b") == XA_RBTIMEOUT
    assert server.status(spec.DtxStart(X, join=True), "c") == XA_RBTIMEOUT
    assert server.status(spec.DtxEnd(X, fail=True)) == XA_RBTIMEOUT
    assert server.outcomes() == [(X, "rolled-back")]
    assert server.status(spec.DtxPrepare(X)) == XA_RBTIMEOUT
    assert server.status(spec.DtxCommit(X, True)) == XA_RBTIMEOUT
    assert server.status(spec.DtxRollback(Y)) == XA_RBTIMEOUT
    assert server.outcomes() == []
    assert server.branches.next_deadline is None


HEURISTICS: list[tuple[Decision, int, list[tuple[spec.Xid, str]]]] = [
    ("commit", XA_HEURCOM, [(X, "committed")]),
    ("rollback", XA_HEURRB, [(X, "rolled-back")]),
    ("mixed", XA_HEURMIX, []),
    ("hazard", XA_HEURHAZ, []),
]


@pytest.mark.parametrize(("decision", "status", "outcomes"), HEURISTICS)
def test_a_heuristic_decision_is_told_until_it_is_forgotten(
    decision: Decision, status: int, outcomes: list[tuple[spec.Xid, str]]
) -> None:
    server = Server().prepared()
    server.branches.decide(X, decision)
    assert server.outcomes() == outcomes
    for command in (spec.DtxCommit(X), spec.DtxRollback(X), spec.DtxCommit(X)):
        assert server.status(command) == status
    server.fails(spec.DtxCommit(X, True), 409, "dtx.commit/two-phase")
    server.fails(spec.DtxPrepare(X), 409, "dtx.prepare/illegal-state")
    assert server.do(spec.DtxRecover()) == spec.RecoverResult([X])
    with pytest.raises(LocalProtocolError, match="only a prepared branch"):
        server.branches.decide(X, "commit")
    assert server.do(spec.DtxForget(X)) is None
    assert (server.do(spec.DtxRecover()), server.outcomes()) == (spec.RecoverResult([]), [])


def test_recover_goes_over_the_wire() -> None:
    result = Server().prepared(Y).prepared(X).do(spec.DtxRecover())
    assert result.in_doubt == [Y, X]
    assert spec.RecoverResult.decode(result.encode()) == result


def test_branches_are_bounded_and_undone_ones_make_room() -> None:
    server = Server(limit=2).prepared(X).work(Y)
    server.fails(spec.DtxStart(Z), 506, "")
    server.do(spec.DtxStart(Y, join=True))
    server.do(spec.DtxEnd(Y, fail=True))
    assert server.status(spec.DtxStart(Z)) == XA_OK
    assert server.branches.state(Y) is Branch.NON_EXISTENT
    server.fails(spec.DtxStart(Y), 506, "", "b")
    assert server.outcomes() == [(Y, "rolled-back")]


def test_the_branch_that_was_undone_first_makes_room_first() -> None:
    server = Server(limit=2)
    for xid in (X, Y):
        server.do(spec.DtxStart(xid))
        server.do(spec.DtxEnd(xid, suspend=True))
    for xid in (Y, X):
        server.do(spec.DtxStart(xid, resume=True))
        server.do(spec.DtxEnd(xid, fail=True))
    server.do(spec.DtxStart(Z))
    assert [server.branches.state(xid) for xid in XIDS] == [Branch.ROLLBACK_ONLY, Branch.NON_EXISTENT, Branch.ACTIVE]


def test_branches_time_out_in_order_however_often_timers_moved() -> None:
    server = Server(default_timeout=10_000)
    xids = [spec.Xid(number, b"g", b"b") for number in range(40)]
    for xid in xids:
        server.work(xid)
    for times in (7, 11, 13):
        for number in range(40):
            server.do(spec.DtxSetTimeout(xids[number * times % 40], 1 + number * times * times % 997))
    last = {xids[number * 13 % 40]: 1.0 + number * 169 % 997 for number in range(40)}
    assert set(last) == set(xids)
    assert server.branches.next_deadline == min(last.values())
    assert server.branches.handle_timeout(1000.0) == tuple(sorted(xids, key=last.__getitem__))


def test_timers_that_were_moved_take_no_room() -> None:
    server = Server(default_timeout=1000).work()
    for number in range(500):
        server.now = float(number)
        server.do(spec.DtxSetTimeout(X, 1000 - number))
    assert len(pickle.dumps(server.branches)) < 4000
    assert server.branches.handle_timeout(999.5) == ()
    assert server.branches.handle_timeout(1000.0) == (X,)


@pytest.mark.parametrize(
    "xid", [None, spec.Xid(), spec.Xid(1, b"g"), spec.Xid(1, None, b"b"), spec.Xid(None, b"g", b"b")]
)
def test_a_xid_that_is_not_whole_is_an_illegal_argument(xid: spec.Xid | None) -> None:
    server = Server().work()
    for command in (spec.DtxStart(xid), spec.DtxEnd(xid), spec.DtxPrepare(xid), spec.DtxGetTimeout(xid)):
        server.fails(command, 531, "")
    server.fails(spec.DtxSetTimeout(X), 531, "")


def test_the_callers_own_faults(server: Server) -> None:
    with pytest.raises(LocalProtocolError, match=r"tx\.select"):
        server.do(spec.TxSelect())
    with pytest.raises(LocalProtocolError, match="non-existent"):
        server.branches.decide(X, "commit")
    server.branches.handle_timeout(2.0)
    with pytest.raises(ValueError, match="backwards"):
        server.do(spec.DtxRecover())


def test_docstring_examples() -> None:
    results = doctest.testmod(dtx)
    assert results.attempted > 0
    assert results.failed == 0


# The state tables of class dtx: every state and input of a branch, in the table and in Branches.


# Rows: states, columns: inputs; "." is illegal. The letters stand for the states.
LETTERS = dict(zip("-AIPRTcrmh", Branch, strict=True))
GRID = """
    START JOIN RESUME SUSPEND END LAST_END FAIL CLOSE TIMEOUT PREPARE PREPARE_READ_ONLY COMMIT_ONE_PHASE COMMIT ROLLBACK
-   A     .    .      .       .   .        .    .     .       .       .                 .                .      .
A   .     A    A      A       A   I        R    R     T       .       .                 .                .      .
I   .     A    .      .       .   .        .    .     T       P       -                 -                .      -
P   .     .    .      .       .   .        .    .     .       .       .                 .                -      -
R   .     R    R      R       R   R        R    R     .       R       R                 -                -      -
T   .     T    T      T       T   T        T    T     .       T       T                 -                -      -
c   .     .    .      .       .   .        .    .     .       .       .                 .                c      c
r   .     .    .      .       .   .        .    .     .       .       .                 .                r      r
m   .     .    .      .       .   .        .    .     .       .       .                 .                m      m
h   .     .    .      .       .   .        .    .     .       .       .                 .                h      h
"""
OWN = """
    DECIDE_COMMIT DECIDE_ROLLBACK DECIDE_MIXED DECIDE_HAZARD FORGET
-   .             .               .            .             .
A   .             .               .            .             .
I   .             .               .            .             .
P   c             r               m            h             .
R   .             .               .            .             .
T   .             .               .            .             .
c   .             .               .            .             -
r   .             .               .            .             -
m   .             .               .            .             -
h   .             .               .            .             -
"""
DECISIONS: dict[BranchInput, Decision] = {
    BranchInput.DECIDE_COMMIT: "commit",
    BranchInput.DECIDE_ROLLBACK: "rollback",
    BranchInput.DECIDE_MIXED: "mixed",
    BranchInput.DECIDE_HAZARD: "hazard",
}
HEURISTIC = dict(zip(list(Branch)[-4:], DECISIONS.values(), strict=True))
DOOMED = (Branch.ROLLBACK_ONLY, Branch.TIMED_OUT)
ENDS = (BranchInput.SUSPEND, BranchInput.END, BranchInput.LAST_END, BranchInput.FAIL, BranchInput.CLOSE)


def cells() -> Iterator[tuple[Branch, BranchInput, Branch | None]]:
    """State, input, and the state that it leads to or None, as the grids have it."""
    for grid in (GRID, OWN):
        head, *rows = grid.strip("\n").splitlines()
        for letter, *after in (row.split() for row in rows):
            for name, cell in zip(head.split(), after, strict=True):
                yield LETTERS[letter], BranchInput[name], LETTERS.get(cell)


def do(branches: Branches, command: spec.Command[Any], owner: str = "a") -> None:
    """A command at the time that is the deadline of the branch X."""
    branches.execute(owner, command, 9.0)
    branches.check()


def in_state(state: Branch, given: BranchInput) -> Branches:
    """A server with the branch X in that state, where session a works for it if an end is to come and it can."""
    branches = Branches(default_timeout=9)
    for owner in "abc":
        branches.execute(owner, spec.DtxSelect(), 0.0)
    if state is Branch.NON_EXISTENT:
        return branches
    branches.execute("a", spec.DtxStart(X), 0.0)
    # Only a branch with work is ever prepared.
    if given is not BranchInput.PREPARE_READ_ONLY or state not in (Branch.IDLE, *DOOMED):
        branches.mark_work("a")
    if given is BranchInput.RESUME:
        do(branches, spec.DtxStart(X, join=True), "c")
        do(branches, spec.DtxEnd(X, suspend=state in (Branch.ACTIVE, *DOOMED)), "c")
    if state in DOOMED:
        do(branches, spec.DtxStart(X, join=True), "b")
        if state is Branch.TIMED_OUT:
            branches.handle_timeout(9.0)
        do(branches, spec.DtxEnd(X, fail=state is Branch.ROLLBACK_ONLY), "b")
    if given is BranchInput.END and state is Branch.ACTIVE:
        do(branches, spec.DtxStart(X, join=True), "b")
    if state is not Branch.ACTIVE and not (given in ENDS and state in DOOMED):
        do(branches, spec.DtxEnd(X))
    if state is Branch.PREPARED or state in HEURISTIC:
        do(branches, spec.DtxPrepare(X))
    if state in HEURISTIC:
        branches.decide(X, HEURISTIC[state])
    return branches


def give(branches: Branches, given: BranchInput) -> None:
    """Do what the input stands for."""
    commands: dict[BranchInput, tuple[spec.Command[Any], str]] = {
        BranchInput.START: (spec.DtxStart(X), "c"),
        BranchInput.JOIN: (spec.DtxStart(X, join=True), "c"),
        BranchInput.RESUME: (spec.DtxStart(X, resume=True), "c"),
        BranchInput.SUSPEND: (spec.DtxEnd(X, suspend=True), "a"),
        BranchInput.END: (spec.DtxEnd(X), "a"),
        BranchInput.LAST_END: (spec.DtxEnd(X), "a"),
        BranchInput.FAIL: (spec.DtxEnd(X, fail=True), "a"),
        BranchInput.PREPARE: (spec.DtxPrepare(X), "c"),
        BranchInput.PREPARE_READ_ONLY: (spec.DtxPrepare(X), "c"),
        BranchInput.COMMIT_ONE_PHASE: (spec.DtxCommit(X, True), "c"),
        BranchInput.COMMIT: (spec.DtxCommit(X), "c"),
        BranchInput.ROLLBACK: (spec.DtxRollback(X), "c"),
        BranchInput.FORGET: (spec.DtxForget(X), "c"),
    }
    if given is BranchInput.TIMEOUT:
        branches.handle_timeout(100.0)
    elif given is BranchInput.CLOSE:
        branches.close_session("a")
    elif given in DECISIONS:
        branches.decide(X, DECISIONS[given])
    else:
        do(branches, *commands[given])
    branches.check()


@pytest.mark.parametrize(
    ("state", "given", "after"), list(cells()), ids=lambda value: value.name if value else "illegal"
)
def test_every_input_in_every_state(state: Branch, given: BranchInput, after: Branch | None) -> None:
    assert BRANCH[state].get(given) is after
    branches = in_state(state, given)
    assert branches.state(X) is state
    if after is None and given not in (BranchInput.TIMEOUT, BranchInput.CLOSE):
        # Time and closing are never wrong: they don't concern such a branch.
        with pytest.raises((ExecutionError, LocalProtocolError)):
            give(branches, given)
    else:
        give(branches, given)
    assert branches.state(X) is (state if after is None else after)


def test_the_tables_are_total_and_reachable() -> None:
    assert set(cells()) == {(state, given, BRANCH[state].get(given)) for state in Branch for given in BranchInput}
    assert not unreachable(BRANCH, Branch.NON_EXISTENT)
    assert set(ASSOCIATION) == set(Association)
    assert not unreachable(ASSOCIATION, Association.NOT_ASSOCIATED)
    assert {given for row in ASSOCIATION.values() for given in row} == set(AssociationInput)
    assert "ACTIVE --> IDLE: end of the last" in mermaid(BRANCH, Branch.NON_EXISTENT)
