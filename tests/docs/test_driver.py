"""docs/driver.md: its code blocks run, one after the other, and it names what a driver has to have."""

from __future__ import annotations

import re
from typing import Any

from amqp_sansio.client.base_driver import BaseDriver
from amqp_sansio.client.driver import Driver
from tests.docs.test_pages import BLOCK, DOCS

TEXT = (DOCS / "driver.md").read_text(encoding="utf-8")
OWN = {"reconnect"}
"""What a subclass of `BaseDriver` may have, beside what it must."""


def rows_of(title: str) -> list[str]:
    """The names in the first column of the table under a title."""
    section = TEXT.partition(f"## {title}\n")[2].partition("\n## ")[0]
    assert section, title
    cells = re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
    return sorted(name for cell in cells for name in re.findall(r"`(\w+)", cell))


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
    assert rows_of("What a client asks of it") == sorted(name for name in vars(Driver) if not name.startswith("_"))


def test_its_table_has_what_a_subclass_of_the_base_driver_brings() -> None:
    assert rows_of("What `BaseDriver` asks of yours") == sorted(BaseDriver.__abstractmethods__ | OWN)
