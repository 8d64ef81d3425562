"""Links of 1.0: credit by hand and in turn, draining, fetching, and what the peer attaches."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted, CreditChanged, Delivery, LinkRequested, Message, Received, SessionRequested
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED
from amqp_sansio.errors import LocalProtocolError, RemoteProtocolError
from amqp_sansio.events import Event, Failed, Opened
from amqp_sansio_asyncio import Receiver, Sender, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection
from tests.kit.asyncio_broker import driver_of, until, url_of, waiting_in
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import Nodes, core_link, opened, peer


def test_credit_by_hand() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            for number in range(10):
                await sender.send(Message(number))
            assert receiver.credit == 0
            await receiver.flow(3)
            assert [(await receiver.__anext__()).body for _ in range(3)] == [0, 1, 2]
            assert await receiver.fetch(0.05) is not None  # It asks for one by itself.
            assert receiver.credit == 0
            await receiver.flow(4)
            assert [(await receiver.__anext__()).body for _ in range(4)] == [4, 5, 6, 7]
            assert not waiting_in(receiver)

    run(main())


def test_draining() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            for number in range(3):
                await sender.send(Message(number))
            await receiver.flow(10)
            await receiver.drain()
            assert receiver.credit == 0
            assert [(await receiver.__anext__()).body for _ in range(3)] == [0, 1, 2]
            await receiver.drain()  # Nothing to give back.
            for number in range(3):
                await sender.send(Message(number))
            # The messages use the credit up: that is the end of a drain too.
            await receiver.flow(3)
            await receiver.drain()
            assert waiting_in(receiver) == 3

    run(main())


def test_fetching() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            assert await receiver.fetch(0.01) is None
            assert receiver.credit == 0  # It was taken back.
            fetching = asyncio.ensure_future(receiver.fetch(5))
            await asyncio.sleep(0.01)
            await sender.send(Message("late"))
            delivery = await fetching
            assert delivery is not None
            assert delivery.body == "late"
            await delivery.accept()
            async with session.open_receiver("jobs", credit=5) as automatic:
                assert await automatic.fetch(0.01) is None
                await sender.send(Message("again"))
                delivery = await automatic.fetch()
                assert delivery is not None
                assert delivery.body == "again"

    run(main())


def test_what_is_under_way_when_a_receiver_closes_is_given_back() -> None:
    async def main() -> None:
        made = Nodes()
        made.forgetful = True
        async with (
            serve(made.handle, version=AMQP_1_0) as server,
            connect(url_of(server), version=AMQP_1_0) as connection,
        ):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            for number in range(60):
                await sender.send(Message(number))
            for count in range(10):
                async with session.open_receiver("jobs", credit=10) as receiver:
                    taken = 0
                    async for delivery in receiver:
                        await delivery.accept()
                        taken += 1
                        if taken == 5:
                            break
                await until(lambda count=count: len(made.bodies("jobs")) == 55 - 5 * count)  # type: ignore[misc]

    run(main())


def test_several_tasks_fetch() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            fetches = [asyncio.ensure_future(receiver.fetch(5)) for _ in range(4)]
            hasty = asyncio.ensure_future(receiver.fetch(0.02))
            assert await hasty is None
            for number in range(4):
                await sender.send(Message(number))
            got = await asyncio.gather(*fetches)
            assert sorted(each.body for each in got if each is not None) == [0, 1, 2, 3]
            await sender.send(Message(4))
            assert waiting_in(receiver) + receiver.credit <= 1

    run(main())


def test_a_sender_that_does_not_answer_a_drain() -> None:
    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            if isinstance(event, SessionRequested):
                connection.session(event.channel).accept()
            elif isinstance(event, LinkRequested):
                connection.link(event.channel, event.link).accept_attach()

    async def main() -> None:
        async with (
            serve(handle, version=AMQP_1_0) as server,
            connect(url_of(server), version=AMQP_1_0, close_timeout=0.1) as connection,
        ):
            session = await connection.open_session()
            receiver = await session.open_receiver("jobs", credit=0)
            assert await receiver.fetch(0.01) is None
            assert receiver.credit == 0

    run(main())


def test_a_fetch_ends_in_time_although_nothing_can_be_written() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            driver = driver_of(connection)
            driver.pause_writing()
            async with asyncio.timeout(10):
                assert await receiver.fetch(0.01) is None
            driver.resume_writing()
            await sender.send(Message(1))
            delivery = await receiver.fetch()
            assert delivery is not None
            assert delivery.body == 1

    run(main())


def test_a_drained_receiver_goes_on() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            async with session.open_receiver("jobs", credit=5) as receiver:
                await receiver.drain()
                assert receiver.credit == 0
                waiting = asyncio.ensure_future(receiver.__anext__())
                await asyncio.sleep(0.01)
                await sender.send(Message(1))
                assert (await waiting).body == 1

    run(main())


def test_senders_wait_for_credit_in_turn() -> None:
    async def main() -> None:
        async with peer(credit=0) as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            assert sender.credit == 0
            sends = [asyncio.ensure_future(sender.send(Message(number))) for number in range(5)]
            await asyncio.sleep(0.02)
            assert not any(each.done() for each in sends)
            link = core_link(made, CoreReceiver)
            assert isinstance(link, CoreReceiver)
            for count in range(1, 6):
                link.flow(1)
                made.connections[0].flush()
                await until(lambda count=count: sum(each.done() for each in sends) == count)  # type: ignore[misc]
            assert made.bodies("jobs") == [0, 1, 2, 3, 4]
            waiting = asyncio.ensure_future(sender.wait_credit())
            await asyncio.sleep(0.01)
            assert not waiting.done()
            link.flow(2)
            made.connections[0].flush()
            assert await waiting == 2

    run(main())


def test_a_receiver_that_drains_a_sender() -> None:
    async def main() -> None:
        async with peer(credit=0) as (connection, made):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            link = core_link(made, CoreReceiver)
            assert isinstance(link, CoreReceiver)
            sends = [asyncio.ensure_future(sender.send(Message(number))) for number in range(2)]
            await asyncio.sleep(0.01)
            link.flow(5, drain=True)
            made.connections[0].flush()
            # What waits is sent, and what is left is given back.
            await asyncio.gather(*sends)
            await until(lambda: link.credit == 0)
            assert sender.credit == 0
            assert len(made.bodies("jobs")) == 2

    run(main())


def test_the_states_between() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            made.hold = True
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            sent = await sender.send(b"slow", wait=False)
            assert not sent.done
            assert sent.state is None
            assert list(sender.pending) == [sent.delivery_tag]
            assert "pending" in repr(sent)
            link = core_link(made, CoreReceiver)
            assert isinstance(link, CoreReceiver)
            await until(lambda: any(isinstance(event, Delivery) for event in made.seen))
            event = next(event for event in made.seen if isinstance(event, Delivery))
            link.update([event], Received(0, 3), settled=False)
            made.connections[0].flush()
            await until(lambda: sent.state == Received(0, 3))
            waits = [asyncio.ensure_future(sender.pending[sent.delivery_tag].result()) for _ in "ab"]
            link.update([event], Accepted())
            made.connections[0].flush()
            assert await sent == Accepted()
            assert await asyncio.gather(*waits) == [Accepted()] * 2
            assert not sender.pending
            assert sent.state == Accepted()

    run(main())


def test_mistakes_are_told_and_change_nothing() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session()
            sender, receiver = await opened(session)
            with pytest.raises(LocalProtocolError, match="32"):
                await sender.send(b"x", delivery_tag=bytes(33))
            with pytest.raises(LocalProtocolError):
                await session.open_sender("jobs", name=sender.name)
            with pytest.raises(LocalProtocolError):
                await receiver.flow(-1)
            assert await sender.send(b"x") == Accepted()
            await receiver.flow(1)
            delivery = await receiver.__anext__()
            await delivery.update(Received(0, 0))
            await delivery.accept()
            with pytest.raises(LocalProtocolError):
                await delivery.release()

    run(main())


def test_links_and_sessions_of_the_peer() -> None:
    """The server begins a session and attaches links: refused, unless somebody listens."""
    outcomes: list[Event] = []

    async def handle(connection: ServerConnection) -> None:
        asked = None
        async for event in connection:
            outcomes.append(event)
            if isinstance(event, SessionRequested):
                connection.session(event.channel).accept()
                asked = connection.core.open_session()
            elif isinstance(event, Opened) and asked is not None and asked.is_open:
                asked.open_sender("to you")
                asked.open_receiver("from you", credit=5)
                asked = None
            elif isinstance(event, CreditChanged):
                link = connection.link(event.channel, event.link)
                assert isinstance(link, CoreSender)
                link.send(Message("ping"))
            elif isinstance(event, Delivery):
                link = connection.link(event.channel, event.link)
                assert isinstance(link, CoreReceiver)
                link.accept(event)

    def refused() -> list[str]:
        failures = [event for event in outcomes if isinstance(event, Failed)]
        return [event.error.condition for event in failures if isinstance(event.error, RemoteProtocolError)]

    async def main() -> None:
        async with serve(handle, version=AMQP_1_0) as server:
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                await connection.open_session()
                await until(lambda: refused() == [NOT_IMPLEMENTED])
            outcomes.clear()
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                sessions = connection.events(SessionRequested)
                await connection.open_session()
                async for asked in sessions:
                    connection.accept_session(asked)
                    break
                # The session is the application's, its links are not wanted.
                await until(lambda: refused() == [NOT_IMPLEMENTED] * 2)
            outcomes.clear()
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                sessions = connection.events(SessionRequested)
                await connection.open_session()
                session = connection.accept_session(await sessions.__anext__())
                async with session.events(LinkRequested) as links:
                    receiver = session.accept_link(await links.__anext__())
                    sender = session.accept_link(await links.__anext__())
                assert isinstance(receiver, Receiver)
                assert isinstance(sender, Sender)
                assert (await receiver.__anext__()).body == "ping"
                assert await sender.send(b"pong") == Accepted()
            assert not refused()

    run(main())
