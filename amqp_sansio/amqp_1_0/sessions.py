"""The sessions of a connection: what the peer's frames do to them, how errors end them, and what is left at the end."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..errors import EndpointClosed, LimitExceeded, RemoteProtocolError, Scope
from ..events import Abandoned, By, Closed, CloseReport, Failed, Handle, Opened, Settled
from . import conditions, states
from ._performatives import (
    Attach,
    Begin,
    Detach,
    Disposition,
    End,
    Error,
    Flow,
    Transfer,
)
from .books import SessionBook, is_outcome
from .events import (
    AvailableChanged,
    DeliveryUpdated,
    Drained,
    LinkClosed,
    LinkFailed,
    LinkOpened,
    LinkRequested,
    SessionRequested,
    Updated,
)
from .joint import Joint
from .link import Link
from .outgoing import OutgoingDelivery
from .receiver import IncomingDelivery, Receiver
from .sender import Sender
from .session import Session
from .values import Symbol
from .violation import Violation, session_error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ..limits import Limits
    from .books import State
    from .connection import Connection

_MAPPED: Final = states.Session.MAPPED
_ENDED: Final = states.Session.ENDED
_UNMAPPED: Final = states.Session.UNMAPPED
_ATTACHED: Final = states.Link.ATTACHED


class EndpointJoint(Joint):
    """The books of a connection whose sessions and links are this end's objects.

    `beginning` is the session that this end is just beginning.
    """

    __slots__ = ("beginning", "connection")

    def __init__(self, connection: Connection, limits: Limits) -> None:
        Joint.__init__(self, limits)
        self.connection = connection
        self.beginning: Session | None = None

    def new_session(self, initiator: int | None) -> SessionBook:
        if self.beginning is not None:
            return self.beginning
        return Session(self.connection, self.connection._side, initiator)


# Commands of the connection.


def open_session(
    connection: Connection,
    *,
    properties: Mapping[Any, Any] | None,
    offered_capabilities: Iterable[str],
    desired_capabilities: Iterable[str],
) -> Session:
    """Begin a session on the lowest free channel (part 2 section 2.5.1)."""
    connection._check_open()
    number = _free_channel(connection)
    session = Session(connection, connection._side, connection._side)
    handle: Handle[None] = Handle((number, "session", connection._serial + 1))
    joint = connection._joint
    joint.beginning = session
    try:
        session.begin(number, handle, properties, offered_capabilities, desired_capabilities)
    finally:
        joint.beginning = None
    connection._serial += 1
    connection._sessions[number] = session
    return session


def find(connection: Connection, channel: int) -> Session:
    """The session that this end sends on `channel`. Raises EndpointClosed."""
    session = connection._sessions.get(channel)
    if session is None:
        raise EndpointClosed(f"no session on channel {channel}", connection.report)
    return session


def _free_channel(connection: Connection) -> int:
    number = 0
    while number in connection._sessions:
        number += 1
    if number > connection.channel_max:
        raise LimitExceeded(
            f"{number} sessions are open, the peer's channel-max and Limits.channels allow no more",
            rule="1.0/transport/open/channel-max",
        )
    return number


# What the peer sends.


def receive(
    connection: Connection, channel: int, performative: Any, payload: bytes
) -> None:
    """Take a frame from begin to end. Raises Violation; those of links and sessions go to `fail`."""
    if performative.__class__ is Transfer:
        _transfer(connection, channel, performative, payload)
    else:
        _RECEIVE[performative.__class__](connection, channel, performative)


def _discards(connection: Connection, channel: int) -> bool:
    """Whether the session ended here with an error: then all but the peer's end is dropped (section 2.5.4)."""
    session: Any = connection._joint.halves[1 - connection._side].channels.get(channel)
    return session is not None and session.report is not None and session.own.state is _ENDED


def _begin(connection: Connection, channel: int, frame: Begin) -> None:
    found, answers = connection._joint.begin(1 - connection._side, channel, frame)
    session: Any = found
    if not answers:
        number = 0
        while number in connection._sessions:
            number += 1
        peer = connection.peer_open
        if peer is not None and number > peer.channel_max:
            raise Violation(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                f"{number} sessions are open, and no channel is left to answer another one",
                rule="transport/open/channel-max",
                channel=channel,
            )
        if len(connection._sessions) >= connection.config.limits.channels:
            raise session_error(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                f"{len(connection._sessions)} sessions, Limits.channels allows no more",
                "transport/error/resource-limit",
                channel,
                session,
            )
        session.ask(number, frame)
        connection._sessions[number] = session
        connection._events.append(SessionRequested(number, frame))
        return
    handle = session.opening
    if session.own.state is _MAPPED:
        if handle is not None and not handle.done:
            handle._complete(None)
        connection._events.append(Opened(Scope.SESSION, session.channel, handle))


def _end(connection: Connection, channel: int, frame: End) -> None:
    found, answers = connection._joint.end(1 - connection._side, channel)
    session: Any = found
    if not answers:
        if session.own.state is _UNMAPPED:
            session.answer_begin()
        connection._send(session.channel, End())
    report, error = session.report, None
    if report is None:
        by = By.LOCAL if answers else By.REMOTE
        if frame.error is not None:
            by = By.REMOTE
            error = _remote_error(Scope.SESSION, session.channel, frame.error)
        elif by is By.REMOTE and session.opening is not None and not session.opening.done:
            error = RemoteProtocolError(
                "the peer ended the session at once, without an error",
                scope=Scope.SESSION,
                channel=session.channel,
            )
        report = _report(by, frame.error)
    _end_session(connection, session, report, error)


def _end_session(
    connection: Connection, session: Session, report: CloseReport, error: RemoteProtocolError | None
) -> None:
    """Both ends have left the session."""
    handles = _close_books(session, report)
    events = connection._events
    if error is not None:
        for handle in handles:
            handle._fail(error)
        events.append(Failed(Scope.SESSION, session.channel, error, report.by, tuple(handles)))
    elif handles:
        _abandon(connection, handles, report)
    _announce_end(connection, session, report)
    connection._sessions.pop(session.channel, None)


def _close_books(session: Session, report: CloseReport) -> list[Handle[Any]]:
    """Nothing more happens on the session; the handles that nothing has ended."""
    handles: list[Handle[Any]] = []
    if session.report is None:
        session.report = report
        if session.opening is not None and not session.opening.done:
            handles.append(session.opening)
    for link in _links(session):
        if link.report is None:
            handles += _close_link(link, report)
    return handles


def _close_link(link: Link, report: CloseReport) -> list[Handle[Any]]:
    """Nothing more happens on the link; the handles that nothing has ended."""
    link.report = report
    handles = link.ended()
    if link.opening is not None and not link.opening.done:
        handles.insert(0, link.opening)
    return handles


def _links(session: Session) -> list[Link]:
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


def _announce_end(connection: Connection, session: Session, report: CloseReport) -> None:
    events = connection._events
    for link in _links(session):
        if not link.told:
            link.told = True
            events.append(
                LinkClosed(
                    Scope.LINK, session.channel, link.report or report, link.number, link.name, True
                )
            )
    events.append(Closed(Scope.SESSION, session.channel, session.report or report))


def _abandon(
    connection: Connection, handles: list[Handle[Any]], report: CloseReport, resumable: bool = True
) -> None:
    error = EndpointClosed(f"no answer will come: {report}", report)
    for handle in handles:
        handle._fail(error)
    connection._events.append(Abandoned(tuple(handles), report, resumable))


def _attach(connection: Connection, channel: int, frame: Attach) -> None:
    if _discards(connection, channel):
        return
    side = connection._side
    old = _attached_elsewhere(connection, frame)
    found, answers = connection._joint.attach(1 - side, channel, frame)
    link: Any = found
    session: Session = link.session
    if old is not None and old is not link:
        _steal(old)
    if session.own.state is _ENDED:
        return
    if answers:
        if link.halves[side].state is _ATTACHED and not link.is_refused:
            link.opening._complete(None)
            connection._events.append(
                LinkOpened(Scope.LINK, session.channel, link.opening, link.number, link.name)
            )
            link.compare()
    elif link.halves[side].state is states.Link.DETACHED:
        link.ask(session.free_handle(), frame)
        connection._events.append(LinkRequested(session.channel, link.number, frame))
    # Else this end has closed the link, and the peer attached it to close it too (section 2.6.6).


def _attached_elsewhere(connection: Connection, frame: Attach) -> Link | None:
    """The link of that name and direction that the peer has attached already (section 2.6.1)."""
    side = connection._side
    sender = side if frame.role else 1 - side
    for session in connection._sessions.values():
        link: Any = session.names.get((frame.name, sender))
        if link is not None and link.halves[1 - side].state is _ATTACHED:
            return link  # type: ignore[no-any-return]
    return None


def _steal(link: Link) -> None:
    if link.halves[link.session.side].state is _ATTACHED:
        link.close(conditions.STOLEN, "the link was attached elsewhere")


def _detach(connection: Connection, channel: int, frame: Detach) -> None:
    if _discards(connection, channel):
        return
    found, answers = connection._joint.detach(1 - connection._side, channel, frame)
    link: Any = found
    session: Session = link.session
    crossed = frame.closed and link.halves[session.side].state is states.Link.DETACHED
    if session.own.state is _MAPPED:
        if link.requested is not None:
            link.answer_refusing()
            connection._send(session.channel, Detach(link.number, frame.closed))
            answers = False
        elif not answers:
            connection._send(session.channel, Detach(link.number, frame.closed))
        elif crossed and link.local is not None:
            # This end detached while the peer closed: attach once more, to close too (section 2.6.6).
            connection._send(session.channel, link.local)
            connection._send(session.channel, Detach(link.local.handle, True))
    session.asked.pop(link.number, None)
    if session.leaving.get(link.number) is link:
        del session.leaving[link.number]
    _end_link(connection, link, frame, answers)


def _end_link(connection: Connection, link: Link, frame: Detach, answers: bool) -> None:
    """Both ends are detached, or the session can't answer any more."""
    session = link.session
    events = connection._events
    closed = frame.closed or (
        answers and link.halves[session.side].state is not states.Link.DETACHED
    )
    if link.report is None:
        by = By.LOCAL if answers and frame.error is None else By.REMOTE
        report = _report(by, frame.error if by is By.REMOTE else link.closing)
        refused = by is By.REMOTE and link.opening is not None and not link.opening.done
        handles = _close_link(link, report)
        if frame.error is not None or refused:
            error = _refusal(link) if frame.error is None else None
            if error is None and frame.error is not None:
                error = _remote_error(Scope.LINK, session.channel, frame.error)
            assert error is not None
            for handle in handles:
                handle._fail(error)
            events.append(
                LinkFailed(
                    Scope.LINK, session.channel, error, by, tuple(handles), link.number, link.name
                )
            )
        elif handles:
            _abandon(connection, handles, report, not closed)
    if not link.told:
        link.told = True
        assert link.report is not None
        events.append(
            LinkClosed(
                Scope.LINK, session.channel, link.report, link.number, link.name, not closed
            )
        )


def _refusal(link: Link) -> RemoteProtocolError:
    """The peer refused a link without saying why (section 2.6.3)."""
    what = "source" if link.ROLE else "target"
    return RemoteProtocolError(
        f"the peer refused link {link.name!r}: it has no such {what}, and gave no error",
        scope=Scope.LINK,
        channel=link.session.channel,
    )


def _flow(connection: Connection, channel: int, frame: Flow) -> None:
    if _discards(connection, channel):
        return
    side = connection._side
    known: Any = connection._joint.halves[1 - side].channels.get(channel)
    before = 0 if known is None else known.outgoing_window
    found, link = connection._joint.flow(1 - side, channel, frame)
    session: Any = found
    if session.own.state is not _MAPPED:
        return
    stalled, session.stalled = session.stalled, []
    for sender in stalled:
        sender.window_came()
    if not before and session.outgoing_window:
        for each in session.links_sending():
            if each is not link and each not in stalled and (each.credit or each.resending):
                each.credit_came(each.drain_wanted, None)
    if isinstance(link, Sender):
        if link.halves[side].state is _ATTACHED:
            link.credit_came(frame.drain, frame.properties)
            if frame.echo:
                link.send_flow()
    elif isinstance(link, Receiver):
        _sender_flow(connection, link, frame)
    elif frame.echo:
        session._send_flow()


def _sender_flow(connection: Connection, link: Receiver, frame: Flow) -> None:
    session = link.session
    events = connection._events
    if link.halves[session.side].state is not _ATTACHED:
        return
    if frame.available is not None:
        events.append(AvailableChanged(session.channel, link.number, frame.available))
    if link.advance_to(link.delivery_count):
        events.append(Drained(session.channel, link.number))
    if frame.echo:
        session._send_flow(link, credit=link.credit, drain=link.draining)


def _transfer(connection: Connection, channel: int, frame: Transfer, payload: bytes) -> None:
    if _discards(connection, channel):
        return
    found: Any = connection._joint.transfer(1 - connection._side, channel, frame, len(payload))
    delivery: IncomingDelivery = found
    link = delivery.link
    session = link.session
    if session.own.state is not _MAPPED or link.halves[session.side].state is not _ATTACHED:
        # It was on its way while this end detached; nobody takes it any more.
        return
    session.refresh_window()
    link.receive(delivery, frame, payload)


def _disposition(connection: Connection, channel: int, frame: Disposition) -> None:
    if _discards(connection, channel):
        return
    session, deliveries = connection._joint.disposition(1 - connection._side, channel, frame)
    if not deliveries:
        return
    if frame.role:
        _receiver_said(connection, session, deliveries, frame)
    else:
        _sender_said(connection, session, deliveries, frame)


def _receiver_said(
    connection: Connection, session: Any, deliveries: list[Any], frame: Disposition
) -> None:
    """The peer received what this end sent."""
    state = frame.state
    if frame.settled:
        _settle(connection, deliveries, state)
        return
    if state is None:
        return
    settling: list[OutgoingDelivery] = []
    told: list[OutgoingDelivery] = []
    can = session.own.state is _MAPPED and is_outcome(state)
    for delivery in deliveries:
        mine = can and delivery.link.auto_settle and delivery.rest is None
        (settling if mine else told).append(delivery)
    if told:
        connection._events.append(Updated(tuple([each.handle for each in told]), state))
    if settling:
        session.disposition(False, [each.delivery_id for each in settling], state, True)
        _settle(connection, settling, state)


def _settle(
    connection: Connection, deliveries: list[Any], state: State | None
) -> None:
    """Deliveries of this end are settled, with the state told now or before."""
    peer = 1 - connection._side
    groups: list[tuple[State | None, list[Handle[Any]]]] = []
    for delivery in deliveries:
        final = delivery.states[peer] if state is None else state
        delivery.link.forget(delivery)
        handle = delivery.handle
        if handle.done:
            continue
        handle._complete(final)
        if groups and groups[-1][0] == final:
            groups[-1][1].append(handle)
        else:
            groups.append((final, [handle]))
    for final, handles in groups:
        connection._events.append(Settled(tuple(handles), final))


def _sender_said(
    connection: Connection, session: Any, deliveries: list[Any], frame: Disposition
) -> None:
    """The peer sent what this end received."""
    handles: list[Handle[Any]] = []
    others: list[int] = []
    for delivery in deliveries:
        handle = delivery.handle
        if frame.settled and handle is not None and not handle.done:
            handle._complete(frame.state or delivery.states[connection._side])
            handles.append(handle)
        else:
            others.append(delivery.delivery_id)
    if handles:
        connection._events.append(Settled(tuple(handles), handles[0].result if frame.state is None else frame.state))
    if others:
        connection._events.append(
            DeliveryUpdated(session.channel, tuple(others), frame.state, frame.settled)
        )


_RECEIVE: Final[dict[type[Any], Callable[[Connection, int, Any], None]]] = {
    Begin: _begin,
    Attach: _attach,
    Flow: _flow,
    Disposition: _disposition,
    Detach: _detach,
    End: _end,
}


# Errors, and the end of everything.


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
        handles = _close_link(link, report)
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
    handles = _close_books(session, report)
    for handle in handles:
        handle._fail(error)
    connection._events.append(
        Failed(Scope.SESSION, session.channel, error, By.LOCAL, tuple(handles))
    )


def _spare(connection: Connection, session: Session) -> int:
    """A channel to refuse a session on that has none."""
    number = 0
    while number in connection._sessions:
        number += 1
    connection._sessions[number] = session
    return number


def connection_ended(connection: Connection, report: CloseReport) -> None:
    """The connection is over: end what is open, links and sessions before the connection."""
    handles: list[Handle[Any]] = []
    for session in connection._sessions.values():
        handles += _close_books(session, report)
    if handles:
        _abandon(connection, handles, report)
    for session in connection._sessions.values():
        _announce_end(connection, session, report)
    connection._sessions.clear()


def _report(by: By, error: Error | None) -> CloseReport:
    if error is None:
        return CloseReport(by)
    return CloseReport(by, 0, error.description or "", condition=str(error.condition))


def _remote_error(scope: Scope, channel: int, error: Error) -> RemoteProtocolError:
    text = f"{error.condition}: {error.description}" if error.description else str(error.condition)
    return RemoteProtocolError(text, scope=scope, channel=channel, condition=str(error.condition))


def _short(text: str) -> str:
    """A description that fits any frame."""
    return text if len(text) <= 200 else f"{text[:197]}..."


__all__ = ["EndpointJoint", "connection_ended", "fail", "find", "open_session", "receive"]
