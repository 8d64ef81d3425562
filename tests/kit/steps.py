"""The cost of code, counted (`tools.steps`), and what tests ask of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tools.steps import count_steps, peak_of

if TYPE_CHECKING:
    from collections.abc import Callable


def assert_linear(make: Callable[[int], Callable[[], object]], size: int) -> None:
    """`make` gives work of a size: work of twice the size costs at most 2.2 times the steps."""
    once, twice = count_steps(make(size)), count_steps(make(2 * size))
    assert twice <= 2.2 * once, f"{size}: {once} steps, {2 * size}: {twice} steps"


__all__ = ["assert_linear", "count_steps", "peak_of"]
