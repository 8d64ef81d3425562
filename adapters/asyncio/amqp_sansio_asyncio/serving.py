"""A server's connections of every version: events stay in the core until the application takes them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Generic, Self, TypeVar, cast

from amqp_sansio.errors import Scope
from amqp_sansio.events import Closed, CloseReport, Event, Signal

from .driver import FLUSH_OCTETS, CoreT, Driver

if TYPE_CHECKING:
    from amqp_sansio.websocket import WebSocketStream

    from .recording import RecordedConnection

_TURN: Final = 256
"""Most events taken in succession before other tasks run."""


class ServingDriver(Driver[CoreT]):
    """A server connection's driver: events stay in the core until the application takes them.

    Events that aren't taken aren't parsed; when the core's buffer is full the transport is paused. While the connection
    is being closed the driver takes events itself, so that the handshake ends even if the application has stopped
    listening.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, core: CoreT, tap: RecordedConnection | None) -> None:
        super().__init__(loop, core)
        self.tap = tap
        """Takes the octets of both sides for a recording."""
        self.closing = False
        """Whether this end closes the connection: events are taken here then."""
        self.backlog: deque[Event] = deque()
        """Events that were taken here and that the application may still have."""
        self.finished = False
        """Whether the last event has been taken."""
        self._taken = 0
        """Events in a row without a pause: after so many others have their turn."""
        self._given: Event | None = None
        """The event that the application has now; it takes the next one when it is through."""
        self._waiter: asyncio.Future[None] | None = None
        """The application's wait for an event."""
        self._drained: asyncio.Event = asyncio.Event()
        """Set while the transport's buffer isn't full."""
        self._drained.set()

    def take_events(self) -> None:
        if self.closing:
            while (event := self.take()) is not None:
                self.backlog.append(event)
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def take(self) -> Event | None:
        """Return the core's next event, or None."""
        while True:
            event = self.core.next_event()
            if not isinstance(event, Signal):
                if type(event) is Closed and event.scope is Scope.CONNECTION:
                    self.finished = True
                return event
            if not (self._held and self.feed_held()):
                return None

    async def next(self) -> Event | None:
        """Wait for the next event; None at the end. A request that the event before was, and that isn't answered, is
        refused."""
        if self._waiter is not None:
            raise RuntimeError("two tasks iterate one ServerConnection; let one of them dispatch the events")
        given, self._given = self._given, None
        if given is not None and self.core.is_open:
            name = self.refuse_unanswered(given)
            if name:
                self.warn(f"{name} isn't answered by the handler, it's refused; `later` lets a request wait")
        self._given = await self._next()
        return self._given

    def later(self, event: Event) -> None:
        """Let a request wait for an answer that comes behind the next event."""
        if self._given is event:
            self._given = None

    def refuse_unanswered(self, event: Event) -> str:
        """Refuse what the application hasn't answered; return what it is, "" if nothing has to be answered."""
        raise AssertionError("a driver has a version")

    async def _next(self) -> Event | None:
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

    def force_close(self, text: str) -> None:
        """Close the connection on behalf of the server."""
        raise AssertionError("a driver has a version")

    def fail(self) -> None:
        """Close the connection because of a server error."""
        raise AssertionError("a driver has a version")

    def handler_ended(self) -> None:
        """Note that the transport is closed, and the application takes no more events."""

    def vhost_of(self, asked: str) -> str:
        """Return the virtual host that an opening asks for."""
        return asked

    def refuse_vhost(self, name: str) -> None:
        """Answer an opening of an unknown virtual host."""
        raise AssertionError("a driver has a version")

    def now_closing(self) -> None:
        """Take the events from now on, after the core's `close`."""
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
        """Write queued octets, at the end of the turn or if there are many; wait for a full transport."""
        if self.core.send_backlog >= FLUSH_OCTETS:
            self.flush()
        else:
            self.schedule_flush()
        if not self._drained.is_set():
            await self._drained.wait()


_D = TypeVar("_D", bound=ServingDriver[Any])


class ServedConnection(Generic[_D]):
    """The common part of a server's clients in every version: address, events, end."""

    def __init__(self, driver: _D) -> None:
        self._driver: Final = driver
        """Moves its octets."""
        self.user = ""
        """Who has logged in."""

    @property
    def peername(self) -> object:
        """The client's socket address."""
        return self._extra("peername")

    @property
    def peer_certificate(self) -> Mapping[str, object] | None:
        """The client's certificate, as given by `ssl.SSLSocket.getpeercert`; None if there is none."""
        certificate = self._extra("peercert")
        return cast("Mapping[str, object]", certificate) if isinstance(certificate, dict) else None

    @property
    def websocket(self) -> WebSocketStream | None:
        """The WebSocket that the connection is inside, with its `path` and `subprotocol`; None without one."""
        stream: WebSocketStream | None = self._driver.websocket
        return stream

    @property
    def is_open(self) -> bool:
        """Whether the client can be answered."""
        is_open: bool = self._driver.core.is_open
        return is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report: CloseReport | None = self._driver.core.report
        return report

    def later(self, event: Event) -> None:
        """Let a request of the client wait for its answer. Without this, one that isn't answered when the next event is
        requested is refused as not implemented.
        """
        self._driver.later(event)

    def flush(self) -> None:
        """Write queued octets at the end of this turn of the event loop."""
        self._driver.schedule_flush()

    async def drain(self) -> None:
        """Write queued octets; wait while the client reads too slowly."""
        await self._driver.drain()

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended and its transport is closed."""
        await self._driver.wait_lost()
        report = self.report
        assert report is not None
        return report

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Event:
        event = await self._driver.next()
        if event is None:
            raise StopAsyncIteration
        return event

    def _extra(self, name: str) -> object:
        transport = self._driver.transport
        return transport.get_extra_info(name) if transport is not None else None


__all__ = ["ServedConnection", "ServingDriver"]
