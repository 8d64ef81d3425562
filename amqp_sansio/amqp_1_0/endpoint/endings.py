"""How sessions and links end: faults of the peer, the loss of the connection, and what is told then."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import EndpointClosed, RemoteProtocolError, Scope
from ...events import Abandoned, By, Closed, CloseReport, Failed, Handle
from ..codec.performatives import Detach, End, Error
from ..codec.values import Symbol
from ..model import states
from .events import LinkClosed, LinkFailed
from .link import Link
from .session import Session

if TYPE_CHECKING:
    from ..codec.violation import Violation
    from .connection import Connection

_MAPPED: Final = states.Session.MAPPED
_UNMAPPED: Final = states.Session.UNMAPPED
_ATTACHED: Final = states.Link.ATTACHED


def fail(connection: Connection, violation: Violation) -> None:
    """The peer broke a rule of a link or session: end that one, and tell it why."""
    error = violation.error(connection._unit_offset)
    session: Any = violation.session
    link: Any = violation.link
    report = CloseReport(
        By.LOCAL, 0, str(violation), condition=violation.condition, rule=error.rule
    )
    told = Error(Symbol(violation.condition), _short(str(violation)))
    error.channel = session.channel
    if violation.scope is Scope.LINK:
        link.drop()
        own = link.halves[session.side]
        if session.own.state is _MAPPED and (own.state is _ATTACHED or link.requested is not None):
            if link.requested is not None:
                link.answer_refusing()
            connection._send(session.channel, Detach(link.number, True, told))
            session.leaving[link.number] = link
        if link.report is not None:
            return
        handles = close_link(link, report)
        for handle in handles:
            handle._fail(error)
        connection._events.append(
            LinkFailed(
                Scope.LINK, session.channel, error, By.LOCAL, tuple(handles), link.number, link.name
            )
        )
        return
    if session.own.state is _UNMAPPED:
        if session.requested is None:
            session.ask(_spare(connection, session), session.peer.begin)
        session.answer_begin()
    if session.own.state is _MAPPED:
        connection._send(session.channel, End(told))
    if session.report is not None:
        return
    handles = close_books(session, report)
    for handle in handles:
        handle._fail(error)
    connection._events.append(
        Failed(Scope.SESSION, session.channel, error, By.LOCAL, tuple(handles))
    )


def connection_ended(connection: Connection, report: CloseReport) -> None:
    """The connection is over: end what is open, links and sessions before the connection."""
    handles: list[Handle[Any]] = []
    for session in connection._sessions.values():
        handles += close_books(session, report)
    if handles:
        abandon(connection, handles, report)
    for session in connection._sessions.values():
        announce_end(connection, session, report)
    connection._sessions.clear()


def end_session(
    connection: Connection, session: Session, report: CloseReport, error: RemoteProtocolError | None
) -> None:
    """Both ends have left the session."""
    handles = close_books(session, report)
    events = connection._events
    if error is not None:
        for handle in handles:
            handle._fail(error)
        events.append(Failed(Scope.SESSION, session.channel, error, report.by, tuple(handles)))
    elif handles:
        abandon(connection, handles, report)
    announce_end(connection, session, report)
    connection._sessions.pop(session.channel, None)


def close_books(session: Session, report: CloseReport) -> list[Handle[Any]]:
    """Nothing more happens on the session; the handles that nothing has ended."""
    handles: list[Handle[Any]] = []
    if session.report is None:
        session.report = report
        if session.opening is not None and not session.opening.done:
            handles.append(session.opening)
    for link in links_of(session):
        if link.report is None:
            handles += close_link(link, report)
    return handles


def close_link(link: Link, report: CloseReport) -> list[Handle[Any]]:
    """Nothing more happens on the link; the handles that nothing has ended."""
    link.report = report
    handles = link.ended()
    if link.opening is not None and not link.opening.done:
        handles.insert(0, link.opening)
    return handles


def links_of(session: Session) -> list[Link]:
    """Every link of which an application may know, and whose end it hasn't been told."""
    found: dict[int, Any] = {}
    books: tuple[Any, ...] = (
        *session.own.handles.values(),
        *session.asked.values(),
        *session.leaving.values(),
        *session.names.values(),
    )
    for each in books:
        if each.number not in found or each.halves[session.side].state is _ATTACHED:
            found[each.number] = each
    return list(found.values())


def announce_end(connection: Connection, session: Session, report: CloseReport) -> None:
    """Tell the application that a session is over, its links before it."""
    events = connection._events
    for link in links_of(session):
        if not link.told:
            link.told = True
            events.append(
                LinkClosed(
                    Scope.LINK, session.channel, link.report or report, link.number, link.name, True
                )
            )
    events.append(Closed(Scope.SESSION, session.channel, session.report or report))


def abandon(
    connection: Connection, handles: list[Handle[Any]], report: CloseReport, resumable: bool = True
) -> None:
    """No answer will come to these handles."""
    error = EndpointClosed(f"no answer will come: {report}", report)
    for handle in handles:
        handle._fail(error)
    connection._events.append(Abandoned(tuple(handles), report, resumable))


def _spare(connection: Connection, session: Session) -> int:
    """A channel to refuse a session on that has none."""
    number = 0
    while number in connection._sessions:
        number += 1
    connection._sessions[number] = session
    return number


def report_of(by: By, error: Error | None) -> CloseReport:
    """The report of an end, with the error it came with."""
    if error is None:
        return CloseReport(by)
    return CloseReport(by, 0, error.description or "", condition=str(error.condition))


def remote_error(scope: Scope, channel: int, error: Error) -> RemoteProtocolError:
    """An error that the peer told."""
    text = f"{error.condition}: {error.description}" if error.description else str(error.condition)
    return RemoteProtocolError(text, scope=scope, channel=channel, condition=str(error.condition))


def _short(text: str) -> str:
    """A description that fits any frame."""
    octets = text.encode("utf-8", "backslashreplace")
    short = octets if len(octets) <= 255 else octets[:252] + b"..."
    return short.decode("utf-8", "ignore")
