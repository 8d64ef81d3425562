"""1.0 with a small broker: connections, sessions, sending, receiving, and what the URL and the options say."""

from __future__ import annotations

from typing import Any

import pytest

from amqp_sansio import AMQP_0_9_1, AMQP_1_0, Version
from amqp_sansio.amqp_0_9_1 import Config as ClassicConfig
from amqp_sansio.amqp_1_0 import Accepted, Config, Message
from amqp_sansio.amqp_1_0.codec.conditions import NOT_FOUND
from amqp_sansio.errors import EndpointClosed
from amqp_sansio.sasl import Anonymous, Plain, ScramSha256
from amqp_sansio_asyncio import ServerConnection, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import ServerConnection as ServerConnection_1_0
from tests.kit.asyncio_broker import url_of
from tests.kit.asyncio_loops import run
from tests.kit.asyncio_nodes import nodes


def test_what_the_readme_shows(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with nodes() as (server, _), connect(url_of(server), version=AMQP_1_0) as connection:
            session = await connection.open_session()
            async with session.open_sender("jobs") as sender:
                outcome = await sender.send(Message(body=b"hello"))
                assert outcome == Accepted()
            async with session.open_receiver("jobs", credit=10) as receiver:
                async for delivery in receiver:
                    print(delivery.body)
                    await delivery.accept()
                    break

    run(main())
    assert "hello" in capsys.readouterr().out


def test_hosts_and_virtual_hosts() -> None:
    async def main() -> None:
        async with nodes(vhosts=("/", "jobs")) as (server, made):
            cases: list[tuple[str, dict[str, Any], str]] = [
                ("", {}, "127.0.0.1"),
                ("/%2F", {}, "127.0.0.1"),
                ("/jobs", {}, "vhost:jobs"),
                ("", {"hostname": "vhost:jobs"}, "vhost:jobs"),
                ("", {"hostname": None}, ""),
            ]
            for path, options, hostname in cases:
                opening: Any = connect(url_of(server, path), version=AMQP_1_0, **options)
                async with opening:
                    assert made.connections[-1].hostname == hostname
                    expected = "jobs" if "jobs" in hostname else "/"
                    assert made.connections[-1].vhost == expected
            with pytest.raises(EndpointClosed, match="no virtual host 'none'") as caught:
                await connect(url_of(server, "/none"), version=AMQP_1_0)
            assert caught.value.report is not None
            assert caught.value.report.condition == NOT_FOUND

    run(main())


def test_what_the_url_and_the_options_say() -> None:
    async def main() -> None:
        async with nodes() as (server, made):
            url = url_of(server, "?heartbeat=7&frame_max=4096&channel_max=3")
            async with connect(url, version=AMQP_1_0, container_id="me") as connection:
                config = connection.core.config
                assert (config.idle_time_out, config.max_frame_size) == (14.0, 4096)
                remote = made.connections[0].remote
                assert remote is not None
                assert remote.container_id == "me"
                assert remote.max_frame_size == 4096
                assert remote.channel_max == 3
                assert remote.idle_time_out == 7000
            async with connect(url_of(server), version=AMQP_1_0) as connection:
                assert connection.core.config.idle_time_out == 60.0
            async with connect(url_of(server), version=AMQP_1_0, idle_time_out=0.0) as connection:
                assert connection.core.config.idle_time_out == 0
            with pytest.raises(ValueError, match="max_frame_size"):
                await connect(url_of(server), version=AMQP_1_0, max_frame_size=100)
            with pytest.raises(TypeError):
                await connect(url_of(server), version=AMQP_1_0, vhost="x")  # pyright: ignore

    run(main())


def test_logging_in() -> None:
    async def main() -> None:
        config = Config(mechanisms=("SCRAM-SHA-256", "PLAIN"), container_id="server")
        users = {"me": "secret"}
        async with nodes(config=config, authenticate=users) as (server, made):
            for sasl in (None, Plain("me", "secret"), ScramSha256("me", "secret")):
                options: Any = {} if sasl is None else {"sasl": sasl}
                url = url_of(server, user="me:secret@")
                async with connect(url, version=AMQP_1_0, **options) as connection:
                    assert made.connections[-1].user == "me"
                    name = "PLAIN" if isinstance(sasl, Plain) else "SCRAM-SHA-256"
                    assert connection.core.mechanism == name
                    assert made.connections[-1].mechanism == name
            for user in ("me:wrong@", "you:secret@"):
                with pytest.raises(EndpointClosed) as caught:
                    await connect(url_of(server, user=user), version=AMQP_1_0)
                assert "secret" not in str(caught.value)
            with pytest.raises(EndpointClosed):
                await connect(url_of(server), version=AMQP_1_0, sasl=None)
            with pytest.raises(EndpointClosed):
                await connect(url_of(server), version=AMQP_1_0, sasl=Anonymous())

    run(main())


def test_without_sasl() -> None:
    async def main() -> None:
        async with (
            nodes(config=Config(container_id="open to all")) as (server, made),
            connect(url_of(server), version=AMQP_1_0, sasl=None) as connection,
        ):
            assert connection.is_open
            assert made.connections[0].user == ""

    run(main())


def test_versions_on_one_port() -> None:
    async def main() -> None:
        seen: list[type[object]] = []

        async def handle(connection: ServerConnection | ServerConnection_1_0) -> None:
            seen.append(type(connection))
            async for _ in connection:
                pass

        configs: dict[Version, ClassicConfig | Config] = {
            AMQP_0_9_1: ClassicConfig(),
            AMQP_1_0: Config(mechanisms=("PLAIN",)),
        }
        async with serve(handle, configs=configs) as server:
            async with connect(url_of(server)) as classic:
                assert classic.is_open
            async with connect(url_of(server), version=AMQP_1_0) as newer:
                assert newer.is_open
        assert seen == [ServerConnection, ServerConnection_1_0]
        # Who doesn't speak it offers its own version.
        async with serve(handle) as server:
            with pytest.raises(EndpointClosed, match="0-9-1"):
                await connect(url_of(server), version=AMQP_1_0)

    run(main())


def test_a_broker_that_is_not_there() -> None:
    async def main() -> None:
        with pytest.raises(OSError):
            await connect("amqp://127.0.0.1:1/", version=AMQP_1_0)

    run(main())
