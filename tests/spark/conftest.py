"""One small local session for all Spark tests, and where the workers find these packages."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PATHS = (".", "adapters/spark", "adapters/cli", "adapters/report")


@pytest.fixture(scope="session")
def spark_environment() -> dict[str, str]:
    """What a process that starts Spark needs in its environment."""
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    paths = [*(str(ROOT / path) for path in PATHS), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@pytest.fixture(scope="session")
def spark(spark_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A session on two cores, whose files are below pytest's folder."""
    from pyspark.sql import SparkSession

    folder = tmp_path_factory.mktemp("spark")
    builder = SparkSession.Builder().master("local[2]").appName("tests")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        # The tests are over before better code is compiled. Of that first kind there are 48 MB at most unless more are
        # asked for, and a JVM that has used them up dies: so many queries run in this one.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    }.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        for key, value in spark_environment.items():
            patch.setenv(key, value)
        session = builder.getOrCreate()
        yield session
        session.stop()
