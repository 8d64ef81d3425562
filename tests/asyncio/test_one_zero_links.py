"""Links of 1.0: credit by hand and in turn, draining, fetching, and what the peer attaches."""

from __future__ import annotations

import asyncio

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Accepted, CreditChanged, Delivery, LinkRequested, Message, SessionRequested
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED
from amqp_sansio.errors import RemoteProtocolError
from amqp_sansio.events import Event, Failed, Opened
from amqp_sansio_asyncio import Receiver, Sender, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection
from tests.kit.asyncio_broker import driver_of, until, url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import Nodes, opened, peer


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
