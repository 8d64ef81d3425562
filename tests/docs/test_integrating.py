"""docs/integrating.md: its code blocks run, one after the other, as they stand."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrating.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_the_page_runs_from_top_to_bottom() -> None:
    namespace: dict[str, Any] = {"__name__": "integrating"}
    for block in BLOCKS:
        exec(compile(block, str(PAGE), "exec"), namespace)
    assert len(BLOCKS) == 7
    assert namespace["connection"].next_event().__class__.__name__ == "Signal"


def test_the_page_is_one_page() -> None:
    assert len(PAGE.read_text().splitlines()) < 220
