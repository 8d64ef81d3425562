"""Subscriptions of 0-10: credit in both modes and units, settling, acquiring, and their ends."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_0_10 import (
    CREDIT,
    NONE,
    NOT_ACQUIRED,
    WINDOW,
    CommandReceived,
    CreditChanged,
    Message,
    MessageFlow,
    MessageStop,
    Rejected,
)
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import ReceivedMessage, SessionEnded, Subscription
from tests.kit.asyncio_broker import driver_of, until
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import NOT_ALLOWED, NOT_FOUND, Node, peer


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
                await until(lambda: len(subscription.inbox.items) == 4)
                ending = asyncio.create_task(getattr(subscription, how)())
                await asyncio.sleep(0)
                assert session.core.is_stopping(subscription.destination)
                # New credit can't be granted now, and isn't.
                assert await take(subscription, 4) == [0, 1, 2, 3]
                await ending
                assert not session.core.is_stopping(subscription.destination)
                assert subscription.granted[0] == 0

    run(main())


@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
@pytest.mark.parametrize("credit", [1, 2, 3, 10, 500])
def test_credit_is_kept_full_as_messages_are_taken(flow_mode: int, credit: int) -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 400)
            async with session.subscribe("jobs", credit=credit, flow_mode=flow_mode) as subscription:
                # Nothing more comes before something is taken.
                await until(lambda: len(subscription.inbox.items) == min(credit, 400))
                await asyncio.sleep(0.01)
                assert len(subscription.inbox.items) == min(credit, 400)
                most = 0
                taken: list[int] = []
                for _ in range(30):
                    taken += await take(subscription, 10)
                    most = max(most, len(subscription.inbox.items))
                assert taken == list(range(300))
                assert most <= credit
                assert "open" in repr(subscription)
            assert "closed" in repr(subscription)
            # What nobody took was given back when the subscription was closed.
            await until(lambda: len(made.bodies("jobs")) == 100)
            assert sorted(int.from_bytes(each) for each in made.bodies("jobs")) == list(range(300, 400))

    run(main())


@pytest.mark.rule("0-10/message.set-flow-mode/byte-accounting")
@pytest.mark.parametrize("flow_mode", [WINDOW, CREDIT])
def test_credit_in_octets(flow_mode: int) -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 50, 100)
            async with session.subscribe("jobs", credit=100, octets=350, flow_mode=flow_mode) as subscription:
                await until(lambda: len(subscription.inbox.items) == 3)
                await asyncio.sleep(0.01)
                assert len(subscription.inbox.items) == 3
                assert await take(subscription, 50) == list(range(50))

    run(main())


@pytest.mark.rule("0-10/message.subscribe/zero-credit", "0-10/message.flush/zero", "0-10/message.stop/zero")
def test_credit_by_hand() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 20, 100)
            async with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
                assert left(subscription) == (0, 0)
                await asyncio.sleep(0.01)
                assert not subscription.inbox.items
                await subscription.grant(3)
                assert await take(subscription, 3) == [0, 1, 2]
                assert left(subscription) == (0, None)
                await subscription.grant(2)
                await subscription.stop()
                assert left(subscription) == (0, 0)
                await subscription.grant(10, 250)
                await subscription.flush()
                assert left(subscription) == (0, 0)
                assert len(subscription.inbox.items) == 4
                await subscription.grant(None)
                assert await take(subscription, 17) == list(range(3, 20))
                assert left(subscription) == (None, None)

    run(main())


def test_fetching_one_by_one() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            async with session.subscribe("jobs", credit=0, flow_mode=CREDIT) as subscription:
                assert await subscription.fetch(0.01) is None
                assert left(subscription) == (0, 0)
                fill(made, 3)
                await asyncio.sleep(0.01)
                assert not subscription.inbox.items
                fetches = [asyncio.ensure_future(subscription.fetch(5)) for _ in range(3)]
                found = await asyncio.gather(*fetches)
                assert sorted(number_of(each) for each in found if each is not None) == [0, 1, 2]
                await session.accept(*[each for each in found if each is not None])
                waiting = asyncio.ensure_future(subscription.fetch())
                await asyncio.sleep(0.01)
                fill(made, 2)
                last = await waiting
                assert last is not None
                await last.release()
                assert len(made.bodies("jobs")) >= 1
            async with session.subscribe("jobs", credit=5) as subscription:
                one = await subscription.fetch(5)
                assert one is not None
                await one.accept()
                assert await subscription.fetch(5) is not None
                assert await subscription.fetch(0.01) is None

    run(main())


def test_settling_in_every_way() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 6)
            subscription = await session.subscribe("jobs", destination="mine", credit=6)
            assert subscription.destination == "mine"
            got = [await subscription.__anext__() for _ in range(6)]
            assert session.unsettled == tuple(each.command_id for each in got)
            await got[0].accept()
            await got[1].reject(2, "not this")
            await subscription.stop()
            await got[2].release()
            await got[3].release(set_redelivered=True)
            await session.accept(got[4], got[5].command_id)
            for again in (got[0].accept, got[1].reject, got[4].accept, got[5].release):
                with pytest.raises(LocalProtocolError):
                    await again()
            await session.sync()
            assert session.unsettled == ()
            assert made.rejected == [b"\0\1"]
            assert sorted(made.bodies("jobs")) == [b"\0\2", b"\0\3"]
            await subscription.grant(None)
            received = await subscription.fetch(5)
            assert received is not None and received.redelivered
            # Two accepts of one turn are one command, in their order.
            other = await subscription.fetch(5)
            assert other is not None
            before = len([each for each in made.seen if isinstance(each, CommandReceived)])
            await received.accept()
            await other.accept()
            with pytest.raises(LocalProtocolError):
                await received.accept()
            assert session.unsettled == ()
            await session.sync()
            assert len([each for each in made.seen if isinstance(each, CommandReceived)]) == before + 1
            assert not made.sent

    run(main())


@pytest.mark.rule("0-10/message.cancel/post-cancel")
def test_messages_can_be_settled_after_the_subscription_is_closed() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 3)
            subscription = await session.subscribe("jobs", credit=3)
            first, second = await subscription.__anext__(), await subscription.__anext__()
            await asyncio.gather(subscription.close(), subscription.close())
            await subscription.close()
            assert not subscription.is_open
            assert [each async for each in subscription] == []
            for call in (subscription.stop, subscription.flush, subscription.fetch):
                with pytest.raises(SessionEnded, match="is closed"):
                    await call()
            await first.accept()
            await second.release()
            await session.sync()
            assert sorted(made.bodies("jobs")) == [b"\0\1", b"\0\2"]
            # The name is free again.
            async with session.subscribe("jobs", destination=subscription.destination):
                pass

    run(main())


def test_without_accepting() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 5)
            async with session.subscribe("jobs", accept_mode=NONE, credit=2) as subscription:
                received = await subscription.__anext__()
                assert not received.accepts
                with pytest.raises(LocalProtocolError):
                    await received.accept()
                assert await take(subscription, 4) == [1, 2, 3, 4]
            assert made.bodies("jobs") == []
            fill(made, 2)
            subscription = await session.subscribe("jobs", accept_mode=NONE, credit=2)
            await until(lambda: len(subscription.inbox.items) == 2)
            await session.close()
            # They are nobody else's any more, so they can still be taken.
            assert number_of(await subscription.__anext__()) == 0
            assert number_of(await subscription.__anext__()) == 1
            with pytest.raises(StopAsyncIteration):
                await subscription.__anext__()
            with pytest.raises(SessionEnded):
                await subscription.fetch()

    run(main())


@pytest.mark.rule("0-10/message.acquire/one-to-one", "0-10/message.accept/acquisition")
def test_looking_and_acquiring() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            fill(made, 3)
            async with session.subscribe("jobs", acquire_mode=NOT_ACQUIRED, credit=5) as subscription:
                got = [await subscription.__anext__() for _ in range(3)]
                assert not any(each.acquired for each in got)
                assert len(made.bodies("jobs")) == 3
                with pytest.raises(LocalProtocolError, match="not acquired"):
                    await got[0].accept()
                assert await got[0].acquire()
                await got[0].accept()
                del made.queues["jobs"][0]
                assert not await got[1].acquire()
                assert list(await session.acquire(*got[1:])) == [got[2].command_id]
                assert not await session.acquire()
                await session.release(got[2])
                await session.sync()
            await until(lambda: made.bodies("jobs") == [b"\0\2"])

    run(main())


@pytest.mark.rule("0-10/message.subscribe/queue-not-found")
def test_a_subscription_that_is_refused() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            with pytest.raises(SessionEnded, match="no queue") as caught:
                async with session.subscribe("nowhere"):
                    pass
            assert caught.value.code == NOT_FOUND
            session = await connection.open_session()
            first = await session.subscribe("jobs", destination="d")
            with pytest.raises(LocalProtocolError, match="in use"):
                await session.subscribe("jobs", destination="d")
            assert session.subscriptions == {"d": first}
            with pytest.raises(SessionEnded) as caught:
                await session.subscribe("jobs", exclusive=True)
            assert caught.value.code == NOT_ALLOWED
            with pytest.raises(SessionEnded):
                await first.__anext__()

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
