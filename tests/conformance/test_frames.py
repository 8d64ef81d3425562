"""Frames on the wire: 0-9-1 section 4.2.3 and 4.2.7, 0-8 sections 4.2.3, 4.2.5.11 and 4.2.5.12."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Failed, Version
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.amqp_0_9_1 import BasicDeliver, HeartbeatReceived, QueueDeclare, Request
from amqp_sansio.endpoint import Side
from tests.kit.facing import (
    CLIENT,
    HEARTBEAT,
    METHOD,
    SERVER,
    TRACE,
    Facing,
    body,
    both_rules,
    frame,
    frames_of,
    header,
)
from tests.kit.pair import held_octets


@pytest.mark.parametrize("kind", [0, 9, 255])
@pytest.mark.rule("0-8/wire/frame-type-unknown", "0-9-1/wire/frame-type-unknown")
def test_a_frame_of_unknown_type_closes_the_socket_without_a_word(facing: Facing, kind: int) -> None:
    facing.refuses(frame(kind, 1, b"abcd"), code=0, rule="wire/frame-type-unknown")


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
@pytest.mark.rule("0-9-1/wire/frame-type-unknown")
def test_the_types_that_only_0_8_has_are_unknown_in_0_9_1(side: Side, kind: int) -> None:
    facing = Facing.opened(AMQP_0_9_1, side)
    facing.refuses(frame(kind, 0), code=0, rule="wire/frame-type-unknown")


@pytest.mark.parametrize("kind", [0, 9])
@pytest.mark.rule("0-8/wire/frame-type-unknown", "0-9-1/wire/frame-type-unknown")
def test_an_unknown_type_is_seen_before_the_payload_is_there(facing: Facing, kind: int) -> None:
    facing.refuses(frame(kind, 1, b"x" * 100)[:7], code=0, rule="wire/frame-type-unknown")


@pytest.mark.parametrize("end", [0x00, 0xCD, 0xFF])
@both_rules("wire/frame-end-check", "wire/frame-end-log", "wire/frame-end")
def test_the_end_octet_is_checked_before_the_frame_is_decoded(facing: Facing, end: int) -> None:
    # A payload that is no method: had it been looked at, the answer were 502 or 503.
    error = facing.refuses(frame(METHOD, 1, b"\xff" * 9, end), code=0, rule="wire/frame-end-check")
    assert f"0x{end:02x}" in str(error)
    assert str(error) in facing.events[-1].report.text  # type: ignore[attr-defined]


@both_rules("wire/frame-end", "wire/frame-layout", "wire/frame-size-payload")
def test_every_frame_sent_ends_with_0xce_and_counts_only_its_payload(version: Version) -> None:
    facing = Facing.opened(version, CLIENT, frame_max=4096)
    facing.channel.publish(b"x" * 10_000, routing_key="q")
    facing.channel.call(facing.make("queue.declare", queue="q"))
    facing.settle()
    # frames_of asserts the end octet where the size says that it is.
    assert facing.names() == ["basic.publish", "header", "body", "body", "body", "queue.declare"]
    assert facing.out[:7] == b"\x01\x00\x01" + len(facing.sent()[0].payload).to_bytes(4, "big")


@pytest.mark.rule("0-8/wire/frame-types", "0-9-1/wire/frame-types")
def test_the_frame_types_are_numbered_1_2_3_and_8(version: Version) -> None:
    facing = Facing.opened(version, CLIENT, heartbeat=0)
    facing.channel.publish(b"x", routing_key="q")
    facing.settle()
    assert [each.kind for each in facing.sent()] == [1, 2, 3]
    assert facing.feed(frame(8, 0)) == []


@both_rules("wire/frame-oversize-receive", "connection/limits-exceeded")
@pytest.mark.parametrize("kind", ["method", "header", "body"])
def test_an_oversized_frame_is_a_frame_error(version: Version, side: Side, kind: str) -> None:
    dialect = get_dialect("0-8-qpid" if version is AMQP_0_8 else "0-9-1-qpid")
    facing = Facing.opened(version, side, dialect=dialect, frame_max=4096)
    begun = [begin_content(facing, side, 5000)]
    payload = b"x" * (4096 - 8 + 1)
    if kind == "body":
        units = [*begun, header(1, 60, 5000), frame(3, 1, payload)]
    else:
        units = [*(begun if kind == "header" else []), frame({"method": 1, "header": 2}[kind], 1, payload)]
    facing.refuses(*units, code=501, rule="wire/frame-oversize-receive")


@pytest.mark.rule("0-8/wire/frame-oversize-receive", "0-9-1/wire/frame-oversize-receive")
def test_frames_of_exactly_the_agreed_size_are_taken(version: Version, side: Side) -> None:
    dialect = get_dialect("0-8-qpid" if version is AMQP_0_8 else "0-9-1-qpid")
    facing = Facing.opened(version, side, dialect=dialect, frame_max=4096)
    facing.feed(begin_content(facing, side, 4088), header(1, 60, 4088), body(1, b"x" * 4088))
    assert facing.of(Failed) == []
    assert len(facing.events[-1].body) == 4088  # type: ignore[attr-defined]


@pytest.mark.rule("0-8/wire/frame-oversize-receive", "0-9-1/wire/frame-oversize-receive")
def test_body_frames_above_the_lenient_bound_are_refused_too(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, frame_max=4096)
    units = [begin_content(facing, side, 5000), header(1, 60, 5000), body(1, b"x" * 4097)]
    facing.refuses(*units, code=501, rule="wire/frame-oversize-receive")


@pytest.mark.rule("0-8/wire/frame-oversize-send", "0-9-1/wire/frame-oversize-send")
def test_no_frame_above_the_agreed_size_is_sent(version: Version) -> None:
    facing = Facing.opened(version, CLIENT, frame_max=4096)
    for size in (4087, 4088, 4089, 50_000):
        facing.channel.publish(b"x" * size, routing_key="q")
    facing.settle()
    sizes = [len(each.payload) + 8 for each in facing.sent()]
    assert max(sizes) == 4096
    facing.forget()
    properties = facing.dialect.properties[60](content_type="t", headers={"long": "x" * 4096})  # type: ignore[call-arg]
    facing.misuse(lambda: facing.channel.publish(b"", properties=properties), "wire/frame-oversize-send")
    facing.misuse(
        lambda: facing.channel.call(facing.make("queue.declare", queue="q", arguments={"long": "x" * 4096})),
        "wire/frame-oversize-send",
    )


@pytest.mark.parametrize(("channel", "payload"), [(1, b""), (7, b""), (0, b"x")])
@pytest.mark.rule("0-8/wire/heartbeat-invalid", "0-9-1/wire/heartbeat-invalid")
def test_a_heartbeat_on_a_channel_or_with_a_payload_is_a_frame_error(
    facing: Facing, channel: int, payload: bytes
) -> None:
    facing.refuses(frame(HEARTBEAT, channel, payload), code=501, rule="wire/heartbeat-invalid")


@pytest.mark.rule("0-8/wire/heartbeat-unsupported", "0-9-1/wire/heartbeat-unsupported")
def test_heartbeats_are_dropped_where_none_are_wanted(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, heartbeat=0.0)
    assert facing.end.heartbeat == 0
    assert facing.feed(frame(HEARTBEAT, 0), frame(HEARTBEAT, 0)) == []
    assert facing.out == b""
    assert facing.end.next_deadline is None
    assert facing.end.is_open


@pytest.mark.rule("0-9-1/wire/heartbeat-format")
def test_a_heartbeat_is_eight_octets(version: Version) -> None:
    facing = Facing.opened(version, SERVER, report_heartbeats=True)
    assert [type(event) for event in facing.feed(bytes.fromhex("0800000000000000CE"[:14] + "CE"))] == [
        HeartbeatReceived
    ]


@pytest.mark.rule("0-8/wire/trace-unhandled")
def test_trace_frames_are_dropped_silently_in_0_8(side: Side) -> None:
    facing = Facing.opened(AMQP_0_8, side)
    assert facing.feed(frame(TRACE, 0, b"whatever a trace says")) == []
    assert facing.out == b""
    assert facing.end.is_open


@pytest.mark.rule("0-8/wire/trace-channel")
def test_trace_frames_on_a_channel_are_a_frame_error_in_0_8(side: Side) -> None:
    facing = Facing.opened(AMQP_0_8, side)
    facing.refuses(frame(TRACE, 1, b"x"), code=501, rule="wire/trace-channel")


@pytest.mark.parametrize("kind", [4, 5, 6])
def test_out_of_band_frames_are_not_implemented_in_0_8(side: Side, kind: int) -> None:
    facing = Facing.opened(AMQP_0_8, side)
    facing.refuses(frame(kind, 1), code=540, rule="wire/oob-format")


@pytest.mark.rule("0-8/wire/integer-unaligned", "0-9-1/wire/integer-unaligned")
@pytest.mark.parametrize("shift", range(4))
def test_integers_are_read_at_any_offset(facing: Facing, shift: int) -> None:
    """Names of 0 to 3 octets move everything behind them."""
    name = "x" * shift
    if facing.side is SERVER:
        facing.feed(facing.method("queue.declare", queue=name, arguments={name + "n": 0x01020304}))
        (request,) = facing.of(Request)
        assert isinstance(request.method, QueueDeclare)
        assert request.method.arguments[name + "n"] == 0x01020304
        return
    facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag=name or "t"))
    tag = facing.make("basic.consume-ok", consumer_tag=name or "t")
    facing.feed(facing.method("basic.consume-ok", consumer_tag=tag.consumer_tag))  # type: ignore[attr-defined]
    facing.feed(facing.message("basic.deliver", b"", consumer_tag=name or "t", delivery_tag=0x0102030405060708))
    assert facing.events[-1].delivery_tag == 0x0102030405060708  # type: ignore[attr-defined]


@pytest.mark.rule("0-8/security/length-check", "0-9-1/security/length-check")
def test_a_huge_announced_size_is_refused_and_none_of_it_kept(facing: Facing) -> None:
    start = b"\x03\x00\x01\xff\xff\xff\xff"
    facing.refuses(start, code=501, rule="wire/frame-oversize-receive", close=False)
    for _ in range(20):
        assert facing.feed(b"x" * 1_000_000) == []
    assert held_octets(facing.end) == 0


def begin_content(facing: Facing, side: Side, size: int) -> bytes:
    """The method that begins content towards `side`."""
    if side is SERVER:
        return facing.method("basic.publish", routing_key="q")
    facing.channel.call(facing.make("basic.consume", queue="q", consumer_tag="t"))
    facing.feed(facing.method("basic.consume-ok", consumer_tag="t"))
    return facing.method("basic.deliver", consumer_tag="t", delivery_tag=1)


def test_the_parser_of_these_tests_reads_what_the_engine_writes() -> None:
    facing = Facing.opened(AMQP_0_9_1, CLIENT)
    octets = facing.message("basic.deliver", b"abc", consumer_tag="t", delivery_tag=3)
    first, *rest = frames_of(facing.dialect, octets)
    assert first.method == BasicDeliver("t", 3)
    assert [each.name for each in rest] == ["header", "body"]
