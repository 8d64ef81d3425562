"""The configuration of `connect` and `serve` in 1.0, from a URL and options."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict

from amqp_sansio.amqp_1_0 import Config

from ..settings import login, replace

if TYPE_CHECKING:
    from amqp_sansio.limits import Limits
    from amqp_sansio.sasl import ClientMechanism
    from amqp_sansio.uri import AmqpUri

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN")
DEFAULT_IDLE_TIME_OUT: Final = 60.0
"""Default for the seconds of silence after which the peer counts as lost."""


class ConfigOptions(TypedDict, total=False):
    """The fields of `amqp_sansio.amqp_1_0.Config` that `connect` takes by keyword; they override the URL."""

    container_id: str
    hostname: str | None
    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None
    max_frame_size: int
    channel_max: int
    idle_time_out: float
    properties: Mapping[str, Any]
    offered_capabilities: tuple[str, ...]
    desired_capabilities: tuple[str, ...]
    required_capabilities: tuple[str, ...]
    outgoing_locales: tuple[str, ...]
    incoming_locales: tuple[str, ...]
    handshake_timeout: float
    close_timeout: float
    incoming_window: int
    initial_frame_size: int
    least_idle_time_out: float
    validate_content: bool | None
    limits: Limits


def client_config(uri: AmqpUri, options: ConfigOptions) -> Config:
    """Return the configuration for one connection, with fresh randomness for its name and for SCRAM.

    The hostname is the URL's host, or "vhost:NAME" if the URL names a virtual host other than "/", the form of RabbitMQ
    and Qpid. Without a user name in the URL, user and password are guest; `sasl=None` connects without SASL.
    """
    heartbeat = uri.heartbeat
    fields: dict[str, Any] = {
        "container_id": random_name(),
        "hostname": uri.host if uri.vhost == "/" else f"vhost:{uri.vhost}",
        "idle_time_out": DEFAULT_IDLE_TIME_OUT if heartbeat is None else 2.0 * heartbeat,
    }
    if uri.channel_max is not None:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max is not None:
        fields["max_frame_size"] = uri.frame_max
    for name, value in options.items():
        fields[name] = value
    if "sasl" not in options or options["sasl"] is not None:
        fields["sasl"] = login(uri, options.get("sasl"), DEFAULT_MECHANISMS)
    return Config(**fields)


def server_config(given: Config | None) -> Config:
    """Return the configuration of a server, with a generated name if it had none. By default users log in by PLAIN.
    Raises ValueError for TLS inside the connection, which no adapter supports.
    """
    config = given or Config(mechanisms=("PLAIN",))
    if config.tls:
        raise ValueError("Config.tls begins TLS inside the connection; give serve an `ssl` context")
    return config if config.container_id else replace(config, container_id=random_name())


def random_name() -> str:
    """Return a unique container or link name."""
    return f"amqp-sansio-{secrets.token_hex(8)}"


__all__ = [
    "DEFAULT_IDLE_TIME_OUT",
    "DEFAULT_MECHANISMS",
    "ConfigOptions",
    "client_config",
    "random_name",
    "server_config",
]
