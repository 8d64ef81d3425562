"""Delayed delivery: the exchange type x-delayed-message, the annotations of 1.0, and what is said of delays that
nothing honours."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.broker import Broker
from tests.kit.broker_model import content
from tests.kit.hub_classic import Talk, World


def delaying(world: World, kind: str = "direct", **fields: Any) -> Talk:
    """A channel, with a delaying exchange "later" to which its queue "q" is bound."""
    channel = world.channel()
    arguments = {"x-delayed-type": kind}
    made = channel.call(
        "exchange.declare", exchange="later", type="x-delayed-message", durable=True, arguments=arguments, **fields
    )
    assert made is not None
    channel.declare("q", durable=True)
    channel.call("queue.bind", queue="q", exchange="later", routing_key="k")
    return channel


def send(channel: Talk, body: bytes, delay: object = None, **properties: Any) -> None:
    headers = {} if delay is None else {"x-delay": delay}
    channel.publish(body, "k", "later", properties={"headers": headers, **properties}, mandatory=True)


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic"])
def test_a_message_is_routed_after_its_delay(kind: str) -> None:
    world = World()
    channel = delaying(world, kind)
    send(channel, b"two", 2000)
    send(channel, b"one", 1000)
    send(channel, b"now")
    assert channel.count("q") == 1
    world.advance(0.999)
    assert channel.count("q") == 1
    world.advance(0.001)
    assert channel.count("q") == 2
    world.advance(1)
    assert [channel.get("q", no_ack=True).body for _ in range(3)] == [b"now", b"one", b"two"]
    # It was taken, though no queue had it yet.
    assert not channel.returned()
    assert world.hub.model.ledger.octets == 0
    assert world.hub.next_deadline is None


@pytest.mark.parametrize("delay", [0, -5, "1000", True])
def test_what_is_no_delay_delays_nothing(delay: object) -> None:
    channel = delaying(World())
    send(channel, b"x", delay)
    assert channel.count("q") == 1


def test_what_is_bound_when_the_time_has_come_counts() -> None:
    world = World()
    channel = delaying(world)
    send(channel, b"x", 1000)
    channel.call("queue.unbind", queue="q", exchange="later", routing_key="k")
    channel.declare("other", durable=True)
    channel.call("queue.bind", queue="other", exchange="later", routing_key="k")
    world.advance(1)
    assert (channel.count("q"), channel.count("other")) == (0, 1)


def test_the_publisher_may_be_gone_and_so_may_the_exchange() -> None:
    world = World()
    gone, channel = delaying(world), world.channel()
    send(gone, b"x", 1000)
    gone.user.cut()
    world.advance(1)
    assert channel.count("q") == 1
    send(channel, b"y", 1000)
    channel.call("exchange.delete", exchange="later")
    world.advance(1)
    assert channel.count("q") == 1


def test_a_transaction_delays_from_its_commit_on() -> None:
    world = World()
    channel = delaying(world)
    channel.call("tx.select")
    send(channel, b"x", 1000)
    world.advance(5)
    channel.call("tx.commit")
    assert channel.count("q") == 0
    world.advance(1)
    assert channel.count("q") == 1


def test_persistent_messages_wait_through_a_restart_and_a_copy() -> None:
    world = World()
    channel = delaying(world)
    send(channel, b"stays", 1000, delivery_mode=2)
    send(channel, b"goes", 1000)
    channel.user.cut()
    world.hub.restart(world.now)
    copy = world.copied()
    for each in (world, copy):
        each.advance(2)
        other = each.channel()
        assert other.get("q", no_ack=True).body == b"stays"
        assert other.count("q") == 0
        assert each.hub.model.ledger.octets == 0


@pytest.mark.parametrize("arguments", [{}, {"x-delayed-type": "nothing"}, {"x-delayed-type": "x-delayed-message"}])
def test_an_exchange_that_delays_says_how_it_routes(arguments: dict[str, Any]) -> None:
    channel = World().channel()
    channel.call("exchange.declare", exchange="later", type="x-delayed-message", arguments=arguments)
    assert channel.error[:2] == ("channel", 406)
    assert "x-delayed-type" in channel.error[2]


def test_a_turn_routes_as_many_as_it_has_room_for() -> None:
    from amqp_sansio.broker import BrokerLimits

    broker = Broker(BrokerLimits(turn=100))
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    for number in range(1000):
        broker.apply(commands.Publish(owner, "", "q", content(b"%d" % number), delay=1.0), 0.0)
    assert broker.next_deadline == 1.0
    turns = 0
    broker.ledger.begin_turn(0)
    broker.handle_timeout(1.0)
    broker.ledger.end_turn()
    while broker.has_work:
        turns += 1
        broker.ledger.begin_turn(0)
        broker.work()
        broker.ledger.end_turn()
    assert turns >= 9
    queue = owner.find_queue("q")
    assert [each.message.content.body for each in queue.available()] == [b"%d" % each for each in range(1000)]


# Delays that nothing honours, and arguments that nobody knows.


def test_a_delay_that_nothing_honours_is_said_once() -> None:
    world = World()
    channel = world.channel()
    channel.declare("q", durable=True)
    for _ in range(2):
        channel.publish(b"x", "q", properties={"headers": {"x-delay": 1000}})
    assert world.hub.take_warnings() == (
        "header 'x-delay' of a message to exchange '' in vhost '/' delays nothing: the exchange is of type 'direct', "
        "not 'x-delayed-message'",
    )
    assert channel.count("q") == 2


def test_an_argument_that_nobody_knows_is_said_once() -> None:
    world = World()
    channel = world.channel()
    for name in ("a", "b"):
        channel.declare(name, durable=True, arguments={"x-mesage-ttl": 1000, "x-max-length": 5, "mine": 1})
    assert world.hub.take_warnings() == (
        "argument 'x-mesage-ttl' of queue 'a' in vhost '/' isn't known and has no effect; did you mean "
        "'x-message-ttl'?",
    )
