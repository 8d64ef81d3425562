"""The data source: what it reads, in how many tasks, and what it says of files it can't read."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.capture import CaptureDamage, Segment
from tests.kit.captures import named
from tests.kit.tables import segments_of

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

pytestmark = pytest.mark.spark
NAMES = ("o091_pika_basic.pcap", "o091_pika_ipv6.pcapng", "o08_amqplib_rabbit_basic.pcap")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three captures, one of them compressed, and one that is cut short."""
    for name in NAMES:
        shutil.copy(named(name), tmp_path / name)
    packed = tmp_path / "packed.pcap.gz"
    packed.write_bytes(gzip.compress(named("o091_pika_tx.pcap").read_bytes(), mtime=0))
    (tmp_path / "cut.pcap").write_bytes(named("o091_pika_confirms.pcap").read_bytes()[:-7])
    return tmp_path


def back(row: Row) -> Segment | CaptureDamage:
    """A row of the DataFrame as what it was made of."""
    at = row.asDict(recursive=True)
    damage = at.pop("damage")
    flow = at.pop("flow")
    if damage is not None:
        assert flow is None
        return CaptureDamage(at["file"], at["packet"], at["ts_ns"], damage["offset"], damage["kind"], damage["text"])
    at["payload"] = bytes(at["payload"])
    segment = Segment(**at)
    assert segment.flow == flow
    return segment


@pytest.mark.parametrize("size", ["4m", "2k"])
def test_a_folder_is_read_whole_with_its_damage(spark: SparkSession, folder: Path, size: str) -> None:
    from amqp_sansio_spark import register

    register(spark)
    frame = spark.read.format("amqp-capture").option("maxBytesPerBatch", size).load(str(folder))
    rows = [back(row) for row in frame.orderBy("file", "packet").collect()]
    assert rows == segments_of(sorted(folder.iterdir()))
    assert [row.kind for row in rows if isinstance(row, CaptureDamage)] == ["truncated-file"]


def test_small_files_share_a_task_and_large_ones_do_not(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register

    register(spark)
    read = spark.read.format("amqp-capture")
    tasks = {
        size: read.option("maxBytesPerTask", size).load(str(folder)).rdd.getNumPartitions()
        for size in ("1", "2100k", "32m")
    }
    assert tasks == {"1": 5, "2100k": 3, "32m": 1}


def test_the_format_is_known_without_registering(spark: SparkSession, folder: Path) -> None:
    session = spark.newSession()
    path = str(folder / NAMES[0])
    assert session.read.format("amqp-capture").load(path).count() == len(segments_of([Path(path)]))


def test_lists_patterns_and_commas(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register

    register(spark)
    one, two = str(folder / NAMES[0]), str(folder / NAMES[2])
    wanted = len(segments_of([Path(one), Path(two)]))
    read = spark.read.format("amqp-capture")
    assert read.load([two, one]).count() == wanted
    assert read.load(f"{one},{two}").count() == wanted
    assert read.load(str(folder / "*_basic.pcap")).count() == wanted


def test_with_fail_fast_a_file_that_is_no_capture_is_one_clear_error(spark: SparkSession, folder: Path) -> None:
    from pyspark.errors import AnalysisException

    from amqp_sansio_spark import register

    register(spark)
    (folder / "notes.txt").write_text("not a capture")
    frame = spark.read.format("amqp-capture").option("failFast", "true").load(str(folder))
    line = r"CaptureProblem: notes\.txt, offset 0: not-a-capture: begins with 6e6f7420"
    with pytest.raises(AnalysisException, match=line):
        frame.count()


def test_a_file_that_is_no_capture_is_a_row(spark: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import register, replay

    register(spark)
    (folder / "notes.txt").write_text("not a capture")
    frame = spark.read.format("amqp-capture").load(str(folder))
    (row,) = frame.where("damage.kind = 'not-a-capture'").collect()
    assert row.file == "notes.txt" and row.damage.text.startswith("notes.txt: begins with")
    texts = [row.text for row in replay(frame, 2).violations.where("connection is null").collect()]
    assert any("notes.txt" in text for text in texts) and len(texts) == 2


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"path": "nowhere.pcap"}, "nowhere.pcap: no such file"),
        ({}, r"say what to read: load\(path\)"),
        ({"path": "s3://bucket/x.pcap"}, "s3://bucket/x.pcap: only files"),
        ({"path": "x", "maxBytesPerBatch": "many"}, "maxBytesPerBatch is 1 to 1g, not 'many'"),
        ({"path": "x", "clockOffset": "a=soon"}, "FILE=SECONDS or SECONDS, not 'a=soon'"),
        ({"path": "x", "failFast": "maybe"}, "failFast is true or false, not 'maybe'"),
    ],
)
def test_wrong_options_are_errors(spark: SparkSession, options: dict[str, str], match: str) -> None:
    from pyspark.errors import PySparkException

    from amqp_sansio_spark import register

    register(spark)
    with pytest.raises(PySparkException, match=match) as raised:
        spark.read.format("amqp-capture").options(**options).load().count()
    assert str(raised.value).replace("\n SQLSTATE", "").count("\n") == 0
