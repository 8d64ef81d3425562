"""Header segments: writes the broker's fields of delivery-properties and leaves everything else unchanged (class 4)."""

from __future__ import annotations

from struct import Struct as Form
from typing import TYPE_CHECKING, Any, Final

from ....amqp_0_10.codec.message import Headers
from ....amqp_0_10.codec.record import encode_headers
from ....amqp_0_10.codec.records import DeliveryProperties

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD: Final = Form(">IH").unpack_from
_HEAD_SIZE: Final = 6
_REDELIVERED: Final = 0x04
"""The field's bit in the first octet of the packing flags."""
_EMPTY: Final = encode_headers((DeliveryProperties(),))


def stamped(headers: Headers, exchange: str, now: float | None, *, arrival: bool = True) -> Headers:
    """Return the header segment to store, with the exchange it was published to (delivery-properties.exchange).

    `now` is the Unix time, None if unknown: it sets the expiration if there is a time to live, and a missing timestamp
    if the `arrival` is told (by the letter the broker does it, Qpid's brokers don't).
    """
    properties = headers.delivery_properties
    changes: dict[str, Any] = {}
    if properties is None or properties.exchange != exchange:
        changes["exchange"] = exchange
    if now is not None:
        if arrival and (properties is None or properties.timestamp is None):
            changes["timestamp"] = int(now)
        if properties is not None and properties.ttl is not None and properties.expiration is None:
            changes["expiration"] = min(int(now) + -(-properties.ttl // 1000), (1 << 64) - 1)
    return _changed(headers.raw, properties, changes) if changes else headers


def outgoing(raw: bytes, redelivered: bool, resume: Mapping[str, Any]) -> bytes:
    """Return the header segment of a delivery; its size doesn't depend on `redelivered`.

    `resume` are the resume-id and resume-ttl that a subscription asked for, or nothing.
    """
    span = _find(raw)
    if span is None:
        raw = _EMPTY + raw
        span = 0, len(_EMPTY)
    if resume:
        properties = Headers(raw[span[0] : span[1]]).delivery_properties
        raw = _changed(raw, properties, resume).raw
        span = _find(raw) or span
    at = span[0] + _HEAD_SIZE
    if redelivered and not raw[at] & _REDELIVERED:
        return b"".join((raw[:at], bytes((raw[at] | _REDELIVERED,)), raw[at + 1 :]))
    return raw


def _changed(raw: bytes, properties: DeliveryProperties | None, changes: Mapping[str, Any]) -> Headers:
    old = properties or DeliveryProperties()
    values = {name: changes.get(name, getattr(old, name)) for name in DeliveryProperties.__match_args__}
    new = encode_headers((DeliveryProperties(**values),))
    span = _find(raw)
    if span is None:
        return Headers(new + raw)
    return Headers(raw[: span[0]] + new + raw[span[1] :])


def _find(raw: bytes) -> tuple[int, int] | None:
    """Return the start and end of the delivery-properties."""
    pos = 0
    while pos + _HEAD_SIZE <= len(raw):
        size, code = _HEAD(raw, pos)
        stop = pos + 4 + size
        if code == DeliveryProperties.CODE:
            return pos, stop
        pos = stop
    return None
