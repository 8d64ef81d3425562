"""The sessions of a connection: what the peer's frames do to them, how errors end them, and what is left at the end."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import EndpointClosed, LimitExceeded, RemoteProtocolError, Scope
from ...events import By, CloseReport, Handle, Opened
from ..codec import conditions
from ..codec.performatives import Attach, Begin, Detach, Disposition, End, Flow, Transfer
from ..codec.violation import Violation, session_error
from ..model import states
from ..model.connection import ConnectionModel
from ..model.link_state import LinkModel, SessionModel
from . import settlement
from .endings import abandon, close_link, end_session, remote_error, report_of
from .events import (
    AvailableChanged,
    Drained,
    LinkClosed,
    LinkFailed,
    LinkOpened,
    LinkRequested,
    SessionRequested,
)
from .link import Link
from .receiver import IncomingDelivery, Receiver
from .sender import Sender
from .session import Session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from ...limits import Limits
    from .connection import Connection

_MAPPED: Final = states.Session.MAPPED
_ENDED: Final = states.Session.ENDED
_UNMAPPED: Final = states.Session.UNMAPPED
_ATTACHED: Final = states.Link.ATTACHED


class EndpointModel(ConnectionModel):
    """The books of a connection whose sessions and links are this end's objects.

    `beginning` is the session that this end is just beginning.
    """

    __slots__ = ("beginning", "connection")

    def __init__(self, connection: Connection, limits: Limits) -> None:
        ConnectionModel.__init__(self, limits)
        self.connection = connection
        self.beginning: Session | None = None

    def new_session(self, initiator: int | None) -> SessionModel:
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
            error = remote_error(Scope.SESSION, session.channel, frame.error)
        elif by is By.REMOTE and session.opening is not None and not session.opening.done:
            error = RemoteProtocolError(
                "the peer ended the session at once, without an error",
                scope=Scope.SESSION,
                channel=session.channel,
            )
        report = report_of(by, frame.error)
    end_session(connection, session, report, error)


def _attach(connection: Connection, channel: int, frame: Attach) -> None:
    if _discards(connection, channel):
        return
    side = connection._side
    olds = _attached_already(connection, frame)
    for old in olds:
        # The name is the new link's afterwards, so that one that waits for an answer has to be refused before.
        if old.requested is None:
            continue
        if old.session.own.state is _UNMAPPED and old.session.peer.channel == channel:
            raise session_error(
                conditions.NOT_ALLOWED,
                f"attach of {frame.name!r}, which is attached in the same session, unanswered",
                "transport/link/name-unique",
                channel,
                old.session,
            )
        _steal(old)
    found, answers = connection._joint.attach(1 - side, channel, frame)
    link: Any = found
    session: Session = link.session
    for old in olds:
        _steal(old)
    if session.own.state is _ENDED:
        # Nobody will answer it; the peer knows it by its handle, until its end.
        if not link.halves[side].attaches:
            link.report, link.told = CloseReport(By.LOCAL), True
        session.names.pop((link.name, link.sender), None)
        return
    if answers:
        if link.halves[side].state is _ATTACHED and not link.is_refused:
            link.opening._complete(None)
            connection._events.append(
                LinkOpened(Scope.LINK, session.channel, link.opening, link.number, link.name)
            )
            link.compare()
    elif link.halves[side].state is states.Link.DETACHED:
        try:
            number = session.free_handle(answering=True)
        except LimitExceeded as error:
            # Without a handle there's no way to say no to this link alone.
            raise session_error(
                conditions.RESOURCE_LIMIT_EXCEEDED,
                str(error),
                "transport/session/handle-max",
                channel,
                session,
            ) from None
        link.ask(number, frame)
        connection._events.append(LinkRequested(session.channel, link.number, frame))
    # Else this end has closed the link, and the peer attached it to close it too (section 2.6.6).


def _attached_already(connection: Connection, frame: Attach) -> list[Link]:
    """The links of that name and direction that the peer has attached already (section 2.6.1)."""
    side = connection._side
    key = frame.name, side if frame.role else 1 - side
    known: list[Any] = [each.names.get(key) for each in connection._sessions.values()]
    return [each for each in known if each is not None and each.halves[1 - side].state is _ATTACHED]


def _steal(link: Link) -> None:
    """Leave a link whose peer is elsewhere; in a session that has ended there's nothing to say."""
    session = link.session
    if session.own.state is _MAPPED and session.report is None:
        link.close(conditions.STOLEN, "the link was attached elsewhere")


def _detach(connection: Connection, channel: int, frame: Detach) -> None:
    if _discards(connection, channel):
        return
    _drop_current(connection, channel, frame.handle)
    found, answers = connection._joint.detach(1 - connection._side, channel, frame)
    link: Any = found
    session: Session = link.session
    crossed = frame.closed and link.halves[session.side].state is states.Link.DETACHED
    if link.requested is not None and session.own.state is _UNMAPPED:
        # It is gone before anything could be answered.
        link.requested = None
        session.names.pop((link.name, link.sender), None)
    elif session.own.state is _MAPPED:
        if link.requested is not None and _refuses(link.requested):
            # The end of an earlier link of that name: an answer would be taken for a new one, and so on for ever.
            link.requested = None
            session.names.pop((link.name, link.sender), None)
            answers = False
        elif link.requested is not None:
            link.answer_refusing()
            connection._send(session.channel, Detach(link.number, frame.closed))
            answers = False
        elif not answers:
            connection._send(session.channel, Detach(link.number, frame.closed))
        elif crossed and link.local is not None:
            # This end detached while the peer closed: attach once more, to close too (section 2.6.6).
            connection._send(session.channel, link.local)
            connection._send(session.channel, Detach(link.local.handle, True))
    number: int = link.number
    if session.asked.get(number) is link:
        del session.asked[number]
    if session.leaving.get(number) is link:
        del session.leaving[number]
    _end_link(connection, link, frame, answers)


def _drop_current(connection: Connection, channel: int, handle: int) -> None:
    """What came of a delivery under way isn't counted any more when its link is detached."""
    session = connection._joint.halves[1 - connection._side].channels.get(channel)
    link: Any = None if session is None else session.halves[1 - connection._side].handles.get(handle)
    if link is not None:
        link.drop()


def _refuses(attach: Attach) -> bool:
    """Whether an attach has no terminus at its own end, as it's sent by who doesn't want the link (section 2.6.3)."""
    return (attach.target if attach.role else attach.source) is None


def _end_link(connection: Connection, link: Link, frame: Detach, answers: bool) -> None:
    """Both ends are detached, or the session can't answer any more."""
    session = link.session
    events = connection._events
    closed = frame.closed or (
        answers and link.halves[session.side].state is not states.Link.DETACHED
    )
    if link.report is None:
        by = By.LOCAL if answers and frame.error is None else By.REMOTE
        report = report_of(by, frame.error if by is By.REMOTE else link.closing)
        refused = by is By.REMOTE and link.opening is not None and not link.opening.done
        handles = close_link(link, report)
        if frame.error is not None or refused:
            error = _refusal(link) if frame.error is None else None
            if error is None and frame.error is not None:
                error = remote_error(Scope.LINK, session.channel, frame.error)
            assert error is not None
            for handle in handles:
                handle._fail(error)
            events.append(
                LinkFailed(
                    Scope.LINK, session.channel, error, by, tuple(handles), link.number, link.name
                )
            )
        elif handles:
            abandon(connection, handles, report, not closed)
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
    try:
        found, link = connection._joint.flow(1 - side, channel, frame)
    except Violation as violation:
        if violation.scope is Scope.LINK and known is not None and known.own.state is _MAPPED:
            # What it says of the session is booked, and the other links go on.
            _window_came(known, before, violation.link)
        raise
    session: Any = found
    if session.own.state is not _MAPPED:
        return
    _window_came(session, before, link)
    if isinstance(link, Sender):
        if link.halves[side].state is _ATTACHED:
            link.credit_came(frame.drain, frame.properties)
            if frame.echo:
                link.send_flow()
    elif isinstance(link, Receiver):
        _sender_flow(connection, link, frame)
    elif frame.echo:
        session._send_flow()


def _window_came(session: Session, before: int, named: LinkModel | None) -> None:
    """The session's window was `before`: send what waits for it, and tell the links but the one the flow names."""
    stalled, session.stalled = session.stalled, []
    for sender in stalled:
        sender.window_came()
    if not before and session.outgoing_window:
        for each in session.links_sending():
            if each is not named and each not in stalled and (each.credit or each.resending):
                each.credit_came(each.drain_wanted, None)


def _sender_flow(connection: Connection, link: Receiver, frame: Flow) -> None:
    session = link.session
    events = connection._events
    if link.halves[session.side].state is not _ATTACHED:
        return
    if frame.available is not None:
        events.append(AvailableChanged(session.channel, link.number, frame.available))
    if link.ends_drain(frame):
        events.append(Drained(session.channel, link.number))
    if frame.echo:
        session._send_flow(link, credit=link.credit, drain=link.draining and not link.recalling)


def _transfer(connection: Connection, channel: int, frame: Transfer, payload: bytes) -> None:
    if _discards(connection, channel):
        return
    found: Any = connection._joint.transfer(1 - connection._side, channel, frame, len(payload))
    delivery: IncomingDelivery = found
    link = delivery.link
    session = link.session
    if session.own.state is not _MAPPED or link.halves[session.side].state is not _ATTACHED:
        # It was on its way while this end detached; nobody takes it any more.
        if not frame.more:
            delivery.parts = []
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
        settlement.receiver_said(connection, session, deliveries, frame)
    else:
        settlement.sender_said(connection, session, deliveries, frame)


_RECEIVE: Final[dict[type[Any], Callable[[Connection, int, Any], None]]] = {
    Begin: _begin,
    Attach: _attach,
    Flow: _flow,
    Disposition: _disposition,
    Detach: _detach,
    End: _end,
}
