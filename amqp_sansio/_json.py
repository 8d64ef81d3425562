"""JSON of observed units and decoded values: keys in the order of the wire, no spaces, the same on every run."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ._core.hints import header_numbers
from .errors import CodecError
from .printing import json_string

if TYPE_CHECKING:
    from .observer import Observed

_BODY_FRAMES: Final = ("content-body", "body-frame")
"""Units of bodies whose message wasn't seen."""

_REPEATED: Final = 16
"""Most elements without octets that a list shows individually; beyond that it shows the element and the count."""


def encode(value: Any) -> str:
    """Encode a value as JSON.

    Octets, and text that isn't UTF-8, become `{"base64": "..."}`; NaN and infinities become strings; an unreadable
    table becomes `{"invalid": {"base64": "..."}}`.

    In 1.0, symbols, chars and UUIDs become strings, timestamps numbers (milliseconds), arrays lists, decimals numbers
    (strings if they aren't finite, or have more than 38 digits), composite types objects with their name as "type" and
    only the fields that are set, other described values `{"descriptor": ..., "value": ...}`, and map keys other than
    strings their JSON text. In 0-10, structs become composite types, sequence-sets lists of ranges, datetimes numbers
    (seconds), and values of unknown types `{"type": "0x24", "unknown": octets}`.

    More than 16 elements that a few octets can declare, such as an array of nulls, become `{"repeated": element,
    "count": number}`. So the size of the text and the time it takes are linear in the input: at most 200 characters for
    each octet. Characters that could control a terminal are escaped.

    >>> encode({"a": [1, True, None, b"\\x00"]})
    '{"a":[1,true,null,{"base64":"AA=="}]}'
    """
    kind: Any = value.__class__
    if kind is str:
        return _text(value)
    if kind is int:
        return str(value)
    if value is None:
        return "null"
    if value is True:
        return "true"
    if value is False:
        return "false"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return str(int(value))
    if isinstance(value, float):
        if value != value:
            return '"NaN"'
        if value in (float("inf"), float("-inf")):
            return '"Infinity"' if value > 0 else '"-Infinity"'
        return float.__repr__(value)
    if isinstance(value, (bytes, bytearray)):
        return f'{{"base64":"{_base64(value)}"}}'
    if isinstance(value, Mapping):
        return _mapping(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return _sequence(value)  # pyright: ignore[reportUnknownArgumentType]
    return _other(value)


def fields(event: Observed, body: str, secrets: bool) -> str:
    """Return a unit's arguments and message as one JSON object; `body` and `secrets` as for `tables.FlowReplay`."""
    content = event.content
    parts: list[str] = []
    unit = event.unit
    if isinstance(content, bytes):
        name = "octets" if unit == "header" else "payload"
        parts.append(f'"{name}":{encode(content)}')
        if unit == "header" and content[:4] == b"AMQP":
            parts.append(f'"version":"{header_numbers(content)}"')
    elif hasattr(content, "SYMBOL") or hasattr(content, "PACK"):
        parts += _composite(content, () if secrets else content.SECRETS)
    elif content is not None:
        hidden = () if secrets else content.SECRETS
        reserved = content.RESERVED
        for name in content.__match_args__:
            value = getattr(content, name)
            if name in hidden:
                parts.append(f'"{name}":{{"redacted":{len(value)}}}')
            elif value or name not in reserved:
                parts.append(f'"{name}":{encode(value)}')
    if hasattr(event, "command_id"):
        parts += _command(event)
    if unit in ("content", "partial") or event.event in _BODY_FRAMES:
        kind: Any = event.properties.__class__
        if hasattr(kind, "sections"):
            parts += _sections(event.properties, body)
        elif event.properties is not None:
            parts.append(f'"properties":{_properties(event.properties)}')
        if body != "none":
            parts.append(f'"body_size":{event.body_size}')
        if body == "base64" and event.body is not None:
            parts.append(f'"body":"{_base64(event.body)}"')
        if event.missing != 0:
            parts.append(f'"missing":{"null" if event.missing is None else event.missing}')
    return f"{{{','.join(parts)}}}"


def _command(event: Any) -> list[str]:
    """Return the id of a command of 0-10, and its session.header."""
    parts: list[str] = [] if event.command_id is None else [f'"id":{event.command_id}']
    return [*parts, '"sync":true'] if event.sync else parts


def _properties(properties: Any) -> str:
    try:
        found = [(name, getattr(properties, name)) for name in properties.__match_args__]
    except CodecError:
        return f'{{"invalid":{encode(properties.raw)}}}'
    parts = [f'"{name}":{encode(value)}' for name, value in found if not _is_unset(value)]
    return f"{{{','.join(parts)}}}"


def _is_unset(value: Any) -> bool:
    kind: Any = value.__class__
    return value is None or (kind is tuple and not value)


def _composite(record: Any, hidden: tuple[str, ...] = ()) -> list[str]:
    """Return the fields that are set in a composite type of 1.0, or in a struct, control or command of 0-10."""
    parts: list[str] = []
    for name in record.__match_args__:
        value = getattr(record, name)
        if _is_unset(value):
            continue
        if value.__class__ is bool:
            parts.append(f'"{name}":true' if value else f'"{name}":false')
        elif name in hidden:
            parts.append(f'"{name}":{{"redacted":{len(value)}}}')
        else:
            parts.append(f'"{name}":{encode(value)}')
    return parts


_SECTIONS: Final = (
    "header",
    "delivery_annotations",
    "message_annotations",
    "properties",
    "application_properties",
    "footer",
)
_BODIES: Final = {"data": "data", "amqp-sequence": "sequence", "amqp-value": "value"}
_LONGEST_REQUEST: Final = 512


def _sections(message: Any, body: str) -> list[str]:
    """Return the sections of a 1.0 message, with only the kind of its body, or the request to a coordinator."""
    try:
        places = {name.replace("-", "_"): (start, stop) for name, start, stop in message.sections}
    except CodecError:
        return [f'"message":{{"invalid":{len(message.encode())}}}']
    parts: list[str] = []
    for name in _SECTIONS:
        if name in places:
            try:
                section = getattr(message, name)
                text = f"{{{','.join(_composite(section))}}}" if hasattr(section, "SYMBOL") else encode(section)
            except CodecError:
                start, stop = places[name]
                text = f'{{"invalid":{encode(message.encode()[start:stop])}}}'
            parts.append(f'"{name}":{text}')
    for name, kind in _BODIES.items():
        place = places.get(name.replace("-", "_"))
        if place is None:
            continue
        if body == "base64":
            parts.append(f'"body_kind":"{kind}"')
        if kind == "value" and place[1] - place[0] <= _LONGEST_REQUEST:
            parts += _request(message)
    return parts


def _request(message: Any) -> list[str]:
    """Return a declare or discharge (1.0 part 4 sections 4.2 and 4.3)."""
    try:
        value = message.body
    except CodecError:
        return []
    known = getattr(value, "NAME", "") in ("declare", "discharge")
    return [f'"request":{encode(value)}'] if known else []


def _sequence(items: list[Any] | tuple[Any, ...]) -> str:
    """Encode a list. In 0-10 it may be an array, whose elements without octets are all null or all true."""
    first = items[0] if len(items) > _REPEATED else False
    if (first is None or first is True) and all([item is first for item in items]):
        return _repeated(first, len(items))
    return f"[{','.join([encode(item) for item in items])}]"


def _repeated(element: Any, count: int) -> str:
    return f'{{"repeated":{encode(element)},"count":{count}}}'


def _mapping(mapping: Mapping[Any, Any]) -> str:
    found: dict[str, str] = {}
    again: dict[str, int] = {}
    try:
        pairs: Any = getattr(mapping, "pairs", mapping.items)
        for name, value in pairs():
            key = _key(name)
            if key in found:
                key = _other_key(key, found, again)
            found[key] = encode(value)
    except CodecError:
        raw = getattr(mapping, "raw", b"")
        return f'{{"invalid":{encode(raw)}}}'
    return f"{{{','.join([f'{key}:{value}' for key, value in found.items()])}}}"


def _other_key(key: str, found: dict[str, str], again: dict[str, int]) -> str:
    """Return a unique key for a repeated name: with "'" after it, then "'2", "'3"."""
    count = again.get(key, 0)
    other = key
    while other in found:
        # Each iteration passes an existing name, and none twice.
        count += 1
        other = f"{key[:-1]}'{count if count > 1 else ''}\""
    again[key] = count
    return other


def _base64(octets: bytes | bytearray) -> str:
    return b2a_base64(octets, newline=False).decode()


def _text(text: str) -> str:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return encode(text.encode("utf-8", "surrogateescape"))
    return json_string(text)


def _key(name: Any) -> str:
    if not isinstance(name, str):
        return json_string(encode(_octets(name) if _has_odd_keys(name) else name))
    if name.isascii():
        return json_string(name)
    return json_string(name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace"))


def _has_odd_keys(name: Any) -> bool:
    """Whether a key holds a map with keys other than strings: JSON within JSON within JSON doubles each time."""
    if isinstance(name, Mapping):
        pairs: Any = name.items()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
        return any([not isinstance(key, str) or _has_odd_keys(value) for key, value in pairs])
    parts: Any = name
    if hasattr(name, "runs"):
        parts = [item for item, _ in name.runs()]
    elif not isinstance(name, (list, tuple)):
        parts = [getattr(name, each) for each in getattr(name, "__match_args__", ())]
    return any([_has_odd_keys(part) for part in parts])


def _octets(name: Any) -> bytes:
    from .amqp_1_0.codec.values import encode as encode_value

    return encode_value(name)


_DIGITS: Final = 38
"""Digits of a number that every JSON reader is assumed to support, those of Spark's widest decimal."""


def _other(value: Any) -> str:
    """Encode types that only some versions have: decimals, and the other types of 0-10 and 1.0."""
    if hasattr(value, "SYMBOL") or hasattr(value, "PACK"):
        return f"{{{','.join([_type(value), *_composite(value)])}}}"
    if hasattr(value, "ranges"):
        return encode(value.ranges)
    if hasattr(value, "code"):
        return f'{{"code":{value.code},"unknown":{encode(value.octets)}}}'
    if hasattr(value, "descriptor"):
        return f'{{"descriptor":{encode(value.descriptor)},"value":{encode(value.value)}}}'
    if hasattr(value, "name"):
        # A value of 0-10 with an unknown type.
        return f'{{"type":{encode(value.name)},"unknown":{encode(value.value)}}}'
    if hasattr(value, "octets"):
        return f'{{"unknown":{encode(value.octets)}}}'
    if hasattr(value, "to_decimal"):
        return _decimal(value.to_decimal())
    if hasattr(value, "element"):
        repeats = value.repeats > _REPEATED
        return _repeated(value[0], value.repeats) if repeats else encode(list(value))
    if hasattr(value, "hex"):
        return f'"{value}"'
    return format(value, "f")


def _type(value: Any) -> str:
    return f'"type":{encode(value.NAME)}'


def _decimal(value: Any) -> str:
    """Encode a decimal with an exponent: as a number with all its digits unless there are too many."""
    if value.is_finite() and abs(value.adjusted()) < _DIGITS and len(value.as_tuple().digits) <= _DIGITS:
        text = format(value, "f")
        if len(text) <= _DIGITS + 2:
            return text
    return f'"{value}"'


__all__ = ["encode", "fields"]
