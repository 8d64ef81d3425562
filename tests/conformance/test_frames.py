"""Frames, contents and heartbeats on the wire (0-9-1 sections 4.2.3, 4.2.6 and 4.2.7; 0-8 section 4.2.5)."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, CloseHint, Failed, Version
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio.endpoint import Side
from tests.conformance.granting import consume
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import Facing, both_rules, tune_ok, tuned_client, tuning_server
from tests.kit.octets_classic import BODY, HEADER, HEARTBEAT, METHOD, TRACE, body, frame, header
from tests.kit.pair_classic import Pair, client_config, held_octets, server_config


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


@pytest.mark.rule("0-9-1/connection.tune/frame-max-counts")
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


@pytest.mark.rule("0-9-1/wire/heartbeat-format")
def test_a_heartbeat_is_eight_octets(version: Version) -> None:
    facing = Facing.opened(version, SERVER, report_heartbeats=True)
    assert [type(event) for event in facing.feed(bytes.fromhex("0800000000000000CE"[:14] + "CE"))] == [
        amqp.HeartbeatReceived
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
    consume(facing)
    return facing.method("basic.deliver", consumer_tag="t", delivery_tag=1)


# Content: 0-9-1 section 4.2.6, 0-8 sections 4.2.5.6 to 4.2.5.9, and what both say of messages (section 3.1.1).


UNEXPECTED = {AMQP_0_8: 501, AMQP_0_9_1: 505}


def receiving(version: Version, side: Side, channels: int = 1, **config: Any) -> tuple[Facing, bytes]:
    """An endpoint that may get a message on each channel, and the method that begins one on channel 1."""
    facing = Facing.opened(version, side, channels=channels, **config)
    for channel in range(1, channels + 1):
        if side is CLIENT:
            consume(facing, "t", channel)
    facing.forget()
    return facing, begins(facing)


def begins(facing: Facing, channel: int = 1, tag: int = 1) -> bytes:
    """The method that begins content towards this endpoint."""
    if facing.side is SERVER:
        return facing.method("basic.publish", channel, routing_key="q")
    return facing.method("basic.deliver", channel, consumer_tag="t", delivery_tag=tag)


@both_rules("wire/content-parts", "wire/content-split", "wire/content-join", "wire/content-body-size")
def test_a_body_cut_anyhow_is_one_message(version: Version, side: Side) -> None:
    octets = bytes(range(256)) * 20
    for number, size in enumerate((1, 7, 1024, 4096, len(octets)), 1):
        facing, _ = receiving(version, side)
        pieces = [octets[at : at + size] for at in range(0, len(octets), size)]
        facing.feed(begins(facing), header(1, 60, len(octets)), *[body(1, piece) for piece in pieces])
        (message,) = facing.events
        assert isinstance(message, amqp.Delivery if side is CLIENT else amqp.Published)
        assert message.body == octets, number


@pytest.mark.rule("0-8/wire/content-body-size", "0-9-1/wire/content-body-size")
def test_an_empty_body_has_no_body_frame(version: Version, side: Side) -> None:
    facing, start = receiving(version, side)
    facing.feed(start, header(1, 60, 0))
    (message,) = facing.events
    assert message.body == b""  # type: ignore[attr-defined]


def test_empty_body_frames_within_a_body_are_taken(version: Version, side: Side) -> None:
    facing, start = receiving(version, side)
    facing.feed(start, header(1, 60, 2), body(1, b""), body(1, b"a"), body(1, b""), body(1, b"b"))
    (message,) = facing.events
    assert message.body == b"ab"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "case",
    [
        "method for header",
        "body for header",
        "method for body",
        "header for body",
        "too much body",
        "header alone",
        "body alone",
        "content method for body",
        "body after the last",
    ],
)
@both_rules("wire/content-incomplete", "wire/content-sequential")
def test_incomplete_or_mixed_content_ends_the_connection(version: Version, side: Side, case: str) -> None:
    facing, start = receiving(version, side)
    head = header(1, 60, 10)
    method = facing.method("channel.flow", active=True)
    units, blames = {
        "method for header": ([start, method], "channel.flow"),
        "body for header": ([start, body(1, b"x")], ""),
        "method for body": ([start, head, method], "channel.flow"),
        "header for body": ([start, head, head], ""),
        "too much body": ([start, head, body(1, b"x" * 11)], ""),
        "header alone": ([head], ""),
        "body alone": ([body(1, b"x")], ""),
        "content method for body": (
            [start, head, body(1, b"x"), begins(facing, tag=2)],
            "basic.publish" if side is SERVER else "basic.deliver",
        ),
        "body after the last": ([start, head, body(1, b"x" * 10), body(1, b"x")], ""),
    }[case]
    facing.refuses(*units, code=UNEXPECTED[version], rule="wire/content-incomplete", blames=blames)


@pytest.mark.parametrize("class_id", [0, 10, 50, 61, 65535])
@pytest.mark.rule("0-8/wire/content-class", "0-9-1/wire/content-class")
def test_the_header_has_the_class_of_the_method(version: Version, side: Side, class_id: int) -> None:
    facing, start = receiving(version, side)
    facing.refuses(start, header(1, class_id, 1), code=501, rule="wire/content-class")


@pytest.mark.rule("0-9-1/wire/content-weight")
def test_the_weight_is_0_in_0_9_1(side: Side) -> None:
    facing, start = receiving(AMQP_0_9_1, side)
    facing.refuses(start, header(1, 60, 1, weight=1), code=505, rule="wire/content-weight")
    sending = Facing.opened(AMQP_0_9_1, CLIENT)
    sending.channel.publish(b"x", routing_key="q")
    sending.settle()
    assert sending.sent()[1].payload[2:4] == b"\0\0"


@pytest.mark.rule("0-8/wire/structured-optional", "0-8/wire/content-weight")
def test_content_within_content_is_not_implemented_in_0_8(side: Side) -> None:
    facing, start = receiving(AMQP_0_8, side)
    facing.refuses(start, header(1, 60, 1, weight=2), code=540, rule="wire/structured-optional")


@pytest.mark.rule("0-8/wire/structured-mismatch", "0-8/wire/structured-order")
def test_a_child_where_the_weight_announced_none_is_a_frame_error_in_0_8(side: Side) -> None:
    for size in (1, 0):
        facing, start = receiving(AMQP_0_8, side)
        units = [start, header(1, 60, size), header(1, 60, 1)]
        facing.refuses(*units, code=501, rule="wire/content-incomplete")


@pytest.mark.parametrize("kind", [HEADER, BODY])
@pytest.mark.rule("0-8/wire/content-channel-zero", "0-9-1/wire/content-channel-zero")
def test_content_on_channel_0_is_a_channel_error(version: Version, side: Side, kind: int) -> None:
    facing, _ = receiving(version, side)
    unit = header(0, 60, 1) if kind == HEADER else body(0, b"x")
    facing.refuses(unit, code=504, rule="wire/content-channel-zero")


@pytest.mark.rule("0-8/wire/content-channel-zero", "0-9-1/wire/content-channel-zero")
def test_a_method_with_content_on_channel_0_is_a_channel_error(version: Version, side: Side) -> None:
    facing, _ = receiving(version, side)
    name = "basic.publish" if side is SERVER else "basic.deliver"
    facing.refuses(facing.method(name, 0), code=504, rule="wire/content-channel-zero")


@pytest.mark.parametrize("size", [0, 1, 11, 13])
@pytest.mark.rule("0-9-1/wire/content-incomplete", "0-8/security/length-check")
def test_a_header_too_short_is_malformed(version: Version, side: Side, size: int) -> None:
    facing, start = receiving(version, side)
    facing.refuses(
        start,
        frame(HEADER, 1, header(1, 60, 0)[7 : 7 + size]),
        code=UNEXPECTED[version],
        rule="wire/content-incomplete",
    )


@pytest.mark.parametrize(
    "properties", [b"\x80\x00", b"\x80\x00\x05abc", b"\x00\x02", b"\x00\x01", b"\x00\x00x", b"\x00\x01\x80\x00"]
)
@pytest.mark.rule("0-8/wire/content-flags", "0-9-1/wire/content-flags")
def test_properties_that_do_not_fit_their_flags_are_a_syntax_error(version: Version, properties: bytes) -> None:
    facing, start = receiving(version, SERVER)
    facing.refuses(start, header(1, 60, 0, properties), code=502, rule="wire/content-flags")


@both_rules("wire/content-sequential", "wire/channels-fair")
def test_contents_of_several_channels_may_interleave(version: Version, side: Side) -> None:
    """A short message isn't held up by a long one of another channel that began before."""
    facing, _ = receiving(version, side, channels=3)
    facing.feed(begins(facing, 1), begins(facing, 2), header(2, 60, 4), header(1, 60, 6))
    facing.feed(body(1, b"aa"), body(2, b"bb"), begins(facing, 3), body(1, b"aa"), header(3, 60, 1))
    facing.feed(body(3, b"c"), body(2, b"bb"), body(1, b"aa"))
    assert [(event.channel, event.body) for event in facing.events] == [  # type: ignore[attr-defined]
        (3, b"c"),
        (2, b"bbbb"),
        (1, b"aaaaaa"),
    ]


@pytest.mark.rule("0-8/wire/content-sequential", "0-9-1/wire/content-sequential")
def test_nothing_goes_out_between_the_frames_of_a_content(version: Version) -> None:
    facing = Facing.opened(version, CLIENT, channels=2)
    channel = facing.channel
    channel.begin(facing.make("basic.publish", routing_key="q"), amqp.BasicProperties(), 6)
    channel.continue_body(b"abc")
    facing.misuse(lambda: channel.publish(b"x", routing_key="q"), "wire/content-sequential")
    for refused in (
        lambda: channel.call(facing.make("queue.declare", queue="q")),
        lambda: channel.send(facing.make("basic.ack", delivery_tag=0, multiple=True)),
        lambda: channel.begin(facing.make("basic.publish"), amqp.BasicProperties(), 1),
    ):
        facing.misuse(refused, "wire/content-incomplete")
    facing.misuse(lambda: channel.continue_body(b"defg"), "wire/content-incomplete")
    # Other channels go on, and this one when its content is complete.
    facing.end.channel(2).publish(b"x", routing_key="q")
    channel.continue_body(b"def")
    channel.publish(b"x", routing_key="q")
    facing.settle()
    on_channel_1 = [each.name for each in facing.sent() if each.channel == 1]
    message = ["basic.publish", "header", "body"]
    assert on_channel_1 == [*message, "body", *message]


@pytest.mark.rule("0-8/wire/channels-fair", "0-9-1/wire/channels-fair", "0-9-1/channel.flow/react")
def test_a_long_content_sent_in_pieces_lets_other_channels_go_between(pair: Pair) -> None:
    long, short = pair.channel(), pair.channel()
    long.begin(pair.method("basic.publish", routing_key="long"), amqp.BasicProperties(), 300_000)
    for _ in range(3):
        long.continue_body(b"x" * 100_000)
        short.publish(b"y", routing_key="short")
        pair.pump()
    keys = [event.routing_key for event in pair.take(SERVER, amqp.Published)]
    assert keys == ["short", "short", "long", "short"]


@both_rules("content/body-untouched", "content/header-add-only")
def test_a_server_passes_body_and_header_on_octet_for_octet(version: Version) -> None:
    """Also what it doesn't understand: odd flags, tables with other dialects' types, text that is no UTF-8."""
    raw = b"\xb0\x00\x02\xff\xfe\x00\x00\x00\x08\x01aU\x00\x07\x01bV" + b"\x02"
    octets = b"\x00\xce\xff" * 1000
    source = Facing.opened(version, SERVER)
    source.feed(source.method("basic.publish", routing_key="q"), header(1, 60, len(octets), raw), body(1, octets))
    (published,) = source.of(amqp.Published)
    target = Facing.opened(version, SERVER)
    consume(target)
    target.forget()
    target.channel.deliver(published.body, consumer_tag="t", properties=published.properties)
    target.settle()
    _, head, content = target.sent()
    assert head.payload == header(1, 60, len(octets), raw)[7:-1]
    assert content.payload == octets


@pytest.mark.rule("0-8/wire/content-split", "0-9-1/wire/content-split")
def test_large_contents_may_be_taken_piece_by_piece(version: Version, side: Side) -> None:
    facing, start = receiving(version, side, stream_above=4)
    facing.feed(start, header(1, 60, 6), body(1, b"ab"), body(1, b"cdef"))
    begun, *chunks = facing.events
    assert isinstance(begun, amqp.ContentBegun)
    assert begun.size == 6
    assert chunks == [amqp.ContentChunk(1, b"ab", False), amqp.ContentChunk(1, b"cdef", True)]


@pytest.mark.rule("0-8/wire/content-header-layout")
def test_the_header_has_class_weight_size_and_flags() -> None:
    facing = Facing.opened(AMQP_0_8, CLIENT)
    facing.channel.publish(b"x" * 300, routing_key="q", properties=amqp.BasicProperties(priority=7))
    facing.settle()
    expected = b"\x00\x3c\x00\x00" + (300).to_bytes(8, "big") + b"\x08\x00\x07"
    assert facing.sent()[1].payload == expected


@pytest.mark.rule("0-8/wire/content-class")
def test_each_class_of_0_8_has_its_own_header() -> None:
    facing = Facing.opened(AMQP_0_8, SERVER)
    facing.feed(facing.message("stream.publish", b"abc", routing_key="q"))
    (received,) = facing.of(amqp.ContentReceived)
    assert (received.method.NAME, received.body) == ("stream.publish", b"abc")
    assert not facing.of(Failed)
    facing.refuses(facing.method("stream.publish"), header(1, 60, 1), code=501, rule="wire/content-class")


# Heartbeats: 0-9-1 section 4.2.7, 0-8 section 4.2.5.12.


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
        facing.feed(frame(HEARTBEAT, 0))
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
