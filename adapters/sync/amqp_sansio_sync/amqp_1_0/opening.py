"""The configuration of a 1.0 client, from the URL and the options of `connect` (1.0 part 2 section 2.7.1)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from amqp_sansio import Limits
from amqp_sansio.amqp_1_0 import Config
from amqp_sansio.amqp_1_0 import Connection as CoreConnection
from amqp_sansio.sasl import ClientMechanism
from amqp_sansio.uri import AmqpUri

from ..opening import Prepared, mechanisms
from .connection import OneZeroConnection

if TYPE_CHECKING:
    from ..transport import Transport
    from ..wire import Wire

_MECHANISMS = ("SCRAM-SHA-256", "PLAIN")


class OneZeroOptions(TypedDict, total=False):
    """The fields of 1.0's `Config` that `connect` takes by keyword; they override the URL.

    The default `container_id` is random, the default `idle_time_out` 60 seconds. `sasl=None` connects without SASL.
    """

    container_id: str
    hostname: str | None
    sasl: ClientMechanism | tuple[ClientMechanism, ...] | None
    max_frame_size: int
    channel_max: int
    idle_time_out: float
    least_idle_time_out: float
    properties: Mapping[str, Any]
    offered_capabilities: tuple[str, ...]
    desired_capabilities: tuple[str, ...]
    required_capabilities: tuple[str, ...]
    outgoing_locales: tuple[str, ...]
    incoming_locales: tuple[str, ...]
    incoming_window: int
    initial_frame_size: int
    validate_content: bool | None
    handshake_timeout: float
    close_timeout: float
    limits: Limits


def prepare(uri: AmqpUri, options: OneZeroOptions) -> Prepared[OneZeroConnection]:
    """Configure a connection."""
    config = client_config(uri, options)
    core = CoreConnection.client(config)

    def make(transport: Transport) -> tuple[Wire[Any], OneZeroConnection]:
        connection = OneZeroConnection(core, transport, uri)
        return connection.wire, connection

    return Prepared(config.handshake_timeout, make)


def client_config(uri: AmqpUri, options: OneZeroOptions) -> Config:
    """Return the configuration of one connection. A virtual host other than "/" is requested as in RabbitMQ."""
    unknown = options.keys() - OneZeroOptions.__optional_keys__
    if unknown:
        raise TypeError(f"connect takes no {', '.join(sorted(unknown))} in AMQP 1.0")
    fields: dict[str, Any] = {
        "container_id": f"amqp-sansio-{secrets.token_hex(8)}",
        "hostname": uri.host if uri.vhost == "/" else f"vhost:{uri.vhost}",
        "idle_time_out": 60.0 if uri.heartbeat is None else 2.0 * uri.heartbeat,
    }
    if uri.channel_max:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max:
        fields["max_frame_size"] = uri.frame_max
    fields.update(options)
    if "sasl" not in options or options["sasl"] is not None:
        fields["sasl"] = mechanisms(uri, options.get("sasl"), _MECHANISMS)
    return Config(**fields)


__all__ = ["OneZeroOptions", "client_config", "prepare"]
