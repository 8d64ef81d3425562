"""The part of 0-8 and 0-9-1 only: the core's connections, and their configuration from a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias, TypedDict

from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.amqp_0_9_1 import Connection as Connection091
from amqp_sansio.uri import AmqpUri
from amqp_sansio.versions import AMQP_0_8, AMQP_0_9_1, Version

from .settings import login

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_8 import Connection as Connection08
    from amqp_sansio.amqp_0_9_1 import Dialect
    from amqp_sansio.limits import Limits
    from amqp_sansio.sasl import ClientMechanism

ClassicCore: TypeAlias = "Connection091 | Connection08"
"""A connection of the core."""

DEFAULT_MECHANISMS = ("SCRAM-SHA-256", "PLAIN", "AMQPLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `Config` that `connect` takes by keyword; they override the URL."""

    sasl: ClientMechanism | tuple[ClientMechanism, ...]
    vhost: str
    heartbeat: float
    channel_max: int
    frame_max: int
    locale: str
    properties: Mapping[str, Any]
    limits: Limits
    dialect: Dialect
    validate_content: bool
    stream_above: int
    report_heartbeats: bool
    handshake_timeout: float
    close_timeout: float


def client_config(uri: AmqpUri, options: ConfigOptions) -> Config:
    """Return the configuration for one connection, with fresh randomness for SCRAM.

    Without a user name in the URL, user and password are guest.
    """
    fields: dict[str, Any] = {"vhost": uri.vhost}
    for name in ("heartbeat", "channel_max", "frame_max"):
        value = getattr(uri, name)
        if value is not None:
            fields[name] = value
    for name, value in options.items():
        fields[name] = value
    fields["sasl"] = login(uri, options.get("sasl"), DEFAULT_MECHANISMS)
    return Config(**fields)


def client_core(version: Version, config: Config) -> ClassicCore:
    """Create a client connection of the core."""
    if version is AMQP_0_9_1:
        return Connection091.client(config)
    if version is AMQP_0_8:
        from amqp_sansio.amqp_0_8 import Connection as Connection08

        return Connection08.client(config)
    raise ValueError(f"AMQP {version.label} has an engine of its own")


__all__ = ["DEFAULT_MECHANISMS", "ClassicCore", "ConfigOptions", "client_config", "client_core"]
