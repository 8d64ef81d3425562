"""Corners of the model where the naive model and it once disagreed, one test for each."""

import pytest

from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.broker import Broker
from amqp_sansio.broker.model.consumer import Consumer, Window
from amqp_sansio.broker.model.effects import Deliver
from amqp_sansio.broker.model.owner import Owner
from tests.broker.both_models import OddLength, body_of, classic_content


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def owner(broker: Broker) -> Owner:
    opened: Owner = broker.apply(commands.OpenOwner(), 0.0)
    return opened


def message(owner: Owner, key: str, *, immediate: bool = False, milliseconds: int | None = None) -> commands.Publish:
    return commands.Publish(owner, "", key, classic_content(b"m", None, None, milliseconds), immediate=immediate)


def test_an_immediate_message_reaches_a_consumer_beside_a_browser(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    broker.apply(commands.Subscribe(owner, "q", "browser", acquires=False), 0.0)
    taker = broker.apply(commands.Subscribe(owner, "q", "taker"), 0.0)
    assert broker.apply(message(owner, "q", immediate=True), 0.0) == commands.Published(True, True, False)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [taker]


def test_an_immediate_message_passes_those_that_its_consumer_does_not_want(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "qa"), 0.0)
    broker.apply(commands.Bind(owner, "qa", "amq.fanout"), 0.0)
    content = classic_content(b"m", None, None, None)
    broker.apply(commands.Subscribe(owner, "qa", "choosy", filter=OddLength()), 0.0)
    broker.apply(commands.Publish(owner, "amq.fanout", "unwanted", content), 0.0)
    wanted = commands.Publish(owner, "amq.fanout", "a", content, immediate=True)
    assert broker.apply(wanted, 0.0) == commands.Published(True, True, False)


def test_dead_letters_do_not_go_round_for_ever_after_a_rejection(broker: Broker, owner: Owner) -> None:
    """A message that was rejected once and then only expires comes back to a queue once at most."""
    for name, target, arguments in (
        ("first", "second", {}),
        ("second", "third", {"x-message-ttl": 0}),
        ("third", "second", {"x-message-ttl": 0}),
    ):
        told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": target, **arguments}
        broker.apply(commands.DeclareQueue(owner, name, arguments=told), 0.0)
    broker.apply(message(owner, "first"), 0.0)
    entry = broker.apply(commands.Get(owner, "first"), 0.0)
    broker.apply(commands.Settle(owner, (entry,), commands.Outcome.REJECT), 0.0)
    assert broker.publishing.messages < 10


def test_what_has_expired_is_not_delivered_however_late_the_timer_comes(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    broker.apply(message(owner, "q", milliseconds=1000), 0.0)
    assert broker.apply(commands.Get(owner, "q"), 1.5) is None


@pytest.mark.parametrize("queues", [("one", "one"), ("one", "two")], ids=["one queue", "two queues"])
def test_consumers_that_share_a_window_take_turns(broker: Broker, owner: Owner, queues: tuple[str, str]) -> None:
    """With room for one message at a time, the one that was served last is the last to be served again."""
    window = Window(1, refills=True)
    for number, queue in enumerate(queues):
        broker.apply(commands.DeclareQueue(owner, queue), 0.0)
        broker.apply(commands.Subscribe(owner, queue, number, (window,)), 0.0)
    for _ in range(4):
        for queue in queues:
            broker.apply(message(owner, queue), 0.0)
    served: list[object] = []
    for _ in range(8):
        (delivery,) = broker.effects
        assert isinstance(delivery, Deliver)
        served.append(delivery.consumer.key)
        broker.effects.clear()
        broker.apply(commands.Settle(owner, (delivery.entry,), commands.Outcome.ACCEPT), 0.0)
    assert served == [0, 1] * 4


def test_a_consumer_that_had_no_room_for_a_long_message_gets_a_short_one(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    small = broker.apply(commands.Subscribe(owner, "q", "small", (Window(octets=5),)), 0.0)
    broker.apply(commands.Publish(owner, "", "q", classic_content(b"too long", None, None, None)), 0.0)
    broker.apply(commands.Get(owner, "q"), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [small]


def test_what_expires_when_its_owner_goes_keeps_its_order(broker: Broker, owner: Owner) -> None:
    told = {"x-message-ttl": 0, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    broker.apply(commands.DeclareQueue(owner, "dead"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q", arguments=told), 0.0)
    leaving = broker.apply(commands.OpenOwner(), 0.0)
    broker.apply(commands.Subscribe(leaving, "q", "c"), 0.0)
    for body in (b"one", b"two", b"three"):
        broker.apply(commands.Publish(owner, "", "q", classic_content(body, None, None, None)), 0.0)
    broker.apply(commands.CloseOwner(leaving), 0.0)
    dead = broker.vhosts["/"].queues["dead"].available()
    assert [body_of(each.message) for each in dead] == [b"one", b"two", b"three"]


def persistent(body: bytes, milliseconds: int | None = None) -> ClassicContent:
    return classic_content(body, None, None, milliseconds, True)


def waiting(broker: Broker, name: str) -> list[bytes]:
    return [body_of(each.message) for each in broker.vhosts["/"].queues[name].available()]


def test_what_has_expired_is_not_there_after_a_restart(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "q", durable=True), 0.0)
    broker.apply(commands.DeclareQueue(owner, "idle", durable=True, arguments={"x-expires": 1000}), 0.0)
    broker.apply(commands.Publish(owner, "", "q", persistent(b"m", 1000)), 0.0)
    broker.restart(2.0)
    assert waiting(broker, "q") == []
    assert list(broker.vhosts["/"].queues) == ["q"]


def test_what_is_lost_by_a_restart_goes_nowhere_else(broker: Broker, owner: Owner) -> None:
    """The messages of a queue that isn't durable are gone, not orphans for its alternate."""
    broker.apply(commands.DeclareQueue(owner, "kept", durable=True), 0.0)
    broker.apply(commands.Bind(owner, "kept", "amq.fanout"), 0.0)
    broker.apply(commands.DeclareQueue(owner, "lost", alternate="amq.fanout"), 0.0)
    broker.apply(commands.Publish(owner, "", "lost", persistent(b"m")), 0.0)
    broker.restart(1.0)
    broker.apply(commands.OpenOwner(), 1.0)
    assert waiting(broker, "kept") == []


def test_what_dies_when_the_broker_stops_is_there_when_it_starts(broker: Broker, owner: Owner) -> None:
    """A message whose time was over while somebody had it goes to where dead letters go, if that is durable."""
    told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
    broker.apply(commands.DeclareQueue(owner, "dead", durable=True), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q", durable=True, arguments=told), 0.0)
    broker.apply(commands.Publish(owner, "", "q", persistent(b"m", 1000)), 0.0)
    broker.apply(commands.Get(owner, "q"), 0.5)
    broker.restart(2.0)
    assert waiting(broker, "dead") == [b"m"]


def test_the_history_says_what_a_restart_drops() -> None:
    broker = Broker(history=9)
    owner = broker.apply(commands.OpenOwner(), 0.0)
    broker.apply(commands.DeclareQueue(owner, "kept", durable=True), 0.0)
    broker.apply(commands.DeclareQueue(owner, "lost", alternate="amq.fanout"), 0.0)
    for name in ("kept", "lost"):
        broker.apply(message(owner, name), 0.0)
    broker.restart(1.0)
    assert broker.history is not None
    dropped = [(each.kind, each.queue, each.reason) for each in broker.history.records if each.kind == "dropped"]
    assert sorted(dropped) == [("dropped", "kept", "restarted"), ("dropped", "lost", "restarted")]


def test_the_history_says_that_a_transaction_gave_back_what_its_owner_left() -> None:
    broker = Broker(history=9)
    owner = broker.apply(commands.OpenOwner(), 0.0)
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    leaving = broker.apply(commands.OpenOwner(), 0.0)
    entry = broker.apply(commands.Get(leaving, "q"), 0.0)
    transaction = broker.apply(commands.Begin(), 0.0)
    broker.apply(commands.Settle(leaving, (entry,), commands.Outcome.ACCEPT, transaction=transaction), 0.0)
    broker.apply(commands.CloseOwner(leaving), 0.0)
    broker.apply(commands.Rollback(transaction), 0.0)
    assert broker.history is not None
    assert [each.kind for each in broker.history.records] == ["published", "routed", "got", "released"]


def test_a_window_gets_back_what_a_message_took_of_it_whatever_its_consumer_wrote_on_it(
    broker: Broker, owner: Owner
) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    window = Window(octets=5, refills=True)
    broker.apply(commands.Subscribe(owner, "q", "c", (window,)), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    (delivery,) = broker.effects
    assert isinstance(delivery, Deliver)
    longer = classic_content(b"longer", None, None, None)
    broker.apply(commands.Settle(owner, (delivery.entry,), commands.Outcome.REJECT, content=longer), 0.0)
    assert window.octets == 5


@pytest.mark.parametrize("rolls_back", [False, True], ids=["with its owner", "with a transaction"])
def test_what_goes_back_makes_room_for_others_who_share_the_window(
    broker: Broker, owner: Owner, rolls_back: bool
) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    leaving = broker.apply(commands.OpenOwner(), 0.0)
    window = Window(1, refills=True)
    broker.apply(commands.Subscribe(leaving, "q", "leaves", (window,)), 0.0)
    stays = broker.apply(commands.Subscribe(owner, "q", "stays", (window,)), 0.0)
    broker.apply(message(owner, "q"), 0.0)
    (delivery,) = broker.effects
    assert isinstance(delivery, Deliver)
    transaction = broker.apply(commands.Begin(), 0.0)
    if rolls_back:
        broker.apply(commands.Settle(leaving, (delivery.entry,), commands.Outcome.ACCEPT, transaction=transaction), 0.0)
    broker.effects.clear()
    broker.apply(commands.CloseOwner(leaving), 0.0)
    broker.apply(commands.Rollback(transaction), 0.0)
    assert [each.consumer for each in broker.effects if isinstance(each, Deliver)] == [stays]


def test_a_link_to_a_queue_that_is_gone_says_nothing_of_the_next_of_that_name(broker: Broker, owner: Owner) -> None:
    other = broker.apply(commands.OpenOwner(), 0.0)
    queue = broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    broker.apply(commands.LinkQueue(owner, "q"), 0.0)
    broker.apply(commands.DeleteQueue(owner, "q"), 0.0)
    queue = broker.apply(commands.DeclareQueue(other, "q", lifetime=commands.Lifetime.ON_NO_LINKS), 0.0)
    broker.apply(commands.LinkQueue(other, "q"), 0.0)
    broker.apply(commands.UnlinkQueue(owner, "q"), 0.0)
    assert queue.links == 1
    broker.apply(commands.CloseOwner(owner), 0.0)
    assert queue.links == 1


def one_at_a_time(broker: Broker, owner: Owner, window: Window, *, choosy: bool) -> tuple[Consumer, Consumer]:
    """A queue with one active consumer, which takes nothing, and another one behind it."""
    told = {"x-single-active-consumer": True}
    broker.apply(commands.DeclareQueue(owner, "q", arguments=told), 0.0)
    broker.apply(commands.Bind(owner, "q", "amq.fanout"), 0.0)
    active = broker.apply(commands.Subscribe(owner, "q", "active", (Window(0),)), 0.0)
    waits = broker.apply(
        commands.Subscribe(owner, "q", "waits", (window,), filter=OddLength() if choosy else None), 0.0
    )
    return active, waits


def test_who_becomes_the_active_consumer_gets_what_it_has_room_for(broker: Broker, owner: Owner) -> None:
    active, waits = one_at_a_time(broker, owner, Window(octets=4), choosy=False)
    for body, priority in ((b"too long", None), (b"fits", 9)):
        broker.apply(commands.Publish(owner, "", "q", classic_content(body, None, priority, None)), 0.0)
    broker.apply(commands.Cancel(active), 0.0)
    delivered = [(each.consumer, body_of(each.entry.message)) for each in broker.effects if isinstance(each, Deliver)]
    assert delivered == [(waits, b"fits")]


def test_who_becomes_the_active_consumer_gets_what_it_wants(broker: Broker, owner: Owner) -> None:
    active, waits = one_at_a_time(broker, owner, Window(), choosy=True)
    for key in ("unwanted", "wanted.a"):
        broker.apply(commands.Publish(owner, "amq.fanout", key, classic_content(b"m", None, None, None)), 0.0)
    broker.apply(commands.Cancel(active), 0.0)
    made = [each for each in broker.effects if isinstance(each, Deliver)]
    assert [(each.consumer, each.entry.message.routing_key) for each in made] == [(waits, "wanted.a")]


def test_a_browser_sees_what_comes_back_behind_all_that_it_has_seen(broker: Broker, owner: Owner) -> None:
    broker.apply(commands.DeclareQueue(owner, "q"), 0.0)
    for _ in range(2):
        broker.apply(message(owner, "q"), 0.0)
    first, last = broker.vhosts["/"].queues["q"].available()
    broker.apply(commands.Acquire(owner, (last,)), 0.0)
    broker.apply(commands.Subscribe(owner, "q", "browser", acquires=False), 0.0)
    broker.apply(commands.Settle(owner, (last,), commands.Outcome.RELEASE), 0.0)
    assert [each.entry for each in broker.effects if isinstance(each, Deliver)] == [first, last]
