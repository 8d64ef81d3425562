"""The server's mechanisms: from a client's octets to credentials for the application to judge.

RFC 4616 (PLAIN), 4422 appendix A (EXTERNAL), 4505 (ANONYMOUS), 7628 (OAUTHBEARER).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._ground.record import record
from ._base import FINISHED, MalformedError, SaslError, SaslState, decode_text, split_gs2
from ._steps import Challenge, Credentials, Denied

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._steps import ScramKeys, ServerStep


@record
class _NoResponseYet(SaslState):
    """The client sent no first response and was asked for it."""


@record
class OneMessageServer:
    """A mechanism whose client sends a single message."""

    name: str

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        if response is None:
            if self.name in _WITHOUT_MESSAGE:
                # Qpid's proton-j sends nothing, and answers no challenge: it has nothing to say.
                return self.step(_NoResponseYet(), b"")
            return _NoResponseYet(), Challenge(b"")
        return self.step(_NoResponseYet(), response)

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        if not isinstance(state, _NoResponseYet):
            raise SaslError(f"no {self.name} challenge waits for an answer")
        try:
            return FINISHED, _READERS[self.name](response)
        except MalformedError as error:
            return FINISHED, Denied(f"malformed {self.name} response: {error}", True)

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        raise SaslError(f"{self.name} asks for no SCRAM keys")


def _read_plain(response: bytes) -> Credentials:
    fields = response.split(b"\0")
    if len(fields) == 3:
        authzid = decode_text(fields[0], "authorization identity")
        user = decode_text(fields[1], "user name")
        return _password("PLAIN", user, decode_text(fields[2], "password"), authzid)
    # The 0-8 specification puts a table with LOGIN and PASSWORD under the name PLAIN. The two lengths in it always
    # contain more than two NULs, so it can't be taken for the other form.
    if response.startswith((b"\x05LOGINS", b"\x08PASSWORDS")):
        user, password = _read_login_table(response)
        return _password("PLAIN", user, password, "")
    raise MalformedError("it isn't three fields with a NUL between them")


def _read_amqplain(response: bytes) -> Credentials:
    user, password = _read_login_table(response)
    return _password("AMQPLAIN", user, password, "")


def _password(mechanism: str, user: str, password: str, authzid: str) -> Credentials:
    if not user:
        raise MalformedError("the user name is empty")
    if not password:
        raise MalformedError("the password is empty")
    return Credentials(mechanism, user, password, authzid=authzid)


_SIZES = {
    "t": 1,
    "b": 1,
    "B": 1,
    "s": 2,
    "u": 2,
    "U": 2,
    "I": 4,
    "i": 4,
    "f": 4,
    "D": 5,
    "l": 8,
    "L": 8,
    "T": 8,
    "d": 8,
    "V": 0,
}


def _read_login_table(response: bytes) -> tuple[str, str]:
    """Read LOGIN and PASSWORD from a field table without its length; other entries are skipped."""
    found: dict[bytes, bytes] = {}
    position, end = 0, len(response)
    if end >= 4 and int.from_bytes(response[:4], "big") == end - 4:
        raise MalformedError("the table begins with its length, which has to be left out")
    while position < end:
        name_end = position + 1 + response[position]
        name = response[position + 1 : name_end]
        tag = chr(response[name_end]) if name_end < end else ""
        start = name_end + 1
        if tag in ("S", "x", "F", "A"):
            start += 4
            size = int.from_bytes(response[start - 4 : start], "big")
        elif tag in _SIZES:
            size = _SIZES[tag]
        else:
            raise MalformedError(f"the table is cut short or corrupt at octet {name_end}")
        if start + size > end:
            raise MalformedError(f"the table is cut short in the value at octet {start}")
        if name in (b"LOGIN", b"PASSWORD"):
            if tag != "S":
                raise MalformedError(f"{name.decode()} isn't a long string")
            if name in found:
                raise MalformedError(f"{name.decode()} is there twice")
            found[name] = response[start : start + size]
        position = start + size
    if len(found) < 2:
        raise MalformedError("the table lacks LOGIN or PASSWORD")
    return decode_text(found[b"LOGIN"], "user name"), decode_text(found[b"PASSWORD"], "password")


def _read_external(response: bytes) -> Credentials:
    return Credentials("EXTERNAL", authzid=decode_text(response, "authorization identity"))


def _read_anonymous(response: bytes) -> Credentials:
    # The trace has no meaning in the protocol (RFC 4505 section 2), and rhea puts a NUL into it: refuse nobody for it.
    trace = response.decode("utf-8", "replace").replace("\0", "")
    return Credentials("ANONYMOUS", trace=trace[:255])


def _read_claims_based(response: bytes) -> Credentials:
    # The identity comes later, by tokens; Microsoft's clients send nothing here, and nothing is asked of it.
    return Credentials("MSSBCBS")


def _read_xoauth2(response: bytes) -> Credentials:
    fields = _pairs(response)
    if not fields.get("user"):
        raise MalformedError("there is no user")
    return Credentials("XOAUTH2", fields["user"], token=_token(fields))


def _read_oauthbearer(response: bytes) -> Credentials:
    header, separator, rest = response.partition(b"\x01")
    if not separator:
        raise MalformedError("there is no control-A after the GS2 header")
    _, authzid, unknown = split_gs2(decode_text(header, "GS2 header"))
    if unknown:
        raise MalformedError("something follows the GS2 header")
    fields = _pairs(rest)
    port = fields.get("port", "")
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5):
        raise MalformedError("the port isn't a number")
    return Credentials(
        "OAUTHBEARER",
        token=_token(fields),
        authzid=authzid,
        host=fields.get("host", ""),
        port=int(port) if port else None,
    )


def _pairs(octets: bytes) -> dict[str, str]:
    """Return key-value pairs, each ended by a control-A, with one more at the end (RFC 7628 section 3.1)."""
    if not octets.endswith(b"\x01\x01"):
        raise MalformedError("the key-value pairs don't end with two control-A")
    pairs: dict[str, str] = {}
    for pair in decode_text(octets[:-2], "list of key-value pairs").split("\x01"):
        key, separator, value = pair.partition("=")
        if not separator or not key or key in pairs:
            raise MalformedError("a key-value pair has no value, no key, or a key seen before")
        pairs[key] = value
    return pairs


def _token(fields: dict[str, str]) -> str:
    scheme, _, token = fields.get("auth", "").partition(" ")
    token = token.strip(" ")
    if scheme.lower() != "bearer" or not token:
        raise MalformedError("there is no bearer token")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise MalformedError("the token isn't visible ASCII characters")
    return token


_WITHOUT_MESSAGE = frozenset({"ANONYMOUS", "MSSBCBS"})
"""Mechanisms whose message says nothing that a login depends on: none is as good as an empty one."""
_READERS: dict[str, Callable[[bytes], Credentials]] = {
    "PLAIN": _read_plain,
    "AMQPLAIN": _read_amqplain,
    "EXTERNAL": _read_external,
    "ANONYMOUS": _read_anonymous,
    "XOAUTH2": _read_xoauth2,
    "OAUTHBEARER": _read_oauthbearer,
    "MSSBCBS": _read_claims_based,
}
