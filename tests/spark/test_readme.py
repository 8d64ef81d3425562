"""The README's Spark code runs as it stands, over the captures that the repository carries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

README = Path(__file__).resolve().parents[2] / "README.md"

pytestmark = pytest.mark.spark


def test_spark(
    spark: SparkSession, carried_captures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [text for text in blocks if "amqp-capture" in text]
    here = code.replace("captures/*.pcapng", f"{carried_captures}/o091_pika_*.pcapng")
    exec(compile(here, "README.md", "exec"), {"__name__": "readme"})
    assert "routing_key" in capsys.readouterr().out
