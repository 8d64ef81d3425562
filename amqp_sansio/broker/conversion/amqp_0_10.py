"""Converts messages of 0-10 to `Common` and back (class 4: delivery-properties and message-properties)."""

from __future__ import annotations

from typing import Any, Final

from ...amqp_0_10.codec.message import Message
from ...amqp_0_10.codec.records import DeliveryProperties, MessageProperties, ReplyTo
from ...amqp_0_10.codec.types import Map
from ...amqp_0_10.codec.values import Datetime
from ..contents.amqp_0_10 import Content_0_10, dead_headers
from . import amqp_0_10_values
from .bodies import content_type
from .common import SUBJECT, Common, id_octets, read_id, text_property, to_uuid
from .headers import take_headers, written_headers
from .values import octets_of, text_of

_SHORT: Final = 255
_LONG: Final = 0xFFFF
_PERSISTENT: Final = 2
_SECOND: Final = 1000
_LATEST: Final = 1 << 63
_TEXTS: Final = {"content_type": "content-type", "content_encoding": "content-encoding"}


def read(content: Content_0_10) -> Common:
    """Read a message, without a damaged header segment or damaged headers."""
    common = Common(content.body)
    properties = content.message_properties
    _read_delivery(common, content.delivery_properties)
    for attribute, name in _TEXTS.items():
        text = getattr(properties, attribute)
        if text is not None:
            common.put(name, ("text", text))
    if properties.message_id is not None:
        common.put("message-id", ("uuid", properties.message_id))
    if properties.correlation_id is not None:
        common.put("correlation-id", read_id(properties.correlation_id))
    if properties.reply_to is not None:
        node = properties.reply_to
        common.put("reply-to", ("node", (node.exchange or "", node.routing_key or "")))
    if properties.user_id is not None:
        common.put("user-id", ("binary", properties.user_id))
    if properties.app_id is not None:
        common.put("app-id", ("text", text_of(properties.app_id)))
    common.deaths = content.deaths
    common.expirations = content.expirations
    headers = content.headers
    entries = amqp_0_10_values.read_map(headers) if isinstance(headers, Map) else []
    take_headers(common, entries)
    for place, (name, value) in enumerate(common.headers):
        if name == SUBJECT and value[0] == "text" and "subject" not in common.properties:
            common.put("subject", value)
            del common.headers[place]
            break
    return common


def _read_delivery(common: Common, delivery: DeliveryProperties) -> None:
    if delivery.priority is not None:
        common.put("priority", ("uint8", delivery.priority))
    if delivery.delivery_mode == _PERSISTENT:
        common.put("durable", ("bool", True))
    elif delivery.delivery_mode is not None:
        common.put("delivery-mode", ("uint8", delivery.delivery_mode))
    if delivery.ttl is not None:
        common.put("ttl", ("uint64", delivery.ttl))
    if delivery.timestamp is not None:
        seconds = int(delivery.timestamp)
        if -_LATEST <= seconds * _SECOND < _LATEST:
            common.put("creation-time", ("time", seconds * _SECOND))
        elif seconds > 0:
            common.put("timestamp", ("uint64", seconds))


def write(common: Common, exchange: str, routing_key: str) -> Content_0_10:
    """Write the message in 0-10, published to `exchange` with `routing_key`."""
    # Properties with an exact place; others are carried.
    kept: list[str] = []
    delivery = _write_delivery(common, kept)
    for name, text in (("exchange", exchange), ("routing_key", routing_key)):
        if len(octets_of(text)) <= _SHORT:
            delivery[name] = text
    held = _write_message(common, kept)
    entries = written_headers(common, kept, amqp_0_10_values.holds, lambda name: len(octets_of(name)) <= _SHORT)
    subject = text_property(common, "subject")
    if subject is not None and "subject" in kept:
        entries = [(name, value) for name, value in entries if name != SUBJECT]
        entries.append((SUBJECT, ("text", subject)))
    headers = amqp_0_10_values.write_map(entries) if entries else None
    if common.deaths:
        headers = dead_headers(headers or {}, common.deaths, common.expirations)
    found = Message(
        delivery_properties=DeliveryProperties(**delivery),
        message_properties=MessageProperties(content_length=len(common.body), application_headers=headers, **held),
    )
    return Content_0_10(found.headers, common.body)


def _write_delivery(common: Common, kept: list[str]) -> dict[str, Any]:
    found = common.properties
    held: dict[str, Any] = {}
    if "durable" in found:
        held["delivery_mode"] = _PERSISTENT
    elif "delivery-mode" in found:
        held["delivery_mode"] = found["delivery-mode"][1]
    if "priority" in found:
        held["priority"] = found["priority"][1]
    if "ttl" in found:
        held["ttl"] = found["ttl"][1]
    kept += ("delivery-mode", "ttl")
    if "timestamp" in found and found["timestamp"][1] < _LATEST:
        held["timestamp"] = Datetime(found["timestamp"][1])
        kept.append("timestamp")
    if "creation-time" in found:
        seconds, rest = divmod(found["creation-time"][1], _SECOND)
        held["timestamp"] = Datetime(seconds)
        if not rest:
            kept.append("creation-time")
    return held


def _write_message(common: Common, kept: list[str]) -> dict[str, Any]:
    found = common.properties
    held: dict[str, Any] = {}
    for attribute, name in _TEXTS.items():
        text = text_property(common, name)
        if text is not None and len(octets_of(text)) <= _SHORT:
            held[attribute] = text
            kept.append(name)
    told, is_own = content_type(common)
    if told is not None and "content-type" not in found:
        held["content_type"] = told
    elif is_own:
        kept.remove("content-type")
    if "message-id" in found:
        value = found["message-id"]
        uuid = value[1] if value[0] == "uuid" else to_uuid(value[1]) if value[0] == "text" else None
        if uuid is not None:
            held["message_id"] = uuid
        if value[0] == "uuid":
            kept.append("message-id")
    if "correlation-id" in found:
        octets = id_octets(found["correlation-id"])
        if len(octets) <= _LONG:
            held["correlation_id"] = octets
            if read_id(octets) == found["correlation-id"]:
                kept.append("correlation-id")
    if "reply-to" in found:
        value = found["reply-to"]
        exchange, key = value[1] if value[0] == "node" else ("", value[1])
        if len(octets_of(exchange)) <= _SHORT and len(octets_of(key)) <= _SHORT:
            held["reply_to"] = ReplyTo(exchange, key)
            if value[0] == "node":
                kept.append("reply-to")
    if "user-id" in found and len(found["user-id"][1]) <= _LONG:
        held["user_id"] = found["user-id"][1]
    app_id = text_property(common, "app-id")
    if app_id is not None and len(octets_of(app_id)) <= _LONG:
        held["app_id"] = octets_of(app_id)
        kept.append("app-id")
    subject = text_property(common, "subject")
    if subject is not None and amqp_0_10_values.holds(("text", subject)):
        kept.append("subject")
    return held


__all__ = ["read", "write"]
