"""Endpoint: what an object has that is one end of a connection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ._sides import CloseHint, Role
    from .events import Event, Signal


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


__all__ = ["Endpoint"]
