"""A hub's answers to a 0-10 client, and their command ids, follow from its octets alone, however the reads cut them.

0-10 part 1 section 3.2: neither end sends command ids, so the client's next octets mean what the hub counts.
"""

from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import Accepted, Settled, Signal
from amqp_sansio import amqp_0_10 as amqp
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.sasl import Plain

GARBAGE = b"\x00" * 64


class Talk:
    """A client and a hub that reads its octets in pieces of `step`, 0 for all that there are."""

    def __init__(self, step: int) -> None:
        self.step = step
        self.hub = Hub(Settings(users={"guest": "guest"}, heartbeat=0.0, seed=b"cuts", history=1000))
        self.end = self.hub.connect()
        self.client = amqp.Connection.client(amqp.Config(sasl=Plain("guest", "guest"), heartbeat=0))
        self.sent = b""
        self.events: list[Any] = []
        self.settle()
        self.session = self.client.open_session(b"s")
        self.settle()
        self.session.call(spec.QueueDeclare("q"))
        self.settle()

    def settle(self) -> None:
        """Carry octets until neither end has any."""
        while octets := self.client.data_to_send(0.0):
            self.read(octets)

    def read(self, octets: bytes) -> None:
        """The hub reads the client's octets; the client reads the answer when the hub has read them all."""
        for at in range(0, len(octets), self.step or len(octets)):
            self.end.receive_data(octets[at : at + (self.step or len(octets))], 0.0)
            self.end.next_event()
            self.hub.take_dirty()
        answer = self.end.data_to_send(0.0)
        self.sent += answer
        self.client.receive_data(answer, 0.0)
        while not isinstance(event := self.client.next_event(), Signal):
            self.events.append(event)

    @property
    def trace(self) -> tuple[Any, ...]:
        history = self.hub.model.history
        assert history is not None
        return (
            self.sent,
            [repr(each) for each in history.records],
            repr(self.end.report),
            list(map(repr, self.events)),
        )


def publish(talk: Talk, count: int, sync: bool = False) -> list[Any]:
    """The client publishes many at once, then reads; the handles of their outcomes."""
    sent = [talk.session.transfer("", amqp.Message(b"m%d" % n, routing_key="q"), sync=sync) for n in range(count)]
    talk.settle()
    return [each.outcome for each in sent]


def burst(talk: Talk) -> None:
    publish(talk, 5)


def large_burst(talk: Talk) -> None:
    publish(talk, 600)


def synced_in_between(talk: Talk) -> None:
    talk.session.transfer("", amqp.Message(b"a", routing_key="q"))
    talk.session.transfer("", amqp.Message(b"b", routing_key="q"), sync=True)
    talk.session.transfer("", amqp.Message(b"c", routing_key="q"))
    talk.session.sync()
    talk.session.transfer("", amqp.Message(b"d", routing_key="q"))
    talk.session.flush()
    talk.settle()


def unroutable_in_between(talk: Talk) -> None:
    for key in ("q", "q", "nowhere", "q"):
        talk.session.transfer("", amqp.Message(b"m", routing_key=key))
    talk.settle()


def consumed_meanwhile(talk: Talk) -> None:
    """The ids that the client accepts are the hub's, which counts its own accepts too."""
    talk.session.call(spec.MessageSubscribe("q", "d", 0, 0))
    talk.session.top_up("d", 100)
    publish(talk, 5)
    talk.session.accept(*[each.command_id for each in talk.events if isinstance(each, amqp.MessageReceived)])
    publish(talk, 5)
    talk.session.call(spec.QueueQuery("q"))
    talk.settle()


def detached_behind(talk: Talk) -> None:
    for _ in range(4):
        talk.session.transfer("", amqp.Message(b"m", routing_key="q"))
    talk.session.detach()
    talk.settle()


def faulty_behind(talk: Talk) -> None:
    for _ in range(4):
        talk.session.transfer("", amqp.Message(b"m", routing_key="q"))
    talk.read(talk.client.data_to_send(0.0) + GARBAGE)


@pytest.mark.parametrize("step", [1, 7, 61, 300])
@pytest.mark.parametrize(
    "scene",
    [burst, large_burst, synced_in_between, unroutable_in_between, consumed_meanwhile, detached_behind, faulty_behind],
)
def test_answers_dont_depend_on_the_cuts(scene: Callable[[Talk], None], step: int) -> None:
    """Before, the hub accepted with one command what one read had brought."""
    whole, cut = Talk(0), Talk(step)
    scene(whole)
    scene(cut)
    assert cut.trace == whole.trace


def test_every_publish_is_accepted_without_being_asked() -> None:
    talk = Talk(0)
    outcomes = publish(talk, 600)
    assert [each.result for each in outcomes] == [Accepted()] * 600
    assert len([each for each in talk.events if isinstance(each, Settled)]) < 30


@pytest.mark.parametrize("step", [0, 1])
def test_an_accept_before_a_framing_fault_takes_effect(step: int) -> None:
    """Before, the fault closed the connection before the hub had told what it had done."""
    talk = Talk(step)
    sent = talk.session.transfer("", amqp.Message(b"m", routing_key="q"))
    talk.read(talk.client.data_to_send(0.0) + GARBAGE)
    talk.settle()
    assert sent.outcome is not None
    assert not talk.end.is_open
    assert sent.outcome.done
    assert sent.outcome.result == Accepted()
