"""The stream of captures that are being written: whole records only, the batch's rows, whatever was there when."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark", reason="needs the extra `spark`")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, ReadMaxFiles

from amqp_sansio_spark.options import parse_options, parse_stream_options
from amqp_sansio_spark.segments import ARROW_SCHEMA
from amqp_sansio_spark.stream_source import CaptureStreamReader
from tests.kit.captures import named
from tests.kit.given_clock import GivenClock

pytestmark = pytest.mark.usefixtures("reading_clock")
NAME = "o091_pika_confirms"


def reader(folder: Path, **options: str) -> CaptureStreamReader:
    return CaptureStreamReader(
        [str(folder)], parse_options(options), parse_stream_options(options), tuple(ARROW_SCHEMA.names)
    )


def rows(stream: CaptureStreamReader, start: dict[str, Any], end: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        row
        for partition in stream.partitions(start, end)
        for batch in stream.read(partition)
        for row in batch.to_pylist()
    ]


def at_once(folder: Path) -> list[dict[str, Any]]:
    from amqp_sansio_arrow.files import find_captures
    from amqp_sansio_spark.pieces import read_piece, whole

    return [
        row
        for file in find_captures([str(folder)])
        for batch in read_piece(whole(file, os.path.getsize(file.path)), parse_options({}), tuple(ARROW_SCHEMA.names))
        for row in batch.to_pylist()
    ]


@pytest.mark.parametrize("suffix", ["pcap", "pcapng"])
@pytest.mark.parametrize("restart", [False, True])
def test_a_file_that_grows(tmp_path: Path, suffix: str, restart: bool) -> None:
    octets = named(f"{NAME}.{suffix}").read_bytes()
    path = tmp_path / f"growing.{suffix}"
    stream = reader(tmp_path)
    offset = stream.initialOffset()
    found: list[dict[str, Any]] = []
    for stop in (0, 10, 300, 301, 5000, 5001, len(octets) - 3, len(octets)):
        path.write_bytes(octets[:stop])
        if restart:
            stream = reader(tmp_path)
        later = stream.latestOffset(offset, ReadAllAvailable())
        assert later["read"].get(path.name, 0) <= stop
        assert not later["closed"]
        found += rows(reader(tmp_path) if restart else stream, offset, later)
        offset = later
    assert found == at_once(tmp_path)


def test_nothing_new_is_the_same_offset(tmp_path: Path) -> None:
    stream = reader(tmp_path)
    assert stream.latestOffset(stream.initialOffset(), ReadAllAvailable()) == stream.initialOffset()
    (tmp_path / "a.pcap").write_bytes(named(f"{NAME}.pcap").read_bytes())
    first = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert stream.latestOffset(first, ReadAllAvailable()) == first
    assert rows(stream, first, first) == []


def test_a_closed_file_has_its_damage(tmp_path: Path, reading_clock: GivenClock) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(named(f"{NAME}.pcap").read_bytes()[:-3])
    (tmp_path / "b.txt").write_text("no capture")
    (tmp_path / "c.pcap.gz").write_bytes(gzip.compress(named(f"{NAME}.pcap").read_bytes()))
    stream = reader(tmp_path, closedAfter="30")
    offset = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    found = rows(stream, stream.initialOffset(), offset)
    assert found and all([row["damage"] is None for row in found])
    for each in tmp_path.iterdir():
        os.utime(each, (1, 1))
    reading_clock.now = 31.0
    later = stream.latestOffset(offset, ReadAllAvailable())
    assert sorted(later["closed"]) == ["a.pcap", "b.txt", "c.pcap.gz"]
    found += rows(stream, offset, later)
    expected = at_once(tmp_path)
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert {row["damage"]["kind"] for row in found if row["damage"]} == {"truncated-file", "not-a-capture"}
    # What is closed stays closed.
    assert stream.latestOffset(later, ReadAllAvailable()) == later


@pytest.mark.parametrize(
    ("limit", "most"), [(ReadMaxFiles(1), 1), (ReadMaxFiles(2), 2), (ReadMaxBytes(1), 1), (ReadMaxBytes(20_000), 2)]
)
def test_limits(tmp_path: Path, limit: ReadLimit, most: int) -> None:
    for number in range(4):
        (tmp_path / f"{number}.pcap").write_bytes(named(f"{NAME}.pcap").read_bytes())
    stream = reader(tmp_path)
    offset = stream.initialOffset()
    found: list[dict[str, Any]] = []
    for _ in range(4):
        later = stream.latestOffset(offset, limit)
        assert len(later["read"]) - len(offset["read"]) <= most
        found += rows(stream, offset, later)
        offset = later
    assert found == at_once(tmp_path)


def test_what_is_written_behind_the_start_of_an_available_now_is_left(tmp_path: Path) -> None:
    octets = named(f"{NAME}.pcap").read_bytes()
    (tmp_path / "a.pcap").write_bytes(octets[:9000])
    stream = reader(tmp_path)
    stream.prepareForTriggerAvailableNow()
    (tmp_path / "a.pcap").write_bytes(octets)
    (tmp_path / "b.pcap").write_bytes(octets)
    offset = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert list(offset["read"]) == ["a.pcap"]
    assert offset["read"]["a.pcap"] <= 9000
    assert stream.latestOffset(offset, ReadAllAvailable()) == offset


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"maxFilesPerTrigger": "0"}, "at least 1"),
        ({"maxBytesPerTrigger": "x"}, "maxBytesPerTrigger is 1 to"),
        ({"maxFilesPerTrigger": "1", "maxBytesPerTrigger": "1"}, "not both"),
        ({"closedAfter": "soon"}, "closedAfter is a number of seconds"),
    ],
)
def test_wrong_options(options: dict[str, str], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        parse_stream_options(options)
