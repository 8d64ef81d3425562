"""Corners of the model where the naive model and it once disagreed, one test for each."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model.broker import Broker
from amqp_sansio.broker.model.commands import (
    Acquire,
    Begin,
    Bind,
    Cancel,
    CloseOwner,
    DeclareQueue,
    DeleteQueue,
    Get,
    Lifetime,
    LinkQueue,
    OpenOwner,
    Outcome,
    Publish,
    Published,
    Rollback,
    Settle,
    Subscribe,
    UnlinkQueue,
)
from amqp_sansio.broker.model.effects import Deliver
from amqp_sansio.broker.model.queue import Consumer, Owner, Window
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
    assert broker.publishing.messages < 10


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


def persistent(body: bytes, milliseconds: int | None = None) -> ClassicContent:
    return classic_content(body, None, None, milliseconds, True)


def waiting(broker: Broker, name: str) -> list[bytes]:
    return [body_of(each.message) for each in broker.vhosts["/"].queues[name].available()]


def test_what_has_expired_is_not_there_after_a_restart() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q", durable=True), 0.0)
    broker.apply(DeclareQueue(owner, "idle", durable=True, arguments={"x-expires": 1000}), 0.0)
    broker.apply(Publish(owner, "", "q", persistent(b"m", 1000)), 0.0)
    broker.restart(2.0)
    assert waiting(broker, "q") == []
    assert list(broker.vhosts["/"].queues) == ["q"]


def test_what_is_lost_by_a_restart_goes_nowhere_else() -> None:
    """The messages of a queue that isn't durable are gone, not orphans for its alternate."""
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "kept", durable=True), 0.0)
    broker.apply(Bind(owner, "kept", "amq.fanout"), 0.0)
    broker.apply(DeclareQueue(owner, "lost", alternate="amq.fanout"), 0.0)
    broker.apply(Publish(owner, "", "lost", persistent(b"m")), 0.0)
    broker.restart(1.0)
    broker.apply(OpenOwner(), 1.0)
    assert waiting(broker, "kept") == []


def test_what_dies_when_the_broker_stops_is_there_when_it_starts() -> None:
    """A message whose time was over while somebody had it goes to where dead letters go, if that is durable."""
    broker, owner = opened()
    told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    broker.apply(DeclareQueue(owner, "dead", durable=True), 0.0)
    broker.apply(DeclareQueue(owner, "q", durable=True, arguments=told), 0.0)
    broker.apply(Publish(owner, "", "q", persistent(b"m", 1000)), 0.0)
    broker.apply(Get(owner, "q"), 0.5)
    broker.restart(2.0)
    assert waiting(broker, "dead") == [b"m"]


def test_the_history_says_what_a_restart_drops() -> None:
    broker = Broker(history=9)
    owner = broker.apply(OpenOwner(), 0.0)
    broker.apply(DeclareQueue(owner, "kept", durable=True), 0.0)
    broker.apply(DeclareQueue(owner, "lost", alternate="amq.fanout"), 0.0)
    for name in ("kept", "lost"):
        broker.apply(message(owner, name), 0.0)
    broker.restart(1.0)
    assert broker.history is not None
    dropped = [(each.kind, each.queue, each.reason) for each in broker.history.records if each.kind == "dropped"]
    assert sorted(dropped) == [("dropped", "kept", "restarted"), ("dropped", "lost", "restarted")]


def test_the_history_says_that_a_transaction_gave_back_what_its_owner_left() -> None:
    broker = Broker(history=9)
    owner = broker.apply(OpenOwner(), 0.0)
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    leaving = broker.apply(OpenOwner(), 0.0)
    entry = broker.apply(Get(leaving, "q"), 0.0)
    transaction = broker.apply(Begin(), 0.0)
    broker.apply(Settle(leaving, (entry,), Outcome.ACCEPT, transaction=transaction), 0.0)
    broker.apply(CloseOwner(leaving), 0.0)
    broker.apply(Rollback(transaction), 0.0)
    assert broker.history is not None
    assert [each.kind for each in broker.history.records] == ["published", "routed", "got", "released"]


def test_a_window_gets_back_what_a_message_took_of_it_whatever_its_consumer_wrote_on_it() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    window = Window(octets=5, refills=True)
    broker.apply(Subscribe(owner, "q", "c", (window,)), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    (delivery,) = broker.effects
    assert isinstance(delivery, Deliver)
    longer = classic_content(b"longer", None, None, None)
    broker.apply(Settle(owner, (delivery.entry,), Outcome.REJECT, content=longer), 0.0)
    assert window.octets == 5


@pytest.mark.parametrize("rolls_back", [False, True], ids=["with its owner", "with a transaction"])
def test_what_goes_back_makes_room_for_others_who_share_the_window(rolls_back: bool) -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    leaving = broker.apply(OpenOwner(), 0.0)
    window = Window(1, refills=True)
    broker.apply(Subscribe(leaving, "q", "leaves", (window,)), 0.0)
    stays = broker.apply(Subscribe(owner, "q", "stays", (window,)), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    (delivery,) = broker.effects
    assert isinstance(delivery, Deliver)
    transaction = broker.apply(Begin(), 0.0)
    if rolls_back:
        broker.apply(Settle(leaving, (delivery.entry,), Outcome.ACCEPT, transaction=transaction), 0.0)
    broker.effects.clear()
    broker.apply(CloseOwner(leaving), 0.0)
    broker.apply(Rollback(transaction), 0.0)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [stays]


def test_a_link_to_a_queue_that_is_gone_says_nothing_of_the_next_of_that_name() -> None:
    broker, owner = opened()
    other = broker.apply(OpenOwner(), 0.0)
    queue = broker.apply(DeclareQueue(owner, "q"), 0.0)
    broker.apply(LinkQueue(owner, "q"), 0.0)
    broker.apply(DeleteQueue(owner, "q"), 0.0)
    queue = broker.apply(DeclareQueue(other, "q", lifetime=Lifetime.ON_NO_LINKS), 0.0)
    broker.apply(LinkQueue(other, "q"), 0.0)
    broker.apply(UnlinkQueue(owner, "q"), 0.0)
    assert queue.links == 1
    broker.apply(CloseOwner(owner), 0.0)
    assert queue.links == 1


def one_at_a_time(window: Window, *, choosy: bool) -> tuple[Broker, Owner, Consumer, Consumer]:
    """A queue with one active consumer, which takes nothing, and another one behind it."""
    broker, owner = opened()
    told = {"x-single-active-consumer": True}
    broker.apply(DeclareQueue(owner, "q", arguments=told), 0.0)
    broker.apply(Bind(owner, "q", "amq.fanout"), 0.0)
    active = broker.apply(Subscribe(owner, "q", "active", (Window(0),)), 0.0)
    waits = broker.apply(Subscribe(owner, "q", "waits", (window,), filter=OddLength() if choosy else None), 0.0)
    return broker, owner, active, waits


def test_who_becomes_the_active_consumer_gets_what_it_has_room_for() -> None:
    broker, owner, active, waits = one_at_a_time(Window(octets=4), choosy=False)
    for body, priority in ((b"too long", None), (b"fits", 9)):
        broker.apply(Publish(owner, "", "q", classic_content(body, None, priority, None)), 0.0)
    broker.apply(Cancel(active), 0.0)
    delivered = [(each.consumer, body_of(each.entry.message)) for each in broker.effects if isinstance(each, Deliver)]
    assert delivered == [(waits, b"fits")]


def test_who_becomes_the_active_consumer_gets_what_it_wants() -> None:
    broker, owner, active, waits = one_at_a_time(Window(), choosy=True)
    for key in ("unwanted", "wanted.a"):
        broker.apply(Publish(owner, "amq.fanout", key, classic_content(b"m", None, None, None)), 0.0)
    broker.apply(Cancel(active), 0.0)
    made = [each for each in broker.effects if isinstance(each, Deliver)]
    assert [(each.consumer, each.entry.message.routing_key) for each in made] == [(waits, "wanted.a")]


def test_a_browser_sees_what_comes_back_behind_all_that_it_has_seen() -> None:
    broker, owner = opened()
    broker.apply(DeclareQueue(owner, "q"), 0.0)
    for _ in range(2):
        broker.apply(message(owner, "q"), 0.0)
    first, last = broker.vhosts["/"].queues["q"].available()
    broker.apply(Acquire(owner, (last,)), 0.0)
    broker.apply(Subscribe(owner, "q", "browser", acquires=False), 0.0)
    broker.apply(Settle(owner, (last,), Outcome.RELEASE), 0.0)
    assert [each.entry for each in broker.effects if isinstance(each, Deliver)] == [first, last]
