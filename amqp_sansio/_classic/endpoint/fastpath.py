"""FastPath: a whole deliver, publish or confirm in the buffer, on an open channel, becomes its event at once.

It does what the general step does with the same octets; a test feeds both. It leaves everything but the common case, an
error included, to the general step, with nothing changed.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, Any, Final

from ...errors import CodecError
from ...events import NEED_DATA, Settled
from ..codec.frames import GATHERED
from ..codec.methods import BasicAck, BasicDeliver, BasicProperties
from ..model.channel_state import ACCEPTED, ContentState, take_up_to
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Content, Mode
from .channel import Channel
from .events import Delivery, MethodReceived, Published

if TYPE_CHECKING:
    from collections import deque

    from ..._core.receive_buffer import ReceiveBuffer
    from ...events import Event, Signal
    from ..codec.table_rules import TableRules
    from ..model.connection import ConnectionModel
    from .config import Config

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
_HEADER_FOLLOWS: Final = 0xCE02 << 16
_BODY_FOLLOWS: Final = 0xCE03 << 16
"""The end octet of one frame, the type of the next one, and room for its channel."""
LONGEST_DELIVER: Final = 4 + 3 * 256 + 9
"""Octets of basic.deliver with three names of 255: agreed frames hold it always, `Limits.header` nearly always."""
_KEPT_NAMES: Final = 512
_LONGEST_KEPT: Final = 256
_BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""
_CONFIRM: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED
_LONGEST_PROPERTIES: Final = 64
_UNKNOWN: Final = object()


class FastPath:
    """The shortcuts of one end, client or server, and the octets that they know already."""

    __slots__ = (
        "_begins",
        "_body_max",
        "_buffer",
        "_channels",
        "_checked",
        "_events",
        "_is_client",
        "_model",
        "_other_max",
        "_publishes",
        "_quick",
        "_routes",
        "_tables",
        "_unusual",
        "_validate",
    )

    def __init__(
        self,
        config: Config,
        model: ConnectionModel,
        buffer: ReceiveBuffer,
        events: deque[Event],
        tables: TableRules,
        *,
        is_client: bool,
        validate: bool,
    ) -> None:
        self._model = model
        self._channels = model.channels
        self._buffer = buffer
        self._events = events
        self._tables = tables
        self._is_client = is_client
        self._validate = validate
        self._body_max = self._other_max = 0
        limits = config.limits
        self._unusual = config.stream_above is not None or min(limits.message, limits.bodies) < limits.unparsed
        self._unusual |= (is_client and validate) or model.dialect.strict
        self._unusual |= limits.header < LONGEST_DELIVER
        # Whether whole deliveries take the shortcut.
        self._quick = is_client and not self._unusual
        self._clear()

    def _clear(self) -> None:
        self._begins: dict[bytes, tuple[int, int, str]] = {}
        self._routes: dict[bytes, tuple[str, str, int]] = {}
        self._publishes: dict[bytes, tuple[str, str, bool, bool]] = {}
        self._checked: dict[bytes, BasicProperties] = {}

    def agree(self, body_max: int, other_max: int, tables: TableRules) -> None:
        """Use the agreed limits and the rules of the peer's tables from now on."""
        self._body_max = body_max
        self._other_max = other_max
        self._tables = tables

    def event(self) -> Event | Signal | None:
        """The event of the unit at the buffer's begin, if it's the common case, else None."""
        buffer = self._buffer
        data = buffer.data
        pos = buffer.pos
        try:
            begin = None
            stop = 0
            if self._quick and data[pos + 10] == _DELIVER_OCTET:
                stop = pos + 12 + data[pos + 11]
                begin = self._begins.get(data[pos:stop]) or self._remember_begin(data, pos, stop)
            if begin is not None:
                number, size, consumer_tag = begin
                end = pos + 7 + size
                tag, redelivered = _TAG(data, stop)
                route = self._routes.get(data[stop + 9 : end + 4])
                if route is None:
                    route = self._remember_route(data, stop + 9, end, number)
                exchange, routing_key, header_number = route
                size_2, content_class, body_size = _HEADER_REST(data, end + 4)
                header_end = end + 8 + size_2
                if (
                    content_class != _BASIC
                    or header_number != number
                    or redelivered > 1
                    or not tag
                    or size_2 < 14
                    or size_2 > self._other_max
                ):
                    return None
                if body_size:
                    last = header_end + 8 + body_size
                    if last >= len(data):
                        if data[header_end] != 0xCE or body_size <= GATHERED:
                            return None
                        method = BasicDeliver(consumer_tag, tag, redelivered == 1, exchange, routing_key)
                        raw = data[end + 20 : header_end]
                        return self._long_delivery(number, method, raw, body_size, header_end)
                    follows, size_3 = _BODY(data, header_end)
                    if (
                        follows != _BODY_FOLLOWS | number
                        or size_3 != body_size
                        or size_3 > self._body_max
                        or data[last] != 0xCE
                    ):
                        return None
                    body = data[header_end + 8 : last]
                elif data[header_end] == 0xCE:
                    last = header_end
                    body = b""
                else:
                    return None
                channel = self._channels.get(number)
                model = self._model
                if (
                    channel is None
                    or channel.state is not _OPEN
                    or channel.server_content is not None
                    or model.state is not _CONNECTION_OPEN
                    or (model.bodies and model.bodies + body_size > model.limits.bodies)
                ):
                    return None
                no_ack = channel.consumers.get(consumer_tag)
                if not no_ack:
                    unsettled = channel.unsettled
                    if (
                        no_ack is None
                        or tag in unsettled
                        or tag <= channel.settled_to
                        or len(unsettled) >= model.limits.unsettled
                    ):
                        return None
                    unsettled[tag] = None
                channel.last_tag = tag
                buffer.pos = last + 1
                # As the constructor of Delivery does, without a call that passes ten arguments.
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
                slot.tables = tables = self._tables
                slot.properties = BasicProperties.from_wire(raw, tables)
                return delivery
            kind, number, size, method_id = _METHOD(data, pos)
            if kind != 1:
                return self._last_body(number) if kind == 3 else None
            if self._is_client:
                return self._confirm(number, size, data, pos) if method_id == _ACK_ID else None
            if method_id == _PUBLISH:
                return self._published(number, size, data, pos)
            if method_id == _ACK_ID:
                return self._acknowledged(number, size, data, pos)
        except (StructError, IndexError, UnicodeDecodeError, CodecError):
            return None
        return None

    def _remember_begin(self, data: bytes, pos: int, stop: int) -> tuple[int, int, str] | None:
        """Channel, size and consumer tag of a deliver, of its octets up to the delivery tag; None if it's no deliver.

        They are kept by those octets: most deliveries repeat those of the one before.
        """
        kind, number, size, method_id = _METHOD(data, pos)
        if kind != 1 or method_id != _DELIVER:
            return None
        begin = number, size, data[pos + 12 : stop].decode()
        if stop - pos <= _LONGEST_KEPT:
            kept = self._begins
            if len(kept) >= _KEPT_NAMES:
                kept.clear()
            kept[data[pos:stop]] = begin
        return begin

    def _remember_route(self, data: bytes, at: int, end: int, number: int) -> tuple[str, str, int]:
        """Exchange and routing key of a deliver, which end at `end`, and the channel of the header frame that follows;
        kept by their octets and the begin of that frame."""
        stop = at + 1 + data[at]
        if stop + 1 + data[stop] != end or _SIZE(data, end)[0] != _HEADER_FOLLOWS | number:
            raise IndexError(end)
        route = data[at + 1 : stop].decode(), data[stop + 1 : end].decode(), number
        if end - at <= _LONGEST_KEPT:
            kept = self._routes
            if len(kept) >= _KEPT_NAMES:
                kept.clear()
            kept[data[at : end + 4]] = route
        return route

    def _long_delivery(
        self, number: int, method: BasicDeliver, raw: bytes, size: int, header_end: int
    ) -> Event | Signal | None:
        """A delivery whose method and header are there, and its body is not, or not in one frame."""
        data = self._buffer.data
        if (
            self._begin_delivery(number, method, raw, size, header_end + 1)
            and _BODY(data, header_end) == (_BODY_FOLLOWS | number, size)
        ):  # fmt: skip
            return self._rest_of_body(number, size)
        return None

    def _begin_delivery(
        self, number: int, method: BasicDeliver, raw: bytes, size: int, after: int
    ) -> bool:
        """Method and header of a delivery whose body isn't all there; does nothing in any but the common case."""
        channel = self._channels.get(number)
        model = self._model
        limits = model.limits
        if (
            channel is None
            or channel.state is not _OPEN
            or model.state is not _CONNECTION_OPEN
            or channel.server_content is not None
            or self._unusual
            or not self._is_client
            or size > limits.message
            or model.bodies + size > limits.bodies
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
        model.bodies += size
        channel.server_content = content
        self._buffer.pos = after
        return True

    def _rest_of_body(self, number: int, size: int) -> Event | Signal | None:
        """The body frame behind a delivery's header; NEED_DATA while its octets are missing and its header is right."""
        buffer = self._buffer
        if len(buffer.data) - buffer.pos + buffer.held >= size + 8:
            return self._last_body(number)
        if size > self._body_max:
            return None
        buffer.need = size + 8
        return NEED_DATA

    def _last_body(self, number: int) -> Event | None:
        """The body frame that completes a delivery."""
        channel = self._channels.get(number)
        model = self._model
        if channel is None or channel.state is not _OPEN or model.state is not _CONNECTION_OPEN:
            return None
        content = channel.server_content
        if content is None or content.streaming or not self._is_client:
            return None
        buffer = self._buffer
        pos = buffer.pos
        size = content.size - content.received
        if (
            _SIZE(buffer.data, pos + 3)[0] != size
            or size > self._body_max
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
        model.bodies -= content.counted
        channel.server_content = None
        method = content.method
        return Delivery(
            number, method.consumer_tag, method.delivery_tag, method.redelivered, method.exchange, method.routing_key,
            body, content.properties, self._tables,
        )  # fmt: skip

    def _confirm(self, number: int, size: int, data: bytes, pos: int) -> Event | None:
        """basic.ack from the server, for publishes."""
        tag, multiple, end = _ACK(data, pos + 11)
        channel = self._channels.get(number)
        if (
            size != 13
            or end != 0xCE
            or multiple > 1
            or not isinstance(channel, Channel)
            or channel.state is not _OPEN
            or self._model.state is not _CONNECTION_OPEN
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
                self._buffer.pos = pos + 21
                handle.complete(ACCEPTED)
                return Settled((handle,), ACCEPTED)
            settled = [(tag, handle)]
        self._buffer.pos = pos + 21
        channel.settle_confirms(settled, ACCEPTED)
        return self._events.popleft()

    def _published(self, number: int, size: int, data: bytes, pos: int) -> Event | None:
        """basic.publish from the client, whole, with one body frame or none."""
        end = pos + 7 + size
        # The frame from its channel on, with the begin of the header frame that follows.
        route = self._publishes.get(data[pos + 1 : end + 4])
        if route is None:
            route = self._remember_publish(data, pos, end, number)
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
                or size_3 > self._body_max
                or data[last] != 0xCE
            ):
                return None
            body = data[header_end + 8 : last]
        elif data[header_end] == 0xCE:
            last = header_end
            body = b""
        else:
            return None
        channel = self._channels.get(number)
        model = self._model
        if (
            channel is None
            or channel.state is not _OPEN
            or model.state is not _CONNECTION_OPEN
            or channel.client_content is not None
            or size > self._other_max
            or size_2 > self._other_max
            or self._unusual
            or (model.bodies and model.bodies + body_size > model.limits.bodies)
        ):
            return None
        raw = data[end + 20 : header_end]
        properties = self._checked.get(raw) or self._check(raw)
        count = 0
        if channel.mode is _CONFIRM:
            unconfirmed = channel.unconfirmed
            if len(unconfirmed) >= model.limits.unconfirmed:
                return None
            channel.publish_count = count = channel.publish_count + 1
            unconfirmed[count] = None
        self._buffer.pos = last + 1
        # As the constructor of Published does, without a call that passes ten arguments.
        event = _new(Published)
        slot: Any = event
        slot.channel = number
        slot.exchange, slot.routing_key, slot.mandatory, slot.immediate = route
        slot.body = body
        slot.raw_properties = raw
        slot.tables = self._tables
        slot.number = count
        slot.properties = properties
        return event

    def _acknowledged(self, number: int, size: int, data: bytes, pos: int) -> Event | None:
        """basic.ack from the client, for deliveries."""
        tag, multiple, end = _ACK(data, pos + 11)
        channel = self._channels.get(number)
        if (
            size != 13
            or end != 0xCE
            or multiple > 1
            or channel is None
            or channel.state is not _OPEN
            or self._model.state is not _CONNECTION_OPEN
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
        self._buffer.pos = pos + 21
        if tokens:
            for each in tokens:
                each.complete(ACCEPTED)
            self._events.append(Settled(tuple(tokens), ACCEPTED))
        event = _new(MethodReceived)
        slot: Any = event
        slot.channel = number
        slot.method = BasicAck(tag, multiple == 1)
        return event

    def _remember_publish(
        self, data: bytes, pos: int, end: int, number: int
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
            kept = self._publishes
            if len(kept) >= _KEPT_NAMES:
                kept.clear()
            kept[data[pos + 1 : end + 4]] = route
        return route

    def _check(self, raw: bytes) -> BasicProperties:
        """The properties in `raw`, checked if this end checks them. Raises CodecError."""
        properties = BasicProperties.from_wire(raw, self._tables)
        if self._validate:
            properties.check()
        if len(raw) <= _LONGEST_PROPERTIES:
            kept = self._checked
            if len(kept) >= _KEPT_NAMES:
                kept.clear()
            kept[raw] = properties
        return properties

    def __getstate__(self) -> dict[str, object]:
        # The octets that are known are learnt anew.
        known = ("_begins", "_routes", "_publishes", "_checked")
        return {name: getattr(self, name) for name in self.__slots__ if name not in known}

    def __setstate__(self, state: dict[str, object]) -> None:
        for name, value in state.items():
            setattr(self, name, value)
        self._clear()
