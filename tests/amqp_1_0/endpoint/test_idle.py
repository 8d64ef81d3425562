"""Idle time-outs of AMQP 1.0: empty frames, silent peers, and the deadlines of the opening."""

from typing import Any

import pytest

from amqp_sansio import Abandoned, By, Closed, CloseHint, Failed, RemoteProtocolError, Scope, Signal
from amqp_sansio.amqp_1_0.spec import Close
from amqp_sansio.sasl import Plain
from tests.kit.applications import Accepting
from tests.kit.facing import BOTH_SIDES, CLIENT, SERVER
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import AMQP_HEADER, EMPTY, SASL_HEADER, octets_of, their_open
from tests.kit.pair import SIDES
from tests.kit.pair_1_0 import Pair, client_config, server_config
from tests.kit.versions import KIT_1_0

EXCEEDED = "amqp:resource-limit-exceeded"


def beating(client: float = 10.0, server: float = 10.0) -> Pair:
    """An open pair whose ends bear so many seconds of silence."""
    return Pair(client=client_config(idle_time_out=client), server=server_config(idle_time_out=server)).open()


def config_of(side: Any, **changes: Any) -> Any:
    return (client_config if side is CLIENT else server_config)(**changes)


# Staying alive.


@pytest.mark.rule("1.0/transport/connection/idle-empty-frame", "1.0/transport/connection/idle-empty-channel")
@BOTH_SIDES
def test_an_idle_end_sends_an_empty_frame_every_half_of_what_was_announced(side: Any) -> None:
    pair = beating()
    before = len(pair.sent[side])
    pair.advance(60.0)
    # 10 seconds are borne, 5 announced, after 2.5 something is sent.
    assert bytes(pair.sent[side][before:]) == EMPTY * 24
    assert pair.client.is_open
    assert pair.server.is_open


def test_other_traffic_stands_for_empty_frames() -> None:
    pair = beating()
    session = pair.session()
    before = len(pair.sent[CLIENT])
    for _ in range(10):
        session.flow()
        pair.advance(2.0)
    assert EMPTY not in pair.sent[CLIENT][before:]


@pytest.mark.rule("1.0/transport/connection/idle-flow")
def test_a_flow_is_a_sign_of_life() -> None:
    facing = Facing.opened(SERVER, server_config(idle_time_out=10.0))
    for _ in range(5):
        facing.wait(9.0)
        facing.feed(EMPTY)
    assert facing.end.is_open
    facing.wait(10.0)
    assert not facing.end.is_open


@pytest.mark.rule("1.0/transport/open/idle-time-out-zero", "1.0/transport/open/idle-time-out-default")
@pytest.mark.parametrize("told", [None, 0])
@BOTH_SIDES
def test_nothing_is_sent_to_who_bears_any_silence(side: Any, told: int | None) -> None:
    facing = Facing.opened(side, None, their_open(idle_time_out=told))
    assert facing.end.next_deadline is None
    facing.wait(1e6)
    assert facing.out == b""


@pytest.mark.rule("1.0/transport/connection/idle-empty-channel-early", "1.0/transport/connection/idle-empty-when")
def test_no_empty_frame_before_both_opens() -> None:
    """The peer's value comes with its open; the own open goes before any other frame."""
    facing = Facing(SERVER, server_config(handshake_timeout=100.0))
    facing.feed(AMQP_HEADER + octets_of(their_open(idle_time_out=1000)))
    facing.forget().wait(20.0)
    assert facing.out == b""
    facing.end.accept_open()
    facing.settle()
    facing.forget().wait(1.0)
    assert facing.out == EMPTY * 2
    assert [each.channel for each in facing.sent()] == [0, 0]


def test_no_empty_frame_while_octets_wait() -> None:
    facing = Facing.opened(CLIENT, None, their_open(idle_time_out=1000))
    facing.end.open_session()
    assert facing.end.next_deadline is None
    assert facing.end.data_to_send(0.4, max_bytes=5)
    assert facing.end.next_deadline is None
    facing.end.handle_timeout(0.6)
    assert EMPTY not in facing.end.data_to_send(0.6)
    assert facing.end.next_deadline == 1.1


@pytest.mark.rule("1.0/transport/connection/idle-exceeded")
@BOTH_SIDES
def test_who_was_late_itself_says_so(side: Any) -> None:
    """Twice of what is announced is what the peer bears."""
    facing = Facing.opened(side, None, their_open(idle_time_out=1000))
    facing.end.handle_timeout(2.0)
    facing.now = 2.0
    facing.settle()
    assert facing.out == EMPTY
    session = facing.end.open_session()
    facing.forget()
    facing.end.data_to_send(2.0)
    facing.end.handle_timeout(4.1)
    facing.now = 4.1
    facing.settle()
    (close,) = facing.sent()
    assert close.body.error.condition == EXCEEDED
    assert "2.1 seconds" in close.body.error.description
    # The session is over at once, the connection with the peer's answer.
    (abandoned,) = facing.of(Abandoned)
    assert abandoned.pendings == (session.opening,)
    assert [event.scope for event in facing.of(Closed)] == [Scope.SESSION]
    facing.feed(octets_of(Close()))
    closed = facing.of(Closed)[-1]
    assert (closed.report.by, closed.report.condition) == (By.LOCAL, EXCEEDED)


# Silence.


@pytest.mark.rule("1.0/transport/connection/idle-close")
@BOTH_SIDES
def test_a_silent_peer_is_closed_with_an_error_and_then_dropped(side: Any) -> None:
    facing = Facing.opened(side, config_of(side, idle_time_out=8.0))
    facing.wait(7.9)
    assert facing.end.is_open
    facing.wait(0.1)
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.error.condition, failed.error.rule) == (EXCEEDED, "1.0/transport/connection/idle-close")
    (close,) = facing.sent()
    assert close.body.error.condition == EXCEEDED
    assert "8 seconds" in close.body.error.description
    assert facing.end.next_deadline == 16.0
    facing.wait(7.9)
    assert facing.end.report is None
    facing.wait(0.2)
    report = facing.end.report
    assert report is not None
    assert (report.by, report.condition) == (By.LOCAL, EXCEEDED)
    assert "dead" in report.hint
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    assert facing.end.next_deadline is None


@BOTH_SIDES
def test_a_peer_that_wakes_up_may_still_close(side: Any) -> None:
    facing = Facing.opened(side, config_of(side, idle_time_out=8.0))
    facing.wait(10.0)
    facing.feed(EMPTY + octets_of(Close()))
    assert facing.end.report is not None
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


# The opening.


@pytest.mark.parametrize("steps", range(4))
def test_a_clients_opening_that_does_not_finish_ends(steps: int) -> None:
    facing = Facing(CLIENT, client_config(handshake_timeout=3.0, sasl=Plain("u", "p")))
    facing.feed(*(SASL_HEADER, b"\x00\x00\x00", b"\x10")[:steps])
    assert facing.end.next_deadline == 3.0
    facing.wait(2.9)
    assert facing.end.report is None
    facing.wait(0.1)
    report = facing.end.report
    assert report is not None
    assert (report.by, report.text[:26]) == (By.LOCAL, "the opening did not finish")
    assert facing.end.close_hint is CloseHint.CLOSE_NOW


@pytest.mark.parametrize("switch", ["login", "opening"])
def test_a_server_that_never_decides_is_timed_out_too(switch: str) -> None:
    pair = Pair(
        client=client_config(sasl=Plain("u", "p")),
        server=server_config(mechanisms=("PLAIN",)),
        applications={SERVER: Accepting(**{switch: False})},
    )
    pair.drive()
    for side in SIDES:
        assert pair.ends[side].report is not None
        assert pair.ends[side].next_deadline is None


def test_a_server_times_a_client_that_sends_nothing() -> None:
    facing = Facing(SERVER, server_config(handshake_timeout=2.0))
    facing.wait(2.0)
    assert facing.end.report is not None


def test_octets_in_one_piece_are_timed_too() -> None:
    """Even when header and open are there before the first turn has ended."""
    end = KIT_1_0.end(SERVER, server_config(handshake_timeout=2.0))
    end.receive_data(AMQP_HEADER + octets_of(their_open()), 1.0)
    while not isinstance(end.next_event(), Signal):
        pass
    end.data_to_send(1.0)
    assert end.next_deadline == 3.0
    end.accept_open()
    end.data_to_send(1.0)
    assert end.next_deadline is None
