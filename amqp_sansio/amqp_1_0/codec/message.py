"""Messages: their bodies, and their sections, read when they are asked for (1.0 part 3 section 3.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..._checking import TYPE_CHECKING, Any, Generic, TypeVar, cast
from ...errors import CodecError
from . import sections as _sections
from .composite import Composite
from .decode import ENTRIES, NESTING, Map, read_value
from .encode import encode, encode_binary
from .fastpath import locate as fast_locate
from .fastpath import pass_annotations, read_properties, read_start, read_symbols, write_properties
from .faults import INVALID, READ_FAULTS, WRITE_FAULTS, fault
from .octets import BINARY, READ_U32, VALUES
from .odd import Odd, OddRecord
from .performatives import Header, Properties
from .sections import Index, Section, check_map, encode_annotations, encode_properties, listed, locate
from .types import AmqpMap, Symbol, ULong

if TYPE_CHECKING:
    from typing import ClassVar, Final, Literal, TypeAlias
    from uuid import UUID

    from .types import Timestamp

C = TypeVar("C", bound=Composite)
P = TypeVar("P")
BodyKind: TypeAlias = "Literal['data', 'sequence', 'value', 'none']"

_UNREAD: Final[Any] = NotImplemented
_EMPTY: Final = Map()
_NOTHING: Final = (0, 0, 0, False)
_DATA: Final = _sections.DATA
_DEFAULTS: Final = Header()
_HEADERS: Final = {
    octets: Header.fast(octets, 3, len(octets), 0)[0]
    for durable in (b"\x40", b"\x42", b"\x41")
    for priority in (b"", b"\x40", *[bytes((0x50, level)) for level in range(10)])
    for count, fields in ((1 + bool(priority), durable + priority), (5, durable + priority + b"\x40\x42\x43"))
    if priority or count == 1
    for octets in (b"\0\x53\x70\xc0%c%c%b" % (len(fields) + 1, count, fields),)
}
"""Headers by their octets, those without the other fields or with nothing in them: most messages have one of these."""
_new: Final[Any] = object.__new__
_map_of: Final = Map.from_wire
_read_properties: Final = Properties.fast


class _Parts(Generic[P]):
    """A body of one or more sections of one kind."""

    __slots__ = ("parts",)
    __match_args__ = ("parts",)

    parts: tuple[P, ...]

    def __eq__(self, other: object) -> bool:
        return self.parts == other.parts if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(map(repr, self.parts))})"

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), self.parts


class Data(_Parts[bytes]):
    """A body of one or more data sections, octets each (1.0 part 3 section 3.2.6).

    >>> Data(b"ab", b"c").encode()
    b'\\x00Su\\xa0\\x02ab\\x00Su\\xa0\\x01c'
    """

    __slots__ = ()

    KIND: ClassVar[BodyKind] = "data"

    def __init__(self, *parts: bytes | bytearray | memoryview) -> None:
        self.parts = tuple([bytes(part) for part in parts])

    @property
    def content(self) -> bytes:
        """The octets of all sections joined."""
        return self.parts[0] if len(self.parts) == 1 else b"".join(self.parts)

    def encode(self) -> bytes:
        """The octets of the sections."""
        return b"".join([b"\0\x53\x75" + encode_binary(part) for part in self.parts])


class AmqpSequence(_Parts[list[Any]]):
    """A body of one or more amqp-sequence sections, lists each (1.0 part 3 section 3.2.7).

    >>> AmqpSequence([1, 2], ["a"]).content
    [1, 2, 'a']
    """

    __slots__ = ()

    KIND: ClassVar[BodyKind] = "sequence"

    def __init__(self, *parts: Sequence[object]) -> None:
        self.parts = tuple([list(part) for part in parts])

    @property
    def content(self) -> list[Any]:
        """The values of all sections in one list."""
        return [value for part in self.parts for value in part]

    def encode(self) -> bytes:
        """The octets of the sections."""
        return b"".join([b"\0\x53\x76" + encode(part) for part in self.parts])

    __hash__ = None  # type: ignore[assignment]


class AmqpValue:
    """A body of one amqp-value section, a value of any type (1.0 part 3 section 3.2.8).

    >>> AmqpValue("hi").encode()
    b'\\x00Sw\\xa1\\x02hi'
    """

    __slots__ = ("value",)
    __match_args__ = ("value",)

    KIND: ClassVar[BodyKind] = "value"

    def __init__(self, value: object) -> None:
        self.value: Any = value

    @property
    def content(self) -> Any:
        """The value."""
        return self.value

    def encode(self) -> bytes:
        """The octets of the section."""
        return b"\0\x53\x77" + encode(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == other.value) if isinstance(other, AmqpValue) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"AmqpValue({self.value!r})"

    def __reduce__(self) -> tuple[object, ...]:
        return AmqpValue, (self.value,)


Body = Data | AmqpSequence | AmqpValue


def check_encoding(name: str, body: Body | None) -> None:
    """Raise CodecError for a content-encoding that a message with this body can't have."""
    if not isinstance(body, Data):
        rule = "properties.content-encoding/non-data"
        raise fault("content-encoding is for bodies of data sections", None, rule, INVALID)
    if name == "identity":
        rule = "properties.content-encoding/identity"
        raise fault("the content-encoding identity is never named", None, rule, INVALID)


class Message:
    """A message in the specification's format 0: an immutable set of sections (1.0 part 3 section 3.2).

    A `body` of octets becomes one data section, `Data`, `AmqpSequence` and `AmqpValue` are taken as they
    are, and anything else, None as well, becomes an amqp-value. Annotations take symbols or ULong as
    keys (a str is taken as a symbol), application properties str keys and simple values.

    One from the wire keeps its octets: `encode` gives exactly these, and a section is only read when
    it's asked for, so that any access may raise CodecError; `check_message` tells beforehand. Maps
    that aren't there are empty ones; a header or properties that aren't there are None.

    >>> message = Message(b"hello", properties=Properties(subject="greeting"))
    >>> again = Message.from_wire(message.encode())
    >>> again.body, again.subject, again == message
    (b'hello', 'greeting', True)
    """

    __slots__ = (
        "_application_properties",
        "_bare",
        "_body",
        "_content",
        "_delivery_annotations",
        "_footer",
        "_header",
        "_index",
        "_message_annotations",
        "_payload",
        "_places",
        "_properties",
    )

    # From the wire only the payload is there at first; any other slot is filled when it's asked for.
    _payload: bytes
    # Of each section where it begins, or all that is known of it when its descriptor isn't of the short form.
    _index: Index
    # Where the values of properties, application properties and body begin: 0 without, the end of the octets for one
    # that needs care. The body's is 0 for that, too, and below 0 for an amqp-value. Then whether the message has
    # nothing but a header, these, and data.
    _places: tuple[int, int, int, bool]
    _bare: bytes | None
    _content: object
    _body: Body | None
    _header: Header | None
    _properties: Properties | None
    _delivery_annotations: AmqpMap
    _message_annotations: AmqpMap
    _application_properties: Mapping[str, Any]
    _footer: AmqpMap

    def __init__(
        self,
        body: object = None,
        *,
        header: Header | None = None,
        delivery_annotations: AmqpMap | None = None,
        message_annotations: AmqpMap | None = None,
        properties: Properties | None = None,
        application_properties: Mapping[str, Any] | None = None,
        footer: AmqpMap | None = None,
    ) -> None:
        if isinstance(body, bytes) and body.__class__ is bytes:
            data: Data = _new(Data)
            data.parts = (body,)
            self._body = data
        elif isinstance(body, (Data, AmqpSequence, AmqpValue)):
            self._body = body
        elif isinstance(body, (bytearray, memoryview)):
            self._body = Data(cast("bytearray | memoryview", body))
        else:
            self._body = AmqpValue(body)
        self._header = header
        self._delivery_annotations = _EMPTY if delivery_annotations is None else delivery_annotations
        self._message_annotations = _EMPTY if message_annotations is None else message_annotations
        self._properties = properties
        self._application_properties = _EMPTY if application_properties is None else application_properties
        self._footer = _EMPTY if footer is None else footer
        self._payload = _UNREAD
        self._index = _UNREAD
        self._places = _UNREAD
        self._content = _UNREAD
        self._bare = None

    @staticmethod
    def from_wire(payload: bytes) -> Message:
        """A message over its octets. Checks nothing yet.

        >>> Message.from_wire(b"\\x00Sw\\xa1\\x02hi").body
        'hi'
        """
        message: Message = _new(Message)
        message._payload = payload
        message._places = _UNREAD
        message._index = _UNREAD
        message._content = _UNREAD
        message._body = _UNREAD
        message._header = _UNREAD
        message._delivery_annotations = _UNREAD
        message._message_annotations = _UNREAD
        message._properties = _UNREAD
        message._application_properties = _UNREAD
        message._footer = _UNREAD
        return message

    def encode(self) -> bytes:
        """All sections' octets. Raises CodecError for values that none can hold, TypeError for a wrong section."""
        payload = self._payload
        if payload is not _UNREAD:
            return payload
        parts: list[bytes] = []
        header = self._header
        if header is not None:
            if header.__class__ is not Header:
                raise TypeError(f"a header is Header(durable=..., ttl=...), not {type(header).__name__}")
            parts.append(header.encode())
        if self._delivery_annotations is not _EMPTY and self._delivery_annotations:
            parts += (b"\0\x53\x71", encode_annotations(self._delivery_annotations))
        if self._message_annotations is not _EMPTY and self._message_annotations:
            parts += (b"\0\x53\x72", encode_annotations(self._message_annotations))
        if self._bare is not None:
            parts.append(self._bare)
        else:
            properties = self._properties
            if properties is not None:
                if properties.__class__ is not Properties:
                    name = type(properties).__name__
                    raise TypeError(f"properties are Properties(subject=...), not {name}; see application_properties")
                if properties.content_encoding is not None:
                    check_encoding(properties.content_encoding, self._body)
                parts.append(properties.encode())
            values = self._application_properties
            if values is not _EMPTY and values:
                try:
                    parts += (b"\0\x53\x74", write_properties(values))
                except WRITE_FAULTS:
                    parts += (b"\0\x53\x74", encode_properties(values))
            body = self._body
            if isinstance(body, Data) and len(body.parts) == 1 and len(body.parts[0]) < 256:
                parts += (b"\0\x53\x75", BINARY[len(body.parts[0])], body.parts[0])
            elif body is not None:
                parts.append(body.encode())
        if self._footer is not _EMPTY and self._footer:
            parts += (b"\0\x53\x78", encode_annotations(self._footer))
        payload = b"".join(parts)
        self._payload = payload
        return payload

    def replace(self, **changes: Any) -> Message:
        """A message with other sections in some places.

        As long as no section of the bare message is among them, that keeps its octets (section 3.2).
        """
        values: dict[str, Any] = {name: getattr(self, name) for name in _NAMES.values()}
        values["body"] = self.typed_body
        message = Message(**{**values, **changes})
        if "body" not in changes:
            # A message from the wire may have none.
            message._body = values["body"]
        if not changes.keys() & {"body", "properties", "application_properties"}:
            message._bare = self.bare
        return message

    def check(self) -> None:
        """Read every section now, so that nothing raises later. Raises CodecError for whatever is wrong in any.

        >>> Message.from_wire(b"\\x00Sw\\xa1\\x02hi").check()
        """
        _ = self.header
        places = self._places
        if places is not _UNREAD and places[3]:
            _ = self.properties
            _ = self.application_properties
            return
        for number in self._located():
            if number != _DATA:
                getattr(self, _NAMES.get(number, "typed_body"))

    def odd_fields(self) -> tuple[Odd, ...]:
        """What is odd in the sections, whose names are the owners of fields. Raises CodecError where the sections
        themselves can't be told apart."""
        odds: list[Odd] = []
        for number, _, at, stop in self._located_sections():
            if number == _DATA:
                continue
            name = _sections.NAMES[number]
            try:
                getattr(self, _NAMES.get(number, "typed_body"))
            except OddRecord as odd:
                odds += odd.odds
            except CodecError as error:
                odds.append(Odd(name, "", error, number in _MAPS and _has_names(self._payload, at, stop)))
        return tuple(odds)

    @property
    def sections(self) -> tuple[tuple[str, int, int], ...]:
        """Each section as its name, such as "application-properties", and where in `encode()` it begins and ends."""
        return tuple([(_sections.NAMES[number], start, stop) for number, start, _, stop in self._located_sections()])

    @property
    def bare(self) -> bytes:
        """The octets of the bare message: properties, application properties and body."""
        octets = self.encode()
        inside = [
            (start, stop)
            for number, start, _, stop in self._located_sections()
            if _sections.PROPERTIES <= number <= _sections.AMQP_VALUE
        ]
        return octets[inside[0][0] : inside[-1][1]] if inside else b""

    def _located(self) -> Index:
        index = self._index
        if index is _UNREAD:
            octets = self._payload
            if octets is _UNREAD:
                octets = self.encode()
            try:
                index = fast_locate(octets)
            except READ_FAULTS:
                index = locate(octets)
            self._index = index
        return index

    def _located_sections(self) -> list[Section]:
        return listed(self._located(), len(self._payload))

    def _find(self, number: int) -> Section | None:
        return next((section for section in self._located_sections() if section[0] == number), None)

    def _open(self) -> tuple[int, int, int, bool]:
        payload = self._payload
        header: Header | None = None
        pos = properties = application_properties = 0
        plain = True
        try:
            word, size = read_start(payload, 0)
            if word == 0x5370C0:
                header = _UNREAD
                pos = 5 + size
                word, size = read_start(payload, pos)
            if word < 0x537300:
                pos = pass_annotations(payload, pos)
                word, size = read_start(payload, pos)
                plain = False
            if word == 0x5373C0:
                properties = pos + 3
                pos += 5 + size
                word, size = read_start(payload, pos)
            if word == 0x5374D1:
                application_properties = pos + 3
                pos += 8 + READ_U32(payload, pos + 4)[0]
                word, size = read_start(payload, pos)
            elif word == 0x5374C1:
                application_properties = pos + 3
                pos += 5 + size
                word, size = read_start(payload, pos)
            body = pos + 3
            if word == 0x5375A0:
                pos += 5 + size
            elif word == 0x5375B0:
                pos += 8 + READ_U32(payload, pos + 4)[0]
            else:
                pos += 5 + size if VALUES[word] else 8 + READ_U32(payload, pos + 4)[0]
                body = -body
                plain = False
            if pos != len(payload):
                word, size = read_start(payload, pos)
                pos += 5 + size
                plain = False
                if word != 0x5378C1 or pos != len(payload):
                    return self._open_carefully()
        except READ_FAULTS:
            return self._open_carefully()
        self._header = header
        places = (properties, application_properties, body, plain)
        self._places = places
        return places

    def _open_carefully(self) -> tuple[int, int, int, bool]:
        index = self._located()
        if _sections.HEADER not in index:
            self._header = None
        # Straight-line code stops at the end of the octets.
        care = len(self._payload)
        starts = [index.get(number, -3) for number in (_sections.PROPERTIES, _sections.APPLICATION_PROPERTIES, _DATA)]
        properties, application_properties, data = [start + 3 if isinstance(start, int) else care for start in starts]
        places = (properties, application_properties, 0 if data == care else data, False)
        self._places = places
        return places

    @property
    def header(self) -> Header | None:
        """The header, or None when there is none: then its defaults hold."""
        known = self._header
        if known is not _UNREAD:
            return known
        if self._places is _UNREAD:
            self._open()
            if self._header is None:
                return None
        payload = self._payload
        try:
            # Nothing is in front of a header, and no other form of its descriptor has a list's code at 3.
            octets = payload[: 5 + payload[4]]
            found = _HEADERS.get(octets) or Header.fast(payload, 3, len(payload), 0)[0]
        except READ_FAULTS:
            found = self._read_record(Header, _sections.HEADER)
        self._header = found
        return found

    @property
    def properties(self) -> Properties | None:
        """The properties, or None when there are none."""
        known = self._properties
        if known is not _UNREAD:
            return known
        places = self._places
        at = (self._open() if places is _UNREAD else places)[0]
        if not at:
            self._properties = None
            return None
        payload = self._payload
        try:
            found, _ = _read_properties(payload, at, len(payload), at - 3)
        except READ_FAULTS:
            found = self._read_record(Properties, _sections.PROPERTIES)
        self._properties = found
        return found

    def _read_record(self, kind: type[C], number: int) -> C:
        _, start, at, stop = cast("Section", self._find(number))
        return kind.read(self._payload, at, stop, NESTING - 1, ENTRIES, start)[0]

    @property
    def delivery_annotations(self) -> AmqpMap:
        """The sender's annotations of this delivery, for one hop."""
        found = self._delivery_annotations
        if found is _UNREAD:
            found = self._read_map(_sections.DELIVERY_ANNOTATIONS)
            self._delivery_annotations = found
        return found

    @property
    def message_annotations(self) -> AmqpMap:
        """The infrastructure's annotations of the message, for every hop."""
        found = self._message_annotations
        if found is _UNREAD:
            found = self._read_map(_sections.MESSAGE_ANNOTATIONS)
            self._message_annotations = found
        return found

    @property
    def application_properties(self) -> Mapping[str, Any]:
        """The application's own properties."""
        known = self._application_properties
        if known is not _UNREAD:
            return known
        places = self._places
        at = (self._open() if places is _UNREAD else places)[1]
        if not at:
            return _EMPTY
        payload = self._payload
        try:
            values, stop = read_properties(payload, at, len(payload))
            found = _map_of(payload[at:stop], values)
        except READ_FAULTS:
            found = self._read_map(_sections.APPLICATION_PROPERTIES)
        self._application_properties = found
        return found

    @property
    def footer(self) -> AmqpMap:
        """Values that the sender only knows after the whole bare message, such as a checksum."""
        found = self._footer
        if found is _UNREAD:
            found = self._read_map(_sections.FOOTER)
            self._footer = found
        return found

    def _read_map(self, number: int) -> Map:
        section = self._find(number)
        if section is None:
            return _EMPTY
        payload = self._payload
        _, _, at, stop = section
        if number != _sections.APPLICATION_PROPERTIES:
            try:
                return _map_of(payload[at:stop], read_symbols(payload, at, stop)[0])
            except READ_FAULTS:
                pass
        check_map(payload, at, stop, number)
        return cast("Map", read_value(payload, at, stop, NESTING, ENTRIES)[0])

    @property
    def typed_body(self) -> Body | None:
        """The body with its sections, or None when there is none."""
        found = self._body
        if found is _UNREAD:
            found = self._read_body()
            self._body = found
        return found

    def _read_body(self) -> Body | None:
        places = self._places
        if places is not _UNREAD and places[2] < 0:
            return AmqpValue(read_value(self._payload, -places[2], len(self._payload), NESTING, ENTRIES)[0])
        parts: list[Any] = []
        kind = 0
        payload = self._payload
        for number, _, at, stop in self._located_sections():
            if number == _sections.DATA:
                kind = number
                parts.append(payload[at + (2 if payload[at] == 0xA0 else 5) : stop])
            elif number == _sections.AMQP_VALUE or number == _sections.AMQP_SEQUENCE:
                kind = number
                parts.append(read_value(payload, at, stop, NESTING, ENTRIES)[0])
        if kind == _sections.DATA:
            data: Data = _new(Data)
            data.parts = tuple(parts)
            return data
        if kind == _sections.AMQP_SEQUENCE:
            return AmqpSequence(*parts)
        return AmqpValue(parts[0]) if kind else None

    @property
    def body(self) -> Any:
        """The body: the octets of all data sections, the value, or all values of the sequences."""
        content = self._content
        if content is not _UNREAD:
            return content
        places = self._places
        if places is _UNREAD:
            places = self._open() if self._body is _UNREAD else _NOTHING
        at = places[2]
        if at > 0:
            payload = self._payload
            if payload[at] == 0xA0:
                content = payload[at + 2 : at + 2 + payload[at + 1]]
            else:
                content = payload[at + 5 : at + 5 + READ_U32(payload, at + 1)[0]]
        else:
            found = self.typed_body
            content = None if found is None else found.content
        self._content = content
        return content

    @property
    def body_kind(self) -> BodyKind:
        """The kind of sections that the body has."""
        found = self.typed_body
        return "none" if found is None else found.KIND

    @property
    def durable(self) -> bool:
        """header.durable, or its default."""
        return (self.header or _DEFAULTS).durable

    @property
    def priority(self) -> int:
        """header.priority, or its default, 4."""
        return (self.header or _DEFAULTS).priority

    @property
    def ttl(self) -> int | None:
        """header.ttl, milliseconds, or None."""
        return (self.header or _DEFAULTS).ttl

    @property
    def first_acquirer(self) -> bool:
        """header.first-acquirer, or its default."""
        return (self.header or _DEFAULTS).first_acquirer

    @property
    def delivery_count(self) -> int:
        """header.delivery-count, or its default."""
        return (self.header or _DEFAULTS).delivery_count

    @property
    def message_id(self) -> int | UUID | bytes | str | None:
        """properties.message-id, or None."""
        return None if (found := self.properties) is None else found.message_id

    @property
    def user_id(self) -> bytes | None:
        """properties.user-id, or None."""
        return None if (found := self.properties) is None else found.user_id

    @property
    def to(self) -> Any:
        """properties.to, or None."""
        return None if (found := self.properties) is None else found.to

    @property
    def subject(self) -> str | None:
        """properties.subject, or None."""
        return None if (found := self.properties) is None else found.subject

    @property
    def reply_to(self) -> Any:
        """properties.reply-to, or None."""
        return None if (found := self.properties) is None else found.reply_to

    @property
    def correlation_id(self) -> int | UUID | bytes | str | None:
        """properties.correlation-id, or None."""
        return None if (found := self.properties) is None else found.correlation_id

    @property
    def content_type(self) -> Symbol | None:
        """properties.content-type, or None."""
        return None if (found := self.properties) is None else found.content_type

    @property
    def content_encoding(self) -> Symbol | None:
        """properties.content-encoding, or None."""
        return None if (found := self.properties) is None else found.content_encoding

    @property
    def creation_time(self) -> Timestamp | None:
        """properties.creation-time, or None."""
        return None if (found := self.properties) is None else found.creation_time

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Message):
            return NotImplemented
        if self.encode() == other.encode():
            return True
        return self.typed_body == other.typed_body and all(
            [getattr(self, name) == getattr(other, name) for name in _NAMES.values()]
        )

    def __hash__(self) -> int:
        return hash((self.body_kind, self.properties))

    def __repr__(self) -> str:
        try:
            shown = [repr(self.typed_body if self.body_kind != "none" else None)]
            for name in _NAMES.values():
                value = getattr(self, name)
                if value:
                    shown.append(f"{name}={value!r}")
        except CodecError:
            return f"<Message of {len(self.encode())} damaged octets>"
        return f"Message({', '.join(shown)})"

    def __reduce__(self) -> tuple[object, ...]:
        return Message.from_wire, (self.encode(),)


class LenientMessage(Message):
    """A message over its octets whose sections are read as far as they can be, where `Message` raises.

    An odd field of the header or properties has its default, maps are taken with whatever keys and values they have.

    `check` is as strict as ever.
    """

    __slots__ = ()

    @staticmethod
    def from_wire(payload: bytes) -> LenientMessage:
        """A message over its octets. Checks nothing yet."""
        found = Message.from_wire(payload)
        found.__class__ = LenientMessage
        return cast("LenientMessage", found)

    def replace(self, **changes: Any) -> Message:
        """A message with other sections in some places, as `Message.replace`; annotations then have symbols."""
        for number in (_sections.DELIVERY_ANNOTATIONS, _sections.MESSAGE_ANNOTATIONS, _sections.FOOTER):
            name = _NAMES[number]
            if name not in changes:
                found = getattr(self, name)
                if any([key.__class__ is str for key in found]):
                    changes[name] = {Symbol(key) if key.__class__ is str else key: found[key] for key in found}
        return super().replace(**changes)

    def check(self) -> None:
        """Read every section as strictly as `Message` does. Raises CodecError for whatever is wrong in any."""
        check_message(self.encode())

    def _read_record(self, kind: type[C], number: int) -> C:
        try:
            return super()._read_record(kind, number)
        except OddRecord as odd:
            return cast("C", odd.record)

    def _read_map(self, number: int) -> Map:
        try:
            return super()._read_map(number)
        except CodecError:
            _, _, at, stop = cast("Section", self._find(number))
            return cast("Map", read_value(self._payload, at, stop, NESTING, ENTRIES)[0])

    def _read_body(self) -> Body | None:
        try:
            return super()._read_body()
        except OddRecord as odd:
            section = self._find(_sections.AMQP_VALUE)
            if section is None or section[2] != odd.start:
                raise
            return AmqpValue(odd.record)

    def __reduce__(self) -> tuple[object, ...]:
        return LenientMessage.from_wire, (self.encode(),)


_NAMES: Final = {
    number: name.replace("-", "_")
    for number, name in _sections.NAMES.items()
    if number < _DATA or number == _sections.FOOTER
}
"""The attributes of the sections other than the body's."""


def check_message(payload: bytes) -> None:
    """Raise CodecError for a message with anything wrong in its sections, their order or what they hold.

    >>> check_message(Message("hi").encode())
    """
    Message.from_wire(payload).check()


def has_sections(payload: bytes) -> bool:
    """Whether octets can be told apart as the sections of a message, whatever is in them."""
    try:
        locate(payload)
    except CodecError:
        return False
    return True


def odd_fields(payload: bytes) -> tuple[Odd, ...]:
    """What is odd in a message's sections; their names are the owners. Raises CodecError where the sections themselves
    can't be told apart.

    >>> odd_fields(Message("hi").encode())
    ()
    """
    return Message.from_wire(payload).odd_fields()


_MAPS: Final = (
    _sections.DELIVERY_ANNOTATIONS,
    _sections.MESSAGE_ANNOTATIONS,
    _sections.APPLICATION_PROPERTIES,
    _sections.FOOTER,
)


def _has_names(payload: bytes, at: int, stop: int) -> bool:
    """Whether a map can be read, and all its keys are text or numbers of annotations: then its meaning is plain."""
    try:
        found, _ = read_value(payload, at, stop, NESTING, ENTRIES)
    except CodecError:
        return False
    return all([isinstance(key, (str, ULong)) for key, _ in cast("Map", found).pairs()])
