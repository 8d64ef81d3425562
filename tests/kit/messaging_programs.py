"""Runs the programs of tests/messaging: the same on every version, in each world that has an adapter."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from typing import Any

from amqp_sansio import LinkEnded, Version
from amqp_sansio.messaging import Connection
from amqp_sansio_asyncio import messaging as for_asyncio
from tests.kit.scripted import ScriptedBroker
from tests.kit.worlds import World

Program = Callable[[Connection], Coroutine[Any, Any, None]]


class Runner:
    """Runs programs over a connection of one version to a broker, in a world."""

    def __init__(self, world: World, broker: ScriptedBroker, version: Version) -> None:
        self.world = world
        self.broker = broker
        self.version = version
        self.url = f"{broker.url}?version={version.label}"

    def __call__(self, program: Program, **options: Any) -> None:
        async def whole() -> None:
            async with self.world.connect_any(self.url, **options) as connection:
                assert connection.version is self.version
                await program(connection)

        self.world.run(whole())

    def bodies(self, queue: str = "jobs") -> list[bytes]:
        """The bodies of the messages in a queue."""
        return self.broker.bodies(queue)

    @contextmanager
    def echo(self) -> Generator[None]:
        """A service on the queue rpc, which answers each request with its body twice."""

        async def serve() -> None:
            # The requester's queue may go before the link to it is closed, of which the context tells then.
            with suppress(LinkEnded):
                async with for_asyncio.connect(self.url) as connection, connection.receiver("/queues/rpc") as receiver:
                    await _answer(connection, receiver)

        with self.world.beside(serve):
            self.broker.wait_for(lambda broker: broker.queue("rpc").consumers, timeout=20)
            yield


async def _answer(connection: Connection, receiver: Any) -> None:
    async for delivery in receiver:
        message = delivery.message
        await delivery.accept()
        assert message.reply_to is not None
        async with connection.sender(message.reply_to) as sender:
            await sender.send(message.reply(2 * message.body))


__all__ = ["Program", "Runner"]
