"""The configuration of a client of 0-8 or 0-9-1, from a URL and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from ...amqp_0_9_1 import Config
from ...versions import Version
from ..settings import OWN_OPTIONS, check_options, connection_name, login, named

if TYPE_CHECKING:
    from ...amqp_0_9_1 import Dialect
    from ...limits import Limits
    from ...sasl import ClientMechanism, MechanismRegistry
    from ...uri import AmqpUri
    from ..hooks import Hooks
    from ..metrics import OnMetrics
    from ..settings import Draw

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN", "AMQPLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `Config` that `connect` takes by keyword; they override the URL.

    `connection_name` goes into the client's properties, where operators see it.

    `answer_timeout` bounds the wait for each answer that the server owes, 60 seconds by default; `outcome_timeout`
    bounds the wait for what becomes of a message, and for room to send it, 300 seconds by default. None: no bound.
    """

    connection_name: str
    hooks: Hooks | None
    on_metrics: OnMetrics | None
    answer_timeout: float | None
    outcome_timeout: float | None
    sasl: ClientMechanism | tuple[ClientMechanism, ...]
    vhost: str
    heartbeat: float
    channel_max: int
    frame_max: int
    locale: str
    properties: Mapping[str, Any]
    limits: Limits
    registry: MechanismRegistry
    dialect: Dialect
    validate_content: bool
    stream_above: int
    report_heartbeats: bool
    handshake_timeout: float
    close_timeout: float


def client_config(version: Version, uri: AmqpUri, options: ConfigOptions, draw: Draw) -> Config:
    """Return the configuration for one connection, with fresh randomness for SCRAM.

    Without a user name in the URL, user and password are guest. Raises TypeError for an unknown option, ValueError.
    """
    check_options(version, uri, options, ConfigOptions.__optional_keys__)
    fields: dict[str, Any] = {"vhost": uri.vhost}
    for field in ("heartbeat", "channel_max", "frame_max"):
        value = getattr(uri, field)
        if value is not None:
            fields[field] = value
    fields.update(cast("dict[str, Any]", options))
    for own in OWN_OPTIONS:
        fields.pop(own, None)
    fields["sasl"] = login(uri, options, DEFAULT_MECHANISMS, draw)
    name = connection_name(uri, options)
    if name is not None:
        fields["properties"] = named(Config(**fields).properties, name)
    return Config(**fields)


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "client_config"]
