"""Signal handlers that end what the interrupted thread is using, whatever instruction the signal interrupts."""

from __future__ import annotations

import random
import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, EndpointClosed, LocalProtocolError, Version
from amqp_sansio.amqp_0_9_1 import MessageReturned, QueueDeclare
from amqp_sansio_sync import Consumer, Receiver
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version, wait_until
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


class Using(SyncUser):
    """One whose queue "jobs" has BODIES; it takes and settles them in a loop."""

    def __init__(self, broker: ScriptedBroker, version: Version) -> None:
        # A connection before that isn't gone yet would get what is filled in.
        wait_until(lambda: not broker.connections)
        broker.queue("jobs").purge()
        broker.fill("jobs", *BODIES)
        super().__init__(broker, version, close_timeout=WAIT)
        self.taken: list[bytes] = []
        self.over = threading.Event()
        self.consume(credit=4, timeout=None)
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


def when_idle(using: Using, then: Handler) -> threading.Thread:
    """Do something when the main thread has taken everything and waits for more, unless the loop is over before."""

    def watch() -> None:
        wait_until(lambda: len(using.taken) == COUNT or using.over.is_set())
        if not using.over.wait(0.05):
            then()

    thread = threading.Thread(target=watch)
    thread.start()
    return thread


@each_version
def test_a_handler_that_interrupts_the_iteration_cancels_it(broker: ScriptedBroker, version: Version) -> None:
    using = Using(broker, version)
    with handling(lambda: using.cancel(timeout=WAIT)):
        thread = when_idle(using, interrupt)
        using.loop()
    thread.join(WAIT)
    assert using.taken == BODIES
    assert using.connection.is_open
    using.close()
    assert broker.bodies("jobs") == []


@each_version
@pytest.mark.parametrize("what", ["channel", "connection"])
def test_a_handler_in_the_iteration_may_close_it(broker: ScriptedBroker, version: Version, what: str) -> None:
    using = Using(broker, version)
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


@each_version
def test_a_handler_in_the_application_waits_for_the_answer(broker: ScriptedBroker, version: Version) -> None:
    using = Using(broker, version)
    with handling(lambda: using.cancel(timeout=WAIT)):
        for delivery in using.consumer:
            if not using.taken:
                signal.raise_signal(signal.SIGUSR1)
            using.taken.append(delivery.body)
            delivery.accept()
    using.close()
    assert sorted([*using.taken, *broker.bodies("jobs")]) == BODIES


def interrupted_at(using: Using, what: str, number: int) -> int:
    """Interrupt the loop at one instruction; how many there are up to the end."""
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
    return instructions.count


@each_version
@pytest.mark.parametrize("what", ["consumer", "channel", "connection"])
def test_no_instruction_is_the_wrong_one_for_a_signal(broker: ScriptedBroker, version: Version, what: str) -> None:
    moments = random.Random(f"{version.label} {what}")
    count = interrupted_at(Using(broker, version), what, 0)
    assert count > 1000
    for _ in range(8):
        using = Using(broker, version)
        interrupted_at(using, what, moments.randrange(1, count))
        assert using.taken == BODIES[: len(using.taken)]
        if what == "consumer":
            # All that was taken is settled, all the rest is given back.
            wait_until(lambda taken=using.taken: taken + sorted(broker.bodies("jobs")) == BODIES)  # type: ignore[misc]


def test_an_event_stream_can_be_closed_in_a_handler(broker: ScriptedBroker) -> None:
    with SyncUser(broker, AMQP_0_9_1) as user:
        events = user.channel.events(MessageReturned)
        with handling(events.close):
            thread = threading.Timer(0.1, interrupt)
            thread.start()
            assert list(events) == []
        thread.join(WAIT)
        assert user.channel.call(QueueDeclare("jobs")).queue == "jobs"


def test_a_late_answer_of_the_server_is_logged(broker: ScriptedBroker, caplog: pytest.LogCaptureFixture) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    consumer = user.consume(timeout=3.0)
    handled: list[str] = []
    with broker.faults.stall("to_client"):
        with handling(lambda: handled.append(str(consumer.cancel(timeout=0.1)))):
            thread = threading.Timer(0.1, interrupt)
            thread.start()
            with pytest.raises(TimeoutError, match="a delivery from 'jobs': not within 3 seconds"):
                next(consumer)
        thread.join(WAIT)
        assert handled and user.connection.is_open
        wait_until(lambda: "called in a signal handler: basic.cancel: not within 0.1 seconds" in caplog.text)
        user.close(timeout=0.1)


def test_an_exception_of_a_handler_gets_out_of_a_wait_whatever_it_is(broker: ScriptedBroker) -> None:
    def fail() -> None:
        raise ConnectionResetError("of another socket")

    with SyncUser(broker, AMQP_0_9_1) as user:
        consumer = user.consume()
        with handling(fail):
            thread = threading.Timer(0.1, interrupt)
            thread.start()
            with pytest.raises(ConnectionResetError, match="of another socket"):
                next(consumer)
        thread.join(WAIT)
        assert user.connection.is_open


def test_the_examples_of_cancel(broker: ScriptedBroker) -> None:
    broker.fill("jobs", b"1")
    before = signal.getsignal(signal.SIGTERM)
    try:
        with SyncUser(broker, AMQP_0_9_1) as user:
            run = examples(Consumer.cancel, {"signal": signal, "Consumer": Consumer})["example"]
            thread = threading.Timer(0.1, signal.pthread_kill, (threading.get_ident(), signal.SIGTERM))
            thread.start()
            run(user.consume(timeout=None))
            thread.join(WAIT)
        assert broker.bodies("jobs") == []
    finally:
        signal.signal(signal.SIGTERM, before)
    with SyncUser(broker, AMQP_1_0) as user:
        examples(Receiver.cancel, {"Receiver": Receiver})["example"](user.consume(timeout=None))


def test_a_receiver_that_is_cancelled_takes_nothing_more(broker: ScriptedBroker) -> None:
    broker.fill("jobs", *BODIES)
    broker.fill("idle")
    with SyncUser(broker, AMQP_1_0) as user:
        receiver = user.consume(credit=3)
        first = next(receiver)
        receiver.cancel(WAIT)
        receiver.cancel(WAIT)
        came = [first, *receiver]
        assert [each.body for each in came] == BODIES[: len(came)]
        receiver.accept(*came)
        user.sync()
        assert broker.bodies("jobs") == BODIES[len(came) :]
        with pytest.raises(LocalProtocolError, match="the receiver is cancelled"):
            receiver.fetch(0)
        with pytest.raises(LocalProtocolError, match="the receiver is cancelled"):
            receiver.flow(1)
        assert receiver.is_open
        # Nothing is to be taken back without credit.
        receiver = user.consume("idle", credit=0)
        receiver.cancel(WAIT)
        assert list(receiver) == []
