"""Connecting and closing: both forms, what the URL says, and every way in which it can fail."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from amqp_sansio import AMQP_0_10
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.uri import UriError
from amqp_sansio_asyncio import connect
from tests.kit.asyncio_broker import broker
from tests.kit.asyncio_loops import run


async def failure(url: str, **options: Any) -> EndpointClosed:
    """What connecting to a server that refuses raises."""
    with pytest.raises(EndpointClosed) as caught:
        await connect(url, **options)
    return caught.value


@pytest.mark.parametrize(
    ("url", "error", "options"),
    [
        ("http://localhost", UriError, {}),
        ("amqp://localhost", TypeError, {"version": AMQP_0_10, "frame_max": 5000}),
        ("amqp://localhost", ValueError, {"ssl": ssl.create_default_context()}),
        ("amqps://localhost", ValueError, {"connector": asyncio.sleep}),
        ("amqp://localhost", ValueError, {"frame_max": 100}),
        ("amqps://localhost?keyfile=k", ValueError, {}),
        ("amqps://localhost?server_name_indication=disable", ValueError, {}),
        ("amqps://localhost?verify=verify_none", ValueError, {"ssl": ssl.create_default_context()}),
    ],
)
def test_what_can_not_be_meant(url: str, error: type[Exception], options: dict[str, Any]) -> None:
    async def main() -> None:
        with pytest.raises(error):
            await connect(url, **options)

    run(main())


async def raw_server(
    serve_one: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> tuple[asyncio.Server, str]:
    """A server of octets, and the URL it is under."""
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    return server, f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


def test_a_server_that_says_nothing_is_given_up() -> None:
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server, url = await raw_server(silent)
        async with server:
            error = await failure(url, handshake_timeout=2.0)
        assert "did not finish" in str(error)

    run(main())


def test_a_transport_that_does_not_come_about_times_out() -> None:
    async def main() -> None:
        async def never(factory: Callable[[], asyncio.Protocol]) -> None:
            await asyncio.get_running_loop().create_future()

        with pytest.raises(TimeoutError, match=r"within 2\.5 seconds"):
            await connect("amqp://localhost?connection_timeout=2500", connector=never)

    run(main())


def test_a_connector_brings_another_transport() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        async with broker() as (server, _):

            async def relay(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                up_reader, up_writer = await asyncio.open_connection("127.0.0.1", server.port)

                async def copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
                    while data := await source.read(65536):
                        to.write(data)
                    to.close()

                await asyncio.gather(copy(reader, up_writer), copy(up_reader, writer))

            async with (
                await asyncio.start_server(relay, "127.0.0.1", 0) as listening,
                connect(
                    "amqp://guest:guest@localhost",
                    connector=lambda factory: loop.create_connection(factory, *listening.sockets[0].getsockname()),
                ) as connection,
            ):
                channel = await connection.open_channel()
                assert (await channel.call(QueueDeclare(queue="q", durable=True))).queue == "q"

    run(main())
