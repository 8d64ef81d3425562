"""Servers for the asyncio tests: the example's broker, and servers that misbehave as they are told."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from itertools import chain
from typing import Any, Final

from amqp_sansio.amqp_0_9_1 import Request
from amqp_sansio.amqp_0_9_1.spec import Method, QueueDeclare
from amqp_sansio.client.amqp_1_0.client import Client
from amqp_sansio.client.classic.client import ChannelState
from amqp_sansio.events import Event
from amqp_sansio_asyncio import Channel, Connection, Server, ServerConnection, connect, serve
from amqp_sansio_asyncio.driver import Driver
from amqp_sansio_asyncio.simulated import SimulatedLoop
from examples.server import Broker

IDLE_TURNS: Final = 10
"""Turns of an event loop without a step of the world after which nobody has anything to do before time passes."""


def url_of(server: Server, rest: str = "", user: str = "guest:guest@") -> str:
    """Where the server is; `rest` is the path and query."""
    return f"amqp://{user}127.0.0.1:{server.port}{rest}"


@asynccontextmanager
async def broker(**options: Any) -> AsyncGenerator[tuple[Server, Broker]]:
    """The example's broker, listening."""
    made = Broker()
    async with serve(made.handle, **options) as server:
        yield server, made


@asynccontextmanager
async def client(
    handler: Callable[[ServerConnection], Awaitable[object]], **options: Any
) -> AsyncGenerator[Connection]:
    """A client of a server with that handler."""
    async with serve(handler) as server, connect(url_of(server), **options) as connection:
        yield connection


@asynccontextmanager
async def channel(**options: Any) -> AsyncGenerator[Channel]:
    """A channel to the example's broker."""
    async with (
        broker() as (server, _),
        connect(url_of(server)) as connection,
        connection.open_channel(**options) as opened,
    ):
        yield opened


def scripted(
    answers: Callable[[ServerConnection, Event], Awaitable[object] | None],
) -> Callable[[ServerConnection], Awaitable[object]]:
    """A handler that calls `answers` for each event, and writes what that queued; requests may stay without answer."""

    async def handle(connection: ServerConnection) -> None:
        async for event in connection:
            connection.later(event)
            waiting = answers(connection, event)
            if waiting is not None:
                await waiting
            connection.flush()

    return handle


def asks(event: Event, kind: type[Method]) -> bool:
    """Whether the event is a request of that kind."""
    return isinstance(event, Request) and isinstance(event.method, kind)


def driver_of(connection: Any) -> Driver[Any]:
    """The driver below a client's or a server's connection, or a client's session."""
    client = getattr(connection, "_client", None)
    driver: Driver[Any] = connection._driver if client is None else client.driver
    return driver


def stop_reading(connection: Any, stopped: bool = True) -> None:
    """Let a client leave its octets in the socket."""
    transport = driver_of(connection).transport
    assert transport is not None
    if stopped:
        transport.pause_reading()
    else:
        transport.resume_reading()


def client_of(connection: Any) -> Any:
    """The pure client below a user's connection, session or channel."""
    return connection._client


def state_of(channel: Channel) -> ChannelState:
    """The routes of a client's channel."""
    return channel._state  # pyright: ignore[reportPrivateUsage]


def left_in(client: Client) -> list[object]:
    """Everything of sessions, calls and timers that a client of 1.0 still keeps."""
    waiting, late = client._waiting, client._late  # pyright: ignore[reportPrivateUsage]
    timers = [each for each in client._deadlines if not each[2].done]  # pyright: ignore[reportPrivateUsage]
    bounded, gate = client._bounded, client._gate  # pyright: ignore[reportPrivateUsage]
    kept: tuple[Iterable[object], ...] = (waiting.values(), late, timers, bounded, gate, client.told)
    return [*chain(*kept, client.sessions, client.accepting, client.draining)]


async def connect_small(factory: Callable[[], asyncio.Protocol], port: int) -> object:
    """Connect a transport whose kernel buffers are small; in a simulated world as large as that world's lines."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, SimulatedLoop):
        return await loop.create_connection(factory, "127.0.0.1", port)
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 32768)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
    sock.setblocking(False)
    await loop.sock_connect(sock, ("127.0.0.1", port))
    return await loop.create_connection(factory, sock=sock)


def hog(seconds: float) -> None:
    """Let time pass in which the event loop does nothing else."""
    loop = asyncio.get_running_loop()
    if isinstance(loop, SimulatedLoop):
        loop.process.world.now += seconds
    else:
        time.sleep(seconds)


async def until(condition: Callable[[], object], seconds: float = 60) -> None:
    """Let the event loop turn until something is so; raises TimeoutError if it isn't after that many seconds.

    In a simulated world it is looked at after each step, and time passes when nobody has anything to do.
    """
    loop = asyncio.get_running_loop()
    idle = 0
    async with asyncio.timeout(seconds):
        while not condition():
            idle = idle + 1 if isinstance(loop, SimulatedLoop) and not loop.process.world.is_busy else 0
            is_turning = isinstance(loop, SimulatedLoop) and idle < IDLE_TURNS
            await asyncio.sleep(0 if is_turning else 0.001)


async def fill(target: Channel, queue: str, bodies: list[bytes]) -> None:
    """Put messages into a queue; they are there when this returns."""
    for body in bodies:
        await target.publish(body, routing_key=queue)
    await target.call(QueueDeclare(queue=queue, durable=True))


__all__ = [
    "asks",
    "broker",
    "channel",
    "client",
    "client_of",
    "connect_small",
    "driver_of",
    "fill",
    "hog",
    "left_in",
    "scripted",
    "state_of",
    "stop_reading",
    "until",
    "url_of",
]
