"""Octets of deliveries: the stored message with the node's current header, and annotations that an outcome added.

Properties, application properties and body are never changed (part 3 section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Error, Header, Symbol
from ....amqp_1_0.codec.message import LenientMessage
from ...contents.amqp_1_0 import Content_1_0
from ...conversion import as_1_0

if TYPE_CHECKING:
    from ...model.content import Content
    from ...model.entry import Entry

_REJECTED: Final = Symbol("rejected")
_EXCHANGE: Final = Symbol("x-exchange")
_ROUTING_KEY: Final = Symbol("x-routing-key")


def payload_of(entry: Entry, now: float, *, says_where: bool = False) -> tuple[bytes, int]:
    """Return the octets to send of a message, and its format.

    They are the original ones except for the header, if that has changed: after a failed delivery, an acquisition by
    another consumer, or time elapsed of a time to live (part 3 section 3.2.1). With `says_where`, message-annotations
    name the exchange and routing key it was published with, as in RabbitMQ 4.
    """
    content = as_1_0(entry.message)
    octets, form = content.payload, content.message_format
    if form:
        return octets, form
    if says_where:
        octets = _with_place(octets, entry)
    if not (entry.redelivered or entry.delivery_count or entry.expires is not None):
        return octets, form
    message = LenientMessage.from_wire(octets)
    had = message.header
    header = Header() if had is None else had
    ttl = header.ttl
    if ttl is not None and entry.expires is not None:
        ttl = min(ttl, max(0, round((entry.expires - now) * 1000)))
    first = header.first_acquirer and not entry.redelivered and not entry.delivery_count
    count = header.delivery_count + entry.delivery_count
    if (ttl, first, count) == (header.ttl, header.first_acquirer, header.delivery_count):
        return octets, form
    changed = Header(header.durable, header.priority, ttl, first, count)
    return message.replace(header=changed).encode(), form


def _with_place(octets: bytes, entry: Entry) -> bytes:
    message = LenientMessage.from_wire(octets)
    place = {_EXCHANGE: entry.message.exchange, _ROUTING_KEY: entry.message.routing_key}
    return message.replace(message_annotations={**message.message_annotations, **place}).encode()


def without_delivery_annotations(payload: bytes) -> bytes:
    """Return a message as stored: without delivery-annotations, which are for one hop only (part 3 section 3.2.2)."""
    message = LenientMessage.from_wire(payload)
    if not message.delivery_annotations:
        return payload
    return message.replace(delivery_annotations=None).encode()


def annotated(entry: Entry, annotations: Mapping[Any, Any]) -> Content | None:
    """Return the message with message-annotations merged into its own; new ones win (part 3 section 3.4.5). None if its
    format is unknown."""
    content = as_1_0(entry.message)
    if content.message_format:
        return None
    message = LenientMessage.from_wire(content.payload)
    merged = {**message.message_annotations, **annotations}
    return Content_1_0(message.replace(message_annotations=merged).encode())


def rejected(entry: Entry, error: Error | None) -> Content | None:
    """Return the message for the node that takes rejected ones: with one more failed delivery, and the error in its
    delivery-annotations (part 3 section 3.4.3). None if its format is unknown."""
    content = as_1_0(entry.message)
    if content.message_format:
        return None
    message = LenientMessage.from_wire(content.payload)
    header = message.header or Header()
    count = header.delivery_count + entry.delivery_count + 1
    changed = Header(header.durable, header.priority, header.ttl, False, count)
    annotations: dict[Any, Any] | None = {_REJECTED: error} if error is not None else None
    return Content_1_0(message.replace(header=changed, delivery_annotations=annotations).encode())
