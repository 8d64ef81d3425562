"""Many threads on one connection."""

from __future__ import annotations

import threading
from collections.abc import Callable
from time import monotonic, sleep
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_1_0 import Accepted, Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from tests.kit.held_1_0 import HeldNode
from tests.kit.scripted import ScriptedBroker
from tests.kit.sync_user import WAIT, SyncUser, each_version, wait_until


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
            end = monotonic() + WAIT
            while len(settled) < count * each // 2:
                assert monotonic() < end
                if settle:
                    delivery = settle.pop()
                    delivery.accept()  # of another thread's consumer
                    settled.append(delivery)
                else:
                    sleep(0.001)

        def guarded(work: Callable[..., object], *arguments: object) -> None:
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
    assert broker.messages("jobs") == ()


def test_a_thread_that_waits_takes_over_reading(broker: ScriptedBroker) -> None:
    broker.fill("other")
    with SyncUser(broker, AMQP_0_9_1) as user, user.another().consume("other") as deliveries:
        bodies: list[bytes] = []
        short = user.consume(timeout=0.2)

        def give_up() -> None:
            with pytest.raises(TimeoutError):
                next(short)

        reader = threading.Thread(target=give_up)
        reader.start()
        sleep(0.05)
        follower = threading.Thread(target=lambda: bodies.append(next(deliveries).body))
        follower.start()
        reader.join(WAIT)
        sleep(0.05)
        broker.publish(b"late", routing_key="other")
        follower.join(WAIT)
        assert bodies == [b"late"]


def test_publishing_is_not_held_up_by_a_thread_that_waits(broker: ScriptedBroker) -> None:
    user = SyncUser(broker, AMQP_0_9_1)
    deliveries = user.consume(timeout=None)
    ends: list[object] = []
    thread = threading.Thread(target=lambda: ends.append(next(deliveries, "the end")))
    thread.start()
    publishing = user.another()
    begun = monotonic()
    for _ in range(20):
        assert publishing.publish(b"x", "none") == publishing.accepted
    assert monotonic() - begun < 10
    user.close()
    thread.join(WAIT)
    assert ends == ["the end"]


@pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)
def test_a_number_may_be_given_again_while_its_owner_leaves(broker: ScriptedBroker, version: Version) -> None:
    """A session's channel, or a link's handle."""
    broker.fill("first")
    with SyncUser(broker, version) as user:
        for n in range(30):
            first = user.open() if version is AMQP_0_10 else user.channel.open_sender("first")
            thread = threading.Thread(target=first.close)
            thread.start()
            second = user.another()
            assert second.publish(b"%d" % n, timeout=WAIT) == second.accepted
            second.channel.close()
            thread.join(WAIT)
            assert not thread.is_alive()
            assert not first.is_open


def test_threads_share_a_sender_with_one_credit(broker: ScriptedBroker) -> None:
    node = HeldNode(broker, credit=0)
    with SyncUser(broker, AMQP_1_0) as user, user.channel.open_sender("held") as sender:
        outcomes: list[object] = []

        def work(number: int) -> None:
            for n in range(25):
                outcomes.append(sender.send(Message(number * 100 + n), timeout=WAIT))

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        bodies: list[int] = []
        for _ in range(100):
            node.do(CoreReceiver, "flow", 1)
            wait_until(lambda: len(node.came) == 1)
            bodies += node.bodies
            node.settle(1, Accepted())
        for thread in threads:
            thread.join(WAIT)
        assert outcomes == [Accepted()] * 100
        assert sorted(bodies) == [number * 100 + n for number in range(4) for n in range(25)]
