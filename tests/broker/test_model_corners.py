"""Corners of the model where the naive model and it once disagreed, one test for each."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.commands import (
    Bind,
    CloseOwner,
    DeclareQueue,
    Get,
    OpenOwner,
    Outcome,
    Publish,
    Published,
    Settle,
    Subscribe,
)
from amqp_sansio.broker.consumer import Window
from amqp_sansio.broker.effects import Deliver
from amqp_sansio.broker.model import Broker
from amqp_sansio.broker.owner import Owner
from tests.broker.both_models import OddLength, body_of, classic_content


def opened() -> tuple[Broker, Owner]:
    broker = Broker()
    return broker, broker.apply(OpenOwner(), 0.0)


def message(owner: Owner, key: str, *, immediate: bool = False, milliseconds: int | None = None) -> Publish:
    return Publish(owner, "", key, classic_content(b"m", None, None, milliseconds), immediate=immediate)


def test_an_immediate_message_reaches_a_consumer_beside_a_browser() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    broker.apply(Subscribe(owner, "q", "browser", acquires=False), 0.0)
    taker = broker.apply(Subscribe(owner, "q", "taker"), 0.0)
    assert broker.apply(message(owner, "q", immediate=True), 0.0) == Published(True, True, False)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [taker]


def test_an_immediate_message_passes_those_that_its_consumer_does_not_want() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "qa"), 0.0)
    broker.apply(Bind(owner, "qa", "amq.fanout"), 0.0)
    content = classic_content(b"m", None, None, None)
    broker.apply(Subscribe(owner, "qa", "choosy", filter=OddLength()), 0.0)
    broker.apply(Publish(owner, "amq.fanout", "unwanted", content), 0.0)
    wanted = Publish(owner, "amq.fanout", "a", content, immediate=True)
    assert broker.apply(wanted, 0.0) == Published(True, True, False)


def test_dead_letters_do_not_go_round_for_ever_after_a_rejection() -> None:
    """A message that was rejected once and then only expires comes back to a queue once at most."""
    broker, owner = opened()
    for name, target, arguments in (
        ("first", "second", {}),
        ("second", "third", {"x-message-ttl": 0}),
        ("third", "second", {"x-message-ttl": 0}),
    ):
        told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": target, **arguments}
        broker.apply(DeclareQueue(owner, name, arguments=told), 0.0)
    broker.apply(message(owner, "first"), 0.0)
    entry = broker.apply(Get(owner, "first"), 0.0)
    broker.apply(Settle(owner, (entry,), Outcome.REJECT), 0.0)
    assert broker.messages < 10


def test_what_has_expired_is_not_delivered_however_late_the_timer_comes() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    broker.apply(message(owner, "q", milliseconds=1000), 0.0)
    assert broker.apply(Get(owner, "q"), 1.5) is None


@pytest.mark.parametrize("queues", [("one", "one"), ("one", "two")], ids=["one queue", "two queues"])
def test_consumers_that_share_a_window_take_turns(queues: tuple[str, str]) -> None:
    """With room for one message at a time, the one that was served last is the last to be served again."""
    broker, owner = opened()
    window = Window(1, refills=True)
    for number, queue in enumerate(queues):
        broker.apply(DeclareQueue(owner, queue), 0.0)
        broker.apply(Subscribe(owner, queue, number, (window,)), 0.0)
    for _ in range(4):
        for queue in queues:
            broker.apply(message(owner, queue), 0.0)
    served: list[object] = []
    for _ in range(8):
        (delivery,) = broker.effects
        assert isinstance(delivery, Deliver)
        served.append(delivery.consumer.key)
        broker.effects.clear()
        broker.apply(Settle(owner, (delivery.entry,), Outcome.ACCEPT), 0.0)
    assert served == [0, 1] * 4


def test_a_consumer_that_had_no_room_for_a_long_message_gets_a_short_one() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    small = broker.apply(Subscribe(owner, "q", "small", (Window(octets=5),)), 0.0)
    broker.apply(Publish(owner, "", "q", classic_content(b"too long", None, None, None)), 0.0)
    broker.apply(Get(owner, "q"), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [small]


def test_what_expires_when_its_owner_goes_keeps_its_order() -> None:
    broker, owner = opened()
    told = {"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    broker.apply(DeclareQueue(owner, "dead"), 0.0)
    broker.apply(DeclareQueue(owner, "q", arguments=told), 0.0)
    leaving = broker.apply(OpenOwner(), 0.0)
    broker.apply(Subscribe(leaving, "q", "c"), 0.0)
    for body in (b"one", b"two", b"three"):
        broker.apply(Publish(owner, "", "q", classic_content(body, None, None, None)), 0.0)
    broker.apply(CloseOwner(leaving), 0.0)
    dead = broker.vhosts["/"].queues["dead"].available()
    assert [body_of(each.message) for each in dead] == [b"one", b"two", b"three"]
