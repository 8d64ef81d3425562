"""The broker's time: `Clock`, which a test advances, and the `BrokerClock` inside, which the broker reads."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


class BrokerTimer:
    """A scheduled call of the broker's clock."""

    __slots__ = ("_when", "callback")

    def __init__(self, when: float, callback: Callable[[], object]) -> None:
        self._when = when
        """In seconds on the broker's clock."""
        self.callback: Callable[[], object] | None = callback
        """None once it is cancelled."""

    def cancel(self) -> None:
        """Cancel the call."""
        self.callback = None

    def when(self) -> float:
        """Return the time of the call, in seconds of the broker's clock."""
        return self._when


class BrokerClock:
    """The broker's time, in the thread of its event loop.

    With `virtual` it begins at 0 and stands still until it is moved. Otherwise it is the event loop's time, plus the
    time by which it was moved.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, *, virtual: bool) -> None:
        self.is_virtual = virtual
        """Whether it stands still until it is moved."""
        self._loop = loop
        """Whose time a real clock has, and whose thread this is."""
        self._now = 0.0
        """A virtual clock's seconds."""
        self._shift = 0.0
        """Seconds by which a real clock was moved."""
        self._timers: list[tuple[float, int, BrokerTimer]] = []
        """A heap, the next one first; some may be cancelled."""
        self._numbers = count()
        """Orders timers that are due together."""
        self._handle: asyncio.TimerHandle | None = None
        """The loop's timer for the next of these, of a real clock."""

    def time(self) -> float:
        """Return the seconds of the broker's clock."""
        return self._now if self.is_virtual else self._loop.time() + self._shift

    def call_at(self, when: float, callback: Callable[[], object], /) -> BrokerTimer:
        """Call `callback` at the time `when`."""
        timer = BrokerTimer(when, callback)
        heapq.heappush(self._timers, (when, next(self._numbers), timer))
        if self.is_virtual and when <= self._now:
            self._loop.call_soon(self.run_due)
        self._arm()
        return timer

    def next_timer(self) -> float | None:
        """Return the time of the next call; None: there is none."""
        timers = self._timers
        while timers and timers[0][2].callback is None:
            heapq.heappop(timers)
        return timers[0][0] if timers else None

    def move_to(self, when: float) -> None:
        """Move the time to `when`, without making calls yet; an earlier time changes nothing."""
        gain = when - self.time()
        if gain > 0:
            if self.is_virtual:
                self._now = when
            else:
                self._shift += gain
                self._arm(anew=True)

    def run_due(self) -> None:
        """Make the calls that are due, in order."""
        while (when := self.next_timer()) is not None and when <= self.time():
            timer = heapq.heappop(self._timers)[2]
            callback, timer.callback = timer.callback, None
            if callback is not None:
                callback()
        self._arm()

    def stop(self) -> None:
        """Make no more calls."""
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


__all__ = ["BrokerClock", "BrokerTimer"]
