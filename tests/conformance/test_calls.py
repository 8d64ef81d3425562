"""Requests and replies: 0-9-1 sections 2.2.2, 2.2.3, 4.6; 0-8 section 3.2.1; current queue and no-wait."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Replied, Scope, Version
from amqp_sansio.amqp_0_9_1 import Delivery, Message, MethodReceived, Request
from amqp_sansio.endpoint import Side
from tests.kit.facing import CLIENT, SERVER, STRICT, Facing, both_rules
from tests.kit.pair import Pair, Server


@pytest.mark.rule("0-8/method/sync-wait", "0-9-1/method/sync-wait", "0-9-1/method/sync-reply")
def test_a_call_is_done_when_its_reply_comes_and_not_before(client: Facing) -> None:
    client.channel.call(client.make("basic.consume", queue="q", consumer_tag="t"))
    client.feed(client.method("basic.consume-ok", consumer_tag="t"))
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
    assert [event.handle for event in client.of(Replied)] == [other, first, second]


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
        connection.channel(request.channel).reply(method, None, octets)

    pair = Pair(version, applications={SERVER: Server(answers={"basic.get": answer})}).open()
    channel = pair.channel()
    first = channel.call(pair.method("basic.get", queue="q"))
    second = channel.call(pair.method("basic.get", queue="q"))
    pair.pump()
    message: Any = first.result
    assert message.__class__ is Message
    assert (message.method.delivery_tag, message.body) == (1, b"content")
    assert second.result.NAME == "basic.get-empty"


@pytest.mark.rule("0-8/exchange.declare/nowait", "0-9-1/exchange.declare/no-wait")
def test_no_wait_wants_no_reply(pair: Pair) -> None:
    channel = pair.channel()
    handle = channel.call(pair.method("exchange.declare", exchange="e", type="fanout", no_wait=True))
    assert handle.done
    pair.pump()
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
    AMQP_0_8: ["queue.bind", "queue.purge", "queue.delete", "basic.consume", "basic.get", "file.consume",
               "stream.consume"],
    AMQP_0_9_1: ["queue.bind", "queue.unbind", "queue.purge", "queue.delete", "basic.consume", "basic.get"],
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "name"), [(version, name) for version, names in NEED_A_QUEUE.items() for name in names],
    ids=lambda value: value if isinstance(value, str) else value.label,
)  # fmt: skip
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


def test_replies_go_out_in_the_order_of_the_requests() -> None:
    server = Facing.opened(AMQP_0_9_1, SERVER)
    server.feed(server.method("queue.declare", queue="q"), server.method("basic.get", queue="q"))
    server.misuse(lambda: server.channel.reply(server.make("basic.get-empty")), "method/sync-reply")
