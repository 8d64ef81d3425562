"""Shared access rules and the tokens made of their keys.

A signature is HMAC-SHA256, by the key's text, of the audience (percent-encoded) and the second of its expiry.
"""

from __future__ import annotations

import json
from base64 import b64encode, urlsafe_b64decode
from binascii import Error as Base64Error
from hashlib import sha256
from hmac import compare_digest, new
from typing import Any, Final, cast
from urllib.parse import parse_qsl, quote_plus, urlsplit

from amqp_sansio.amqp_1_0.codec.conditions import UNAUTHORIZED_ACCESS
from amqp_sansio.broker.nodes import Refusal

SEND: Final = "Send"
LISTEN: Final = "Listen"
MANAGE: Final = "Manage"
ALL_RIGHTS: Final = frozenset({SEND, LISTEN, MANAGE})
_PREFIX: Final = "SharedAccessSignature "


class AccessRule:
    """A shared access rule: its name, key and rights ("Send", "Listen", "Manage").

    >>> AccessRule("sender", "a2V5", {"Send"}).rights
    frozenset({'Send'})
    """

    __slots__ = ("key", "name", "rights")

    def __init__(self, name: str, key: str, rights: frozenset[str] | set[str] = ALL_RIGHTS) -> None:
        unknown = sorted(set(rights) - ALL_RIGHTS)
        if unknown:
            raise ValueError(f"right {unknown[0]!r} is none of Send, Listen, Manage")
        self.name = name
        self.key = key
        self.rights = frozenset(ALL_RIGHTS if MANAGE in rights else rights)

    def __repr__(self) -> str:
        return f"<AccessRule {self.name}: {', '.join(sorted(self.rights))}>"


class Grant:
    """What a token gives: `rights` at the entities below `path`, until `expires` (Unix seconds; None: for good)."""

    __slots__ = ("expires", "path", "rights")

    def __init__(self, path: str, rights: frozenset[str], expires: float | None) -> None:
        self.path = path
        self.rights = rights
        self.expires = expires

    def covers(self, path: str) -> bool:
        """Whether an entity is the one named, or below it."""
        return is_below(path, self.path)


def is_below(path: str, above: str) -> bool:
    """Return whether a path is `above` itself or below it; names don't distinguish case.

    >>> is_below("Orders/$management", "orders"), is_below("orders2", "orders"), is_below("orders", "")
    (True, False, True)
    """
    one, other = path.lower().strip("/"), above.lower().strip("/")
    return not other or one == other or one.startswith(other + "/")


def path_of(address: str) -> str:
    """Return the path of an address or audience, which may be a URI.

    >>> path_of("amqps://name.servicebus.windows.net/a/b"), path_of("a/b"), path_of("sb://host")
    ('a/b', 'a/b', '')
    """
    if "://" in address:
        address = urlsplit(address).path
    return address.strip("/")


def host_of(address: str) -> str:
    """Return the host of an audience in lower case, "" if it names none."""
    return (urlsplit(address).hostname or "") if "://" in address else ""


def sign(audience: str, rule: AccessRule, expires: int) -> str:
    """Return the token for an audience, valid until the Unix second `expires`.

    >>> sign("sb://host/orders", AccessRule("rule", "a2V5"), 1700000000).partition("&sig=")[0]
    'SharedAccessSignature sr=sb%3A%2F%2Fhost%2Forders'
    """
    encoded = quote_plus(audience)
    signature = quote_plus(_signature(encoded, rule.key, str(expires)))
    return f"{_PREFIX}sr={encoded}&sig={signature}&se={expires}&skn={rule.name}"


def expiry_of(token: str) -> float | None:
    """Return the Unix second at which a token says that it expires; None if it doesn't say."""
    fields = _fields(token)
    if fields is not None:
        text = fields.get("se", "")
        return float(text) if text.isdecimal() and len(text) < 16 else None
    found: Any = _claims(token).get("exp")
    return float(found) if isinstance(found, int | float) else None


def check(token: str, audience: str, rules: dict[str, AccessRule], now: float) -> Grant:
    """Return what a token grants at an audience. `now` is Unix time.

    A token that is no shared access signature is taken for one of Entra: who issued it can't be checked here, so all it
    is asked is its expiry. Raises Refusal (amqp:unauthorized-access).
    """
    expires = expiry_of(token)
    fields = _fields(token)
    if fields is None:
        if not _claims(token):
            raise Refusal(UNAUTHORIZED_ACCESS, "the token is neither a shared access signature nor a JSON web token")
        if expires is None or expires <= now:
            raise Refusal(UNAUTHORIZED_ACCESS, "ExpiredToken: the token has expired, or doesn't say when it does")
        return Grant(path_of(audience), ALL_RIGHTS, expires)
    rule = rules.get(fields.get("skn", ""))
    # What is signed is the text of `sr` as it stands in the token: the SDKs don't escape alike.
    signed = "".join([each[3:] for each in token.removeprefix(_PREFIX).split("&") if each.startswith("sr=")])
    wanted = "" if rule is None else _signature(signed, rule.key, fields.get("se", ""))
    if rule is None or not compare_digest(wanted.encode(), fields.get("sig", "").encode()):
        raise Refusal(UNAUTHORIZED_ACCESS, "InvalidSignature: The token has an invalid signature.")
    if expires is None or expires <= now:
        raise Refusal(UNAUTHORIZED_ACCESS, f"ExpiredToken: The token is expired. Expiration time: {fields.get('se')}.")
    resource = fields.get("sr", "")
    asked, given = host_of(audience), host_of(resource)
    if not is_below(path_of(audience), path_of(resource)) or (asked and given and asked != given):
        raise Refusal(UNAUTHORIZED_ACCESS, f"InvalidAudience: the token is for {resource!r}, not for {audience!r}")
    return Grant(path_of(audience), rule.rights, expires)


def _signature(encoded: str, key: str, expires: str) -> str:
    return b64encode(new(key.encode(), f"{encoded}\n{expires}".encode(), sha256).digest()).decode()


def _fields(token: str) -> dict[str, str] | None:
    """Return the fields of a shared access signature; None for another token."""
    if not token.startswith(_PREFIX):
        return None
    return dict(parse_qsl(token.removeprefix(_PREFIX), keep_blank_values=True, max_num_fields=16))


def _claims(token: str) -> dict[str, Any]:
    """Return the claims of a JSON web token; none for what isn't one."""
    parts = token.split(".")
    if len(parts) != 3:
        return {}
    try:
        found: Any = json.loads(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (Base64Error, ValueError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


__all__ = [
    "ALL_RIGHTS",
    "LISTEN",
    "MANAGE",
    "SEND",
    "AccessRule",
    "Grant",
    "check",
    "expiry_of",
    "host_of",
    "is_below",
    "path_of",
    "sign",
]
