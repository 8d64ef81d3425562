"""What a program serves of 0-10 and 1.0: its face, who may enter, closing, failing handlers, slow peers, time."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any, Final

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_0_10, AMQP_1_0, By, Version, amqp_1_0
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_0_10 import CommandReceived, MessageReceived, Resumed, SessionState
from amqp_sansio.amqp_0_10 import Config as Config010
from amqp_sansio.amqp_0_10 import SessionRequested as SessionRequested010
from amqp_sansio.amqp_1_0 import Config as Config10
from amqp_sansio.amqp_1_0 import Delivery, LinkRequested
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import SessionRequested as SessionRequested10
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.events import Accepted, Closed, Event
from amqp_sansio.limits import Limits
from amqp_sansio.sasl import Credentials
from amqp_sansio_asyncio import Server, SessionEnded, connect
from amqp_sansio_asyncio import serve as serve_one
from amqp_sansio_asyncio.amqp_0_10 import Connection as Connection010
from amqp_sansio_asyncio.amqp_0_10 import Session as Session010
from amqp_sansio_asyncio.amqp_0_10 import SessionKeeper
from tests.kit.asyncio_broker import connect_small, driver_of, until, url_of
from tests.kit.asyncio_loops import run

serve: Any = serve_one
"""For a version that a parameter names."""
SMALL: Final = Limits(unparsed=64 * 1024, backlog_high=128 * 1024, backlog_low=32 * 1024)
CONFIGS: Final[dict[Version, Any]] = {AMQP_0_9_1: ClassicConfig, AMQP_0_10: Config010, AMQP_1_0: Config10}
each_version = pytest.mark.parametrize("version", [AMQP_0_10, AMQP_1_0], ids=lambda each: each.label)


class Accepting:
    """Accepts what clients want. `connections` are all there were, `events` all that came, `bodies` their messages.

    While `gate` is closed the handler takes nothing more.
    """

    def __init__(self) -> None:
        self.connections: list[Any] = []
        self.events: list[Event] = []
        self.bodies: list[object] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def handle(self, connection: Any) -> None:
        """Serve one client."""
        self.connections.append(connection)
        async for event in connection:
            await self.gate.wait()
            self.events.append(event)
            if isinstance(event, SessionRequested010):
                await connection.accept_session(event)
            else:
                self.take(connection, event)
            await connection.drain()

    def take(self, connection: Any, event: Event) -> None:
        """Do what an event wants."""
        match event:
            case Resumed():
                for each in event.incomplete:
                    self.take(connection, each)
            case MessageReceived():
                self.bodies.append(event.body)
                connection.session(event.channel).complete(event.command_id)
            case CommandReceived():
                connection.session(event.channel).complete(event.command_id)
            case SessionRequested10():
                connection.session(event.channel).accept()
            case LinkRequested():
                link = connection.link(event.channel, event.link)
                link.accept_attach()
                if isinstance(link, CoreReceiver):
                    link.flow(1_000_000)
            case Delivery():
                self.bodies.append(event.body)
                if not event.settled:
                    connection.link(event.channel, event.link).accept(event)
            case _:
                pass


async def accepts(connection: Any, version: Version, body: bytes = b"x") -> bool:
    """Whether a message published on a session of its own is accepted."""
    async with connection.open_session() as session:
        if version is AMQP_0_10:
            return bool(await session.publish(body, routing_key="jobs") == Accepted())
        async with session.open_sender("jobs") as sender:
            return bool(await sender.send(body) == amqp_1_0.Accepted())


@each_version
def test_what_a_server_knows_of_its_client(version: Version) -> None:
    async def main() -> None:
        made = Accepting()
        options: Any = {"properties": {"product": "mine"}}
        async with (
            serve(made.handle, version=version, vhosts=("/", "jobs")) as server,
            connect(url_of(server, "/jobs"), version=version, **options) as client,
        ):
            assert await accepts(client, version)
            with pytest.raises(EndpointClosed, match="no virtual host 'none'"):
                await connect(url_of(server, "/none"), version=version)
            connection = made.connections[0]
            assert connection.is_open
            assert connection.report is None
            assert (connection.user, connection.vhost, connection.mechanism) == ("guest", "jobs", "PLAIN")
            assert connection.peer_certificate is None
            assert isinstance(connection.peername, tuple)
            assert "guest" in repr(connection)
            if version is AMQP_0_10:
                assert connection.peer_properties["product"] == "mine"
            else:
                assert (connection.hostname, connection.remote.properties["product"]) == ("vhost:jobs", "mine")
                with pytest.raises(EndpointClosed):
                    connection.link(7, 0)
            with pytest.raises(EndpointClosed):
                connection.session(7)

    run(main())


@each_version
def test_the_server_closes(version: Version) -> None:
    reason: Any = (501, "why not") if version is AMQP_0_10 else ("amqp:internal-error", "why not")

    async def main() -> None:
        made = Accepting()
        async with serve(made.handle, version=version) as server:
            client = await connect(url_of(server), version=version)
            session = await client.open_session()
            closing = asyncio.ensure_future(made.connections[0].close(*reason))
            report = await client.wait_closed()
            assert (report.by, report.code or report.condition, report.text) == (By.REMOTE, *reason)
            assert not session.is_open
            assert (await closing).by is By.LOCAL
            assert "closed" in repr(made.connections[0])
            other = await connect(url_of(server), version=version)
        # The end of the server closes what is left.
        report = await other.wait_closed()
        assert report.by is By.REMOTE
        assert report.code == 320 or report.condition == "amqp:connection:forced"
        assert isinstance(made.events[-1], Closed)

    run(main())


@pytest.mark.parametrize("version", CONFIGS, ids=lambda each: each.label)
def test_a_handler_that_fails(version: Version, caplog: pytest.LogCaptureFixture) -> None:
    async def handle(connection: Any) -> None:
        async for _ in connection:
            raise ZeroDivisionError("a bug")

    async def main() -> None:
        async with serve(handle, version=version) as server:
            client = await connect(url_of(server), version=version)
            with pytest.raises(EndpointClosed, match="the server failed"):
                while True:
                    await (client.open_channel() if version is AMQP_0_9_1 else client.open_session())
            report = await client.wait_closed()
            assert report.by is By.REMOTE
            assert report.code in (320, 541) or report.condition == "amqp:internal-error"

    run(main())
    assert "ZeroDivisionError: a bug" in caplog.text


@pytest.mark.parametrize("version", CONFIGS, ids=lambda each: each.label)
def test_who_may_enter(version: Version) -> None:
    seen: list[str] = []
    asked = asyncio.Event()

    async def decide(connection: Any, credentials: Credentials) -> bool:
        assert connection.user == credentials.user
        seen.append(credentials.user)
        if credentials.user == "slow":
            asked.set()
            await asyncio.sleep(60)
        return credentials.user == "me"

    async def main() -> None:
        made = Accepting()
        server = await serve(made.handle, version=version, authenticate=decide)
        async with connect(url_of(server, user="me:x@"), version=version):
            pass
        with pytest.raises(EndpointClosed):
            await connect(url_of(server, user="you:x@"), version=version)
        assert seen == ["me", "you"]
        connecting = asyncio.ensure_future(connect(url_of(server, user="slow:x@"), version=version).__aenter__())
        await asked.wait()
        await server.close(timeout=0.05)
        with pytest.raises(EndpointClosed):
            await connecting
        config = CONFIGS[version](mechanisms=("SCRAM-SHA-256",))
        with pytest.raises(ValueError, match="SCRAM"):
            serve(made.handle, version=version, config=config, authenticate=decide)
        async with (
            serve(made.handle, version=version, config=config) as server,
            connect(url_of(server), version=version) as client,
        ):
            await (client.open_channel() if version is AMQP_0_9_1 else client.open_session())
            assert made.connections[-1].mechanism == "SCRAM-SHA-256"

    run(main())


def test_several_versions_on_one_port() -> None:
    async def main() -> None:
        made = Accepting()
        configs = {version: config(mechanisms=("PLAIN",)) for version, config in CONFIGS.items()}
        async with serve(made.handle, configs=configs) as server:
            for version in configs:
                async with connect(url_of(server), version=version) as client:
                    assert client.is_open
        assert [each.core.config.mechanisms for each in made.connections] == [
            each.mechanisms for each in configs.values()
        ]
        # A server that doesn't speak it offers its own version.
        async with serve(made.handle) as server:
            for version in (AMQP_0_10, AMQP_1_0):
                with pytest.raises(EndpointClosed, match="0-9-1"):
                    await connect(url_of(server), version=version)
        wrong: list[tuple[dict[str, Any], str]] = [
            ({"configs": {AMQP_1_0: ClassicConfig()}}, "another version"),
            ({"configs": {AMQP_0_9_1: Config10()}}, "another version"),
            ({"configs": {AMQP_0_10: ClassicConfig()}}, "another version"),
            ({"version": AMQP_1_0, "config": Config10(tls=True)}, "give serve an `ssl` context"),
        ]
        for options, text in wrong:
            with pytest.raises(ValueError, match=text):
                serve(made.handle, **options)
        async with serve(made.handle, version=AMQP_1_0, config=Config10(container_id="open to all")) as server:
            async with connect(url_of(server), version=AMQP_1_0, sasl=None) as client:
                assert await accepts(client, AMQP_1_0)
            assert made.connections[-1].user == ""

    run(main())


@each_version
def test_a_client_that_says_nothing_more(version: Version) -> None:
    config: Any = Config010(heartbeat_max=4, handshake_timeout=2)
    options: dict[str, Any] = {"heartbeat": 3}
    if version is AMQP_1_0:
        config = Config10(mechanisms=("PLAIN",), idle_time_out=6, handshake_timeout=2)
        options = {"idle_time_out": 6.0}

    async def main() -> None:
        made = Accepting()
        async with serve(made.handle, version=version, config=config) as server:
            async with connect(url_of(server), version=version, close_timeout=1.0, **options) as client:
                await client.open_session()
                await asyncio.sleep(13)  # Both send heartbeats in time.
                assert client.is_open
                driver_of(made.connections[0])._timer.cancel()  # type: ignore[union-attr]  # pyright: ignore[reportOptionalMemberAccess]
                report = await client.wait_closed()
                assert report.by is (By.TRANSPORT if version is AMQP_0_10 else By.LOCAL)
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(b"AMQP\1\1\0\x0a" if version is AMQP_0_10 else b"AMQP\3\1\0\0")
            assert len(await reader.read()) > 8  # The header, what is offered, the end.
            writer.close()

    run(main())


@each_version
def test_a_sender_waits_for_a_server_that_does_not_read(version: Version) -> None:
    config: Any = Config010(limits=SMALL)
    if version is AMQP_1_0:
        config = Config10(mechanisms=("PLAIN",), limits=SMALL, incoming_window=100_000)

    async def main() -> None:
        made = Accepting()
        async with (
            serve(made.handle, version=version, config=config) as server,
            connect(
                url_of(server),
                version=version,
                limits=SMALL,
                connector=lambda factory: connect_small(factory, server.port),
            ) as client,
        ):
            session: Any = await client.open_session()
            sender = await session.open_sender("jobs") if version is AMQP_1_0 else None
            made.gate.clear()
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(500):
                    if sender is None:
                        await session.publish(bytes(4000), wait=False)
                    else:
                        await sender.send(bytes(4000), settled=True)
                    sent += 1

            tasks = [asyncio.ensure_future(send()) for _ in range(4)]
            last = -1
            while sent != last:
                last = sent
                await asyncio.sleep(0.05)
            assert sent < 2000
            assert client.core.send_backlog <= SMALL.backlog_high + 4 * 5000
            tasks[3].cancel()
            made.gate.set()
            await asyncio.gather(*tasks[:3])
            await until(lambda: len(made.bodies) in (sent, sent + 1))

    run(main())


# Sessions of 0-10 that a server keeps.


async def attached(server: Server, state: SessionState) -> tuple[Connection010, Session010]:
    """A new connection, and the session on it."""
    connection = await connect(url_of(server), version=AMQP_0_10)
    return connection, await connection.resume_session(state)


def test_what_the_handler_had_not_taken_is_shown_once() -> None:
    """A handler that was busy when the transport was lost doesn't get what its successor gets."""

    async def main() -> None:
        made = Accepting()
        async with serve(made.handle, version=AMQP_0_10) as server:
            connection = await connect(url_of(server), version=AMQP_0_10)
            session = await connection.open_session("orders", timeout=300)
            await session.publish(b"first", "", "jobs")
            made.gate.clear()
            for number in range(3):
                await session.publish(b"%d" % number, wait=False)
            await asyncio.sleep(0.02)
            transport = driver_of(session).transport
            assert transport is not None
            transport.close()
            await session.wait_closed()
            # The session isn't free before the first handler has seen its end.
            resuming = asyncio.ensure_future(attached(server, session.detached_state()))
            await asyncio.sleep(0.05)
            assert not resuming.done()
            made.gate.set()
            other, again = await resuming
            await again.sync()
            assert made.bodies[0] == b"first"
            assert made.bodies[-2:] == [b"1", b"2"]
            await other.close()

    run(main())


@pytest.mark.rule("0-10/session.attach/force")
def test_a_dead_connection_loses_its_session_to_force() -> None:
    """The server hasn't noticed that the first client is gone: it answers nothing."""

    async def main() -> None:
        made = Accepting()
        async with serve(made.handle, version=AMQP_0_10) as server:
            stuck = await connect(url_of(server), version=AMQP_0_10)
            session = await stuck.open_session("orders", timeout=300)
            assert await session.publish(b"1", "", "jobs") == Accepted()
            async with connect(url_of(server), version=AMQP_0_10) as other:
                with pytest.raises(SessionEnded) as caught:
                    await other.open_session("orders")
                assert caught.value.condition == "session-busy"
                transport = driver_of(session).transport
                assert transport is not None
                transport.pause_reading()
                taken = await other.resume_session(copy_of(session))
                assert await taken.publish(b"2", "", "jobs") == Accepted()
                await taken.close()
            assert made.bodies == [b"1", b"2"]
            transport.resume_reading()
            assert (await stuck.wait_closed()).by is By.TRANSPORT

    run(main())


def copy_of(session: Session010) -> SessionState:
    """The state of a session that is attached."""
    state: SessionState = pickle.loads(pickle.dumps(session.core._state))  # pyright: ignore[reportPrivateUsage]
    return state


def test_a_session_that_the_application_refuses() -> None:
    async def handle(connection: Any) -> None:
        async for event in connection:
            if isinstance(event, SessionRequested010):
                connection.refuse_session(event)

    async def main() -> None:
        async with serve(handle, version=AMQP_0_10) as server, connect(url_of(server), version=AMQP_0_10) as connection:
            with pytest.raises(SessionEnded) as caught:
                await connection.open_session()
            assert caught.value.condition == "session-busy"

    run(main())


@pytest.mark.rule("0-10/session.request-timeout/granted")
def test_the_keeper_tells_what_expires() -> None:
    async def main() -> None:
        told: list[tuple[str, bytes]] = []
        keeper = SessionKeeper(expired=lambda user, state: told.append((user, state.name)))
        config = Config010(session_timeout_max=100)
        server = await serve(Accepting().handle, version=AMQP_0_10, sessions=keeper, config=config)
        async with connect(url_of(server), version=AMQP_0_10) as connection:
            await (await connection.open_session("first", timeout=50)).detach()
            session = await connection.open_session("mine", timeout=3)
            long = await connection.open_session("long", timeout=None)
            assert (session.timeout, long.timeout) == (3, 100)
            assert await long.request_timeout(70) == 70
            await session.detach()
            await until(lambda: len(keeper.sessions) == 2)
            await asyncio.sleep(2)
            assert told == []
            await asyncio.sleep(2)
            assert told == [("guest", b"mine")]
            await long.detach()
            await until(lambda: len(keeper.sessions) == 2)
        await server.close()
        # Its clock stops with the server.
        await asyncio.sleep(100)
        assert told == [("guest", b"mine")]

    run(main())
