"""The books of a channel: what is remembered up to which number, and what a close does to content under way."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, Limits, Version
from amqp_sansio._classic.codec.dialect import default_dialect
from amqp_sansio._classic.codec.violation import Violation
from amqp_sansio._classic.model.channel_state import EACH, FREE, Call, Calls, ChannelState, Step
from amqp_sansio._classic.model.connection import ConnectionModel
from amqp_sansio._classic.model.states import Connection, Mode
from tests.kit.facing import CLIENT, SERVER

REMEMBERED = 1024
"""Consumers cancelled without waiting."""


class Model:
    """The model of an open connection with channel 1 open."""

    def __init__(self, version: Version = AMQP_0_9_1, **limits: int) -> None:
        self.dialect = default_dialect(version)
        self.model = ConnectionModel(self.dialect, Limits(**limits))
        self.model.state = Connection.OPEN
        self.client("channel.open")
        self.server("channel.open-ok")

    @property
    def channel(self) -> ChannelState:
        """Channel 1."""
        return self.model.channels[1]

    def client(self, name: str, *, whole: bool = True, **fields: Any) -> Step | None:
        """The client sends a method."""
        return self.model.step(CLIENT, 1, self.dialect.named[name](**fields), None, whole)

    def server(self, name: str, *, whole: bool = True, **fields: Any) -> Step | None:
        """The server sends a method."""
        return self.model.step(SERVER, 1, self.dialect.named[name](**fields), None, whole)

    def deliver(self, first: int, last: int) -> None:
        """The server sends deliveries with these tags."""
        for tag in range(first, last + 1):
            self.server("basic.deliver", consumer_tag="c", delivery_tag=tag)


# Consumers.


@pytest.mark.parametrize("more", [0, 1, 3])
def test_the_last_consumers_that_were_cancelled_without_waiting_are_remembered(version: Version, more: int) -> None:
    model = Model(version)
    tags = [f"c{number}" for number in range(REMEMBERED + more)]
    for tag in tags:
        model.client("basic.consume", consumer_tag=tag, queue="q", no_wait=True)
        model.client("basic.cancel", consumer_tag=tag, no_wait=True)
    assert model.channel.cancelled is not None
    assert list(model.channel.cancelled) == tags[more:]


@pytest.mark.parametrize("waiting", [0, 1])
def test_consumers_up_to_the_limit(version: Version, waiting: int) -> None:
    model = Model(version, consumers=2)
    model.client("basic.consume", consumer_tag="a", queue="q", no_wait=True)
    model.client("basic.consume", consumer_tag="b", queue="q", no_wait=True)
    with pytest.raises(Violation, match="has 2 consumers"):
        model.client("basic.consume", consumer_tag="c", queue="q", no_wait=not waiting)
    assert list(model.channel.consumers) == ["a", "b"]


# Settling.


def test_every_tag_up_to_what_a_recover_gave_back_is_settled(version: Version) -> None:
    model = Model(version)
    model.client("basic.consume", consumer_tag="c", queue="q", no_wait=True)
    model.deliver(1, 5)
    model.client("basic.ack", delivery_tag=2)
    if version is AMQP_0_9_1:
        model.client("basic.recover", requeue=True)
        step = model.server("basic.recover-ok")
    else:
        step = model.client("basic.recover", requeue=True)
    assert step is not None
    assert [tag for tag, _ in step.settled] == [1, 3, 4, 5]
    assert (model.channel.settled_to, model.channel.last_tag) == (5, 5)
    model.deliver(6, 7)
    step = model.client("basic.ack", delivery_tag=7, multiple=True)
    assert step is not None
    assert [tag for tag, _ in step.settled] == [6, 7]


def test_settling_again_and_again_in_a_transaction_is_paid_by_deliveries(version: Version) -> None:
    """Each delivery pays for `EACH` times; few at a time are free."""
    count = FREE + 1
    model = Model(version)
    model.channel.allowance = 0
    model.client("basic.consume", consumer_tag="c", queue="q", no_wait=True)
    model.client("tx.select")
    model.server("tx.select-ok")
    model.deliver(1, count)
    for _ in range(EACH):
        model.client("basic.ack", delivery_tag=count, multiple=True)
        model.client("tx.rollback")
        model.server("tx.rollback-ok")
    assert model.channel.allowance == 0
    with pytest.raises(Violation, match=f"rolled back {EACH} times before"):
        model.client("basic.ack", delivery_tag=count, multiple=True)
    # One fewer is free.
    step = model.client("basic.ack", delivery_tag=FREE, multiple=True)
    assert step is not None
    assert model.channel.allowance == 0


def test_settling_outside_of_a_transaction_costs_nothing(version: Version) -> None:
    model = Model(version)
    model.channel.allowance = 0
    model.client("basic.consume", consumer_tag="c", queue="q", no_wait=True)
    count = 2 * FREE
    model.deliver(1, count)
    step = model.client("basic.ack", delivery_tag=count, multiple=True)
    assert step is not None
    assert len(step.settled) == count
    assert (model.channel.allowance, model.channel.counted, model.channel.mode) == (0, 0, Mode.NORMAL)


# Content under way.


def test_who_closes_a_channel_ends_its_own_content(version: Version) -> None:
    """At once, not when the close is answered: its octets count no more."""
    model = Model(version)
    model.client("basic.publish", whole=False)
    model.model.header(CLIENT, 1, 60, 0, 10)
    assert (model.model.bodies, model.channel.content(True) is None) == (10, False)
    model.client("channel.close", reply_code=200)
    assert (model.model.bodies, model.channel.content(True)) == (0, None)


def test_the_other_sides_content_ends_with_the_answer(version: Version) -> None:
    model = Model(version)
    model.client("basic.consume", consumer_tag="c", queue="q", no_wait=True)
    model.server("basic.deliver", consumer_tag="c", delivery_tag=1, whole=False)
    model.model.header(SERVER, 1, 60, 0, 10)
    model.client("channel.close", reply_code=200)
    assert model.model.bodies == 10
    channel = model.channel
    model.server("channel.close-ok")
    assert (model.model.bodies, channel.content(False)) == (0, None)
    assert 1 not in model.model.channels


def test_a_reply_that_never_came_whole_leaves_its_call_open(version: Version) -> None:
    model = Model(version)
    model.client("basic.get", queue="q")
    model.server("basic.get-ok", delivery_tag=1, whole=False)
    assert not model.channel.calls(True)
    model.server("channel.close", reply_code=500)
    calls = model.channel.calls(True)
    assert calls is not None
    assert [call.request.NAME for call in calls] == ["basic.get"]
    assert model.channel.content(False) is None


@pytest.mark.parametrize("client", [True, False])
def test_what_is_dropped_with_a_channel_counts_no_more(version: Version, client: bool) -> None:
    """Whoever sends it: what comes of it is discarded once this end has closed the channel."""
    model = Model(version)
    model.client("basic.consume", consumer_tag="c", queue="q", no_wait=True)
    if client:
        model.client("basic.publish", whole=False)
    else:
        model.server("basic.deliver", consumer_tag="c", delivery_tag=1, whole=False)
    model.model.header(CLIENT if client else SERVER, 1, 60, 0, 10)
    assert model.model.bodies == 10
    model.model.drop_contents(model.channel)
    assert (model.model.bodies, model.channel.content(client)) == (0, None)


@pytest.mark.parametrize("where", range(1 << 5))
def test_calls_are_kept_in_the_order_in_which_they_were_sent(version: Version, where: int) -> None:
    """One whose reply was cut short is open again before all others; each bit of `where` says so of one."""
    calls, expected = Calls(), list[Call]()
    for number, name in enumerate(("queue.declare", "basic.get", "queue.declare", "basic.qos", "basic.get")):
        call = Call(default_dialect(version).named[name](), number)
        first = bool(where >> number & 1)
        calls.add(call, first=first)
        expected.insert(0 if first else len(expected), call)
    assert [*calls] == expected
    assert (calls.oldest, calls.newest) == (expected[0], expected[-1])


@pytest.mark.parametrize("whole", [True, False])
def test_a_method_with_content_comes_with_it_or_is_followed_by_it(version: Version, whole: bool) -> None:
    model = Model(version)
    model.client("basic.publish", whole=whole)
    assert (model.channel.content(True) is None) is whole


def test_a_method_comes_with_its_content_unless_said_otherwise(version: Version) -> None:
    model = Model(version)
    model.model.step(CLIENT, 1, model.dialect.named["basic.publish"]())
    assert model.channel.content(True) is None
