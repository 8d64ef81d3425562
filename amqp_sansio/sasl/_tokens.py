"""The client's mechanisms of OAuth 2.0: OAUTHBEARER (RFC 7628), and XOAUTH2, which has no RFC."""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._ground.record import record
from ._base import ClientMechanism, SaslError, SaslState, encode_text, escape_name

if TYPE_CHECKING:
    from typing import ClassVar


@record
class _TokenSent(SaslState):
    """The bearer token was sent."""


@record
class _TokenRefused(SaslState):
    """The server has stated why it refuses the token, and must report the failure next."""

    reason: str


class _Bearer(ClientMechanism):
    """The common part of the two token mechanisms: a challenge means the token is refused."""

    __slots__ = ()
    _acknowledgement: ClassVar[bytes] = b""

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        """Record why the server refuses the token; the answer lets it end the exchange."""
        if not isinstance(state, _TokenSent):
            raise SaslError(f"the server sent another {self.name} challenge after its refusal")
        reason = challenge[:500].decode("utf-8", "backslashreplace")
        return _TokenRefused(reason), self._acknowledgement

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        """Raise SaslError, with the server's reason, after a refusal."""
        if isinstance(state, _TokenRefused):
            raise SaslError(f"the server refuses the token: {state.reason}")


@record
class XOAuth2(_Bearer):
    """XOAUTH2: a user name and an OAuth 2.0 access token.

    >>> XOAuth2("me@example.org", "abc").initial()[1]
    b'user=me@example.org\\x01auth=Bearer abc\\x01\\x01'
    """

    user: str
    token: str

    name: ClassVar[str] = "XOAUTH2"
    strength: ClassVar[int] = 45
    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"token"})

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the user and the token as key-value pairs."""
        user = encode_text(self.user, "user name")
        if b"\x01" in user:
            raise SaslError("the user name holds a control-A, which separates the fields")
        return _TokenSent(), b"user=%b\x01auth=Bearer %b\x01\x01" % (user, _bearer(self.token))


@record
class OAuthBearer(_Bearer):
    """OAUTHBEARER (RFC 7628): an OAuth 2.0 access token, optionally for one host and port.

    >>> OAuthBearer("abc", authzid="me", host="mq.example.org", port=5671).initial()[1]
    b'n,a=me,\\x01host=mq.example.org\\x01port=5671\\x01auth=Bearer abc\\x01\\x01'
    """

    token: str
    authzid: str = ""
    host: str | None = None
    port: int | None = None

    name: ClassVar[str] = "OAUTHBEARER"
    strength: ClassVar[int] = 50
    _acknowledgement: ClassVar[bytes] = b"\x01"
    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"token"})

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the GS2 header, then host, port and token as key-value pairs."""
        header = f"n,a={escape_name(self.authzid)}," if self.authzid else "n,,"
        fields = [encode_text(header, "authorization identity")]
        if self.host is not None:
            fields.append(b"host=" + encode_text(self.host, "host"))
        if self.port is not None:
            fields.append(b"port=%d" % self.port)
        if any(b"\x01" in field for field in fields):
            raise SaslError("authorization identity and host can't hold a control-A")
        fields.append(b"auth=Bearer " + _bearer(self.token))
        return _TokenSent(), b"\x01".join(fields) + b"\x01\x01"


def _bearer(token: str) -> bytes:
    """Return the octets of an access token (RFC 6750 section 2.1: visible ASCII)."""
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise SaslError("an access token is visible ASCII characters, at least one")
    return token.encode("ascii")
