"""Requests and replies over a dynamic node."""

from __future__ import annotations

import asyncio

import pytest

from amqp_sansio.amqp_1_0 import Accepted, Message, Properties, Rejected
from amqp_sansio.errors import EndpointClosed
from amqp_sansio_asyncio import LinkEnded, NotAccepted
from amqp_sansio_asyncio.amqp_1_0 import Connection
from tests.kit.asyncio_broker import session_state, until
from tests.kit.asyncio_loops import Problems, run
from tests.kit.asyncio_nodes import peer


async def answer(connection: Connection, count: int, backwards: bool = False) -> None:
    """Answer so many requests at "rpc", by twice what they say."""
    async with connection.open_session() as session:
        relay = await session.open_sender(None)
        async with session.open_receiver("rpc") as receiver:
            replies: list[Message] = []
            async for delivery in receiver:
                asked = delivery.message.properties
                assert asked is not None
                known = Properties(to=asked.reply_to, correlation_id=asked.message_id)
                replies.append(Message(delivery.body * 2, properties=known))
                await delivery.accept()
                count -= 1
                if not backwards or not count:
                    while replies:
                        assert await relay.send(replies.pop()) == Accepted()
                if not count:
                    return


def test_each_request_gets_its_reply() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            server = asyncio.ensure_future(answer(connection, 20, backwards=True))
            session = await connection.open_session()
            async with session.open_requester("rpc", credit=5) as requester:
                assert requester.is_open
                assert requester.address.startswith("temporary.")
                replies = await asyncio.gather(*[requester.call(Message(n)) for n in range(20)])
                assert [reply.body for reply in replies] == [2 * n for n in range(20)]
                await server
            assert not requester.is_open
            with pytest.raises(LinkEnded):
                await requester.call(b"late")

    run(main())


def test_what_a_request_says_is_kept() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            server = asyncio.ensure_future(answer(connection, 3))
            session = await connection.open_session()
            async with session.open_requester(None) as requester:
                properties = Properties(message_id=b"mine", to="rpc", subject="double")
                request = Message("ab", properties=properties, application_properties={"k": 1})
                reply = await requester.call(request)
                assert reply.body == "abab"
                assert reply.correlation_id == b"mine"
                assert request.reply_to is None  # The caller's message isn't touched.
                first = asyncio.ensure_future(requester.call(request))
                await asyncio.sleep(0)
                with pytest.raises(ValueError, match="mine"):
                    await requester.call(request)
                assert (await first).body == "abab"
                assert (await requester.call(request)).body == "abab"
            await server

    run(main())


def test_requests_that_fail() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with peer() as (connection, made):
            session = await connection.open_session()
            async with session.open_requester("rpc") as requester:
                made.coming.append(Rejected())
                with pytest.raises(NotAccepted) as caught:
                    await requester.call(b"bad")
                assert caught.value.outcome == Rejected()
                # Nobody answers; a late reply is dropped.
                with pytest.raises(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await requester.call(Message(21))
                server = asyncio.ensure_future(answer(connection, 3))
                assert (await requester.call(Message(1))).body == 2
                waiting = asyncio.ensure_future(requester.call(Message(2)))
                await server
                assert (await waiting).body == 4
                ends = [asyncio.ensure_future(requester.call(Message(n))) for n in range(3)]
                await until(lambda: len(made.bodies("rpc")) == 3)
                core = made.connections[0].core
                for link in core.session(0).links:
                    if link.role == "sender":
                        link.close("amqp:not-found", "the node is gone")
                made.connections[0].flush()
                for each in ends:
                    with pytest.raises(LinkEnded, match="the node is gone"):
                        await each
                with pytest.raises(LinkEnded, match="the node is gone"):
                    await requester.call(b"more")
            with pytest.raises(LinkEnded, match="no node"):
                await session.open_requester("nowhere")
            await until(lambda: not session_state(session).links)
            requester = await session.open_requester("rpc")
            waits = asyncio.ensure_future(requester.call(b"x"))
            await asyncio.sleep(0.01)
            await connection.close()
            with pytest.raises(EndpointClosed):
                await waits
            await requester.close()
        await asyncio.sleep(0)
        assert not problems.contexts

    run(main())
