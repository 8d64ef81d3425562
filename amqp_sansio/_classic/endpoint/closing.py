"""How channels and connections end: closes of either side, violations, lost transports.

0-9-1 sections 1.4.2.7, 2.2.4, 2.3.7.
"""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...endpoint import CloseHint, Side
from ...errors import CodecError, EndpointClosed, LocalProtocolError, RemoteProtocolError, Scope
from ...events import Abandoned, By, Closed, CloseReport, Failed, Handle, Settled
from ..codec.frames import OVERSIZE, method_frame
from ..codec.rule_ids import rule_id
from ..codec.violation import RESOURCE_ERROR, SILENT, Violation, misuse
from ..model import hints
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from .events import ContentAborted

if TYPE_CHECKING:
    from ..codec.method import Method
    from ..model.channel_state import Outcome, Step
    from .channel import Channel
    from .connection import Connection

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

_CLOSABLE: Final = frozenset({State.OPENING, State.OPEN})
"""States in which an error is told with connection.close; before them the socket is just closed (2.2.4)."""
_LIVE: Final = frozenset({ChannelStates.OPENING, ChannelStates.OPEN})
_ERROR: Final = 300
"""Reply codes from here on tell of an error."""
_SILENT_RULES: Final = {"silent": "wire/heartbeat-timeout"}


def close_connection(connection: Connection, code: int, text: str, cause: Method | None) -> None:
    """This end closes the connection. Raises LocalProtocolError."""
    state = connection._joint.state
    if state in CLOSING or connection._lost:
        return
    report = CloseReport(By.LOCAL, code, text, *_ids(cause))
    if state in _CLOSABLE:
        send_close(connection, report)
    else:
        end_connection(connection, report, CloseHint.CLOSE_NOW)


def send_close(connection: Connection, report: CloseReport, text: str = "") -> None:
    """Queue connection.close; what the peer still sends is dropped until it answers. Raises LocalProtocolError.

    `text` is what the peer is told; "" for what the report says.
    """
    payload, close = _encode_close(connection, "connection.close", report, text)
    connection._joint.step(connection.role, 0, close)
    connection._queue_octets(method_frame(0, payload))
    connection._waiting_for = None
    connection._timers.clear("handshake")
    connection._report_later = report


def close_channel(channel: Channel, code: int, text: str, cause: Method | None) -> None:
    """This end closes a channel. Raises LocalProtocolError."""
    connection = channel.connection
    if channel.number == 0:
        raise LocalProtocolError("channel 0 is the connection; close that")
    if channel.state in _LIVE and connection._joint.state is State.OPEN and not connection._lost:
        _send_channel_close(channel, CloseReport(By.LOCAL, code, text, *_ids(cause)))


def _send_channel_close(channel: Channel, report: CloseReport, text: str = "") -> None:
    connection = channel.connection
    payload, close = _encode_close(connection, "channel.close", report, text)
    connection._joint.step(connection.role, channel.number, close)
    connection._joint.drop_contents(channel)
    connection._queue_octets(method_frame(channel.number, payload))
    channel.report = report


def _encode_close(
    connection: Connection, name: str, report: CloseReport, text: str = ""
) -> tuple[bytes, Method]:
    if not report.code:
        raise misuse(
            connection.dialect.version, f"{name} needs a reply code", "domain/reply-code.notnull"
        )
    text = text or report.text or connection.dialect.codes.get(report.code, ("closed", True))[0]
    close: Method = connection.dialect.named[name](
        report.code, _shorten(text), report.class_id, report.method_id
    )
    try:
        return close.encode(connection._tables), close
    except CodecError as error:
        raise misuse(connection.dialect.version, str(error), error.rule) from error


def _shorten(text: str) -> str:
    """Cut a reply text to the 255 octets of a short string."""
    octets = text.encode("utf-8", "backslashreplace")
    short = octets if len(octets) <= 255 else octets[:252] + b"..."
    return short.decode("utf-8", "ignore")


def _ids(cause: Method | None) -> tuple[int, int]:
    return (cause.CLASS_ID, cause.METHOD_ID) if cause is not None else (0, 0)


def answer(connection: Connection, number: int, method: Method) -> None:
    """Queue what this end sends by itself. Raises Violation when a peer that doesn't read lets that pile up."""
    size = connection._out.size
    if size > connection.config.limits.backlog_hard:
        raise Violation(
            RESOURCE_ERROR,
            f"{size} octets wait to be sent, Limits.backlog_hard allows "
            f"{connection.config.limits.backlog_hard}; read what is sent",
        )
    answer_anyway(connection, number, method)


def answer_anyway(connection: Connection, number: int, method: Method) -> None:
    """Queue what this end sends by itself, whatever waits already."""
    payload = method.encode(connection._tables)
    connection._joint.step(connection.role, number, method)
    connection._queue_octets(method_frame(number, payload))


def peer_closes_channel(connection: Connection, channel: Channel, close: Any) -> None:
    """The peer closed a channel: answer, and tell what that ends."""
    answer(connection, channel.number, connection.dialect.named["channel.close-ok"]())
    report = _merged(channel.report, close)
    if channel.state is ChannelStates.CLOSED:
        end_channel(connection, channel, report)
    else:
        # Both closes crossed: this end's awaits its answer.
        channel.report = report


def channel_closed(connection: Connection, channel: Channel) -> None:
    """The peer answered this end's channel.close."""
    if channel.state is ChannelStates.CLOSED:
        end_channel(connection, channel, channel.report or CloseReport(By.LOCAL))


def peer_closes_connection(connection: Connection, close: Any) -> None:
    """The peer closed the connection: answer and end, or wait for its answer to this end's close."""
    answer_anyway(connection, 0, connection.dialect.named["connection.close-ok"]())
    connection._report_later = _merged(connection._report_later, close)
    if connection._joint.state is State.END:
        connection_closed(connection)


def connection_closed(connection: Connection) -> None:
    """Whatever closes were sent are answered: tell what that ends."""
    if connection._joint.state is not State.END:
        return
    report = connection._report_later or CloseReport(By.LOCAL)
    if report.by is By.REMOTE and report.code >= _ERROR:
        error = EndpointClosed(f"connection: {report}", report)
        connection._events.append(Failed(Scope.CONNECTION, 0, error, By.REMOTE))
    end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)


def _merged(own: CloseReport | None, close: Any) -> CloseReport:
    """The report of a peer's close, or when both sides closed, the one that tells of an error."""
    if own is not None and (own.code >= _ERROR or close.reply_code < _ERROR):
        return own
    return CloseReport(
        By.REMOTE,
        close.reply_code,
        close.reply_text,
        close.class_id,
        close.method_id,
        hint=hints.for_close(close.reply_code, close.reply_text, close.class_id, close.method_id),
    )


def end_channel(
    connection: Connection, channel: Channel, report: CloseReport, with_connection: bool = False
) -> None:
    """Queue the last events of a channel: what failed, what is abandoned, and that it is closed.

    The error of a whole connection is told once, not again `with_connection` for each of its channels.
    """
    report = _with_books(channel, report)
    error = EndpointClosed(f"channel {channel.number}: {report}", report)
    handles = _open_handles(channel)
    events = connection._events
    if channel.streaming:
        events.append(ContentAborted(channel.number))
    if report.by is By.REMOTE and report.code >= _ERROR and not with_connection:
        blamed = _take_blamed(handles, channel, report)
        for handle in blamed:
            handle._fail(error)
        events.append(Failed(Scope.CHANNEL, channel.number, error, By.REMOTE, tuple(blamed)))
    _abandon(connection, handles, error, report)
    _forget(channel)
    channel.report = report
    connection._free_from = min(connection._free_from, channel.number)
    events.append(Closed(Scope.CHANNEL, channel.number, report))


def end_connection(connection: Connection, report: CloseReport, hint: CloseHint) -> None:
    """Queue the last events of every channel and of the connection; nothing is parsed any more."""
    if connection._report is not None:
        return
    _end_parts(connection, report)
    connection._report = report
    connection._joint.state = State.END
    connection._joint.bodies = 0
    connection._timers.clear_all()
    connection._waiting_for = connection._sasl = connection._full_channel = None
    connection._paused_sending = False
    connection._buffer.clear()
    connection._publish_cache.clear()
    connection._deliver_cache.clear()
    if connection._close_hint is CloseHint.KEEP:
        connection._close_hint = hint
    if hint is CloseHint.CLOSE_NOW:
        connection._out.clear()
    connection._events.append(Closed(Scope.CONNECTION, 0, report))


def _end_parts(connection: Connection, report: CloseReport) -> None:
    """Queue the last events of every channel, and of the calls on the connection itself."""
    for channel in list(connection._channels.values()):
        if channel.report is not None:
            end_channel(connection, channel, channel.report)
        else:
            end_channel(connection, channel, report, with_connection=True)
    zero = connection._zero
    error = EndpointClosed(f"the connection is closed: {report}", report)
    _abandon(connection, _open_handles(zero), error, report)
    _forget(zero)
    connection._channels.clear()


def fail(connection: Connection, violation: Violation) -> None:
    """The peer broke a rule: queue the reply the specification demands and the event that says so."""
    if connection._report_later is not None and violation.rule == OVERSIZE:
        return
    if connection._report_later is not None:
        # It is closing anyway, and what comes can't be read any more.
        end_connection(connection, connection._report_later, CloseHint.CLOSE_WHEN_SENT)
        return
    channel = connection._channels.get(connection._unit_channel)
    in_channel = violation.scope is Scope.CHANNEL and channel is not None and channel.state in _LIVE
    class_id, method_id = connection._unit_method >> 16, connection._unit_method & 0xFFFF
    rule = rule_id(connection.dialect.version, violation.rule) if violation.rule else None
    code = violation.code if connection._joint.state in _CLOSABLE else SILENT
    error = RemoteProtocolError(
        violation.text,
        scope=Scope.CHANNEL if in_channel else Scope.CONNECTION,
        code=code,
        channel=connection._unit_channel,
        class_id=class_id,
        method_id=method_id,
        offset=connection._unit_offset,
        rule=rule,
    )
    number = connection._unit_channel if in_channel else 0
    connection._events.append(Failed(error.scope, number, error, By.LOCAL))
    report = CloseReport(
        By.LOCAL,
        code,
        violation.text,
        class_id,
        method_id,
        hint=hints.for_octets(connection),
        rule=rule,
    )
    # The peer's answer to the close is waited for; nothing that it says changes the report, or answers a call.
    if in_channel and channel is not None:
        _send_channel_close(channel, report, _words(connection, violation))
        ended = EndpointClosed(f"channel {number}: {report}", report)
        _abandon(connection, _open_handles(channel), ended, _with_books(channel, report))
    elif code == SILENT:
        end_connection(connection, report, CloseHint.CLOSE_WHEN_SENT)
    else:
        send_close(connection, report, _words(connection, violation))
        _end_parts(connection, report)


def _words(connection: Connection, violation: Violation) -> str:
    """What the peer is told: clients look for the code's name, with which every text of RabbitMQ begins."""
    name = connection.dialect.codes.get(violation.code, ("", True))[0]
    if connection.role is not Side.SERVER or not name:
        return violation.text
    return f"{name.replace('-', '_').upper()} - {violation.text}"


def settle_deliveries(connection: Connection, step: Step) -> None:
    """Tell of the deliveries that a method settled: one event for each outcome."""
    if not step.settled and not step.committed:
        return
    settled: dict[Outcome, list[Handle[Any]]] = {}
    for _, token in step.settled:
        if token is not None:
            settled.setdefault(step.outcome, []).append(token)
    for _, token, outcome in step.committed:
        if token is not None:
            settled.setdefault(outcome, []).append(token)
    for outcome, handles in settled.items():
        for handle in handles:
            handle._complete(outcome)
        connection._events.append(Settled(tuple(handles), outcome))


def finish(connection: Connection, kind: str, text: str) -> None:
    """Everything queued is parsed, and the transport or a timer ended the connection."""
    later = connection._report_later
    if later is not None:
        cause = later.hint or (f"without close-ok: {text}" if kind in _TRANSPORT_ENDS else text)
        report = CloseReport(
            later.by, later.code, later.text, later.class_id, later.method_id, hint=cause, rule=later.rule
        )
    elif kind in _TRANSPORT_ENDS or kind == "silent":
        rule = _SILENT_RULES.get(kind)
        report = CloseReport(
            By.TRANSPORT,
            0,
            text,
            hint=hints.for_lost(connection, kind),
            rule=rule_id(connection.dialect.version, rule) if rule else None,
        )
    else:
        report = CloseReport(By.LOCAL, 0, text)
    # Who ended its stream may read on; who is silent or gone doesn't.
    hint = CloseHint.CLOSE_WHEN_SENT if kind == "eof" else CloseHint.CLOSE_NOW
    end_connection(connection, report, hint)


def _with_books(channel: Channel, report: CloseReport) -> CloseReport:
    """A report with what a channel had open; what a transaction would have settled is open still."""
    unsettled = tuple(channel.unsettled)
    if channel.tx_settled:
        unsettled = tuple(sorted({*unsettled, *channel.tx_settled}))
    return CloseReport(
        report.by,
        report.code,
        report.text,
        report.class_id,
        report.method_id,
        unsettled,
        tuple(channel.unconfirmed),
        report.hint,
        report.rule,
    )


def _open_handles(channel: Channel) -> list[Handle[Any]]:
    """Every handle that waits on a channel, in the order the calls were made."""
    tokens: list[Any] = [channel.opening]
    for calls in (channel.client_calls, channel.server_calls):
        tokens += [call.token for call in calls or ()]
    for content in (channel.client_content, channel.server_content):
        if content is not None and content.answered is not None:
            tokens.append(content.answered.token)
    tokens += channel.unconfirmed.values()
    tokens += channel.unsettled.values()
    tokens += [token for token, _ in (channel.tx_settled or {}).values()]
    handles: list[Handle[Any]] = [token for token in tokens if token is not None and not token.done]
    return sorted(handles, key=_order)


def _order(handle: Handle[Any]) -> Any:
    return handle.key


def _take_blamed(handles: list[Handle[Any]], channel: Channel, report: CloseReport) -> list[Handle[Any]]:
    """The oldest open call of the method that the peer blames, taken out of `handles`."""
    blamed = report.class_id << 16 | report.method_id
    if channel.opening is not None and blamed == channel.connection.dialect.named["channel.open"].ID:
        handles.remove(channel.opening)
        return [channel.opening]
    for calls in (channel.client_calls, channel.server_calls):
        for call in calls or ():
            if blamed == call.request.ID and call.token in handles:
                handles.remove(call.token)
                return [call.token]
    return []


def _abandon(
    connection: Connection, handles: list[Handle[Any]], error: EndpointClosed, report: CloseReport
) -> None:
    if not handles:
        return
    for handle in handles:
        handle._fail(error)
    connection._events.append(Abandoned(tuple(handles), report))


def _forget(channel: Channel) -> None:
    """Let go of a channel's books; the number is free, the object says only why it is closed."""
    channel.state = ChannelStates.CLOSED
    channel.client_calls = channel.server_calls = None
    channel.client_content = channel.server_content = None
    channel.unsettled = {}
    channel.unconfirmed = {}
    channel.consumers = {}
    channel.streaming = False
    channel.cancelled = channel.tx_settled = channel.opening = None
    channel.returns = channel.deferred = None


_TRANSPORT_ENDS: Final = ("eof", "lost")
