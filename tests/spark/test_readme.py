"""The README's Spark code runs as it stands, over the captures that the repository carries."""

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

README = Path(__file__).resolve().parents[2] / "README.md"

pytestmark = pytest.mark.spark


def test_spark(spark: SparkSession, carried_captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    (code,) = [text for text in blocks if "amqp-capture" in text]
    here = code.replace("captures/*.pcapng", f"{carried_captures}/o091_pika_*.pcapng")
    namespace = {"__name__": "readme"}
    exec(compile(here, "README.md", "exec"), namespace)
    assert "consumer_tag" in capsys.readouterr().out
    (further,) = [text for text in blocks if "histories(" in text]
    exec(compile(further, "README.md", "exec"), namespace)
    shown = capsys.readouterr().out
    assert "p99_ms" in shown
    assert "p50_ms" in shown
