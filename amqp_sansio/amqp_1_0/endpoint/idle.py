"""Deadlines of a connection: empty frames for the peer, an end with a peer that is silent, that doesn't finish the
opening, or doesn't answer a close (1.0 part 2 sections 2.4.3 and 2.4.5)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ...events import By, CloseReport
from ..codec.conditions import RESOURCE_LIMIT_EXCEEDED
from ..codec.frames import EMPTY_FRAME
from ..codec.violation import Violation
from ..model import states
from . import closing, endings, opening
from .session import make_error
from .stages import Stage

if TYPE_CHECKING:
    from .connection import Connection

_OPENING: Final = frozenset({Stage.FIRST, Stage.SASL, Stage.HEADER, Stage.OPENING})
_HINT: Final = "the peer or the network is dead, or its process is stopped"


def arm(connection: Connection, now: float) -> None:
    """The opening is timed from the first turn of the loop on, a close from when it has left."""
    timers = connection._timers
    if connection._stage in _OPENING or connection._waiting_for == opening.OPEN:
        if "handshake" not in timers.deadlines:
            timers.set("handshake", now + connection.config.handshake_timeout)
    elif connection._stage is Stage.CLOSING and (
        connection._out.size or "close" not in timers.deadlines
    ):
        timers.set("close", now + connection.config.close_timeout)


def send_deadline(connection: Connection) -> float | None:
    """When something has to be sent: half of what the peer announced after the last octets, both opens being out."""
    if not connection._send_within or connection._out.size or connection._last_sent is None:
        return None
    if connection._half.state is not states.Connection.OPEN:
        return None
    return connection._last_sent + connection._send_within / 2


def keep_alive(connection: Connection, now: float) -> None:
    """Send an empty frame when it's due, or close when it comes too late: the peer bears twice what it announced."""
    due = send_deadline(connection)
    if due is None or due > now:
        return
    late = 2 * connection._send_within
    silent = now - (connection._last_sent or 0.0)
    if silent > late:
        text = f"this end sent nothing for {silent:g} seconds, the peer bears {late:g}"
        report = CloseReport(By.LOCAL, 0, text, condition=RESOURCE_LIMIT_EXCEEDED)
        closing.send_close(connection, report, make_error(RESOURCE_LIMIT_EXCEEDED, text))
        endings.connection_ended(connection, report)
        return
    connection._joint.step_empty(connection._side)
    connection._out.append(EMPTY_FRAME)


def silence_deadline(connection: Connection) -> float | None:
    """When the peer has been silent for too long; None while nothing can be read."""
    threshold = connection.config.idle_time_out
    if not threshold or connection._last_received is None or not connection.is_open:
        return None
    return connection._last_received + threshold if connection.receive_budget else None


def watch(connection: Connection, now: float) -> None:
    """Close with an error when the peer has been silent for too long, and wait as long again for its close."""
    deadline = silence_deadline(connection)
    if deadline is None or deadline > now:
        return
    threshold = connection.config.idle_time_out
    text = f"nothing arrived for {threshold:g} seconds"
    rule = "transport/connection/idle-close"
    closing.fail(connection, Violation(RESOURCE_LIMIT_EXCEEDED, text, rule=rule), _HINT)
    connection._timers.set("close", now + threshold)
