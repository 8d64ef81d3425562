"""Settings: the configuration of a broker: users, virtual hosts, and its connections' parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal

from .._ground.record import record
from .._version import __version__
from ..limits import Limits
from ..sasl import MECHANISMS, Credentials, MechanismRegistry, ScramKeyBook, ScramKeys
from ..versions import AMQP_0_8, AMQP_0_9_1, AMQP_0_10, AMQP_1_0, Version
from .limits import BrokerLimits
from .rabbitmq import DEFAULT_RELEASE, RELEASES
from .users import ANONYMOUS_USER, User

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import ClassVar


GUEST: Final[Mapping[str, str | User]] = {"guest": "guest"}
NO_CONFIGS: Final[Mapping[Version, Any]] = {}
NO_PROPERTIES: Final[Mapping[str, Any]] = {}

CAPABILITIES: Final[Mapping[str, Any]] = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "consumer_priorities": True,
    "authentication_failure_close": True,
    "per_consumer_qos": True,
    "direct_reply_to": True,
}
"""The broker's part of RabbitMQ's extensions of 0-9-1, as clients look for it in the server properties."""

_CAPABILITIES_OF_QPID: Final = frozenset({"publisher_confirms", "basic.nack", "authentication_failure_close"})
"""Those of them that need no methods missing in Qpid's dialect."""

DialectName = Literal["", "rabbitmq", "specification", "qpid"]
"""The implementation whose 0-8 and 0-9-1 a broker speaks; "": each client's own."""
_DIALECTS: Final[Mapping[str, str]] = {"rabbitmq": "-rabbit", "specification": "", "qpid": "-qpid"}
"""The suffix of dialect names for each implementation."""

_SCRAM_DIGESTS: Final = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-1": "sha1"}
_NAMELESS: Final = frozenset({"ANONYMOUS", "MSSBCBS"})
"""Mechanisms whose clients have no name yet."""
_IDLE_FACTOR: Final = 2.0
"""Silence that ends a connection: two heartbeats in 0-9-1 (4.2.7); 1.0 announces the time itself."""
_FIRST_FRAMES: Final = 8192
"""Octets of a 1.0 frame before the opens are exchanged: clients exceed the 512 of the specification."""


@record
class Verdict:
    """The result of a login: `user` is its name, "" if it was refused."""

    user: str
    reason: str = ""


class _Made:
    """Values derived from settings once: configurations that connections share, keys of users."""

    __slots__ = ("_keys", "_shared", "_spoken")

    _shared: dict[tuple[Version, bool], Any]
    """By version, for connections with and without a certificate's name. Each is created on demand, since creating one
    loads its version's engine."""
    _keys: dict[str, ScramKeyBook]
    """The book of keys, once a login needs it."""
    _spoken: tuple[Version, ...]

    __record_later__: ClassVar[dict[str, Callable[[Any], object]]] = {
        "_shared": lambda settings: {},
        "_keys": lambda settings: {},
        "_spoken": lambda settings: _spoken_versions(settings),
    }


@record
class Settings(_Made):
    """The configuration of a broker.

    | field | meaning |
    |---|---|
    | `users` | by name: a password, or a `User` |
    | `vhosts` | the virtual hosts |
    | `mechanisms` | of SASL, the preferred first; each version offers those that it knows |
    | `registry` | the SASL mechanisms that names stand for, with a user's own; what these verify, the broker believes |
    | `anonymous` | accept clients without a name (ANONYMOUS, MSSBCBS; in 1.0 also without SASL), as user "anonymous" |
    | `auto_create` | 1.0: a plain, unused address is that of a durable queue, made on first use, but no "$..." |
    | `versions` | the versions spoken; the first is offered to a client that asks for another |
    | `strict` | 1.0: a message that isn't one ends its link, a field of another form its connection; see below |
    | `dialect` | of the versions before 1.0: "rabbitmq", "specification" or "qpid"; "": by the client, see below |
    | `rabbitmq` | the release of RabbitMQ that it is for clients of its 0-9-1, the newest known: see docs/broker.md |
    | `consumer_timeout` | seconds for which such a client may hold a delivery; None: any time |
    | `heartbeat` | seconds, as 0-8 and 0-9-1 propose it; in 1.0 twice as much silence ends a connection. 0: none |
    | `history` | number of records kept of what happens to messages |
    | `history_octets` | most octets of the contents in those records, each counted in every one; None: any number |
    | `limits` | the limits of the model |
    | `connection_limits` | the limits of one connection |
    | `name` | the broker's name: the container of 1.0, the cluster of 0-9-1 |
    | `product`, `product_version` | its announced product; some clients of RabbitMQ insist on that name |
    | `properties` | additional server properties, in every version |
    | `configs` | by version: an engine's configuration that replaces the one from these settings |
    | `urls` | its addresses as "amqp:tcp:HOST:PORT", for known-hosts and failover; `serve_broker` fills them in |
    | `seed` | octets that all unpredictable values derive from: SCRAM's nonces and salts; see below |
    | `epoch` | Unix time at which the broker's clock showed 0, for the times in dead-letter headers |

    Settings draw no randomness: with the same `seed` a broker repeats itself. To serve a broker to others, give it 16
    random octets or more; `serve_broker` does so by itself. EXTERNAL is offered only to clients with a certificate.

    Without a `dialect`, clients that identify as Qpid's get the behaviour of Qpid's brokers, all others RabbitMQ's. A
    dialect determines the methods, and the answers where RabbitMQ, Qpid's brokers and the specification differ;
    docs/broker.md says which follows whom. 0-10 has Qpid's unless it is "specification".

    Real clients of 1.0 send fields in other forms than the specification's, which a broker tolerates and warns of where
    their meaning is clear; `strict` is for those who test a client (`amqp_sansio.amqp_1_0.Config` has the same).

    Raises ValueError for an unknown mechanism or dialect, no version, no virtual host, or a name that is too long.

    >>> settings = Settings(users={"me": User("s3cret", vhosts=("test",))}, vhosts=("/", "test"))
    >>> settings.may_open("me", "/"), settings.may_open("me", "test"), settings.may_open("me", "nowhere")
    ('refused', '', 'unknown')
    """

    users: Mapping[str, str | User] = GUEST
    vhosts: tuple[str, ...] = ("/",)
    mechanisms: tuple[str, ...] = ("SCRAM-SHA-256", "EXTERNAL", "PLAIN", "AMQPLAIN")
    anonymous: bool = False
    versions: tuple[Version, ...] = (AMQP_0_9_1, AMQP_1_0, AMQP_0_10, AMQP_0_8)
    heartbeat: float = 60.0
    history: int = 0
    history_octets: int | None = None
    limits: BrokerLimits = BrokerLimits()
    connection_limits: Limits = Limits()
    name: str = "amqp_sansio"
    product: str = "amqp_sansio"
    product_version: str = __version__
    properties: Mapping[str, Any] = NO_PROPERTIES
    configs: Mapping[Version, Any] = NO_CONFIGS
    urls: tuple[str, ...] = ()
    seed: bytes = b""
    epoch: float = 0.0
    auto_create: bool = False
    dialect: DialectName = ""
    strict: bool = False
    rabbitmq: str = DEFAULT_RELEASE
    consumer_timeout: float | None = 1800.0
    registry: MechanismRegistry = MECHANISMS

    __record_hidden__: ClassVar[frozenset[str]] = frozenset({"users", "seed"})

    # Logins.

    def authenticate(self, credentials: Credentials, *, is_secure: bool, peer_name: str) -> Verdict:
        """Check a login. `is_secure`: behind TLS, with a certificate in the name of `peer_name`.

        A SCRAM proof has been verified by its mechanism before, and so has what a mechanism of the user's own verifies.
        Nobody may act for another user. The reason is for the broker's side: a refused client isn't told whether the
        user or the password was wrong.
        """
        mechanism, user = credentials.mechanism, credentials.user
        if mechanism in _NAMELESS:
            if not self.anonymous:
                return Verdict("", f"{mechanism} isn't allowed (Settings.anonymous)")
            return Verdict(ANONYMOUS_USER)
        if mechanism == "EXTERNAL":
            if not is_secure or not peer_name:
                return Verdict("", "EXTERNAL needs TLS and a client certificate with a name")
            user = peer_name
        if credentials.authzid not in ("", user):
            return Verdict("", f"user {user!r} may not act for {credentials.authzid!r}")
        known = self._user(user)
        if mechanism == "EXTERNAL" or credentials.verified:
            return Verdict(user) if known is not None else Verdict("", f"there is no user {user!r}")
        if credentials.password is None:
            return Verdict("", f"{mechanism} isn't supported: there is nobody to judge its token")
        # Compare for unknown users too, so that timing doesn't reveal them.
        is_right = _same(credentials.password, known.password if known is not None else "")
        if known is None:
            return Verdict("", f"there is no user {user!r}")
        if not known.password or not is_right:
            return Verdict("", f"the password of user {user!r} is wrong")
        return Verdict(user)

    def scram_keys(self, mechanism: str, user: str) -> ScramKeys | None:
        """Return a user's keys for a SCRAM mechanism, derived from the password (`ScramKeyBook`); None for another one.

        An unknown user, or one without a password, gets keys that no password proves, after the same time.
        """
        digest = _SCRAM_DIGESTS.get(mechanism)
        if digest is None:
            return None
        known = self._user(user)
        book = self._keys.get("book")
        if book is None:
            book = self._keys["book"] = ScramKeyBook(self.octets("keys"))
        return book.keys(user, None if known is None else known.password or None, digest)

    def may_open(self, user: str, vhost: str) -> Literal["", "unknown", "refused"]:
        """Return "" if a user may open a virtual host; "unknown": it doesn't exist."""
        if vhost not in self.vhosts:
            return "unknown"
        known = self._user(user)
        allowed = None if known is None else known.vhosts
        return "" if allowed is None or vhost in allowed else "refused"

    # Configurations of connections.

    def configs_for(self, number: int, peer_name: str = "") -> Mapping[Version, Any]:
        """Return the engine's configurations for connection `number`'s server end, by version, the preferred first.

        `peer_name` is the name in the client's certificate; without one, EXTERNAL isn't offered. Configurations without
        a nonce are shared by all connections.
        """
        return _Configs(self, number, bool(peer_name))

    @property
    def spoken(self) -> tuple[Version, ...]:
        """The versions that have a mechanism to offer, the preferred first."""
        return self._spoken

    def shared_config(self, version: Version, *, with_name: bool = False) -> Any:
        """Return the engine's configuration without a nonce; `with_name`: for a client with a certificate."""
        config = self._shared.get((version, with_name))
        if config is None:
            given = self.configs.get(version)
            config = _MAKERS[version](self) if given is None else given
            if not with_name:
                config = _without_external(config)
            self._shared[version, with_name] = config
        return config

    @property
    def any_config(self) -> Any:
        """The configuration of the preferred version, for fields that all have (timeouts)."""
        return self.shared_config(self._spoken[0])

    def octets(self, *labels: str) -> bytes:
        """Return 32 octets that are unpredictable without the seed, and different for different labels."""
        from hashlib import sha256

        parts = [self.seed, *[label.encode("utf-8", "surrogatepass") for label in labels]]
        # Length prefixes make different lists of labels different octets.
        return sha256(b"".join([len(part).to_bytes(8, "big") + part for part in parts])).digest()

    def text(self, *labels: str) -> str:
        """Return the same as text of 43 letters, digits, "-" and "_"."""
        from base64 import urlsafe_b64encode

        return urlsafe_b64encode(self.octets(*labels)).decode("ascii").rstrip("=")

    def but(self, **changes: object) -> Settings:
        """Return the settings with changed fields. Raises TypeError for unknown fields, ValueError as the class."""
        fields: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        fields.update(changes)
        return Settings(**fields)

    # Internals.

    def _user(self, name: str) -> User | None:
        found = self.users.get(name)
        return User(found) if isinstance(found, str) else found


class _Configs(Mapping[Version, Any]):
    """The configurations for one connection."""

    __slots__ = ("_number", "_settings", "_with_name")

    def __init__(self, settings: Settings, number: int, with_name: bool) -> None:
        self._settings = settings
        self._number = number
        self._with_name = with_name

    def __getitem__(self, version: Version) -> Any:
        settings = self._settings
        if version not in settings.spoken:
            raise KeyError(version)
        config = settings.shared_config(version, with_name=self._with_name)
        if any(config.registry.needs_nonce(name) for name in config.mechanisms):
            return _but(config, nonce=settings.text("nonce", str(self._number)))
        return config

    def __iter__(self) -> Iterator[Version]:
        return iter(self._settings.spoken)

    def __len__(self) -> int:
        return len(self._settings.spoken)


def _spoken_versions(settings: Settings) -> tuple[Version, ...]:
    """Return the versions to speak. One that knows none of the mechanisms isn't: 1.0 would require no login.

    Raises ValueError if there is none, and for all other invalid settings.
    """
    _check(settings)
    spoken = [each for each in settings.versions if each in settings.configs or _mechanisms(settings, each)]
    if not spoken:
        raise ValueError(f"Settings.mechanisms: no version spoken has one of {settings.mechanisms}")
    return tuple(spoken)


def _check(settings: Settings) -> None:
    if not settings.versions or not settings.vhosts:
        raise ValueError("Settings need at least one version and one virtual host")
    names = settings.registry.server_names
    unknown = [name for name in settings.mechanisms if name not in names]
    if unknown:
        known = ", ".join(names)
        raise ValueError(f"Settings.mechanisms: {unknown[0]!r} isn't known; known are {known}")
    if settings.dialect and settings.dialect not in _DIALECTS:
        raise ValueError(f"Settings.dialect: {settings.dialect!r} is none of {', '.join(_DIALECTS)}")
    if settings.rabbitmq not in RELEASES:
        raise ValueError(f"Settings.rabbitmq: {settings.rabbitmq!r} is none of {', '.join(RELEASES)}")
    if settings.consumer_timeout is not None and not settings.consumer_timeout > 0:
        raise ValueError(f"Settings.consumer_timeout: {settings.consumer_timeout!r} isn't above 0")
    for vhost in settings.vhosts:
        if len(vhost.encode()) > 255:
            raise ValueError(f"Settings.vhosts: {vhost[:40]!r}... is longer than 255 octets")
    if "" in settings.users:
        raise ValueError("Settings.users: a user needs a name")
    limits = settings.connection_limits
    if any(each not in settings.configs for each in settings.versions):
        # Otherwise the first client would find that a connection can't be created.
        if limits.unparsed < _FIRST_FRAMES:
            raise ValueError(f"Settings.connection_limits: {limits.unparsed} octets unparsed, {_FIRST_FRAMES} at least")
        if limits.channels < 1:
            raise ValueError("Settings.connection_limits: they allow no channel")


def _mechanisms(settings: Settings, version: Version) -> tuple[str, ...]:
    """Return the mechanisms that a version knows. AMQPLAIN is a table of the older versions."""
    has_tables = version in (AMQP_0_8, AMQP_0_9_1)
    names = [name for name in settings.mechanisms if has_tables or name != "AMQPLAIN"]
    others = [name for name in names if name != "ANONYMOUS"]
    return (*others, "ANONYMOUS") if settings.anonymous else tuple(others)


def _properties(settings: Settings) -> dict[str, Any]:
    return {
        "product": settings.product,
        "version": settings.product_version,
        "cluster_name": settings.name,
        **settings.properties,
    }


def _host(settings: Settings) -> dict[str, Any]:
    """Return the host name that 0-8 and 0-9-1 require of a server (connection.start)."""
    address = settings.urls[0].partition(":")[2].partition(":")[2] if settings.urls else ""
    return {"host": address.rpartition(":")[0]} if address else {}


def _known_hosts(settings: Settings) -> str:
    """Return the addresses in 0-8's format, as many as fit."""
    hosts = ""
    for url in settings.urls:
        longer = ",".join([*([hosts] if hosts else []), url.rpartition("amqp:tcp:")[2]])
        if len(longer.encode()) > 255:
            break
        hosts = longer
    return hosts


def _dialect(settings: Settings, version: Version) -> Any:
    """Return the configured dialect; None if the client determines it."""
    from .._classic.codec.dialect import get_dialect

    return get_dialect(version.label + _DIALECTS[settings.dialect]) if settings.dialect else None


def _capabilities(settings: Settings) -> dict[str, Any]:
    """Return the announced extensions of RabbitMQ; the specification has no such property."""
    if settings.dialect == "specification":
        return {}
    names = _CAPABILITIES_OF_QPID if settings.dialect == "qpid" else CAPABILITIES
    return {"capabilities": {name: value for name, value in CAPABILITIES.items() if name in names}}


def _make_0_9_1(settings: Settings) -> Any:
    from ..amqp_0_9_1 import Config

    return Config(
        registry=settings.registry,
        mechanisms=_mechanisms(settings, AMQP_0_9_1),
        heartbeat=settings.heartbeat,
        limits=settings.connection_limits,
        properties={**_capabilities(settings), **_host(settings), **_properties(settings)},
        dialect=_dialect(settings, AMQP_0_9_1),
    )


def _make_0_8(settings: Settings) -> Any:
    from ..amqp_0_8 import Config

    return Config(
        registry=settings.registry,
        mechanisms=_mechanisms(settings, AMQP_0_8),
        heartbeat=settings.heartbeat,
        limits=settings.connection_limits,
        known_hosts=_known_hosts(settings),
        properties={**_host(settings), **_properties(settings)},
        dialect=_dialect(settings, AMQP_0_8),
    )


def _make_0_10(settings: Settings) -> Any:
    from ..amqp_0_10 import Config, Dialect
    from ..amqp_0_10.codec.frames import LARGEST_FRAME

    return Config(
        registry=settings.registry,
        mechanisms=_mechanisms(settings, AMQP_0_10),
        max_frame_size=min(LARGEST_FRAME, settings.connection_limits.unparsed),
        heartbeat_min=1 if settings.heartbeat else None,
        limits=settings.connection_limits,
        known_hosts=settings.urls,
        properties=_properties(settings),
        dialect=Dialect.ERRATA if settings.dialect == "specification" else Dialect.QPID,
    )


def _make_1_0(settings: Settings) -> Any:
    from ..amqp_1_0 import Config

    return Config(
        container_id=settings.name,
        registry=settings.registry,
        mechanisms=_mechanisms(settings, AMQP_1_0),
        sasl_required=not settings.anonymous,
        idle_time_out=_IDLE_FACTOR * settings.heartbeat,
        limits=settings.connection_limits,
        initial_frame_size=_FIRST_FRAMES,
        properties=_properties(settings),
        # The front end checks content: messages to the management node may have sections out of order.
        validate_content=False,
        strict=settings.strict,
    )


_MAKERS: Final[Mapping[Version, Callable[[Settings], Any]]] = {
    AMQP_0_8: _make_0_8,
    AMQP_0_9_1: _make_0_9_1,
    AMQP_0_10: _make_0_10,
    AMQP_1_0: _make_1_0,
}


def _without_external(config: Any) -> Any:
    """Remove EXTERNAL, unless it is the only mechanism; then a client that chooses it is refused."""
    others = tuple([name for name in config.mechanisms if name != "EXTERNAL"])
    return _but(config, mechanisms=others) if others and others != config.mechanisms else config


def _but(config: Any, **changes: Any) -> Any:
    names: tuple[str, ...] = config.__match_args__
    return type(config)(*[changes[name] if name in changes else getattr(config, name) for name in names])


def _same(one: str, other: str) -> bool:
    """Compare two passwords in a time that doesn't reveal where they differ."""
    from hmac import compare_digest

    return compare_digest(one.encode("utf-8", "surrogatepass"), other.encode("utf-8", "surrogatepass"))


__all__ = ["CAPABILITIES", "BrokerLimits", "DialectName", "Settings", "Verdict"]
