"""The mechanisms that a name stands for, on either side: a value that a user extends and hands on."""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._ground.record import record
from ._base import SCRAM_DIGESTS, SaslError
from ._client import CLIENT_MAKERS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import ClassVar, Final, TypeAlias

    from ._base import ClientMechanism
    from ._steps import ServerMechanism

ClientMaker: TypeAlias = "Callable[[str, str], ClientMechanism]"
"""Returns a client's mechanism for a user and a password, which may be a token."""
ServerMaker: TypeAlias = "Callable[[ServerTerms], ServerMechanism]"
"""Returns a server's mechanism for one connection."""

_LETTERS: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


@record
class ServerTerms:
    """The part of a connection that a server's mechanism needs.

    `nonce` is unpredictable, visible ASCII but the comma, from at least 18 random octets, and fresh for each
    connection; "" while a configuration is checked for mechanisms without SCRAM. `success_data` says that the protocol
    can send data with its success (1.0).
    """

    nonce: str = ""
    success_data: bool = False

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"nonce"})


@record
class _Maker:
    """Makes a server's mechanism that the package has, whose module a server alone needs."""

    name: str

    def __call__(self, terms: ServerTerms) -> ServerMechanism:
        if self.name not in SCRAM_DIGESTS:
            from ._server import OneMessageServer

            return OneMessageServer(self.name)
        from ._scram import check_nonce
        from ._scram_server import ServerScram

        check_nonce(terms.nonce, self.name)
        return ServerScram(self.name, terms.nonce, terms.success_data)


SERVER_MECHANISMS: Final[tuple[str, ...]] = (
    *("PLAIN", "AMQPLAIN", "EXTERNAL", "ANONYMOUS", "XOAUTH2", "OAUTHBEARER", "MSSBCBS"),
    *SCRAM_DIGESTS,
)
"""The names of the mechanisms that the package has."""

SERVER_MAKERS: Final[dict[str, ServerMaker]] = {name: _Maker(name) for name in SERVER_MECHANISMS}
"""By name, from a connection's terms."""


@record
class MechanismRegistry:
    """The mechanisms by name: `clients` makes a client's, `servers` a server's.

    A registry is a value: adding to it returns another one, which a configuration takes as `Config.registry`, a broker
    as `Settings.registry`, and a client of a URL as the option `registry`. What is added under a name that is there
    takes its place. To pickle a configuration, add classes or functions of a module.

    >>> from amqp_sansio.sasl import Anonymous
    >>> class Ticket(Anonymous):
    ...     name = "X-TICKET"
    >>> registry = MECHANISMS.with_client("X-TICKET", lambda user, password: Ticket(password))
    >>> client_mechanisms(["x-ticket"], "me", "4711", registry=registry)[0].initial()[1]
    b'4711'
    >>> registry
    MechanismRegistry(X-TICKET, ...)
    """

    clients: Mapping[str, ClientMaker]
    servers: Mapping[str, ServerMaker]

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"clients", "servers"})

    def __repr__(self) -> str:
        if self is MECHANISMS:
            return "MECHANISMS"
        own = [name for name in {**self.clients, **self.servers} if not self._is_built_in(name)]
        return f"MechanismRegistry({', '.join([*own, '...'])})"

    def __reduce__(self) -> str | tuple[object, ...]:
        # The package's own is a name in every process.
        return "MECHANISMS" if self is MECHANISMS else (MechanismRegistry, (self.clients, self.servers))

    @property
    def server_names(self) -> tuple[str, ...]:
        """The names of the mechanisms that a server can offer."""
        return tuple(self.servers)

    def with_client(self, name: str, make: ClientMaker) -> MechanismRegistry:
        """Return a registry that also makes a client's mechanism `name`. Raises SaslError for what can't be a name."""
        return MechanismRegistry({**self.clients, _check_name(name): make}, self.servers)

    def with_server(self, name: str, make: ServerMaker) -> MechanismRegistry:
        """Return a registry that also makes a server's mechanism `name`. Raises SaslError for what can't be a name."""
        return MechanismRegistry(self.clients, {**self.servers, _check_name(name): make})

    def client(self, name: str, user: str, password: str) -> ClientMechanism:
        """Return a client's mechanism by its name, in any case. Raises SaslError for an unknown one."""
        make = self.clients.get(name.upper())
        if make is None:
            raise _unknown(name, self.clients)
        return make(user, password)

    def server(self, name: str, terms: ServerTerms) -> ServerMechanism:
        """Return a server's mechanism by its name. Raises SaslError for an unknown one, or what its maker raises."""
        make = self.servers.get(name)
        if make is None:
            raise _unknown(name, self.servers)
        return make(terms)

    def needs_nonce(self, name: str) -> bool:
        """Whether a server's mechanism needs a nonce for each connection: SCRAM does, and one that was added may."""
        return name.startswith("SCRAM-") or self.servers.get(name) != SERVER_MAKERS.get(name)

    def _is_built_in(self, name: str) -> bool:
        makers = self.clients.get(name), self.servers.get(name)
        return makers == (CLIENT_MAKERS.get(name), SERVER_MAKERS.get(name))


MECHANISMS: Final = MechanismRegistry(CLIENT_MAKERS, SERVER_MAKERS)
"""The mechanisms that the package has: see `SERVER_MECHANISMS`."""


def client_mechanisms(
    names: Sequence[str], user: str = "guest", password: str = "guest", *, registry: MechanismRegistry = MECHANISMS
) -> tuple[ClientMechanism, ...]:
    """Return mechanisms by name, in any case, as listed in a URI's `auth_mechanism`.

    For XOAUTH2 and OAUTHBEARER the password is the token. SCRAM still needs its nonce: see `with_nonce`. Raises
    SaslError for a name that `registry` doesn't have.

    >>> client_mechanisms(["plain", "external"], "me", "secret")
    (Plain(user='me', authzid=''), External(authzid=''))
    """
    return tuple([registry.client(name, user, password) for name in names])


def server_mechanism(
    name: str, *, nonce: str = "", success_data: bool = False, registry: MechanismRegistry = MECHANISMS
) -> ServerMechanism:
    """Return the server's mechanism named `name`, one of `registry.server_names`.

    `nonce` is required for SCRAM: visible ASCII but the comma, from at least 18 random octets, fresh for each
    connection. `success_data` says that the protocol can send data with its success (1.0); otherwise SCRAM's last
    message is one more challenge, which the client answers with an empty response. Raises SaslError for an unknown name
    or a bad nonce.

    >>> mechanism = server_mechanism("EXTERNAL")
    >>> state, step = mechanism.start(None)                  # the client sent no first response
    >>> step
    Challenge(data=b'')
    >>> mechanism.step(state, b"me")[1].authzid
    'me'
    """
    return registry.server(name, ServerTerms(nonce, success_data))


def _check_name(name: str) -> str:
    """Return `name` if it can be a mechanism's: 1 to 20 upper-case letters, digits, "-" and "_" (RFC 4422 section 3.1).

    Raises SaslError otherwise.
    """
    if not 1 <= len(name) <= 20 or not _LETTERS.issuperset(name):
        raise SaslError(f"{name[:40]!r} can't name a SASL mechanism: 1 to 20 upper-case letters, digits, '-' and '_'")
    return name


def _unknown(name: str, makers: Mapping[str, object]) -> SaslError:
    return SaslError(f"the SASL mechanism {name!r} isn't known; known are {', '.join(makers)}")


__all__ = [
    "MECHANISMS",
    "SERVER_MECHANISMS",
    "ClientMaker",
    "MechanismRegistry",
    "ServerMaker",
    "ServerTerms",
    "client_mechanisms",
    "server_mechanism",
]
