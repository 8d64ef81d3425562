"""Queues of the model: order, priorities, turns, windows, limits, time, dead letters, lifetimes."""

import pickle
from itertools import pairwise
from typing import Any

import pytest

from amqp_sansio.broker import BrokerLimits, Fault, FaultKind
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import Lifetime, Outcome
from amqp_sansio.broker.model.consumer import Window
from amqp_sansio.broker.model.content import MESSAGE_OCTETS, PLACE_OCTETS, Filter, Message
from amqp_sansio.broker.model.effects import Blocked, Cancelled, Unblocked
from amqp_sansio.broker.model.states import MESSAGE, State
from amqp_sansio.broker.snapshot import dumps, loads
from tests.kit.broker_model import Model, bodies, content

ACCEPT, REJECT, RELEASE = Outcome


class Even(Filter):
    """Wants messages whose body is an even number."""

    def accepts(self, message: Message) -> bool:
        return int(bytes(message.content.body)) % 2 == 0  # type: ignore[attr-defined]


def test_a_message_comes_to_one_consumer_and_goes_when_it_is_accepted(model: Model) -> None:
    queue = model.queue()
    model.consume(windows=(Window(10),))
    model.publish("a")
    (entry,) = model.delivered()
    assert (queue.ready, queue.unsettled, entry.state) == (0, 1, State.ACQUIRED)
    model.settle(ACCEPT, entry)
    assert (queue.ready, queue.unsettled, entry.state, model.broker.ledger.octets) == (0, 0, State.ARCHIVED, 0)


def test_what_is_released_goes_back_to_its_place(model: Model) -> None:
    model.queue()
    for body in "abcde":
        model.publish(body)
    model.consume(windows=(Window(3),))
    a, b, c = model.delivered()
    model.settle(RELEASE, b, redelivered=True)
    assert model.bodies() == ["b", "d", "e"]
    model.settle(RELEASE, c, a)
    assert model.bodies() == ["a", "b", "c", "d", "e"]
    assert [b.redelivered, a.redelivered] == [True, False]


def test_consumers_take_turns_as_far_as_their_windows_go(model: Model) -> None:
    model.queue()
    narrow = Window(1)
    model.consume(key="one", windows=(narrow,))
    model.consume(key="two", windows=(Window(3),))
    for body in "abcde":
        model.publish(body)
    assert [str(entry.consumer.key) for entry in model.delivered() if entry.consumer] == [*("one", "two", "two", "two")]
    assert model.bodies() == ["e"]
    model.apply(commands.Grant(narrow, 1))
    assert bodies(model.delivered()) == ["e"]


def test_a_consumer_keeps_its_turn_while_it_has_no_room_for_what_comes_first(model: Model) -> None:
    """However often it is granted more, and in which order: the one that was served last is the last to be served."""
    model.queue()
    first, second = Window(octets=9), Window(octets=5)
    model.consume(key="first", windows=(first,))
    model.consume(key="second", windows=(second,))
    model.publish("a")
    (entry,) = model.delivered()
    model.publish("too long for both")
    model.apply(commands.Grant(second, octets=1))
    model.settle(RELEASE, entry)
    (entry,) = model.delivered()
    assert entry.consumer is not None
    assert (bodies([entry]), entry.consumer.key) == (["a"], "second")


def test_a_window_that_refills_counts_what_is_unsettled(model: Model) -> None:
    model.queue()
    prefetch = Window(2, refills=True)
    model.consume(windows=(prefetch,))
    for body in "abcd":
        model.publish(body)
    first, second = model.delivered()
    model.settle(ACCEPT, first)
    assert bodies(model.delivered()) == ["c"]
    model.settle(RELEASE, second)
    assert bodies(model.delivered()) == ["b"]
    assert prefetch.messages == 0


def test_octets_are_counted_too(model: Model) -> None:
    model.queue()
    model.consume(windows=(Window(None, 5),))
    model.publish("four")
    model.publish("two")
    assert bodies(model.delivered()) == ["four"]


def test_higher_priorities_of_consumers_come_first(model: Model) -> None:
    model.queue()
    model.consume(key="low", windows=(Window(5),))
    model.consume(key="high", windows=(Window(2),), priority=10)
    for body in "abc":
        model.publish(body)
    assert [str(entry.consumer.key) for entry in model.delivered() if entry.consumer] == [*("high", "high", "low")]


@pytest.mark.rule("0-9-1/basic/priority-2")
def test_without_a_word_of_it_a_queue_has_two_levels_of_priority(model: Model) -> None:
    model.queue()
    for body, priority in (("a", None), ("b", 4), ("c", 5), ("d", 9), ("e", 0)):
        properties: dict[str, Any] = {} if priority is None else {"priority": priority}
        model.publish(body, **properties)
    assert model.bodies() == ["c", "d", "a", "b", "e"]


def test_with_x_max_priority_each_level_counts(model: Model) -> None:
    model.queue(x_max_priority=3)
    for body, priority in (("a", 0), ("b", 3), ("c", 1), ("d", 200), ("e", 2)):
        model.publish(body, priority=priority)
    assert model.bodies() == ["b", "d", "e", "c", "a"]


def test_browsers_see_each_message_once_and_take_none(model: Model) -> None:
    queue = model.queue()
    model.publish("a")
    window = Window(1)
    model.consume(acquires=False, windows=(window,))
    model.publish("b")
    assert bodies(model.delivered()) == ["a"]
    model.apply(commands.Grant(window, 5))
    model.publish("c")
    assert bodies(model.delivered()) == ["b", "c"]
    assert queue.ready == 3


def test_what_a_browser_has_seen_can_be_acquired_once(model: Model) -> None:
    queue = model.queue()
    model.publish("a")
    browser = model.consume(acquires=False)
    (entry,) = model.delivered()
    assert model.apply(commands.Acquire(model.owner, (entry,), browser)) == (entry,)
    assert model.apply(commands.Acquire(model.owner, (entry,), browser)) == ()
    assert (queue.ready, queue.unsettled) == (0, 1)
    model.settle(ACCEPT, entry)
    assert queue.messages == 0


def test_a_filter_leaves_messages_to_others_and_does_not_hold_them_up(model: Model) -> None:
    model.queue()
    model.consume(key="even", filter=Even())
    for number in range(5):
        model.publish(str(number))
    assert bodies(model.delivered()) == ["0", "2", "4"]
    model.consume(key="rest")
    assert bodies(model.delivered()) == ["1", "3"]


def test_what_a_consumer_excluded_goes_to_another(model: Model) -> None:
    model.queue()
    model.consume(key="one", windows=(Window(2),))
    model.publish("a")
    (entry,) = model.delivered()
    model.settle(RELEASE, entry, delivery_failed=True, excluded=True)
    assert model.delivered() == []
    assert (entry.delivery_count, entry.redelivered) == (1, True)
    model.publish("b")
    assert bodies(model.delivered()) == ["b"]
    model.consume(key="two")
    assert bodies(model.delivered()) == ["a"]


def test_no_local_keeps_a_connection_from_its_own_messages(model: Model) -> None:
    model.queue()
    other = model.connect()
    model.consume(no_local=True)
    model.publish("mine")
    model.apply(commands.Publish(other, "", "jobs", content("theirs")))
    assert bodies(model.delivered()) == ["theirs"]


def test_an_exclusive_consumer_is_alone(model: Model) -> None:
    model.queue()
    consumer = model.consume(exclusive=True)
    with pytest.raises(Fault, match="exclusive use") as caught:
        model.consume(key="second")
    assert caught.value.kind is FaultKind.EXCLUSIVE
    model.apply(commands.Cancel(consumer))
    model.consume(key="second")
    with pytest.raises(Fault):
        model.consume(key="third", exclusive=True)


def test_one_active_consumer_gets_all_and_then_the_next(model: Model) -> None:
    model.queue(x_single_active_consumer=True)
    first = model.consume(key="one", windows=(Window(2),))
    model.consume(key="two", windows=(Window(9),))
    for body in "abc":
        model.publish(body)
    assert bodies(model.delivered()) == ["a", "b"]
    model.apply(commands.Cancel(first))
    (entry,) = model.delivered()
    assert entry.consumer is not None
    assert (bodies([entry]), entry.consumer.key) == (["c"], "two")


@pytest.mark.parametrize("per_queue", [True, False], ids=["queue", "message"])
def test_messages_expire_where_they_wait(model: Model, per_queue: bool) -> None:
    arguments: dict[str, Any] = {"x_message_ttl": 5000} if per_queue else {}
    queue = model.queue(**arguments)
    model.publish("a", **({} if per_queue else {"expiration": "5000"}))
    model.wait(4.9)
    assert queue.ready == 1
    model.wait(0.1)
    assert (queue.ready, model.broker.ledger.octets) == (0, 0)


def test_an_acquired_message_does_not_expire_before_it_comes_back(model: Model) -> None:
    queue = model.queue(x_message_ttl=5000)
    consumer = model.consume()
    model.publish("a")
    (entry,) = model.delivered()
    model.wait(10)
    assert queue.unsettled == 1
    model.apply(commands.Cancel(consumer))
    model.settle(RELEASE, entry)
    assert queue.messages == 0


def test_a_message_without_time_reaches_only_who_waits(model: Model) -> None:
    queue = model.queue()
    model.publish("a", expiration="0")
    assert queue.ready == 0
    model.consume()
    model.publish("b", expiration="0")
    assert bodies(model.delivered()) == ["b"]


def test_a_queue_that_nobody_uses_goes(model: Model) -> None:
    model.queue(x_expires=1000)
    consumer = model.consume()
    model.wait(5)
    model.apply(commands.Cancel(consumer))
    model.wait(0.9)
    model.apply(commands.Get(model.owner, "jobs"))
    model.wait(0.9)
    assert "jobs" in model.broker.vhosts["/"].queues
    model.wait(0.2)
    assert "jobs" not in model.broker.vhosts["/"].queues


def test_the_oldest_make_room(model: Model) -> None:
    model.queue(x_max_length=2)
    for body in "abc":
        model.publish(body)
    assert model.bodies() == ["b", "c"]
    model.queue("octets", x_max_length_bytes=6)
    for body in ("four", "two", "1"):
        model.publish(body, "octets")
    assert model.bodies("octets") == ["two", "1"]


def test_a_full_queue_refuses_where_it_is_to(model: Model) -> None:
    model.queue(x_max_length=1, x_overflow="reject-publish")
    assert not model.publish("a").refused
    assert model.publish("b").refused
    assert model.bodies() == ["a"]


@pytest.mark.parametrize("reason", ["rejected", "expired", "maxlen", "delivery_limit"])
def test_dead_letters_say_why(model: Model, reason: str) -> None:
    kinds: dict[str, dict[str, Any]] = {"maxlen": {"x_max_length": 1}, "delivery_limit": {"x_delivery_limit": 0}}
    more = kinds.get(reason, {})
    model.queue(x_dead_letter_exchange="", x_dead_letter_routing_key="dead", **more)
    model.queue("dead")
    if reason in ("rejected", "delivery_limit"):
        model.consume()
    model.publish("a", **({"expiration": "1000"} if reason == "expired" else {}))
    if reason == "rejected":
        model.settle(REJECT, *model.delivered())
    elif reason == "delivery_limit":
        model.settle(RELEASE, *model.delivered(), delivery_failed=True)
    elif reason == "expired":
        model.wait(1)
    else:
        model.publish("b")
    (entry,) = model.broker.vhosts["/"].queues["dead"].available()
    (death,) = entry.message.content.deaths
    assert (death.queue, death.reason, death.count, death.exchange, death.routing_keys) == (
        *("jobs", reason, 1, "", ("jobs",)),
    )
    assert entry.message.content.ttl is None


def test_dead_letters_do_not_go_round_by_themselves(model: Model) -> None:
    model.queue("one", x_message_ttl=1000, x_dead_letter_exchange="", x_dead_letter_routing_key="two")
    model.queue("two", x_message_ttl=1000, x_dead_letter_exchange="", x_dead_letter_routing_key="one")
    model.publish("a", "one")
    model.wait(60)
    assert not model.bodies("one") + model.bodies("two")


def test_a_rejected_message_may_come_back_and_its_deaths_are_counted(model: Model) -> None:
    model.queue("one", x_dead_letter_exchange="", x_dead_letter_routing_key="wait")
    model.queue("wait", x_message_ttl=1000, x_dead_letter_exchange="", x_dead_letter_routing_key="one")
    model.consume("one")
    model.publish("a", "one")
    for _ in range(3):
        model.settle(REJECT, *model.delivered())
        model.wait(1)
    (entry,) = model.delivered()
    assert {(death.queue, death.reason): death.count for death in entry.message.content.deaths} == {
        ("one", "rejected"): 3,
        ("wait", "expired"): 3,
    }


def test_dead_letters_pass_through_a_chain_of_queues(model: Model) -> None:
    for number in range(40):
        model.queue(f"q{number}", x_max_length=0, x_dead_letter_exchange="", x_dead_letter_routing_key=f"q{number + 1}")
    model.queue("q40")
    model.publish("a", "q0")
    assert model.bodies("q40") == ["a"]


def test_a_broker_that_holds_too_much_holds_publishers_up() -> None:
    # Beside the messages, the queue counts for 1608 octets.
    model = Model(BrokerLimits(memory_high=6200 + 1608, memory_low=3100 + 1608))
    model.queue()
    for _ in range(11):
        model.publish("x" * 98)
    assert [type(effect) for effect in model.effects()] == [Blocked]
    for _ in range(6):
        model.apply(commands.Get(model.owner, "jobs", settles=True))
    assert [type(effect) for effect in model.effects()] == [Unblocked]
    model.broker.hold_publishers("maintenance")
    (blocked,) = model.effects()
    assert isinstance(blocked, Blocked)
    assert blocked.reason == "maintenance"
    model.broker.hold_publishers("")
    assert [type(effect) for effect in model.effects()] == [Unblocked]


@pytest.mark.parametrize("many", [False, True], ids=["few queues", "many queues"])
def test_the_reason_for_holding_publishers_names_what_takes_the_room(many: bool) -> None:
    """The topology is named where it takes more than half of it: then it doesn't help to consume."""
    model = Model(BrokerLimits(memory_high=20_000, memory_low=10_000))
    for number in range(8 if many else 1):
        model.queue(f"q{number}")
    while not (effects := model.effects()):
        model.publish("x" * 98, "q0")
    (blocked,) = effects
    assert isinstance(blocked, Blocked)
    ledger = model.broker.ledger
    topology = f" and {ledger.topology} of topology" if many else ""
    said = f"the broker holds {ledger.octets} octets of messages{topology}, BrokerLimits.memory_high allows 20000"
    assert blocked.reason == said


@pytest.mark.parametrize("levels", [1, 4, 5, 11, 256])
def test_a_queue_keeps_a_few_empty_levels_of_priority(levels: int) -> None:
    """A queue with few levels needn't make them anew for each message; one with many doesn't keep them all."""
    model = Model()
    queue = model.queue(x_max_priority=levels - 1)
    for priority in range(levels):
        model.publish("x", priority=priority)
    assert len(queue.levels) == levels
    while model.apply(commands.Get(model.owner, "jobs", settles=True)) is not None:
        pass
    assert len(queue.levels) == min(levels, 4)


def test_a_message_in_many_queues_is_held_once(model: Model) -> None:
    for number in range(10):
        model.queue(f"q{number}")
        model.apply(commands.Bind(model.owner, f"q{number}", "amq.fanout"))
    model.publish("x" * 100, exchange="amq.fanout")
    assert model.broker.ledger.octets == 102 + MESSAGE_OCTETS + 10 * PLACE_OCTETS
    for number in range(10):
        model.apply(commands.PurgeQueue(model.owner, f"q{number}"))
    assert model.broker.ledger.octets == 0


def test_an_owner_that_ends_leaves_nothing_behind(model: Model) -> None:
    model.queue("shared")
    channel = model.connect(model.owner)
    mine = model.queue("mine", exclusive_to=model.owner)
    model.consume("shared", owner=channel, windows=(Window(2),))
    for body in "abc":
        model.publish(body, "shared")
    held = model.delivered()
    transaction = model.apply(commands.Begin(channel))
    model.apply(commands.Settle(channel, (held[0],), ACCEPT, transaction=transaction))
    model.apply(commands.CloseOwner(model.owner))
    assert mine.is_deleted
    assert model.bodies("shared") == ["a", "b", "c"]
    assert [entry.redelivered for entry in held] == [True, True]
    assert (model.broker.owners, model.broker.transactions) == ({}, {})


def test_an_auto_delete_queue_goes_with_its_last_consumer(model: Model) -> None:
    queue = model.queue(auto_delete=True)
    one, two = model.consume(key="1"), model.consume(key="2")
    model.apply(commands.Cancel(one))
    assert not queue.is_deleted
    model.apply(commands.Cancel(two))
    assert queue.is_deleted


def test_consumers_of_a_deleted_queue_are_told(model: Model) -> None:
    model.queue()
    consumer = model.consume()
    model.publish("a")
    (entry,) = model.delivered()
    assert model.apply(commands.DeleteQueue(model.owner, "jobs")) == 0
    assert any(isinstance(each, Cancelled) and each.consumer is consumer for each in model.effects())
    model.settle(RELEASE, entry)
    assert (entry.state, model.broker.ledger.octets) == (State.ARCHIVED, 0)


def test_orphans_go_to_the_alternate(model: Model) -> None:
    model.apply(commands.DeclareExchange(model.owner, "alt", "fanout"))
    model.queue("spare")
    model.apply(commands.Bind(model.owner, "spare", "alt"))
    model.queue("jobs", alternate="alt")
    model.publish("a")
    model.apply(commands.DeleteQueue(model.owner, "jobs"))
    assert model.bodies("spare") == ["a"]


@pytest.mark.parametrize(
    ("lifetime", "after_close", "after_unlink", "after_empty"),
    [
        pytest.param(Lifetime.ON_CLOSE, True, True, True, id="close"),
        pytest.param(Lifetime.ON_NO_LINKS, False, True, True, id="links"),
        pytest.param(Lifetime.ON_NO_MESSAGES, False, False, True, id="messages"),
        pytest.param(Lifetime.ON_NO_LINKS_OR_MESSAGES, False, False, True, id="both"),
    ],
)
def test_dynamic_nodes_go_when_their_lifetime_says(
    model: Model, lifetime: Lifetime, after_close: bool, after_unlink: bool, after_empty: bool
) -> None:
    creator, other = model.connect(model.owner), model.connect(model.owner)
    queue = model.queue("dyn", owner=creator, lifetime=lifetime)
    model.apply(commands.LinkQueue(other, "dyn"))
    model.publish("a", "dyn")
    seen: list[bool] = []
    model.apply(commands.CloseOwner(creator))
    seen.append(queue.is_deleted)
    model.apply(commands.UnlinkQueue(other, "dyn"))
    seen.append(queue.is_deleted)
    if not queue.is_deleted:
        model.apply(commands.Get(other, "dyn", settles=True))
    seen.append(queue.is_deleted)
    assert seen == [after_close, after_unlink, after_empty]


def test_a_restart_keeps_what_is_durable(model: Model) -> None:
    model.queue("kept", durable=True)
    model.queue("lost")
    model.apply(commands.DeclareExchange(model.owner, "e", "direct", durable=True))
    model.apply(commands.DeclareExchange(model.owner, "f", "direct"))
    for exchange in "ef":
        for queue in ("kept", "lost"):
            model.apply(commands.Bind(model.owner, queue, exchange, "k"))
    model.publish("one", "kept", delivery_mode=2)
    model.publish("two", "kept", delivery_mode=1)
    model.publish("three", "kept", delivery_mode=2)
    model.apply(commands.Get(model.owner, "kept"))
    model.broker.restart(1.0)
    vhost = model.broker.vhosts["/"]
    assert list(vhost.queues) == ["kept"]
    assert ("e" in vhost.exchanges, "f" in vhost.exchanges, vhost.bindings) == (True, False, 1)
    assert [(each.message.number, each.redelivered) for each in vhost.queues["kept"].available()] == [
        (1, True),
        (3, False),
    ]
    assert not model.broker.effects


def test_purging_leaves_what_is_acquired(model: Model) -> None:
    queue = model.queue()
    for body in "abc":
        model.publish(body)
    model.apply(commands.Get(model.owner, "jobs"))
    assert model.apply(commands.PurgeQueue(model.owner, "jobs")) == 2
    assert (queue.ready, queue.unsettled) == (0, 1)


def test_nobody_settles_what_another_has(model: Model) -> None:
    model.queue()
    model.publish("a")
    entry = model.apply(commands.Get(model.owner, "jobs"))
    with pytest.raises(Fault) as caught:
        model.apply(commands.Settle(model.connect(), (entry,), ACCEPT))
    assert caught.value.kind is FaultKind.ILLEGAL_STATE


def test_the_model_pickles_with_all_that_is_under_way(model: Model) -> None:
    model.queue(x_message_ttl=60_000)
    window = Window(2, refills=True)
    model.consume(windows=(window,))
    for body in "abcd":
        model.publish(body)
    entries = model.delivered()
    transaction = model.apply(commands.Begin(model.owner))
    model.apply(commands.Settle(model.owner, (entries[0],), ACCEPT, transaction=transaction))
    broker, entries, transaction = loads(dumps((model.broker, entries, transaction)))
    broker.apply(commands.Commit(transaction), 1.0)
    assert bodies(each.entry for each in broker.effects) == ["c"]
    broker.handle_timeout(60.0)
    queue = broker.vhosts["/"].queues["jobs"]
    assert (queue.ready, queue.unsettled) == (0, 2)


def test_long_chains_of_owners_and_exchanges_pickle(model: Model) -> None:
    names = [f"q{number}" for number in range(1000)]
    for name in names:
        model.queue(name)
    for one, other in pairwise(names):
        owner = model.connect()
        for name in (one, other):
            model.consume(name, owner=owner)
    for name in names:
        model.apply(commands.DeclareExchange(model.owner, f"e-{name}", "fanout"))
    for one, other in pairwise(names):
        model.apply(commands.BindExchange(model.owner, f"e-{other}", f"e-{one}"))
    model.apply(commands.Bind(model.owner, names[-1], f"e-{names[-1]}"))
    broker = pickle.loads(pickle.dumps(model.broker))
    owner = broker.apply(commands.OpenOwner("/", "guest"), 0.0)
    assert broker.apply(commands.Publish(owner, "e-q0", "", content("a")), 0.0).consumed
    assert broker.vhosts["/"].queues["q999"].unsettled == 1


def test_every_state_of_a_message_is_reached() -> None:
    reached = {State.AVAILABLE, *[state for row in MESSAGE.values() for state in row.values()]}
    assert reached == set(MESSAGE)
