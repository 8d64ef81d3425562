"""Replay in Spark against the same job that does nothing, and a worker's memory for connections of any size.

CPU is that of the whole process tree, JVM and workers: `ours` is the replay, `peer` an identity `mapInArrow` in its
place plus what the pure core takes for the same segments outside of Spark.
"""

from __future__ import annotations

import os
import resource
import statistics
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from amqp_sansio import Side
from amqp_sansio.capture import (
    ConnectionStart,
    PcapngWriter,
    Segment,
    StreamData,
    read_segments,
    reassemble,
    sort_key,
)
from amqp_sansio.tables import FlowReplay
from amqp_sansio_spark import register, replay
from amqp_sansio_spark.worker import ReplayTask
from benchmarks.measure import Case

COPIES = 150
ROUNDS = 3
BODY = b"x" * 4096
BIG = 64 << 20
SMALL = 1 << 20
PARTITIONS = 4
ROOT = Path(__file__).resolve().parents[1]


def cases() -> list[Case]:
    """All cases of Spark; takes about two minutes."""
    with tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        try:
            return [cpu_per_segment(spark, Path(folder)), worker_memory(spark, Path(folder))]
        finally:
            spark.stop()


def cpu_per_segment(spark: SparkSession, folder: Path) -> Case:
    """Microseconds of CPU for each segment, with every event and its fields made."""
    capture = folder / "many.pcapng"
    capture.write_bytes(many_connections())
    rows = [row for row in read_segments(capture.read_bytes(), file=capture.name)]
    ordered = sorted((row for row in rows if isinstance(row, Segment)), key=sort_key)
    segments = read(spark, capture)

    def ours() -> None:
        run(replay(segments, PARTITIONS).events)

    def identity() -> None:
        run(in_order(segments).mapInArrow(unchanged, segments.schema))

    def core() -> None:
        flow_replay: FlowReplay | None = None
        for segment in ordered:
            if flow_replay is None or flow_replay.flow != segment.flow:
                if flow_replay is not None:
                    flow_replay.finish()
                flow_replay = FlowReplay(segment.flow)
            flow_replay.push(segment)

    taken: list[tuple[float, float]] = []
    for _ in range(ROUNDS + 2):
        spent = cpu_of_tree(ours), cpu_of_tree(identity) + cpu_of_tree(core)
        taken.append(spent)
    # The first rounds start workers and compile.
    taken = taken[2:]
    return {
        "case": "Spark replay vs identity mapInArrow plus the pure core",
        "ours": round(statistics.median(pair[0] for pair in taken) / len(ordered) * 1e6, 1),
        "peer": round(statistics.median(pair[1] for pair in taken) / len(ordered) * 1e6, 1),
        "unit": "us CPU/segment",
        "ratio": round(statistics.median(pair[1] / pair[0] for pair in taken), 2),
        "goal": 0.5,
    }


def worker_memory(spark: SparkSession, folder: Path) -> Case:
    """The most memory a worker had: ours for a connection of 64 MiB, peer for one of 1 MiB."""
    most: dict[int, float] = {}
    for size in (SMALL, BIG):
        capture = folder / f"one{size}.pcapng"
        capture.write_bytes(one_connection(size))
        reports = folder / f"rss{size}"
        reports.mkdir()
        task = reporting(ReplayTask(("events",), "size"), str(reports))
        run(in_order(read(spark, capture)).mapInArrow(task, "rows bigint"))
        most[size] = max(float(report.read_text()) for report in reports.iterdir())
    return {
        "case": "Spark worker memory, connection of 64 MiB vs 1 MiB",
        "ours": round(most[BIG], 1),
        "peer": round(most[SMALL], 1),
        "unit": "MiB",
        "ratio": round(most[SMALL] / most[BIG], 2),
        "goal": 0.8,
    }


def session(folder: str) -> SparkSession:
    """Two cores; files below `folder`."""
    paths = [str(ROOT / path) for path in (".", "adapters/spark", "adapters/cli")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.Builder().master("local[2]").appName("benchmark")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def read(spark: SparkSession, capture: Path) -> DataFrame:
    """The capture's segments."""
    return spark.read.format("amqp-capture").load(str(capture))


def in_order(segments: DataFrame) -> DataFrame:
    """The shuffle and the sort of a replay."""
    frame = segments.repartition(PARTITIONS, "flow")
    return frame.sortWithinPartitions("flow", "ts_ns", "file", "packet")


def run(frame: DataFrame) -> None:
    """Compute every row and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    """The job that does nothing."""
    yield from batches


def reporting(task: ReplayTask, folder: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The task, which counts its rows and writes the memory its process needed at most, in MiB."""

    def run_task(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in task(batches):
            yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with open(f"{folder}/{os.getpid()}-{time.monotonic_ns()}", "w", encoding="ascii") as file:
            file.write(str(most))

    return run_task


def cpu_of_tree(work: Callable[[], None]) -> float:
    """CPU seconds of this process and all below it."""
    before = _tree_seconds()
    work()
    return _tree_seconds() - before


def many_connections() -> bytes:
    """The connections of the demo's captures, each many times, as one recording."""
    streams: list[list[ConnectionStart | StreamData]] = []
    with as_file(files("amqp_sansio_cli") / "captures") as folder:
        for path in sorted(folder.iterdir()):
            segments = read_segments(path.read_bytes(), file=path.name)
            found: dict[str, list[ConnectionStart | StreamData]] = {}
            for item in reassemble(row for row in segments if isinstance(row, Segment)):
                if isinstance(item, ConnectionStart | StreamData):
                    found.setdefault(item.connection, []).append(item)
            streams += found.values()
    writer = PcapngWriter()
    out = [writer.header()]
    for copy in range(COPIES):
        for number, items in enumerate(streams):
            out += _recorded(writer, items, 20_000 + copy * len(streams) + number, copy)
    return b"".join(out)


def one_connection(size: int) -> bytes:
    """A publisher that sends `size` octets of bodies on one channel and never waits."""
    start = b"AMQP\x00\x00\x09\x01"
    method = struct.pack(">HHHBB", 60, 40, 0, 0, 4) + b"jobs\x00"
    header = struct.pack(">HHQH", 60, 0, len(BODY), 0)
    unit = _frame(1, method) + _frame(2, header) + _frame(3, BODY)
    writer = PcapngWriter()
    number, octets = writer.open("10.0.0.1:40000", "10.0.0.2:5672", 1)
    out = [writer.header(), octets, writer.data(number, "client", start, 2)]
    units = size // len(BODY)
    for index in range(0, units, 8):
        out.append(writer.data(number, "client", unit * 8, 1000 * (index + 1)))
    out.append(writer.close(number, "client", 1000 * (units + 1)))
    return b"".join(out)


def _recorded(
    writer: PcapngWriter,
    items: Iterable[ConnectionStart | StreamData],
    port: int,
    copy: int,
) -> list[bytes]:
    out: list[bytes] = []
    number, client, ts_ns = 0, "", 0
    for item in items:
        ts_ns = item.ts_ns + copy
        if isinstance(item, ConnectionStart):
            client = item.client or item.a
            number, octets = writer.open(f"10.0.0.1:{port}", "10.0.0.2:5672", ts_ns)
            out.append(octets)
        else:
            sender = Side.CLIENT if item.sender == client else Side.SERVER
            out.append(writer.data(number, sender, item.data, ts_ns))
    out.append(writer.close(number, "client", ts_ns))
    return out


def _frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, 1, len(payload)) + payload + b"\xce"


def _tree_seconds() -> float:
    parents: dict[int, int] = {}
    spent: dict[int, int] = {}
    for entry in os.listdir("/proc"):
        if entry.isdecimal():
            try:
                text = Path("/proc", entry, "stat").read_text(encoding="utf-8")
            except OSError:
                continue  # it has just ended
            fields = text.rpartition(")")[2].split()
            parents[int(entry)] = int(fields[1])
            spent[int(entry)] = sum(map(int, fields[11:15]))
    tree = {os.getpid()}
    grown = True
    while grown:
        below = {pid for pid, parent in parents.items() if parent in tree}
        grown = not below <= tree
        tree |= below
    return sum(spent[pid] for pid in tree if pid in spent) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    from benchmarks.measure import show

    print(show(cases()))
