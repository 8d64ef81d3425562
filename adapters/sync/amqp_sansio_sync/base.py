"""The common part of connections of every version: waiting for answers, events, the report, the end."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from amqp_sansio import Abandoned, By, CloseReport, EndpointClosed, Event, Failed, Opened, Pending, Replied, Scope

from .feed import EventStream, Feed, Streams
from .handlers import aside, interrupts_itself
from .wire import Engine, Wire

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from amqp_sansio.uri import AmqpUri

    from .transport import Transport

_C = TypeVar("_C", bound=Engine)
_E = TypeVar("_E", bound=Event)


class BaseConnection(ABC, Generic[_C]):
    """A connection of any version, returned by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends heartbeats and checks the server's. `close` it, or leave its
    context, which also raises a failure of the connection or a part of it that no call has raised and no `report` has
    shown.
    """

    __slots__ = ("__weakref__", "_closing", "hooks", "streams", "uri", "wire")

    def __init__(self, core: _C, transport: Transport, uri: AmqpUri) -> None:
        self.wire = Wire(core, transport, self._dispatch, self._interval)
        self.uri = uri
        self.hooks: dict[Pending[Any], Callable[[Any], object]] = {}
        self.streams: Streams = []
        self._closing = False

    @property
    def core(self) -> _C:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        return self.wire.core

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self.wire.core.is_open and not self.wire.ended

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.wire.core.report
        if report is not None:
            self.wire.seen(report)
        return report

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return events of the connection as a whole, such as Blocked of 0-9-1; only `kinds`, if given."""
        feed: Feed[Any] = Feed(self.wire, limit, True)
        with self.wire.lock:
            if self.wire.ended:
                feed.finish(self.wire.closed())
            self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams, timeout)

    @abstractmethod
    def close(self) -> CloseReport:
        """Close with a handshake; return how it ended. On a closed connection this does nothing.

        In a signal handler that interrupts a call of this package it doesn't wait: the interrupted call raises the end.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        unseen, self.wire.unseen = list(self.wire.unseen.values()), {}
        if unseen and error is None:
            raise unseen[0]

    def __repr__(self) -> str:
        report = self.wire.core.report
        state = "open" if self.is_open else f"closed: {report}" if report else "closing"
        return f"<Connection to {self.uri}, {state}>"

    # For its parts.

    def finish(
        self, handle: Pending[Any], timeout: float | None, what: str, late: Callable[[Any], object] | None = None
    ) -> Any:
        """Wait for a handle and return its result. `late` takes a result after a timeout."""
        if not handle.done:
            try:
                self.wire.wait(lambda: handle.done, timeout, what)
            except BaseException:
                if late is not None and not self.wire.ended:
                    self.wire.run(lambda: self._when_late(handle, late))
                raise
        error = handle.error
        if error is not None:
            if isinstance(error, EndpointClosed):
                self.wire.seen(error.report)
            raise copy.copy(error)
        return handle.result

    def expect(self, handle: Pending[Any], hook: Callable[[Any], object]) -> None:
        """Call `hook` with the result of a handle, before the next event is taken. The lock is held."""
        self.hooks[handle] = hook

    # Internals.

    def _close(self, command: Callable[[], object], what: str, timeout: float | None) -> CloseReport:
        if interrupts_itself():
            return aside(what, lambda: self._close(command, what, timeout))
        wire = self.wire
        seconds = wire.core.config.close_timeout if timeout is None else timeout
        # Deliveries aren't taken any more, and mustn't delay the close.
        self._closing = True
        try:
            # Either the connection has ended by itself meanwhile, or the server is too slow: stop it in both cases.
            with suppress(EndpointClosed, TimeoutError):
                if not wire.ended:
                    wire.run(command)
                    wire.wait(lambda: wire.ended, seconds, what)
        finally:
            wire.stop("the close was not answered in time")
        report = wire.core.report
        if report is None:
            return CloseReport(By.LOCAL, 0, str(wire.closed()))
        return report

    def _when_late(self, handle: Pending[Any], late: Callable[[Any], object]) -> None:
        if not handle.done:
            self.hooks[handle] = late
        elif handle.error is None:
            late(handle.result)

    def _answered(self, event: Replied | Opened) -> None:
        """Handle the answer of a call; the lock is held."""
        hook = self.hooks.pop(event.handle, None) if self.hooks and event.handle else None
        if hook is not None and event.handle is not None and event.handle.error is None:
            # If the channel or link is gone, so is the work to be done there.
            with suppress(EndpointClosed):
                hook(event.handle.result)

    def _unanswered(self, event: Failed | Abandoned) -> None:
        """Handle calls that ended without an answer; the lock is held."""
        for handle in event.handles if self.hooks else ():
            self.hooks.pop(handle, None)

    def _all_over(self, report: CloseReport) -> EndpointClosed:
        """Handle the end of the connection, or this end's giving it up; return the error. The lock is held."""
        error = EndpointClosed(f"the connection is closed: {report}", report)
        if report.by is By.TRANSPORT:
            self.wire.unseen[0] = error
        for _, stream in self.streams:
            stream.finish(copy.copy(error))
        self.hooks.clear()
        return error

    def _gives_up(self, event: Failed) -> bool:
        """Whether this end gives the connection up, with everything on it. The lock is held."""
        report = self.wire.core.failure
        if event.scope is not Scope.CONNECTION or report is None:
            return False
        self.wire.unseen[0] = self._all_over(report)
        return True

    @abstractmethod
    def _dispatch(self, event: Event) -> None:
        """Dispatch an event; the lock is held."""

    @abstractmethod
    def _interval(self) -> float:
        """Seconds within which the keeper must look; 0: any."""


__all__ = ["BaseConnection"]
