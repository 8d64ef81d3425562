"""Channels, requests and replies on them (class channel; 0-9-1 sections 2.2, 4.2.3, 4.3, 4.5, 4.6; 0-8 the same)."""

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Failed, Opened, Replied, Scope, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties, Delivery, FlowChanged, Message, MethodReceived, Published, Request
from amqp_sansio.endpoint import Side
from tests.conformance.granting import consume
from tests.kit.applications import Server
from tests.kit.facing import CLIENT, SERVER
from tests.kit.facing_classic import STRICT, Facing, both_rules
from tests.kit.octets_classic import METHOD, body, frame, header
from tests.kit.pair_classic import Pair


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
    ("number", "text"), [(0x00630001, "class 99"), (0x000A00FF, "method 255"), (0xF0000001, "class 61440")]
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
        lambda: client.channel.begin(client.make("basic.publish"), BasicProperties(), 1), "channel.flow/react"
    )
    client.misuse(lambda: client.channel.send(client.make("basic.publish"), None, b"x"), "channel.flow/react")
    client.channel.call(client.make("queue.declare", queue="q"))
    client.end.channel(2).publish(b"x", routing_key="q")
    client.settle()
    assert client.names() == ["queue.declare", "basic.publish", "header", "body"]
    client.feed(client.method("channel.flow", active=True))
    client.channel.publish(b"x", routing_key="q")


@pytest.mark.rule("0-9-1/channel.flow/scope", "0-8/channel.flow/covers-only-content")
@pytest.mark.rule("0-8/channel.flow/start-paused", "0-9-1/channel.flow/initially-active", "0-9-1/channel.flow-ok/echo")
def test_a_stopped_server_still_answers_basic_get(server: Facing) -> None:
    consume(server)
    server.channel.deliver(b"x", consumer_tag="t")
    server.forget()
    for active in (False, True, False):
        server.feed(server.method("channel.flow", active=active), server.method("basic.get", queue="q"))
    assert [each.method.active for each in server.sent()] == [False, True, False]
    assert server.of(FlowChanged) == [FlowChanged(1, False), FlowChanged(1, True), FlowChanged(1, False)]
    server.misuse(lambda: server.channel.deliver(b"x", consumer_tag="t"), "channel.flow/react")
    server.forget()
    server.channel.reply(server.make("basic.get-ok", delivery_tag=2), None, b"content")
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


def test_events_come_in_the_order_of_the_wire(server: Facing) -> None:
    units = [
        server.message("basic.publish", b"1"),
        server.method("queue.declare", queue="q"),
        server.message("basic.publish", b"2"),
        server.method("basic.publish") + header(1, 60, 0),
    ]
    server.feed(b"".join(units))
    assert [type(event) for event in server.events] == [Published, Request, Published, Published]


# Requests and replies: 0-9-1 sections 2.2.2, 2.2.3, 4.6; 0-8 section 3.2.1; current queue and no-wait.


@pytest.mark.rule("0-8/method/sync-wait", "0-9-1/method/sync-wait", "0-9-1/method/sync-reply")
def test_a_call_is_done_when_its_reply_comes_and_not_before(client: Facing) -> None:
    consume(client)
    first = client.channel.call(client.make("queue.declare", queue="a"))
    second = client.channel.call(client.make("queue.declare", queue="b"))
    other = client.channel.call(client.make("exchange.delete", exchange="e"))
    client.forget()
    # Other methods may come before the reply, and are processed.
    client.feed(client.message("basic.deliver", b"x", consumer_tag="t", delivery_tag=1))
    assert client.of(Delivery)
    assert not first.done
    client.feed(client.method("exchange.delete-ok"))
    assert other.done
    assert not first.done
    client.feed(client.method("queue.declare-ok", queue="a", message_count=7))
    assert first.result.message_count == 7
    assert not second.done
    client.feed(client.method("queue.declare-ok", queue="b"))
    assert second.result.queue == "b"
    assert [event.pending for event in client.of(Replied)] == [other, first, second]


@pytest.mark.rule("0-8/method/sync-wait", "0-9-1/method/sync-reply", "0-8/queue/grammar", "0-8/exchange/grammar")
def test_a_reply_without_a_request_is_an_invalid_command(version: Version, side: Side) -> None:
    dialect = Facing.opened(version, side).dialect
    checked = 0
    for number, kind in dialect.methods.items():
        if not kind.IS_REPLY or side.other not in dialect.senders[number] or kind.CLASS_ID < 30:
            continue
        facing = Facing.opened(version, side)
        facing.refuses(facing.method(kind.NAME), code=503, rule="method/sync-reply")
        checked += 1
    assert checked or side is SERVER
    facing = Facing.opened(version, side)
    facing.refuses(facing.method("channel.flow-ok"), code=503, rule="method/sync-reply")
    facing = Facing.opened(version, side)
    facing.misuse(lambda: facing.channel.reply(facing.make("channel.flow-ok")), "method/sync-reply")


@pytest.mark.rule("0-8/exchange/grammar", "0-8/queue/grammar", "0-8/access/grammar", "0-8/tx/grammar")
@pytest.mark.rule("0-8/basic/grammar", "0-8/stream/grammar", "0-8/test/grammar")
def test_every_request_of_a_client_is_answered_by_its_own_reply(version: Version) -> None:
    """All of a version's requests on channels, in a conversation of both real ends."""
    pair = Pair(version).open()
    dialect = pair.client.dialect
    special = ("channel.", "file.open", "basic.recover", "dtx.start", "test.content", "tx.", "dtx.")
    done = 0
    for kind in dialect.methods.values():
        if CLIENT not in dialect.senders[kind.ID] or kind.IS_REPLY or not dialect.replies[kind.ID]:
            continue
        if kind.CLASS_ID < 20 or kind.NAME.startswith(special):
            continue
        channel = pair.channel()
        fields: dict[str, Any] = {}
        for name, wire_type in kind.FIELDS:
            if name == "realm":
                fields[name] = "/data"
            elif wire_type == "shortstr":
                fields[name] = "n"
        handle = channel.call(pair.method(kind.NAME, **fields))
        pair.pump()
        assert handle.done, kind.NAME
        assert type(handle.result) in dialect.replies[kind.ID]
        done += 1
    assert done >= (9 if version is AMQP_0_9_1 else 20)


@pytest.mark.rule("0-8/basic/grammar")
def test_get_is_answered_by_a_message_or_get_empty(version: Version) -> None:
    wanted: list[tuple[str, dict[str, Any], bytes | None]] = [
        ("basic.get-ok", {"delivery_tag": 1}, b"content"),
        ("basic.get-empty", {}, None),
    ]
    replies = iter(wanted)

    def answer(connection: Any, request: Request) -> None:
        name, fields, octets = next(replies)
        method = connection.dialect.named[name](**fields)
        connection.channel(request.channel).reply(
            method, None if octets is None else BasicProperties(priority=4), octets
        )

    pair = Pair(version, applications={SERVER: Server(answers={"basic.get": answer})}).open()
    channel = pair.channel()
    first = channel.call(pair.method("basic.get", queue="q"))
    second = channel.call(pair.method("basic.get", queue="q"))
    pair.pump()
    message: Any = first.result
    assert message.__class__ is Message
    assert (message.method.delivery_tag, message.body) == (1, b"content")
    assert message.properties == BasicProperties(priority=4)
    channel.accept(1)
    pair.pump()
    assert pair.peer(channel).unsettled == {}
    assert second.result.NAME == "basic.get-empty"


@pytest.mark.rule("0-8/exchange.declare/nowait", "0-9-1/exchange.declare/no-wait")
def test_no_wait_wants_no_reply(pair: Pair) -> None:
    channel = pair.channel()
    handle = channel.call(pair.method("exchange.declare", exchange="e", type="fanout", no_wait=True))
    assert handle.done
    assert handle.result is None
    pair.pump()
    assert pair.server.unanswered == ()
    (received,) = pair.take(SERVER, MethodReceived)
    assert received.method.exchange == "e"
    with pytest.raises(Exception, match="answers no request"):
        pair.peer(channel).reply(pair.method("exchange.declare-ok"))
    # A failure still raises its exception.
    pair.peer(channel).close(403, "not yours", cause=received.method)
    pair.pump()
    assert channel.report.code == 403


@pytest.mark.rule("0-9-1/channel/content-sync")
def test_what_a_request_changes_is_visible_after_its_reply_and_not_before(server: Facing) -> None:
    """A server's core delivers to no consumer before consume-ok, and to none any more after cancel-ok."""

    def deliver() -> object:
        return server.channel.deliver(b"x", consumer_tag="t")

    server.feed(server.method("basic.consume", queue="q", consumer_tag="t"))
    server.misuse(deliver, "domain/consumer-tag.channel-scope")
    server.channel.reply(server.make("basic.consume-ok", consumer_tag="t"))
    deliver()
    server.feed(server.method("basic.cancel", consumer_tag="t"))
    deliver()
    server.channel.reply(server.make("basic.cancel-ok", consumer_tag="t"))
    server.misuse(deliver, "domain/consumer-tag.channel-scope")


@pytest.mark.rule("0-9-1/channel/content-sync")
def test_a_client_refuses_deliveries_before_consume_ok_and_after_cancel_ok(version: Version) -> None:
    for ready in (False, True):
        client = Facing.opened(version, CLIENT)
        client.channel.call(client.make("basic.consume", queue="q", consumer_tag="t"))
        if ready:
            client.feed(client.method("basic.consume-ok", consumer_tag="t"))
            client.channel.call(client.make("basic.cancel", consumer_tag="t"))
            client.feed(client.message("basic.deliver", b"x", consumer_tag="t", delivery_tag=1))
            assert client.of(Delivery)
            client.feed(client.method("basic.cancel-ok", consumer_tag="t"))
        client.settle()
        client.refuses(
            client.method("basic.deliver", consumer_tag="t", delivery_tag=2),
            code=530,
            rule="domain/consumer-tag.channel-scope",
        )


NEED_A_QUEUE = {
    AMQP_0_8: [
        "queue.bind",
        "queue.purge",
        "queue.delete",
        "basic.consume",
        "basic.get",
        "file.consume",
        "stream.consume",
    ],
    AMQP_0_9_1: ["queue.bind", "queue.unbind", "queue.purge", "queue.delete", "basic.consume", "basic.get"],
}


@pytest.mark.parametrize(
    ("version", "name"),
    [(version, name) for version, names in NEED_A_QUEUE.items() for name in names],
    ids=lambda value: value if isinstance(value, str) else value.label,
)
@both_rules("queue.bind/no-current-queue", "queue.purge/no-current-queue", "queue.delete/no-current-queue")
@both_rules("queue.declare/current-queue")
@pytest.mark.rule("0-8/basic.consume/no-current-queue", "0-8/basic.get/no-current-queue")
@pytest.mark.rule("0-8/file.consume/no-current-queue", "0-8/stream.consume/no-current-queue")
@pytest.mark.rule("0-9-1/queue.unbind/no-current-queue")
def test_an_empty_queue_name_needs_a_queue_declared_on_the_channel(version: Version, name: str) -> None:
    client = Facing.opened(version, CLIENT, channels=2)
    client.end.channel(2).call(client.make("queue.declare"))
    client.misuse(lambda: client.channel.call(client.make(name)), f"{name}/no-current-queue")
    server = Facing.opened(version, SERVER, channels=2)
    server.feed(server.method("queue.declare", 2))
    server.refuses(
        server.method(name),
        code=530 if version is AMQP_0_8 else 404,
        rule=f"{name}/no-current-queue",
        scope=Scope.CONNECTION if version is AMQP_0_8 else Scope.CHANNEL,
    )
    # With one, even if the answer isn't there yet, it passes.
    for facing in (Facing.opened(version, CLIENT), Facing.opened(version, SERVER)):
        if facing.side is CLIENT:
            facing.channel.call(facing.make("queue.declare"))
            facing.channel.call(facing.make(name))
        else:
            facing.feed(facing.method("queue.declare"), facing.method(name))
            assert [event.method.NAME for event in facing.of(Request)] == ["queue.declare", name]


@pytest.mark.rule("0-9-1/basic.cancel/queue-gone", "0-8/basic.cancel/no-effect")
def test_a_server_takes_the_cancel_of_a_consumer_that_is_gone(version: Version) -> None:
    """Unknown tags are the application's to answer, since the queue may have gone first."""
    for dialect in (None, STRICT[version]):
        server = Facing.opened(version, SERVER, dialect=dialect)
        server.feed(server.method("basic.cancel", consumer_tag="gone"))
        server.channel.reply(server.make("basic.cancel-ok", consumer_tag="gone"))
        server.settle()
        assert server.names() == ["basic.cancel-ok"]


@pytest.mark.rule("0-9-1/method/no-confirm")
def test_methods_without_a_reply_succeed_silently(pair: Pair) -> None:
    channel = pair.channel()
    channel.publish(b"x", routing_key="nowhere")
    before = len(pair.sent[SERVER])
    pair.pump()
    assert len(pair.sent[SERVER]) == before
