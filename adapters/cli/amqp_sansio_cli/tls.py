"""TLS contexts of the commands, from files."""

from __future__ import annotations

import ssl
import sys
from pathlib import Path

from .errors import CommandError


def make_context(certificate: Path | None, key: Path | None, authority: Path | None) -> ssl.SSLContext | None:
    """Return the TLS context, if there is a certificate; with an authority, client certificates are checked.

    Raises CommandError.
    """
    if certificate is None:
        if key is not None or authority is not None:
            raise CommandError("--tls-key and --tls-ca need --tls-cert")
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for path in (certificate, key, authority):
        if path is not None and not path.is_file():
            raise CommandError(f"{path}: no such file")
    terminal = sys.stdin is not None and sys.stdin.isatty()
    try:
        context.load_cert_chain(certificate, key, None if terminal else _no_password)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"{certificate}: isn't a certificate with its key ({_reason(error)})") from None
    if authority is not None:
        try:
            context.load_verify_locations(authority)
        except (OSError, ssl.SSLError) as error:
            raise CommandError(f"{authority}: isn't a certificate ({_reason(error)})") from None
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def upstream_context(wanted: bool, authority: Path | None) -> ssl.SSLContext | None:
    """Return the TLS context with a broker, whose certificate is verified against `authority` or the system's.

    Raises CommandError.
    """
    if authority is not None and not authority.is_file():
        raise CommandError(f"{authority}: no such file")
    if not wanted and authority is None:
        return None
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as error:
        raise CommandError(f"{authority}: isn't a certificate ({_reason(error)})") from None


def _reason(error: OSError) -> str:
    reason: object = getattr(error, "reason", None)
    text = str(reason or error.strerror or error).partition(" (_ssl.c:")[0].removeprefix("[SSL] ")
    return text.replace("_", " ").lower()


def _no_password() -> str:
    raise CommandError("the key of --tls-cert is encrypted, and there is no terminal to ask for its password")
