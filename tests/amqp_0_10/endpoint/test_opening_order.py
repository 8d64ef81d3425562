"""The opening of 0-10 out of turn: steps too early, too late, by the wrong end; snapshots at every octet (class 1)."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio import AuthenticationRequested, By, Closed, CloseHint, LocalProtocolError, Side
from tests.kit.octets_0_10 import (
    HEADER,
    HEARTBEAT,
    attach,
    close,
    command,
    control,
    flush,
    open_,
    open_ok,
    start,
    start_ok,
    transfer,
    tune,
    tune_ok,
)
from tests.kit.wire_0_10 import CLIENT, SERVER, Facing


@pytest.mark.parametrize(
    ("state", "octets"),
    [
        ("headers exchanged", tune()),
        ("headers exchanged", open_ok()),
        ("headers exchanged", HEARTBEAT),
        ("headers exchanged", control(0x010C)),
        ("headers exchanged", attach()),
        ("headers exchanged", transfer()),
    ],
)
def test_before_start_nothing_but_start_is_heard_and_nothing_can_be_said(state: str, octets: bytes) -> None:
    facing = Facing(CLIENT)
    facing.feed(HEADER)
    facing.forget()
    assert facing.end.state == state
    facing.feed(octets)
    facing.silently_ends(None)


@pytest.mark.parametrize("code", [200, 320])
def test_a_server_may_close_before_it_starts(code: int) -> None:
    facing = Facing(CLIENT)
    facing.feed(HEADER)
    facing.forget()
    facing.feed(close(code, "not today"))
    assert facing.names() == ["connection.close-ok"]
    (closed,) = facing.of(Closed)
    assert (closed.report.by, closed.report.code, closed.report.text) == (By.REMOTE, code, "not today")
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.parametrize(
    "octets",
    [
        start(),
        open_ok(),
        tune_ok(),
        open_(),
        HEARTBEAT,
        control(0x010C),
        attach(),
        flush("completed"),
        transfer(),
    ],
)
def test_what_is_out_of_turn_in_the_opening_is_a_framing_error_for_a_client(octets: bytes) -> None:
    facing = Facing.started(CLIENT)
    facing.feed(octets)
    facing.closes(501, None)


@pytest.mark.parametrize(
    "octets",
    [
        start(),
        tune(),
        tune_ok(),
        open_(),
        open_ok(),
        HEARTBEAT,
        control(0x010C),
        attach(),
        command(0x0501),
    ],
)
def test_what_is_out_of_turn_in_the_opening_is_a_framing_error_for_a_server(octets: bytes) -> None:
    facing = Facing.started(SERVER)
    facing.feed(octets)
    facing.closes(501, None)


@pytest.mark.parametrize(
    "octets",
    [start(), start_ok(), tune(), tune_ok(), open_(), open_ok(), control(0x010C), control(0x0103, b"\0\0\0\0")],
)
def test_a_control_of_the_opening_does_not_come_again(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    opened.closes(501, None)


def test_decisions_nobody_asked_for_are_refused() -> None:
    facing = Facing.started(SERVER)
    for decide in (
        facing.end.accept_authentication,
        facing.end.accept_open,
        facing.end.refuse_open,
        facing.end.refuse_authentication,
        lambda: facing.end.provide_scram_keys(None),
        lambda: facing.end.redirect("x"),
    ):
        with pytest.raises(LocalProtocolError, match="waiting for an answer"):
            decide()
    with pytest.raises(LocalProtocolError, match="not open yet"):
        facing.end.open_session("s")
    assert facing.sent() == []


def test_the_opening_goes_on_from_a_snapshot_at_every_octet(side: Side) -> None:
    whole = Facing(side)
    script = HEADER + (
        start() + tune(16, 65_535, 5, 60) + open_ok()
        if side is CLIENT
        else start_ok() + tune_ok() + open_()
    )

    def play(pickled: bool) -> bytes:
        facing = Facing(side)
        for octet in script:
            facing.feed(bytes([octet]))
            if pickled:
                facing.end = pickle.loads(pickle.dumps(facing.end))
            if side is SERVER and facing.of(AuthenticationRequested):
                facing.end.accept_authentication()
                facing.events.clear()
        if side is SERVER:
            facing.end.accept_open()
            facing.settle()
        assert facing.end.is_open
        return facing.out

    assert play(True) == play(False)
    assert whole.events == []
