"""TLS of `connect`, from a URL or a context."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path

from amqp_sansio.uri import AmqpUri


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
        if uri.keyfile is not None and uri.certfile is None:
            raise ValueError("the URL has a keyfile but no certfile")
        for path in (uri.cacertfile, uri.certfile, uri.keyfile):
            if path is not None and not Path(path).is_file():
                raise FileNotFoundError(errno.ENOENT, "the URL names a file for TLS that isn't there", path)
        context = ssl.create_default_context(cafile=uri.cacertfile)
        if uri.verify == "verify_none":
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if uri.certfile is not None:
            context.load_cert_chain(uri.certfile, uri.keyfile)
    name = uri.server_name_indication or uri.host
    if name == "disable":
        if context.check_hostname:
            raise ValueError(
                "server_name_indication=disable leaves no name to check the certificate against; "
                "it needs verify=verify_none"
            )
        name = ""
    return context, name


__all__ = ["tls_for"]
