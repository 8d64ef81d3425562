"""ClientFastPath, ServerFastPath: a whole deliver, publish or ack on an open channel becomes its event at once."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...errors import CodecError
from ...events import NEED_DATA, Settled
from ..codec.content_reader import BODY_FOLLOWS, ContentReader
from ..codec.frames import END, GATHERED, OVERHEAD
from ..codec.methods import BasicAck, BasicDeliver, BasicProperties
from ..model.channel_state import ACCEPTED, ContentState, take_up_to
from ..model.states import Channel as ChannelStates
from ..model.states import Connection as State
from ..model.states import Content, Mode
from .channel import Channel
from .events import Delivery, MethodReceived, Published

if TYPE_CHECKING:
    from ..._core.receive_buffer import ReceiveBuffer
    from ...events import Event, Signal
    from ..codec.content_reader import Route
    from ..codec.table_rules import TableRules
    from ..model.channel_state import ChannelState
    from .config import Config
    from .outgoing import Outgoing

_new: Final = object.__new__
_BODY: Final = Struct(">II").unpack_from

_OPEN: Final = ChannelStates.OPEN
_CONNECTION_OPEN: Final = State.OPEN
LONGEST_DELIVER: Final = 4 + 3 * 256 + 9
"""Octets of basic.deliver with three names of 255: agreed frames hold it always, `Limits.header` nearly always."""
_KEPT_PROPERTIES: Final = 512
_LONGEST_PROPERTIES: Final = 64
_CONFIRM: Final = Mode.CONFIRM
_TRANSACTED: Final = Mode.TRANSACTED
_UNKNOWN: Final = object()


class FastPath(ContentReader[None, "Event | Signal"]):
    """The state of the shortcuts at either end. `validate`: properties are checked."""

    __slots__ = ("_buffer", "_channels", "_events", "_model", "_tables", "_usual", "_validate")

    CHECKS: ClassVar[bool]
    """Whether whole content takes the shortcuts though its properties are checked."""

    def __init__(self, config: Config, buffer: ReceiveBuffer, outgoing: Outgoing, validate: bool) -> None:
        limits = config.limits
        self._validate = validate
        self._usual = (
            (self.CHECKS or not validate)
            and config.stream_above is None
            and min(limits.message, limits.bodies) >= limits.unparsed
            and limits.header >= LONGEST_DELIVER
            and not outgoing.model.dialect.strict
        )
        super().__init__(0, 0)
        self._model = outgoing.model
        self._channels = outgoing.model.channels
        self._buffer = buffer
        self._events = outgoing.events
        self._tables = outgoing.tables

    def agree(self, body_max: int, other_max: int) -> None:
        """Use other bounds from now on; without room for a header no whole content is read."""
        super().agree(body_max, other_max if self._usual else 0)

    def use(self, tables: TableRules) -> None:
        """Use the rules of the peer's tables from now on."""
        self._tables = tables


class ClientFastPath(FastPath):
    """The shortcuts of a client: deliveries, and confirms of its publishes."""

    __slots__ = ()
    CHECKS = False

    def delivered(
        self,
        source: None,
        number: int,
        consumer_tag: str,
        tag: int,
        redelivered: bool,
        exchange: str,
        routing_key: str,
        raw: bytes,
        body: bytes | None,
        size: int,
        end: int,
    ) -> Event | Signal | None:
        """A delivery, whole or with a body that hasn't all come."""
        channel = self._channels.get(number)
        model = self._model
        if (
            channel is None
            or channel.state is not _OPEN
            or channel.server_content is not None
            or model.state is not _CONNECTION_OPEN
            or (model.bodies and model.bodies + size > model.limits.bodies)
        ):
            return None
        if body is None and (size > model.limits.message or size > model.limits.bodies):
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
        self._buffer.pos = end
        if body is None:
            method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
            return self._begin_delivery(channel, method, raw, size)
        # As the constructor of Delivery does, without a call that passes ten arguments.
        delivery = _new(Delivery)
        slot: Any = delivery
        slot.channel = number
        slot.consumer_tag = consumer_tag
        slot.delivery_tag = tag
        slot.redelivered = redelivered
        slot.exchange = exchange
        slot.routing_key = routing_key
        slot.body = body
        slot.raw_properties = raw
        slot.tables = tables = self._tables
        slot.properties = BasicProperties.from_wire(raw, tables)
        return delivery

    def _begin_delivery(
        self, channel: ChannelState, method: BasicDeliver, raw: bytes, size: int
    ) -> Event | Signal | None:
        """Keep a delivery whose body hasn't all come; the event when it has come in parts."""
        content = ContentState(method, None, None)
        content.state = Content.BODY
        content.size = content.counted = size
        content.properties = raw
        self._model.bodies += size
        channel.server_content = content
        buffer = self._buffer
        pos = buffer.pos
        if len(buffer.data) - pos < OVERHEAD:
            return None
        if _BODY(buffer.data, pos - 1) != (BODY_FOLLOWS | channel.number, size):
            return None
        if len(buffer) >= size + OVERHEAD:
            return self.continued(None, channel.number, size)
        if size > self.body_max:
            return None
        buffer.need = size + OVERHEAD
        return NEED_DATA

    def continued(self, source: None, number: int, size: int) -> Event | None:
        """The body frame that completes a delivery."""
        channel = self._channels.get(number)
        model = self._model
        if channel is None or channel.state is not _OPEN or model.state is not _CONNECTION_OPEN:
            return None
        content = channel.server_content
        if content is None or content.streaming:
            return None
        buffer = self._buffer
        pos = buffer.pos
        if (
            content.size - content.received != size
            or size > self.body_max
            or content.state is not Content.BODY
            or type(content.method) is not BasicDeliver
            or len(buffer) < size + OVERHEAD
            or buffer.octet(size + 7) != END
        ):
            return None
        data = buffer.data
        if pos + size + OVERHEAD <= len(data):
            body = data[pos + 7 : pos + 7 + size]
            buffer.pos = pos + size + OVERHEAD
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

    def acknowledged(self, source: None, number: int, tag: int, multiple: bool, end: int) -> Event | None:
        """basic.ack from the server, for publishes."""
        channel = self._channels.get(number)
        if (
            not isinstance(channel, Channel)
            or channel.state is not _OPEN
            or self._model.state is not _CONNECTION_OPEN
            or channel.server_content is not None
            or channel.mode is not _CONFIRM
        ):
            return None
        unconfirmed = channel.unconfirmed
        pending = unconfirmed.get(tag)
        if pending is None:
            return None
        self._buffer.pos = end
        if multiple:
            settled = take_up_to(unconfirmed, channel.confirmed_to, tag)
            channel.confirmed_to = tag
        else:
            del unconfirmed[tag]
            if channel.returns is None:
                pending.complete(ACCEPTED)
                return Settled((pending,), ACCEPTED)
            settled = [(tag, pending)]
        channel.settle_confirms(settled, ACCEPTED)
        return self._events.popleft()


class ServerFastPath(FastPath):
    """The shortcuts of a server: publishes, and acks of deliveries."""

    __slots__ = ("_checked",)
    LEARNT = (*FastPath.LEARNT, "_checked")
    CHECKS = True

    def agree(self, body_max: int, other_max: int) -> None:
        """Use other bounds from now on."""
        super().agree(body_max, other_max)
        self._checked: dict[bytes, BasicProperties] = {}

    def published(self, source: None, number: int, route: Route, raw: bytes, body: bytes, end: int) -> Event | None:
        """A publish, whole."""
        channel = self._channels.get(number)
        model = self._model
        if (
            channel is None
            or channel.state is not _OPEN
            or model.state is not _CONNECTION_OPEN
            or channel.client_content is not None
            or (model.bodies and model.bodies + len(body) > model.limits.bodies)
        ):
            return None
        properties = self._checked.get(raw) or self._check(raw)
        if properties is None:
            return None
        count = 0
        if channel.mode is _CONFIRM:
            unconfirmed = channel.unconfirmed
            if len(unconfirmed) >= model.limits.unconfirmed:
                return None
            channel.publish_count = count = channel.publish_count + 1
            unconfirmed[count] = None
        self._buffer.pos = end
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

    def acknowledged(self, source: None, number: int, tag: int, multiple: bool, end: int) -> Event | None:
        """basic.ack from the client, for deliveries."""
        channel = self._channels.get(number)
        if (
            channel is None
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
            if token is not None:
                tokens = [token]
        self._buffer.pos = end
        if tokens:
            for each in tokens:
                each.complete(ACCEPTED)
            self._events.append(Settled(tuple(tokens), ACCEPTED))
        event = _new(MethodReceived)
        slot: Any = event
        slot.channel = number
        slot.method = BasicAck(tag, multiple)
        return event

    def _check(self, raw: bytes) -> BasicProperties | None:
        """The properties in `raw`; None when this end checks them and finds them wrong."""
        properties = BasicProperties.from_wire(raw, self._tables)
        if self._validate:
            try:
                properties.check()
            except CodecError:
                return None
        if len(raw) <= _LONGEST_PROPERTIES:
            kept = self._checked
            if len(kept) >= _KEPT_PROPERTIES:
                kept.clear()
            kept[raw] = properties
        return properties
