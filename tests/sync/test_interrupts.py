"""Exceptions that come from outside, at any time: a usable connection is left, or a clear error."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.amqp_0_10.spec import QueueQuery
from amqp_sansio_sync.system import current
from tests.kit.inside import driver_of
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_interrupts import LATER, Interrupts, is_kept
from tests.kit.sync_user import WAIT, SyncUser, each_version, finished, started, wait_until

if TYPE_CHECKING:
    from _typeshed import TraceFunction

Wait = Callable[[], object]


class Interrupted(BaseException):
    """What the handler of these tests raises."""


def fail() -> None:
    """What an interrupt does here."""
    raise Interrupted


@contextmanager
def interrupt_at(left: list[int]) -> Generator[None]:
    """Raise Interrupted when this thread comes to the line of the client whose number is left, counted as they run.

    Lines below a `__del__` don't count: the interpreter prints what is raised there, and goes on.
    """

    def trace(frame: FrameType, event: str, _: object) -> TraceFunction | None:
        if "/amqp_sansio/client/" not in frame.f_code.co_filename or is_destroyed_in(frame) or is_kept(frame):
            return None
        left[0] -= event == "line"
        if event == "line" and not left[0]:
            raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(None)


def is_destroyed_in(frame: FrameType | None) -> bool:
    """Whether a frame is that of a `__del__`, or called from one."""
    while frame is not None and frame.f_code.co_name != "__del__":
        frame = frame.f_back
    return frame is not None


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
        waits += [lambda: channel.call(QueueDeclare("other", durable=True)), lambda: channel.get("jobs")]
        waits += [lambda: channel.consume("jobs"), channel.wait_for_confirms]
    return waits


@each_version
def test_an_interrupt_in_every_kind_of_wait(broker: ScriptedBroker, interrupts: Interrupts, version: Version) -> None:
    user = SyncUser(broker, version)
    broker.fill("idle")
    user.publish(b"0")
    user.consume("idle", credit=0 if version is not AMQP_0_9_1 else 5)
    with broker.faults.stall("to_client"):
        for wait in waits_of(user):
            interrupts.later(0.03)
            with interrupts.handling(fail), pytest.raises(Interrupted):
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


@each_version
def test_an_interrupt_in_a_wait_leaves_the_connection_usable(
    broker: ScriptedBroker, interrupts: Interrupts, version: Version
) -> None:
    with SyncUser(broker, version) as user, user.consume(timeout=None) as consumer:
        for _ in range(3):
            interrupts.later(0.05)
            with interrupts.handling(fail), pytest.raises(Interrupted):
                next(consumer)
        user.publish(b"x", timeout=WAIT)
        delivery = next(consumer)
        assert delivery.body == b"x"
        delivery.accept()


def test_an_interrupt_of_a_thread_that_follows(broker: ScriptedBroker, interrupts: Interrupts) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    waiting = user.consume(timeout=None)
    ends: list[object] = []
    reader = started(lambda: ends.append(next(waiting, "the end")))
    current().sleep(LATER)
    interrupts.later(LATER)
    with interrupts.handling(fail), pytest.raises(Interrupted):
        next(user.consume(timeout=None))
    assert user.channel.call(QueueDeclare("jobs", durable=True), timeout=WAIT).queue == "jobs"
    user.close()
    finished(reader)
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

    reader = started(read)
    current().sleep(LATER)
    with pytest.raises(Interrupted):
        user.publish(b"x", properties=Stinging())
    finished(reader)
    assert "interrupted at work by Interrupted" in str(errors[0])
    for _ in range(2):
        with pytest.raises(EndpointClosed, match="given up: its engine was interrupted at work"):
            user.channel.call(QueueDeclare("jobs", durable=True))
    with pytest.raises(EndpointClosed, match="given up"):
        user.publish(b"x")
    assert not user.connection.is_open
    assert "given up" in str(user.close())
    wait_until(lambda: not broker.connections)


class StingingLock:
    """A lock that an interrupt keeps a thread from entering."""

    def __enter__(self) -> None:
        raise Interrupted

    def __exit__(self, *_: object) -> None:
        """It is never entered."""


def test_an_interrupt_before_the_first_step_of_a_call_leaves_nothing_behind(broker: ScriptedBroker) -> None:
    with SyncUser(broker, AMQP_0_9_1) as user:
        driver = driver_of(user.connection)
        lock, driver.lock = driver.lock, StingingLock()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            with pytest.raises(Interrupted):
                user.open()
            gc.collect()
        driver.lock = lock
        assert [str(each.message) for each in told] == []
        assert user.publish(b"x") == user.accepted


@each_version
def test_an_interrupt_at_each_line_of_the_client(broker: ScriptedBroker, stride: int, version: Version) -> None:
    user = SyncUser(broker, version)
    given_up, line, left = 0, 0, [0]
    while not left[0]:
        line += stride
        left = [line]
        try:
            with interrupt_at(left):
                another = user.another()
                another.publish(b"x", timeout=WAIT)
                another.consume(credit=1)
        except (Interrupted, EndpointClosed) as error:
            assert isinstance(error, Interrupted) or "interrupted at work" in str(error)
        try:
            user.another().publish(b"y", timeout=WAIT)
        except EndpointClosed as error:
            assert "interrupted at work" in str(error)
            given_up += 1
            user.close()
            user = SyncUser(broker, version)
    user.close()
    assert 0 < given_up < line // stride
