"""Questions and answers of a server's mechanism: the steps of its exchange, and the protocol that returns them.

RFC 4422 section 3 describes the exchange.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from .._ground.record import record

if TYPE_CHECKING:
    from typing import ClassVar, TypeAlias

    from ._base import SaslState


@record
class Challenge:
    """Send `data` (secure, sasl-challenge), and give the answer to `step`."""

    data: bytes


@record
class Credentials:
    """The client's claim; the application decides.

    `user` is empty for EXTERNAL (the identity is the transport's), ANONYMOUS and OAUTHBEARER. Exactly one of `password`
    and `token` is set, neither for EXTERNAL and ANONYMOUS. `authzid` is the identity to act as, empty for the client's
    own. `trace` is an anonymous client's text about itself, `host` and `port` the address that an OAUTHBEARER client
    believes it is connected to. `verified` says that the mechanism has verified the user, as SCRAM does, so that there
    is no password or token to judge.
    """

    mechanism: str
    user: str = ""
    password: str | None = None
    token: str | None = None
    authzid: str = ""
    trace: str = ""
    host: str = ""
    port: int | None = None
    verified: bool = False

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"password", "token"})


@record
class ScramKeys:
    """A server's record of a SCRAM user, instead of the password (RFC 5802 section 3).

    `salt` and the two keys are octets, `iterations` is the number of hashes of the password. Created by `scram_keys`.
    """

    salt: bytes
    iterations: int
    stored_key: bytes
    server_key: bytes

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"stored_key", "server_key"})


@record
class NeedScramKeys:
    """The keys of `user` are needed: give them, or None to refuse, to `keys`.

    A client that proves the keys of `user` acts as `authzid` if that isn't empty, so an application that doesn't let
    users act for others answers None for it.
    """

    mechanism: str
    user: str
    authzid: str = ""


@record
class Verified:
    """The mechanism has verified `user` by itself; `additional` is sent with the success (only 1.0 can; empty
    otherwise)."""

    mechanism: str
    user: str
    authzid: str = ""
    additional: bytes = b""


@record
class Denied:
    """The login is refused. `malformed` distinguishes octets that break the mechanism's grammar from wrong credentials.

    The text is for the server's own log: telling the client more than "refused" helps guessing.
    """

    text: str
    malformed: bool = False


ServerStep: TypeAlias = "Challenge | Credentials | NeedScramKeys | Verified | Denied"


class ServerMechanism(Protocol):
    """The server's half of a mechanism. Methods are pure: the state goes in and comes out.

    No octets of a client make these raise: errors in them are returned as `Denied`.
    """

    @property
    def name(self) -> str: ...

    def start(self, response: bytes | None) -> tuple[SaslState, ServerStep]:
        """Take the client's first response; None if it sent none (0-10, 1.0), which isn't the same as an empty one."""
        ...

    def step(self, state: SaslState, response: bytes) -> tuple[SaslState, ServerStep]:
        """Take the answer to a `Challenge`. Raises SaslError if there was none."""
        ...

    def keys(self, state: SaslState, keys: ScramKeys | None) -> tuple[SaslState, ServerStep]:
        """Answer `NeedScramKeys`. Raises SaslError without such a request, or for keys that don't fit the mechanism."""
        ...
