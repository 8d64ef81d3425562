"""Calls that send nothing: one waits with credit, one ends a reading and wakes whoever waits for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from amqp_sansio.amqp_0_10.spec import CREDIT, WINDOW
from amqp_sansio.broker import Settings
from tests.kit.user import User, opened, world_of

CLASSIC: Final = (AMQP_0_8, AMQP_0_9_1)
EACH: Final = pytest.mark.parametrize("version", [*CLASSIC, AMQP_0_10, AMQP_1_0], ids=lambda version: version.label)


def connected(version: Version) -> User:
    """A user that is connected to a broker, which makes queues as they are named."""
    return User(world_of(settings=Settings(seed=b"user", heartbeat=0, auto_create=True)), version=version)


def part(user: User, version: Version) -> Any:
    """A channel or a session that is open."""
    return user.run(opened(user.connection.open_channel() if version in CLASSIC else user.connection.open_session()))


async def first_of(stream: Any) -> object:
    """Return what comes first, None if nothing does until the end."""
    async for each in stream:
        return each
    return None


@EACH
@pytest.mark.parametrize("whole", [True, False], ids=["connection", "part"])
def test_who_reads_events_is_woken_when_the_reading_ends(version: Version, whole: bool) -> None:
    """Nothing comes from the peer then, and nothing goes there."""
    user = connected(version)
    stream = (user.connection if whole else part(user, version)).events()
    sent = user.client.metrics.octets_out
    reading = [user.begin(first_of(stream)) for _ in range(2)]
    assert not any(each.done for each in reading)

    async def end() -> None:
        stream.close()

    user.run(end())
    assert [each.result for each in reading] == [None, None]
    assert user.client.metrics.octets_out == sent


def consumer(part: Any, credit: int) -> Any:
    async def start() -> Any:
        await part.declare_queue("q", durable=True)
        found = part.consume("q", prefetch=credit)
        await found.start()
        return found

    return start()


def subscription(flow_mode: int) -> Callable[[Any, int], Any]:
    async def start(part: Any, credit: int) -> Any:
        await part.declare_queue("q", durable=True)
        return await part.subscribe("q", credit=credit, flow_mode=flow_mode)

    return start


def receiver(part: Any, credit: int) -> Any:
    return opened(part.open_receiver("q", credit=credit))


@pytest.mark.parametrize("credit", [1, 2, 10])
@pytest.mark.parametrize(
    ("version", "start"),
    [
        (AMQP_0_8, consumer),
        (AMQP_0_9_1, consumer),
        (AMQP_0_10, subscription(CREDIT)),
        (AMQP_0_10, subscription(WINDOW)),
        (AMQP_1_0, receiver),
    ],
    ids=["0-8", "0-9-1", "0-10 credit", "0-10 window", "1.0"],
)
def test_who_waits_for_a_message_with_credit_sends_nothing(
    version: Version, start: Callable[[Any, int], Any], credit: int
) -> None:
    user = connected(version)
    taking = user.run(start(part(user, version), credit))
    user.turn()
    sent = user.client.metrics.octets_out
    waiting = [user.begin(taking.__anext__())]
    if version not in CLASSIC:
        waiting.append(user.begin(taking.fetch(5.0)))
    assert not any(each.done for each in waiting)
    assert user.client.metrics.octets_out == sent
