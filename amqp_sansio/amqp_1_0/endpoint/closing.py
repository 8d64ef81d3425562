"""How a connection ends: a close of either side, a violation, a lost transport (1.0 part 2 sections 2.4.3 to 2.4.5)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...endpoint import CloseHint, Side
from ...errors import CodecError, LimitExceeded, LocalProtocolError, RemoteProtocolError, Scope
from ...events import By, Closed, CloseReport, Failed
from ..codec.conditions import (
    DECODE_ERROR,
    FRAME_SIZE_TOO_SMALL,
    FRAMING_ERROR,
    INTERNAL_ERROR,
    RESOURCE_LIMIT_EXCEEDED,
)
from ..codec.frames import AMQP, AMQP_HEADER, amqp_frame, next_frame
from ..codec.performatives import Close, Error, Open, decode_frame_body
from ..codec.violation import Violation
from ..model import hints, states
from ..model.link_state import number_of
from . import endings, opening
from .session import make_error
from .stages import Stage

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..codec.performatives import Performative, SaslFrame
    from .connection import Connection

_TRANSPORT_ENDS: Final = ("eof", "lost")
_PERFORMATIVE: Final = "transport/frame/performative"
_TOO_LONG: Final = ("1.0/transport/open/max-frame-size", "1.0/transport/error/frame-size-too-small")
"""The rules by which what this end has to say needs longer frames than the peer takes."""
_LONGEST_TEXT: Final = 255
"""Octets of a description that a close is sure to hold, whatever frames the peer takes."""


def close_connection(
    connection: Connection, condition: str, description: str, info: Mapping[Any, Any] | None
) -> None:
    """This end closes the connection. Raises CodecError for an `info` that can't be encoded."""
    if connection._stage in (Stage.CLOSING, Stage.ENDED) or connection._lost:
        return
    report = CloseReport(By.LOCAL, 0, description, condition=condition)
    if _may_close(connection):
        send_close(connection, report, make_error(condition, description, info))
    else:
        end_connection(connection, report, CloseHint.CLOSE_NOW)


def _may_close(connection: Connection) -> bool:
    """Whether this side's header is out, so that a close can follow it."""
    return connection._half.state is not states.Connection.START


def send_close(connection: Connection, report: CloseReport, error: Error | None) -> None:
    """Queue close, behind an open when there was none; what the peer still sends is dropped until its close."""
    close = Close(error)
    octets = close.encode()
    if connection._half.state is states.Connection.HEADER:
        _send_own_open(connection)
    if len(octets) + 8 > connection._max_frame and error is not None:
        close = Close(Error(error.condition, _shorten(error.description or "")))
        octets = close.encode()
    connection._joint.step(connection.role, 0, close)
    connection._queue_octets(amqp_frame(0, octets))
    connection._stage = Stage.CLOSING
    connection._waiting_for = None
    connection._timers.clear("handshake")
    connection._report_later = report


def _send_own_open(connection: Connection) -> None:
    """An open has to come before a close, the shortest one where the configured one doesn't fit."""
    try:
        opening.send_open(connection, opening.make_open(connection.config, {}))
    except LocalProtocolError:
        opening.send_open(connection, Open(_shorten(connection.config.container_id)))


def _shorten(text: str) -> str:
    """Cut a text to what fits into the smallest frame."""
    octets = text.encode("utf-8", "backslashreplace")
    short = octets if len(octets) <= _LONGEST_TEXT else octets[: _LONGEST_TEXT - 3] + b"..."
    return short.decode("utf-8", "ignore")


def receive(connection: Connection) -> bool:
    """Behind this side's close: take a frame of which only open and close still count; False while octets are
    missing. Raises Violation."""
    half = connection._joint.halves[number_of(connection.role.other)]
    if half.state is states.Connection.START:
        return opening.receive_header(connection)
    frame = next_frame(connection._buffer, AMQP, connection._incoming_max)
    if frame is None:
        return False
    channel, data, start, end = frame
    if start == end:
        return True
    body, _ = decode_frame_body(data, start, end)
    if isinstance(body, Close):
        # Whatever its channel, and even if the open before it was refused: no better one comes.
        peer_closes(connection, body)
    elif isinstance(body, Open):
        connection._joint.step(connection.role.other, channel, body)
        connection.peer_open = body
    return True


def peer_closes(connection: Connection, close: Close) -> None:
    """The peer closed: answer if this side hasn't closed too, and tell what that ends."""
    connection.peer_close = close
    own = connection._report_later
    report = _merged(own, close.error)
    if own is None:
        send_close(connection, report, None)
    if report.by is By.REMOTE and report.condition:
        error = RemoteProtocolError(str(report), condition=report.condition)
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def _merged(own: CloseReport | None, error: Error | None) -> CloseReport:
    """The report of a peer's close, or when both sides closed, the one that tells of an error."""
    if own is not None and (own.condition or error is None):
        return own
    if error is None:
        return CloseReport(By.REMOTE)
    condition = str(error.condition)
    return CloseReport(
        By.REMOTE, 0, error.description or "", hint=hints.for_close(condition), condition=condition
    )


def end_connection(connection: Connection, report: CloseReport, hint: CloseHint) -> None:
    """Queue the last events of every link, session and the connection; nothing is parsed any more."""
    if connection._report is not None:
        return
    connection._report = report
    endings.connection_ended(connection, report)
    connection._stage = Stage.ENDED
    connection._timers.clear_all()
    connection._waiting_for = connection._sasl = None
    connection._paused_sending = False
    connection._buffer.clear()
    if connection._close_hint is CloseHint.KEEP:
        connection._close_hint = hint
    if hint is CloseHint.CLOSE_NOW:
        connection._out.clear()
    connection._events.append(Closed(Scope.CONNECTION, 0, report))


def fail(connection: Connection, violation: Violation, hint: str = "") -> None:
    """The peer broke a rule: queue the reply the specification demands and the event that says so."""
    if connection._stage is Stage.CLOSING:
        # It is closing anyway; the frame at fault is out of the way, so the peer's close may still be found.
        return
    if violation.scope is not Scope.CONNECTION:
        try:
            endings.fail(connection, violation)
        except LocalProtocolError as misfit:
            # The answer doesn't fit; without it the peer would go on with what has ended here.
            fail_for(connection, misfit)
        return
    closable = _may_close(connection)
    error = RemoteProtocolError(
        str(violation),
        channel=violation.channel,
        offset=connection._unit_offset,
        rule=f"1.0/{violation.rule}",
        condition=violation.condition if closable else "",
    )
    connection._events.append(Failed(Scope.CONNECTION, 0, error, By.LOCAL))
    report = CloseReport(
        By.LOCAL,
        0,
        str(violation),
        hint=hint or hints.for_octets(connection),
        rule=error.rule,
        condition=error.condition,
    )
    if closable:
        send_close(connection, report, make_error(violation.condition, _shorten(str(violation))))
        # The peer's close is waited for; nothing that it says changes the report, or answers a call.
        endings.connection_ended(connection, report)
        return
    if connection.role is Side.SERVER and connection._stage is Stage.FIRST:
        connection._out.append(AMQP_HEADER)
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def fail_for(connection: Connection, error: Violation | CodecError | LocalProtocolError) -> None:
    """As `fail`, for whatever stopped the reading of a frame."""
    if isinstance(error, CodecError):
        # Octets that can't be decoded.
        rule = (error.rule or _PERFORMATIVE).removeprefix("1.0/")
        error = Violation(error.condition or DECODE_ERROR, str(error), rule=rule)
    elif isinstance(error, LocalProtocolError):
        # What this end has to answer by itself doesn't fit: its peer doesn't read, or takes too small frames.
        rule = (error.rule or "transport/error/internal").removeprefix("1.0/")
        condition = FRAME_SIZE_TOO_SMALL if error.rule in _TOO_LONG else INTERNAL_ERROR
        if isinstance(error, LimitExceeded):
            condition = RESOURCE_LIMIT_EXCEEDED
        error = Violation(condition, str(error), rule=rule)
    fail(connection, error)


def misplaced(body: Performative | SaslFrame, octets: int) -> Violation:
    """A frame's body that isn't one: only performatives are, and only a transfer has a payload."""
    text = f"{body.NAME} with {octets} octets behind it" if octets else f"{body.NAME} in an AMQP frame"
    return Violation(FRAMING_ERROR, text, rule=_PERFORMATIVE)


def finish(connection: Connection, kind: str, text: str) -> None:
    """Everything queued is parsed, and the transport or a timer ended the connection."""
    later = connection._report_later
    if later is not None:
        cause = later.hint or (f"without the peer's close: {text}" if kind in _TRANSPORT_ENDS else text)
        report = CloseReport(
            later.by, later.code, later.text, hint=cause, rule=later.rule, condition=later.condition
        )
    elif kind in _TRANSPORT_ENDS:
        report = CloseReport(By.TRANSPORT, 0, text, hint=hints.for_lost(connection, kind))
    else:
        report = CloseReport(By.LOCAL, 0, text)
    # Who ended its stream may read on; who is silent or gone doesn't.
    hint = CloseHint.CLOSE_WHEN_SENT if kind == "eof" else CloseHint.CLOSE_NOW
    end_connection(connection, report, hint)
