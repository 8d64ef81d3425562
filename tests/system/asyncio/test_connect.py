"""The tests of tests/asyncio/test_connect.py over sockets, and another transport than TCP."""

from __future__ import annotations

import asyncio
from pathlib import Path

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_asyncio import connect
from tests.asyncio.test_connect import *  # noqa: F403
from tests.kit.asyncio_broker import broker
from tests.kit.asyncio_loops import run


def test_a_connector_brings_a_socket_of_unix(tmp_path: Path) -> None:
    path = str(tmp_path / "amqp.socket")

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
                await asyncio.start_unix_server(relay, path),
                connect(
                    "amqp://guest:guest@localhost", connector=lambda factory: loop.create_unix_connection(factory, path)
                ) as connection,
            ):
                channel = await connection.open_channel()
                assert (await channel.call(QueueDeclare(queue="q", durable=True))).queue == "q"

    run(main())
