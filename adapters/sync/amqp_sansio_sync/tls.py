"""The TLS settings of a URL."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri


def tls(uri: AmqpUri, given: ssl.SSLContext | None) -> tuple[ssl.SSLContext | None, str | None]:
    """Return the context and the server name for TLS; None and None for amqp URLs."""
    if not uri.tls:
        if given is not None:
            raise ValueError("an ssl context was given for an amqp:// URL; write amqps://")
        return None, None
    if given is not None:
        if any(each is not None for each in (uri.cacertfile, uri.certfile, uri.keyfile, uri.verify)):
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
        return context, None
    return context, name


__all__ = ["tls"]
