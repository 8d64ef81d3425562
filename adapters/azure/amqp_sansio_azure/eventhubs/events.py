"""Events: what is kept of one, and its octets for a receiver."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, Final

from amqp_sansio.amqp_1_0 import Data, Symbol, Timestamp
from amqp_sansio.amqp_1_0.codec.conditions import DECODE_ERROR
from amqp_sansio.amqp_1_0.codec.encode import encode
from amqp_sansio.amqp_1_0.codec.message import LenientMessage
from amqp_sansio.broker.nodes import Refusal
from amqp_sansio.errors import CodecError

BATCH: Final = 0x80013700
"""The message-format of a batch: a data section for each event, which it is the octets of."""
SEQUENCE_NUMBER: Final = Symbol("x-opt-sequence-number")
OFFSET: Final = Symbol("x-opt-offset")
ENQUEUED_TIME: Final = Symbol("x-opt-enqueued-time")
PARTITION_KEY: Final = Symbol("x-opt-partition-key")
PUBLISHER: Final = Symbol("x-opt-publisher")
_SERVICE: Final = (SEQUENCE_NUMBER, OFFSET, ENQUEUED_TIME, PARTITION_KEY, PUBLISHER)
"""Annotations that the service writes: a client's are replaced."""
_IN_FRONT: Final = ("header", "delivery-annotations", "message-annotations")
_HEADER: Final = b"\0\x53\x70\xc0"
_DELIVERY_ANNOTATIONS: Final = b"\0\x53\x71"
_MESSAGE_ANNOTATIONS: Final = b"\0\x53\x72"
_PACK_UINT: Final = Struct(">BI").pack
OVERHEAD: Final = 64
"""Octets that an event counts with beside its own."""


class Arrival:
    """An event as a client sent it: its partition `key` ("" without), the `header`, and the `rest` that stays."""

    __slots__ = ("annotations", "header", "key", "rest")

    def __init__(self, payload: bytes) -> None:
        """Read the octets of an event. Raises Refusal (amqp:decode-error)."""
        try:
            message = LenientMessage.from_wire(payload)
            header = message.header
            annotations = message.message_annotations
            starts = [start for name, start, _ in message.sections if name not in _IN_FRONT]
            if not starts:
                raise Refusal(DECODE_ERROR, "the event has no body")
            if header is None:
                self.header = b""
            else:
                # With every field: the SDKs take no defaults for those that are left out.
                ttl = b"\x40" if header.ttl is None else _PACK_UINT(0x70, header.ttl)
                flags = b"\x41" if header.durable else b"\x42", bytes((0x50, header.priority & 0xFF))
                fields = b"".join((*flags, ttl, b"\x42", _PACK_UINT(0x70, header.delivery_count)))
                self.header = b"".join((_HEADER, bytes((len(fields) + 1, 5)), fields))
            key: object = annotations.get(PARTITION_KEY)
            self.key = str(key) if isinstance(key, str) else ""
            self.annotations: dict[Any, Any] = {key: value for key, value in annotations.items() if key not in _SERVICE}
            self.rest = payload[min(starts) :]
        except CodecError as error:
            raise Refusal(DECODE_ERROR, f"the event can't be read: {error}") from None


class Event:
    """An event of a partition."""

    __slots__ = ("enqueued", "header", "key", "offset", "rest", "sequence")

    def __init__(
        self, arrival: Arrival, sequence: int, offset: int, enqueued: int, key: str = "", publisher: str = ""
    ) -> None:
        self.sequence = sequence
        """Its sequence number: 0 for the partition's first one."""
        self.offset = offset
        """Its offset: octets before it."""
        self.enqueued = enqueued
        """When it came, in milliseconds of Unix time."""
        self.key = key
        """Its partition key, "" without."""
        annotations: dict[Any, Any] = {
            **arrival.annotations,
            SEQUENCE_NUMBER: sequence,
            OFFSET: str(offset),
            ENQUEUED_TIME: Timestamp(enqueued),
        }
        if key:
            annotations[PARTITION_KEY] = key
        if publisher:
            annotations[PUBLISHER] = publisher
        self.header = arrival.header
        self.rest = b"".join((_MESSAGE_ANNOTATIONS, encode(annotations), arrival.rest))

    @property
    def octets(self) -> int:
        """Octets that it counts with."""
        return len(self.header) + len(self.rest) + OVERHEAD

    def payload(self, annotations: Mapping[Any, Any] | None = None) -> bytes:
        """Return its octets for a receiver, with delivery annotations."""
        if not annotations:
            return self.header + self.rest
        return b"".join((self.header, _DELIVERY_ANNOTATIONS, encode(dict(annotations)), self.rest))

    @property
    def message(self) -> LenientMessage:
        """It as a message."""
        return LenientMessage.from_wire(self.payload())


def arrivals_of(payload: bytes, message_format: int) -> list[Arrival]:
    """Return the events of a delivery: one, or those of a batch, with the batch's partition key. Raises Refusal."""
    if message_format != BATCH:
        return [Arrival(payload)]
    try:
        envelope = LenientMessage.from_wire(payload)
        key: object = envelope.message_annotations.get(PARTITION_KEY)
        body = envelope.typed_body
    except CodecError as error:
        raise Refusal(DECODE_ERROR, f"the batch can't be read: {error}") from None
    parts: Iterable[bytes | bytearray | memoryview] = body.parts if isinstance(body, Data) else ()
    found = [Arrival(bytes(each)) for each in parts]
    if not found:
        raise Refusal(DECODE_ERROR, "the batch has no data sections")
    if isinstance(key, str) and key:
        for each in found:
            each.key = str(key)
    return found


__all__ = [
    "BATCH",
    "ENQUEUED_TIME",
    "OFFSET",
    "OVERHEAD",
    "PARTITION_KEY",
    "PUBLISHER",
    "SEQUENCE_NUMBER",
    "Arrival",
    "Event",
    "arrivals_of",
]
