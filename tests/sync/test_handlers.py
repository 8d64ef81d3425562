"""Signal handlers that end what the interrupted thread is using, whatever instruction the signal interrupts.

Here the handlers are called in a world; in tests/system by signals.
"""

from __future__ import annotations

import logging
import random
from contextlib import suppress
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, EndpointClosed, LocalProtocolError, Version
from amqp_sansio.amqp_0_9_1 import MessageReturned
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_sync.amqp_1_0 import Receiver
from amqp_sansio_sync.system import Thread, current
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_interrupts import LATER, Handler, Instructions, Interrupts
from tests.kit.sync_user import WAIT, SyncUser, each_version, finished, started, wait_until
from tests.sync.test_examples import examples

COUNT = 12
BODIES = [b"%02d" % number for number in range(COUNT)]


class Using(SyncUser):
    """One whose queue "jobs" has BODIES; it takes and settles them in a loop."""

    def __init__(self, broker: ScriptedBroker, version: Version) -> None:
        # A connection before that isn't gone yet would get what is filled in.
        wait_until(lambda: not broker.connections)
        broker.queue("jobs").purge()
        broker.fill("jobs", *BODIES)
        super().__init__(broker, version, close_timeout=WAIT)
        self.taken: list[bytes] = []
        self.is_over = False
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
            self.is_over = True


def when_idle(using: Using, then: Handler) -> Thread:
    """Do something when the test's own code has taken everything and waits for more, unless its loop is over before."""

    def watch() -> None:
        wait_until(lambda: len(using.taken) == COUNT or using.is_over)
        current().sleep(LATER)
        if not using.is_over:
            then()

    return started(watch)


@each_version
def test_a_handler_that_interrupts_the_iteration_cancels_it(
    broker: ScriptedBroker, interrupts: Interrupts, version: Version
) -> None:
    using = Using(broker, version)
    with interrupts.handling(lambda: using.cancel(timeout=WAIT)):
        thread = when_idle(using, interrupts.soon)
        using.loop()
    finished(thread)
    assert using.taken == BODIES
    assert using.connection.is_open
    using.close()
    assert broker.bodies("jobs") == []


@each_version
@pytest.mark.parametrize("what", ["channel", "connection"])
def test_a_handler_in_the_iteration_may_close_it(
    broker: ScriptedBroker, interrupts: Interrupts, version: Version, what: str
) -> None:
    using = Using(broker, version)
    reports: list[Any] = []
    closed = using.channel if what == "channel" else using.connection
    with interrupts.handling(lambda: reports.append(closed.close())):
        thread = when_idle(using, interrupts.soon)
        # An iteration ends quietly on one's own close; the older clients raise.
        with suppress(EndpointClosed):
            using.loop()
    finished(thread)
    assert reports[0].by is By.LOCAL
    assert "a signal handler asked for it" in str(reports[0])
    assert using.connection.is_open is (what == "channel")
    assert closed.close().by is By.LOCAL
    using.close()
    assert using.taken == BODIES


@each_version
def test_a_handler_in_the_application_waits_for_the_answer(
    broker: ScriptedBroker, interrupts: Interrupts, version: Version
) -> None:
    using = Using(broker, version)
    with interrupts.handling(lambda: using.cancel(timeout=WAIT)):
        for delivery in using.consumer:
            if not using.taken:
                interrupts.now()
            using.taken.append(delivery.body)
            delivery.accept()
    using.close()
    assert sorted([*using.taken, *broker.bodies("jobs")]) == BODIES


def interrupted_at(using: Using, interrupts: Interrupts, what: str, number: int) -> int:
    """Interrupt the loop at one instruction; how many there are up to the end."""
    ends = {"consumer": using.cancel, "channel": using.channel.close, "connection": using.connection.close}
    with interrupts.handling(lambda: ends[what](timeout=WAIT)):
        with Instructions(number, interrupts) as instructions:
            thread = when_idle(using, interrupts.soon)
            if what == "consumer":
                using.loop()
            else:
                with suppress(EndpointClosed):
                    using.loop()
        finished(thread)
    using.close()
    return instructions.count


@each_version
@pytest.mark.parametrize("what", ["consumer", "channel", "connection"])
def test_no_instruction_is_the_wrong_one_for_a_signal(
    broker: ScriptedBroker, interrupts: Interrupts, version: Version, what: str
) -> None:
    moments = random.Random(f"{version.label} {what}")
    count = interrupted_at(Using(broker, version), interrupts, what, 0)
    assert count > 1000
    for _ in range(8):
        using = Using(broker, version)
        interrupted_at(using, interrupts, what, moments.randrange(1, count))
        assert using.taken == BODIES[: len(using.taken)]
        if what == "consumer":
            # All that was taken is settled, all the rest is given back.
            wait_until(lambda taken=using.taken: taken + sorted(broker.bodies("jobs")) == BODIES)  # type: ignore[misc]


def test_an_event_stream_can_be_closed_in_a_handler(broker: ScriptedBroker, interrupts: Interrupts) -> None:
    with SyncUser(broker, AMQP_0_9_1) as user:
        events = user.channel.events(MessageReturned)
        with interrupts.handling(events.close):
            interrupts.later(0.1)
            assert list(events) == []
        assert user.channel.call(QueueDeclare("jobs", durable=True)).queue == "jobs"


def test_a_late_answer_of_the_server_is_logged(
    broker: ScriptedBroker, interrupts: Interrupts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING)  # Celery, which other tests run, leaves a higher one.
    user = SyncUser(broker, AMQP_0_9_1)
    consumer = user.consume(timeout=3.0)
    handled: list[str] = []
    with broker.faults.stall("to_client"):
        # In the midst of the call, however slow the machine is.
        with (
            interrupts.handling(lambda: handled.append(str(consumer.cancel(timeout=0.1)))),
            Instructions(100, interrupts),
            pytest.raises(TimeoutError, match="a delivery from 'jobs': not within 3 seconds"),
        ):
            next(consumer)
        assert handled and user.connection.is_open
        wait_until(lambda: "called in a signal handler: basic.cancel: not within 0.1 seconds" in caplog.text)
        user.close(timeout=0.1)


def test_an_exception_of_a_handler_gets_out_of_a_wait_whatever_it_is(
    broker: ScriptedBroker, interrupts: Interrupts
) -> None:
    def fail() -> None:
        raise ConnectionResetError("of another socket")

    with SyncUser(broker, AMQP_0_9_1) as user:
        consumer = user.consume()
        with interrupts.handling(fail):
            interrupts.later(0.1)
            with pytest.raises(ConnectionResetError, match="of another socket"):
                next(consumer)
        assert user.connection.is_open


def test_the_example_of_cancel(broker: ScriptedBroker) -> None:
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
