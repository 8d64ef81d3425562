"""Many threads on one connection."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio_sync.system import current
from tests.kit.held_1_0 import HeldNode
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version, finished, started, wait_until


@each_version
def test_a_hammer_of_threads(broker: ScriptedBroker, version: Version) -> None:
    count, each = 5, 40
    with SyncUser(broker, version) as shared:
        settle: list[Any] = []
        settled: list[Any] = []
        failures: list[BaseException] = []
        seen: list[bytes] = []

        def publish(number: int) -> None:
            own = shared.another()
            for n in range(each):
                body = b"%d.%d" % (number, n)
                if n % 3 == 0:
                    assert shared.publish(body, timeout=WAIT) == shared.accepted
                elif n % 3 == 1:
                    assert own.publish(body, wait=False).result(WAIT) == own.accepted
                else:
                    with own.together() as together:
                        own.publish_in(together, body)
            own.sync()
            own.channel.close(timeout=WAIT)

        def consume() -> None:
            own = shared.another()
            with own.consume(timeout=0.1) as consumer:
                while len(seen) < count * each:
                    try:
                        delivery = next(consumer)
                    except TimeoutError:
                        continue
                    seen.append(delivery.body)
                    if int(delivery.body.partition(b".")[2]) % 2:
                        delivery.accept()
                    else:
                        settle.append(delivery)
                wait_until(lambda: bool(failures) or len(settled) == count * each // 2)
            own.channel.close(timeout=WAIT)

        def settler() -> None:
            end = current().now() + WAIT
            while len(settled) < count * each // 2:
                assert current().now() < end
                if settle:
                    delivery = settle.pop()
                    delivery.accept()  # of another thread's consumer
                    settled.append(delivery)
                else:
                    current().sleep(0.001)

        def guarded(work: Callable[..., object], *arguments: object) -> None:
            try:
                work(*arguments)
            except BaseException as error:
                failures.append(error)

        threads = [started(guarded, publish, n) for n in range(count)]
        threads += [started(guarded, consume) for _ in range(2)]
        threads.append(started(guarded, settler))
        finished(*threads)
        assert not failures
        assert sorted(seen) == sorted(b"%d.%d" % (k, n) for k in range(count) for n in range(each))
    assert broker.messages("jobs") == ()


def test_a_thread_that_waits_takes_over_reading(broker: ScriptedBroker) -> None:
    broker.fill("other")
    with SyncUser(broker, AMQP_0_9_1) as user, user.another().consume("other") as deliveries:
        bodies: list[bytes] = []
        short = user.consume(timeout=0.2)

        def give_up() -> None:
            with pytest.raises(TimeoutError):
                next(short)

        reader = started(give_up)
        current().sleep(0.05)
        follower = started(lambda: bodies.append(next(deliveries).body))
        finished(reader)
        current().sleep(0.05)
        broker.publish(b"late", routing_key="other")
        finished(follower)
        assert bodies == [b"late"]


def test_publishing_is_not_held_up_by_a_thread_that_waits(broker: ScriptedBroker) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    deliveries = user.consume(timeout=None)
    ends: list[object] = []
    thread = started(lambda: ends.append(next(deliveries, "the end")))
    publishing = user.another()
    begun = current().now()
    for _ in range(20):
        assert publishing.publish(b"x", "none") == publishing.accepted
    assert current().now() - begun < 10
    user.close()
    finished(thread)
    assert ends == ["the end"]


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_a_number_may_be_given_again_while_its_owner_leaves(broker: ScriptedBroker, version: Version) -> None:
    """A session's channel, or a link's handle."""
    broker.fill("first")
    with SyncUser(broker, version) as user:
        for n in range(30):
            first = user.open() if version is AMQP_0_10 else user.channel.open_sender("first")
            thread = started(first.close)
            second = user.another()
            assert second.publish(b"%d" % n, timeout=WAIT) == second.accepted
            second.channel.close()
            finished(thread)
            assert not thread.is_alive()
            assert not first.is_open


def test_threads_share_a_sender_with_one_credit(broker: ScriptedBroker) -> None:
    node = HeldNode(broker, credit=0)
    with SyncUser(broker, AMQP_1_0) as user, user.channel.open_sender("held") as sender:
        outcomes: list[object] = []

        def work(number: int) -> None:
            for n in range(25):
                outcomes.append(sender.send(Message(number * 100 + n), timeout=WAIT))

        threads = [started(work, number) for number in range(4)]
        bodies: list[int] = []
        for _ in range(100):
            node.do(CoreReceiver, "flow", 1)
            wait_until(lambda: len(node.came) == 1)
            bodies += node.bodies
            node.settle(1, Accepted())
        for thread in threads:
            finished(thread)
        assert outcomes == [Accepted()] * 100
        assert sorted(bodies) == [number * 100 + n for number in range(4) for n in range(25)]
