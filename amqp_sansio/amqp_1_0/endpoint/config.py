"""Config: everything an endpoint of AMQP 1.0 is told beforehand."""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ..._core.config import check_login, check_ranges
from ..._ground.record import record
from ...endpoint import Side
from ...limits import Limits
from ...sasl import MECHANISMS
from ..codec.frames import MIN_MAX_FRAME_SIZE

if TYPE_CHECKING:
    from typing import Any, Final

    from ...sasl import ClientMechanism, MechanismRegistry

NO_PROPERTIES: Final[Mapping[str, Any]] = {}

_HIGHEST: Final = (
    ("max_frame_size", 0xFFFFFFFF),
    ("channel_max", 65_535),
    ("incoming_window", 0x7FFFFFFF),
    ("idle_time_out", 0xFFFFFFFF / 500),
    ("least_idle_time_out", 0xFFFFFFFF / 1000),
)


@record
class Config:
    """How a client or server connection behaves. Times are in seconds, sizes in octets.

    | field | meaning |
    |---|---|
    | `container_id` | the name of this container in its open |
    | `hostname` | client: the host, or virtual host, that is wanted (sasl-init, open); None: the peer's default |
    | `sasl` | client: the mechanism, or several: the strongest that the server offers is taken; None: no SASL |
    | `mechanisms` | server: the names it offers, the preferred first; none: no SASL required, ANONYMOUS offered |
    | `sasl_required` | server: with `mechanisms`, turn away clients that begin without SASL |
    | `tls` | client: ask for TLS with its header inside the connection; server: let clients do so. See `TlsStarted` |
    | `tls_required` | server: with `tls`, turn away clients that begin without it |
    | `max_frame_size` | the largest frame taken, at least 512; bounded by `Limits.unparsed` |
    | `initial_frame_size` | the largest SASL frame, and frame before the peer's open; see below |
    | `channel_max` | the highest channel number; bounded by `Limits.channels` |
    | `idle_time_out` | the peer's silence of so many seconds closes the connection; half is announced. 0: none |
    | `least_idle_time_out` | a peer that announces less than this is turned away |
    | `properties` | merged over the default connection properties |
    | `offered_capabilities`, `desired_capabilities` | as in open |
    | `required_capabilities` | a peer that doesn't offer all of them is turned away |
    | `outgoing_locales`, `incoming_locales` | as in open; en-US is always there |
    | `incoming_window` | transfer frames that a session takes before it has said more |
    | `validate_content` | skim message sections when they arrive instead of when they are read; None: servers do |
    | `strict` | a field that isn't as its type says ends the connection, and a message with one its link; see below |
    | `whole_lists` | write the nulls at the end of lists too; None: servers do, since peers index fields |
    | `handshake_timeout`, `close_timeout` | seconds until an unfinished opening or closing ends the connection |
    | `nonce` | server: random text for SCRAM, new for every connection |
    | `registry` | the SASL mechanisms that names stand for |
    | `limits` | every bound |

    The specification has 512 for `initial_frame_size`. Some peers take more, for long tokens: RabbitMQ 4 takes 8192.

    Peers send fields in other forms than the specification's. Without `strict` what they mean is taken where it is
    plain, and of the rest a field ends what it is about: nothing, its message, link or session, or the connection.

    >>> Config(container_id="me").max_frame_size
    65536
    """

    container_id: str = ""
    hostname: str | None = None
    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None = None
    mechanisms: tuple[str, ...] = ()
    nonce: str = ""
    max_frame_size: int = 65_536
    channel_max: int = 65_535
    idle_time_out: float = 0.0
    properties: Mapping[str, Any] = NO_PROPERTIES
    offered_capabilities: tuple[str, ...] = ()
    desired_capabilities: tuple[str, ...] = ()
    outgoing_locales: tuple[str, ...] = ()
    incoming_locales: tuple[str, ...] = ()
    handshake_timeout: float = 10.0
    close_timeout: float = 5.0
    incoming_window: int = 2048
    validate_content: bool | None = None
    limits: Limits = Limits()
    sasl_required: bool = True
    required_capabilities: tuple[str, ...] = ()
    initial_frame_size: int = MIN_MAX_FRAME_SIZE
    least_idle_time_out: float = 0.01
    tls: bool = False
    tls_required: bool = False
    strict: bool = False
    whole_lists: bool | None = None
    registry: MechanismRegistry = MECHANISMS


def own_max_frame_size(config: Config) -> int:
    """The largest frame that is announced: it must fit into what may lie unparsed."""
    return min(config.max_frame_size, config.limits.unparsed)


def own_channel_max(config: Config) -> int:
    """The highest channel number that is announced."""
    return min(config.channel_max, config.limits.channels - 1)


def writes_whole_lists(config: Config, *, server: bool) -> bool:
    """Whether an end writes the nulls at the end of lists too."""
    return server if config.whole_lists is None else config.whole_lists


def offered_mechanisms(config: Config) -> tuple[str, ...]:
    """The mechanisms that a server offers to a client that asks for SASL (part 5 section 5.3.3.1)."""
    return config.mechanisms or ("ANONYMOUS",)


def check_config(config: Config, role: Side) -> None:
    """Refuse a configuration that would fail later, in the middle of a connection. Raises ValueError."""
    check_ranges(config, _HIGHEST)
    for name in ("max_frame_size", "initial_frame_size"):
        if getattr(config, name) < MIN_MAX_FRAME_SIZE:
            raise ValueError(f"Config.{name} {getattr(config, name)} is below 512, the least the protocol allows")
    if config.limits.unparsed < config.initial_frame_size:
        raise ValueError(
            f"Limits.unparsed {config.limits.unparsed} can't hold a frame of {config.initial_frame_size} octets"
        )
    if config.limits.channels < 1:
        raise ValueError("Limits.channels allows no channel")
    if config.tls_required and not config.tls:
        raise ValueError("Config.tls_required needs Config.tls")
    if config.sasl == ():
        raise ValueError("Config.sasl is empty; None is for a connection without SASL")
    if role is Side.SERVER:
        check_login(config, role, offered_mechanisms(config), success_data=True)
