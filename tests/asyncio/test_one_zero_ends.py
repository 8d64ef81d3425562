"""How links, sessions and connections of 1.0 end: by whom ever, everybody who waits is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from amqp_sansio import By
from amqp_sansio.amqp_1_0 import Accepted, Delivery, Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.errors import EndpointClosed
from amqp_sansio_asyncio import LinkEnded
from tests.kit.asyncio_broker import session_state, until
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_nodes import core_link, opened, peer


def test_the_peer_suspends_a_link() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            sending = asyncio.ensure_future(sender.send(Message(1)))
            await until(lambda: any(isinstance(event, Delivery) for event in made.seen))
            core_link(made, CoreReceiver).detach()
            made.connections[0].flush()
            with pytest.raises(LinkEnded):
                await sending
            state = sender.saved_state()
            assert len(state.unsettled) == 1
            made.hold = False
            again = await session.open_sender(state=state)
            assert again.name == sender.name
            # The broker kept nothing, so the message is sent anew.
            assert [await each for each in again.pending.values()] == [Accepted()]
            assert made.bodies("jobs") == [1]

    run(main())


def test_a_lost_connection_ends_everything_that_waits() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with peer(credit=3) as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender, receiver = await opened(session)
            # Nobody awaits these, and nobody hears of it.
            forgotten = [await sender.send(b"x", wait=False) for _ in range(2)]
            waits: list[Awaitable[object]] = [
                sender.send(b"unsettled"), sender.send(b"without credit"), receiver.fetch(), receiver.drain(),
                session.open_sender("late").__aenter__(), connection.open_session().__aenter__(),
            ]  # fmt: skip
            tasks = [asyncio.ensure_future(each) for each in waits]
            await asyncio.sleep(0)
            transport = made.connections[0]._driver.transport  # pyright: ignore[reportPrivateUsage]
            assert transport is not None
            transport.abort()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(each, EndpointClosed) for each in results), results
            report = await connection.wait_closed()
            assert report.by is By.TRANSPORT
            assert (await sender.close()).by is By.TRANSPORT
            assert (await session.close()).by is By.TRANSPORT
            state = sender.saved_state()
            assert state.name == sender.name
            assert len(state.unsettled) == 3
            assert all(each.done and each.state is None for each in forgotten)
        assert not problems.contexts

    run(main())


def test_links_come_while_others_go() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            link = await session.open_sender("jobs")
            for number in range(20):
                closing = asyncio.ensure_future(link.close())
                await asyncio.sleep(0)
                link = await session.open_sender("jobs")
                assert await link.send(Message(number)) == Accepted()
                await closing
            assert len(session_state(session).links) == 1
            other = await connection.open_session()
            for _ in range(20):
                closing = asyncio.ensure_future(other.close())
                await asyncio.sleep(0)
                other = await connection.open_session()
                assert (await (await other.open_sender("jobs")).send(b"x")) == Accepted()
                await closing
            assert session.is_open

    run(main())
