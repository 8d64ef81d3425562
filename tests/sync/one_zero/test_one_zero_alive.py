"""1.0: connections live while user code is busy, links survive the loss of a connection, many threads, recordings."""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0, By, EndpointClosed
from amqp_sansio.amqp_1_0 import Accepted, Config, Delivery, DeliveryState, Message, Rejected
from amqp_sansio.capture import Segment, StreamData, read_segments, reassemble
from amqp_sansio_sync import LinkEnded, NotAccepted, ReceivedDelivery, Recorder, Sender, TransactionFailed, connect
from amqp_sansio_sync.amqp_1_0 import Connection
from tests.kit.certificates import Certificates
from tests.kit.server_1_0 import WAIT, Server, running, wait_until

BRISK = Config(container_id="brisk", mechanisms=("PLAIN",), idle_time_out=1)


def sleeping(seconds: float) -> None:
    """User code that waits for something else."""
    time.sleep(seconds)


def compute(seconds: float) -> None:
    """User code that doesn't let go of the interpreter."""
    end = monotonic() + seconds
    while monotonic() < end:
        sum(range(1000))


@pytest.mark.rule("1.0/transport/connection/idle-empty-frame", "1.0/transport/connection/tcp-keepalive")
@pytest.mark.parametrize("work", [sleeping, compute])
def test_empty_frames_go_on_while_user_code_is_busy(work: Callable[[float], None]) -> None:
    with running(config=BRISK) as server, connect(server.url, version=AMQP_1_0, idle_time_out=1) as connection:
        assert connection.remote.idle_time_out == 500
        raw = connection._driver.transport.socket  # pyright: ignore[reportPrivateUsage]
        assert raw.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        session = connection.open_session()
        work(2.6)
        assert server.session().longest_silence < 1
        assert connection.is_open
        with session.open_sender("jobs") as sender:
            assert sender.send(b"x") == Accepted()


def test_empty_frames_go_on_while_a_thread_waits() -> None:
    with (
        running(config=BRISK) as server,
        connect(server.url, version=AMQP_1_0, idle_time_out=1) as connection,
        connection.open_session().open_receiver("jobs", timeout=2.6) as receiver,
    ):
        with pytest.raises(TimeoutError):
            next(receiver)
        assert server.session().longest_silence < 1
        assert connection.is_open


@pytest.mark.rule("1.0/transport/connection/idle-close")
def test_a_silent_peer_is_noticed_with_and_without_a_waiting_thread() -> None:
    with running(config=BRISK) as server:
        waiting = connect(server.url, version=AMQP_1_0, idle_time_out=1)
        idle = connect(server.url, version=AMQP_1_0, idle_time_out=1)
        session = waiting.open_session()
        for served in server.sessions:
            served.writing = False
        begun = monotonic()
        with pytest.raises(EndpointClosed, match="nothing arrived for 1 seconds"):
            session.open_sender("jobs")
        assert 0.5 < monotonic() - begun < 10
        wait_until(lambda: not idle.is_open)
        with pytest.raises(EndpointClosed, match="nothing arrived for 1 seconds"):
            idle.open_session()
        for connection in (waiting, idle):
            connection.close()


def test_a_connection_lost_in_the_middle_of_calls_ends_all_of_them(server: Server) -> None:
    server.holding.add("held")
    connection = connect(server.url, version=AMQP_1_0)
    session = connection.open_session()
    receiver = session.open_receiver("empty")
    sender = session.open_sender("held")
    errors: list[BaseException] = []

    def guarded(work: Callable[[], object]) -> None:
        try:
            work()
        except EndpointClosed as error:
            errors.append(error)

    works: list[Callable[[], object]] = [lambda: next(receiver), lambda: sender.send(b"x"), lambda: sender.send(b"y")]
    threads = [threading.Thread(target=guarded, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    wait_until(lambda: len(server.received) == 2)
    server.session().drop()
    for thread in threads:
        thread.join(WAIT)
    assert len(errors) == 3
    assert all(isinstance(error, LinkEnded) for error in errors)
    assert all(error.report and error.report.by is By.TRANSPORT for error in errors)  # type: ignore[attr-defined]
    with pytest.raises(EndpointClosed, match="transport lost"):
        connection.open_session()
    with pytest.raises(EndpointClosed, match="transport lost"):
        sender.send(b"z")
    connection.close()


def test_a_sender_goes_on_after_a_lost_connection(server: Server) -> None:
    server.holding.add("jobs")
    first = connect(server.url, version=AMQP_1_0)
    sender = first.open_session().open_sender("jobs", name="mine")
    sent = [sender.send(b"%d" % n, wait=False) for n in range(3)]
    wait_until(lambda: len(server.received) == 3)
    server.session().drop()
    for each in sent:
        with pytest.raises(EndpointClosed, match="transport lost"):
            each.result(WAIT)
    first.close()
    state = pickle.loads(pickle.dumps(sender.saved_state()))
    server.holding.clear()
    with connect(server.url, version=AMQP_1_0) as second:
        again = second.open_session().open_sender(state=state)
        assert (again.name, again.address) == ("mine", "jobs")
        pending = dict(again.pending)
        assert {each.delivery_tag for each in sent} >= set(pending)
        assert [each.result(WAIT) for each in pending.values()] == [Accepted()] * len(pending)
        assert again.send(b"3") == Accepted()
        assert server.bodies("jobs") == [b"0", b"1", b"2", b"3"]
        assert not again.pending


def test_a_receiver_goes_on_after_a_lost_connection(server: Server) -> None:
    server.fill("jobs", b"0", b"1", b"2")
    first = connect(server.url, version=AMQP_1_0)
    receiver = first.open_session().open_receiver("jobs", credit=2, name="mine", timeout=WAIT)
    next(receiver).accept()
    taken = next(receiver)
    wait_until(lambda: len(server.bodies("jobs")) <= 1)
    server.session().drop()
    with pytest.raises(EndpointClosed):
        for _ in receiver:
            sleep(0.001)
    with pytest.raises(EndpointClosed, match="transport lost"):
        taken.accept()
    first.close()
    assert ("mine", "sender") in server.suspended
    with connect(server.url, version=AMQP_1_0) as second:
        again = second.open_session().open_receiver(state=receiver.saved_state(), timeout=WAIT)
        assert again.address == "jobs"
        bodies: list[object] = []
        while len(bodies) < 2:
            delivery = next(again)
            bodies.append(delivery.body)
            delivery.accept()
        assert sorted(bodies) == [b"1", b"2"]  # type: ignore[type-var]
        again.close()
    assert not server.suspended
    assert not server.bodies("jobs")


def test_what_was_accepted_is_settled_after_a_lost_connection(server: Server) -> None:
    server.fill("jobs", b"0")
    first = connect(server.url, version=AMQP_1_0)
    receiver = first.open_session().open_receiver("jobs", rcv_settle_mode=1, timeout=WAIT)
    delivery = next(receiver)
    served = server.session()
    served.reading = False
    for _ in range(2):  # It may be about to read for the last time.
        served.do(lambda: None)
    with pytest.raises(TimeoutError, match="the sender's settlement"):
        delivery.accept(timeout=0.05)
    assert receiver.pending == {delivery.delivery_tag: Accepted()}
    served.drop()
    with pytest.raises(EndpointClosed):
        for _ in receiver:
            sleep(0.001)
    first.close()
    state = receiver.saved_state()
    assert [each.local for each in state.unsettled] == [Accepted()]
    with connect(server.url, version=AMQP_1_0) as second:
        again = second.open_session().open_receiver(state=state, timeout=0.3)
        assert again.core.rcv_settle_mode == 1
        with pytest.raises(TimeoutError):
            next(again)
        assert not again.pending
        assert not server.session().unsettled
        assert not server.bodies("jobs")


def test_a_link_is_detached_and_attached_again(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        sender = session.open_sender("jobs", name="mine")
        sender.send(b"1")
        sender.detach(timeout=WAIT)
        assert not sender.is_open
        assert sender.report is not None
        assert ("mine", "receiver") in server.suspended
        with session.open_sender(state=sender.saved_state()) as again:
            assert again.send(b"2", delivery_tag=None) == Accepted()
        assert server.bodies("jobs") == [b"1", b"2"]


def test_a_hammer_of_threads(server: Server) -> None:
    count, each = 5, 40
    with connect(server.url, version=AMQP_1_0, idle_time_out=5) as connection:
        session = connection.open_session()
        shared = session.open_sender("jobs")
        failures: list[BaseException] = []
        seen: list[bytes] = []
        settle: list[ReceivedDelivery] = []
        settled: list[ReceivedDelivery] = []

        def publish(number: int) -> None:
            own = connection.open_session(timeout=WAIT)
            sender = own.open_sender("jobs", timeout=WAIT)
            for n in range(each):
                body = b"%d.%d" % (number, n)
                if n % 3 == 0:
                    assert shared.send(body, timeout=WAIT) == Accepted()
                elif n % 3 == 1:
                    assert sender.send(body, wait=False).result(WAIT) == Accepted()
                else:
                    with own.transaction(timeout=WAIT) as transaction:
                        sender.send(body, transaction=transaction, timeout=WAIT)
            own.close(timeout=WAIT)

        def consume() -> None:
            own = connection.open_session(timeout=WAIT)
            with own.open_receiver("jobs", credit=5, timeout=WAIT) as receiver:
                while len(seen) < count * each:
                    delivery = receiver.fetch(timeout=0.1)
                    if delivery is None:
                        continue
                    seen.append(delivery.body)
                    if int(delivery.body.partition(b".")[2]) % 2:
                        delivery.accept()
                    else:
                        settle.append(delivery)
                wait_until(lambda: bool(failures) or len(settled) == count * each // 2)

        def settler() -> None:
            end = monotonic() + WAIT
            while len(settled) < count * each // 2:
                assert monotonic() < end
                if settle:
                    delivery = settle.pop()
                    delivery.accept()  # of another thread's receiver
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
        assert sorted(seen) == sorted(b"%d.%d" % (k, n) for k in range(count) for n in range(each))
        wait_until(lambda: not server.bodies("jobs"))


def test_keyboard_interrupt_in_a_wait_leaves_the_link_usable(server: Server) -> None:
    server.holding.add("held")
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        sender = session.open_sender("held")
        with session.open_receiver("jobs") as receiver:
            waits: list[Callable[[], object]] = [
                lambda: next(receiver),
                lambda: sender.send(b"x"),
                lambda: receiver.fetch(),
            ]
            for wait in waits:
                timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
                timer.start()
                with pytest.raises(KeyboardInterrupt):
                    wait()
                timer.join()
            with session.open_sender("jobs") as other:
                assert other.send(b"x") == Accepted()
            assert next(receiver).body == b"x"


def test_what_could_not_be_sent_goes_out_without_a_caller(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0, idle_time_out=0) as connection:
        sender = connection.open_session().open_sender("jobs")
        served = server.session()
        served.reading = False
        served.do(lambda: None)
        body = bytes(30_000_000)
        with pytest.raises(TimeoutError, match="not within"):
            sender.send(body, timeout=0.1)
        with pytest.raises(TimeoutError, match="not within"):
            sender.send(b"refused", timeout=0.05)
        assert len(sender.pending) == 1
        served.reading = True
        served.do(lambda: None)
        (sent,) = sender.pending.values()
        assert sent.result(WAIT) == Accepted()
        assert sender.send(b"next", timeout=WAIT) == Accepted()
        assert [len(each) for each in server.bodies("jobs")] == [len(body), 4]


def test_settlements_go_out_without_a_caller(server: Server) -> None:
    server.fill("jobs", b"0", b"1")
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        receiver = session.open_receiver("jobs", timeout=WAIT)
        first, second = next(receiver), next(receiver)
        sender = session.open_sender("big")
        served = server.session()
        served.reading = False
        served.do(lambda: None)
        with pytest.raises(TimeoutError):
            sender.send(bytes(30_000_000), timeout=0.05)
        first.accept()  # doesn't wait
        second.accept()
        served.reading = True
        served.do(lambda: None)
        wait_until(lambda: len(server.bodies("big")) == 1 and not served.unsettled)


def test_a_closed_connection_leaves_no_thread(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0) as connection:
        connection.open_session()
    assert not any(each.name == "amqp-sansio-keeper" for each in threading.enumerate())


def test_senders_that_nobody_holds_are_closed(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        for n in range(3):
            assert session.open_sender(f"to-{n}").send(b"x") == Accepted()
        gc.collect()
        wait_until(lambda: not server.session().links)


def test_a_dropped_receiver_is_closed_while_another_thread_waits(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0, idle_time_out=0) as connection:
        session = connection.open_session()
        waiting = session.open_receiver("idle")
        ends: list[object] = []

        def wait() -> None:
            # Its own side closes the connection, which ends the iteration quietly.
            ends.append(next(waiting, "the end"))

        dropped = session.open_receiver("jobs")
        thread = threading.Thread(target=wait)
        thread.start()
        sleep(0.05)
        assert len(server.session().links) == 2
        del dropped
        wait_until(lambda: len(server.session().links) == 1)
    thread.join(WAIT)
    assert ends == ["the end"]


def test_a_handle_may_be_given_again_while_a_link_leaves(server: Server) -> None:
    with connect(server.url, version=AMQP_1_0) as connection:
        session = connection.open_session()
        for n in range(30):
            first = session.open_sender("first")
            thread = threading.Thread(target=first.close)
            thread.start()
            with session.open_sender("second") as second:
                assert second.send(b"%d" % n, timeout=WAIT) == Accepted()
            thread.join(WAIT)
            assert not thread.is_alive()
            assert not first.is_open


def test_tls(certificates: Certificates) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.server, certificates.server_key)
    with running(tls=context) as server:
        url = f"{server.url}?cacertfile={certificates.ca}"
        with connect(url, version=AMQP_1_0) as connection:
            session = connection.open_session()
            body = b"x" * 300_000
            with session.open_sender("jobs") as sender:
                assert sender.send(body) == Accepted()
            with session.open_receiver("jobs", timeout=WAIT) as receiver:
                assert next(receiver).body == body
        with pytest.raises(ssl.SSLCertVerificationError):
            connect(server.url, version=AMQP_1_0)


def test_scram_and_no_sasl() -> None:
    config = Config(container_id="s", mechanisms=("SCRAM-SHA-256",), nonce="of-this-test")
    with running(config=config) as server, connect(server.url, version=AMQP_1_0) as connection:
        assert connection.core.mechanism == "SCRAM-SHA-256"
    with (
        running(config=Config(container_id="s")) as server,
        connect(server.url, version=AMQP_1_0, sasl=None) as connection,
    ):
        assert connection.core.mechanism == ""
        with connection.open_session().open_sender("jobs") as sender:
            assert sender.send(b"x") == Accepted()


def _streams(data: bytes) -> dict[str, bytes]:
    streams: dict[str, bytes] = {}
    segments = [each for each in read_segments(data) if isinstance(each, Segment)]
    for each in reassemble(segments):
        if isinstance(each, StreamData):
            streams[each.sender] = streams.get(each.sender, b"") + each.data
    return streams


def test_a_recording_has_both_directions_and_no_secret(server: Server) -> None:
    server.users["me"] = "tell-nobody"
    for secret in (False, True):
        file = io.BytesIO()
        with (
            Recorder(file, record_secrets=secret) as recorder,
            connect(
                server.url.replace("guest:guest", "me:tell-nobody"), version=AMQP_1_0, record=recorder
            ) as connection,
            connection.open_session().open_sender("jobs") as sender,
        ):
            sender.send(b"recorded")
        streams = _streams(file.getvalue())
        from_server = streams.pop(f"127.0.0.1:{server.port}")
        (from_client,) = streams.values()
        assert from_client.startswith(b"AMQP\x03\x01\x00\x00")
        assert b"recorded" in from_client
        assert from_server.startswith(b"AMQP\x03\x01\x00\x00")
        assert (b"tell-nobody" in from_client) is secret


@pytest.mark.parametrize(
    "error", [LinkEnded("text", None, "mine"), NotAccepted("text", Rejected()), TransactionFailed("text", None)]
)
def test_errors_copy_and_pickle(error: BaseException) -> None:
    for each in (copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert type(each) is type(error)
        assert str(each) == "text"
        assert each.__dict__ == error.__dict__


def test_two_threads_share_a_sender_with_one_credit() -> None:
    def feed(session: Any, event: object) -> bool:
        """One credit at a time."""
        if isinstance(event, Delivery):
            session.handle(event)
            session.links[event.channel, event.link].flow(1)
            return True
        return False

    with (
        running(credit=0, script=feed) as server,
        connect(server.url, version=AMQP_1_0) as connection,
        connection.open_session() as session,
        session.open_sender("jobs") as sender,
    ):
        served = server.session()
        link = next(iter(served.links.values()))
        served.do(lambda: link.flow(1))
        outcomes: list[DeliveryState | None] = []

        def work(sender: Sender, number: int) -> None:
            for n in range(25):
                outcomes.append(sender.send(Message(number * 100 + n), timeout=WAIT))

        threads = [threading.Thread(target=work, args=(sender, number)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT)
        assert outcomes == [Accepted()] * 100
        assert sorted(server.bodies("jobs")) == [number * 100 + n for number in range(4) for n in range(25)]


def test_a_forgotten_connection_ends_its_keeper(server: Server) -> None:
    def keepers() -> int:
        return sum(each.name == "amqp-sansio-keeper" for each in threading.enumerate())

    connection: Connection | None = connect(server.url, version=AMQP_1_0)
    wait_until(lambda: keepers() == 1)
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        del connection
        wait_until(lambda: gc.collect() >= 0 and keepers() == 0)
    assert server.session().ended.wait(WAIT)
