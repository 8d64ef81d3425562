"""Outside: what a program asks of the modules `time`, `random`, `uuid`, `os` and `secrets`, given by its world.

While a world stands (in its `with` block, and while it runs) the functions of these modules ask it, if code of one of
its processes calls them; everybody else is given the machine's. The generator of `random` is the world's for as long,
and begins alike in each. At the end everything is as before. What a program has taken out of `time`, `os` or `uuid`
before, as by `from time import time`, stays the machine's, and so do types that are written in C: `datetime.now()`, a
new `random.Random()` without a seed.
"""

from __future__ import annotations

import os
import random
import threading
import time
import uuid
from collections.abc import Callable
from hashlib import sha256
from types import ModuleType
from typing import Any, Final, Protocol

EPOCH: Final = 1_700_000_000.0
"""The time of day at which a world begins, in seconds since 1970."""
_SEED: Final = "amqp-sansio"
_NODE: Final = 0x02_00_00_00_00_01
"""The network address in the world's uuid1, one that is locally administered."""
_NANO: Final = 1_000_000_000


class Inside(Protocol):
    """The process whose code runs."""

    @property
    def now(self) -> float: ...

    @property
    def pause(self) -> Callable[[float], None]:
        """Lets a time pass in the middle of its code."""
        ...


class Stand(Protocol):
    """A world, as far as this module asks it."""

    @property
    def acting(self) -> Inside | None:
        """The process whose code runs now."""
        ...


class Outside:
    """The functions of one world. It stands between `begin` and `end`, which may be nested."""

    def __init__(self, world: Stand) -> None:
        self.world = world
        self.thread = 0
        """The machine's thread in which the world stands, and all of its processes run."""
        self._depth = 0
        self._drawn = 0
        self._state: object = random.Random(_SEED).getstate()
        self._before: object = None

    def begin(self) -> None:
        """Let functions ask this world."""
        self._depth += 1
        if self._depth == 1:
            self.thread = threading.get_ident()
            if not _STANDING:
                _put_in()
            _STANDING.append(self)
            self._before = random.getstate()
            random.setstate(self._state)  # type: ignore[arg-type]

    def end(self) -> None:
        """Give back what `begin` took, at the last of as many calls."""
        self._depth -= 1
        if self._depth == 0:
            self._state = random.getstate()
            random.setstate(self._before)  # type: ignore[arg-type]
            _STANDING.remove(self)
            if not _STANDING:
                _take_out()

    def draw(self, size: int) -> bytes:
        """Return octets that look random, the same in each run."""
        octets = b""
        while len(octets) < size:
            self._drawn += 1
            octets += sha256(f"{_SEED} {self._drawn}".encode()).digest()
        return octets[:size]


_STANDING: Final[list[Outside]] = []
_REAL: Final[list[tuple[ModuleType, str, Any]]] = []
"""What was replaced."""


def _asked() -> tuple[Outside, Inside] | None:
    """Return the world that is asked and its process; None: the machine is."""
    for outside in reversed(_STANDING):
        acting = outside.world.acting
        if acting is not None and outside.thread == threading.get_ident():
            return outside, acting
    return None


def _put_in() -> None:
    for module, name, make in _FUNCTIONS:
        real = getattr(module, name, None)
        if real is not None:
            _REAL.append((module, name, real))
            setattr(module, name, make(real))
    # A time that was given before must not be waited for.
    _REAL.append((uuid, "_last_timestamp", getattr(uuid, "_last_timestamp", None)))
    setattr(uuid, "_last_timestamp", None)  # noqa: B010 - the module has no type for it.


def _take_out() -> None:
    while _REAL:
        setattr(*_REAL.pop())


def _clock(begun: float, scale: int) -> Callable[[Any], Any]:
    """Return what makes a clock that begins at `begun` seconds: of seconds, or with a scale of whole parts of them."""

    def make(real: Callable[[], Any]) -> Callable[[], Any]:
        def clock() -> Any:
            asked = _asked()
            if asked is None:
                return real()
            seconds = begun + asked[1].now
            return seconds if scale == 1 else round(asked[1].now * scale) + round(begun) * scale

        return clock

    return make


def _calendar(real: Callable[..., Any]) -> Callable[..., Any]:
    def calendar(seconds: float | None = None) -> Any:
        asked = _asked()
        if seconds is None and asked is not None:
            return real(EPOCH + asked[1].now)
        return real() if seconds is None else real(seconds)

    return calendar


def _strftime(real: Callable[..., str]) -> Callable[..., str]:
    def strftime(form: str, *when: Any) -> str:
        asked = _asked()
        if not when and asked is not None:
            return real(form, time.localtime())
        return real(form, *when)

    return strftime


def _sleep(real: Callable[[float], None]) -> Callable[[float], None]:
    def sleep(seconds: float, /) -> None:
        asked = _asked()
        if asked is None:
            real(seconds)
        elif seconds < 0:
            raise ValueError("sleep length must be non-negative")
        else:
            asked[1].pause(seconds)

    return sleep


def _urandom(real: Callable[[int], bytes]) -> Callable[[int], bytes]:
    def urandom(size: int, /) -> bytes:
        asked = _asked()
        return real(size) if asked is None else asked[0].draw(size)

    return urandom


def _uuid1(real: Callable[..., uuid.UUID]) -> Callable[..., uuid.UUID]:
    def uuid1(node: int | None = None, clock_seq: int | None = None) -> uuid.UUID:
        if _asked() is None:
            return real(node, clock_seq)
        return real(_NODE if node is None else node, 0 if clock_seq is None else clock_seq)

    return uuid1


_FUNCTIONS: Final[tuple[tuple[ModuleType, str, Callable[[Any], Any]], ...]] = (
    (time, "time", _clock(EPOCH, 1)),
    (time, "time_ns", _clock(EPOCH, _NANO)),
    (time, "monotonic", _clock(0.0, 1)),
    (time, "monotonic_ns", _clock(0.0, _NANO)),
    (time, "perf_counter", _clock(0.0, 1)),
    (time, "perf_counter_ns", _clock(0.0, _NANO)),
    (time, "localtime", _calendar),
    (time, "gmtime", _calendar),
    (time, "ctime", _calendar),
    (time, "strftime", _strftime),
    (time, "sleep", _sleep),
    (os, "urandom", _urandom),
    # `secrets`, `random.SystemRandom`.
    (random, "_urandom", _urandom),
    (uuid, "uuid1", _uuid1),
)


__all__ = ["EPOCH", "Outside"]
