"""Frames of 0-10 as they shouldn't be: sizes, reserved bits, tracks, flags, order (part 1 section 4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import By, Closed, CloseHint, Failed, Scope, Side
from amqp_sansio._core.connection import UNREADABLE
from amqp_sansio.amqp_0_10 import MessageReceived, SessionClosed
from tests.kit import octets_0_10 as raw
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_0_10 import Facing

SEGMENT = raw.segment(0x0401)


# The header of a frame.


@pytest.mark.rule("0-10/wire/frame-size<12 malformed")
@pytest.mark.parametrize("size", [0, 1, 11])
def test_a_size_below_twelve_is_malformed(opened: Facing, size: int) -> None:
    opened.feed(raw.frame(size=size))
    (failed,) = opened.of(Failed)
    assert (failed.error.code, failed.error.rule) == (501, "0-10/wire/frame-size<12 malformed")
    assert opened.names() == ["connection.close"]
    # Where the next frame begins can't be known: the answer isn't seen, the end of the stream is.
    opened.feed(raw.CLOSE_OK)
    assert opened.end.next_deadline == opened.now + UNREADABLE
    opened.end.receive_eof(opened.now)
    opened.settle()
    (closed,) = opened.of(Closed)
    assert (closed.report.by, closed.report.code) == (By.LOCAL, 501)


@pytest.mark.rule("0-10/connection.tune-ok/max-frame-size")
@pytest.mark.parametrize("early", [True, False])
def test_a_frame_above_the_agreed_size_is_a_framing_error(side: Side, early: bool) -> None:
    tuning = raw.tune(16, 4096) if side is CLIENT else raw.tune_ok(16, 4096)
    facing = Facing.opened(side, tuning=tuning)
    octets = raw.control(0x010A) + raw.frame(bytes(4085))
    assert len(octets) == 16 + 4097
    # Its size is enough to see it: the rest isn't waited for, and gone by when the answer comes.
    facing.feed(octets[: 16 + 12] if early else octets)
    assert facing.names() == ["connection.close"]
    facing.feed(octets[16 + 12 :] if early else b"")
    facing.closes(501, "connection.tune-ok/max-frame-size")


def test_a_frame_of_the_agreed_size_is_fine(side: Side) -> None:
    facing = Facing.opened(side, tuning=raw.tune(16, 4096) if side is CLIENT else raw.tune_ok(16, 4096))
    facing.feed(raw.attach(b"x" * 4078) if side is SERVER else raw.control(0x0203, b"\x0f\xee" + b"x" * 4078))
    assert facing.end.is_open
    assert facing.of(Failed) == []


@pytest.mark.rule("0-10/wire/frame-reserved-zero")
@pytest.mark.parametrize(
    "octets",
    [
        raw.frame(raw.HEARTBEAT[12:], flags=0x1F),
        raw.frame(raw.HEARTBEAT[12:], flags=0x2F),
        raw.frame(raw.HEARTBEAT[12:], flags=0x4F),
        raw.frame(raw.HEARTBEAT[12:], flags=0xCF),
        raw.frame(raw.HEARTBEAT[12:], spare=1),
        raw.frame(raw.HEARTBEAT[12:], track=0x10),
        raw.frame(raw.HEARTBEAT[12:], tail=1),
        raw.frame(raw.HEARTBEAT[12:], tail=0x80000000),
        raw.frame(raw.HEARTBEAT[12:], 4, track=0),
        raw.frame(raw.HEARTBEAT[12:], 255, track=1),
    ],
)
def test_reserved_bits_are_zero(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    opened.closes(501, "wire/frame-reserved-zero")


@pytest.mark.rule("0-10/wire/controls-track0")
@pytest.mark.parametrize("track", [1, 2, 15])
def test_controls_are_on_track_zero(opened: Facing, track: int) -> None:
    opened.feed(raw.frame(raw.HEARTBEAT[12:], track=track))
    opened.closes(501, "wire/controls-track0")


@pytest.mark.rule("0-10/wire/commands-track1")
@pytest.mark.parametrize("track", [0, 2, 15])
@pytest.mark.parametrize("kind", [1, 2, 3])
def test_commands_are_on_track_one(facing: Facing, track: int, kind: int) -> None:
    facing.feed(raw.frame(SEGMENT, kind, track=track))
    facing.closes(501, "wire/commands-track1")


# Segments.


@pytest.mark.rule("0-10/wire/frame-flags")
@pytest.mark.parametrize(
    "octets",
    [
        # Not the last frame, then a new command.
        raw.frame(SEGMENT[:3], 1, flags=0x0E) + raw.frame(SEGMENT, 1),
        # The segment goes on as one of another kind, or at another place.
        raw.frame(SEGMENT[:3], 1, flags=0x0E) + raw.frame(SEGMENT[3:], 2, flags=0x0D),
        raw.frame(SEGMENT[:3], 1, flags=0x0E) + raw.frame(SEGMENT[3:], 1, flags=0x09),
        # A second first segment.
        raw.frame(SEGMENT, 1, flags=0x0B) + raw.frame(raw.routed(), 2, flags=0x0F),
        # Segments in the wrong order, or twice.
        raw.frame(SEGMENT, 1, flags=0x0B) + raw.frame(b"body", 3, flags=0x03) + raw.frame(raw.routed(), 2, flags=0x07),
        raw.frame(SEGMENT, 1, flags=0x0B)
        + raw.frame(raw.routed(), 2, flags=0x03)
        + raw.frame(raw.routed(), 2, flags=0x07),
        raw.frame(SEGMENT, 1, flags=0x0B) + raw.frame(SEGMENT, 1, flags=0x07),
        # A segment that goes on behind its last frame.
        raw.frame(SEGMENT, 1, flags=0x0B) + raw.frame(b"body", 3, flags=0x05),
        # A header or a body first.
        raw.frame(raw.routed(), 2),
        raw.frame(b"body", 3),
    ],
)
def test_segments_out_of_order_are_a_framing_error(facing: Facing, octets: bytes) -> None:
    facing.feed(octets)
    facing.closes(501, "wire/frame-flags")


@pytest.mark.rule("0-10/wire/frame-flags")
@pytest.mark.parametrize(
    "octets",
    [
        raw.frame(raw.HEARTBEAT[12:], flags=0x07),
        raw.frame(raw.HEARTBEAT[12:], flags=0x0D),
        raw.frame(raw.HEARTBEAT[12:14], flags=0x0E) + raw.frame(raw.HEARTBEAT[12:]),
        raw.frame(raw.HEARTBEAT[12:14], flags=0x0A) + raw.frame(raw.HEARTBEAT[14:], flags=0x0D),
    ],
)
def test_the_frames_of_a_control_are_in_order_too(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    opened.closes(501, "wire/frame-flags")


@pytest.mark.rule("0-10/wire/frame-flags", "0-10/wire/channel-order")
def test_controls_in_several_frames_on_several_channels(opened: Facing) -> None:
    one, two = (raw.control(0x0203, b"\0\x01" + name)[12:] for name in (b"a", b"b"))
    opened.feed(
        raw.frame(one[:3], flags=0x0E, channel=1)
        + raw.frame(two[:1], flags=0x0E, channel=2)
        + raw.frame(one[3:], flags=0x0D, channel=1)
        + raw.frame(b"", flags=0x0C, channel=2)
        + raw.frame(two[1:], flags=0x0D, channel=2)
    )
    assert [(each.channel, each.record.name) for each in opened.sent()] == [(1, b"a"), (2, b"b")]


@pytest.mark.rule("0-10/wire/frame-flags")
@pytest.mark.parametrize("pieces", [1, 2, 3, 50])
def test_a_command_may_come_in_any_pieces(server: Facing, pieces: int) -> None:
    header = raw.routed()

    def cut(octets: bytes, kind: int, place: int) -> bytes:
        parts = [octets[n : n + pieces] for n in range(0, len(octets), pieces)]
        last = len(parts) - 1
        return b"".join(
            [
                raw.frame(each, kind, flags=place | (0 if n else 2) | (1 if n == last else 0))
                for n, each in enumerate(parts)
            ]
        )

    server.feed(cut(SEGMENT, 1, 8) + cut(header, 2, 0) + cut(b"the body", 3, 4))
    (message,) = server.of(MessageReceived)
    assert (message.headers.raw, message.body) == (header, b"the body")


def test_empty_frames_are_frames(facing: Facing) -> None:
    facing.feed(
        raw.frame(b"", 1, flags=0x0E)
        + raw.frame(raw.segment(0x0301, sync=True), 1, flags=0x0C)
        + raw.frame(b"", 1, flags=0x0D)
    )
    assert facing.out == raw.completed(0)


# Controls.


@pytest.mark.parametrize(
    "octets",
    [
        raw.frame(b""),
        raw.frame(b"\x01"),
        raw.frame(b"\x01\x0a"),
        raw.frame(b"\x01\x0a\x00"),
        raw.frame(b"\x01\x0a\x00\x00\x00"),
        raw.frame(b"\x01\x0d\x00\x00"),
        raw.frame(b"\x00\x00\x00\x00"),
        raw.frame(b"\x02\x0e\x00\x00"),
        raw.frame(b"\x03\x01\x00\x00"),
        raw.frame(b"\x01\x0b\x03\x00\x01"),
        raw.frame(b"\x01\x0b\x03\x00\x01\x40\x05abc"),
        raw.frame(b"\x02\x01\x01\x00\x00\x09s"),
        raw.frame(b"\x02\x08\x03\x00" + raw.ids(0) + b"\0\0"),
    ],
    ids=lambda octets: octets[12:].hex() or "nothing",
)
def test_a_control_that_cannot_be_read_is_a_framing_error(opened: Facing, octets: bytes) -> None:
    opened.feed(octets)
    (failed,) = opened.of(Failed)
    assert (failed.scope, failed.by, failed.error.code) == (Scope.CONNECTION, By.LOCAL, 501)
    opened.forget()
    opened.feed(raw.CLOSE_OK)
    assert opened.of(Closed)[0].report.condition == "framing-error"


@pytest.mark.rule("0-10/wire/map-distinct")
def test_a_map_with_a_key_twice_is_a_framing_error_in_a_control(side: Side) -> None:
    pair = raw.table(a="1")[8:]
    twice = (4 + 2 * len(pair)).to_bytes(4) + b"\0\0\0\x02" + pair * 2
    if side is CLIENT:
        facing = Facing(CLIENT)
        facing.feed(raw.HEADER + raw.control(0x0101, twice, raw.strings("PLAIN"), raw.strings("en_US")))
    else:
        facing = Facing.started(SERVER)
        facing.feed(raw.control(0x0102, twice, raw.str8("PLAIN"), raw.vbin32(b"\0ann\0pw"), raw.str8("en_US")))
    facing.closes(501, "wire/map-distinct")


def test_the_answer_to_a_close_is_seen_whatever_the_peer_was_in_the_middle_of(side: Side) -> None:
    for behind in (b"", raw.frame(b"\0\0", flags=0x0D)):
        facing = Facing.opened(side)
        facing.feed(raw.frame(raw.HEARTBEAT[12:14], flags=0x0E))
        facing.end.close()
        facing.feed(behind + raw.CLOSE_OK)
        assert [type(event) for event in facing.events] == [Closed]


def test_everything_behind_a_fault_is_dropped(facing: Facing) -> None:
    facing.feed(raw.frame(b"\xff\xff") + raw.transfer("d", b"x") + raw.sync() + raw.flush("completed") + raw.HEARTBEAT)
    assert [type(event) for event in facing.events] == [Failed, SessionClosed]
    assert facing.names() == ["connection.close"]
    facing.closes(501, None)


def test_a_fault_is_told_with_the_place_of_its_frame(opened: Facing) -> None:
    before = len(raw.HEADER) + (
        len(raw.start() + raw.tune() + raw.open_ok())
        if opened.side is CLIENT
        else len(raw.start_ok() + raw.tune_ok() + raw.open_())
    )
    opened.feed(raw.HEARTBEAT * 3 + raw.frame(b"\xff\xff"))
    (failed,) = opened.of(Failed)
    assert failed.error.offset == before + 3 * len(raw.HEARTBEAT)


# Whatever comes.


MESSAGE = raw.transfer("d", b"x" * 30, header=raw.routed())
WHOLE = {
    CLIENT: [
        raw.attached() + raw.expected() + raw.command_point(),
        MESSAGE,
        raw.sync(),
        raw.flush("completed"),
        raw.completed((0, 3), timely=True),
        raw.command(0x0302, b"\0\0\0\0"),
        raw.HEARTBEAT,
    ],
    SERVER: [
        raw.attach() + raw.command_point(),
        raw.subscribe(),
        raw.flow("d", 0, 9),
        MESSAGE,
        raw.sync(),
        raw.flush("expected", "confirmed", "completed"),
        raw.HEARTBEAT,
    ],
}


@given(st.data())
def test_octets_that_are_changed_end_in_events_and_nothing_else(data: st.DataObject) -> None:
    side = data.draw(st.sampled_from([CLIENT, SERVER]))
    facing = Facing.opened(side)
    if side is CLIENT:
        facing.end.open_session("s")
    parts = data.draw(st.lists(st.sampled_from(WHOLE[side]), max_size=8))
    octets = bytearray(b"".join([WHOLE[side][0], *parts]))
    for _ in range(data.draw(st.integers(1, 4))):
        octets[data.draw(st.integers(0, len(octets) - 1))] = data.draw(st.integers(0, 255))
    step = data.draw(st.integers(1, 64))
    for begin in range(0, len(octets), step):
        if facing.end.receive_budget:
            facing.feed(bytes(octets[begin : begin + step]))
    facing.end.receive_eof(facing.now)
    facing.settle()
    # A server's application hasn't answered: what waits for it stays open until the transport is closed.
    ended = [event for event in facing.events if type(event) is Closed]
    assert len(ended) == 1
    assert facing.events[-1] is ended[0]


@given(st.binary(max_size=300))
def test_random_octets_end_in_events_and_nothing_else(octets: bytes) -> None:
    for side in (CLIENT, SERVER):
        for facing in (Facing(side), Facing.opened(side), Facing.attached(side)):
            facing.feed(octets)
            facing.end.receive_eof(facing.now)
            facing.settle()
            assert type(facing.events[-1]) is Closed
            assert facing.end.close_hint is not CloseHint.KEEP
