"""Endpoint: the edge that every version's connection shares, and the words for its two sides."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .events import Event, Signal


class Side(Enum):
    """Which end of a connection: the one that opened it, or the one that accepted it."""

    CLIENT = "client"
    SERVER = "server"

    @property
    def other(self) -> Side:
        """The opposite side."""
        return Side.SERVER if self is Side.CLIENT else Side.CLIENT


Role = Side
"""The role of an endpoint is the side it stands on."""


class CloseHint(Enum):
    """What to do with the transport once `data_to_send` has been written."""

    KEEP = "keep"
    """Go on."""
    CLOSE_WHEN_SENT = "close-when-sent"
    """Write what is queued, then close the transport."""
    CLOSE_NOW = "close-now"
    """Close the transport at once; nothing more goes out."""


@runtime_checkable
class Endpoint(Protocol):
    """One end of one connection, as a pure value.

    Call order, the same in every adapter: take events until `Signal.NEED_DATA`, then write `data_to_send`, then look
    at `close_hint`, then wait for octets (at most `receive_budget`), for `next_deadline`, or for a command. The state
    is always the state as of the last event returned. `now` is in seconds, from any origin, finite and never smaller
    than before (`ValueError`).
    """

    @property
    def role(self) -> Role: ...

    def receive_data(self, data: Buffer, now: float) -> None:
        """Queue octets that arrived at `now`. Nothing is parsed before an event is taken.

        Raises LimitExceeded (the caller's fault) for more than `receive_budget` octets.
        """
        ...

    def receive_eof(self, now: float) -> None:
        """The peer has ended its stream; takes effect after the octets that are still queued."""
        ...

    def connection_lost(self, reason: str, now: float) -> None:
        """The transport is gone, both ways; takes effect after the octets that are still queued."""
        ...

    def next_event(self) -> Event | Signal:
        """Take one step and return what happened, or what is needed to go on. Never raises for the peer's octets."""
        ...

    def data_to_send(self, now: float, max_bytes: int | None = None) -> bytes:
        """Octets to write now, at most `max_bytes`; empty when there are none."""
        ...

    def handle_timeout(self, now: float) -> None:
        """Do what is due at `now`. A call too many does nothing."""
        ...

    @property
    def next_deadline(self) -> float | None:
        """When `handle_timeout` wants to be called, in seconds on the caller's clock; None: never."""
        ...

    @property
    def receive_budget(self) -> int:
        """Octets the endpoint still takes; 0 means stop reading."""
        ...

    @property
    def close_hint(self) -> CloseHint: ...

    @property
    def send_backlog(self) -> int:
        """Octets queued and not yet taken by `data_to_send`."""
        ...
