"""What the calls of 0-8's and 0-9-1's channels return, and what the broker has of them afterwards."""

from __future__ import annotations

import pytest

from amqp_sansio import AMQP_0_9_1, EndpointClosed
from amqp_sansio import amqp_0_9_1 as amqp
from amqp_sansio.amqp_0_9_1 import spec
from amqp_sansio.client.classic.channel import Channel
from tests.kit.user import ClassicUser


@pytest.fixture
def user() -> ClassicUser:
    """A client of 0-9-1, connected."""
    return ClassicUser(AMQP_0_9_1)


@pytest.fixture
def channel(user: ClassicUser) -> Channel:
    """An open channel of it."""
    return user.channel(confirm=True)


def body_in(user: ClassicUser, channel: Channel, queue: str) -> bytes | None:
    """Take a message from a queue, and return its body."""
    delivery = user.run(channel.get(queue, no_ack=True))
    return None if delivery is None else delivery.body


def test_each_declaration_returns_the_answer_of_the_broker(user: ClassicUser, channel: Channel) -> None:
    run = user.run
    assert run(channel.declare_exchange("in", "fanout")) == spec.ExchangeDeclareOk()
    assert run(channel.declare_exchange("in", passive=True)) == spec.ExchangeDeclareOk()
    assert run(channel.declare_exchange("out", "topic")) == spec.ExchangeDeclareOk()
    assert run(channel.declare_queue("jobs", durable=True)) == spec.QueueDeclareOk("jobs", 0, 0)
    assert run(channel.bind_exchange("out", "in")) == spec.ExchangeBindOk()
    assert run(channel.bind_queue("jobs", "out", "#")) == spec.QueueBindOk()
    run(channel.publish(b"1", exchange="in", routing_key="key"))
    assert run(channel.declare_queue("jobs", passive=True)) == spec.QueueDeclareOk("jobs", 1, 0)
    assert run(channel.purge_queue("jobs")) == spec.QueuePurgeOk(1)
    assert run(channel.unbind_queue("jobs", "out", "#")) == spec.QueueUnbindOk()
    assert run(channel.unbind_exchange("out", "in")) == spec.ExchangeUnbindOk()
    assert run(channel.delete_exchange("in")) == spec.ExchangeDeleteOk()
    run(channel.publish(b"2", routing_key="jobs"))
    assert run(channel.delete_queue("jobs")) == spec.QueueDeleteOk(1)


def test_an_exchange_that_is_unbound_gets_nothing_more(user: ClassicUser, channel: Channel) -> None:
    """The same key, source and destination are needed: another binding stays."""
    run = user.run
    run(channel.declare_exchange("in", "direct"))
    run(channel.declare_exchange("out", "fanout"))
    run(channel.declare_queue("jobs", durable=True))
    run(channel.bind_queue("jobs", "out"))
    for key in ("a", "b"):
        run(channel.bind_exchange("out", "in", key, arguments={"x": 1}))
    run(channel.unbind_exchange("out", "in", "a", arguments={"x": 1}))
    for key in ("a", "b"):
        run(channel.publish(key.encode(), exchange="in", routing_key=key))
    assert body_in(user, channel, "jobs") == b"b"
    assert body_in(user, channel, "jobs") is None


def test_a_binding_of_other_arguments_stays(user: ClassicUser, channel: Channel) -> None:
    run = user.run
    run(channel.declare_exchange("in", "headers"))
    run(channel.declare_exchange("out", "fanout"))
    run(channel.declare_queue("jobs", durable=True))
    run(channel.bind_queue("jobs", "out"))
    run(channel.bind_exchange("out", "in", arguments={"x-match": "all", "kind": 1}))
    run(channel.bind_exchange("out", "in", arguments={"x-match": "all", "kind": 2}))
    run(channel.unbind_exchange("out", "in", arguments={"x-match": "all", "kind": 1}))
    for kind in (1, 2):
        properties = amqp.BasicProperties(headers={"kind": kind})
        run(channel.publish(b"%d" % kind, exchange="in", properties=properties))
    assert body_in(user, channel, "jobs") == b"2"
    assert body_in(user, channel, "jobs") is None


def test_a_binding_of_an_exchange_that_is_missing_is_refused(user: ClassicUser, channel: Channel) -> None:
    with pytest.raises(EndpointClosed, match="404"):
        user.run(channel.bind_exchange("out", "nothing"))
    assert not channel.is_open
    assert user.connection.is_open


def test_a_binding_that_is_missing_may_be_unbound(user: ClassicUser, channel: Channel) -> None:
    """RabbitMQ's broker answers it as well: what was asked for is so."""
    assert user.run(channel.unbind_exchange("out", "nothing")) == spec.ExchangeUnbindOk()
    assert channel.is_open
