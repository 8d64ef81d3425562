"""ContentReader: reads a basic.deliver or publish with its header and its one body frame, and a basic.ack, in one step.

Clients, servers and observers take the usual octets with it. It judges octets only, and leaves everything that the
general way has to look at, an error included, where it is.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError

from ..._checking import TYPE_CHECKING, Any, Generic, TypeVar
from ..._compiled import COMPILED
from .frames import BODY, END, FRAME, GATHERED, HEADER, METHOD, OVERHEAD

if TYPE_CHECKING or COMPILED:
    from ..._compiled import scan_content

if TYPE_CHECKING:
    from typing import ClassVar, Final

    from ..._ground.receive_buffer import ReceiveBuffer
    from ..._speedups import Unit  # pyright: ignore[reportMissingModuleSource]

_FRAME: Final = Struct(">BHII").unpack_from
_BODY: Final = Struct(">II").unpack_from
_SIZE: Final = Struct(">I").unpack_from
_ACK: Final = Struct(">BHIIQBB").unpack_from

BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""
DELIVER: Final = 60
"""The number of the method, as of those below, in its class; each ends the method's id."""
PUBLISH: Final = 40
ACK: Final = 80
RECORDED_DELIVER: Final = 61
"""Of units whose records the module in C has made, as the next one; no methods have these numbers."""
RECORDED_PUBLISH: Final = 41
_DELIVER: Final = 60 << 16 | DELIVER
_PUBLISH: Final = 60 << 16 | PUBLISH
ACK_ID: Final = 60 << 16 | ACK
_ID_END: Final = 10
"""Where the last octet of the method's id stands in a method frame: enough to tell these three methods apart."""
ACK_SIZE: Final = 13
_HEADER_FOLLOWS: Final = (END << 8 | HEADER) << 16
BODY_FOLLOWS: Final = (END << 8 | BODY) << 16
"""The end octet of one frame, the type of the next one, and room for its channel."""
_KEPT_NAMES: Final = 512
_LONGEST_KEPT: Final = 256
SHORTEST_HEADER: Final = 14
_LONGEST_ROUTE: Final = 2 * 256 + 4
_AHEAD: Final = 7 + 20  # octets of two frames in front of the properties, beside the method

_T = TypeVar("_T")
_S = TypeVar("_S")
_E = TypeVar("_E")

Route = tuple[str, str, bool, bool]
"""Exchange, routing key, mandatory and immediate of a publish."""
Names = tuple[int, str, str, str]
"""Channel, consumer tag, exchange and routing key of a deliver."""
Known = tuple[int, int, Any, int, Any]
"""Of a deliver or publish whose octets were read before: the channel, how far the properties are from the begin, the
consumer tag or route, what is in front of the body, and how to unpack the method with the header's sizes and class."""
_NO_BEGIN: Final[Known] = 0, 0, "", 0, Struct(">sQB0sIIQ").unpack_from
_NO_PUBLISH: Final[Known] = 0, 0, None, 0, Struct(">sIIQ").unpack_from
"""The first values of each reader; they are shared, since most connections are idle."""


class ContentReader(Generic[_S, _E]):
    """Reads what is at a buffer's begin and hands it to one of the methods below, which subclasses have.

    `body_max` and `other_max` bound the payload of body frames and of all others, in octets. The octets of methods that
    were read are known: most methods repeat those of the one before.
    """

    __slots__ = (
        "_begin",
        "_begins",
        "_last_begin",
        "_last_publish",
        "_last_route",
        "_names",
        "_publish",
        "_publishes",
        "_route",
        "_routes",
        "body_max",
        "other_max",
    )
    LEARNT: ClassVar[tuple[str, ...]] = __slots__[:-2]
    """Slots of octets that are known: they are no part of the state, and learnt anew."""

    def __init__(self, body_max: int, other_max: int) -> None:
        self.agree(body_max, other_max)

    def agree(self, body_max: int, other_max: int) -> None:
        """Use other bounds from now on."""
        self.body_max = body_max
        self.other_max = other_max
        self._forget()
        self._begins: dict[bytes, Known] = {}
        self._routes: dict[bytes, tuple[str, str, int]] = {}
        self._publishes: dict[bytes, Known] = {}

    def _forget(self) -> None:
        """Compare the next octets with none: those of the last unit come first, which costs less than hashing."""
        self._names: Names | Route | None = None
        self._last_begin = b""
        self._last_publish = b""
        self._last_route = b""
        self._begin = _NO_BEGIN
        self._publish = _NO_PUBLISH
        self._route = "", "", 0

    def __getstate__(self) -> tuple[None, dict[str, object]]:
        slots = [name for kind in type(self).__mro__ for name in getattr(kind, "__slots__", ())]
        return None, {name: getattr(self, name) for name in slots if name not in self.LEARNT}

    def __setstate__(self, state: tuple[None, dict[str, object]]) -> None:
        for name, value in state[1].items():
            setattr(self, name, value)
        self.agree(self.body_max, self.other_max)

    # Each returns what `read` returns: None leaves the octets to the general way, with nothing changed.

    def delivered(
        self,
        source: _S,
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
    ) -> _E | None:
        """basic.deliver on channel `number`, its properties as octets, and a body of `size` octets, up to `end`.

        `body` is None, and `end` is behind the header's frame, while a body above `GATHERED` octets hasn't come.
        """
        return None

    def published(self, source: _S, number: int, route: Route, raw: bytes, body: bytes, end: int) -> _E | None:
        """basic.publish on channel `number`, with the octets of its properties, up to `end`."""
        return None

    def acknowledged(self, source: _S, number: int, tag: int, multiple: bool, end: int) -> _E | None:
        """basic.ack on channel `number`, up to `end`."""
        return None

    def continued(self, source: _S, number: int, size: int) -> _E | None:
        """The begin of a body frame on channel `number`, with a payload of `size` octets."""
        return None

    def _read(self, buffer: ReceiveBuffer, source: _S) -> _E | None:
        data = buffer.data
        pos = buffer.pos
        try:
            which = data[pos + _ID_END]
        except IndexError:
            return None
        if which != DELIVER:
            if which == ACK and data[pos] == METHOD:
                try:
                    _, number, size, method_id, tag, multiple, octet = _ACK(data, pos)
                except StructError:
                    return None
                if method_id != ACK_ID or size != ACK_SIZE or multiple > 1 or octet != END:
                    return None
                return self.acknowledged(source, number, tag, multiple == 1, pos + ACK_SIZE + OVERHEAD)
            if which != PUBLISH:
                return self._body_frame(data, pos, source)
        try:
            if which == DELIVER:
                number, ahead, consumer_tag, body_follows, layout = self._begin
                octets, tag, redelivered, names, header, content_class, body_size = layout(data, pos)
                if octets != self._last_begin:
                    octets = data[pos : pos + 12 + data[pos + 11]]
                    begin = self._begins.get(octets) or self._learn_begin(octets)
                    self._begin = begin
                    self._last_begin = octets
                    number, ahead, consumer_tag, body_follows, layout = begin
                    octets, tag, redelivered, names, header, content_class, body_size = layout(data, pos)
                if names == self._last_route:
                    exchange, routing_key, header_number = self._route
                else:
                    exchange, routing_key, header_number = self._routes.get(names) or self._learn_route(names, number)
                if header_number != number or redelivered > 1:
                    return None
            else:
                number, ahead, route, body_follows, layout = self._publish
                octets, header, content_class, body_size = layout(data, pos)
                if octets != self._last_publish:
                    # The frame with the begin of the header frame that follows.
                    octets = data[pos : pos + _SIZE(data, pos + 3)[0] + 11]
                    publish = self._publishes.get(octets) or self._learn_publish(octets)
                    self._publish = publish
                    self._last_publish = octets
                    number, ahead, route, body_follows, layout = publish
                    octets, header, content_class, body_size = layout(data, pos)
            if content_class != BASIC or header < SHORTEST_HEADER or header > self.other_max:
                return None
            start = pos + ahead
            last = start + header - 12
            raw = data[start:last]
            body: bytes | None = b""
            if body_size:
                start = last + 8
                last = start + body_size
                if last < len(data):
                    follows, size = _BODY(data, start - 8)
                    if follows != body_follows or size != body_size or size > self.body_max:
                        return None
                    body = data[start:last]
                elif body_size > GATHERED and which == DELIVER:
                    last = start - 8
                    body = None
            if data[last] != END:
                return None
        except (StructError, IndexError, UnicodeDecodeError):
            # Perhaps only the layout of the last unit, a longer one, goes beyond the octets.
            self._forget()
            return self._body_frame(data, pos, source)
        # The branch of this method has read its fields.
        if which == PUBLISH:
            assert body is not None
            return self.published(source, number, route, raw, body, last + 1)  # pyright: ignore[reportPossiblyUnboundVariable]
        return self.delivered(
            source,
            number,
            consumer_tag,  # pyright: ignore[reportPossiblyUnboundVariable]
            tag,  # pyright: ignore[reportPossiblyUnboundVariable]
            redelivered == 1,  # pyright: ignore[reportPossiblyUnboundVariable]
            exchange,  # pyright: ignore[reportPossiblyUnboundVariable]
            routing_key,  # pyright: ignore[reportPossiblyUnboundVariable]
            raw,
            body,
            body_size,
            last + 1,
        )

    def _scan(self, buffer: ReceiveBuffer, source: _S) -> _E | None:
        """As `_read`, in one call of the module in C, which needs no octets that are known."""
        unit = scan_content(buffer.data, buffer.pos, self.body_max, self.other_max, self._names)
        return None if unit is None else self._hand_on(unit, source)

    def _hand_on(self, unit: Unit, source: _S) -> _E | None:
        """Hand a unit that the module in C has read to its method."""
        if unit[0] == DELIVER:
            _, names, tag, redelivered, raw, whole, size, end = unit
            self._names = names
            number, consumer_tag, exchange, routing_key = names
            return self.delivered(
                source, number, consumer_tag, tag, redelivered, exchange, routing_key, raw, whole, size, end
            )
        if unit[0] == PUBLISH:
            _, number, route, raw, body, end = unit
            self._names = route
            return self.published(source, number, route, raw, body, end)
        if unit[0] == ACK:
            _, number, tag, multiple, end = unit
            return self.acknowledged(source, number, tag, multiple, end)
        return self.continued(source, unit[1], unit[2])

    read = _scan if COMPILED else _read
    """Hand the unit at the buffer's begin to its method; return what that returns, None when no method takes it."""

    def _learn_begin(self, octets: bytes) -> Known:
        """Keep what a deliver's octets up to the delivery tag tell. Raises IndexError."""
        kind, number, size, method_id = _FRAME(octets, 0)
        route = size + 2 - len(octets)
        if kind != METHOD or method_id != _DELIVER or size > self.other_max or not 0 < route <= _LONGEST_ROUTE:
            raise IndexError(size)
        layout = Struct(f">{len(octets)}sQB{route}sIIQ").unpack_from
        begin = number, size + _AHEAD, octets[12:].decode(), BODY_FOLLOWS | number, layout
        return _keep(self._begins, octets, begin)

    def _learn_route(self, octets: bytes, number: int) -> tuple[str, str, int]:
        """Exchange and routing key of a deliver, and the channel of the header frame that follows, of their octets and
        the begin of that frame. Raises IndexError."""
        stop, end = 1 + octets[0], len(octets) - 4
        if stop + 1 + octets[stop] != end or _SIZE(octets, end)[0] != _HEADER_FOLLOWS | number:
            raise IndexError(end)
        route = octets[1:stop].decode(), octets[stop + 1 : end].decode(), number
        self._last_route = octets
        self._route = route
        return _keep(self._routes, octets, route)

    def _learn_publish(self, octets: bytes) -> Known:
        """Keep what a publish's frame, with the begin of the next one, tells. Raises IndexError."""
        kind, number, size, method_id = _FRAME(octets, 0)
        at = 14 + octets[13]
        stop = at + 1 + octets[at]
        bits = octets[stop]
        found = kind, method_id, octets[11:13], stop, _SIZE(octets, stop + 1)[0]
        known = METHOD, _PUBLISH, b"\0\0", size + 6, _HEADER_FOLLOWS | number
        if found != known or bits > 3 or size > self.other_max:
            raise IndexError(size)
        route = octets[14:at].decode(), octets[at + 1 : stop].decode(), bits & 1 == 1, bits & 2 == 2
        layout = Struct(f">{len(octets)}sIIQ").unpack_from
        publish = number, size + _AHEAD, route, BODY_FOLLOWS | number, layout
        return _keep(self._publishes, octets, publish)

    def _body_frame(self, data: bytes, pos: int, source: _S) -> _E | None:
        if len(data) - pos < OVERHEAD or data[pos] != BODY:
            return None
        _, number, size = FRAME.unpack_from(data, pos)
        return self.continued(source, number, size)


def _keep(known: dict[bytes, _T], octets: bytes, found: _T) -> _T:
    if len(octets) <= _LONGEST_KEPT:
        if len(known) >= _KEPT_NAMES:
            known.clear()
        known[octets] = found
    return found
