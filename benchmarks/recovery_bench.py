"""The cost of recovery: confirmed publishes of each adapter and version with it (`ours`) and without (`peer`).

Both connections are one process's, to the project's broker in another; they publish in turn.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path
from typing import Any, Final

import amqp_sansio_asyncio
import amqp_sansio_sync
from amqp_sansio import amqp_0_10, amqp_1_0
from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_1_0 import Target
from benchmarks.asyncio_client import BODY, WINDOW, cpu
from benchmarks.measure import Case, case_of
from tests.interop.brokers.embedded import run_embedded

GOAL: Final = 0.9
EXCHANGE: Final = "amq.fanout"
ADAPTERS: Final = ("asyncio", "sync")
VERSIONS: Final = ("0-9-1", "0-10", "1.0")
MESSAGES: Final[dict[str, Any]] = {
    "0-9-1": BasicProperties(content_type="text/plain", delivery_mode=1),
    "0-10": amqp_0_10.Message(BODY, content_type="text/plain"),
    "1.0": amqp_1_0.Message(BODY),
}


def publish_by(opened: Any, version: str) -> Callable[[], Any]:
    """Return a function that publishes once on a channel, session or sender, and returns its outcome to come."""
    message = MESSAGES[version]
    if version == "0-9-1":
        return lambda: opened.publish(BODY, exchange=EXCHANGE, routing_key="key", properties=message, wait=False)
    if version == "0-10":
        return lambda: opened.publish(message, EXCHANGE, "key", wait=False)
    return lambda: opened.send(message, wait=False)


async def with_asyncio(url: str, version: str, rounds: int) -> list[list[float]]:
    """Return the CPU seconds of each round, with recovery and without."""
    async with AsyncExitStack() as stack:
        ways: list[Callable[[], Awaitable[Any]]] = []
        for recover in (True, False):
            opening: Any = amqp_sansio_asyncio.connect(url, version=version, recover=recover)
            opened: Any = await stack.enter_async_context(opening)
            if version == "0-9-1":
                opened = await opened.open_channel(confirm=True)
            else:
                opened = await opened.open_session()
            if version == "1.0":
                opened = await opened.open_sender(Target(f"/exchanges/{EXCHANGE}/key"))
            ways.append(publish_by(opened, version))
        found: list[list[float]] = []
        for _ in range(rounds):
            found.append([])
            for publish in ways:
                start = cpu()
                for each in [await publish() for _ in range(WINDOW)]:
                    await each
                found[-1].append(cpu() - start)
        return found


def with_sync(url: str, version: str, rounds: int) -> list[list[float]]:
    """Do the same with the blocking adapter."""
    with ExitStack() as stack:
        ways: list[Callable[[], Any]] = []
        for recover in (True, False):
            opened: Any = stack.enter_context(amqp_sansio_sync.connect(url, version=version, recover=recover))
            opened = opened.open_channel(confirm=True) if version == "0-9-1" else opened.open_session()
            if version == "1.0":
                opened = opened.open_sender(Target(f"/exchanges/{EXCHANGE}/key"))
            ways.append(publish_by(opened, version))
        found: list[list[float]] = []
        for _ in range(rounds):
            found.append([])
            for publish in ways:
                start = cpu()
                for each in [publish() for _ in range(WINDOW)]:
                    each.result()
                found[-1].append(cpu() - start)
        return found


def cases(rounds: int = 20) -> list[Case]:
    """Run each adapter and version; seconds for 100k messages."""
    results: list[Case] = []
    with tempfile.TemporaryDirectory() as folder, run_embedded(Path(folder)) as broker:
        with amqp_sansio_sync.connect(broker.url) as connection:
            channel = connection.open_channel()
            # A queue that keeps one message: each is accepted, and the broker stays small.
            channel.declare_queue("bench", arguments={"x-max-length": 1}, durable=True)
            channel.bind_queue("bench", EXCHANGE)
        for adapter in ADAPTERS:
            for version in VERSIONS:
                command = [sys.executable, "-m", "benchmarks.recovery_bench", adapter, version, broker.url]
                output = subprocess.run([*command, str(rounds + 1)], check=True, capture_output=True, text=True).stdout
                pairs: list[list[float]] = json.loads(output)[1:]
                results.append(
                    case_of(
                        f"{adapter} {version} confirm, recovering, vs plain",
                        pairs,
                        "s CPU/100k",
                        GOAL,
                        100_000 / WINDOW,
                    )
                )
    return results


def main() -> None:
    """Arguments: adapter, version, url, rounds."""
    adapter, version, url, rounds = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    found = asyncio.run(with_asyncio(url, version, rounds)) if adapter == "asyncio" else with_sync(url, version, rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
