"""Sessions of Service Bus: accepted by name or the next one, their lock and state, the order of their messages."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_1_0 import spec
from amqp_sansio.amqp_1_0.codec.conditions import NOT_ALLOWED, NOT_FOUND
from amqp_sansio_azure.conditions import SESSION_CANNOT_BE_LOCKED, SESSION_LOCK_LOST, SESSION_NOT_FOUND, TIMEOUT
from amqp_sansio_azure.servicebus import Queue
from tests.kit.azure import EPOCH, BusWorld, User, message

FILTER = amqp.Symbol("com.microsoft:session-filter")
LOCKED = amqp.Symbol("com.microsoft:locked-until-utc")
WAIT = amqp.Symbol("com.microsoft:timeout")
NEVER = amqp.Timestamp(253_402_300_800_000)
MODIFIED = amqp.Modified(delivery_failed=True)


@pytest.fixture
def world() -> BusWorld:
    made = BusWorld()
    made.queue(requires_session=True, lock_duration=30)
    return made


def queue_of(world: BusWorld) -> Queue:
    return world.bus.queues["orders"]


def fill(user: User, *texts: str) -> None:
    """Send messages such as "a1": their first letter is the session."""
    user.send(user.sender("orders"), *[message(each.encode(), group_id=each[0]) for each in texts])


def opened(user: User, session: Any, wait: float | None = None, **options: Any) -> amqp.Receiver:
    """A receiver that asks for a session, and may not have it yet."""
    properties = None if wait is None else {WAIT: spec.UInt(int(wait * 1000))}
    source = amqp.Source("orders", filter={FILTER: session})
    modes: dict[str, Any] = {"snd_settle_mode": 0, "rcv_settle_mode": 1, **options}
    link = user.session().open_receiver(source, properties=properties, **modes)
    user.world.pump()
    return link


def given(link: amqp.Receiver) -> Any:
    """The session that was granted, and until when, in seconds."""
    assert link.remote is not None and isinstance(link.remote.source, amqp.Source)
    ticks = (link.remote.properties or {})[LOCKED]
    return dict(link.remote.source.filter or {})[FILTER], ticks / 10_000_000 - 62_135_596_800


def accepted(user: User, session: str | None) -> amqp.Receiver:
    link = opened(user, session)
    assert link.is_open
    link.flow(10)
    user.world.pump()
    return link


def test_a_session_is_accepted_by_name(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1", "b1", "a2")
    link = accepted(user, "a")
    assert given(link) == ("a", EPOCH + 30)
    first, second = user.take(link)
    assert (first.body, second.body) == (b"a1", b"a2")
    assert first.message.message_annotations[amqp.Symbol("x-opt-locked-until")] == (EPOCH + 30) * 1000
    user.settle(link, first, amqp.Accepted())
    assert len(queue_of(world).store.messages) == 2


def test_the_next_session_is_one_with_messages(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1", "b1")
    links = [accepted(user, None) for _ in range(2)]
    assert [given(each)[0] for each in links] == ["a", "b"]
    assert [user.bodies(each) for each in links] == [[b"a1"], [b"b1"]]


def test_a_session_without_messages_can_be_accepted_and_gets_what_comes(world: BusWorld) -> None:
    user = world.client()
    link = accepted(user, "a")
    fill(user, "b1", "a1")
    assert user.bodies(link) == [b"a1"]


def test_a_session_that_another_holds_is_refused(world: BusWorld) -> None:
    user, other = world.client(), world.client()
    accepted(user, "a")
    assert other.refused(opened(other, "a")) == SESSION_CANNOT_BE_LOCKED
    assert other.end.is_open


def test_who_waits_for_a_session_gets_the_next_one(world: BusWorld) -> None:
    user, other = world.client(), world.client()
    links = [opened(user, None), opened(other, None)]
    assert not any(each.is_open for each in links)
    fill(user, "a1")
    assert [each.is_open for each in links] == [True, False]
    fill(user, "b1", "a2")
    assert [given(each)[0] for each in links] == ["a", "b"]


def test_who_waits_gets_a_session_that_is_given_back(world: BusWorld) -> None:
    user, other = world.client(), world.client()
    fill(user, "a1")
    link = accepted(user, None)
    waiting = opened(other, None)
    assert not waiting.is_open
    link.close()
    world.pump()
    assert given(waiting)[0] == "a"


@pytest.mark.parametrize("wait,seconds", [(None, 65), (5, 5)])
def test_who_waits_too_long_is_told(world: BusWorld, wait: float | None, seconds: float) -> None:
    user = world.client()
    link = opened(user, None, wait)
    world.advance(seconds - 1)
    assert link.report is None
    world.advance(2)
    assert user.refused(link) == TIMEOUT and user.end.is_open
    fill(user, "a1")
    assert given(accepted(user, None))[0] == "a"


@pytest.mark.parametrize("how", ["detach", "end", "cut"])
def test_who_does_not_wait_any_more_gets_nothing(world: BusWorld, how: str) -> None:
    user, other = world.client(), world.client()
    link = opened(user, None)
    if how == "detach":
        link.close()
    elif how == "end":
        link.session.close()
    else:
        user.cut()
    world.pump()
    fill(other, "a1")
    assert given(accepted(other, None))[0] == "a"
    assert other.end.is_open and queue_of(world).store.takers == 1


def test_the_lock_of_a_session_ends_its_link(world: BusWorld) -> None:
    user, other = world.client(), world.client()
    fill(user, "a1")
    link = accepted(user, "a")
    assert user.bodies(link) == [b"a1"]
    world.advance(31)
    assert user.refused(link) == SESSION_LOCK_LOST and user.end.is_open
    again = accepted(other, "a")
    (found,) = other.take(again)
    assert found.message.delivery_count == 1


def test_closing_gives_messages_back_without_counting(world: BusWorld) -> None:
    user, other = world.client(), world.client()
    fill(user, "a1")
    link = accepted(user, "a")
    assert user.take(link)
    user.cut()
    (found,) = other.take(accepted(other, None))
    assert found.message.delivery_count == 0


def test_a_renewed_session_lasts_and_so_do_its_messages(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1")
    link = accepted(user, "a")
    (found,) = user.take(link)
    world.advance(20)
    status, body, _ = user.manage("orders", "renew-session-lock", {"session-id": "a"})
    assert (status, body["expiration"]) == (200, (EPOCH + 50) * 1000)
    world.advance(29)
    assert user.settle(link, found, amqp.Accepted()) == amqp.Accepted()


def test_a_session_s_state_stays(world: BusWorld) -> None:
    user = world.client()
    link = accepted(user, "a")
    assert user.manage("orders", "get-session-state", {"session-id": "a"})[1]["session-state"] is None
    assert user.manage("orders", "set-session-state", {"session-id": "a", "session-state": b"half"})[0] == 200
    link.close()
    world.pump()
    assert user.manage("orders", "get-session-state", {"session-id": "a"})[::2] == (410, SESSION_LOCK_LOST)
    accepted(user, "a")
    assert user.manage("orders", "get-session-state", {"session-id": "a"})[1]["session-state"] == b"half"


@pytest.mark.parametrize("operation", ["renew-session-lock", "get-session-state", "set-session-state"])
def test_a_session_that_nobody_holds_is_410(world: BusWorld, operation: str) -> None:
    assert world.client().manage("orders", operation, {"session-id": "a"})[::2] == (410, SESSION_LOCK_LOST)


def test_sessions_are_listed(world: BusWorld) -> None:
    user = world.client()
    assert user.manage("orders", "get-message-sessions", {"last-updated-time": NEVER})[::2] == (204, SESSION_NOT_FOUND)
    fill(user, "a1", "b1")
    accepted(user, "c")
    user.manage("orders", "set-session-state", {"session-id": "c", "session-state": b"x"})
    body = {"last-updated-time": NEVER, "skip": spec.Int(0), "top": spec.Int(10)}
    assert list(user.manage("orders", "get-message-sessions", body)[1]["sessions-ids"]) == ["a", "b", "c"]
    body = {"last-updated-time": amqp.Timestamp(0), "skip": spec.Int(0), "top": spec.Int(10)}
    assert list(user.manage("orders", "get-message-sessions", body)[1]["sessions-ids"]) == ["c"]
    body = {"last-updated-time": NEVER, "skip": spec.Int(1), "top": spec.Int(1)}
    assert list(user.manage("orders", "get-message-sessions", body)[1]["sessions-ids"]) == ["b"]


def test_order_in_a_session_stays_when_a_message_is_given_back(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1", "a2")
    link = opened(user, "a")
    link.flow(1)
    (first,) = user.take(link)
    user.settle(link, first, MODIFIED)
    link.flow(2)
    assert user.bodies(link) == [b"a1", b"a2"]


def test_a_deferred_message_of_a_session(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1")
    link = accepted(user, "a")
    (first,) = user.take(link)
    user.settle(link, first, amqp.Modified(True, True))
    body = {"sequence-numbers": spec.Array([1], int), "session-id": "b"}
    assert user.manage("orders", "receive-by-sequence-number", body)[0] == 404
    body["session-id"] = "a"
    assert user.manage("orders", "receive-by-sequence-number", body)[0] == 200


def test_peeking_in_a_session(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1", "b1")
    body = {"from-sequence-number": 0, "message-count": spec.Int(10), "session-id": "b"}
    (entry,) = user.manage("orders", "peek-message", body)[1]["messages"]
    assert amqp.Message.from_wire(entry["message"]).body == b"b1"


def test_a_message_without_a_session_is_refused(world: BusWorld) -> None:
    user = world.client()
    (outcome,) = user.send(user.sender("orders"), b"none")
    assert outcome.error.condition == NOT_ALLOWED


def test_receivers_have_to_fit_their_entity(world: BusWorld) -> None:
    world.queue("plain")
    user = world.client()
    assert user.refused(user.session().open_receiver("orders")) == NOT_ALLOWED
    source = amqp.Source("plain", filter={FILTER: "a"})
    assert user.refused(user.session().open_receiver(source)) == NOT_ALLOWED


def test_deleting_the_entity_ends_who_holds_and_who_waits(world: BusWorld) -> None:
    user = world.client()
    held, waiting = accepted(user, "a"), opened(user, None)
    world.bus.delete("orders")
    assert user.refused(held) == user.refused(waiting) == NOT_FOUND and user.end.is_open


def test_receive_and_delete_in_a_session(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1", "a2")
    link = opened(user, "a", snd_settle_mode=1, rcv_settle_mode=0)
    link.flow(5)
    assert user.bodies(link) == [b"a1", b"a2"] and not queue_of(world).store.messages


def test_three_hundred_sessions_leave_nothing_behind(world: BusWorld) -> None:
    user = world.client()
    sender = user.sender("orders")
    for number in range(300):
        sender.send(message(b"x", group_id=f"s{number}"))
        if number % 50 == 49:
            world.pump()
    session = user.session()
    for _ in range(300):
        source = amqp.Source("orders", filter={FILTER: None})
        link = session.open_receiver(source, snd_settle_mode=1)
        world.pump()
        link.flow(1)
        assert len(user.take(link)) == 1
        link.close()
    world.pump()
    store = queue_of(world).store
    assert not store.messages and not store.sessions and store.takers == 0


def test_settling_after_the_session_is_lost_says_so(world: BusWorld) -> None:
    user = world.client()
    fill(user, "a1")
    (found,) = user.take(accepted(user, "a"))
    tokens = spec.Array([UUID(bytes_le=found.delivery_tag)], UUID)
    body = {"disposition-status": "completed", "lock-tokens": tokens, "session-id": "a"}
    world.advance(31)
    assert user.manage("orders", "update-disposition", body)[::2] == (410, SESSION_LOCK_LOST)


@pytest.mark.parametrize("descriptor", [None, spec.ULong(0x137000000C), FILTER], ids=["plain", "code", "symbol"])
@pytest.mark.parametrize("session", ["a", None], ids=["named", "next"])
def test_a_session_is_granted_in_the_form_in_which_it_was_asked_for(
    world: BusWorld, session: str | None, descriptor: Any
) -> None:
    """The SDK for Go reads none but described filters, the others none but plain ones."""
    user = world.client()
    fill(user, "a1")
    asked: Any = session
    told: Any = "a"
    if descriptor is not None:
        asked, told = amqp.Described(descriptor, session), amqp.Described(descriptor, "a")
    assert given(opened(user, asked))[0] == told
