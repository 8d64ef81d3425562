"""Event Hubs with whatever clients may do: readers that come and go, odd attaches and messages, and much of them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0.codec.conditions import RESOURCE_LIMIT_EXCEEDED, STOLEN
from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.nodes import Refusal
from amqp_sansio_azure.eventhubs import ConsumerGroup, Partition, Retention
from amqp_sansio_azure.eventhubs.hubs import MOST_READERS, Reader
from tests.kit.azure_hubs import BATCH, HubsWorld, asking, batch, bodies, event, reading

STEPS = st.lists(
    st.tuples(st.sampled_from(["join"] * 3 + ["leave"]), st.sampled_from([None, None, 0, 1, 2]), st.integers(0, 9)),
    max_size=30,
)


@given(STEPS)
@settings(max_examples=200, deadline=None)
def test_readers_of_a_partition_keep_the_rules(steps: list[tuple[str, int | None, int]]) -> None:
    """Beside the naive rule: one with an epoch is alone, five are there without, and a lower one never displaces."""
    group, partition = ConsumerGroup("g"), Partition("0", Retention())
    there: list[Reader] = []
    link: Any = None
    for step, epoch, number in steps:
        if step == "leave" and there:
            gone = there.pop(number % len(there))
            group.leave(gone)
            group.leave(gone)
        elif step == "join":
            new = Reader(link, group, partition, 0, epoch=epoch)
            held = [each.epoch for each in there if each.epoch is not None]
            try:
                displaced = group.admit(new)
            except Refusal as refusal:
                if epoch is None:
                    assert refusal.condition == (STOLEN if held else RESOURCE_LIMIT_EXCEEDED)
                    assert held or len(there) == MOST_READERS
                else:
                    assert refusal.condition == STOLEN and held and held[0] > epoch
            else:
                assert displaced == ([] if epoch is None else there)
                there = [*there, new] if epoch is None else [new]
        assert group.readers(partition) == there
        assert len(there) <= MOST_READERS
        assert all(each.epoch is None for each in there) or len(there) == 1


ODD: list[Any] = [None, 1, -1, True, 1.5, "text", b"octets", amqp.Symbol("s"), [1], {"a": 1}, amqp.Timestamp(1)]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_an_odd_attach_is_a_link_or_a_refusal(value: Any) -> None:
    world = HubsWorld()
    world.event_hub()
    user = world.client()
    place = "clicks/ConsumerGroups/$Default/Partitions/0"
    name = amqp.Symbol("com.microsoft:receiver-name")
    selector = amqp.Symbol("apache.org:selector-filter:string")
    links = [user.session().open_receiver(amqp.Source(place, filter={selector: amqp.Described(selector, value)}))]
    links.append(user.session().open_receiver(place, properties={name: value}))
    other = amqp.Symbol("other")
    links.append(user.session().open_receiver(amqp.Source(place, filter={other: amqp.Described(other, value)})))
    links.append(asking(user, epoch=value))
    world.pump()
    assert user.end.is_open
    assert all(each.is_open or user.refused(each) for each in links)


@pytest.mark.parametrize("value", ODD, ids=repr)
@pytest.mark.parametrize("place", ["x-opt-partition-key", "x-opt-sequence-number", "x-opt-offset", "x-opt-publisher"])
def test_odd_annotations_do_no_harm(place: str, value: Any) -> None:
    world = HubsWorld()
    hub = world.event_hub(partitions=1)
    user = world.client()
    notes: dict[Any, Any] = {amqp.Symbol(place): value}
    link = user.sender("clicks")
    one = amqp.Message(b"x", message_annotations=notes)
    envelope = amqp.Message(amqp.Data(one.encode()), message_annotations=notes)
    assert [type(each) for each in user.send(link, one)] == [amqp.Accepted]
    assert [type(each) for each in user.send(link, envelope, message_format=BATCH)] == [amqp.Accepted]
    assert bodies(hub) == [[b"x", b"x"]]
    first, _ = user.take(reading(user))
    found = first.message.message_annotations
    assert (found["x-opt-sequence-number"], found["x-opt-offset"]) == (0, "0")
    assert "x-opt-publisher" not in found
    assert isinstance(found.get("x-opt-partition-key", ""), str)


@given(payload=st.binary(max_size=60), message_format=st.sampled_from([0, BATCH, 7]))
@settings(max_examples=60, deadline=None)
def test_odd_octets_are_an_outcome(payload: bytes, message_format: int) -> None:
    world = HubsWorld()
    world.event_hub()
    user = world.client()
    link = user.sender("clicks")
    pending = link.send(payload, message_format=message_format)
    world.pump()
    assert user.end.is_open
    assert not pending.done or isinstance(pending.result, amqp.Accepted | amqp.Rejected)


def test_many_events_come_in_order_and_take_bounded_room() -> None:
    world = HubsWorld()
    hub = world.event_hub(partitions=1, retention=Retention(octets=200_000))
    user = world.client()
    link = user.sender("clicks")
    reader = reading(user, credit=2000)
    found: list[Any] = []
    for start in range(0, 2000, 100):
        user.send(link, batch(*[b"%d" % number for number in range(start, start + 100)]), message_format=BATCH)
        found += user.bodies(reader)
    assert found == [b"%d" % number for number in range(2000)]
    assert hub.partitions[0].octets <= 200_000
    assert 0 < len(hub.partitions[0]) < 2000


def test_a_reader_that_does_not_read_holds_nobody_up() -> None:
    world = HubsWorld(limits=BrokerLimits(backlog_high=20_000))
    world.event_hub(partitions=1)
    slow, user = world.client(), world.client()
    stuck, reader = reading(slow, credit=1000), reading(user, credit=1000)
    slow.reads = False
    link = user.sender("clicks")
    for number in range(50):
        user.send(link, event(b"%d" % number + b"x" * 5000))
    assert len(user.take(reader)) == 50
    slow.reads = True
    assert len(slow.take(stuck)) == 50
