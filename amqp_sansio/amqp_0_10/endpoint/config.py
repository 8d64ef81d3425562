"""Config: everything an endpoint of AMQP 0-10 is told beforehand."""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ..._core.config import check_login, check_ranges, check_written
from ..._ground.record import record
from ...endpoint import Side
from ...limits import Limits
from ...sasl import MECHANISMS
from ..codec.dialect import Dialect
from ..codec.frames import LARGEST_FRAME, MIN_MAX_FRAME_SIZE
from ..codec.types import Map

if TYPE_CHECKING:
    from typing import Any, Final

    from ...sasl import ClientMechanism, MechanismRegistry

NO_PROPERTIES: Final[Mapping[str, Any]] = {}
DEFAULT_LOCALE: Final = "en_US"

_HIGHEST: Final = (
    ("max_frame_size", LARGEST_FRAME),
    ("channel_max", 65_535),
    ("heartbeat", 65_535),
    ("heartbeat_min", 65_535),
    ("heartbeat_max", 65_535),
    ("session_timeout_max", 0xFFFFFFFF),
)


@record
class Config:
    """How a client or server connection behaves. Times are in seconds, sizes in octets.

    | field | meaning |
    |---|---|
    | `sasl` | client: the mechanism, or several: the strongest that the server offers is taken |
    | `mechanisms` | server: the names it offers |
    | `vhost` | client: the virtual host |
    | `heartbeat` | client: seconds between heartbeats, bent to what the server bears; 0 wants none |
    | `heartbeat_min`, `heartbeat_max` | server: what it bears; a `heartbeat_min` of None: it has no heartbeats |
    | `channel_max` | how many channels, numbered from 0; bounded by `Limits` |
    | `max_frame_size` | the largest frame, 4096 to 65,535, with its header of 12 octets |
    | `locales` | server: those it offers, en_US among them; client: those it likes, the best first |
    | `properties` | merged over the default peer properties |
    | `known_hosts` | server: sent in open-ok |
    | `capabilities` | client: sent in open |
    | `insist` | client: ask not to be redirected |
    | `session_prefix` | begin of the names of sessions that are opened without one; must be unique for the user |
    | `session_timeout_max` | the longest that this end keeps a detached session; None: for ever |
    | `stream_above` | bodies of more octets come in pieces (`MessageBegun`); None: never |
    | `dialect` | how a transaction's xid is written, which fields the peer may leave out; see `Dialect` |
    | `validate_content` | look through headers when they arrive instead of when they are read; None: servers do |
    | `lenient_accepts` | server: an accept of what isn't acquired releases it, as Qpid's browsers want it |
    | `handshake_timeout`, `close_timeout` | seconds until an unfinished opening or closing ends the connection |
    | `nonce` | server: random text for SCRAM, new for every connection |
    | `registry` | the SASL mechanisms that names stand for |
    | `limits` | every bound |

    >>> Config(vhost="test").max_frame_size
    65535
    """

    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None = None
    mechanisms: tuple[str, ...] = ("PLAIN",)
    vhost: str = ""
    heartbeat: int = 60
    heartbeat_min: int | None = 1
    heartbeat_max: int | None = None
    channel_max: int = 2047
    max_frame_size: int = LARGEST_FRAME
    locales: tuple[str, ...] = (DEFAULT_LOCALE,)
    properties: Mapping[str, Any] = NO_PROPERTIES
    known_hosts: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    insist: bool = False
    session_prefix: str = ""
    session_timeout_max: int | None = 3600
    stream_above: int | None = None
    dialect: Dialect = Dialect.QPID
    validate_content: bool | None = None
    lenient_accepts: bool = True
    handshake_timeout: float = 30.0
    close_timeout: float = 10.0
    nonce: str = ""
    limits: Limits = Limits()
    registry: MechanismRegistry = MECHANISMS


def own_channel_max(config: Config) -> int:
    """How many channels this end has."""
    return min(config.channel_max, config.limits.channels)


def check_config(config: Config, role: Side) -> None:
    """Refuse a configuration that would fail later, in the middle of a connection. Raises ValueError."""
    check_ranges(config, _HIGHEST)
    if config.max_frame_size < MIN_MAX_FRAME_SIZE:
        text = f"Config.max_frame_size {config.max_frame_size} is below {MIN_MAX_FRAME_SIZE}, "
        text += "the least the protocol allows"
        raise ValueError(text)
    if config.limits.unparsed < config.max_frame_size:
        raise ValueError(f"Limits.unparsed {config.limits.unparsed} can't hold the largest frame")
    if own_channel_max(config) < 1:
        raise ValueError("Config.channel_max and Limits.channels allow no channel")
    if len(config.vhost.encode()) > 255:
        raise ValueError("Config.vhost is longer than 255 octets")
    if not config.locales:
        raise ValueError("Config.locales is empty")
    check_written(Map, config.properties)
    check_login(config, role, config.mechanisms)
    if role is Side.CLIENT:
        return
    if DEFAULT_LOCALE not in config.locales:
        raise ValueError(f"Config.locales lacks {DEFAULT_LOCALE}, which every server offers")
    least, longest = config.heartbeat_min, config.heartbeat_max
    if longest is not None and (least is None or longest < least):
        raise ValueError("Config.heartbeat_max needs a heartbeat_min that isn't above it")
