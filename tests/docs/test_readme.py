"""The README's code runs as it stands; only addresses are replaced by those of this test's own server."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import cast

import pytest

from amqp_sansio_asyncio import ServerConnection, serve
from examples.server import Broker
from tests.support import server_1_0, sync_0_10

README = Path(__file__).resolve().parents[2] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def block(needle: str) -> str:
    """The one block that holds `needle`."""
    (found,) = [text for text in BLOCKS if needle in text]
    return str(found)


@pytest.fixture
def port() -> Iterator[int]:
    """The port of the example's broker, in a loop of its own."""
    ready = threading.Event()
    ports: list[int] = []
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    async def listen() -> None:
        async with serve(Broker().handle) as server:
            ports.append(server.port)
            ready.set()
            await stop.wait()

    def run() -> None:
        asyncio.set_event_loop(loop)
        loop.run_until_complete(listen())
        loop.close()

    thread = threading.Thread(target=run)
    thread.start()
    assert ready.wait(10)
    yield ports[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("needle", ["async with connect(url)", "channel.consume(\"jobs\", prefetch=10)"])
def test_the_clients(needle: str, port: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = block(needle).replace("@localhost/", f"@127.0.0.1:{port}/")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert "Accepted()" in capsys.readouterr().out


def test_the_client_of_1_0(capsys: pytest.CaptureFixture[str]) -> None:
    with server_1_0.running() as server:
        code = block("version=AMQP_1_0").replace("@localhost/", f"@127.0.0.1:{server.port}/")
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert printed.startswith("Accepted()")
    assert "b'hello'" in printed


def test_the_client_of_0_10(capsys: pytest.CaptureFixture[str]) -> None:
    with sync_0_10.running() as server:
        code = block("version=AMQP_0_10").replace("@localhost/", f"@127.0.0.1:{server.port}/")
        exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert capsys.readouterr().out == "Accepted()\n1\nb'hello' jobs\n"


def test_any_event_loop(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = block("transport = socket").replace('("localhost", 5672)', f'("127.0.0.1", {port})')
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert "Opened(" in printed
    assert "Closed(" in printed


def test_without_a_network() -> None:
    exec(compile(block("client.next_deadline"), "README.md", "exec"), {})


def test_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": "readme"}
    exec(compile(block("async for event in connection"), "README.md", "exec"), namespace)

    async def talk() -> None:
        from amqp_sansio.amqp_0_9_1 import QueueDeclare
        from amqp_sansio_asyncio import connect

        handle = cast("Callable[[ServerConnection], Awaitable[object]]", namespace["handle"])
        async with (
            serve(handle, authenticate={"guest": "guest"}) as server,
            connect(f"amqp://guest:guest@127.0.0.1:{server.port}/") as connection,
        ):
            channel = await connection.open_channel()
            declared = await channel.call(QueueDeclare(queue="q"))
            assert declared.queue == "q"
            await channel.publish(b"printed by the server", routing_key="q")
            await channel.call(QueueDeclare(queue="q"))

    asyncio.run(asyncio.wait_for(talk(), 20))
    assert "printed by the server" in capsys.readouterr().out
