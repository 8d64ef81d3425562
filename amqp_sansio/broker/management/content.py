"""Content: messages as the management API takes and gives them."""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any, Final, cast

from ...amqp_0_9_1 import BasicProperties
from .requests import bad_request
from .rows import plain

_TEXTS: Final = (
    *("content_type", "content_encoding", "correlation_id", "reply_to", "expiration"),
    *("message_id", "type", "user_id", "app_id", "cluster_id"),
)
_NUMBERS: Final = ("delivery_mode", "priority", "timestamp")


def payload_of(payload: Any, encoding: Any) -> bytes:
    """Return the octets of a publish's payload. Raises Refused."""
    if not isinstance(payload, str):
        raise bad_request("payload_not_string")
    if encoding == "string":
        return payload.encode("utf-8", "replace")
    if encoding != "base64":
        raise bad_request(["unsupported_encoding", encoding])
    try:
        return b64decode(payload.encode("ascii", "replace"), validate=True)
    except binascii.Error:
        raise bad_request(["not_base64", payload]) from None


def properties_of(given: Any) -> BasicProperties:
    """Return a publish's properties; those with unknown names count for nothing, as in RabbitMQ. Raises Refused."""
    if not isinstance(given, dict):
        raise bad_request(["not_a_map", "properties"])
    values = cast("dict[str, Any]", given)
    found: dict[str, Any] = {}
    for name in _TEXTS:
        if name in values:
            if not isinstance(values[name], str):
                raise bad_request(["not_string", name])
            found[name] = values[name]
    for name in _NUMBERS:
        if name in values:
            if not isinstance(values[name], int) or isinstance(values[name], bool):
                raise bad_request(["not_int", name])
            found[name] = values[name]
    if "headers" in values:
        if not isinstance(values["headers"], dict):
            raise bad_request(["not_a_map", "headers"])
        found["headers"] = values["headers"]
    return BasicProperties(**found)


def told_properties(properties: Any) -> Any:
    """Return a message's properties; without any an empty list, as RabbitMQ does."""
    found = {name: getattr(properties, name, None) for name in (*_NUMBERS, "headers", *_TEXTS)}
    return {name: plain(value) for name, value in found.items() if value is not None} or []


def told_payload(body: bytes, encoding: str, truncate: int | None) -> Mapping[str, Any]:
    """Return a message's payload: with "auto" as text if it is UTF-8, else in base64."""
    shown = body if truncate is None else body[:truncate]
    if encoding == "auto":
        try:
            return {"payload": shown.decode(), "payload_encoding": "string"}
        except UnicodeDecodeError:
            pass
    return {"payload": b64encode(shown).decode(), "payload_encoding": "base64"}


__all__ = ["payload_of", "properties_of", "told_payload", "told_properties"]
