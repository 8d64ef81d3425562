"""How sessions end: exceptions of either end, detachment, the loss of the connection (part 1 sections 3.4.1.3, 3.6)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...errors import EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from ...events import Abandoned, By, CloseReport, Failed
from ..codec.records import (
    ExecutionException,
    SessionDetach,
    SessionDetached,
    SessionRequestTimeout,
)
from ..model.events import SessionClosed
from ..model.execution import ERROR_CODES, ExecutionError
from ..model.states import Attachment
from . import incoming, outgoing, session_controls

if TYPE_CHECKING:
    from ...events import Handle
    from ..codec.record import Command
    from ..codec.violation import DetachCode, Violation
    from ..model.session_state import SessionState
    from .connection import Connection
    from .session import Session

_LONGEST_TEXT: Final = 2048
"""Characters of a description that an exception carries."""


# Exceptions.


def fail_here(
    session: Session, error: ExecutionError, command_id: int | None, field: str | None
) -> None:
    """The application refuses a command of the peer, or the whole session."""
    if session._report is not None or session._attachment is not Attachment.ATTACHED:
        return
    connection = session._connection
    connection._check_open()
    event = None if command_id is None else session._state.executing.get(command_id)
    if command_id is not None and event is None:
        raise LocalProtocolError(f"command {command_id} doesn't wait for its completion")
    command = None if event is None else incoming.command_of(event)
    report = CloseReport(
        By.LOCAL, error.code, str(error), rule=error.rule, condition=error.condition
    )
    _send_exception(session, error.code, str(error), command_id, command, field)
    session._report = report
    _give_up(session, _open_handles(session), report)


def fail(
    session: Session, violation: Violation, command_id: int | None, command: Command[object] | None
) -> None:
    """The peer broke a rule of the session: tell it with an exception, or detach it."""
    connection = session._connection
    if session._report is not None:
        return
    text = str(violation)
    error = RemoteProtocolError(
        text,
        scope=Scope.SESSION,
        code=violation.code,
        channel=session.channel,
        class_id=0 if command is None else command.CODE >> 8,
        method_id=0 if command is None else command.CODE & 0xFF,
        offset=connection._unit_offset,
        rule=f"0-10/{violation.rule}" if violation.rule else None,
        condition=ERROR_CODES.get(violation.code, ""),
    )
    report = CloseReport(
        By.LOCAL, violation.code, text, error.class_id, error.method_id,
        rule=error.rule, condition=error.condition,
    )  # fmt: skip
    if violation.detach is not None:
        session_controls.send(session, SessionDetached(session.name, violation.detach.value))
        session_controls.step_own(session, "detached")
        end(session, report, error, by=By.LOCAL)
        return
    _send_exception(session, violation.code, text, command_id, command, None)
    session._report = report
    _tell_failed(session, error, By.LOCAL)


def _send_exception(
    session: Session,
    code: int,
    text: str,
    command_id: int | None,
    command: Command[object] | None,
    field: str | None,
) -> None:
    """execution.exception, then the session is given up, and detached."""
    names = () if command is None else command.__match_args__
    index = names.index(field) if field in names else None
    outgoing.issue_last(
        session,
        ExecutionException(
            code,
            command_id,
            None if command is None else command.CODE >> 8,
            None if command is None else command.CODE & 0xFF,
            index,
            text[:_LONGEST_TEXT],
        ),
    )
    session_controls.send(session, SessionRequestTimeout(0))
    session_controls.send(session, SessionDetach(session.name))
    session_controls.step_own(session, "detach")


def failed_by_peer(session: Session, exception: ExecutionException) -> None:
    """The peer sent an exception: the session is over, its detach follows."""
    code = exception.error_code or 0
    name = ERROR_CODES.get(code, str(code))
    text = exception.description or name
    error = RemoteProtocolError(
        text,
        scope=Scope.SESSION,
        code=code,
        channel=session.channel,
        class_id=exception.class_code or 0,
        method_id=exception.command_code or 0,
        condition=name,
    )
    session._report = CloseReport(
        By.REMOTE, code, text, error.class_id, error.method_id, condition=name
    )
    _tell_failed(session, error, By.REMOTE)


def _tell_failed(session: Session, error: RemoteProtocolError, by: By) -> None:
    handles = _open_handles(session)
    for handle in handles:
        handle._fail(error)
    session._connection._events.append(
        Failed(Scope.SESSION, session.channel, error, by, tuple(handles))
    )


def _open_handles(session: Session) -> list[Handle[object]]:
    """Every handle of the session that nothing has ended."""
    found: list[Handle[object]] = [] if session.opening is None else [session.opening]
    session.opening = None
    found += session._timeouts
    session._timeouts.clear()
    return [*found, *session._state.pending]


# Detachment.


def leave(session: Session, text: str, *, forgotten: bool) -> None:
    """The peer doesn't know what this end thought: leave the session, which isn't what was asked for."""
    error = RemoteProtocolError(text, scope=Scope.SESSION, channel=session.channel)
    session._report = CloseReport(By.LOCAL, 0, text)
    if forgotten:
        _tell_failed(session, error, By.REMOTE)
    else:
        _tell_failed(session, error, By.LOCAL)
    session_controls.send(session, SessionDetach(session.name))
    session_controls.step_own(session, "detach")


def end(
    session: Session,
    report: CloseReport,
    error: RemoteProtocolError | None = None,
    *,
    by: By = By.REMOTE,
    lasting: bool = False,
) -> None:
    """The session isn't attached any more; the last events of it.

    `lasting`: the error is that of the attachment, what is known of the session stays.
    """
    connection = session._connection
    state = session._state
    over = session._report is not None
    session_controls.abort_arriving(session)
    state.receiving.detached()
    session._ready = False
    session._attachment = Attachment.DETACHED
    keep = not over and not session._closing and state.lasts and state.timeout != 0
    resumable = keep and (error is None or lasting)
    session._report = report
    if error is not None and not resumable:
        _tell_failed(session, error, by)
    elif not over or session.opening is not None or session._timeouts:
        _end_handles(session, report, error, by, resumable=resumable)
    connection._events.append(
        SessionClosed(Scope.SESSION, session.channel, report, session.name, resumable)
    )
    if not resumable:
        session._closing = True
    if connection._sessions.get(session.channel) is session:
        del connection._sessions[session.channel]


def _end_handles(
    session: Session,
    report: CloseReport,
    error: RemoteProtocolError | None,
    by: By,
    *,
    resumable: bool,
) -> None:
    """End what can't be answered any more: all, or of a session that may go on what belongs to its attachment."""
    connection = session._connection
    kept: frozenset[Handle[Any]] = frozenset(session._state.pending if resumable else ())
    handles = [handle for handle in _open_handles(session) if handle not in kept]
    if error is not None:
        for handle in handles:
            handle._fail(error)
        connection._events.append(
            Failed(Scope.SESSION, session.channel, error, by, tuple(handles))
        )
        return
    _give_up(session, handles, report)


def _give_up(session: Session, handles: list[Handle[object]], report: CloseReport) -> None:
    closed = EndpointClosed(f"no answer will come: {report}", report)
    for handle in handles:
        handle._fail(closed)
    if handles:
        session._connection._events.append(Abandoned(tuple(handles), report))


def let_go(session: Session, code: DetachCode) -> None:
    """This end gives up its attachment: the session is attached elsewhere (rule session.attach/one-transport)."""
    if session._report is not None:
        return
    text = f"session {session.name!r} was taken to another transport"
    if session._attachment is Attachment.ATTACHED and session._connection.is_open and not session._connection._lost:
        session_controls.send(session, SessionDetached(session.name, code.value))
        session_controls.step_own(session, "detached")
    end(session, CloseReport(By.LOCAL, code.value, text))


def connection_ended(connection: Connection, report: CloseReport) -> None:
    """The connection is over: so are the attachments of its sessions, and what isn't kept longer."""
    for session in list(connection._sessions.values()):
        end(session, session._report or report)
    connection._sessions.clear()


def detached_state(session: Session) -> SessionState:
    """What is known of a session that isn't attached."""
    if session._report is None:
        raise LocalProtocolError(
            f"session {session.name!r} is attached; detach it, or wait for SessionClosed"
        )
    if session._closing or session._attachment is not Attachment.DETACHED:
        raise EndpointClosed(f"session {session.name!r} is over: {session._report}", session._report)
    return session._state
