"""Workers that run another Python are told of when the format is registered."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def program(path: Path, text: str) -> str:
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def test_another_python_without_these_packages(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amqp_sansio_spark import register

    other = program(tmp_path / "python-of-another-place", "#!/bin/sh\nexit 1\n")
    monkeypatch.setattr(spark.sparkContext, "pythonExec", other)
    with pytest.warns(RuntimeWarning, match="activate the environment, or set") as caught:
        register(spark)
    [warning] = caught.list
    assert other in str(warning.message)
    assert f"PYSPARK_PYTHON={sys.executable}" in str(warning.message)
    assert os.path.basename(warning.filename) == "test_interpreter.py"
    monkeypatch.delenv("PYSPARK_PYTHON")
    register(spark)  # nobody has chosen it
    assert spark.sparkContext.pythonExec == sys.executable


def test_pythons_that_have_them(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio_spark import register

    good = program(tmp_path / "python-that-works", f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in (sys.executable, good, "no-such-program"):
            monkeypatch.setattr(spark.sparkContext, "pythonExec", name)
            register(spark)
