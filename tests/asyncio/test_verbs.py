"""The everyday verbs of 0-10's sessions, and text and JSON in 0-10 and 1.0."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_0_10 import DeliveryProperties, Headers, Message, MessageProperties
from amqp_sansio.amqp_0_10.spec import ReplyTo
from amqp_sansio.amqp_1_0 import Message as Message_1_0
from amqp_sansio.amqp_1_0 import Properties
from amqp_sansio.client.amqp_0_10.publishing import rewritten
from amqp_sansio.client.amqp_0_10.session import Session
from amqp_sansio.errors import NotAccepted, SessionEnded
from amqp_sansio.events import Accepted
from amqp_sansio_asyncio import connect, serve_broker
from tests.kit.asyncio_loops import run


@asynccontextmanager
async def session_0_10() -> AsyncGenerator[Session]:
    async with (
        serve_broker() as broker,
        connect(broker.url, version="0-10") as connection,
        connection.open_session() as session,
    ):
        yield session


def with_session(test: Callable[[Session], Awaitable[None]]) -> None:
    async def main() -> None:
        async with session_0_10() as session:
            await test(session)

    run(main())


def test_queues_and_exchanges_of_0_10() -> None:
    async def test(session: Session) -> None:
        await session.declare_exchange("logs", "topic")
        made = await session.declare_queue("jobs", durable=True, arguments={"qpid.max_count": 10})
        assert (made.queue, made.message_count, made.durable) == ("jobs", 0, True)
        named = await session.declare_queue(exclusive=True)
        other = await session.declare_queue(exclusive=True)
        assert named.queue and other.queue and named.queue != other.queue
        await session.bind_queue("jobs", "logs", "a.*")
        assert await session.publish(b"1", "logs", "a.b") == Accepted()
        assert (await session.declare_queue("jobs", passive=True)).message_count == 1
        await session.purge_queue("jobs")
        assert await session.get("jobs") is None
        await session.unbind_queue("jobs", "logs", "a.*")
        assert await session.publish(b"2", "logs", "a.b") != Accepted()
        await session.delete_exchange("logs")
        await session.delete_queue("jobs", if_empty=True)
        with pytest.raises(SessionEnded, match="jobs"):
            await session.declare_queue("jobs", passive=True)

    with_session(test)


def test_get_takes_one_message_and_leaves_the_others() -> None:
    async def test(session: Session) -> None:
        await session.declare_queue("jobs")
        for number in range(3):
            await session.publish(b"%d" % number, routing_key="jobs")
        first = await session.get("jobs")
        assert first is not None and (first.body, first.exchange, first.routing_key) == (b"0", "", "jobs")
        await first.release()
        again = await session.get("jobs")
        assert again is not None and again.body == b"0"
        await again.accept()
        await session.sync()
        assert (await session.declare_queue("jobs", passive=True)).message_count == 2
        assert not session.subscriptions

    with_session(test)


def test_text_json_and_headers_of_0_10() -> None:
    async def test(session: Session) -> None:
        await session.declare_queue("jobs")
        await session.publish_text("grün", routing_key="jobs", headers={"try": 1, "deep": {"list": [1, {"a": "b"}]}})
        await session.publish_json({"a": [1, None]}, "", "jobs")
        text, value = await session.get("jobs"), await session.get("jobs")
        assert text is not None and value is not None
        assert (text.text, text.message_properties.content_type) == ("grün", "text/plain")
        headers = {"try": 1, "deep": {"list": [1, {"a": "b"}]}}
        assert json.loads(json.dumps(text.application_headers)) == headers
        assert (value.json(), value.message_properties.content_type) == ({"a": [1, None]}, "application/json")
        assert value.application_headers == {}

    with_session(test)


@pytest.mark.parametrize(
    ("body", "error"),
    [
        ("text", r"a body is octets, not str: pass text.encode\(\), or call publish_text"),
        ({"a": 1}, r"a body is octets, not dict: encode it, or call publish_json"),
    ],
)
def test_a_wrong_body_is_told_what_to_call(body: Any, error: str) -> None:
    async def test(session: Session) -> None:
        with pytest.raises(TypeError, match=error):
            await session.publish(body, routing_key="jobs")

    with_session(test)


def test_requests_of_0_10_get_their_own_replies() -> None:
    async def test(session: Session) -> None:
        await session.declare_queue("rpc")

        async def serve() -> None:
            async with session.subscribe("rpc") as subscription:
                async for each in subscription:
                    reply_to = each.message_properties.reply_to
                    assert isinstance(reply_to, ReplyTo)
                    answer = MessageProperties(correlation_id=each.message_properties.correlation_id)
                    message = Message(each.body.upper(), message_properties=answer)
                    await session.publish(message, reply_to.exchange or "", reply_to.routing_key)
                    await each.accept()

        server = asyncio.create_task(serve())
        asked = [session.request(b"ping %d" % number, routing_key="rpc") for number in range(20)]
        assert [each.body for each in await asyncio.gather(*asked)] == [b"PING %d" % number for number in range(20)]
        own = Message(b"own", message_properties=MessageProperties(correlation_id=b"mine"))
        assert (await session.request(own, "", "rpc")).message_properties.correlation_id == b"mine"
        with pytest.raises(NotAccepted, match="the request was not accepted"):
            await session.request(b"lost", routing_key="nowhere")
        server.cancel()

    with_session(test)


def test_a_request_ends_with_its_session() -> None:
    async def test(session: Session) -> None:
        await session.declare_queue("rpc")
        asking = asyncio.create_task(session.request(b"ping", routing_key="rpc"))
        while (await session.declare_queue("rpc", passive=True)).message_count == 0:
            pass
        again = asyncio.create_task(
            session.request(Message(b"", message_properties=MessageProperties(correlation_id=b"1")), "", "rpc")
        )
        with pytest.raises(ValueError, match="correlation-id b'1' is under way"):
            await again
        await session.close()
        with pytest.raises(SessionEnded):
            await asking

    with_session(test)


@pytest.mark.parametrize("routing_key", [None, "key"])
@pytest.mark.parametrize("properties", [None, MessageProperties(content_type="text/plain")])
def test_rewriting_properties_keeps_the_others(routing_key: str | None, properties: MessageProperties | None) -> None:
    delivery = None if routing_key is None else DeliveryProperties(routing_key=routing_key, priority=3)
    message = Message(b"", delivery_properties=delivery, message_properties=properties, has_body=True)
    changed = rewritten(message, MessageProperties, correlation_id=b"1")
    assert changed.headers.delivery_properties == delivery and changed.has_body
    assert changed.message_properties.correlation_id == b"1"
    assert changed.message_properties.content_type == (None if properties is None else "text/plain")
    assert rewritten(changed, MessageProperties, correlation_id=b"1") is changed
    assert isinstance(changed.headers, Headers)


def test_text_and_json_of_1_0() -> None:
    async def main() -> None:
        async with (
            serve_broker() as broker,
            connect(broker.url, version=AMQP_1_0) as connection,
            connection.open_session() as session,
            session.open_receiver(None, dynamic=True) as receiver,
            session.open_sender(receiver.address) as sender,
        ):
            await sender.send_text("grün", application_properties={"try": 1})
            await sender.send_json([1], properties=Properties(message_id="m", content_type="application/x"))
            await sender.send(Message_1_0("a string"))
            await sender.send(Message_1_0({"a": 1}))
            text, value, string, table = [await anext(receiver) for _ in range(4)]
            assert (text.text, text.application_properties) == ("grün", {"try": 1})
            assert text.message.properties is not None and text.message.properties.content_type == "text/plain"
            assert value.json() == [1] and value.application_properties == {}
            found = value.message.properties
            assert found is not None and (found.message_id, found.content_type) == ("m", "application/x")
            assert string.text == "a string"
            with pytest.raises(TypeError, match="the body is no text"):
                table.json()

    run(main())
