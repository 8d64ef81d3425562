"""AMQP inside a WebSocket, by URL: every version and both kinds of server on one port beside TCP, TLS, proxies,
refusals, back-pressure, recovery and the end.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, EndpointClosed, Version
from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.events import By
from amqp_sansio.websocket import WebSocketError
from amqp_sansio_asyncio import connect, serve, serve_broker
from amqp_sansio_asyncio import websocket as carrying
from amqp_sansio_asyncio.messaging import connect as connect_neutral
from tests.asyncio.test_broker_service import make_queue
from tests.kit.asyncio_broker import broker, stop_reading, until
from tests.kit.asyncio_loops import Problems, run
from tests.kit.certificates import kept_certificates
from tests.kit.versions import EVERY

UPGRADE = (
    b"GET /chat HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Protocol: amqp\r\n\r\n"
)


def server_context() -> ssl.SSLContext:
    files = kept_certificates()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(files.server, files.server_key)
    return context


@EVERY
def test_one_port_takes_both(version: Version) -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with serve_broker() as server:
            inside: Any = await connect(server.websocket_url, version=version)
            beside: Any = await connect(server.url, version=version)
            assert server.connections == 2
            assert inside.is_open and beside.is_open
            for each in (inside, beside):
                report = await each.close()
                assert report.by is By.LOCAL
            await until(lambda: not server.connections)
        assert not problems.contexts

    run(main())


@EVERY
def test_messages_go_through_whatever_their_size(version: Version) -> None:
    async def main() -> None:
        async with serve_broker() as server:
            await make_queue(server)
            bodies = [b"", b"x" * 70_000, b"y" * 1_000_000, b"z"]
            async with (
                connect_neutral(server.websocket_url, version=version) as connection,
                connection.receiver("jobs") as receiver,
                connection.sender("jobs") as sender,
            ):
                for body in bodies:
                    await sender.send(body)
                got = [await anext(receiver) for _ in bodies]
                assert [each.message.body for each in got] == bodies

    run(main())


@EVERY
@pytest.mark.parametrize("scheme", ["amqps+ws", "wss"])
def test_over_tls(version: Version, scheme: str) -> None:
    async def main() -> None:
        async with serve_broker(ssl=server_context()) as server:
            assert server.websocket_url.startswith("amqps+ws://")
            url = f"{scheme}://localhost:{server.port}/?cacertfile={kept_certificates().ca}"
            async with connect(url, version=version) as connection:
                assert connection.is_open
            with pytest.raises(ssl.SSLError):
                await connect(f"{scheme}://localhost:{server.port}/", version=version)

    run(main())


@pytest.mark.parametrize("path", ["/", "/$servicebus/websocket", "/a%20b"])
def test_the_path_of_the_url_reaches_the_server(path: str) -> None:
    seen: list[str] = []

    async def handle(connection: Any) -> None:
        seen.append(connection.websocket.path)
        async for _ in connection:
            pass

    async def main() -> None:
        async with serve(handle) as server, connect(f"ws://127.0.0.1:{server.port}{path}") as connection:
            assert connection.is_open

    run(main())
    assert seen == [path]


def test_a_connection_without_one_knows_of_none() -> None:
    seen: list[object] = []

    async def handle(connection: Any) -> None:
        seen.append(connection.websocket)
        async for _ in connection:
            pass

    async def main() -> None:
        async with serve(handle) as server, connect(f"amqp://127.0.0.1:{server.port}"):
            pass

    run(main())
    assert seen == [None]


def test_a_virtual_host_of_a_websocket() -> None:
    async def main() -> None:
        async with serve_broker(Settings(vhosts=("/", "jobs"))) as server:
            for url in ("amqp+ws://127.0.0.1:%d/jobs", "ws://127.0.0.1:%d/chat?vhost=jobs"):
                async with connect(url % server.port) as connection:
                    assert connection.is_open
            with pytest.raises(EndpointClosed):
                await connect(f"ws://127.0.0.1:{server.port}/jobs?vhost=none")

    run(main())


def test_a_connector_makes_the_way_for_it() -> None:
    """As through a proxy: the connector opens any transport, and the WebSocket is on it."""
    asked: list[str] = []

    async def main() -> None:
        async with serve_broker() as server:

            async def through(make: Callable[[], asyncio.Protocol]) -> None:
                asked.append("a tunnel")
                await asyncio.get_running_loop().create_connection(make, "127.0.0.1", server.port)

            async with connect("amqp+ws://far.example/", connector=through) as connection:
                assert connection.is_open
            with pytest.raises(ValueError, match="write ws://"):
                await connect("wss://far.example/", connector=through)

    run(main())
    assert asked == ["a tunnel"]


def test_a_port_without_websocket_is_named() -> None:
    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\nnothing")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionRefusedError, match=r"no WebSocket at ws://.*: HTTP 404 Not Found; nothing"):
            await connect(f"ws://127.0.0.1:{port}/hub")
        server.close()

    run(main())


def test_a_server_that_never_answers_the_request() -> None:
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(TimeoutError):
            await connect(f"ws://127.0.0.1:{port}/", handshake_timeout=3)
        server.close()

    run(main())


@pytest.mark.parametrize("octets", [UPGRADE[:40], UPGRADE, UPGRADE[:-2] + b"X: " + b"x" * 70_000])
def test_a_client_that_stops_in_the_middle_is_dropped(octets: bytes) -> None:
    async def main() -> None:
        async with broker(config=Config(handshake_timeout=2.0)) as (server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", server.port)
            for start in range(0, len(octets), 1000):
                writer.write(octets[start : start + 1000])
                await asyncio.sleep(0)
            await until(lambda: server.connections == 0, 30)
            writer.close()

    run(main())


@pytest.mark.parametrize("is_broker", [True, False], ids=["broker", "serve"])
def test_a_text_ends_the_connection_alone(is_broker: bool) -> None:
    async def main() -> None:
        async def handle(connection: Any) -> None:
            async for _ in connection:
                pass

        async with serve_broker() if is_broker else serve(handle) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(UPGRADE)
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 101")
            writer.write(b"\x81\x84\0\0\0\0AMQP")
            said = await reader.read()
            assert said[:4] == b"\x88\x10\x03\xeb"  # close, 1003
            writer.close()
            await until(lambda: server.connections == 0)
            async with connect(f"ws://127.0.0.1:{server.port}/") as connection:
                assert connection.is_open

    run(main())


@pytest.mark.parametrize("is_broker", [True, False], ids=["broker", "serve"])
@pytest.mark.parametrize(
    "host,origin,is_let_in",
    [
        ("127.0.0.1", "http://127.0.0.1", True),
        ("127.0.0.1", "https://app.example", True),
        ("127.0.0.1", "http://evil.example", False),
        # A name that its owner has pointed at this machine.
        ("evil.example", "http://evil.example", False),
    ],
)
def test_pages_of_others_are_refused(is_broker: bool, host: str, origin: str, is_let_in: bool) -> None:
    async def main() -> None:
        async def handle(connection: Any) -> None:
            async for _ in connection:
                pass

        origins = ["https://app.example"]
        async with serve_broker(origins=origins) if is_broker else serve(handle, origins=origins) as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            asked = UPGRADE.replace(b"127.0.0.1\r\n", f"{host}\r\nOrigin: {origin}\r\n".encode())
            writer.write(asked)
            assert (await reader.readline()).startswith(b"HTTP/1.1 101" if is_let_in else b"HTTP/1.1 403")
            writer.close()
            await until(lambda: server.connections == 0)

    run(main())


def test_without_the_extra_the_server_answers_as_amqp(monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio_asyncio import arrivals

    def missing(origins: object) -> Any:
        raise WebSocketError("needs the extra")

    monkeypatch.setattr(arrivals, "server_stream", missing)

    async def main() -> None:
        async with serve_broker() as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(UPGRADE)
            assert (await reader.read()) == AMQP_0_9_1.header
            writer.close()

    run(main())


def test_a_client_that_doesnt_read_holds_up_what_is_sent_to_it() -> None:
    """What waits for it is within the bound of `BrokerLimits`; how much a socket takes, its system decides."""
    limits = BrokerLimits(backlog_high=200_000, backlog_low=100_000)

    async def main() -> None:
        async with serve_broker(settings=Settings(limits=limits)) as server:
            connection = await connect(server.websocket_url)
            channel = await connection.open_channel()
            await channel.call(QueueDeclare(queue="jobs", durable=True))
            for _ in range(300):
                await channel.publish(bytes(50_000), routing_key="jobs")
            consumer = channel.consume("jobs", prefetch=0, no_ack=True)
            stop_reading(connection)
            task = asyncio.ensure_future(consumer.start())
            (number,) = server.hub.clients
            await until(lambda: server.line(number).write_paused, 60)
            transport = server.line(number).transport
            assert isinstance(transport, carrying.Carrier)
            assert transport.get_write_buffer_size() <= 2 * limits.backlog_high + 51_000
            stop_reading(connection, False)
            await task
            got = [await anext(consumer) for _ in range(300)]
            assert sum([len(each.body) for each in got]) == 300 * 50_000
            await connection.close()

    run(main())


@EVERY
def test_a_lost_one_recovers(version: Version) -> None:
    async def main() -> None:
        async with serve_broker() as server:
            policy = RecoveryPolicy(first_delay=0.1)
            connection: Any = await connect(server.websocket_url, version=version, recover=policy)
            (number,) = server.hub.clients
            server.line(number).cut()
            await until(
                lambda: bool(server.hub.clients) and number not in server.hub.clients and connection.is_open, 60
            )
            assert connection.is_open
            await connection.close()

    run(main())


def test_a_close_of_the_broker_reaches_the_client() -> None:
    async def main() -> None:
        server = await serve_broker()
        connection = await connect(server.websocket_url, version=AMQP_1_0)
        await server.close()
        report = await connection.wait_closed()
        assert report.condition == "amqp:connection:forced"
        assert not server.connections

    run(main())


def test_a_peer_that_never_says_its_end_is_cut_off() -> None:
    """After the connection's own closing, and `close_timeout`."""

    async def main() -> None:
        async with broker(config=Config(handshake_timeout=5.0, close_timeout=2.0)) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            # A header of no version: the server answers with its own, and closes.
            writer.write(UPGRADE + b"\x82\x88\0\0\0\0AMQP\x09\x09\x09\x09")
            said = await reader.read()
            assert AMQP_0_9_1.header in said and said.endswith(b"\x88\x02\x03\xe8")
            await until(lambda: server.connections == 0, 30)
            writer.close()

    run(main())
