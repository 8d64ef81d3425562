"""The driver of a 0-10 client: dispatches each event to its session."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from amqp_sansio.amqp_0_10 import (
    BodyAborted,
    BodyReceived,
    CommandReceived,
    Connection,
    CreditChanged,
    MessageBegun,
    MessageReceived,
    Resumed,
    SessionClosed,
)
from amqp_sansio.errors import AmqpError, Scope, SessionEnded
from amqp_sansio.events import (
    Abandoned,
    Closed,
    Event,
    Failed,
    Opened,
    Pending,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)

from ..waiting import WaitingDriver
from .ends import again, session_ended

if TYPE_CHECKING:
    from ..recording import Recorder
    from .session import ZeroTenSession

_R = TypeVar("_R")


class ZeroTenDriver(WaitingDriver[Connection]):
    """The driver of a 0-10 client connection.

    `accepting` has the sessions with messages to accept before the next octets are sent.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: Connection, recorder: Recorder | None = None
    ) -> None:
        super().__init__(loop, core, recorder)
        self.sessions: dict[int, ZeroTenSession] = {}
        self.accepting: list[ZeroTenSession] = []
        self._failure: AmqpError | None = None

    # Events.

    def take_events(self) -> None:
        if self.accepting:
            # The octets may end a session; its accepted messages must be recorded before.
            self.say_accepted()
        next_event = self.core.next_event
        sessions = self.sessions
        while True:
            event = next_event()
            if type(event) is MessageReceived:
                session = sessions.get(event.channel)
                if session is not None:
                    session.message_received(event)
            elif type(event) is Settled:
                for handle in event.handles:
                    self.succeed(handle)
            elif isinstance(event, Signal):
                if not (self._held and self.feed_held()):
                    return
            else:
                handler = self._handlers.get(type(event))
                if handler is not None:
                    handler(self, event)
                else:
                    self._publicise(event)

    def connection_lost(self, exc: Exception | None) -> None:
        # Accepted messages belong to a session's state for resuming.
        self.say_accepted()
        super().connection_lost(exc)

    def write(self) -> None:
        try:
            if self.accepting:
                self.say_accepted()
        finally:
            super().write()

    def say_accepted(self) -> None:
        """Send the acceptances collected since the last octets were sent."""
        sessions, self.accepting = self.accepting, []
        for session in sessions:
            session.say_accepted()

    # Waiting.

    def give_up(self, handles: tuple[Pending[Any], ...], error: SessionEnded) -> None:
        """Fail calls that won't be answered on this connection."""
        for handle in handles:
            self.hooks.pop(handle.key, None)
            future = self.waiting.pop(handle.key, None)
            if future is not None and not future.done():
                future.set_exception(again(error))

    # Internals.

    def _publicise(self, event: Event) -> None:
        """Give an event to the streams of its session or of the connection that want it."""
        session = self.sessions.get(getattr(event, "channel", -1))
        self.offer(session.streams if session is not None else self.streams, event)

    def _opened(self, event: Opened) -> None:
        if event.scope is Scope.CONNECTION:
            if not self.opened.done():
                self.opened.set_result(None)
        elif event.handle is not None:
            self.succeed(event.handle)

    def _resumed(self, event: Resumed) -> None:
        session = self.sessions.get(event.channel)
        if session is not None:
            session.resumed(event)
        self._opened(event)

    def _replied(self, event: Replied) -> None:
        self.succeed(event.handle)

    def _failed(self, event: Failed) -> None:
        if event.scope is not Scope.SESSION:
            self._failure = event.error
            self.over(self.core.failure, event.error)
            return
        session = self.sessions.get(event.channel)
        report = None if session is None else session.core.report
        if session is None or report is None:
            self.fail(event.handles, event.error)
            return
        resumable = session.failed(report, event.error)
        error = session_ended(session.name, report, resumable)
        self._fail_all(event.handles, error, event.error)

    def _abandoned(self, event: Abandoned) -> None:
        name = event.handles[0].key[0] if event.handles else b""
        for session in self.sessions.values():
            if session.name == name:
                error = session_ended(session.name, event.report)
                self._fail_all(event.handles, error, self._failure)
                return
        self.fail(event.handles, self._failure)

    def _fail_all(
        self,
        handles: tuple[Pending[object], ...],
        error: SessionEnded,
        cause: AmqpError | None,
    ) -> None:
        """Fail calls that failed with their session."""
        error.__cause__ = cause
        for handle in handles:
            hook = self.hooks.pop(handle.key, None)
            if hook is not None:
                hook(handle)
            future = self.waiting.pop(handle.key, None)
            if future is not None and not future.done():
                future.set_exception(again(error))

    def _session_closed(self, event: SessionClosed) -> None:
        session = self.sessions.pop(event.channel, None)
        if session is not None:
            session.closed(event, self._failure)

    def _closed(self, event: Closed) -> None:
        self.over(event.report, self._failure)

    def _credit_changed(self, event: CreditChanged) -> None:
        session = self.sessions.get(event.channel)
        if session is not None:
            session.publisher.credit_changed(event.destination)
        self._publicise(event)

    def _command_received(self, event: CommandReceived | MessageBegun) -> None:
        session = self.sessions.get(event.channel)
        if session is not None:
            session.command_received(event)

    def _nothing(self, event: Event) -> None:
        """Ignore backlog events: the driver checks the backlog when it writes."""

    _handlers: ClassVar[dict[type[Event], Callable[[ZeroTenDriver, Any], None]]] = {
        Opened: _opened,
        Resumed: _resumed,
        Replied: _replied,
        Failed: _failed,
        Abandoned: _abandoned,
        SessionClosed: _session_closed,
        Closed: _closed,
        CreditChanged: _credit_changed,
        CommandReceived: _command_received,
        MessageBegun: _command_received,
        BodyReceived: _publicise,
        BodyAborted: _publicise,
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


__all__ = ["ZeroTenDriver"]
