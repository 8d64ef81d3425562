"""One small local Spark session whose files are below a folder, and where its workers find these packages."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.kit.processes import LIMIT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PATHS = (".", "adapters/arrow", "adapters/spark", "adapters/cli", "adapters/report")

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""Streams of connections want this state store."""


def environment() -> dict[str, str]:
    """What a process that starts Spark needs in its environment."""
    paths = [*(str(ROOT / path) for path in PATHS), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
    }


@contextmanager
def session(
    folder: Path, *, cores: int, partitions: int, memory: str, more: Mapping[str, str]
) -> Generator[SparkSession]:
    """A session on that many cores; `more` are settings by their names."""
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().master(f"local[{cores}]").appName("tests")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
        # The tests are over before better code is compiled. Of that first kind there are 48 MB at most unless more are
        # asked for, and a JVM that has used them up dies: so many queries run in one.
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(partitions),
        **more,
    }.items():
        builder = builder.config(key, value)
    with pytest.MonkeyPatch.context() as patch:
        for key, value in environment().items():
            patch.setenv(key, value)
        made = builder.getOrCreate()
        yield made
        made.stop()


def end_java() -> None:
    """End the JVM of the sessions so far, and the threads that speak with it: one looks for work every second."""
    from pyspark import SparkContext

    context: Any = SparkContext
    gateway = context._gateway
    if gateway is None:
        return
    gateway.shutdown()
    context._gateway = None
    context._jvm = None
    gateway.proc.stdin.close()
    gateway.proc.wait(LIMIT)
    for thread in threading.enumerate():
        if type(thread).__name__ == "FinalizerWorker":
            thread.join(LIMIT)
