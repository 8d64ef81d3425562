"""Transactions, and RabbitMQ's extensions: confirms, nack, cancel notify, update-secret (class tx; extended XML)."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Accepted, Rejected, Scope, Settled, Version
from amqp_sansio.amqp_0_9_1 import (
    BasicProperties,
    Blocked,
    ConsumerCancelled,
    MessageReturned,
    Published,
    Request,
    Returned,
    Unblocked,
)
from tests.kit.facing import CLIENT, SERVER, Facing, both_rules, start_ok, tune_ok
from tests.kit.pair import Pair, Server, server_config

NOT_TRANSACTED = {AMQP_0_8: 503, AMQP_0_9_1: 406}


# Transactions.


@pytest.mark.parametrize("name", ["tx.commit", "tx.rollback"])
@both_rules("tx.select/required")
@pytest.mark.rule("0-9-1/tx.commit/not-transacted", "0-9-1/tx.rollback/not-transacted")
def test_commit_and_rollback_need_a_transacted_channel(version: Version, name: str) -> None:
    client = Facing.opened(version, CLIENT, channels=2)
    client.end.channel(2).call(client.make("tx.select"))
    client.misuse(lambda: client.channel.call(client.make(name)), f"{name}/not-transacted")
    server = Facing.opened(version, SERVER)
    server.refuses(
        server.method(name), code=NOT_TRANSACTED[version], rule=f"{name}/not-transacted", scope=Scope.CHANNEL
    )


@pytest.mark.rule("0-8/tx/grammar", "0-8/tx.commit/new-tx", "0-9-1/tx.commit/new-tx", "0-9-1/tx/scope")
def test_transactions_follow_one_another(pair: Pair) -> None:
    channel = pair.channel()
    for name in ("tx.select", "tx.commit", "tx.rollback", "tx.commit", "tx.select"):
        handle = channel.call(pair.method(name))
        pair.pump()
        assert f"{name}-ok" == handle.result.NAME
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    delivery = pair.peer(channel).deliver(b"x", consumer_tag="t")
    pair.pump()
    # A rolled back acknowledgement may be made again; a committed one is final.
    for name in ("tx.rollback", "tx.commit"):
        channel.accept(1)
        pair.pump()
        assert not delivery.done
        channel.call(pair.method(name))
        pair.pump()
    assert delivery.result == Accepted()


@pytest.mark.rule("0-9-1/basic.ack/unknown-tag", "0-9-1/rabbitmq/basic.ack.exists")
def test_an_unknown_tag_is_refused_at_once_in_a_transaction() -> None:
    server = Facing.opened(AMQP_0_9_1, SERVER)
    server.feed(server.method("tx.select"))
    server.channel.reply(server.make("tx.select-ok"))
    server.feed(server.method("basic.consume", queue="q", consumer_tag="t"))
    server.channel.reply(server.make("basic.consume-ok", consumer_tag="t"))
    server.channel.deliver(b"x", consumer_tag="t")
    server.feed(server.method("basic.ack", delivery_tag=1))
    server.refuses(
        server.method("basic.ack", delivery_tag=1), code=406, rule="basic.ack/unknown-tag", scope=Scope.CHANNEL
    )


@pytest.mark.rule("0-9-1/rabbitmq/confirm.select-not-tx")
def test_confirms_and_transactions_exclude_each_other() -> None:
    for first, second in (("tx.select", "confirm.select"), ("confirm.select", "tx.select")):
        client = Facing.opened(AMQP_0_9_1, CLIENT)
        client.channel.call(client.make(first))
        again = client.make(second)
        client.misuse(lambda: client.channel.call(again), "rabbitmq/confirm.select-not-tx")  # noqa: B023
        server = Facing.opened(AMQP_0_9_1, SERVER)
        server.feed(server.method(first))
        server.channel.reply(server.make(f"{first}-ok"))
        server.refuses(server.method(second), code=406, rule="rabbitmq/confirm.select-not-tx", scope=Scope.CHANNEL)


# Confirms.


def confirming(side: str = "client") -> Facing:
    """An endpoint whose channel 1 is in confirm mode."""
    facing = Facing.opened(AMQP_0_9_1, CLIENT if side == "client" else SERVER)
    if facing.side is CLIENT:
        facing.channel.call(facing.make("confirm.select"))
        facing.feed(facing.method("confirm.select-ok"))
    else:
        facing.feed(facing.method("confirm.select"))
        facing.channel.reply(facing.make("confirm.select-ok"))
    return facing.forget()


@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.server")
def test_a_server_confirms_publishes_by_number() -> None:
    client = confirming()
    handles = [client.channel.publish(b"x", routing_key="q") for _ in range(5)]
    client.feed(client.method("basic.ack", delivery_tag=3, multiple=True))
    assert [handle.done for handle in handles] == [True, True, True, False, False]
    client.feed(client.method("basic.ack", delivery_tag=5), client.method("basic.ack", delivery_tag=4))
    assert [handle.result for handle in handles] == [Accepted()] * 5
    server = confirming("server")
    server.feed(*[server.message("basic.publish", b"x")] * 3)
    assert [event.number for event in server.of(Published)] == [1, 2, 3]


@pytest.mark.parametrize("name", ["basic.ack", "basic.nack"])
@pytest.mark.rule("0-9-1/rabbitmq/basic.ack.exists", "0-9-1/rabbitmq/basic.nack.exists")
def test_a_publish_is_confirmed_once_only(name: str) -> None:
    client = confirming()
    client.channel.publish(b"x", routing_key="q")
    client.settle()
    confirm = client.method(name, delivery_tag=1)
    client.feed(confirm)
    client.refuses(confirm, code=406, rule="rabbitmq/basic.ack.exists", scope=Scope.CHANNEL, blames=name)
    server = confirming("server")
    server.feed(server.message("basic.publish", b"x"))
    server.channel.confirm(1)
    for refused in (
        lambda: server.channel.confirm(1),
        lambda: server.channel.confirm(1, accepted=False),
        lambda: server.channel.confirm(2),
        lambda: server.channel.confirm(2, multiple=True),
    ):
        server.misuse(refused, "rabbitmq/basic.ack.exists")


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.exists", "0-9-1/rabbitmq/basic.ack.exists")
def test_a_nack_of_an_unknown_delivery_ends_the_channel() -> None:
    for multiple in (False, True):
        server = Facing.opened(AMQP_0_9_1, SERVER)
        server.refuses(
            server.method("basic.nack", delivery_tag=1, multiple=multiple),
            code=406,
            rule="basic.ack/unknown-tag",
            scope=Scope.CHANNEL,
        )
        client = Facing.opened(AMQP_0_9_1, CLIENT)
        nack = client.make("basic.nack", delivery_tag=1, multiple=multiple)
        client.misuse(lambda: client.channel.send(nack), "basic.ack/unknown-tag")  # noqa: B023


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.publisher", "0-9-1/rabbitmq/basic.nack.requeue-ignored")
def test_a_publisher_learns_of_a_nack_whatever_it_says_of_requeueing() -> None:
    for requeue in (False, True):
        client = confirming()
        handle = client.channel.publish(b"x", routing_key="q")
        client.settle()
        client.forget()
        client.feed(client.method("basic.nack", delivery_tag=1, requeue=requeue))
        assert client.of(Settled) == [Settled((handle,), Rejected())]
        assert handle.result == Rejected()
        assert client.out == b""


@pytest.mark.rule("0-9-1/rabbitmq/confirm.no-time")
def test_nothing_is_assumed_on_how_soon_confirms_come() -> None:
    client = confirming()
    handle = client.channel.publish(b"x", routing_key="q")
    client.settle()
    assert client.end.next_deadline is None
    client.wait(1_000_000.0)
    assert not handle.done
    client.feed(client.method("basic.ack", delivery_tag=1))
    assert handle.result == Accepted()


@pytest.mark.rule("0-9-1/basic.return/reason")
def test_a_return_before_the_confirm_is_the_outcome() -> None:
    client = confirming()
    handle = client.channel.publish(b"x", routing_key="nowhere", mandatory=True)
    client.feed(client.message("basic.return", b"x", reply_code=312, reply_text="NO_ROUTE", routing_key="nowhere"))
    (returned,) = client.of(MessageReturned)
    assert (returned.handle, returned.reply_code) == (handle, 312)
    assert not handle.done
    client.feed(client.method("basic.ack", delivery_tag=1))
    assert handle.result == Returned(312, "NO_ROUTE")


@pytest.mark.rule("0-9-1/rabbitmq/basic.nack.during-content")
def test_a_server_reads_a_nack_while_it_sends_content() -> None:
    pair = Pair(AMQP_0_9_1).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    peer = pair.peer(channel)
    handle = peer.begin(pair.method("basic.deliver", consumer_tag="t", delivery_tag=1), BasicProperties(), 10)
    peer.continue_body(b"01234")
    pair.pump()
    channel.send(pair.method("basic.nack", delivery_tag=1, multiple=True, requeue=False))
    pair.pump()
    assert handle.result == Rejected()
    peer.continue_body(b"56789")
    pair.pump()
    assert channel.is_open


# Cancel notify, blocked, update-secret.


@pytest.mark.rule("0-9-1/rabbitmq/basic.cancel.notify", "0-9-1/rabbitmq/basic.cancel.capability")
def test_a_server_ends_a_consumer_of_a_client_that_announced_it() -> None:
    pair = Pair(AMQP_0_9_1).open()
    channel = pair.channel()
    channel.call(pair.method("basic.consume", queue="q", consumer_tag="t"))
    pair.pump()
    pair.peer(channel).call(pair.method("basic.cancel", consumer_tag="t", no_wait=True))
    pair.pump()
    assert pair.take(CLIENT, ConsumerCancelled) == [ConsumerCancelled(1, "t")]


@pytest.mark.parametrize(
    ("name", "rule"),
    [("basic.cancel", "rabbitmq/basic.cancel.capability"), ("connection.blocked", "rabbitmq/connection.blocked")],
)
@pytest.mark.parametrize("capabilities", [None, {}, {"other": True}, "text"])
@pytest.mark.rule("0-9-1/rabbitmq/basic.cancel.capability")
def test_extensions_go_only_to_clients_that_announced_them(name: str, rule: str, capabilities: object) -> None:
    server = Facing(AMQP_0_9_1, SERVER, server_config())
    properties = {} if capabilities is None else {"capabilities": capabilities}
    server.feed(AMQP_0_9_1.header, start_ok(server, client_properties=properties))
    server.end.accept_authentication()
    server.feed(tune_ok(server, 10, 4096), server.method("connection.open", 0, virtual_host="/"))
    server.end.accept_open()
    server.feed(server.method("channel.open"), server.method("basic.consume", queue="q", consumer_tag="t"))
    server.channel.reply(server.make("basic.consume-ok", consumer_tag="t"))
    if name == "basic.cancel":
        cancel = server.make(name, consumer_tag="t", no_wait=True)
        server.misuse(lambda: server.channel.call(cancel), rule)
    else:
        server.misuse(lambda: server.end.send(server.make(name, reason="memory")), rule)


@pytest.mark.rule("0-9-1/rabbitmq/connection.blocked")
def test_a_blocked_connection_is_told() -> None:
    pair = Pair(AMQP_0_9_1).open()
    pair.server.send(pair.method("connection.blocked", reason="low on memory"))
    pair.server.send(pair.method("connection.unblocked"))
    pair.pump()
    assert pair.take(CLIENT)[-2:] == [Blocked("low on memory"), Unblocked()]


@pytest.mark.rule("0-9-1/rabbitmq/connection.update-secret")
def test_a_client_renews_its_secret() -> None:
    pair = Pair(AMQP_0_9_1, applications={SERVER: Server()}).open()
    update = pair.method("connection.update-secret", new_secret=b"token", reason="expiry")
    handle = pair.client.call(update)
    pair.pump()
    (request,) = pair.take(SERVER, Request)
    assert request.method.new_secret == b"token"
    assert handle.result.NAME == "connection.update-secret-ok"
