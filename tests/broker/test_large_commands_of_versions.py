"""Large commands of each version's clients: their work is left to later turns, others are served meanwhile, the answer
comes when it is done, and what comes of it is whole."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, Version
from amqp_sansio import amqp_0_10 as ten
from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.amqp_1_0 import Accepted, Released
from amqp_sansio.broker import BrokerLimits, Hub, Settings, commands
from tests.kit import hub
from tests.kit.broker_model import content
from tests.kit.hub_0_10 import World as World_0_10
from tests.kit.hub_1_0 import World as World_1_0
from tests.kit.hub_classic import User as ClassicUser
from tests.kit.hub_classic import World as ClassicWorld

MANY: Final = 400
LIMITS: Final = BrokerLimits(turn=100)
Prepared = tuple[hub.World[Any], hub.User[Any], Callable[[], object]]
"""A world, the client that strikes, and its strike, of which nothing is sent yet."""


def settle(world: hub.World[Any]) -> None:
    """Let everything come to rest, what turns leave too."""
    for _ in range(2_000):
        world.pump()
        if not world.hub.is_dirty:
            return
    raise AssertionError("they never come to rest")


def fill(hub: Hub, count: int = MANY) -> None:
    """Messages in the queue, put there by a program."""
    owner = hub.apply(commands.OpenOwner("/", "filling"))
    hub.apply(commands.DeclareQueue(owner, "q"))
    for number in range(count):
        hub.apply(commands.Publish(owner, "", "q", content(str(number))))
    hub.apply(commands.CloseOwner(owner))
    hub.settle()


def classic(version: Version, what: str) -> Prepared:
    world = ClassicWorld(limits=LIMITS)
    fill(world.hub)
    user = ClassicUser(world, version)
    world.pump()
    talk = user.channel()
    if what != "purge":
        talk.consume("q", "c")
        settle(world)
        assert len(talk.deliveries()) == MANY
    strikes: dict[str, Callable[[], object]] = {
        "release": lambda: talk.core.send(talk.make("basic.recover", requeue=True)),
        "accept": lambda: talk.core.send(talk.make("basic.ack", delivery_tag=MANY, multiple=True)),
        "close": talk.core.close,
        "cut": lambda: user.client.connection_lost("cut", 0.0),
        "purge": lambda: talk.core.call(talk.make("queue.purge", queue="q")),
    }
    if version is AMQP_0_9_1:
        strikes["release"] = lambda: talk.core.call(talk.make("basic.recover", requeue=True))
    return world, user, strikes[what]


def of_0_10(what: str) -> Prepared:
    world = World_0_10(Settings(users={"guest": "guest"}, limits=LIMITS))
    fill(world.hub)
    user = world.connect()
    session = user.session()
    ids = ten.SequenceSet()
    if what != "purge":
        user.subscribe(session, "q", credit=MANY)
        settle(world)
        ids = ten.SequenceSet.of(*[each.command_id for each in user.got(session)])
        assert len(ids) == MANY
    strikes: dict[str, Callable[[], object]] = {
        "release": lambda: session.call(spec.MessageRelease(ids)),
        "accept": lambda: session.call(spec.MessageAccept(ids)),
        "close": session.close,
        "cut": lambda: user.client.connection_lost("cut", 0.0),
        "purge": lambda: session.call(spec.QueuePurge("q")),
    }
    return world, user, strikes[what]


def of_1_0(what: str) -> Prepared:
    world = World_1_0(limits=LIMITS)
    world.hub.apply(commands.CloseOwner(world.owner))
    fill(world.hub)
    user = world.connect()
    session = user.session()
    link = user.receiver("/queues/q", session)
    link.flow(MANY)
    settle(world)
    deliveries = user.take(link)
    assert len(deliveries) == MANY
    strikes: dict[str, Callable[[], object]] = {
        "release": lambda: link.update(deliveries, Released()),
        "accept": lambda: link.update(deliveries, Accepted()),
        "close": link.close,
        "cut": lambda: user.client.connection_lost("cut", 0.0),
    }
    return world, user, strikes[what]


ACTS: Final = ["release", "accept", "close", "cut", "purge"]
CASES: Final = [
    *[pytest.param(partial(classic, AMQP_0_8), what, id=f"0-8-{what}") for what in ACTS],
    *[pytest.param(partial(classic, AMQP_0_9_1), what, id=f"0-9-1-{what}") for what in ACTS],
    *[pytest.param(of_0_10, what, id=f"0-10-{what}") for what in ACTS],
    *[pytest.param(of_1_0, what, id=f"1.0-{what}") for what in ACTS if what != "purge"],
]


@pytest.mark.parametrize(("prepare", "what"), CASES)
def test_a_large_command_is_left_to_later_turns(prepare: Callable[[str], Prepared], what: str) -> None:
    world, user, strike = prepare(what)
    healthy = ClassicUser(world, AMQP_0_9_1)
    world.pump()
    talk = healthy.channel()
    talk.declare("healthy")
    talk.consume("healthy", "h")
    settle(world)
    strike()
    hub = world.hub
    for _ in range(20):
        # What came before the command may have taken the turn; a detach is asked for, and answered.
        octets = user.end.data_to_send(0.0)
        if octets:
            user.client.receive_data(octets, 0.0)
        user.client.next_event()
        if hub.model.has_work:
            break
        back = user.client.data_to_send(0.0)
        if back:
            user.end.receive_data(back, 0.0)
        user.hear()
        for client in hub.take_dirty():
            client.next_event()
    assert hub.model.has_work, "it was done in one turn"
    assert not user.client.data_to_send(0.0), "the answer came before it was done"
    talk.core.publish(b"x", routing_key="healthy")
    for _ in range(4):
        healthy.turn()
        for client in hub.take_dirty():
            client.next_event()
        if talk.deliveries():
            break
    else:
        raise AssertionError("a healthy client isn't served")
    settle(world)
    queue = hub.model.vhosts["/"].queues["q"]
    if what == "accept" or what == "purge":
        assert not queue.messages
    elif what == "release":
        # They come again, in order.
        assert queue.messages == MANY
    else:
        bodies: list[Any] = [entry.message.content for entry in queue.available()]
        assert [int(each.body) for each in bodies] == list(range(MANY))
    assert not hub.model.ledger.busy and not queue.held
    hub.check()
