"""Acknowledgements that arrive together have the effects of each after the other, whoever shares their queues."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import Delivery
from amqp_sansio.broker.frontends.classic import basic
from tests.kit.hub_classic import Talk, World
from tests.kit.pair import told

ARGUMENTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "priorities": {"x-max-priority": 3},
    "expiring": {"x-message-ttl": 60_000},
    "short": {"x-max-length": 12},
    "single": {"x-single-active-consumer": True},
}


def played(seed: int, *, together: bool) -> list[object]:
    """Return the deliveries of several consumers who acknowledge in any order, many at a time or one by one."""
    random = Random(seed)
    world = World(rabbitmq="4.2")
    first, second = world.client(), world.client()
    channels = [first.channel(), first.channel(), second.channel()]
    kinds = random.sample(sorted(ARGUMENTS), 2)
    for kind in kinds:
        channels[0].declare(kind, arguments=ARGUMENTS[kind])
    for channel in channels:
        if random.random() < 0.3:
            channel.call("basic.qos", prefetch_count=random.randint(1, 6), global_=True)
        for _ in range(random.randint(1, 2)):
            channel.call("basic.qos", prefetch_count=random.randint(1, 8))
            channel.consume(random.choice(kinds))
    found: list[object] = []
    publisher = world.channel()
    for _ in range(8):
        for _ in range(random.randint(0, 30)):
            properties = {"priority": random.randrange(4)}
            publisher.publish(bytes(random.randint(0, 9)), random.choice(kinds), properties=properties)
        for channel in random.sample(channels, 3):
            found += _acknowledged(channel, random, together=together)
    counts = [publisher.count(kind) for kind in kinds]
    return [*found, counts, [sorted(channel.core.unsettled) for channel in channels]]


def _acknowledged(channel: Talk, random: Random, *, together: bool) -> list[object]:
    tags = sorted(channel.core.unsettled)
    if random.random() < 0.3:
        random.shuffle(tags)
    for tag in tags[: random.randint(0, len(tags))]:
        channel.core.accept(tag)
        if not together:
            channel.world.pump()
    channel.world.pump()
    return [told(each) for each in channel.user.take(Delivery)]


@pytest.mark.parametrize("seed", range(16))
def test_many_acknowledgements_are_the_same_as_each_after_the_other(seed: int) -> None:
    assert played(seed, together=True) == played(seed, together=False)


def test_of_a_queue_with_one_consumer_they_are_settled_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of others, too, while nobody else has room."""
    sizes = list[int]()
    settle: Callable[..., None] = basic.settle

    def seen(front: Any, channel: Any, taken: list[Any], outcome: Any) -> None:
        sizes.append(len(taken))
        settle(front, channel, taken, outcome)

    monkeypatch.setattr(basic, "settle", seen)
    world = World()
    channels = [world.channel(), world.channel()]
    channels[0].declare("q")
    for channel in channels:
        channel.call("basic.qos", prefetch_count=5)
        channel.consume("q")
    for _ in range(20):
        channels[0].publish(b"x", "q")
    for _ in range(2):
        for tag in sorted(channels[0].core.unsettled):
            channels[0].core.accept(tag)
        world.pump()
    assert sizes == [1, 4, 1, 4]
    assert [each.delivery_tag for each in channels[0].deliveries()] == list(range(1, 16))
