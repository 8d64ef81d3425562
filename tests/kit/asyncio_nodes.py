"""A small 1.0 broker for the adapter's tests: queues by address, dynamic nodes, transactions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from amqp_sansio import AMQP_1_0
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.events import Event
from amqp_sansio_asyncio import Receiver, Sender, Server, Session, connect, serve
from amqp_sansio_asyncio.amqp_1_0 import Connection, ServerConnection
from tests.kit.asyncio_broker import url_of
from tests.kit.server_1_0 import Node, Serving, Unsettled


class _Client(Serving):
    """One client of the broker."""

    def __init__(self, server: Nodes, connection: ServerConnection) -> None:
        super().__init__(server, connection.core)
        self.connection = connection

    def changed(self, address: str) -> None:
        self.pump(address)
        if self.connection.is_open:
            self.connection.flush()


class Nodes(Node):
    """Queues that are made when they are first named; "nowhere" doesn't exist. `seen` are all events."""

    def __init__(self, credit: int = 100) -> None:
        super().__init__(credit)
        self.refused.add("nowhere")
        self.keeping = False
        self.seen: list[Event] = []
        self.connections: list[ServerConnection] = []
        self._clients: list[_Client] = []

    @property
    def serving(self) -> Iterable[Serving]:
        """The connections."""
        return self._clients

    @property
    def consumers(self) -> list[CoreSender]:
        """The links on which the broker sends."""
        links = [link for client in self._clients for link in client.links.values()]
        return [link for link in links if isinstance(link, CoreSender)]

    @property
    def sent(self) -> list[Unsettled]:
        """The messages that clients haven't settled."""
        return [each for client in self._clients for each in client.unsettled.values()]

    async def handle(self, connection: ServerConnection) -> None:
        """Serve one client."""
        client = _Client(self, connection)
        self.connections.append(connection)
        self._clients.append(client)
        async for event in connection:
            self.seen.append(event)
            client.handle(event)
            await connection.drain()


@asynccontextmanager
async def nodes(credit: int = 100, **options: Any) -> AsyncGenerator[tuple[Server, Nodes]]:
    """The broker, listening."""
    made = Nodes(credit)
    async with serve(made.handle, version=AMQP_1_0, **options) as server:
        yield server, made


@asynccontextmanager
async def peer(credit: int = 100, **options: Any) -> AsyncGenerator[tuple[Connection, Nodes]]:
    """A client of a broker of its own."""
    async with nodes(credit) as (server, made):
        opening = connect(url_of(server), version=AMQP_1_0, **options)
        async with opening as connection:
            yield connection, made


def core_link(made: Nodes, kind: type[CoreSender] | type[CoreReceiver]) -> CoreSender | CoreReceiver:
    """The server's end of the last link of that kind."""
    core = made.connections[-1].core
    found = [link for number in core.sessions for link in core.session(number).links if isinstance(link, kind)]
    return found[-1]


async def opened(session: Session, name: str = "jobs") -> tuple[Sender, Receiver]:
    """A sender and a receiver with manual credit on one node."""
    sender = await session.open_sender(name)
    return sender, await session.open_receiver(name, credit=0)


__all__ = ["Nodes", "core_link", "nodes", "opened", "peer"]
