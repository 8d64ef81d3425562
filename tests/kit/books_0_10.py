"""The invariants of the books of 0-10's model: command ids and distributed transactions."""

# pyright: reportPrivateUsage=false
from typing import Any

from amqp_sansio._ground.deadlines import _SPARE
from amqp_sansio._ground.serial import distance
from amqp_sansio.amqp_0_10.model.command_ids import ReceiveState, SendState
from amqp_sansio.amqp_0_10.model.dtx import _RUNNING, Branches
from amqp_sansio.amqp_0_10.model.dtx_states import DOOMED, Association, Branch


def check_sending(state: SendState[Any]) -> None:
    """Assert the invariant of `SendState`."""
    for number in state.replay:
        assert distance(number, state.next_id) > 0, (number, state.next_id)
        assert number not in state.completed, number


def check_receiving(state: ReceiveState) -> None:
    """Assert the invariant of `ReceiveState`."""
    assert not state.completed - state.known.set
    for number in state.known.set:
        assert state.next_id is not None
        assert distance(number, state.next_id) > 0, (number, state.next_id)
    if state.point is not None:
        assert state.next_id is not None
        assert distance(state.point, state.next_id) >= 0


def check_branches(books: Branches) -> None:
    """Assert that the books of `Branches` agree with each other, and keep within their limit."""
    assert len(books._branches) <= books.limit
    for xid, known in books._branches.items():
        doomed = known.state in DOOMED
        assert doomed or bool(known.sessions) == (known.state is Branch.ACTIVE), (xid, known.state)
        assert (xid in books._undone) == (doomed and not known.sessions), (xid, known.state)
        assert xid not in books._deadlines._serials or known.state in _RUNNING, (xid, known.state)
        assert not (doomed and Association.SUSPENDED in known.sessions.values()), xid
    for owner, session in books._sessions.items():
        assert list(session.branches) == [xid for xid in session.branches if owner in books._branches[xid].sessions]
        at_work = [xid for xid in session.branches if books._branches[xid].sessions[owner] is Association.ASSOCIATED]
        assert at_work == ([] if session.current is None else [session.current])
    assert set(books._undone) <= set(books._branches)
    assert sum(len(known.sessions) for known in books._branches.values()) == sum(
        len(session.branches) for session in books._sessions.values()
    )
    assert len(books._deadlines._heap) <= 2 * books.limit + _SPARE
