"""A folder of five hundred small captures, as a capture that is rotated for each connection leaves behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.capture import PcapngWriter, Segment, read_segments, sort_key
from amqp_sansio.endpoint import Side
from tests.kit.captures import named
from tests.kit.tables import digest, local_rows, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
FILES = 500
NAMES = ("o091_pika_channel_errors.pcap", "o10_proton_proton_outcomes.pcap", "o010_messaging_release_reject.pcap")
EACH = 12
"""Segments of a connection in its file: it begins, and the capture is over."""


def beginnings() -> list[list[Segment]]:
    """The first segments with octets of a connection of each capture."""
    found: list[list[Segment]] = []
    for name in NAMES:
        every = read_segments(named(name).read_bytes(), file=name)
        segments = sorted([each for each in every if isinstance(each, Segment)], key=sort_key)
        first = segments[0].flow
        found.append([each for each in segments if each.flow == first and each.payload][:EACH])
    return found


def small_files(folder: Path, count: int) -> list[Path]:
    """Files with one connection each, of clients whose addresses differ."""
    folder.mkdir()
    every = beginnings()
    paths: list[Path] = []
    for number in range(count):
        segments = every[number % len(every)]
        writer = PcapngWriter()
        octets = [writer.header()]
        client = f"10.1.{number >> 8}.{number & 0xFF}:{40_000 + number % 20_000}"
        key, begin = writer.open(client, "10.0.0.2:5672", segments[0].ts_ns)
        octets.append(begin)
        for each in segments:
            # The client speaks first.
            sender = Side.CLIENT if each.sport == segments[0].sport else Side.SERVER
            octets.append(writer.data(key, sender, each.payload, each.ts_ns))
        path = folder / f"{number:05}.pcapng"
        path.write_bytes(b"".join(octets))
        paths.append(path)
    return paths


def test_five_hundred_small_files(spark: SparkSession, tmp_path: Path) -> None:
    from amqp_sansio_spark import register, replay

    paths = small_files(tmp_path / "captures", FILES)
    register(spark)
    tables = replay(spark.read.format("amqp-capture").load(str(tmp_path / "captures")), 4).cache()
    try:
        found = spark_rows(tables)
    finally:
        tables.unpersist()
    assert len(found["connections"]) == FILES
    assert digest(found) == digest(local_rows(segments_of(paths)))
