"""Cancellation at every single await of a 1.0 session: nothing leaks, and the connection stays usable."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted, Delivery, Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio_asyncio import LinkEnded, connect
from amqp_sansio_asyncio.amqp_1_0 import Connection
from tests.kit.asyncio_broker import client_of, left_in, until, url_of
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_nodes import Nodes, core_link, nodes, peer
from tests.kit.asyncio_stepping import Suspend, at_once, cancelled_at, with_the_answer


async def work(connection: Connection) -> None:
    """Something of everything, on a session of its own."""
    async with connection.open_session() as session:
        async with session.open_sender("q") as sender:
            assert await sender.send(b"one") == Accepted()
            sent = await sender.send(b"two", wait=False)
            assert await sent == Accepted()
            await sender.wait_credit()
            async with session.transaction() as transaction:
                await sender.send(b"three", transaction=transaction)
        async with session.open_receiver("q", credit=2) as receiver:
            async for delivery in receiver:
                await delivery.release()
                break
        async with session.open_receiver("q", credit=0, rcv_settle_mode=1) as receiver:
            await receiver.flow(1)
            taken = await receiver.fetch(5)
            assert taken is not None
            await taken.release()
            await receiver.flow(1000)
            await receiver.drain()
            receiver = await session.open_receiver("empty", credit=0)
            assert await receiver.fetch(0.001) is None
        async with session.open_requester("rpc") as requester:
            try:
                async with asyncio.timeout(0.001):
                    await requester.call(b"nobody answers")
            except TimeoutError:
                pass


async def check(connection: Connection, made: Nodes, before: int) -> None:
    """The connection works, no session or link is left, and every message is in the queue."""
    await until(lambda: not connection.core.sessions)
    core = made.connections[0].core
    await until(lambda: not core.sessions)
    await until(lambda: not made.consumers)
    await until(lambda: before <= len(made.bodies("q")) <= before + 3)
    assert not made.sent
    made.nodes.pop("rpc", None)
    async with connection.open_session() as session, session.open_sender("check") as sender:
        assert await sender.send(Message(1)) == Accepted()


@pytest.mark.parametrize("cancel", [at_once, with_the_answer])
def test_cancelled_at_every_step(cancel: Suspend) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with peer() as (connection, made):
            async with connection.open_session() as session, session.open_sender("q") as sender:
                await sender.send(b"first")
            number, finished = 0, False
            while not finished:
                number += 1
                before = len(made.bodies("q"))
                task = asyncio.ensure_future(cancelled_at(work(connection), number, cancel))
                await asyncio.wait([task])
                finished = not task.cancelled() and task.result() < number
                await check(connection, made, before)
            assert number > 20
            assert left_in(client_of(connection)) == []
        assert problems.contexts == []

    run(main(), 60)


def test_connecting_is_cancelled_at_every_step() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with nodes() as (server, _):

            async def connecting() -> None:
                async with connect(url_of(server), version=AMQP_1_0):
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


def test_a_cancelled_sender_in_the_queue_for_credit() -> None:
    async def main() -> None:
        async with peer(credit=1) as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender = await session.open_sender("q")
            sends = [asyncio.ensure_future(sender.send(Message(number))) for number in range(6)]
            await asyncio.sleep(0.02)
            sends[1].cancel()
            made.hold = False
            link = made.connections[0].core.session(0).links[0]
            assert isinstance(link, CoreReceiver)
            link.flow(1)
            made.connections[0].flush()
            sends[2].cancel()
            results = await asyncio.gather(*sends[3:])
            assert results == [Accepted()] * 3
            assert made.bodies("q") == [3, 4, 5]
            sends[0].cancel()

    run(main())


def test_a_mistake_in_the_queue_for_credit_costs_nobody_a_turn() -> None:
    async def main() -> None:
        async with peer(credit=0) as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("q")
            wrong = asyncio.ensure_future(sender.send(b"x", delivery_tag=bytes(33)))
            right = asyncio.ensure_future(sender.send(b"y"))
            await asyncio.sleep(0.01)
            link = core_link(made, CoreReceiver)
            assert isinstance(link, CoreReceiver)
            link.flow(1)
            made.connections[0].flush()
            with pytest.raises(LocalProtocolError):
                await wrong
            assert await right == Accepted()

    run(main())


def test_who_waits_for_one_delivery_may_be_cancelled_alone() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender = await session.open_sender("q")
            sent = await sender.send(b"x", wait=False)

            async def wait() -> object:
                return await sent

            first, second = asyncio.ensure_future(wait()), asyncio.ensure_future(wait())
            await asyncio.sleep(0.01)
            first.cancel()
            await asyncio.sleep(0)
            assert not second.done()
            await sender.close()
            with pytest.raises(LinkEnded, match="closed"):
                await second

    run(main())


def test_a_cancelled_send_is_still_awaited_by_others() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender = await session.open_sender("q")
            sending = asyncio.ensure_future(sender.send(b"x"))
            await until(lambda: any(isinstance(event, Delivery) for event in made.seen))

            async def wait() -> object:
                (sent,) = sender.pending.values()
                return await sent

            other = asyncio.ensure_future(wait())
            await asyncio.sleep(0)
            sending.cancel()
            await asyncio.sleep(0.01)
            assert not other.done()
            link = made.connections[0].core.session(0).links[0]
            assert isinstance(link, CoreReceiver)
            link.accept(*[event for event in made.seen if isinstance(event, Delivery)])
            made.connections[0].flush()
            assert await other == Accepted()

    run(main())
