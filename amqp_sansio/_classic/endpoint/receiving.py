"""What an endpoint does with each unit that arrives: one frame becomes a step of the tables and at most a
few events."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from ...endpoint import Side
from ...errors import CodecError, Scope
from ...events import Handle, Opened, Replied, Settled
from ..codec.frames import (
    BODY,
    CONTENT_HEADER,
    HEADER,
    HEARTBEAT,
    METHOD,
    METHOD_ID,
    TRACE,
    Frame,
    check_heartbeat,
    next_frame,
)
from ..codec.table import check_tables
from ..codec.violation import (
    COMMAND_INVALID,
    FRAME_ERROR,
    NOT_IMPLEMENTED,
    RESOURCE_ERROR,
    SYNTAX_ERROR,
    Violation,
    codes_of,
)
from ..model.channel_state import Outcome
from ..model.connection import CLOSES
from ..model.states import Channel as ChannelStates
from ..model.states import Mode
from . import closing, handshake
from .events import (
    Blocked,
    ConsumerCancelled,
    ContentBegun,
    ContentChunk,
    ContentReceived,
    Delivery,
    FlowChanged,
    HeartbeatReceived,
    Message,
    MessageReturned,
    MethodReceived,
    Published,
    Request,
    Returned,
    Unblocked,
)

if TYPE_CHECKING:
    from ..codec.method import Method
    from ..model.channel_state import ContentState, Step
    from .channel import Channel
    from .connection import Connection
    from .returns import Returns

_SMALL_PIECE: Final = 1024
"""Pieces of a body with fewer octets are collected."""


def receive_unit(connection: Connection) -> bool:
    """Parse and apply one unit; False while octets are missing or nothing more is taken."""
    if connection._report is not None:
        return False
    buffer = connection._buffer
    connection._unit_offset = buffer.offset
    connection._unit_channel = connection._unit_method = 0
    try:
        if not connection._started:
            if connection.role is Side.SERVER or buffer.data[buffer.pos : buffer.pos + 1] != b"\x01":
                return handshake.receive_header(connection)
            connection._started = True
        frame = next_frame(
            buffer, connection.dialect.version, connection._body_max, connection._other_max
        )
        if frame is None:
            return False
        kind, number, data, start, end = frame
        connection._unit_channel = number
        if connection._report_later is not None and not _is_close(connection, frame):
            # Once a close is on its way everything else is dropped (0-9-1 connection.close).
            return True
        if kind == METHOD:
            _receive_method(connection, number, data, start, end)
        elif kind == BODY:
            _receive_body(connection, number, data, start, end)
        elif kind == HEADER:
            _receive_header(connection, number, data, start, end)
        elif kind == HEARTBEAT:
            check_heartbeat(number, end - start)
            if connection.config.report_heartbeats:
                connection._events.append(HeartbeatReceived())
        elif kind == TRACE:
            if number:
                raise Violation(FRAME_ERROR, f"trace frame on channel {number}", rule="wire/trace-channel")
        else:
            raise Violation(
                NOT_IMPLEMENTED, f"out-of-band frame of type {kind}; content goes in band", rule="wire/oob-format"
            )
    except Violation as violation:
        closing.fail(connection, violation)
    return True


def _is_close(connection: Connection, frame: Frame) -> bool:
    kind, number, data, start, end = frame
    if kind != METHOD or number or end - start < 4:
        return False
    method = connection.dialect.methods.get(METHOD_ID.unpack_from(data, start)[0])
    return method is not None and method.NAME in CLOSES


def requests_full(connection: Connection) -> bool:
    """Whether as many requests of the peer wait for answers on a channel as `Limits.requests` allows."""
    full = connection._full_channel
    if full is None:
        return False
    calls = full.calls(connection.role is Side.SERVER)
    if calls is not None and len(calls) >= connection.config.limits.requests:
        return True
    connection._full_channel = None
    return False


def _receive_method(connection: Connection, number: int, data: bytes, start: int, end: int) -> None:
    if end - start < 4:
        raise Violation(
            SYNTAX_ERROR,
            f"method frame with {end - start} octets, 4 are the least",
            rule="wire/method-payload",
        )
    (method_id,) = METHOD_ID.unpack_from(data, start)
    connection._unit_method = method_id
    kind = connection.dialect.methods.get(method_id)
    if kind is None:
        raise Violation(
            COMMAND_INVALID,
            f"class {method_id >> 16} has no method {method_id & 0xFFFF} in {connection.dialect.name}",
            rule="wire/method-payload",
        )
    try:
        method = kind.decode(data, start + 4, end, connection._tables)
        if connection._validate:
            rules = connection._tables
            # Clients say of themselves that they know "basic.nack", a name that the specification forbids.
            own = method.NAME == "connection.start-ok"
            check_tables(method, rules.with_any_names() if own else rules)
    except CodecError as error:
        raise Violation(
            error.code or SYNTAX_ERROR, str(error), rule=error.rule or "wire/method-payload"
        ) from None
    step = connection._joint.step(connection.role.other, number, method, None, False)
    if step is None:
        return
    channel: Any = step.channel
    if step.replied:
        calls = channel.calls(connection.role is Side.SERVER)
        if calls is not None and len(calls) >= connection.config.limits.requests:
            connection._full_channel = channel
    receiver = _RECEIVERS.get(method.NAME)
    if receiver is not None:
        receiver(connection, channel, method, step)
    elif not method.HAS_CONTENT:
        _receive_other(connection, number, method, step)


def _receive_other(connection: Connection, number: int, method: Any, step: Step) -> None:
    if method.NAME in handshake.OPENING_METHODS:
        handshake.receive_method(connection, method)
    elif step.answered is not None and step.answered.token is not None:
        _complete(connection, step.answered.token, method)
    elif step.replied:
        connection._events.append(Request(number, method))
    else:
        connection._events.append(MethodReceived(number, method))
    closing.settle_deliveries(connection, step)


def _complete(connection: Connection, handle: Handle[Any], result: object) -> None:
    handle._complete(result)
    connection._events.append(Replied(handle))


def _receive_header(connection: Connection, number: int, data: bytes, start: int, end: int) -> None:
    if end - start < 14:
        raise Violation(
            codes_of(connection.dialect.version).unexpected_frame,
            f"content header with {end - start} octets, 14 are the least",
            rule="wire/content-incomplete",
        )
    class_id, weight, size = CONTENT_HEADER.unpack_from(data, start)
    raw = data[start + 12 : end]
    channel = connection._channels.get(number)
    streaming = channel is not None and _streams(connection, channel, size)
    content = connection._joint.header(connection.role.other, number, class_id, weight, size, streaming)
    if content is None or channel is None:
        return
    content.properties = raw
    if connection._validate:
        try:
            connection.dialect.properties[class_id].from_wire(raw, connection._tables).check()
        except CodecError as error:
            raise Violation(
                error.code or SYNTAX_ERROR, str(error), rule=error.rule or "wire/content-flags"
            ) from None
    if streaming:
        channel.streaming = True
        properties = connection.dialect.properties[class_id].from_wire(raw, connection._tables)
        published = content.method.NAME == "basic.publish" and channel.mode is Mode.CONFIRM
        count = channel.publish_count if published else 0
        connection._events.append(ContentBegun(number, content.method, properties, size, count))
    elif not size:
        _end_content(connection, number, content, b"")


def _streams(connection: Connection, channel: Channel, size: int) -> bool:
    """Whether a body comes in pieces. One that was returned doesn't: it must be compared with its publish."""
    threshold = connection.config.stream_above
    if threshold is None or size <= threshold:
        return False
    content = channel.server_content if connection.role is Side.CLIENT else channel.client_content
    return content is not None and content.method.NAME != "basic.return"


def _receive_body(connection: Connection, number: int, data: bytes, start: int, end: int) -> None:
    content = connection._joint.body(connection.role.other, number, end - start)
    if content is None:
        return
    last = content.received == content.size
    piece = data[start:end]
    parts = content.parts
    if content.streaming:
        if piece:
            connection._events.append(ContentChunk(number, piece, last))
        if last:
            connection._channels[number].streaming = False
            _end_streamed(connection, content)
    elif last:
        _end_content(connection, number, content, b"".join((*parts, piece)) if parts else piece)
    elif len(piece) >= _SMALL_PIECE:
        parts.append(piece)
    elif parts and isinstance(parts[-1], bytearray):
        # Each object costs tens of octets beside its own: small pieces share one.
        parts[-1] += piece
    elif piece:
        parts.append(bytearray(piece))


def _end_streamed(connection: Connection, content: ContentState) -> None:
    """A reply whose body came in pieces ends its call without them."""
    if content.answered is not None and content.answered.token is not None:
        method = content.method
        kind = connection.dialect.properties[method.CLASS_ID]
        properties = kind.from_wire(content.properties, connection._tables)
        _complete(connection, content.answered.token, Message(method, properties, b""))


def _end_content(connection: Connection, number: int, content: ContentState, body: bytes) -> None:
    """A message is complete: hand it to the call it answers, or to the application."""
    method: Any = content.method
    name = method.NAME
    raw = content.properties
    tables = connection._tables
    if content.answered is not None and content.answered.token is not None:
        properties = connection.dialect.properties[method.CLASS_ID].from_wire(raw, tables)
        _complete(connection, content.answered.token, Message(method, properties, body))
    elif name == "basic.deliver":
        delivery = Delivery(
            number, method.consumer_tag, method.delivery_tag, method.redelivered, method.exchange,
            method.routing_key, body, raw, tables,
        )  # fmt: skip
        connection._events.append(delivery)
    elif name == "basic.publish":
        channel = connection._channels[number]
        confirming = channel.publish_count if channel.mode is Mode.CONFIRM else 0
        published = Published(
            number, method.exchange, method.routing_key, method.mandatory, method.immediate, body, raw,
            tables, confirming,
        )  # fmt: skip
        connection._events.append(published)
    elif name == "basic.return":
        _receive_return(connection, number, method, raw, body)
    else:
        properties = connection.dialect.properties[method.CLASS_ID].from_wire(raw, tables)
        connection._events.append(ContentReceived(number, method, properties, body))


def _receive_return(connection: Connection, number: int, method: Any, raw: bytes, body: bytes) -> None:
    """Tie a returned message to its publish."""
    channel = connection._channels[number]
    handle = None
    if channel.returns is not None:
        key = (method.exchange, method.routing_key, len(body), crc32(body))
        outcome = Returned(method.reply_code, method.reply_text)
        handle = channel.unconfirmed.get(channel.returns.came_back(key, outcome))
    connection._events.append(
        MessageReturned(
            number, method.reply_code, method.reply_text, method.exchange, method.routing_key, body,
            raw, connection._tables, handle,
        )
    )  # fmt: skip


def settle_confirms(
    connection: Connection, channel: Any, settled: list[tuple[int, Any]], outcome: Outcome
) -> None:
    """Publishes were confirmed: one event for those that went well, one for each that came back first."""
    plain: list[Any] = []
    events = connection._events
    returns: Returns | None = channel.returns
    for count, handle in settled:
        came_back = returns.settle(count) if returns is not None else None
        if handle is None:
            continue
        if came_back is not None:
            handle._complete(came_back)
            events.append(Settled((handle,), came_back))
        else:
            handle._complete(outcome)
            plain.append(handle)
    if plain:
        events.append(Settled(tuple(plain), outcome))


def _ack(connection: Connection, channel: Any, method: Any, step: Step) -> None:
    if connection.role is Side.CLIENT:
        settle_confirms(connection, channel, step.settled, step.outcome)
        return
    connection._events.append(MethodReceived(channel.number, method))
    closing.settle_deliveries(connection, step)


def _channel_open(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    closing.answer(connection, channel.number, connection.dialect.named["channel.open-ok"]())
    connection._events.append(Opened(Scope.CHANNEL, channel.number))


def _channel_open_ok(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    handle = channel.opening
    if channel.state is ChannelStates.OPEN and handle is not None:
        channel.opening = None
        handle._complete(method)
        connection._events.append(Opened(Scope.CHANNEL, channel.number, handle))


def _channel_close(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    closing.peer_closes_channel(connection, channel, method)


def _channel_close_ok(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    closing.channel_closed(connection, channel)


def _connection_close(connection: Connection, channel: Any, method: Any, step: Step) -> None:
    closing.peer_closes_connection(connection, method)


def _connection_close_ok(connection: Connection, channel: Any, method: Any, step: Step) -> None:
    closing.connection_closed(connection)


def _flow(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    _answer(connection, channel, connection.dialect.named["channel.flow-ok"](method.active))
    connection._events.append(FlowChanged(channel.number, method.active))


def _answer(connection: Connection, channel: Channel, answer: Method) -> None:
    """Answer at once, or behind the content that this end has under way on the channel (section 4.2.6)."""
    if channel.own_content is None and channel.deferred is None:
        closing.answer(connection, channel.number, answer)
        return
    if channel.deferred is None:
        channel.deferred = []
    channel.deferred.append(answer)
    if len(channel.deferred) > connection.config.limits.requests:
        raise Violation(
            RESOURCE_ERROR,
            f"{len(channel.deferred)} answers wait behind content on channel {channel.number}, "
            f"Limits.requests allows {connection.config.limits.requests}",
            scope=Scope.CHANNEL,
        )


def _cancel(connection: Connection, channel: Channel, method: Any, step: Step) -> None:
    if connection.role is Side.SERVER:
        _receive_other(connection, channel.number, method, step)
        return
    if not method.no_wait:
        cancel_ok = connection.dialect.named["basic.cancel-ok"]
        _answer(connection, channel, cancel_ok(method.consumer_tag))
    connection._events.append(ConsumerCancelled(channel.number, method.consumer_tag))


def _blocked(connection: Connection, channel: Any, method: Any, step: Step) -> None:
    connection._events.append(Blocked(method.reason))


def _unblocked(connection: Connection, channel: Any, method: Any, step: Step) -> None:
    connection._events.append(Unblocked())


_RECEIVERS: Final = {
    "connection.close": _connection_close,
    "connection.close-ok": _connection_close_ok,
    "connection.blocked": _blocked,
    "connection.unblocked": _unblocked,
    "channel.open": _channel_open,
    "channel.open-ok": _channel_open_ok,
    "channel.flow": _flow,
    "channel.close": _channel_close,
    "channel.close-ok": _channel_close_ok,
    "basic.ack": _ack,
    "basic.nack": _ack,
    "basic.reject": _ack,
    "basic.cancel": _cancel,
}
"""Methods that mean more to an endpoint than a request, a reply or news."""

