"""The driver of a 1.0 client: dispatches each event to its session or link."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar

from amqp_sansio.amqp_1_0 import (
    Connection,
    CreditChanged,
    Delivery,
    Drained,
    LinkClosed,
    LinkFailed,
    LinkOpened,
    LinkRequested,
    Resumed,
    SessionRequested,
    Symbol,
    Updated,
)
from amqp_sansio.amqp_1_0.codec.conditions import NOT_IMPLEMENTED
from amqp_sansio.endpoint import CloseHint
from amqp_sansio.errors import AmqpError, EndpointClosed, LinkEnded, Scope
from amqp_sansio.events import (
    Abandoned,
    Closed,
    CloseReport,
    Event,
    Failed,
    Handle,
    Opened,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)

from ..waiting import WaitingDriver

if TYPE_CHECKING:
    from ..recording import Recorder
    from .link import Link
    from .receiver import Receiver
    from .session import Session

_R = TypeVar("_R")

_REFUSAL: Final = Symbol("amqp:connection-establishment-failed")


class OneZeroDriver(WaitingDriver[Connection]):
    """The driver of a 1.0 client connection.

    `told` has the receiver's states of unsettled deliveries, by the key of their handles; `accepting` has the receivers
    with deliveries to accept before the next octets are sent.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: Connection, recorder: Recorder | None = None
    ) -> None:
        super().__init__(loop, core, recorder)
        self.sessions: dict[int, Session] = {}
        self.told: dict[object, object] = {}
        self.accepting: list[Receiver] = []
        self._failure: AmqpError | None = None

    # Events.

    def take_events(self) -> None:
        next_event = self.core.next_event
        sessions = self.sessions
        waiting = self.waiting
        told = self.told
        hooks = self.hooks
        while True:
            event = next_event()
            if type(event) is Delivery:
                receiver = sessions[event.channel].receivers.get(event.link)
                if receiver is None:
                    self._publicise(event)
                    continue
                feed = receiver.feed
                feed.items.append(event)
                if feed.waiters:
                    feed.wake()
            elif type(event) is Settled:
                state = event.state
                for handle in event.handles:
                    if told:
                        told.pop(handle.key, None)
                    if hooks and handle.key in hooks:
                        hooks.pop(handle.key)(handle)
                    future = waiting.pop(handle.key, None)
                    if future is not None and not future.done():
                        future.set_result(state)
            elif isinstance(event, Signal):
                if not (self._held and self.feed_held()):
                    return
            else:
                handler = self._handlers.get(type(event))
                if handler is not None:
                    handler(self, event)
                else:
                    self._publicise(event)

    def closed_at_once(self) -> bool:
        """Whether a close came immediately after the open, 1.0's only form of refusal."""
        return self.core.report is not None or self.core.close_hint is not CloseHint.KEEP

    def write(self) -> None:
        try:
            if self.accepting:
                self.say_accepted()
        finally:
            super().write()

    def say_accepted(self) -> None:
        """Queue the dispositions for deliveries accepted since the last octets were sent."""
        receivers, self.accepting = self.accepting, []
        for receiver in receivers:
            receiver.say_accepted()

    # Waiting.

    # Internals.

    def _publicise(self, event: Event) -> None:
        """Give an event to the streams of its session or of the connection that want it."""
        session = self.sessions.get(getattr(event, "channel", -1))
        self.offer(session.streams if session is not None else self.streams, event)

    def _link(self, event: Any) -> Link[Any] | None:
        session = self.sessions.get(event.channel)
        return None if session is None else session.links.get(event.link)

    def _opened(self, event: Opened) -> None:
        if event.handle is not None:
            self.succeed(event.handle)
        elif event.scope is Scope.CONNECTION and not (self.opened.done() or self._is_refusal()):
            self.opened.set_result(None)

    def _is_refusal(self) -> bool:
        """Whether the peer's open announces a close, as brokers do."""
        remote = self.core.peer_open
        return remote is not None and _REFUSAL in (remote.properties or {})

    def _replied(self, event: Replied) -> None:
        self.succeed(event.handle)

    def _failed(self, event: Failed) -> None:
        report = _report_of(event)
        if event.scope is Scope.SESSION:
            session = self.sessions.get(event.channel)
            if session is not None:
                report = session.report or report
                session.failed(report, event.error)
        else:
            self._failure = event.error
            self.over(self.core.failure, event.error)
        self._fail_all(event.handles, report, event.error)

    def _link_failed(self, event: LinkFailed) -> None:
        link = self._link(event)
        report = (link.report if link is not None else None) or _report_of(event)
        if link is not None:
            link.end_with(report, event.error)
        self._fail_all(event.handles, report, event.error)

    def _abandoned(self, event: Abandoned) -> None:
        self._fail_all(event.handles, event.report, self._failure)

    def _link_closed(self, event: LinkClosed) -> None:
        session = self.sessions.get(event.channel)
        if session is not None:
            session.link_closed(event, self._failure)

    def _closed(self, event: Closed) -> None:
        if event.scope is Scope.SESSION:
            session = self.sessions.pop(event.channel, None)
            if session is not None:
                session.closed(event.report, self._failure)
        else:
            self.over(event.report, self._failure)

    def _session_requested(self, event: SessionRequested) -> None:
        if not self.offer(self.streams, event):
            text = "nobody here takes sessions of the peer"
            self.core.session(event.channel).refuse(NOT_IMPLEMENTED, text)

    def _link_requested(self, event: LinkRequested) -> None:
        session = self.sessions.get(event.channel)
        if session is None or not self.offer(session.streams, event):
            text = "nobody here takes links of the peer"
            self.core.session(event.channel).link(event.link).refuse_attach(NOT_IMPLEMENTED, text)

    def _credit_changed(self, event: CreditChanged) -> None:
        link = self._link(event)
        if link is not None:
            link.credit_changed(event)
        self._publicise(event)

    def _drained(self, event: Drained) -> None:
        link = self._link(event)
        if link is not None:
            link.drained()
        self._publicise(event)

    def _updated(self, event: Updated) -> None:
        for handle in event.handles:
            if not handle.done:
                self.told[handle.key] = event.state

    def _resumed(self, event: Resumed) -> None:
        link = self._link(event)
        if link is not None:
            link.resumed(event)
        self._publicise(event)

    def _nothing(self, event: Event) -> None:
        """Ignore backlog events: the driver checks the backlog when it writes."""

    def _fail_all(
        self, handles: tuple[Handle[object], ...], report: CloseReport, cause: AmqpError | None
    ) -> None:
        """Fail calls that failed with their link or session."""
        for handle in handles:
            self.told.pop(handle.key, None)
            hook = self.hooks.pop(handle.key, None)
            if hook is not None:
                hook(handle)
            future = self.waiting.pop(handle.key, None)
            if future is not None and not future.done():
                error = error_of(handle, report)
                error.__cause__ = cause
                future.set_exception(error)

    _handlers: ClassVar[dict[type[Event], Callable[[OneZeroDriver, Any], None]]] = {
        Opened: _opened,
        LinkOpened: _opened,
        Replied: _replied,
        Failed: _failed,
        LinkFailed: _link_failed,
        Abandoned: _abandoned,
        LinkClosed: _link_closed,
        Closed: _closed,
        SessionRequested: _session_requested,
        LinkRequested: _link_requested,
        CreditChanged: _credit_changed,
        Drained: _drained,
        Updated: _updated,
        Resumed: _resumed,
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


def error_of(handle: Handle[Any], report: CloseReport) -> EndpointClosed:
    """Return the exception for a call that fails because its link or session ended."""
    name = handle.key[0]
    if isinstance(name, str):
        return LinkEnded(f"link {name!r}: {report}", report, name)
    return EndpointClosed(f"session {name}: {report}", report)


def _report_of(event: Failed) -> CloseReport:
    error = event.error
    condition = str(getattr(error, "condition", ""))
    return CloseReport(event.by, 0, str(error), condition=condition)


__all__ = ["OneZeroDriver", "error_of"]
