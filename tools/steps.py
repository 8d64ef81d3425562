"""The cost of code in steps and octets, counted, so that a test says what something costs without a clock."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

_SCANS: Final = ("count", "index", "remove")
"""Methods of lists and deques that iterate without visible steps."""


class _Enough(BaseException):
    """There are more steps than anybody wants to count. No exception handler in the tested code catches it."""


def count_steps(work: Callable[[], object], most: int = sys.maxsize) -> int:
    """Return how many lines of Python `work` runs and how many functions written in C it calls, in all.

    The items of lists and deques that are searched in C count too, and the comparisons that colliding keys of a
    returned dictionary cause: neither executes a line. Counting and `work` stop above `most`.
    """
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
            if count > most:
                raise _Enough
        elif event == "return" and isinstance(argument, (dict, set, frozenset)):
            count += collisions(argument)
        return trace

    def profile(frame: FrameType, event: str, argument: Any) -> None:
        nonlocal count
        if event == "c_call":
            count += 1
            if argument.__name__ in _SCANS and type(found := cast("object", argument.__self__)) in (list, deque):
                count += len(cast("list[object]", found))

    with uncollected():
        before = sys.gettrace(), sys.getprofile()
        sys.setprofile(profile)
        sys.settrace(trace)
        try:
            work()
        except _Enough:
            pass
        finally:
            sys.settrace(before[0])
            sys.setprofile(before[1])
    return count


@contextmanager
def uncollected() -> Generator[None]:
    """Keep the garbage collector from running: it calls functions that other code has left to it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def peak_of(work: Callable[[], object]) -> int:
    """Return the most octets that `work` holds at any time; what a process imports only once, import before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def collisions(keys: Any) -> int:
    """Return the number of comparisons caused by keys with the same hash."""
    if len(keys) < 16:
        return 0
    seen: dict[int, int] = {}
    total = 0
    for key in keys:
        number = hash(key)
        total += seen.get(number, 0)
        seen[number] = seen.get(number, 0) + 1
    return total


__all__ = ["collisions", "count_steps", "peak_of", "uncollected"]
