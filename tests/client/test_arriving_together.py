"""Deliveries that arrive together leave an inbox as those that arrive one by one."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from amqp_sansio.amqp_0_9_1 import Delivery
from amqp_sansio.client import inbox as inboxes
from amqp_sansio.client.classic.channel import state_of
from amqp_sansio.client.classic.client import ConsumerInbox
from amqp_sansio.client.classic.consumer import Consumer
from tests.kit.user import ClassicUser

LIMIT = 8
OCTETS = 1000
LARGE = OCTETS // 4


def made(*, no_ack: bool) -> ConsumerInbox:
    user = ClassicUser()
    channel = user.channel()
    user.run(channel.declare_queue("jobs", durable=True))
    state = state_of(channel)
    consume = state.method("basic.consume", queue="jobs", consumer_tag="c", no_ack=no_ack)
    user.run(channel.call(consume))
    return ConsumerInbox(state, consume, 0, LIMIT)


def arrived(inbox: ConsumerInbox, tag: int, size: int) -> Delivery:
    assert inbox.channel.core.take_usual_delivery(tag, "c", None, 10_000)
    tables: Any = None
    return Delivery(1, "c", tag, False, "", "jobs", bytes(size), b"\0\0", tables)


def seen(inbox: ConsumerInbox) -> tuple[object, ...]:
    ends = str(inbox.error), inbox.cancelling is not None, inbox.ended
    held = tuple(each.delivery_tag for each in inbox.items)
    return held, len(inbox.channel.core.unsettled), inbox.octets, inbox.full, inbox.owner.full, ends


@pytest.mark.parametrize("most", [1, LARGE], ids=["small bodies", "large bodies"])
@pytest.mark.parametrize("taken", [0, 3, LIMIT], ids=["nobody takes", "some are taken", "many are taken"])
@pytest.mark.parametrize("no_ack", [True, False], ids=["without acknowledgement", "acknowledged"])
def test_any_groups_fill_and_end_an_inbox_alike(
    most: int, taken: int, no_ack: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inboxes, "FULL_OCTETS", OCTETS)
    random = Random(f"{most} {taken} {no_ack}")
    states: set[object] = set()
    for _ in range(4):
        together, alone = made(no_ack=no_ack), made(no_ack=no_ack)
        tag = 1
        while tag < 3 * LIMIT * inboxes.OVERRUN:
            sizes = [random.randrange(most + 1) for _ in range(random.randrange(1, 4 * LIMIT))]
            together.extend([arrived(together, tag + place, size) for place, size in enumerate(sizes)])
            for place, size in enumerate(sizes):
                alone.extend([arrived(alone, tag + place, size)])
            tag += len(sizes)
            assert seen(together) == seen(alone)
            for inbox in (together, alone):
                for _ in range(min(taken, len(inbox.items))):
                    inbox.taken(inbox.items.popleft())
            assert seen(together) == seen(alone)
            states.add((together.full, together.error is None))
    # It was empty, full and ended.
    assert {(True, True), (True, False)} <= states


def test_what_is_taken_while_it_is_not_full_makes_no_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """The iteration counts what it takes only while the inbox is full."""
    monkeypatch.setattr(inboxes, "FULL_OCTETS", OCTETS)
    random = Random(5)
    states: set[object] = set()
    for _ in range(20):
        inbox, counted = made(no_ack=True), made(no_ack=True)
        user: Any = Consumer(inbox.channel, inbox)
        inbox.starting = inbox.closed
        tag = 1
        for _ in range(60):
            sizes = [random.randrange(OCTETS // 3) for _ in range(random.randrange(1, 6))]
            for each in (inbox, counted):
                each.extend([arrived(each, tag + place, size) for place, size in enumerate(sizes)])
            tag += len(sizes)
            for _ in range(random.randrange(len(inbox.items) + 1)):
                with pytest.raises(StopIteration):
                    user.__anext__().send(None)
                counted.taken(counted.items.popleft())
                assert (inbox.full, inbox.owner.full) == (counted.full, counted.owner.full)
            assert (inbox.full, inbox.owner.full) == (counted.full, counted.owner.full)
            assert not inbox.full or inbox.octets == counted.octets
            assert str(inbox.error) == str(counted.error)
            states.add((inbox.full, inbox.error is None, inbox.octets > counted.octets))
    assert {(True, True, False), (False, True, False), (False, True, True)} <= states
