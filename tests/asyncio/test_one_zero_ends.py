"""How links, sessions and connections of 1.0 end: by whom ever, everybody who waits is told."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from amqp_sansio import AMQP_1_0, By
from amqp_sansio.amqp_1_0 import Accepted, CreditChanged, Delivery, Message
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import DETACH_FORCED, FRAMING_ERROR, INTERNAL_ERROR, RESOURCE_DELETED
from amqp_sansio.errors import EndpointClosed, RemoteProtocolError
from amqp_sansio_asyncio import LinkEnded, connect
from tests.kit.asyncio_broker import session_state, until, url_of, waiting_in
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_nodes import core_link, nodes, opened, peer


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


def test_the_peer_closes_a_link_with_an_error() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender, receiver = await opened(session)
            sending = asyncio.ensure_future(sender.send(b"lost"))
            later = await sender.send(b"lost too", wait=False)
            core_link(made, CoreReceiver).close(RESOURCE_DELETED, "the queue is gone")
            made.connections[0].flush()
            with pytest.raises(LinkEnded, match="the queue is gone") as caught:
                await sending
            assert caught.value.condition == RESOURCE_DELETED
            assert caught.value.link == sender.name
            assert isinstance(caught.value.__cause__, RemoteProtocolError)
            for _ in range(2):
                with pytest.raises(LinkEnded, match="the queue is gone"):
                    await later
                with pytest.raises(LinkEnded, match="the queue is gone"):
                    await sender.send(b"more")
                with pytest.raises(LinkEnded, match="the queue is gone"):
                    await sender.wait_credit()
            assert (await sender.close()).condition == RESOURCE_DELETED
            assert not sender.is_open
            reading = asyncio.ensure_future(receiver.__anext__())
            fetching = asyncio.ensure_future(receiver.fetch())
            await asyncio.sleep(0.01)
            core_link(made, CoreSender).close(DETACH_FORCED, "an operator wants it")
            made.connections[0].flush()
            for waiting in (reading, fetching):
                with pytest.raises(LinkEnded, match="an operator wants it"):
                    await waiting
            with pytest.raises(LinkEnded, match="an operator"):
                async for _ in receiver:
                    pass
            for call in (receiver.drain, receiver.fetch, lambda: receiver.flow(1)):
                with pytest.raises(LinkEnded, match="an operator"):
                    await call()
            assert session.is_open

    run(main())


def test_the_peer_closes_a_link_without_a_word() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            await sender.send(Message(1))
            await receiver.flow(1)
            delivery = await receiver.__anext__()
            core_link(made, CoreSender).close()
            made.connections[0].flush()
            with pytest.raises(LinkEnded, match="closed by the peer") as caught:
                await receiver.__anext__()
            assert caught.value.condition == ""
            with pytest.raises(LinkEnded):
                await delivery.accept()
            assert (await receiver.wait_closed()).by is By.REMOTE

    run(main())


@pytest.mark.parametrize("whole", [False, True])
def test_the_end_of_a_session_or_connection_reaches_everybody(whole: bool) -> None:
    async def main() -> None:
        async with peer(credit=1) as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender, receiver = await opened(session)
            other = await session.open_receiver("other")
            stream = session.events(CreditChanged)
            waits: list[Awaitable[object]] = [
                sender.send(b"unsettled"),
                sender.send(b"without credit"),
                receiver.fetch(),
                other.__anext__(),
                sender.wait_closed(),
            ]
            tasks = [asyncio.ensure_future(each) for each in waits]
            await asyncio.sleep(0.02)
            core = made.connections[0].core
            if whole:
                core.close(INTERNAL_ERROR, "all over")
            else:
                core.session(0).close(INTERNAL_ERROR, "all over")
            made.connections[0].flush()
            for task in tasks[:4]:
                with pytest.raises(LinkEnded, match="all over") as caught:
                    await task
                assert caught.value.condition == INTERNAL_ERROR
            assert (await tasks[4]).condition == INTERNAL_ERROR  # type: ignore[attr-defined]
            with pytest.raises(EndpointClosed, match="all over"):
                async for _ in stream:
                    pass
            with pytest.raises(EndpointClosed):
                await session.open_sender("jobs")
            assert not session.is_open
            assert (await session.close()).condition == INTERNAL_ERROR
            if whole:
                assert (await connection.wait_closed()).condition == INTERNAL_ERROR
            else:
                assert (await connection.open_session()).is_open

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
                sender.send(b"unsettled"),
                sender.send(b"without credit"),
                receiver.fetch(),
                receiver.drain(),
                session.open_sender("late").__aenter__(),
                connection.open_session().__aenter__(),
            ]
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


def test_closing_while_others_wait() -> None:
    async def main() -> None:
        async with peer(credit=0) as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            sending = asyncio.ensure_future(sender.send(b"never"))
            reading = asyncio.ensure_future(receiver.__anext__())
            await asyncio.sleep(0.01)
            await asyncio.gather(sender.close(), sender.close(), receiver.close())
            with pytest.raises(LinkEnded, match="closed by this side"):
                await sending
            with pytest.raises(StopAsyncIteration):
                await reading
            assert [delivery async for delivery in receiver] == []
            with pytest.raises(LinkEnded, match="closed by this side"):
                await receiver.fetch()
            with pytest.raises(LinkEnded):
                await sender.send(b"later")

    run(main())


def test_settled_deliveries_are_still_taken_after_the_end() -> None:
    async def main() -> None:
        async with nodes() as (server, _):
            connection = await connect(url_of(server), version=AMQP_1_0)
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            for number in range(4):
                await sender.send(Message(number))
            settled = await session.open_receiver("jobs", credit=2, snd_settle_mode=1)
            unsettled = await session.open_receiver("jobs", credit=2)
            await until(lambda: waiting_in(settled) + waiting_in(unsettled) == 4)
            await connection.close()
            got: list[object] = []
            async for delivery in settled:
                got.append(delivery.body)
                with pytest.raises(LinkEnded):
                    await delivery.accept()
            assert len(got) == 2
            with pytest.raises(StopAsyncIteration):
                await unsettled.__anext__()

    run(main())


def test_names_are_free_after_the_end() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            for _ in range(3):
                async with session.open_sender("jobs", name="s") as sender:
                    assert sender.is_open
                async with session.open_receiver("jobs", name="r", credit=0) as receiver:
                    assert receiver.is_open
                assert not sender.is_open
                assert not receiver.is_open
            assert not session_state(session).links

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


def test_a_server_that_breaks_the_rules() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender, receiver = await opened(session)
            tasks = [asyncio.ensure_future(sender.send(b"x")), asyncio.ensure_future(receiver.fetch())]
            await asyncio.sleep(0.01)
            transport = made.connections[0]._driver.transport  # pyright: ignore[reportPrivateUsage]
            assert transport is not None
            transport.write(b"\0\0\0\4\2\0\0\0")
            for task in tasks:
                with pytest.raises(LinkEnded) as caught:
                    await task
                assert caught.value.condition == FRAMING_ERROR
                cause = caught.value.__cause__
                assert isinstance(cause, RemoteProtocolError)
                assert cause.rule is not None
            report = await connection.wait_closed()
            assert report.by is By.LOCAL
            assert report.condition == FRAMING_ERROR

    run(main())
