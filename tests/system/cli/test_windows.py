"""The commands in a process that lacks what Windows lacks: signals end them, and nothing of Unix is missed."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from amqp_sansio.amqp_0_9_1.spec import QueueDeclare
from amqp_sansio_sync import connect
from tests.kit.captures import named
from tests.kit.processes import LIMIT
from tests.system.cli.conftest import Running

LIKE_WINDOWS = ("-m", "tests.kit.like_windows")

Start = Callable[..., Running]


def pass_a_message(url: str) -> None:
    with connect(url) as connection, connection.open_channel() as channel:
        channel.call(QueueDeclare(queue="jobs", durable=True))
        channel.publish(b"hello", routing_key="jobs", mandatory=True)
        delivery = channel.get("jobs", no_ack=True)
        assert delivery is not None and delivery.body == b"hello"


def command(environment: Mapping[str, str], *arguments: str | Path) -> subprocess.CompletedProcess[bytes]:
    words = [sys.executable, *LIKE_WINDOWS, "-m", "amqp_sansio_cli", *map(str, arguments)]
    return subprocess.run(words, env=environment, capture_output=True, timeout=LIMIT, check=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_with_a_page_and_a_proxy_in_front_of_it(
    start: Start, cli_environment: Mapping[str, str], tmp_path: Path, number: signal.Signals
) -> None:
    recorded, proxied = tmp_path / "broker.pcapng", tmp_path / "proxy.pcapng"
    options = ("--listen", "127.0.0.1:0", "--page", "127.0.0.1:0", "--record", recorded)
    broker = start("broker", *options, through=LIKE_WINDOWS)
    where = ("--listen", "127.0.0.1:0", "--upstream", broker.address, "--output", proxied)
    proxy = start("record", *where, through=LIKE_WINDOWS)
    pass_a_message(proxy.url())
    assert "1 connections" in proxy.stop(number)
    said = broker.stop(number)
    # The proxy is gone; whether the broker has seen the end of its connection is up to the machine.
    assert re.search(rf"listening on {broker.address};.*\n.*stopped; (0 connections|1 connection) closed", said), said
    for path in (recorded, proxied):
        done = command(cli_environment, "replay", path, "--table", "messages")
        rows = [json.loads(line) for line in done.stdout.splitlines()]
        assert sorted(row["kind"] for row in rows) == ["get", "publish"], done.stderr


def test_a_page_is_served(start: Start) -> None:
    broker = start("broker", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0", through=LIKE_WINDOWS)
    assert broker.process.stderr is not None
    url = broker.process.stderr.readline().decode().split()[-1]
    with urllib.request.urlopen(url, timeout=LIMIT) as answer:
        assert b"jobs" not in answer.read()
    broker.stop(signal.SIGINT)


def test_clients_in_both_adapters_and_their_programs(start: Start, tmp_path: Path) -> None:
    """A blocking client waits without poll, and asyncio without readers of its own."""
    broker = start("broker", "--listen", "127.0.0.1:0", through=LIKE_WINDOWS)
    program = tmp_path / "program.py"
    program.write_text(
        f"""
import asyncio
from amqp_sansio_asyncio import connect
from amqp_sansio_sync import connect as connect_blocking

async def main():
    async with connect({broker.url()!r}) as connection, connection.open_channel(confirm=True) as channel:
        await channel.declare_queue("jobs", durable=True)
        await channel.publish(b"hello", routing_key="jobs")

asyncio.run(main())
with connect_blocking({broker.url()!r}) as connection, connection.open_channel() as channel:
    consumer = channel.consume("jobs")
    delivery = next(consumer)
    delivery.accept()
    print(delivery.text)
"""
    )
    done = subprocess.run(
        [sys.executable, *LIKE_WINDOWS, program], capture_output=True, text=True, timeout=LIMIT, check=False
    )
    assert (done.stdout, done.stderr) == ("hello\n", "")
    broker.stop()


@pytest.mark.parametrize(
    "arguments",
    [
        ["replay"],
        ["replay", "--table", "histories", "--format", "csv"],
        ["lint"],
        ["state", "--at", "+0.5"],
        ["report", "--format", "text"],
    ],
    ids=lambda words: words[0],
)
def test_what_reads_captures_says_the_same(
    cli_environment: Mapping[str, str], capfdbinary: pytest.CaptureFixture[bytes], arguments: list[str]
) -> None:
    from amqp_sansio_cli.main import main

    words = [*arguments, str(named("o091_pika_basic.pcap"))]
    done = command({**cli_environment, "COLUMNS": "120"}, *words)
    assert done.returncode == main(words)
    here = capfdbinary.readouterr()
    assert (done.stdout, done.stderr) == (here.out, here.err)
    assert done.stdout or done.stderr


def test_the_process_lacks_what_it_should() -> None:
    program = """
import asyncio, select, signal, socket, os
async def main():
    try:
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, print)
    except NotImplementedError:
        print(hasattr(os, "fork"), hasattr(select, "poll"), hasattr(socket, "AF_UNIX"), hasattr(signal, "SIGHUP"))
asyncio.run(main())
try:
    import fcntl
except ImportError:
    print("no fcntl")
"""
    path = f"import sys, runpy; from tests.kit.like_windows import take_away; take_away(); exec({program!r})"
    done = subprocess.run([sys.executable, "-c", path], capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.stdout, done.stderr) == ("False False False False\nno fcntl\n", "")


def test_loops_here_have_what_is_taken_away() -> None:
    """Else the test above proves nothing."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, print)
        loop.remove_signal_handler(signal.SIGTERM)

    asyncio.run(main())
    assert hasattr(os, "fork")
