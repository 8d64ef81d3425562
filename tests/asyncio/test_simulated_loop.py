"""Simulated loops: clients, servers and TLS on a world's network, as sockets have them."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio import connect
from amqp_sansio_asyncio.simulated import SimulatedLoop, simulated, simulated_loop
from tests.kit.asyncio_loops import Problems, run
from tests.kit.certificates import kept_certificates
from tests.kit.world_broker import WorldBroker

MEGABYTE = bytes(1_000_000)
CERTIFICATES = kept_certificates()
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


held: list[asyncio.StreamWriter] = []
"""Streams warn if nobody holds them and they are open; the end of their loop closes them."""


@pytest.fixture(autouse=True)
def released() -> Generator[None]:
    """Nothing is held after the test."""
    yield
    held.clear()


async def pair(handler: Handler, **options: Any) -> tuple[asyncio.Server, asyncio.StreamReader, asyncio.StreamWriter]:
    """A server, and a client of it."""
    server = await asyncio.start_server(handler, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname(), **options)
    held.append(writer)
    return server, reader, writer


async def ends() -> tuple[Streams, Streams]:
    """The two ends of a connection, the client's first."""
    accepted: asyncio.Future[Streams] = asyncio.get_running_loop().create_future()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        held.append(writer)
        accepted.set_result((reader, writer))

    _, reader, writer = await pair(handle)
    return (reader, writer), await accepted


def server_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATES.server, CERTIFICATES.server_key)
    return context


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Send back what comes, and then the end."""
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()


def test_a_server_answers_and_its_end_is_half_a_close() -> None:
    async def main() -> None:
        server, reader, writer = await pair(echo)
        assert writer.get_extra_info("peername") == server.sockets[0].getsockname()
        assert writer.get_extra_info("sockname")[0] == "127.0.0.1"
        assert writer.get_extra_info("nothing") is None
        writer.write(MEGABYTE)
        writer.write_eof()
        with pytest.raises(RuntimeError, match="write_eof"):
            writer.write(b"more")
        assert await reader.read() == MEGABYTE
        server.close()
        await server.wait_closed()
        with pytest.raises(ConnectionRefusedError, match="refused"):
            await asyncio.open_connection("127.0.0.1", 32768)

    run(main())


def test_a_sender_waits_for_a_reader_that_reads_nothing() -> None:
    async def main() -> None:
        (_, writer), (reader, _) = await ends()
        sent = 0

        async def send() -> None:
            nonlocal sent
            while True:
                writer.write(bytes(1000))
                await writer.drain()
                sent += 1000

        sending = asyncio.ensure_future(send())
        await asyncio.sleep(1)
        full = sent
        # The limits of both streams and of the transport, and the capacity of the line.
        assert 40_000 <= full <= 2 * 65_536 + 65_536 + 40_000 + 2_000
        await asyncio.sleep(1)
        assert sent == full
        await reader.readexactly(full)
        await asyncio.sleep(1)
        assert sent > full
        sending.cancel()

    with World(capacity=40_000) as world:
        run(main(), world=world)


def test_limits_of_a_buffer() -> None:
    async def main() -> None:
        (_, writer), _ = await ends()
        transport = writer.transport
        assert transport.get_write_buffer_limits() == (16_384, 65_536)
        transport.set_write_buffer_limits(low=100)
        assert transport.get_write_buffer_limits() == (100, 400)
        transport.set_write_buffer_limits(1000)
        assert transport.get_write_buffer_limits() == (250, 1000)
        with pytest.raises(ValueError, match="at least"):
            transport.set_write_buffer_limits(1, 2)

    run(main())


def test_who_writes_to_a_peer_that_has_left_learns_of_a_reset() -> None:
    async def main() -> None:
        (reader, writer), (_, other) = await ends()
        other.close()
        assert await reader.read() == b""
        writer.write(b"nobody reads this")
        await asyncio.sleep(0.1)
        with pytest.raises(ConnectionResetError):
            await writer.drain()

    run(main())


@pytest.mark.parametrize("seconds", [0.0, 1.0], ids=["while the peer leaves", "after the peer has left"])
def test_who_writes_on_without_a_pause_learns_of_the_reset(seconds: float) -> None:
    """`drain` gives the loop no turn while the buffers have room: they fill, as those of a socket do."""

    async def main() -> None:
        (_, writer), (_, other) = await ends()
        other.close()
        await asyncio.sleep(seconds)
        with pytest.raises(ConnectionResetError):
            for _ in range(100):
                writer.write(bytes(50_000))
                await writer.drain()

    run(main())


def test_a_close_with_unread_octets_is_a_reset_and_so_is_one_that_does_not_linger() -> None:
    async def main() -> None:
        (reader, writer), (_, other) = await ends()
        transport: Any = other.transport
        transport.pause_reading()
        writer.write(b"unread")
        await asyncio.sleep(0.1)
        other.transport.abort()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        (reader, writer), (_, other) = await ends()
        option = struct.pack("ii", 1, 0)
        other.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
        other.write(b"last words")
        other.close()
        assert await reader.readexactly(10) == b"last words"
        with pytest.raises(ConnectionResetError):
            await reader.read()
        (reader, writer), (_, other) = await ends()
        other.transport.abort()
        assert await reader.read() == b""

    run(main())


def test_a_reset_is_not_heard_of_while_nothing_is_read_or_written() -> None:
    class Quiet(asyncio.Protocol):
        lost: list[Exception | None]

        def __init__(self) -> None:
            self.lost = []

        def connection_lost(self, exc: Exception | None) -> None:
            self.lost.append(exc)

    async def main() -> None:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            option = struct.pack("ii", 1, 0)
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, option)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        loop = asyncio.get_running_loop()
        port = server.sockets[0].getsockname()[1]
        ends = [await loop.create_connection(Quiet, "127.0.0.1", port) for _ in range(2)]
        for transport, _ in ends:
            transport.pause_reading()
        await asyncio.sleep(1)
        assert [protocol.lost for _, protocol in ends] == [[], []]
        ends[0][0].resume_reading()
        ends[1][0].write(b"x")
        await asyncio.sleep(1)
        assert [type(protocol.lost[0]) for _, protocol in ends] == [ConnectionResetError] * 2

    run(main())


def test_a_protocol_that_fails_loses_its_transport() -> None:
    class Failing(asyncio.Protocol):
        def connection_lost(self, exc: Exception | None) -> None:
            lost.append(exc)

        def data_received(self, data: bytes) -> None:
            raise ZeroDivisionError("a bug")

    lost: list[Exception | None] = []

    async def main() -> None:
        problems = Problems()
        problems.watch()

        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"x")
            await reader.read()
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        await asyncio.get_running_loop().create_connection(Failing, *server.sockets[0].getsockname())
        await asyncio.sleep(1)
        assert [type(each) for each in lost] == [ZeroDivisionError]
        assert "a bug" in str(problems.contexts)

    run(main())


def test_names_and_addresses() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        one = await asyncio.start_server(echo, "relay", 7000)
        every = await asyncio.start_server(echo, None, 7001)
        newer = await asyncio.start_server(echo, "::1", 0)
        assert newer.sockets[0].getsockname()[0] == "::1"
        assert newer.sockets[0].family is socket.AF_INET6
        assert every.sockets[0].getsockname() == ("0.0.0.0", 7001)
        for host, port in (("relay", 7000), ("localhost", 7001), ("127.0.0.1", 7001), ("relay", 7001)):
            _, writer = await asyncio.open_connection(host, port)
            writer.close()
        for host in ("relay", "127.0.0.1"):
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(host, 7002)
        with pytest.raises(OSError, match="no broker is called 'nobody'"):
            await asyncio.open_connection("nobody", 7000)
        with pytest.raises(OSError, match="in use"):
            await asyncio.start_server(echo, "relay", 7000)
        with pytest.raises(OSError, match="in use"):
            await asyncio.start_server(echo, ["elsewhere", "relay"], 7000)
        # The other address was given back.
        await asyncio.start_server(echo, "elsewhere", 7000)
        assert [each[4] for each in await loop.getaddrinfo("localhost", 5)] == [("127.0.0.1", 5)]
        assert [each[4] for each in await loop.getaddrinfo(None, 5, flags=socket.AI_PASSIVE)] == [("0.0.0.0", 5)]
        assert [each[4] for each in await loop.getaddrinfo("::1", 5)] == [("::1", 5, 0, 0)]
        assert [each[4] for each in await loop.getaddrinfo("broker", 5672)] == [("broker", 5672)]
        with pytest.raises(socket.gaierror, match="nobody"):
            await loop.getaddrinfo("nobody", 5)
        one.close()
        await one.wait_closed()
        one = await asyncio.start_server(echo, "relay", 7000)

    run(main())


def test_a_server_that_does_not_serve_yet_refuses_and_one_that_serves_is_cancelled() -> None:
    async def main() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0, start_serving=False)
        address = server.sockets[0].getsockname()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection(*address)
        assert not server.is_serving()
        serving = asyncio.ensure_future(server.serve_forever())
        await asyncio.sleep(0)
        assert server.is_serving()
        with pytest.raises(RuntimeError, match="already"):
            await server.serve_forever()
        reader, writer = await asyncio.open_connection(*address)
        serving.cancel()
        await asyncio.sleep(1)
        assert not serving.done(), "a connection is left"
        assert server.sockets == ()
        writer.close()
        await asyncio.sleep(1)
        assert serving.cancelled()
        assert await reader.read() == b""
        with pytest.raises(RuntimeError, match="closed"):
            await server.serve_forever()
        assert server.get_loop() is asyncio.get_running_loop()

    run(main())


def test_tls_of_asyncio_over_the_world() -> None:
    async def main() -> None:
        server = await asyncio.start_server(echo, "localhost", 0, ssl=server_context())
        port = server.sockets[0].getsockname()[1]
        context = ssl.create_default_context(cafile=CERTIFICATES.ca)
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
        assert writer.get_extra_info("peercert")["subject"] == ((("commonName", "localhost"),),)
        assert writer.get_extra_info("sslcontext") is context

        async def send() -> None:
            writer.write(MEGABYTE)
            await writer.drain()

        sending = asyncio.ensure_future(send())
        assert await reader.readexactly(len(MEGABYTE)) == MEGABYTE
        await sending
        writer.close()
        await writer.wait_closed()
        for host, wrong in (("localhost", ssl.create_default_context()), ("127.0.0.2", context)):
            with pytest.raises((ssl.SSLCertVerificationError, OSError)):
                await asyncio.open_connection(host, port, ssl=wrong)
        with pytest.raises(ssl.SSLCertVerificationError, match=r"doesn't match|mismatch"):
            await asyncio.open_connection("localhost", port, ssl=context, server_hostname="other.example")

    run(main())


def test_a_tls_handshake_that_nobody_answers_ends_in_time() -> None:
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "localhost", 0)
        loop = asyncio.get_running_loop()
        with pytest.raises(ConnectionAbortedError, match="longer than 5"):
            await asyncio.open_connection(
                *server.sockets[0].getsockname(), ssl=ssl.create_default_context(), ssl_handshake_timeout=5
            )
        assert loop.time() == 5

    run(main())


def test_programs_of_a_world_serve_each_other_and_a_crash_resets_their_connections() -> None:
    got: list[bytes] = []
    errors: list[str] = []

    async def serve() -> None:
        async with await asyncio.start_server(echo, "relay", 7000) as server:
            await server.serve_forever()

    async def use() -> None:
        while True:
            try:
                reader, writer = await asyncio.open_connection("relay", 7000)
                writer.write(b"hello")
                got.append(await reader.readexactly(5))
                await reader.read()
                return
            except OSError as error:
                errors.append(type(error).__name__)
                await asyncio.sleep(1)

    with World() as world:
        world.trace = []
        server = world.start(simulated(serve, name="server"), restarts=False)
        world.start(simulated(use, name="client"))
        world.run(lambda: bool(got), patience=10)
        assert got == [b"hello"]
        server.end("the process crashed")
        world.run(lambda: len(errors) > 1)
        # The connection was reset, and nobody listens now.
        assert errors == ["ConnectionResetError", "ConnectionRefusedError"]
        world.start(simulated(serve, name="server"))
        world.run(lambda: len(got) > 1)
        assert got == [b"hello"] * 2


def test_a_task_of_a_loop_steps_the_world_in_which_others_have_their_turn() -> None:
    """The broker's methods do so: they return when the broker has done it."""

    async def other() -> None:
        while True:
            await asyncio.sleep(0.1 if len(turns) % 100 == 99 else 0)
            turns.append(asyncio.get_running_loop())

    turns: list[object] = []
    with WorldBroker() as broker:
        broker.world.start(simulated(other))

        async def main() -> None:
            before = asyncio.current_task()
            async with connect(broker.url) as connection, connection.open_channel(confirm=True) as channel:
                await channel.declare_queue("q", durable=True)
                await channel.publish(b"x", routing_key="q")
                count = len(turns)
                assert broker.bodies("q") == [b"x"]
                assert len(turns) > count
                assert asyncio.get_running_loop() not in turns
                assert asyncio.current_task() is before
                with pytest.raises(RuntimeError, match="wait for itself"):
                    broker.act(lambda: broker.bodies("q"))
                assert broker.wait_for(lambda each: each.connections)
                with pytest.raises(AssertionError, match="hasn't come true within 7"):
                    broker.wait_for(lambda _: False, timeout=7)

        run(main(), world=broker.world)


def test_a_hosted_program_steps_the_world_too() -> None:
    found: list[list[bytes]] = []
    with WorldBroker() as broker:
        broker.fill("q", b"1")

        async def program() -> None:
            async with connect(broker.url) as connection, connection.open_channel() as channel:
                delivery = await channel.get("q")
                assert delivery is not None
                await delivery.accept()
                await asyncio.sleep(1)
                found.append(broker.bodies("q"))

        broker.world.start(simulated(program), ends=True)
        broker.world.run(lambda: bool(found))
        assert found == [[]]


def test_the_world_keeps_its_own_time_of_day() -> None:
    with World() as world, asyncio.Runner(loop_factory=lambda: simulated_loop(world)) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, SimulatedLoop)
        begun = loop.time_of_day()
        runner.run(asyncio.sleep(86_400 * 3650))
        assert loop.time_of_day() - begun == 86_400 * 3650
