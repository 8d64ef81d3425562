"""docs/simulate.md: its code runs as it stands, and prints the report that the page shows."""

from __future__ import annotations

import re

import pytest

from tests.docs.test_pages import BLOCK, DOCS

PAGE = (DOCS / "simulate.md").read_text(encoding="utf-8")
BLOCKS = BLOCK.findall(PAGE)
(SHOWN,) = re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
LOST = "lost: b'first' was accepted, and nobody worked on it\n"
PRINTED = [SHOWN, "doubled: b'first' was worked on 2 times\n", LOST, "", LOST, "", ""]
"""What each piece of code prints."""


@pytest.mark.parametrize("number", range(len(PRINTED)))
def test_the_page_runs_and_shows_its_report(number: int, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS[number], "simulate.md", "exec"), {"__name__": "simulate"})
    assert capsys.readouterr().out == PRINTED[number]


def test_every_piece_of_code_is_run() -> None:
    assert len(BLOCKS) == len(PRINTED)
