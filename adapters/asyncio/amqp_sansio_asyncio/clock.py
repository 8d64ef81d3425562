"""Clock: the source of a driver's time; an event loop is one, and `VirtualClock` is advanced by hand."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol, runtime_checkable


class Timer(Protocol):
    """A scheduled call."""

    def cancel(self) -> None:
        """Cancel the call."""
        ...

    def when(self) -> float:
        """Return the time of the call, in seconds on its clock."""
        ...


class Clock(Protocol):
    """Seconds from any origin that never decrease, and scheduled calls."""

    def time(self) -> float:
        """Return the current time."""
        ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call `callback` at the time `when`."""
        ...


@runtime_checkable
class Calendar(Protocol):
    """An event loop with a time of day of its own, such as a simulated one."""

    def time_of_day(self) -> float:
        """Return the seconds since 1970."""
        ...


def time_of_day(loop: asyncio.AbstractEventLoop) -> float:
    """Return the seconds since 1970: the machine's, or those of a loop that is a `Calendar`."""
    return loop.time_of_day() if isinstance(loop, Calendar) else time.time()


class VirtualTimer:
    """A scheduled call of a `VirtualClock`."""

    __slots__ = ("_callback", "_number", "_when")

    def __init__(self, when: float, number: int, callback: Callable[[], object]) -> None:
        self._when = when
        """In seconds on its clock."""
        self._number = number
        """The order of those that are due together."""
        self._callback: Callable[[], object] | None = callback
        """None once it is cancelled."""

    def cancel(self) -> None:
        self._callback = None

    def when(self) -> float:
        return self._when

    def run(self) -> None:
        """Make the call, unless it was cancelled."""
        callback, self._callback = self._callback, None
        if callback is not None:
            callback()

    def __lt__(self, other: VirtualTimer) -> bool:
        return (self._when, self._number) < (other._when, other._number)


class VirtualClock:
    """A clock that moves only by `advance`, which makes all calls that come due, in order.

    It belongs to the event loop's thread.

    >>> clock = VirtualClock()
    >>> for seconds in (2.0, 1.0, 5.0):
    ...     timer = clock.call_at(seconds, lambda: print("at", clock.time()))
    >>> clock.advance(3)
    at 1.0
    at 2.0
    >>> clock.time()
    3.0
    """

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        """In seconds; only `advance` changes it."""
        self._timers: list[VirtualTimer] = []
        """A heap, the next one first; some may be cancelled."""
        self._numbers = 0
        """The last number of a timer."""

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object], /) -> VirtualTimer:
        self._numbers += 1
        timer = VirtualTimer(when, self._numbers, callback)
        heappush(self._timers, timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Move the clock forward. Raises ValueError for a negative number of seconds."""
        if not seconds >= 0:
            raise ValueError(f"the clock can't advance by {seconds} seconds")
        until = self._now + seconds
        while self._timers and self._timers[0].when() <= until:
            timer = heappop(self._timers)
            self._now = max(self._now, timer.when())
            timer.run()
        self._now = until


__all__ = ["Clock", "Timer", "VirtualClock", "VirtualTimer"]
