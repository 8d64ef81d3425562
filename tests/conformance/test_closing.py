"""Closing of channels and connections: 0-9-1 sections 1.4.2.10, 1.5.2.5, 2.2.4, 2.3.7; the same classes of 0-8."""

from collections.abc import Callable

import pytest

from amqp_sansio import AMQP_0_9_1, By, Closed, CloseHint, EndpointClosed, Failed, Scope, Version
from amqp_sansio.amqp_0_9_1 import Published, Request
from amqp_sansio.endpoint import Side
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import Facing, both_rules
from tests.kit.octets_classic import HEARTBEAT, body, frame, header
from tests.kit.pair_classic import Pair


def work(facing: Facing, channel: int = 1) -> list[bytes]:
    """Units that would lead to events or errors on an open channel: calls, content, mistakes."""
    if facing.side is SERVER:
        return [
            facing.method("queue.declare", channel, queue="q"),
            facing.message("basic.publish", b"abc", channel),
            facing.method("basic.ack", channel, delivery_tag=99),
            facing.method("basic.publish", channel) + header(channel, 50, 1),
            body(channel, b"alone"),
            facing.method("channel.open", channel),
        ]
    return [
        facing.method("queue.declare-ok", channel, queue="q"),
        facing.message("basic.deliver", b"abc", channel, consumer_tag="none", delivery_tag=1),
        facing.method("basic.deliver", channel) + header(channel, 50, 1),
        body(channel, b"alone"),
        facing.method("channel.open-ok", channel),
    ]


@both_rules("connection.close/discard", "connection.close/handshake")
def test_after_its_close_of_the_connection_an_end_drops_all_but_close_and_close_ok(facing: Facing) -> None:
    facing.end.close(320, "that's all")
    facing.forget()
    opening = (facing.method("connection.tune", 0), facing.method("connection.start", 0, mechanisms=b"PLAIN"))
    unreadable = (frame(1, 5, b"\0\x63\0\x63"), frame(1, 0, b"\0"), frame(8, 3))
    for unit in (*work(facing), *work(facing, 7), *opening, *unreadable):
        assert facing.feed(unit) == []
    assert facing.feed(frame(HEARTBEAT, 0), facing.method("channel.close", 1, reply_code=200)) == []
    assert facing.out == b""
    assert facing.hint() is CloseHint.KEEP
    facing.feed(facing.method("connection.close-ok", 0))
    assert [type(event) for event in facing.events] == [Closed, Closed]
    assert facing.hint() is CloseHint.CLOSE_WHEN_SENT
    report = facing.end.report
    assert report is not None
    assert (report.by, report.code, report.text) == (By.LOCAL, 320, "that's all")


@pytest.mark.rule("0-8/channel.close/discard", "0-9-1/channel.close/discard")
def test_after_its_close_of_a_channel_an_end_drops_all_but_close_and_close_ok(version: Version, side: Side) -> None:
    facing = Facing.opened(version, side, channels=2)
    facing.channel.close(404, "gone")
    facing.forget()
    for unit in work(facing):
        assert facing.feed(unit) == []
    assert facing.out == b""
    # Channel 2 isn't touched by that.
    facing.end.channel(2)
    facing.feed(facing.method("channel.close-ok"))
    (closed,) = facing.events
    assert isinstance(closed, Closed)
    assert (closed.scope, closed.channel) == (Scope.CHANNEL, 1)
    assert facing.end.is_open


@pytest.mark.rule("0-9-1/connection.close/answer", "0-8/connection.close/handshake")
def test_a_close_is_always_answered_by_close_ok(version: Version, side: Side) -> None:
    """Also in the midst of content, and with requests unanswered on both sides."""
    facing = Facing.opened(version, side, channels=2)
    if side is SERVER:
        facing.feed(facing.method("queue.declare"), facing.method("basic.publish", 2))
        facing.feed(header(2, 60, 10), body(2, b"abc"))
    else:
        facing.channel.call(facing.make("queue.declare"))
    facing.forget()
    facing.feed(
        facing.method("channel.close", 2, reply_code=404, reply_text="x"),
        facing.method("connection.close", 0, reply_code=541, reply_text="y"),
    )
    assert facing.names() == ["channel.close-ok", "connection.close-ok"]
    assert [event.channel for event in facing.of(Closed)] == [2, 1, 0]
    assert facing.hint() is CloseHint.CLOSE_WHEN_SENT


@pytest.mark.rule("0-9-1/connection.close/handshake", "0-8/connection/grammar", "0-8/channel/grammar")
def test_an_open_connection_or_channel_is_closed_by_handshake_only(facing: Facing) -> None:
    facing.channel.close()
    facing.settle()
    assert facing.names() == ["channel.close"]
    assert facing.end.channels == (1,)
    facing.feed(facing.method("channel.close-ok"))
    facing.forget()
    facing.end.close()
    facing.settle()
    assert facing.names() == ["connection.close"]
    assert facing.hint() is CloseHint.KEEP
    assert not facing.events
    facing.feed(facing.method("connection.close-ok", 0))
    assert [event.scope for event in facing.of(Closed)] == [Scope.CONNECTION]


@both_rules("connection.close/ids", "channel.close/ids")
def test_a_close_blames_the_method_at_fault_or_none(facing: Facing) -> None:
    if facing.side is SERVER:
        facing.feed(facing.method("queue.declare", queue="q", passive=True))
        (request,) = facing.of(Request)
        facing.forget()
        facing.channel.close(404, "no queue q", cause=request.method)
    else:
        facing.channel.close(404, "no idea", cause=facing.make("queue.declare"))
    facing.end.close()
    facing.settle()
    channel_close, connection_close = [each.method for each in facing.sent()]
    assert (channel_close.class_id, channel_close.method_id) == (50, 10)
    assert (connection_close.class_id, connection_close.method_id) == (0, 0)


@pytest.mark.rule("0-8/connection.close/free")
def test_nothing_is_left_of_a_closed_connection(pair: Pair) -> None:
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    handles = [pair.peer(channel).deliver(b"x", consumer_tag="t") for _ in range(3)]
    pair.pump()
    peer = pair.peer(channel)
    pair.client.close()
    pair.pump()
    server = pair.server
    assert server.channels == ()
    assert (dict(peer.unsettled), dict(peer.consumers), peer.client_calls) == ({}, {}, None)
    assert all(handle.done and handle.error is not None for handle in handles)
    late: tuple[Callable[[], object], ...] = (
        lambda: server.channel(1),
        lambda: peer.deliver(b"x", consumer_tag="t"),
        pair.client.open_channel,
        lambda: channel.publish(b"x", routing_key="q"),
    )
    for command in late:
        with pytest.raises(EndpointClosed):
            command()
    for end in pair.ends.values():
        end.close()
        assert end.data_to_send(pair.now) == b""
        assert end.close_hint is CloseHint.CLOSE_WHEN_SENT


# The transport ends without the handshake: it's told.


@pytest.mark.parametrize("how", ["eof", "lost"])
@both_rules("connection.close-ok/log", "channel.close-ok/log")
def test_a_transport_that_ends_without_close_ok_is_reported(version: Version, side: Side, how: str) -> None:
    facing = Facing.opened(version, side, channels=2)
    end(facing, how)
    assert [(event.scope, event.channel) for event in facing.of(Closed)] == [
        (Scope.CHANNEL, 1),
        (Scope.CHANNEL, 2),
        (Scope.CONNECTION, 0),
    ]
    assert all(event.report.by is By.TRANSPORT for event in facing.of(Closed))
    assert facing.end.report is not None
    assert facing.end.report.text


@pytest.mark.parametrize("how", ["eof", "lost", "timeout"])
@pytest.mark.rule("0-8/connection.close-ok/log", "0-9-1/connection.close-ok/log", "0-8/connection.close/timeout")
def test_a_connection_close_that_is_never_answered_is_reported(version: Version, side: Side, how: str) -> None:
    facing = Facing.opened(version, side, close_timeout=10.0)
    facing.end.close(200, "bye")
    facing.forget()
    end(facing, how)
    report = facing.of(Closed)[-1].report
    assert (report.by, report.code) == (By.LOCAL, 200)
    assert report.hint, report
    assert not facing.of(Failed)


@pytest.mark.parametrize("how", ["eof", "lost"])
@pytest.mark.rule("0-8/channel.close-ok/log", "0-9-1/channel.close-ok/log")
def test_a_channel_close_that_is_never_answered_is_reported(facing: Facing, how: str) -> None:
    facing.channel.close(404, "gone")
    facing.forget()
    end(facing, how)
    channel, connection = [event.report for event in facing.of(Closed)]
    assert (channel.by, channel.code) == (By.LOCAL, 404)
    assert connection.by is By.TRANSPORT


def end(facing: Facing, how: str) -> None:
    """Let the transport end, or time pass until this end gives up."""
    if how == "eof":
        facing.end.receive_eof(facing.now)
    elif how == "lost":
        facing.end.connection_lost("reset", facing.now)
    else:
        facing.wait(11.0)
    facing.settle()


@pytest.mark.rule("0-9-1/channel/closed-when", "0-8/channel/grammar")
def test_a_closed_channel_number_can_be_opened_again(server: Facing) -> None:
    server.feed(
        server.method("channel.close", reply_code=200, reply_text="x"),
        server.method("channel.open"),
        server.message("basic.publish", b"again"),
    )
    assert server.names() == ["channel.close-ok", "channel.open-ok"]
    assert server.of(Published)


@pytest.mark.rule("0-9-1/channel/closed-when", "0-8/channel/grammar")
def test_what_comes_on_a_channel_that_is_not_open_is_a_channel_error(version: Version, side: Side) -> None:
    for unit in work(Facing.opened(version, side), 2)[:3]:
        facing = Facing.opened(version, side)
        first = unit[: 8 + int.from_bytes(unit[3:7], "big")]
        method = facing.dialect.decode_method(first[7:-1]) if first[0] == 1 else None
        facing.refuses(first, code=504, rule="channel/closed-when", blames=method.NAME if method else "")
    facing = Facing.opened(version, side)
    facing.refuses(header(2, 60, 1), code=504, rule="channel/closed-when")
    facing = Facing.opened(version, side)
    facing.refuses(facing.method("channel.close-ok", 2), code=504, rule="channel/closed-when")


def test_closing_twice_is_once() -> None:
    facing = Facing.opened(AMQP_0_9_1, CLIENT)
    facing.channel.close()
    facing.channel.close()
    facing.end.close()
    facing.end.close()
    facing.settle()
    assert facing.names() == ["channel.close", "connection.close"]
