"""How channels and connections end: closes of either side, violations, lost transports (0-9-1 sections 1.4.2.7, 2.2.4, 2.3.7)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..endpoint import CloseHint, Side
from ..errors import EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from ..events import Abandoned, By, Closed, CloseReport, Failed, Handle
from . import hints
from .events import ContentAborted
from .frames import method_frame
from .states import Channel as ChannelStates
from .states import Connection as State
from .violation import SILENT, Violation

if TYPE_CHECKING:
    from .channel import Channel
    from .connection import Connection
    from .method import Method

CLOSING: Final = frozenset(
    {
        State.CLIENT_CLOSING,
        State.SERVER_CLOSING,
        State.BOTH_CLOSING,
        State.CLIENT_CLOSE_LEFT,
        State.SERVER_CLOSE_LEFT,
        State.END,
    }
)
"""States in which no new work is accepted."""

_CHANNEL_GONE: Final = (ChannelStates.CLOSED,)


def close_connection(connection: Connection, code: int, text: str, cause: Method | None) -> None:
    """This end closes the connection."""
    if connection._report is not None or connection._joint.state in CLOSING:
        return
    state = connection._joint.state
    report = CloseReport(By.LOCAL, code, text, *_ids(cause))
    if state in _CLOSABLE or (state is State.OPENING and connection.role is Side.SERVER):
        send_close(connection, code, text, *_ids(cause))
        connection._report_later = report
        return
    end_connection(connection, report, CloseHint.CLOSE_NOW)


def send_close(connection: Connection, code: int, text: str, class_id: int, method_id: int) -> None:
    """Queue connection.close; whatever the peer still sends is dropped until it answers."""
    close = connection.dialect.named["connection.close"](code, shorten(text), class_id, method_id)
    connection._joint.step(connection.role, 0, close)
    connection._out.append(method_frame(0, close.encode(connection._tables)))
    connection._waiting_for = None


def close_channel(channel: Channel, code: int, text: str, cause: Method | None) -> None:
    """This end closes a channel."""
    connection = channel.connection
    if channel.number == 0:
        raise LocalProtocolError("channel 0 is the connection; close that")
    if channel.state not in (ChannelStates.OPEN, ChannelStates.OPENING):
        return
    if connection._joint.state is not State.OPEN or connection._report is not None:
        return
    _send_channel_close(channel, CloseReport(By.LOCAL, code, text, *_ids(cause)))


def _send_channel_close(channel: Channel, report: CloseReport) -> None:
    connection = channel.connection
    close = connection.dialect.named["channel.close"](
        report.code, shorten(report.text), report.class_id, report.method_id
    )
    connection._joint.step(connection.role, channel.number, close)
    connection._out.append(method_frame(channel.number, close.encode(connection._tables)))
    channel.report = report


def peer_closes_channel(connection: Connection, channel: Channel, close: Any) -> None:
    """The peer closed a channel: answer, and tell what that ends."""
    connection._joint.step(connection.role, channel.number, answer := connection.dialect.named["channel.close-ok"]())
    connection._out.append(method_frame(channel.number, answer.encode(connection._tables)))
    if channel.report is not None and channel.number in connection._channels:
        return
    report = CloseReport(
        By.REMOTE,
        close.reply_code,
        close.reply_text,
        close.class_id,
        close.method_id,
        hint=hints.for_close(close.reply_code, close.reply_text),
    )
    end_channel(connection, channel, channel.report or report)


def channel_closed(connection: Connection, channel: Channel) -> None:
    """The peer answered this end's channel.close."""
    if channel.state is ChannelStates.CLOSED:
        end_channel(connection, channel, channel.report or CloseReport(By.LOCAL))


def end_channel(connection: Connection, channel: Channel, report: CloseReport) -> None:
    """Queue the last events of a channel: what failed, what is abandoned, and that it is closed."""
    report = _with_books(channel, report)
    channel.report = report
    handles = _open_handles(channel)
    if _streaming(connection, channel):
        connection._events.append(ContentAborted(channel.number))
    if report.by is By.REMOTE and report.code >= 300:
        error = EndpointClosed(f"channel {channel.number}: {report}", report)
        blamed = _take_blamed(handles, channel, report)
        for handle in blamed:
            handle._fail(error)
        connection._events.append(Failed(Scope.CHANNEL, channel.number, error, By.REMOTE, tuple(blamed)))
    _abandon(connection, f"channel {channel.number} is closed", handles, report)
    _forget(channel)
    connection._events.append(Closed(Scope.CHANNEL, channel.number, report))


def peer_closes_connection(connection: Connection, close: Any) -> None:
    """The peer closed the connection: answer and end, or wait for its answer to our own close."""
    answer = connection.dialect.named["connection.close-ok"]()
    connection._joint.step(connection.role, 0, answer)
    connection._out.append(method_frame(0, answer.encode(connection._tables)))
    if connection._joint.state is not State.END:
        return
    report = CloseReport(
        By.REMOTE,
        close.reply_code,
        close.reply_text,
        close.class_id,
        close.method_id,
        hint=hints.for_close(close.reply_code, close.reply_text),
    )
    if close.reply_code >= 300:
        error = EndpointClosed(f"connection: {report}", report)
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def connection_closed(connection: Connection) -> None:
    """The peer answered this end's connection.close, and nothing is left open."""
    if connection._joint.state is State.END:
        report = connection._report_later or CloseReport(By.LOCAL)
        end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def end_connection(connection: Connection, report: CloseReport, hint: CloseHint) -> None:
    """Queue the last events of every channel and of the connection; nothing is parsed any more."""
    if connection._report is not None:
        return
    for channel in list(connection._channels.values()):
        below = CloseReport(report.by, report.code, report.text, report.class_id, report.method_id)
        quiet = below if below.by is not By.REMOTE else CloseReport(By.REMOTE, 0, report.text)
        end_channel(connection, channel, channel.report or quiet)  # type: ignore[arg-type]
        channel.report = _with_books(channel, below)  # type: ignore[attr-defined]
    zero = connection._joint_zero()
    connection._report = report
    _abandon(connection, "the connection is closed", _open_handles(zero), report)
    _forget(zero)
    connection._channels.clear()
    connection._joint.state = State.END
    connection._timers.clear_all()
    connection._waiting_for = None
    connection._sasl = None
    connection._buffer.clear()
    connection._close_hint = hint
    if hint is CloseHint.CLOSE_NOW:
        connection._out.clear()
    connection._events.append(Closed(Scope.CONNECTION, 0, report))


def fail(connection: Connection, violation: Violation) -> None:
    """The peer broke a rule: queue the reply the specification demands and the event that says so."""
    channel = connection._channels.get(connection._unit_channel)
    rule = f"{connection.dialect.version.label}/{violation.rule}" if violation.rule else None
    scope = violation.scope
    if channel is None or channel.state not in (ChannelStates.OPEN, ChannelStates.OPENING):
        scope = Scope.CONNECTION
    class_id, method_id = connection._unit_method >> 16, connection._unit_method & 0xFFFF
    error = RemoteProtocolError(
        violation.text,
        scope=scope,
        code=violation.code,
        channel=connection._unit_channel,
        class_id=class_id,
        method_id=method_id,
        offset=connection._unit_offset,
        rule=rule,
    )
    hint = hints.for_octets(connection)
    report = CloseReport(By.LOCAL, violation.code, violation.text, class_id, method_id, hint=hint, rule=rule)
    where = connection._unit_channel if scope is Scope.CHANNEL else 0
    connection._events.append(Failed(scope, where, error, By.LOCAL))
    state = connection._joint.state
    if scope is Scope.CHANNEL:
        _send_channel_close(channel, report)  # type: ignore[arg-type]
        return
    may_close = state in _CLOSABLE or (state is State.OPENING and connection.role is Side.SERVER)
    if violation.code == SILENT or not may_close:
        end_connection(connection, report, CloseHint.CLOSE_NOW)
        return
    send_close(connection, violation.code, violation.text, class_id, method_id)
    connection._report_later = report


def finish(connection: Connection) -> None:
    """Everything queued is parsed, and the transport or a timer ended the connection."""
    assert connection._ending is not None
    kind, text = connection._ending
    if connection._report is not None:
        return
    closing = connection._joint.state in CLOSING and connection._report_later is not None
    if closing and kind in ("eof", "lost"):
        report = connection._report_later or CloseReport(By.LOCAL)
    elif kind in ("eof", "lost", "silent"):
        hint = hints.for_lost(connection, kind)
        report = CloseReport(By.TRANSPORT, 0, text, hint=hint, rule=_SILENT_RULES.get(kind))
    else:
        report = CloseReport(By.LOCAL, 0, text)
    end_connection(connection, report, CloseHint.CLOSE_NOW)


def shorten(text: str) -> str:
    """Cut a reply text to the 255 octets of a short string."""
    octets = text.encode("utf-8", "surrogateescape")
    return text if len(octets) <= 255 else octets[:252].decode("utf-8", "ignore") + "..."


def _ids(cause: Method | None) -> tuple[int, int]:
    return (cause.CLASS_ID, cause.METHOD_ID) if cause is not None else (0, 0)


def _with_books(channel: Any, report: CloseReport) -> CloseReport:
    return CloseReport(
        report.by,
        report.code,
        report.text,
        report.class_id,
        report.method_id,
        tuple(channel.unsettled) or report.unsettled,
        tuple(channel.unconfirmed) or report.unconfirmed,
        report.hint,
        report.rule,
    )


def _open_handles(channel: Any) -> list[Handle[Any]]:
    """Every handle that waits on a channel, in the order the calls were made."""
    tokens: list[Any] = [channel.opening]
    for calls in (channel.client_calls, channel.server_calls):
        tokens += [call.token for call in calls or ()]
    for content in (channel.client_content, channel.server_content):
        if content is not None and content.answered is not None:
            tokens.append(content.answered.token)
    tokens += channel.unconfirmed.values()
    tokens += channel.unsettled.values()
    tokens += (channel.tx_settled or {}).values()
    handles = [token for token in tokens if isinstance(token, Handle) and not token.done]
    return sorted(handles, key=lambda handle: handle.key)  # type: ignore[return-value]


def _take_blamed(handles: list[Handle[Any]], channel: Any, report: CloseReport) -> list[Handle[Any]]:
    """The oldest open call of the method that the peer blames, taken out of `handles`."""
    blamed = report.class_id << 16 | report.method_id
    for calls in (channel.client_calls, channel.server_calls):
        for call in calls or ():
            if call.request.ID == blamed and call.token in handles:
                handles.remove(call.token)
                return [call.token]
    return []


def _abandon(
    connection: Connection, what: str, handles: list[Handle[Any]], report: CloseReport
) -> None:
    if not handles:
        return
    error = EndpointClosed(f"{what}: {report}", report)
    for handle in handles:
        handle._fail(error)
    connection._events.append(Abandoned(tuple(handles), report))


def _streaming(connection: Connection, channel: Any) -> bool:
    content = channel.server_content if connection.role is Side.CLIENT else channel.client_content
    return content is not None and content.streaming


def _forget(channel: Any) -> None:
    channel.state = ChannelStates.CLOSED
    channel.client_calls = channel.server_calls = None
    channel.client_content = channel.server_content = None
    channel.unsettled = {}
    channel.unconfirmed = {}
    channel.consumers = {}
    channel.tx_settled = channel.mandatory = channel.returned = channel.opening = None


_CLOSABLE: Final = frozenset({State.OPENING, State.OPEN, State.SERVER_CLOSING, State.CLIENT_CLOSING})
_SILENT_RULES: Final = {"silent": "wire/heartbeat-timeout"}
