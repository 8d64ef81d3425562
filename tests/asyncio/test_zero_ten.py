"""0-10 with a small broker: connections, sessions, commands, publishing, and what the URL and the options say."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, Version
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_0_10 import (
    Config,
    DeliveryProperties,
    ExchangeBind,
    FragmentProperties,
    Message,
    MessageProperties,
    QueueQuery,
    Struct32,
)
from amqp_sansio.client.amqp_0_10.publishing import routed
from amqp_sansio.errors import EndpointClosed, LimitExceeded, LocalProtocolError
from amqp_sansio.events import Accepted
from amqp_sansio.sasl import Anonymous, Plain, ScramSha256
from amqp_sansio_asyncio import ServerConnection, SessionEnded, connect, serve
from amqp_sansio_asyncio.amqp_0_10 import Connection
from amqp_sansio_asyncio.amqp_0_10 import ServerConnection as ServerConnection_0_10
from tests.kit.asyncio_broker import until, url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import Node, node, peer


def test_what_the_design_shows() -> None:
    async def main() -> None:
        async with peer() as (connection, _):
            session = await connection.open_session("orders", timeout=300)
            result = await session.call(QueueQuery(queue="jobs"))
            assert result.message_count == 0
            await session.call(ExchangeBind("jobs", "amq.direct", "jobs"))
            outcome = await session.publish(b"hello", exchange="amq.direct", routing_key="jobs")
            assert outcome == Accepted()
            async with session.subscribe("jobs") as subscription:
                async for received in subscription:
                    assert received.body == b"hello"
                    await received.accept()
                    break

    run(main())


def test_properties_are_merged_and_not_touched() -> None:
    odd = Struct32(0x7777, b"\1\2\3")
    message = Message(
        b"body",
        delivery_properties=DeliveryProperties(routing_key="old", priority=7),
        message_properties=MessageProperties(content_type="text/plain"),
        others=(odd, FragmentProperties(first=True)),
    )
    changed = routed(message, "jobs")
    assert changed.delivery_properties == DeliveryProperties(routing_key="jobs", priority=7)
    assert changed.message_properties == message.message_properties
    assert changed.headers.others == message.headers.others
    old, new = message.headers.raw, changed.headers.raw
    assert old.replace(b"\x03old", b"\x04jobs")[4:] == new[4:]
    assert routed(message, None) is message
    assert routed(message, "old") is message
    bare = Message(b"x", message_properties=MessageProperties(content_type="a"))
    assert routed(bare, "jobs").headers.raw.endswith(bare.headers.raw)
    assert routed(bare, "jobs").delivery_properties.routing_key == "jobs"
    assert routed(b"x", None).headers.raw == b""
    assert routed(b"x", "k") == Message(b"x", routing_key="k")

    async def main() -> None:
        async with peer(max_frame_size=4096) as (connection, made):
            session = await connection.open_session()
            await session.publish(message, routing_key="jobs")
            await session.publish(bytes(100_000), routing_key="jobs")
            (first, second) = made.queues["jobs"]
            assert first.message.headers.raw == new
            async with session.subscribe("jobs") as subscription:
                received = await subscription.fetch(5)
                assert received is not None
                assert received.message == changed
                assert received.headers.others == message.headers.others
                assert received.delivery_properties.priority == 7
                assert received.message_properties.content_type == "text/plain"
                assert received.destination == subscription.destination
                assert received.accepts and received.acquired and not received.redelivered
                assert "4 octets" in repr(received)
                # Sent on as it is.
                await session.publish(received.message)
                large = await subscription.fetch(5)
                assert large is not None and large.body == second.message.body == bytes(100_000)
                passed = await subscription.fetch(5)
                assert passed is not None and passed.headers.raw == new

    run(main())


@pytest.mark.rule("0-10/session.attach/one-transport")
@pytest.mark.rule("0-10/session.attach/scoping")
def test_a_session_that_is_busy() -> None:
    async def main() -> None:
        users = {"guest": "guest", "other": "x"}
        async with (
            node(authenticate=users) as (server, _),
            connect(url_of(server), version=AMQP_0_10) as one,
            connect(url_of(server), version=AMQP_0_10) as two,
            connect(url_of(server, user="other:x@"), version=AMQP_0_10) as foreign,
        ):
            session = await one.open_session("orders")
            with pytest.raises(SessionEnded, match="another connection has it") as caught:
                await two.open_session("orders")
            assert caught.value.condition == "session-busy"
            assert caught.value.code == 1
            with pytest.raises(LocalProtocolError, match="attached on this connection"):
                await one.open_session("orders")
            # Names are the user's own.
            assert (await foreign.open_session("orders")).is_open
            assert session.is_open
            await session.close()
            assert (await two.open_session(b"orders")).is_open

    run(main())


@pytest.mark.rule("0-10/session.request-timeout/granted")
def test_timeouts_are_granted_up_to_what_the_server_keeps() -> None:
    async def main() -> None:
        config = Config(session_timeout_max=100)
        async with node(config=config) as (server, _), connect(url_of(server), version=AMQP_0_10) as connection:
            assert (await connection.open_session("a", timeout=50)).timeout == 50
            assert (await connection.open_session("b", timeout=500)).timeout == 100
            session = await connection.open_session("c", timeout=None)
            assert session.timeout == 100
            assert await session.request_timeout(7) == 7
            assert session.timeout == 7

    run(main())


def test_the_url_and_the_options() -> None:
    async def main() -> None:
        made = Node()
        seen: list[tuple[str, str]] = []

        async def handle(connection: ServerConnection_0_10) -> None:
            seen.append((connection.vhost, connection.user))
            await made.handle(connection)

        async with serve(
            handle, version=AMQP_0_10, vhosts=("/", "orders"), authenticate={"me": "x", "guest": "guest"}
        ) as server:
            url = url_of(server, "/orders?heartbeat=7&channel_max=3&frame_max=5000", "me:x@")
            async with connect(url, version=AMQP_0_10) as connection:
                core = connection.core
                assert (core.heartbeat, core.channel_max, core.max_frame_size) == (7, 3, 5000)
                for _ in range(3):
                    await connection.open_session()
                with pytest.raises(LimitExceeded, match="channels"):
                    await connection.open_session()
            options: list[dict[str, Any]] = [
                {"sasl": Plain("me", "x"), "vhost": "/", "heartbeat": 9},
                {"sasl": (ScramSha256("me", "x"), Plain("me", "x")), "session_prefix": "mine-"},
            ]
            for each in options:
                async with connect(url_of(server), version=AMQP_0_10, **each) as connection:
                    session = await connection.open_session()
                    assert session.name.startswith(each.get("session_prefix", "amqp").encode())
            assert seen == [("orders", "me"), ("/", "me"), ("/", "me")]

    run(main())


def test_what_can_not_be_meant() -> None:
    async def main() -> None:
        async with node() as (server, _):
            url = url_of(server)
            wrong: list[tuple[type[Exception], str, dict[str, Any]]] = [
                (TypeError, url, {"frame_max": 5000}), (TypeError, url, {"container_id": "x"}),
                (ValueError, url, {"max_frame_size": 100}), (ValueError, url, {"sasl": ()}),
                (EndpointClosed, url_of(server, user="guest:wrong@"), {}),
                (EndpointClosed, url_of(server, "/nowhere"), {}), (EndpointClosed, url, {"sasl": Anonymous()}),
                (EndpointClosed, url, {"version": AMQP_0_9_1}), (EndpointClosed, url, {"version": AMQP_1_0}),
            ]  # fmt: skip
            for kind, where, options in wrong:
                version: Any = options.pop("version", AMQP_0_10)
                with pytest.raises(kind):
                    await connect(where, version=version, **options)
            with pytest.raises(EndpointClosed, match="there is no virtual host 'nowhere'") as caught:
                await connect(url_of(server, "/nowhere"), version=AMQP_0_10)
            assert caught.value.report is not None
            assert caught.value.report.code == 402

    run(main())


def test_one_server_for_every_version() -> None:
    async def main() -> None:
        made = Node()
        seen: list[str] = []

        async def handle(connection: Any) -> None:
            seen.append(type(connection).__name__)
            if isinstance(connection, ServerConnection_0_10):
                await made.handle(connection)

        configs: dict[Version, Any] = {AMQP_0_9_1: ClassicConfig(), AMQP_0_10: Config()}
        async with serve(handle, configs=configs) as server:
            async with connect(url_of(server), version=AMQP_0_10) as connection:
                assert isinstance(connection, Connection)
                assert (await connection.open_session()).is_open
            await until(lambda: not server.connections)
            async with connect(url_of(server)) as other:
                # The handler has returned at once, and with it the server's interest.
                assert (await other.wait_closed()).by is By.REMOTE
        assert seen == [ServerConnection_0_10.__name__, ServerConnection.__name__]
        with pytest.raises(ValueError, match="another version"):
            serve(handle, configs={AMQP_0_10: ClassicConfig()})
        with pytest.raises(ValueError, match="another version"):
            serve(handle, configs={AMQP_1_0: Config()})

    run(main())
