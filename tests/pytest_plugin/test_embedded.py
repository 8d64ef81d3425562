"""The embedded broker by itself: what is in it, its clock, its history, its topology."""

import asyncio
import doctest
import importlib
import json
import re
import threading
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import BasicProperties, QueueDeclare
from amqp_sansio.broker import Settings
from amqp_sansio.errors import AmqpError
from amqp_sansio_pytest import EmbeddedBroker, NoSuchNode, NotAsExpected
from amqp_sansio_sync import connect

TOPOLOGY = {
    "exchanges": {"orders": "topic", "dead": {"type": "fanout", "durable": False}},
    "queues": {"jobs": {"arguments": {"x-dead-letter-exchange": "dead", "x-message-ttl": 1000}}, "graves": None},
    "bindings": [("orders", "jobs", "order.#"), {"source": "dead", "destination": "graves"}],
}
RABBIT: dict[str, Any] = {
    "rabbit_version": "4.0.5",
    "users": [{"name": "app", "password_hash": "aGFzaA==", "tags": []}],
    "vhosts": [{"name": "/"}, {"name": "shop"}],
    "permissions": [{"user": "app", "vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}],
    "policies": [],
    "queues": [
        {"name": "jobs", "vhost": "shop", "durable": True, "auto_delete": False,
         "arguments": {"x-queue-type": "quorum"}}
    ],
    "exchanges": [
        {"name": "orders", "vhost": "shop", "type": "topic", "durable": True, "auto_delete": False, "internal": False,
         "arguments": {}},
        {"name": "all", "vhost": "shop", "type": "fanout", "durable": True, "auto_delete": False, "internal": True,
         "arguments": {}},
    ],
    "bindings": [
        {"source": "orders", "vhost": "shop", "destination": "all", "destination_type": "exchange",
         "routing_key": "#", "arguments": {}},
        {"source": "all", "vhost": "shop", "destination": "jobs", "destination_type": "queue",
         "routing_key": "", "arguments": {}},
    ],
}  # fmt: skip


# Without pytest.


def test_in_a_with_statement() -> None:
    with EmbeddedBroker(definitions={"queues": ["jobs"]}) as broker:
        assert broker.is_running
        assert broker.publish("hello", routing_key="jobs")
        message = broker.get("jobs")
        assert message is not None
        assert (message.body, message.state) == (b"hello", "archived")
        assert broker.get("jobs") is None
        port = broker.port
    assert not broker.is_running
    assert repr(broker) == "<EmbeddedBroker not running>"
    with pytest.raises(RuntimeError, match="isn't running"):
        _ = broker.url
    with pytest.raises(RuntimeError, match="isn't running"):
        _ = broker.queues
    broker.stop()
    with EmbeddedBroker(port=port) as again:
        assert again.port == port
        with pytest.raises(RuntimeError, match="runs already"):
            again.start()
        with pytest.raises(OSError, match=r"[Aa]ddress"):
            EmbeddedBroker(port=port).start()


def test_no_thread_is_left() -> None:
    before = set(threading.enumerate())
    for _ in range(10):
        with EmbeddedBroker() as broker:
            connection = connect(broker.url)
        left = {each.name for each in threading.enumerate() if each not in before}
        assert left <= {"amqp-sansio-keeper"}, "stop() waits for whatever the broker started"
        with pytest.raises(AmqpError):
            connection.open_channel()
        connection.close()
        assert set(threading.enumerate()) <= before


def test_arguments_that_are_wrong() -> None:
    odd: Any = "odd"
    with pytest.raises(ValueError, match="virtual"):
        EmbeddedBroker(clock=odd)
    with pytest.raises(ValueError, match="mechanism"):
        EmbeddedBroker(settings=Settings(mechanisms=("ODD",)))


def test_the_brokers_own_thread_does_not_wait_for_itself(amqp_broker: EmbeddedBroker) -> None:
    with pytest.raises(RuntimeError, match="wait for itself"):
        amqp_broker.call(lambda: amqp_broker.queues)


def test_any_thread_may_ask(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": ["jobs"]})

    def publish() -> None:
        for _ in range(20):
            amqp_broker.publish(b"x", routing_key="jobs")

    threads = [threading.Thread(target=publish) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert amqp_broker.queue("jobs").ready == 80


# What is in it.


def test_queues_and_exchanges(amqp_broker: EmbeddedBroker) -> None:
    assert repr(amqp_broker.preload(TOPOLOGY)) == "<Preloaded: 2 exchanges, 2 queues, 2 bindings>"
    jobs, orders = amqp_broker.queue("jobs"), amqp_broker.exchange("orders")
    assert (jobs.exists, jobs.durable, jobs.auto_delete, jobs.exclusive) == (True, True, False, False)
    assert jobs.arguments["x-dead-letter-exchange"] == "dead"
    assert (orders.type, orders.durable, orders.internal, orders.exists) == ("topic", True, False, True)
    (binding,) = orders.bindings
    assert binding == ("jobs", "queue", "order.#", {})
    assert not amqp_broker.exchange("dead").durable
    assert amqp_broker.queues == ("jobs", "graves")
    with connect(amqp_broker.url) as connection:
        connection.open_channel().call(QueueDeclare("mine", exclusive=True))
        assert amqp_broker.queue("mine").exclusive
    amqp_broker.publish(b"1", exchange="orders", routing_key="order.paid", headers={"a": 1})
    amqp_broker.publish(b"2", routing_key="jobs", properties=BasicProperties(priority=9, delivery_mode=2))
    first, second = amqp_broker.messages("jobs")
    assert (first.body, first.priority, first.persistent) == (b"2", 9, True)
    assert (second.headers, second.routing_key, second.expires_at) == ({"a": 1}, "order.paid", 1.0)
    assert jobs.purge() == 2
    jobs.delete()
    assert not jobs.exists
    assert not orders.bindings


def test_what_is_not_there(amqp_broker: EmbeddedBroker) -> None:
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


def test_definitions_as_rabbitmq_exports_them(amqp_broker: EmbeddedBroker, tmp_path: Path) -> None:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(RABBIT))
    loaded = amqp_broker.preload(path)
    assert (loaded.vhosts, loaded.exchanges, loaded.queues, loaded.bindings) == (2, 2, 1, 2)
    assert loaded.ignored == ("rabbit_version", "users", "permissions")
    assert "ignored: rabbit_version" in repr(loaded)
    assert amqp_broker.publish(b"1", exchange="orders", routing_key="a.b", vhost="shop")
    assert amqp_broker.queue("jobs", vhost="shop").ready == 1
    assert amqp_broker.exchange("all", vhost="shop").internal
    with connect(amqp_broker.url_for(vhost="shop")) as connection:
        assert connection.open_channel().call(QueueDeclare("jobs", passive=True)).message_count == 1


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
def test_definitions_that_are_wrong(amqp_broker: EmbeddedBroker, definitions: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        amqp_broker.preload(definitions)


def test_files_that_hold_no_definitions(amqp_broker: EmbeddedBroker, tmp_path: Path) -> None:
    path = tmp_path / "definitions.json"
    for text in ("[]", "{"):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"definitions\.json"):
            amqp_broker.preload(path)
    with pytest.raises(FileNotFoundError):
        EmbeddedBroker(definitions=tmp_path / "nothing.json").start()


def test_a_restart_keeps_what_is_durable(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": {"kept": {}, "lost": {"durable": False}}})
    connection = connect(amqp_broker.url)
    amqp_broker.publish(b"lost", routing_key="kept")
    amqp_broker.publish(b"kept", routing_key="kept", properties=BasicProperties(delivery_mode=2))
    port = amqp_broker.port
    amqp_broker.restart()
    assert amqp_broker.queues == ("kept",)
    assert [each.body for each in amqp_broker.messages("kept")] == [b"kept"]
    assert (amqp_broker.port, amqp_broker.connections) == (port, ())
    with pytest.raises(AmqpError):
        connection.open_channel()
    with connect(amqp_broker.url) as again:
        assert again.is_open


# Time.


def test_messages_expire_and_die_without_sleeping(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"1", routing_key="jobs")
    assert amqp_broker.clock.advance(0.999) == 0.999
    assert amqp_broker.queue("jobs").ready == 1
    amqp_broker.clock.advance(0.001)
    assert (amqp_broker.queue("jobs").ready, amqp_broker.queue("graves").ready) == (0, 1)
    (expired,) = amqp_broker.history.assert_expired(queue="jobs", body="1", count=1)
    assert expired.at == 1.0
    amqp_broker.history.assert_dead_lettered(queue="jobs", reason="expired", count=1)
    assert "virtual" in repr(amqp_broker.clock)


def test_messages_that_no_queue_takes_and_that_nobody_wants(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": {"jobs": {}}})
    amqp_broker.publish(b"lost", routing_key="nowhere")
    amqp_broker.publish(b"bad", routing_key="jobs")
    with connect(amqp_broker.url) as connection:
        delivery = connection.open_channel().get("jobs")
        assert delivery is not None
        delivery.reject()
    history = amqp_broker.history
    assert history.assert_unroutable(count=1).bodies == [b"lost"]
    assert history.assert_rejected(queue="jobs", count=1).bodies == [b"bad"]
    with pytest.raises(NotAsExpected):
        history.assert_rejected(body="lost")


def test_queues_expire(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": {"brief": {"arguments": {"x-expires": 60_000}}}})
    amqp_broker.clock.advance(59)
    assert amqp_broker.queue("brief").exists
    amqp_broker.clock.advance(1)
    assert not amqp_broker.queue("brief").exists


def test_who_says_nothing_for_too_long_is_cut_off(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        connection.open_channel().call(QueueDeclare("jobs"))
        # Hours in which the client is alive, as it is.
        amqp_broker.clock.advance(10 * 3600)
        assert len(amqp_broker.connections) == 1
        connection.open_channel()
    connection = connect(amqp_broker.url)
    amqp_broker.clock.advance(10 * 3600, silent=True)
    assert not amqp_broker.connections
    with pytest.raises(AmqpError):
        connection.open_channel()


def test_a_client_that_never_speaks_is_given_up(amqp_broker: EmbeddedBroker) -> None:
    import socket

    with socket.create_connection(("127.0.0.1", amqp_broker.port)) as client:
        amqp_broker.wait_for(lambda broker: broker.connections)
        assert "no version yet" in repr(amqp_broker.connections[0])
        amqp_broker.clock.advance(3600)
        assert amqp_broker.connections == ()
        assert client.recv(100) == b""


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_time_does_not_run_backwards(amqp_broker: EmbeddedBroker, seconds: float) -> None:
    with pytest.raises(ValueError, match="can't advance"):
        amqp_broker.clock.advance(seconds)


@pytest.mark.amqp_broker(clock="real", definitions={"queues": {"q": {"arguments": {"x-message-ttl": 20}}}})
def test_real_time_passes_by_itself(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.publish(b"1", routing_key="q")
    amqp_broker.history.wait_for("expired", queue="q")
    amqp_broker.publish(b"2", routing_key="q")
    amqp_broker.clock.advance(60)
    amqp_broker.history.assert_expired(body="2")


# History.


def test_asking_the_history(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"17", exchange="orders", routing_key="order.paid", headers={"kind": "a", "x": 1})
    amqp_broker.publish(b"18", exchange="orders", routing_key="nothing")
    history = amqp_broker.history
    assert history.published(headers={"kind": "a"}).bodies == [b"17"]
    assert history.published(body=re.compile(rb"^\d+$")).bodies == [b"17", b"18"]
    assert history.published(body=b"17".__lt__).bodies == [b"18"]
    assert history.published(queue="jobs", user="(test)")[0].exchange == "orders"
    assert history.unroutable().bodies == [b"18"]
    assert [each.kind for each in history] == ["published", "routed", "published", "unroutable"]
    assert len(history.published()[1:]) == 1
    assert history.routed(queue="jobs", redelivered=False, vhost="/")
    assert "<Happenings: 2>\n" in repr(history.published())
    assert repr(history.expired()) == "<Happenings: none>"
    assert repr(history) == "<HistoryView, 4 records>"
    with pytest.raises(TypeError, match="colour"):
        history.published(colour="red")
    history.clear()
    assert len(history) == 0


def test_assertions_explain_themselves(amqp_broker: EmbeddedBroker) -> None:
    history = amqp_broker.history
    with pytest.raises(NotAsExpected, match="at least one published expected, none found\nnothing has happened"):
        history.assert_published()
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.publish(b"17", exchange="orders", routing_key="order.paid", headers={"kind": "a"})
    with pytest.raises(NotAsExpected) as caught:
        history.assert_published(queue="mails", body="18", headers={"kind": "b"})
    for part in (
        "at least one published expected with queue='mails', body='18', headers={'kind': 'b'}, none found",
        "it came into 'jobs', not 'mails'; body is b'17'; of its headers are other: {'kind': 'a'}",
    ):
        assert part in str(caught.value)
    with pytest.raises(NotAsExpected, match="2 published expected with queue='jobs', 1 found"):
        history.assert_published(queue="jobs", count=2)
    with pytest.raises(NotAsExpected, match="0 published expected, 1 found"):
        history.assert_not_published()
    with pytest.raises(NotAsExpected, match=r"nothing was accepted; all that happened:\n.*published"):
        history.assert_accepted()
    with pytest.raises(NotAsExpected, match="nothing was accepted or rejected or released"):
        history.assert_settled()


def test_waiting_for_what_happens(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": ["jobs"]})
    timer = threading.Timer(0.02, lambda: amqp_broker.publish(b"late", routing_key="jobs"))
    timer.start()
    assert amqp_broker.history.wait_for("routed", queue="jobs").bodies == [b"late"]
    timer.join()
    assert amqp_broker.history.wait_for(("routed", "published"), count=2).bodies == [b"late"] * 2
    assert len(amqp_broker.history.wait_for(lambda history: history.published(body="late"))) == 2
    with pytest.raises(NotAsExpected, match=r"within 0.01 s: 2 routed expected, 1 found"):
        amqp_broker.history.wait_for("routed", count=2, timeout=0.01)
    with pytest.raises(AssertionError, match="it gives 0"):
        amqp_broker.wait_for(lambda broker: broker.queue("jobs").consumers, timeout=0.01)


@pytest.mark.amqp_broker(history=0)
def test_a_broker_without_history(amqp_broker: EmbeddedBroker) -> None:
    with pytest.raises(RuntimeError, match="keeps no history"):
        amqp_broker.history.published()


def test_what_goes_wrong_in_the_broker_is_told(amqp_broker: EmbeddedBroker) -> None:
    def fail() -> None:
        raise ZeroDivisionError("on purpose")

    amqp_broker.call(lambda: asyncio.get_running_loop().call_soon(fail))
    amqp_broker.wait_for(lambda broker: broker.errors)
    assert isinstance(amqp_broker.errors.pop(), ZeroDivisionError)


def test_the_examples_run() -> None:
    module = importlib.import_module("amqp_sansio_pytest")
    names = {"EmbeddedBroker": EmbeddedBroker}
    failed, tried = doctest.testmod(module, globs=names)
    assert (failed, tried > 0) == (0, True)
    embedded = importlib.import_module("amqp_sansio_pytest.embedded")
    finder, runner = doctest.DocTestFinder(recurse=False), doctest.DocTestRunner()
    for test in finder.find(embedded.EmbeddedBroker, globs=dict(names)):
        assert runner.run(test).failed == 0
