"""JSON of observed units and decoded values: keys in the order of the wire, no spaces, the same on every run."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from .._core.hints import header_numbers
from .._watching.observation import Observed
from ..errors import CodecError
from ..printing import json_string

_CLASSIC: Final = "amqp_sansio._classic."
_INVALID: Final = ',"message":{"invalid":'
_BODY_FRAMES: Final = ("content-body", "body-frame")
"""Units of bodies whose message wasn't seen."""

_MESSAGES: Final = ("content", "partial")
"""Units that are a message, or a part of one."""
_KEPT: Final = 256
"""Most octets or characters of what is made once, and four times as many of its text."""
_MOST: Final = 256
_REPEATED: Final = 16
"""Most elements without octets that a list shows individually; beyond that it shows the element and the count."""


def encode(value: Any, secrets: bool = False) -> str:
    """Encode a value as JSON. A token in a map, and the map that can't be read where one may stand, become
    `{"redacted": size}`, unless `secrets` are wanted.

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
    if kind is bytes:
        return f'{{"base64":"{_base64(value)}"}}'
    known = _OBJECTS.get(kind)
    if known is not None:
        return f"{{{known}{_WRITERS[secrets][kind](value, _UNKEPT, _ENCODERS[secrets])}}}"
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
        return _mapping(value, secrets)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return _sequence(value, secrets)  # pyright: ignore[reportUnknownArgumentType]
    return _other(value, secrets)


def _encode_all(value: Any) -> str:
    """Encode a value with the tokens in it."""
    return encode(value, True)


class Texts(dict[str, str]):
    """Strings as JSON: `make` makes those that repeat once. At most 256 of up to 256 characters are kept."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[str], str]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, text: str) -> str:
        found = self._make(text)
        if len(text) <= _KEPT:
            if len(self) >= _MOST:
                self.clear()
            self[text] = found
        return found


SECRET: Final = frozenset(
    {
        "connection.start-ok",
        "connection.secure",
        "connection.secure-ok",
        "connection.update-secret",
        "sasl-init",
        "sasl-challenge",
        "sasl-response",
        "sasl-outcome",
    }
)
"""Units with parts of a login: octets of them that can't be read aren't shown."""
_PUT_TOKEN: Final = '"operation":"put-token"'
"""A request of 1.0 whose body is a token."""
_TOKEN: Final = "security_token"
"""The key of a token among the properties of a request to a node of management."""
_TOKEN_OCTETS: Final = _TOKEN.encode()


class FieldWriter:
    """Writes a unit's arguments and message as one JSON object; `body` and `secrets` as for `tables.FlowReplay`.

    The properties and names that repeat are written once: `forget` is to be called when the same octets may mean
    something else. Texts that are kept are no part of the state.
    """

    __slots__ = ("_encode", "_messages", "_secrets", "_texts", "_writers", "body")

    def __init__(self, body: str, secrets: bool) -> None:
        # What is shown of bodies: "none", "size" or "base64".
        self.body = body
        self._secrets = secrets
        # Encodes values, with tokens or without.
        self._encode = _ENCODERS[secrets]
        self._writers = _WRITERS[secrets]
        self.forget()

    def forget(self) -> None:
        """Forget everything that was written."""
        self._texts = Texts(encode)
        self._messages: dict[type[Any], tuple[bool, dict[bytes, str]]] = {}

    def write(self, event: Observed) -> str:
        """Return the object."""
        return f"{{{self.members(event)[1:]}}}"

    def members(self, event: Observed) -> str:
        """Return the members of the object, each behind a comma."""
        content = event.content
        unit = event.unit
        writer = self._writers.get(content.__class__) or _writer(content.__class__, self._secrets)
        if content.__class__ is bytes and event.event in SECRET and not self._secrets:
            text = f',"payload":{_redacted(len(content))}'
        else:
            text = writer(content, self._texts, self._encode)
        if event.__class__ is not Observed:
            text += _command(event)
        if unit != "method":
            if unit == "header":
                text = _header(content)
            if unit in _MESSAGES or event.event in _BODY_FRAMES:
                text += self._message(event)
        return text

    def _message(self, event: Observed) -> str:
        properties = event.properties
        text = "" if properties is None else self.properties(properties)
        if event.missing != 0 and text.startswith(_INVALID):
            # A message that the capture cut isn't invalid.
            text = ""
        if self.body != "none":
            text += f',"body_size":{"null" if event.body_size is None else event.body_size}'
        if self.body == "base64" and event.body is not None:
            if _PUT_TOKEN in text and not self._secrets and hasattr(properties, "sections"):
                text += f',"body":{{"redacted":{len(event.body)}}}'
            else:
                text += f',"body":"{_base64(event.body)}"'
        if event.missing != 0:
            text += f',"missing":{"null" if event.missing is None else event.missing}'
        return text

    def properties(self, properties: Any) -> str:
        """Return the members that tell the properties of a message, or in 1.0 its sections, each behind a comma."""
        kind: type[Any] = properties.__class__
        has_sections, known = self._messages.get(kind) or self._learn(kind)
        octets: bytes | None = properties.encode() if has_sections else properties.raw
        found = None if octets is None else known.get(octets)
        if found is None:
            if has_sections:
                found = _sections(properties, self.body, self._secrets)
            else:
                found = f',"properties":{_properties(properties, self._secrets)}'
            if octets is not None and len(octets) <= _KEPT and len(found) <= 4 * _KEPT:
                if len(known) >= _MOST:
                    known.clear()
                known[octets] = found
        return found

    def around(self, record: Any, names: tuple[str, ...]) -> tuple[str, str]:
        """Return the members of a performative that stand before the fields with these names, and those behind them."""
        texts = {name: _if_set(name, getattr(record, name), self._encode) for name in record.__match_args__}
        order = [*texts]
        first, last = order.index(names[0]), order.index(names[-1])
        return "".join([texts[name] for name in order[:first]]), "".join([texts[name] for name in order[last + 1 :]])

    def _learn(self, kind: type[Any]) -> tuple[bool, dict[bytes, str]]:
        found = self._messages[kind] = hasattr(kind, "sections"), {}
        return found

    def __reduce__(self) -> tuple[type[FieldWriter], tuple[str, bool]]:
        return FieldWriter, (self.body, self._secrets)


class _Unkept(dict[str, str]):
    """Strings as JSON, for texts that aren't kept."""

    __slots__ = ()

    def __missing__(self, text: str) -> str:
        return encode(text)


_UNKEPT: Final = _Unkept()
_Encode: TypeAlias = Callable[[Any], str]
_Writer: TypeAlias = Callable[[Any, Mapping[str, str], _Encode], str]
"""Writes the fields of a record, each behind a comma, with what makes texts of strings, and of all values."""
_OBJECTS: Final[dict[type[Any], str]] = {}
"""The type of each composite type that was seen, as JSON; its writer is known too."""


def _header(octets: bytes) -> str:
    text = f',"octets":{encode(octets)}'
    return f'{text},"version":"{header_numbers(octets)}"' if octets[:4] == b"AMQP" else text


def _payload(content: bytes, _: object, __: object) -> str:
    return f',"payload":{_unread(content, False)}'


def _whole_payload(content: bytes, _: object, __: object) -> str:
    return f',"payload":{encode(content)}'


def _unread(octets: bytes, secrets: bool) -> str:
    """Octets that can't be read; only their size where a token may be among them."""
    if not secrets and _TOKEN_OCTETS in octets:
        return _redacted(len(octets))
    return encode(octets)


def _redacted(size: int) -> str:
    return f'{{"redacted":{size}}}'


def _nothing(_: object, __: object, ___: object) -> str:
    return ""


_WRITERS: Final[dict[bool, dict[type[Any], _Writer]]] = {
    secrets: {bytes: _whole_payload if secrets else _payload, type(None): _nothing} for secrets in (False, True)
}
"""The writers of records, by whether they show secrets."""


def _writer(kind: type[Any], secrets: bool) -> _Writer:
    """The writer of a record: generated code where there is some for its class, which takes a third of the time of
    walking its fields.

    Properties, composite types of 1.0, and structs, controls and commands of 0-10 show only fields that are set.
    """
    made = _WRITERS[secrets].get(kind)
    if made is None:
        made = _WRITERS[secrets][kind] = _generated(kind) or partial(_field_by_field, not secrets)
    return made


def _generated(kind: type[Any]) -> _Writer | None:
    """The generated writer of a class; properties that weren't read are of one that has their fields."""
    writers: Mapping[type[Any], _Writer]
    if hasattr(kind, "SYMBOL"):
        from . import _fields_1_0

        writers = _fields_1_0.WRITERS
    elif hasattr(kind, "PACK"):
        from . import _fields_0_10

        writers = _fields_0_10.WRITERS
    elif kind.__module__.endswith("_0_9_1"):
        from . import _fields_0_9_1

        writers = _fields_0_9_1.WRITERS
    elif kind.__module__.startswith(_CLASSIC):
        from . import _fields_classic

        writers = _fields_classic.WRITERS
    else:
        return None
    return writers.get(kind) or writers.get(kind.__base__ or kind)


def _field_by_field(hide: bool, record: Any, _: object, encoded: _Encode) -> str:
    """The fields of a record of any class; `hide` says that of secrets only the size is shown."""
    hidden = getattr(record, "SECRETS", ()) if hide else ()
    may_be_unset = not _is_method(record)
    text = ""
    for name in record.__match_args__:
        value = getattr(record, name)
        if name in hidden:
            if value is not None and value.__class__ is not bool and value != ():
                text += f',"{name}":{_redacted(len(value))}'
        elif may_be_unset:
            text += _if_set(name, value, encoded)
        elif value or name not in record.RESERVED:
            text += f',"{name}":{encoded(value)}'
    return text


def _is_method(record: Any) -> bool:
    """Whether this is a method of 0-8 or 0-9-1: all of its fields have values, but for reserved ones."""
    return hasattr(record, "RESERVED") and not (hasattr(record, "SYMBOL") or hasattr(record, "PACK"))


def _if_set(name: str, value: Any, encoded: _Encode) -> str:
    """The member of a field; none where it has no value, or several values of which there are none."""
    return "" if value is None or (value.__class__ is tuple and not value) else f',"{name}":{encoded(value)}'


def _command(event: Any) -> str:
    """Return the id of a command of 0-10, and its session.header."""
    text = "" if event.command_id is None else f',"id":{event.command_id}'
    return f'{text},"sync":true' if event.sync else text


def _properties(properties: Any, secrets: bool) -> str:
    try:
        return f"{{{_composite(properties, secrets)[1:]}}}"
    except CodecError:
        return f'{{"invalid":{_unread(properties.raw, secrets)}}}'


def _composite(record: Any, secrets: bool) -> str:
    """Return the fields that are set in properties, a composite type of 1.0, or a struct, control or command of 0-10.

    Raises CodecError for properties that can't be decoded.
    """
    return _writer(record.__class__, secrets)(record, _UNKEPT, _ENCODERS[secrets])


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


def _sections(message: Any, body: str, secrets: bool) -> str:
    """Return the sections of a 1.0 message, with only the kind of its body, or the request to a coordinator."""
    try:
        places = {name.replace("-", "_"): (start, stop) for name, start, stop in message.sections}
    except CodecError:
        return f"{_INVALID}{len(message.encode())}}}"
    found = ""
    for name in _SECTIONS:
        if name in places:
            try:
                section = getattr(message, name)
                has_fields = hasattr(section, "SYMBOL")
                text = f"{{{_composite(section, secrets)[1:]}}}" if has_fields else encode(section, secrets)
            except CodecError:
                start, stop = places[name]
                text = f'{{"invalid":{_unread(message.encode()[start:stop], secrets)}}}'
            found += f',"{name}":{text}'
    for name, kind in _BODIES.items():
        place = places.get(name.replace("-", "_"))
        if place is None:
            continue
        if body == "base64":
            found += f',"body_kind":"{kind}"'
        if kind == "value" and place[1] - place[0] <= _LONGEST_REQUEST:
            found += _request(message, secrets)
    return found


def _request(message: Any, secrets: bool) -> str:
    """Return a declare or discharge (1.0 part 4 sections 4.2 and 4.3)."""
    try:
        value = message.body
    except CodecError:
        return ""
    known = getattr(value, "NAME", "") in ("declare", "discharge")
    return f',"request":{encode(value, secrets)}' if known else ""


def _sequence(items: list[Any] | tuple[Any, ...], secrets: bool) -> str:
    """Encode a list. In 0-10 it may be an array, whose elements without octets are all null or all true."""
    first = items[0] if len(items) > _REPEATED else False
    if (first is None or first is True) and all([item is first for item in items]):
        return _repeated(first, len(items), secrets)
    return f"[{','.join([encode(item, secrets) for item in items])}]"


def _repeated(element: Any, count: int, secrets: bool) -> str:
    return f'{{"repeated":{encode(element, secrets)},"count":{count}}}'


def _mapping(mapping: Mapping[Any, Any], secrets: bool) -> str:
    found: dict[str, str] = {}
    again: dict[str, int] = {}
    try:
        pairs: Any = getattr(mapping, "pairs", mapping.items)
        for name, value in pairs():
            key = _key(name)
            if key in found:
                key = _other_key(key, found, again)
            if name == _TOKEN and not secrets:
                found[key] = _redacted(len(value) if isinstance(value, (str, bytes)) else len(encode(value)))
            else:
                found[key] = encode(value, secrets)
    except CodecError:
        raw = getattr(mapping, "raw", b"")
        return f'{{"invalid":{_unread(raw, secrets)}}}'
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
    from ..amqp_1_0.codec.values import encode as encode_value

    return encode_value(name)


_DIGITS: Final = 38
"""Digits of a number that every JSON reader is assumed to support, those of Spark's widest decimal."""


def _other(value: Any, secrets: bool) -> str:
    """Encode types that only some versions have: decimals, and the other types of 0-10 and 1.0."""
    kind: type[Any] = value.__class__
    if hasattr(kind, "SYMBOL") or hasattr(kind, "PACK"):
        for each in (False, True):
            _writer(kind, each)
        _OBJECTS[kind] = _type(value)
        return encode(value, secrets)
    if hasattr(value, "ranges"):
        return encode(value.ranges)
    if hasattr(value, "code"):
        return f'{{"code":{value.code},"unknown":{_unread(value.octets, secrets)}}}'
    if hasattr(value, "descriptor"):
        return f'{{"descriptor":{encode(value.descriptor)},"value":{encode(value.value, secrets)}}}'
    if hasattr(value, "name"):
        # A value of 0-10 with an unknown type.
        return f'{{"type":{encode(value.name)},"unknown":{encode(value.value)}}}'
    if hasattr(value, "octets"):
        return f'{{"unknown":{_unread(value.octets, secrets)}}}'
    if hasattr(value, "to_decimal"):
        return _decimal(value.to_decimal())
    if hasattr(value, "element"):
        repeats = value.repeats > _REPEATED
        return _repeated(value[0], value.repeats, secrets) if repeats else encode(list(value), secrets)
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


_ENCODERS: Final[dict[bool, Callable[[Any], str]]] = {False: encode, True: _encode_all}

__all__ = ["FieldWriter", "Texts", "encode"]
