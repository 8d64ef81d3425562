"""The fixture `service_bus`: entities, figures, the clock, and a client of this project over a real socket."""

import json
import socket
import time
from pathlib import Path

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted
from amqp_sansio.errors import LinkEnded
from amqp_sansio_pytest import ServiceBus
from amqp_sansio_sync import connect
from tests.system.cli.test_azure_command import upgrade

pytest_plugins = ["pytester"]


def url(service_bus: ServiceBus) -> str:
    return f"amqp://RootManageSharedAccessKey:SAS_KEY_VALUE@127.0.0.1:{service_bus.port}/"


def test_a_lock_that_ends_three_times_makes_a_dead_letter(service_bus: ServiceBus) -> None:
    orders = service_bus.queue("orders", lock_duration=30, max_delivery_count=3)
    with connect(url(service_bus), version=AMQP_1_0) as connection, connection.open_session() as session:
        with session.open_sender("orders") as sender:
            assert sender.send(b"hello") == Accepted()
        with session.open_receiver("orders", credit=10, timeout=10) as receiver:
            for _ in range(3):
                assert next(receiver).body == b"hello"
                assert orders.locked == 1
                service_bus.clock.advance(31)
        assert service_bus.queue("orders").dead_letters == 1
        with session.open_receiver("orders/$DeadLetterQueue", credit=1, timeout=10) as receiver:
            dead = next(receiver)
            assert dead.message.application_properties["DeadLetterReason"] == "MaxDeliveryCountExceeded"
            dead.accept()


def test_a_wrong_entity_ends_its_link_alone(service_bus: ServiceBus) -> None:
    service_bus.queue("orders")
    with connect(url(service_bus), version=AMQP_1_0) as connection, connection.open_session() as session:
        with pytest.raises(LinkEnded, match="amqp:not-found"):
            session.open_sender("nowhere")
        session.open_sender("orders").send(b"1")
    assert service_bus.queue("orders").active == 1


def test_entities_and_their_figures(service_bus: ServiceBus) -> None:
    queue = service_bus.queue("orders", requires_session=True)
    assert (queue.active, queue.locked, queue.deferred, queue.scheduled, queue.dead_letters, queue.receivers) == (
        0,
    ) * 6
    with pytest.raises(ValueError, match="there already"):
        service_bus.queue("orders", lock_duration=10)
    topic = service_bus.topic("news")
    with pytest.raises(ValueError, match="there already"):
        service_bus.topic("news", default_ttl=1.0)
    assert topic.subscription("all").path == "news/Subscriptions/all"
    with pytest.raises(ValueError, match="parse"):
        topic.subscription("bad", sql="1 =")
    service_bus.delete("news")
    with pytest.raises(LookupError, match="no topic"):
        _ = topic.scheduled
    with pytest.raises(LookupError, match="no entity"):
        service_bus.delete("news")
    service_bus.delete("orders")
    with pytest.raises(LookupError, match="no entity"):
        _ = queue.active
    assert "orders" in repr(queue) and queue.path == "orders"


def test_messages_are_purged(service_bus: ServiceBus) -> None:
    queue = service_bus.queue("orders")
    with connect(url(service_bus), version=AMQP_1_0) as connection, connection.open_session() as session:
        session.open_sender("orders").send(b"1")
    assert queue.purge() == 1 and queue.active == 0


def test_entities_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "Config.json"
    entities = {"Name": "ns", "Queues": [{"Name": "orders", "Properties": {"LockDuration": "PT10S"}}]}
    path.write_text(json.dumps({"UserConfig": {"Namespaces": [entities]}}))
    with ServiceBus(config=path) as service_bus:
        assert service_bus.queue("orders").active == 0
        assert service_bus.namespace.name == "ns"


def test_pages_of_other_origins_are_let_in() -> None:
    with ServiceBus(origins=["https://app.example"]) as service_bus:
        for origin, status in (("https://app.example", b"101"), ("https://evil.example", b"403")):
            with socket.create_connection(("127.0.0.1", service_bus.port), timeout=30) as client:
                client.sendall(upgrade(service_bus.port, origin))
                assert client.recv(100).startswith(b"HTTP/1.1 " + status)


def test_it_is_ready_at_once() -> None:
    took: list[float] = []
    for _ in range(5):
        start = time.process_time()
        with ServiceBus() as service_bus:
            service_bus.queue("orders")
            took.append(time.process_time() - start)
    # The first one imports; a busy machine makes any single one slow.
    assert min(took) < 0.06


def test_the_mark_passes_arguments(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.mark.service_bus(config={"UserConfig": {"Namespaces": [{"Queues": [{"Name": "a"}]}]}})
        def test_it(service_bus):
            assert service_bus.queue("a").active == 0
            assert service_bus.connection_string.startswith("Endpoint=sb://127.0.0.1:")

        @pytest.mark.service_bus("a")
        def test_wrong(service_bus):
            pass
        """
    )
    pytester.runpytest().assert_outcomes(passed=1, errors=1)
