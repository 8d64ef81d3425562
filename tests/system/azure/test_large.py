"""Service Bus at large: 100,000 messages, 1,000 sessions, 10,000 locks, without loss or a leak."""

from __future__ import annotations

import pytest

from amqp_sansio import amqp_1_0 as amqp
from tests.kit.azure import BusWorld, message

FILTER = amqp.Symbol("com.microsoft:session-filter")


@pytest.mark.large
def test_a_hundred_thousand_messages(count: int = 100_000, step: int = 100) -> None:
    world = BusWorld()
    queue = world.queue()
    user = world.client()
    sender = user.sender("orders")
    link = user.receiver("orders", snd_settle_mode=0)
    link.flow(count)
    world.pump()
    seen = 0
    for start in range(0, count, step):
        for number in range(start, start + step):
            sender.send(message(b"%d" % number))
            if number % 50 == 49:
                world.pump()
        for each in user.take(link):
            assert each.body == b"%d" % seen
            seen += 1
            link.accept(each)
        world.pump()
        user.events.clear()
    assert seen == count and not queue.store.messages
    assert queue.store.octets == queue.store.locked == 0
    assert len(world.bus.timers) < 10


def test_a_thousand_sessions() -> None:
    world = BusWorld()
    queue = world.queue(requires_session=True)
    user = world.client()
    sender = user.sender("orders")
    for number in range(3000):
        sender.send(message(b"%d" % number, group_id=f"s{number % 1000}"))
        if number % 50 == 49:
            world.pump()
    assert len(queue.store.sessions) == 1000
    sessions = [user.session() for _ in range(10)]
    found: set[bytes] = set()
    for start in range(0, 1000, 10):
        links = [
            sessions[each].open_receiver(amqp.Source("orders", filter={FILTER: None}), snd_settle_mode=0)
            for each in range(10)
        ]
        world.pump()
        for link in links:
            link.flow(10)
        for link in links:
            for each in user.take(link):
                found.add(each.body)
                link.accept(each)
            link.close()
        world.pump()
        user.events.clear()
        assert len(found) == 3 * (start + 10)
    assert not queue.store.messages and not queue.store.sessions and queue.store.takers == 0


def test_ten_thousand_locks_expire() -> None:
    world = BusWorld()
    queue = world.queue(max_delivery_count=2, lock_duration=30)
    user = world.client()
    sender = user.sender("orders")
    for _ in range(100):
        user.send(sender, *[b"x"] * 50)
    link = user.locking("orders", credit=20_000)
    for _ in range(2):
        assert len(user.take(link)) == 5000
        world.advance(31)
    assert len(queue.dead_letters.messages) == 5000 and queue.store.locked == 0
    assert len(world.bus.timers) < 10
