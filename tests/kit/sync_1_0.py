"""What tests of the blocking 1.0 adapter do to make a connection read."""

from __future__ import annotations

from amqp_sansio_sync import Session
from amqp_sansio_sync.amqp_1_0 import Connection


def turn(connection: Connection) -> bool:
    """Have the connection read: a session comes and goes."""
    connection.open_session().close()
    return True


def look(session: Session) -> bool:
    """Have the session's connection read: a link comes and goes."""
    session.open_sender("look").close()
    return True


__all__ = ["look", "turn"]
