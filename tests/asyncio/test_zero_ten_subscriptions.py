"""Subscriptions of 0-10: credit in both modes and units, settling, acquiring, and their ends."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_0_10 import CREDIT, WINDOW, CreditChanged, Message, MessageFlow, MessageStop, Rejected
from amqp_sansio.client.amqp_0_10.subscription import inbox_of
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import ReceivedMessage, SessionEnded, Subscription
from tests.kit.asyncio_broker import driver_of, until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import Node, peer


def fill(made: Node, count: int, size: int = 2) -> None:
    """Put numbered messages into "jobs"."""
    for number in range(count):
        made.put("jobs", number.to_bytes(2) + bytes(size - 2))


def number_of(received: ReceivedMessage) -> int:
    """The number of such a message."""
    return int.from_bytes(received.body[:2])


def left(subscription: Subscription) -> tuple[int | None, int | None]:
    """The credit that the peer has."""
    return subscription.granted


async def take(subscription: Subscription, count: int) -> list[int]:
    """So many messages, accepted."""
    found: list[int] = []
    async for received in subscription:
        found.append(number_of(received))
        if received.accepts:
            await received.accept()
        if len(found) == count:
            break
    return found


@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
@pytest.mark.parametrize("how", ["stop", "flush"])
def test_messages_are_taken_while_the_credit_is_being_taken_back(flow_mode: int, how: str) -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 4)
            async with session.subscribe("jobs", credit=4, flow_mode=flow_mode) as subscription:
                await until(lambda: len(inbox_of(subscription).items) == 4)
                ending = asyncio.create_task(getattr(subscription, how)())
                await asyncio.sleep(0)
                assert session.core.is_stopping(subscription.destination)
                # New credit can't be granted now, and isn't.
                assert await take(subscription, 4) == [0, 1, 2, 3]
                await ending
                assert not session.core.is_stopping(subscription.destination)
                assert subscription.granted[0] == 0

    run(main())


@pytest.mark.rule("0-10/message/throttling")
def test_a_publisher_waits_for_credit() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            await session.publish(b"first", routing_key="jobs")
            server = made.core()
            server.call(MessageStop(""))
            made.connections[0].flush()
            stream = session.events(CreditChanged)
            assert (await stream.__anext__()).messages == 0
            sends = [asyncio.ensure_future(session.publish(b"%d" % number, "", "jobs")) for number in range(6)]
            other = asyncio.ensure_future(session.publish(b"x", "amq.direct"))
            await asyncio.sleep(0.01)
            # What is said of the default exchange counts for all that have no credit of their own.
            assert made.executed == [b"first"]
            server.call(MessageFlow("amq.direct", 0, 1))
            server.call(MessageFlow("amq.direct", 1, None))
            made.connections[0].flush()
            assert await other == Rejected(1, "unroutable")
            assert made.executed == [b"first", b"x"]
            sends[1].cancel()
            server.call(MessageFlow("", 0, 2))
            server.call(MessageFlow("", 1, None))
            made.connections[0].flush()
            assert [await sends[0], await sends[2]] == [Accepted()] * 2
            # A mistake in the queue costs nobody a turn.
            wrong = asyncio.ensure_future(session.publish(Message(b"x" * 10), "", "jobs"))
            await asyncio.sleep(0)
            wrong.cancel()
            server.call(MessageFlow("", 0, None))
            made.connections[0].flush()
            assert await asyncio.gather(*sends[3:]) == [Accepted()] * 3
            assert made.bodies("jobs") == [b"first", b"0", b"2", b"3", b"4", b"5"]
            server.call(MessageStop(""))
            made.connections[0].flush()
            await until(lambda: session.core.credit("")[0] == 0)
            last = asyncio.ensure_future(session.publish(b"never", "", "jobs"))
            await asyncio.sleep(0.01)
            await session.close()
            with pytest.raises(SessionEnded):
                await last

    run(main())


def test_a_fetch_ends_with_its_time_while_the_server_takes_nothing() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            subscription = await session.subscribe("jobs", credit=1)
            driver = driver_of(connection)
            driver.pause_writing()
            assert await subscription.fetch(0.01) is None
            driver.resume_writing()

    run(main())
