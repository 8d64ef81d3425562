"""The server's side of 1.0: its face, closing, failing handlers, slow clients, TLS, recordings, time."""

from __future__ import annotations

import asyncio
import io
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, By
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_1_0 import Accepted, Config, CreditChanged, Delivery, LinkRequested, Message, SessionRequested
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.amqp_1_0.codec.conditions import CONNECTION_FORCED, INTERNAL_ERROR
from amqp_sansio.errors import EndpointClosed, LinkEnded
from amqp_sansio.events import Closed
from amqp_sansio.limits import Limits
from amqp_sansio.sasl import Credentials
from amqp_sansio.uri import parse
from amqp_sansio_asyncio import Recorder, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection
from tests.asyncio.test_recording import streams_of
from tests.kit.asyncio_broker import client_of, driver_of, until, url_of, waiting_in
from tests.kit.asyncio_loops import run, run_fast
from tests.kit.asyncio_nodes import Nodes, nodes, peer
from tests.kit.certificates import make_certificates

SMALL = Limits(unparsed=64 * 1024, backlog_high=128 * 1024, backlog_low=32 * 1024)


def test_the_example_of_the_server_runs() -> None:
    """What the docstring of ServerConnection shows, with a client."""

    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            if isinstance(event, SessionRequested):
                connection.session(event.channel).accept()
            elif isinstance(event, LinkRequested):
                link = connection.link(event.channel, event.link)
                link.accept_attach()
                if isinstance(link, CoreReceiver):
                    link.flow(100)
            elif isinstance(event, Delivery):
                link = connection.link(event.channel, event.link)
                assert isinstance(link, CoreReceiver)
                link.accept(event)

    async def main() -> None:
        async with (
            serve(handle, version=AMQP_1_0) as listening,
            connect(url_of(listening), version=AMQP_1_0) as connection,
        ):
            session = await connection.open_session()
            sender = await session.open_sender("anything")
            assert await sender.send(b"x") == Accepted()

    run(main())


def test_what_a_server_knows_of_its_client() -> None:
    async def main() -> None:
        async with peer(container_id="client 1", properties={"product": "mine"}) as (_, made):
            connection = made.connections[0]
            assert connection.is_open
            assert connection.report is None
            assert connection.user == "guest"
            assert connection.hostname == "127.0.0.1"
            assert connection.vhost == "/"
            assert connection.mechanism == "PLAIN"
            assert connection.remote is not None
            assert connection.remote.container_id == "client 1"
            assert connection.peer_certificate is None
            assert isinstance(connection.peername, tuple)
            assert "guest" in repr(connection)
            with pytest.raises(EndpointClosed):
                connection.session(7)
            with pytest.raises(EndpointClosed):
                connection.link(7, 0)

    run(main())


def test_the_server_closes() -> None:
    async def main() -> None:
        async with peer() as (connection, made):
            session = await connection.open_session()
            receiver = await session.open_receiver("jobs")
            closing = asyncio.ensure_future(made.connections[0].close("amqp:internal-error", "why not"))
            with pytest.raises(LinkEnded, match="why not"):
                await receiver.__anext__()
            assert (await connection.wait_closed()).condition == INTERNAL_ERROR
            assert (await closing).by is By.LOCAL
            assert "closed" in repr(made.connections[0])

    run(main())


def test_closing_the_server_tells_every_client() -> None:
    async def main() -> None:
        made = Nodes()
        listening = await serve(made.handle, version=AMQP_1_0)
        connection = await connect(url_of(listening), version=AMQP_1_0)
        await listening.close()
        report = await connection.wait_closed()
        assert report.condition == CONNECTION_FORCED
        assert report.by is By.REMOTE
        assert isinstance(made.seen[-1], Closed)

    run(main())


def test_a_handler_that_fails() -> None:
    async def handle(connection: ServerConnection) -> None:
        async for _ in connection:
            raise ZeroDivisionError

    async def main() -> None:
        async with serve(handle, version=AMQP_1_0) as listening:
            connection = await connect(url_of(listening), version=AMQP_1_0)
            with pytest.raises(EndpointClosed, match="the server failed"):
                await connection.open_session()
            assert (await connection.wait_closed()).condition == INTERNAL_ERROR

    run(main())


def test_a_function_decides_who_may_enter() -> None:
    seen: list[str] = []

    async def decide(connection: ServerConnection, credentials: Credentials) -> bool:
        assert connection.user == credentials.user
        seen.append(credentials.user)
        return credentials.user == "me"

    async def main() -> None:
        made = Nodes()
        async with serve(made.handle, version=AMQP_1_0, authenticate=decide) as listening:
            async with connect(url_of(listening, user="me:x@"), version=AMQP_1_0):
                pass
            with pytest.raises(EndpointClosed):
                await connect(url_of(listening, user="you:x@"), version=AMQP_1_0)
        assert seen == ["me", "you"]

    run(main())


def test_closing_the_server_while_a_client_logs_in() -> None:
    async def main() -> None:
        asked = asyncio.Event()

        async def decide(connection: ServerConnection, credentials: Credentials) -> bool:
            asked.set()
            await asyncio.sleep(60)
            return True

        made = Nodes()
        listening = await serve(made.handle, version=AMQP_1_0, authenticate=decide)
        connecting = asyncio.ensure_future(connect(url_of(listening), version=AMQP_1_0).__aenter__())
        await asked.wait()
        await listening.close(timeout=0.05)
        with pytest.raises(EndpointClosed):
            await connecting

    run(main())


def test_what_can_not_be_meant() -> None:
    made = Nodes()
    with pytest.raises(ValueError, match="another version"):
        serve(made.handle, configs={AMQP_1_0: ClassicConfig()})  # type: ignore[arg-type]  # pyright: ignore
    with pytest.raises(ValueError, match="another version"):
        serve(made.handle, configs={AMQP_0_9_1: Config()})  # type: ignore
    with pytest.raises(ValueError, match="give serve an `ssl` context"):
        serve(made.handle, version=AMQP_1_0, config=Config(tls=True))
    with pytest.raises(ValueError, match="SCRAM"):
        config = Config(mechanisms=("SCRAM-SHA-256",))
        serve(made.handle, version=AMQP_1_0, config=config, authenticate=lambda _, __: True)


def test_a_client_that_says_nothing_more() -> None:
    async def main() -> None:
        config = Config(mechanisms=("PLAIN",), idle_time_out=6, handshake_timeout=2)
        async with nodes(config=config) as (listening, made):
            async with connect(url_of(listening), version=AMQP_1_0, idle_time_out=6.0, close_timeout=1.0) as connection:
                await asyncio.sleep(13)  # Both send empty frames in time.
                assert connection.is_open
                transport = made.connections[0]._driver  # pyright: ignore[reportPrivateUsage]
                transport._timer.cancel()  # type: ignore[union-attr]  # pyright: ignore
                report = await connection.wait_closed()
                assert report.by is By.LOCAL
            reader, writer = await asyncio.open_connection("127.0.0.1", listening.port)
            writer.write(b"AMQP\3\1\0\0")
            assert len(await reader.read()) > 8  # The header, the mechanisms, the end.
            writer.close()

    run_fast(main())


async def connect_small(factory: Callable[[], asyncio.Protocol], port: int) -> object:
    """A transport whose kernel buffers are small."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    sock.setblocking(False)
    loop = asyncio.get_running_loop()
    await loop.sock_connect(sock, ("127.0.0.1", port))
    return await loop.create_connection(factory, sock=sock)


def test_a_sender_waits_for_a_server_that_does_not_read() -> None:
    async def main() -> None:
        gate = asyncio.Event()
        gate.set()
        received = 0

        async def handle(connection: ServerConnection) -> None:
            nonlocal received
            async for event in connection:
                await gate.wait()
                if isinstance(event, SessionRequested):
                    connection.session(event.channel).accept()
                elif isinstance(event, LinkRequested):
                    link = connection.link(event.channel, event.link)
                    assert isinstance(link, CoreReceiver)
                    link.accept_attach()
                    link.flow(1_000_000)
                elif isinstance(event, Delivery):
                    received += 1

        config = Config(mechanisms=("PLAIN",), limits=SMALL, incoming_window=100_000)
        async with (
            serve(handle, version=AMQP_1_0, config=config) as listening,
            connect(
                url_of(listening),
                version=AMQP_1_0,
                limits=SMALL,
                connector=lambda factory: connect_small(factory, listening.port),
            ) as connection,
        ):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            gate.clear()
            sent = 0

            async def send() -> None:
                nonlocal sent
                for _ in range(500):
                    await sender.send(bytes(4000), settled=True)
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
        sent = 0

        async def handle(connection: ServerConnection) -> None:
            nonlocal sent
            async for event in connection:
                if isinstance(event, SessionRequested):
                    connection.session(event.channel).accept()
                elif isinstance(event, LinkRequested):
                    link = connection.link(event.channel, event.link)
                    link.accept_attach()
                    assert isinstance(link, CoreSender)
                    asyncio.ensure_future(push(connection, link))  # noqa: RUF006

        async def push(connection: ServerConnection, link: CoreSender) -> None:
            nonlocal sent
            while link.is_open and sent < 3000:
                if link.credit:
                    link.send(Message(bytes(4000)), settled=True)
                    sent += 1
                await connection.drain()
                await asyncio.sleep(0)

        async with (
            serve(handle, version=AMQP_1_0) as listening,
            connect(
                url_of(listening), version=AMQP_1_0, connector=lambda factory: connect_small(factory, listening.port)
            ) as connection,
        ):
            session = await connection.open_session()
            receiver = await session.open_receiver("jobs", credit=50)
            await until(lambda: waiting_in(receiver) == 50)
            await asyncio.sleep(0.05)
            assert sent == 50
            count = 0
            async for _ in receiver:
                count += 1
                if count == 1000:
                    break

    run(main())


def test_a_full_stream_stops_the_reading_but_nobody_who_waits() -> None:
    async def main() -> None:
        async with peer(credit=2) as (connection, _):
            session = await connection.open_session()
            sender = await session.open_sender("jobs")
            stream = session.events(limit=10)
            for number in range(50):
                assert await sender.send(Message(number)) == Accepted()
            client, driver = client_of(connection), driver_of(connection)
            assert client.full == 1
            await until(lambda: driver.reading_paused)
            assert isinstance(await stream.__anext__(), CreditChanged)
            stream.close()
            assert not client.full
            assert not driver.reading_paused

    run(main())


@pytest.mark.rule("1.0/security/tls/validate")
@pytest.mark.rule("1.0/security/tls/pure")
@pytest.mark.rule("1.0/transport/port-tls")
def test_tls(tmp_path: Path) -> None:
    """amqps is port 5671 and TLS from the first octet, the certificate checked."""
    assert parse("amqps://localhost").port == 5671
    certificates = make_certificates(tmp_path)

    async def main() -> None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.ca))
        context.load_cert_chain(certificates.server, certificates.server_key)
        context.verify_mode = ssl.CERT_OPTIONAL
        async with nodes(ssl=context) as (listening, made):
            url = (
                f"amqps://localhost:{listening.port}/?cacertfile={certificates.ca}"
                f"&certfile={certificates.client}&keyfile={certificates.client_key}"
            )
            async with connect(url, version=AMQP_1_0) as connection:
                assert made.connections[0].peer_certificate is not None
                session = await connection.open_session()
                sender = await session.open_sender("jobs")
                receiver = await session.open_receiver("jobs")
                assert await sender.send(bytes(300_000)) == Accepted()
                delivery = await receiver.fetch(5)
                assert delivery is not None
                assert len(delivery.body) == 300_000
            with pytest.raises(ssl.SSLCertVerificationError):
                await connect(f"amqps://localhost:{listening.port}", version=AMQP_1_0)
            with pytest.raises((EndpointClosed, OSError)):
                await connect(f"amqp://localhost:{listening.port}", version=AMQP_1_0)

    run(main())


def test_recordings_hold_no_secrets(tmp_path: Path) -> None:
    mine, theirs, all_of_it = tmp_path / "client", tmp_path / "server", io.BytesIO()

    async def main() -> None:
        users = {"guest": "open sesame"}
        async with nodes(authenticate=users, record=theirs) as (listening, _):
            url = url_of(listening, user="guest:open%20sesame@")
            async with connect(url, version=AMQP_1_0, record=mine) as connection:
                session = await connection.open_session()
                sender = await session.open_sender("jobs")
                await sender.send(b"the message")
            with Recorder(all_of_it, record_secrets=True) as recorder:
                async with connect(url, version=AMQP_1_0, record=recorder):
                    pass

    run(main())
    for path in (mine, theirs):
        for client, _, end in streams_of(path.read_bytes()):
            assert client.startswith(b"AMQP\3\1\0\0")
            assert b"open sesame" not in client
            assert end.how == "fin"
    assert b"the message" in streams_of(mine.read_bytes())[0][0]
    assert b"open sesame" in streams_of(all_of_it.getvalue())[0][0]
