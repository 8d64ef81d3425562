"""What is in the embedded broker, as a test sees it: queues, exchanges, messages; and what is not there."""

from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.broker import Settings
from amqp_sansio_pytest import EmbeddedBroker, NoSuchNode
from tests.kit.definitions import TOPOLOGY
from tests.kit.held_broker import HeldBroker


def test_arguments_that_are_wrong() -> None:
    odd: Any = "odd"
    with pytest.raises(ValueError, match="virtual"):
        EmbeddedBroker(clock=odd)
    with pytest.raises(ValueError, match="mechanism"):
        EmbeddedBroker(settings=Settings(mechanisms=("ODD",)))


def test_queues_and_exchanges(amqp_broker: HeldBroker) -> None:
    assert repr(amqp_broker.preload(TOPOLOGY)) == "<Preloaded: 2 exchanges, 2 queues, 2 bindings>"
    jobs, orders = amqp_broker.queue("jobs"), amqp_broker.exchange("orders")
    assert (jobs.exists, jobs.durable, jobs.auto_delete, jobs.exclusive) == (True, True, False, False)
    assert jobs.arguments["x-dead-letter-exchange"] == "dead"
    assert (orders.type, orders.durable, orders.internal, orders.exists) == ("topic", True, False, True)
    (binding,) = orders.bindings
    assert binding == ("jobs", "queue", "order.#", {})
    assert not amqp_broker.exchange("dead").durable
    assert amqp_broker.queues == ("jobs", "graves")
    amqp_broker.publish(b"1", exchange="orders", routing_key="order.paid", headers={"a": 1})
    amqp_broker.publish(b"2", routing_key="jobs", properties=BasicProperties(priority=9, delivery_mode=2))
    first, second = amqp_broker.messages("jobs")
    assert (first.body, first.priority, first.persistent) == (b"2", 9, True)
    assert (second.headers, second.routing_key, second.expires_at) == ({"a": 1}, "order.paid", 1.0)
    assert jobs.purge() == 2
    jobs.delete()
    assert not jobs.exists
    assert not orders.bindings


def test_what_is_not_there(amqp_broker: HeldBroker) -> None:
    amqp_broker.preload({"queues": ["jobs", "mails"]})
    with pytest.raises(NoSuchNode, match=r"no queue 'jbos' .*there are: 'jobs', 'mails'"):
        _ = amqp_broker.queue("jbos").ready
    with pytest.raises(NoSuchNode, match=r"no exchange 'x'.*'amq.direct'"):
        _ = amqp_broker.exchange("x").type
    with pytest.raises(NoSuchNode):
        amqp_broker.get("jbos")
    with pytest.raises(LookupError, match="virtual host 'nowhere'"):
        amqp_broker.publish(b"", vhost="nowhere")
    with pytest.raises(ValueError, match="refuses it"):
        amqp_broker.publish(b"", exchange="nowhere")
    assert not amqp_broker.publish(b"", routing_key="nowhere")
    with pytest.raises(TypeError, match="not both"):
        amqp_broker.publish(b"", properties=BasicProperties(), headers={})
