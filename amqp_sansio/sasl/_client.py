"""The client's mechanisms of one message, and the choice among all mechanisms.

PLAIN: RFC 4616. EXTERNAL: RFC 4422 appendix A. ANONYMOUS: RFC 4505. AMQPLAIN (a field table without its length) has no
RFC. Those of tokens and SCRAM are imported when somebody names them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .._checking import TYPE_CHECKING
from .._ground.record import record
from ._base import FINISHED, SCRAM_DIGESTS, ClientMechanism, SaslError, SaslState, encode_text

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

    >>> from amqp_sansio.sasl import ScramSha256
    >>> with_nonce(ScramSha256("user", "pencil"), "rOprNGfwEbeRWgbNEkqO").initial()[1]
    b'n,,n=user,r=rOprNGfwEbeRWgbNEkqO'
    >>> with_nonce(Anonymous(), "rOprNGfwEbeRWgbNEkqO")
    Anonymous(trace='')
    """
    if mechanism.name in SCRAM_DIGESTS:
        from ._scram import ScramClient

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


def _strength(mechanism: ClientMechanism) -> int:
    return mechanism.strength


def _external(user: str, password: str) -> ClientMechanism:
    return External()


def _anonymous(user: str, password: str) -> ClientMechanism:
    return Anonymous()


def _scram_sha_1(user: str, password: str) -> ClientMechanism:
    from ._scram import ScramSha1

    return ScramSha1(user, password)


def _scram_sha_256(user: str, password: str) -> ClientMechanism:
    from ._scram import ScramSha256

    return ScramSha256(user, password)


def _xoauth2(user: str, password: str) -> ClientMechanism:
    from ._tokens import XOAuth2

    return XOAuth2(user, password)


def _oauth_bearer(user: str, password: str) -> ClientMechanism:
    from ._tokens import OAuthBearer

    return OAuthBearer(password, authzid=user)


def _claims_based(user: str, password: str) -> ClientMechanism:
    return ClaimsBased()


CLIENT_MAKERS: dict[str, Callable[[str, str], ClientMechanism]] = {
    "PLAIN": Plain,
    "AMQPLAIN": AmqPlain,
    "EXTERNAL": _external,
    "ANONYMOUS": _anonymous,
    "SCRAM-SHA-1": _scram_sha_1,
    "SCRAM-SHA-256": _scram_sha_256,
    "XOAUTH2": _xoauth2,
    "OAUTHBEARER": _oauth_bearer,
    "MSSBCBS": _claims_based,
}
"""By name, from a user and a password."""
