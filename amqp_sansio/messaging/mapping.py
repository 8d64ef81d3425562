"""Writes a neutral message in each version, and reads it, by the broker's conversions (docs/conversions.md)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from ..amqp_0_10 import Message as Message_0_10
from ..amqp_1_0 import Message as Message_1_0
from ..amqp_1_0 import Properties
from ..broker.contents.amqp_0_10 import Content_0_10
from ..broker.contents.amqp_1_0 import Content_1_0
from ..broker.contents.classic import ClassicContent
from ..broker.conversion import amqp_0_10, amqp_1_0, bodies, classic
from ..broker.conversion.common import Common, node_text, read_node
from ..broker.conversion.values import INTEGERS, NULL, SIMPLE, Value, octets_of, plain_text, text_of, text_value
from ..errors import CodecError
from .message import Id, Message

if TYPE_CHECKING:
    from ..amqp_0_9_1 import BasicProperties, Dialect

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_TEXTS: Final = ("subject", "content-type", "content-encoding", "app-id", "group-id")
_IDS: Final = ("message-id", "correlation-id")
_PLAIN: Final[dict[type[Any], str]] = {bool: "bool", float: "double", bytes: "binary", UUID: "uuid", Decimal: "decimal"}
_INTEGERS: Final = ("int32", "int64", "uint64")


# Messages of each version.


def write_classic(message: Message, dialect: Dialect) -> BasicProperties:
    """Return the properties of a message in 0-8 or 0-9-1; its body stays the same. Raises CodecError, TypeError."""
    return classic.write(_common(message), dialect.version, dialect.tables).properties


def read_classic(body: bytes, properties: BasicProperties, dialect: Dialect) -> Message:
    """Return a message of 0-8 or 0-9-1, without damaged properties."""
    raw = properties.encode(dialect.tables)
    return _message(classic.read(ClassicContent(dialect.version, raw, dialect.tables, body)))


def write_0_10(message: Message, exchange: str, routing_key: str) -> Message_0_10:
    """Return a message in 0-10, for an exchange. Raises CodecError, TypeError."""
    content = amqp_0_10.write(_common(message), exchange, routing_key)
    return Message_0_10(content.body, headers=content.header_segment)


def read_0_10(message: Message_0_10) -> Message:
    """Return a message of 0-10, without damaged properties."""
    return _message(amqp_0_10.read(Content_0_10(message.headers, message.body)))


def write_1_0(message: Message, to: str | None = None) -> Message_1_0:
    """Return a message in 1.0, with the address `to` for an anonymous terminus. Raises CodecError, TypeError.

    The address for replies is written as it is: the two other versions take it apart, which 1.0 leaves to the peer.
    """
    reply_to = message.reply_to
    written = Message_1_0.from_wire(amqp_1_0.write(_common(message, with_reply_to=False)).payload)
    changes = {name: value for name, value in (("to", to), ("reply_to", reply_to)) if value is not None}
    if not changes:
        return written
    return written.replace(properties=(written.properties or Properties()).replace(**changes))


def read_1_0(message: Message_1_0) -> Message:
    """Return a message of 1.0, without damaged sections."""
    found = _message(amqp_1_0.read(Content_1_0(message.encode())))
    try:
        reply_to = None if message.properties is None else message.properties.reply_to
    except CodecError:
        return found
    if isinstance(reply_to, str):
        found.reply_to = str.__str__(reply_to)
    return found


# The version-independent form.


def _common(message: Message, *, with_reply_to: bool = True) -> Common:
    common = Common(message.body)
    for name in _TEXTS:
        text: str | None = getattr(message, name.replace("-", "_"))
        common.put(name, None if text is None else ("text", text))
    for name in _IDS:
        number: Id | None = getattr(message, name.replace("-", "_"))
        common.put(name, None if number is None else _id(name, number))
    if message.reply_to is not None and with_reply_to:
        common.put("reply-to", read_node(message.reply_to))
    if message.user_id is not None:
        common.put("user-id", ("binary", octets_of(message.user_id)))
    if message.durable:
        common.put("durable", ("bool", True))
    if message.ttl is not None:
        common.put("ttl", ("uint64", round(message.ttl * 1000)))
    if message.priority is not None:
        common.put("priority", ("uint8", message.priority))
    if message.creation_time is not None:
        common.put("creation-time", write_value(message.creation_time))
    common.headers = [(name, write_value(value)) for name, value in message.headers.items()]
    bodies.take_marker(common, None, False)
    return common


def _id(name: str, number: Id) -> Value:
    if isinstance(number, int) and not 0 <= number <= INTEGERS["uint64"][1]:
        raise ValueError(f"{name} {number} isn't from 0 to 2^64 - 1: pass text")
    return ("uint64", number) if isinstance(number, int) else write_value(number)


def _message(common: Common) -> Message:
    found = {name: value[1] for name, value in common.properties.items()}
    reply_to = common.properties.get("reply-to")
    ttl, created, user = found.get("ttl"), common.properties.get("creation-time"), found.get("user-id")
    return Message(
        common.body,
        reply_to=None if reply_to is None else node_text(reply_to),
        durable="durable" in found,
        ttl=None if ttl is None else ttl / 1000,
        priority=found.get("priority"),
        content_type=bodies.content_type(common)[0],
        subject=found.get("subject"),
        content_encoding=found.get("content-encoding"),
        app_id=found.get("app-id"),
        group_id=found.get("group-id"),
        message_id=found.get("message-id"),
        correlation_id=found.get("correlation-id"),
        user_id=None if user is None else text_of(user),
        creation_time=None if created is None else _moment(created[1]),
        headers={name: read_value(value) for name, value in common.headers},
    )


def _moment(milliseconds: int) -> datetime | None:
    try:
        return _EPOCH + milliseconds * _MILLISECOND
    except OverflowError:
        return None


# Values of headers.


def write_value(value: Any) -> Value:
    """Return a Python value as a version-independent one. Raises TypeError, ValueError for one that no version has."""
    if value is None:
        return NULL
    if isinstance(value, str):
        return text_value(str.__str__(value))
    content: Any = value
    kind = _PLAIN.get(content.__class__)
    if kind is not None:
        return kind, value
    if isinstance(value, int):
        for kind in _INTEGERS:
            low, high = INTEGERS[kind]
            if low <= value <= high:
                return kind, int(value)
        raise ValueError(f"{value} has more than 64 bits, which no version has: pass text")
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise ValueError(f"{value!r} has no time zone: pass datetime.now(timezone.utc), or another with one")
        return "time", (value - _EPOCH) // _MILLISECOND
    if isinstance(value, Mapping):
        return "map", [(write_value(key), write_value(each)) for key, each in content.items()]
    if isinstance(value, (list, tuple)):
        return "list", [write_value(each) for each in content]
    name = content.__class__.__name__
    raise TypeError(f"no version has headers of type {name}: pass text, octets, a number, a list or a dict")


def read_value(value: Value) -> Any:
    """Return a version-independent value in Python's types; octets for a type that only one version has."""
    kind, content = value
    if kind == "time":
        moment = _moment(content)
        return content if moment is None else moment
    if kind == "list" or kind == "array":
        return [read_value(each) for each in content]
    if kind == "map":
        return {read_value(key) if key[0] in SIMPLE else plain_text(key): read_value(each) for key, each in content}
    return content


__all__ = [
    "read_0_10",
    "read_1_0",
    "read_classic",
    "read_value",
    "write_0_10",
    "write_1_0",
    "write_classic",
    "write_value",
]
