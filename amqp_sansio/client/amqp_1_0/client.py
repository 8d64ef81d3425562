"""Client: routes the events of a client of 1.0 to its sessions and links (1.0 part 2 sections 2.4 to 2.7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Final

from ...amqp_1_0 import (
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
from ...amqp_1_0.codec.conditions import NOT_IMPLEMENTED
from ...endpoint import CloseHint
from ...errors import AmqpError, EndpointClosed, LinkEnded, Scope
from ...events import (
    Abandoned,
    Closed,
    CloseReport,
    Event,
    Failed,
    Info,
    Opened,
    Pending,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)
from ...versions import AMQP_1_0, Version
from ..driving import offer
from ..recovery import Recovered
from .links import LinkClient, LinkRoutes, SessionState
from .restoring import Restoring
from .returning import bring_back

_REFUSAL: Final = Symbol("amqp:connection-establishment-failed")


class Client(LinkClient):
    """A client of 1.0, below a driver.

    With recovery, `restoring` begins sessions and attaches links again, under the container-id of the first connection.
    """

    def __init__(self, core: Connection, prefix: str) -> None:
        super().__init__(core, prefix)
        # The steps that begin lost sessions again; None while nothing is lost.
        self.restoring: Restoring | None = None
        self._container_id = core.config.container_id
        self._is_opening = False

    def reconnect(self, core: Connection, seconds: float | None = None) -> None:
        # The peer knows links by the container, which each configuration of an adapter names anew.
        config = core.config
        fields: dict[str, Any] = {name: getattr(config, name) for name in config.__match_args__}
        fields["container_id"] = self._container_id
        super().reconnect(Connection.client(type(config)(**fields)), seconds)

    @property
    def version(self) -> Version:
        return AMQP_1_0

    def next_event(self) -> Event | Signal:
        """Route events until one is left that nobody asked for, or there are no more."""
        next_event = self.core.next_event
        sessions = self.sessions
        told = self.told
        late = self._late
        metrics = self.metrics
        while True:
            event = next_event()
            if type(event) is Delivery:
                session = sessions.get(event.channel)
                inbox = session.inboxes.get(event.link) if session is not None else None
                if inbox is not None:
                    metrics.delivered += 1
                    inbox.items.append(event)
                    if inbox.sleepers:
                        inbox.wake()
                    if inbox.counted:
                        inbox.count(event)
                elif not self._offered(event):
                    return event
            elif type(event) is Settled:
                if event.pendings[0].key[1] == "out":
                    metrics.outcome(event.state, len(event.pendings))
                for pending in event.pendings:
                    if told:
                        told.pop(pending.key, None)
                    if late:
                        self._answered(pending)
                    elif pending.waiters is not None:
                        self.done(pending)
            elif isinstance(event, Signal):
                if self._is_opening:
                    self._opened_or_refused()
                return event
            else:
                route = self._ROUTES.get(type(event))
                if route is not None:
                    route(self, event)
                elif not self._offered(event):
                    return event

    @property
    def channel_count(self) -> int:
        return len(self.sessions)

    def before_sending(self) -> None:
        if self.accepting:
            self.say_accepted()
        if self.draining:
            self.draining = [sender for sender in self.draining if not sender.answer_drain()]

    def end_parts(self, report: CloseReport) -> None:
        for state in [*self.sessions.values(), *self.lost_sessions]:
            state.close(report, None)
        self.sessions.clear()
        self.lost_sessions.clear()

    def on_lost(self) -> None:
        if self.restoring is not None:
            self.restoring.is_over = True
        self.restoring = None
        self._is_opening = False
        self.accepting.clear()
        self.draining.clear()
        if self.claims is not None:
            self.claims.lost()
        known = [*dict.fromkeys([*self.lost_sessions, *self.sessions.values()])]
        self.sessions.clear()
        for returning in [returning for each in known for returning in each.returning]:
            returning.cancel()
        self.lost_sessions = [each for each in known if each.lost()]

    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None:
        self.restoring = None
        self.lost_sessions.clear()
        super().restoring_done(event)

    # Internals.

    def _offered(self, event: Event) -> bool:
        """Give an event to the streams of its session or of the connection that want it; return whether any did."""
        session = self.sessions.get(getattr(event, "channel", -1))
        return offer(session.streams if session is not None else self.streams, event)

    def _link(self, event: Any) -> LinkRoutes[Any] | None:
        session = self.sessions.get(event.channel)
        return None if session is None else session.links.get(event.link)

    def _opened(self, event: Opened) -> None:
        self._note(event)
        if event.pending is not None:
            self._answered(event.pending)
        elif event.scope is Scope.CONNECTION:
            # 1.0 has no other form of refusal than a close right behind the open (part 2 section 2.4.3).
            self._is_opening = True

    def _opened_or_refused(self) -> None:
        """Tell that the connection is open, unless the peer's open announces a close, or a close came with it."""
        self._is_opening = False
        core, remote = self.core, self.core.peer_open
        is_refusal = remote is not None and _REFUSAL in (remote.properties or {})
        if core.report is None and core.close_hint is CloseHint.KEEP and not is_refusal:
            if self.restored is None or self.recovery is None:
                self.complete(self.opened)
                return
            self.recovery.opened()
            if self.claims is None:
                self._restore()
            else:
                self.claims.restore(self._restore)

    def _restore(self) -> None:
        """Begin to open again what was open on the lost connection."""
        self.restoring = Restoring(self)
        self.restoring.next()

    def _replied(self, event: Replied) -> None:
        self._answered(event.pending)

    def _failed(self, event: Failed) -> None:
        report = _report_of(event)
        if event.scope is Scope.SESSION:
            state = self.sessions.get(event.channel)
            if state is not None and (self._is_restored(state) or self._is_returning(state, None)):
                state.lost()
            elif state is not None and bring_back(state, None, state.core.report or report):
                pass  # Its calls wait for that, its links too.
            elif state is not None:
                report = state.core.report or report
                state.failure = event.error
                state.end(report, event.error)
                if state.error is not None and not state.is_own and not _is_refused(state.core.opening):
                    self.unseen[event.channel, None] = state.error
        else:
            self._failures.setdefault(0, event.error)
            if self.core.failure is not None:
                self._over(self.core.failure, event.error)
        self._fail_with(event.pendings, report, event.error)

    def _link_failed(self, event: LinkFailed) -> None:
        link = self._link(event)
        report = _report_of(event)
        is_returning = link is not None and self._is_returning(link.session, link)
        if link is not None and not is_returning and bring_back(link.session, link, link.core.report or report):
            is_returning = True
        if link is not None and not is_returning and not self._is_restored(link):
            report = link.core.report or report
            link.end(report, event.error)
            if link.error is not None and not link.session.is_own and not _is_refused(link.core.opening):
                self.unseen[event.channel, event.link] = link.error
        self._fail_with(event.pendings, report, event.error)

    def _is_restored(self, part: object) -> bool:
        """Whether a link or session is the one that is being restored now."""
        restoring = self.restoring
        return restoring is not None and part in (restoring.link, restoring.session)

    def _is_returning(self, session: SessionState, link: LinkRoutes[Any] | None) -> bool:
        """Whether a link, or with None a session, is being opened again in a connection that lives."""
        part: SessionState | LinkRoutes[Any] = session if link is None else link
        return part.is_lost and session.returning_of(link) is not None

    def _abandoned(self, event: Abandoned) -> None:
        self.keeps()
        self._fail_with(event.pendings, event.report, self._failures.get(0))

    def _link_closed(self, event: LinkClosed) -> None:
        self._note(event)
        self.keeps()
        session = self.sessions.get(event.channel)
        if session is None:
            return
        link, restoring = session.links.get(event.link), self.restoring
        if link is not None and self._is_returning(session, link):
            session.forget(event.link)
            returning = session.returning_of(link)
            if returning is not None and returning.is_at(link):
                returning.refused(event.report)
            return
        if restoring is not None and link is not None and link.is_lost:
            # It is refused, or gone with its session, which may be begun once more.
            session.forget(event.link)
            if restoring.link is link and not session.is_over:
                restoring.link_ended(event.report)
            return
        session.link_closed(event, self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        self._note(event)
        cause = self._failures.get(0)
        if event.scope is Scope.SESSION:
            self.keeps()
            session = self.sessions.pop(event.channel, None)
            if session is not None and self._is_returning(session, None):
                returning = session.returning_of(None)
                if returning is not None and returning.is_at(None):
                    returning.refused(event.report)
                return
            if session is not None and self.restoring is not None and self.restoring.session is session:
                self.restoring.session_ended(event.report)
            elif session is not None:
                session.close(event.report, cause)
        else:
            self._over(event.report, cause)

    def _session_requested(self, event: SessionRequested) -> None:
        if not offer(self.streams, event):
            text = "nobody here takes sessions of the peer"
            self.core.session(event.channel).refuse(NOT_IMPLEMENTED, text)

    def _link_requested(self, event: LinkRequested) -> None:
        session = self.sessions.get(event.channel)
        if session is None or not offer(session.streams, event):
            text = "nobody here takes links of the peer"
            self.core.session(event.channel).link(event.link).refuse_attach(NOT_IMPLEMENTED, text)

    def _credit_changed(self, event: CreditChanged) -> None:
        link = self._link(event)
        if link is not None:
            link.credit_changed(event)
        self._offered(event)

    def _drained(self, event: Drained) -> None:
        link = self._link(event)
        if link is not None:
            link.drained()
        self._offered(event)

    def _updated(self, event: Updated) -> None:
        for pending in event.pendings:
            if not pending.done:
                self.told[pending.key] = event.state

    def _resumed(self, event: Resumed) -> None:
        link = self._link(event)
        if link is not None:
            link.resumed(event)
        self._offered(event)

    def _nothing(self, event: Event) -> None:
        """Ignore an event: who sends looks at the backlog."""

    def _fail_with(self, pendings: tuple[Pending[Any], ...], report: CloseReport, cause: AmqpError | None) -> None:
        """Fail calls that failed with their link or session, but for those that wait for the next connection."""
        for pending in pendings:
            if not pending.done:
                continue
            self.told.pop(pending.key, None)
            self._late.pop(pending, None)
            error = _error_of(pending, report)
            error.__cause__ = cause
            pending.fail(error)
            self.done(pending)

    _ROUTES: ClassVar[dict[type[Event], Callable[[Client, Any], object]]] = {
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


def _error_of(pending: Pending[Any], report: CloseReport) -> EndpointClosed:
    """Return the exception for a call that fails because its link or session ended."""
    name = pending.key[0]
    if isinstance(name, str):
        return LinkEnded(f"link {name!r}: {report}", report, name)
    return EndpointClosed(f"session {name}: {report}", report)


def _report_of(event: Failed) -> CloseReport:
    error = event.error
    condition, info = str(getattr(error, "condition", "")), Info(getattr(error, "info", None))
    return CloseReport(event.by, 0, str(error), condition=condition, info=info)


def _is_refused(opening: Pending[Any] | None) -> bool:
    """Whether the peer has refused something that this end opened; the caller that did is told, or gone."""
    return opening is not None and opening.error is not None


__all__ = ["Client"]
