"""Fork: an endpoint that is pickled and restored at any step goes on exactly like the one that wasn't."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import Side
from amqp_sansio.amqp_0_10 import Connection, SessionState
from tests.kit.facing_0_10 import Play
from tests.kit.pair_0_10 import Pair
from tests.kit.wire_0_10 import CLIENT, SERVER


@given(
    st.binary(min_size=300, max_size=900),
    st.sampled_from([CLIENT, SERVER]),
    st.booleans(),
    st.sampled_from([None, 0, 200]),
)
def test_a_copy_goes_on_like_the_original(
    octets: bytes, side: Side, reads: bool, above: int | None
) -> None:
    original = Play(octets, side, reads=reads, cuts=True, above=above)
    copied = Play(octets, side, reads=reads, cuts=True, above=above, forks=True)
    original.run()
    copied.run()
    assert copied.trace == original.trace


def test_a_snapshot_of_another_layout_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    connection = Pair().open().client
    with monkeypatch.context() as patch:
        patch.setattr(Connection, "SCHEMA", 0)
        snapshot = pickle.dumps(connection)
    with pytest.raises(ValueError, match="layout 0"):
        pickle.loads(snapshot)


def test_the_state_of_a_session_of_another_layout_is_refused() -> None:
    pair = Pair().open()
    session, _ = pair.sessions()
    pair.cut()
    schema, values = session.detached_state().__getstate__()
    with pytest.raises(ValueError, match="layout 0"):
        SessionState.__new__(SessionState).__setstate__((0, values))
    assert schema == SessionState.SCHEMA


def test_sessions_of_a_copy_belong_to_the_copy() -> None:
    pair = Pair().open()
    session, _ = pair.sessions()
    copy: Connection = pickle.loads(pickle.dumps(pair.client))
    copy.session(session.channel).transfer("", b"only here")
    assert copy.send_backlog > 0
    assert pair.client.send_backlog == 0
    assert not session.pending


GO_ON = """
import pickle, sys
connection, octets = pickle.load(sys.stdin.buffer)
connection.receive_data(octets, 1.0)
events = []
while type(event := connection.next_event()).__name__ != "Signal":
    events.append(type(event).__name__)
print(events, connection.data_to_send(1.0).hex(), connection.next_deadline)
"""


def test_a_copy_goes_on_in_another_process() -> None:
    """Nothing that it needs is in this one's memory."""
    pair = Pair().open()
    session, other = pair.sessions()
    session.transfer("", b"x")
    pair.pump()
    other.reject(0, code=1)
    pair.write(Side.SERVER)
    octets = bytes(pair.flying[Side.SERVER])
    result = subprocess.run(
        [sys.executable, "-c", GO_ON],
        input=pickle.dumps((pair.client, octets)),
        capture_output=True,
        check=False,
        cwd=Path(__file__).resolve().parents[3],
    )
    assert result.returncode == 0, result.stderr
    pair.client.receive_data(octets, 1.0)
    pair.events[Side.CLIENT].clear()
    pair.drain(Side.CLIENT)
    names = [type(event).__name__ for event in pair.events[Side.CLIENT]]
    sent, deadline = pair.client.data_to_send(1.0).hex(), pair.client.next_deadline
    assert "Settled" in names
    assert result.stdout.decode().strip() == f"{names} {sent} {deadline}"
