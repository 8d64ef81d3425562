"""Heartbeats: 0-9-1 section 4.2.7, 0-8 section 4.2.5.12."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, By, Closed, CloseHint, Version
from amqp_sansio.endpoint import Side
from tests.kit.facing import (
    CLIENT,
    HEARTBEAT,
    SERVER,
    Facing,
    frame,
    tune_ok,
    tuned_client,
    tuning_server,
)
from tests.kit.pair import Pair, client_config, server_config

BEAT = bytes.fromhex("08 0000 00000000 ce")


def beating(version: Version, side: Side) -> Facing:
    """An open connection with a heartbeat of 10 seconds."""
    pair = Pair(version, client=client_config(heartbeat=10.0), server=server_config(heartbeat=10.0))
    pair.open()
    facing = Facing.opened(version, side)
    facing.end = pair.ends[side]
    facing.fed = len(pair.sent[side.other])
    return facing


@pytest.mark.rule("0-9-1/wire/heartbeat-format", "0-9-1/wire/heartbeat-interval")
def test_one_heartbeat_goes_out_in_each_interval_without_traffic(version: Version, side: Side) -> None:
    facing = beating(version, side)
    for _ in range(10):
        facing.forget()
        facing.feed(BEAT)
        facing.wait(10.0)
        assert facing.out
        assert facing.out.replace(BEAT, b"") == b""
    assert facing.end.is_open


@pytest.mark.rule("0-9-1/wire/heartbeat-interval")
def test_traffic_takes_the_place_of_heartbeats() -> None:
    facing = beating(AMQP_0_9_1, CLIENT)
    facing.end.open_channel()
    facing.settle()
    facing.feed(facing.method("channel.open-ok"))
    for _ in range(20):
        facing.channel.publish(b"x", routing_key="q")
        facing.feed(BEAT)
        facing.wait(4.0)
    assert "heartbeat" not in facing.names()


@pytest.mark.rule("0-9-1/wire/heartbeat-timeout")
def test_two_silent_intervals_close_the_socket_without_handshake(version: Version, side: Side) -> None:
    facing = beating(version, side)
    facing.feed(BEAT)
    facing.forget()
    facing.wait(19.9)
    assert facing.end.is_open
    facing.wait(0.2)
    assert facing.hint() is CloseHint.CLOSE_NOW
    assert "connection.close" not in facing.names()
    closed = facing.events[-1]
    assert isinstance(closed, Closed)
    assert closed.report.by is By.TRANSPORT
    assert closed.report.text == "nothing arrived for 20 seconds, twice the heartbeat"
    assert closed.report.rule == facing.full_id("wire/heartbeat-timeout")


@pytest.mark.rule("0-9-1/wire/heartbeat-any-octet")
def test_any_octet_is_a_sign_of_life(side: Side) -> None:
    facing = beating(AMQP_0_9_1, side)
    facing.forget()
    for octet in frame(HEARTBEAT, 0):
        facing.feed(bytes((octet,)))
        facing.wait(19.0)
    assert facing.end.is_open


@pytest.mark.rule("0-9-1/wire/heartbeat-start-client")
def test_a_client_sends_from_tune_on_and_watches_from_open_on() -> None:
    facing = tuned_client(AMQP_0_9_1, (10, 4096, 10), heartbeat=10, handshake_timeout=1000.0)
    assert facing.names() == ["connection.tune-ok", "connection.open"]
    facing.forget()
    facing.wait(9.0)
    assert set(facing.names()) == {"heartbeat"}
    facing.wait(12.0)
    assert facing.events
    assert facing.hint() is CloseHint.CLOSE_NOW


@pytest.mark.rule("0-9-1/wire/heartbeat-start-server")
def test_a_server_sends_and_watches_from_tune_ok_on() -> None:
    facing = tuning_server(AMQP_0_9_1, heartbeat=10, handshake_timeout=1000.0)
    facing.forget()
    facing.wait(100.0)
    assert facing.out == b""
    facing.feed(tune_ok(facing, 10, 4096, 10))
    facing.wait(9.0)
    assert set(facing.names()) == {"heartbeat"}
    facing.wait(12.0)
    assert facing.hint() is CloseHint.CLOSE_NOW


@pytest.mark.rule("0-9-1/wire/heartbeat-until-socket-close")
def test_heartbeats_go_on_while_the_connection_closes(side: Side) -> None:
    pair = Pair(
        AMQP_0_9_1,
        client=client_config(heartbeat=4.0, close_timeout=1000.0),
        server=server_config(heartbeat=4.0, close_timeout=1000.0),
    ).open()
    facing = Facing.opened(AMQP_0_9_1, side)
    facing.end = pair.ends[side]
    facing.end.close()
    facing.settle()
    assert facing.names() == ["connection.close"]
    facing.forget()
    for _ in range(5):
        facing.feed(BEAT)
        facing.wait(4.0)
    assert facing.names().count("heartbeat") >= 5
    facing.wait(9.0)
    assert facing.hint() is CloseHint.CLOSE_NOW


@pytest.mark.rule("0-8/wire/heartbeat-no-timing")
def test_0_8_takes_the_rate_from_tuning_only() -> None:
    facing = tuning_server(AMQP_0_8, heartbeat=10)
    facing.feed(tune_ok(facing, 10, 4096, 7))
    assert facing.end.heartbeat == 7
    assert facing.side is SERVER
