"""Waiting within an event loop: without holding up the loop that is to make it true."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

STEP: Final = 0.002
"""Seconds between two looks at something that is waited for."""


def is_in_event_loop() -> bool:
    """Whether a coroutine of asyncio or trio runs in this thread."""
    return _asyncio_loop() is not None or _trio() is not None


async def until(condition: Callable[[], object], seconds: float) -> bool:
    """Wait until a function returns something true, while the loop goes on; False if it doesn't within `seconds`.

    Works under asyncio, with any loop, and under trio; seconds are those of the loop's clock.
    """
    now, sleep = _clock_and_sleep()
    deadline = now() + seconds
    while not condition():
        if now() >= deadline:
            return False
        await sleep(STEP)
    return True


def clock_of_loop() -> Callable[[], float]:
    """Return the clock of the running loop, in seconds. Raises RuntimeError if none runs."""
    return _clock_and_sleep()[0]


def _clock_and_sleep() -> tuple[Callable[[], float], Callable[[float], Awaitable[object]]]:
    loop = _asyncio_loop()
    if loop is not None:
        return loop.time, asyncio.sleep
    trio = _trio()
    if trio is None:
        raise RuntimeError("wait_until needs an event loop of asyncio or trio; elsewhere call wait_for")
    return trio.current_time, trio.sleep


def _asyncio_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def _trio() -> Any:
    """Return the module if trio runs in this thread; None otherwise. It isn't imported for that."""
    trio: Any = sys.modules.get("trio")
    return trio if trio is not None and trio.lowlevel.in_trio_run() else None


__all__ = ["STEP", "clock_of_loop", "is_in_event_loop", "until"]
