"""How connections end: a close of either end, broken rules, lost transports (class 1, connection.close)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...endpoint import CloseHint, Side
from ...errors import CodecError, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, Closed, CloseReport, Failed
from ..codec.records import ConnectionClose, ConnectionCloseOk
from ..codec.violation import (
    CLOSE_CODES,
    CONNECTION_FORCED,
    FRAMING_ERROR,
    NORMAL,
    SILENT,
    Violation,
)
from ..model import hints
from ..model.states import Connection as State
from ..model.states import ConnectionInput
from . import session_end

if TYPE_CHECKING:
    from .connection import Connection

CLOSING: Final = frozenset(
    {State.CLIENT_CLOSING, State.SERVER_CLOSING, State.BOTH_CLOSING, State.END}
)
"""States in which no new work is accepted."""
_TOO_EARLY: Final = frozenset({State.START, State.HEADER_SENT, State.HEADERS})
"""Before connection.start nothing can be said: the socket is just closed."""
_LONGEST_TEXT: Final = 200


def close_connection(connection: Connection, code: int, text: str) -> None:
    """This end closes the connection."""
    if connection._state in CLOSING or connection._lost or connection._report is not None:
        return
    report = CloseReport(By.LOCAL, code, text)
    if connection._state in _TOO_EARLY:
        end_connection(connection, report, CloseHint.CLOSE_NOW)
    else:
        send_close(connection, report)


def send_close(connection: Connection, report: CloseReport) -> None:
    """Queue connection.close; what the peer still sends is dropped until it answers."""
    text = report.text.encode("utf-8", "backslashreplace")[:_LONGEST_TEXT].decode("utf-8", "ignore")
    connection._send_control(0, ConnectionClose(report.code or NORMAL, text or None))
    connection._step(ConnectionInput.C_CLOSE if connection.role is Side.CLIENT else ConnectionInput.S_CLOSE)
    connection._waiting_for = connection._requested = None
    # The peer's answer is a control of its own, whatever it was in the middle of.
    connection._partials.clear()
    connection._timers.clear("handshake")
    connection._report_later = report


def receive_close(connection: Connection, close: ConnectionClose) -> None:
    """The peer closes: answer, and tell what that ends."""
    own = connection._report_later
    code = close.reply_code or NORMAL
    text = close.reply_text or ""
    report = CloseReport(By.REMOTE, code, text, hint=hints.for_close(code))
    connection._step(ConnectionInput.S_CLOSE if connection.role is Side.CLIENT else ConnectionInput.C_CLOSE)
    connection._step(ConnectionInput.C_CLOSE_OK if connection.role is Side.CLIENT else ConnectionInput.S_CLOSE_OK)
    connection._send_control(0, ConnectionCloseOk())
    if own is not None and (own.code not in (0, NORMAL) or code == NORMAL):
        report = own
    if report.by is By.REMOTE and code != NORMAL:
        name = CLOSE_CODES.get(code, str(code))
        error = RemoteProtocolError(f"{code} {text}".strip(), code=code, condition=name)
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def receive_close_ok(connection: Connection) -> None:
    """The peer has answered this end's close."""
    report = connection._report_later
    assert report is not None
    connection._step(ConnectionInput.S_CLOSE_OK if connection.role is Side.CLIENT else ConnectionInput.C_CLOSE_OK)
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def end_connection(connection: Connection, report: CloseReport, hint: CloseHint) -> None:
    """Queue the last events of every session and the connection; nothing is parsed any more."""
    if connection._report is not None:
        return
    connection._report = report
    session_end.connection_ended(connection, report)
    connection._state = State.END
    connection._timers.clear_all()
    connection._waiting_for = connection._sasl = connection._requested = None
    connection._paused_sending = False
    connection._partials.clear()
    connection._buffer.clear()
    if connection._close_hint is CloseHint.KEEP:
        connection._close_hint = hint
    if hint is CloseHint.CLOSE_NOW:
        connection._out.clear()
    connection._events.append(Closed(Scope.CONNECTION, 0, report))


def fail(connection: Connection, violation: Violation, hint: str = "") -> None:
    """The peer broke a rule: queue the reply the specification demands and the event that says so."""
    if connection._report is not None or connection._report_later is not None:
        return
    silent = violation.code == SILENT or connection._state in _TOO_EARLY
    code = 0 if silent else violation.code
    text = str(violation)
    error = RemoteProtocolError(
        text,
        code=code,
        offset=connection._unit_offset,
        rule=f"0-10/{violation.rule}" if violation.rule else None,
        condition=CLOSE_CODES.get(code, ""),
    )
    hint = hint or hints.for_octets(connection)
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    report = CloseReport(By.LOCAL, code, text, hint=hint, rule=error.rule, condition=error.condition)
    if silent:
        end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)
    else:
        send_close(connection, report)
        # The peer's answer is waited for; nothing that it says changes the report, or answers a call.
        session_end.connection_ended(connection, report)


def fail_for(connection: Connection, error: Violation | CodecError | LocalProtocolError) -> None:
    """As `fail`, for whatever stopped the reading of a frame."""
    if isinstance(error, CodecError):
        rule = None if error.rule is None else error.rule.removeprefix("0-10/")
        error = Violation(FRAMING_ERROR, str(error), rule=rule)
    elif isinstance(error, LocalProtocolError):
        # What this end has to answer by itself doesn't fit: its peer doesn't read.
        code = CONNECTION_FORCED if isinstance(error, LimitExceeded) else FRAMING_ERROR
        error = Violation(code, str(error))
    fail(connection, error)


def finish(connection: Connection, kind: str, text: str) -> None:
    """Everything queued is parsed, and the transport or a timer ended the connection."""
    later = connection._report_later
    if later is not None:
        cause = later.hint or f"without the peer's close-ok: {text}"
        report = CloseReport(
            later.by, later.code, later.text, hint=cause, rule=later.rule, condition=later.condition
        )
    elif kind in ("eof", "lost", "silent"):
        report = CloseReport(By.TRANSPORT, 0, text, hint=hints.for_lost(connection, kind))
    else:
        report = CloseReport(By.LOCAL, 0, text)
    # Who ended its stream may read on; who is silent or gone doesn't.
    hint = CloseHint.CLOSE_WHEN_SENT if kind == "eof" else CloseHint.CLOSE_NOW
    end_connection(connection, report, hint)


__all__ = [
    "CLOSING",
    "CONNECTION_FORCED",
    "close_connection",
    "end_connection",
    "fail",
    "fail_for",
    "finish",
    "receive_close",
    "receive_close_ok",
    "send_close",
]
