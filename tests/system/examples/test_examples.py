"""The examples do what they say, against the example's broker over real sockets."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio import CloseReport, EndpointClosed
from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio.capture import Segment, read_segments
from amqp_sansio.events import By
from amqp_sansio_asyncio import Recorder, connect, serve
from examples import recording_proxy, selectors_loop, websocket_transport
from examples.server import Broker
from tests.kit.asyncio_loops import run_real as run
from tests.kit.processes import LIMIT, running

ROOT = Path(__file__).resolve().parents[3]


async def ended(before: set[asyncio.Task[Any]]) -> None:
    """Until the tasks of connections that are closed have ended; those `before` go on."""
    if tasks := asyncio.all_tasks() - before:
        _, left = await asyncio.wait(tasks, timeout=LIMIT)
        assert not left


@pytest.fixture
def port() -> Iterator[int]:
    """A broker in a thread of its own."""
    loop = asyncio.new_event_loop()
    ports: list[int] = []
    ready = threading.Event()
    stop = asyncio.Event()

    async def serving() -> None:
        async with serve(Broker().handle) as server:
            ports.append(server.port)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serving(),))
    thread.start()
    assert ready.wait(LIMIT)
    yield ports[0]
    loop.call_soon_threadsafe(stop.set)
    thread.join(LIMIT)
    loop.close()
    assert not thread.is_alive()


def test_selectors_loop(port: int, capsys: pytest.CaptureFixture[str]) -> None:
    application = selectors_loop.main("127.0.0.1", port)
    assert application.received == [b"one", b"two", b"three"]
    assert application.report == CloseReport(By.LOCAL, 200, "Normal shutdown")
    assert "received" in capsys.readouterr().out


def test_selectors_loop_with_a_wrong_port(capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readexactly(8)
            writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            writer.close()

        listener = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        async with listener:
            wrong = listener.sockets[0].getsockname()[1]
            application = await asyncio.to_thread(selectors_loop.main, "127.0.0.1", wrong)
        assert application.report is not None
        assert "HTTP" in application.report.hint

    run(main())
    assert "HTTP" in capsys.readouterr().err


def test_websocket_transport(port: int) -> None:
    assert run(websocket_transport.main("127.0.0.1", port)) == b"through a WebSocket"


def test_a_websocket_carries_much_and_ends_as_tcp_does(port: int) -> None:
    async def main() -> None:
        async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers.append(writer)
            await websocket_transport.relay(reader, writer, "127.0.0.1", port)

        before = asyncio.all_tasks()
        writers: list[asyncio.StreamWriter] = []
        listener = await asyncio.start_server(serve_one, "127.0.0.1", 0)
        through = websocket_transport.connector("127.0.0.1", listener.sockets[0].getsockname()[1])
        async with listener:
            connection = await connect("amqp://guest:guest@localhost", connector=through)
            ch = await connection.open_channel()
            await ch.call(QueueDeclare(queue="q", durable=True))
            for _ in range(50):
                await ch.publish(bytes(100_000), routing_key="q")
            count = 0
            async for delivery in ch.consume("q", no_ack=True, buffer=3):
                assert len(delivery.body) == 100_000
                count += 1
                if count == 50:
                    break
            waiting = asyncio.ensure_future(ch.call(QueueDeclare(queue="other", durable=True)))
            writers[0].transport.abort()
            with pytest.raises(EndpointClosed, match="transport lost"):
                await waiting
            await connection.close()
            await ended(before)

    run(main())


def test_no_websocket_there() -> None:
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        writer.close()
        await writer.wait_closed()

    async def main() -> None:
        async with await asyncio.start_server(refuse, "127.0.0.1", 0) as server:
            there = server.sockets[0].getsockname()[1]
            with pytest.raises(ConnectionError, match="no WebSocket"):
                await connect("amqp://localhost", connector=websocket_transport.connector("127.0.0.1", there))

    run(main())


def test_recording_proxy(port: int, tmp_path: Path) -> None:
    path = tmp_path / "proxy.pcapng"

    async def main() -> None:
        with Recorder(path) as recorder:
            proxy = recording_proxy.Proxy(recorder, "127.0.0.1", port)
            server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
            before = asyncio.all_tasks()
            url = f"amqp://guest:guest@127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with server:
                for _ in range(2):
                    async with connect(url) as connection:
                        ch = await connection.open_channel()
                        await ch.call(QueueDeclare(queue="proxied", durable=True))
                await ended(before)

    run(main())
    segments = [each for each in read_segments(path.read_bytes()) if isinstance(each, Segment)]
    assert len({segment.flow for segment in segments}) == 2
    payload = b"".join([segment.payload for segment in segments])
    assert payload.count(b"AMQP\0\0\x09\x01") == 2
    assert b"guest" not in payload
    assert b"proxied" in payload


def test_a_proxy_without_a_server_behind_it(tmp_path: Path) -> None:
    async def main() -> None:
        with Recorder(tmp_path / "none.pcapng") as recorder:
            proxy = recording_proxy.Proxy(recorder, "127.0.0.1", 1)
            server = await asyncio.start_server(proxy.handle, "127.0.0.1", 0)
            url = f"amqp://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            async with server:
                with pytest.raises(EndpointClosed):
                    await connect(url)

    run(main())


@pytest.mark.parametrize("through", [(), ("-m", "tests.kit.like_windows")], ids=["here", "like Windows"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_server_runs_as_a_program(through: tuple[str, ...], number: signal.Signals) -> None:
    command = [sys.executable, *through, str(ROOT / "examples" / "server.py")]
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'adapters' / 'asyncio'}"}
    with running(command, stdout=subprocess.PIPE, env=paths) as process:
        assert process.stdout is not None
        url = process.stdout.readline().decode().strip()

        async def main() -> None:
            async with connect(url) as connection:
                ch = await connection.open_channel()
                assert (await ch.call(QueueDeclare(queue="q", durable=True))).queue == "q"

        run(main())
        process.send_signal(number)
        assert (process.wait(LIMIT), process.stdout.read()) == (0, b"bye\n")


def test_the_proxy_runs_as_a_program_and_ends_while_a_client_is_there(port: int, tmp_path: Path) -> None:
    path = tmp_path / "proxy.pcapng"
    command = [sys.executable, "-m", "tests.kit.like_windows", str(ROOT / "examples" / "recording_proxy.py")]
    paths = {"PYTHONPATH": f"{ROOT}:{ROOT / 'adapters' / 'asyncio'}"}
    with running([*command, "0", f"127.0.0.1:{port}", path], stdout=subprocess.PIPE, env=paths) as process:
        assert process.stdout is not None
        where = process.stdout.readline().decode().split()[-1]

        async def main() -> None:
            connection = await connect(f"amqp://guest:guest@{where}")
            process.send_signal(signal.SIGINT)
            await connection.wait_closed()

        run(main())
        assert (process.wait(LIMIT), process.stdout.read()) == (0, f"recorded {path}\n".encode())
    assert any(isinstance(each, Segment) and each.payload for each in read_segments(path.read_bytes()))


@pytest.mark.parametrize("loop", ["trio", "twisted"])
def test_clients_of_other_event_loops(port: int, loop: str) -> None:
    command = [sys.executable, "-m", f"examples.{loop}_client", f"amqp://guest:guest@127.0.0.1:{port}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT, check=True)
    assert done.stdout.count("sent: Accepted()") == 3
    assert [f"received: message {number}" in done.stdout for number in range(3)] == [True] * 3
