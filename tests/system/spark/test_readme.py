"""The Spark code of the README and of the queries' page runs as it stands, over the captures of the repository."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[3]

pytestmark = pytest.mark.spark


def test_spark(spark: SparkSession, carried_captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [(ROOT / name).read_text() for name in ("README.md", "docs/queries.md")]
    blocks, queries = [re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL) for page in pages]
    (code,) = [text for text in blocks if "amqp-capture" in text]
    here = code.replace("captures/*.pcapng", f"{carried_captures}/o091_pika_*.pcapng")
    namespace = {"__name__": "readme"}
    exec(compile(here, "README.md", "exec"), namespace)
    assert "consumer_tag" in capsys.readouterr().out
    (further,) = [text for text in queries if "histories(" in text]
    exec(compile(further, "queries.md", "exec"), namespace)
    shown = capsys.readouterr().out
    assert "p99_ms" in shown
    assert "p50_ms" in shown
