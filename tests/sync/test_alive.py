"""Connections live while user code is busy, and the death of one is noticed: heartbeats, silence, back-pressure."""

from __future__ import annotations

import gc
import socket
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable
from time import monotonic

import pytest

from amqp_sansio import By, EndpointClosed, Limits
from amqp_sansio.amqp_0_9_1 import Config, HeartbeatReceived, Published, QueueDeclare
from amqp_sansio.client import inbox
from amqp_sansio_sync import Connection, connect, driver
from amqp_sansio_sync.transport import Transport, ready_by_poll, ready_by_select
from tests.kit.inside import driver_of, state_of
from tests.kit.sync_server import WAIT, Item, Server, running, wait_until

BRISK = Config(heartbeat=1, report_heartbeats=True)


def sleep(seconds: float) -> None:
    """User code that waits for something else."""
    time.sleep(seconds)


def compute(seconds: float) -> None:
    """User code that doesn't let go of the interpreter."""
    end = monotonic() + seconds
    while monotonic() < end:
        sum(range(1000))


@pytest.mark.rule("0-9-1/wire/heartbeat-interval", "0-9-1/wire/heartbeat-start-client")
@pytest.mark.parametrize("work", [sleep, compute])
def test_heartbeats_go_on_while_user_code_is_busy(work: Callable[[float], None]) -> None:
    with running(config=BRISK) as server, connect(server.url) as connection:
        assert connection.core.heartbeat == 1
        channel = connection.open_channel()
        session = server.session()
        heard = len(session.of(HeartbeatReceived))
        work(2.6)
        assert len(session.of(HeartbeatReceived)) >= heard + 3
        assert session.longest_silence < 2
        assert connection.is_open
        assert channel.call(QueueDeclare("jobs")).queue == "jobs"


def test_heartbeats_go_on_while_a_thread_waits() -> None:
    with running(config=BRISK) as server, connect(server.url) as connection:
        server.queues["jobs"] = deque()
        deliveries = connection.open_channel().consume("jobs", timeout=2.6)
        with pytest.raises(TimeoutError):
            next(deliveries)
        assert len(server.session().of(HeartbeatReceived)) >= 3
        assert connection.is_open


def test_heartbeats_go_on_while_a_batch_is_collected() -> None:
    with running(config=BRISK) as server, connect(server.url) as connection:
        channel = connection.open_channel()
        with channel.batch():
            channel.publish(b"x", routing_key="none")
            sleep(2.6)
        assert connection.is_open
        assert server.session().longest_silence < 2


@pytest.mark.rule("0-9-1/wire/heartbeat-timeout")
def test_a_silent_server_is_noticed_with_and_without_a_waiting_thread() -> None:
    with running(config=BRISK) as server:
        waiting, idle = connect(server.url), connect(server.url)
        channel = waiting.open_channel()
        for session in server.sessions:
            session.writing = False
        begun = monotonic()
        with pytest.raises(EndpointClosed, match="nothing arrived for 2 seconds") as caught:
            channel.call(QueueDeclare("jobs"))
        assert 0.5 < monotonic() - begun < 10
        assert caught.value.report is not None
        assert caught.value.report.by is By.TRANSPORT
        assert "dead" in caught.value.report.hint
        wait_until(lambda: not idle.is_open)
        with pytest.raises(EndpointClosed, match="nothing arrived for 2 seconds"):
            idle.open_channel()
        for connection in (waiting, idle):
            assert connection.close().by is By.TRANSPORT


def test_leaving_the_context_of_a_connection_that_died_unnoticed_raises() -> None:
    with (
        running(config=BRISK) as server,
        pytest.raises(EndpointClosed, match="transport lost"),
        connect(server.url) as connection,
    ):
        server.session().drop()
        wait_until(lambda: not connection.is_open)


def test_a_connection_lost_in_the_middle_of_calls_ends_all_of_them(server: Server, connection: Connection) -> None:
    session = server.session()
    channels = [connection.open_channel(confirm=True) for _ in range(4)]
    session.writing = False
    errors: list[BaseException] = []

    def call(number: int) -> None:
        try:
            if number % 2:
                channels[number].publish(b"x")
            else:
                channels[number].call(QueueDeclare("jobs"))
        except EndpointClosed as error:
            errors.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(session.of(Published)) == 2)
    session.drop()
    for thread in threads:
        thread.join(WAIT)
    assert len(errors) == 4
    assert len({id(error) for error in errors}) == 4
    with pytest.raises(EndpointClosed, match="transport lost"):
        connection.open_channel()


def test_a_close_of_the_server_is_answered_while_nobody_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "IDLE", 0.05)
    with running() as server:
        connection = connect(server.url)
        session = server.session()
        session.do(lambda: session.core.close(320, "CONNECTION_FORCED - maintenance"))
        assert session.ended.wait(WAIT)
        wait_until(lambda: not connection.is_open)
        report = connection.report
        assert report is not None
        assert report.code == 320
        connection.close()


def test_what_the_server_said_last_is_read_when_nothing_can_be_sent_any_more(
    server: Server, connection: Connection
) -> None:
    channel = connection.open_channel()
    session = server.session()
    before = session.sent
    session.do(lambda: session.core.close(320, "CONNECTION_FORCED - now"))
    wait_until(lambda: session.sent > before)
    session.drop(reset=False)
    driver_of(connection)._look_at = monotonic() + WAIT  # no look before the write that fails
    with pytest.raises(EndpointClosed, match="320 CONNECTION_FORCED - now"):
        for _ in range(100):
            channel.publish(b"x")
            sleep(0.001)


@pytest.mark.rule("0-9-1/wire/heartbeat-any-octet")
def test_a_full_consumer_holds_the_server_back_and_the_connection_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox, "FULL_OCTETS", 1 << 20)
    monkeypatch.setattr(inbox, "OVERRUN", 10_000)
    size, count = 50_000, 800
    limits = Limits(unparsed=1 << 18)
    with running(config=BRISK) as server, connect(server.url, limits=limits) as connection:
        server.queues["jobs"] = deque([Item("", "jobs", b"\0\0", b"%06d" % n + bytes(size)) for n in range(count)])
        channel = connection.open_channel()
        deliveries = channel.consume("jobs", no_ack=True, timeout=WAIT)
        assert next(deliveries).body[:6] == b"000000"
        wait_until(lambda: driver_of(connection).client.full == 1)
        session = server.session()
        wait_until(lambda: session.core.send_backlog > 0)
        sleep(3.2)  # more than twice the heartbeat, with octets that nobody reads
        assert driver_of(connection).client.receive_budget == 0
        (held,) = state_of(channel).inboxes.values()
        assert held.octets < (1 << 20) + (1 << 18) + 2 * size
        assert session.core.send_backlog > size
        assert session.longest_silence < 2
        bodies = [next(deliveries).body[:6] for _ in range(count - 1)]
        assert bodies == [b"%06d" % n for n in range(1, count)]
        assert driver_of(connection).client.full == 0
        assert connection.is_open
        assert channel.call(QueueDeclare("jobs")).message_count == 0


def test_two_full_socket_buffers_do_not_stop_a_publisher() -> None:
    body = bytes(1_000_000)
    with running() as server, connect(server.url) as connection:
        server.queues["jobs"] = deque([Item("", "jobs", b"\0\0", b"%02d" % n + body) for n in range(40)])
        channel = connection.open_channel()
        session = server.session()
        session.stubborn = True
        deliveries = channel.consume("jobs", prefetch=50, timeout=WAIT)
        for _ in range(40):  # the server takes none of it before it has got rid of its own
            channel.publish(body, routing_key="none", timeout=WAIT)
        assert [next(deliveries).body[:2] for _ in range(40)] == [b"%02d" % n for n in range(40)]
        wait_until(lambda: len(session.of(Published)) == 40)


def test_what_could_not_be_sent_goes_out_without_a_caller() -> None:
    with running() as server, connect(server.url, heartbeat=0) as connection:
        channel = connection.open_channel()
        channel.call(QueueDeclare("jobs"))
        session = server.session()
        session.reading = False
        session.do(lambda: None)
        body = bytes(30_000_000)
        with pytest.raises(TimeoutError, match="the publish: not within"):
            channel.publish(body, routing_key="jobs", timeout=0.1)
        with pytest.raises(TimeoutError, match="the publish: not within"):
            channel.publish(b"refused", routing_key="jobs", timeout=0.05)
        session.reading = True
        session.do(lambda: None)
        wait_until(lambda: len(server.queues["jobs"]) == 1)
        channel.publish(b"next", routing_key="jobs")
        wait_until(lambda: len(server.queues["jobs"]) == 2)
        assert [len(item.body) for item in server.queues["jobs"]] == [len(body), 4]


def test_settlements_go_out_without_a_caller() -> None:
    with running() as server, connect(server.url) as connection:
        server.queues["jobs"] = deque([Item("", "jobs", b"\0\0", b"x")] * 2)
        channel = connection.open_channel()
        channel.call(QueueDeclare("big"))
        deliveries = channel.consume("jobs", timeout=WAIT)
        first, second = next(deliveries), next(deliveries)
        session = server.session()
        session.reading = False
        session.do(lambda: None)
        with pytest.raises(TimeoutError):
            channel.publish(bytes(30_000_000), routing_key="big", timeout=0.05)
        first.accept()  # doesn't wait
        second.accept()
        session.reading = True
        session.do(lambda: None)
        wait_until(lambda: len(server.queues["big"]) == 1)
        assert channel.call(QueueDeclare("jobs")).message_count == 0


def test_a_connection_that_everybody_forgot_ends_its_keeper(server: Server) -> None:
    def keepers() -> int:
        return sum(each.name == "amqp-sansio-keeper" for each in threading.enumerate())

    before = keepers()
    connection: Connection | None = connect(server.url)
    wait_until(lambda: keepers() == before + 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del connection
        wait_until(lambda: gc.collect() >= 0 and keepers() == before)
    assert server.session().ended.wait(WAIT)


def test_a_closed_connection_leaves_no_thread(server: Server) -> None:
    with connect(server.url):
        pass
    assert not any(each.name == "amqp-sansio-keeper" for each in threading.enumerate())


@pytest.mark.parametrize("ready", [ready_by_poll, ready_by_select])
def test_waiting_for_a_socket(ready: Callable[..., bool]) -> None:
    ours, theirs = socket.socketpair()
    wakes, waker = socket.socketpair()
    with ours, theirs, wakes, waker:
        begun = monotonic()
        assert not ready(ours, wakes, True, False, 0.05)
        assert monotonic() - begun >= 0.04
        assert not ready(ours, wakes, True, True, None)  # it can be written
        theirs.send(b"x")
        assert not ready(ours, wakes, True, False, None)
        assert not ready(ours, wakes, False, False, 0)
        waker.send(b"x")
        assert ready(ours, wakes, False, False, None)
        assert ready(ours, wakes, True, True, 7200)


def test_a_transport_counts_wakes_once() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        transport = Transport(ours, None)
        for _ in range(100_000):
            transport.wake()
        transport.wait(True, WAIT)
        begun = monotonic()
        transport.wait(True, 0.02)
        assert monotonic() - begun >= 0.01
        transport.shut()
        transport.wait(True, WAIT)
        assert transport.read(10) == b""
        transport.shut()
        transport.close()
