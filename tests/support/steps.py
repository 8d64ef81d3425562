"""Counting what code does, so that a test can say what it costs without a clock."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any


def count_steps(work: Callable[[], object]) -> int:
    """How many lines of Python `work` runs, with those of everything that it calls."""
    count = 0

    def step(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        if event == "line":
            count += 1
        return step

    before = sys.gettrace()
    sys.settrace(step)
    try:
        work()
    finally:
        sys.settrace(before)
    return count


__all__ = ["count_steps"]
