"""A flow that is replayed by a task of its own has the rows that it has in a sorted replay."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.capture import Segment, sort_key
from amqp_sansio_spark.files import CaptureFile
from amqp_sansio_spark.hot import Plan
from amqp_sansio_spark.hot_worker import in_order
from amqp_sansio_spark.options import parse_options
from tests.kit.captures import named
from tests.kit.tables import local_rows, segments_of, spark_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NAMES = ("o091_pika_confirms", "o091_pika_nack_reject_requeue", "o10_proton_proton_types")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The captures, of which one is cut in three rotated files, and one has packets out of order."""
    for name in NAMES:
        octets = named(f"{name}.pcap").read_bytes()
        records = records_of(octets)
        if name == "o091_pika_confirms":
            third = len(records) // 3
            for number, part in enumerate((records[:third], records[third : 2 * third], records[2 * third :])):
                (tmp_path / f"{name}.pcap{number}").write_bytes(octets[:24] + b"".join(part))
            continue
        random.Random(1).shuffle(records)
        (tmp_path / f"{name}.pcap").write_bytes(octets[:24] + b"".join(records))
    (tmp_path / "notes.txt").write_text("no capture")
    return tmp_path


def records_of(octets: bytes) -> list[bytes]:
    found: list[bytes] = []
    pos = 24
    while pos < len(octets):
        size = struct.unpack_from("<I", octets, pos + 8)[0] + 16
        found.append(octets[pos : pos + size])
        pos += size
    return found


def paths_of(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.pcap*"))


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


def plan(folder: Path, window: int) -> Plan:
    found = [each for each in segments_of(paths_of(folder)) if isinstance(each, Segment)]
    flow = next(each.flow for each in found if each.file.startswith("o091_pika_nack"))
    files = tuple([(0, CaptureFile(str(path), path.name), path.stat().st_size) for path in paths_of(folder)])
    return Plan(flow, files, parse_options({}), "size", window)


def test_the_order_is_that_of_reassembly(folder: Path) -> None:
    chosen = plan(folder, 10_000)
    expected = [
        each for each in segments_of(paths_of(folder)) if isinstance(each, Segment) and each.flow == chosen.flow
    ]
    assert list(in_order(chosen)) == sorted(expected, key=sort_key)


def test_packets_too_far_out_of_order_are_told(folder: Path) -> None:
    with pytest.raises(RuntimeError, match=r"packet \d+ of o091_pika_nack_reject_requeue.pcap is out of order"):
        list(in_order(plan(folder, 2)))


def test_wrong_arguments(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import replay_files

    with pytest.raises(ValueError, match="hot_octets"):
        replay_files(spark, str(folder), hot_octets=0)
    with pytest.raises(ValueError, match="no option"):
        replay_files(spark, str(folder), nonsense=1)
