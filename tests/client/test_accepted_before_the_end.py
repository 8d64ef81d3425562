"""A user accepts a message and ends its channel, session or link in the same step: the acceptance goes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_1_0 import Source
from amqp_sansio.broker import Settings
from tests.kit.user import User, world_of

COUNT: Final = 3


class Taken(NamedTuple):
    """Messages that a user has, and where they came from."""

    connection: Any
    part: Any
    """A channel, or a session: one of 0-10 that can be resumed."""
    source: Any
    """A consumer, a subscription or a link."""
    messages: list[Any]


async def taken_by_channel(connection: Any) -> Taken:
    channel = await connection.open_channel()
    await channel.declare_queue("q", durable=True)
    for _ in range(COUNT):
        await channel.publish(b"x", routing_key="q")
    consumer = channel.consume("q")
    await consumer.start()
    return Taken(connection, channel, consumer, [await consumer.__anext__() for _ in range(COUNT)])


async def taken_by_session(connection: Any) -> Taken:
    session = await connection.open_session(timeout=60)
    await session.declare_queue("q", durable=True)
    for _ in range(COUNT):
        await session.publish(b"x", "", "q")
    subscription = await session.subscribe("q")
    return Taken(connection, session, subscription, [await subscription.__anext__() for _ in range(COUNT)])


def taken_by_link(policy: str) -> Callable[[Any], Awaitable[Taken]]:
    async def take(connection: Any) -> Taken:
        session = await connection.open_session()
        async with session.open_sender("q") as sender:
            for _ in range(COUNT):
                await sender.send(b"x")
        receiver = await session.open_receiver(Source("q", expiry_policy=policy))
        return Taken(connection, session, receiver, [await receiver.__anext__() for _ in range(COUNT)])

    return take


Act = Callable[[Taken], Awaitable[object]]
WHOLE: Final[dict[str, Act]] = {
    "close of the connection": lambda taken: taken.connection.close(),
    "close of the part": lambda taken: taken.part.close(),
    "close of the source": lambda taken: taken.source.close(),
}
TEN: Final[dict[str, Act]] = {
    **WHOLE,
    "detach": lambda taken: taken.part.detach(),
    "request_timeout": lambda taken: taken.part.request_timeout(90),
}
ONE: Final[dict[str, Act]] = {**WHOLE, "detach": lambda taken: taken.source.detach()}
TAKES: Final[dict[str, tuple[Version, Callable[[Any], Awaitable[Taken]], dict[str, Act]]]] = {
    "0-8": (AMQP_0_8, taken_by_channel, WHOLE),
    "0-9-1": (AMQP_0_9_1, taken_by_channel, WHOLE),
    "0-10": (AMQP_0_10, taken_by_session, TEN),
    "1.0": (AMQP_1_0, taken_by_link("session-end"), ONE),
    "1.0 resumed": (AMQP_1_0, taken_by_link("never"), ONE),
}
ROWS: Final = [(kind, name) for kind, (_, _, acts) in TAKES.items() for name in acts]


@pytest.mark.parametrize(("kind", "name"), ROWS, ids=[f"{kind}-{name}" for kind, name in ROWS])
def test_what_was_accepted_before_the_end_has_left_the_queue(kind: str, name: str) -> None:
    version, take, acts = TAKES[kind]
    user = User(world_of(settings=Settings(seed=b"user", heartbeat=0, auto_create=True)), version=version)

    async def make() -> Taken:
        return await take(user.connection)

    taken = user.run(make())
    queue = user.hub.model.vhosts["/"].queues["q"]
    assert (queue.ready, queue.unsettled) == (0, COUNT)

    async def accept_and_end() -> None:
        for each in taken.messages:
            await each.accept()
        await acts[name](taken)

    user.run(accept_and_end())
    assert (queue.ready, queue.unsettled) == (0, 0)
