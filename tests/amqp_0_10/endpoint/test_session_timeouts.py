"""Timeouts of sessions of 0-10: asked, granted, and what is kept in the meantime (class 2, session.request-timeout)."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import EndpointClosed, LocalProtocolError, Replied, Side
from amqp_sansio.amqp_0_10 import ExecutionSync, SessionClosed, SessionState
from tests.kit.octets_0_10 import attached, detach, expected, flush, frame, request_timeout, timeout
from tests.kit.wire_0_10 import CLIENT, Facing, client_config, server_config


@pytest.mark.rule("0-10/session.request-timeout/granted")
@pytest.mark.parametrize(
    ("most", "asked", "granted"),
    [(3600, 60, 60), (3600, 3600, 3600), (3600, 3601, 3600), (3600, None, 3600), (None, None, None),
     (None, 5, 5), (0, 60, 0), (0, None, 0), (3600, 0, 0)],
)  # fmt: skip
def test_what_is_granted_is_at_most_what_is_asked(
    side: Side, most: int | None, asked: int | None, granted: int | None
) -> None:
    config = (client_config if side is CLIENT else server_config)(session_timeout_max=most)
    facing = Facing.attached(side, config)
    facing.feed(request_timeout(asked))
    octets = "02060000" if granted is None else f"02060100{granted:08x}"
    assert facing.out == frame(bytes.fromhex(octets))
    assert facing.session.timeout == granted


def test_asking_for_a_timeout(facing: Facing) -> None:
    first, second = facing.session.request_timeout(90), facing.session.request_timeout(None)
    facing.settle()
    assert facing.out == frame(bytes.fromhex("020501000000005a")) + frame(bytes.fromhex("02050000"))
    facing.feed(timeout(30))
    assert facing.session.timeout == 30
    facing.feed(timeout(None))
    assert (first.result, second.result) == (30, None)
    assert facing.events == [Replied(first), Replied(second)]
    assert facing.session.timeout is None


@pytest.mark.parametrize("wanted", [60, None])
def test_a_client_asks_for_the_timeout_when_it_has_attached(wanted: int | None) -> None:
    facing = Facing.opened(CLIENT)
    session = facing.end.open_session("s", timeout=wanted)
    facing.forget()
    facing.feed(attached())
    assert facing.out == flush("expected", "confirmed", "completed") + request_timeout(wanted)
    facing.feed(timeout(20) + expected())
    assert session.timeout == 20


@pytest.mark.rule("0-10/session/state-kept")
@pytest.mark.parametrize("keep", [0, 60, None])
def test_the_state_is_kept_when_there_is_a_timeout(side: Side, keep: int | None) -> None:
    config = (client_config if side is CLIENT else server_config)(session_timeout_max=None)
    facing = Facing.attached(side, config, keep=keep)
    session = facing.session
    call = session.call(ExecutionSync())
    with pytest.raises(LocalProtocolError, match="attached"):
        session.detached_state()
    facing.feed(detach())
    (closed,) = facing.of(SessionClosed)
    assert closed.resumable is (keep != 0)
    assert call.done is (keep == 0)
    if keep == 0:
        with pytest.raises(EndpointClosed):
            session.detached_state()
    else:
        state = pickle.loads(pickle.dumps(session.detached_state()))
        assert isinstance(state, SessionState)
        assert (state.name, state.timeout, state.pending) == (b"s", keep, (call,))
