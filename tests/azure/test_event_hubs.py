"""Event Hubs at a hub: who may attach where, what becomes of events, and who reads them."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import (
    DECODE_ERROR,
    DETACH_FORCED,
    INVALID_FIELD,
    MESSAGE_SIZE_EXCEEDED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    RESOURCE_LIMIT_EXCEEDED,
    STOLEN,
    UNAUTHORIZED_ACCESS,
)
from amqp_sansio.broker.snapshot import dumps, loads
from amqp_sansio_azure import AccessRule, sign
from amqp_sansio_azure.conditions import ARGUMENT_ERROR, ARGUMENT_OUT_OF_RANGE
from amqp_sansio_azure.eventhubs import EventHubsNamespace, Retention
from amqp_sansio_azure.eventhubs.hubs import MOST_READERS
from amqp_sansio_azure.eventhubs.partition_keys import partition_of
from amqp_sansio_azure.eventhubs.partitions import NEVER
from tests.kit.azure import EPOCH, Pair, User
from tests.kit.azure_hubs import BATCH, HubsWorld, asking, batch, bodies, event, read, reading, source
from tests.kit.octets_1_0 import octets_of

NOW = int(EPOCH * 1000)
GROUP = "clicks/ConsumerGroups/$Default/Partitions"
SENDER = AccessRule("sender", "s3cr3t", {"Send"})
LISTENER = AccessRule("listener", "l1st3n", {"Listen"})


@pytest.fixture
def world() -> HubsWorld:
    return HubsWorld()


def noted(delivery: amqp.Delivery) -> dict[str, Any]:
    return {str(key): value for key, value in delivery.message.message_annotations.items()}


def told(user: User, link: amqp.Sender | amqp.Receiver) -> str:
    """The text with which a link was refused or ended."""
    user.refused(link)
    failed = [each for each in user.of(amqp.LinkFailed) if each.name == link.name]
    return str(failed[-1].error)


# Sending.


def test_events_for_the_hub_take_turns_among_its_partitions(world: HubsWorld) -> None:
    hub = world.event_hub(partitions=3)
    user = world.client()
    sent = user.send(user.sender("clicks"), *[event(b"%d" % number) for number in range(7)])
    assert [type(each) for each in sent] == [amqp.Accepted] * 7
    assert bodies(hub) == [[b"0", b"3", b"6"], [b"1", b"4"], [b"2", b"5"]]


def test_a_partition_is_chosen_by_address(world: HubsWorld) -> None:
    hub = world.event_hub()
    user = world.client()
    user.send(user.sender("clicks/Partitions/1"), event(b"one"), event(b"two", "key"))
    user.send(user.sender("amqps://host/CLICKS/partitions/0"), event(b"three"))
    assert bodies(hub) == [[b"three"], [b"one", b"two"]]


def test_a_key_has_one_partition(world: HubsWorld) -> None:
    hub = world.event_hub(partitions=4)
    user = world.client()
    keys = [f"key-{number}" for number in range(20)]
    link = user.sender("clicks")
    user.send(link, *[event(each.encode(), each) for each in keys * 2])
    for number, found in enumerate(bodies(hub)):
        assert found == [each.encode() for each in keys * 2 if partition_of(each, 4) == number]


def test_a_batch_goes_to_one_partition_and_comes_as_its_events(world: HubsWorld) -> None:
    hub = world.event_hub()
    user = world.client()
    link = user.sender("clicks")
    outcomes = user.send(link, batch(b"1", b"2"), batch(b"3", b"4"), batch(b"5", key="alphabet"), message_format=BATCH)
    assert [type(each) for each in outcomes] == [amqp.Accepted] * 3
    # "alphabet" belongs to partition 0 of 2 or to 1, as the hash says.
    expected = [[b"1", b"2"], [b"3", b"4"]]
    expected[partition_of("alphabet", 2)].append(b"5")
    assert bodies(hub) == expected


def test_the_key_of_a_batch_is_the_key_of_its_events(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    link = reading(user)
    user.send(user.sender("clicks"), batch(b"1", b"2", key="k"), message_format=BATCH)
    user.send(user.sender("clicks"), batch(b"3", b"4", keys=("a", "b")), message_format=BATCH)
    assert [noted(each).get("x-opt-partition-key") for each in user.take(link)] == ["k", "k", "a", "b"]


def test_a_publisher_is_named_in_its_events(world: HubsWorld) -> None:
    hub = world.event_hub(partitions=4)
    user = world.client()
    link = user.sender("clicks/Publishers/device-7")
    user.send(link, event(b"x"), event(b"y", "device-7"))
    here = partition_of("device-7", 4)
    assert bodies(hub)[here] == [b"x", b"y"]
    (first, _) = user.take(reading(user, f"{GROUP}/{here}"))
    assert noted(first)["x-opt-publisher"] == "device-7"
    assert noted(first)["x-opt-partition-key"] == "device-7"
    (refused,) = user.send(link, event(b"z", "another"))
    assert isinstance(refused, amqp.Rejected) and refused.error is not None
    assert refused.error.condition == ARGUMENT_ERROR


def test_what_cannot_be_read_is_rejected_and_the_link_stays(world: HubsWorld) -> None:
    hub = world.event_hub()
    user = world.client()
    link = user.sender("clicks")
    (refused,) = user.send(link, amqp.Message(amqp.AmqpValue(1)), message_format=BATCH)
    assert isinstance(refused, amqp.Rejected) and refused.error is not None
    assert refused.error.condition == DECODE_ERROR
    assert "TrackingId:" in str(refused.error.description)
    assert link.is_open
    (accepted,) = user.send(link, event(b"good"))
    assert isinstance(accepted, amqp.Accepted)
    assert bodies(hub) == [[b"good"], []]


def test_a_message_above_the_size_ends_its_link_alone(world: HubsWorld) -> None:
    world.hubs.max_message_size = 5000
    hub = world.event_hub()
    user = world.client()
    link, other = user.sender("clicks"), user.sender("clicks")
    assert link.max_message_size == 5000
    user.send(link, event(b"x" * 4000))
    # A client that keeps no bound of its own.
    transfer, payload = spec.Transfer(link.handle, 1, b"t", 0), event(b"x" * 6000).encode()
    user.client.receive_data(octets_of(transfer, link.session.channel, payload), world.now)
    assert user.refused(link) == MESSAGE_SIZE_EXCEEDED
    assert len(bodies(hub)[0]) == 1
    assert user.end.is_open and other.is_open


def test_transactions_are_not_there(world: HubsWorld) -> None:
    world.event_hub()
    user = world.client()
    link = user.session().open_sender(spec.Coordinator())
    assert user.refused(link) == NOT_IMPLEMENTED
    assert user.end.is_open


# Receiving.


def test_a_receiver_gets_events_settled_with_their_annotations(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    user.send(user.sender("clicks"), event(b"one", "key"), event(b"two"))
    link = reading(user)
    assert link.snd_settle_mode == spec.SenderSettleMode.SETTLED
    first, second = user.take(link)
    assert (first.settled, first.message.delivery_annotations) == (True, {})
    assert noted(first) == {
        "x-opt-sequence-number": 0,
        "x-opt-offset": "0",
        "x-opt-enqueued-time": NOW,
        "x-opt-partition-key": "key",
    }
    assert type(noted(first)["x-opt-sequence-number"]) is int
    assert noted(second)["x-opt-sequence-number"] == 1


def test_events_stay_for_every_reader(world: HubsWorld) -> None:
    world.event_hub(consumer_groups=["audit"])
    user = world.client()
    user.send(user.sender("clicks/Partitions/0"), event(b"1"), event(b"2"))
    links = [reading(user), reading(user), reading(user, "clicks/consumergroups/AUDIT/partitions/0")]
    assert [user.bodies(each) for each in links] == [[b"1", b"2"]] * 3
    user.send(user.sender("clicks/Partitions/0"), event(b"3"))
    assert [user.bodies(each) for each in links] == [[b"3"]] * 3
    assert user.bodies(reading(user)) == [b"1", b"2", b"3"]


@pytest.mark.parametrize(
    "selector,expected",
    [
        (None, [b"0", b"1", b"2"]),
        ("amqp.annotation.x-opt-offset > '-1'", [b"0", b"1", b"2"]),
        ("amqp.annotation.x-opt-offset > '@latest'", []),
        ("amqp.annotation.x-opt-sequence-number > '0'", [b"1", b"2"]),
        ("amqp.annotation.x-opt-sequence-number >= '0'", [b"0", b"1", b"2"]),
        (f"amqp.annotation.x-opt-enqueued-time > '{NOW}'", [b"1", b"2"]),
        (f"amqp.annotation.x-opt-enqueued-time >= '{NOW + 20_000}'", [b"2"]),
        (f"amqp.annotation.x-opt-enqueued-time > {NOW + 10_000}", [b"2"]),
    ],
)
@pytest.mark.parametrize("descriptor", ["symbol", "code", "dotnet"])
def test_a_receiver_begins_at_its_position(
    world: HubsWorld, selector: str | None, expected: list[bytes], descriptor: str
) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    link = user.sender("clicks")
    for number in range(3):
        user.send(link, event(b"%d" % number))
        world.advance(10)
    by: Any = {
        "symbol": amqp.Symbol("apache.org:selector-filter:string"),
        "code": spec.ULong(0x468C00000004),
        "dotnet": spec.ULong(0x00000137000000A),
    }[descriptor]
    found = user.session().open_receiver(source(f"{GROUP}/0", selector, descriptor=by))
    user.crediting(found, 10)
    assert user.bodies(found) == expected
    user.send(link, event(b"new"))
    assert user.bodies(found) == [b"new"]


def test_a_receiver_goes_on_after_an_offset(world: HubsWorld) -> None:
    """As after a checkpoint: the SDKs take the last event's offset, exclusive."""
    world.event_hub(partitions=1)
    user = world.client()
    user.send(user.sender("clicks"), *[event(b"%d" % number) for number in range(5)])
    link = reading(user, credit=2)
    _, second = user.take(link)
    link.close()
    world.pump()
    offset = noted(second)["x-opt-offset"]
    assert user.bodies(reading(user, selector=f"amqp.annotation.x-opt-offset > '{offset}'")) == [b"2", b"3", b"4"]
    assert user.bodies(reading(user, selector=f"amqp.annotation.x-opt-offset >= '{offset}'"))[0] == b"1"


@pytest.mark.parametrize(
    "selector",
    [
        "amqp.annotation.x-opt-offset > '999999'",
        "amqp.annotation.x-opt-sequence-number > '99'",
        "amqp.annotation.x-opt-offset > 'a:b'",
        "colour = 'red'",
        7,
    ],
)
def test_a_bad_position_refuses_the_link_alone(world: HubsWorld, selector: Any) -> None:
    hub = world.event_hub()
    user = world.client()
    assert user.refused(asking(user, selector=selector)) == ARGUMENT_ERROR
    assert hub.groups["$default"].readers(hub.partitions[0]) == []
    assert user.end.is_open


def test_credit_bounds_what_is_sent(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    user.send(user.sender("clicks"), *[event(b"%d" % number) for number in range(5)])
    link = reading(user, credit=2)
    assert user.bodies(link) == [b"0", b"1"]
    link.flow(1)
    assert user.bodies(link) == [b"2"]
    link.flow(10)
    link.drain()
    assert user.bodies(link) == [b"3", b"4"]
    assert link.credit == 0
    user.send(user.sender("clicks"), event(b"5"))
    assert user.bodies(link) == []


def test_an_event_that_the_receiver_cannot_take_ends_its_link(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    user.send(user.sender("clicks"), event(b"x" * 3000))
    link = user.session().open_receiver(source(f"{GROUP}/0"), max_message_size=2000)
    user.crediting(link, 1)
    assert user.refused(link) == MESSAGE_SIZE_EXCEEDED
    assert user.end.is_open


def test_metrics_come_with_each_event_if_they_are_asked_for(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    link = user.sender("clicks")
    user.send(link, event(b"1"))
    world.advance(5)
    user.send(link, event(b"2"))
    world.advance(5)
    first, second = user.take(reading(user, metrics=True))
    found = {str(key): value for key, value in first.message.delivery_annotations.items()}
    assert found == {
        "last_enqueued_sequence_number": 1,
        "last_enqueued_offset": noted(second)["x-opt-offset"],
        "last_enqueued_time_utc": NOW + 5000,
        "runtime_info_retrieval_time_utc": NOW + 10_000,
    }
    assert (first.message.body, noted(first)["x-opt-sequence-number"]) == (b"1", 0)


def test_events_go_when_their_time_is_over(world: HubsWorld) -> None:
    hub = world.event_hub(partitions=1, retention=Retention(seconds=60))
    user = world.client()
    link = user.sender("clicks")
    user.send(link, event(b"old"))
    world.advance(30)
    user.send(link, event(b"new"))
    world.advance(29)
    assert len(hub.partitions[0]) == 2
    world.advance(2)
    assert len(hub.partitions[0]) == 1
    assert user.bodies(reading(user)) == [b"new"]
    world.advance(40)
    # Without anyone who looks.
    assert hub.partitions[0].octets == 0
    assert world.hubs.hub.now > 60


def test_a_slow_reader_goes_on_with_the_oldest_that_is_left(world: HubsWorld) -> None:
    world.event_hub(partitions=1, retention=Retention(octets=1000))
    user = world.client()
    link = reading(user, credit=1)
    user.send(user.sender("clicks"), *[event(b"%d" % number) for number in range(50)])
    assert user.bodies(link) == [b"0"]
    link.flow(100)
    found = user.bodies(link)
    assert 0 < len(found) < 20
    assert found[-1] == b"49" and found[0] == b"%d" % (50 - len(found))


# Epochs.


@pytest.mark.parametrize("old,new", [(0, 0), (0, 1), (4, 4), (1, 2**63 - 1), (None, 0)])
def test_a_receiver_with_as_high_an_epoch_displaces_the_others(world: HubsWorld, old: int | None, new: int) -> None:
    world.event_hub()
    user, other = world.client(), world.client()
    there = [reading(user, epoch=old) for _ in range(1 if old is not None else 3)]
    later = reading(other, epoch=new, name="new one")
    for each in there:
        assert user.refused(each) == STOLEN
        assert f"New receiver 'new one' with higher epoch of '{new}' is created" in told(user, each)
    user.send(user.sender("clicks/Partitions/0"), event(b"x"))
    assert other.bodies(later) == [b"x"]
    assert user.end.is_open


def test_a_lower_epoch_is_refused(world: HubsWorld) -> None:
    world.event_hub()
    user = world.client()
    there = reading(user, epoch=5)
    late = asking(user, epoch=4, name="late")
    assert user.refused(late) == STOLEN
    assert "Receiver 'late' with a higher epoch '5' already exists. Receiver 'late' with epoch 4" in told(user, late)
    assert there.is_open


def test_without_an_epoch_there_is_no_place_beside_one(world: HubsWorld) -> None:
    world.event_hub()
    user = world.client()
    there = reading(user, epoch=0)
    late = asking(user)
    assert user.refused(late) == STOLEN
    assert "created with epoch of '0', and so non-epoch receiver is not allowed" in told(user, late)
    there.close()
    world.pump()
    reading(user)


def test_epochs_are_of_a_partition_and_a_group(world: HubsWorld) -> None:
    world.event_hub(consumer_groups=["audit"])
    user = world.client()
    links = [
        reading(user, f"{GROUP}/0", epoch=3),
        reading(user, f"{GROUP}/1", epoch=1),
        reading(user, "clicks/ConsumerGroups/audit/Partitions/0", epoch=2),
    ]
    assert all(each.is_open for each in links)


def test_a_partition_has_five_receivers_without_an_epoch(world: HubsWorld) -> None:
    hub = world.event_hub()
    user = world.client()
    links = [reading(user, name=f"r{number}") for number in range(MOST_READERS)]
    late = asking(user)
    assert user.refused(late) == RESOURCE_LIMIT_EXCEEDED
    assert "which is 5. List of connected receivers - r0, r1, r2, r3, r4." in told(user, late)
    reading(user, f"{GROUP}/1")
    links[0].close()
    world.pump()
    reading(user)
    assert len(hub.groups["$default"].readers(hub.partitions[0])) == MOST_READERS


@pytest.mark.parametrize("epoch", [spec.Int(1), spec.UInt(1), spec.ULong(1), "1", True, 1.0])
def test_an_epoch_is_a_long(world: HubsWorld, epoch: Any) -> None:
    world.event_hub()
    user = world.client()
    assert user.refused(asking(user, epoch=epoch)) == INVALID_FIELD


def test_a_reader_goes_with_its_connection(world: HubsWorld) -> None:
    hub = world.event_hub()
    user, other = world.client(), world.client()
    reading(user, epoch=9)
    user.end.close()
    world.pump()
    assert hub.groups["$default"].readers(hub.partitions[0]) == []
    reading(other, epoch=0)


# What isn't there, and what isn't allowed.


@pytest.mark.parametrize(
    "address",
    [
        "nothing",
        "nothing/Partitions/0",
        "clicks/Partitions",
        "clicks/Rooms/0",
        "clicks/Publishers/",
        "clicks/Partitions/0/more/x",
        "clicks/$management",
    ],
)
def test_a_sender_to_what_is_not_there_is_refused(world: HubsWorld, address: str) -> None:
    world.event_hub()
    user = world.client()
    link = user.session().open_sender(address)
    assert user.refused(link) == NOT_FOUND
    assert "could not be found" in told(user, link) and "TrackingId:" in told(user, link)
    assert user.end.is_open


@pytest.mark.parametrize(
    "address,condition",
    [
        ("nothing/ConsumerGroups/$Default/Partitions/0", NOT_FOUND),
        ("clicks", NOT_FOUND),
        ("clicks/Partitions/0", NOT_FOUND),
        ("clicks/ConsumerGroups/$Default", NOT_FOUND),
        ("clicks/ConsumerGroups/nobody/Partitions/0", NOT_FOUND),
        ("clicks/ConsumerGroups/$Default/Partitions/2", ARGUMENT_OUT_OF_RANGE),
        ("clicks/ConsumerGroups/$Default/Partitions/x", ARGUMENT_OUT_OF_RANGE),
    ],
)
def test_a_receiver_of_what_is_not_there_is_refused(world: HubsWorld, address: str, condition: str) -> None:
    world.event_hub()
    user = world.client()
    link = asking(user, address)
    assert user.refused(link) == condition
    assert user.end.is_open


def test_a_sender_to_an_unknown_partition_is_told_which_there_are(world: HubsWorld) -> None:
    world.event_hub()
    user = world.client()
    link = user.session().open_sender("clicks/Partitions/2")
    assert user.refused(link) == ARGUMENT_OUT_OF_RANGE
    assert "It should be between 0 and 1." in told(user, link)


def test_nothing_is_attached_without_a_token(world: HubsWorld) -> None:
    world.event_hub()
    user = world.connect()
    session = user.session()
    assert user.refused(session.open_sender("clicks")) == UNAUTHORIZED_ACCESS
    assert user.refused(asking(user)) == UNAUTHORIZED_ACCESS
    assert read(user, "eventhub")[0] == 401
    user.put_token("sb://host/clicks")
    user.sender("clicks")
    reading(user)
    assert read(user, "eventhub")[0] == 200


def checked() -> HubsWorld:
    """A world that holds tokens against rules."""
    world = HubsWorld(EventHubsNamespace(rules=(SENDER, LISTENER), checks_tokens=True))
    world.event_hub()
    world.event_hub("other")
    return world


def test_each_right_is_for_its_links() -> None:
    world = checked()
    producer, consumer = world.connect(), world.connect()
    expires = int(EPOCH) + 3600
    for user, rule in ((producer, SENDER), (consumer, LISTENER)):
        reply = user.put_token("sb://host/clicks", sign("sb://host/clicks", rule, expires))
        assert reply.application_properties["status-code"] == 202
    assert consumer.refused(consumer.session().open_sender("clicks")) == UNAUTHORIZED_ACCESS
    assert producer.refused(asking(producer)) == UNAUTHORIZED_ACCESS
    assert producer.refused(producer.session().open_sender("other")) == UNAUTHORIZED_ACCESS
    producer.send(producer.sender("clicks/Partitions/0"), event(b"x"))
    assert consumer.bodies(reading(consumer)) == [b"x"]
    # Either may read of its hub, by the token that it has put or by that of the request.
    assert read(producer, "eventhub")[0] == read(consumer, "eventhub")[0] == 200
    assert read(producer, "eventhub", "other")[0] == 401
    for rule, said in ((SENDER, 200), (AccessRule("sender", "wrong"), 401)):
        token = sign("sb://host/other", rule, expires)
        assert read(producer, "eventhub", "other", security_token=token)[0] == said


def test_links_end_when_their_token_does() -> None:
    world = checked()
    user = world.connect()
    user.put_token("sb://host/clicks", sign("sb://host/clicks", SENDER, int(EPOCH) + 60))
    link = user.sender("clicks")
    world.advance(59)
    assert link.is_open
    world.advance(2)
    assert user.refused(link) == UNAUTHORIZED_ACCESS
    assert "ExpiredToken" in told(user, link)
    assert user.end.is_open


def test_an_idle_link_is_detached_after_half_an_hour(world: HubsWorld) -> None:
    world.event_hub()
    user = world.client()
    link, sender = reading(user), user.sender("clicks/Partitions/0")
    world.advance(1000)
    user.send(sender, event(b"x"))
    world.advance(810)
    assert link.is_open and sender.is_open
    world.advance(1000)
    assert user.refused(link) == user.refused(sender) == DETACH_FORCED
    assert "AmqpEventHubConsumer.IdleTimerExpired: Idle timeout: 00:30:00." in told(user, link)
    assert "AmqpEventHubPublisher.IdleTimerExpired" in told(user, sender)
    assert user.end.is_open


# `$management`.


def test_a_hub_tells_of_its_partitions(world: HubsWorld) -> None:
    world.event_hub(partitions=3)
    status, body, _ = read(world.client(), "eventhub", "CLICKS")
    assert status == 200
    assert (body["name"], list(body["partition_ids"])) == ("clicks", ["0", "1", "2"])
    assert isinstance(body["created_at"], amqp.Timestamp)


def test_a_hub_that_was_there_before_the_broker_is_as_old_as_it() -> None:
    namespace = EventHubsNamespace()
    namespace.add_hub("clicks")
    world = HubsWorld(namespace)
    assert read(world.client(), "eventhub")[1]["created_at"] == NOW


def test_a_partition_tells_of_its_first_and_last_event(world: HubsWorld) -> None:
    world.event_hub(retention=Retention(seconds=60))
    user = world.client()
    status, empty, _ = read(user, "partition", partition="0")
    assert status == 200
    assert empty == {
        "name": "clicks",
        "type": "com.microsoft:partition",
        "partition": "0",
        "begin_sequence_number": 0,
        "last_enqueued_sequence_number": -1,
        "last_enqueued_offset": "-1",
        "last_enqueued_time_utc": NEVER,
        "is_partition_empty": True,
    }
    link = user.sender("clicks/Partitions/0")
    user.send(link, event(b"0"))
    world.advance(50)
    user.send(link, event(b"1"))
    world.advance(11)
    (last,) = user.take(reading(user))
    _, body, _ = read(user, "partition", partition="0")
    assert (body["begin_sequence_number"], body["last_enqueued_sequence_number"]) == (1, 1)
    assert body["last_enqueued_offset"] == noted(last)["x-opt-offset"]
    assert body["last_enqueued_time_utc"] == noted(last)["x-opt-enqueued-time"] == NOW + 50_000
    assert body["is_partition_empty"] is False
    world.advance(60)
    _, body, _ = read(user, "partition", partition="0")
    assert (body["begin_sequence_number"], body["last_enqueued_sequence_number"]) == (2, 1)
    assert body["is_partition_empty"] is True


@pytest.mark.parametrize(
    "kind,properties,status,condition",
    [
        ("eventhub", {"hub": "nothing"}, 404, NOT_FOUND),
        ("partition", {"partition": "2"}, 400, ARGUMENT_OUT_OF_RANGE),
        ("partition", {}, 400, ARGUMENT_OUT_OF_RANGE),
        ("consumergroup", {}, 501, NOT_IMPLEMENTED),
    ],
)
def test_what_cannot_be_read_of_has_a_status(
    world: HubsWorld, kind: str, properties: dict[str, str], status: int, condition: str
) -> None:
    world.event_hub()
    found = read(world.client(), kind, **properties)
    assert (found[0], found[2]) == (status, condition)


def test_an_unknown_operation_is_named(world: HubsWorld) -> None:
    world.event_hub()
    reply = Pair(world.client(), "$management").ask("CREATE", name="clicks", type="com.microsoft:eventhub")
    assert reply.application_properties["status-code"] == 501
    assert "'CREATE'" in reply.application_properties["status-description"]


# The namespace.


def test_a_hub_that_is_deleted_ends_its_links(world: HubsWorld) -> None:
    world.event_hub()
    world.event_hub("other")
    user = world.client()
    sender, other = user.sender("clicks"), user.sender("other")
    links: list[amqp.Sender | amqp.Receiver] = [sender, reading(user), user.sender("clicks/Partitions/1")]
    user.send(sender, event(b"x"))
    world.hubs.remove_hub("CLICKS")
    for each in links:
        assert user.refused(each) == NOT_FOUND
    assert other.is_open
    assert user.refused(user.session().open_sender("clicks")) == NOT_FOUND
    with pytest.raises(LookupError):
        world.hubs.remove_hub("clicks")
    world.event_hub()
    user.send(user.sender("clicks"), event(b"y"))


def test_a_name_is_taken_once(world: HubsWorld) -> None:
    world.event_hub()
    with pytest.raises(ValueError, match="there already"):
        world.event_hub("CLICKS")


def test_events_survive_a_restart_and_readers_do_not(world: HubsWorld) -> None:
    hub = world.event_hub(partitions=1)
    user = world.client()
    reading(user, epoch=7)
    user.send(user.sender("clicks"), event(b"kept"))
    world.hubs.restart(world.now)
    assert hub.groups["$default"].readers(hub.partitions[0]) == []
    assert bodies(hub) == [[b"kept"]]


def test_a_namespace_pickles_with_its_links(world: HubsWorld) -> None:
    world.event_hub(partitions=1)
    user = world.client()
    link = reading(user, credit=1)
    user.send(user.sender("clicks"), event(b"1"), event(b"2"))
    assert user.bodies(link) == [b"1"]
    again, there = loads(dumps((world, link)))
    for here, reader in ((world, link), (again, there)):
        reader.flow(5)
        assert here.users[0].bodies(reader) == [b"2"]
        assert bodies(here.hubs.hubs["clicks"]) == [[b"1", b"2"]]


def test_without_checks_any_token_of_a_request_does(world: HubsWorld) -> None:
    """The SDK for Go puts a token for $management alone, and sends one for the hub with its request."""
    world.event_hub()
    user = world.connect("sb://host/$management")
    assert read(user, "eventhub", "clicks")[0] == 401
    assert read(user, "eventhub", "clicks", security_token="anything")[0] == 200


@pytest.mark.parametrize("checks", [False, True])
def test_a_token_in_a_request_is_enough_for_management(checks: bool) -> None:
    """The SDK for Java puts none to $cbs for it: the first of its clocks is satisfied by a token that is good."""
    world = checked() if checks else HubsWorld(EventHubsNamespace())
    if not checks:
        world.event_hub()
    good, bad = world.connect(), world.connect()
    token = sign("sb://host/clicks", LISTENER, int(EPOCH) + 3600)
    assert read(good, "eventhub", "clicks", security_token=token)[0] == 200
    assert read(bad, "eventhub", "clicks", security_token="" if not checks else "anything")[0] == 401
    world.advance(21)
    assert (good.end.is_open, bad.end.is_open) == (True, False)
