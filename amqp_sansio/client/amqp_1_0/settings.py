"""The configuration of a 1.0 client, from a URL and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from ...amqp_1_0 import Config
from ...versions import AMQP_1_0
from ..settings import OWN_OPTIONS, check_options, connection_name, login, named, random_name

if TYPE_CHECKING:
    from ...limits import Limits
    from ...sasl import ClientMechanism
    from ...uri import AmqpUri
    from ..hooks import Hooks
    from ..settings import Draw

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN")
DEFAULT_IDLE_TIME_OUT: Final = 60.0
"""Default for the seconds of silence after which the peer counts as lost."""


class ConfigOptions(TypedDict, total=False):
    """The fields of `amqp_sansio.amqp_1_0.Config` that `connect` takes by keyword; they override the URL.

    `connection_name` goes into the open's properties, and the container-id begins with it unless that is given.
    """

    connection_name: str
    hooks: Hooks | None
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


def client_config(uri: AmqpUri, options: ConfigOptions, draw: Draw) -> Config:
    """Return the configuration for one connection, with fresh randomness for its name and for SCRAM.

    The hostname is the URL's host, or "vhost:NAME" if the URL names a virtual host other than "/", the form of RabbitMQ
    and Qpid. Without a user name in the URL, user and password are guest; `sasl=None` connects without SASL. Raises
    TypeError for an unknown option, ValueError.
    """
    check_options(AMQP_1_0, uri, options, ConfigOptions.__optional_keys__)
    heartbeat, name = uri.heartbeat, connection_name(uri, options)
    unique = random_name(draw)
    fields: dict[str, Any] = {
        "container_id": unique if name is None else f"{name}-{unique}",
        "hostname": uri.host if uri.vhost == "/" else f"vhost:{uri.vhost}",
        "idle_time_out": DEFAULT_IDLE_TIME_OUT if heartbeat is None else 2.0 * heartbeat,
    }
    if uri.channel_max is not None:
        fields["channel_max"] = uri.channel_max
    if uri.frame_max is not None:
        fields["max_frame_size"] = uri.frame_max
    fields.update(cast("dict[str, Any]", options))
    for own in OWN_OPTIONS:
        fields.pop(own, None)
    if "sasl" not in options or options["sasl"] is not None:
        fields["sasl"] = login(uri, options.get("sasl"), DEFAULT_MECHANISMS, draw)
    if name is not None:
        fields["properties"] = named(Config(**fields).properties, name)
    return Config(**fields)


__all__ = ["DEFAULT_IDLE_TIME_OUT", "DEFAULT_MECHANISMS", "ConfigOptions", "client_config"]
