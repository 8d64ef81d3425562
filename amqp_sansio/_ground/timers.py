"""Deadlines as data: when something is due, computed once, compared with <=."""

from __future__ import annotations

from math import isfinite


class Clock:
    """The last `now` an endpoint was given, checked: finite and never smaller than before."""

    __slots__ = ("now",)

    def __init__(self) -> None:
        # Seconds on the caller's clock; None before the first call.
        self.now: float | None = None

    def advance(self, now: float) -> None:
        """Take the caller's time. Raises ValueError when it is not finite or runs backwards."""
        last = self.now
        if last is not None and now >= last and now != _INFINITE:
            self.now = now
            return
        if not isfinite(now):
            raise ValueError(f"now must be a finite number of seconds, not {now!r}")
        if last is not None:
            raise ValueError(f"now ran backwards: {now!r} after {last!r}; use a monotonic clock")
        self.now = now


class Timers:
    """Named deadlines in seconds on the caller's clock; `due` fires in the order the names were declared in."""

    __slots__ = ("deadlines", "order")

    def __init__(self, order: tuple[str, ...]) -> None:
        # The names, in the order in which those that are due together fire.
        self.order = order
        # When each is due, in seconds; a name that isn't here has no deadline.
        self.deadlines: dict[str, float] = {}

    def set(self, name: str, deadline: float) -> None:
        """Arm or move the timer `name`."""
        self.deadlines[name] = deadline

    def clear(self, name: str) -> None:
        """Disarm the timer `name`, if it is armed."""
        self.deadlines.pop(name, None)

    def clear_all(self) -> None:
        """Disarm every timer."""
        self.deadlines.clear()

    @property
    def next(self) -> float | None:
        """The earliest deadline, or None."""
        return min(self.deadlines.values()) if self.deadlines else None

    def due(self, now: float) -> list[str]:
        """Disarm and return the names whose deadline has come."""
        if not self.deadlines:
            return []
        deadlines = self.deadlines
        fired = [name for name in self.order if name in deadlines and deadlines[name] <= now]
        for name in fired:
            del deadlines[name]
        return fired


_INFINITE = float("inf")
