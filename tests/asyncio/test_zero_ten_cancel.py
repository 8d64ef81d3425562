"""Cancellation at every single await of a 0-10 session: nothing leaks, and the connection stays usable."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio import AMQP_0_10
from amqp_sansio.amqp_0_10 import CREDIT, NOT_ACQUIRED, MessageReceived, QueueQuery, Xid
from amqp_sansio.errors import EndpointClosed, TransactionFailed
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import SessionEnded, connect
from amqp_sansio_asyncio.amqp_0_10 import Connection, Session
from tests.kit.asyncio_broker import client_of, until, url_of
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_node_0_10 import Node, node, peer
from tests.kit.asyncio_stepping import Suspend, at_once, cancelled_at, with_the_answer


async def work(connection: Connection, number: int) -> None:
    """Something of everything, on a session of its own."""
    async with connection.open_session() as session:
        assert await session.publish(b"one", "", "q") == Accepted()
        sent = await session.publish(b"two", "", "q", wait=False)
        assert await sent == Accepted()
        assert (await session.call(QueueQuery("q"))).queue == "q"
        await session.sync()
        async with session.subscribe("q", credit=2) as subscription:
            async for received in subscription:
                await received.release()
                break
        async with session.subscribe("q", credit=0, flow_mode=CREDIT) as subscription:
            taken = await subscription.fetch(5)
            assert taken is not None
            await taken.release()
            await subscription.grant(1000)
            await subscription.flush()
        async with session.subscribe("empty", credit=0, flow_mode=CREDIT) as subscription:
            assert await subscription.fetch(0.001) is None
        async with session.subscribe("q", acquire_mode=NOT_ACQUIRED, credit=1) as subscription:
            looked = await subscription.fetch(5)
            assert looked is not None
            await looked.acquire()
        async with session.transaction():
            await session.publish(b"three", "", "q")
    async with connection.open_session() as session:
        branch = session.branch(Xid(1, b"%d" % number, b""))
        async with branch:
            await session.publish(b"four", "", "q")
        await branch.commit(one_phase=True)
    other = await connection.open_session(timeout=100)
    try:
        state = await other.detach()
    except BaseException:
        await other.close()
        raise
    async with connection.resume_session(state) as again:
        assert again.is_open


async def check(connection: Connection, made: Node, before: int) -> None:
    """The connection works, no session or subscription is left, and every message is in the queue."""
    await until(lambda: not connection.core.sessions)
    core = made.connections[0].core
    await until(lambda: not core.sessions)
    await until(lambda: not made.subs)
    await until(lambda: not made.sent)
    assert before <= len(made.bodies("q")) <= before + 4
    async with connection.open_session() as session:
        assert await session.publish(b"check", "", "jobs") == Accepted()


@pytest.mark.parametrize("cancel", [at_once, with_the_answer])
def test_cancelled_at_every_step(cancel: Suspend) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with peer() as (connection, made):
            made.queues["q"] = type(made.queues["jobs"])()
            made.queues["empty"] = type(made.queues["jobs"])()
            async with connection.open_session() as session:
                client = client_of(session)
            number, finished = 0, False
            while not finished:
                number += 1
                before = len(made.bodies("q"))
                task = asyncio.ensure_future(cancelled_at(work(connection, number), number, cancel))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await check(connection, made, before)
            assert number > 30
            assert client._waiting == {}
            assert client._late == {}
            assert client.collected == []
            assert client.sessions == {}
            assert [each for each in client._deadlines if not each[2].done] == []
        assert problems.contexts == []

    run(main(), 100)


def test_connecting_is_cancelled_at_every_step() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with node() as (server, _):

            async def connecting() -> None:
                async with connect(url_of(server), version=AMQP_0_10):
                    pass

            number, finished = 0, False
            while not finished:
                number += 1
                task = asyncio.ensure_future(cancelled_at(connecting(), number, at_once))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await until(lambda: not server.connections)
            assert number > 2
        assert problems.contexts == []

    run(main())


def test_who_waits_for_one_message_may_be_cancelled_alone() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sent = await session.publish(b"x", "", "jobs", wait=False)

            async def wait() -> object:
                return await sent

            first, second = asyncio.ensure_future(wait()), asyncio.ensure_future(wait())
            await asyncio.sleep(0.01)
            first.cancel()
            await asyncio.sleep(0)
            assert not second.done()
            third = asyncio.ensure_future(_pending(session))
            await asyncio.sleep(0.01)
            made.go()
            assert await second == Accepted()
            assert await third == [Accepted()]

    run(main())


async def _pending(session: Session) -> list[object]:
    return [await each for each in session.pending.values() if each.command_id == 0]


def test_a_cancelled_publish_is_still_awaited_by_others() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            publishing = asyncio.ensure_future(session.publish(b"x", "", "jobs"))
            await until(lambda: any(isinstance(event, MessageReceived) for event in made.seen))
            other = asyncio.ensure_future(_pending(session))
            await asyncio.sleep(0)
            publishing.cancel()
            await asyncio.sleep(0.01)
            assert not other.done()
            made.go()
            assert await other == [Accepted()]

    run(main())


def test_everybody_is_told_when_the_connection_is_closed() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            subscription = await session.subscribe("jobs")
            forgotten = [await session.publish(b"x", "", "jobs", wait=False) for _ in range(2)]
            tasks = [
                asyncio.ensure_future(each)
                for each in (
                    session.publish(b"y", "", "jobs"),
                    session.sync(),
                    subscription.__anext__(),
                    subscription.fetch(),
                    session.branch(Xid(1, b"g", b"")).start(),
                    connection.open_session().__aenter__(),
                )
            ]
            await asyncio.sleep(0)
            await connection.close()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            # This end has closed: an iteration ends, every other call fails.
            assert isinstance(results.pop(2), StopAsyncIteration)
            assert all(isinstance(each, EndpointClosed) for each in results), results
            assert all(each.done for each in forgotten)
            with pytest.raises(SessionEnded):
                await forgotten[0]
            with pytest.raises((SessionEnded, TransactionFailed)):
                await session.branch(Xid(1, b"g", b"")).start()
        assert not problems.contexts

    run(main())
