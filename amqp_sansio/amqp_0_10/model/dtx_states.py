"""The state tables of distributed transactions: a transaction branch, and a session's association with it (class dtx).

As in XA, which class dtx carries, there are two tables: many sessions can be associated with a branch, each in its own
way; the outcome of the branch is decided for all of them. Absent inputs are illegal.

Guards that don't fit a table, all in `dtx`: a session must be selected for dtx and is associated with one branch at a
time; a branch is prepared, committed, rolled back and forgotten only when no session is associated with it, suspended
or not; only one that nobody is to work for any more is idle (`END` and `LAST_END`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ..._ground.state_table import Table, TableEnum
from ..codec.choices import XA_HEURCOM, XA_HEURHAZ, XA_HEURMIX, XA_HEURRB, XA_RBROLLBACK, XA_RBTIMEOUT


class Association(TableEnum):
    """How a session stands to a branch."""

    NOT_ASSOCIATED = "not associated"
    ASSOCIATED = "associated"
    SUSPENDED = "suspended"


class AssociationInput(TableEnum):
    """Inputs that change a session's association with a branch."""

    START = "start"
    JOIN = "start with join"
    RESUME = "start with resume"
    END = "end"
    SUSPEND = "end with suspend"
    FAIL = "end with fail"
    CLOSE = "session closed"
    ROLLBACK_ONLY = "branch is rollback-only"


ASSOCIATION: Final[Table[Association, AssociationInput]] = {
    Association.NOT_ASSOCIATED: {
        AssociationInput.START: Association.ASSOCIATED,
        AssociationInput.JOIN: Association.ASSOCIATED,
    },
    Association.ASSOCIATED: {
        AssociationInput.END: Association.NOT_ASSOCIATED,
        AssociationInput.SUSPEND: Association.SUSPENDED,
        AssociationInput.FAIL: Association.NOT_ASSOCIATED,
        AssociationInput.CLOSE: Association.NOT_ASSOCIATED,
    },
    Association.SUSPENDED: {
        AssociationInput.RESUME: Association.ASSOCIATED,
        AssociationInput.CLOSE: Association.NOT_ASSOCIATED,
        # Nothing is left to resume: what was suspended can't become part of a commit.
        AssociationInput.ROLLBACK_ONLY: Association.NOT_ASSOCIATED,
    },
}


class Branch(TableEnum):
    """States of a transaction branch. ACTIVE: some session is associated with it, or has suspended it."""

    NON_EXISTENT = "non-existent"
    ACTIVE = "active"
    IDLE = "idle"
    PREPARED = "prepared"
    ROLLBACK_ONLY = "rollback-only"
    TIMED_OUT = "rollback-only, timed out"
    HEURISTICALLY_COMMITTED = "heuristically committed"
    HEURISTICALLY_ROLLED_BACK = "heuristically rolled back"
    HEURISTICALLY_MIXED = "heuristically mixed"
    HEURISTIC_HAZARD = "heuristic hazard"


class BranchInput(TableEnum):
    """Inputs to a branch: commands, the end of a session, the time, and decisions of the server's own."""

    START = "start"
    JOIN = "start with join"
    RESUME = "start with resume"
    SUSPEND = "end with suspend"
    END = "end, others go on"
    LAST_END = "end of the last"
    FAIL = "end with fail"
    CLOSE = "session closed"
    TIMEOUT = "timeout"
    PREPARE = "prepare"
    PREPARE_READ_ONLY = "prepare without work"
    COMMIT_ONE_PHASE = "commit with one-phase"
    COMMIT = "commit"
    ROLLBACK = "rollback"
    DECIDE_COMMIT = "decided to commit"
    DECIDE_ROLLBACK = "decided to roll back"
    DECIDE_MIXED = "decided both"
    DECIDE_HAZARD = "perhaps decided"
    FORGET = "forget"


DOOMED: Final = (Branch.ROLLBACK_ONLY, Branch.TIMED_OUT)
HEURISTIC: Final = (
    Branch.HEURISTICALLY_COMMITTED,
    Branch.HEURISTICALLY_ROLLED_BACK,
    Branch.HEURISTICALLY_MIXED,
    Branch.HEURISTIC_HAZARD,
)


def _rollback_only(state: Branch) -> Mapping[BranchInput, Branch]:
    """The row of a branch that can only be rolled back: every command is told so, and what ends it ends it."""
    stays = (
        BranchInput.JOIN, BranchInput.RESUME, BranchInput.SUSPEND, BranchInput.END, BranchInput.LAST_END,
        BranchInput.FAIL, BranchInput.CLOSE, BranchInput.PREPARE, BranchInput.PREPARE_READ_ONLY,
    )  # fmt: skip
    ends = (BranchInput.COMMIT_ONE_PHASE, BranchInput.COMMIT, BranchInput.ROLLBACK)
    return {**dict.fromkeys(stays, state), **dict.fromkeys(ends, Branch.NON_EXISTENT)}


def _heuristic(state: Branch) -> Mapping[BranchInput, Branch]:
    """The row of a branch that the server has completed on its own: it's told until it's forgotten."""
    return {BranchInput.COMMIT: state, BranchInput.ROLLBACK: state, BranchInput.FORGET: Branch.NON_EXISTENT}


BRANCH: Final[Table[Branch, BranchInput]] = {
    Branch.NON_EXISTENT: {BranchInput.START: Branch.ACTIVE},
    Branch.ACTIVE: {
        **dict.fromkeys((BranchInput.JOIN, BranchInput.RESUME, BranchInput.SUSPEND, BranchInput.END), Branch.ACTIVE),
        BranchInput.LAST_END: Branch.IDLE,
        BranchInput.FAIL: Branch.ROLLBACK_ONLY,
        BranchInput.CLOSE: Branch.ROLLBACK_ONLY,
        BranchInput.TIMEOUT: Branch.TIMED_OUT,
    },
    Branch.IDLE: {
        BranchInput.JOIN: Branch.ACTIVE,
        BranchInput.TIMEOUT: Branch.TIMED_OUT,
        BranchInput.PREPARE: Branch.PREPARED,
        BranchInput.PREPARE_READ_ONLY: Branch.NON_EXISTENT,
        BranchInput.COMMIT_ONE_PHASE: Branch.NON_EXISTENT,
        BranchInput.ROLLBACK: Branch.NON_EXISTENT,
    },
    Branch.PREPARED: {
        BranchInput.COMMIT: Branch.NON_EXISTENT,
        BranchInput.ROLLBACK: Branch.NON_EXISTENT,
        BranchInput.DECIDE_COMMIT: Branch.HEURISTICALLY_COMMITTED,
        BranchInput.DECIDE_ROLLBACK: Branch.HEURISTICALLY_ROLLED_BACK,
        BranchInput.DECIDE_MIXED: Branch.HEURISTICALLY_MIXED,
        BranchInput.DECIDE_HAZARD: Branch.HEURISTIC_HAZARD,
    },
    **{state: _rollback_only(state) for state in DOOMED},
    **{state: _heuristic(state) for state in HEURISTIC},
}

STATUSES: Final[Mapping[Branch, int]] = {
    Branch.ROLLBACK_ONLY: XA_RBROLLBACK,
    Branch.TIMED_OUT: XA_RBTIMEOUT,
    Branch.HEURISTICALLY_COMMITTED: XA_HEURCOM,
    Branch.HEURISTICALLY_ROLLED_BACK: XA_HEURRB,
    Branch.HEURISTICALLY_MIXED: XA_HEURMIX,
    Branch.HEURISTIC_HAZARD: XA_HEURHAZ,
}
"""The status (domain dtx.xa-status) that the commands about a branch in such a state end with; elsewhere it's xa-ok."""
