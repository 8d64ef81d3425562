"""The observer on conversations of 0-10: units, ids, answers, rules that are broken, and what the limits hold."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Limits, Side
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND, CONTROL, HEADER, encode_assembly
from amqp_sansio.amqp_0_10.codec.record import encode_headers
from amqp_sansio.observer import Identified
from tests.kit.observing import SERVER
from tests.kit.talk_0_10 import Talk010, completed, frames, transfer


def _talk(**options: Any) -> Talk010:
    return Talk010(**options).open().session()


def _commands(talk: Talk010) -> list[amqp.ObservedCommand]:
    return [event for event in talk.observed if isinstance(event, amqp.ObservedCommand)]


# Units.


def test_the_opening_and_what_answers_what() -> None:
    talk = Talk010().open().client(spec.ConnectionClose(200, "")).server(spec.ConnectionCloseOk()).finish()
    assert [(unit.event, unit.unit, unit.answers) for unit in talk.observed] == [
        ("protocol-header", "header", None),
        ("protocol-header", "header", None),
        ("connection.start", "method", None),
        ("connection.start-ok", "method", 2),
        ("connection.tune", "method", None),
        ("connection.tune-ok", "method", 4),
        ("connection.open", "method", None),
        ("connection.open-ok", "method", 6),
        ("connection.close", "method", None),
        ("connection.close-ok", "method", 8),
    ]
    assert not talk.rules
    assert not talk.skipped


@pytest.mark.rule("0-10/connection.close/channel-hint")
def test_a_close_may_come_on_any_channel() -> None:
    talk = _talk().server(spec.ConnectionClose(501, "x"), channel=3).client(spec.ConnectionCloseOk())
    assert talk.observed[-1].answers == talk.observed[-2].seq
    assert not talk.rules


def test_heartbeats() -> None:
    talk = Talk010().open().client(spec.ConnectionHeartbeat()).server(spec.ConnectionHeartbeat())
    assert [(unit.unit, unit.event) for unit in talk.observed[-2:]] == [("heartbeat",) * 2] * 2
    assert isinstance(talk.observed[-1].content, spec.ConnectionHeartbeat)


@pytest.mark.rule("0-10/wire/track-order", "0-10/wire/frame-flags")
def test_controls_between_the_frames_of_a_command() -> None:
    octets = transfer("", b"0123456789" * 10, largest=40)
    first, rest = octets[:40], octets[40:]
    size = int.from_bytes(octets[2:4])
    talk = _talk().client(octets[:size], spec.SessionFlush(), octets[size:]).finish()
    assert [unit.event for unit in talk.observed[-2:]] == ["session.flush", "message.transfer"]
    assert (talk.observed[-1].body, talk.observed[-1].size) == (b"0123456789" * 10, len(octets))
    assert first + rest == octets
    assert not talk.rules


def test_messages_on_two_channels_at_once() -> None:
    one, two = transfer("a", b"1"), transfer("b", b"2", channel=1)
    talk = _talk().session(1, b"t")
    for begin in range(0, max(len(one), len(two)), 200):
        talk.client(one[begin : begin + 200], two[begin : begin + 200])
    bodies = [(unit.channel, unit.body) for unit in talk.observed if unit.unit == "content"]
    assert bodies == [(0, b"1"), (1, b"2")]


@pytest.mark.rule("0-10/wire/header-unknown-pass", "0-10/wire/header-any-order")
def test_the_structs_of_a_header_segment() -> None:
    unknown = amqp.spec.Struct32(0x0F0F, b"\1\2")
    structs = (amqp.MessageProperties(content_type="t"), unknown, spec.FragmentProperties(), amqp.DeliveryProperties())
    command = transfer("d")[: int.from_bytes(transfer("d")[2:4])]
    header = encode_assembly(0, [(COMMAND, b""), (HEADER, encode_headers(structs))])[12:]
    talk = _talk().client(command, _last(header)).finish()
    found = talk.observed[-1].properties
    assert isinstance(found, amqp.Headers)
    assert (found.structs, found.raw) == (structs, encode_headers(structs))
    assert found.others == (unknown, spec.FragmentProperties())
    assert (found.message_properties, found.content_type) == (structs[0], "t")
    assert talk.observed[-1].unit == "content"
    assert (talk.observed[-1].body, talk.observed[-1].body_size) == (b"", 0)
    assert not talk.rules


def _last(frame: bytes) -> bytes:
    """The same frame as that of the last segment."""
    return bytes((frame[0] | 4,)) + frame[1:]


@pytest.mark.parametrize(("body", "kept", "told"), [("keep", b"xy", 0), ("hash", None, 1), ("size", None, 0)])
def test_what_is_kept_of_bodies(body: str, kept: bytes | None, told: bool) -> None:
    unit = _talk(body=body).client(transfer("", b"xy")).observed[-1]
    assert (unit.body, unit.body_size, unit.body_sha256 is not None) == (kept, 2, told)


# Ids.


def test_ids_begin_at_the_command_point_and_wrap() -> None:
    talk = Talk010().open().session(number=4_294_967_295)
    talk.client(spec.ExecutionSync(), spec.ExecutionSync()).server(transfer("d")).finish()
    assert [event.command_id for event in _commands(talk)] == [4_294_967_295, 0, 4_294_967_295]
    assert not talk.rules


def test_the_sync_bit_is_told() -> None:
    talk = _talk().client(frames(spec.ExecutionSync(), sync=True), spec.ExecutionSync())
    assert [event.sync for event in _commands(talk)] == [True, False]


def test_ids_are_unknown_behind_a_gap_until_the_next_command_point() -> None:
    talk = _talk().client(spec.ExecutionSync()).gap("client", 10).client(spec.ExecutionSync())
    talk.client(spec.SessionCommandPoint(9, 0), spec.ExecutionSync()).server(spec.ExecutionSync()).finish()
    assert [event.command_id for event in _commands(talk)] == [0, None, 9, 0]
    assert not talk.rules


@pytest.mark.rule("0-10/execution.result/always")
def test_a_result_answers_its_command_and_comes_before_its_completion() -> None:
    talk = _talk().client(spec.QueueQuery("q"), spec.QueueQuery("q"))
    first, second = talk.observed[-2:]
    talk.server(spec.ExecutionResult(1, spec.QueueQueryResult("q")), spec.ExecutionResult(0, spec.QueueQueryResult()))
    assert [unit.answers for unit in talk.observed[-2:]] == [second.seq, first.seq]
    assert not talk.server(completed(0, 1)).rules
    talk.client(spec.QueueQuery("q")).server(completed(0, 1, 2)).finish()
    assert talk.rules == ["execution.result/always"]


def test_a_result_that_a_gap_hides_is_not_missed() -> None:
    talk = _talk().client(spec.QueueQuery("q")).gap(SERVER, 50).server(completed(0)).finish()
    assert not talk.rules


# Rules.


def _session(*what: Any) -> Talk010:
    return _talk().client(*what)


_RULES: list[tuple[str, Any]] = [
    ("wire/frame-flags", lambda: _session(spec.ExecutionSync(), _pieces()[1])),
    ("wire/frame-flags", lambda: _session(spec.ExecutionSync(), _first(BODY))),
    ("wire/controls-track0", lambda: _session(_track(frames(completed(0)), 1))),
    ("wire/commands-track1", lambda: _session(_track(frames(spec.ExecutionSync()), 0))),
    ("wire/commands-track1", lambda: _session(_track(frames(spec.ExecutionSync()), 5))),
    ("wire/commands-track1", lambda: _session(b"\x0b" + frames(completed(0))[1:], b"\x07\2\0\x0c" + bytes(8))),
    ("wire/frame-reserved-zero", lambda: _session(b"\x8f" + frames(completed(0))[1:])),
    ("wire/frame-reserved-zero", lambda: _session(b"\x0f\x04" + frames(completed(0))[2:])),
    ("wire/frame-size<12 malformed", lambda: _session(b"\x0f\0\0\x0b" + bytes(8))),
    ("wire/struct-code", lambda: _session(encode_assembly(0, [(CONTROL, b"\x0f\x0f\0\0")]))),
    ("wire/struct-code", lambda: _session(encode_assembly(0, [(COMMAND, b"\x0f\x0f\1\0\0\0")]))),
    ("wire/struct-size-includes", lambda: _session(encode_assembly(0, [(CONTROL, b"\1\x0c\0\0x")]))),
    ("wire/header-any-order", lambda: _session(transfer("", b"", *[amqp.DeliveryProperties()] * 2))),
    ("wire/map-distinct", lambda: _session(_twice())),
    ("wire/header-each-peer", lambda: Talk010().headers().client(AMQP_0_10.header)),
    ("wire/header-each-peer", lambda: Talk010().client(AMQP_0_10.header).server(b"HTTP/1.1 x")),
    (
        "connection.start-ok/validity",
        lambda: (
            Talk010()
            .headers()
            .server(spec.ConnectionStart({}, ["PLAIN"], ["en_US"]))
            .client(spec.ConnectionStartOk({}, "EXTERNAL", b"", "en_US"))
        ),
    ),
    (
        "connection.start-ok/locale-offered",
        lambda: (
            Talk010()
            .headers()
            .server(spec.ConnectionStart({}, ["PLAIN"], ["en_US"]))
            .client(spec.ConnectionStartOk({}, "PLAIN", b"", "xx"))
        ),
    ),
    ("connection.tune/minimum", lambda: Talk010().headers().server(spec.ConnectionTune(1, 4095))),
    ("connection.tune/permitted-range", lambda: Talk010().headers().server(spec.ConnectionTune(1, 4096, 9, 8))),
    ("connection.tune/no-heartbeat-min", lambda: Talk010().headers().server(spec.ConnectionTune(1, 4096, None, 8))),
    ("connection.tune-ok/minimum", lambda: Talk010().open(max_frame_size=4000)),
    ("connection.tune-ok/channel-upper-limit", lambda: Talk010().open(channel_max=17)),
    (
        "connection.tune-ok/frame-upper-limit",
        lambda: Talk010().headers().server(spec.ConnectionTune(1, 5000)).client(spec.ConnectionTuneOk(1, 5001)),
    ),
    ("connection.tune-ok/heartbeat-range", lambda: Talk010().open(heartbeat=61)),
    (
        "connection.tune-ok/no-heartbeat-min",
        lambda: Talk010().headers().server(spec.ConnectionTune(1)).client(spec.ConnectionTuneOk(1, None, 5)),
    ),
    (
        "connection.tune-ok/max-frame-size",
        lambda: Talk010().open(max_frame_size=4096).session().client(transfer("", bytes(5000))),
    ),
    ("connection.tune-ok/available-channels", lambda: Talk010().open().session(16)),
    (
        "connection.open/insist",
        lambda: Talk010().headers().client(spec.ConnectionOpen("/", insist=True)).server(spec.ConnectionRedirect("h")),
    ),
    ("session/attachment", lambda: Talk010().open().client(spec.SessionFlush(completed=True))),
    ("session/attachment", lambda: _talk().client(spec.SessionDetach(b"s"), spec.SessionFlush())),
    ("session.attach/one-session", lambda: _talk().client(spec.SessionAttach(b"other"))),
    (
        "session.command-point/newly-attached",
        lambda: Talk010().open().client(spec.SessionAttach(b"s"), spec.ExecutionSync()),
    ),
    ("session.command-point/zero-offset", lambda: _talk().client(spec.SessionCommandPoint(1, 0), _pieces()[1])),
    (
        "session.command-point/nonzero-offset",
        lambda: _talk().client(spec.SessionCommandPoint(1, 5), spec.ExecutionSync()),
    ),
    ("session.expected/only-on-flush", lambda: _talk().server(spec.SessionExpected(amqp.SequenceSet()))),
    (
        "session.request-timeout/granted",
        lambda: _talk().client(spec.SessionRequestTimeout(5)).server(spec.SessionTimeout(6)),
    ),
    ("message.subscribe/unique-destination", lambda: _talk().subscribe().subscribe(queue="other")),
]


def _first(kind: int) -> bytes:
    """A frame that begins an assembly with another type of segment than one may begin with."""
    return bytes((0x0F, kind, 0, 13, 0, 1, 0, 0, 0, 0, 0, 0)) + b"x"


def _track(frame: bytes, track: int) -> bytes:
    return frame[:5] + bytes((track,)) + frame[6:]


def _twice() -> bytes:
    """A control whose map has a key twice."""
    entry = b"\x01a\xf0"
    table = (4 + 2 * len(entry)).to_bytes(4) + (2).to_bytes(4) + 2 * entry
    return encode_assembly(0, [(CONTROL, b"\1\1\1\0" + table)])


def _pieces() -> list[bytes]:
    """The frames of a message."""
    octets = transfer("", b"0123456789" * 4, largest=40)
    found: list[bytes] = []
    while octets:
        size = int.from_bytes(octets[2:4])
        found.append(octets[:size])
        octets = octets[size:]
    return found


@pytest.mark.parametrize(("rule", "make"), _RULES, ids=[f"{n}-{rule}" for n, (rule, _) in enumerate(_RULES)])
@pytest.mark.rule(*{f"0-10/{rule}" for rule, _ in _RULES})
def test_a_broken_rule_is_told_once(rule: str, make: Any) -> None:
    talk = make()
    assert talk.rules == [rule]
    talk.client(b"").finish()
    assert talk.rules == [rule]


# What isn't held against anybody.


@pytest.mark.rule("0-10/session.attach/idempotence", "0-10/session/attachment")
def test_what_is_sent_before_the_other_side_is_heard() -> None:
    talk = Talk010().open()
    talk.client(spec.SessionAttach(b"s"), spec.SessionCommandPoint(0, 0), spec.ExecutionSync())
    talk.server(spec.SessionAttached(b"s"), spec.SessionCommandPoint(0, 0), completed(0))
    # The server goes on until it has heard of the detach, the client until it has of a detached.
    talk.client(spec.SessionDetach(b"s")).server(transfer("d"), spec.SessionDetached(b"s", 0))
    talk.client(spec.SessionAttach(b"s"), spec.SessionCommandPoint(0, 0)).server(spec.SessionAttached(b"s"))
    talk.server(spec.SessionCommandPoint(0, 0), spec.SessionDetached(b"s", 1)).client(spec.ExecutionSync())
    talk.client(
        spec.SessionAttach(b"t"), spec.SessionCommandPoint(0, 0), spec.SessionAttach(b"t"), spec.ExecutionSync()
    )
    assert not talk.finish().rules
    assert [event.command_id for event in _commands(talk)] == [0, 0, 0, 0]


def test_a_destination_may_be_used_again() -> None:
    talk = _talk().subscribe().client(spec.MessageCancel("d"), spec.MessageSubscribe("q", "d"))
    assert not talk.rules


@pytest.mark.rule("0-10/session.command-point/nonzero-offset")
def test_the_rest_of_a_command_that_was_sent_before() -> None:
    first, *rest = _pieces()
    talk = _talk().client(spec.SessionCommandPoint(7, len(first)), *rest, spec.ExecutionSync()).finish()
    assert not talk.rules
    assert {unit.event for unit in talk.observed if unit.unit == "frame"} == {"header-frame", "body-frame"}
    assert [event.command_id for event in _commands(talk)] == [8]


def test_an_assembly_that_is_given_up_is_partial() -> None:
    first, second, *_ = _pieces()
    talk = _talk().client(first, second, frames(spec.ExecutionSync())).finish()
    assert talk.rules == ["wire/frame-flags"]
    partial, sync = talk.observed[-2:]
    assert (partial.unit, partial.event, partial.size) == ("partial", "message.transfer", len(first + second))
    assert (partial.missing, partial.body) == (None, None)
    assert (sync.event, sync.unit) == ("execution.sync", "method")


# Limits.


def test_bodies_above_the_limits_are_counted() -> None:
    for limits in (Limits(message=99), Limits(bodies=150)):
        talk = _talk(limits=limits, body="all").client(transfer("", bytes(100), largest=80))
        unit = talk.observed[-1]
        assert (unit.body_size, unit.unit) == (100, "content")
        assert (unit.body is None) is (limits.message == 99)
        assert talk.observer.held == 0


def test_segments_above_the_limit_are_not_kept() -> None:
    headers = amqp.MessageProperties(application_headers={"a": "x" * 500})
    talk = _talk(limits=Limits(header=200)).client(transfer("", b"b", headers, largest=60))
    talk.client(frames(spec.QueueQuery("q" * 250)), spec.ExecutionSync()).finish()
    message, query, sync = talk.observed[-3:]
    assert (message.event, message.body) == ("message.transfer", b"b")
    assert (query.event, query.content) == ("queue.query", b"")
    assert sync.event == "execution.sync"


def test_no_more_assemblies_are_under_way_than_channels() -> None:
    talk = Talk010(limits=Limits(channels=2)).open()
    begun = _pieces()[0]
    for channel in range(9):
        talk.client(begun[:6] + channel.to_bytes(2) + begun[8:])
    assert len([unit for unit in talk.observed if unit.unit == "partial"]) == 5


def test_no_more_channels_are_known_than_the_limits_allow() -> None:
    talk = Talk010(limits=Limits(channels=3)).open()
    for channel in range(10):
        talk.session(channel)
    for channel in range(10):
        talk.client(spec.ExecutionSync(), channel=channel)
    assert not talk.finish().rules
    numbers = [event.command_id for event in _commands(talk)]
    assert len(numbers) == 10
    assert numbers[0] is None
    assert set(numbers) <= {0, None}


# From the middle.


@pytest.mark.parametrize(
    ("octets", "side"),
    [
        (frames(spec.ConnectionOpenOk()), Side.SERVER),
        (frames(spec.ConnectionOpen("/")), Side.CLIENT),
        (frames(spec.QueueQuery("q")), Side.CLIENT),
        (frames(completed(4)) + frames(spec.MessageSubscribe("q", "d")), Side.CLIENT),
    ],
)
def test_the_first_unit_that_only_one_side_may_send_tells_the_sides(octets: bytes, side: Side) -> None:
    talk = Talk010(late=True).send("x", octets).send("y", frames(completed(0))).finish()
    identified = [event for event in talk.events if isinstance(event, Identified)]
    assert [(event.version, event.by) for event in identified] == [(AMQP_0_10, "frame")]
    assert {unit.sender for unit in talk.observed[:-1]} == {side}
    assert talk.observed[-1].sender is side.other
    assert not talk.rules
    assert not talk.skipped


def test_both_headers_seen_by_who_is_told_nothing() -> None:
    talk = Talk010(late=True).send("x", AMQP_0_10.header).send("y", AMQP_0_10.header).finish()
    (identified,) = [event for event in talk.events if isinstance(event, Identified)]
    assert (identified.client, identified.by, identified.version) == ("x", "header", AMQP_0_10)
    assert [unit.event for unit in talk.observed] == ["protocol-header"] * 2


def test_a_connection_whose_client_began_unseen() -> None:
    start = frames(spec.ConnectionStart({}, ["PLAIN"], ["en_US"]))
    talk = Talk010(late=True).send("y", AMQP_0_10.header + start).finish()
    (identified,) = [event for event in talk.events if isinstance(event, Identified)]
    assert (identified.server, identified.by) == ("y", "frame")
    assert [(unit.sender, unit.event) for unit in talk.observed] == [
        (Side.SERVER, "protocol-header"),
        (Side.SERVER, "connection.start"),
    ]


def test_nothing_tells_the_sides() -> None:
    talk = Talk010(late=True).send("x", transfer("d", b"1")).send("y", frames(completed(0))).finish()
    (identified,) = [event for event in talk.events if isinstance(event, Identified)]
    assert (identified.version, identified.by, identified.client) == (AMQP_0_10, "guess", "x")
    assert [unit.event for unit in talk.observed] == ["message.transfer", "session.completed"]


# Gaps.


def test_a_snap_length_leaves_the_message() -> None:
    octets = transfer("", b"0123456789" * 10, largest=80)
    talk = _talk().client(octets[:-10]).gap("client", 10).client(spec.ExecutionSync()).finish()
    message, sync = _commands(talk)
    assert (message.unit, message.body, message.body_size, message.missing) == ("content", None, 100, 10)
    assert message.size == len(octets) - 10
    assert (sync.command_id, talk.skipped, talk.rules) == (1, [(10, "gap")], [])


def test_a_gap_within_a_message() -> None:
    properties = amqp.MessageProperties(content_length=100)
    octets = transfer("", b"0123456789" * 10, properties, largest=60)
    talk = _talk().client(octets[:100]).gap("client", 20).client(octets[120:] + transfer("n")).finish()
    partial = next(unit for unit in talk.observed if unit.unit == "partial")
    assert (partial.event, partial.body, partial.body_size) == ("message.transfer", None, 100)
    assert partial.missing == 100 - (100 - 19 - 28 - 12)
    assert partial.size == 100
    assert talk.observed[-1].content.destination == "n"
    assert not talk.rules
