"""Branches: the distributed transactions of a server, for all its sessions (0-10 class dtx).

This keeps the books and finds what the rules forbid; the server does the work. It asks `current` which branch a
command's work belongs to, says so with `mark_work`, and does what `take_outcomes` tells. The states are those of the
tables in `dtx_states`.

Where the text of the specification says two things, or none:

- An xid is unknown when no branch of that name was started, or when it's already committed, rolled back or forgotten.
  An ended branch is known: end comes before prepare and commit.
- start with join or resume of an unknown xid is not-allowed: rule dtx.start/unknown-xid by its name, its text repeats
  already-known.
- A session that has suspended a branch isn't currently associated, so it can't end it, only resume it. Until then the
  branch is incomplete: prepare, commit and rollback are illegal-state. Only the session that suspended it resumes it.
- start that finds the branch rollback-only says so and doesn't associate the session, end of such a branch always
  dissociates it, as in XA.
- A rollback-only branch is undone as soon as no session is associated with it, since nothing more can happen to it; its
  xid stays known, so that prepare, commit and rollback can say why. The last two complete it.
- The time of a branch runs from its start, or from set-timeout when that came later; never while it's prepared. A
  branch whose time is up is undone at once, as both Qpid brokers do it: a session that hangs holds no messages any
  more. Sessions stay associated with it until they end it; what they did meanwhile is undone when the last one has.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from ..._ground.deadlines import Deadlines
from ..._ground.invariants import ensure
from ..._ground.timers import Clock
from ...errors import LocalProtocolError
from ..codec import records
from ..codec.choices import XA_OK, XA_RDONLY
from . import execution
from .dtx_states import (
    ASSOCIATION,
    BRANCH,
    DOOMED,
    HEURISTIC,
    STATUSES,
    Association,
    AssociationInput,
    Branch,
    BranchInput,
)

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping
    from typing import TypeAlias

    from ..codec.record import Command

    DtxResult: TypeAlias = records.XaResult | records.GetTimeoutResult | records.RecoverResult | None
    _Settling: TypeAlias = records.DtxPrepare | records.DtxCommit | records.DtxRollback | records.DtxForget
    _Coordination: TypeAlias = _Settling | records.DtxGetTimeout | records.DtxSetTimeout
    _Named: TypeAlias = _Coordination | records.DtxStart | records.DtxEnd

Outcome = Literal["committed", "rolled-back"]
Decision = Literal["commit", "rollback", "mixed", "hazard"]


class Branches:
    """All transaction branches that a server knows.

    `join` says whether start(join) is supported. `default_timeout` is that of branches without set-timeout, in seconds,
    0: they have all the time. At most `limit` branches are known; of those that are rolled back already and only wait
    to be asked about, the oldest make room for new ones.

    An owner is whatever names a session. Times are seconds on the caller's clock, which never runs backwards.

    >>> from amqp_sansio.amqp_0_10.spec import DtxCommit, DtxEnd, DtxPrepare, DtxSelect, DtxStart, Xid
    >>> branches, xid = Branches(), Xid(1, b"global", b"branch")
    >>> for command in (DtxSelect(), DtxStart(xid)):
    ...     branches.execute("session", command, 0.0)
    XaResult(status=0)
    >>> branches.mark_work("session")
    Xid(format=1, global_id=b'global', branch_id=b'branch')
    >>> for command in (DtxEnd(xid), DtxPrepare(xid), DtxCommit(xid)):
    ...     branches.execute("session", command, 1.0)
    XaResult(status=0)
    XaResult(status=0)
    XaResult(status=0)
    >>> branches.take_outcomes()
    [(Xid(format=1, global_id=b'global', branch_id=b'branch'), 'committed')]
    """

    __slots__ = (
        "_branches",
        "_clock",
        "_deadlines",
        "_outcomes",
        "_sessions",
        "_undone",
        "default_timeout",
        "join",
        "limit",
    )

    def __init__(self, *, join: bool = True, default_timeout: int = 0, limit: int = 65_536) -> None:
        # Whether dtx.start with join is supported.
        self.join = join
        # Seconds of branches without set-timeout; 0: they have all the time.
        self.default_timeout = default_timeout
        # Most known branches; of those that are rolled back and only wait to be asked about, the oldest make room.
        self.limit = limit
        # The known ones, in the order in which they were started.
        self._branches: dict[records.Xid, _Known] = {}
        # Those that have selected dtx, by their owner.
        self._sessions: dict[Hashable, _Session] = {}
        # Branches that are rolled back and wait to be asked about, the oldest first.
        self._undone: dict[records.Xid, None] = {}
        # What became of branches and isn't taken yet, in order.
        self._outcomes: list[tuple[records.Xid, Outcome]] = []
        # The `now` of the last call.
        self._clock = Clock()
        # When the time of each branch is up that has one.
        self._deadlines: Deadlines[records.Xid] = Deadlines()

    def execute(self, owner: Hashable, command: Command[object], now: float) -> DtxResult:
        """Execute a command of class dtx that the session `owner` sent; its result, None where it has none.

        start and end need a selected session, the other commands may come from any. `take_outcomes` tells what is to
        be done. Time runs out only in `handle_timeout`: call that first when `next_deadline` has come.

        Raises ExecutionError, with the rule where one says so, and nothing is changed; LocalProtocolError for a command
        of another class; ValueError when `now` isn't finite or runs backwards.
        """
        self._clock.advance(now)
        match command:
            case records.DtxSelect():
                self._sessions.setdefault(owner, _Session())
                return None
            case records.DtxStart():
                return self._start(owner, command, now)
            case records.DtxEnd():
                return self._end(owner, command)
            case records.DtxPrepare() | records.DtxCommit() | records.DtxRollback():
                return self._settle(command)
            case records.DtxForget():
                self._settle(command)
                return None
            case records.DtxRecover():
                return records.RecoverResult([xid for xid, known in self._branches.items() if known.state in _IN_DOUBT])
            case records.DtxGetTimeout():
                return records.GetTimeoutResult(self._find(command)[1].timeout or self.default_timeout)
            case records.DtxSetTimeout():
                self._set_timeout(command, now)
                return None
            case _:
                raise LocalProtocolError(f"{command.NAME} is no command of class dtx")

    def take_outcomes(self) -> list[tuple[records.Xid, Outcome]]:
        """Take the decisions about the work of branches, in order, each told once.

        "committed": what was produced becomes available, what was consumed is discarded. "rolled-back": the other way
        round; a branch that timed out while sessions worked for it is told so again for what they did behind that. To
        be asked for after `execute`, `close_session`, `handle_timeout` and `decide`.
        """
        outcomes = self._outcomes
        self._outcomes = []
        return outcomes

    def selected(self, owner: Hashable) -> bool:
        """Whether the session uses distributed transactions (dtx.select)."""
        return owner in self._sessions

    def current(self, owner: Hashable) -> records.Xid | None:
        """The branch that the session's work belongs to now; None: the work isn't transactional."""
        session = self._sessions.get(owner)
        return None if session is None else session.current

    def mark_work(self, owner: Hashable) -> records.Xid | None:
        """Messages were produced or consumed on this session; the branch that this belongs to, as `current`.

        A branch without work is read-only: prepare commits it at once, with status xa-rdonly.
        """
        xid = self.current(owner)
        if xid is not None:
            self._branches[xid].worked = True
        return xid

    def state(self, xid: records.Xid) -> Branch:
        """The state of a branch; NON_EXISTENT for an unknown one."""
        known = self._branches.get(xid)
        return Branch.NON_EXISTENT if known is None else known.state

    def close_session(self, owner: Hashable) -> None:
        """The session is over: the branches that it's associated with, or has suspended, become rollback-only.

        Those that it has ended stay as they are (rule dtx.end/session-closed).
        """
        session = self._sessions.get(owner)
        if session is None:
            return
        for xid in list(session.branches):
            known = self._branches[xid]
            self._associate(owner, xid, AssociationInput.CLOSE)
            self._enter(xid, BRANCH[known.state][BranchInput.CLOSE])
        del self._sessions[owner]

    @property
    def next_deadline(self) -> float | None:
        """When `handle_timeout` is due, None: never."""
        return self._deadlines.next

    def handle_timeout(self, now: float) -> tuple[records.Xid, ...]:
        """Time out the branches whose time is up: they become rollback-only, their status is xa-rbtimeout.

        The xids of those that were, by deadline. Raises ValueError as `execute`.
        """
        self._clock.advance(now)
        timed_out: list[records.Xid] = []
        while (xid := self._deadlines.pop_due(now)) is not None:
            self._enter(xid, BRANCH[self._branches[xid].state][BranchInput.TIMEOUT])
            if xid not in self._undone:
                self._outcomes.append((xid, "rolled-back"))
            timed_out.append(xid)
        return tuple(timed_out)

    def decide(self, xid: records.Xid, decision: Decision) -> None:
        """Complete a prepared branch heuristically: without waiting for the transaction manager's commit or rollback.

        These then end with status xa-heurcom ("commit"), xa-heurrb ("rollback"), xa-heurmix ("mixed") or xa-heurhaz
        ("hazard"), until forget. "commit" and "rollback" are told by `take_outcomes`; with the others the server knows
        itself what it has done, or doesn't know.

        Raises LocalProtocolError when the branch isn't prepared.
        """
        after = BRANCH[self.state(xid)].get(_DECISIONS[decision])
        if after is None:
            raise LocalProtocolError(f"{xid} is {self.state(xid).value}, only a prepared branch is decided on")
        self._enter(xid, after)
        if decision == "commit":
            self._outcomes.append((xid, "committed"))
        elif decision == "rollback":
            self._outcomes.append((xid, "rolled-back"))

    def _start(self, owner: Hashable, command: records.DtxStart, now: float) -> records.XaResult:
        xid = _xid_of(command)
        if command.join and command.resume:
            raise _error(command, execution.NOT_ALLOWED, "start has both join and resume", "join-and-resume")
        session = self._selected(owner, command, "start")
        if session.current is not None:
            text = f"start before the end of {session.current}"
            raise _error(command, execution.ILLEGAL_STATE, text, "illegal-state")
        if command.join and not self.join:
            raise _error(command, execution.NOT_IMPLEMENTED, "join isn't supported", "join-unsupported")
        known = self._branches.get(xid)
        if not (command.join or command.resume):
            if known is not None:
                raise _error(command, execution.NOT_ALLOWED, f"{xid} is already known", "already-known")
            self._make_room()
            known = self._branches[xid] = _Known(BRANCH[Branch.NON_EXISTENT][BranchInput.START])
            self._associate(owner, xid, AssociationInput.START)
            self._arm(xid, known, now)
            return records.XaResult(XA_OK)
        if known is None:
            text = f"{xid} is unknown, it can't be joined or resumed"
            raise _error(command, execution.NOT_ALLOWED, text, "unknown-xid(sic)")
        if known.state in DOOMED:
            return records.XaResult(STATUSES[known.state])
        given = AssociationInput.JOIN if command.join else AssociationInput.RESUME
        after = BRANCH[known.state].get(BranchInput.JOIN if command.join else BranchInput.RESUME)
        association = known.sessions.get(owner, Association.NOT_ASSOCIATED)
        if after is None or given not in ASSOCIATION[association]:
            text = f"{given.value}, but {xid} is {known.state.value} and the session {association.value}"
            raise _error(command, execution.ILLEGAL_STATE, text, "illegal-state")
        self._associate(owner, xid, given)
        self._enter(xid, after)
        return records.XaResult(XA_OK)

    def _end(self, owner: Hashable, command: records.DtxEnd) -> records.XaResult:
        xid = _xid_of(command)
        if command.suspend and command.fail:
            raise _error(command, execution.NOT_ALLOWED, "end has both suspend and fail", "suspend-and-fail")
        if self._selected(owner, command, "end").current != xid:
            raise _error(command, execution.ILLEGAL_STATE, f"the session isn't associated with {xid}", "not-associated")
        known = self._branches[xid]
        how, given = AssociationInput.END, BranchInput.END
        if command.fail:
            how, given = AssociationInput.FAIL, BranchInput.FAIL
        elif command.suspend:
            how, given = AssociationInput.SUSPEND, BranchInput.SUSPEND
        self._associate(owner, xid, how)
        if given is BranchInput.END and not known.sessions:
            given = BranchInput.LAST_END
        self._enter(xid, BRANCH[known.state][given])
        return records.XaResult(STATUSES.get(known.state, XA_OK))

    def _selected(self, owner: Hashable, command: records.DtxStart | records.DtxEnd, name: str) -> _Session:
        session = self._sessions.get(owner)
        if session is None:
            raise _error(command, execution.ILLEGAL_STATE, f"{name} on a session without select", "illegal-state")
        return session

    def _settle(self, command: _Settling) -> records.XaResult:
        """Prepare, commit, roll back or forget a branch that no session works for.

        The transaction manager's decision counts unless another one was made before.
        """
        xid, known = self._find(command)
        if Association.ASSOCIATED in known.sessions.values():
            text = f"{command.NAME}, but a session is associated with {xid}"
            raise _error(command, execution.ILLEGAL_STATE, text, "not-disassociated")
        if known.sessions:
            text = f"{command.NAME}, but {xid} is suspended and must be resumed first"
            raise _error(command, execution.ILLEGAL_STATE, text, "illegal-state")
        before = known.state
        given, why, rule = _settling(command, known)
        after = BRANCH[before].get(given)
        if after is None:
            raise _error(command, execution.ILLEGAL_STATE, f"{xid} {why}", rule)
        self._enter(xid, after)
        if before in STATUSES:
            return records.XaResult(STATUSES[before])
        if after is Branch.NON_EXISTENT:
            self._outcomes.append((xid, "rolled-back" if given is BranchInput.ROLLBACK else "committed"))
        return records.XaResult(XA_RDONLY if given is BranchInput.PREPARE_READ_ONLY else XA_OK)

    def _set_timeout(self, command: records.DtxSetTimeout, now: float) -> None:
        xid, known = self._find(command)
        if command.timeout is None:
            raise execution.ExecutionError(execution.ILLEGAL_ARGUMENT, "dtx.set-timeout needs a timeout")
        known.timeout = command.timeout
        if known.state in _RUNNING:
            self._arm(xid, known, now)

    def _find(self, command: _Coordination) -> tuple[records.Xid, _Known]:
        xid = _xid_of(command)
        known = self._branches.get(xid)
        if known is None:
            raise _error(command, execution.NOT_FOUND, f"{xid} is unknown", "unknown-xid")
        return xid, known

    def _make_room(self) -> None:
        if len(self._branches) < self.limit:
            return
        if not self._undone:
            text = f"{len(self._branches)} branches are known, the server keeps no more"
            raise execution.ExecutionError(execution.RESOURCE_LIMIT_EXCEEDED, text)
        self._enter(next(iter(self._undone)), Branch.NON_EXISTENT)

    def _associate(self, owner: Hashable, xid: records.Xid, given: AssociationInput) -> None:
        """Step the association of a session with a branch; both know of it."""
        session, known = self._sessions[owner], self._branches[xid]
        before = known.sessions.get(owner, Association.NOT_ASSOCIATED)
        after = ASSOCIATION[before][given]
        if after is Association.NOT_ASSOCIATED:
            del known.sessions[owner], session.branches[xid]
        else:
            known.sessions[owner] = after
            session.branches[xid] = None
        if after is Association.ASSOCIATED:
            session.current = xid
        elif before is Association.ASSOCIATED:
            session.current = None

    def _enter(self, xid: records.Xid, state: Branch) -> None:
        """A branch enters the state that a table has for it."""
        known = self._branches[xid]
        known.state = state
        if state not in _RUNNING:
            self._deadlines.clear(xid)
        if state is Branch.NON_EXISTENT:
            del self._branches[xid]
            self._undone.pop(xid, None)
        elif state in DOOMED:
            for owner in [each for each, how in known.sessions.items() if how is Association.SUSPENDED]:
                self._associate(owner, xid, AssociationInput.ROLLBACK_ONLY)
            if not known.sessions and xid not in self._undone:
                self._undone[xid] = None
                self._outcomes.append((xid, "rolled-back"))

    def _arm(self, xid: records.Xid, known: _Known, now: float) -> None:
        """The branch's time begins anew."""
        seconds = known.timeout or self.default_timeout
        if seconds:
            self._deadlines.set(xid, now + seconds)
        else:
            self._deadlines.clear(xid)

    def check(self) -> None:
        """Check that the books agree with each other and keep within `limit`. For tests; raises AssertionError."""
        branches, where = self._branches, "branches"
        ensure(len(branches) <= self.limit, where, "`limit` bounds them", len(branches))
        for xid, known in branches.items():
            one = f"branch {xid}"
            doomed = known.state in DOOMED
            active = doomed or bool(known.sessions) == (known.state is Branch.ACTIVE)
            ensure(active, one, "a branch is active while sessions are at work in it", known.state)
            undone = (xid in self._undone) == (doomed and not known.sessions)
            ensure(undone, one, "what is rolled back without a word is kept until its sessions know", known.state)
            timed = xid not in self._deadlines or known.state in _RUNNING
            ensure(timed, one, "only a branch that isn't prepared has a deadline", known.state)
            left = doomed and Association.SUSPENDED in known.sessions.values()
            ensure(not left, one, "no session is suspended in a branch that is rolled back")
        for owner, session in self._sessions.items():
            one = f"session {owner!r}"
            known_here = [xid for xid in session.branches if owner in branches[xid].sessions]
            ensure(list(session.branches) == known_here, one, "session and branch know one another")
            at_work = [xid for xid in session.branches if branches[xid].sessions[owner] is Association.ASSOCIATED]
            current = [] if session.current is None else [session.current]
            ensure(at_work == current, one, "a session is at work in its current branch only", at_work, current)
        ensure(set(self._undone) <= set(branches), where, "what is rolled back without a word is one of them")
        associated = sum([len(known.sessions) for known in branches.values()])
        named = sum([len(session.branches) for session in self._sessions.values()])
        ensure(associated == named, where, "each session in a branch is a known one", associated, named)
        self._deadlines.check(self.limit)


class _Known:
    """A known branch."""

    __slots__ = ("sessions", "state", "timeout", "worked")

    def __init__(self, state: Branch) -> None:
        # A row of the table of `dtx_states`.
        self.state = state
        # By owner: how each session is associated with it.
        self.sessions: dict[Hashable, Association] = {}
        # Whether anything was done in it: without work it is read-only.
        self.worked = False
        # Seconds of the last set-timeout; 0: the default.
        self.timeout = 0


class _Session:
    """A session selected for dtx: the branch it works for, and all that it's associated with or has suspended."""

    __slots__ = ("branches", "current")

    def __init__(self) -> None:
        # The branch that its commands belong to; None: none.
        self.current: records.Xid | None = None
        # All that it's associated with or has suspended; a dict for its order.
        self.branches: dict[records.Xid, None] = {}


_RUNNING: Final = (Branch.ACTIVE, Branch.IDLE)
_IN_DOUBT: Final = (Branch.PREPARED, *HEURISTIC)

_DECISIONS: Final[Mapping[Decision, BranchInput]] = {
    "commit": BranchInput.DECIDE_COMMIT,
    "rollback": BranchInput.DECIDE_ROLLBACK,
    "mixed": BranchInput.DECIDE_MIXED,
    "hazard": BranchInput.DECIDE_HAZARD,
}


def _xid_of(command: _Named) -> records.Xid:
    """The command's xid as a value of its own. Raises ExecutionError when it isn't all there."""
    xid = command.xid
    if xid is None or xid.format is None or xid.global_id is None or xid.branch_id is None:
        text = f"{command.NAME} needs an xid with format, global-id and branch-id"
        raise execution.ExecutionError(execution.ILLEGAL_ARGUMENT, text)
    return records.Xid(xid.format, bytes(xid.global_id), bytes(xid.branch_id))


def _settling(command: _Settling, known: _Known) -> tuple[BranchInput, str, str]:
    """The input that a command means to its branch, and why that is refused where it isn't legal, with the rule."""
    state = known.state.value
    if isinstance(command, records.DtxPrepare):
        given = BranchInput.PREPARE if known.worked else BranchInput.PREPARE_READ_ONLY
        return given, f"is {state} and can't be prepared", "illegal-state"
    if isinstance(command, records.DtxCommit):
        if command.one_phase:
            return BranchInput.COMMIT_ONE_PHASE, f"is {state}: one-phase is wrong", "two-phase"
        return BranchInput.COMMIT, "isn't prepared: one-phase is needed", "one-phase"
    if isinstance(command, records.DtxForget):
        return BranchInput.FORGET, f"is {state}, not heuristically completed", "illegal-state"
    return BranchInput.ROLLBACK, f"is {state} and can't be rolled back", "illegal-state"


def _error(command: _Named, code: int, text: str, rule: str) -> execution.ExecutionError:
    return execution.ExecutionError(code, text, rule=f"0-10/{command.NAME}/{rule}")
