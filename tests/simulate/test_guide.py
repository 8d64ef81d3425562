"""docs/simulate.md: its code runs as it stands, and prints the report that the page shows."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_pages import BLOCK, DOCS

PAGE = (DOCS / "simulate.md").read_text(encoding="utf-8")
REST = ["doubled: b'first' was worked on 2 times", "lost: b'first' was accepted, and nobody worked on it"]


def test_the_page_runs_and_shows_its_report(capsys: pytest.CaptureFixture[str]) -> None:
    for block in BLOCK.findall(PAGE):
        exec(compile(block, "simulate.md", "exec"), {"__name__": "simulate"})
    (shown,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert capsys.readouterr().out.splitlines() == [*shown.splitlines(), *REST]
