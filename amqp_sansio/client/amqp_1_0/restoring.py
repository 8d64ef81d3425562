"""Restoring of 1.0: begins the sessions again that were lost with a connection, and attaches their links.

`Restoring` does one after the other, as `links.py` says how. Where the peer refuses a link that it was to resume, or
ends the session because of it, everything on that session is attached once more as new. What it refuses then may
still be held by the lost connection: everybody waits for it for `RecoveryPolicy.patience` seconds; then the rest goes
on, and it is tried again until the deadline.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ...errors import AmqpError
from ...events import By, CloseReport
from ..recovery import Recovered, Steps
from .links import LinkClient, LinkRoutes, SessionState
from .returning import HELD, follow, try_later

if TYPE_CHECKING:
    from ...events import Pending


class Restoring(Steps):
    """The steps after a connection is open again: one session after the other, with its links."""

    def __init__(self, client: LinkClient) -> None:
        # What is restored.
        self.client = client
        # Whether the connection was lost once more: a late answer does nothing then.
        self.is_over = False
        # The one of the step under way; None between two.
        self.session: SessionState | None = None
        # The link of that step; None while the session itself begins.
        self.link: LinkRoutes[Any] | None = None
        # Those that are left.
        self._sessions = deque(client.lost_sessions)
        # What is left of that session.
        self._links: deque[LinkRoutes[Any]] = deque()
        # Whether its links are resumed; after a refusal all are attached as new ones.
        self._resume = True
        # The address that each link had before, by its name: a dynamic node gets another.
        self._addresses: dict[str, str] = {}
        # What the peer refused, and its words, for `Recovered`.
        self._failed: list[tuple[str, str]] = []
        # Names of links that went on, for `Recovered`.
        self._resumed: list[str] = []
        # Names of links that are attached as new ones.
        self._replaced: list[str] = []
        # Old and new addresses of dynamic nodes.
        self._renamed: list[tuple[str, str]] = []
        # Seconds of the pauses for what is held; the policy's patience bounds them.
        self._waited = 0.0
        # How many pauses there were: they grow with it.
        self._turns = 0
        # What is tried again behind the pause under way; "" without one.
        self._paused = ""
        # What the lost connection may still hold: it is tried again when the rest is back.
        self._later: list[tuple[SessionState, LinkRoutes[Any] | None, CloseReport]] = []

    def next(self) -> None:
        """Do what comes next until there is something to wait for."""
        self.link = None
        while self.session is None or not self._attach_next():
            if self.session is not None:
                self.session.restored()
            self.session = None
            if not self._sessions:
                self.client.restoring_done(self._event)
                for session, link, report in self._later:
                    try_later(session, link, report)
                return
            self._resume = True
            self._begin(self._sessions.popleft())
            if self.session is not None:
                return

    # For the client.

    def answered(self, pending: Pending[Any]) -> None:
        """Go on after the peer has begun the session, or attached the link."""
        session, link = self.session, self.link
        if self.is_over or session is None:
            return
        paused, self._paused = self._paused, ""
        if paused == "session":
            self._begin(session)
            if self.session is None:
                self.next()
            return
        if paused:
            self.next()
            return
        if link is None:
            session.begun()
            self._links = deque(session.lost_links)
        else:
            before = self._addresses.get(link.name)
            link.attached()
            (self._resumed if link.resumes else self._replaced).append(link.name)
            after = link.core.address or ""
            if before and before != after:
                self._renamed.append((before, after))
        self.next()

    def link_ended(self, report: CloseReport) -> None:
        """Handle the peer's refusal of the link: attach it once more as a new one, or give it up."""
        link = self.link
        assert link is not None
        if link.error is None and not link.closing and (link.resumes or follow(link, report)):
            self._attach(link, resume=False)
            return
        if link.error is None and not link.closing and report.condition in HELD:
            if self._wait("link"):
                self._links.append(link)
                self.link = None
                return
            self._failed.append((f"link {link.name}", f"{report}; it is tried again"))
            self._later.append((link.session, link, report))
            self.next()
            return
        self._give_up(link, report)
        self.next()

    def session_ended(self, report: CloseReport) -> None:
        """Handle the end of the session, perhaps because of the link: begin it once more without resuming links."""
        session = self.session
        assert session is not None
        if session.is_lost and self._resume and any(each.resumes for each in session.lost_links):
            self._resume = False
            self._begin(session)
            if self.session is not None:
                return
        elif session.is_lost and report.by is By.REMOTE and self._wait("session"):
            self.link = None
            self._links.clear()
            return
        elif session.is_lost and report.condition in HELD and session.error is None and not session.closing:
            self._failed.append((f"session {session.core.channel}", f"{report}; it is tried again"))
            self._later.append((session, None, report))
        else:
            self._failed.append((f"session {session.core.channel}", str(report)))
            session.close(report, None)
        self.session = None
        self.next()

    # Internals.

    def _wait(self, what: str) -> bool:
        """Try the session or the link later, if it is worth another wait; return whether it is."""
        assert self.client.recovery is not None
        policy = self.client.recovery.policy
        limit = policy.patience if policy.deadline is None else min(policy.patience, policy.deadline / 2)
        if self._waited >= limit:
            return False
        delay = min(policy.first_delay * policy.factor**self._turns, policy.ceiling, limit - self._waited)
        self._turns += 1
        self._waited += delay
        self._paused = what
        self.client.after(delay).again = self
        return True

    def _begin(self, session: SessionState) -> None:
        if session.error is not None:
            return
        self.session = session
        self.link = None
        self._links.clear()
        try:
            session.begin().again = self
        except AmqpError as error:
            self.session = None
            report = CloseReport(By.TRANSPORT, 0, f"not begun again: {error}")
            self._failed.append((f"session {session.core.channel}", str(error)))
            session.close(report, None)

    def _attach_next(self) -> bool:
        """Attach the next link of the session; return False if there is none."""
        while self._links:
            link = self._links.popleft()
            if link.error is None and self._attach(link, self._resume):
                return True
        return False

    def _attach(self, link: LinkRoutes[Any], resume: bool) -> bool:
        self._addresses.setdefault(link.name, link.core.address or "")
        try:
            link.attach(resume).again = self
        except AmqpError as error:
            self._give_up(link, CloseReport(By.TRANSPORT, 0, f"not attached again: {error}"))
            return False
        self.link = link
        return True

    def _give_up(self, link: LinkRoutes[Any], report: CloseReport) -> None:
        if link.error is None:
            self._failed.append((f"link {link.name}", str(report)))
        link.end(report, None)

    def _event(self, address: str, attempts: int) -> Recovered:
        client = self.client
        doubts, client.doubts = tuple(client.doubts), []
        resent, client.resent = client.resent, 0
        return Recovered(
            address,
            attempts,
            doubts,
            resent,
            tuple(self._renamed),
            tuple(self._failed),
            tuple(self._resumed),
            tuple(self._replaced),
        )


__all__ = ["Restoring"]
