"""The body of a message as octets, whatever version it was published in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...amqp_1_0 import AmqpSequence, Data, Message
from ...amqp_1_0.codec.values import encode
from ...errors import CodecError
from .amqp_1_0 import Content_1_0

if TYPE_CHECKING:
    from ..model.content import Content


def body_of(content: Content) -> bytes:
    """Return the body's octets: of a 1.0 value or sequence those of a text, else of the encoded value."""
    if isinstance(content, Content_1_0):
        return _body_1_0(content.payload)
    body: bytes = getattr(content, "body", b"")
    return body


def _body_1_0(payload: bytes) -> bytes:
    try:
        body = Message.from_wire(payload).typed_body
    except CodecError:
        return payload
    if body is None:
        return b""
    if isinstance(body, Data):
        return b"".join(body.parts)
    if isinstance(body, AmqpSequence):
        return b"".join([encode(part) for part in body.parts])
    value = body.value
    if isinstance(value, str):
        return value.encode()
    return bytes(value) if isinstance(value, (bytes, bytearray)) else encode(value)


__all__ = ["body_of"]
