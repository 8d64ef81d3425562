"""docs/tables.md names every column, in its order."""

from __future__ import annotations

import re
from pathlib import Path

from amqp_sansio.tables import COLUMNS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tables.md"


def test_the_page_names_every_column_in_its_order() -> None:
    sections = re.split(r"^## (\w+)\n", PAGE.read_text(), flags=re.MULTILINE)
    pages = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert list(pages) == list(COLUMNS)
    for table, page in pages.items():
        cells = re.findall(r"^\| (`.*?) \|", page, flags=re.MULTILINE)
        named = [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]
        assert named == [name for name, _ in COLUMNS[table]]
