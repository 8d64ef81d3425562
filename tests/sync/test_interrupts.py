"""Exceptions that come from outside, at any time: a usable connection is left, or a clear error."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic, sleep
from types import FrameType

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties, QueueDeclare
from amqp_sansio.amqp_0_10 import QueueQuery
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version, wait_until

Wait = Callable[[], object]


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


def waits_of(user: SyncUser) -> list[Wait]:
    """Every kind of wait, when the broker answers nothing; the first one publishes."""
    channel, consumer = user.channel, user.consumer
    waits: list[Wait] = [lambda: user.publish(b"1"), user.open]
    if user.version is AMQP_1_0:
        waits += [lambda: channel.open_receiver("jobs"), consumer.fetch, consumer.drain, consumer.cancel]
        waits += [channel.transaction().declare]
    elif user.version is AMQP_0_10:
        waits += [lambda: channel.call(QueueQuery(queue="jobs")), lambda: channel.subscribe("jobs")]
        waits += [consumer.fetch, channel.wait_closed, consumer.stop, channel.transaction().begin]
    else:
        waits += [lambda: channel.call(QueueDeclare("other")), lambda: channel.get("jobs")]
        waits += [lambda: channel.consume("jobs"), channel.wait_for_confirms]
    return waits


@each_version
def test_an_interrupt_in_every_kind_of_wait(broker: ScriptedBroker, version: Version) -> None:
    user = SyncUser(broker, version)
    broker.fill("idle")
    user.publish(b"0")
    user.consume("idle", credit=0 if version is not AMQP_0_9_1 else 5)
    with broker.faults.stall("to_client"):
        for wait in waits_of(user):
            with interrupts(0.03), pytest.raises(Interrupted):
                wait()
    # One begins a transaction in 0-10.
    with user.together() as together:
        user.publish_in(together, b"2")
    # What came for those that are gone was given back.
    wait_until(lambda: broker.queue("jobs").ready == 3)
    with user.another().consume() as consumer:
        bodies: set[bytes] = set()
        while len(bodies) < 3:
            delivery = next(consumer)
            bodies.add(delivery.body)
            delivery.accept()
    assert bodies == {b"0", b"1", b"2"}
    user.close()


@pytest.fixture
def sigint() -> Generator[None]:
    """SIGINT raises KeyboardInterrupt, also where a shell has started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
@each_version
def test_keyboard_interrupt_in_a_wait_leaves_the_connection_usable(broker: ScriptedBroker, version: Version) -> None:
    with SyncUser(broker, version) as user, user.consume(timeout=None) as consumer:
        for _ in range(3):
            timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
            timer.start()
            with pytest.raises(KeyboardInterrupt):
                next(consumer)
            timer.join()
        user.publish(b"x", timeout=WAIT)
        delivery = next(consumer)
        assert delivery.body == b"x"
        delivery.accept()


def test_an_interrupt_of_a_thread_that_follows(broker: ScriptedBroker) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    waiting = user.consume(timeout=None)
    ends: list[object] = []
    reader = threading.Thread(target=lambda: ends.append(next(waiting, "the end")))
    reader.start()
    sleep(0.05)
    with interrupts(0.05), pytest.raises(Interrupted):
        next(user.consume(timeout=None))
    assert user.channel.call(QueueDeclare("jobs"), timeout=WAIT).queue == "jobs"
    user.close()
    reader.join(WAIT)
    assert ends == ["the end"]


def test_an_interrupt_while_the_engine_works_gives_the_connection_up(broker: ScriptedBroker) -> None:
    class Stinging(BasicProperties):
        __slots__ = ()

        def encode(self, tables: object) -> bytes:
            raise Interrupted

    user = SyncUser(broker, AMQP_0_9_1)
    waiting = user.consume(timeout=None)
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
        user.publish(b"x", properties=Stinging())
    reader.join(WAIT)
    assert "interrupted at work by Interrupted" in str(errors[0])
    for _ in range(2):
        with pytest.raises(EndpointClosed, match="given up: its engine was interrupted at work"):
            user.channel.call(QueueDeclare("jobs"))
    with pytest.raises(EndpointClosed, match="given up"):
        user.publish(b"x")
    assert not user.connection.is_open
    assert "given up" in str(user.close())
    wait_until(lambda: not broker.connections)


# An exception that hits a weak reference's callback or a destructor is swallowed by the interpreter.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@each_version
def test_interrupts_leave_a_usable_connection_or_a_clear_error(broker: ScriptedBroker, version: Version) -> None:
    def opened() -> SyncUser:
        user = SyncUser(broker, version)
        if version is not AMQP_0_9_1:
            user.consume()
        return user

    given_up = interrupted = step = 0
    user = opened()
    end = monotonic() + 2.5
    while monotonic() < end:
        step += 1
        try:
            with interrupts(0.0002 + 0.0001 * (step % 37)):
                until = monotonic() + 0.5
                while monotonic() < until:
                    user.publish(b"x", timeout=WAIT)
                    user.take()
        except Interrupted:
            interrupted += 1
        except EndpointClosed as error:
            assert "interrupted at work" in str(error)
        try:
            user.publish(b"y", timeout=WAIT)
            user.take()
        except EndpointClosed as error:
            assert "interrupted at work" in str(error)
            if version is AMQP_0_10:
                with pytest.raises(EndpointClosed, match="interrupted at work"):
                    user.channel.detached_state()
            given_up += 1
            user.close()
            user = opened()
    user.close()
    assert interrupted > 20
    assert 0 < given_up < interrupted
