"""The configuration of a 0-10 client, from the URL and the options of `connect` (0-10 class 1)."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING, Any, TypedDict

from amqp_sansio import Limits
from amqp_sansio.amqp_0_10 import Config, Dialect
from amqp_sansio.amqp_0_10 import Connection as CoreConnection
from amqp_sansio.client.settings import login
from amqp_sansio.sasl import ClientMechanism
from amqp_sansio.uri import AmqpUri

from ..opening import Prepared
from .connection import ZeroTenConnection

if TYPE_CHECKING:
    from ..transport import Transport
    from ..wire import Wire

_MECHANISMS = ("SCRAM-SHA-256", "PLAIN")


class ZeroTenOptions(TypedDict, total=False):
    """The fields of 0-10's `Config` that `connect` takes by keyword; they override the URL.

    Without `session_prefix`, sessions opened without a name get a random one.
    """

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
    dialect: Dialect
    validate_content: bool | None
    handshake_timeout: float
    close_timeout: float
    limits: Limits


def prepare(uri: AmqpUri, options: ZeroTenOptions) -> Prepared[ZeroTenConnection]:
    """Configure a connection."""
    config = client_config(uri, options)
    core = CoreConnection.client(config)

    def make(transport: Transport) -> tuple[Wire[Any], ZeroTenConnection]:
        connection = ZeroTenConnection(core, transport, uri)
        return connection.wire, connection

    return Prepared(config.handshake_timeout, make)


def client_config(uri: AmqpUri, options: ZeroTenOptions) -> Config:
    """The configuration of one connection."""
    unknown = options.keys() - ZeroTenOptions.__optional_keys__
    if unknown:
        raise TypeError(f"connect takes no {', '.join(sorted(unknown))} in AMQP 0-10")
    fields: dict[str, Any] = {"vhost": uri.vhost, "session_prefix": f"amqp-sansio-{secrets.token_hex(8)}-"}
    if uri.heartbeat is not None:
        fields["heartbeat"] = ceil(uri.heartbeat)
    if uri.channel_max:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max:
        fields["max_frame_size"] = uri.frame_max
    fields.update(options)
    fields["sasl"] = login(uri, options.get("sasl"), _MECHANISMS, secrets.token_urlsafe)
    return Config(**fields)


__all__ = ["ZeroTenOptions", "client_config", "prepare"]
