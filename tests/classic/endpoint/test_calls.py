"""Calls and settling: requests, replies, content in pieces, deliveries and publishes by tag, number, transaction."""

from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Accepted,
    Closed,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Pending,
    Released,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
    Version,
)
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio._classic.codec.dialect import default_dialect, get_dialect
from amqp_sansio._classic.model.channel_state import take_up_to
from amqp_sansio.endpoint import Side
from tests.kit.facing_classic import Facing
from tests.kit.octets_classic import body, header
from tests.kit.pair_classic import Pair, asked, client_config, server_config


def test_replies_go_out_in_the_order_of_the_requests(version: Version) -> None:
    pair, channel, peer = asked(version)
    first = channel.call(pair.method("queue.declare", queue="a"))
    second = channel.call(pair.method("basic.qos"))
    pair.pump()
    with pytest.raises(LocalProtocolError, match=r"queue\.declare on channel 1") as caught:
        peer.reply(pair.method("basic.qos-ok"))
    assert caught.value.rule in ("0-8/method/sync-wait", "0-9-1/method/sync-reply")
    peer.reply(pair.method("queue.declare-ok", queue="a"))
    peer.reply(pair.method("basic.qos-ok"))
    pair.pump()
    assert [event.pending for event in pair.take(Side.CLIENT, Replied)] == [first, second]
    assert first.result == pair.method("queue.declare-ok", queue="a")
    with pytest.raises(LocalProtocolError):
        peer.reply(pair.method("basic.qos-ok"))


def test_a_call_is_pending_until_its_event(version: Version) -> None:
    pair, channel, peer = asked(version)
    handle = channel.call(pair.method("basic.qos"))
    assert not handle.done
    with pytest.raises(LocalProtocolError, match="no answer yet"):
        _ = handle.result
    assert handle == Pending(handle.key)
    twin: Pending[Any] = Pending(handle.key)
    assert hash(handle) == hash(twin)
    assert handle.error is None
    del peer


@pytest.mark.parametrize(
    "name", ["channel.close", "channel.close-ok", "channel.open", "connection.close", "connection.tune-ok"]
)
def test_what_the_core_sends_by_itself_is_not_for_others_to_send(facing: Facing, name: str) -> None:
    for target in (facing.channel, facing.end):
        for verb in (target.call, target.send, target.reply):
            with pytest.raises(LocalProtocolError):
                verb(facing.make(name))
    assert facing.end.is_open
    assert facing.end.send_backlog == 0


@pytest.mark.rule("0-9-1/rabbitmq/connection.update-secret")
def test_requests_of_the_connection_class() -> None:
    pair, _, _ = asked(AMQP_0_9_1)
    method = pair.method("connection.update-secret", new_secret=b"new", reason="old")
    handle = pair.client.call(method)
    pair.pump()
    (request,) = pair.take(Side.SERVER, amqp.Request)
    assert (request.channel, request.method) == (0, method)
    assert pair.server.unanswered == (method,)
    pair.server.channel(request.channel).reply(pair.method("connection.update-secret-ok"))
    pair.pump()
    assert handle.result.NAME == "connection.update-secret-ok"
    pair.server.send(pair.method("connection.blocked", reason="memory"))
    pair.pump()
    assert type(pair.take(Side.CLIENT)[-1]).__name__ == "Blocked"


def test_methods_of_another_version_are_refused(client: Facing) -> None:
    other = AMQP_0_8 if client.version is AMQP_0_9_1 else AMQP_0_9_1
    named = client.dialect.named
    strangers = [
        kind
        for kind in default_dialect(other).methods.values()
        if kind.CLASS_ID >= 40 and kind is not named.get(kind.NAME)
    ]
    assert len(strangers) > 10
    for kind in strangers:
        for verb in (client.channel.call, client.channel.send, client.channel.reply):
            with pytest.raises(LocalProtocolError):
                verb(kind())
    assert client.end.send_backlog == 0


CLIENTS_COMMANDS: Final[dict[str, Callable[[Facing], object]]] = {
    "publish": lambda server: server.channel.publish(b"x"),
    "accept": lambda server: server.channel.accept(1),
    "accept all": lambda server: server.channel.accept(0, multiple=True),
    "reject": lambda server: server.channel.reject(1),
    "release": lambda server: server.channel.release(1),
    "open a channel": lambda server: server.end.open_channel(),
}


@pytest.mark.parametrize("command", CLIENTS_COMMANDS.values(), ids=CLIENTS_COMMANDS)
def test_only_a_client_publishes_settles_and_opens(server: Facing, command: Callable[[Facing], object]) -> None:
    with pytest.raises(LocalProtocolError, match="only a client"):
        command(server)


def test_only_a_server_delivers_and_confirms(client: Facing) -> None:
    with pytest.raises(LocalProtocolError):
        client.channel.deliver(b"x", consumer_tag="c")
    with pytest.raises(LocalProtocolError):
        client.channel.confirm(1)


# Replies with content.


@pytest.mark.parametrize("stream_above", [None, 10])
@pytest.mark.parametrize("cut_after", [0, 1, 2])
def test_a_reply_that_is_cut_short_leaves_its_call_open(
    version: Version, stream_above: int | None, cut_after: int
) -> None:
    """basic.get-ok, then a close before its content is complete: the call ends with the channel."""
    facing = Facing.opened(version, Side.CLIENT, stream_above=stream_above)
    handle = facing.channel.call(facing.make("basic.get", queue="q"))
    units = [facing.method("basic.get-ok", delivery_tag=1), header(1, 60, 100), body(1, bytes(50))]
    facing.feed(*units[: cut_after + 1])
    assert not handle.done
    facing.feed(facing.method("channel.close", reply_code=404, class_id=60, method_id=70))
    assert handle.done
    assert handle.error is not None
    endings = [event for event in facing.events if handle in getattr(event, "pendings", ())]
    assert len(endings) == 1


def test_a_reply_in_pieces_ends_its_call_after_the_last(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, stream_above=10)
    handle = facing.channel.call(facing.make("basic.get", queue="q"))
    facing.feed(facing.method("basic.get-ok", delivery_tag=1), header(1, 60, 100))
    facing.feed(body(1, bytes(60)), body(1, b""), body(1, bytes(40)))
    kinds = [type(event) for event in facing.events]
    assert kinds == [amqp.ContentBegun, amqp.ContentChunk, amqp.ContentChunk, Replied]
    assert [chunk.last for chunk in facing.of(amqp.ContentChunk)] == [False, True]
    assert handle.result == amqp.Message(facing.make("basic.get-ok", delivery_tag=1), amqp.BasicProperties(), b"")


# Content in pieces.


def test_more_than_was_announced_is_refused(client: Facing) -> None:
    client.channel.begin(client.make("basic.publish"), amqp.BasicProperties(), 10)
    client.misuse(lambda: client.channel.continue_body(bytes(11)), "wire/content-incomplete")


@pytest.mark.parametrize("size", [-1, 1 << 64])
def test_a_size_that_no_field_holds_is_not_announced(client: Facing, size: int) -> None:
    with pytest.raises(LocalProtocolError):
        client.channel.begin(client.make("basic.publish"), amqp.BasicProperties(), size)


def test_content_is_announced_for_a_method_that_carries_it(client: Facing) -> None:
    with pytest.raises(LocalProtocolError, match="carries no content"):
        client.channel.begin(client.make("basic.qos"), amqp.BasicProperties(), 1)


def test_a_publish_in_pieces_is_confirmed_and_returned() -> None:
    pair, channel, peer = asked(AMQP_0_9_1)
    channel.call(pair.method("confirm.select", no_wait=True))
    method = pair.method("basic.publish", routing_key="q", mandatory=True)
    handles: list[Any] = []
    for _ in range(2):
        handle = channel.begin(method, amqp.BasicProperties(), 10)
        handles.append(handle)
        channel.continue_body(b"hello")
        channel.continue_body(b"world")
    pair.pump()
    assert [event.number for event in pair.take(Side.SERVER, amqp.Published)] == [1, 2]
    returned = pair.method("basic.return", reply_code=312, reply_text="NO_ROUTE", routing_key="q")
    peer.send(returned, amqp.BasicProperties(), b"helloworld")
    peer.confirm(2, multiple=True)
    pair.pump()
    (event,) = pair.take(Side.CLIENT, amqp.MessageReturned)
    assert event.pending == handles[0]
    assert handles[0].result == amqp.Returned(312, "NO_ROUTE")
    assert handles[1].result == Accepted()


def test_a_delivery_in_pieces_has_its_handle(version: Version) -> None:
    pair, channel, peer = asked(version)
    for tag, no_ack in (("c", False), ("free", True)):
        method = pair.method("basic.consume", queue="q", consumer_tag=tag, no_ack=no_ack, no_wait=True)
        channel.call(method)
    pair.pump()
    handles: list[Any] = []
    for number, tag in ((1, "c"), (2, "free")):
        deliver = pair.method("basic.deliver", consumer_tag=tag, delivery_tag=number)
        handles.append(peer.begin(deliver, amqp.BasicProperties(), 0))
    pair.pump()
    assert [event.body for event in pair.take(Side.CLIENT, amqp.Delivery)] == [b"", b""]
    channel.accept(1)
    pair.pump()
    assert [handle.done for handle in handles] == [True, True]
    assert [event.pendings for event in pair.take(Side.SERVER, Settled)] == [(handles[0],)]


def test_a_publish_that_comes_in_pieces_has_its_number() -> None:
    pair, channel, peer = asked(AMQP_0_9_1, server=server_config(stream_above=10))
    channel.call(pair.method("confirm.select", no_wait=True))
    handles = [channel.publish(bytes(size)) for size in (5, 50)]
    pair.pump()
    (begun,) = pair.take(Side.SERVER, amqp.ContentBegun)
    assert begun.number == 2
    peer.confirm(begun.number, multiple=True)
    pair.pump()
    assert [handle.result for handle in handles] == [Accepted(), Accepted()]


def test_a_return_is_tied_to_its_publish_even_in_streaming_mode() -> None:
    pair, channel, peer = asked(AMQP_0_9_1, client=client_config(stream_above=10))
    channel.call(pair.method("confirm.select", no_wait=True))
    handle = channel.publish(bytes(100), routing_key="q", mandatory=True)
    pair.pump()
    method = pair.method("basic.return", reply_code=312, routing_key="q")
    peer.send(method, amqp.BasicProperties(), bytes(100))
    peer.confirm(1)
    pair.pump()
    assert handle.result == amqp.Returned(312, "")


# What the core answers by itself.


@pytest.mark.rule("0-8/channel.flow/finish-current", "0-8/channel.flow/react", "0-9-1/channel.flow/react")
def test_answers_wait_behind_content_in_pieces(version: Version) -> None:
    """A method between the frames of a message would break it (section 4.2.6)."""
    pair, channel, peer = asked(version)
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    channel.begin(pair.method("basic.publish"), amqp.BasicProperties(), 10)
    pair.pump()
    calls = [peer.call(pair.method("channel.flow", active=active)) for active in (False, True)]
    if version is AMQP_0_9_1:
        calls.append(peer.call(pair.method("basic.cancel", consumer_tag="c")))
    pair.pump()
    assert not any([handle.done for handle in calls])
    assert len(pair.take(Side.CLIENT, amqp.FlowChanged)) == 2
    channel.continue_body(bytes(10))
    pair.pump()
    names = ["channel.flow-ok", "channel.flow-ok", "basic.cancel-ok"]
    assert [handle.result.NAME for handle in calls] == names[: len(calls)]
    assert calls[0].result.active is False
    assert len(pair.take(Side.SERVER, amqp.Published)) == 1


def test_answers_that_wait_are_limited(version: Version) -> None:
    facing = Facing.opened(version, Side.CLIENT, limits=Limits(requests=3))
    facing.channel.begin(facing.make("basic.publish"), amqp.BasicProperties(), 10)
    facing.settle()
    facing.feed(facing.method("channel.flow", active=True) * 20)
    assert len(facing.of(amqp.FlowChanged)) == 3
    assert facing.end.next_event() is Signal.PAUSED


@pytest.mark.rule("0-9-1/rabbitmq/basic.cancel.notify", "0-9-1/rabbitmq/basic.cancel.capability")
@pytest.mark.parametrize("no_wait", [True, False])
def test_a_server_cancels_a_consumer(no_wait: bool) -> None:
    pair, channel, peer = asked(AMQP_0_9_1)
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    pair.pump()
    handle = peer.call(pair.method("basic.cancel", consumer_tag="c", no_wait=no_wait))
    pair.pump()
    assert handle.done
    assert pair.take(Side.CLIENT, amqp.ConsumerCancelled) == [amqp.ConsumerCancelled(1, "c")]
    assert channel.consumers == peer.consumers == {}


# Consumers.


def test_deliveries_for_a_consumer_cancelled_without_waiting_may_still_come(client: Facing) -> None:
    channel = client.channel
    channel.call(client.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    channel.call(client.make("basic.cancel", consumer_tag="c", no_wait=True))
    assert channel.consumers == {}
    client.feed(client.message("basic.deliver", consumer_tag="c", delivery_tag=1))
    assert len(client.of(amqp.Delivery)) == 1
    channel.call(client.make("basic.consume", queue="q", consumer_tag="c", no_ack=True, no_wait=True))
    client.feed(client.message("basic.deliver", consumer_tag="c", delivery_tag=2))
    assert list(channel.unsettled) == [1]


def test_a_nameless_consumer_without_a_reply_learns_its_tag_from_deliveries(client: Facing) -> None:
    client.channel.call(client.make("basic.consume", queue="q", no_wait=True, no_ack=True))
    client.feed(client.message("basic.deliver", consumer_tag="made-up", delivery_tag=1))
    assert [event.consumer_tag for event in client.of(amqp.Delivery)] == ["made-up"]
    assert client.channel.unsettled == {}


# The backlog.


def test_a_high_backlog_is_told_and_its_fall_too(version: Version) -> None:
    limits = Limits(backlog_high=1000, backlog_low=300, backlog_hard=5000)
    facing = Facing.opened(version, Side.CLIENT, limits=limits)
    channel = facing.channel
    facing.now = 1.0
    end = facing.end
    channel.publish(bytes(500))
    assert end.next_event() is not None
    for _ in range(4):
        channel.publish(bytes(900))
    kinds = [type(end.next_event()) for _ in range(2)]
    assert kinds[0] is SendPaused
    assert kinds.count(SendPaused) == 1
    with pytest.raises(LimitExceeded, match=r"Limits\.backlog_hard"):
        channel.publish(bytes(4000))
    end.data_to_send(1.0, max_bytes=2000)
    assert not isinstance(end.next_event(), SendResumed)
    end.data_to_send(1.0, max_bytes=end.send_backlog - 100)
    assert end.next_event() == SendResumed(100)
    assert end.data_to_send(1.0, max_bytes=0) == b""
    assert end.send_backlog == 100


def test_nothing_comes_after_the_last_event(version: Version) -> None:
    limits = Limits(backlog_high=1000, backlog_low=300)
    facing = Facing.opened(version, Side.SERVER, limits=limits)
    facing.feed(facing.method("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    facing.channel.deliver(bytes(2000), consumer_tag="c")
    facing.end.receive_data(facing.method("connection.close", 0, reply_code=200), 0.0)
    facing.settle()
    facing.settle()
    assert isinstance(facing.events[-1], Closed)
    assert not facing.of(SendResumed)


@pytest.mark.parametrize("size", [0, 1, 8192, 8193, 4088, 4089, 100_000])
def test_bodies_of_every_size_and_kind_arrive_whole(version: Version, size: int) -> None:
    pair, channel, _ = asked(version, client=client_config(frame_max=4096))
    data = bytes([number % 251 for number in range(size)])
    for given in (data, bytearray(data), memoryview(data)):
        channel.publish(given)
    pair.pump()
    assert [event.body for event in pair.take(Side.SERVER, amqp.Published)] == [data] * 3


@pytest.mark.parametrize("bad", ["text", 5, None, ["x"]])
def test_a_body_that_is_no_octets_changes_nothing(client: Facing, bad: Any) -> None:
    with pytest.raises(TypeError):
        client.channel.publish(bad)
    assert client.end.send_backlog == 0
    assert client.channel.publish_count == 0


def test_0_8_has_no_nack() -> None:
    _, _, peer = asked(AMQP_0_8)
    with pytest.raises(LocalProtocolError, match=r"no basic\.nack"):
        peer.confirm(1, accepted=False)


# Settling: deliveries and publishes by tag, by number, many at once, by recover and by transaction.


def delivered(version: Version, count: int, **changes: Any) -> tuple[Pair, Any, Any, list[Any]]:
    """A pair with so many deliveries open, both ends of the channel, and the server's handles."""
    pair = Pair(version, client=client_config(**changes), server=server_config(**changes)).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="c"))
    pair.pump()
    peer = pair.peer(channel)
    handles = [peer.deliver(b"", consumer_tag="c") for _ in range(count)]
    pair.pump()
    pair.take(Side.SERVER)
    return pair, channel, peer, handles


def test_all_so_far_means_what_has_come(version: Version) -> None:
    """Deliveries on the way aren't meant by it: a 0 on the wire would take them too."""
    pair, channel, peer, handles = delivered(version, 2)
    late = peer.deliver(b"", consumer_tag="c")
    channel.accept(0, multiple=True)
    channel.accept(0, multiple=True)
    pair.pump()
    assert [handle.done for handle in (*handles, late)] == [True, True, False]
    channel.accept(3)
    pair.pump()
    assert late.done


def test_tags_need_not_rise(client: Facing) -> None:
    """A server may give its tags in any order; settling up to one takes those below it."""
    channel = client.channel
    channel.call(client.make("basic.consume", queue="q", consumer_tag="c", no_wait=True))
    for tag in (10, 1_000_000, 5, 7, 1 << 63):
        client.feed(client.message("basic.deliver", consumer_tag="c", delivery_tag=tag))
    channel.accept(10, multiple=True)
    assert list(channel.unsettled) == [1_000_000, 1 << 63]
    client.feed(client.message("basic.deliver", consumer_tag="c", delivery_tag=3))
    channel.accept(1_000_000, multiple=True)
    assert list(channel.unsettled) == [1 << 63]
    channel.accept(0, multiple=True)
    assert channel.unsettled == {}


@pytest.mark.parametrize("after", [0, 3])
def test_numbers_are_taken_with_and_without_gaps(after: int) -> None:
    dense = dict.fromkeys(range(after + 1, after + 7), "x")
    assert take_up_to(dense, after, after + 3) == [(after + n, "x") for n in (1, 2, 3)]
    assert list(dense) == [after + n for n in (4, 5, 6)]
    sparse = {after + 1000: "a", after + 2000: "b"}
    assert take_up_to(sparse, after, after + 1999) == [(after + 1000, "a")]
    assert take_up_to(sparse, after, 0) == [(after + 2000, "b")]
    assert sparse == {}


@pytest.mark.parametrize("name", ["0-9-1", "0-9-1-rabbit", "0-8-qpid"])
def test_a_recover_gives_everything_back(name: str) -> None:
    dialect = get_dialect(name)
    pair, channel, peer, handles = delivered(dialect.version, 3, dialect=dialect)
    channel.accept(2)
    call = channel.call(pair.method("basic.recover", requeue=True))
    for command in (channel.accept, channel.reject):
        with pytest.raises(LocalProtocolError, match="under way"):
            command(1)
    pair.pump()
    assert call.done
    assert [handle.result for handle in handles] == [Released(), Accepted(), Released()]
    assert channel.unsettled == peer.unsettled == {}
    again = peer.deliver(b"again", consumer_tag="c")
    pair.pump()
    channel.accept(4)
    pair.pump()
    assert again.result == Accepted()


def test_a_recover_without_an_answer() -> None:
    """The text of 0-8 has none; RabbitMQ's basic.recover-async is the same."""
    for version, name in ((AMQP_0_8, "basic.recover"), (AMQP_0_9_1, "basic.recover-async")):
        pair, channel, peer, handles = delivered(version, 2)
        channel.send(pair.method(name, requeue=True))
        assert channel.unsettled == {}
        pair.pump()
        (settled,) = pair.take(Side.SERVER, Settled)
        assert settled == Settled(tuple(handles), Released())
        assert peer.unsettled == {}


def test_confirms_count_from_the_select_even_without_an_answer() -> None:
    pair = Pair(AMQP_0_9_1).open()
    channel = pair.channel()
    assert channel.publish(b"before") is None
    channel.call(pair.method("confirm.select", no_wait=True))
    handles = [channel.publish(b"x") for _ in range(4)]
    assert list(channel.unconfirmed) == [1, 2, 3, 4]
    pair.pump()
    assert [handle.result for handle in handles] == [Accepted()] * 4


@pytest.mark.parametrize("multiple", [False, True])
def test_a_server_confirms(multiple: bool) -> None:
    """One at a time takes a shorter way, with the same octets."""
    facing = Facing.opened(AMQP_0_9_1, Side.SERVER)
    facing.feed(facing.method("confirm.select", no_wait=True))
    facing.feed(facing.message("basic.publish", b"x") * 3)
    facing.forget()
    facing.channel.confirm(2, multiple)
    facing.settle()
    assert facing.out == facing.method("basic.ack", delivery_tag=2, multiple=multiple)
    assert list(facing.channel.unconfirmed) == ([3] if multiple else [1, 3])
    with pytest.raises(LocalProtocolError, match="publish 2"):
        facing.channel.confirm(2)


@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.server")
def test_confirms_out_of_order_and_many_at_once() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT)
    facing.channel.call(facing.make("confirm.select", no_wait=True))
    handles = [facing.channel.publish(b"x") for _ in range(6)]
    for tag, multiple in ((5, False), (2, True), (4, True), (0, True)):
        facing.feed(facing.method("basic.ack", delivery_tag=tag, multiple=multiple))
    settled = [[*event.pendings] for event in facing.of(Settled)]
    assert settled == [[handles[4]], handles[:2], handles[2:4], [handles[5]]]
    assert [handle.result for handle in handles] == [Accepted()] * 6


def test_properties_that_a_caller_changes_between_publishes_are_sent_as_they_are_then() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT)
    properties: Any = amqp.BasicProperties(headers={})
    for properties.message_id in ("a", "b"):
        properties.headers["n"] = properties.message_id
        facing.channel.publish(b"", properties=properties)
        assert facing.end.data_to_send(facing.now).endswith(properties.encode(facing.dialect.tables) + b"\xce")


@pytest.mark.rule("0-9-1/basic.return/reason")
def test_returns_are_tied_to_the_publishes_in_their_order() -> None:
    """The same message twice, another between, confirms between the returns, and one that was never published."""
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT)
    channel = facing.channel
    channel.call(facing.make("confirm.select", no_wait=True))
    channel.publish(b"first")
    handles = [
        channel.publish(body, routing_key="k", mandatory=True)
        for body in (b"same", b"other", b"same", b"same", b"fine")
    ]

    def come_back(body: bytes) -> None:
        facing.feed(facing.message("basic.return", body, reply_code=312, routing_key="k"))

    come_back(b"same")
    facing.feed(facing.method("basic.ack", delivery_tag=6))
    come_back(b"never")
    come_back(b"same")
    facing.feed(facing.method("basic.ack", delivery_tag=3, multiple=True))
    come_back(b"same")
    facing.feed(facing.method("basic.ack", delivery_tag=0, multiple=True))
    ties = [event.pending for event in facing.of(amqp.MessageReturned)]
    assert ties == [handles[0], None, handles[2], handles[3]]
    back = amqp.Returned(312, "")
    outcomes: list[object] = [handle.result for handle in handles]
    assert outcomes == [back, Accepted(), back, back, Accepted()]


def test_publishes_sent_as_methods_are_counted_too() -> None:
    """They have no handle; their confirms are for the numbers only."""
    pair = Pair(AMQP_0_9_1).open()
    channel = pair.channel()
    channel.call(pair.method("confirm.select", no_wait=True))
    channel.send(pair.method("basic.publish", routing_key="q"), amqp.BasicProperties(), b"1")
    handle = channel.publish(b"2")
    channel.send(pair.method("basic.publish", routing_key="q"), amqp.BasicProperties(), b"3")
    pair.pump()
    assert channel.unconfirmed == {}
    assert [event.pendings for event in pair.take(Side.CLIENT, Settled)] == [(handle,)]


def test_own_publishes_that_wait_are_limited() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT, limits=Limits(unconfirmed=2))
    channel = facing.channel
    channel.call(facing.make("confirm.select", no_wait=True))
    for _ in range(2):
        channel.publish(b"x")
    with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
        channel.publish(b"x")
    with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
        channel.send(facing.make("basic.publish"), amqp.BasicProperties(), b"x")


@pytest.fixture
def channel(client: Facing) -> amqp.Channel:
    """The channel of `client`, also when it isn't open any more."""
    channel: amqp.Channel = client.channel
    return channel


@pytest.fixture
def failed(client: Facing, channel: amqp.Channel) -> Facing:
    """A client that has found an error of its peer, and whose close isn't answered yet."""
    assert channel.number == 1
    client.feed(client.method("basic.deliver", consumer_tag="nobody", delivery_tag=1))
    assert client.of(Failed)
    return client


COMMANDS_OF_A_CHANNEL: Final[dict[str, Callable[[Facing, amqp.Channel], object]]] = {
    "call": lambda client, channel: channel.call(client.make("basic.qos")),
    "publish": lambda _, channel: channel.publish(b"x"),
    "accept": lambda _, channel: channel.accept(1),
}


@pytest.mark.parametrize("command", COMMANDS_OF_A_CHANNEL.values(), ids=COMMANDS_OF_A_CHANNEL)
def test_between_an_error_and_its_end_a_channel_takes_no_command(
    failed: Facing, channel: amqp.Channel, command: Callable[[Facing, amqp.Channel], object]
) -> None:
    with pytest.raises(EndpointClosed, match="channel 1 is closed") as caught:
        command(failed, channel)
    assert caught.value.report is not None
    assert caught.value.report.code


def test_between_an_error_and_its_end_no_channel_is_opened(failed: Facing) -> None:
    with pytest.raises(EndpointClosed, match="the connection is closing") as caught:
        failed.end.open_channel()
    assert caught.value.report is not None
    assert caught.value.report.code


def test_between_an_error_and_its_end_everything_can_be_closed_once_more(failed: Facing, channel: amqp.Channel) -> None:
    channel.close()
    failed.end.close()
    failed.settle()
    assert failed.names().count("connection.close") == 1
