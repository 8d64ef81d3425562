"""0-10: connections live while user code is busy; what a lost connection ends, many threads, recordings."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import signal
import ssl
import threading
import time
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, Accepted, By, EndpointClosed, Observer, Signal
from amqp_sansio.amqp_0_10 import Config, ObservedCommand, QueueQuery
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble
from amqp_sansio_sync import ReceivedMessage, Recorder, SessionEnded, connect
from amqp_sansio_sync.amqp_0_10 import Connection, Session
from tests.kit.certificates import Certificates
from tests.kit.sync_0_10 import WAIT, Server, running, wait_until

BRISK = Config(heartbeat_min=1, heartbeat_max=1)


def sleeping(seconds: float) -> None:
    """User code that waits for something else."""
    time.sleep(seconds)


def compute(seconds: float) -> None:
    """User code that doesn't let go of the interpreter."""
    end = monotonic() + seconds
    while monotonic() < end:
        sum(range(1000))


@pytest.mark.parametrize("work", [sleeping, compute])
def test_heartbeats_go_on_while_user_code_is_busy(work: Callable[[float], None]) -> None:
    with (
        running(config=BRISK) as server,
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
    ):
        assert connection.core.heartbeat == 1
        work(2.6)
        assert server.session().longest_silence < 1
        assert connection.is_open
        assert session.publish(b"x", routing_key="jobs") == Accepted()


def test_heartbeats_go_on_while_a_thread_waits() -> None:
    with (
        running(config=BRISK) as server,
        connect(server.url, version=AMQP_0_10) as connection,
        connection.open_session() as session,
        session.subscribe("jobs", timeout=2.6) as subscription,
    ):
        with pytest.raises(TimeoutError):
            next(subscription)
        assert server.session().longest_silence < 1


@pytest.mark.rule("0-10/connection.heartbeat/2x")
def test_a_silent_server_is_noticed_with_and_without_a_waiting_thread() -> None:
    with running(config=BRISK) as server:
        waiting = connect(server.url, version=AMQP_0_10)
        idle = connect(server.url, version=AMQP_0_10)
        session = waiting.open_session()
        for served in server.sessions:
            served.writing = False
        begun = monotonic()
        with pytest.raises(SessionEnded, match="nothing arrived for 2 seconds"):
            session.call(QueueQuery(queue="jobs"))
        assert 1 < monotonic() - begun < 10
        wait_until(lambda: not idle.is_open)
        with pytest.raises(EndpointClosed, match="nothing arrived for 2 seconds"):
            idle.open_session()
        for connection in (waiting, idle):
            connection.close()


def test_a_lost_connection_ends_all_calls_and_says_what_can_be_resumed(server: Server) -> None:
    server.holding.add("held")
    connection = connect(server.url, version=AMQP_0_10)
    kept, unkept = connection.open_session("kept", timeout=60), connection.open_session("unkept")
    errors: dict[str, list[SessionEnded]] = {"kept": [], "unkept": []}

    def guarded(name: str, work: Callable[[], object]) -> None:
        try:
            work()
        except SessionEnded as error:
            errors[name].append(error)

    threads: list[threading.Thread] = []
    for name, session in (("kept", kept), ("unkept", unkept)):
        subscription = session.subscribe("jobs")
        works: list[Callable[[], object]] = [
            subscription.fetch,
            lambda each=session: each.publish(b"x", routing_key="held"),  # type: ignore[misc]
            lambda each=session: each.publish(b"y", routing_key="held", wait=False).result(),  # type: ignore[misc]
            session.wait_closed,
        ]
        threads += [threading.Thread(target=guarded, args=(name, work)) for work in works]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(server.received) == 4)
    server.session().drop()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive()
    for name, found in errors.items():
        assert len(found) == 3
        assert {each.resumable for each in found} == {name == "kept"}
        assert all(each.report and each.report.by is By.TRANSPORT for each in found)
    assert "session 'kept': transport lost" in str(errors["kept"][0])
    assert "it can be resumed, see session.detached_state()" in str(errors["kept"][0])
    assert len(kept.pending) >= 2
    with pytest.raises(EndpointClosed, match="is over"):
        unkept.detached_state()
    with pytest.raises(EndpointClosed, match="transport lost"):
        connection.open_session()
    connection.close()


def test_a_hammer_of_threads(server: Server) -> None:
    count, each = 5, 40
    with connect(server.url, version=AMQP_0_10) as connection:
        shared = connection.open_session()
        failures: list[BaseException] = []
        seen: list[bytes] = []
        settle: list[ReceivedMessage] = []
        settled: list[ReceivedMessage] = []

        def publish(number: int) -> None:
            own = connection.open_session(open_timeout=WAIT)
            for n in range(each):
                body = b"%d.%d" % (number, n)
                if n % 3 == 0:
                    assert shared.publish(body, routing_key="jobs", timeout=WAIT) == Accepted()
                elif n % 3 == 1:
                    sent = own.publish(body, routing_key="jobs", wait=False)
                    if n < each // 2:
                        assert sent.result(WAIT) == Accepted()
                else:
                    with own.transaction(timeout=WAIT):
                        own.publish(body, routing_key="jobs", timeout=WAIT)
            with own.transaction(timeout=WAIT):
                own.sync(WAIT)
            own.close(timeout=WAIT)

        def consume() -> None:
            own = connection.open_session(open_timeout=WAIT)
            with own.subscribe("jobs", credit=5, timeout=WAIT) as subscription:
                while len(seen) < count * each:
                    delivery = subscription.fetch(timeout=0.1)
                    if delivery is None:
                        continue
                    seen.append(delivery.body)
                    if int(delivery.body.partition(b".")[2]) % 2:
                        delivery.accept()
                    else:
                        settle.append(delivery)
                wait_until(lambda: bool(failures) or len(settled) == count * each // 2)
            own.close(timeout=WAIT)

        def settler() -> None:
            end = monotonic() + WAIT
            while len(settled) < count * each // 2:
                assert monotonic() < end
                if settle:
                    delivery = settle.pop()
                    delivery.accept()  # of another thread's subscription
                    settled.append(delivery)
                else:
                    sleep(0.001)

        def guarded(work: Any, *arguments: object) -> None:
            try:
                work(*arguments)
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=guarded, args=(publish, n)) for n in range(count)]
        threads += [threading.Thread(target=guarded, args=(consume,)) for _ in range(2)]
        threads.append(threading.Thread(target=guarded, args=(settler,)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(3 * WAIT)
            assert not thread.is_alive()
        assert not failures
        expected = sorted(b"%d.%d" % (k, n) for k in range(count) for n in range(each))
        assert sorted(seen) == expected
        assert sorted(server.accepted) == expected


def test_keyboard_interrupt_in_a_wait_leaves_the_session_usable(server: Server, session: Session) -> None:
    server.holding.add("held")
    with session.subscribe("jobs") as subscription:
        waits: list[Callable[[], object]] = [
            lambda: next(subscription),
            lambda: session.publish(b"x", routing_key="held"),
            subscription.fetch,
            session.wait_closed,
        ]
        for wait in waits:
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                wait()
            timer.join()
        server.holding.clear()
        assert session.publish(b"y", routing_key="jobs") == Accepted()
        assert next(subscription).body == b"y"
        served = server.session()
        served.do(lambda: served.handle(server.received[0]))


def test_a_session_that_is_granted_too_late_is_left(server: Server) -> None:
    with connect(server.url, version=AMQP_0_10) as connection:
        served = server.session()
        served.reading = False
        served.do(lambda: None)
        with pytest.raises(TimeoutError, match="the begin: not within"):
            connection.open_session("late", open_timeout=0.05)
        served.reading = True
        served.do(lambda: None)
        with connection.open_session("other") as session:

            def gone() -> bool:
                session.sync(WAIT)
                return b"late" not in server.known

            wait_until(gone)


def test_what_could_not_be_sent_goes_out_without_a_caller(server: Server, session: Session) -> None:
    served = server.session()
    served.reading = False
    served.do(lambda: None)
    body = bytes(30_000_000)
    with pytest.raises(TimeoutError, match="not within"):
        session.publish(body, routing_key="jobs", timeout=0.1)
    with pytest.raises(TimeoutError, match="the outcome: not within"):
        session.publish(b"refused", routing_key="jobs", timeout=0.05)
    assert len(session.pending) == 1
    served.reading = True
    served.do(lambda: None)
    (sent,) = session.pending.values()
    assert sent.result(WAIT) == Accepted()
    assert [len(each) for each in server.bodies("jobs")] == [len(body)]


def test_a_closed_connection_leaves_no_thread(server: Server) -> None:
    with connect(server.url, version=AMQP_0_10) as connection:
        connection.open_session()
    assert not any(each.name == "amqp-sansio-keeper" for each in threading.enumerate())


def test_a_forgotten_connection_ends_its_keeper(server: Server) -> None:
    def keepers() -> int:
        return sum(each.name == "amqp-sansio-keeper" for each in threading.enumerate())

    connection: Connection | None = connect(server.url, version=AMQP_0_10)
    wait_until(lambda: keepers() == 1)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del connection
        wait_until(lambda: gc.collect() >= 0 and keepers() == 0)
    assert server.session().ended.wait(WAIT)


def test_channels_may_be_given_again_while_a_session_leaves(server: Server) -> None:
    with connect(server.url, version=AMQP_0_10) as connection:
        for _ in range(30):
            first = connection.open_session()
            thread = threading.Thread(target=first.close)
            thread.start()
            with connection.open_session() as second:
                assert second.publish(b"x", routing_key="jobs", timeout=WAIT) == Accepted()
            thread.join(WAIT)
            assert not thread.is_alive()
            assert not first.is_open


def test_tls(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with running(tls=context) as server:
        url = f"{server.url}?cacertfile={certificates.ca}"
        with connect(url, version=AMQP_0_10) as connection, connection.open_session() as session:
            body = b"x" * 300_000
            assert session.publish(body, routing_key="jobs") == Accepted()
            with session.subscribe("jobs", timeout=WAIT) as subscription:
                assert next(subscription).body == body
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(server.url, version=AMQP_0_10)


def _streams(data: bytes) -> dict[str, bytes]:
    streams: dict[str, bytes] = {}
    segments = [each for each in read_segments(data) if isinstance(each, Segment)]
    for each in reassemble(segments):
        if isinstance(each, StreamData):
            streams[each.sender] = streams.get(each.sender, b"") + each.data
    return streams


def test_a_recording_has_both_directions_and_no_secret() -> None:
    with running(config=Config(mechanisms=("PLAIN",))) as server:
        server.users["me"] = "tell-nobody"
        for secret in (False, True):
            file = io.BytesIO()
            with (
                Recorder(file, record_secrets=secret) as recorder,
                connect(
                    server.url.replace("guest:guest", "me:tell-nobody"), version=AMQP_0_10, record=recorder
                ) as connection,
                connection.open_session() as session,
            ):
                session.publish(b"recorded", routing_key="jobs")
            streams = _streams(file.getvalue())
            from_server = streams.pop(f"127.0.0.1:{server.port}")
            (from_client,) = streams.values()
            assert from_client.startswith(b"AMQP\x01\x01\x00\x0a")
            assert from_server.startswith(b"AMQP\x01\x01\x00\x0a")
            assert b"recorded" in from_client
            assert (b"tell-nobody" in from_client) is secret
            assert "message.transfer" in _seen(from_client, from_server)


def _seen(from_client: bytes, from_server: bytes) -> list[str]:
    """The names of the commands that an observer finds."""
    observer = Observer()
    observer.receive_data(from_client, "client", 0)
    observer.receive_data(from_server, "server", 1)
    observer.finish(2)
    found: list[str] = []
    while not isinstance(event := observer.next_event(), Signal):
        if isinstance(event, ObservedCommand):
            found.append(event.event)
    return found


def test_the_end_of_a_session_copies_and_pickles() -> None:
    error = SessionEnded("text", None, b"mine", True)
    for each in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(each) is SessionEnded
        assert (str(each), each.session, each.resumable) == ("text", b"mine", True)
        assert (each.code, each.condition) == (0, "")
