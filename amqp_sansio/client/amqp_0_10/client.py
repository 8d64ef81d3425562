"""Client: routes the events of a 0-10 client to its sessions and subscriptions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from ...amqp_0_10 import (
    CommandReceived,
    Completed,
    Connection,
    CreditChanged,
    MessageBegun,
    MessageReceived,
    Resumed,
    SessionClosed,
)
from ...errors import Scope, SessionEnded
from ...events import (
    Abandoned,
    Again,
    Closed,
    CloseReport,
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
from ...versions import AMQP_0_10, Version
from ..driving import offer
from ..recovery import Recovered
from .publishing import Published, Republish
from .restoring import Restoring
from .routes import RoutesClient, session_ended


class Client(RoutesClient):
    """A client of 0-10, below a driver."""

    def __init__(self, core: Connection) -> None:
        super().__init__(core)
        # The steps that attach lost sessions again, until they are done; those of a connection that was lost meanwhile
        # are over. None before.
        self.restoring: Restoring | None = None

    @property
    def version(self) -> Version:
        return AMQP_0_10

    @property
    def channel_count(self) -> int:
        return len(self.sessions)

    def connection_lost(self, reason: str, now: float) -> None:
        # Accepted messages belong to a session's state for resuming.
        self.before_sending()
        super().connection_lost(reason, now)

    def next_event(self) -> Event | Signal:
        """Route events until one is left that nobody asked for, or there are no more."""
        if self.collected:
            # The octets may end a session; its accepted messages must be recorded before.
            self.before_sending()
        next_event = self.core.next_event
        sessions = self.sessions
        while True:
            event = next_event()
            if type(event) is MessageReceived:
                state = sessions.get(event.channel)
                if state is not None:
                    self.metrics.delivered += 1
                    state.message_received(event)
            elif type(event) is Settled:
                if type(event.state) is not Completed:
                    self.metrics.outcome(event.state, len(event.pendings))
                for pending in event.pendings:
                    again: Published | Again | None = pending.again
                    if again is not None:
                        pending.again = None
                        if isinstance(again, tuple):
                            self.kept -= len(again[0].body)
                        else:
                            again.answered(pending)
                    if self._late:
                        self._answered(pending)
                    elif pending.waiters is not None:
                        self.done(pending)
            elif isinstance(event, Signal):
                return event
            else:
                route = self._ROUTES.get(type(event))
                if route is not None:
                    route(self, event)
                elif not self._offered(event):
                    return event

    def done(self, pending: Pending[Any]) -> None:
        waiters = pending.waiters
        if waiters and type(waiters[0]) is Pending:
            # A call of the core: each caller waits for a pending of its own, see SessionRoutes.awaiting.
            pending.waiters = None
            for each in waiters:
                if not each.done:
                    each.complete(None)
                    super().done(each)
        else:
            super().done(pending)

    def before_sending(self) -> None:
        states, self.collected = self.collected, []
        for state in states:
            state.say_accepted()

    def end_parts(self, report: CloseReport) -> None:
        for state in dict.fromkeys([*self.sessions.values(), *self.lost_sessions]):
            self.end_session(state, session_ended(state.core.name, report), None)
        self.sessions.clear()
        self.lost_sessions.clear()

    def _republish(self, published: Published) -> Again:
        return Republish(published)

    def on_lost(self) -> None:
        if self.restoring is not None:
            self.restoring.is_over = True
        self.collected.clear()
        known = [*dict.fromkeys([*self.lost_sessions, *self.sessions.values()])]
        self.sessions.clear()
        self.lost_sessions = [each for each in known if each.lost()]

    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None:
        self.restoring = None
        lost, self.lost_sessions = self.lost_sessions, []
        super().restoring_done(event)
        for state in lost:
            state.turns.credit_changed("")

    # Internals.

    def _offered(self, event: Event) -> bool:
        state = self.sessions.get(getattr(event, "channel", -1))
        return offer(state.streams if state is not None else self.streams, event)

    def _opened(self, event: Opened) -> None:
        self._note(event)
        if event.scope is Scope.CONNECTION:
            if self.restored is None or self.recovery is None:
                self.complete(self.opened)
                return
            self.recovery.opened()
            self.restoring = Restoring(self)
            self.restoring.next()
        elif event.pending is not None:
            self._answered(event.pending)

    def _resumed(self, event: Resumed) -> None:
        self.note(f"session {event.channel} resumed")
        state = self.sessions.get(event.channel)
        if state is not None:
            state.resumed(event)
        if event.pending is not None:
            self._answered(event.pending)

    def _replied(self, event: Replied) -> None:
        self._answered(event.pending)

    def _failed(self, event: Failed) -> None:
        if event.scope is not Scope.SESSION:
            self.keeps()
            self._gives_up(event)
            return
        state = self.sessions.get(event.channel)
        if state is not None and self.restoring is not None and self.restoring.session is state:
            report = state.core.report
            assert report is not None
            error = session_ended(state.core.name, report)
            error.__cause__ = event.error
            self._lost_again(event.pendings, error)
            return
        report = None if state is None else state.core.report
        if state is not None and report is not None:
            state.failed(report, event.error)
        self._failed_all(event.pendings, event.error)

    def _lost_again(self, pendings: tuple[Pending[Any], ...], error: SessionEnded) -> None:
        """Let the calls of a session that isn't resumed wait for the next one of its name, or fail."""
        for pending in pendings:
            again = None if pending.again is None else self.take_again(pending)
            if again is not None and again.lost(pending):
                continue
            pending.fail(error)
            if again is not None:
                again.failed(pending)
            self._late.pop(pending, None)
            self.done(pending)

    def _abandoned(self, event: Abandoned) -> None:
        self.keeps()
        self._failed_all(event.pendings, self._failures.get(0))

    def _session_closed(self, event: SessionClosed) -> None:
        kept = ", it can be resumed" if event.resumable else ""
        self.note(f"session {event.channel} closed: {event.report}{kept}")
        self.keeps()
        state = self.sessions.pop(event.channel, None)
        if state is not None and self.restoring is not None and self.restoring.session is state:
            self.restoring.session_ended(event.report)
        elif state is not None:
            self.end_session(state, session_ended(event.name, event.report, event.resumable), self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        self._note(event)
        self._over(event.report, self._failures.get(0))

    def _credit_changed(self, event: CreditChanged) -> None:
        state = self.sessions.get(event.channel)
        if state is not None:
            state.turns.credit_changed(event.destination)
        self._offered(event)

    def _command_received(self, event: CommandReceived | MessageBegun) -> None:
        state = self.sessions.get(event.channel)
        if state is not None:
            state.command_received(event)

    def _nothing(self, event: Event) -> None:
        """Ignore an event: who publishes looks at the backlog."""

    _ROUTES: ClassVar[dict[type[Event], Callable[[Client, Any], object]]] = {
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
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


__all__ = ["Client"]
