"""The programs of README and the guides lose their connection at every step of their run, in a simulated world."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.kit import doc_programs
from tests.kit.doc_programs import PROGRAMS, DocProgram


@pytest.mark.parametrize("given", PROGRAMS, ids=[each.name for each in PROGRAMS])
def test_a_connection_that_is_lost_at_each_step(
    given: DocProgram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert any([doc_programs.lost(given, step) for step in range(doc_programs.plain(given))])
