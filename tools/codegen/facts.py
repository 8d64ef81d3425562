"""The generator's input, facts of the specifications: `facts/*.jsonl`, one record to a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

FACTS: Final = Path(__file__).parent / "facts"


def read_rows(name: str, folder: Path = FACTS) -> list[dict[str, Any]]:
    """Return the records of one file, such as "0-9-1"."""
    lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def to_text(rows: Iterable[dict[str, Any]]) -> str:
    """Return the text of a file with these records."""
    return "".join([json.dumps(row) + "\n" for row in rows])
