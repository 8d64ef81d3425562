"""Many threads on one connection, and exceptions that come from outside: signals in waits and at work."""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic, sleep
from types import FrameType

import pytest

from amqp_sansio import Accepted, EndpointClosed
from amqp_sansio.amqp_0_9_1 import BasicProperties, QueueDeclare
from amqp_sansio_sync import Channel, Connection, Delivery, connect
from tests.kit.sync_server import WAIT, Item, Server, running, wait_until


class Interrupted(BaseException):
    """What the signal handler of these tests raises."""


@contextmanager
def interrupts(*pauses: float) -> Generator[None]:
    """Raise Interrupted in the main thread after each of the pauses (seconds), then no more."""
    left = list(pauses)

    def interrupt(number: int, frame: FrameType | None) -> None:
        if left:
            signal.setitimer(signal.ITIMER_REAL, left.pop(0))
        raise Interrupted

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, left.pop(0))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_hammer_of_threads(server: Server) -> None:
    count, each = 6, 60
    with connect(server.url, heartbeat=5) as connection:
        shared = connection.open_channel(confirm=True)
        shared.call(QueueDeclare("jobs"))
        settle: list[Delivery] = []
        failures: list[BaseException] = []
        seen: list[bytes] = []

        def publish(number: int) -> None:
            own = connection.open_channel(confirm=True)
            for n in range(each):
                body = b"%d.%d" % (number, n)
                if n % 3 == 0:
                    assert shared.publish(body, routing_key="jobs", timeout=WAIT) == Accepted()
                elif n % 3 == 1:
                    pending = own.publish(body, routing_key="jobs", wait=False)
                    assert pending.result(WAIT) == Accepted()
                else:
                    with own.batch():
                        own.publish(body, routing_key="jobs", wait=False)
                    own.call(QueueDeclare("jobs"), timeout=WAIT)
            own.close(timeout=WAIT)

        def consume() -> None:
            channel = connection.open_channel()
            with channel.consume("jobs", prefetch=5, timeout=WAIT) as deliveries:
                while len(seen) < count * each:
                    try:
                        deliveries.timeout = 0.1
                        delivery = next(deliveries)
                    except TimeoutError:
                        continue
                    seen.append(delivery.body)
                    if len(seen) % 2:
                        delivery.accept()
                    else:
                        settle.append(delivery)

        def settler() -> None:
            end = monotonic() + WAIT
            settled = 0
            while settled < len(seen) // 2 or len(seen) < count * each:
                assert monotonic() < end
                if settle:
                    settle.pop().accept()  # of another thread's channel
                    settled += 1
                else:
                    sleep(0.001)

        def guarded(work: object, *arguments: object) -> None:
            try:
                work(*arguments)  # type: ignore[operator]
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
        wait_until(lambda: not server.queues["jobs"])


def test_a_thread_that_waits_takes_over_reading(server: Server, connection: Connection) -> None:
    server.queues["jobs"] = deque()
    first, second = connection.open_channel(), connection.open_channel()
    short = first.consume("jobs", timeout=0.2)
    bodies: list[bytes] = []

    def consume() -> None:
        with second.consume("other", timeout=WAIT) as deliveries:
            bodies.append(next(deliveries).body)

    server.queues["other"] = deque()

    def give_up() -> None:
        with pytest.raises(TimeoutError):
            next(short)

    reader = threading.Thread(target=give_up)
    reader.start()
    sleep(0.05)
    follower = threading.Thread(target=consume)
    follower.start()
    reader.join(WAIT)
    publisher = connect(server.url)
    session = server.sessions[0]
    sleep(0.05)
    session.do(lambda: server.queues["other"].append(Item("", "other", b"\0\0", b"late")))
    session.do(lambda: session._pump("other"))  # pyright: ignore[reportPrivateUsage]
    follower.join(WAIT)
    assert bodies == [b"late"]
    publisher.close()
    short.close()


def test_publishing_is_not_held_up_by_a_thread_that_waits(server: Server, connection: Connection) -> None:
    server.queues["idle"] = deque()
    channel = connection.open_channel()
    deliveries = channel.consume("idle")
    done = threading.Event()

    def consume() -> None:
        try:
            next(deliveries)
        except StopIteration:
            done.set()

    thread = threading.Thread(target=consume)
    thread.start()
    publishing = connection.open_channel(confirm=True)
    begun = monotonic()
    for _ in range(20):
        assert publishing.publish(b"x") == Accepted()
    assert monotonic() - begun < 10
    connection.close()
    assert done.wait(WAIT)
    thread.join(WAIT)


def test_keyboard_interrupt_in_a_wait_leaves_the_connection_usable(connection: Connection) -> None:
    channel = connection.open_channel()
    channel.call(QueueDeclare("jobs"))
    with channel.consume("jobs") as deliveries:
        for _ in range(3):
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                next(deliveries)
            timer.join()
        channel.publish(b"x", routing_key="jobs")
        assert next(deliveries).body == b"x"
    assert channel.call(QueueDeclare("jobs")).queue == "jobs"


def test_an_interrupt_in_every_kind_of_wait(server: Server) -> None:
    connection = connect(server.url)
    session = server.session()
    channel = connection.open_channel(confirm=True)
    channel.call(QueueDeclare("jobs"))
    session.writing = False
    with interrupts(0.03), pytest.raises(Interrupted):
        channel.call(QueueDeclare("other"))
    with interrupts(0.03), pytest.raises(Interrupted):
        channel.publish(b"1", routing_key="jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        connection.open_channel()
    with interrupts(0.03), pytest.raises(Interrupted):
        channel.get("jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        channel.consume("jobs")
    with interrupts(0.03), pytest.raises(Interrupted):
        channel.wait_for_confirms()
    session.writing = True
    session.do(lambda: None)
    channel.wait_for_confirms(WAIT)
    assert connection.open_channel(timeout=WAIT).call(QueueDeclare("jobs")).queue == "jobs"
    wait_until(lambda: len(server.queues["jobs"]) == 1)  # what came for the gone was given back
    with channel.consume("jobs", timeout=WAIT) as deliveries:
        assert next(deliveries).body == b"1"
    connection.close()


def test_an_interrupt_of_a_thread_that_follows(server: Server, connection: Connection) -> None:
    server.queues["jobs"] = deque()
    channel = connection.open_channel()
    waiting = channel.consume("jobs")
    errors: list[BaseException] = []

    def read() -> None:
        try:
            next(waiting)
        except StopIteration as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    sleep(0.05)
    with interrupts(0.05), pytest.raises(Interrupted):
        next(channel.consume("jobs"))
    assert channel.call(QueueDeclare("jobs"), timeout=WAIT).queue == "jobs"
    connection.close()
    reader.join(WAIT)
    assert len(errors) == 1


def test_an_interrupt_while_the_engine_works_gives_the_connection_up(server: Server, connection: Connection) -> None:
    class Stinging(BasicProperties):
        __slots__ = ()

        def encode(self, tables: object) -> bytes:
            raise Interrupted

    channel = connection.open_channel()
    server.queues["jobs"] = deque()
    waiting = channel.consume("jobs")
    errors: list[BaseException] = []

    def read() -> None:
        try:
            next(waiting)
        except EndpointClosed as error:
            errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    sleep(0.05)
    with pytest.raises(Interrupted):
        channel.publish(b"x", properties=Stinging())
    reader.join(WAIT)
    assert "interrupted at work by Interrupted" in str(errors[0])
    for _ in range(2):
        with pytest.raises(EndpointClosed, match="given up: its engine was interrupted at work"):
            channel.call(QueueDeclare("jobs"))
    with pytest.raises(EndpointClosed, match="given up"):
        channel.publish(b"x")
    assert not connection.is_open
    assert "given up" in str(connection.close())
    assert server.session().ended.wait(WAIT)


# An exception that hits a weak reference's callback is swallowed by the interpreter; then the round goes without.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_interrupts_at_any_time_leave_a_usable_connection_or_a_clear_error() -> None:
    given_up = interrupted = 0
    with running() as server:
        connection, channel = _open(server)
        end = monotonic() + 2.5
        step = 0
        while monotonic() < end:
            step += 1
            try:
                with interrupts(0.0002 + 0.0001 * (step % 37)):
                    until = monotonic() + 0.5
                    while monotonic() < until:
                        channel.publish(b"x", routing_key="jobs", timeout=WAIT)
                        delivery = channel.get("jobs", timeout=WAIT)
                        if delivery is not None:
                            delivery.accept()
            except Interrupted:
                interrupted += 1
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
            try:
                channel.call(QueueDeclare("jobs"), timeout=WAIT)
            except EndpointClosed as error:
                assert "interrupted at work" in str(error)
                given_up += 1
                connection.close()
                connection, channel = _open(server)
        connection.close()
    assert interrupted > 20
    assert 0 < given_up < interrupted


def _open(server: Server) -> tuple[Connection, Channel]:
    connection = connect(server.url, timeout=WAIT)
    channel = connection.open_channel(confirm=True, timeout=WAIT)
    channel.call(QueueDeclare("jobs"), timeout=WAIT)
    return connection, channel
