"""JSON texts of observed units and decoded tables: in the order of the wire, without spaces, the same on every run."""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from .errors import CodecError

if TYPE_CHECKING:
    from .observer import Observed

_ESCAPES: Final = {
    **{code: f"\\u{code:04x}" for code in range(32)},
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("\\"): "\\\\",
    0x7F: "\\u007f",
}


def encode(value: Any) -> str:
    """One JSON value.

    Octets become `{"base64": "..."}`, as does text that isn't UTF-8; floats that are no numbers become strings; a
    table that can't be read becomes `{"invalid": {"base64": "..."}}`.

    >>> encode({"a": [1, True, None, b"\\x00"]})
    '{"a":[1,true,null,{"base64":"AA=="}]}'
    """
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
        return repr(value)
    if isinstance(value, (bytes, bytearray)):
        return f'{{"base64":"{_base64(value)}"}}'
    if isinstance(value, Mapping):
        return _mapping(value)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, (list, tuple)):
        return f"[{','.join([encode(item) for item in value])}]"  # pyright: ignore[reportUnknownVariableType]
    return _number(value)


def fields(event: Observed, body: str, secrets: bool) -> str:
    """The arguments and message of a unit as one JSON object; `body` and `secrets` as for `tables.FlowReplay`."""
    content = event.content
    parts: list[str] = []
    unit = event.unit
    if isinstance(content, bytes):
        name = "octets" if unit == "header" else "payload"
        parts.append(f'"{name}":{encode(content)}')
        if unit == "header" and content[:4] == b"AMQP":
            version = "-".join([str(octet) for octet in content[4:]])
            parts.append(f'"version":"{version}"')
    elif content is not None:
        hidden = () if secrets else content.SECRETS
        reserved = content.RESERVED
        for name in content.__match_args__:
            value = getattr(content, name)
            if name in hidden:
                parts.append(f'"{name}":{{"redacted":{len(value)}}}')
            elif value or name not in reserved:
                parts.append(f'"{name}":{encode(value)}')
    if unit in ("content", "partial") or event.event == "content-body":
        if event.properties is not None:
            parts.append(f'"properties":{_properties(event.properties)}')
        if body != "none":
            parts.append(f'"body_size":{event.body_size}')
        if body == "base64" and event.body is not None:
            parts.append(f'"body":"{_base64(event.body)}"')
        if event.missing != 0:
            parts.append(f'"missing":{"null" if event.missing is None else event.missing}')
    return f"{{{','.join(parts)}}}"


def _properties(properties: Any) -> str:
    try:
        found = [(name, getattr(properties, name)) for name in properties.__match_args__]
    except CodecError:
        return f'{{"invalid":{encode(properties.raw)}}}'
    parts = [f'"{name}":{encode(value)}' for name, value in found if value is not None]
    return f"{{{','.join(parts)}}}"


def _mapping(mapping: Mapping[Any, Any]) -> str:
    try:
        found: dict[str, str] = {}
        for name, value in mapping.items():
            key = _key(name)
            while key in found:  # names that differ in octets only, which look alike as text
                key = f"{key[:-1]}'\""
            found[key] = encode(value)
    except CodecError:
        raw = getattr(mapping, "raw", b"")
        return f'{{"invalid":{encode(raw)}}}'
    return f"{{{','.join([f'{key}:{value}' for key, value in found.items()])}}}"


def _base64(octets: bytes | bytearray) -> str:
    return b2a_base64(octets, newline=False).decode()


def _text(text: str) -> str:
    if text.isascii() and text.isprintable():
        return (
            f'"{text}"' if '"' not in text and "\\" not in text else f'"{text.translate(_ESCAPES)}"'
        )
    try:
        text.encode()
    except UnicodeEncodeError:
        return encode(text.encode("utf-8", "surrogateescape"))
    return f'"{text.translate(_ESCAPES)}"'


def _key(name: str) -> str:
    text = name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return f'"{text.translate(_ESCAPES)}"'


def _number(value: Any) -> str:
    """A Decimal, as a number with all its digits."""
    return format(value, "f")


__all__ = ["encode", "fields"]
