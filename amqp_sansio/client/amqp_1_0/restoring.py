"""Restoring of 1.0: begins the sessions again that were lost with a connection, and attaches their links.

`Restoring` does one after the other, as `links.py` says how. Where the peer refuses a link that it was to resume, or
ends the session because of it, everything on that session is attached once more as new; what it refuses then ends.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ...errors import AmqpError
from ...events import By, CloseReport
from ..recovery import Recovered, Steps
from .links import LinkClient, LinkRoutes, SessionState

if TYPE_CHECKING:
    from ...events import Pending


class Restoring(Steps):
    """The steps after a connection is open again. `session` and `link` are those of the step under way.

    `is_over`: the connection was lost once more.
    """

    def __init__(self, client: LinkClient) -> None:
        self.client = client
        self.is_over = False
        self.session: SessionState | None = None
        self.link: LinkRoutes[Any] | None = None
        self._sessions = deque(client.lost_sessions)
        self._links: deque[LinkRoutes[Any]] = deque()
        self._resume = True
        self._addresses: dict[str, str] = {}
        self._failed: list[tuple[str, str]] = []
        self._resumed: list[str] = []
        self._replaced: list[str] = []
        self._renamed: list[tuple[str, str]] = []

    def next(self) -> None:
        """Do what comes next until there is something to wait for."""
        self.link = None
        while self.session is None or not self._attach_next():
            if self.session is not None:
                self.session.restored()
            self.session = None
            if not self._sessions:
                self.client.restoring_done(self._event)
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
        if link.error is None and not link.closing and link.resumes:
            self._attach(link, resume=False)
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
        else:
            self._failed.append((f"session {session.core.channel}", str(report)))
            session.close(report, None)
        self.session = None
        self.next()

    # Internals.

    def _begin(self, session: SessionState) -> None:
        if session.error is not None:
            return
        self.session, self.link = session, None
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
