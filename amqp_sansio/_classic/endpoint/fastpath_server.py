"""The shortcut of a server: a whole publish and an acknowledgement in the buffer become their events at once.

As in `fast`, what it does equals what `receiving` does with the same octets, and whatever isn't exactly the common case
is left to the general step.
"""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from ...events import Settled
from ..codec.methods import BasicAck, BasicProperties
from ..model.channel_state import ACCEPTED, take_up_to
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Mode
from .events import MethodReceived, Published

if TYPE_CHECKING:
    from ...events import Event
    from .connection import Connection

_new: Final = object.__new__
_HEADER_REST: Final = Struct(">IIQ").unpack_from
_BODY: Final = Struct(">II").unpack_from
_SIZE: Final = Struct(">I").unpack_from
_ACK: Final = Struct(">QBB").unpack_from

_OPEN: Final = ChannelStates.OPEN
_CONNECTION_OPEN: Final = State.OPEN
_CONFIRM: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED
_HEADER_FOLLOWS: Final = 0xCE02 << 16
_BODY_FOLLOWS: Final = 0xCE03 << 16
"""The end octet of one frame, the type of the next one, and room for its channel."""
_BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""
_KEPT: Final = 512
_LONGEST_KEPT: Final = 256
_LONGEST_PROPERTIES: Final = 64
_UNKNOWN: Final = object()


def published(connection: Connection, number: int, size: int, data: bytes, pos: int) -> Event | None:
    """basic.publish from the client, whole, with one body frame or none."""
    end = pos + 7 + size
    # The frame from its channel on, with the begin of the header frame that follows.
    route = connection._publishes.get(data[pos + 1 : end + 4])
    if route is None:
        route = _remember_route(connection, data, pos, end, number)
    size_2, content_class, body_size = _HEADER_REST(data, end + 4)
    header_end = end + 8 + size_2
    if content_class != _BASIC or size_2 < 14:
        return None
    if body_size:
        last = header_end + 8 + body_size
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
        or joint.state is not _CONNECTION_OPEN
        or channel.client_content is not None
        or size > connection._other_max
        or size_2 > connection._other_max
        or connection._unusual
        or (joint.bodies and joint.bodies + body_size > joint.limits.bodies)
    ):
        return None
    raw = data[end + 20 : header_end]
    properties = connection._checked.get(raw) or _check(connection, raw)
    count = 0
    if channel.mode is _CONFIRM:
        unconfirmed = channel.unconfirmed
        if len(unconfirmed) >= joint.limits.unconfirmed:
            return None
        channel.publish_count = count = channel.publish_count + 1
        unconfirmed[count] = None
    connection._buffer.pos = last + 1
    # What the constructor of Published does, without a call that passes ten arguments.
    event = _new(Published)
    slot: Any = event
    slot.channel = number
    slot.exchange, slot.routing_key, slot.mandatory, slot.immediate = route
    slot.body = body
    slot.raw_properties = raw
    slot.tables = connection._tables
    slot.number = count
    slot.properties = properties
    return event


def acknowledged(connection: Connection, number: int, size: int, data: bytes, pos: int) -> Event | None:
    """basic.ack from the client, for deliveries."""
    tag, multiple, end = _ACK(data, pos + 11)
    channel: Any = connection._channels.get(number)
    if (
        size != 13
        or end != 0xCE
        or multiple > 1
        or channel is None
        or channel.state is not _OPEN
        or connection._joint.state is not _CONNECTION_OPEN
        or channel.client_content is not None
        or channel.mode is _TRANSACTED
    ):
        return None
    unsettled = channel.unsettled
    token = unsettled.get(tag, _UNKNOWN)
    tokens: list[Any] = []
    if token is _UNKNOWN:
        return None
    if multiple:
        settled = take_up_to(unsettled, channel.settled_to, tag)
        channel.settled_to = max(tag, channel.settled_to)
        tokens = [each for _, each in settled if each is not None]
    else:
        del unsettled[tag]
        tokens = [token] if token is not None else tokens
    connection._buffer.pos = pos + 21
    if tokens:
        for each in tokens:
            each._complete(ACCEPTED)
        connection._events.append(Settled(tuple(tokens), ACCEPTED))
    event = _new(MethodReceived)
    slot: Any = event
    slot.channel = number
    slot.method = BasicAck(tag, multiple == 1)
    return event


def _remember_route(
    connection: Connection, data: bytes, pos: int, end: int, number: int
) -> tuple[str, str, bool, bool]:
    """Exchange, routing key and flags of a publish whose frame begins at `pos`, kept by their octets."""
    at = pos + 14 + data[pos + 13]
    stop = at + 1 + data[at]
    bits = data[stop]
    if (
        stop + 1 != end
        or bits > 3
        or data[pos + 11]
        or data[pos + 12]
        or _SIZE(data, end)[0] != _HEADER_FOLLOWS | number
    ):
        raise IndexError(end)
    route = data[pos + 14 : at].decode(), data[at + 1 : stop].decode(), bits & 1 == 1, bits & 2 == 2
    if end - pos <= _LONGEST_KEPT:
        kept = connection._publishes
        if len(kept) >= _KEPT:
            kept.clear()
        kept[data[pos + 1 : end + 4]] = route
    return route


def _check(connection: Connection, raw: bytes) -> BasicProperties:
    """The properties in `raw`, checked if this end checks them. Raises CodecError."""
    properties = BasicProperties.from_wire(raw, connection._tables)
    if connection._validate:
        properties.check()
    if len(raw) <= _LONGEST_PROPERTIES:
        kept = connection._checked
        if len(kept) >= _KEPT:
            kept.clear()
        kept[raw] = properties
    return properties
