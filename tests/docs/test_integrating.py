"""docs/integrating.md: its code blocks are programs, and it is one page."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "integrating.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_its_blocks_are_programs() -> None:
    """tests/system/docs runs them."""
    assert len(BLOCKS) == 7
    for block in BLOCKS:
        compile(block, str(PAGE), "exec")


def test_the_page_is_one_page() -> None:
    assert len(PAGE.read_text().splitlines()) < 220
