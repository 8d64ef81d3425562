"""Messages of Service Bus: what is kept of one, and its octets for a receiver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, Final
from uuid import UUID

from amqp_sansio.amqp_1_0 import Data, Message, Symbol
from amqp_sansio.amqp_1_0.codec.conditions import DECODE_ERROR
from amqp_sansio.amqp_1_0.codec.encode import encode
from amqp_sansio.amqp_1_0.codec.message import LenientMessage
from amqp_sansio.amqp_1_0.spec import Int
from amqp_sansio.broker.nodes import Refusal
from amqp_sansio.errors import CodecError

ACTIVE: Final = 0
DEFERRED: Final = 1
SCHEDULED: Final = 2
BATCH: Final = 0x80013700
"""The message-format of a batch: a data section for each message, which it is the octets of."""

ENQUEUED_TIME: Final = Symbol("x-opt-enqueued-time")
SEQUENCE_NUMBER: Final = Symbol("x-opt-sequence-number")
ENQUEUE_SEQUENCE_NUMBER: Final = Symbol("x-opt-enqueue-sequence-number")
LOCKED_UNTIL: Final = Symbol("x-opt-locked-until")
SCHEDULED_TIME: Final = Symbol("x-opt-scheduled-enqueue-time")
DEAD_LETTER_SOURCE: Final = Symbol("x-opt-deadletter-source")
STATE: Final = Symbol("x-opt-message-state")
LOCK_TOKEN: Final = Symbol("x-opt-lock-token")
_SERVICE: Final = (ENQUEUED_TIME, SEQUENCE_NUMBER, ENQUEUE_SEQUENCE_NUMBER, LOCKED_UNTIL, DEAD_LETTER_SOURCE, STATE)
"""Annotations that the service alone writes."""
_IN_FRONT: Final = ("header", "delivery-annotations", "message-annotations")
_HEADER: Final = b"\0\x53\x70\xc0"
_DELIVERY_ANNOTATIONS: Final = b"\0\x53\x71"
_ANNOTATIONS: Final = b"\0\x53\x72"
_PACK_UINT: Final = Struct(">BI").pack
_PACK_LONG: Final = Struct(">Bq").pack
_PACK_MAP: Final = Struct(">BII").pack
_NUMBER: Final = encode(SEQUENCE_NUMBER)
_TIME: Final = encode(ENQUEUED_TIME)
_ORIGIN: Final = encode(ENQUEUE_SEQUENCE_NUMBER)
_UNTIL: Final = encode(LOCKED_UNTIL)
_NO_ANNOTATIONS: Final[Mapping[Any, Any]] = {}


class Arrival:
    """A message as a client sent it: what the service reads of it, and the `rest` that it leaves as it is."""

    __slots__ = ("annotations", "durable", "message_id", "priority", "rest", "scheduled", "session_id", "ttl")

    def __init__(self, payload: bytes) -> None:
        """Read the octets of a message. Raises Refusal (amqp:decode-error)."""
        try:
            message = LenientMessage.from_wire(payload)
            header = message.header
            properties = message.properties
            annotations = message.message_annotations
            self.durable = header is not None and header.durable
            self.priority = 4 if header is None else header.priority
            self.ttl = None if header is None or header.ttl is None else header.ttl / 1000
            """Seconds."""
            self.message_id: Any = None if properties is None else properties.message_id
            self.session_id = None if properties is None else properties.group_id
            self.annotations: dict[Any, Any] = {key: value for key, value in annotations.items() if key not in _SERVICE}
            scheduled = self.annotations.get(SCHEDULED_TIME)
            self.scheduled: float | None = scheduled / 1000 if isinstance(scheduled, int) else None
            """The Unix time before which nobody gets it."""
            starts = [start for name, start, _ in message.sections if name not in _IN_FRONT]
            self.rest = payload[min(starts) :] if starts else b""
        except CodecError as error:
            raise Refusal(DECODE_ERROR, f"the message can't be read: {error}") from None

    def copy(self) -> Arrival:
        """Return another one, for another entity."""
        found = object.__new__(Arrival)
        for name in self.__slots__:
            setattr(found, name, getattr(self, name))
        found.annotations = dict(self.annotations)
        return found

    @property
    def octets(self) -> int:
        """Octets that it counts with."""
        return len(self.rest) + 64

    @property
    def message(self) -> Message:
        """Its properties, application properties and body."""
        return LenientMessage.from_wire(self.rest)

    def modify(self, changes: Mapping[Any, Any]) -> None:
        """Merge application properties into its own. Raises Refusal."""
        if not changes:
            return
        try:
            message = self.message
            merged = {**message.application_properties, **{str(key): value for key, value in changes.items()}}
            self.rest = message.replace(application_properties=merged).encode()
        except (CodecError, ValueError, TypeError) as error:
            raise Refusal(DECODE_ERROR, f"the properties can't be modified: {error}") from None

    def replace(self, message: Message) -> None:
        """Take the properties and the body of another message, as an action of a rule changed them."""
        properties = message.properties
        self.rest = message.encode()
        self.message_id = None if properties is None else properties.message_id
        self.session_id = None if properties is None else properties.group_id


class Lock:
    """The lock of a message: its token (16 octets, as a delivery-tag has it) and until when, in Unix seconds."""

    __slots__ = ("token", "until")

    def __init__(self, token: bytes, until: float) -> None:
        self.token = token
        self.until = until


class Stored:
    """A message of an entity. `number` is its sequence number, `state` ACTIVE, DEFERRED or SCHEDULED."""

    __slots__ = ("arrival", "delivery_count", "enqueued", "expires", "lock", "number", "origin", "source", "state")

    def __init__(self, arrival: Arrival, number: int, enqueued: float, expires: float | None) -> None:
        self.arrival = arrival
        self.number = number
        self.enqueued = enqueued
        """Unix time."""
        self.expires = expires
        """Unix time; None: never."""
        self.state = ACTIVE
        self.delivery_count = 0
        """Deliveries that have failed."""
        self.lock: Lock | None = None
        self.origin = number
        """Its number where it was sent to: in the topic, or before it was forwarded."""
        self.source = ""
        """For a dead letter: the entity that it was in."""

    def payload(self, *, says_state: bool = False, says_lock: bool = False) -> bytes:
        """Return its octets for a receiver; with its lock token as a delivery annotation if `says_lock`."""
        arrival = self.arrival
        others = dict(arrival.annotations)
        if self.source:
            others[DEAD_LETTER_SOURCE] = self.source
        if says_state:
            others[STATE] = Int(self.state)
        parts = [
            _NUMBER,
            _PACK_LONG(0x81, self.number),
            _TIME,
            _PACK_LONG(0x83, int(self.enqueued * 1000)),
            _ORIGIN,
            _PACK_LONG(0x81, self.origin),
        ]
        if self.lock is not None:
            parts += (_UNTIL, _PACK_LONG(0x83, int(self.lock.until * 1000)))
        for key, value in others.items():
            parts += (encode(key), encode(value))
        octets = b"".join(parts)
        annotations = _PACK_MAP(0xD1, len(octets) + 4, len(parts))
        header = _header(arrival, self.delivery_count)
        if says_lock and self.lock is not None:
            token: dict[Any, Any] = {LOCK_TOKEN: UUID(bytes_le=self.lock.token)}
            header += _DELIVERY_ANNOTATIONS + encode(token)
        return b"".join((header, _ANNOTATIONS, annotations, octets, arrival.rest))


def _header(arrival: Arrival, delivery_count: int) -> bytes:
    """Return a header section with every field: the SDKs take no defaults for those that are left out."""
    ttl = b"\x40" if arrival.ttl is None else _PACK_UINT(0x70, min(0xFFFF_FFFF, int(arrival.ttl * 1000)))
    fields = b"".join(
        (
            b"\x41" if arrival.durable else b"\x42",
            bytes((0x50, arrival.priority & 0xFF)),
            ttl,
            b"\x42",
            _PACK_UINT(0x70, delivery_count),
        )
    )
    return b"".join((_HEADER, bytes((len(fields) + 1, 5)), fields))


def arrivals_of(payload: bytes, message_format: int) -> list[Arrival]:
    """Return the messages of a delivery: one, or those of a batch. Raises Refusal."""
    if message_format != BATCH:
        return [Arrival(payload)]
    try:
        body = LenientMessage.from_wire(payload).typed_body
    except CodecError as error:
        raise Refusal(DECODE_ERROR, f"the batch can't be read: {error}") from None
    parts: Iterable[bytes | bytearray | memoryview] = body.parts if isinstance(body, Data) else ()
    found = [Arrival(bytes(each)) for each in parts]
    if not found:
        raise Refusal(DECODE_ERROR, "the batch has no data sections")
    return found


__all__ = ["ACTIVE", "BATCH", "DEFERRED", "SCHEDULED", "Arrival", "Lock", "Stored", "arrivals_of"]
