"""docs/driver.md: its code blocks run, one after the other, and it names what a driver has to have."""

from __future__ import annotations

import re
from typing import Any

from amqp_sansio.client.driver import Driver
from tests.docs.test_pages import BLOCK, DOCS

TEXT = (DOCS / "driver.md").read_text(encoding="utf-8")


def test_its_blocks_run() -> None:
    blocks = BLOCK.findall(TEXT)
    assert len(blocks) == 2
    namespace: dict[str, Any] = {"__name__": "driver"}
    for block in blocks:
        exec(compile(block, "docs/driver.md", "exec"), namespace)
    client = namespace["client"]
    assert client.metrics.confirmed == 1
    assert client.report is not None


def test_its_table_has_every_method_of_a_driver() -> None:
    rows = re.findall(r"^\| `(\w+)(?:\(\w*\))?` \|", TEXT, re.MULTILINE)
    assert sorted(rows) == sorted(name for name in vars(Driver) if not name.startswith("_"))
