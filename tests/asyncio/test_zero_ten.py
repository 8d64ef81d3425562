"""0-10 with a small broker: connections, sessions, commands, publishing, and what the URL and the options say."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, Version
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_0_10 import (
    NONE,
    Config,
    DeliveryProperties,
    ExchangeBind,
    ExchangeBound,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeUnbind,
    FragmentProperties,
    Message,
    MessageProperties,
    MessageTransfer,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    Rejected,
    Struct32,
)
from amqp_sansio.client.amqp_0_10.publishing import routed
from amqp_sansio.errors import EndpointClosed, LimitExceeded, LocalProtocolError, RemoteProtocolError
from amqp_sansio.events import Accepted, CloseReport
from amqp_sansio.limits import Limits
from amqp_sansio.sasl import Anonymous, Plain, ScramSha256
from amqp_sansio_asyncio import ServerConnection, SessionEnded, connect, serve
from amqp_sansio_asyncio.amqp_0_10 import Connection
from amqp_sansio_asyncio.amqp_0_10 import ServerConnection as ServerConnection_0_10
from tests.kit.asyncio_broker import until, url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_node_0_10 import NOT_FOUND, Node, node, peer


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


def test_opening_and_closing() -> None:
    async def main() -> None:
        async with node() as (server, made):
            async with connect(url_of(server), version=AMQP_0_10) as connection:
                assert connection.is_open
                assert connection.report is None
                assert connection.peer_properties["product"] == "amqp_sansio"
                assert "open" in repr(connection)
                async with connection.open_session() as session:
                    assert session.is_open
                    assert session.channel == 0
                    assert session.timeout == 0
                    assert session.name.startswith(b"amqp-sansio-")
                    assert "open" in repr(session)
                    other = await connection.open_session()
                    assert other.channel == 1
                    assert other.name != session.name
                    assert (await other.close()).by is By.LOCAL
                    assert (await other.close()).by is By.LOCAL
                    assert (await other.wait_closed()).by is By.LOCAL
                assert not session.is_open
                assert session.report is not None
                assert "closed" in repr(session)
                with pytest.raises(SessionEnded, match="closed by this side") as caught:
                    await session.sync()
                assert caught.value.code == 0
                assert caught.value.condition == ""
                assert caught.value.session == session.name
                assert not caught.value.resumable
                with pytest.raises(EndpointClosed):
                    session.detached_state()
            assert connection.report is not None
            assert connection.report.by is By.LOCAL
            assert (await connection.close()).by is By.LOCAL
            await until(lambda: made.connections[0].report is not None)
            assert made.connections[0].report == CloseReport(By.REMOTE, 200)
            with pytest.raises(EndpointClosed):
                await connection.open_session()

    run(main())


def test_every_outcome_reaches_who_published() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            assert await session.publish(b"1", routing_key="jobs") == Accepted()
            assert await session.publish(b"2", routing_key="nowhere") == Rejected(1, "unroutable")
            none: object = await session.publish(b"3", "", "jobs", accept_mode=NONE)
            assert none is None
            made.hold = True
            sent = await session.publish(b"4", "", "jobs", wait=False)
            await until(lambda: len(made.held) == 1)
            made.core().release(sent.command_id)
            made.connections[0].flush()
            assert type(await sent).__name__ == "Released"
            assert made.bodies("jobs") == [b"1", b"3"]
            assert sent.done
            assert "done" in repr(sent)
            await session.sync()
            assert not session.pending

    run(main())


@pytest.mark.rule("0-10/message.transfer/blank-destination")
def test_many_in_flight_from_many_tasks() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()

            async def publish(number: int) -> object:
                outcome: object = await session.publish(b"%d" % number, "", "jobs")
                return outcome

            assert await asyncio.gather(*[publish(n) for n in range(200)]) == [Accepted()] * 200
            sent = [await session.publish(b"%d" % n, "", "jobs", wait=False) for n in range(200)]
            # The peer tells lazily what nobody has asked for; awaiting one asks for all.
            assert await sent[-1] == Accepted()
            before = session.core.pending
            assert [await each for each in sent] == [Accepted()] * 200
            assert before == session.core.pending
            assert made.bodies("jobs")[200:] == [b"%d" % n for n in range(200)]

    run(main())


def test_who_never_waits_is_made_to() -> None:
    """Publishes that nobody awaits are bounded by what the session keeps until they're confirmed."""

    async def main() -> None:
        limits = Limits(replay=40, replay_octets=100_000)
        async with peer(limits=limits) as (connection, made):
            session = await connection.open_session()
            most = 0
            for number in range(300):
                await session.publish(b"%d" % number, "", "jobs", accept_mode=NONE, wait=False)
                most = max(most, len(session.pending))
            for _ in range(20):
                await session.publish(bytes(20_000), "", "jobs", accept_mode=NONE, wait=False)
            with pytest.raises(LimitExceeded):
                await session.publish(bytes(200_000), "", "jobs")
            await session.sync()
            assert len(made.bodies("jobs")) == 320
            assert 10 <= most <= 20

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


def test_calls_of_every_kind() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            await session.call(QueueDeclare("other", durable=True))
            await session.call(ExchangeDeclare("x", "direct"))
            assert (await session.call(ExchangeQuery("x"))).type == "direct"
            assert (await session.call(ExchangeQuery("y"))).not_found
            await session.call(ExchangeBind("other", "x", "k"))
            assert not (await session.call(ExchangeBound("x", "other", "k"))).key_not_matched
            assert await session.publish(b"1", "x", "k") == Accepted()
            assert made.bodies("other") == [b"1"]
            await session.call(QueuePurge("other"))
            assert (await session.call(QueueQuery("other"))).message_count == 0
            await session.call(ExchangeUnbind("other", "x", "k"))
            await session.call(ExchangeDelete("x"))
            await session.call(QueueDelete("other"))
            assert (await session.call(QueueQuery("other"))).queue is None
            with pytest.raises(LocalProtocolError, match="transfer"):
                await session.call(MessageTransfer(""))
            with pytest.raises(LocalProtocolError, match="no message"):
                await session.call(QueueDeclare("x"), Message(b"x"))

    run(main())


@pytest.mark.rule("0-10/message.transfer/nonexistent-exchange")
def test_a_command_that_can_not_be_executed_ends_the_session() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session("mine", timeout=100)
            made.hold = True
            later = await session.publish(b"1", "", "jobs", wait=False)
            waiting = asyncio.ensure_future(session.publish(b"2", "", "jobs"))
            subscription = await session.subscribe("jobs")
            reading = asyncio.ensure_future(subscription.__anext__())
            stream = session.events()
            await until(lambda: len(made.held) == 2)
            with pytest.raises(SessionEnded, match="there is no queue 'nix'") as caught:
                await session.call(QueueDelete("nix"))
            error = caught.value
            assert (error.code, error.condition) == (NOT_FOUND, "not-found")
            assert not error.resumable
            assert error.report is not None
            assert (error.report.class_id, error.report.method_id) == (8, 2)
            assert isinstance(error.__cause__, RemoteProtocolError)
            waits: list[Any] = [waiting, reading, later, later, stream.__anext__(), session.sync()]
            waits += [session.publish(b"3"), subscription.fetch(), subscription.grant(1)]
            for each in waits:
                with pytest.raises(SessionEnded, match="there is no queue 'nix'") as caught:
                    await each
                assert caught.value.code == NOT_FOUND
            assert (await session.close()).code == NOT_FOUND
            with pytest.raises(EndpointClosed):
                session.detached_state()
            made.hold = False
            # The name is free again, and the connection goes on.
            again = await connection.open_session("mine")
            with pytest.raises(SessionEnded, match="no exchange 'nix'") as caught:
                await again.publish(b"x", "nix")
            assert caught.value.code == NOT_FOUND
            assert connection.is_open

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
                (TypeError, url, {"frame_max": 5000}),
                (TypeError, url, {"container_id": "x"}),
                (ValueError, url, {"max_frame_size": 100}),
                (ValueError, url, {"sasl": ()}),
                (EndpointClosed, url_of(server, user="guest:wrong@"), {}),
                (EndpointClosed, url_of(server, "/nowhere"), {}),
                (EndpointClosed, url, {"sasl": Anonymous()}),
                (EndpointClosed, url, {"version": AMQP_0_9_1}),
                (EndpointClosed, url, {"version": AMQP_1_0}),
            ]
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
