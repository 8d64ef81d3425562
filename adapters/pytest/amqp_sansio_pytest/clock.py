"""Clock: the broker's time, in the test's hand."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .served import ServedBroker


class Clock:
    """The broker's time, for times to live, expiring queues, heartbeats, timeouts of openings and closings.

    A virtual clock begins at 0 and stands still between two calls of `advance`. Clients live in real time: the broker's
    heartbeats, too, are sent only when its clock is advanced, so a client that expects them every few seconds, in a
    test that takes longer, needs the real clock (`clock="real"`), which runs by itself and can be advanced as well.
    """

    def __init__(self, broker: ServedBroker, *, virtual: bool) -> None:
        self._broker = broker
        self.is_virtual = virtual
        """Whether it stands still between two calls of `advance`."""

    @property
    def now(self) -> float:
        """Seconds on the broker's clock."""
        return self._broker.call(self._broker.service.clock.time)

    def advance(self, seconds: float, *, silent: bool = False) -> float:
        """Advance the clock: everything due in that time happens, in order, before this returns. Returns `now`.

        Clients count as alive meanwhile, except those whose octets a fault keeps from the broker (`faults.stall`,
        `faults.drop`), and with `silent` all of them. Clients that are silent for too long are disconnected.

        Raises ValueError for a negative or infinite number of seconds.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(f"the clock can't advance by {seconds} seconds")
        service = self._broker.service
        return self._broker.run(lambda: service.advance(seconds, silent=silent))

    def __repr__(self) -> str:
        return f"<Clock, {'virtual' if self.is_virtual else 'real'}>"


__all__ = ["Clock"]
