"""The end of a connection of 0-10: closes both ways, collisions, lost transports, silence (class 1)."""

import pytest

from amqp_sansio import AMQP_0_10, Abandoned, By, Closed, CloseHint, CodecError, EndpointClosed, Failed, Scope, Side
from amqp_sansio.amqp_0_10 import SessionClosed
from amqp_sansio.amqp_0_10.spec import ExecutionSync
from tests.core.test_timers import beating
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing, client_config


@pytest.mark.parametrize("code", [200, 320, 402, 501])
def test_a_close_octet_by_octet_and_its_answer(opened: Facing, code: int) -> None:
    opened.end.close(code, "bye")
    opened.end.close(501, "again")
    opened.settle()
    assert opened.out == raw.frame(bytes.fromhex("010b0300") + raw.u16(code) + b"\x03bye")
    assert opened.hint() is CloseHint.KEEP
    assert opened.end.state == f"{opened.side.value} closing"
    opened.feed(raw.CLOSE_OK)
    (closed,) = opened.events
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.code, closed.report.text) == (By.LOCAL, code, "bye")
    assert opened.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert opened.end.state == "end"


@pytest.mark.rule("0-10/connection.close/channel-hint")
@pytest.mark.parametrize("channel", [0, 7])
@pytest.mark.parametrize(
    ("code", "condition"), [(320, "connection-forced"), (402, "invalid-path"), (501, "framing-error"), (541, "541")]
)
def test_a_close_of_the_peer_is_answered_on_channel_zero_and_told(
    opened: Facing, code: int, condition: str, channel: int
) -> None:
    opened.feed(raw.close(code, "enough", channel=channel))
    assert opened.out == bytes.fromhex("0f0000100000000000000000010c0000")
    failed, closed = opened.events
    assert isinstance(failed, Failed)
    assert (failed.scope, failed.by) == (Scope.CONNECTION, By.REMOTE)
    assert (failed.error.code, failed.error.condition) == (code, condition)  # type: ignore[attr-defined]
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.code, closed.report.text) == (By.REMOTE, code, "enough")
    assert opened.end.close_hint is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.parametrize("octets", [raw.close(200, ""), raw.control(0x010B), raw.control(0x010B, raw.u16(200), None)])
def test_a_normal_close_of_the_peer_is_no_failure(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    assert opened.names() == ["connection.close-ok"]
    (closed,) = opened.events
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.code) == (By.REMOTE, 200)


@pytest.mark.parametrize(
    ("own", "theirs", "by", "code"), [(200, 200, By.LOCAL, 200), (200, 320, By.REMOTE, 320), (501, 320, By.LOCAL, 501)]
)
def test_both_close_at_once(opened: Facing, own: int, theirs: int, by: By, code: int) -> None:
    opened.end.close(own, "mine")
    opened.forget()
    opened.feed(raw.close(theirs, "yours"))
    # The peer's close is answered, its answer to the own one isn't waited for.
    assert opened.out == raw.CLOSE_OK
    closed = opened.events[-1]
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.code) == (by, code)
    assert opened.end.close_hint is CloseHint.CLOSE_WHEN_SENT
    assert opened.feed(raw.CLOSE_OK) == []


def test_nothing_is_heard_between_a_close_and_its_answer(facing: Facing) -> None:
    facing.end.close()
    facing.forget()
    facing.feed(
        raw.transfer("q", b"late"), raw.attach(b"t", channel=1), raw.HEARTBEAT, raw.frame(b"\xff\xff"), b"\xff" * 12
    )
    assert (facing.events, facing.out) == ([], b"")
    facing.feed(raw.CLOSE_OK)
    kinds = [type(event) for event in facing.events]
    assert kinds in ([], [SessionClosed, Closed])


def test_octets_that_no_frame_can_be_found_in_lose_the_answer_to_a_close(opened: Facing) -> None:
    opened.end.close()
    opened.forget()
    opened.feed(raw.frame(size=5), raw.CLOSE_OK)
    assert opened.events == []
    opened.wait(opened.end.config.close_timeout)
    assert [type(event) for event in opened.events] == [Closed]


@pytest.mark.rule("0-10/connection.close-ok/reporting")
@pytest.mark.parametrize("lost", [True, False])
def test_a_transport_that_ends_instead_of_the_answer_is_reported(opened: Facing, lost: bool) -> None:
    opened.end.close()
    opened.forget()
    if lost:
        opened.end.connection_lost("reset", 1.0)
    else:
        opened.end.receive_eof(1.0)
    opened.now = 1.0
    opened.settle()
    (closed,) = opened.events
    assert isinstance(closed, Closed)
    assert (closed.report.by, closed.report.code) == (By.LOCAL, 200)
    assert "close-ok" in closed.report.hint


def test_a_lost_transport_ends_the_connection_behind_what_came_before(facing: Facing) -> None:
    handle = facing.session.call(ExecutionSync())
    facing.forget()
    facing.end.receive_data(raw.completed(0), 1.0)
    facing.end.connection_lost("reset", 1.0)
    facing.now = 1.0
    facing.settle()
    assert handle.done
    assert handle.error is None
    assert [type(event) for event in facing.events][-2:] == [SessionClosed, Closed]
    assert facing.of(Closed)[-1].report.by is By.TRANSPORT
    assert (facing.out, facing.end.close_hint) == (b"", CloseHint.CLOSE_NOW)


def test_what_waits_when_the_connection_ends_is_abandoned(facing: Facing) -> None:
    session = facing.session
    handle = facing.session.call(ExecutionSync())
    facing.forget()
    facing.feed(raw.close(320, "off"))
    assert [type(event) for event in facing.events] == [Failed, Abandoned, SessionClosed, Closed]
    (abandoned,) = facing.of(Abandoned)
    assert abandoned.pendings == (handle,)
    assert isinstance(handle.error, EndpointClosed)
    with pytest.raises(EndpointClosed, match="320"):
        session.sync()
    with pytest.raises(EndpointClosed, match="320"):
        facing.end.open_session("t")
    facing.end.close()
    assert facing.out == raw.CLOSE_OK


def test_a_session_that_lasts_can_be_resumed_after_the_close(side: Side) -> None:
    facing = Facing.attached(side, keep=60)
    session = facing.session
    handle = session.call(ExecutionSync())
    facing.forget()
    facing.feed(raw.close(320, "off"))
    closed = facing.of(SessionClosed)[0]
    assert (closed.name, closed.resumable) == (b"s", True)
    assert not handle.done
    assert session.detached_state().pending == (handle,)


@pytest.mark.rule("0-10/connection.close-ok/reporting")
def test_a_server_that_hangs_up_is_reported_with_what_may_be_the_cause() -> None:
    facing = Facing.started(CLIENT)
    facing.end.receive_eof(1.0)
    facing.now = 1.0
    facing.settle()
    (closed,) = facing.of(Closed)
    assert closed.report.by is By.TRANSPORT
    assert "wrong user, password" in closed.report.hint


def test_before_start_a_close_is_that_of_the_socket() -> None:
    facing = Facing(CLIENT)
    facing.forget()
    facing.end.close()
    facing.settle()
    assert facing.out == b""
    assert facing.end.close_hint is CloseHint.CLOSE_NOW
    assert [type(event) for event in facing.events] == [Closed]


@pytest.mark.parametrize("side", [CLIENT, SERVER])
def test_a_close_is_legal_in_the_middle_of_the_opening(side: Side) -> None:
    facing = Facing.started(side)
    facing.end.close(320, "no")
    facing.settle()
    assert facing.names() == ["connection.close"]
    facing.feed(raw.CLOSE_OK)
    assert facing.of(Closed)[0].report.code == 320
    facing = Facing.started(side)
    facing.feed(raw.close(320, "no"))
    assert facing.names() == ["connection.close-ok"]


def test_a_close_ok_to_nothing_is_a_framing_error(opened: Facing) -> None:
    opened.feed(raw.CLOSE_OK)
    opened.closes(501, None)


def test_an_opening_that_does_not_end_is_ended() -> None:
    facing = Facing(CLIENT)
    facing.feed(b"AMQP\x01\x01\x00\x0a" + raw.start())
    facing.wait(30)
    (closed,) = facing.of(Closed)
    assert closed.report.by is By.LOCAL
    assert "authenticating" in closed.report.text
    assert facing.end.close_hint is CloseHint.CLOSE_NOW


def test_a_long_text_is_cut_at_a_whole_character(opened: Facing) -> None:
    opened.end.close(320, "ü" * 150)
    (told,) = opened.records()
    assert told.reply_text == "ü" * 100
    assert opened.out.endswith(raw.str8("ü" * 100))


def test_the_code_of_a_close_has_two_octets(opened: Facing) -> None:
    with pytest.raises(CodecError):
        opened.end.close(70_000)
    assert opened.end.is_open
    assert opened.names() == []


# Heartbeats of 0-10: sent in time, counted by any octet, and twice the time of silence (connection.heartbeat).


def test_a_connection_that_closes_has_no_heartbeats(side: Side) -> None:
    facing = beating(AMQP_0_10, side)
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


def test_heartbeats_may_begin_when_the_tuning_is_agreed() -> None:
    facing = Facing(CLIENT, client_config(heartbeat=4))
    facing.feed(raw.HEADER + raw.start() + raw.tune(16, 65_535, 1, 60))
    facing.forget()
    facing.feed(raw.HEARTBEAT)
    facing.wait(2.1)
    assert facing.out == raw.HEARTBEAT
    facing.feed(raw.open_ok())
    assert facing.end.is_open
    server = Facing.tuned(Side.SERVER)
    server.feed(raw.tune_ok(16, 65_535, 4) + raw.HEARTBEAT + raw.open_())
    assert server.end.state == "opening"
    server.wait(2.1)
    assert server.out == raw.HEARTBEAT


def test_before_that_there_are_none() -> None:
    facing = Facing.started(Side.SERVER)
    facing.feed(raw.start_ok() + raw.HEARTBEAT)
    facing.end.accept_authentication()
    facing.settle()
    assert facing.names()[-1] == "connection.close"


def test_while_nothing_can_be_read_silence_says_nothing(side: Side) -> None:
    end = beating(AMQP_0_10, side).end
    end.receive_data(bytes([0x0F, 0, 0xFF, 0xFF]) + bytes(end.receive_budget - 4), 1.0)
    assert end.receive_budget == 0
    end.handle_timeout(30.0)
    assert end.close_hint is CloseHint.KEEP
