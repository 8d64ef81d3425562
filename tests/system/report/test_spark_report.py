"""`amqp_sansio_spark.report`: the same page for any partitioning, and what a notebook shows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio_report import Bounds, gather_segments
from amqp_sansio_report.report import report_segments
from tests.kit.captures import named
from tests.report.making import segments_in
from tests.system.spark.conftest import spark as spark
from tests.system.spark.conftest import spark_environment as spark_environment

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
NAMES = (
    "o_mixed_4_protocols.pcap",
    "o091_pika_nack_reject_requeue.pcap",
    "o091_pika_channel_errors.pcap",
    "o10_proton_proton_outcomes.pcap",
    "o091d_exchange_gap.pcap",
)


@cache
def local_page() -> str:
    return report_segments(segments_in([named(name) for name in NAMES])).html


def read(spark: SparkSession) -> DataFrame:
    from amqp_sansio_spark import register

    register(spark)
    return spark.read.format("amqp-capture").load([str(named(name)) for name in NAMES])


@pytest.mark.parametrize("partitions", [1, 5])
def test_the_page_is_the_local_one(spark: SparkSession, partitions: int, tmp_path: Path) -> None:
    from amqp_sansio_spark import replay, report

    made = report(replay(read(spark), partitions))
    assert made.html == local_page()
    made.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == local_page()
    assert "srcdoc" in made._repr_html_()  # pyright: ignore[reportPrivateUsage]


def test_connections_are_chosen_and_joining_may_be_left_out(spark: SparkSession) -> None:
    from amqp_sansio_spark import report

    (wanted,) = [one.connection for one in gather_segments(segments_in([named(NAMES[1])])).details]
    made = report(read(spark), connections=[wanted[:12]], bounds=Bounds(frames=10), join=False)
    assert [one.connection for one in made.diagrams] == [wanted]
    assert not made.gather.latencies["path"].count
    assert made.gather.latencies["publish"].count
    with pytest.raises(ValueError, match="no connection has an id that begins with 'zz'"):
        report(read(spark), connections=["zz"], join=False)


def test_a_replay_shows_what_it_is_without_running(spark: SparkSession) -> None:
    from amqp_sansio_spark import replay

    segments = read(spark).mapInArrow(_fail, "flow string, ts_ns bigint")
    for name, kind in read(spark).dtypes:
        if name not in ("flow", "ts_ns"):
            from pyspark.sql import functions as f

            segments = segments.withColumn(name, f.lit(None).cast(kind))
    tables = replay(segments, 1)
    shown = tables._repr_html_()  # pyright: ignore[reportPrivateUsage]
    assert "not computed yet" in shown and "amqp_sansio_spark.report(replay)" in shown
    assert "each is a pass of its own" in shown
    assert "one pass serves all" in tables.cache()._repr_html_()  # pyright: ignore[reportPrivateUsage]
    tables.unpersist()


def _fail(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    raise AssertionError("it ran")
