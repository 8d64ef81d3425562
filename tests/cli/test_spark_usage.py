"""`demo` and `replay --engine spark` when something is missing: a line, before Spark starts."""

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.test_replay import one_line

Run = Callable[..., subprocess.CompletedProcess[str]]


NAMES = ("o091_pika_basic.pcap", "o091d_exchange_gap.pcap")


def test_a_missing_java_is_one_line(cli: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    said = one_line(cli("demo", env={"JAVA_HOME": str(tmp_path)}))
    assert "needs Java 17 or newer" in said and str(tmp_path) in said


def test_a_file_that_is_no_capture_is_found_before_spark_starts(cli: Run, tmp_path: Path) -> None:
    notes = tmp_path / "notes.txt"
    notes.write_text("not a capture")
    done = cli("replay", notes, "--engine", "spark", "--output", tmp_path / "out")
    assert f"{notes}: begins with" in one_line(done)
    assert not (tmp_path / "out").exists()
