"""The sessions that a server keeps beyond their connections: by user and name, for their time."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.amqp_0_10 import KeptSessions, SessionState
from amqp_sansio.endpoint import Side
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.limits import Limits


def state_of(name: bytes, timeout: int | None) -> SessionState:
    """The state of a session that has been attached."""
    state = SessionState(name, Side.SERVER, Limits())
    state.timeout = timeout
    return state


@pytest.mark.rule("0-10/session.attach/one-transport", "0-10/session.attach/scoping")
def test_sessions_are_kept_for_their_time() -> None:
    kept = KeptSessions(limit=3)
    assert kept.attach("me", b"a", 1) is None
    assert kept.attach("you", b"a", 2) is None
    with pytest.raises(LocalProtocolError) as caught:
        kept.attach("me", b"a", 3)
    assert caught.value.rule == "0-10/session.attach/one-transport"
    assert (kept.owner("me", b"a"), kept.owner("you", b"a")) == (1, 2)
    assert kept.next_deadline is None
    state = state_of(b"a", 10)
    assert kept.detach("me", b"a", state, 100.0) == []
    assert kept.owner("me", b"a") is None
    assert kept.next_deadline == 110.0
    assert kept.expire(109.9) == []
    # Taken up again: the old time says nothing any more.
    assert kept.attach("me", b"a", 4) is state
    assert kept.next_deadline is None
    assert kept.detach("me", b"a", state, 105.0) == []
    assert kept.detach("you", b"a", None, 105.0) == []
    assert kept.detach("you", b"b", state_of(b"b", 0), 105.0) == []
    assert len(kept) == 1
    copy = pickle.loads(pickle.dumps(kept))
    for each in (kept, copy):
        assert [(user, found.name) for user, found in each.expire(115.0)] == [("me", b"a")]
        assert len(each) == 0
    # Too many: the one that would expire first goes, then the oldest of those for ever.
    for number, timeout in enumerate((None, 50, 20)):
        assert kept.detach("me", b"%d" % number, state_of(b"%d" % number, timeout), 200.0) == []
    gone = [kept.detach("me", b"x%d" % n, state_of(b"x%d" % n, None), 200.0) for n in range(3)]
    assert [[found.name for _, found in each] for each in gone] == [[b"2"], [b"1"], [b"0"]]
    assert kept.next_deadline is None
