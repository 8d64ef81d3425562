"""The main way in one small Spark session: captures to tables and histories, and the same captures as a stream.

The tests of Spark at large are in tests/system/spark.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.recorded.histories import steps_of
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from tests.kit.captures import carried
from tests.kit.spark_session import PLAIN, PROVIDER, ROCKSDB, SparkFailure, end_java, session, words_kept
from tests.kit.tables import Rows, collect, local_rows, normal, segments_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.real("a Spark session")]
PATHS = [path for name in ("o091_pika_basic.pcap", "o10_proton_proton_basic.pcap") for path in carried(name)]


def test_captures_become_tables_histories_and_a_stream(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="needs the extra `spark`")
    expected = local_rows(segments_of(PATHS))
    try:
        with session(
            tmp_path / "spark", cores=1, partitions=1, memory="512m", more={**PLAIN, PROVIDER: ROCKSDB}
        ) as made:
            check_tables_and_histories(made, expected, tmp_path)
            check_stream(made, expected, tmp_path)
            failure = failure_of_a_stream(made, tmp_path)
    finally:
        # What comes after it in this process has no threads beside it.
        end_java()
    # Only the JVM had the text.
    assert str(failure).startswith("StreamingQueryException: ") and "as it was told" in str(failure)


def check_tables_and_histories(given: SparkSession, expected: Rows, folder: Path) -> None:
    """One pass writes all tables; they are those of the local engine."""
    from amqp_sansio_spark import register, replay, write

    register(given)
    segments = given.read.format("amqp-capture").load([str(path) for path in PATHS])
    found = write(replay(segments, 1), str(folder / "tables"))
    assert {name: normal(name, collect(found[name])) for name in COLUMNS} == expected
    assert found["histories"].count() == len(steps_of(replay_segments(segments_of(PATHS)))) > 0


def check_stream(given: SparkSession, expected: Rows, folder: Path) -> None:
    """Each file is a batch; the rows of both, with the connections that are open at the end, are the tables."""
    from amqp_sansio_spark import replay_stream, unfinished

    captures = folder / "captures"
    captures.mkdir()
    for path in PATHS:
        (captures / path.name).write_bytes(path.read_bytes())
    segments = given.readStream.format("amqp-capture").option("maxFilesPerTrigger", 1).load(str(captures))
    query = replay_stream(segments).write(str(folder / "stream"), checkpoint=str(folder / "state"), available_now=True)
    query.awaitTermination()
    batches = {path.name for path in (folder / "stream" / "events").glob("batch=*")}
    assert {"batch=0", "batch=1"} <= batches
    still_open = unfinished(given, str(folder / "state")).connections
    found: Rows = {}
    for table, columns in COLUMNS.items():
        frame = given.read.parquet(str(folder / "stream" / table)).select(*[name for name, _ in columns])
        rows = collect(frame) + (collect(still_open) if table == "connections" else [])
        found[table] = normal(table, rows)
    assert found == expected


def failure_of_a_stream(given: SparkSession, folder: Path) -> SparkFailure:
    """Return the exception that a session raises for a stream that fails."""
    segments = given.readStream.format("amqp-capture").load(str(folder / "captures"))
    failing = segments.selectExpr("raise_error('as it was told')").writeStream.format("noop")
    with pytest.raises(SparkFailure) as raised, words_kept():
        failing.option("checkpointLocation", str(folder / "failing")).start().awaitTermination()
    return raised.value
