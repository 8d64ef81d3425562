"""Traffic of every shape: captured at two points, by clocks that differ, and two thousand short connections."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.capture import PcapngWriter, Segment, clock_differences, read_segments, sort_key
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from benchmarks.generate import generate
from tests.kit.captures import named
from tests.kit.later import restamped
from tests.kit.tables import Rows, digest, local_rows, normal, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SECOND = 1_000_000_000
SKEW = 3.5
"""Seconds by which the second point's clock is ahead: more than the second that lost octets are waited for."""
BROKER = struct.pack(">H", 5672)
SOURCE_PORT = 14 + 20
MANY = 2_000


@pytest.fixture(scope="module")
def traffic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes")
    versions = ("0-8", "0-9-1", "0-10", "1.0")
    [path] = generate(folder, 500_000, versions=versions, sizes=(64, 2000), messages=20)
    return path


def from_broker(_: int, packet: bytes) -> bool:
    return packet[SOURCE_PORT : SOURCE_PORT + 2] == BROKER


def in_order(paths: list[Path]) -> list[Segment]:
    return sorted([each for each in segments_of(paths) if isinstance(each, Segment)], key=sort_key)


def timeless(rows: Rows) -> dict[str, list[str]]:
    """The rows without times, without the ids that are made of them, and without the order of what is independent."""
    left: dict[str, list[str]] = {}
    for table, texts in rows.items():
        values = [json.loads(text) for text in texts]
        for row in values:
            for name in [name for name in row if name.endswith(("_ns", "seq")) or name in ("connection", "ended_by")]:
                del row[name]
        left[table] = sorted(json.dumps(row, sort_keys=True) for row in values)
    return left


def skewed(paths: list[Path]) -> Rows:
    rows: dict[str, list[tuple[object, ...]]] = {table: [] for table in COLUMNS}
    for table, row in replay_segments(segments_of(paths), skew_ns=round(SKEW * SECOND)):
        rows[table].append(row)
    return {table: normal(table, found) for table, found in rows.items()}


def test_two_points_whose_clocks_differ(spark: SparkSession, traffic: Path, tmp_path: Path) -> None:
    """Every packet is there twice, and where the second point has it, the files of the first may be over."""
    from amqp_sansio_spark import register, replay, replay_files

    register(spark)
    capture = traffic.read_bytes()
    paths = [tmp_path / "at-client.pcap", tmp_path / "at-broker.pcap"]
    paths[0].write_bytes(capture)
    paths[1].write_bytes(restamped(capture, SKEW))
    expected = local_rows(segments_of(paths))
    assert timeless(expected) == timeless(local_rows(segments_of([traffic])))
    segments = spark.read.format("amqp-capture").load(str(tmp_path))
    tables = replay(segments, 3).cache()
    assert digest(spark_rows(tables)) == digest(expected)
    tables.unpersist()
    hot = replay_files(spark, str(tmp_path), hot_octets=20_000, partitions=2).cache()
    assert digest(spark_rows(hot)) == digest(expected)
    hot.unpersist()


def test_a_file_for_each_direction_and_clocks_that_differ(spark: SparkSession, traffic: Path, tmp_path: Path) -> None:
    from amqp_sansio_spark import register, replay, replay_files

    register(spark)
    capture = traffic.read_bytes()
    paths = [tmp_path / "up.pcap", tmp_path / "down.pcap"]
    paths[0].write_bytes(restamped(capture, SKEW, lambda at, packet: not from_broker(at, packet)))
    paths[1].write_bytes(restamped(capture, 0, from_broker))
    expected = skewed(paths)
    assert timeless(expected) == timeless(local_rows(segments_of([traffic])))
    segments = spark.read.format("amqp-capture").load(str(tmp_path))
    from amqp_sansio_spark import report

    made = report(replay(segments, 3, clock_skew=SKEW), join=False)
    assert made.gather.clocks.differences() == clock_differences(in_order(paths))
    [difference] = made.gather.clocks.differences()
    assert SKEW * SECOND <= difference.skew_ns < (SKEW + 1) * SECOND
    tables = replay(segments, 3, clock_skew=SKEW).cache()
    assert digest(spark_rows(tables)) == digest(expected)
    tables.unpersist()
    hot = replay_files(spark, str(tmp_path), hot_octets=20_000, partitions=2, clock_skew=SKEW).cache()
    assert digest(spark_rows(hot)) == digest(expected)
    hot.unpersist()
    # Without being told, one direction waits for the other no longer than a second.
    told = [row for row in local_rows(segments_of(paths))["violations"] if '"capture/' in row]
    assert told


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), 1e9])
def test_skews_that_cannot_be(spark: SparkSession, traffic: Path, wrong: float) -> None:
    from amqp_sansio_spark import replay, segments_of

    with pytest.raises(ValueError, match="clock_skew is from 0 to"):
        replay(segments_of(spark, str(traffic)), clock_skew=wrong)


def test_two_thousand_short_connections(spark: SparkSession, tmp_path: Path) -> None:
    """Clients that speak a version the broker doesn't, over and over, from a thousand ports."""
    from amqp_sansio_spark import register, replay

    register(spark)
    writer = PcapngWriter()
    out = [writer.header()]
    for number in range(MANY):
        at = number * SECOND
        connection, octets = writer.open(f"10.0.0.{1 + number % 10}:{40_000 + number // 10 % 100}", "10.0.1.1:5672", at)
        out += [
            octets,
            writer.data(connection, "client", b"AMQP\x01\x01\x08\x00", at + 10),
            writer.data(connection, "server", b"AMQP\x00\x00\x09\x01", at + 20),
            writer.close(connection, "server", at + 30),
        ]
    path = tmp_path / "storm.pcapng"
    path.write_bytes(b"".join(out))
    expected = local_rows(segments_of([path]))
    assert len(expected["connections"]) == MANY
    segments = spark.read.format("amqp-capture").option("splitBytes", "100k").load(str(path))
    tables = replay(segments, 3).cache()
    assert tables.connections.count() == MANY
    assert digest(spark_rows(tables)) == digest(expected)
    tables.unpersist()


def among(packets: set[int]) -> Callable[[int, bytes], bool]:
    return lambda at, _: at in packets


def test_a_publisher_whose_clock_is_ahead(spark: SparkSession, tmp_path: Path) -> None:
    """Its messages are delivered, as it seems, before they are published; views and report join them all the same."""
    from amqp_sansio_spark import register, replay, report

    capture = named("o091_librabbitmq_c_tools.pcap").read_bytes()
    segments = [each for each in read_segments(capture) if isinstance(each, Segment)]
    ahead = sorted({each.flow for each in segments})[2]
    of_it = {each.packet for each in segments if each.flow == ahead}
    rest = {each.packet for each in segments} - of_it
    (tmp_path / "a.pcap").write_bytes(restamped(capture, 5, among(of_it)))
    (tmp_path / "b.pcap").write_bytes(restamped(capture, 0, among(rest)))
    register(spark)
    tables = replay(spark.read.format("amqp-capture").load(str(tmp_path)), 2, clock_skew=6.0).cache()
    register(spark, tables, prefix="ahead_")
    [row] = spark.sql("select count(since_publish_ns) from ahead_histories where what = 'deliver'").collect()
    assert (row[0], report(tables).gather.latencies["path"].count) == (2, 2)
    tables.unpersist()
