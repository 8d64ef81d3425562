"""Requests and answers of the management API, as values; the refusals with RabbitMQ's texts."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, cast

LARGEST_BODY: Final = 8 << 20
"""Octets of a request's body; a publish holds its payload in it."""
NO_HEADERS: Final[Mapping[str, str]] = {}
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_REALM: Final = 'Basic realm="RabbitMQ Management"'
_PLAIN: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._")


class Request(NamedTuple):
    """A request: its method, its target with the query, its headers by name in small letters, and its body."""

    method: str
    target: str
    headers: Mapping[str, str] = NO_HEADERS
    body: bytes = b""


class Answer(NamedTuple):
    """An answer: its status, headers beside those of every answer, and its content, a JSON value.

    `has_content` tells null from no content. `octets` is the body.
    """

    status: int
    content: Any = None
    headers: Mapping[str, str] = NO_HEADERS
    has_content: bool = False

    @property
    def octets(self) -> bytes:
        """The content as JSON, in UTF-8; nothing without one."""
        if not self.has_content:
            return b""
        return json.dumps(self.content, separators=(",", ":"), ensure_ascii=True).encode()


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.status)
        self.answer = answer
        """The answer that the client gets."""

    def __reduce__(self) -> tuple[object, ...]:
        return Refused, (self.answer,)


def answered(content: Any, status: int = 200) -> Answer:
    """Return an answer with a content."""
    return Answer(status, content, has_content=True)


def refused(status: int, error: str, reason: Any, **headers: str) -> Refused:
    """Return RabbitMQ's form of a refusal."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    return Refused(Answer(status, {"error": error, "reason": reason}, given, has_content=True))


def bad_request(reason: Any) -> Refused:
    """Return the refusal of a request that is wrong."""
    return refused(400, "bad_request", reason)


def not_found() -> Refused:
    """Return the refusal for what isn't there."""
    return refused(404, "Object Not Found", "Not Found")


def no_access() -> Refused:
    """Return the refusal of what the user, or nobody, may do."""
    return refused(401, "not_authorised", "Access refused.")


def no_login(was_tried: bool) -> Refused:
    """Return the refusal of a request without a login, or with a wrong one."""
    if was_tried:
        return refused(401, "not_authorized", "Login failed", www_authenticate=_REALM)
    return Refused(Answer(401, headers={"www-authenticate": _REALM}))


# Targets.


def split_target(target: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the parts of a target's path, and its query; of a parameter that is there twice the last one counts.

    Raises Refused.
    """
    path, _, query = target.partition("?")
    parts = path.partition("#")[0].split("/")[1:]
    if parts and not parts[-1]:
        parts.pop()
    values: dict[str, str] = {}
    for each in query.partition("#")[0].split("&"):
        name, _, value = each.partition("=")
        if name:
            values[unquoted(name.replace("+", " "))] = unquoted(value.replace("+", " "))
    return tuple([unquoted(each) for each in parts]), values


def unquoted(text: str) -> str:
    """Return a text with its percent encoding undone. Raises Refused for what is no encoding of UTF-8."""
    if "%" not in text:
        return text
    first, *others = text.split("%")
    octets = bytearray(first.encode("utf-8", "surrogatepass"))
    for each in others:
        if len(each) < 2 or not _HEX.issuperset(each[:2]):
            raise Refused(Answer(400))
        octets.append(int(each[:2], 16))
        octets += each[2:].encode("utf-8", "surrogatepass")
    try:
        return octets.decode()
    except UnicodeDecodeError:
        raise Refused(Answer(400)) from None


def quoted(text: str, also: str = "") -> str:
    """Return a text as RabbitMQ writes it into the keys of bindings: a space as "+", others percent-encoded.

    What is in `also` stays as it is.
    """
    written: list[str] = []
    for each in text:
        if each in _PLAIN or each in also:
            written.append(each)
        elif each == " ":
            written.append("+")
        else:
            written += [f"%{octet:02X}" for octet in each.encode("utf-8", "surrogateescape")]
    return "".join(written)


# Bodies.


def json_of(body: bytes) -> dict[str, Any]:
    """Return a body's object; an empty body is an empty object. Raises Refused."""
    if not body.strip():
        return {}
    try:
        found: object = json.loads(body)
    except (ValueError, RecursionError):
        raise bad_request("not_json") from None
    if not isinstance(found, dict):
        raise bad_request("not_json")
    return cast("dict[str, Any]", found)


def require(values: Mapping[str, Any], *names: str) -> list[Any]:
    """Return these members of an object. Raises Refused for those that are missing."""
    missing = [name for name in names if name not in values]
    if missing:
        raise bad_request(f"[{','.join([f'{{key_missing,{name}}}' for name in missing])}]")
    return [values[name] for name in names]


def truth(value: Any) -> bool:
    """Return a boolean, that may be given as text. Raises Refused."""
    if isinstance(value, bool):
        return value
    if value in ("true", "false"):
        return bool(value == "true")
    raise bad_request(["not_boolean", value])


def flag(values: Mapping[str, Any], name: str, default: bool = False) -> bool:
    """Return a boolean member. Raises Refused."""
    return truth(values.get(name, default))


def whole(value: Any) -> int:
    """Return a whole number, that may be given as text. Raises Refused."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) < 20 and value.removeprefix("-").isascii():
        digits = value.removeprefix("-")
        if digits.isdigit():
            return int(value)
    raise bad_request(["not_integer", value])


def arguments_of(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the member "arguments"; an empty list is an empty object. Raises Refused."""
    found: Any = values.get("arguments") or {}
    if not isinstance(found, dict):
        raise bad_request(["not_a_map", "arguments"])
    return cast("dict[str, Any]", found)


__all__ = [
    "LARGEST_BODY",
    "NO_HEADERS",
    "Answer",
    "Refused",
    "Request",
    "answered",
    "arguments_of",
    "bad_request",
    "flag",
    "json_of",
    "no_access",
    "no_login",
    "not_found",
    "quoted",
    "refused",
    "require",
    "split_target",
    "truth",
    "unquoted",
    "whole",
]
