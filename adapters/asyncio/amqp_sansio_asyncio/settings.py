"""The settings of `connect` from a URL in every version: login and TLS."""

from __future__ import annotations

import secrets
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from amqp_sansio.sasl import client_mechanisms, with_nonce
from amqp_sansio.uri import AmqpUri

if TYPE_CHECKING:
    from amqp_sansio.sasl import ClientMechanism

_C = TypeVar("_C")


def login(
    uri: AmqpUri, given: ClientMechanism | tuple[ClientMechanism, ...] | None, names: Sequence[str]
) -> tuple[ClientMechanism, ...]:
    """Return the mechanisms `given`, or those called `names` with the user of the URL, each with fresh randomness for
    SCRAM.

    Without a user name in the URL, user and password are guest.
    """
    mechanisms: tuple[ClientMechanism, ...]
    if given is None:
        user = "guest" if uri.user is None else uri.user
        password = "guest" if uri.user is None and uri.password is None else uri.password or ""
        mechanisms = client_mechanisms(uri.auth_mechanism or names, user, password)
    else:
        mechanisms = given if isinstance(given, tuple) else (given,)
    # 24 random octets are 192 bits; RFC 5802 requires an unpredictable nonce.
    return tuple([with_nonce(each, secrets.token_urlsafe(24)) for each in mechanisms])


def replace(config: _C, **changes: object) -> _C:
    """Return a configuration of any version with `changes`."""
    names: tuple[str, ...] = getattr(config, "__match_args__")  # noqa: B009
    fields: dict[str, Any] = {name: getattr(config, name) for name in names}
    fields.update(changes)
    return type(config)(**fields)


def tls_for(uri: AmqpUri, given: ssl.SSLContext | None) -> tuple[ssl.SSLContext | None, str | None]:
    """Return the context and the server name for TLS; None and None for amqp URLs.

    Certificates are verified against the system's authorities, or those of `cacertfile`, and the host name is checked,
    unless the URL says verify=verify_none or a context is given. Raises ValueError for contradictory arguments, OSError
    for unreadable files.
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


__all__ = ["login", "replace", "tls_for"]
