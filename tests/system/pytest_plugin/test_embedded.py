"""The embedded broker by itself: what is in it, its clock, its history, its topology."""

import asyncio
import doctest
import importlib
import json
import threading
from pathlib import Path

import pytest

from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.errors import AmqpError
from amqp_sansio_pytest import EmbeddedBroker, NotAsExpected
from amqp_sansio_sync import connect
from tests.kit.definitions import RABBIT, TOPOLOGY

# Without pytest.


def test_a_loop_that_cant_be_made_is_an_error_of_start(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> asyncio.AbstractEventLoop:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(asyncio, "SelectorEventLoop", fails)
    broker = EmbeddedBroker()
    with pytest.raises(OSError, match="Too many open files"):
        broker.start()
    assert not broker.is_running


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


def test_a_client_and_the_test_see_the_same_queues(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    with connect(amqp_broker.url) as connection:
        connection.open_channel().call(QueueDeclare("mine", exclusive=True))
        assert amqp_broker.queue("mine").exclusive
    amqp_broker.publish(b"1", routing_key="jobs")
    assert amqp_broker.queue("jobs").purge() == 1
    amqp_broker.queue("jobs").delete()
    assert amqp_broker.queues == ("graves",)


def test_clients_find_what_rabbitmq_exported(amqp_broker: EmbeddedBroker, tmp_path: Path) -> None:
    path = tmp_path / "definitions.json"
    path.write_text(json.dumps(RABBIT))
    amqp_broker.preload(path)
    amqp_broker.publish(b"1", exchange="orders", routing_key="a.b", vhost="shop")
    with connect(amqp_broker.url_for(vhost="shop")) as connection:
        assert connection.open_channel().call(QueueDeclare("jobs", passive=True)).message_count == 1
    with pytest.raises(FileNotFoundError):
        EmbeddedBroker(definitions=tmp_path / "nothing.json").start()


def test_messages_and_queues_expire_without_sleeping(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload(TOPOLOGY)
    amqp_broker.preload({"queues": {"brief": {"arguments": {"x-expires": 60_000}}}})
    amqp_broker.publish(b"1", routing_key="jobs")
    assert amqp_broker.clock.advance(0.999) == 0.999
    assert amqp_broker.queue("jobs").ready == 1
    amqp_broker.clock.advance(0.001)
    assert (amqp_broker.queue("jobs").ready, amqp_broker.queue("graves").ready) == (0, 1)
    (expired,) = amqp_broker.history.assert_expired(queue="jobs", body="1", count=1)
    assert expired.at == 1.0
    amqp_broker.clock.advance(59)
    assert not amqp_broker.queue("brief").exists


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


def test_who_says_nothing_for_too_long_is_cut_off(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        connection.open_channel().call(QueueDeclare("jobs", durable=True))
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


@pytest.mark.amqp_broker(clock="real", definitions={"queues": {"q": {"arguments": {"x-message-ttl": 20}}}})
def test_real_time_passes_by_itself(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.publish(b"1", routing_key="q")
    amqp_broker.history.wait_for("expired", queue="q")
    amqp_broker.publish(b"2", routing_key="q")
    amqp_broker.clock.advance(60)
    amqp_broker.history.assert_expired(body="2")


# History.


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
