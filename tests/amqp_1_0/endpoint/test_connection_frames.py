"""Frames of AMQP 1.0: sizes, offsets, types, channels, and what faults in them come to."""

from struct import pack
from typing import Any

import pytest

from amqp_sansio import By, Closed, CloseHint, Failed, RemoteProtocolError, Scope
from amqp_sansio._core.connection import UNREADABLE
from amqp_sansio.amqp_1_0 import Config, Error
from amqp_sansio.amqp_1_0.endpoint.events import SessionRequested
from amqp_sansio.amqp_1_0.spec import Begin, Close, Flow, SaslInit, Transfer
from tests.kit.facing import BOTH_SIDES, CLIENT
from tests.kit.facing_1_0 import Facing
from tests.kit.octets_1_0 import EMPTY, octets_of, their_open
from tests.kit.pair_1_0 import client_config, server_config

BEGIN = Begin(next_outgoing_id=0, incoming_window=1, outgoing_window=1)
FRAMING = "amqp:connection:framing-error"


def opened(side: Any, **changes: Any) -> Facing:
    """An endpoint of an open connection that takes frames of 1000 octets and 4 channels."""
    made = client_config if side is CLIENT else server_config
    return Facing.opened(side, made(**{"max_frame_size": 1000, "channel_max": 3, **changes}))


# Right.


@pytest.mark.rule("1.0/transport/frame/layout", "1.0/transport/frame/channel")
@pytest.mark.rule("1.0/transport/frame/extended-ignored", "1.0/transport/frame/doff")
@pytest.mark.parametrize("words", [2, 3, 100, 245])
@BOTH_SIDES
def test_the_extended_header_is_skipped(side: Any, words: int) -> None:
    facing = opened(side, max_frame_size=2000)
    extended = bytes(range(250)) * 4
    facing.feed(octets_of(BEGIN, 3, doff=words, extended=extended[: 4 * words - 8]))
    (requested,) = facing.of(SessionRequested)
    assert requested.begin == BEGIN
    assert facing.end.session(requested.channel).peer.channel == 3


@pytest.mark.rule("1.0/transport/frame/empty", "1.0/transport/connection/idle-empty-channel")
@pytest.mark.parametrize(
    "octets",
    [EMPTY, octets_of(channel=3), octets_of(doff=4, extended=b"whatever")],
    ids=["channel 0", "channel 3", "extended"],
)
@BOTH_SIDES
def test_an_empty_frame_is_only_a_sign_of_life(side: Any, octets: bytes) -> None:
    facing = opened(side)
    assert facing.feed(octets * 3) == []
    assert facing.out == b""
    facing.feed(octets_of(BEGIN))
    assert len(facing.events) == 1


@pytest.mark.rule("1.0/transport/frame/performative")
@BOTH_SIDES
def test_descriptors_may_be_long_or_symbolic(side: Any) -> None:
    facing = opened(side)
    fields = BEGIN.encode()[3:]
    facing.feed(octets_of(b"\x00\x80" + pack(">Q", 0x11) + fields, 0))
    facing.feed(octets_of(b"\x00\xa3\x0famqp:begin:list" + fields, 1))
    facing.feed(octets_of(b"\x00\xb3" + pack(">I", 15) + b"amqp:begin:list" + fields, 2))
    assert len(facing.of(SessionRequested)) == 3


@BOTH_SIDES
def test_the_largest_frame_is_taken(side: Any) -> None:
    facing = opened(side)
    frame = octets_of(BEGIN.replace(properties={"long": b"x" * 900}))
    assert len(frame) < 1000
    longest = octets_of(BEGIN.replace(properties={"long": b"x" * (900 + 1000 - len(frame))}))
    assert len(longest) == 1000
    facing.feed(longest)
    assert facing.of(SessionRequested)


# Wrong.


@pytest.mark.rule("1.0/transport/frame/size")
@pytest.mark.parametrize("size", range(8))
@BOTH_SIDES
def test_a_size_below_eight_is_malformed(side: Any, size: int) -> None:
    """There's no way to find the next frame: nothing behind it is read, not even a close."""
    facing = opened(side)
    facing.feed(octets_of(BEGIN, size=size) + octets_of(Close()))
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.error.condition, failed.error.rule) == (FRAMING, "1.0/transport/frame/size")
    (close,) = facing.sent()
    assert close.body.error.condition == FRAMING
    assert facing.end.report is None
    facing.feed(octets_of(Close()))
    assert facing.end.report is None
    assert facing.end.next_deadline == facing.now + UNREADABLE
    facing.end.receive_eof(facing.now)
    facing.settle()
    (closed,) = facing.of(Closed)
    assert (closed.report.by, closed.report.condition) == (By.LOCAL, FRAMING)


FLOW = Flow(incoming_window=1, next_outgoing_id=0, outgoing_window=1)
WRONG: list[tuple[str, str, bytes]] = [
    *[("1.0/transport/frame/doff", FRAMING, octets_of(doff=doff) + EMPTY) for doff in (0, 1, 3, 255)],
    *[("1.0/transport/frame/type", FRAMING, octets_of(BEGIN, kind=kind)) for kind in (1, 2, 8, 255)],
    *[("1.0/transport/open/channel-max", FRAMING, octets_of(body, 4)) for body in (BEGIN, Close(), b"")],
    ("1.0/transport/frame/performative", FRAMING, octets_of(SaslInit("PLAIN"))),
    *[
        ("1.0/transport/frame/performative", FRAMING, octets_of(body, payload=b"x"))
        for body in (BEGIN, FLOW, Close(), their_open())
    ],
    ("1.0/transport/session.state/unmapped", "amqp:not-allowed", octets_of(Transfer(0, 0, b"tag"), 1, b"payload")),
    ("1.0/transport/session.state/unmapped", "amqp:not-allowed", octets_of(FLOW, 3)),
    ("1.0/transport/connection/open-first", "amqp:illegal-state", octets_of(their_open())),
]


@pytest.mark.parametrize(
    ("rule", "condition", "octets"),
    [pytest.param(*row, marks=pytest.mark.rule(row[0]), id=f"{row[0]}-{number}") for number, row in enumerate(WRONG)],
)
@pytest.mark.rule("1.0/security/sasl/frame-one")
@BOTH_SIDES
def test_a_frame_that_breaks_a_rule_ends_the_connection(side: Any, rule: str, condition: str, octets: bytes) -> None:
    facing = opened(side)
    facing.feed(octets)
    facing.closes(condition, rule.removeprefix("1.0/"))


@pytest.mark.rule("1.0/transport/open/max-frame-size")
@pytest.mark.parametrize("size", [1001, 1 << 20, 0xFFFFFFFF])
@BOTH_SIDES
def test_a_larger_frame_is_dropped_unread(side: Any, size: int) -> None:
    facing = opened(side)
    facing.feed(octets_of(BEGIN, size=size))
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.error.condition, failed.error.rule) == (FRAMING, "1.0/transport/open/max-frame-size")
    (close,) = facing.sent()
    assert close.body.error.condition == FRAMING
    # The rest of it is skipped when it comes, and the close behind it is found.
    left = size - len(octets_of(BEGIN))
    if left < 1 << 21:
        for at in range(0, left, 100_000):
            facing.feed(bytes(min(100_000, left - at)))
            assert facing.end.receive_budget == facing.end.config.limits.unparsed
        facing.feed(octets_of(Close()))
        assert facing.of(Closed)


@pytest.mark.rule("1.0/transport/connection/pre-open-limits")
@BOTH_SIDES
def test_a_channel_that_is_not_agreed_yet(side: Any) -> None:
    facing = Facing(side)
    facing.feed(b"AMQP\x00\x01\x00\x00" + octets_of(BEGIN, 1))
    (failed,) = facing.of(Failed)
    assert failed.scope is Scope.CONNECTION


EMPTY_LISTS = [b"\x45", b"\xc0\x01\x00", b"\xd0\0\0\0\x04\0\0\0\0"]
UNDECODABLE = {
    "no descriptor": b"\x45",
    "unknown descriptor": b"\x00\x53\x99\x45",
    "no list": b"\x00\x53\x11\x40",
    "cut list": b"\x00\x53\x11\xc0\x20\x04\x40",
    "cut descriptor": b"\x00\x80\x00",
    "a half": b"\x00",
    "wrong type": b"\x00\x53\x11\xc0\x05\x01\xa1\x02ab",
    "delivery state": b"\x00\x53\x24\x45",
}


@pytest.mark.rule("1.0/transport/frame/performative")
@pytest.mark.parametrize("case", UNDECODABLE)
@BOTH_SIDES
def test_what_is_no_performative(side: Any, case: str) -> None:
    facing = opened(side)
    offset = facing.fed
    facing.feed(octets_of(UNDECODABLE[case]))
    (failed,) = facing.of(Failed)
    error = failed.error
    assert isinstance(error, RemoteProtocolError)
    assert error.offset == offset
    assert error.rule is not None
    assert error.rule.startswith("1.0/")
    assert error.condition in ("amqp:decode-error", "amqp:invalid-field", FRAMING)
    facing.closes(error.condition, error.rule.removeprefix("1.0/"))


@pytest.mark.rule("1.0/types/field-mandatory")
@pytest.mark.parametrize("performative", [0x10, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16])
@pytest.mark.parametrize("empty", EMPTY_LISTS, ids=bytes.hex)
@BOTH_SIDES
def test_a_strict_endpoint_answers_a_performative_without_fields_with_a_close(
    side: Any, performative: int, empty: bytes
) -> None:
    facing = Facing.opened(side, Config(container_id="strict", strict=True))
    facing.feed(octets_of(BEGIN))
    facing.sent()
    facing.feed(octets_of(b"\0\x53" + bytes((performative,)) + empty))
    facing.closes("amqp:invalid-field", "types/field-mandatory")


@pytest.mark.rule("1.0/types/field-mandatory")
@pytest.mark.parametrize("performative", [0x11, 0x12, 0x13, 0x14, 0x15, 0x16])
@pytest.mark.parametrize("empty", EMPTY_LISTS, ids=bytes.hex)
@BOTH_SIDES
def test_a_performative_without_fields_ends_its_session(side: Any, performative: int, empty: bytes) -> None:
    facing = opened(side)
    facing.feed(octets_of(BEGIN))
    facing.forget()
    facing.feed(octets_of(b"\0\x53" + bytes((performative,)) + empty, int(performative == Begin.CODE)))
    (failed,) = facing.of(Failed)
    assert isinstance(failed.error, RemoteProtocolError)
    assert (failed.by, failed.scope, failed.error.rule) == (By.LOCAL, Scope.SESSION, "1.0/types/field-mandatory")
    begin, end = facing.sent()
    assert (begin.name, end.name) == ("begin", "end")
    assert end.body.error.condition == "amqp:invalid-field"
    assert facing.end.is_open


@pytest.mark.rule("1.0/types/field-mandatory")
@BOTH_SIDES
def test_an_open_without_fields_ends_the_connection(side: Any) -> None:
    facing = opened(side)
    facing.feed(octets_of(b"\0\x53\x10\x45"))
    facing.closes("amqp:invalid-field", "types/field-mandatory")


@BOTH_SIDES
def test_a_fault_behind_good_frames_is_told_in_order(side: Any) -> None:
    facing = opened(side)
    facing.feed(octets_of(BEGIN) + octets_of(BEGIN, 1) + octets_of(b"\x45", 2) + octets_of(BEGIN, 3))
    assert [type(event) for event in facing.events] == [*[SessionRequested] * 2, Failed, *[Closed] * 2]


@pytest.mark.rule("1.0/transport/connection.state/discarding", "1.0/transport/connection/close-read-on")
@BOTH_SIDES
def test_behind_an_error_everything_is_dropped_until_the_close(side: Any) -> None:
    facing = opened(side)
    facing.feed(octets_of(b"\x45"))
    assert facing.end.state == "DISCARDING"
    facing.forget()
    for octets in (
        octets_of(BEGIN, 1),
        EMPTY,
        octets_of(b"\x45"),
        octets_of(their_open()),
        octets_of(kind=7),
        octets_of(doff=1),
        octets_of(BEGIN, size=2000) + bytes(2000 - len(octets_of(BEGIN))),
        octets_of(BEGIN, 77),
    ):
        facing.feed(octets)
        assert facing.events == []
        assert (facing.out, facing.end.state) == (b"", "DISCARDING")
    facing.feed(octets_of(Close(Error("amqp:internal-error"))))
    (closed,) = facing.of(Closed)
    assert closed.report.by is By.LOCAL
    assert facing.end.close_hint is CloseHint.CLOSE_WHEN_SENT
