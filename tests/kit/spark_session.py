"""One small local Spark session whose files are below a folder, and where its workers find these packages."""

from __future__ import annotations

import os
import shlex
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).resolve().parents[2]
PATHS = (".", "adapters/arrow", "adapters/spark", "adapters/cli", "adapters/report")

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER = "spark.sql.streaming.stateStore.providerClass"
"""Streams of connections want this state store."""


SECONDS = 1800
"""Seconds after which a test gives up what it waits for from Spark: it takes a minute, on a busy machine many."""

PATIENT = {
    "spark.network.timeout": f"{SECONDS}s",
    "spark.executor.heartbeatInterval": "60s",
    "spark.worker.timeout": str(SECONDS),
    "spark.files.fetchTimeout": f"{SECONDS}s",
    "spark.python.authenticate.socketTimeout": f"{SECONDS}s",
    "spark.scheduler.listenerbus.exitTimeout": f"{SECONDS}s",
    "spark.sql.broadcastTimeout": f"{SECONDS}s",
    "spark.sql.streaming.stateStore.rocksdb.lockAcquireTimeoutMs": str(SECONDS * 1000),
    "spark.sql.streaming.stateStore.maintenanceProcessingTimeout": str(SECONDS),
    "spark.sql.streaming.stateStore.maintenanceShutdownTimeout": str(SECONDS),
}
"""Spark's own limits of waiting: as they are, from 15 seconds on, a machine that is busy enough exceeds them."""

JAVA = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC -XX:-UsePerfData -Xshare:auto"
"""Options of a JVM: the tests are over before better code is compiled. Of that first kind there are 48 MB at most
unless more are asked for, and a JVM that has used them up dies: so many queries run in one."""

PLAIN = {
    "spark.python.daemon.module": "pyspark.daemon",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
"""Spark's defaults, which users have: for the test of the main way."""

CHEAP = {
    "spark.driver.extraJavaOptions": JAVA,
    "spark.executor.extraJavaOptions": JAVA,
    # A worker's imports take a second of processor time, and a stream has new workers for each batch.
    "spark.python.daemon.module": "tests.kit.spark_daemon",
    # A query over so few rows takes less time than the compilation of its code.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "4",
}
"""Settings that cost less processor time and change no row."""


def patient_environment() -> dict[str, str]:
    """Return variables that make any Spark started with them patient and cheap, whatever its program sets."""
    given = [text for name, value in {**PATIENT, **CHEAP}.items() for text in ("--conf", f"{name}={value}")]
    return {
        "PYSPARK_SUBMIT_ARGS": shlex.join([*given, "pyspark-shell"]),
        # A driver has this limit from its environment, where workers have the setting.
        "SPARK_AUTH_SOCKET_TIMEOUT": str(SECONDS),
        "SPARK_LAUNCHER_OPTS": JAVA,
    }


def environment() -> dict[str, str]:
    """What a process that starts Spark needs in its environment."""
    paths = [*(str(ROOT / path) for path in PATHS), os.environ.get("PYTHONPATH", "")]
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        **patient_environment(),
    }


class SparkFailure(Exception):
    """An exception of Spark with its text, which Spark's own fetches from the JVM each time that it's asked for."""


@contextmanager
def words_kept() -> Generator[None]:
    """Within it exceptions of Spark become `SparkFailure`, which can be read when the JVM has ended."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark.", "py4j.")):
            raise
        raise SparkFailure(f"{type(error).__name__}: {error}").with_traceback(error.__traceback__) from None


@contextmanager
def session(
    folder: Path, *, cores: int, partitions: int, memory: str, more: Mapping[str, str]
) -> Generator[SparkSession]:
    """A session on that many cores; `more` are settings by their names.

    Raises SparkFailure for exceptions of Spark in the block.
    """
    from pyspark.sql import SparkSession

    builder = SparkSession.Builder().master(f"local[{cores}]").appName("tests")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": memory,
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
        try:
            with words_kept():
                yield made
        finally:
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
    gateway.proc.wait(SECONDS)
    for thread in threading.enumerate():
        if type(thread).__name__ == "FinalizerWorker":
            thread.join(SECONDS)
