"""What a client asks about one binding of many costs what one costs, by version."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio.amqp_0_10 import spec
from amqp_sansio.broker import Settings, commands
from tests.broker.amqp_1_0.test_hub_1_0_management import Managing
from tests.kit import hub_0_10, hub_1_0, hub_classic
from tests.kit.steps import count_steps

Ask = Callable[[], object]


def bind(world: Any, count: int) -> None:
    """Two queues that are bound many times with different keys."""
    hub = world.hub
    owner = hub.apply(commands.OpenOwner("/", "binding"))
    for name in ("q", "other"):
        hub.apply(commands.DeclareQueue(owner, name))
    for number in range(count):
        hub.apply(commands.Bind(owner, ("q", "other")[number % 2], "amq.direct", f"k{number}"))
    hub.settle()


def classic(**fields: str) -> Callable[[int], Ask]:
    def prepare(count: int) -> Ask:
        world = hub_classic.World("0-9-1-qpid")
        channel = world.channel()
        bind(world, count)
        return lambda: channel.call("exchange.bound", **{"exchange": "amq.direct", "queue": "", **fields})

    return prepare


def of_0_10(**fields: Any) -> Callable[[int], Ask]:
    def prepare(count: int) -> Ask:
        world = hub_0_10.World(Settings())
        peer = world.connect()
        session = peer.session()
        bind(world, count)
        return lambda: peer.call(session, spec.ExchangeBound("amq.direct", **fields))

    return prepare


def of_1_0(method: str, path: str) -> Callable[[int], Ask]:
    def prepare(count: int) -> Ask:
        world = hub_1_0.World()
        managing = Managing(world)
        bind(world, count)
        return lambda: managing.ask(method, path)

    return prepare


QUESTIONS: Final[dict[str, Callable[[int], Ask]]] = {
    "0-9-1 key": classic(routing_key="k7"),
    "0-9-1 queue": classic(routing_key="", queue="q"),
    "0-9-1 queue and key": classic(routing_key="k7", queue="other"),
    "0-9-1 a key that isn't there": classic(routing_key="none", queue="q"),
    "0-9-1 anything": classic(routing_key=""),
    "0-10 key": of_0_10(binding_key="k7"),
    "0-10 queue": of_0_10(queue="q"),
    "0-10 queue and key": of_0_10(queue="other", binding_key="k7"),
    "0-10 a key that isn't there": of_0_10(queue="q", binding_key="none"),
    "1.0 unbind": of_1_0("DELETE", "/bindings/src=amq.direct;dstq=other;key=k7;args="),
    "1.0 a binding": of_1_0("GET", "/bindings?src=amq.direct&dstq=other&key=k7"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_about_one_binding_does_not_look_at_all(name: str) -> None:
    few, many = [count_steps(QUESTIONS[name](count)) for count in (100, 600)]
    assert many <= few + 50
