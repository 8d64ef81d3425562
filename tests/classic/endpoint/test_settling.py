"""Settling: deliveries and publishes by tag, by number, many at once, by recover and by transaction."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import (
    AMQP_0_8,
    AMQP_0_9_1,
    Accepted,
    EndpointClosed,
    Failed,
    LimitExceeded,
    Limits,
    LocalProtocolError,
    Rejected,
    Released,
    Settled,
    Version,
)
from amqp_sansio._classic.codec.dialect import get_dialect
from amqp_sansio._classic.model.channel_state import take_up_to
from amqp_sansio.amqp_0_9_1 import BasicProperties, MessageReturned, MethodReceived, Returned
from amqp_sansio.endpoint import Side
from tests.kit.facing import Facing
from tests.kit.pair import Pair, client_config, server_config


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


def test_one_event_settles_many(version: Version) -> None:
    pair, channel, _, handles = delivered(version, 5)
    channel.accept(2)
    channel.accept(4, multiple=True)
    channel.release(5)
    pair.pump()
    events = pair.take(Side.SERVER)
    assert [type(event) for event in events] == [MethodReceived, Settled] * 3
    settled = [event for event in events if isinstance(event, Settled)]
    assert [event.handles for event in settled] == [
        (handles[1],),
        (handles[0], handles[2], handles[3]),
        (handles[4],),
    ]
    assert [event.state for event in settled] == [Accepted(), Accepted(), Released()]


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


@pytest.mark.rule("0-9-1/tx/scope", "0-8/tx.commit/new-tx", "0-9-1/tx.commit/new-tx")
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_settles_when_it_commits(version: Version, commit: bool) -> None:
    pair, channel, peer, handles = delivered(version, 3)
    channel.call(pair.method("tx.select"))
    channel.accept(1)
    channel.reject(2)
    pair.pump()
    assert not any([handle.done for handle in handles])
    assert len(pair.take(Side.SERVER, MethodReceived)) == 2
    with pytest.raises(LocalProtocolError):
        channel.accept(1)
    channel.call(pair.method("tx.commit" if commit else "tx.rollback"))
    pair.pump()
    if commit:
        assert [handle.done for handle in handles] == [True, True, False]
        assert [handle.result for handle in handles[:2]] == [Accepted(), Rejected()]
        assert list(channel.unsettled) == list(peer.unsettled) == [3]
    else:
        assert not any([handle.done for handle in handles])
        assert sorted(channel.unsettled) == sorted(peer.unsettled) == [1, 2, 3]
        channel.accept(3, multiple=True)
        channel.call(pair.method("tx.commit"))
        pair.pump()
        assert all([handle.done for handle in handles])


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
    channel = facing.channel
    channel.call(facing.make("confirm.select", no_wait=True))
    handles = [channel.publish(b"x") for _ in range(6)]
    for tag, multiple in ((5, False), (2, True), (4, True), (0, True)):
        facing.feed(facing.method("basic.ack", delivery_tag=tag, multiple=multiple))
    settled = [[handle.key for handle in event.handles] for event in facing.of(Settled)]
    keys = [handle.key for handle in handles]
    assert settled == [[keys[4]], keys[:2], keys[2:4], [keys[5]]]
    assert [handle.result for handle in handles] == [Accepted()] * 6


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
    ties = [event.handle for event in facing.of(MessageReturned)]
    assert ties == [handles[0], None, handles[2], handles[3]]
    back = Returned(312, "")
    outcomes: list[object] = [handle.result for handle in handles]
    assert outcomes == [back, Accepted(), back, back, Accepted()]


def test_publishes_sent_as_methods_are_counted_too() -> None:
    """They have no handle; their confirms are for the numbers only."""
    pair = Pair(AMQP_0_9_1).open()
    channel = pair.channel()
    channel.call(pair.method("confirm.select", no_wait=True))
    channel.send(pair.method("basic.publish", routing_key="q"), BasicProperties(), b"1")
    handle = channel.publish(b"2")
    channel.send(pair.method("basic.publish", routing_key="q"), BasicProperties(), b"3")
    pair.pump()
    assert channel.unconfirmed == {}
    assert [event.handles for event in pair.take(Side.CLIENT, Settled)] == [(handle,)]


def test_own_publishes_that_wait_are_limited() -> None:
    facing = Facing.opened(AMQP_0_9_1, Side.CLIENT, limits=Limits(unconfirmed=2))
    channel = facing.channel
    channel.call(facing.make("confirm.select", no_wait=True))
    for _ in range(2):
        channel.publish(b"x")
    with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
        channel.publish(b"x")
    with pytest.raises(LimitExceeded, match=r"Limits\.unconfirmed"):
        channel.send(facing.make("basic.publish"), BasicProperties(), b"x")


def test_between_an_error_and_its_end_nothing_can_be_done(client: Facing) -> None:
    channel = client.channel
    client.feed(client.method("basic.deliver", consumer_tag="nobody", delivery_tag=1))
    assert client.of(Failed)
    for command, words in (
        (lambda: channel.call(client.make("basic.qos")), "channel 1 is closed"),
        (lambda: channel.publish(b"x"), "channel 1 is closed"),
        (lambda: channel.accept(1), "channel 1 is closed"),
        (client.end.open_channel, "the connection is closing"),
    ):
        with pytest.raises(EndpointClosed, match=words) as caught:
            command()
        assert caught.value.report is not None
        assert caught.value.report.code
    channel.close()
    client.end.close()
    client.settle()
    assert client.names().count("connection.close") == 1
