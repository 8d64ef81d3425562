"""Content_0_10: a message as 0-10 encodes it (class 4: delivery-properties, message-properties, and a body)."""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct as Form
from typing import TYPE_CHECKING, Any, Final

from ...amqp_0_10.codec.message_fields import Headers
from ...amqp_0_10.codec.record import encode_headers
from ...amqp_0_10.codec.records import DeliveryProperties, MessageProperties
from ...amqp_0_10.codec.structs import Struct
from ...amqp_0_10.codec.types import Map, encode_entries, width_of
from ...amqp_0_10.codec.values import Datetime
from ...errors import CodecError
from ...versions import AMQP_0_10
from ..model.content import NO_HEADERS, Content
from .deaths import DEATH, Expirations, add_expiration, headers_of, read_deaths, read_expirations, write_deaths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...amqp_0_10.codec.values import Struct32
    from ..model.content import Death

DEFAULT_PRIORITY: Final = 4
_PERSISTENT: Final = 2
_LONGEST: Final = 0xFFFF
_COUNT: Final = Form(">I")


class Content_0_10(Content):
    """The octets of a header segment, `header_segment`, and of a body. Decodes on access.

    `has_body`: there is a body segment, which may be empty.
    """

    is_plain = False

    __slots__ = ("_delivery", "_headers", "_structs", "body", "has_body", "header_segment", "size", "version")

    def __init__(self, headers: Headers, body: bytes, has_body: bool = False) -> None:
        self.version = AMQP_0_10
        self.header_segment = headers
        self.body = body
        self.has_body = has_body or bool(body)
        self.size = len(body)
        self._structs: tuple[Struct | Struct32, ...] | None = None
        self._delivery: DeliveryProperties | None = None
        self._headers: Mapping[str, Any] | None = None

    @property
    def octets(self) -> int:
        """Octets of header segment and body."""
        return len(self.header_segment.raw) + self.size

    @property
    def structs(self) -> tuple[Struct | Struct32, ...]:
        """The structs of the header segment; none if it is damaged."""
        found = self._structs
        if found is None:
            try:
                found = self.header_segment.structs
            except CodecError:
                found = ()
            self._structs = found
        return found

    @property
    def delivery_properties(self) -> DeliveryProperties:
        """The delivery-properties; empty ones if there are none."""
        found = self._delivery
        if found is None:
            found = _NO_DELIVERY_PROPERTIES
            for struct in self.structs:
                if isinstance(struct, DeliveryProperties):
                    found = struct
            self._delivery = found
        return found

    @property
    def message_properties(self) -> MessageProperties:
        """The message-properties; empty ones if there are none."""
        for struct in self.structs:
            if isinstance(struct, MessageProperties):
                return struct
        return _NO_MESSAGE_PROPERTIES

    @property
    def priority(self) -> int:
        """delivery-properties.priority, or its default, 4."""
        found = self.delivery_properties.priority
        return DEFAULT_PRIORITY if found is None else found

    @property
    def ttl(self) -> float | None:
        """delivery-properties.ttl, in seconds."""
        found = self.delivery_properties.ttl
        return None if found is None else found / 1000

    @property
    def persistent(self) -> bool:
        """Whether delivery-properties.delivery-mode is persistent."""
        return self.delivery_properties.delivery_mode == _PERSISTENT

    @property
    def headers(self) -> Mapping[str, Any]:
        """message-properties.application-headers; none if they are damaged."""
        found = self._headers
        if found is None:
            found = self.message_properties.application_headers
            if found is None:
                found = NO_HEADERS
            else:
                try:
                    check_values(found)
                except CodecError:
                    found = NO_HEADERS
            self._headers = found
        return found

    @property
    def deaths(self) -> tuple[Death, ...]:
        """The deaths in the application header "x-death"."""
        return read_deaths(self.headers.get(DEATH))

    @property
    def expirations(self) -> Expirations:
        """The times to live in "x-death" that were removed from the message."""
        return read_expirations(self.headers.get(DEATH))

    def with_deaths(self, deaths: tuple[Death, ...]) -> Content_0_10:
        """Return the message with these deaths in its application headers, and without ttl and expiration.

        A damaged header segment and damaged headers are replaced, since they are unreadable.
        """
        delivery = self.delivery_properties
        message = self.message_properties
        headers = self.headers
        text = None if delivery.ttl is None else str(delivery.ttl)
        dead = dead_headers(headers, deaths, add_expiration(self.expirations, deaths, text))
        structs: list[Struct | Struct32] = []
        new: list[Struct | Struct32] = [_changed(message, {"application_headers": dead})]
        for struct in self.structs:
            if struct is delivery:
                structs.append(_changed(delivery, {"ttl": None, "expiration": None}))
            elif struct is message:
                structs += new
                new = []
            else:
                structs.append(struct)
        return Content_0_10(_segment(structs + new), self.body, self.has_body)

    def __reduce__(self) -> tuple[Any, ...]:
        return Content_0_10, (self.header_segment, self.body, self.has_body)

    def __repr__(self) -> str:
        return f"<Content_0_10, {self.size} octets>"


_NO_DELIVERY_PROPERTIES: Final = DeliveryProperties()
_NO_MESSAGE_PROPERTIES: Final = MessageProperties()


def _changed(struct: Any, changes: Mapping[str, Any]) -> Any:
    values = {name: changes.get(name, getattr(struct, name)) for name in struct.__match_args__}
    return type(struct)(**values)


def _segment(structs: Sequence[Struct | Struct32]) -> Headers:
    return Headers(encode_headers(tuple(structs)))


def _fitting(death: Death) -> Death:
    """Return a death whose texts fit a str16: names of other versions may be longer."""
    keys = tuple([_cut(each) for each in death.routing_keys])
    return type(death)(_cut(death.queue), death.reason, death.count, _cut(death.exchange), keys, death.time)


def _cut(text: str) -> str:
    if len(text) <= _LONGEST // 4:
        return text
    return text.encode("utf-8", "surrogateescape")[:_LONGEST].decode("utf-8", "surrogateescape")


def dead_headers(headers: Mapping[str, Any], deaths: tuple[Death, ...], expirations: Expirations) -> Map:
    """Return application headers with these deaths; other headers keep their octets."""
    fitting = tuple([_fitting(each) for each in deaths])
    entries = [{**entry, "time": Datetime(entry["time"])} for entry in write_deaths(fitting, expirations)]
    values = headers_of(fitting, entries, headers)
    added = encode_entries(values)
    if not isinstance(headers, Map):
        return Map.from_wire(added)
    kept = [octets for name, octets in map_entries(headers.raw) if name not in values]
    raw = _COUNT.pack(len(kept) + len(values)) + b"".join(kept) + added[4:]
    return Map.from_wire(raw)


def check_values(value: Any) -> None:
    """Decode a value with everything in it, which maps defer. Raises CodecError for damaged octets."""
    pending: list[Any] = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, Mapping):
            pending += each.values()
        elif isinstance(each, list):
            pending += each


def map_entries(raw: bytes) -> list[tuple[str, bytes]]:
    """Return the readable entries of a map: name, and the octets of name, type and value."""
    found: list[tuple[str, bytes]] = []
    pos = 4
    while pos < len(raw):
        at = pos + 1 + raw[pos]
        name = raw[pos + 1 : at].decode("utf-8", "surrogateescape")
        start, size = width_of(raw[at], raw, at + 1, len(raw))
        found.append((name, raw[pos : start + size]))
        pos = start + size
    return found


__all__ = ["DEFAULT_PRIORITY", "Content_0_10", "check_values", "dead_headers", "map_entries"]
