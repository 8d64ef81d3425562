"""The management API of the embedded broker with AMQPStorm's client of it, unmodified."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from amqp_sansio_pytest import EmbeddedBroker

# Its types aren't whole.
amqpstorm: Any = import_module("amqpstorm")
management: Any = import_module("amqpstorm.management")


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    with EmbeddedBroker(clock="real") as broker:
        yield broker
        assert broker.errors == []


@pytest.fixture
def api(broker: EmbeddedBroker) -> Any:
    return management.ManagementApi(broker.management_url, "guest", "guest")


def connect(broker: EmbeddedBroker, **changes: Any) -> Any:
    return amqpstorm.Connection("127.0.0.1", "guest", "guest", port=broker.port, timeout=5, **changes)


def test_queues(api: Any) -> None:
    for number in range(5):
        api.queue.declare(f"jobs.{number}", durable=True, arguments={"x-max-length": 7})
    found = api.queue.get("jobs.1")
    assert (found["durable"], found["arguments"], found["messages"]) == (True, {"x-max-length": 7}, 0)
    assert [each["name"] for each in api.queue.list(page_size=2)] == [f"jobs.{number}" for number in range(5)]
    assert [each["name"] for each in api.queue.list(name=r"\.[34]$", use_regex=True)] == ["jobs.3", "jobs.4"]
    assert len(api.queue.list(show_all=True)) == 5
    assert api.queue.declare("jobs.1", passive=True)["name"] == "jobs.1"
    with pytest.raises(management.ApiError) as failed:
        api.queue.declare("jobs.1", durable=False)
    assert failed.value.error_code == 400
    api.queue.delete("jobs.1")
    with pytest.raises(management.ApiError) as failed:
        api.queue.get("jobs.1")
    assert failed.value.error_code == 404


def test_messages(api: Any) -> None:
    api.queue.declare("jobs", durable=True)
    properties = {"delivery_mode": 2, "headers": {"n": 1}}
    assert api.basic.publish("hello", "jobs", properties=properties) == {"routed": True}
    assert api.basic.publish("hello", "nowhere") == {"routed": False}
    assert api.queue.get("jobs")["messages_ready"] == 1
    (message,) = api.basic.get("jobs", requeue=True)
    assert (message.body, message.properties["headers"]) == ("hello", {"n": 1})
    (message,) = api.basic.get("jobs", requeue=False, to_dict=True)
    assert (message["payload"], message["redelivered"]) == ("hello", True)
    assert api.basic.get("jobs") == []
    api.basic.publish("again", "jobs")
    api.queue.purge("jobs")
    assert api.queue.get("jobs")["messages"] == 0


def test_exchanges_and_bindings(api: Any) -> None:
    api.exchange.declare("orders", "topic", durable=True)
    api.queue.declare("jobs", durable=True)
    api.queue.bind("jobs", "orders", "a.#")
    assert {each["source"] for each in api.queue.bindings("jobs")} == {"", "orders"}
    assert [each["routing_key"] for each in api.exchange.bindings("orders")] == ["a.#"]
    assert api.basic.publish("x", "a.b", "orders") == {"routed": True}
    # It names a binding by its routing key, as it stands in the path.
    api.queue.bind("jobs", "orders", "plain")
    api.queue.unbind("jobs", "orders", "plain")
    assert [each["routing_key"] for each in api.exchange.bindings("orders")] == ["a.#"]
    api.exchange.declare("all", "fanout", durable=True)
    api.exchange.bind("all", "orders", "x")
    assert {each["destination"] for each in api.exchange.bindings("orders")} == {"jobs", "all"}
    api.exchange.unbind("all", "orders", "x")
    assert "orders" in [each["name"] for each in api.exchange.list()]
    api.exchange.delete("orders")
    with pytest.raises(management.ApiError):
        api.exchange.get("orders")


def test_connections_and_channels(broker: EmbeddedBroker, api: Any) -> None:
    with connect(broker, client_properties={"connection_name": "mine"}) as connection, connection.channel() as channel:
        channel.basic.qos(7)
        channel.queue.declare("jobs", durable=True)
        channel.basic.consume(print, "jobs", consumer_tag="me")
        (row,) = api.connection.list()
        assert (row["user"], row["vhost"], row["channels"], row["state"]) == ("guest", "/", 1, "running")
        assert row["client_properties"]["connection_name"] == row["user_provided_name"] == "mine"
        assert api.connection.get(row["name"]) == row
        (told,) = api.channel.list()
        assert (told["number"], told["prefetch_count"], told["consumer_count"]) == (1, 7, 1)
        assert api.channel.get(told["name"])["consumer_details"][0]["consumer_tag"] == "me"
    assert api.connection.list() == []


def test_a_connection_is_closed(broker: EmbeddedBroker, api: Any) -> None:
    connection = connect(broker)
    channel = connection.channel()
    (row,) = api.connection.list()
    api.connection.close(row["name"], reason="enough")
    with pytest.raises(amqpstorm.AMQPConnectionError, match="enough"):
        while True:
            channel.queue.declare("jobs", durable=True)
    assert api.connection.list() == []


def test_the_broker(broker: EmbeddedBroker, api: Any) -> None:
    assert api.overview()["object_totals"]["queues"] == 0
    assert api.whoami() == {"name": "guest", "tags": ["administrator"]}
    assert api.aliveness_test() == {"status": "ok"}
    assert len(api.nodes()) == 1
    api.virtual_host.create("test")
    assert [each["name"] for each in api.virtual_host.list()] == ["/", "test"]
    api.queue.declare("jobs", virtual_host="test", durable=True)
    assert api.queue.get("jobs", virtual_host="test")["vhost"] == "test"
    assert api.healthchecks.get() == {"status": "ok"}
    wrong = management.ManagementApi(broker.management_url, "guest", "wrong")
    with pytest.raises(management.ApiError) as failed:
        wrong.whoami()
    assert failed.value.error_code == 401
