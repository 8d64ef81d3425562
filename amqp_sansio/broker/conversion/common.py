"""Version-independent form of a message, between reading from one encoding and writing in another.

A property that a version has no place for, or that doesn't fit there exactly, is *carried*: in 0-8, 0-9-1 and 0-10 as
the header "x-amqp-" and its name, in 1.0 as the message annotation "x-opt-amqp-" and its name. Reading the message
restores it from there, so that a conversion there and back loses nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..addresses import BadAddress, NodeKind, encoded, parse
from .values import INTEGERS, Value, octets_of, text_of, text_value

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from ..contents.deaths import Expirations
    from ..model.content import Death
    from .values import Entries

HEADER_PREFIX: Final = "x-amqp-"
ANNOTATION_PREFIX: Final = "x-opt-amqp-"
SUBJECT: Final = "qpid.subject"
"""The header for the subject in 0-10, as Qpid's clients write it."""

BODY: Final = "body"
ANNOTATIONS: Final = "message-annotations"
APPLICATION_PROPERTIES: Final = "application-properties"
FOOTER: Final = "footer"
HEADERS: Final = "headers"
"""Carried besides properties: the kind of the body, octets of 1.0's maps, headers of compound values."""

_URN: Final = "urn:uuid:"
_UUID: Final = 36
_HYPHENS: Final = (8, 13, 18, 23)
_UINT64: Final = 1 << 64


class Common:
    """A message in version-independent form.

    `properties` have their names of 1.0, plus "app-id", "cluster-id", "timestamp" and "expiration"; `headers` are the
    application's: headers, application headers, application properties. `annotations` and `footer` are 1.0's. `body`
    has the octets in the older versions, `form` its kind in 1.0: "" for data, else the kind of an amqp-value ("string",
    "binary", "null", "map", "list"), "sections" for the octets of sections, and "format N" for a message of another
    format.
    """

    __slots__ = ("annotations", "body", "deaths", "expirations", "footer", "form", "headers", "properties")

    def __init__(self, body: bytes = b"") -> None:
        self.properties: dict[str, Value] = {}
        self.headers: Entries = []
        self.annotations: list[tuple[Value, Value]] = []
        self.footer: bytes = b""
        self.deaths: tuple[Death, ...] = ()
        self.expirations: Expirations = {}
        self.body = body
        self.form = ""

    def put(self, name: str, value: Value | None) -> None:
        """Set a property; None: it is absent."""
        if value is not None:
            self.properties[name] = value


def carried(value: Value) -> Value:
    """Return a property as carried: timestamps in milliseconds, text as far as 1.0 can express it."""
    kind, content = value
    if kind == "time":
        return "int64", content
    if kind == "node":
        return text_value(node_text(value))
    return text_value(content) if kind == "text" else value


def _integer(low: int, high: int, kind: str) -> Callable[[Value], Value | None]:
    def take(value: Value) -> Value | None:
        number = value[1]
        if value[0] == "text" and number.isascii() and number.isdecimal() and len(number) <= 20:
            # The tables of some dialects have no integer that wide.
            number = int(number)
        elif value[0] not in INTEGERS:
            return None
        return (kind, number) if low <= number <= high else None

    return take


def _text(value: Value) -> Value | None:
    kind, content = value
    if kind == "binary":
        return "text", text_of(content)
    return ("text", content) if kind in ("text", "symbol") else None


def _id(value: Value) -> Value | None:
    kind, content = value
    if kind in INTEGERS:
        return ("uint64", content) if 0 <= content < _UINT64 else None
    return value if kind in ("text", "binary", "uuid") else None


def _node(value: Value) -> Value | None:
    found = _text(value)
    return None if found is None else read_node(found[1])


_TIME: Final = _integer(-(1 << 63), (1 << 63) - 1, "time")
TAKEN: Final[dict[str, Callable[[Value], Value | None]]] = {
    "content-type": _text,
    "content-encoding": _text,
    "message-id": _id,
    "correlation-id": _id,
    "reply-to": _node,
    "subject": _text,
    "to": _text,
    "app-id": _text,
    "cluster-id": _text,
    "group-id": _text,
    "group-sequence": _integer(0, (1 << 32) - 1, "uint32"),
    "reply-to-group-id": _text,
    "absolute-expiry-time": _TIME,
    "creation-time": _TIME,
    "timestamp": _integer(0, _UINT64 - 1, "uint64"),
    "ttl": _integer(0, _UINT64 - 1, "uint64"),
    "expiration": _text,
    "delivery-mode": _integer(0, 255, "uint8"),
}
"""Properties that may be carried, and how to restore each. A user id isn't: it would pass for a checked one."""


# Ids (message-id, correlation-id)


def id_octets(value: Value) -> bytes:
    """Return an id as octets in older versions: a UUID as a URN, a number as digits."""
    kind, content = value
    if kind == "binary":
        return bytes(content)
    if kind == "uuid":
        return f"{_URN}{content}".encode()
    return octets_of(str(content))


def read_id(octets: bytes) -> Value:
    """Return the id in octets of an older version: a UUID for "urn:uuid:", else text, or octets that aren't UTF-8."""
    found = text_value(text_of(octets))
    if found[0] == "text" and found[1].startswith(_URN):
        uuid = to_uuid(found[1])
        if uuid is not None and id_octets(("uuid", uuid)) == octets:
            return "uuid", uuid
    return found


def to_uuid(text: str) -> UUID | None:
    """Return the UUID in a text, with or without "urn:uuid:" or "ID:" in front."""
    digits = text.removeprefix(_URN).removeprefix("ID:")
    if len(digits) != _UUID or not digits.isascii() or any([digits[place] != "-" for place in _HYPHENS]):
        return None
    from uuid import UUID

    try:
        return UUID(digits)
    except ValueError:
        return None


# Reply addresses (reply-to).


def read_node(text: str) -> Value:
    """Return the node named by a text as an exchange ("" for the default one) and a routing key; otherwise the text.

    "/queues/Q" and "/exchanges/E/K" as in addresses of 1.0; a text without a leading slash is a queue's name.
    """
    if not text.startswith("/"):
        return "node", ("", text)
    try:
        found = parse(text)
    except BadAddress:
        return "text", text
    if found is not None and found.kind is NodeKind.QUEUE:
        return "node", ("", found.name)
    if found is not None and found.kind is NodeKind.EXCHANGE:
        return "node", (found.name, found.key or "")
    return "text", text


def node_text(value: Value) -> str:
    """Return the text that `read_node` reads as this: a queue's plain name if possible."""
    kind, content = value
    if kind != "node":
        return str(content)
    exchange, key = content
    if exchange:
        return f"/exchanges/{_encoded(exchange)}/{_encoded(key)}"
    return f"/queues/{_encoded(key)}" if key.startswith("/") else str(key)


def _encoded(text: str) -> str:
    return "".join(
        [encoded(each) if not 0xDC80 <= ord(each) <= 0xDCFF else f"%{ord(each) - 0xDC00:02X}" for each in text]
    )


def take_carried(common: Common, name: str, value: Value) -> bool:
    """Restore a carried property; False if it is unknown or its value is invalid."""
    take = TAKEN.get(name)
    found = None if take is None else take(value)
    if found is None:
        return False
    common.properties[name] = found
    return True


def text_property(common: Common, name: str) -> str | None:
    """Return a text property, or None."""
    value: Any = common.properties.get(name)
    return None if value is None or value[0] != "text" else value[1]


__all__ = [
    "ANNOTATIONS",
    "ANNOTATION_PREFIX",
    "APPLICATION_PROPERTIES",
    "BODY",
    "FOOTER",
    "HEADERS",
    "HEADER_PREFIX",
    "SUBJECT",
    "TAKEN",
    "Common",
    "carried",
    "id_octets",
    "node_text",
    "read_id",
    "read_node",
    "take_carried",
    "text_property",
    "to_uuid",
]
