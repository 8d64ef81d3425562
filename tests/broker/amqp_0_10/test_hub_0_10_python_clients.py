"""Qpid's Python clients at the broker: octets that one of them has sent, and those of one that leaves fields out."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import Observer, Signal
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Settings
from amqp_sansio.observer import Observed, Violation
from tests.kit.captures import carried
from tests.kit.hub_0_10 import World
from tests.kit.observing import recorded
from tests.kit.octets_0_10 import HEADER, attach, content, control, open_, routed, str8, table, tune_ok, u32
from tests.kit.talk_0_10 import frames

NEVER_SENT = ("message.accept", "message.reject", "session.known-completed", "execution.exception")
"""What these clients have no ear for, and what they get for a mistake."""
PLAYED = [path for path in carried("o010_messaging_*.pcap") if "authfail" not in path.name]


class Witness:
    """A raw client of a hub, and an observer of what both say."""

    def __init__(self, world: World) -> None:
        self.client = world.hub.connect()
        self.observer = Observer(client="client")
        self.units: list[Observed] = []
        self.violations: list[Violation] = []

    def send(self, octets: bytes) -> list[Observed]:
        """Octets reach the broker; what it answers."""
        self.client.receive_data(octets, 0.0)
        self._take("client", octets)
        self.client.next_event()
        known = len(self.units)
        self._take("server", self.client.data_to_send(0.0))
        return self.units[known:]

    def _take(self, sender: str, octets: bytes) -> None:
        self.observer.receive_data(octets, sender, 0)
        while not isinstance(event := self.observer.next_event(), Signal):
            if isinstance(event, Observed):
                self.units.append(event)
            elif isinstance(event, Violation):
                self.violations.append(event)

    def told(self, *names: str) -> list[Any]:
        """What the broker has sent of these names."""
        return [each for each in self.units if each.sender.value == "server" and each.event in names]


@pytest.mark.parametrize("path", PLAYED, ids=lambda path: path.stem)
def test_what_qpid_messaging_has_sent_to_broker_j_gets_on_with_this_broker(path: Path) -> None:
    """The ids of the commands fit only as long as this broker sends no commands that Broker-J hasn't sent."""
    (conversation,) = recorded(path)
    units = [each for each in conversation.watch() if isinstance(each, Observed)]
    world = World(Settings(users={"guest": "guest"}, anonymous=True))
    maker = world.connect()
    session = maker.session()
    for queue in {each.content.queue or "" for each in units if isinstance(each.content, spec.MessageSubscribe)}:
        maker.queue(session, queue)
    witness = Witness(world)
    for sender, octets, _ in conversation.arrivals:
        if sender == conversation.start.client:
            assert isinstance(octets, bytes)
            witness.send(octets)
    assert witness.violations == []
    assert witness.told(*NEVER_SENT) == []
    assert witness.told("connection.close-ok")
    theirs = [each for each in units if each.sender.value == "server"]
    for name in ("message.transfer", "session.detached", "execution.result"):
        count = Counter([each.event for each in theirs])[name]
        assert len(witness.told(name)) == count, name
    bodies = [each.body for each in theirs if each.event == "message.transfer"]
    assert [each.body for each in witness.told("message.transfer")] == bodies


def opened() -> tuple[World, Witness]:
    """A client that leaves out whatever the XML calls required and Qpid's brokers do without."""
    world = World(Settings(users={"guest": "guest"}, anonymous=True))
    witness = Witness(world)
    witness.send(HEADER)
    witness.send(control(0x0102, table(), str8("ANONYMOUS")))
    witness.send(tune_ok(None, None) + open_(""))
    witness.send(attach(b"s") + control(0x0207, u32(0)))
    assert witness.told("connection.open-ok", "session.attached")
    return world, witness


def test_a_client_that_leaves_out_all_that_it_may_does_its_work() -> None:
    world, witness = opened()
    witness.send(
        frames(spec.QueueDeclare("q"))
        + frames(spec.ExchangeBind("q", "amq.fanout"))
        + frames(spec.ExchangeDeclare("amq.fanout", passive=True))
        + frames(spec.ExchangeBind("q", "amq.direct"))
        + content(spec.MessageTransfer("amq.fanout").encode_segment(), b"", b"by fanout")
        + content(spec.MessageTransfer("amq.direct").encode_segment(), b"", b"by the key without characters")
        + frames(spec.ExchangeUnbind("q", "amq.fanout"))
        + content(spec.MessageTransfer("amq.fanout").encode_segment(sync=True), b"", b"to nobody")
    )
    queue = world.hub.model.vhosts["/"].queues["q"]
    assert queue.ready == 2
    assert witness.told(*NEVER_SENT) == []
    assert witness.told("session.completed")[-1].content.commands.ranges == ((0, 7),)
    witness.send(control(0x0204, None) + control(0x0203, b"\0\1s"))
    assert {each.rule for each in witness.violations} >= {"0-10/wire/struct-required"}


@pytest.mark.rule("0-10/message.delivery-properties/discard-unroutable")
def test_what_finds_no_queue_goes_to_the_alternate_exchange_when_its_sender_waits_for_no_word() -> None:
    world, witness = opened()
    witness.send(
        frames(spec.ExchangeDeclare("spare", "fanout"))
        + frames(spec.ExchangeDeclare("own", "direct", "spare"))
        + frames(spec.QueueDeclare("kept"))
        + frames(spec.ExchangeBind("kept", "spare"))
        + content(spec.MessageTransfer("own").encode_segment(sync=True), routed("nowhere"), b"unroutable")
    )
    assert world.hub.model.vhosts["/"].queues["kept"].ready == 1
    assert witness.told(*NEVER_SENT) == []
