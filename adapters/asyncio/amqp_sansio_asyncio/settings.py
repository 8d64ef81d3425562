"""What `connect` makes of a URL and its options: the core's configuration, TLS, deadlines."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from amqp_sansio.amqp_0_9_1 import Config
from amqp_sansio.sasl import client_mechanisms, with_nonce
from amqp_sansio.uri import AmqpUri

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_9_1 import Dialect
    from amqp_sansio.limits import Limits
    from amqp_sansio.sasl import ClientMechanism

DEFAULT_MECHANISMS = ("SCRAM-SHA-256", "PLAIN", "AMQPLAIN")


class ConfigOptions(TypedDict, total=False):
    """The fields of `Config` that `connect` takes by keyword; they win over the URL."""

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
    """The configuration for one connection, with fresh randomness for SCRAM.

    Without a user name in the URL it is guest with the password guest.
    """
    fields: dict[str, Any] = {"vhost": uri.vhost}
    for name in ("heartbeat", "channel_max", "frame_max"):
        value = getattr(uri, name)
        if value is not None:
            fields[name] = value
    for name, value in options.items():
        fields[name] = value
    given = options.get("sasl")
    mechanisms: tuple[ClientMechanism, ...]
    if given is None:
        user = "guest" if uri.user is None else uri.user
        password = "guest" if uri.user is None and uri.password is None else uri.password or ""
        names = uri.auth_mechanism or DEFAULT_MECHANISMS
        mechanisms = client_mechanisms(names, user, password)
    else:
        mechanisms = given if isinstance(given, tuple) else (given,)
    # 24 octets of randomness are 192 bits; RFC 5802 wants a nonce that nobody can guess.
    fields["sasl"] = tuple([with_nonce(each, secrets.token_urlsafe(24)) for each in mechanisms])
    return Config(**fields)


def replace(config: Config, **changes: object) -> Config:
    """A configuration like `config` but for `changes`."""
    fields: dict[str, Any] = {name: getattr(config, name) for name in config.__match_args__}
    fields.update(changes)
    return Config(**fields)


def tls_for(uri: AmqpUri, given: ssl.SSLContext | None) -> tuple[ssl.SSLContext | None, str | None]:
    """The context and the server name for TLS; None and None for amqp URLs.

    Certificates are verified against the system's authorities, or those of `cacertfile`, and the
    host name is checked, unless the URL says verify=verify_none or a context is given. Raises
    ValueError for what doesn't go together, OSError for files that can't be read.
    """
    if not uri.tls:
        if given is not None:
            raise ValueError("an ssl context was given for an amqp:// URL; write amqps://")
        return None, None
    files = (uri.cacertfile, uri.certfile, uri.keyfile, uri.verify)
    if given is not None:
        if any(value is not None for value in files):
            raise ValueError("TLS is set up by the URL and by an ssl context; use one of them")
        context = given
    else:
        context = ssl.create_default_context(cafile=uri.cacertfile)
        if uri.verify == "verify_none":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if uri.certfile is not None:
            context.load_cert_chain(uri.certfile, uri.keyfile)
        elif uri.keyfile is not None:
            raise ValueError("the URL has a keyfile but no certfile")
    name = uri.server_name_indication or uri.host
    if name == "disable":
        if context.check_hostname:
            raise ValueError(
                "server_name_indication=disable leaves no name to check the certificate against; "
                "it needs verify=verify_none"
            )
        name = ""
    return context, name


__all__ = ["DEFAULT_MECHANISMS", "ConfigOptions", "client_config", "replace", "tls_for"]
