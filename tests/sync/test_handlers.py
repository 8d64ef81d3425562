"""Signal handlers that end what the interrupted thread is using, whatever instruction the signal interrupts."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, AMQP_1_0, By, EndpointClosed, LocalProtocolError
from amqp_sansio.amqp_0_9_1 import MessageReturned, QueueDeclare
from amqp_sansio_sync import Consumer, Receiver, connect
from amqp_sansio_sync.amqp_1_0 import Connection as Connection10
from tests.kit import server_1_0, sync_0_10, sync_server
from tests.kit.sync_server import WAIT, Server, wait_until
from tests.sync.test_examples import examples

COUNT = 12
BODIES = [b"%02d" % number for number in range(COUNT)]
Handler = Callable[[], object]


class Hung(BaseException):
    """The main thread didn't go on."""


@contextmanager
def handling(handler: Handler) -> Generator[None]:
    """Call `handler` for the first SIGUSR1; raise Hung in the main thread if it's still in there after WAIT seconds."""
    handlers = [handler]

    def handle(number: int, frame: FrameType | None) -> None:
        if handlers:
            handlers.pop()()

    def hung(number: int, frame: FrameType | None) -> None:
        raise Hung

    before = signal.signal(signal.SIGUSR1, handle), signal.signal(signal.SIGALRM, hung)
    signal.setitimer(signal.ITIMER_REAL, WAIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGUSR1, before[0])
        signal.signal(signal.SIGALRM, before[1])


def interrupt() -> None:
    """Interrupt the main thread, from another one."""
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)


class Instructions:
    """Counts this thread's instructions of the adapter; the one with the number `at` is interrupted by SIGUSR1."""

    def __init__(self, at: int) -> None:
        self.at = at
        self.count = 0

    def __enter__(self) -> Instructions:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "call":
            if not frame.f_globals.get("__name__", "").startswith("amqp_sansio_sync"):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        elif event == "opcode":
            self.count += 1
            if self.count == self.at:
                signal.raise_signal(signal.SIGUSR1)
        return self._trace


class Using:
    """A connection of one version to a server whose queue "jobs" has BODIES; it takes and settles them in a loop."""

    def __init__(self, server: Any, version: Any) -> None:
        self.taken: list[bytes] = []
        self.over = threading.Event()
        self.connection: Any
        self.channel: Any
        self.consumer: Any
        if version is AMQP_1_0:
            url = server_1_0.url_of(server)
            self.connection = connect(url, version=version, timeout=WAIT, close_timeout=WAIT)
            self.channel = self.connection.open_session(timeout=WAIT)
            self.consumer = self.channel.open_receiver("jobs", credit=4)
        elif version is AMQP_0_10:
            self.connection = connect(server.url, version=version, timeout=WAIT, close_timeout=WAIT)
            self.channel = self.connection.open_session(open_timeout=WAIT)
            self.consumer = self.channel.subscribe("jobs", credit=4)
        else:
            self.connection = connect(server.url, timeout=WAIT, close_timeout=WAIT)
            self.channel = self.connection.open_channel()
            self.consumer = self.channel.consume("jobs", prefetch=4)
        # The end of a subscription leaves its session, with which its deliveries are settled.
        self.cancel = self.consumer.close if version is AMQP_0_10 else self.consumer.cancel

    def loop(self) -> None:
        """Take and settle until the end of the iteration."""
        try:
            for delivery in self.consumer:
                self.taken.append(delivery.body)
                delivery.accept()
        finally:
            self.over.set()

    def close(self) -> None:
        """Close all."""
        self.connection.close()


class Served:
    """A server whose queue "jobs" can be filled again and looked into."""

    def __init__(self, server: Any, version: Any) -> None:
        self.server = server
        self.version = version

    def use(self) -> Using:
        """Fill the queue and connect; a connection before that isn't gone yet would get what is filled in."""
        wait_until(lambda: all(session.ended.is_set() for session in self.server.sessions))
        if self.version is AMQP_1_0:
            self.server.node("jobs").clear()
            self.server.fill("jobs", *BODIES)
        elif self.version is AMQP_0_10:
            self.server.queues["jobs"].clear()
            self.server.fill("jobs", *BODIES)
        else:
            items = [sync_server.Item("", "jobs", b"\0\0", body) for body in BODIES]
            self.server.queues["jobs"] = deque(items)
        return Using(self.server, self.version)

    def left(self) -> list[bytes]:
        """The bodies that wait in the queue."""
        if self.version is None:
            return [item.body for item in list(self.server.queues["jobs"])]
        bodies: list[bytes] = self.server.bodies("jobs")
        return bodies


@pytest.fixture(params=[None, AMQP_0_10, AMQP_1_0], ids=["classic", "0-10", "1.0"])
def served(request: pytest.FixtureRequest) -> Generator[Served]:
    """A server of each version."""
    kind: Any = {AMQP_0_10: sync_0_10, AMQP_1_0: server_1_0}.get(request.param, sync_server)
    with kind.running() as server:
        yield Served(server, request.param)


def when_idle(using: Using, then: Handler) -> threading.Thread:
    """Do something when the main thread has taken everything and waits for more, unless the loop is over before."""

    def watch() -> None:
        wait_until(lambda: len(using.taken) == COUNT or using.over.is_set())
        if not using.over.wait(0.05):
            then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


def test_a_handler_that_interrupts_the_iteration_cancels_it(served: Served) -> None:
    using = served.use()
    with handling(lambda: using.cancel(timeout=WAIT)):
        thread = when_idle(using, interrupt)
        using.loop()
    thread.join(WAIT)
    assert using.taken == BODIES
    assert using.connection.is_open
    using.close()
    assert served.left() == []


@pytest.mark.parametrize("what", ["channel", "connection"])
def test_a_handler_that_interrupts_the_iteration_closes_what_it_is_on(served: Served, what: str) -> None:
    using = served.use()
    reports: list[Any] = []
    closed = using.channel if what == "channel" else using.connection
    with handling(lambda: reports.append(closed.close())):
        thread = when_idle(using, interrupt)
        # An iteration ends quietly on one's own close; the older clients raise.
        with suppress(EndpointClosed):
            using.loop()
    thread.join(WAIT)
    assert reports[0].by is By.LOCAL
    assert "a signal handler asked for it" in str(reports[0])
    assert using.connection.is_open is (what == "channel")
    assert closed.close().by is By.LOCAL
    using.close()
    assert using.taken == BODIES


def test_a_handler_that_interrupts_the_application_waits_for_the_answer(served: Served) -> None:
    using = served.use()
    with handling(lambda: using.cancel(timeout=WAIT)):
        for delivery in using.consumer:
            if not using.taken:
                signal.raise_signal(signal.SIGUSR1)
            using.taken.append(delivery.body)
            delivery.accept()
    using.close()
    assert sorted([*using.taken, *served.left()]) == BODIES


def interrupted_at(served: Served, what: str, number: int) -> tuple[int, Using]:
    """Interrupt the loop at one instruction; how many there are up to the end, and what was used."""
    using = served.use()
    ends = {"consumer": using.cancel, "channel": using.channel.close, "connection": using.connection.close}
    with handling(lambda: ends[what](timeout=WAIT)):
        with Instructions(number) as instructions:
            thread = when_idle(using, interrupt)
            if what == "consumer":
                using.loop()
            else:
                with suppress(EndpointClosed):
                    using.loop()
        thread.join(WAIT)
    using.close()
    return instructions.count, using


@pytest.mark.parametrize("what", ["consumer", "channel", "connection"])
def test_no_instruction_is_the_wrong_one_for_a_signal(served: Served, what: str) -> None:
    moments = random.Random(f"{served.version} {what}")
    count, _ = interrupted_at(served, what, 0)
    assert count > 1000
    for _ in range(8):
        _, using = interrupted_at(served, what, moments.randrange(1, count))
        assert using.taken == BODIES[: len(using.taken)]
        if what == "consumer":
            # All that was taken is settled, all the rest is given back.
            wait_until(lambda taken=using.taken: taken + sorted(served.left()) == BODIES)  # type: ignore[misc]


def test_an_event_stream_can_be_closed_in_a_handler(server: Server) -> None:
    with connect(server.url) as connection:
        channel = connection.open_channel()
        events = channel.events(MessageReturned)
        with handling(events.close):
            thread = threading.Timer(0.1, interrupt)
            thread.start()
            assert list(events) == []
        thread.join(WAIT)
        assert channel.call(QueueDeclare("jobs")).queue == "jobs"


def test_what_the_server_does_not_answer_in_time_is_logged(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    connection = connect(server.url)
    server.queues["jobs"] = deque()
    consumer = connection.open_channel().consume("jobs", timeout=1.0)
    server.session().writing = False
    with handling(lambda: consumer.cancel(timeout=0.1)):
        thread = threading.Timer(0.1, interrupt)
        thread.start()
        with pytest.raises(TimeoutError, match="a delivery from 'jobs': not within 1 seconds"):
            next(consumer)
    thread.join(WAIT)
    assert "called in a signal handler: basic.cancel: not within 0.1 seconds" in caplog.text
    connection.close(timeout=0.1)


def test_an_exception_of_a_handler_gets_out_of_a_wait_whatever_it_is(server: Server) -> None:
    def fail() -> None:
        raise ConnectionResetError("of another socket")

    with connect(server.url) as connection:
        server.queues["jobs"] = deque()
        consumer = connection.open_channel().consume("jobs", timeout=WAIT)
        with handling(fail):
            thread = threading.Timer(0.1, interrupt)
            thread.start()
            with pytest.raises(ConnectionResetError, match="of another socket"):
                next(consumer)
        thread.join(WAIT)
        assert connection.is_open


def test_the_examples_of_cancel() -> None:
    before = signal.getsignal(signal.SIGTERM)
    try:
        with sync_server.running() as server, connect(server.url) as connection:
            server.queues["jobs"] = deque([sync_server.Item("", "jobs", b"\0\0", b"1")])
            consumer = connection.open_channel().consume("jobs")
            run = examples(Consumer.cancel, {"signal": signal, "Consumer": Consumer})["example"]
            thread = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGTERM))
            thread.start()
            run(consumer)
            thread.join(WAIT)
        with server_1_0.running() as other:
            url = server_1_0.url_of(other)
            other.fill("jobs", b"1")
            with connect(url, version=AMQP_1_0) as newer:
                receiver = newer.open_session().open_receiver("jobs")
                run = examples(Receiver.cancel, {"signal": signal, "Receiver": Receiver})["example"]
                thread = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGTERM))
                thread.start()
                run(receiver)
                thread.join(WAIT)
            assert other.bodies("jobs") == []
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_receiver_that_is_cancelled_takes_nothing_more() -> None:
    with server_1_0.running() as server:
        server.fill("jobs", *BODIES)
        connection: Connection10
        with connect(server_1_0.url_of(server), version=AMQP_1_0, timeout=WAIT) as connection:
            receiver = connection.open_session().open_receiver("jobs", credit=3, timeout=WAIT)
            first = next(receiver)
            receiver.cancel(WAIT)
            receiver.cancel(WAIT)
            came = [first, *receiver]
            assert [each.body for each in came] == BODIES[: len(came)]
            receiver.accept(*came)
            assert server.bodies("jobs") == BODIES[len(came) :]
            with pytest.raises(LocalProtocolError, match="the receiver is cancelled"):
                receiver.fetch(0)
            with pytest.raises(LocalProtocolError, match="the receiver is cancelled"):
                receiver.flow(1)
            assert receiver.is_open
        idle = "nothing is to be taken back without credit"
        with connect(server_1_0.url_of(server), version=AMQP_1_0, timeout=WAIT) as connection:
            receiver = connection.open_session().open_receiver(idle, credit=0, timeout=WAIT)
            receiver.cancel(WAIT)
            assert list(receiver) == []
