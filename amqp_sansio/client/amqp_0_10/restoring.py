"""Restoring of 0-10: attaches the sessions again that were lost with a connection, one after the other.

A session that is busy is tried again. One that the peer has forgotten begins anew: what it has declared, then its
subscriptions. A refusal of the peer ends a session, so that it begins once more without that. At last the calls and
messages in doubt are made again.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, Final

from ...errors import AmqpError, EndpointClosed, LocalProtocolError
from ...events import By, CloseReport
from ..recovery import Recovered, Steps
from .routes import RoutesClient, SessionRoutes, SubscriptionInbox, session_ended

if TYPE_CHECKING:
    from ...events import Pending

_HELD: Final = frozenset({403, 405})
"""unauthorized-access and resource-locked: what a peer answers while an earlier connection holds a queue."""
_PASSING: Final = frozenset({"session-busy", "transport-busy"})
"""The codes of session.detached with which a resumption may succeed later."""
_REFUSED: Final = "refused when the session was attached again"


class Restoring(Steps):
    """The steps after a connection is open again: one session after the other."""

    def __init__(self, client: RoutesClient) -> None:
        # What is restored.
        self.client = client
        # Whether the connection was lost once more: a late answer does nothing then.
        self.is_over = False
        # The one that is attached now; None between two.
        self.session: SessionRoutes | None = None
        # Those that are left.
        self._sessions = deque(client.lost_sessions)
        # What is left for that session: attach, then what it declared, then its subscriptions.
        self._steps: deque[tuple[str, Any]] = deque()
        # The one under way: its kind, and what it is about.
        self._step: tuple[str, Any] = ("start", None)
        # Whether the session goes on where it was; otherwise it begins anew under its name.
        self._resumes = False
        # Seconds of the pauses for sessions that are busy; the policy's patience bounds them.
        self._waited = 0.0
        # What the peer refused, and its words, for `Recovered`.
        self._failed: list[tuple[str, str]] = []
        # Names of sessions that went on, for `Recovered`.
        self._resumed: list[str] = []
        # Names of sessions that began anew.
        self._replaced: list[str] = []

    def next(self) -> None:
        """Do what comes next until there is something to wait for."""
        while True:
            while self._steps:
                self._step = self._steps.popleft()
                if self._do(*self._step):
                    return
            if self.session is not None:
                self.session.restored()
            self.session = None
            if not self._sessions:
                break
            session = self._sessions.popleft()
            if session.error is None and self._attach(session, resume=True):
                return
        pending = self.client.redo_calls()
        if pending is not None:
            pending.again = self
            return
        self.client.restoring_done(self._event)

    # For the client.

    def answered(self, pending: Pending[Any]) -> None:
        """Go on after an answer."""
        if self.is_over:
            return
        session, (kind, item) = self.session, self._step
        if kind == "pause":
            self._attach(item, resume=True)
            return
        if kind == "attach" and session is not None:
            name = session.core.name.decode("utf-8", "backslashreplace")
            (self._resumed if self._resumes else self._replaced).append(name)
            session.go_on(self._resumes)
            if not self._resumes:
                self._steps.extend(("declare", key) for key in session.declared)
                self._steps.extend(("subscribe", inbox) for inbox in session.subscriptions.values())
        self.next()

    def session_ended(self, report: CloseReport) -> None:
        """Handle the end of the session: it wasn't resumed, or the peer has refused the last step."""
        session, (kind, item) = self.session, self._step
        assert session is not None
        self._steps.clear()
        if session.leaving:
            self._give_up(session, report)
        elif kind == "attach" and self._resumes and report.condition not in _PASSING:
            self._attach(session, resume=False)
            return
        elif kind == "attach" and report.by is By.REMOTE and not report.code:
            self._give_up(session, report)
        elif kind == "attach" or (report.code in _HELD and self._may_wait):
            # The peer hasn't noticed the end of the lost connection.
            self._pause(session)
            return
        else:
            self._drop(session, kind, item, report)
            self._attach(session, resume=False)
            return
        self.session = None
        self.next()

    # Internals.

    def _attach(self, session: SessionRoutes, *, resume: bool) -> bool:
        """Attach a session; return whether there is something to wait for."""
        if session.error is not None:
            return False
        self.session = session
        self._step = ("attach", None)
        try:
            self._resumes = resume and not session.starting
            try:
                opening = session.attach(resume)
            except (EndpointClosed, LocalProtocolError):
                if not resume:
                    raise
                # It had no timeout, so neither end has kept it.
                self._resumes = False
                opening = session.attach(False)
        except AmqpError as error:
            self._give_up(session, CloseReport(By.TRANSPORT, 0, f"not attached again: {error}"))
            self.session = None
            return False
        opening.again = self
        return True

    def _do(self, kind: str, item: Any) -> bool:
        """Do a step; return whether there is something to wait for."""
        session = self.session
        assert session is not None
        try:
            if kind == "declare":
                command = session.declared.get(item)
                if command is None:
                    return False
                pending = session.core.call(command)
            else:
                inbox: SubscriptionInbox = item
                if session.subscriptions.get(inbox.destination) is not inbox:
                    return False
                if inbox.command is None:
                    self._drop(session, kind, item, CloseReport(By.LOCAL, 0, "nobody knows its command"))
                    return False
                pending = inbox.start()
        except AmqpError as error:
            self._drop(session, kind, item, CloseReport(By.LOCAL, 0, str(error)))
            return False
        pending.again = self
        return True

    def _drop(self, session: SessionRoutes, kind: str, item: Any, report: CloseReport) -> None:
        """Give up a step."""
        if kind == "declare":
            del session.declared[item]
            self._failed.append((" ".join(map(str, item)), str(report)))
        elif kind == "subscribe":
            self._failed.append((f"subscription {item.destination}", str(report)))
            item.missing(f"{_REFUSED}: {report}")

    @property
    def _may_wait(self) -> bool:
        """Whether what somebody holds is worth another wait: the rest of the connection waits too."""
        assert self.client.recovery is not None
        policy = self.client.recovery.policy
        limit = policy.patience if policy.deadline is None else min(policy.patience, policy.deadline / 2)
        return self._waited < limit

    def _pause(self, session: SessionRoutes) -> None:
        assert self.client.recovery is not None
        delay = self.client.recovery.policy.first_delay
        self._waited += delay
        timer = self.client.after(delay)
        self._step = ("pause", session)
        timer.again = self

    def _give_up(self, session: SessionRoutes, report: CloseReport) -> None:
        name = session.core.name
        self._failed.append((f"session {name.decode('utf-8', 'backslashreplace')}", str(report)))
        self.client.end_session(session, session_ended(name, report), None)

    def _event(self, address: str, attempts: int) -> Recovered:
        client = self.client
        doubts, client.doubts = tuple(client.doubts), []
        resent, client.resent = client.resent, 0
        failed, resumed, replaced = tuple(self._failed), tuple(self._resumed), tuple(self._replaced)
        return Recovered(address, attempts, doubts, resent, (), failed, resumed, replaced)


__all__ = ["Restoring"]
