"""Limits of waits on a client that recovers: the time of a call begins anew with each connection."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, AnswerTimeout, Version
from amqp_sansio.client.connection import AnyConnection
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio_asyncio import connect
from tests.kit.asyncio_loops import run
from tests.kit.world_broker import WorldBroker

LIMIT = 5.0
POLICY = RecoveryPolicy(first_delay=1.0, jitter=0.0)
each_version = pytest.mark.parametrize("version", [AMQP_0_9_1, AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)

Work = Callable[[WorldBroker, Any, Any], Coroutine[Any, Any, None]]


async def opened(broker: WorldBroker, version: Version) -> tuple[Any, Any]:
    """A connection that recovers, and something of it that sends."""
    connection: Any = await connect(
        broker.url, version=version, recover=POLICY, answer_timeout=LIMIT, outcome_timeout=LIMIT, close_timeout=LIMIT
    )
    if version is AMQP_0_9_1:
        return connection, await connection.open_channel(confirm=True)
    session = await connection.open_session()
    return connection, session if version is AMQP_0_10 else await session.open_sender("q")


def is_overdue(connection: AnyConnection[BaseClient[Any]]) -> bool:
    """Whether the peer owes the answer to an end that was given up."""
    return connection._client.is_overdue  # pyright: ignore[reportPrivateUsage]


def send(sender: Any, version: Version) -> Coroutine[Any, Any, object]:
    """Send a message, and wait for its outcome."""
    if version is AMQP_0_9_1:
        sent: Coroutine[Any, Any, object] = sender.publish(b"x", routing_key="q")
    elif version is AMQP_0_10:
        sent = sender.publish(b"x", "", "q")
    else:
        sent = sender.send(b"x")
    return sent


def play(work: Work, version: Version) -> None:
    """Run work with a broker of its own."""

    async def main() -> None:
        connection, sender = await opened(broker, version)
        await asyncio.sleep(0.1)
        broker.peers[-1].hold()
        await work(broker, connection, sender)
        await connection.close()

    with WorldBroker() as broker:
        broker.fill("q")
        run(main(), world=broker.world)


@each_version
def test_the_time_of_a_call_begins_anew_with_the_next_connection(version: Version) -> None:
    async def work(broker: WorldBroker, connection: Any, sender: Any) -> None:
        sending = asyncio.ensure_future(send(sender, version))
        await asyncio.sleep(LIMIT - 1)
        broker.peers[-1].cut()
        await asyncio.sleep(2)  # One second until the attempt, and one of the answer's time.
        assert connection.is_open
        assert await sending

    play(work, version)


@each_version
def test_a_call_that_the_next_connection_does_not_answer_ends_too(version: Version) -> None:
    async def work(broker: WorldBroker, connection: Any, sender: Any) -> None:
        def silent(peer: Any, event: Any) -> bool:
            return type(event).__name__ in ("Published", "ContentReceived", "MessageReceived", "Delivery")

        sending = asyncio.ensure_future(send(sender, version))
        await asyncio.sleep(LIMIT - 1)
        broker.script = silent
        broker.peers[-1].cut()
        began = asyncio.get_running_loop().time()
        with pytest.raises(AnswerTimeout, match=r"message|publish"):
            await sending
        # One second until the attempt; a time that was over before the connection was back begins once more.
        assert LIMIT < asyncio.get_running_loop().time() - began <= 2 * LIMIT + 1.1
        assert connection.is_open

    play(work, version)


@each_version
def test_what_was_given_up_is_not_opened_again(version: Version) -> None:
    async def work(broker: WorldBroker, connection: Any, sender: Any) -> None:
        with pytest.raises(AnswerTimeout, match=r"channel\.close|session\.detach|detach of link"):
            await sender.close()
        assert not sender.is_open
        broker.peers[-1].cut()
        await asyncio.sleep(2)
        assert connection.is_open
        assert not sender.is_open
        assert not is_overdue(connection)
        async with connection.open_channel() if version is AMQP_0_9_1 else connection.open_session() as other:
            assert other.is_open
        assert len(broker.peers) == 2

    play(work, version)


@each_version
def test_an_end_is_over_when_its_connection_is_lost(version: Version) -> None:
    async def work(broker: WorldBroker, connection: Any, sender: Any) -> None:
        closing = asyncio.ensure_future(sender.close())
        await asyncio.sleep(1)
        broker.peers[-1].cut()
        await asyncio.sleep(LIMIT / 2)  # 0-10 waits for the execution of what was sent for half of the time.
        assert closing.done()
        await asyncio.sleep(2)
        assert not sender.is_open

    play(work, version)
