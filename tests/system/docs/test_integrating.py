"""docs/integrating.md: its code blocks run, one after the other, as they stand; one of them starts a thread."""

from __future__ import annotations

from typing import Any

from tests.docs.test_integrating import BLOCKS, PAGE


def test_the_page_runs_from_top_to_bottom() -> None:
    namespace: dict[str, Any] = {"__name__": "integrating"}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert len(BLOCKS) == 7
    assert namespace["connection"].next_event().__class__.__name__ == "Signal"
