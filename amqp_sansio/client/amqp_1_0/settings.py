"""The configuration of a 1.0 client, from a URL and options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypedDict, cast

from ...amqp_1_0 import Config
from ...versions import AMQP_1_0
from ..settings import OWN_OPTIONS, check_options, connection_name, login, named, random_name

if TYPE_CHECKING:
    from ...limits import Limits
    from ...sasl import ClientMechanism, MechanismRegistry
    from ...uri import AmqpUri
    from ..hooks import Hooks
    from ..metrics import OnMetrics
    from ..settings import Draw
    from .cbs import Cbs, TokenProvider

DEFAULT_MECHANISMS: Final = ("SCRAM-SHA-256", "PLAIN")
CBS_MECHANISMS: Final = ("MSSBCBS", "ANONYMOUS")
"""Those of a client that puts tokens, and has no user."""
DEFAULT_IDLE_TIME_OUT: Final = 60.0
"""Default for the seconds of silence after which the peer counts as lost."""


class ConfigOptions(TypedDict, total=False):
    """The fields of `amqp_sansio.amqp_1_0.Config` that `connect` takes by keyword; they override the URL.

    `connection_name` goes into the open's properties, and the container-id begins with it unless that is given.

    `cbs` says where the tokens come from that a peer with claims-based security wants, such as Azure Service Bus: see
    `amqp_sansio.client.amqp_1_0.cbs`. Without a user in the URL the client then logs in by MSSBCBS or ANONYMOUS.

    `answer_timeout` bounds the wait for each answer that the peer owes, 60 seconds by default; `outcome_timeout` bounds
    the wait for what becomes of a message, and for credit to send it, 300 seconds by default. None: no bound.
    """

    cbs: TokenProvider | Cbs | None
    connection_name: str
    hooks: Hooks | None
    on_metrics: OnMetrics | None
    answer_timeout: float | None
    outcome_timeout: float | None
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
    strict: bool
    whole_lists: bool | None
    limits: Limits
    registry: MechanismRegistry


def client_config(uri: AmqpUri, options: ConfigOptions, draw: Draw) -> Config:
    """Return the configuration for one connection, with fresh randomness for its name and for SCRAM.

    The hostname is the URL's host, or "vhost:NAME" if the URL names a virtual host other than "/", the form of
    RabbitMQ; Qpid's brokers want `hostname="NAME"`, which the neutral client says with `addresses="qpid"`. Without a
    user name in the URL, user and password are guest; `sasl=None` connects without SASL. Raises TypeError for an
    unknown option, ValueError.
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
    for own in (*OWN_OPTIONS, "cbs"):
        fields.pop(own, None)
    if "sasl" not in options or options["sasl"] is not None:
        # Who brings tokens has no name to log in with, unless the URL says one.
        nameless = options.get("cbs") is not None and uri.user is None
        fields["sasl"] = login(uri, options, CBS_MECHANISMS if nameless else DEFAULT_MECHANISMS, draw)
    if name is not None:
        fields["properties"] = named(Config(**fields).properties, name)
    return Config(**fields)


__all__ = ["DEFAULT_IDLE_TIME_OUT", "DEFAULT_MECHANISMS", "ConfigOptions", "client_config"]
