"""Side and CloseHint: who is who on a connection, and what becomes of its transport."""

from __future__ import annotations

from enum import Enum


class Side(Enum):
    """An end of a connection: the one that opened it, or the one that accepted it."""

    # Where users import it from: pickles and the reference name it so.
    __module__ = "amqp_sansio.endpoint"

    CLIENT = "client"
    SERVER = "server"

    other: Side
    """The opposite side."""


Side.CLIENT.other = Side.SERVER
Side.SERVER.other = Side.CLIENT


Role = Side
"""The role of an endpoint is its side."""


class CloseHint(Enum):
    """Tells how to treat the transport once `data_to_send` has been written."""

    __module__ = "amqp_sansio.endpoint"

    KEEP = "keep"
    """Leave it open."""
    CLOSE_WHEN_SENT = "close-when-sent"
    """Write what is queued, then close the transport; CLOSE_NOW follows after `close_timeout` seconds."""
    CLOSE_NOW = "close-now"
    """Close the transport at once without writing more."""


__all__ = ["CloseHint", "Role", "Side"]
