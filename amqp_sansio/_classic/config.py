"""Config: everything an endpoint of 0-8 or 0-9-1 is told beforehand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from .._record import record
from ..limits import Limits

if TYPE_CHECKING:
    from ..sasl import ClientMechanism
    from .dialect import Dialect

NO_PROPERTIES: Final[Mapping[str, Any]] = {}
CAPABILITIES: Final[Mapping[str, Any]] = {
    "publisher_confirms": True,
    "exchange_exchange_bindings": True,
    "basic.nack": True,
    "consumer_cancel_notify": True,
    "connection.blocked": True,
    "authentication_failure_close": True,
}
"""What this library handles of RabbitMQ's extensions, as it stands in the peer properties."""


@record
class Config:
    """How a client or server connection behaves.

    | field | meaning |
    |---|---|
    | `sasl` | client: the mechanism, or several in the order of preference |
    | `mechanisms` | server: the names it offers |
    | `vhost` | client: the virtual host |
    | `heartbeat` | seconds offered; 0 wants none. The smaller non-zero of both sides holds |
    | `channel_max`, `frame_max` | offered; 0 is no limit (bounded by `Limits`) |
    | `locale` | client: the message locale; server: the locales it offers, separated by spaces |
    | `properties` | merged over the default peer properties |
    | `known_hosts` | server: sent in open-ok |
    | `limits` | every bound |
    | `dialect` | which 0-8 or 0-9-1; None: the version's default |
    | `validate_content` | skim properties and tables when they arrive instead of when they are read; None: servers do |
    | `stream_above` | bodies of more octets come as `ContentBegun` and `ContentChunk`; None: never |
    | `handshake_timeout`, `close_timeout` | seconds until an unfinished opening or closing ends the connection |
    | `report_heartbeats` | return `HeartbeatReceived` events |
    | `nonce` | server: random text for SCRAM, new for every connection |
    """

    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None = None
    mechanisms: tuple[str, ...] = ("PLAIN", "AMQPLAIN")
    vhost: str = "/"
    heartbeat: float = 60.0
    channel_max: int = 2047
    frame_max: int = 131_072
    locale: str = "en_US"
    properties: Mapping[str, Any] = NO_PROPERTIES
    known_hosts: str = ""
    limits: Limits = Limits()
    dialect: Dialect | None = None
    validate_content: bool | None = None
    stream_above: int | None = None
    handshake_timeout: float = 30.0
    close_timeout: float = 10.0
    report_heartbeats: bool = False
    nonce: str = ""
