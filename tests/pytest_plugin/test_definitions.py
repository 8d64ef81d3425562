"""Definitions that the embedded broker is loaded with: short ones, those that RabbitMQ exports, and wrong ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.broker import Settings
from tests.kit.definitions import RABBIT
from tests.kit.held_broker import HeldBroker


def test_definitions_as_rabbitmq_exports_them(amqp_broker: HeldBroker, tmp_path: Path) -> None:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(RABBIT))
    loaded = amqp_broker.preload(path)
    assert (loaded.vhosts, loaded.exchanges, loaded.queues, loaded.bindings) == (2, 2, 1, 2)
    assert loaded.ignored == ("rabbit_version", "users", "permissions")
    assert "ignored: rabbit_version" in repr(loaded)
    assert amqp_broker.publish(b"1", exchange="orders", routing_key="a.b", vhost="shop")
    assert amqp_broker.queue("jobs", vhost="shop").ready == 1
    assert amqp_broker.exchange("all", vhost="shop").internal


@pytest.mark.parametrize(
    ("definitions", "text"),
    [
        ({"queues": "jobs"}, "a list or a mapping"),
        ({"queues": [7]}, "a name or a mapping"),
        ({"queues": {"jobs": 7}}, "'jobs' has 7"),
        ({"queues": [{"nome": "jobs"}]}, "no 'nome'; did you mean 'name'"),
        ({"queue": ["jobs"]}, "no part 'queue'; did you mean 'queues'"),
        ({"queues": [{"durable": True}]}, "needs 'name'"),
        ({"queues": [{"name": "q", "arguments": {"x-message-ttl": "soon"}}]}, "refuses it"),
        ({"exchanges": {"e": "odd"}}, "refuses it"),
        ({"bindings": [("nowhere", "jobs")]}, "refuses it"),
        ({"bindings": ["jobs"]}, "a binding is"),
        ({"bindings": [{"source": "amq.topic", "destination": "q", "destination_type": "pigeon"}]}, "pigeon"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_definitions_that_are_wrong(amqp_broker: HeldBroker, definitions: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        amqp_broker.preload(definitions)


def test_files_that_hold_no_definitions(amqp_broker: HeldBroker, tmp_path: Path) -> None:
    path = tmp_path / "definitions.json"
    for text in ("[]", "{"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"definitions\.json"):
            amqp_broker.preload(path)
    with pytest.raises(FileNotFoundError):
        HeldBroker(definitions=tmp_path / "nothing.json").start()


@pytest.mark.parametrize(
    ("settings", "limit"),
    [
        (Settings(), 20),
        (Settings(rabbitmq="3.13"), None),
        (Settings(dialect="rabbitmq"), 20),
        (Settings(dialect="specification"), None),
        (Settings(dialect="qpid"), None),
    ],
    ids=["default", "3.13", "rabbitmq", "specification", "qpid"],
)
def test_a_quorum_queue_has_the_releases_limit_where_the_broker_is_a_rabbitmq(
    settings: Settings, limit: int | None
) -> None:
    queue = {"name": "q", "arguments": {"x-queue-type": "quorum"}}
    with HeldBroker(settings=settings, definitions={"queues": [queue]}) as broker:
        assert broker.service.hub.model.vhosts["/"].queues["q"].options.delivery_limit == limit


def test_transient_queues_are_taken_whatever_the_release() -> None:
    with HeldBroker(rabbitmq="4.3", definitions={"queues": {"q": {"durable": False}}}) as broker:
        assert not broker.queue("q").durable
