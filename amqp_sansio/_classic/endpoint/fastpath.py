"""The shortcut: a whole deliver, publish or confirm in the buffer, on an open channel, becomes its event at once.

What it does must equal what `receiving` does with the same octets; a test feeds both. Whatever isn't exactly the common
case, an error included, is left to the general step, with nothing changed.
"""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, Final

from ...endpoint import Side
from ...errors import CodecError
from ...events import NEED_DATA, Settled
from ..codec.frames import GATHERED
from ..codec.methods import BasicDeliver, BasicProperties
from ..model.channel_state import ACCEPTED, ContentState, take_up_to
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Content, Mode
from .events import Delivery
from .fastpath_server import acknowledged, published
from .receiving import settle_confirms

if TYPE_CHECKING:
    from ...events import Event, Signal
    from .connection import Connection

_new: Final = object.__new__
_METHOD: Final = Struct(">BHII").unpack_from
_TAG: Final = Struct(">QB").unpack_from
_HEADER_REST: Final = Struct(">IIQ").unpack_from
_BODY: Final = Struct(">II").unpack_from
_SIZE: Final = Struct(">I").unpack_from
_ACK: Final = Struct(">QBB").unpack_from

_DELIVER: Final = 60 << 16 | 60
_DELIVER_OCTET: Final = _DELIVER & 0xFF
"""The last octet of deliver's id: frames without it in that place aren't looked for among the begins kept."""
_PUBLISH: Final = 60 << 16 | 40
_ACK_ID: Final = 60 << 16 | 80
_OPEN: Final = ChannelStates.OPEN
_CONNECTION_OPEN: Final = State.OPEN
_CLIENT: Final = Side.CLIENT
_HEADER_FOLLOWS: Final = 0xCE02 << 16
_BODY_FOLLOWS: Final = 0xCE03 << 16
"""The end octet of one frame, the type of the next one, and room for its channel."""
LONGEST_DELIVER: Final = 4 + 3 * 256 + 9
"""Octets of basic.deliver with three names of 255: agreed frames hold it always, `Limits.header` nearly always."""
_KEPT_NAMES: Final = 512
_LONGEST_KEPT: Final = 256
_BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""


def fast_event(connection: Connection) -> Event | Signal | None:
    """The event of the unit at the buffer's begin, if it's the common case, else None."""
    buffer = connection._buffer
    data = buffer.data
    pos = buffer.pos
    try:
        begin = None
        stop = 0
        if connection._quick and data[pos + 10] == _DELIVER_OCTET:
            stop = pos + 12 + data[pos + 11]
            begin = connection._begins.get(data[pos:stop]) or _remember_begin(connection, data, pos, stop)
        if begin is not None:
            number, size, consumer_tag = begin
            end = pos + 7 + size
            tag, redelivered = _TAG(data, stop)
            route = connection._routes.get(data[stop + 9 : end + 4])
            if route is None:
                route = _remember_route(connection, data, stop + 9, end, number)
            exchange, routing_key, header_number = route
            size_2, content_class, body_size = _HEADER_REST(data, end + 4)
            header_end = end + 8 + size_2
            if (
                content_class != _BASIC
                or header_number != number
                or redelivered > 1
                or not tag
                or size_2 < 14
                or size_2 > connection._other_max
            ):
                return None
            if body_size:
                last = header_end + 8 + body_size
                if last >= len(data):
                    if data[header_end] != 0xCE or body_size <= GATHERED:
                        return None
                    method = BasicDeliver(consumer_tag, tag, redelivered == 1, exchange, routing_key)
                    raw = data[end + 20 : header_end]
                    return _long_delivery(connection, number, method, raw, body_size, header_end)
                follows, size_3 = _BODY(data, header_end)
                if (
                    follows != _BODY_FOLLOWS | number
                    or size_3 != body_size
                    or size_3 > connection._body_max
                    or data[last] != 0xCE
                ):
                    return None
                body = data[header_end + 8 : last]
            elif data[header_end] == 0xCE:
                last = header_end
                body = b""
            else:
                return None
            channel: Any = connection._channels.get(number)
            joint = connection._joint
            if (
                channel is None
                or channel.state is not _OPEN
                or channel.server_content is not None
                or joint.state is not _CONNECTION_OPEN
                or (joint.bodies and joint.bodies + body_size > joint.limits.bodies)
            ):
                return None
            no_ack = channel.consumers.get(consumer_tag)
            if not no_ack:
                unsettled = channel.unsettled
                if (
                    no_ack is None
                    or tag in unsettled
                    or tag <= channel.settled_to
                    or len(unsettled) >= joint.limits.unsettled
                ):
                    return None
                unsettled[tag] = None
            channel.last_tag = tag
            buffer.pos = last + 1
            # What the constructor of Delivery does, without a call that passes ten arguments.
            delivery = _new(Delivery)
            slot: Any = delivery
            slot.channel = number
            slot.consumer_tag = consumer_tag
            slot.delivery_tag = tag
            slot.redelivered = redelivered == 1
            slot.exchange = exchange
            slot.routing_key = routing_key
            slot.body = body
            slot.raw_properties = raw = data[end + 20 : header_end]
            slot.tables = tables = connection._tables
            slot.properties = BasicProperties.from_wire(raw, tables)
            return delivery
        kind, number, size, method_id = _METHOD(data, pos)
        if kind != 1:
            return _last_body(connection, number) if kind == 3 else None
        if connection.role is _CLIENT:
            return _confirm(connection, number, size, data, pos) if method_id == _ACK_ID else None
        if method_id == _PUBLISH:
            return published(connection, number, size, data, pos)
        if method_id == _ACK_ID:
            return acknowledged(connection, number, size, data, pos)
    except (StructError, IndexError, UnicodeDecodeError, CodecError):
        return None
    return None


def _remember_begin(connection: Connection, data: bytes, pos: int, stop: int) -> tuple[int, int, str] | None:
    """Channel, size and consumer tag of a deliver, of its octets up to the delivery tag; None if it's no deliver.

    They are kept by those octets: most deliveries repeat those of the one before.
    """
    kind, number, size, method_id = _METHOD(data, pos)
    if kind != 1 or method_id != _DELIVER:
        return None
    begin = number, size, data[pos + 12 : stop].decode()
    if stop - pos <= _LONGEST_KEPT:
        kept = connection._begins
        if len(kept) >= _KEPT_NAMES:
            kept.clear()
        kept[data[pos:stop]] = begin
    return begin


def _remember_route(connection: Connection, data: bytes, at: int, end: int, number: int) -> tuple[str, str, int]:
    """Exchange and routing key of a deliver, which end at `end`, and the channel of the header frame that follows; kept
    by their octets and the begin of that frame."""
    stop = at + 1 + data[at]
    if stop + 1 + data[stop] != end or _SIZE(data, end)[0] != _HEADER_FOLLOWS | number:
        raise IndexError(end)
    route = data[at + 1 : stop].decode(), data[stop + 1 : end].decode(), number
    if end - at <= _LONGEST_KEPT:
        kept = connection._routes
        if len(kept) >= _KEPT_NAMES:
            kept.clear()
        kept[data[at : end + 4]] = route
    return route


def _long_delivery(
    connection: Connection, number: int, method: BasicDeliver, raw: bytes, size: int, header_end: int
) -> Event | Signal | None:
    """A delivery whose method and header are there, and its body is not, or not in one frame."""
    data = connection._buffer.data
    if (
        _begin_delivery(connection, number, method, raw, size, header_end + 1)
        and _BODY(data, header_end) == (_BODY_FOLLOWS | number, size)
    ):  # fmt: skip
        return _rest_of_body(connection, number, size)
    return None


def _begin_delivery(
    connection: Connection, number: int, method: BasicDeliver, raw: bytes, size: int, after: int
) -> bool:
    """Method and header of a delivery whose body isn't all there; does nothing in any but the common case."""
    channel: Any = connection._channels.get(number)
    joint = connection._joint
    limits = joint.limits
    if (
        channel is None
        or channel.state is not _OPEN
        or joint.state is not _CONNECTION_OPEN
        or channel.server_content is not None
        or connection._unusual
        or connection.role is not _CLIENT
        or size > limits.message
        or joint.bodies + size > limits.bodies
    ):
        return False
    no_ack = channel.consumers.get(method.consumer_tag)
    if no_ack is None:
        return False
    if not no_ack:
        unsettled = channel.unsettled
        if (
            method.delivery_tag in unsettled
            or method.delivery_tag <= channel.settled_to
            or len(unsettled) >= limits.unsettled
        ):
            return False
        unsettled[method.delivery_tag] = None
    channel.last_tag = method.delivery_tag
    content = ContentState(method, None, None)
    content.state = Content.BODY
    content.size = content.counted = size
    content.properties = raw
    joint.bodies += size
    channel.server_content = content
    connection._buffer.pos = after
    return True


def _rest_of_body(connection: Connection, number: int, size: int) -> Event | Signal | None:
    """The body frame behind a delivery's header, or NEED_DATA while its octets are missing and its header is right."""
    buffer = connection._buffer
    if len(buffer.data) - buffer.pos + buffer.held >= size + 8:
        return _last_body(connection, number)
    if size > connection._body_max or connection._ending is not None:
        return None
    buffer.need = size + 8
    return NEED_DATA


def _last_body(connection: Connection, number: int) -> Event | None:
    """The body frame that completes a delivery."""
    channel: Any = connection._channels.get(number)
    joint = connection._joint
    if channel is None or channel.state is not _OPEN or joint.state is not _CONNECTION_OPEN:
        return None
    content = channel.server_content
    if content is None or content.streaming or connection.role is not Side.CLIENT:
        return None
    buffer = connection._buffer
    pos = buffer.pos
    size = content.size - content.received
    if (
        _SIZE(buffer.data, pos + 3)[0] != size
        or size > connection._body_max
        or content.state is not Content.BODY
        or type(content.method) is not BasicDeliver
        or len(buffer.data) - pos + buffer.held < size + 8
        or buffer.octet(size + 7) != 0xCE
    ):
        return None
    data = buffer.data
    if pos + size + 8 <= len(data):
        body = data[pos + 7 : pos + 7 + size]
        buffer.pos = pos + size + 8
    elif size > GATHERED:
        body = buffer.gather(7, size)
        buffer.pos += 1
    else:
        return None
    if content.parts:
        content.parts.append(body)
        body = b"".join(content.parts)
    joint.bodies -= content.counted
    channel.server_content = None
    method = content.method
    return Delivery(
        number, method.consumer_tag, method.delivery_tag, method.redelivered, method.exchange, method.routing_key,
        body, content.properties, connection._tables,
    )  # fmt: skip


def _confirm(connection: Connection, number: int, size: int, data: bytes, pos: int) -> Event | None:
    """basic.ack from the server, for publishes."""
    tag, multiple, end = _ACK(data, pos + 11)
    channel: Any = connection._channels.get(number)
    if (
        size != 13
        or end != 0xCE
        or multiple > 1
        or channel is None
        or channel.state is not _OPEN
        or connection._joint.state is not _CONNECTION_OPEN
        or channel.server_content is not None
        or channel.mode is not Mode.CONFIRM
    ):
        return None
    unconfirmed = channel.unconfirmed
    handle = unconfirmed.get(tag)
    if handle is None:
        return None
    if multiple:
        settled = take_up_to(unconfirmed, channel.confirmed_to, tag)
        channel.confirmed_to = tag
    else:
        del unconfirmed[tag]
        if channel.returns is None:
            connection._buffer.pos = pos + 21
            handle._complete(ACCEPTED)
            return Settled((handle,), ACCEPTED)
        settled = [(tag, handle)]
    connection._buffer.pos = pos + 21
    settle_confirms(connection, channel, settled, ACCEPTED)
    return connection._events.popleft()
