"""Heartbeats of 0-10: sent in time, counted by any octet, and twice the time of silence (connection.heartbeat)."""

from __future__ import annotations

import pytest

from amqp_sansio import By, Closed, CloseHint, Side
from tests.kit.octets_0_10 import (
    HEADER,
    HEARTBEAT,
    detach,
    open_,
    open_ok,
    start,
    start_ok,
    sync,
    tune,
    tune_ok,
)
from tests.kit.wire_0_10 import CLIENT, Facing, client_config

BEAT = bytes.fromhex("0f0000100000000000000000010a0000")


def beating(side: Side, seconds: int = 10) -> Facing:
    """An endpoint of an open connection whose agreed heartbeat is so many seconds."""
    config = client_config(heartbeat=seconds) if side is CLIENT else None
    tuning = tune(16, 65_535, 0, 60) if side is CLIENT else tune_ok(16, 65_535, seconds)
    facing = Facing.opened(side, config, tuning)
    assert facing.end.heartbeat == seconds
    return facing


def test_a_heartbeat_octet_by_octet_in_half_its_time(side: Side) -> None:
    facing = beating(side)
    assert facing.end.next_deadline == 5.0
    facing.wait(4.9)
    assert facing.out == b""
    facing.wait(0.2)
    assert facing.out == BEAT
    assert facing.end.next_deadline == 10.0


def test_whatever_is_sent_is_a_sign_of_life(side: Side) -> None:
    facing = beating(side)
    facing.wait(4.0)
    facing.feed(detach(b"t", channel=2))
    assert facing.names() == ["session.detached"]
    assert facing.end.next_deadline == 9.0


def test_a_connection_that_closes_has_no_heartbeats(side: Side) -> None:
    facing = beating(side)
    facing.wait(4.0)
    facing.end.close()
    facing.settle()
    # The time is that of the close: no deadline stays behind that nothing is done at.
    assert facing.end.next_deadline == 14.0
    facing.wait(9.9)
    assert facing.names() == ["connection.close"]
    facing.wait(0.2)
    assert [type(event) for event in facing.events] == [Closed]
    assert facing.end.next_deadline is None


@pytest.mark.rule("0-10/connection.heartbeat/2x")
def test_twice_the_heartbeat_of_silence_ends_the_connection(side: Side) -> None:
    facing = beating(side)
    facing.wait(19.9)
    assert facing.events == []
    facing.wait(0.2)
    (closed,) = facing.events
    assert isinstance(closed, Closed)
    assert closed.report.by is By.TRANSPORT
    assert "20 seconds" in closed.report.text
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    assert facing.end.next_deadline is None


@pytest.mark.rule("0-10/connection.heartbeat/2x")
@pytest.mark.parametrize("octets", [HEARTBEAT, HEARTBEAT[:1], sync()])
def test_any_octet_of_the_peer_is_a_sign_of_life(side: Side, octets: bytes) -> None:
    facing = beating(side)
    facing.wait(19.0)
    facing.feed(octets)
    facing.wait(19.0)
    assert facing.end.is_open
    facing.wait(1.1)
    assert [type(event) for event in facing.events] == [Closed]


def test_without_an_agreed_heartbeat_nobody_waits(opened: Facing) -> None:
    assert opened.end.heartbeat == 0
    assert opened.end.next_deadline is None
    opened.feed(HEARTBEAT * 3)
    opened.wait(1e6)
    assert opened.end.is_open
    assert (opened.events, opened.out) == ([], b"")


def test_heartbeats_may_begin_when_the_tuning_is_agreed() -> None:
    facing = Facing(CLIENT, client_config(heartbeat=4))
    facing.feed(HEADER + start() + tune(16, 65_535, 1, 60))
    facing.forget()
    facing.feed(HEARTBEAT)
    facing.wait(2.1)
    assert facing.out == BEAT
    facing.feed(open_ok())
    assert facing.end.is_open
    server = Facing.tuned(Side.SERVER)
    server.feed(tune_ok(16, 65_535, 4) + HEARTBEAT + open_())
    assert server.end.state == "opening"
    server.wait(2.1)
    assert server.out == BEAT


def test_before_that_there_are_none() -> None:
    facing = Facing.started(Side.SERVER)
    facing.feed(start_ok() + HEARTBEAT)
    facing.end.accept_authentication()
    facing.settle()
    assert facing.names()[-1] == "connection.close"


def test_while_nothing_can_be_read_silence_says_nothing(side: Side) -> None:
    facing = beating(side)
    end = facing.end
    end.receive_data(bytes([0x0F, 0, 0xFF, 0xFF]) + bytes(end.receive_budget - 4), 1.0)
    assert end.receive_budget == 0
    end.handle_timeout(30.0)
    assert end.close_hint is CloseHint.KEEP
