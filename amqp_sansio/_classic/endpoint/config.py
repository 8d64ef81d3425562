"""Config: everything an endpoint of 0-8 or 0-9-1 is told beforehand."""

from __future__ import annotations

from collections.abc import Mapping

from ..._checking import TYPE_CHECKING
from ..._core.config import check_login, check_ranges, check_written
from ..._ground.record import record
from ...endpoint import Side
from ...errors import CodecError
from ...limits import Limits
from ...sasl import MECHANISMS
from ..codec.table import Table
from ..codec.violation import Violation
from ..model.connection import MIN_FRAME_MAX
from ..model.values import check_vhost

if TYPE_CHECKING:
    from typing import Final

    from ...sasl import ClientMechanism, MechanismRegistry
    from ..codec.dialect import Dialect
    from ..codec.table import FieldValue

_HIGHEST: Final = (("frame_max", 0xFFFFFFFF), ("channel_max", 65_535), ("heartbeat", 65_535))
NO_PROPERTIES: Final[Mapping[str, FieldValue]] = {}
CAPABILITIES: Final[Mapping[str, FieldValue]] = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}
"""The extensions of RabbitMQ that this library handles, as they stand in the peer properties."""


@record
class Config:
    """How a client or server connection behaves.

    | field | meaning |
    |---|---|
    | `sasl` | client: the mechanism, or several: the strongest that the server offers is taken |
    | `mechanisms` | server: the names it offers |
    | `vhost` | client: the virtual host |
    | `heartbeat` | seconds offered; 0 wants none. The smaller non-zero of both sides holds |
    | `channel_max`, `frame_max` | offered; 0 is no limit (bounded by `Limits`) |
    | `locale` | client: the message locale (en_US where the server lacks it); server: those offered, space between |
    | `properties` | merged over the default peer properties |
    | `known_hosts` | server: sent in open-ok |
    | `insist` | client, 0-8: ask not to be redirected |
    | `limits` | every bound |
    | `dialect` | which 0-8 or 0-9-1; None: the version's default, on a server Qpid's for clients that say they are |
    | `validate_content` | skim properties and tables when they arrive instead of when they are read; None: servers do |
    | `stream_above` | bodies of more octets come in pieces (`ContentBegun`), returned ones excepted; None: never |
    | `handshake_timeout`, `close_timeout` | seconds until an unfinished opening or closing ends the connection |
    | `report_heartbeats` | return `HeartbeatReceived` events |
    | `nonce` | server: random text for SCRAM, new for every connection |
    | `registry` | the SASL mechanisms that names stand for |
    """

    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None = None
    mechanisms: tuple[str, ...] = ("PLAIN", "AMQPLAIN")
    vhost: str = "/"
    heartbeat: float = 60.0
    channel_max: int = 2047
    frame_max: int = 131_072
    locale: str = "en_US"
    properties: Mapping[str, FieldValue] = NO_PROPERTIES
    known_hosts: str = ""
    limits: Limits = Limits()
    dialect: Dialect | None = None
    validate_content: bool | None = None
    stream_above: int | None = None
    handshake_timeout: float = 30.0
    close_timeout: float = 10.0
    report_heartbeats: bool = False
    nonce: str = ""
    insist: bool = False
    registry: MechanismRegistry = MECHANISMS


def announces(properties: Table, capability: str) -> bool:
    """Whether a peer said in its properties that it takes one of RabbitMQ's extensions."""
    try:
        capabilities = properties.get("capabilities")
        return isinstance(capabilities, Table) and capabilities.get(capability) is True
    except CodecError:
        return False


def check_config(config: Config, role: Side, dialect: Dialect) -> None:
    """Refuse a configuration that would fail later, in the middle of a connection. Raises ValueError."""
    if 0 < config.frame_max < MIN_FRAME_MAX:
        raise ValueError(f"Config.frame_max {config.frame_max} is below 4096, the least the protocol allows")
    if config.limits.unparsed < MIN_FRAME_MAX + 8:
        raise ValueError(f"Limits.unparsed {config.limits.unparsed} can't hold a frame of 4096 octets")
    check_ranges(config, _HIGHEST)
    for name in ("vhost", "locale", "known_hosts"):
        if len(getattr(config, name).encode()) > 255:
            raise ValueError(f"Config.{name} is longer than 255 octets")
    check_written(Table, config.properties, rules=dialect.tables)
    check_login(config, role, config.mechanisms)
    if role is Side.SERVER and "en_US" not in config.locale.split():
        raise ValueError(f"Config.locale {config.locale!r} lacks en_US, which every server offers")
    if not config.locale:
        raise ValueError("Config.locale is empty, a client names one of those the server offers")
    if role is Side.CLIENT and dialect.strict:
        try:
            check_vhost(dialect.version, config.vhost)
        except Violation as violation:
            raise ValueError(f"Config.vhost: {violation.text}") from None
