"""Connections that don't log in: bounded in number, and behind TLS by time; real sockets, and handshakes half done."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from typing import Final

import pytest

from amqp_sansio.broker import BrokerLimits, Settings
from amqp_sansio_asyncio import BrokerServer, Server, ServerConnection, connect, serve, serve_broker
from tests.kit.asyncio_loops import run
from tests.kit.certificates import Certificates, make_certificates

HALF_HELLO: Final = b"\x16\x03\x01\x02\x00\x01"
HEADER: Final = b"AMQP\0\0\x09\x01"
MOST: Final = 5
SOON: Final = 0.3
"""Seconds that a handshake may take here."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("certificates"))


def context(certificates: Certificates) -> ssl.SSLContext:
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.ca))
    made.load_cert_chain(certificates.server, certificates.server_key)
    return made


async def idle(connection: ServerConnection) -> None:
    async for _ in connection:
        pass


@asynccontextmanager
async def served(kind: str, certificates: Certificates | None) -> AsyncGenerator[BrokerServer | Server]:
    """A broker or a server; behind TLS with certificates."""
    secure = None if certificates is None else context(certificates)
    if kind == "broker":
        async with serve_broker(Settings(limits=BrokerLimits(unopened=MOST)), ssl=secure) as broker:
            yield broker
    else:
        async with serve(idle, ssl=secure) as server:
            yield server


async def until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


async def silent(port: int, first: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A client that says something and then nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(first)
    await writer.drain()
    return reader, writer


async def ended(reader: asyncio.StreamReader) -> bool:
    """Wait for the end of the stream."""
    try:
        while await reader.read(65536):
            pass
    except ConnectionResetError:
        pass
    return True


@pytest.mark.parametrize(
    ("secure", "first"),
    [(False, b""), (False, HEADER), (True, b""), (True, HALF_HELLO)],
    ids=["nothing", "a header", "tls and nothing", "half a handshake"],
)
@pytest.mark.parametrize("kind", ["broker", "server"])
def test_one_more_cuts_off_the_oldest(
    kind: str, secure: bool, first: bytes, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And who logs in has no place among them any more."""
    monkeypatch.setattr("amqp_sansio_asyncio.server.UNOPENED", MOST)

    async def main() -> None:
        async with served(kind, certificates if secure else None) as server:
            scheme = "amqps" if secure else "amqp"
            url = f"{scheme}://guest:guest@localhost:{server.port}/?cacertfile={certificates.ca}"
            async with connect(url if secure else url.partition("?")[0]) as open_before:
                silents: list[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = []
                for _ in range(MOST):
                    silents.append(await silent(server.port, first))
                    await asyncio.sleep(0.02)
                async with connect(url if secure else url.partition("?")[0]) as another:
                    assert another.is_open
                assert await ended(silents[0][0])
                assert open_before.is_open
                waiting = [asyncio.create_task(ended(reader)) for reader, _ in silents[1:]]
                await asyncio.sleep(0.05)
                assert not any(task.done() for task in waiting)
                for _, writer in silents:
                    writer.close()
                await asyncio.gather(*waiting)

    run(main())


@pytest.mark.parametrize("first", [b"", HALF_HELLO], ids=["nothing", "half a hello"])
@pytest.mark.parametrize("kind", ["broker", "server"])
def test_a_handshake_that_is_not_ended_has_a_time(
    kind: str, first: bytes, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """asyncio gives it sixty seconds."""
    monkeypatch.setattr(f"amqp_sansio_asyncio.{kind}.HANDSHAKE", SOON)

    async def main() -> None:
        async with served(kind, certificates) as server:
            reader, writer = await silent(server.port, first)
            assert await ended(reader)
            writer.close()

    run(main())


def test_octets_that_come_with_the_end_of_the_handshake_are_not_lost(certificates: Certificates) -> None:
    """The client may speak before the server knows that the handshake has ended."""

    async def main() -> None:
        async with served("broker", certificates) as server:
            trusting = ssl.create_default_context(cafile=str(certificates.ca))
            for _ in range(10):
                reader, writer = await asyncio.open_connection("localhost", server.port, ssl=trusting)
                writer.write(HEADER)
                assert (await reader.readexactly(1)) == b"\x01"
                writer.close()

    run(main())
