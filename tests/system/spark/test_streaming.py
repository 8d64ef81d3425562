"""Streams give the batch's rows: however the batches are cut, after restarts, and when the driver is killed in one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from amqp_sansio.capture import Segment, sort_key
from amqp_sansio.recorded.tables import COLUMNS
from tests.kit.captures import named
from tests.kit.spark_session import PROVIDER, ROCKSDB, SECONDS
from tests.kit.tables import Rows, collect, local_rows, normal, segments_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark

NAMES = ("o091_pika_nack_reject_requeue", "o091_concurrent_4_clients", "o10_proton_proton_dynamic_rpc")


IDLE = 60
SECOND = 1_000_000_000

DIES = """
import os, sys
from pyspark.sql import SparkSession
from amqp_sansio_spark import streaming

builder = SparkSession.Builder().master("local[1]")
for name, value in {
    "spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.log.level": "OFF",
    "spark.ui.showConsoleProgress": "false", "spark.sql.shuffle.partitions": "1",
    "spark.sql.session.timeZone": "UTC",
    "%(provider)s": "%(rocksdb)s", "spark.local.dir": sys.argv[1],
}.items():
    builder = builder.config(name, value)
spark = builder.getOrCreate()
folder = sys.argv[2]
schema = spark.read.parquet(folder + "/in").schema
segments = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(folder + "/in")
whole = streaming._batch_writer(folder + "/out")

def dies(rows, batch):
    whole(rows, batch)
    if batch == 1:
        os._exit(9)

streaming._batch_writer = lambda path: dies
stream = streaming.replay_stream(segments, idle_seconds=%(idle)d)
stream.write(folder + "/out", checkpoint=folder + "/state", available_now=True).awaitTermination()
"""


@pytest.fixture
def session(spark: SparkSession) -> Iterator[SparkSession]:
    before = spark.conf.get(PROVIDER, None)
    spark.conf.set(PROVIDER, ROCKSDB)
    # One partition is enough here: test_generated has a stream in two.
    spark.conf.set("spark.sql.shuffle.partitions", "1")
    yield spark
    spark.conf.set("spark.sql.shuffle.partitions", "4")
    if before is None:
        spark.conf.unset(PROVIDER)
    else:
        spark.conf.set(PROVIDER, before)


def captured() -> list[Segment]:
    """The segments of the captures in the order of their time."""
    found = segments_of([named(f"{name}.pcap") for name in NAMES])
    segments = [each for each in found if isinstance(each, Segment)]
    return sorted(segments, key=lambda each: sort_key(each)[1:])


def ticks(after: Segment) -> list[list[Segment]]:
    """Two batches of another connection, so much later that everything before is given up."""
    made: list[list[Segment]] = []
    for number in (1, 2):
        at = after.ts_ns + (2 * IDLE + number) * SECOND
        made.append([Segment(at, "z.pcap", number, "192.0.2.1", 1, "192.0.2.2", 2, number, 0, 16, 0, b"")])
    return made


def put(spark: SparkSession, folder: Path, batches: list[list[Segment]]) -> None:
    """Each batch as a file that a stream finds after those before."""
    from amqp_sansio_spark.segments import SEGMENTS_SCHEMA

    number = len(list((folder / "in").glob("*.parquet")))
    for batch in batches:
        rows = [(each.flow, *[getattr(each, name) for name in Segment.__match_args__], None) for each in batch]
        spark.createDataFrame(rows, SEGMENTS_SCHEMA).coalesce(1).write.parquet(str(folder / "made"))
        [made] = (folder / "made").glob("*.parquet")
        (folder / "in").mkdir(exist_ok=True)
        target = folder / "in" / f"{number}.parquet"
        made.rename(target)
        os.utime(target, (number, number))
        for left in (folder / "made").iterdir():
            left.unlink()
        (folder / "made").rmdir()
        number += 1


def run(spark: SparkSession, folder: Path) -> None:
    """Take all that is there, one file for each batch."""
    from amqp_sansio_spark import replay_stream

    schema = spark.read.parquet(str(folder / "in")).schema
    segments = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
    stream = replay_stream(segments, idle_seconds=IDLE)
    stream.write(str(folder / "out"), checkpoint=str(folder / "state"), available_now=True).awaitTermination()


def written(spark: SparkSession, folder: Path) -> Rows:
    found: Rows = {}
    for table, columns in COLUMNS.items():
        frame: DataFrame = spark.read.parquet(str(folder / "out" / table))
        found[table] = normal(table, collect(frame.select(*[name for name, _ in columns])))
    return found


def test_batches_restarts_and_a_driver_that_dies(
    session: SparkSession, tmp_path: Path, spark_environment: dict[str, str]
) -> None:
    segments = captured()
    third = len(segments) // 3
    batches = [segments[:third], segments[third : 2 * third], segments[2 * third :], *ticks(segments[-1])]
    put(session, tmp_path, batches[:3])
    # The driver dies when the second batch is written and not yet noted as done.
    text = DIES % {"provider": PROVIDER, "rocksdb": ROCKSDB, "idle": IDLE}
    died = subprocess.run(
        [sys.executable, "-c", text, str(tmp_path / "scratch"), str(tmp_path)],
        env=spark_environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert died.returncode == 9, died.stderr[-2000:]
    run(session, tmp_path)
    put(session, tmp_path, batches[3:])
    run(session, tmp_path)
    assert written(session, tmp_path) == local_rows(segments)


def test_a_late_segment_is_declared_and_used(session: SparkSession, tmp_path: Path) -> None:
    segments = [each for each in captured() if each.file.startswith("o10_")]
    late = next(each for each in segments[10:] if each.payload)
    rest = [each for each in segments if each is not late]
    put(session, tmp_path, [rest[:-4], [*rest[-4:], late], *ticks(segments[-1])])
    run(session, tmp_path)
    found = written(session, tmp_path)
    declared = [row for row in found["violations"] if "late-segment" in row]
    assert len(declared) == 1
    assert f"packet {late.packet} of {late.flow}" in declared[0]
    # Nothing but times can differ: its octets filled the hole that it had left.
    assert len(found["events"]) == len(local_rows(segments)["events"])


@pytest.mark.parametrize("wrong", [{"idle_seconds": 0}, {"body": "all"}])
def test_wrong_arguments_and_what_a_notebook_shows(
    session: SparkSession, tmp_path: Path, wrong: dict[str, Any]
) -> None:
    from amqp_sansio_spark import replay_stream

    put(session, tmp_path, [captured()[:3]])
    rows = session.read.parquet(str(tmp_path / "in"))
    with pytest.raises(ValueError, match="no stream"):
        replay_stream(rows)
    stream = session.readStream.schema(rows.schema).parquet(str(tmp_path / "in"))
    with pytest.raises(ValueError, match=r"idle_seconds|body is"):
        replay_stream(stream, **wrong)
    with pytest.raises(ValueError, match="no column payload"):
        replay_stream(stream.drop("payload"))
    shown = replay_stream(stream, idle_seconds=7200)._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "7,200 seconds" in shown and all([f"<code>.{name}</code>" in shown for name in COLUMNS])
    session.conf.unset(PROVIDER)
    with pytest.raises(ValueError, match="RocksDBStateStoreProvider"):
        replay_stream(stream)
