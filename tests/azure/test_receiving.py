"""What a receiver does to a message of Service Bus: locks, outcomes, dead letters, sub-queues, and what is counted."""

from __future__ import annotations

from typing import Any, Final
from uuid import UUID

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import (
    MESSAGE_SIZE_EXCEEDED,
    NOT_ALLOWED,
    NOT_FOUND,
    NOT_IMPLEMENTED,
    RESOURCE_LIMIT_EXCEEDED,
)
from amqp_sansio_azure.conditions import ARGUMENT_ERROR, ENTITY_DISABLED, MESSAGE_LOCK_LOST, MESSAGE_NOT_FOUND
from amqp_sansio_azure.servicebus import Queue
from amqp_sansio_azure.servicebus.messages import ACTIVE, BATCH, DEFERRED, SCHEDULED
from tests.kit.azure import EPOCH, BusWorld, Pair, User, message

DEAD = "orders/$DeadLetterQueue"
MODIFIED = amqp.Modified(delivery_failed=True, undeliverable_here=False)
DEFER = amqp.Modified(delivery_failed=True, undeliverable_here=True)


@pytest.fixture
def world() -> BusWorld:
    return BusWorld()


def one(world: BusWorld, body: Any = b"hello", **options: Any) -> tuple[User, amqp.Receiver, amqp.Delivery, Queue]:
    """A client that has received one message under a lock."""
    queue = world.queue(**options)
    user = world.client()
    user.send(user.sender("orders"), message(body))
    link = user.locking("orders")
    (delivery,) = user.take(link)
    return user, link, delivery, queue


def token_of(delivery: amqp.Delivery) -> UUID:
    return UUID(bytes_le=delivery.delivery_tag)


def told_of(delivery: amqp.Delivery) -> dict[str, Any]:
    return {str(key): value for key, value in delivery.message.message_annotations.items()}


def rejecting(reason: str | None = "bad", description: str | None = "why") -> amqp.Rejected:
    info: dict[Any, Any] = {"DeadLetterReason": reason, "DeadLetterErrorDescription": description}
    return amqp.Rejected(amqp.Error(amqp.Symbol("com.microsoft:dead-letter"), description, info))


def reason_of(delivery: amqp.Delivery) -> tuple[Any, Any]:
    told = delivery.message.application_properties
    return told.get("DeadLetterReason"), told.get("DeadLetterErrorDescription")


def test_a_locked_message_has_the_service_s_annotations(world: BusWorld) -> None:
    _, _, delivery, _ = one(world)
    found = told_of(delivery)
    assert found["x-opt-sequence-number"] == 1 and found["x-opt-enqueue-sequence-number"] == 1
    assert found["x-opt-enqueued-time"] == EPOCH * 1000
    assert found["x-opt-locked-until"] == (EPOCH + 60) * 1000
    assert len(delivery.delivery_tag) == 16
    assert delivery.message.header is not None and delivery.message.delivery_count == 0


def test_what_a_client_writes_into_the_service_s_annotations_is_left_out(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    forged = {amqp.Symbol("x-opt-sequence-number"): 99, amqp.Symbol("x-opt-partition-key"): "p"}
    user.send(user.sender("orders"), message(annotations=forged))
    (delivery,) = user.take(user.locking("orders"))
    found = told_of(delivery)
    assert found["x-opt-sequence-number"] == 1 and found["x-opt-partition-key"] == "p"


def test_properties_and_body_pass_as_they_are(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    sent = message(amqp.AmqpValue([1, "two"]), message_id="m", subject="s", application_properties={"a": 1})
    user.send(user.sender("orders"), sent)
    (delivery,) = user.take(user.locking("orders"))
    assert delivery.body == [1, "two"] and delivery.message.bare == sent.bare


def test_completed_messages_are_gone(world: BusWorld) -> None:
    user, link, delivery, queue = one(world)
    assert queue.store.locked == 1
    assert user.settle(link, delivery, amqp.Accepted()) == amqp.Accepted()
    assert not queue.store.messages and queue.store.octets == 0 and queue.store.locked == 0


@pytest.mark.parametrize(
    "outcome,count",
    [
        (MODIFIED, 1),
        (amqp.Released(), 0),
        (amqp.Modified(delivery_failed=False), 0),
        (amqp.Modified(undeliverable_here=False), 1),
    ],
    ids=["abandoned", "released", "modified", "abandoned by JavaScript"],
)
def test_a_message_that_is_given_back_comes_again(world: BusWorld, outcome: amqp.DeliveryState, count: int) -> None:
    user, link, delivery, _ = one(world)
    assert user.settle(link, delivery, outcome) == outcome
    (again,) = user.take(link)
    assert again.message.delivery_count == count
    assert again.delivery_tag != delivery.delivery_tag
    assert told_of(again)["x-opt-sequence-number"] == 1


def test_abandoning_modifies_properties(world: BusWorld) -> None:
    user, link, delivery, _ = one(world)
    changes: dict[Any, Any] = {amqp.Symbol("tries"): 1}
    user.settle(link, delivery, amqp.Modified(True, False, changes))
    (again,) = user.take(link)
    assert again.message.application_properties["tries"] == 1 and again.body == b"hello"


def test_a_message_given_back_returns_to_its_place(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    user.send(user.sender("orders"), b"1", b"2", b"3")
    link = user.locking("orders", credit=1)
    (first,) = user.take(link)
    user.settle(link, first, MODIFIED)
    link.flow(3)
    assert user.bodies(link) == [b"1", b"2", b"3"]


def test_dead_letters_have_their_reason(world: BusWorld) -> None:
    user, link, delivery, queue = one(world)
    assert user.settle(link, delivery, rejecting()) == amqp.Rejected()
    assert len(queue.dead_letters.messages) == 1 and not queue.store.messages
    dead = user.locking(DEAD)
    (found,) = user.take(dead)
    assert reason_of(found) == ("bad", "why")
    assert told_of(found)["x-opt-deadletter-source"] == "orders"
    assert user.settle(dead, found, amqp.Accepted()) == amqp.Accepted()
    assert not queue.dead_letters.messages


def test_a_dead_letter_can_not_die_again(world: BusWorld) -> None:
    user, link, delivery, queue = one(world)
    user.settle(link, delivery, rejecting(None, None))
    dead = user.locking(DEAD)
    (found,) = user.take(dead)
    assert reason_of(found) == (None, None)
    outcome = user.settle(dead, found, rejecting())
    assert outcome.error.condition == NOT_ALLOWED and len(queue.dead_letters.messages) == 1


def test_messages_can_not_be_sent_to_dead_letters(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    assert user.refused(user.session().open_sender(DEAD)) == NOT_ALLOWED


def test_after_max_delivery_count_a_message_is_dead(world: BusWorld) -> None:
    user, link, delivery, queue = one(world, max_delivery_count=3)
    found = [delivery]
    for count in range(3):
        assert delivery.message.delivery_count == count
        user.settle(link, delivery, MODIFIED)
        found = user.take(link)
        delivery = found[0] if found else delivery
    assert not found and not queue.store.messages
    (dead,) = user.take(user.locking(DEAD))
    assert reason_of(dead)[0] == "MaxDeliveryCountExceeded"


def test_a_lock_ends_and_the_message_comes_again(world: BusWorld) -> None:
    user, link, delivery, _ = one(world, lock_duration=30)
    world.advance(29)
    assert user.take(link) == []
    world.advance(2)
    (again,) = user.take(link)
    assert again.message.delivery_count == 1
    outcome = user.settle(link, delivery, amqp.Accepted())
    assert outcome.error.condition == MESSAGE_LOCK_LOST and "TrackingId:" in outcome.error.description
    assert user.settle(link, again, amqp.Accepted()) == amqp.Accepted()


def test_a_renewed_lock_lasts_from_then(world: BusWorld) -> None:
    user, link, delivery, _ = one(world, lock_duration=30)
    world.advance(20)
    status, body, _ = user.manage("orders", "renew-lock", {"lock-tokens": spec.Array([token_of(delivery)], UUID)})
    assert (status, list(body["expirations"])) == (200, [(EPOCH + 50) * 1000])
    world.advance(29)
    assert user.settle(link, delivery, amqp.Accepted()) == amqp.Accepted()


def test_a_lost_lock_can_not_be_renewed(world: BusWorld) -> None:
    user, _, delivery, _ = one(world, lock_duration=30)
    world.advance(31)
    body = {"lock-tokens": spec.Array([token_of(delivery)], UUID)}
    assert user.manage("orders", "renew-lock", body)[::2] == (410, MESSAGE_LOCK_LOST)


def test_a_lock_outlives_its_link_and_connection(world: BusWorld) -> None:
    user, _, delivery, queue = one(world, lock_duration=30)
    user.cut()
    other = world.client()
    link = other.locking("orders")
    assert other.take(link) == [] and queue.store.locked == 1
    body = {"disposition-status": "completed", "lock-tokens": spec.Array([token_of(delivery)], UUID)}
    assert other.manage("orders", "update-disposition", body)[0] == 200
    assert not queue.store.messages


def test_a_hundred_locks_expire(world: BusWorld) -> None:
    queue = world.queue(max_delivery_count=2)
    user = world.client()
    user.send(user.sender("orders"), *[b"%d" % number for number in range(50)])
    link = user.locking("orders", credit=500)
    for _ in range(2):
        assert len(user.take(link)) == 50
        world.advance(61)
    assert len(queue.dead_letters.messages) == 50 and queue.store.locked == 0
    assert len(world.bus.timers) < 20


@pytest.mark.parametrize("settled", [False, True])
def test_settled_outcomes_count_too(world: BusWorld, settled: bool) -> None:
    queue = world.queue()
    user = world.client()
    user.send(user.sender("orders"), b"1")
    link = user.crediting(user.receiver("orders", snd_settle_mode=0), 1)
    (delivery,) = user.take(link)
    link.update([delivery], amqp.Accepted(), settled=settled)
    world.pump()
    assert not queue.store.messages


def test_receive_and_delete(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    user.send(user.sender("orders"), b"1", b"2")
    link = user.deleting("orders", credit=1)
    (first,) = user.take(link)
    assert first.settled and len(queue.store.messages) == 1
    assert "x-opt-locked-until" not in told_of(first)


def test_receivers_take_turns(world: BusWorld) -> None:
    world.queue()
    users = [world.client() for _ in range(2)]
    links = [each.deleting("orders") for each in users]
    users[0].send(users[0].sender("orders"), *[b"%d" % number for number in range(6)])
    assert [len(user.take(link)) for user, link in zip(users, links, strict=True)] == [3, 3]


def test_drain_ends_with_what_there_is(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    user.send(user.sender("orders"), b"1")
    link = user.locking("orders", credit=0)
    link.flow(10, drain=True)
    assert user.bodies(link) == [b"1"] and link.credit == 0


# Deferred messages.


def numbers(*found: int) -> spec.Array:
    return spec.Array(list(found), int)


@pytest.mark.parametrize("mode", [spec.UInt(1), spec.UByte(1)], ids=["uint", "ubyte"])
def test_a_deferred_message_is_received_by_its_number(world: BusWorld, mode: Any) -> None:
    user, link, delivery, queue = one(world)
    assert user.settle(link, delivery, DEFER) == DEFER
    assert user.take(link) == [] and queue.store.count(DEFERRED) == 1
    body = {"sequence-numbers": numbers(1), "receiver-settle-mode": mode}
    status, answer, _ = user.manage("orders", "receive-by-sequence-number", body)
    (entry,) = answer["messages"]
    found = amqp.Message.from_wire(entry["message"])
    assert status == 200 and found.body == b"hello"
    assert found.delivery_annotations == {amqp.Symbol("x-opt-lock-token"): entry["lock-token"]}
    assert user.manage("orders", "receive-by-sequence-number", body)[::2] == (404, MESSAGE_NOT_FOUND)
    done = {"disposition-status": "completed", "lock-tokens": spec.Array([entry["lock-token"]], UUID)}
    assert user.manage("orders", "update-disposition", done)[0] == 200
    assert not queue.store.messages


def test_a_deferred_message_can_be_taken_for_good(world: BusWorld) -> None:
    user, link, delivery, queue = one(world)
    user.settle(link, delivery, DEFER)
    body = {"sequence-numbers": numbers(1), "receiver-settle-mode": spec.UInt(0)}
    (entry,) = user.manage("orders", "receive-by-sequence-number", body)[1]["messages"]
    assert "lock-token" not in entry and not queue.store.messages


def test_a_deferred_message_whose_lock_ends_stays_deferred(world: BusWorld) -> None:
    user, link, delivery, queue = one(world)
    user.settle(link, delivery, DEFER)
    user.manage("orders", "receive-by-sequence-number", {"sequence-numbers": numbers(1)})
    world.advance(61)
    assert user.take(link) == [] and queue.store.count(DEFERRED) == 1 and queue.store.locked == 0


# Dispositions by requests.


@pytest.mark.parametrize("status", ["completed", "abandoned", "defered", "suspended"])
def test_dispositions_by_request(world: BusWorld, status: str) -> None:
    user, link, delivery, queue = one(world)
    body = {
        "disposition-status": status,
        "lock-tokens": spec.Array([token_of(delivery)], UUID),
        "deadletter-reason": "bad",
        "deadletter-description": "why",
        "properties-to-modify": {"tries": 1},
    }
    assert user.manage("orders", "update-disposition", body)[0] == 200
    again = user.take(link)
    store, dead = queue.store, queue.dead_letters
    assert (len(again), len(store.messages), store.count(DEFERRED), len(dead.messages)) == {
        "completed": (0, 0, 0, 0),
        "abandoned": (1, 1, 0, 0),
        "defered": (0, 1, 1, 0),
        "suspended": (0, 0, 0, 1),
    }[status]
    if status == "suspended":
        (found,) = user.take(user.locking(DEAD))
        assert reason_of(found) == ("bad", "why") and found.message.application_properties["tries"] == 1
    assert user.manage("orders", "update-disposition", body)[::2] == (410, MESSAGE_LOCK_LOST)


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("renew-lock", {}),
    ("renew-lock", {"lock-tokens": numbers(1)}),
    ("receive-by-sequence-number", {"sequence-numbers": spec.Array(["a"], str)}),
    ("receive-by-sequence-number", {}),
    ("cancel-scheduled-message", {}),
    ("peek-message", {"message-count": spec.Int(0)}),
    ("schedule-message", {"messages": []}),
    ("schedule-message", {"messages": [{"message": "text"}]}),
    ("schedule-message", {"messages": [7]}),
    ("get-session-state", {}),
    ("batch-delete-messages", {"message-count": spec.Int(0)}),
]


@pytest.mark.parametrize("operation,body", WRONG)
def test_a_request_that_makes_no_sense_is_400(world: BusWorld, operation: str, body: dict[str, Any]) -> None:
    world.queue()
    assert world.client().manage("orders", operation, body)[::2] == (400, ARGUMENT_ERROR)


@pytest.mark.parametrize("body", [None, 7, b"x", ["a"]], ids=repr)
def test_a_body_that_is_no_map_is_an_empty_one(world: BusWorld, body: Any) -> None:
    world.queue()
    assert world.client().manage("orders", "renew-lock", body)[::2] == (400, ARGUMENT_ERROR)


@pytest.mark.parametrize("operation", ["com.microsoft:levitate", "renew-lock", ""])
def test_an_unknown_operation_is_501_by_name(world: BusWorld, operation: str) -> None:
    world.queue()
    user = world.client()
    status, _, condition = user.manage("orders", operation or ":")
    assert (status, condition) == (501, NOT_IMPLEMENTED) or operation == "renew-lock"
    assert user.end.is_open


def test_an_unknown_disposition_is_400(world: BusWorld) -> None:
    user, _, delivery, queue = one(world)
    body = {"disposition-status": "eaten", "lock-tokens": spec.Array([token_of(delivery)], UUID)}
    assert user.manage("orders", "update-disposition", body)[0] == 400 and queue.store.locked == 1


# Peeking, schedules, times.


def test_peek_shows_messages_in_every_state(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    sender = user.sender("orders")
    later = {amqp.Symbol("x-opt-scheduled-enqueue-time"): amqp.Timestamp(int((EPOCH + 100) * 1000))}
    user.send(sender, b"1", b"2", b"3", message(b"4", annotations=later))
    link = user.locking("orders", credit=2)
    first, second = user.take(link)
    user.settle(link, second, DEFER)
    assert first.body == b"1"
    body = {"from-sequence-number": 0, "message-count": spec.Int(10)}
    status, answer, _ = user.manage("orders", "peek-message", body)
    found = [amqp.Message.from_wire(each["message"]) for each in answer["messages"]]
    states = [each.message_annotations[amqp.Symbol("x-opt-message-state")] for each in found]
    assert status == 200 and [each.body for each in found] == [b"1", b"2", b"3", b"4"]
    assert states == [ACTIVE, DEFERRED, ACTIVE, SCHEDULED] and queue.store.locked == 1
    body = {"from-sequence-number": 3, "message-count": spec.Int(1)}
    assert len(user.manage("orders", "peek-message", body)[1]["messages"]) == 1
    body = {"from-sequence-number": 5, "message-count": spec.Int(1)}
    assert user.manage("orders", "peek-message", body)[::2] == (204, MESSAGE_NOT_FOUND)


def test_a_scheduled_message_comes_in_its_time_with_a_new_number(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    link = user.deleting("orders")
    later = {amqp.Symbol("x-opt-scheduled-enqueue-time"): amqp.Timestamp(int((EPOCH + 100) * 1000))}
    user.send(user.sender("orders"), message(b"late", annotations=later), b"now")
    assert user.bodies(link) == [b"now"] and queue.store.count(SCHEDULED) == 1
    world.advance(99)
    assert user.take(link) == []
    world.advance(2)
    (found,) = user.take(link)
    assert found.body == b"late" and told_of(found)["x-opt-sequence-number"] == 3
    assert told_of(found)["x-opt-enqueued-time"] == (EPOCH + 100) * 1000


def test_scheduling_by_request_and_cancelling(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    later = {amqp.Symbol("x-opt-scheduled-enqueue-time"): amqp.Timestamp(int((EPOCH + 100) * 1000))}
    entries = [{"message-id": name, "message": message(name.encode(), annotations=later).encode()} for name in "ab"]
    status, answer, _ = user.manage("orders", "schedule-message", {"messages": entries})
    found = list(answer["sequence-numbers"])
    assert (status, found) == (200, [1, 2]) and queue.store.count(SCHEDULED) == 2
    assert user.manage("orders", "cancel-scheduled-message", {"sequence-numbers": numbers(1)})[0] == 200
    status, _, condition = user.manage("orders", "cancel-scheduled-message", {"sequence-numbers": numbers(1, 2)})
    assert (status, condition) == (404, MESSAGE_NOT_FOUND) and queue.store.count(SCHEDULED) == 1
    world.advance(101)
    assert user.bodies(user.locking("orders")) == [b"b"]


def test_a_message_lives_as_long_as_its_time_to_live(world: BusWorld) -> None:
    queue = world.queue(default_ttl=50.0)
    user = world.client()
    sender = user.sender("orders")
    user.send(sender, message(b"10", header=amqp.Header(ttl=10_000)), b"50")
    user.send(sender, message(b"100", header=amqp.Header(ttl=100_000)))
    world.advance(11)
    assert len(queue.store.messages) == 2
    world.advance(40)
    assert not queue.store.messages and not queue.dead_letters.messages


def test_an_expired_message_is_dead_if_the_queue_says_so(world: BusWorld) -> None:
    queue = world.queue(default_ttl=10.0, dead_letters_expired=True)
    user = world.client()
    user.send(user.sender("orders"), b"1")
    world.advance(11)
    assert not queue.store.messages
    (dead,) = user.take(user.locking(DEAD))
    assert reason_of(dead)[0] == "TTLExpiredException"
    world.advance(100)
    assert len(queue.dead_letters.messages) == 1


def test_a_locked_message_expires_when_it_is_unlocked(world: BusWorld) -> None:
    user, link, delivery, queue = one(world, default_ttl=10.0)
    world.advance(11)
    assert len(queue.store.messages) == 1
    user.settle(link, delivery, MODIFIED)
    assert not queue.store.messages and user.take(link) == []


def test_duplicates_are_dropped_within_the_window(world: BusWorld) -> None:
    queue = world.queue(duplicate_window=60.0)
    user = world.client()
    sender = user.sender("orders")
    assert user.send(sender, *[message(message_id="a")] * 3, message(message_id="b"), b"") == [amqp.Accepted()] * 5
    assert len(queue.store.messages) == 3
    world.advance(59)
    user.send(sender, message(message_id="a"))
    assert len(queue.store.messages) == 3
    world.advance(2)
    user.send(sender, message(message_id="a"))
    assert len(queue.store.messages) == 4


def test_deleting_messages_by_request(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    sender = user.sender("orders")
    user.send(sender, b"1", b"2")
    world.advance(10)
    user.send(sender, b"3")
    body = {"message-count": spec.Int(10), "enqueued-time-utc": amqp.Timestamp(int((EPOCH + 5) * 1000))}
    status, answer, _ = user.manage("orders", "batch-delete-messages", body)
    assert (status, answer["message-count"], len(queue.store.messages)) == (200, 2, 1)


# What is sent.


def batch(*messages: amqp.Message) -> bytes:
    return amqp.Message(amqp.Data(*[each.encode() for each in messages])).encode()


def test_a_batch_is_several_messages(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    sender = user.sender("orders")
    pending = sender.send(batch(message(b"1", message_id="a"), message(b"2")), message_format=BATCH)
    world.pump()
    assert pending.result == amqp.Accepted() and len(queue.store.messages) == 2
    assert user.bodies(user.locking("orders")) == [b"1", b"2"]


@pytest.mark.parametrize("payload", [b"\x00\x53\x75\xa0\x02\x00\x53", b"\x00\x53\x77\x40", b"\xff"], ids=repr)
def test_a_batch_that_can_not_be_read_is_rejected_as_a_whole(world: BusWorld, payload: bytes) -> None:
    queue = world.queue()
    user = world.client()
    pending = user.sender("orders").send(payload, message_format=BATCH)
    world.pump()
    assert isinstance(pending.result, amqp.Rejected) and not queue.store.messages and user.end.is_open


def test_a_batch_with_one_bad_message_is_rejected_as_a_whole(world: BusWorld) -> None:
    queue = world.queue()
    user = world.client()
    pending = user.sender("orders").send(batch(message(), message(message_id="x" * 129)), message_format=BATCH)
    world.pump()
    outcome: Any = pending.result
    assert outcome.error.condition == NOT_ALLOWED and not queue.store.messages


def test_the_largest_message_is_told_and_holds_for_schedules_too(world: BusWorld) -> None:
    queue = world.queue(max_message_size=1000)
    user = world.client()
    assert user.sender("orders").max_message_size == 1000
    entry = {"message-id": "a", "message": message(b"x" * 1001).encode()}
    assert user.manage("orders", "schedule-message", {"messages": [entry]})[::2] == (403, MESSAGE_SIZE_EXCEEDED)
    assert not queue.store.messages


def test_an_entity_that_is_full_says_so(world: BusWorld) -> None:
    queue = world.queue(max_octets=500)
    user = world.client()
    outcomes = user.send(user.sender("orders"), *[b"x" * 100] * 5)
    assert [type(each) for each in outcomes] == [amqp.Accepted] * 2 + [amqp.Rejected] * 3
    assert outcomes[-1].error.condition == RESOURCE_LIMIT_EXCEEDED
    assert user.bodies(user.deleting("orders")) and queue.store.octets == 0


@pytest.mark.parametrize(
    "status,sends,receives",
    [("Disabled", False, False), ("SendDisabled", False, True), ("ReceiveDisabled", True, False)],
)
def test_a_disabled_entity(world: BusWorld, status: str, sends: bool, receives: bool) -> None:
    world.queue(status=status)
    user = world.client()
    session = user.session()
    links: list[Any] = [session.open_sender("orders"), session.open_receiver("orders")]
    world.pump()
    assert [each.is_open for each in links] == [sends, receives]
    for each in links:
        if not each.is_open:
            assert user.refused(each) == ENTITY_DISABLED


def test_a_deleted_entity_s_links_are_detached(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    link = user.locking("orders")
    world.bus.delete("orders")
    assert user.refused(link) == NOT_FOUND and user.end.is_open
    assert user.refused(user.session().open_sender("orders")) == NOT_FOUND


# Forwarding.


def test_messages_are_forwarded(world: BusWorld) -> None:
    world.queue("end")
    world.queue("middle", forward_to="end")
    queue = world.queue(forward_to="middle")
    user = world.client()
    user.send(user.sender("orders"), b"1")
    (found,) = user.take(user.locking("end"))
    assert found.body == b"1" and not queue.store.messages
    assert user.refused(user.session().open_receiver("orders")) == NOT_ALLOWED


def test_a_circle_of_forwarding_ends_in_dead_letters(world: BusWorld) -> None:
    world.queue("a", forward_to="b")
    world.queue("b", forward_to="a")
    user = world.client()
    user.send(user.sender("a"), b"1")
    dead = [len(world.bus.queues[name].dead_letters.messages) for name in "ab"]
    assert sum(dead) == 1


def test_a_message_that_can_not_be_forwarded_is_dead(world: BusWorld) -> None:
    queue = world.queue(forward_to="nowhere")
    user = world.client()
    user.send(user.sender("orders"), b"1")
    assert len(queue.dead_letters.messages) == 1


def test_dead_letters_are_forwarded(world: BusWorld) -> None:
    world.queue("dead")
    user, link, delivery, queue = one(world, forward_dead_letters_to="dead")
    user.settle(link, delivery, rejecting())
    assert not queue.dead_letters.messages
    (found,) = user.take(user.locking("dead"))
    assert reason_of(found) == ("bad", "why")


# Transactions.


@pytest.mark.parametrize("fail", [False, True])
def test_a_transaction_completes_and_sends_at_once(world: BusWorld, fail: bool) -> None:
    world.queue("out")
    user, link, delivery, queue = one(world)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    user.send(user.sender("out"), b"done", state=spec.TransactionalState(txn_id))
    link.update([delivery], spec.TransactionalState(txn_id, amqp.Accepted()))
    world.pump()
    assert len(queue.store.messages) == 1 and not world.bus.queues["out"].store.messages
    assert user.discharge(controller, txn_id, fail=fail) == amqp.Accepted()
    assert len(queue.store.messages) == (1 if fail else 0)
    assert len(world.bus.queues["out"].store.messages) == (0 if fail else 1)


def test_a_transaction_whose_lock_is_lost_fails(world: BusWorld) -> None:
    world.queue("out")
    user, link, delivery, queue = one(world, lock_duration=30)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    user.send(user.sender("out"), b"done", state=spec.TransactionalState(txn_id))
    link.update([delivery], spec.TransactionalState(txn_id, amqp.Accepted()))
    world.advance(31)
    assert isinstance(user.discharge(controller, txn_id), amqp.Rejected)
    assert len(queue.store.messages) == 1 and not world.bus.queues["out"].store.messages


@pytest.mark.parametrize("fail", [False, True])
def test_requests_take_part_in_a_transaction(world: BusWorld, fail: bool) -> None:
    user, _, delivery, queue = one(world)
    pair = Pair(user, "orders/$management")
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    state = spec.TransactionalState(txn_id)
    later = {amqp.Symbol("x-opt-scheduled-enqueue-time"): amqp.Timestamp(int((EPOCH + 100) * 1000))}
    entry = {"message-id": "a", "message": message(b"later", annotations=later).encode()}
    reply = pair.ask("com.microsoft:schedule-message", {"messages": [entry]}, state=state)
    assert list(reply.body["sequence-numbers"]) == [2]
    body = {"disposition-status": "completed", "lock-tokens": spec.Array([token_of(delivery)], UUID)}
    assert pair.ask("com.microsoft:update-disposition", body, state=state).application_properties["statusCode"] == 200
    refused = pair.ask("com.microsoft:peek-message", {"message-count": spec.Int(1)}, state=state)
    assert refused.application_properties["statusCode"] == 501
    assert (len(queue.store.messages), queue.store.count(SCHEDULED)) == (1, 0)
    assert user.discharge(controller, txn_id, fail=fail) == amqp.Accepted()
    assert (queue.store.count(ACTIVE), queue.store.count(SCHEDULED)) == ((1, 0) if fail else (0, 1))


def by_link(user: User, link: amqp.Receiver, delivery: amqp.Delivery, state: spec.TransactionalState) -> None:
    """Tell a provisional outcome, which the client settles later."""
    if delivery.delivery_tag in link.unsettled:
        link.update([delivery], state)
        user.world.pump()


def by_request(user: User, _: amqp.Receiver, delivery: amqp.Delivery, state: spec.TransactionalState) -> None:
    """Settle by the lock's token."""
    body = {"disposition-status": "completed", "lock-tokens": spec.Array([token_of(delivery)], UUID)}
    Pair(user, "orders/$management").ask("com.microsoft:update-disposition", body, state=state)


WAYS: Final = (by_link, by_request)


@pytest.mark.parametrize("fail", [False, True])
@pytest.mark.parametrize("first", WAYS)
@pytest.mark.parametrize("second", WAYS)
def test_a_message_that_a_transaction_settles_twice(world: BusWorld, first: Any, second: Any, fail: bool) -> None:
    """Once is done, or nothing; whatever came of it, the next transaction may settle what is still locked."""
    user, link, delivery, queue = one(world)
    controller = user.controller(user.session())
    txn_id = user.declare(controller)
    for way in (first, second):
        way(user, link, delivery, spec.TransactionalState(txn_id, amqp.Accepted()))
    assert queue.store.locked == 1
    done = user.discharge(controller, txn_id, fail=fail)
    assert queue.store.locked == (0 if done == amqp.Accepted() and not fail else 1)
    assert len(queue.store.messages) == queue.store.locked
    if queue.store.locked:
        txn_id = user.declare(controller)
        by_request(user, link, delivery, spec.TransactionalState(txn_id, amqp.Accepted()))
        assert user.discharge(controller, txn_id) == amqp.Accepted()
        assert not queue.store.messages


def test_an_outcome_in_a_transaction_is_answered_at_once(world: BusWorld) -> None:
    """The SDKs for Java and .NET wait for it."""
    user, link, delivery, _ = one(world)
    txn_id = user.declare(user.controller(user.session()))
    state = spec.TransactionalState(txn_id, amqp.Accepted())
    assert user.settle(link, delivery, state) == state


def test_sending_via_an_entity_reaches_the_destination(world: BusWorld) -> None:
    world.queue("out")
    queue = world.queue()
    user = world.client()
    via = {amqp.Symbol("com.microsoft:transfer-destination-address"): "out"}
    link = user.sender("orders", properties=via)
    assert link.remote is not None
    told = dict(link.remote.properties or {})
    assert told == {**via, amqp.Symbol("com.microsoft:max-message-batch-size"): 262_144}
    user.send(link, b"1")
    assert len(world.bus.queues["out"].store.messages) == 1 and not queue.store.messages


def test_sending_via_to_nowhere_is_refused(world: BusWorld) -> None:
    world.queue()
    user = world.client()
    via = {amqp.Symbol("com.microsoft:transfer-destination-address"): "nowhere"}
    assert user.refused(user.session().open_sender("orders", properties=via)) == NOT_ALLOWED


# Names, and the whole.


@pytest.mark.parametrize("name", ["", "a$b", "/a", "a/", "x" * 261, "a/Subscriptions/b"])
def test_unusable_names(world: BusWorld, name: str) -> None:
    with pytest.raises(ValueError, match="entity name"):
        world.queue(name)


def test_names_do_not_distinguish_case(world: BusWorld) -> None:
    world.queue("Orders/New")
    user = world.client()
    user.sender("oRDERS/nEW")
    user.receiver("orders/new/$deadletterqueue")


def test_a_hub_with_service_bus_pickles_at_any_step(world: BusWorld) -> None:
    user, _, _, _ = one(world, lock_duration=30)
    user.send(user.sender("orders"), b"2")
    copy: BusWorld = world.copied()
    copy.advance(31)
    store = copy.bus.queues["orders"].store
    assert store.messages[1].delivery_count == 1
    assert copy.hub.namespace is copy.bus
