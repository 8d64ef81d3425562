"""Corners of the front ends on which real clients stumbled."""

from __future__ import annotations

from amqp_sansio.amqp_0_10 import ExchangeBind, Message, QueueDeclare
from tests.kit import hub_0_10, hub_1_0


def test_a_selector_that_selects_nothing_is_no_unknown_argument() -> None:
    """Qpid's JMS client gives an empty one with every binding to a topic exchange."""
    peer = hub_0_10.World().connect()
    session = peer.session()
    peer.call(session, QueueDeclare("q"))
    peer.call(session, ExchangeBind("q", "amq.topic", "k", arguments={"x-filter-jms-selector": ""}))
    peer.publish(session, "amq.topic", Message(b"m", routing_key="k"))
    assert peer.depth(session, "q") == 1
    selecting = ExchangeBind("q", "amq.topic", "l", arguments={"x-filter-jms-selector": "n = 1"})
    assert peer.refused(session, selecting) == 540


def test_a_rejection_has_all_fields_of_an_error() -> None:
    """azure-servicebus' pyamqp reads the third without looking whether it's there, and waits for ever when it isn't."""
    world = hub_1_0.World()
    world.queue("full", arguments={"x-max-length": 1, "x-overflow": "reject-publish"})
    user = world.connect()
    _, rejected = user.send(user.sender("full"), b"1", b"2")
    assert rejected.error.info == {}
