"""Hints: what usually lies behind the classic ways in which connections of AMQP 0-10 end."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...endpoint import Side
from ...negotiation import version_of
from .states import Connection as State

if TYPE_CHECKING:
    from ..endpoint.connection import Connection

LOOKED_AT: Final = 8
"""How many first octets tell what a stream is."""
OTHER_VERSION: Final = "connect with the version the server offers; of today's brokers only Qpid speaks 0-10"

_TLS_RECORDS: Final = (0x15, 0x16)
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
    if len(first) >= 2 and first[0] in _TLS_RECORDS and first[1] == 3:
        return "these are TLS records on a connection without TLS; use amqps, or the other port"
    if first[:4] in (b"HTTP", b"GET ", b"POST", b"HEAD", b"PUT "):
        return "this is HTTP, perhaps the management port"
    if first[:4] == b"AMQP" and len(first) >= 8:
        version = version_of(first[:8])
        spoken = f"protocol {'-'.join(map(str, first[4:8]))}" if version is None else version.label
        return f"the peer speaks {spoken}"
    return ""


def for_close(code: int) -> str:
    """The usual cause behind a peer's close."""
    return _BY_CODE.get(code, "")


def for_octets(connection: Connection) -> str:
    """The usual cause of octets that are no AMQP, read from how the stream began."""
    return of_first_octets(connection.first_octets(LOOKED_AT))


def for_lost(connection: Connection, kind: str) -> str:
    """The usual cause of a transport that vanished in this state."""
    if kind == "silent":
        return "the peer or the network is dead, or its process is stopped"
    return "" if connection.role is Side.SERVER else of_state(connection._state)


def of_state(state: State) -> str:
    """The usual cause of a server that hangs up in this state."""
    if state is State.HEADER_SENT:
        return "the server hung up on the protocol header; it may want TLS, or not speak 0-10"
    if state in (State.AUTHENTICATING, State.CHALLENGED, State.STARTED):
        return "the server hung up during the login: wrong user, password or mechanism"
    if state in (State.TUNED, State.OPENING):
        return "the server hung up before open-ok: the virtual host is missing, or the tuning was refused"
    return ""
