"""The TLS context of a URL."""

from __future__ import annotations

import errno
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from amqp_sansio.client.tls import NO_FILE, tls_settings, unverified

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri


def tls_for(uri: AmqpUri, given: ssl.SSLContext | None) -> tuple[ssl.SSLContext | None, str | None]:
    """Return the context and the server name; None and None for amqp URLs. Raises ValueError and OSError."""
    settings = tls_settings(uri, None if given is None else given.check_hostname)
    if settings is None:
        return None, None
    if given is not None:
        return given, settings.server_name
    for path in settings.files:
        if not Path(path).is_file():
            raise FileNotFoundError(errno.ENOENT, NO_FILE, path)
    context = ssl.create_default_context(cafile=settings.cacertfile)
    if not settings.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if settings.certfile is not None:
        context.load_cert_chain(settings.certfile, settings.keyfile)
    return context, settings.server_name


def tls_error(uri: AmqpUri, error: BaseException) -> BaseException:
    """Return the error of a handshake that failed, with a text that helps."""
    if isinstance(error, ssl.SSLCertVerificationError):
        error.strerror = unverified(uri, error.verify_message)
    elif isinstance(error, ssl.SSLError):
        text = f"no TLS with {uri.host}:{uri.port}, perhaps the port is one without TLS: {error}"
        return ssl.SSLError(error.errno, text)
    elif isinstance(error, TimeoutError):
        return TimeoutError(f"no TLS with {uri.host}:{uri.port}: no answer in time")
    return error


__all__ = ["tls_error", "tls_for"]
