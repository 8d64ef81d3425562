"""Channels: opening, flow, which methods go where (class channel; sections 4.2.3, 4.3 and 4.5 of 0-9-1)."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Failed, Opened, Scope, Version
from amqp_sansio.amqp_0_9_1 import (
    BasicProperties,
    Delivery,
    FlowChanged,
    MethodReceived,
    Published,
    Request,
)
from amqp_sansio.endpoint import Side
from tests.kit.facing import CLIENT, METHOD, SERVER, STRICT, Facing, body, both_rules, frame, header
from tests.kit.pair import Pair


@pytest.mark.rule("0-8/channel.open/already-open", "0-9-1/channel.open/already-open", "0-8/channel/grammar")
def test_opening_an_open_channel_is_a_channel_error(server: Facing) -> None:
    server.refuses(server.method("channel.open"), code=504, rule="channel.open/already-open")
    client = Facing.opened(server.version, CLIENT)
    client.misuse(lambda: client.end.open_channel(1), "channel.open/already-open")
    # And once more before open-ok came.
    client.end.open_channel(2)
    client.misuse(lambda: client.end.open_channel(2), "channel.open/already-open")
    client.refuses(client.method("channel.open-ok", 1), code=504, rule="channel/closed-when")


@pytest.mark.rule("0-8/channel.open/oob-null")
def test_out_of_band_settings_are_empty_in_0_8() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT, channels=0)
    client.end.open_channel()
    client.settle()
    assert client.sent()[0].method.out_of_band == ""
    server = Facing.opened(AMQP_0_8, SERVER, channels=0, dialect=STRICT[AMQP_0_8])
    server.refuses(server.method("channel.open", out_of_band="shared memory"), code=540, rule="channel.open/oob-null")


# Grammar: who may send what, and where.


@pytest.mark.rule("0-8/channel/grammar", "0-8/connection/grammar", "0-8/basic/grammar", "0-8/exchange/grammar")
@pytest.mark.rule("0-8/queue/grammar", "0-8/access/grammar", "0-8/tx/grammar", "0-8/dtx/grammar", "0-8/file/grammar")
@pytest.mark.rule("0-8/stream/grammar", "0-9-1/connection/error-scope")
def test_each_method_is_taken_only_from_the_side_that_sends_it(version: Version, side: Side) -> None:
    """Every method of the version that isn't this endpoint's peer's to send; and this end can't send the others."""
    dialect = Facing.opened(version, side).dialect
    refused = 0
    for number, kind in dialect.methods.items():
        if side.other in dialect.senders[number]:
            continue
        facing = Facing.opened(version, side)
        where = 0 if kind.CLASS_ID == 10 else 1
        facing.refuses(
            facing.method(kind.NAME, where),
            code=503,
            rule="connection/life-cycle" if where == 0 else "connection/error-scope",
        )
        refused += 1
    assert refused > 15
    for number, kind in dialect.methods.items():
        if side in dialect.senders[number]:
            continue
        facing = Facing.opened(version, side)
        target = facing.end.channel(0 if kind.CLASS_ID == 10 else 1)
        method = facing.make(kind.NAME)
        call = target.reply if kind.IS_REPLY else target.call if kind.REPLIES else target.send
        with pytest.raises(Exception, match=r"is not for the|isn't sent as such|only a"):
            call(method)
        assert facing.end.data_to_send(facing.now) == b""


@pytest.mark.parametrize(
    ("number", "text"),
    [(0x00630001, "class 99"), (0x000A00FF, "method 255"), (0xF0000001, "class 61440")],
)
@pytest.mark.rule("0-8/wire/class-id-range", "0-9-1/wire/class-id-range")
def test_unknown_classes_and_methods_are_invalid_commands(version: Version, side: Side, number: int, text: str) -> None:
    for channel in (0, 1):
        facing = Facing.opened(version, side)
        facing.feed(frame(METHOD, channel, number.to_bytes(4, "big") + b"arguments"))
        assert facing.of(Failed)[0].error.rule == facing.full_id("wire/method-payload")
        close = facing.sent()[0].method
        assert (close.NAME, close.reply_code) == ("connection.close", 503)
        assert (close.class_id, close.method_id) == (number >> 16, number & 0xFFFF)
        assert text in close.reply_text


@pytest.mark.rule("0-9-1/wire/channel-zero", "0-8/wire/channel-range", "0-9-1/wire/channel-range")
def test_connection_methods_belong_on_channel_0_and_others_elsewhere(facing: Facing) -> None:
    facing.refuses(
        facing.method("connection.close", 1, reply_code=200, reply_text="x"), code=503, rule="wire/channel-zero"
    )
    facing = Facing.opened(facing.version, facing.side)
    name = "channel.flow"
    facing.refuses(facing.method(name, 0), code=503, rule="wire/channel-zero")
    facing = Facing.opened(facing.version, facing.side)
    facing.misuse(lambda: facing.end.channel(0).call(facing.make("channel.flow")), "wire/channel-zero")


# Flow.


@pytest.mark.rule("0-8/channel.flow/start-paused", "0-9-1/channel.flow/initially-active", "0-9-1/channel.flow-ok/echo")
def test_a_channel_flows_at_first_and_a_client_may_pause_it_at_once(pair: Pair) -> None:
    channel = pair.client.open_channel()
    handle: Any = channel.call(pair.method("channel.flow", active=False))
    pair.pump()
    assert handle.result.active is False
    assert [event.active for event in pair.take(SERVER, FlowChanged)] == [False]
    peer = pair.peer(channel)
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    with pytest.raises(Exception, match="stopped the flow"):
        peer.deliver(b"x", consumer_tag="t")
    handle = channel.call(pair.method("channel.flow", active=True))
    pair.pump()
    assert handle.result.active is True
    peer.deliver(b"x", consumer_tag="t")
    pair.pump()
    assert pair.take(CLIENT, Delivery)


@both_rules("channel.flow/react", "channel.flow/throttle")
@pytest.mark.rule("0-9-1/basic/flow-publisher", "0-8/channel.flow/covers-only-content", "0-9-1/channel.flow/scope")
def test_a_stopped_channel_sends_no_content_but_methods(version: Version) -> None:
    client = Facing.opened(version, CLIENT, channels=2)
    client.feed(client.method("channel.flow", active=False))
    assert client.of(FlowChanged) == [FlowChanged(1, False)]
    (answer,) = client.sent()
    assert (answer.name, answer.method.active) == ("channel.flow-ok", False)
    client.forget()
    client.misuse(lambda: client.channel.publish(b"x", routing_key="q"), "channel.flow/react")
    client.misuse(
        lambda: client.channel.begin(client.make("basic.publish"), BasicProperties(), 1),
        "channel.flow/react",
    )
    client.misuse(lambda: client.channel.send(client.make("basic.publish"), None, b"x"), "channel.flow/react")
    client.channel.call(client.make("queue.declare", queue="q"))
    client.end.channel(2).publish(b"x", routing_key="q")
    client.settle()
    assert client.names() == ["queue.declare", "basic.publish", "header", "body"]
    client.feed(client.method("channel.flow", active=True))
    client.channel.publish(b"x", routing_key="q")


@pytest.mark.rule("0-8/channel.flow/finish-current", "0-8/channel.flow/react", "0-9-1/channel.flow/react")
def test_content_under_way_is_finished_when_the_flow_stops(client: Facing) -> None:
    """flow-ok waits until then, as nothing may go between the frames of a content."""
    client.channel.begin(client.make("basic.publish", routing_key="q"), BasicProperties(), 4)
    client.channel.continue_body(b"ab")
    client.forget()
    client.feed(client.method("channel.flow", active=False))
    assert client.of(FlowChanged) == [FlowChanged(1, False)]
    assert client.out == b""
    client.channel.continue_body(b"cd")
    client.settle()
    assert client.names() == ["body", "channel.flow-ok"]
    client.misuse(lambda: client.channel.publish(b"", routing_key="q"), "channel.flow/react")


@pytest.mark.rule("0-9-1/channel.flow/scope", "0-8/channel.flow/covers-only-content")
def test_a_stopped_server_still_answers_basic_get(server: Facing) -> None:
    server.feed(server.method("channel.flow", active=False), server.method("basic.get", queue="q"))
    server.forget()
    server.channel.reply(server.make("basic.get-ok", delivery_tag=1), None, b"content")
    server.settle()
    assert server.names() == ["basic.get-ok", "header", "body"]


@pytest.mark.rule("0-8/channel.flow/ban", "0-9-1/channel.flow/ban")
def test_a_server_may_cut_off_a_client_that_goes_on(server: Facing) -> None:
    """Content under way when flow arrived is legal, so the core leaves that to the application."""
    server.channel.call(server.make("channel.flow", active=False))
    server.settle()
    server.feed(server.method("channel.flow-ok", active=False))
    server.feed(server.message("basic.publish", b"all the same"))
    assert server.of(Published)
    server.end.close(506, "flow was stopped")
    server.settle()
    assert server.sent()[-1].method.reply_code == 506


@pytest.mark.rule("0-8/channel/grammar")
def test_a_server_of_0_8_may_alert() -> None:
    client = Facing.opened(AMQP_0_8, CLIENT)
    client.feed(client.method("channel.alert", reply_code=320, reply_text="soon"))
    (received,) = client.of(MethodReceived)
    assert received.method.reply_text == "soon"
    server = Facing.opened(AMQP_0_8, SERVER)
    server.channel.send(server.make("channel.alert", reply_code=320, reply_text="soon"))
    server.settle()
    assert server.names() == ["channel.alert"]


@pytest.mark.rule("0-8/channel/grammar", "0-8/wire/channels-many", "0-9-1/wire/channels-many")
def test_many_channels_are_open_at_once(pair: Pair) -> None:
    channels = [pair.client.open_channel() for _ in range(500)]
    pair.pump()
    assert len(pair.server.channels) == 500
    for channel in channels:
        channel.publish(str(channel.number).encode(), routing_key="q")
    pair.pump()
    assert [(event.channel, event.body) for event in pair.take(SERVER, Published)] == [
        (channel.number, str(channel.number).encode()) for channel in channels
    ]


@both_rules("connection/error-scope", "error/levels")
def test_a_channel_error_ends_the_channel_and_a_connection_error_everything(version: Version) -> None:
    facing = Facing.opened(version, SERVER, channels=3)
    facing.refuses(
        facing.method("basic.ack", 2, delivery_tag=7),
        code=404 if version is AMQP_0_8 else 406,
        rule="basic.ack/unknown-tag",
        scope=Scope.CHANNEL,
        channel=2,
    )
    assert list(facing.end.channels) == [1, 3]
    facing.feed(facing.message("basic.publish", b"x"), facing.method("channel.open", 2))
    assert facing.of(Published)
    assert facing.of(Opened)
    facing.refuses(body(1, b"x"), code=501 if version is AMQP_0_8 else 505, rule="wire/content-incomplete")
    assert not facing.end.channels


@pytest.mark.rule("0-8/constant/soft-vs-hard", "0-9-1/constant/soft-vs-hard")
def test_soft_codes_are_for_channels_and_hard_ones_for_connections(version: Version) -> None:
    dialect = STRICT[version]
    soft = {311, 403, 404, 405} | ({310} if version is AMQP_0_8 else {313, 406})
    hard = {320, 402, 501, 502, 503, 504, 506, 530, 540, 541}
    if version is AMQP_0_9_1:
        hard.add(505)
    assert {code for code in dialect.codes if not dialect.is_hard(code)} == soft
    assert {code for code in dialect.codes if dialect.is_hard(code)} == hard


def test_events_come_in_the_order_of_the_wire(server: Facing) -> None:
    units = [
        server.message("basic.publish", b"1"),
        server.method("queue.declare", queue="q"),
        server.message("basic.publish", b"2") ,
        server.method("basic.publish") + header(1, 60, 0),
    ]
    server.feed(b"".join(units))
    assert [type(event) for event in server.events] == [Published, Request, Published, Published]
