"""The server's side of 0-10: its face, kept sessions, redirects, failing handlers, slow peers, recordings, time."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10, By, Signal
from amqp_sansio.amqp_0_10 import (
    CommandReceived,
    Config,
    Connection,
    ExecutionError,
    KeptSessions,
    MessageReceived,
    MessageResume,
    SessionRequested,
    SessionState,
)
from amqp_sansio.client.amqp_0_10.subscription import inbox_of
from amqp_sansio.endpoint import Side
from amqp_sansio.errors import EndpointClosed, LocalProtocolError
from amqp_sansio.events import Accepted, Closed, OpenRequested
from amqp_sansio.limits import Limits
from amqp_sansio.sasl import Credentials
from amqp_sansio_asyncio import SessionEnded, SessionKeeper, connect, serve
from amqp_sansio_asyncio.amqp_0_10 import ServerConnection
from amqp_sansio_cli.main import main as cli
from tests.asyncio.test_recording import streams_of
from tests.kit.asyncio_broker import driver_of, until, url_of
from tests.kit.asyncio_loops import run, run_fast
from tests.kit.asyncio_node_0_10 import Node, node, peer

SMALL = Limits(unparsed=64 * 1024, backlog_high=128 * 1024, backlog_low=32 * 1024)


def test_what_a_server_knows_of_its_client() -> None:
    async def main() -> None:
        async with peer(properties={"product": "mine"}) as (_, made):
            connection = made.connections[0]
            assert connection.is_open
            assert connection.report is None
            assert connection.user == "guest"
            assert connection.vhost == "/"
            assert connection.mechanism == "PLAIN"
            assert connection.peer_properties["product"] == "mine"
            assert connection.peer_certificate is None
            assert isinstance(connection.peername, tuple)
            assert "guest" in repr(connection)
            with pytest.raises(EndpointClosed):
                connection.session(7)

    run(main())


def test_the_server_closes() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            subscription = await session.subscribe("jobs")
            closing = asyncio.ensure_future(made.connections[0].close(320, "why not"))
            with pytest.raises(SessionEnded, match="why not"):
                await subscription.__anext__()
            assert (await connection.wait_closed()).code == 320
            assert (await closing).by is By.LOCAL
            assert "closed" in repr(made.connections[0])

    run(main())


def test_closing_the_server_tells_every_client() -> None:
    async def main() -> None:
        made = Node()
        listening = await serve(made.handle, version=AMQP_0_10)
        connection = await connect(url_of(listening), version=AMQP_0_10)
        await listening.close()
        report = await connection.wait_closed()
        assert (report.code, report.by) == (320, By.REMOTE)
        assert isinstance(made.seen[-1], Closed)

    run(main())


def test_a_handler_that_fails() -> None:
    async def handle(connection: ServerConnection) -> None:
        async for _ in connection:
            raise ZeroDivisionError

    async def main() -> None:
        async with serve(handle, version=AMQP_0_10) as listening:
            connection = await connect(url_of(listening), version=AMQP_0_10)
            with pytest.raises(EndpointClosed, match="the server failed"):
                await connection.open_session()
            assert (await connection.wait_closed()).code == 320

    run(main())


def test_a_function_decides_who_may_enter() -> None:
    seen: list[str] = []

    async def decide(connection: ServerConnection, credentials: Credentials) -> bool:
        assert connection.user == credentials.user
        seen.append(credentials.user)
        return credentials.user == "me"

    async def main() -> None:
        async with node(authenticate=decide) as (listening, _):
            async with connect(url_of(listening, user="me:x@"), version=AMQP_0_10):
                pass
            with pytest.raises(EndpointClosed, match="login was refused"):
                await connect(url_of(listening, user="you:x@"), version=AMQP_0_10)
        assert seen == ["me", "you"]
        scram = Config(mechanisms=("SCRAM-SHA-256",))
        with pytest.raises(ValueError, match="SCRAM"):
            serve(Node().handle, version=AMQP_0_10, config=scram, authenticate=decide)
        async with node(config=scram) as (listening, made), connect(url_of(listening), version=AMQP_0_10):
            await until(lambda: len(made.connections) == 1)
            assert made.connections[0].mechanism == "SCRAM-SHA-256"

    run(main())


@pytest.mark.rule("0-10/connection.open/insist")
def test_a_redirect_is_told() -> None:
    class Redirecting(asyncio.Protocol):
        def __init__(self) -> None:
            self.core = Connection.server()

        def connection_made(self, transport: Any) -> None:
            self.transport = transport

        def data_received(self, data: bytes) -> None:
            core, now = self.core, asyncio.get_running_loop().time()
            core.receive_data(data, now)
            while not isinstance(event := core.next_event(), Signal):
                if isinstance(event, OpenRequested):
                    core.redirect("amqp:tcp:elsewhere:5672", ("amqp:tcp:third:5672",))
                elif type(event).__name__ == "AuthenticationRequested":
                    core.accept_authentication()
            self.transport.write(core.data_to_send(now))

    async def main() -> None:
        listening = await asyncio.get_running_loop().create_server(Redirecting, "127.0.0.1", 0)
        port = listening.sockets[0].getsockname()[1]
        with pytest.raises(EndpointClosed, match="redirected to amqp:tcp:elsewhere:5672"):
            await connect(f"amqp://127.0.0.1:{port}", version=AMQP_0_10)
        listening.close()
        await listening.wait_closed()

    run(main())


def test_commands_of_the_server() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            await session.subscribe("jobs", destination="d")
            stream = session.events(CommandReceived)
            handle = made.core().call(MessageResume("d", "some-id"))
            made.connections[0].flush()
            event = await stream.__anext__()
            assert isinstance(event.command, MessageResume)
            with pytest.raises(LocalProtocolError):
                session.complete(1000)
            session.fail(ExecutionError(404, "nothing to resume"), event.command_id)
            assert (await session.wait_closed()).code == 404
            await until(lambda: handle.done)
            # Nobody reads such events here, so they're refused.
            other = await connection.open_session()
            await other.subscribe("jobs", destination="d")
            made.core().call(MessageResume("d", "some-id"))
            made.connections[0].flush()
            assert (await other.wait_closed()).code == 540
            with pytest.raises(SessionEnded, match="takes commands"):
                await other.sync()

    run(main())


async def connect_small(factory: Callable[[], asyncio.Protocol], port: int) -> object:
    """A transport whose kernel buffers are small."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, ("127.0.0.1", port))
    return await loop.create_connection(factory, sock=sock)


def test_a_publisher_waits_for_a_server_that_does_not_read() -> None:
    async def main() -> None:
        gate = asyncio.Event()
        gate.set()
        received = 0

        async def handle(connection: ServerConnection) -> None:
            nonlocal received
            async for event in connection:
                await gate.wait()
                if isinstance(event, SessionRequested):
                    await connection.accept_session(event)
                elif isinstance(event, MessageReceived):
                    received += 1
                    connection.session(event.channel).complete(event.command_id)

        async with (
            serve(handle, version=AMQP_0_10, config=Config(limits=SMALL)) as listening,
            connect(
                url_of(listening),
                version=AMQP_0_10,
                limits=SMALL,
                connector=lambda factory: connect_small(factory, listening.port),
            ) as connection,
        ):
            session = await connection.open_session()
            gate.clear()
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(500):
                    await session.publish(bytes(4000), wait=False)
                    sent += 1

            tasks = [asyncio.ensure_future(send()) for _ in range(4)]
            last = -1
            while sent != last:
                last = sent
                await asyncio.sleep(0.05)
            assert sent < 2000
            assert connection.core.send_backlog <= SMALL.backlog_high + 4 * 5000
            tasks[3].cancel()
            gate.set()
            await asyncio.gather(*tasks[:3])
            await until(lambda: received in (sent, sent + 1))

    run(main())


def test_a_server_waits_for_a_client_that_does_not_read() -> None:
    async def main() -> None:
        made = Node()
        made.queues["jobs"] = deque()
        async with (
            serve(made.handle, version=AMQP_0_10) as listening,
            connect(
                url_of(listening), version=AMQP_0_10, connector=lambda factory: connect_small(factory, listening.port)
            ) as connection,
        ):
            session = await connection.open_session()
            for number in range(600):
                made.put("jobs", number.to_bytes(2) + bytes(4000))
            subscription = await session.subscribe("jobs", credit=50)
            await until(lambda: len(inbox_of(subscription).items) == 50)
            await asyncio.sleep(0.05)
            assert len(made.sent) == 50
            for number in range(600):
                received = await subscription.__anext__()
                assert received.body[:2] == number.to_bytes(2)
                await received.accept()
            await session.sync()
            assert not made.sent

    run(main())


def test_heartbeats() -> None:
    async def main() -> None:
        config = Config(heartbeat_max=4, handshake_timeout=2)
        async with node(config=config) as (listening, made):
            async with connect(url_of(listening), version=AMQP_0_10, heartbeat=3, close_timeout=1.0) as connection:
                assert connection.core.heartbeat == 3
                await asyncio.sleep(13)  # Both send heartbeats in time.
                assert connection.is_open
                driver: Any = made.connections[0]._driver  # pyright: ignore[reportPrivateUsage]
                driver._timer.cancel()
                report = await connection.wait_closed()
                assert report.by is By.TRANSPORT
                assert "twice the heartbeat" in report.text
            reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
            writer.write(b"AMQP\1\1\0\x0a")
            assert len(await reader.read()) > 8  # The header, start, the end.
            writer.close()

    run_fast(main())


def test_recordings_are_replayed_and_hold_no_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, theirs = tmp_path / "client", tmp_path / "server"

    async def main() -> None:
        users = {"guest": "open sesame"}
        async with node(authenticate=users, record=theirs) as (listening, _):
            url = url_of(listening, user="guest:open%20sesame@")
            async with connect(url, version=AMQP_0_10, record=mine) as connection:
                session = await connection.open_session()
                await session.publish(b"the message", "", "jobs")

    run(main())
    for path in (mine, theirs):
        for client, _, end in streams_of(path.read_bytes()):
            assert client.startswith(b"AMQP\1\1\0\x0a")
            assert b"open sesame" not in client
            assert b"the message" in client
            assert end.how == "fin"
        assert cli(["lint", str(path)]) == 0
        capsys.readouterr()
        assert cli(["replay", str(path), "--table", "messages"]) == 0
        (row,) = [json.loads(each) for each in capsys.readouterr().out.splitlines()]
        assert (row["protocol"], row["kind"], row["outcome"]) == ("0-10", "publish", "accepted")
        assert (row["routing_key"], row["body_size"]) == ("jobs", len(b"the message"))


@pytest.mark.rule("0-10/session.attach/force")
def test_a_dead_connection_loses_its_session_to_force() -> None:
    """The server hasn't noticed that the first client is gone: it answers nothing."""

    async def main() -> None:
        async with node() as (listening, made):
            stuck = await connect(url_of(listening), version=AMQP_0_10)
            session = await stuck.open_session("orders", timeout=300)
            assert await session.publish(b"1", "", "jobs") == Accepted()
            driver = driver_of(session)
            assert driver.transport is not None
            driver.transport.pause_reading()
            copied: SessionState = pickle.loads(pickle.dumps(session.core._state))  # pyright: ignore
            async with connect(url_of(listening), version=AMQP_0_10) as other:
                session = await other.resume_session(copied)
                assert await session.publish(b"2", "", "jobs") == Accepted()
                await session.close()
            assert made.bodies("jobs") == [b"1", b"2"]
            driver.transport.resume_reading()
            assert (await stuck.wait_closed()).by is By.TRANSPORT

    run(main())


def test_a_session_that_the_application_refuses() -> None:
    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            if isinstance(event, SessionRequested):
                connection.refuse_session(event)

    async def main() -> None:
        async with (
            serve(handle, version=AMQP_0_10) as listening,
            connect(url_of(listening), version=AMQP_0_10) as connection,
        ):
            with pytest.raises(SessionEnded) as caught:
                await connection.open_session()
            assert caught.value.condition == "session-busy"

    run(main())


def state_of(name: bytes, timeout: int | None) -> SessionState:
    """The state of a session that has been attached."""
    state = SessionState(name, Side.SERVER, Limits())
    state.timeout = timeout
    return state


@pytest.mark.rule("0-10/session.attach/one-transport", "0-10/session.attach/scoping")
def test_sessions_are_kept_for_their_time() -> None:
    kept = KeptSessions(limit=3)
    assert kept.attach("me", b"a", 1) is None
    assert kept.attach("you", b"a", 2) is None
    with pytest.raises(LocalProtocolError) as caught:
        kept.attach("me", b"a", 3)
    assert caught.value.rule == "0-10/session.attach/one-transport"
    assert (kept.owner("me", b"a"), kept.owner("you", b"a")) == (1, 2)
    assert kept.next_deadline is None
    state = state_of(b"a", 10)
    assert kept.detach("me", b"a", state, 100.0) == []
    assert kept.owner("me", b"a") is None
    assert kept.next_deadline == 110.0
    assert kept.expire(109.9) == []
    # Taken up again: the old time says nothing any more.
    assert kept.attach("me", b"a", 4) is state
    assert kept.next_deadline is None
    assert kept.detach("me", b"a", state, 105.0) == []
    assert kept.detach("you", b"a", None, 105.0) == []
    assert kept.detach("you", b"b", state_of(b"b", 0), 105.0) == []
    assert len(kept) == 1
    copy = pickle.loads(pickle.dumps(kept))
    for each in (kept, copy):
        assert [(user, found.name) for user, found in each.expire(115.0)] == [("me", b"a")]
        assert len(each) == 0
    # Too many: the one that would expire first goes, then the oldest of those for ever.
    for number, timeout in enumerate((None, 50, 20)):
        assert kept.detach("me", b"%d" % number, state_of(b"%d" % number, timeout), 200.0) == []
    gone = [kept.detach("me", b"x%d" % n, state_of(b"x%d" % n, None), 200.0) for n in range(3)]
    assert [[found.name for _, found in each] for each in gone] == [[b"2"], [b"1"], [b"0"]]
    assert kept.next_deadline is None
    for turn in range(500):
        kept.detach("me", b"again", state_of(b"again", 1000), 300.0 + turn)
        kept.attach("me", b"again", turn)
    assert len(kept._times) < 100  # pyright: ignore[reportPrivateUsage]


def test_the_keeper_tells_what_expires() -> None:
    async def main() -> None:
        told: list[tuple[str, bytes, bool]] = []
        keeper = SessionKeeper(expired=lambda user, s: told.append((user, s.name, bool(s.pending))))
        made = Node()
        made.queues["jobs"] = deque()
        async with (
            serve(made.handle, version=AMQP_0_10, sessions=keeper) as server,
            connect(url_of(server), version=AMQP_0_10) as connection,
        ):
            session = await connection.open_session("mine", timeout=3)
            made.put("jobs", b"1")
            subscription = await session.subscribe("jobs")
            await until(lambda: len(inbox_of(subscription).items) == 1)
            await session.detach()
            await until(lambda: len(keeper.sessions) == 1)
            await asyncio.sleep(2)
            assert told == []
            await asyncio.sleep(2)
            assert told == [("guest", b"mine", True)]
            assert not len(keeper.sessions)

    run_fast(main())
