"""The TLS layer that a header of its own begins inside the connection (1.0 part 5 section 5.2)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...endpoint import Side
from ...errors import LocalProtocolError
from ..codec.frames import TLS_HEADER
from .events import TlsStarted
from .stages import Stage

if TYPE_CHECKING:
    from .connection import Connection

TLS: Final = "TLS"


def is_wanted(connection: Connection) -> bool:
    """Whether TLS is still to come before any other layer, or may come."""
    return connection.config.tls and not connection._tls


def begin(connection: Connection) -> None:
    """Both headers ask for TLS: a server answers with its own, and from here on the octets are the adapter's."""
    if connection.role is Side.SERVER:
        connection._out.append(TLS_HEADER)
    connection._waiting_for = TLS
    connection._events.append(TlsStarted())


def take_octets(connection: Connection) -> bytes:
    """What came behind the header belongs to TLS."""
    _check(connection)
    return connection._buffer.take_all()


def established(connection: Connection) -> None:
    """The handshake is over; the peers begin anew with headers, now in the tunnel."""
    from . import opening

    _check(connection)
    if len(connection._buffer):
        raise LocalProtocolError(
            f"{len(connection._buffer)} octets came behind the TLS header and aren't AMQP; "
            "take them with tls_octets() and give them to TLS",
            rule="1.0/security/tls/inner-header",
        )
    connection._tls = True
    connection._waiting_for = None
    connection._stage = Stage.FIRST
    if connection.role is Side.CLIENT:
        opening.start(connection)


def _check(connection: Connection) -> None:
    if connection._waiting_for != TLS or connection._lost:
        raise LocalProtocolError("no TLS layer is waiting to be established; TlsStarted says when one is")
