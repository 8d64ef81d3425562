"""What the model counts: outcomes, steps of a turn, deadlines, and what it keeps of messages that are gone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from random import Random
from typing import Final

import pytest

from amqp_sansio.broker import BrokerLimits
from amqp_sansio.broker.contents.classic import ClassicContent
from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import Outcome
from amqp_sansio.broker.model.content import Filter, Message
from amqp_sansio.broker.model.entry import Entry
from tests.kit.broker_model import Model, content

FEW: Final = 64
"""Stale entries that a queue may keep in excess of the live ones."""


def taken(model: Model, count: int, name: str = "jobs") -> tuple[Entry, ...]:
    """Publish messages, and have the owner take them."""
    for number in range(count):
        model.publish(str(number), name)
    return tuple(model.apply(commands.Get(model.owner, name)) for _ in range(count))


def cost(model: Model, command: Callable[[], object]) -> int:
    """The steps of a turn that a command takes."""
    ledger = model.broker.ledger
    ledger.begin_turn(model.owner.number)
    room = ledger.room
    command()
    spent = room - ledger.room
    assert ledger.room > 0
    ledger.end_turn()
    return spent


def in_turns(model: Model, command: Callable[[], object]) -> int:
    """Carry a command out, and in as many turns as it takes what it leaves; how many there were."""
    ledger, turns = model.broker.ledger, 1
    ledger.begin_turn(model.owner.number)
    command()
    ledger.end_turn()
    while model.broker.has_work:
        ledger.begin_turn(0)
        model.broker.work()
        ledger.end_turn()
        turns += 1
    return turns


# Outcomes.


@pytest.mark.parametrize("turn", [1, 3, 10_000])
@pytest.mark.parametrize("count", [1, 2, 7])
@pytest.mark.parametrize("outcome", Outcome)
def test_each_message_counts_once_with_its_outcome(outcome: Outcome, count: int, turn: int) -> None:
    """However many a command names, and however many turns it takes."""
    model = Model(BrokerLimits(turn=turn))
    model.queue()
    entries = taken(model, count)
    turns = in_turns(model, lambda: model.settle(outcome, *entries))
    assert turns > 1 or count <= turn
    tally = model.broker.ledger.tally
    found = {Outcome.ACCEPT: tally.accepted, Outcome.REJECT: tally.rejected, Outcome.RELEASE: tally.released}
    assert found == {each: count if each is outcome else 0 for each in Outcome}
    model.effects()
    model.broker.check()


# Steps of a turn.


@pytest.mark.parametrize("kind", ["direct", "fanout", "topic", "headers"])
def test_each_routing_key_of_a_message_costs_what_it_tries(kind: str) -> None:
    model = Model()
    model.apply(commands.DeclareExchange(model.owner, "e", kind))
    for number in range(5):
        model.queue(f"q{number}")
        model.apply(commands.Bind(model.owner, f"q{number}", "e", "k" if kind != "topic" else "#"))

    def publish(keys: int) -> object:
        return model.apply(commands.Publish(model.owner, "e", "k", content("m"), also=("k",) * keys))

    costs = [cost(model, partial(publish, keys)) for keys in range(5)]
    steps = {after - before for before, after in pairwise(costs)}
    assert len(steps) == 1
    assert min(steps) == 1 + model.broker.vhosts["/"].exchanges["e"].tried


@pytest.mark.parametrize("kept", range(6))
def test_each_message_that_makes_room_costs_a_step(kept: int) -> None:
    """Five come back at once to a queue that has as many as it may: the oldest of all go."""

    def steps(most: int, ready: int) -> int:
        model = Model()
        queue = model.queue(x_max_length=most)
        entries = taken(model, 5)
        for number in range(ready):
            model.publish(str(number))
        spent = cost(model, lambda: model.settle(Outcome.RELEASE, *entries))
        assert queue.ready == min(most, 5 + ready)
        return spent

    # The first is that of the command itself: one publish mostly means one message.
    assert steps(5, kept) == steps(100, kept) + max(0, kept - 1)


@pytest.mark.parametrize("below", range(4))
def test_each_owner_that_ends_costs_two_steps_beside_what_it_has(below: int) -> None:
    model = Model()
    for _ in range(below):
        model.connect(model.owner)
    assert cost(model, lambda: model.apply(commands.CloseOwner(model.owner))) == 2 * (1 + below)


@pytest.mark.parametrize("turn", [1, 2, 5])
@pytest.mark.parametrize("count", [2, 9, 30])
def test_a_turn_drops_as_many_messages_as_it_has_steps(count: int, turn: int) -> None:
    model = Model(BrokerLimits(turn=turn))
    queue = model.queue(x_max_length=count)
    entries = taken(model, count)
    for number in range(count):
        model.publish(str(number))
    # One turn for each part of those that come back, one for each part of those that go.
    turns = in_turns(model, lambda: model.settle(Outcome.RELEASE, *entries))
    assert turns == pytest.approx(2 * count / turn, abs=2)
    assert queue.ready == count


# Deadlines.


@pytest.mark.parametrize("seed", range(20))
def test_the_next_deadline_is_the_first_of_what_is_there(seed: int) -> None:
    """Whatever has left the queue before it was due, and in whatever order."""
    random, model = Random(seed), Model()
    queue = model.queue()
    waiting: dict[str, int] = {}
    for number in range(150):
        waiting[str(number)] = milliseconds = random.randrange(1000, 1_000_000)
        model.publish(str(number), expiration=str(milliseconds))
    while waiting:
        entry = model.apply(commands.Get(model.owner, "jobs", filter=Exactly(random.choice([*waiting]))))
        model.settle(Outcome.ACCEPT, entry)
        del waiting[entry.message.content.body.decode()]
        assert queue.next_deadline() == (min(waiting.values()) / 1000 if waiting else None)
        assert len(queue.expiring) <= 2 * queue.ready + FEW


class Exactly(Filter):
    """Wants one message, by its body."""

    def __init__(self, body: str) -> None:
        self.body = body.encode()

    def accepts(self, message: Message) -> bool:
        return isinstance(message.content, ClassicContent) and message.content.body == self.body


# Memory.


@pytest.mark.parametrize("count", [1, 100, 300])
@pytest.mark.parametrize("newest_first", [True, False])
def test_what_a_queue_keeps_of_messages_that_are_gone_is_bounded(count: int, newest_first: bool) -> None:
    """The bound is reached where those in the middle go before the first."""
    model = Model()
    queue = model.queue()
    for number in range(count):
        model.publish(str(number))
    most = 0
    for number in reversed(range(count)) if newest_first else range(count):
        entry = model.apply(commands.Get(model.owner, "jobs", filter=Exactly(str(number))))
        model.settle(Outcome.ACCEPT, entry)
        most = max(most, sum(map(len, queue.levels.values())) - 2 * queue.ready)
    assert most == (FEW if newest_first and count > 1 else 0)


# A restart.


def available(model: Model, entry: Entry) -> None:
    model.settle(Outcome.RELEASE, entry)


def held(model: Model, entry: Entry) -> None:
    pass


def accepted_in_a_transaction(model: Model, entry: Entry) -> None:
    transaction = model.apply(commands.Begin(model.owner))
    model.settle(Outcome.ACCEPT, entry, transaction=transaction)


def at_a_consumer(model: Model, entry: Entry) -> None:
    model.consume("kept")
    model.settle(Outcome.RELEASE, entry)


def shown(model: Model, entry: Entry) -> None:
    model.consume("kept", acquires=False)
    model.settle(Outcome.RELEASE, entry)


@pytest.mark.parametrize("reach", [available, held, accepted_in_a_transaction, at_a_consumer, shown])
@pytest.mark.parametrize("count", [1, 3])
def test_a_restart_leaves_nothing_to_do(reach: Callable[[Model, Entry], None], count: int) -> None:
    """Wherever the messages were, they are available afterwards, and no queue waits to be run."""
    model = Model()
    model.queue("kept", durable=True)
    for number in range(count):
        model.publish(str(number), "kept", delivery_mode=2)
    reach(model, model.apply(commands.Get(model.owner, "kept")))
    model.broker.restart(1.0)
    model.broker.check()
    assert not model.broker.has_work
    assert model.bodies("kept") == [str(number) for number in range(count)]
