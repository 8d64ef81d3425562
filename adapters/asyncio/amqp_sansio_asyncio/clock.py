"""Clock: where a driver's time comes from; the event loop is one, `VirtualClock` one that waits to be told."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None:
        """Let it not come."""
        ...

    def when(self) -> float:
        """When it comes, in seconds on its clock."""
        ...


class Clock(Protocol):
    """Seconds from any origin that never go back, and calls at a later time."""

    def time(self) -> float:
        """What the time is."""
        ...

    def call_at(self, when: float, callback: Callable[[], object], /) -> Timer:
        """Call `callback` when the time is `when`."""
        ...


class VirtualTimer:
    """A call that a `VirtualClock` is to make."""

    __slots__ = ("_callback", "_number", "_when")

    def __init__(self, when: float, number: int, callback: Callable[[], object]) -> None:
        self._when = when
        self._number = number
        self._callback: Callable[[], object] | None = callback

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
    """A clock whose time passes only by `advance`, which makes all calls that come due, in their order.

    It belongs to the thread in which the event loop runs.

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
        self._timers: list[VirtualTimer] = []
        self._numbers = 0

    def time(self) -> float:
        return self._now

    def call_at(self, when: float, callback: Callable[[], object], /) -> VirtualTimer:
        self._numbers += 1
        timer = VirtualTimer(when, self._numbers, callback)
        heappush(self._timers, timer)
        return timer

    def advance(self, seconds: float) -> None:
        """Let so many seconds pass. Raises ValueError for fewer than none."""
        if not seconds >= 0:
            raise ValueError(f"time doesn't pass by {seconds} seconds")
        until = self._now + seconds
        while self._timers and self._timers[0].when() <= until:
            timer = heappop(self._timers)
            self._now = max(self._now, timer.when())
            timer.run()
        self._now = until


__all__ = ["Clock", "Timer", "VirtualClock", "VirtualTimer"]
