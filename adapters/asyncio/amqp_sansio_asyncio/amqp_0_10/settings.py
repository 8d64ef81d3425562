"""The configuration of `connect` and `serve` in 0-10, from a URL and options."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

from amqp_sansio.amqp_0_10 import Config

from ..settings import login

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_10 import Dialect
    from amqp_sansio.limits import Limits
    from amqp_sansio.sasl import ClientMechanism
    from amqp_sansio.uri import AmqpUri

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `amqp_sansio.amqp_0_10.Config` that `connect` takes by keyword; they override the URL."""

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


def client_config(uri: AmqpUri, options: ConfigOptions) -> Config:
    """Return the configuration for one connection, with fresh randomness for session names and SCRAM.

    Without a user name in the URL, user and password are guest. Raises ValueError, TypeError for an option that isn't a
    field of the configuration.
    """
    fields: dict[str, Any] = {"vhost": uri.vhost, "session_prefix": f"{random_name()}-"}
    if uri.heartbeat is not None:
        fields["heartbeat"] = int(uri.heartbeat)
    if uri.channel_max is not None:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max is not None:
        fields["max_frame_size"] = uri.frame_max
    for name, value in options.items():
        fields[name] = value
    fields["sasl"] = login(uri, options.get("sasl"), DEFAULT_MECHANISMS)
    return Config(**fields)


def random_name() -> str:
    """Return a unique session name."""
    return f"amqp-sansio-{secrets.token_hex(8)}"


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "client_config", "random_name"]
