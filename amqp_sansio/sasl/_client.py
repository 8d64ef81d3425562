"""The client's mechanisms without arithmetic, and the choice among all mechanisms.

PLAIN: RFC 4616. EXTERNAL: RFC 4422 appendix A. ANONYMOUS: RFC 4505. OAUTHBEARER: RFC 7628. AMQPLAIN (a field table
without its length) and XOAUTH2 have no RFC.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from .._ground.record import record
from ._base import FINISHED, ClientMechanism, SaslError, SaslState, encode_text, escape_name
from ._scram import ScramClient, ScramSha1, ScramSha256

if TYPE_CHECKING:
    from typing import ClassVar


def choose(
    configured: Sequence[ClientMechanism], offered: str | bytes | Sequence[str], *, keep_order: bool = False
) -> ClientMechanism:
    """Return the configured mechanism to use with a server that offers `offered`.

    `offered` is the space-separated list of 0-8 and 0-9-1 or the sequence of names of 0-10 and 1.0. The strongest wins,
    as the specifications require: EXTERNAL, SCRAM-SHA-256, SCRAM-SHA-1, OAUTHBEARER, XOAUTH2, PLAIN, AMQPLAIN,
    MSSBCBS, ANONYMOUS; of equals the one configured first. With `keep_order` the first configured one that is offered
    wins. Raises SaslError, naming both sides, if there is none (0-9-1 connection.start-ok, 1.0 part 5 section 3.3.2).

    >>> choose([Plain("guest", "guest"), External()], b"AMQPLAIN PLAIN EXTERNAL").name
    'EXTERNAL'
    >>> choose([Plain("guest", "guest"), External()], ["EXTERNAL", "PLAIN"], keep_order=True).name
    'PLAIN'
    >>> choose([External()], "PLAIN AMQPLAIN")
    Traceback (most recent call last):
    amqp_sansio.sasl.SaslError: no SASL mechanism in common: EXTERNAL is configured, the server offers PLAIN, AMQPLAIN
    """
    if isinstance(offered, bytes):
        offered = offered.decode("ascii", "backslashreplace")
    names = offered.split() if isinstance(offered, str) else offered
    usable = [mechanism for mechanism in configured if mechanism.name in names]
    if not usable:
        ours = ", ".join([mechanism.name for mechanism in configured]) or "nothing"
        theirs = ", ".join(names)[:500] or "nothing"
        raise SaslError(f"no SASL mechanism in common: {ours} is configured, the server offers {theirs}")
    return usable[0] if keep_order else max(usable, key=_strength)


def with_nonce(mechanism: ClientMechanism, nonce: str) -> ClientMechanism:
    """Return `mechanism` with `nonce` if it is a SCRAM mechanism without one, otherwise unchanged.

    Adapters call it once for each connection, with at least 18 random octets in printable ASCII.

    >>> with_nonce(ScramSha256("user", "pencil"), "rOprNGfwEbeRWgbNEkqO").initial()[1]
    b'n,,n=user,r=rOprNGfwEbeRWgbNEkqO'
    >>> with_nonce(Anonymous(), "rOprNGfwEbeRWgbNEkqO")
    Anonymous(trace='')
    """
    if isinstance(mechanism, ScramClient) and not mechanism.nonce:
        return mechanism.with_nonce(nonce)
    return mechanism


class _OneMessage(ClientMechanism):
    """A mechanism that is complete with its first response."""

    __slots__ = ()

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        raise SaslError(f"the server sent a challenge, but {self.name} knows none")

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        return None


@record
class Plain(_OneMessage):
    """PLAIN (RFC 4616): user and password in clear text, so only for a private transport.

    >>> Plain("guest", "secret")
    Plain(user='guest', authzid='')
    >>> Plain("guest", "secret").initial()[1]
    b'\\x00guest\\x00secret'
    """

    user: str
    password: str
    authzid: str = ""

    name: ClassVar[str] = "PLAIN"
    strength: ClassVar[int] = 30
    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password"})

    def initial(self) -> tuple[SaslState, bytes]:
        """Return authorization identity, user and password, separated by NULs."""
        parts = (
            encode_text(self.authzid, "authorization identity"),
            encode_text(self.user, "user name"),
            encode_text(self.password, "password"),
        )
        return FINISHED, b"\0".join(parts)


@record
class AmqPlain(_OneMessage):
    """AMQPLAIN: like PLAIN, written as a field table without its length; AMQP 0-8 and 0-9-1 only.

    >>> AmqPlain("guest", "guest").initial()[1]
    b'\\x05LOGINS\\x00\\x00\\x00\\x05guest\\x08PASSWORDS\\x00\\x00\\x00\\x05guest'
    """

    user: str
    password: str

    name: ClassVar[str] = "AMQPLAIN"
    strength: ClassVar[int] = 20
    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password"})

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the two table entries, each a long string."""
        user = encode_text(self.user, "user name")
        password = encode_text(self.password, "password")
        response = (
            b"\x05LOGINS"
            + len(user).to_bytes(4, "big")
            + user
            + b"\x08PASSWORDS"
            + len(password).to_bytes(4, "big")
            + password
        )
        return FINISHED, response


@record
class External(_OneMessage):
    """EXTERNAL (RFC 4422 appendix A): the transport identifies the client (by a TLS certificate).

    >>> External().initial()[1]
    b''
    """

    authzid: str = ""

    name: ClassVar[str] = "EXTERNAL"
    strength: ClassVar[int] = 80

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the identity to act as; empty for the certificate's own."""
        return FINISHED, encode_text(self.authzid, "authorization identity")


@record
class Anonymous(_OneMessage):
    """ANONYMOUS (RFC 4505): no identity; `trace` (up to 255 characters) is for the server's log.

    >>> Anonymous("nightly report").initial()[1]
    b'nightly report'
    """

    trace: str = ""

    name: ClassVar[str] = "ANONYMOUS"
    strength: ClassVar[int] = 10

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the trace text."""
        if len(self.trace) > 255:
            raise SaslError("the trace text is longer than 255 characters")
        return FINISHED, encode_text(self.trace, "trace text")


@record
class ClaimsBased(_OneMessage):
    """MSSBCBS: no identity yet, tokens follow on the node `$cbs` (OASIS AMQP Claims-Based Security 1.0).

    Microsoft's services and its .NET clients have it. The first response is empty.

    >>> ClaimsBased().initial()[1]
    b''
    """

    name: ClassVar[str] = "MSSBCBS"
    strength: ClassVar[int] = 15

    def initial(self) -> tuple[SaslState, bytes]:
        """Return an empty response."""
        return FINISHED, b""


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


def _strength(mechanism: ClientMechanism) -> int:
    return mechanism.strength


def _external(user: str, password: str) -> ClientMechanism:
    return External()


def _anonymous(user: str, password: str) -> ClientMechanism:
    return Anonymous()


def _oauth_bearer(user: str, password: str) -> ClientMechanism:
    return OAuthBearer(password, authzid=user)


def _claims_based(user: str, password: str) -> ClientMechanism:
    return ClaimsBased()


CLIENT_MAKERS: dict[str, Callable[[str, str], ClientMechanism]] = {
    "PLAIN": Plain,
    "AMQPLAIN": AmqPlain,
    "EXTERNAL": _external,
    "ANONYMOUS": _anonymous,
    "SCRAM-SHA-1": ScramSha1,
    "SCRAM-SHA-256": ScramSha256,
    "XOAUTH2": XOAuth2,
    "OAUTHBEARER": _oauth_bearer,
    "MSSBCBS": _claims_based,
}
"""By name, from a user and a password."""
