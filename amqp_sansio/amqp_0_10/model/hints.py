"""Hints: what usually lies behind the classic ways in which connections of AMQP 0-10 end."""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._core.hints import HUNG_UP as IN_EVERY_VERSION
from ..._core.hints import of_foreign
from ..._core.hints import of_state as of_state
from ...versions import version_of

if TYPE_CHECKING:
    from typing import Final

LOOKED_AT: Final = 8
"""How many first octets tell what a stream is."""
OTHER_VERSION: Final = "connect with the version the server offers; of today's brokers only Qpid speaks 0-10"

HUNG_UP: Final = {
    **IN_EVERY_VERSION,
    "header": "the server hung up on the protocol header; it may want TLS, or not speak 0-10",
    "tuned": "the server hung up before open-ok: the virtual host is missing, or the tuning was refused",
}
_BY_CODE: Final = {
    320: "the server is shutting down, an operator closed the connection, or the login was refused",
    402: "the virtual host does not exist",
    501: "the peer could not read a frame: two writers on one connection, or a frame above max-frame-size",
}


def of_first_octets(first: bytes) -> str:
    """The usual cause of a stream that begins with `first`.

    >>> of_first_octets(b"HTTP/1.1")
    'this is HTTP, perhaps the management port'
    """
    if first[:4] == b"AMQP" and len(first) >= 8:
        version = version_of(first[:8])
        spoken = f"protocol {'-'.join(map(str, first[4:8]))}" if version is None else version.label
        return f"the peer speaks {spoken}"
    return of_foreign(first)


def for_close(code: int) -> str:
    """The usual cause behind a peer's close."""
    return _BY_CODE.get(code, "")
