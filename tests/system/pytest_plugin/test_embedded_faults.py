"""What a test lets go wrong at the embedded broker, and what the broker does to its clients when told to."""

import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare, QueueDeclareOk
from amqp_sansio.amqp_0_10.spec import QueueQuery
from amqp_sansio.errors import AmqpError, EndpointClosed
from amqp_sansio.events import CloseReport
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

EVERY = pytest.mark.parametrize(
    "version", (AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0), ids=lambda version: version.label
)
WAIT = 60.0


def declare(channel: Any, name: str = "jobs") -> QueueDeclareOk:
    """Ask something that the broker answers."""
    answer: QueueDeclareOk = channel.call(QueueDeclare(name, durable=True))
    return answer


def wait_closed(ended: Any) -> CloseReport:
    """Why a client's connection, channel or session is over; it hears of it when it asks for something."""
    if hasattr(ended, "wait_closed"):
        ended.wait_closed(WAIT)
    else:
        with pytest.raises(AmqpError):
            if hasattr(ended, "open_channel"):
                ended.open_channel()
            else:
                ended.open_sender("jobs")
    report: CloseReport = ended.report
    return report


def in_thread(function: Callable[[], object]) -> list[object]:
    """What a function in a thread of its own has returned so far."""
    results: list[object] = []
    threading.Thread(target=lambda: results.append(function()), daemon=True).start()
    return results


def test_a_cut_after_some_octets(amqp_broker: EmbeddedBroker) -> None:
    with socket.create_connection(("127.0.0.1", amqp_broker.port)) as client:
        fault = amqp_broker.faults.cut_after(5, on="next")
        client.sendall(b"AMQP\x00\x00\x09\x01")
        assert client.recv(1)  # This one came before.
    with socket.create_connection(("127.0.0.1", amqp_broker.port)) as client:
        client.sendall(b"AMQP\x00\x00\x09\x01")
        found = b""
        with pytest.raises(ConnectionResetError):
            while octets := client.recv(100):
                found += octets
        assert len(found) == 5
    assert (fault.hits, repr(fault)) == (1, "<Fault cut after 5 octets, 1 hits>")
    with connect(amqp_broker.url) as connection:
        assert declare(connection.open_channel())


@EVERY
def test_a_cut_is_a_lost_transport_in_every_version(amqp_broker: EmbeddedBroker, version: Version) -> None:
    connection: Any = connect(amqp_broker.url, version=version)
    amqp_broker.faults.cut_after(0, version=version)
    report = wait_closed(connection)
    assert report.by.value == "transport"
    assert amqp_broker.connections == ()


def test_a_cut_on_the_way_to_the_broker_loses_what_comes_behind(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": ["jobs"]})
    connection = connect(amqp_broker.url)
    channel = connection.open_channel()
    fault = amqp_broker.faults.cut_after(1000, "from_client", on="current")
    channel.publish(bytes(500), routing_key="jobs")
    channel.publish(bytes(500), routing_key="jobs")
    fault.wait_hit()
    wait_closed(connection)
    amqp_broker.history.assert_published(count=1)


def test_what_is_stalled_arrives_later_and_in_order(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        channel = connection.open_channel()
        with amqp_broker.faults.stall("to_client") as fault:
            results = in_thread(lambda: declare(channel))
            fault.wait_hit()
            assert not results
            assert amqp_broker.queue("jobs").exists
        amqp_broker.wait_for(lambda _: results)
        assert isinstance(results[0], QueueDeclareOk)
        with amqp_broker.faults.stall("from_client") as fault:
            results = in_thread(lambda: declare(channel, "more"))
            fault.wait_hit()
            assert not amqp_broker.queue("more").exists
        amqp_broker.wait_for(lambda _: results)
        assert amqp_broker.queue("more").exists
        assert fault.octets > 0


def test_only_those_who_are_meant_are_concerned(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as one, connect(amqp_broker.url) as other:
        first, second = amqp_broker.connections
        channels = one.open_channel(), other.open_channel()
        with amqp_broker.faults.stall(on=second) as fault:
            assert declare(channels[0])
            results = in_thread(lambda: declare(channels[1]))
            fault.wait_hit()
            assert not results
        amqp_broker.wait_for(lambda _: results)
        with amqp_broker.faults.stall(on=[first], user="nobody") as fault:
            assert declare(channels[0])
        assert fault.hits == 0
        with amqp_broker.faults.stall(version=AMQP_1_0, vhost="/") as fault:
            assert declare(channels[0])
        assert fault.hits == 0


def test_who_is_dropped_is_dead_to_the_broker(amqp_broker: EmbeddedBroker) -> None:
    connection = connect(amqp_broker.url)
    declare(connection.open_channel())
    amqp_broker.clock.advance(1000)
    assert amqp_broker.connections
    amqp_broker.faults.drop("from_client")
    amqp_broker.clock.advance(1000)
    assert amqp_broker.connections == ()
    wait_closed(connection)


def test_octets_are_late_by_real_seconds(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        channel = connection.open_channel()
        with amqp_broker.faults.delay(0.05):
            before = time.monotonic()
            declare(channel)
            assert 0.1 <= time.monotonic() - before < WAIT
        with amqp_broker.faults.delay(60) as fault:
            results = in_thread(lambda: declare(channel))
            fault.wait_hit()
        # It's late until the fault is gone, not for ever.
        amqp_broker.wait_for(lambda _: results)
        assert amqp_broker.clock.now == 0


def test_new_clients_are_refused(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        with amqp_broker.faults.refuse() as fault, pytest.raises((OSError, AmqpError)):
            connect(amqp_broker.url)
        assert fault.hits == 1
        assert declare(connection.open_channel())
    with connect(amqp_broker.url) as again:
        assert again.is_open


def test_publishers_are_blocked_and_let_go(amqp_broker: EmbeddedBroker) -> None:
    pika: Any = pytest.importorskip("pika")
    amqp_broker.preload({"queues": ["jobs"]})
    heard: list[str] = []
    connection = pika.BlockingConnection(pika.URLParameters(amqp_broker.url))

    def blocked(_: object, frame: Any) -> None:
        heard.append(frame.method.reason)

    def unblocked(*_: object) -> None:
        heard.append("unblocked")

    connection.add_on_connection_blocked_callback(blocked)
    connection.add_on_connection_unblocked_callback(unblocked)
    channel = connection.channel()
    amqp_broker.faults.block("low on coffee")
    channel.basic_publish("", "jobs", b"1")
    connection.process_data_events(0.1)
    assert heard == ["low on coffee"]
    amqp_broker.faults.unblock()
    amqp_broker.history.wait_for("routed", queue="jobs")
    while "unblocked" not in heard:
        connection.process_data_events(0.1)
    assert heard == ["low on coffee", "unblocked"]
    connection.close()


@EVERY
def test_the_broker_closes_connections(amqp_broker: EmbeddedBroker, version: Version) -> None:
    connection: Any = connect(amqp_broker.url, version=version)
    code: int | str = "amqp:connection:forced" if version is AMQP_1_0 else 320
    assert amqp_broker.faults.close_connections(code, "time for bed", version=version) == 1
    report = wait_closed(connection)
    assert report.by.value == "remote"
    assert report.text == "time for bed"
    assert (report.condition if version is AMQP_1_0 else report.code) == code
    amqp_broker.wait_for(lambda broker: not broker.connections)
    assert amqp_broker.faults.close_connections() == 0


def test_each_version_is_closed_in_its_own_words(amqp_broker: EmbeddedBroker) -> None:
    new: Any = connect(amqp_broker.url, version=AMQP_1_0)
    old: Any = connect(amqp_broker.url)
    assert amqp_broker.faults.close_connections() == 2
    assert wait_closed(new).condition == "amqp:connection:forced"
    assert wait_closed(old).code == 320


@pytest.mark.parametrize("version", (AMQP_0_8, AMQP_0_9_1), ids=lambda version: version.label)
def test_the_broker_closes_channels(amqp_broker: EmbeddedBroker, version: Version) -> None:
    amqp_broker.preload({"queues": ["jobs"]})
    amqp_broker.publish(b"1", routing_key="jobs")
    opened: Any = connect(amqp_broker.url, version=version)
    with opened as connection:
        channel, other = connection.open_channel(), connection.open_channel()
        consumer = channel.consume("jobs")
        next(consumer)
        assert amqp_broker.queue("jobs").unsettled == 1
        assert amqp_broker.faults.close_channels(404, "NOT_FOUND - gone fishing", channel=channel.number) == 1
        with pytest.raises(EndpointClosed, match="gone fishing"):
            channel.call(QueueDeclare("more", durable=True))
        # What it had is back in the queue, and the other channel knows nothing of it.
        assert amqp_broker.queue("jobs").ready == 1
        assert amqp_broker.queue("jobs").consumers == 0
        other.publish(b"3", routing_key="jobs")
        amqp_broker.history.wait_for("routed", body="3")
        with pytest.raises(ValueError, match="number"):
            amqp_broker.faults.close_channels("amqp:not-found", "")


def test_the_broker_ends_sessions_of_0_10(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url, version=AMQP_0_10) as connection:
        session = connection.open_session()
        assert amqp_broker.faults.close_channels(404, "gone fishing") == 1
        with pytest.raises(AmqpError, match="gone fishing"):
            session.call(QueueQuery("jobs"))
        assert connection.open_session().call(QueueQuery("jobs"))


def test_the_broker_ends_sessions_of_1_0(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        assert amqp_broker.faults.close_channels("amqp:resource-limit-exceeded", "gone fishing") == 1
        report = wait_closed(session)
        assert (report.condition, report.text) == ("amqp:resource-limit-exceeded", "gone fishing")
        assert connection.open_session().is_open


def test_all_faults_are_cleared(amqp_broker: EmbeddedBroker) -> None:
    with connect(amqp_broker.url) as connection:
        channel = connection.open_channel()
        amqp_broker.faults.stall()
        amqp_broker.faults.block()
        amqp_broker.faults.refuse()
        results = in_thread(lambda: declare(channel))
        amqp_broker.faults.clear()
        amqp_broker.wait_for(lambda _: results)
        with connect(amqp_broker.url):
            pass


def test_a_fault_that_does_nothing_says_so(amqp_broker: EmbeddedBroker) -> None:
    fault = amqp_broker.faults.drop()
    with pytest.raises(AssertionError, match="drop both, 0 hits"):
        fault.wait_hit(timeout=0.01)
    fault.remove()
    fault.remove()
    amqp_broker.stop()
    fault.remove()


@EVERY
@pytest.mark.parametrize("closes", ["broker", "client"])
@pytest.mark.parametrize("way", ["to_client", "from_client", "both"])
def test_no_end_overtakes_what_is_late(amqp_broker: EmbeddedBroker, version: Version, closes: str, way: Any) -> None:
    connection: Any = connect(amqp_broker.url, version=version)
    with amqp_broker.faults.delay(0.02, way) as fault:
        if closes == "broker":
            amqp_broker.faults.close_connections(text="enough")
            report = wait_closed(connection)
            assert (report.by.value, report.text) == ("remote", "enough")
        else:
            connection.close()
            assert connection.report.by.value == "local"
        amqp_broker.wait_for(lambda broker: not broker.connections)
    assert fault.hits


def test_the_last_octets_to_a_client_that_has_ended_its_side_are_late_too(amqp_broker: EmbeddedBroker) -> None:
    for half_closes in (False, True):
        with socket.create_connection(("127.0.0.1", amqp_broker.port)) as client, amqp_broker.faults.delay(0.05):
            client.sendall(b"AMQP\x00\x01\x00\x00")
            if half_closes:
                client.shutdown(socket.SHUT_WR)
            found = b""
            while octets := client.recv(100):
                found += octets
            assert found[:4] == b"AMQP"
    amqp_broker.wait_for(lambda broker: not broker.connections)


def test_what_a_client_sent_before_its_end_arrives_before_it(amqp_broker: EmbeddedBroker) -> None:
    amqp_broker.preload({"queues": ["jobs"]})
    connection = connect(amqp_broker.url)
    channel = connection.open_channel()
    with amqp_broker.faults.delay(0.05, "from_client"):
        channel.publish(b"last", routing_key="jobs")
        connection.close()
    amqp_broker.history.assert_published(count=1)
    assert connection.report is not None
    assert connection.report.by.value == "local"
