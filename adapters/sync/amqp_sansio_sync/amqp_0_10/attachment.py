"""Attachment: a session on its channel: dispatches its events, and handles its end (0-10 class 2)."""

from __future__ import annotations

import copy
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar, overload

from amqp_sansio import AmqpError, CloseReport, EndpointClosed, Event, Pending, SessionEnded
from amqp_sansio.amqp_0_10 import CommandReceived, ExecutionError, MessageReceived, SessionClosed, Struct
from amqp_sansio.amqp_0_10 import Session as CoreSession

from ..feed import EventStream, Feed, Streams, publicise
from .feed import SubscriptionFeed

if TYPE_CHECKING:
    from .connection import ZeroTenConnection

_T = TypeVar("_T")
_E = TypeVar("_E", bound=Event)

_NOT_IMPLEMENTED: Final = 540


class Attachment:
    """The part of a session that every other part needs, with its events."""

    __slots__ = ("_connection", "_feeds", "_streams", "core", "ended", "error", "wire")

    def __init__(self, connection: ZeroTenConnection, core: CoreSession) -> None:
        self._connection = connection
        self.wire = connection.wire
        self.core = core
        self.ended = False
        self.error: SessionEnded | None = None
        self._feeds: dict[str, SubscriptionFeed] = {}
        self._streams: Streams = []

    @property
    def name(self) -> bytes:
        """Its name, unique among the user's sessions."""
        return self.core.name

    @property
    def channel(self) -> int:
        """Its number on the connection."""
        return self.core.channel

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return not self.ended and self.core.report is None and self.wire.core.is_open

    @property
    def timeout(self) -> int | None:
        """Seconds for which it is kept when it is detached, as granted by the server; None: forever."""
        return self.core.timeout

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.core.report
        if report is not None:
            self.wire.seen(report)
        return report

    # Commands of the server.

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return the session's other events, such as CreditChanged and CommandReceived; only `kinds`, if given.

        Answer each CommandReceived, and each MessageReceived without a subscription, with `complete` or `fail`.

        >>> def example(session: ZeroTenSession) -> int | None:
        ...     with session.events(CreditChanged, timeout=5) as events:
        ...         return next(events).messages
        """
        feed: Feed[Any] = Feed(self.wire, limit, True)
        with self.wire.lock:
            if self.ended:
                feed.finish(self.gone())
            self._streams.append((kinds or (Event,), feed))
        return EventStream(feed, self._streams, timeout)

    def complete(self, command_id: int, result: Struct | None = None) -> None:
        """Complete a command of the server, with its result if it has one (execution.result)."""
        self.post(self.core.complete, command_id, result)

    def fail(self, error: ExecutionError, command_id: int | None = None) -> None:
        """Refuse a command of the server, which ends the session (execution.exception)."""
        self.post(self.core.fail, error, command_id)

    # For the other parts of the adapter.

    def post(self, command: Callable[..., _T], *arguments: Any) -> _T:
        """Carry out one command of the engine; octets that the socket doesn't take at once are sent later."""
        try:
            return self.wire.post(False, command, *arguments)
        except EndpointClosed as error:
            if self.error is None and self.core.report is None:
                raise  # The session or connection is closing: the engine's error has the details.
            raise self.gone() from error

    def finish(
        self, handle: Pending[Any], timeout: float | None, what: str, late: Callable[[Any], object] | None = None
    ) -> Any:
        """Wait for a handle and return its result. `late` takes a result after a timeout."""
        return self._connection.answer(self, handle, timeout, what, late)

    def expect_cancel(self, handle: Pending[object], destination: str) -> None:
        """End a subscription when its cancel is executed. The lock is held."""

        def gone(_: object) -> None:
            feed = self._feeds.pop(destination, None)
            if feed is not None:
                feed.finish(None)

        self._connection.expect(handle, gone)

    def expect_stop(self, handle: Pending[None], feed: SubscriptionFeed) -> None:
        """Stop a subscription's feed when its stop is executed. The lock is held."""
        self._connection.expect(handle, lambda _: feed.stopped(handle))

    def closed(self, report: CloseReport, *, resumable: bool = False) -> SessionEnded:
        """Return the error for the end of the session."""
        text = f"session {self._shown} is closed: {report}"
        if resumable:
            text = f"session {self._shown} is detached: {report}; it can be resumed, see detached_state()"
        return SessionEnded(text, report, self.core.name, resumable)

    def gone(self) -> EndpointClosed:
        """Return the error of a call on an ended session."""
        error, report = self.error, self.core.report
        if error is None:
            if report is None:
                return self.wire.closed()
            error = self.closed(report)
        self.wire.seen(error.report)
        return copy.copy(error)

    # Events; the lock is held.

    def deliver(self, event: MessageReceived) -> None:
        """Handle a message."""
        feed = self._feeds.get(event.destination)
        if feed is None:
            if publicise(self._streams, event):
                return
            # Its subscription doesn't exist yet.
            feed = self._feed(event.destination)
        feed.put(event)

    def resumed(self, incomplete: tuple[Event, ...]) -> None:
        """Continue the session; the server's incomplete commands are reported again."""
        for event in incomplete:
            if isinstance(event, MessageReceived):
                self._feed(event.destination).put(event)
            else:
                self.take(event)

    def take(self, event: Event) -> None:
        """Handle any other event that doesn't end a call."""
        if not publicise(self._streams, event) and isinstance(event, CommandReceived):
            text = f"nobody here takes {event.command.NAME}"
            # If the session has ended meanwhile, there is nothing to refuse.
            with suppress(AmqpError):
                self.core.fail(ExecutionError(_NOT_IMPLEMENTED, text), event.command_id)

    def end(self, event: SessionClosed) -> None:
        """Handle the detach of the session."""
        self.ended = True
        self.no_more(self.closed(event.report, resumable=event.resumable))

    def no_more(self, error: SessionEnded) -> None:
        """End all events of the session."""
        self.error = error
        for feed in self._feeds.values():
            feed.session_ended(error, error.resumable)
        self._feeds.clear()
        for _, stream in self._streams:
            stream.finish(copy.copy(error))

    # Internals.

    @property
    def _shown(self) -> str:
        return repr(self.core.name.decode(errors="backslashreplace"))

    def _feed(self, destination: str) -> SubscriptionFeed:
        feed = self._feeds.get(destination)
        if feed is None:
            feed = self._feeds[destination] = SubscriptionFeed(self, destination)
        return feed


__all__ = ["Attachment"]
