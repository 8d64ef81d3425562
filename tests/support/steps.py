"""The cost of code, counted, so that a test says what something costs without a clock."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any


def count_steps(work: Callable[[], object]) -> int:
    """How many lines of Python `work` runs and how many functions written in C it calls, directly and indirectly."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    def profile(frame: FrameType, event: str, argument: object) -> None:
        nonlocal count
        count += event == "c_call"

    before = sys.gettrace(), sys.getprofile()
    sys.settrace(trace)
    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.settrace(before[0])
        sys.setprofile(before[1])
    return count


def assert_linear(make: Callable[[int], Callable[[], object]], size: int) -> None:
    """`make` gives work of a size: work of twice the size costs at most 2.2 times the steps."""
    once, twice = count_steps(make(size)), count_steps(make(2 * size))
    assert twice <= 2.2 * once, f"{size}: {once} steps, {2 * size}: {twice} steps"


__all__ = ["assert_linear", "count_steps"]
