"""JSON of observed units and decoded values: keys in the order of the wire, no spaces, the same on every run."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from .._core.hints import header_numbers
from .._watching.observation import Observed
from ..errors import CodecError
from ..printing import json_string

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
        return f"{{{known}{_WRITERS[secrets][kind](value, _UNKEPT)}}}"
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

    __slots__ = ("_body", "_messages", "_secrets", "_texts", "_writers")

    def __init__(self, body: str, secrets: bool) -> None:
        self._body = body
        self._secrets = secrets
        self._writers = _WRITERS[secrets]
        self.forget()

    def forget(self) -> None:
        """Forget everything that was written."""
        self._texts = Texts(_text)
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
            text = writer(content, self._texts)
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
        if self._body != "none":
            text += f',"body_size":{"null" if event.body_size is None else event.body_size}'
        if self._body == "base64" and event.body is not None:
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
                found = _sections(properties, self._body, self._secrets)
            else:
                found = f',"properties":{_properties(properties, self._secrets)}'
            if octets is not None and len(octets) <= _KEPT and len(found) <= 4 * _KEPT:
                if len(known) >= _MOST:
                    known.clear()
                known[octets] = found
        return found

    def usual(self, kind: Any) -> str:
        """Return the part of a format string that makes the members of a usual method of 0-8 or 0-9-1.

        Its variables are called as the method's fields; fields that are reserved have their usual value. `compiled`
        knows the other names.
        """
        kinds = dict(kind.FIELDS)
        names = [name for name in kind.__match_args__ if name not in kind.RESERVED]
        return "".join([_value_of(kind, name, kinds[name], self._secrets, name) for name in names])

    def around(self, record: Any, names: tuple[str, ...]) -> tuple[str, str]:
        """Return the members of a performative that stand before the fields with these names, and those behind them."""
        if_set = _IF_SETS[self._secrets]
        texts = {name: if_set(name, getattr(record, name), self._texts) for name in record.__match_args__}
        order = [*texts]
        first, last = order.index(names[0]), order.index(names[-1])
        return "".join([texts[name] for name in order[:first]]), "".join([texts[name] for name in order[last + 1 :]])

    @property
    def usual_message(self) -> str:
        """The part of a format string that makes the members of a message that is whole.

        Its variables are what `properties` says, as `message`, and `body` and `body_size`.
        """
        size = "" if self._body == "none" else ',"body_size":{body_size}'
        return "{message}" + size + (',"body":"{B(body)}"' if self._body == "base64" else "")

    def _learn(self, kind: type[Any]) -> tuple[bool, dict[bytes, str]]:
        found = self._messages[kind] = hasattr(kind, "sections"), {}
        return found

    def __reduce__(self) -> tuple[type[FieldWriter], tuple[str, bool]]:
        return FieldWriter, (self._body, self._secrets)


class _Unkept:
    """Strings as JSON, for texts that aren't kept."""

    __slots__ = ()

    def __getitem__(self, text: str) -> str:
        return _text(text)


_UNKEPT: Final = _Unkept()
_Writer: TypeAlias = Callable[[Any, Texts | _Unkept], str]
"""Writes the fields of a record, each behind a comma."""
_OBJECTS: Final[dict[type[Any], str]] = {}
"""The type of each composite type that was seen, as JSON; its writer is known too."""
_FIXED: Final[dict[type[Any], str]] = {}
"""The JSON of composite types without fields that were seen."""
_ALWAYS: Final = {
    "bit": "{Y if %s else N}",
    "shortstr": "{T[%s]}",
    **dict.fromkeys(("octet", "short", "long", "longlong"), "{%s}"),
}
"""The expressions that write fields of these types."""
_IF_SET: Final = """
 if v is False:
  s += f',"{0}":false'
 elif v is True:
  s += f',"{0}":true'
 elif v is not None:
  k = v.__class__
  if k is int:
   s += f',"{0}":{{v}}'
  elif k is str:
   s += f',"{0}":{{T[v]}}'
  elif k is bytes:
   s += f',"{0}":{{{{"base64":"{{B(v)}}"}}}}'
  elif k is not tuple or v:
   s += f',"{0}":{{F.get(k) or E(v)}}'"""
"""Statements that add the field {0}, whose value is `v`, to the text `s`; a field that isn't set adds nothing.

`compiled` gives the names: T the texts that are kept, B base64, F the JSON of types without fields, E `encode`. The
frequent kinds come first: flags, numbers, names, delivery tags, and outcomes without fields. Braces are doubled for
`format`, and once more where the statement itself is a format string.
"""
_SELDOM: Final = 32
"""Records of a class that are written field by field: to generate code for it takes as long as that."""


def _header(octets: bytes) -> str:
    text = f',"octets":{encode(octets)}'
    return f'{text},"version":"{header_numbers(octets)}"' if octets[:4] == b"AMQP" else text


def _payload(content: bytes, _: object) -> str:
    return f',"payload":{_unread(content, False)}'


def _whole_payload(content: bytes, _: object) -> str:
    return f',"payload":{encode(content)}'


def _unread(octets: bytes, secrets: bool) -> str:
    """Octets that can't be read; only their size where a token may be among them."""
    if not secrets and _TOKEN_OCTETS in octets:
        return _redacted(len(octets))
    return encode(octets)


def _redacted(size: int) -> str:
    return f'{{"redacted":{size}}}'


def _nothing(_: object, __: object) -> str:
    return ""


_WRITERS: Final[dict[bool, dict[type[Any], _Writer]]] = {
    secrets: {bytes: _whole_payload if secrets else _payload, type(None): _nothing} for secrets in (False, True)
}
"""The writers of records, by whether they show secrets."""


def _hidden(name: str, value: Any) -> str:
    if value is None or value.__class__ is bool or value == ():
        return ""
    return f',"{name}":{_redacted(len(value))}'


def compiled(signature: str, source: str, **names: object) -> Any:
    """Return the function `write` of this signature and source, which also knows these names."""
    space: dict[str, Any] = {
        "E": encode,
        "B": _base64,
        "F": _FIXED,
        "H": _hidden,
        "R": _reserved,
        "Y": "true",
        "N": "false",
        "O": "",
        **names,
    }
    exec(f"def write({signature}):\n{source}", space)
    return space["write"]


def _writer(kind: type[Any], secrets: bool) -> _Writer:
    """The writer of a record: code is generated for each class, which takes a third of the time of walking its fields.

    Properties, composite types of 1.0, and structs, controls and commands of 0-10 show only fields that are set.
    """
    known = _WRITERS[secrets].get(kind)
    if known is not None:
        return known
    made: _Writer
    if hasattr(kind, "RESERVED") and not (hasattr(kind, "SYMBOL") or hasattr(kind, "PACK")):
        kinds = dict(kind.FIELDS)
        parts = [_member(kind, name, kinds[name], secrets) for name in kind.__match_args__]
        made = compiled("c, T", f" return f'{''.join(parts)}'", E=_ENCODERS[secrets], R=_RESERVED[secrets])
    else:
        made = _Seldom(kind, secrets)
    _WRITERS[secrets][kind] = made
    return made


class _Seldom:
    """Writes the first records of a class, then generates their writer and steps aside for it."""

    __slots__ = ("_hidden", "_kind", "_left", "_secrets")

    def __init__(self, kind: type[Any], secrets: bool) -> None:
        self._kind = kind
        self._secrets = secrets
        self._hidden: tuple[str, ...] = () if secrets else getattr(kind, "SECRETS", ())
        self._left = _SELDOM

    def __call__(self, record: Any, texts: Texts | _Unkept) -> str:
        hidden = self._hidden
        self._left -= 1
        if not self._left:
            parts = [
                f'\n s += H("{name}", c.{name})' if name in hidden else f"\n v = c.{name}{_IF_SET.format(name)}"
                for name in self._kind.__match_args__
            ]
            source = f" s = ''{''.join(parts)}\n return s"
            _WRITERS[self._secrets][self._kind] = compiled("c, T", source, E=_ENCODERS[self._secrets])
        text = ""
        if_set = _IF_SETS[self._secrets]
        for name in self._kind.__match_args__:
            value = getattr(record, name)
            text += _hidden(name, value) if name in hidden else if_set(name, value, texts)
        return text


def _member(kind: Any, name: str, wire: str, secrets: bool) -> str:
    """The part of a format string that writes a field of a method of 0-8 or 0-9-1."""
    if name in kind.RESERVED:
        return f'{{R(c, "{name}") if c.{name} else O}}'
    return _value_of(kind, name, wire, secrets, f"c.{name}")


def _value_of(kind: Any, name: str, wire: str, secrets: bool, value: str) -> str:
    """The part of a format string that writes a field whose `value` is an expression."""
    form = _ALWAYS.get(wire, "{E(%s)}")
    if not secrets and name in kind.SECRETS:
        form = '{{"redacted":{len(%s)}}}'
    return f',"{name}":{form % value}'


def _reserved(record: Any, name: str) -> str:
    return f',"{name}":{encode(getattr(record, name))}'


def _reserved_whole(record: Any, name: str) -> str:
    return f',"{name}":{encode(getattr(record, name), True)}'


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
    return _writer(record.__class__, secrets)(record, _UNKEPT)


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
        if not kind.__match_args__:
            _FIXED[kind] = encode(value)
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
_RESERVED: Final = {False: _reserved, True: _reserved_whole}
_IF_SETS: Final[dict[bool, Callable[[str, Any, Texts | _Unkept], str]]] = {
    secrets: compiled("n, v, T", f" s = ''{_IF_SET.format('{n}')}\n return s", E=made)
    for secrets, made in _ENCODERS.items()
}
"""The writers of a field that may be set, by whether they show secrets."""

__all__ = ["FieldWriter", "Texts", "compiled", "encode"]
