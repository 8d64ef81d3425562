"""The programs of these tests run on every version and adapter: blocking objects are shown as awaitable ones."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest

from amqp_sansio import LinkEnded, Version
from amqp_sansio.messaging import Connection
from amqp_sansio_asyncio import messaging as for_asyncio
from amqp_sansio_pytest import EmbeddedBroker
from tests.kit.asyncio_loops import run
from tests.kit.worlds import AsyncioWorld, SyncWorld

ADAPTERS: dict[str, Callable[..., Any]] = {each.name: each.connect_any for each in (AsyncioWorld(), SyncWorld())}
Program = Callable[[Connection], Coroutine[Any, Any, None]]


class Runner:
    """Runs programs over a connection of one version and adapter to an embedded broker."""

    def __init__(self, broker: EmbeddedBroker, version: Version, adapter: str) -> None:
        self.broker = broker
        self.version = version
        self.url = f"{broker.url}?version={version.label}"
        self.connect = ADAPTERS[adapter]

    def __call__(self, program: Program, **options: Any) -> None:
        async def whole() -> None:
            async with self.connect(self.url, **options) as connection:
                assert connection.version is self.version
                await program(connection)

        run(whole())

    def bodies(self, queue: str = "jobs") -> list[bytes]:
        """The bodies of the messages in a queue."""
        return [each.body for each in self.broker.messages(queue)]


@pytest.fixture(params=list(Version), ids=lambda each: each.label)
def version(request: pytest.FixtureRequest) -> Version:
    """Each version."""
    found: Version = request.param
    return found


@pytest.fixture
def broker() -> Iterator[EmbeddedBroker]:
    """A broker with two queues."""
    with EmbeddedBroker(definitions={"queues": ["jobs", "rpc"]}, clock="real") as found:
        yield found


@pytest.fixture(params=list(ADAPTERS))
def runner(request: pytest.FixtureRequest, broker: EmbeddedBroker, version: Version) -> Runner:
    """Runs programs on each version and adapter."""
    return Runner(broker, version, request.param)


@pytest.fixture
def echo(runner: Runner) -> Iterator[None]:
    """A service on the queue rpc, which answers each request with its body twice."""
    ready = threading.Event()
    stops: list[Callable[[], object]] = []

    async def serve() -> None:
        stopped = asyncio.Event()
        loop = asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stopped.set))
        # The requester's queue may go before the link to it is closed, of which the context tells then.
        with suppress(LinkEnded):
            async with for_asyncio.connect(runner.url) as connection, connection.receiver("/queues/rpc") as receiver:
                ready.set()
                answering = asyncio.create_task(_answer(connection, receiver))
                await stopped.wait()
                answering.cancel()
                await asyncio.wait([answering])

    thread = threading.Thread(target=lambda: run(serve()))
    thread.start()
    assert ready.wait(10)
    yield
    stops[0]()
    thread.join()


async def _answer(connection: Connection, receiver: Any) -> None:
    async for delivery in receiver:
        message = delivery.message
        await delivery.accept()
        assert message.reply_to is not None
        async with connection.sender(message.reply_to) as sender:
            await sender.send(message.reply(2 * message.body))
