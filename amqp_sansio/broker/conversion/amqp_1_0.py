"""Converts messages of 1.0 to `Common` and back (part 3 section 3.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0.codec.decode import Map
from ...amqp_1_0.codec.message import Message
from ...amqp_1_0.codec.performatives import Header, Properties
from ...amqp_1_0.codec.types import Symbol, Timestamp, UInt
from ...errors import CodecError
from ..contents.amqp_1_0 import DEATHS, Content_1_0, write_deaths
from . import amqp_1_0_values, bodies
from .common import (
    ANNOTATION_PREFIX,
    HEADERS,
    TAKEN,
    Common,
    carried,
    node_text,
    read_node,
    take_carried,
    text_property,
)
from .values import SIMPLE, Value, is_utf8, text_of, text_value

if TYPE_CHECKING:
    from collections.abc import Callable

_PRIORITY: Final = 4
_LONGEST_TTL: Final = 0xFFFF_FFFF
_TEXTS: Final = {"to": "to", "subject": "subject", "group_id": "group-id", "reply_to_group_id": "reply-to-group-id"}
_SYMBOLS: Final = {"content_type": "content-type", "content_encoding": "content-encoding"}
_VALUES: Final = {
    "message_id": "message-id",
    "correlation_id": "correlation-id",
    "user_id": "user-id",
    "group_sequence": "group-sequence",
    "absolute_expiry_time": "absolute-expiry-time",
    "creation_time": "creation-time",
}
_KINDS: Final = {"group_sequence": "uint32", "absolute_expiry_time": "time", "creation_time": "time"}


def read(content: Content_1_0) -> Common:
    """Read a message, without damaged sections; if none can be told apart, all octets are the body."""
    if content.message_format:
        common = Common(content.payload)
        common.form = f"format {content.message_format}"
        return common
    common = Common()
    message = content.message
    try:
        places = message.sections
        bodies.read_body(common, message)
    except CodecError:
        return Common(content.payload)
    _read_header(common, content.header)
    _tolerant(lambda: _read_properties(common, message.properties))
    _tolerant(lambda: _read_application_properties(common, message))
    common.deaths = content.deaths
    common.expirations = content.expirations
    _tolerant(lambda: _read_annotations(common, message))
    for name, start, stop in places:
        if name == "footer" and len(_or_nothing(message)):
            footer = message.footer
            common.footer = footer.raw if isinstance(footer, Map) else message.encode()[start:stop]
    return common


def _or_nothing(message: Message) -> Any:
    try:
        _ = len(message.footer)
        return message.footer
    except CodecError:
        return ()


def _tolerant(step: Callable[[], None]) -> None:
    # A damaged section is skipped; the others still count.
    try:
        step()
    except CodecError:
        return


def _read_header(common: Common, header: Header) -> None:
    if header.durable:
        common.put("durable", ("bool", True))
    if header.priority != _PRIORITY:
        common.put("priority", ("uint8", header.priority))
    if header.ttl is not None:
        common.put("ttl", ("uint64", int(header.ttl)))


def _read_properties(common: Common, found: Properties | None) -> None:
    if found is None:
        return
    for attribute, name in (*_TEXTS.items(), *_SYMBOLS.items()):
        text = getattr(found, attribute)
        if isinstance(text, str):
            common.put(name, ("text", str.__str__(text)))
    for attribute, name in _VALUES.items():
        value = getattr(found, attribute)
        if value is not None:
            common.put(name, _value(attribute, value))
    if isinstance(found.reply_to, str):
        common.put("reply-to", read_node(str.__str__(found.reply_to)))


def _value(attribute: str, value: Any) -> Value:
    kind = _KINDS.get(attribute)
    if kind is not None:
        return kind, int(value)
    if isinstance(value, int):
        return "uint64", int(value)
    if isinstance(value, str):
        return "text", str.__str__(value)
    return "binary" if isinstance(value, bytes) else "uuid", value


def _read_application_properties(common: Common, message: Message) -> None:
    found = message.application_properties
    pairs = found.pairs() if isinstance(found, Map) else []
    common.headers += [(name, amqp_1_0_values.read(value)) for name, value in pairs]


def _read_annotations(common: Common, message: Message) -> None:
    found = message.message_annotations
    for key, value in found.pairs() if isinstance(found, Map) else []:
        name = key.removeprefix(ANNOTATION_PREFIX) if isinstance(key, str) else ""
        each = amqp_1_0_values.read(value)
        if key == DEATHS and common.deaths:
            continue
        if isinstance(key, str) and name != key:
            if name == HEADERS and each[0] == "map":
                common.headers += [(_name(inner), content) for inner, content in each[1]]
                continue
            if take_carried(common, name, each):
                continue
        common.annotations.append((amqp_1_0_values.read(key), each))


def _name(key: Value) -> str:
    return text_of(key[1]) if key[0] == "binary" else str(key[1])


def write(common: Common) -> Content_1_0:
    """Write the message in 1.0."""
    if common.form.startswith("format "):
        return Content_1_0(common.body, int(common.form.removeprefix("format ")))
    # Properties with an exact place; others are carried.
    kept: list[str] = []
    header = _write_header(common, kept)
    properties = _write_properties(common, kept)
    application: list[tuple[Value, Value]] = []
    headers: list[tuple[Value, Value]] = []
    for name, value in common.headers:
        if value[0] in SIMPLE and is_utf8(name):
            application.append((("text", name), value))
        else:
            headers.append((text_value(name), value))
    annotations = _write_annotations(common, kept, headers)
    parts: list[bytes] = []
    if header is not None:
        parts.append(header.encode())
    if annotations:
        parts += (b"\0\x53\x72", annotations)
    if properties:
        parts.append(Properties(**properties).encode())
    octets = amqp_1_0_values.write_pairs(application)
    if octets:
        parts += (b"\0\x53\x74", octets)
    parts.append(bodies.write_body(common))
    if common.footer:
        parts += (b"\0\x53\x78", common.footer)
    return Content_1_0(b"".join(parts))


def _write_header(common: Common, kept: list[str]) -> Header | None:
    found = common.properties
    held: dict[str, Any] = {}
    if "durable" in found:
        held["durable"] = True
    if found.get("delivery-mode") == ("uint8", 1):
        # A message that isn't durable isn't persistent.
        kept.append("delivery-mode")
    if "priority" in found:
        held["priority"] = found["priority"][1]
    if "ttl" in found and found["ttl"][1] <= _LONGEST_TTL:
        held["ttl"] = found["ttl"][1]
        kept.append("ttl")
    return Header(**held) if held else None


def _write_properties(common: Common, kept: list[str]) -> dict[str, Any]:
    held: dict[str, Any] = {}
    for attribute, name in _TEXTS.items():
        text = text_property(common, name)
        if text is not None and is_utf8(text):
            held[attribute] = text
            kept.append(name)
    for attribute, name in _SYMBOLS.items():
        text = text_property(common, name)
        if text is not None and text.isascii() and _may_stand(name, text, common.form):
            held[attribute] = Symbol(text)
            kept.append(name)
    for attribute, name in _VALUES.items():
        value = common.properties.get(name)
        if value is not None:
            kind, content = value
            held[attribute] = {"time": Timestamp, "uint32": UInt}.get(kind, _same)(content)
            if kind == "uint64":
                held[attribute] = amqp_1_0_values.write(value)
            kept.append(name)
    value = common.properties.get("reply-to")
    if value is not None and is_utf8(node_text(value)):
        held["reply_to"] = node_text(value)
        if read_node(held["reply_to"]) == value:
            kept.append("reply-to")
    return held


def _same(content: Any) -> Any:
    return content


def _may_stand(name: str, text: str, form: str) -> bool:
    # A content encoding is for data only, and "identity" is never written (section 3.2.4).
    return name != "content-encoding" or (not form and text != "identity")


def _write_annotations(common: Common, kept: list[str], headers: list[tuple[Value, Value]]) -> bytes:
    found = [(key, value) for key, value in common.annotations if key[0] in ("symbol", "uint64")]
    for name, value in common.properties.items():
        if name in TAKEN and name not in kept:
            found.append((("symbol", ANNOTATION_PREFIX + name), carried(value)))
    held = [(key, value) for key, value in headers if amqp_1_0_values.can_hold(value)]
    if held:
        found.append((("symbol", ANNOTATION_PREFIX + HEADERS), ("map", held)))
    deaths = {DEATHS: write_deaths(common.deaths, common.expirations)} if common.deaths else {}
    return amqp_1_0_values.write_pairs(found, deaths)


__all__ = ["read", "write"]
