"""ClientFastPath, ServerFastPath: a whole deliver, publish or ack on an open channel becomes its event at once."""

from __future__ import annotations

from itertools import islice
from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING, cast
from ..._compiled import COMPILED
from ...errors import CodecError
from ...events import NEED_DATA, Settled
from ..codec.content_reader import (
    ACK_ID,
    ACK_SIZE,
    BASIC,
    BODY_FOLLOWS,
    RECORDED_DELIVER,
    SHORTEST_HEADER,
    ContentReader,
)
from ..codec.frames import END, GATHERED, METHOD, OVERHEAD
from ..codec.methods import BasicAck, BasicDeliver, BasicProperties
from ..model.channel_state import ACCEPTED, UNUSUAL
from ..model.states import Connection as State
from .channel import Channel
from .events import Delivery, MethodReceived, Published

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, ClassVar, Final

    from ..._ground.receive_buffer import ReceiveBuffer
    from ...events import Event, Pending, Signal
    from ..codec.content_reader import Route
    from ..codec.table_rules import TableRules
    from ..model.channel_state import ChannelState
    from .config import Config
    from .outgoing import Outgoing

if TYPE_CHECKING or COMPILED:
    from ..._compiled import maker, scan_content
    from ..codec.makers import UNREAD

    MAKERS: Final = UNREAD, None, maker(Delivery, (*Delivery.__match_args__, "properties"), ()), None

_new: Final = object.__new__
_properties_of: Final = BasicProperties.from_wire
_BODY: Final = Struct(">II").unpack_from
_ACKS: Final = Struct(">BHIIQBB")

_CONNECTION_OPEN: Final = State.OPEN
LONGEST_DELIVER: Final = 4 + 3 * 256 + 9
"""Octets of basic.deliver with three names of 255: agreed frames hold it always, `Limits.header` nearly always."""
_TAG: Final = 8
"""Octets of the delivery tag."""
_KEPT_PROPERTIES: Final = 512
_LONGEST_PROPERTIES: Final = 64

Alike = tuple[bytes, bytes, Struct, bool, str, str, bytes]
"""Of deliveries that differ in tag and body alone: the octets up to the tag, those from there to the body, how to
unpack all of one, `redelivered`, exchange, routing key and properties.
"""


class FastPath(ContentReader[None, "Event | Signal"]):
    """The shortcuts at either end. They hold what the general way holds, so that a step needs no look-ups."""

    __slots__ = ("_buffer", "_channels", "_events", "_model", "_most", "_tables", "_usual", "_validate")

    CHECKS: ClassVar[bool]
    """Whether whole content takes the shortcuts though its properties are checked."""

    def __init__(self, config: Config, buffer: ReceiveBuffer, outgoing: Outgoing, validate: bool) -> None:
        limits = config.limits
        # Whether the properties are checked when the message arrives.
        self._validate = validate
        # Whether the shortcut for whole contents may be taken at all: nothing is streamed, no limit lies below what the
        # buffer holds, and the dialect is lenient.
        self._usual = (
            (self.CHECKS or not validate)
            and config.stream_above is None
            and min(limits.message, limits.bodies) >= limits.unparsed
            and limits.header >= LONGEST_DELIVER
            and not outgoing.model.dialect.strict
        )
        super().__init__(0, 0)
        # The connection's, which each step asks and which alone changes state.
        self._model = outgoing.model
        # Deliveries that may be unsettled on a channel (`Limits.unsettled`).
        self._most = limits.unsettled
        # The model's, by number.
        self._channels = outgoing.model.channels
        # What arrived; a step moves its `pos` only when it has taken the whole message.
        self._buffer = buffer
        # What isn't taken yet: a shortcut that gives several events puts the others here.
        self._events = outgoing.events
        # How field tables of this connection are read: the dialect's types, within the limits.
        self._tables = outgoing.tables

    def agree(self, body_max: int, other_max: int) -> None:
        """Use other bounds from now on; without room for a header no whole content is read."""
        super().agree(body_max, other_max if self._usual else 0)

    def use(self, tables: TableRules) -> None:
        """Use the rules of the peer's tables from now on."""
        self._tables = tables

    def _single_acks(self) -> tuple[int, Iterator[int]]:
        """The channel and the tags of each basic.ack of one tag that comes next on one channel; no tags where there is
        none, or where it isn't the next event.

        Whoever stops at a tag has caused no look at those behind it.
        """
        buffer = self._buffer
        data, pos, size = buffer.data, buffer.pos, _ACKS.size
        units = memoryview(data)[pos : pos + (len(data) - pos) // size * size]
        if not units or self._events or self._model.state is not _CONNECTION_OPEN:
            return 0, iter(())
        first: int = _ACKS.unpack_from(data, pos)[1]
        return first, _tags(units, first)


class ClientFastPath(FastPath):
    """The shortcuts of a client: deliveries, and confirms of its publishes."""

    __slots__ = ("_alike",)
    LEARNT = (*FastPath.LEARNT, "_alike")
    CHECKS = False

    def agree(self, body_max: int, other_max: int) -> None:
        super().agree(body_max, other_max)
        # The common parts of the latest two deliveries of a run; the bounds are those that they were checked with.
        self._alike: Alike | None = None

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
            or model.state is not _CONNECTION_OPEN
            or ((model.bodies or body is None) and not model.has_room(size))
            or not channel.take_usual_delivery(tag, consumer_tag, None, self._most)
        ):
            return None
        self._buffer.pos = end
        if body is None:
            method = BasicDeliver(consumer_tag, tag, redelivered, exchange, routing_key)
            model.begin_usual_body(channel, method, raw, size)
            return self._next_body(number, size)
        properties = _properties_of(raw, self._tables)
        return _delivery(
            number, consumer_tag, tag, redelivered, exchange, routing_key, body, raw, self._tables, properties
        )

    def _scan(self, buffer: ReceiveBuffer, source: None) -> Event | Signal | None:
        """As `_read` with `delivered`, with the module in C, which makes deliveries."""
        unit = scan_content(buffer.data, buffer.pos, self.body_max, self.other_max, self._names, self._tables, MAKERS)
        if unit is None:
            return None
        if unit[0] != RECORDED_DELIVER:
            return self._hand_on(unit, source)
        _, names, tag, size, end, delivery = unit
        self._names = names
        channel = self._channels.get(names[0])
        model = self._model
        if (
            channel is None
            or model.state is not _CONNECTION_OPEN
            or (model.bodies and not model.has_room(size))
            or not channel.take_usual_delivery(tag, names[1], None, self._most)
        ):
            return None
        buffer.pos = end
        return delivery

    if COMPILED:
        read = _scan

    def _known_following(self, after: Delivery) -> list[Delivery] | None:
        found: list[Delivery] = []
        begin, (number, ahead, consumer_tag, body_follows, layout) = self._last_begin, self._begin
        if number != after.channel or consumer_tag != after.consumer_tag:
            # The octets that were read last aren't those of `after`, which came frame by frame.
            return None
        channel, model = self._channels.get(number), self._model
        if channel is None or model.state is not _CONNECTION_OPEN or model.bodies or self._events:
            return None
        take, most = channel.take_usual_delivery, self._most
        buffer, tables, routes = self._buffer, self._tables, self._routes
        if self._alike is not None and self._alike[0] == begin:
            self._take_alike(self._alike, after, channel, found)
            if buffer.pos == len(buffer.data):
                return found or None
        route, (exchange, routing_key, header_number) = self._last_route, self._route
        data, pos = buffer.data, buffer.pos
        last_raw, properties, last_size = after.raw_properties, after.properties, 0
        try:
            while True:
                octets, tag, redelivered, route_octets, header, content_class, body_size = layout(data, pos)
                if octets != begin:
                    break
                if route_octets != route:
                    route = route_octets
                    exchange, routing_key, header_number = routes[route]
                    last_size = 0
                end = pos + ahead + header - 12
                last = end + 8 + body_size
                if _BODY(data, end) != (body_follows, body_size) or not 0 < body_size <= self.body_max:
                    break
                if header_number != number or content_class != BASIC or data[last] != END or redelivered > 1:
                    break
                if not SHORTEST_HEADER <= header <= self.other_max or not take(tag, consumer_tag, None, most):
                    break
                raw = data[pos + ahead : end]
                if raw != last_raw:
                    # Most messages have the properties of the one before, and nobody is to change those that arrived.
                    last_raw = raw
                    properties = _properties_of(raw, tables)
                    last_size = 0
                body = data[end + 8 : last]
                found.append(
                    _delivery(
                        number,
                        consumer_tag,
                        tag,
                        redelivered == 1,
                        exchange,
                        routing_key,
                        body,
                        raw,
                        tables,
                        properties,
                    )
                )
                if body_size == last_size:
                    # Two were alike: the next ones mostly are, too.
                    between = data[pos + len(begin) + _TAG : end + 8]
                    whole = Struct(f">{len(begin)}sQ{len(between)}s{body_size}sB")
                    self._alike = begin, between, whole, redelivered == 1, exchange, routing_key, raw
                    buffer.pos = last + 1
                    self._take_alike(self._alike, found[-1], channel, found)
                    pos = buffer.pos
                    last_size = 0
                    continue
                last_size = body_size
                pos = last + 1
                buffer.pos = pos
        except (StructError, IndexError, KeyError):
            # Its end isn't there, or its route is new: the general way takes it.
            pass
        return found or None

    def _take_alike(self, alike: Alike, after: Delivery, channel: ChannelState, found: list[Delivery]) -> None:
        """Add the deliveries that differ from one before in nothing but the tag and the body's octets."""
        begin, between, whole, redelivered, exchange, routing_key, raw = alike
        buffer, tables = self._buffer, self._tables
        number, consumer_tag = after.channel, after.consumer_tag
        properties = after.properties if raw == after.raw_properties else _properties_of(raw, tables)
        size, data, pos = whole.size, buffer.data, buffer.pos
        units = memoryview(data)[pos : pos + (len(data) - pos) // size * size]
        before, tags = len(found), list[int]()
        for octets, tag, middle, body, octet in whole.iter_unpack(units):
            # The octets of `between` were checked when they were learnt.
            if octets != begin or middle != between or octet != END:
                break
            tags.append(tag)
            # As `_delivery`, without its call.
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
            slot.tables = tables
            slot.properties = properties
            found.append(delivery)
        taken = channel.take_usual_deliveries(tags, consumer_tag, None, self._most)
        del found[before + taken :]
        buffer.pos = pos + taken * size

    def _scanned_following(self, after: Delivery) -> list[Delivery] | None:
        """As `_known_following`, with the module in C."""
        number, consumer_tag = after.channel, after.consumer_tag
        channel, model = self._channels.get(number), self._model
        if channel is None or model.state is not _CONNECTION_OPEN or model.bodies or self._events:
            return None
        found, tags, ends = list[Delivery](), list[int](), list[int]()
        buffer, tables, names = self._buffer, self._tables, self._names
        data, pos, body_max, other_max = buffer.data, buffer.pos, self.body_max, self.other_max
        while True:
            unit = scan_content(data, pos, body_max, other_max, names, tables, MAKERS)
            if unit is None or unit[0] != RECORDED_DELIVER:
                break
            _, names, tag, size, end, delivery = unit
            if names[0] != number or names[1] != consumer_tag or not size:
                break
            found.append(delivery)
            tags.append(tag)
            ends.append(end)
            pos = end
        taken = channel.take_usual_deliveries(tags, consumer_tag, None, self._most)
        if not taken:
            return None
        buffer.pos = ends[taken - 1]
        del found[taken:]
        return found

    following = _scanned_following if COMPILED else _known_following
    """The whole deliveries that come next, to the consumer of a delivery; None where there are none."""

    def _next_body(self, number: int, size: int) -> Event | Signal | None:
        """The event of a delivery whose body is next, NEED_DATA where it hasn't come, None where it isn't that."""
        buffer = self._buffer
        pos = buffer.pos
        if len(buffer.data) - pos < OVERHEAD:
            return None
        if _BODY(buffer.data, pos - 1) != (BODY_FOLLOWS | number, size):
            return None
        if len(buffer) >= size + OVERHEAD:
            return self.continued(None, number, size)
        if size > self.body_max:
            return None
        buffer.need = size + OVERHEAD
        return NEED_DATA

    def continued(self, source: None, number: int, size: int) -> Event | None:
        """The body frame that completes a delivery."""
        channel = self._channels.get(number)
        buffer = self._buffer
        pos = buffer.pos
        end = pos + size + OVERHEAD
        data = buffer.data
        is_here = end <= len(data)
        if (
            channel is None
            or size > self.body_max
            or len(buffer) < size + OVERHEAD
            or buffer.octet(size + 7) != END
            or not (is_here or size > GATHERED)
        ):
            return None
        content = self._model.take_usual_body(channel, size)
        if content is None:
            return None
        if is_here:
            body = data[pos + 7 : end - 1]
            buffer.pos = end
        else:
            body = buffer.gather(7, size)
            buffer.pos += 1
        if content.parts:
            body = b"".join((*content.parts, body))
        method = content.method
        # `take_usual_body` takes no other message.
        assert isinstance(method, BasicDeliver)
        return Delivery(
            number,
            method.consumer_tag,
            method.delivery_tag,
            method.redelivered,
            method.exchange,
            method.routing_key,
            body,
            content.properties,
            self._tables,
        )

    def acknowledged(self, source: None, number: int, tag: int, multiple: bool, end: int) -> Event | None:
        """basic.ack from the server, for publishes."""
        channel = self._channels.get(number)
        # A publish that was sent as a method has no pending, so its confirm gives no event.
        if (
            not isinstance(channel, Channel)
            or self._model.state is not _CONNECTION_OPEN
            or channel.unconfirmed.get(tag) is None
        ):
            return None
        if multiple:
            settled = channel.take_usual_confirms(tag)
            if settled is None:
                return None
            self._buffer.pos = end
        else:
            pending = channel.take_usual_confirm(tag)
            if pending is UNUSUAL:
                return None
            self._buffer.pos = end
            if channel.returns is None:
                pending.complete(ACCEPTED)
                return Settled((pending,), ACCEPTED)
            settled = [(tag, pending)]
        channel.settle_confirms(settled, ACCEPTED)
        return self._events.popleft()

    def confirms(self) -> list[Pending[object]] | None:
        """The publishes of the confirms that come next, on one channel and each of one publish; None where there are
        none."""
        number, numbers = self._single_acks()
        channel = self._channels.get(number)
        if not isinstance(channel, Channel) or channel.returns is not None:
            return None
        # An endpoint's tokens are pendings.
        pendings = cast("list[Pending[object]]", channel.take_usual_single_confirms(numbers))
        self._buffer.pos += len(pendings) * _ACKS.size
        for pending in pendings:
            pending.complete(ACCEPTED)
        return pendings or None


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
        if channel is None or model.state is not _CONNECTION_OPEN or (model.bodies and not model.has_room(len(body))):
            return None
        properties = self._checked.get(raw) or self._check(raw)
        if properties is None:
            return None
        count = channel.take_usual_publish(None, model.limits.unconfirmed)
        if count is None:
            return None
        self._buffer.pos = end
        # As the constructor of Published does, without a call that passes ten arguments.
        event = _new(Published)
        slot: Any = event
        slot.exchange, slot.routing_key, slot.mandatory, slot.immediate = route
        slot.channel = number
        slot.number = count
        slot.properties = properties
        slot.body = body
        slot.raw_properties = raw
        slot.tables = self._tables
        return event

    def acknowledged(self, source: None, number: int, tag: int, multiple: bool, end: int) -> Event | None:
        """basic.ack from the client, for deliveries."""
        channel = self._channels.get(number)
        if channel is None or self._model.state is not _CONNECTION_OPEN:
            return None
        if multiple:
            settled = channel.take_usual_acks(tag)
            if settled is None:
                return None
            tokens = [each for _, each in settled if each is not None]
        else:
            token = channel.take_usual_ack(tag)
            if token is UNUSUAL:
                return None
            tokens = [] if token is None else [token]
        self._buffer.pos = end
        if tokens:
            for each in tokens:
                each.complete(ACCEPTED)
            self._events.append(Settled(tuple(tokens), ACCEPTED))
        event = _new(MethodReceived)
        slot: Any = event
        slot.channel, slot.method = number, BasicAck(tag, multiple)
        return event

    def acks(self, number: int, most: int) -> list[int] | None:
        """The tags of each basic.ack of one delivery that comes next on a channel, at most so many; None where there
        are none."""
        found, tags = self._single_acks()
        channel = self._channels.get(number)
        if found != number or channel is None:
            return None
        taken = channel.take_usual_single_acks(islice(tags, most))
        self._buffer.pos += len(taken) * _ACKS.size
        return taken or None

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


def _tags(units: memoryview, number: int) -> Iterator[int]:
    """Yield the tags of the basic.ack of one tag each on a channel that octets begin with."""
    for kind, channel, payload, method_id, tag, multiple, octet in _ACKS.iter_unpack(units):
        if (
            method_id != ACK_ID
            or channel != number
            or payload != ACK_SIZE
            or kind != METHOD
            or multiple
            or octet != END
        ):
            return
        yield tag


def _delivery(
    number: int,
    consumer_tag: str,
    tag: int,
    redelivered: bool,
    exchange: str,
    routing_key: str,
    body: bytes,
    raw: bytes,
    tables: TableRules,
    properties: BasicProperties,
) -> Delivery:
    """As the constructor of Delivery, in half its time."""
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
    slot.tables = tables
    slot.properties = properties
    return delivery
