"""Content_1_0: a message as 1.0 encodes it (part 3 section 3.2: header, annotations, the bare message, footer)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0.codec.decode import ENTRIES, Map, read_code, read_counted, read_value, skip
from ...amqp_1_0.codec.encode import encode, encode_items
from ...amqp_1_0.codec.fastpath import locate
from ...amqp_1_0.codec.faults import READ_FAULTS
from ...amqp_1_0.codec.message import LenientMessage, Message
from ...amqp_1_0.codec.performatives import Header
from ...amqp_1_0.codec.sections import AMQP_SEQUENCE, AMQP_VALUE, DATA, FOOTER
from ...amqp_1_0.codec.types import Array, Symbol, Timestamp, UInt, ULong
from ...errors import CodecError
from ...versions import AMQP_1_0
from ..model.content import NO_HEADERS, Content
from .deaths import Expirations, add_expiration, listed, read_death

if TYPE_CHECKING:
    from ..model.content import Death

DEATHS: Final = Symbol("x-opt-deaths")
_MILLISECONDS: Final = 1000
_LONGEST_TTL: Final = 0xFFFF_FFFF
_SHORT: Final = 0xA0
_BODY: Final = ("data", "amqp-sequence", "amqp-value")
_BEFORE_BARE: Final = ("header", "delivery-annotations", "message-annotations")
_MESSAGE_ANNOTATIONS: Final = b"\0\x53\x72"
_DEFAULTS: Final = Header()


class Content_1_0(Content):
    """A message's sections, `payload`, as transferred. Decodes on access.

    Of a message in another format than the specification's own, 0, only the size is known, and it is never changed.
    """

    is_plain = False

    __slots__ = ("_deaths", "_headers", "_message", "message_format", "payload", "size", "version")

    def __init__(self, payload: bytes, message_format: int = 0, deaths: tuple[Death, ...] | None = None) -> None:
        self.version = AMQP_1_0
        self.payload = payload
        self.message_format = message_format
        self._message: Message | None = None
        self._headers: Mapping[str, Any] | None = None
        self._deaths = deaths
        """Deaths that can't be written into its octets."""

    def __getattr__(self, name: str) -> Any:
        # The start of the body is only located when its size is asked for.
        if name != "size":
            raise AttributeError(f"Content_1_0 has no {name}")
        self.size = self._body_octets()
        return self.size

    def _body_octets(self) -> int:
        payload = self.payload
        if self.message_format:
            return len(payload)
        try:
            # All descriptors have three octets there, and the body is a single section.
            index = locate(payload)
        except READ_FAULTS:
            return self._careful_body_octets()
        stop = index.get(FOOTER, len(payload))
        start = index.get(DATA)
        if start is None:
            start = index.get(AMQP_VALUE, index.get(AMQP_SEQUENCE))
            return 0 if start is None else int(stop - start - 3)
        return int(stop - start - (5 if payload[start + 3] == _SHORT else 8))

    def _careful_body_octets(self) -> int:
        try:
            sections = self.message.sections
        except CodecError:
            return len(self.payload)
        return sum([stop - _value_at(self.payload, name, start) for name, start, stop in sections if name in _BODY])

    @property
    def octets(self) -> int:
        """Octets of all sections."""
        return len(self.payload)

    @property
    def message(self) -> Message:
        """The sections, over their octets; access raises CodecError for damage."""
        found = self._message
        if found is None:
            found = LenientMessage.from_wire(self.payload)
            self._message = found
        return found

    @property
    def header(self) -> Header:
        """The header, or its defaults if it is damaged, or the message has another format."""
        if self.message_format:
            return _DEFAULTS
        try:
            return self.message.header or _DEFAULTS
        except CodecError:
            return _DEFAULTS

    @property
    def priority(self) -> int:
        """header.priority, or its default, 4."""
        return self.header.priority

    @property
    def ttl(self) -> float | None:
        """header.ttl, in seconds."""
        found = self.header.ttl
        return None if found is None else found / _MILLISECONDS

    @property
    def persistent(self) -> bool:
        """header.durable."""
        return self.header.durable

    @property
    def headers(self) -> Mapping[str, Any]:
        """The application properties; none if they are damaged."""
        found = self._headers
        if found is None:
            found = NO_HEADERS
            if not self.message_format:
                try:
                    found = self.message.application_properties
                    len(found)
                except CodecError:
                    found = NO_HEADERS
            self._headers = found
        return found

    @property
    def annotations(self) -> Mapping[Any, Any]:
        """The message annotations; none if they are damaged."""
        if self.message_format:
            return NO_HEADERS
        try:
            found = self.message.message_annotations
            len(found)
        except CodecError:
            return NO_HEADERS
        return found

    @property
    def deaths(self) -> tuple[Death, ...]:
        """The deaths in the message annotation "x-opt-deaths"."""
        if self._deaths is not None:
            return self._deaths
        return read_deaths(self.annotations.get(DEATHS))

    @property
    def expirations(self) -> Expirations:
        """The times to live in "x-opt-deaths" that were removed from the message."""
        return read_ttls(self.annotations.get(DEATHS))

    def with_deaths(self, deaths: tuple[Death, ...]) -> Content_1_0:
        """Return the message with these deaths in its message annotations, and without ttl.

        Damaged annotations are replaced. If even the sections are unreadable, or the format isn't 0, the octets stay
        unchanged and the deaths are kept beside them.
        """
        if self.message_format:
            return Content_1_0(self.payload, self.message_format, deaths)
        header = self.header
        text = None if header.ttl is None else str(header.ttl)
        expirations = add_expiration(self.expirations, deaths, text)
        changes = {DEATHS: write_deaths(deaths, expirations)}
        if header.ttl is not None:
            header = Header(header.durable, header.priority, None, header.first_acquirer, header.delivery_count)
        try:
            return Content_1_0(self._with(header, changes))
        except CodecError:
            return Content_1_0(self.payload, 0, deaths)

    def _with(self, header: Header, annotations: Mapping[Any, Any]) -> bytes:
        """Return the sections with another header, and new annotations for these keys. Raises CodecError."""
        payload = self.payload
        places = {name: (start, stop) for name, start, stop in self.message.sections}
        start, stop = places.get("header", (0, 0))
        parts = [payload[start:stop] if header is self.header else header.encode()]
        if not start < stop and header is _DEFAULTS:
            parts = []
        start, stop = places.get("delivery-annotations", (0, 0))
        parts.append(payload[start:stop])
        start, stop = places.get("message-annotations", (0, 0))
        parts.append(self._annotated(annotations) if annotations else payload[start:stop])
        rest = [start for name, (start, _) in places.items() if name not in _BEFORE_BARE]
        parts.append(payload[min(rest) :] if rest else b"")
        return b"".join(parts)

    def _annotated(self, changes: Mapping[Any, Any]) -> bytes:
        found = self.annotations
        new = [(key if isinstance(key, ULong) else Symbol(key), value) for key, value in changes.items()]
        kept: list[bytes] = []
        if isinstance(found, Map):
            names = [key for key, _ in new]
            kept = [octets for key, octets in map_entries(found.raw) if key not in names]
        octets = b"".join([*kept, *[encode(key) + encode(value) for key, value in new]])
        return _MESSAGE_ANNOTATIONS + encode_items(0xC1, 2 * (len(kept) + len(new)), octets)

    def __reduce__(self) -> tuple[Any, ...]:
        return Content_1_0, (self.payload, self.message_format, self._deaths)

    def __repr__(self) -> str:
        return f"<Content_1_0, {len(self.payload)} octets>"


def _value_at(payload: bytes, name: str, start: int) -> int:
    """Return the start of a section's value; for a data section, of its octets after the size."""
    at = skip(payload, start + 1, len(payload))
    if name != "data":
        return at
    return at + (2 if payload[at] == _SHORT else 5)


def map_entries(raw: bytes) -> list[tuple[Any, bytes]]:
    """Return the readable entries of a map: key, and the octets of key and value."""
    code, pos = read_code(raw, 0, len(raw))
    at, stop, _ = read_counted(raw, pos, len(raw), code >> 4, ENTRIES)
    found: list[tuple[Any, bytes]] = []
    while at < stop:
        key, middle = read_value(raw, at, stop, 1, ENTRIES)
        end = skip(raw, middle, stop)
        found.append((key, raw[at:end]))
        at = end
    return found


def read_deaths(value: Any) -> tuple[Death, ...]:
    """Return the deaths in "x-opt-deaths", without invalid entries."""
    found = [read_death(entry, "first-time", _MILLISECONDS) for entry in listed(value)]
    return tuple([death for death in found if death is not None])


def read_ttls(value: Any) -> Expirations:
    """Return the times to live in "x-opt-deaths"."""
    found: Expirations = {}
    for entry in listed(value):
        death = read_death(entry, "first-time", _MILLISECONDS)
        if death is not None:
            ttl = entry.get("ttl")
            if isinstance(ttl, int):
                found[death.queue, death.reason] = str(int(ttl))
    return found


def write_deaths(deaths: tuple[Death, ...], expirations: Expirations) -> Array:
    """Return "x-opt-deaths": an array of maps, the last death first.

    `first-time` and `last-time` are the same: the time of later deaths is unknown.
    """
    maps: list[dict[Symbol, Any]] = []
    for death in deaths:
        moment = Timestamp(int(death.time * _MILLISECONDS))
        entry: dict[Symbol, Any] = {
            Symbol("queue"): death.queue,
            Symbol("reason"): Symbol(death.reason),
            Symbol("count"): ULong(death.count),
            Symbol("first-time"): moment,
            Symbol("last-time"): moment,
            Symbol("exchange"): death.exchange,
            Symbol("routing-keys"): Array(death.routing_keys, str),
        }
        text = expirations.get((death.queue, death.reason), "")
        if text.isdecimal() and int(text) <= _LONGEST_TTL:
            entry = {Symbol("ttl"): UInt(int(text)), **entry}
        maps.append(entry)
    return Array(maps, dict)


__all__ = ["DEATHS", "Content_1_0", "map_entries", "read_deaths", "read_ttls", "write_deaths"]
