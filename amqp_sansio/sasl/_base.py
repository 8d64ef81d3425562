"""The common parts of all SASL mechanisms: the client's protocol, states, the error.

RFC 4422 section 3 describes the exchange.
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._ground.record import record
from ..errors import AmqpError

if TYPE_CHECKING:
    from typing import ClassVar, Final, Protocol
else:
    # Nobody asks whether a value keeps it: what a Protocol does for that makes each mechanism twice as dear to define.
    Protocol = object


SCRAM_DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}
"""The names of SCRAM's mechanisms, with the digest of each."""


class SaslError(AmqpError):
    """Authentication can't continue: a bad configuration, no common mechanism, or a server that breaks the mechanism's
    rules or refuses. The text says which; it never holds a secret."""

    __module__ = "amqp_sansio.sasl"


class SaslState:
    """The state of one exchange: an opaque, immutable, picklable value of the mechanism's own."""

    __slots__ = ()


class ClientMechanism(Protocol):
    """The client's half of a mechanism. Methods are pure: the state goes in and comes out.

    `name` is the name on the wire, `strength` the rank in `choose` (higher is preferred).
    """

    __slots__ = ()
    name: ClassVar[str]
    strength: ClassVar[int]

    def initial(self) -> tuple[SaslState, bytes]:
        """Return the state and the first response.

        Raises SaslError for a configuration that the mechanism can't express, so calling it early and discarding the
        result checks a configuration.
        """
        ...

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        """Return the next state and the response to `challenge`. Raises SaslError for a wrong one."""
        ...

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        """Accept the server's report of success; `additional` is the data sent with it (only 1.0 can:
        sasl-outcome.additional-data).

        Raises SaslError if the mechanism isn't complete, such as with a SCRAM server that hasn't proven that it knows
        the password.
        """
        ...


@record
class Finished(SaslState):
    """Nothing more is expected."""


FINISHED = Finished()


class MalformedError(Exception):
    """Octets that break a mechanism's grammar; each side turns it into its own kind of answer."""


def encode_text(text: str, what: str) -> bytes:
    """Return the UTF-8 octets of a name or secret; raise SaslError (without the text) if it can't be sent."""
    if "\0" in text:
        raise SaslError(f"the {what} holds a NUL character, which SASL can't carry")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SaslError(f"the {what} holds a lone surrogate, which isn't a character") from None


def decode_text(octets: bytes, what: str) -> str:
    """Return the text of `octets`; raise MalformedError if it isn't UTF-8 or contains a NUL."""
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        raise MalformedError(f"the {what} isn't UTF-8") from None
    if "\0" in text:
        raise MalformedError(f"the {what} holds a NUL character")
    return text


def escape_name(name: str) -> str:
    """Return a name as RFC 5802 section 5.1 writes it between commas (`saslname`)."""
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(text: str, what: str) -> str:
    """Return the name that `escape_name` wrote; raise MalformedError for any other use of the equals sign."""
    pieces = text.split("=")
    name = pieces[0]
    for piece in pieces[1:]:
        if piece.startswith("2C"):
            name += ","
        elif piece.startswith("3D"):
            name += "="
        else:
            raise MalformedError(f"the {what} holds a bare '='")
        name += piece[2:]
    if not name:
        raise MalformedError(f"the {what} is empty")
    return name


def split_gs2(text: str) -> tuple[str, str, str]:
    """Split a GS2 header into its own text, the authorization identity, and the rest.

    RFC 5801 section 4, RFC 5802 section 7. Channel binding isn't offered, so requesting it is refused; "y" (the client
    could bind, and believes the server can't) is accepted.
    """
    if text.startswith("p="):
        raise MalformedError("the client wants channel binding, which wasn't offered")
    pieces = text.split(",", 2)
    if len(pieces) < 3 or pieces[0] not in ("n", "y"):
        raise MalformedError("the message doesn't begin with a GS2 header such as 'n,,'")
    authzid = ""
    if pieces[1]:
        if not pieces[1].startswith("a="):
            raise MalformedError("the GS2 header holds something other than 'a='")
        authzid = unescape_name(pieces[1][2:], "authorization identity")
    return f"{pieces[0]},{pieces[1]},", authzid, pieces[2]
