"""Converts the body of a 1.0 message to octets for the older versions, and back (1.0 part 3 sections 3.2.6 to 3.2.8).

| 1.0 | body of the older versions | content type, if there is none | header "x-amqp-body" |
|---|---|---|---|
| data | the octets, those of several sections joined | | none |
| amqp-value, string | UTF-8 | text/plain | string |
| amqp-value, binary | the octets | | binary |
| amqp-value, null | empty | | null |
| amqp-value, map | a map as 0-10 encodes it, after its size | amqp/map | none |
| amqp-value, list | a list as 0-10 encodes it, after its size | amqp/list | none |
| any other | the octets of the body's sections | amqp/1.0 | sections |
| of another message format, N | the octets of the message | amqp/1.0 | format N |

"amqp/map" and "amqp/list" are Qpid's: its clients of 0-10 and 0-9-1 read and write such bodies. Data with one of these
content types has "x-amqp-body: data".
"""

from __future__ import annotations

from typing import Any, Final

from ...amqp_0_10.codec.types import Map, decode_typed, encode_as
from ...amqp_0_10.codec.values import CODES
from ...amqp_1_0.codec.encode import encode
from ...amqp_1_0.codec.message import AmqpValue, Data, Message
from ...errors import CodecError
from . import amqp_0_10_values, amqp_1_0_values
from .common import Common, text_property
from .values import Value

TYPES: Final = {
    "string": "text/plain",
    "map": "amqp/map",
    "list": "amqp/list",
    "sections": "amqp/1.0",
    "format": "amqp/1.0",
}
"""The content types of bodies other than data."""

DATA: Final = "data"
_BODIES: Final = ("data", "amqp-sequence", "amqp-value")
_COMPOUND: Final = {"amqp/map": "map", "amqp/list": "list"}
_NESTING: Final = 32


def read_body(common: Common, message: Message) -> None:
    """Set the body and form of a message read from 1.0. Raises CodecError for damage."""
    found = message.typed_body
    if isinstance(found, Data) or found is None:
        common.body = b"" if found is None else found.content
        return
    content = found.value if isinstance(found, AmqpValue) else NotImplemented
    if content.__class__ is str:
        common.body, common.form = content.encode(), "string"
    elif content.__class__ is bytes:
        common.body = content
        common.form = "binary"
    elif content is None:
        common.body = b""
        common.form = "null"
    elif content is NotImplemented or not _read_compound(common, content):
        octets = message.encode()
        common.body = b"".join([octets[start:stop] for name, start, stop in message.sections if name in _BODIES])
        common.form = "sections"


def _read_compound(common: Common, content: Any) -> bool:
    value = amqp_1_0_values.read(content)
    if value[0] not in ("map", "list") or not amqp_0_10_values.holds(value):
        return False
    common.body, common.form = encode_as(CODES[value[0]], amqp_0_10_values.typed(value), _NESTING), value[0]
    return True


def content_type(common: Common) -> tuple[str | None, bool]:
    """Return the older versions' content type, and whether it is carried because the form implies the same one."""
    own = text_property(common, "content-type")
    told = TYPES.get(common.form.partition(" ")[0])
    return (told, False) if own is None else (own, own == told)


def marker(common: Common) -> str | None:
    """Return the value of "x-amqp-body", None: absent."""
    form = common.form
    if form == "map" or form == "list":
        return None if text_property(common, "content-type") is None else form
    if form:
        return form
    return DATA if text_property(common, "content-type") in _COMPOUND else None


def take_marker(common: Common, said: str | None, kept: bool) -> None:
    """Set the form of a message of an older version from its headers and content type.

    `kept`: its content type was carried, so it is the message's own.
    """
    told = text_property(common, "content-type")
    form = _COMPOUND.get(told or "", "") if said is None and not kept else said or ""
    if form == DATA:
        form = ""
    if form and form.partition(" ")[0] in _CHECKS and _CHECKS[form.partition(" ")[0]](common.body, form):
        common.form = form
        if not kept and told == TYPES.get(form.partition(" ")[0]):
            common.properties.pop("content-type", None)


def _is_string(body: bytes, form: str) -> bool:
    try:
        body.decode()
    except UnicodeDecodeError:
        return False
    return True


def _is_compound(body: bytes, form: str) -> bool:
    return _compound(body, form) is not None


def _is_sections(body: bytes, form: str) -> bool:
    try:
        message = Message.from_wire(body)
        message.check()
        return message.body_kind != "none" and all([name in _BODIES for name, _, _ in message.sections])
    except CodecError:
        return False


def _is_format(body: bytes, form: str) -> bool:
    number = form.partition(" ")[2]
    return number.isascii() and number.isdecimal() and 0 < int(number[:11]) < 1 << 32


def _is_binary(body: bytes, form: str) -> bool:
    return True


def _is_null(body: bytes, form: str) -> bool:
    return not body


_CHECKS: Final = {
    "string": _is_string,
    "binary": _is_binary,
    "null": _is_null,
    "map": _is_compound,
    "list": _is_compound,
    "sections": _is_sections,
    "format": _is_format,
}


def _compound(body: bytes, form: str) -> Value | None:
    """Return the value of an encoded map or list, if 1.0 can express it and it encodes to the same octets again."""
    code = CODES[form]
    try:
        found, stop = decode_typed(code, body, 0, len(body), _NESTING)
        if stop != len(body):
            return None
        value = _value_of(form, found, body)
        again = encode_as(code, amqp_0_10_values.typed(value), _NESTING)
    except CodecError:
        return None
    exact = again == body and amqp_1_0_values.can_hold(value)
    return value if exact and amqp_1_0_values.read(amqp_1_0_values.decoded(value)) == value else None


def _value_of(form: str, found: Any, body: bytes) -> Value:
    if form == "map":
        entries = amqp_0_10_values.read_map(Map.from_wire(body[4:]))
        return "map", [(("text", name), value) for name, value in entries]
    return amqp_0_10_values.read_value(bytes((CODES["list"],)) + body)


def write_body(common: Common) -> bytes:
    """Return the octets of the body's sections in 1.0."""
    form = common.form
    body = common.body
    if form == "sections":
        return body
    if form == "string":
        return AmqpValue(body.decode()).encode()
    if form == "binary":
        return AmqpValue(body).encode()
    if form == "null":
        return AmqpValue(None).encode()
    if form in ("map", "list"):
        value = _compound(body, form)
        if value is not None:
            return b"\0\x53\x77" + encode(amqp_1_0_values.write(value))
    return Data(body).encode()


__all__ = ["TYPES", "content_type", "marker", "read_body", "take_marker", "write_body"]
