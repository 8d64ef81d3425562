"""What goes out of a stored message: its header as the node now has it, annotations that an outcome brought.

Properties, application properties and body are never touched (part 3 section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....amqp_1_0 import Error, Header, Message, Symbol
from ...contents.amqp_1_0 import OneZeroContent
from ...conversion import as_one_zero

if TYPE_CHECKING:
    from ...model.content import Content
    from ...model.entry import Entry

_REJECTED: Final = Symbol("rejected")
_EXCHANGE: Final = Symbol("x-exchange")
_ROUTING_KEY: Final = Symbol("x-routing-key")


def payload_of(entry: Entry, now: float, *, says_where: bool = False) -> tuple[bytes, int]:
    """The octets to send of a message, and its format.

    As they came, except for the header where that has become another: after a delivery that failed, an acquisition by
    somebody else, or time that passed of a time to live (part 3 section 3.2.1). With `says_where` message-annotations
    name the exchange and routing key that it was published with, as those of RabbitMQ 4 do.
    """
    content = as_one_zero(entry.message)
    octets, form = content.payload, content.message_format
    if form:
        return octets, form
    if says_where:
        octets = _with_place(octets, entry)
    if not (entry.redelivered or entry.delivery_count or entry.expires is not None):
        return octets, form
    message = Message.from_wire(octets)
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
    message = Message.from_wire(octets)
    place = {_EXCHANGE: entry.message.exchange, _ROUTING_KEY: entry.message.routing_key}
    return message.replace(message_annotations={**message.message_annotations, **place}).encode()


def without_delivery_annotations(payload: bytes) -> bytes:
    """A message as it's stored: delivery-annotations are for one hop only (part 3 section 3.2.2)."""
    message = Message.from_wire(payload)
    if not message.delivery_annotations:
        return payload
    return message.replace(delivery_annotations=None).encode()


def annotated(entry: Entry, annotations: Mapping[Any, Any]) -> Content | None:
    """The message with message-annotations merged into its own, the new ones winning (part 3 section 3.4.5); None where
    its format isn't known."""
    content = as_one_zero(entry.message)
    if content.message_format:
        return None
    message = Message.from_wire(content.payload)
    merged = {**message.message_annotations, **annotations}
    return OneZeroContent(message.replace(message_annotations=merged).encode())


def rejected(entry: Entry, error: Error | None) -> Content | None:
    """The message for the node that takes what was rejected: one more failed delivery, and the error among its
    delivery-annotations (part 3 section 3.4.3); None where its format isn't known."""
    content = as_one_zero(entry.message)
    if content.message_format:
        return None
    message = Message.from_wire(content.payload)
    header = message.header or Header()
    count = header.delivery_count + entry.delivery_count + 1
    changed = Header(header.durable, header.priority, header.ttl, False, count)
    annotations: dict[Any, Any] | None = {_REJECTED: error} if error is not None else None
    return OneZeroContent(message.replace(header=changed, delivery_annotations=annotations).encode())
