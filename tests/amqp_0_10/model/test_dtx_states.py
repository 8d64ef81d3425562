"""The state tables of class dtx: every state and input of a branch, in the table and in Branches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from amqp_sansio import LocalProtocolError
from amqp_sansio._core.state_table import mermaid, unreachable
from amqp_sansio.amqp_0_10 import (
    Command,
    DtxCommit,
    DtxEnd,
    DtxForget,
    DtxPrepare,
    DtxRollback,
    DtxSelect,
    DtxStart,
    Xid,
)
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

X = Xid(7, b"global", b"branch")

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


def do(branches: Branches, command: Command[Any], owner: str = "a") -> None:
    """A command at the time that is the deadline of the branch X."""
    branches.execute(owner, command, 9.0)
    branches.check()


def in_state(state: Branch, given: BranchInput) -> Branches:
    """A server with the branch X in that state, where session a works for it if an end is to come and it can."""
    branches = Branches(default_timeout=9)
    for owner in "abc":
        branches.execute(owner, DtxSelect(), 0.0)
    if state is Branch.NON_EXISTENT:
        return branches
    branches.execute("a", DtxStart(X), 0.0)
    # Only a branch with work is ever prepared.
    if given is not BranchInput.PREPARE_READ_ONLY or state not in (Branch.IDLE, *DOOMED):
        branches.mark_work("a")
    if given is BranchInput.RESUME:
        do(branches, DtxStart(X, join=True), "c")
        do(branches, DtxEnd(X, suspend=state in (Branch.ACTIVE, *DOOMED)), "c")
    if state in DOOMED:
        do(branches, DtxStart(X, join=True), "b")
        if state is Branch.TIMED_OUT:
            branches.handle_timeout(9.0)
        do(branches, DtxEnd(X, fail=state is Branch.ROLLBACK_ONLY), "b")
    if given is BranchInput.END and state is Branch.ACTIVE:
        do(branches, DtxStart(X, join=True), "b")
    if state is not Branch.ACTIVE and not (given in ENDS and state in DOOMED):
        do(branches, DtxEnd(X))
    if state is Branch.PREPARED or state in HEURISTIC:
        do(branches, DtxPrepare(X))
    if state in HEURISTIC:
        branches.decide(X, HEURISTIC[state])
    return branches


def give(branches: Branches, given: BranchInput) -> None:
    """Do what the input stands for."""
    commands: dict[BranchInput, tuple[Command[Any], str]] = {
        BranchInput.START: (DtxStart(X), "c"),
        BranchInput.JOIN: (DtxStart(X, join=True), "c"),
        BranchInput.RESUME: (DtxStart(X, resume=True), "c"),
        BranchInput.SUSPEND: (DtxEnd(X, suspend=True), "a"),
        BranchInput.END: (DtxEnd(X), "a"),
        BranchInput.LAST_END: (DtxEnd(X), "a"),
        BranchInput.FAIL: (DtxEnd(X, fail=True), "a"),
        BranchInput.PREPARE: (DtxPrepare(X), "c"),
        BranchInput.PREPARE_READ_ONLY: (DtxPrepare(X), "c"),
        BranchInput.COMMIT_ONE_PHASE: (DtxCommit(X, True), "c"),
        BranchInput.COMMIT: (DtxCommit(X), "c"),
        BranchInput.ROLLBACK: (DtxRollback(X), "c"),
        BranchInput.FORGET: (DtxForget(X), "c"),
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
