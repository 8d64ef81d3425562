"""ContentReader: reads a basic.deliver or publish with its header and its one body frame, and a basic.ack, in one step.

Clients, servers and observers take the usual octets with it. It judges octets only, and leaves everything that the
general way has to look at, an error included, where it is.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import TYPE_CHECKING, ClassVar, Final, Generic, TypeVar

from .frames import BODY, END, FRAME, GATHERED, HEADER, METHOD, OVERHEAD

if TYPE_CHECKING:
    from ..._core.receive_buffer import ReceiveBuffer

_FRAME: Final = Struct(">BHII").unpack_from
_TAG: Final = Struct(">QB").unpack_from
_HEADER_REST: Final = Struct(">IIQ").unpack_from
_BODY: Final = Struct(">II").unpack_from
_SIZE: Final = Struct(">I").unpack_from
_ACK: Final = Struct(">BHIIQBB").unpack_from

BASIC: Final = 60 << 16
"""Class 60 and weight 0, as a content header has them."""
_DELIVER: Final = 60 << 16 | 60
_PUBLISH: Final = 60 << 16 | 40
ACK_ID: Final = 60 << 16 | 80
_ID_END: Final = 10
"""Where the last octet of the method's id stands in a method frame: enough to tell these three methods apart."""
_DELIVER_END: Final = _DELIVER & 0xFF
_PUBLISH_END: Final = _PUBLISH & 0xFF
_ACK_END: Final = ACK_ID & 0xFF
_ACK_SIZE: Final = 13
_HEADER_FOLLOWS: Final = (END << 8 | HEADER) << 16
BODY_FOLLOWS: Final = (END << 8 | BODY) << 16
"""The end octet of one frame, the type of the next one, and room for its channel."""
_KEPT_NAMES: Final = 512
_LONGEST_KEPT: Final = 256
_SHORTEST_HEADER: Final = 14

_T = TypeVar("_T")
_S = TypeVar("_S")
_E = TypeVar("_E")

Route = tuple[str, str, bool, bool]
"""Exchange, routing key, mandatory and immediate of a publish."""


class ContentReader(Generic[_S, _E]):
    """Reads what is at a buffer's begin and hands it to one of the methods below, which subclasses have.

    `body_max` and `other_max` bound the payload of body frames and of all others, in octets. The octets of methods that
    were read are known: most methods repeat those of the one before.
    """

    __slots__ = (
        "_begin", "_begins", "_last_begin", "_last_route", "_publishes", "_route", "_routes", "body_max", "other_max",
    )  # fmt: skip
    LEARNT: ClassVar[tuple[str, ...]] = __slots__[:-2]
    """Slots of octets that are known: they are no part of the state, and learnt anew."""

    def __init__(self, body_max: int, other_max: int) -> None:
        self.agree(body_max, other_max)

    def agree(self, body_max: int, other_max: int) -> None:
        """Use other bounds from now on."""
        self.body_max = body_max
        self.other_max = other_max
        # The octets learnt last are compared first, which costs less than hashing them.
        self._last_begin = self._last_route = b""
        self._begin = 0, 0, "", 0
        self._route = "", "", 0
        self._begins: dict[bytes, tuple[int, int, str, int]] = {}
        self._routes: dict[bytes, tuple[str, str, int]] = {}
        self._publishes: dict[bytes, tuple[int, Route, int]] = {}

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

    def read(self, buffer: ReceiveBuffer, source: _S) -> _E | None:
        """Hand the unit at the buffer's begin to its method; return what that returns, None when no method takes it."""
        data = buffer.data
        pos = buffer.pos
        try:
            which = data[pos + _ID_END]
        except IndexError:
            return None
        if which != _DELIVER_END:
            if which == _ACK_END and data[pos] == METHOD:
                try:
                    _, number, size, method_id, tag, multiple, octet = _ACK(data, pos)
                except StructError:
                    return None
                if method_id != ACK_ID or size != _ACK_SIZE or multiple > 1 or octet != END:
                    return None
                return self.acknowledged(source, number, tag, multiple == 1, pos + _ACK_SIZE + OVERHEAD)
            if which != _PUBLISH_END:
                return self._body_frame(data, pos, source)
        try:
            if which == _DELIVER_END:
                stop = pos + 12 + data[pos + 11]
                octets = data[pos:stop]
                if octets == self._last_begin:
                    number, size, consumer_tag, body_follows = self._begin
                else:
                    begin = self._begins.get(octets) or self._learn_begin(data, pos, stop)
                    number, size, consumer_tag, body_follows = begin
                end = pos + 7 + size
                tag, redelivered = _TAG(data, stop)
                octets = data[stop + 9 : end + 4]
                if octets == self._last_route:
                    exchange, routing_key, header_number = self._route
                else:
                    exchange, routing_key, header_number = self._routes.get(octets) or self._learn_route(
                        data, stop + 9, end, number
                    )
                if header_number != number or redelivered > 1 or not tag:
                    return None
            else:
                end = pos + 7 + _SIZE(data, pos + 3)[0]
                # The frame with the begin of the header frame that follows.
                known = self._publishes.get(data[pos : end + 4])
                number, route, body_follows = known or self._learn_publish(data, pos, end)
            size, content_class, body_size = _HEADER_REST(data, end + 4)
            last = end + 8 + size
            if content_class != BASIC or size < _SHORTEST_HEADER or size > self.other_max:
                return None
            raw = data[end + 20 : last]
            body: bytes | None = b""
            if body_size:
                header_end = last
                last += 8 + body_size
                if last < len(data):
                    follows, size = _BODY(data, header_end)
                    if follows != body_follows or size != body_size or size > self.body_max:
                        return None
                    body = data[header_end + 8 : last]
                elif body_size > GATHERED and which == _DELIVER_END:
                    last = header_end
                    body = None
            if data[last] != END:
                return None
        except (StructError, IndexError, UnicodeDecodeError):
            return self._body_frame(data, pos, source)
        # The branch of this method has read its fields.
        if which == _PUBLISH_END:
            assert body is not None
            return self.published(source, number, route, raw, body, last + 1)  # pyright: ignore[reportPossiblyUnboundVariable]
        return self.delivered(
            source, number, consumer_tag, tag, redelivered == 1, exchange, routing_key,  # pyright: ignore[reportPossiblyUnboundVariable]
            raw, body, body_size, last + 1,
        )  # fmt: skip

    def _learn_begin(self, data: bytes, pos: int, stop: int) -> tuple[int, int, str, int]:
        """Channel, size and consumer tag of a deliver, of its octets up to the delivery tag. Raises IndexError."""
        kind, number, size, method_id = _FRAME(data, pos)
        if kind != METHOD or method_id != _DELIVER or size > self.other_max:
            raise IndexError(pos)
        begin = number, size, data[pos + 12 : stop].decode(), BODY_FOLLOWS | number
        self._last_begin, self._begin = data[pos:stop], begin
        _keep(self._begins, self._last_begin, begin)
        return begin

    def _learn_route(self, data: bytes, at: int, end: int, number: int) -> tuple[str, str, int]:
        """Exchange and routing key of a deliver, which end at `end`, and the channel of the header frame that follows,
        of their octets and the begin of that frame. Raises IndexError."""
        stop = at + 1 + data[at]
        if stop + 1 + data[stop] != end or _SIZE(data, end)[0] != _HEADER_FOLLOWS | number:
            raise IndexError(end)
        route = data[at + 1 : stop].decode(), data[stop + 1 : end].decode(), number
        self._last_route, self._route = data[at : end + 4], route
        _keep(self._routes, self._last_route, route)
        return route

    def _learn_publish(self, data: bytes, pos: int, end: int) -> tuple[int, Route, int]:
        """Channel and route of a publish. Raises IndexError."""
        kind, number, size, method_id = _FRAME(data, pos)
        at = pos + 14 + data[pos + 13]
        stop = at + 1 + data[at]
        bits = data[stop]
        if (
            kind != METHOD
            or method_id != _PUBLISH
            or size > self.other_max
            or stop + 1 != end
            or bits > 3
            or data[pos + 11]
            or data[pos + 12]
            or _SIZE(data, end)[0] != _HEADER_FOLLOWS | number
        ):
            raise IndexError(end)
        route = data[pos + 14 : at].decode(), data[at + 1 : stop].decode(), bits & 1 == 1, bits & 2 == 2
        publish = number, route, BODY_FOLLOWS | number
        _keep(self._publishes, data[pos : end + 4], publish)
        return publish

    def _body_frame(self, data: bytes, pos: int, source: _S) -> _E | None:
        if len(data) - pos < OVERHEAD or data[pos] != BODY:
            return None
        _, number, size = FRAME.unpack_from(data, pos)
        return self.continued(source, number, size)


def _keep(known: dict[bytes, _T], octets: bytes, found: _T) -> None:
    if len(octets) <= _LONGEST_KEPT:
        if len(known) >= _KEPT_NAMES:
            known.clear()
        known[octets] = found
