"""The broker's time: `Clock`, which a test moves on, and `BrokerClock` beneath it, which the broker asks."""

from __future__ import annotations

import asyncio
import heapq
import math
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .embedded import EmbeddedBroker


class BrokerTimer:
    """A call that the broker's clock is to make."""

    __slots__ = ("_when", "callback")

    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self._when = when
        self.callback: Callable[[], object] | None = callback

    def cancel(self) -> None:
        """Let it not come."""
        self.callback = None

    def when(self) -> float:
        """When it comes, in seconds on the broker's clock."""
        return self._when


class BrokerClock:
    """The time as the broker has it, in the thread of its event loop.

    With `virtual` it begins at 0 and stands still till it's moved. Else it's the event loop's, and what it was moved on
    is added to it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, virtual: bool) -> None:
        self.is_virtual = virtual
        self._loop = loop
        self._now = 0.0
        self._shift = 0.0
        self._timers: list[tuple[float, int, BrokerTimer]] = []
        self._numbers = count()
        self._handle: asyncio.TimerHandle | None = None

    def time(self) -> float:
        """Seconds on the broker's clock."""
        return self._now if self.is_virtual else self._loop.time() + self._shift

    def call_at(self, when: float, callback: Callable[[], object], /) -> BrokerTimer:
        """Call `callback` when it is `when`."""
        timer = BrokerTimer(when, callback)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        if self.is_virtual and when <= self._now:
            self._loop.call_soon(self.run_due)
        self._arm()
        return timer

    def next_timer(self) -> float | None:
        """When the next call comes; None: there is none to come."""
        timers = self._timers
        while timers and timers[0][2].callback is None:
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def move_to(self, when: float) -> None:
        """Let it be `when`, and make no call yet; a time that is over changes nothing."""
        gain = when - self.time()
        if gain > 0:
            if self.is_virtual:
                self._now = when
            else:
                self._shift += gain
                self._arm(anew=True)

    def run_due(self) -> None:
        """Make the calls that have come due, in their order."""
        while (when := self.next_timer()) is not None and when <= self.time():
            timer = heapq.heappop(self._timers)[2]
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
        self._arm()

    def stop(self) -> None:
        """Make no call any more."""
        self._timers.clear()
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _arm(self, *, anew: bool = False) -> None:
        if self.is_virtual:
            return
        when = self.next_timer()
        handle = self._handle
        if when is None or (handle is not None and handle.when() <= when - self._shift and not anew):
            return
        if handle is not None:
            handle.cancel()
        self._handle = self._loop.call_at(when - self._shift, self._on_handle)

    def _on_handle(self) -> None:
        self._handle = None
        self.run_due()


class Clock:
    """What time it is for the broker: times to live, expiring queues, heartbeats, timeouts of openings and closings.

    A virtual clock begins at 0 and stands still between two calls of `advance`. Clients live in real time: the broker's
    heartbeats, too, are sent when its clock is moved on, so that a client that wants them every few seconds, in a test
    that takes longer, needs the real clock (`clock="real"`), which runs by itself and can be moved on as well.
    """

    def __init__(self, broker: EmbeddedBroker, *, virtual: bool) -> None:
        self._broker = broker
        self.is_virtual = virtual
        """Whether it stands still between two calls of `advance`."""

    @property
    def now(self) -> float:
        """Seconds on the broker's clock."""
        return self._broker.call(self._broker.service.clock.time)

    def advance(self, seconds: float, *, silent: bool = False) -> float:
        """Let so many seconds pass: all that is due in them happens, in its order, before this returns. Gives `now`.

        Clients count as alive meanwhile, as they are: only those whose octets a fault keeps from the broker
        (`faults.stall`, `faults.drop`) are silent, and with `silent` all are. Who is silent for too long is
        disconnected.

        Raises ValueError for a negative or infinite number of seconds.
        """
        if not 0 <= seconds < math.inf:
            raise ValueError(f"the clock can't be moved on by {seconds} seconds")
        service = self._broker.service
        return self._broker.run(lambda: service.advance(seconds, silent=silent))

    def __repr__(self) -> str:
        return f"<Clock, {'virtual' if self.is_virtual else 'real'}>"


__all__ = ["BrokerClock", "BrokerTimer", "Clock"]
