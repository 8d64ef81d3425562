"""The stream of captures that are being written, in Spark: what is read in two runs is what a batch reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.captures import named

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.spark
NAME = "o091_pika_confirms"


def test_in_spark(spark: SparkSession, tmp_path: Path) -> None:
    from amqp_sansio_spark import register

    register(spark)
    folder = tmp_path / "in"
    folder.mkdir()
    octets = named(f"{NAME}.pcap").read_bytes()

    def run() -> int:
        stream = spark.readStream.format("amqp-capture").option("maxFilesPerTrigger", 1).load(str(folder))
        writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "out"))
        query = writer.option("checkpointLocation", str(tmp_path / "state")).trigger(availableNow=True).start()
        query.awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).count()

    (folder / "a.pcap").write_bytes(octets[:9000])
    (folder / "b.pcap").write_bytes(octets)
    first = run()
    (folder / "a.pcap").write_bytes(octets)
    assert 0 < first < run()
    fresh = spark.read.format("amqp-capture").load(str(folder))
    assert sorted([repr(row) for row in spark.read.parquet(str(tmp_path / "out")).collect()]) == sorted(
        [repr(row) for row in fresh.collect()]
    )
