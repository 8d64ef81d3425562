"""What every SASL mechanism shares: the two protocols, the server's steps, states, the error.

RFC 4422 section 3 describes the exchange these shapes stand for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .._core.record import record
from ..errors import AmqpError

if TYPE_CHECKING:
    from typing import ClassVar, TypeAlias


class SaslError(AmqpError):
    """Authentication can't go on: a bad configuration, no common mechanism, or a server that
    breaks the mechanism's rules or refuses. The text says which; it never holds a secret."""

    __module__ = "amqp_sansio.sasl"


class SaslState:
    """Where one exchange stands: an opaque, immutable, picklable value of the mechanism's own."""

    __slots__ = ()


class ClientMechanism(Protocol):
    """The client's half of a mechanism. Methods are pure: the state goes in and comes out.

    `name` is the name on the wire, `strength` what `choose` ranks by (higher is preferred).
    """

    __slots__ = ()
    name: ClassVar[str]
    strength: ClassVar[int]

    def initial(self) -> tuple[SaslState, bytes]:
        """The state and the first response.

        Raises SaslError for a configuration the mechanism can't carry, so an early call, its
        result thrown away, checks a configuration.
        """
        ...

    def step(self, state: SaslState, challenge: bytes) -> tuple[SaslState, bytes]:
        """The next state and the response to `challenge`. Raises SaslError for a wrong one."""
        ...

    def complete(self, state: SaslState, additional: bytes = b"") -> None:
        """Agree that the server reports success; `additional` is the data it sent with that
        (only 1.0 can: sasl-outcome.additional-data).

        Raises SaslError when the mechanism isn't at its end, such as a SCRAM server that hasn't
        proven that it knows the password.
        """
        ...


@record
class Challenge:
    """Send `data` (secure, sasl-challenge), and give the answer to `step`."""

    data: bytes


@record
class Credentials:
    """What the client claims; the application decides.

    `user` is empty for EXTERNAL (the identity is the transport's), ANONYMOUS and OAUTHBEARER.
    Exactly one of `password` and `token` is set, neither for EXTERNAL and ANONYMOUS. `authzid` is
    the identity to act as, empty for the client's own. `trace` is what an anonymous client says
    of itself, `host` and `port` what an OAUTHBEARER client thinks it is connected to.
    """

    mechanism: str
    user: str = ""
    password: str | None = None
    token: str | None = None
    authzid: str = ""
    trace: str = ""
    host: str = ""
    port: int | None = None

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password", "token"})


@record
class ScramKeys:
    """What a server stores of a SCRAM user instead of the password (RFC 5802 section 3).

    `salt` and the two keys are octets, `iterations` how often the password was hashed. Made by
    `scram_keys`.
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"stored_key", "server_key"})


@record
class NeedScramKeys:
    """The keys of `user` are needed: give them, or None to refuse, to `keys`.

    Whoever gets keys for `user` and proves them acts as `authzid` when that isn't empty, so
    an application that doesn't let users act for others answers None for it.
    """

    mechanism: str
    user: str
    authzid: str = ""


@record
class Verified:
    """The mechanism has verified `user` by itself; `additional` goes out with the success
    (only 1.0 can; empty otherwise)."""

    mechanism: str
    user: str
    authzid: str = ""
    additional: bytes = b""


@record
class Denied:
    """Refuse. `malformed` tells octets that break the mechanism's grammar from wrong credentials.

    The text is for the server's own log: telling the client more than "refused" helps guessing.
    """

    text: str
    malformed: bool = False


ServerStep: TypeAlias = "Challenge | Credentials | NeedScramKeys | Verified | Denied"


class ServerMechanism(Protocol):
    """The server's half of a mechanism. Methods are pure: the state goes in and comes out.

    No octets of a client make these raise: what is wrong with them comes back as `Denied`.
    """

    @property
    def name(self) -> str: ...

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        """Take the client's first response; None where it sent none (0-10, 1.0), which isn't
        the same as an empty one."""
        ...

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        """Take the answer to a `Challenge`. Raises SaslError when none was asked."""
        ...

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        """Answer `NeedScramKeys`. Raises SaslError when it wasn't asked, or for keys that don't
        fit the mechanism."""
        ...


@record
class Finished(SaslState):
    """Nothing more is expected."""


FINISHED = Finished()


class MalformedError(Exception):
    """Octets that break a mechanism's grammar; each side turns it into its own kind of answer."""


def encode_text(text: str, what: str) -> bytes:
    """UTF-8 octets of a name or secret; SaslError (without the text) for what can't be sent."""
    if "\0" in text:
        raise SaslError(f"the {what} holds a NUL character, which SASL can't carry")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SaslError(f"the {what} holds a lone surrogate, which isn't a character") from None


def decode_text(octets: bytes, what: str) -> str:
    """The characters of `octets`; MalformedError for what isn't UTF-8 or holds a NUL."""
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        raise MalformedError(f"the {what} isn't UTF-8") from None
    if "\0" in text:
        raise MalformedError(f"the {what} holds a NUL character")
    return text


def escape_name(name: str) -> str:
    """A name as RFC 5802 section 5.1 writes it between commas (`saslname`)."""
    return name.replace("=", "=3D").replace(",", "=2C")


def unescape_name(text: str, what: str) -> str:
    """The name that `escape_name` wrote; MalformedError for any other use of the equals sign."""
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
    """Take a GS2 header apart: its own text, the authorization identity, and what follows.

    RFC 5801 section 4, RFC 5802 section 7. Channel binding isn't offered, so asking for it
    is refused; "y" (could bind, thinks the server can't) is right in that.
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
