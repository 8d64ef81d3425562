"""A local Spark session for commands: checks the requirements first, is quiet, and ends with the command."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import amqp_sansio
import amqp_sansio_arrow
import amqp_sansio_report
import amqp_sansio_spark
from amqp_sansio.recorded.tables import COLUMNS

from .errors import CommandError
from .progress import Progress

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from amqp_sansio_report import Bounds
    from amqp_sansio_spark.reporting import Report
    from amqp_sansio_spark.tables import BodyMode

JAVA = 17
_MODULE = "jdk.incubator.vector"
"""Spark asks for it at its start; a runtime that was made of some modules may lack it."""
_INSTALL = "pip install 'amqp-sansio[spark]'"


def write_tables(
    paths: Sequence[str],
    wanted: Sequence[str],
    body: BodyMode,
    output: Path,
    *,
    clock_skew: float = 0.0,
    clock_offset: str = "",
    ports: Sequence[int] = (),
) -> tuple[dict[str, int], bool]:
    """Write tables (none: all but `histories` and `topology`) as Parquet below `output`.

    Returns the number of rows of each, and whether there was any AMQP: without it, connections have no rows. Raises
    CommandError if Spark can't run here or the run fails.
    """
    with local_session("replay", {}) as spark:
        amqp_sansio_spark.register(spark)
        segments = spark.read.format("amqp-capture").option("clockOffset", clock_offset).load(list(paths))
        servers = _servers(spark, paths)
        tables = amqp_sansio_spark.replay(
            segments, body=body, clock_skew=clock_skew, ports=ports, servers=servers
        ).cache()
        found = bool(tables.connections.where("protocol is not null").head(1))
        counts: dict[str, int] = {}
        for name in wanted or COLUMNS:
            frame: DataFrame = getattr(tables, name) if name in COLUMNS else getattr(amqp_sansio_spark, name)(tables)
            if not found:
                frame = frame.where("connection is null")
            where = str(output / name)
            frame.write.parquet(where)
            counts[name] = spark.read.parquet(where).count()
        return counts, found


def _servers(spark: SparkSession, paths: Sequence[str]) -> frozenset[str]:
    """Return the servers that any SYN of the captures shows: a pass of its own, over the headers alone."""
    headers = spark.read.format("amqp-capture").option("columns", "flow,src,sport,dst,dport,flags")
    return amqp_sansio_spark.servers_of(headers.load(list(paths)))


def make_report(
    paths: Sequence[str],
    bounds: Bounds,
    connections: Sequence[str],
    *,
    clock_skew: float = 0.0,
    clock_offset: str = "",
    ports: Sequence[int] = (),
) -> Report:
    """Return the report on captures, gathered in a local session.

    Raises CommandError if Spark can't run here or the run fails, ValueError for ids without a connection.
    """
    with local_session("report", {}) as spark:
        amqp_sansio_spark.register(spark)
        segments = spark.read.format("amqp-capture").option("clockOffset", clock_offset).load(list(paths))
        servers = _servers(spark, paths)
        tables = amqp_sansio_spark.replay(segments, clock_skew=clock_skew, ports=ports, servers=servers)
        return amqp_sansio_spark.report(tables, bounds=bounds, connections=connections)


@contextmanager
def local_session(name: str, settings: Mapping[str, str]) -> Generator[SparkSession]:
    """Start a session on all cores of this machine, whose log goes to a file that is removed at the end.

    `settings` are added to those of every command.

    Raises CommandError if a requirement of Spark is missing, and for errors inside.
    """
    check_requirements()
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    folder = Path(tempfile.mkdtemp(prefix="amqp-sansio-"))
    log = folder / "spark.log"
    kept = False
    try:
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        # Workers run the interpreter of this command, not the first one on PATH.
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        _hand_on_import_path()
        builder = SparkSession.Builder().master("local[*]").appName(f"amqp-sansio {name}")
        for key, value in {**_settings(folder), **settings}.items():
            builder = builder.config(key, value)
        progress = Progress()
        progress.show("starting Spark")
        with _stderr_to(log):
            spark = builder.getOrCreate()
        progress.stop()
        try:
            with _progress(spark):
                yield spark
        finally:
            spark.stop()
    except Exception as error:
        # JVM exceptions that pyspark doesn't translate come as errors of py4j.
        if not isinstance(error, PySparkException) and not type(error).__module__.startswith("py4j"):
            raise
        kept = True
        raise CommandError(f"Spark: {_last_line(str(error))} (its log: {log})") from None
    finally:
        if not kept:
            shutil.rmtree(folder, ignore_errors=True)


def check_requirements() -> None:
    """Raise CommandError if Java 17 or newer, pyspark, or its requirements are missing."""
    for module in ("pyspark", "pandas", "pyarrow"):
        try:
            __import__(module)
        except ModuleNotFoundError as error:
            if error.name == module:
                raise CommandError(f"{module} isn't installed: {_INSTALL}") from None
            raise CommandError(f"{module} can't be imported: {error}") from None
        except ImportError as error:
            # It is there, and what it needs isn't, or has another version.
            raise CommandError(f"{module} can't be imported: {_last_line(str(error))}") from None
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    program = shutil.which(java)
    if program is None:
        raise CommandError(f"Spark needs Java {JAVA} or newer; {java} isn't there")
    run = subprocess.run([program, f"--add-modules={_MODULE}", "-version"], capture_output=True, text=True, check=False)
    lacking = run.returncode
    if lacking:
        run = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    found = re.search(r'version "(?:1\.)?(\d+)', run.stderr + run.stdout)
    if run.returncode or found is None:
        raise CommandError(f"Spark needs Java {JAVA} or newer; {program} doesn't run")
    if int(found[1]) < JAVA:
        raise CommandError(f"Spark needs Java {JAVA} or newer; {program} is {found[1]}")
    if lacking:
        raise CommandError(f"Spark needs a whole Java; {program} lacks the module {_MODULE}")


def _settings(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.host": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 1),
        # One schema in all files of a table: readers other than Spark use them too.
        "spark.sql.variant.inferShreddingSchema": "false",
    }


def _hand_on_import_path() -> None:
    """Let workers import these packages from the same place as this process, installed or not."""
    modules = (amqp_sansio, amqp_sansio_arrow, amqp_sansio_spark, amqp_sansio_report)
    folders = [str(Path(module.__file__ or "").parents[1]) for module in modules]
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join(path for path in [*folders, *known] if path)


@contextmanager
def _stderr_to(log: Path) -> Generator[None]:
    """Send the standard error of processes started here to a file, as long as they live."""
    sys.stderr.flush()
    saved = os.dup(2)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.dup2(file, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(file)


@contextmanager
def _progress(spark: SparkSession) -> Generator[None]:
    """Show the number of finished tasks of the running stages."""
    if not sys.stderr.isatty():
        yield
        return
    progress = Progress()
    over = threading.Event()
    tracker = spark.sparkContext.statusTracker()

    def watch() -> None:
        while not over.wait(0.5):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            known = [stage for stage in stages if stage is not None]
            if known:
                done = sum(stage.numCompletedTasks for stage in known)
                progress.show(f"Spark: {done} of {sum(s.numTasks for s in known)} tasks")
        progress.stop()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _last_line(text: str) -> str:
    """Return the line of a report with traceback that has the error."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("SQLSTATE")]
    return lines[-1] if lines else "failed"
