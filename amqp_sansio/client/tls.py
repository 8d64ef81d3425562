"""The TLS that a URL asks for, as names and files; an adapter makes its context of them."""

from __future__ import annotations

from .._ground.record import record
from ..uri import AmqpUri, secured

NO_FILE = "the URL names a file for TLS that isn't there"
"""The text of an adapter's FileNotFoundError, before the path."""


@record
class TlsSettings:
    """The parameters of a URL that concern TLS."""

    cacertfile: str | None
    """The certificates of the authorities to trust; None for the system's."""
    certfile: str | None
    """The client's certificate, and its key in `keyfile` or in the same file."""
    keyfile: str | None
    verify: bool
    """Whether the server's certificate and host name are checked."""
    server_name: str | None
    """The name to send and to check; None sends no name."""

    @property
    def files(self) -> tuple[str, ...]:
        """The files that must be there."""
        return tuple(path for path in (self.cacertfile, self.certfile, self.keyfile) if path is not None)


def tls_settings(uri: AmqpUri, own_checks_name: bool | None) -> TlsSettings | None:
    """Return the TLS of an amqps URL, None for an amqp URL.

    `own_checks_name` says whether the context that the user gave checks the host name; None if none was given. Raises
    ValueError for arguments that contradict each other.
    """
    own = own_checks_name is not None
    if not uri.tls:
        if own:
            raise ValueError(f"an ssl context was given for an {uri.scheme}:// URL; write {secured(uri.scheme)}://")
        return None
    if own and any(value is not None for value in (uri.cacertfile, uri.certfile, uri.keyfile, uri.verify)):
        raise ValueError("TLS is set up by the URL and by an ssl context; use one of them")
    if uri.keyfile is not None and uri.certfile is None:
        raise ValueError("the URL has a keyfile but no certfile")
    verify = uri.verify != "verify_none"
    name: str | None = uri.server_name_indication or uri.host
    if name == "disable":
        if own_checks_name or (not own and verify):
            raise ValueError(
                "server_name_indication=disable leaves no name to check the certificate against; "
                "it needs verify=verify_none"
            )
        name = None
    return TlsSettings(uri.cacertfile, uri.certfile, uri.keyfile, verify, name)


def unverified(uri: AmqpUri, why: str) -> str:
    """Return the text of an adapter's error for a certificate that isn't accepted."""
    return (
        f"no TLS with {uri.host}:{uri.port}: {why}. In the URL, cacertfile is the file of the authority that signed "
        "the certificate (itself, if nobody else did), server_name_indication the name that it is for"
    )


__all__ = ["NO_FILE", "TlsSettings", "tls_settings", "unverified"]
