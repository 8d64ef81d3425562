"""The server's end of one connection: an async iterator over what the client asks, and the core's
channels to answer with.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
from amqp_sansio.amqp_0_9_1 import Method, Table
from amqp_sansio.errors import Scope
from amqp_sansio.events import Closed, CloseReport, Event, Signal

from .driver import FLUSH_OCTETS, Core, Driver

if TYPE_CHECKING:
    from .recording import RecordedConnection


_TURN: Final = 256
"""Events taken in a row before other tasks get their turn."""


class ServerDriver(Driver):
    """A server connection's driver: events stay in the core until the application takes them.

    What isn't taken isn't parsed; when the core's buffer is full the transport is paused. While the
    connection is being closed the driver takes events itself, for the handshake to end also when
    the application has stopped listening.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: Core, tap: RecordedConnection | None
    ) -> None:
        super().__init__(loop, core)
        self.tap = tap
        self.closing = False
        self.backlog: deque[Event] = deque()
        self.finished = False
        self._taken = 0
        self._waiter: asyncio.Future[None] | None = None
        self._drained: asyncio.Event = asyncio.Event()
        self._drained.set()

    def take_events(self) -> None:
        if self.closing:
            while (event := self.take()) is not None:
                self.backlog.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> Event | None:
        """The next event of the core, or None."""
        while True:
            event = self.core.next_event()
            if not isinstance(event, Signal):
                if type(event) is Closed and event.scope is Scope.CONNECTION:
                    self.finished = True
                return event
            if not (self._held and self.feed_held()):
                return None

    async def next(self) -> Event | None:
        """The next event, waited for; None when there will be none."""
        if self._waiter is not None:
            raise RuntimeError(
                "two tasks iterate one ServerConnection; let one share out the events"
            )
        while True:
            self._taken += 1
            if self._taken >= _TURN:
                self._taken = 0
                await asyncio.sleep(0)
            if self.backlog:
                return self.backlog.popleft()
            event = self.take() if not self.finished else None
            if event is not None:
                self.schedule_flush()
                return event
            self.settle()
            if self.finished:
                return None
            self._taken = 0
            self._waiter = self.loop.create_future()
            try:
                await self._waiter
            finally:
                self._waiter = None

    def close(self, code: int, text: str, cause: Method | None = None) -> None:
        """Close the connection; from now on the driver takes the events."""
        self.core.close(code, text, cause)
        self.closing = True
        self.start_closing()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closing = True
        super().connection_lost(exc)
        self._drained.set()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._drained.clear()

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.write_paused:
            self._drained.set()

    async def drain(self) -> None:
        """Write what is queued, at the end of the turn or when it's much; wait for a full transport."""
        if self.core.send_backlog >= FLUSH_OCTETS:
            self.flush()
        else:
            self.schedule_flush()
        if not self._drained.is_set():
            await self._drained.wait()


class ServerConnection:
    """A client that has logged in and opened its virtual host, as the server sees it.

    `async for event in connection` takes the client's events one by one: Opened (a channel),
    Request, Published, MethodReceived, Settled, FlowChanged and so on, in the end Closed. Answer on
    `connection.channel(event.channel)`, with `reply`, `deliver`, `confirm` or `close`; what is
    queued is written when the next event is asked for, or by `flush`. Events that aren't taken stay
    unread, up to `Limits.unparsed` octets, then in the socket.
    """

    def __init__(self, driver: ServerDriver) -> None:
        self._driver: Final = driver
        self.user = ""

    @property
    def core(self) -> Core:
        """The connection of the core, with all its commands."""
        return self._driver.core

    @property
    def vhost(self) -> str:
        """The virtual host that the client opened."""
        return self._driver.core.vhost

    @property
    def mechanism(self) -> str:
        """The SASL mechanism with which the client logged in."""
        return self._driver.core.mechanism

    @property
    def peer_properties(self) -> Table:
        """What the client says of itself."""
        return self._driver.core.peer_properties

    @property
    def peername(self) -> object:
        """The client's socket address."""
        return self._extra("peername")

    @property
    def peer_certificate(self) -> Mapping[str, object] | None:
        """The client's certificate, as `ssl.SSLSocket.getpeercert` has it; None when there is none."""
        certificate = self._extra("peercert")
        return cast("Mapping[str, object]", certificate) if isinstance(certificate, dict) else None

    @property
    def is_open(self) -> bool:
        """Whether the client can be answered."""
        return self._driver.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._driver.core.report

    def channel(self, number: int) -> CoreChannel:
        """The client's channel `number`. Raises EndpointClosed when it isn't open."""
        return self._driver.core.channel(number)

    def send(self, method: Method) -> None:
        """Send a connection method that has no reply, such as ConnectionBlocked."""
        self._driver.core.send(method)
        self._driver.schedule_flush()

    def reply(self, method: Method) -> None:
        """Answer a request of the connection class."""
        self._driver.core.reply(method)
        self._driver.schedule_flush()

    def flush(self) -> None:
        """Write what is queued, at the end of this turn of the event loop."""
        self._driver.schedule_flush()

    async def drain(self) -> None:
        """Write what is queued; wait while the client reads too slowly."""
        await self._driver.drain()

    async def close(
        self,
        code: int = 320,
        text: str = "CONNECTION_FORCED - closed by the server",
        cause: Method | None = None,
    ) -> CloseReport:
        """Close with a handshake that takes `close_timeout` seconds at most; says how the
        connection ended.
        """
        self._driver.close(code, text, cause)
        return await self.wait_closed()

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended and its transport is closed."""
        await self._driver.wait_lost()
        report = self._driver.core.report
        assert report is not None
        return report

    def __aiter__(self) -> ServerConnection:
        return self

    async def __anext__(self) -> Event:
        event = await self._driver.next()
        if event is None:
            raise StopAsyncIteration
        return event

    def _extra(self, name: str) -> object:
        transport = self._driver.transport
        return transport.get_extra_info(name) if transport is not None else None

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}"
        return f"<ServerConnection of {self.user!r} on {self.vhost!r}, {state}>"


__all__ = ["ServerConnection", "ServerDriver"]
