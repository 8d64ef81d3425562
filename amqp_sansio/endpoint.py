"""Endpoint: the interface that every version's connection shares, and the names of its two sides."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .events import Event, Signal


class Side(Enum):
    """An end of a connection: the one that opened it, or the one that accepted it."""

    CLIENT = "client"
    SERVER = "server"

    other: Side
    """The opposite side."""


Side.CLIENT.other = Side.SERVER
Side.SERVER.other = Side.CLIENT


Role = Side
"""The role of an endpoint is its side."""


class CloseHint(Enum):
    """How to treat the transport once `data_to_send` has been written."""

    KEEP = "keep"
    """Leave it open."""
    CLOSE_WHEN_SENT = "close-when-sent"
    """Write what is queued, then close the transport; CLOSE_NOW follows after `close_timeout` seconds."""
    CLOSE_NOW = "close-now"
    """Close the transport at once without writing more."""


@runtime_checkable
class Endpoint(Protocol):
    """One end of one connection, as a pure value.

    Every adapter calls in the same order: take events until `Signal.NEED_DATA`, then write `data_to_send`, then look at
    `close_hint`, then wait for octets (at most `receive_budget`), for `next_deadline`, or for a command. The state is
    always that of the last event returned. `now` is in seconds, from any origin, finite and never decreasing
    (`ValueError`).
    """

    @property
    def role(self) -> Role: ...

    def receive_data(self, data: Buffer, now: float) -> None:
        """Queue octets that arrived at `now`. They are parsed only when events are taken.

        Raises LimitExceeded (the caller's fault) for more than `receive_budget` octets.
        """
        ...

    def receive_eof(self, now: float) -> None:
        """Note that the peer has ended its stream; takes effect after the octets that are still queued."""
        ...

    def connection_lost(self, reason: str, now: float) -> None:
        """Note that the transport is lost in both directions; takes effect after the octets that are still queued."""
        ...

    def next_event(self) -> Event | Signal:
        """Take one step and return an event, or what is needed to continue. Never raises for the peer's octets."""
        ...

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Return octets to write now, at most `max_bytes`; empty if there are none."""
        ...

    def handle_timeout(self, now: float) -> None:
        """Do everything that is due at `now`. A spurious call is a no-op."""
        ...

    @property
    def next_deadline(self) -> float | None:
        """When to call `handle_timeout`, in seconds on the caller's clock; None: never."""
        ...

    @property
    def receive_budget(self) -> int:
        """Octets that `receive_data` accepts now; 0 means stop reading."""
        ...

    @property
    def close_hint(self) -> CloseHint: ...

    @property
    def send_backlog(self) -> int:
        """Octets queued and not yet taken by `data_to_send`."""
        ...


__all__ = ["CloseHint", "Endpoint", "Role", "Side"]
