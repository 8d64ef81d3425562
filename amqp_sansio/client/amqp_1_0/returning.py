"""Returning: what a peer ends in a connection that lives on, and that comes back by itself on a client that recovers.

A peer detaches a link that was idle for long, ends the sessions of a connection that it is about to close, or sends a
link to another address. `Returning` attaches the link again, or begins the session with its links, after growing
delays. If the connection is lost meanwhile, they come back with it instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0 import Source, Target
from ...errors import AmqpError
from ...events import By, CloseReport
from ..recovery import Steps
from .links import LinkClient, LinkRoutes, Returns, SessionState

if TYPE_CHECKING:
    from ...events import Pending

LINK_REDIRECT: Final = "amqp:link:redirect"
HELD: Final = frozenset(
    {
        "amqp:resource-locked",
        "amqp:link:stolen",
        "amqp:unauthorized-access",
        "amqp:session:unattached-handle",
        "amqp:session:handle-in-use",
    }
)
"""What a peer answers while an earlier connection holds the link, or the node for itself; some end the session."""
_PASSING: Final = frozenset(
    {
        "amqp:link:detach-forced",
        "amqp:connection:forced",
        "amqp:internal-error",
        "com.microsoft:operation-cancelled",
        "com.microsoft:server-busy",
        "com.microsoft:timeout",
    }
)
"""Conditions that tell nothing against the link or session itself: another one may succeed."""


class _Steady(Steps):
    """Begins the counts anew when what has come back has lived for a while."""

    def __init__(self, returns: Returns, count: tuple[int, int]) -> None:
        # The counts that begin anew.
        self._returns = returns
        # What they were when it came back: if they have grown since, it wasn't steady.
        self._count = count

    def answered(self, pending: Pending[Any]) -> None:
        """Begin anew, unless it has ended once more."""
        returns = self._returns
        if (returns.count, returns.hops) == self._count:
            returns.begin_anew()


class Returning(Steps):
    """The return of one session with its links, or of one link of it."""

    def __init__(self, session: SessionState, link: LinkRoutes[Any] | None, is_held: bool = False) -> None:
        # Whether the peer refuses it since something else has it, perhaps a lost connection: then it is tried until the
        # deadline.
        self.is_held = is_held
        # Whose `reopening` counts it until it is over.
        self.client: LinkClient = session.client
        # The session that comes back, or that the link is on.
        self.session = session
        # The one that comes back; None: the session with all its links.
        self.link = link
        # Whether it has come back, or won't.
        self.is_over = False
        # Ends with it; callers on that part wait for it.
        self.back: Pending[None] = self.client.pending()
        # The counts of that part, for the delays.
        self._returns = session.returns if link is None else link.returns
        # Those that are still to be attached.
        self._links: list[LinkRoutes[Any]] = []
        # What is waited for: "wait" for the delay, "session", "link", or "" for nothing.
        self._step = ""
        # The link that is being attached.
        self._under_way: LinkRoutes[Any] | None = None
        self.client.reopening += 1

    @property
    def what(self) -> str:
        """What returns, for a line in the log."""
        name = f"session {self.session.core.channel}"
        return name if self.link is None else f"{name} link {self.link.name!r}"

    def begin(self, report: CloseReport, seconds: float) -> None:
        """Attach or begin it again in so many seconds."""
        self.client.note(f"{self.what} ended: {report}; opened again in {seconds:.3g} seconds", warns=True)
        self._step = "wait"
        self.client.after(seconds).again = self

    def cancel(self) -> None:
        """End it: the connection is lost, which opens it again, or it is over."""
        if not self.is_over:
            self.is_over = True
            self.client.reopening -= 1
            self.session.returning.discard(self)
            self.client.complete(self.back)

    def leave(self) -> None:
        """End it, because what it opens again is there, or has ended for good."""
        session, link = self.session, self.link
        if link is None:
            self.client.forget_lost(session)
        else:
            session.lost_links = [each for each in session.lost_links if each is not link]
        self.cancel()

    def is_at(self, link: LinkRoutes[Any] | None) -> bool:
        """Whether the peer has ended what is being opened now: this link, or with None the session."""
        if link is None:
            return self._step in ("session", "link")
        return self._step == "link" and self._under_way is link

    # Steps.

    def answered(self, pending: Pending[Any]) -> None:
        """Go on after the wait, or when the peer has answered the step."""
        if self.is_over:
            return
        if self.link is not None and self.link.error is not None:
            self.leave()
            return
        step, self._step = self._step, ""
        try:
            if step == "wait" and self.link is None:
                self._step = "session"
                self.session.begin().again = self
                return
            if step == "wait" and self.link is not None:
                self._links = [self.link]
            elif step == "session":
                self.session.begun()
                self._links = list(self.session.lost_links)
            elif step == "link" and self._under_way is not None:
                self._under_way.attached()
            self._next()
        except AmqpError as error:
            self.refused(_not_opened(error))

    def refused(self, report: CloseReport) -> None:
        """Note that the peer has ended what was opened again, before it was there: try once more, or give it up."""
        if self.link is None and self.session.is_over:
            # Its links, which have ended with it, are attached again with the next one.
            self._under_way = None
        link = self._under_way
        self._step = ""
        if link is not None and (link.closing or link.error is not None):
            link.end(report, None)
            self._next()
            return
        seconds = _returns_in(self.client, report, self._returns, None if self.link is None else link, self.is_held)
        if link is not None and self.link is None:
            # The session is there: its link ends alone.
            link.end(report, None)
            self._next()
        elif seconds is not None:
            self.begin(report, seconds)
        else:
            self.client.note(f"{self.what} isn't opened again: {report}", warns=True)
            self.leave()
            if self.link is not None:
                self.link.end(report, None)
            else:
                self.session.close(report, None)

    # Internals.

    def _next(self) -> None:
        """Attach the next link, or end with success."""
        self._under_way = None
        while self._links:
            link = self._links.pop(0)
            if link.error is not None:
                continue
            self._under_way = link
            try:
                attached = link.attach(True)
            except AmqpError as error:
                if self.link is not None:
                    raise
                # The session is there: what it has no room for ends alone.
                self._under_way = None
                link.end(_not_opened(error), None)
                continue
            self._step = "link"
            attached.again = self
            return
        if self.link is None:
            self.session.restored()
        self.leave()
        doubts = self.client.doubts
        doubt = f"; {len(doubts)} messages are in doubt" if doubts else ""
        self.client.note(f"{self.what} is open again{doubt}", warns=bool(doubts))
        recovery = self.client.recovery
        if recovery is not None:
            # The next loss of the connection reports them, if it comes.
            del doubts[: max(0, len(doubts) - recovery.policy.remembered)]
            steady = self.client.after(recovery.policy.steady)
            steady.again = _Steady(self._returns, (self._returns.count, self._returns.hops))


def bring_back(session: SessionState, link: LinkRoutes[Any] | None, report: CloseReport) -> bool:
    """Open a link again that the peer has ended, or with None the session, if the policy says so; return whether it
    comes back.

    It is asked with the first event of the end, while the calls are still known that wait for an outcome.
    """
    part: SessionState | LinkRoutes[Any] = session if link is None else link
    if part.asked is None or part.closing or part.error is not None or part.is_lost or session.is_lost:
        return False
    client = session.client
    seconds = _returns_in(client, report, part.returns, link)
    if seconds is None:
        return False
    part.lost()
    returning = Returning(session, link)
    session.returning.add(returning)
    if link is None:
        client.lost_sessions.append(session)
    else:
        link.resumes = link.resumes and report.condition != LINK_REDIRECT
        session.lost_links.append(link)
    returning.begin(report, seconds)
    return True


def follow(link: LinkRoutes[Any], report: CloseReport) -> bool:
    """Let a link ask for the address that a redirect names; return whether the redirect is to be followed."""
    recovery, returns = link.client.recovery, link.returns
    asked = _moved(link, report, link.client.where)
    if asked is None or recovery is None or returns.hops >= recovery.policy.redirects:
        return False
    returns.hops += 1
    link.asked = asked
    link.resumes = False
    return True


def try_later(session: SessionState, link: LinkRoutes[Any] | None, report: CloseReport) -> None:
    """Open what somebody else holds again and again, while everything else goes on that came back with a connection."""
    part: SessionState | LinkRoutes[Any] = session if link is None else link
    if part.error is not None or part.closing or session.error is not None:
        return
    client = session.client
    part.is_lost = True
    returning = Returning(session, link, is_held=True)
    session.returning.add(returning)
    if link is None:
        client.lost_sessions.append(session)
    else:
        session.lost_links.append(link)
    returning.begin(report, _returns_in(client, report, part.returns, link, is_held=True) or 0.0)


def _not_opened(error: AmqpError) -> CloseReport:
    """Report that this end could not ask for it."""
    return CloseReport(By.TRANSPORT, 0, f"not opened again: {error}")


def _returns_in(
    client: LinkClient, report: CloseReport, returns: Returns, link: LinkRoutes[Any] | None, is_held: bool = False
) -> float | None:
    """Return the seconds after which something is opened again that the peer has ended; None: never.

    A redirect that is followed changes what the link asks for.
    """
    recovery = client.recovery
    if recovery is None or client.restored is not None or not client.core.is_open:
        return None
    policy = recovery.policy
    if report.condition == LINK_REDIRECT and link is not None:
        return 0.0 if follow(link, report) else None
    delay = min(policy.first_delay * policy.factor**returns.count, policy.ceiling)
    is_late = policy.deadline is not None and returns.waited + delay > policy.deadline
    if is_held and report.condition in HELD:
        is_over = is_late
    else:
        most = policy.tries if policy.attempts is None else min(policy.tries, policy.attempts)
        is_over = is_late or returns.count >= most or not (_passes(report) and policy.retry(report))
    if is_over:
        return None
    returns.count += 1
    returns.waited += delay
    return delay


def _passes(report: CloseReport) -> bool:
    """Whether the peer has ended a link or session for a reason that passes."""
    return report.by is By.REMOTE and report.condition in _PASSING


def _moved(link: LinkRoutes[Any], report: CloseReport, here: str) -> dict[str, Any] | None:
    """Return the arguments to attach a link where a redirect sends it (part 2 section 2.8.17), None if that isn't a
    node of the same host, `here` is the connection's host and port.
    """
    address, host, port = [report.info.get(each) for each in ("address", "network-host", "port")]
    if report.by is not By.REMOTE or report.condition != LINK_REDIRECT or not isinstance(address, str) or not address:
        return None
    if host and f"{host}:{port or here.rpartition(':')[2]}" != here:
        return None
    asked = link.asked
    if asked is None:
        return None
    name = "source" if link.receives else "target"
    terminus: Any = asked[name]
    if terminus is None or isinstance(terminus, str):
        changed: Any = address
    elif isinstance(terminus, (Source, Target)) and not terminus.dynamic:
        changed = terminus.replace(address=address)
    else:
        return None
    return {**asked, name: changed}


__all__ = ["HELD", "Returning", "bring_back", "follow", "try_later"]
