"""The outcome of each rule's tests in one run, and the file that carries it to the report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast


@dataclass
class Outcome:
    """The numbers of passed, failed and skipped tests of one rule."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    @property
    def proves(self) -> bool:
        """Whether at least one test passed and none failed."""
        return self.passed > 0 and self.failed == 0


Outcomes = Mapping[str, Outcome]
"""Full rule id -> outcome."""


def write_outcomes(outcomes: Outcomes, path: Path) -> None:
    """Write `outcomes` to `path`, sorted, so that equal outcomes give equal files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    document = {
        name: {"passed": it.passed, "failed": it.failed, "skipped": it.skipped} for name, it in sorted(outcomes.items())
    }
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def read_outcomes(path: Path) -> dict[str, Outcome]:
    """Read a file of `write_outcomes`."""
    document = cast("dict[str, dict[str, int]]", json.loads(path.read_text(encoding="utf-8")))
    return {name: Outcome(**counts) for name, counts in document.items()}
