"""Generated traffic of all versions with faults: one set of rows, however it's cut, shuffled, streamed or read hot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.recorded.histories import as_dict, steps_of
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from benchmarks.generate import generate
from tests.kit.spark_session import PROVIDER, ROCKSDB
from tests.kit.tables import Rows, collect, digest, local_rows, normal, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("generated")
    versions = ("0-8", "0-9-1", "0-10", "1.0")
    generate(folder, 600_000, versions=versions, sizes=(64, 2000), messages=25, files=2, faults=0.5, hot=0.2)
    return folder


@pytest.fixture(scope="module")
def expected(traffic: Path) -> Rows:
    return local_rows(segments_of(sorted(traffic.iterdir())))


def test_the_traffic_has_all_that_is_promised(expected: Rows) -> None:
    text = "\n".join(expected["connections"])
    assert all([f'"{version}"' in text for version in ("0-8", "0-9-1", "0-10", "1.0")])
    assert len(expected["messages"]) > 400
    assert expected["violations"]


def test_all_that_is_published_is_delivered(tmp_path: Path) -> None:
    [path] = generate(tmp_path, 200_000, versions=("0-8", "0-9-1", "0-10", "1.0"), sizes=(64,), messages=20)
    steps = [as_dict(step) for step in steps_of(replay_segments(segments_of([path])))]
    whats = ("publish", "deliver")
    published, delivered = ({step["history"] for step in steps if step["what"] == what} for what in whats)
    assert published == delivered and len(published) > 80


def test_faults_are_chosen_by_the_seed(tmp_path: Path) -> None:
    def size(seed: int, faults: float) -> int:
        arguments = {"sizes": (64,), "messages": 20, "faults": faults, "seed": seed}
        [path] = generate(tmp_path / f"{seed}-{faults}", 300_000, versions=("0-8",), **arguments)  # type: ignore[arg-type]
        return len(local_rows(segments_of([path]))["violations"])

    assert size(3, 0.0) == 0
    assert size(3, 1.0) > 0


def test_pieces_partitions_and_hot_flows(spark: SparkSession, traffic: Path, expected: Rows) -> None:
    from amqp_sansio_spark import register, replay, replay_files

    register(spark)
    wanted = digest(expected)
    for partitions, options in ((1, {}), (5, {"splitBytes": "50k", "maxBytesPerTask": "1"})):
        segments = spark.read.format("amqp-capture").options(**options).load(str(traffic))
        tables = replay(segments, partitions).cache()
        assert digest(spark_rows(tables)) == wanted
        tables.unpersist()
    hot = replay_files(spark, str(traffic), hot_octets=80_000, partitions=3).cache()
    assert digest(spark_rows(hot)) == wanted
    hot.unpersist()


def test_a_stream_of_the_files(spark: SparkSession, traffic: Path, expected: Rows, tmp_path: Path) -> None:
    from amqp_sansio_spark import register, replay_stream, unfinished

    register(spark)
    folder = tmp_path / "in"
    folder.mkdir()
    spark.conf.set(PROVIDER, ROCKSDB)
    spark.conf.set("spark.sql.shuffle.partitions", "2")

    try:
        for path in sorted(traffic.iterdir()):
            (folder / path.name).write_bytes(path.read_bytes())
        segments = spark.readStream.format("amqp-capture").option("maxFilesPerTrigger", 1).load(str(folder))
        stream = replay_stream(segments, idle_seconds=3600)
        query = stream.write(str(tmp_path / "out"), checkpoint=str(tmp_path / "state"), available_now=True)
        query.awaitTermination()
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "4")
        spark.conf.unset(PROVIDER)
    found: Rows = {}
    still_open = unfinished(spark, str(tmp_path / "state"))
    for table, columns in COLUMNS.items():
        frame = spark.read.parquet(str(tmp_path / "out" / table)).select(*[name for name, _ in columns])
        found[table] = normal(table, collect(frame) + collect(getattr(still_open, table)))
    assert found == expected
