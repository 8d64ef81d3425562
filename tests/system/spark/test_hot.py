"""A flow that is replayed by a task of its own has the rows that it has in a sorted replay."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.capture import Segment
from tests.kit.rotated import paths_of, rotate
from tests.kit.tables import local_rows, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The captures, of which one is cut in three rotated files, and two have packets out of order."""
    rotate(tmp_path)
    return tmp_path


def test_hot_flows_are_found_and_the_rows_are_the_same(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register, replay_files, replay_hot
    from amqp_sansio_spark.hot import HotReplay

    register(spark)
    segments = segments_of(paths_of(folder))
    expected = local_rows(segments)
    tables = replay_files(spark, str(folder), hot_octets=15_000, partitions=2, pathGlobFilter="*.pcap*")
    assert isinstance(tables, HotReplay)
    tables.cache()
    assert spark_rows(tables) == expected
    tables.unpersist()
    # Nothing is hot: an ordinary replay.
    assert not isinstance(replay_files(spark, str(folder), pathGlobFilter="*.pcap*"), HotReplay)
    flows = {each.flow for each in segments if isinstance(each, Segment)}
    flow = max(flows)
    alone = replay_hot(spark, str(folder), flow, pathGlobFilter="*.pcap*").cache()
    of_flow = [each for each in segments if isinstance(each, Segment) and each.flow == flow]
    assert spark_rows(alone) == local_rows(of_flow)
    alone.unpersist()


def test_damage_is_still_told(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register, replay_files

    register(spark)
    tables = replay_files(spark, str(folder), hot_octets=15_000, partitions=2)
    told = [row["text"] for row in tables.violations.where("connection is null").collect()]
    assert len(told) == 1
    assert told[0].startswith("notes.txt")


def test_wrong_arguments(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import replay_files

    with pytest.raises(ValueError, match="hot_octets"):
        replay_files(spark, str(folder), hot_octets=0)
    with pytest.raises(ValueError, match="no option"):
        replay_files(spark, str(folder), nonsense=1)
