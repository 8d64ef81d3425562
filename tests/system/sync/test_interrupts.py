"""Exceptions that signals raise, at any time: a usable connection is left, or a clear error."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from time import monotonic
from types import FrameType

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, EndpointClosed, Version
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version
from tests.sync.test_interrupts import (
    Interrupted,
    test_an_interrupt_at_each_line_of_the_client,
    test_an_interrupt_in_a_wait_leaves_the_connection_usable,
    test_an_interrupt_in_every_kind_of_wait,
    test_an_interrupt_of_a_thread_that_follows,
    test_an_interrupt_while_the_engine_works_gives_the_connection_up,
)

pytestmark = pytest.mark.large


@contextmanager
def alarms(*pauses: float) -> Generator[None]:
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
            with alarms(0.0002 + 0.0001 * (step % 37)):
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


__all__ = [
    "test_an_interrupt_at_each_line_of_the_client",
    "test_an_interrupt_in_a_wait_leaves_the_connection_usable",
    "test_an_interrupt_in_every_kind_of_wait",
    "test_an_interrupt_of_a_thread_that_follows",
    "test_an_interrupt_while_the_engine_works_gives_the_connection_up",
    "test_interrupts_leave_a_usable_connection_or_a_clear_error",
    "test_keyboard_interrupt_in_a_wait_leaves_the_connection_usable",
]
