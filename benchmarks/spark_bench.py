"""Replay in Spark against the same job without work, and a worker's memory for connections of any size.

CPU is that of the whole process tree, JVM and workers: `ours` is the replay, `peer` an identity `mapInArrow` in its
place plus the pure core's time for the same segments outside of Spark.
"""

from __future__ import annotations

import itertools
import os
import resource
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f

from amqp_sansio.capture import PcapngWriter, Segment, read_segments
from amqp_sansio.recorded.tables import COLUMNS, FlowReplay, LiveReplay, Row
from amqp_sansio_arrow.files import find_captures
from amqp_sansio_spark import histories, register, replay
from amqp_sansio_spark.options import parse_options
from amqp_sansio_spark.pieces import read_piece, whole
from amqp_sansio_spark.segments import ARROW_SCHEMA
from amqp_sansio_spark.worker import ReplayTask
from benchmarks.generate import generate
from benchmarks.measure import Case, case_of

SIZE = int(os.environ.get("BENCH_SPARK_OCTETS", str(1 << 30)))
"""Octets of the generated traffic."""
WARM = 16 << 20
BODY = b"x" * 4096
BIG = 64 << 20
SMALL = 1 << 20
PARTITIONS = 16
SHAPE = 192 << 20
"""Octets of the larger capture that the CPU seconds for a GB come from."""
READ_GOAL = 400_000
GB = 1_000_000_000
CPU_GOALS = {"events": 85, "messages": 95, "four tables as Parquet": 160, "histories": 130}
"""CPU seconds for a GB of captures of 0-9-1 with messages of 128 octets, on a quiet machine."""
ROOT = Path(__file__).resolve().parents[1]


def cases() -> list[Case]:
    """Return all cases of Spark; takes about ten minutes."""
    with tempfile.TemporaryDirectory() as folder:
        warm = generate(Path(folder) / "warm", WARM, files=4)[0].parent
        traffic = generate(Path(folder) / "traffic", SIZE, files=8)[0].parent
        found: list[Case] = []
        spark = session(folder, 2)
        try:
            found.append(cpu_per_segment(spark, warm, traffic))
            found.append(worker_memory(spark, Path(folder)))
            found += cpu_per_gigabyte(spark, folder)
            found.append(same_rows(spark, traffic))
        finally:
            spark.stop()
        found.append(packets_per_second(traffic))
        found += two_cores(folder)
    return found


def cpu_per_segment(spark: SparkSession, warm: Path, traffic: Path) -> Case:
    """Return the microseconds of CPU for each segment, with every event and its fields."""

    def ours(folder: Path) -> None:
        run(replay(read(spark, folder), PARTITIONS).events)

    def identity(folder: Path) -> None:
        segments = read(spark, folder)
        run(in_order(segments).mapInArrow(unchanged, segments.schema))

    # The first rounds start workers and compile.
    ours(warm)
    identity(warm)
    replayed = cpu_of_tree(lambda: ours(traffic))
    floor = cpu_of_tree(lambda: identity(traffic))
    core, segments = core_seconds(traffic)
    return case_of(
        "spark replay vs floor plus core",
        [(replayed / segments * 1e6, (floor + core) / segments * 1e6)],
        "us CPU/segment",
        0.5,
    )


def cpu_per_gigabyte(spark: SparkSession, folder: str) -> list[Case]:
    """Return the CPU seconds for a GB of 0-9-1 with messages of 128 octets, by job; `peer` is the goal.

    They are those of the octets that a large capture has more than a small one: what a query costs without a row, such
    as planning and starting workers, isn't counted. The first run lets the JVM compile, which goes on for tens of
    seconds: of captures of 32 MB it was a third of the figures. Takes three minutes, alone by
    `python -m benchmarks.spark_bench gigabyte`.
    """
    small, large = Path(folder) / "shape-small", Path(folder) / "shape-large"
    for path, octets in ((small, SHAPE // 5), (large, SHAPE)):
        generate(path, octets, versions=("0-9-1",), sizes=(128,), files=4)
    octets = _size_of(large) - _size_of(small)
    found: list[Case] = []
    work = jobs(spark, folder)
    for name, goal in CPU_GOALS.items():
        _, base, cost = [cpu_of_tree(partial(work[name], path)) for path in (large, small, large)]
        figures = [((cost - base) / octets * GB, goal)]
        found.append(case_of(f"spark {name}, 128 octets", figures, "CPU s/GB; peer is the goal", None))
    return found


def jobs(spark: SparkSession, folder: str) -> dict[str, Callable[[Path], None]]:
    """Return what users do with captures, by name; tables are written below `folder`."""

    def tables(path: Path) -> None:
        replayed = replay(read(spark, path), PARTITIONS).cache()
        for name in ("connections", "events", "messages", "violations"):
            frame: DataFrame = getattr(replayed, name)
            frame.write.mode("overwrite").parquet(f"{folder}/out/{name}")
        replayed.unpersist()

    return {
        "segments": lambda path: run(read(spark, path)),
        "two columns of events": lambda path: run(
            replay(read(spark, path), PARTITIONS).select("events", "ts_ns", "event")
        ),
        "events": lambda path: run(replay(read(spark, path), PARTITIONS).events),
        "messages": lambda path: run(replay(read(spark, path), PARTITIONS).messages),
        "four tables as Parquet": tables,
        "histories": lambda path: run(histories(replay(read(spark, path), PARTITIONS))),
    }


def core_seconds(traffic: Path) -> tuple[float, int]:
    """Return the pure core's CPU seconds for the segments of all files, and their number; reading isn't counted."""
    spent, count = 0.0, 0
    open_flows: dict[str, FlowReplay] = {}
    for path in sorted(traffic.iterdir()):
        # The files of a rotated set follow each other in time.
        with path.open("rb") as file:
            rows = (row for row in read_segments(file, file=path.name) if isinstance(row, Segment))
            while group := list(itertools.islice(rows, 10_000)):
                began = time.process_time()
                for segment in group:
                    flow = open_flows.get(segment.flow)
                    if flow is None:
                        flow = open_flows[segment.flow] = FlowReplay(segment.flow, tables=("events",))
                    flow.push(segment)
                spent += time.process_time() - began
                count += len(group)
    began = time.process_time()
    for flow in open_flows.values():
        flow.finish()
    return spent + time.process_time() - began, count


def two_cores(folder: str) -> list[Case]:
    """Return the wall-clock seconds of a replay by `local[1]` and `local[2]`, each with as many cores as its name says.

    With two cores, `local[1]` uses more than one of them, because the JVM and its worker run at the same time; that
    comparison has its own case, without a goal.
    """
    alone, both, free = [
        min(seconds_of_replay(folder, cores, bound) for _ in range(2))
        for cores, bound in ((1, True), (2, True), (1, False))
    ]
    return [
        case_of("spark two cores vs one", [(both, alone)], "s", 1.7),
        case_of("spark local[2] vs local[1], that may use both cores", [(both, free)], "s", None),
    ]


def seconds_of_replay(folder: str, cores: int, bound: bool) -> float:
    """Return the better of two replays to events in a separate process, optionally bound to that many cores."""
    ended = subprocess.run(
        [sys.executable, __file__, folder, str(cores), "bound" if bound else "free"],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    return float(ended.stdout.splitlines()[-1])


def _time_replays(folder: str, cores: int, bound: bool) -> float:
    if bound:
        # Before the JVM starts, which creates its threads and collectors for the available cores.
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    spark = session(folder, cores)
    traffic = Path(folder) / "traffic"
    try:
        run(replay(read(spark, Path(folder) / "warm"), PARTITIONS).events)
        best = float("inf")
        for _ in range(2):
            began = time.perf_counter()
            run(replay(read(spark, traffic), PARTITIONS).events)
            best = min(best, time.perf_counter() - began)
    finally:
        spark.stop()
    return best


def packets_per_second(traffic: Path) -> Case:
    """Return the packets that one core reads into Arrow batches: the source's own reader, without Spark."""
    options = parse_options({})
    columns = tuple(ARROW_SCHEMA.names)
    files = find_captures([str(traffic)])
    list(read_piece(whole(files[0], os.path.getsize(files[0].path)), options, columns))
    packets = 0
    began = time.process_time()
    for file in files:
        for batch in read_piece(whole(file, os.path.getsize(file.path)), options, columns):
            packets += batch.num_rows
    rate = packets / (time.process_time() - began)
    return {
        "case": "spark reading captures into Arrow",
        "ours": round(rate),
        "peer": READ_GOAL,
        "unit": "packets/s per core; peer is the goal",
        "ratio": round(rate / READ_GOAL, 2),
        "goal": 1.0,
    }


def worker_memory(spark: SparkSession, folder: Path) -> Case:
    """Return the peak memory of a worker: ours for a connection of 64 MiB, peer for one of 1 MiB."""
    most: dict[int, float] = {}
    for size in (SMALL, BIG):
        capture = folder / f"one{size}.pcapng"
        capture.write_bytes(one_connection(size))
        reports = folder / f"rss{size}"
        reports.mkdir()
        task = reporting(ReplayTask(("events",)), str(reports))
        run(in_order(read(spark, capture)).mapInArrow(task, "rows bigint"))
        most[size] = max(float(report.read_text()) for report in reports.iterdir())
    return case_of("Spark worker memory, connection of 64 MiB vs 1 MiB", [(most[BIG], most[SMALL])], "MiB", 0.8)


Sums = dict[str, dict[str, int]]
"""Of each table and column a sum that every row has a part in, in any order."""


def same_rows(spark: SparkSession, traffic: Path) -> Case:
    """Return the CPU of a replay to all tables, here and by the local engine, whose rows have to be the same ones.

    Raises ValueError where they aren't. Alone, with so many octets: `python -m benchmarks.spark_bench same 100000000`.
    """
    ours: Sums = {}
    peer: Sums = {}

    def in_spark() -> None:
        tables = replay(read(spark, traffic), PARTITIONS)
        for table in COLUMNS:
            frame = tables.select(table, *[name for name, _ in summed(table)])
            sums: Any = frame.agg(*[_sum_of(name, kind) for name, kind in summed(table)], f.count(f.lit(1))).collect()
            ours[table] = {name: int(value or 0) for name, value in zip(_names(table), sums[0], strict=True)}

    def locally() -> None:
        for table in COLUMNS:
            peer[table] = dict.fromkeys(_names(table), 0)
        live = LiveReplay()
        for path in sorted(traffic.iterdir()):
            for segment in read_segments(path.read_bytes(), file=path.name):
                for _, rows in live.push(segment) if isinstance(segment, Segment) else ():
                    _add_rows(rows, peer)
        for _, rows in live.finish():
            _add_rows(rows, peer)

    spark_seconds = cpu_of_tree(in_spark)
    # Spark's idle workers end meanwhile, and what they took leaves the tree: here this process alone counts.
    began = time.process_time()
    locally()
    figures = [(spark_seconds, time.process_time() - began)]
    if ours != peer:
        raise ValueError(f"the rows in Spark aren't the local engine's: {ours} and {peer}")
    size = f"{_size_of(traffic) / 1e6:,.0f} MB"
    return case_of(
        "spark rows equal to the local engine's", figures, f"CPU s for {size}; peer is the local engine", None
    )


def summed(table: str) -> list[tuple[str, str]]:
    """Return the columns that are summed: all but JSON, which Spark writes in its own way, and times twice."""
    return [(name, kind) for name, kind in COLUMNS[table] if kind not in ("json", "timestamp")]


def _names(table: str) -> list[str]:
    return [*[name for name, _ in summed(table)], "rows"]


def _sum_of(name: str, kind: str) -> Column:
    if kind == "string":
        return f.sum(f.crc32(f.col(name).cast("binary")))
    return f.sum(f.col(name).cast("decimal(38,0)" if kind == "int64" else "int"))


def _add_rows(rows: list[Row], sums: Sums) -> None:
    for table, values in rows:
        into = sums[table]
        into["rows"] += 1
        for name, kind in summed(table):
            value = getattr(values, name)
            if value is not None:
                into[name] += zlib.crc32(value.encode()) if kind == "string" else int(value)


def session(folder: str, cores: int) -> SparkSession:
    """Start a session with that many cores and its files below `folder`."""
    paths = [str(ROOT / path) for path in (".", "adapters/spark", "adapters/cli")]
    os.environ["PYTHONPATH"] = os.pathsep.join([*paths, os.environ.get("PYTHONPATH", "")])
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.Builder().master(f"local[{cores}]").appName("benchmark")
    for key, value in {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.driver.extraJavaOptions": "-XX:+UseParallelGC",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.variant.inferShreddingSchema": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "2000",
        "spark.sql.execution.arrow.maxBytesPerBatch": "8m",
    }.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    register(spark)
    return spark


def read(spark: SparkSession, capture: Path) -> DataFrame:
    """Return the segments of a capture, or of a folder of them."""
    return spark.read.format("amqp-capture").load(str(capture))


def in_order(segments: DataFrame) -> DataFrame:
    """Do the shuffle and the sort of a replay."""
    frame = segments.repartition(PARTITIONS, "flow")
    return frame.sortWithinPartitions("flow", "ts_ns", "file", "packet")


def run(frame: DataFrame) -> None:
    """Compute every row and keep none."""
    frame.write.format("noop").mode("overwrite").save()


def unchanged(batches: Iterator[Any]) -> Iterator[Any]:
    """Return the batches unchanged."""
    yield from batches


def reporting(task: ReplayTask, folder: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Return a task that counts its rows and writes its process's peak memory, in MiB."""

    def run_task(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in task(batches):
            yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with open(f"{folder}/{os.getpid()}-{time.monotonic_ns()}", "w", encoding="ascii") as file:
            file.write(str(most))

    return run_task


def cpu_of_tree(work: Callable[[], None]) -> float:
    """Return the CPU seconds of this process and all below it."""
    before = _tree_seconds()
    work()
    return _tree_seconds() - before


def one_connection(size: int) -> bytes:
    """Return a capture of a publisher that sends `size` octets of bodies on one channel without waiting."""
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


def _frame(kind: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, 1, len(payload)) + payload + b"\xce"


def _size_of(folder: Path) -> int:
    return sum([path.stat().st_size for path in folder.iterdir()])


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

    if sys.argv[1:] == ["gigabyte"]:
        with tempfile.TemporaryDirectory() as scratch:
            session_of_two = session(scratch, 2)
            print(show(cpu_per_gigabyte(session_of_two, scratch)))
            session_of_two.stop()
    elif sys.argv[1:2] == ["same"]:
        with tempfile.TemporaryDirectory() as scratch:
            made = generate(Path(scratch) / "traffic", int(sys.argv[2]), files=8)[0].parent
            session_of_two = session(scratch, 2)
            print(show([same_rows(session_of_two, made)]))
            session_of_two.stop()
    elif sys.argv[1:]:
        print(_time_replays(sys.argv[1], int(sys.argv[2]), sys.argv[3] == "bound"))
    else:
        print(show(cases()))
