"""The README's code runs as it stands; only addresses are replaced by those of this test's own server."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from amqp_sansio_asyncio import ServerConnection, serve
from amqp_sansio_asyncio import connect as asyncio_connect
from amqp_sansio_pytest import EmbeddedBroker
from amqp_sansio_sync import connect

README = Path(__file__).resolve().parents[3] / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)


def block(needle: str) -> str:
    """The one block that holds `needle`."""
    (found,) = [text for text in BLOCKS if needle in text]
    return str(found)


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """The broker that the README's clients talk to."""
    with EmbeddedBroker() as broker:
        yield broker


@pytest.fixture
def port(broker: EmbeddedBroker) -> int:
    """Its port."""
    return broker.port


@pytest.mark.parametrize("needle", ["async with connect(url, recover=True)", 'channel.consume("jobs", prefetch=10)'])
def test_the_clients(needle: str, port: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = block(needle).replace("@localhost/", f"@127.0.0.1:{port}/")
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    assert "Accepted()" in capsys.readouterr().out


@pytest.mark.parametrize("version", ["", "?version=0-9-1", "?version=0-10", "?version=1.0"])
def test_the_client_of_any_version(broker: EmbeddedBroker, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    broker.preload({"queues": ["jobs"]})
    names: dict[str, Any] = {"__name__": "readme"}
    exec(compile(block('connection.sender("/queues/jobs")'), "README.md", "exec"), names)
    asyncio.run(names["greet"](broker.url + version))
    assert capsys.readouterr().out == "Accepted()\nb'hello' greeting\n"


def test_without_docker(broker: EmbeddedBroker) -> None:
    def run_my_service(url: str) -> None:
        with connect(url) as connection:
            connection.open_channel(confirm=True).publish(b"order 1", routing_key="jobs")

    namespace: dict[str, object] = {"__name__": "readme", "run_my_service": run_my_service}
    exec(compile(block("def test_orders"), "README.md", "exec"), namespace)
    test_orders = cast("Callable[[EmbeddedBroker, str], None]", namespace["test_orders"])
    test_orders(broker, broker.url)


def test_the_broker() -> None:
    namespace: dict[str, object] = {"__name__": "readme"}
    page = (README.parent / "docs" / "broker.md").read_text(encoding="utf-8")
    served, *_ = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    exec(compile(served, "broker.md", "exec"), namespace)

    async def serve_for_a_while() -> None:
        main = cast("Callable[[], Coroutine[object, object, None]]", namespace["main"])
        task = asyncio.create_task(main())
        while "amqp://" not in (url := printed()):
            await asyncio.sleep(0.01)
        async with asyncio_connect(url.strip()) as connection:
            await connection.open_channel()
        task.cancel()
        await asyncio.wait([task])

    lines: list[str] = []
    namespace["print"] = lines.append

    def printed() -> str:
        return "".join(lines)

    asyncio.run(asyncio.wait_for(serve_for_a_while(), 60))


def test_any_event_loop(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    code = block("transport = socket").replace('("localhost", 5672)', f'("127.0.0.1", {port})')
    exec(compile(code, "README.md", "exec"), {"__name__": "readme"})
    printed = capsys.readouterr().out
    assert "Opened(" in printed
    assert "Closed(" in printed


def test_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    namespace: dict[str, object] = {"__name__": "readme"}
    exec(compile(block("async for event in connection"), "README.md", "exec"), namespace)

    async def talk() -> None:
        from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
        from amqp_sansio_asyncio import connect

        handle = cast("Callable[[ServerConnection], Awaitable[object]]", namespace["handle"])
        async with (
            serve(handle, authenticate={"guest": "guest"}) as server,
            connect(f"amqp://guest:guest@127.0.0.1:{server.port}/") as connection,
        ):
            channel = await connection.open_channel()
            declared = await channel.call(QueueDeclare(queue="q", durable=True))
            assert declared.queue == "q"
            await channel.publish(b"printed by the server", routing_key="q")
            await channel.call(QueueDeclare(queue="q", durable=True))

    asyncio.run(asyncio.wait_for(talk(), 60))
    assert "printed by the server" in capsys.readouterr().out
