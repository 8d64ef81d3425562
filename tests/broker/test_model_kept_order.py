"""Order and deadlines that a message keeps when others of its queue come, go and return meanwhile."""

from __future__ import annotations

from amqp_sansio.broker.model import commands
from amqp_sansio.broker.model.commands import Outcome
from amqp_sansio.broker.model.effects import Deliver
from tests.kit.broker_model import Model, bodies, content


def test_an_immediate_message_does_not_overtake_one_of_the_same_commit() -> None:
    """With a browser the first one waits in the queue, and nothing has run since."""
    model = Model()
    model.queue()
    model.consume(key="browser", acquires=False)
    taker = model.consume(key="taker")
    transaction = model.apply(commands.Begin(model.owner))
    for body, immediate in (("first", False), ("second", True)):
        model.apply(
            commands.Publish(model.owner, "", "jobs", content(body), immediate=immediate, transaction=transaction)
        )
    assert not model.apply(commands.Commit(transaction))
    deliveries = [each for each in model.effects() if isinstance(each, Deliver)]
    assert bodies(each.entry for each in deliveries if each.consumer is taker) == ["first", "second"]


def test_a_message_that_returns_expires_in_time() -> None:
    """While it was taken, another one expired, and the queue has looked for its next deadline without it."""
    model = Model()
    model.queue()
    model.publish("gone", expiration="500")
    model.publish("taken", expiration="1000")
    model.publish("last", expiration="2000")
    gone, taken = [model.apply(commands.Get(model.owner, "jobs")) for _ in range(2)]
    model.settle(Outcome.RELEASE, gone)
    assert model.broker.next_deadline == 0.5
    model.wait(0.6)
    assert model.broker.next_deadline == 2.0
    model.settle(Outcome.RELEASE, taken)
    assert model.broker.next_deadline == 1.0
    model.wait(0.4)
    assert model.bodies() == ["last"]
