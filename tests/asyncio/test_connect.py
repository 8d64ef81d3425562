"""Connecting and closing: both forms, what the URL says, and every way in which it can fail."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, By, CloseReport
from amqp_sansio.amqp_0_9_1 import Config, QueueDeclare
from amqp_sansio.errors import EndpointClosed, LimitExceeded, LocalProtocolError
from amqp_sansio.sasl import AmqPlain, Credentials, Plain, ScramSha256
from amqp_sansio.uri import UriError
from amqp_sansio_asyncio import Connection, ServerConnection, connect, serve
from tests.kit.asyncio_broker import broker, until, url_of
from tests.kit.asyncio_loops import Problems, run, run_fast


async def failure(url: str, **options: Any) -> EndpointClosed:
    """What connecting to a server that refuses raises."""
    with pytest.raises(EndpointClosed) as caught:
        await connect(url, **options)
    return caught.value


def test_a_context_opens_and_closes() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            async with connect(url_of(server)) as connection:
                assert connection.is_open
                assert connection.report is None
                assert connection.peer_properties["product"] == "amqp_sansio"
                assert "open" in repr(connection)
            assert not connection.is_open
            assert connection.report == CloseReport(By.LOCAL, 200, "Normal shutdown")
            assert "closed" in repr(connection)

    run(main())


def test_awaiting_opens_and_close_closes_once() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            connection = await connect(url_of(server))
            report = await connection.close()
            assert report.by is By.LOCAL
            assert await connection.close() == report
            assert await connection.wait_closed() == report
            with pytest.raises(EndpointClosed, match="closed by this side"):
                await connection.open_channel()

    run(main())


def test_the_password_of_the_url_is_never_shown() -> None:
    async def main() -> None:
        async with broker(authenticate={"me": "s3cret"}) as (server, _):
            async with connect(url_of(server, user="me:s3cret@")) as connection:
                assert "s3cret" not in repr(connection)
            error = await failure(url_of(server, user="me:wr0ng@"))
            assert "wr0ng" not in str(error)

    run(main())


def test_the_url_and_the_options_become_the_configuration() -> None:
    async def main() -> None:
        seen: list[ServerConnection] = []

        async def handle(connection: ServerConnection) -> None:
            seen.append(connection)
            async for _ in connection:
                pass

        async with serve(handler=handle, vhosts={"/", "a/b"}) as server:
            url = url_of(server, "/a%2Fb?heartbeat=7&channel_max=9&frame_max=8192")
            async with connect(url) as connection:
                core = connection.core
                assert (core.heartbeat, core.channel_max, core.frame_max) == (7.0, 9, 8192)
                assert seen[0].vhost == "a/b"
                assert seen[0].user == "guest"
                assert seen[0].mechanism == "PLAIN"
            options = {"product": "a test"}
            async with connect(url, vhost="/", heartbeat=3.0, properties=options) as connection:
                assert connection.core.heartbeat == 3.0
                assert seen[1].vhost == "/"
                assert seen[1].peer_properties["product"] == "a test"

    run(main())


def test_no_channel_beyond_channel_max() -> None:
    async def main() -> None:
        async with broker() as (server, _), connect(url_of(server), channel_max=2) as connection:
            first = await connection.open_channel()
            await connection.open_channel()
            with pytest.raises(LimitExceeded, match="channel-max"):
                await connection.open_channel()
            await first.close()
            again = await connection.open_channel()
            assert again.number == first.number
            assert (await again.call(QueueDeclare(queue="q"))).queue == "q"

    run(main())


def test_a_wrong_password_is_refused_with_the_servers_reason() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            error = await failure(url_of(server, user="guest:wrong@"))
            assert error.report is not None
            assert error.report.by is By.REMOTE
            assert error.report.code == 403
            assert "ACCESS_REFUSED" in str(error)
            assert "password" in error.report.hint

    run(main())


def test_a_server_that_just_hangs_up_on_a_wrong_password_gets_a_hint() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            # Who doesn't announce the capability is not told (0-9-1 section 2.2.4).
            nothing: dict[str, object] = {"capabilities": {}}
            url = url_of(server, user="guest:wrong@")
            error = await failure(url, properties=nothing)
            assert error.report is not None
            assert error.report.by is By.TRANSPORT
            assert "wrong user, password" in str(error)

    run(main())


def test_a_virtual_host_that_is_not_there_is_refused() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            error = await failure(url_of(server, "/nowhere"))
            assert error.report is not None
            assert error.report.code == 530
            assert "nowhere" in str(error)

    run(main())


def test_no_common_mechanism() -> None:
    async def main() -> None:
        async with broker(config=Config(mechanisms=("AMQPLAIN",))) as (server, _):
            error = await failure(url_of(server), sasl=Plain("guest", "guest"))
            assert "no SASL mechanism in common" in str(error)
            async with connect(url_of(server)) as connection:
                assert connection.core.mechanism == "AMQPLAIN"

    run(main())


def test_scram_is_preferred_and_verified_both_ways() -> None:
    async def main() -> None:
        config = Config(mechanisms=("PLAIN", "SCRAM-SHA-256"))
        async with broker(config=config) as (server, _):
            async with connect(url_of(server)) as connection:
                assert connection.core.mechanism == "SCRAM-SHA-256"
            async with connect(url_of(server)) as connection:
                assert connection.is_open
            async with connect(url_of(server, "?auth_mechanism=plain")) as connection:
                assert connection.core.mechanism == "PLAIN"
            for wrong in (ScramSha256("guest", "wrong"), ScramSha256("nobody", "guest")):
                error = await failure(url_of(server), sasl=wrong)
                assert error.report is not None
                assert error.report.code == 403

    run(main())


def test_a_server_of_another_version_is_named() -> None:
    async def main() -> None:
        async with broker() as (server, _):
            error = await failure(url_of(server), version=AMQP_0_8)
            assert "refused 0-8" in str(error)
            assert "0-0-9-1" in str(error)

    run(main())


def test_0_8_is_spoken_too() -> None:
    async def main() -> None:
        configs = {AMQP_0_9_1: Config(), AMQP_0_8: Config()}
        async with broker(configs=configs) as (server, _):
            async with connect(url_of(server), version=AMQP_0_8) as connection:
                assert connection.core.dialect.name.startswith("0-8")
                channel = await connection.open_channel()
                assert (await channel.call(QueueDeclare(queue="q"))).queue == "q"
                await channel.publish(b"one", routing_key="q")
                delivery = await channel.get("q")
                assert delivery is not None
                assert delivery.body == b"one"
                await delivery.accept()
                assert await channel.get("q") is None
                with pytest.raises(LocalProtocolError, match="no confirms"):
                    await connection.open_channel(confirm=True)
            async with connect(url_of(server)) as connection:
                assert connection.core.dialect.name.startswith("0-9-1")

    run(main())


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


def test_nobody_listens() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    async def main() -> None:
        with pytest.raises(ConnectionRefusedError):
            await connect(f"amqp://127.0.0.1:{port}")

    run(main())


async def raw_server(
    serve_one: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
) -> tuple[asyncio.Server, str]:
    """A server of octets, and the URL it is under."""
    server = await asyncio.start_server(serve_one, "127.0.0.1", 0)
    return server, f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(
    ("octets", "text"),
    [
        (b"\x15\x03\x03\x00\x02\x02\x46", "TLS records"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP"),
        (b"AMQP\x03\x01\x00\x00", "3-1-0-0"),
        (b"", "hung up on the protocol header"),
        (b"\x01\x00\x00\x00\x00\x00\x05abcdefgh", "closed by this side"),
    ],
)
def test_who_is_no_broker_is_named(octets: bytes, text: str) -> None:
    async def main() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(8)
            writer.write(octets)
            writer.close()

        server, url = await raw_server(answer)
        async with server:
            error = await failure(url)
        assert text in str(error)
        assert error.report is not None

    run(main())


def test_a_server_that_says_nothing_is_given_up() -> None:
    async def main() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server, url = await raw_server(silent)
        async with server:
            error = await failure(url, handshake_timeout=2.0)
        assert "did not finish" in str(error)

    run_fast(main())


def test_a_transport_that_does_not_come_about_times_out() -> None:
    async def main() -> None:
        async def never(factory: Callable[[], asyncio.Protocol]) -> None:
            await asyncio.get_running_loop().create_future()

        with pytest.raises(TimeoutError, match=r"within 2\.5 seconds"):
            await connect("amqp://localhost?connection_timeout=2500", connector=never)

    run_fast(main())


def test_a_connector_brings_another_transport(tmp_path: Path) -> None:
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
                assert (await channel.call(QueueDeclare(queue="q"))).queue == "q"

    run(main())


def test_cancelling_connect_at_any_step_leaves_nothing_behind() -> None:
    async def main() -> None:
        problems = Problems()
        problems.watch()
        async with broker() as (server, _):
            connections = 0
            for turns in range(30):
                task = asyncio.ensure_future(connect(url_of(server)).__aenter__())
                for _ in range(turns):
                    await asyncio.sleep(0)
                task.cancel()
                try:
                    connection: Connection = await task
                except asyncio.CancelledError:
                    continue
                connections += 1
                await connection.close()
            await until(lambda: not server.connections)
        assert problems.contexts == []

    run(main())


def test_an_authenticator_decides() -> None:
    async def main() -> None:
        asked: list[Credentials] = []

        async def slow(connection: ServerConnection, credentials: Credentials) -> bool:
            asked.append(credentials)
            await asyncio.sleep(0)
            return credentials.password == "yes"

        async with broker(authenticate=slow) as (server, _):
            async with connect(url_of(server, user="me:yes@")) as connection:
                assert connection.is_open
            await failure(url_of(server), sasl=AmqPlain("me", "no"))
        assert [(each.mechanism, each.user, each.password) for each in asked] == [
            ("PLAIN", "me", "yes"),
            ("AMQPLAIN", "me", "no"),
        ]

        def quick(connection: ServerConnection, credentials: Credentials) -> bool:
            return credentials.user == "me"

        async with broker(authenticate=quick) as (server, _):
            async with connect(url_of(server, user="me:any@")) as connection:
                assert connection.is_open
            await failure(url_of(server))

    run(main())
