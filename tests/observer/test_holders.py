"""The account of holders: links that are attached again, consumers that nobody saw begin, and its bounds."""

from __future__ import annotations

from amqp_sansio import Limits
from amqp_sansio import amqp_1_0 as amqp
from amqp_sansio.amqp_0_9_1.spec import BasicCancel, BasicCancelOk, BasicConsume, BasicConsumeOk
from amqp_sansio.amqp_1_0 import spec
from tests.kit.observing import SECOND, Talk
from tests.kit.talk_1_0 import HELLO, Talk10, credit, settle, transfer


def receiving() -> Talk10:
    """A link on which the server has sent two messages of the three that it may send."""
    talk = Talk10().open().session().receiver()
    talk.client(credit(1, 3))
    for number in (0, 1):
        talk.server(transfer(number, HELLO, handle=1))
    return talk


def test_a_link_that_is_attached_again_goes_on_with_what_it_holds() -> None:
    talk = receiving()
    (before,) = talk.observer.holders()
    assert (before.name, before.handle, before.queue) == ("in", 1, "q")
    assert (before.held, before.most, before.room) == (2, 3, 1)
    talk.client(spec.Detach(1)).server(spec.Detach(1))
    assert talk.observer.holders() == [] and not talk.observer.take_consumers()
    talk.receiver(handle=4)
    (after,) = talk.observer.holders()
    assert (after.handle, after.held, after.opened_ns) == (4, 2, before.opened_ns)


def test_a_link_that_is_closed_ends_when_it_holds_nothing() -> None:
    talk = receiving()
    talk.client(settle(0, amqp.Accepted(), 1))
    talk.client(spec.Detach(1, closed=True))
    assert talk.observer.holders() == [] and not talk.observer.take_consumers()
    closed_ns = talk.now
    talk.server(spec.Detach(1, closed=True))
    (ended,) = talk.observer.take_consumers()
    assert (ended.deliveries, ended.outcomes["accepted"], ended.peak, ended.held) == (2, 2, 2, 0)
    assert (ended.closed_ns, ended.longest_ns) == (closed_ns, 2 * SECOND)


def consuming(tag: str, talk: Talk) -> None:
    talk.client(BasicConsume(queue="q", consumer_tag=tag), channel=1)
    talk.server(BasicConsumeOk(consumer_tag=tag), channel=1)


def test_no_more_consumers_are_kept_than_the_limits_allow() -> None:
    limits = Limits(consumers=5)
    talk = Talk(limits=limits, twice=False)
    talk.header().login().channel()
    for number in range(40):
        consuming(f"c{number}", talk)
    assert [each.name for each in talk.observer.holders()] == [f"c{number}" for number in range(35, 40)]
    for number in range(35, 40):
        talk.client(BasicCancel(consumer_tag=f"c{number}"), channel=1)
        talk.server(BasicCancelOk(consumer_tag=f"c{number}"), channel=1)
    assert talk.observer.holders() == []
    # The oldest of those that nobody takes are forgotten too.
    assert [each.name for each in talk.observer.take_consumers()] == [f"c{number}" for number in range(35, 40)]
