"""The configuration of a 0-10 client, from a URL and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from ...amqp_0_10 import Config
from ...versions import AMQP_0_10
from ..settings import OWN_OPTIONS, check_options, connection_name, login, named, random_name

if TYPE_CHECKING:
    from ...amqp_0_10 import Dialect
    from ...limits import Limits
    from ...sasl import ClientMechanism, MechanismRegistry
    from ...uri import AmqpUri
    from ..hooks import Hooks
    from ..metrics import OnMetrics
    from ..settings import Draw

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `amqp_sansio.amqp_0_10.Config` that `connect` takes by keyword; they override the URL.

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
    heartbeat: int
    channel_max: int
    max_frame_size: int
    locales: tuple[str, ...]
    properties: Mapping[str, Any]
    capabilities: tuple[str, ...]
    insist: bool
    session_prefix: str
    session_timeout_max: int | None
    stream_above: int | None
    dialect: Dialect
    validate_content: bool | None
    handshake_timeout: float
    close_timeout: float
    limits: Limits
    registry: MechanismRegistry


def client_config(uri: AmqpUri, options: ConfigOptions, draw: Draw) -> Config:
    """Return the configuration for one connection, with fresh randomness for session names and SCRAM.

    Without a user name in the URL, user and password are guest. Raises TypeError for an unknown option, ValueError.
    """
    check_options(AMQP_0_10, uri, options, ConfigOptions.__optional_keys__)
    fields: dict[str, Any] = {"vhost": uri.vhost, "session_prefix": f"{random_name(draw)}-"}
    if uri.heartbeat is not None:
        fields["heartbeat"] = int(uri.heartbeat)
    if uri.channel_max is not None:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max is not None:
        fields["max_frame_size"] = uri.frame_max
    fields.update(cast("dict[str, Any]", options))
    for own in OWN_OPTIONS:
        fields.pop(own, None)
    fields["sasl"] = login(uri, options, DEFAULT_MECHANISMS, draw)
    name = connection_name(uri, options)
    if name is not None:
        fields["properties"] = named(Config(**fields).properties, name)
    return Config(**fields)


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "client_config"]
