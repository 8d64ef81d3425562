"""`replay --output`: tables in files, by the endings of their names."""

import csv
import gzip
import json
import os
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import amqp_sansio_arrow
from amqp_sansio.recorded.tables import COLUMNS
from amqp_sansio_arrow.whole import TABLES
from amqp_sansio_cli.writing import table_files, targets
from tests.kit.captures import named

Run = Callable[..., subprocess.CompletedProcess[str]]
BASIC = "o091_pika_basic.pcap"
PQ: Any = pq
PA: Any = pa
ENDINGS = ("parquet", "arrow", "jsonl", "csv", "jsonl.gz", "csv.gz", "jsonl.zst", "csv.zst")


def unpacked(path: Path) -> str:
    octets = path.read_bytes()
    if path.suffix == ".gz":
        return gzip.decompress(octets).decode()
    if path.suffix == ".zst":
        octets = PA.CompressedInputStream(PA.py_buffer(octets), "zstd").read()
    return octets.decode()


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of a file of any format, with texts where the format has nothing else."""
    kind = path.name.split(".")[1]
    if kind == "parquet":
        found: list[dict[str, Any]] = PQ.read_table(path).to_pylist()
        return found
    if kind == "arrow":
        with PA.ipc.open_file(path) as file:
            found = file.read_all().to_pylist()
        return found
    if kind == "csv":
        return list(csv.DictReader(StringIO(unpacked(path))))
    return [json.loads(line) for line in unpacked(path).splitlines()]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_has_the_rows_of_the_table(cli: Run, tmp_path: Path, table: str, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    done = cli("replay", named(BASIC), "--table", table, "--output", path)
    rows = amqp_sansio_arrow.tables(named(BASIC))[table].read_all().to_pylist()
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == f"amqp-sansio: {len(rows):,} rows in {path}\n"
    found = read(path)
    names = [name for name, _ in TABLES[table]]
    assert [list(row) for row in found] == [names] * len(rows)
    if ending in ("parquet", "arrow"):
        assert found == rows
    else:
        printed = cli("replay", named(BASIC), "--table", table, "--format", ending.split(".")[0]).stdout
        assert unpacked(path) == printed
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl", "csv"])
def test_a_folder_has_a_file_of_each_table(cli: Run, tmp_path: Path, form: str) -> None:
    folder = f"{tmp_path / 'new'}/"
    done = cli("replay", named(BASIC), "--output", folder, *([] if form == "parquet" else ["--format", form]))
    assert done.returncode == 0, done.stderr
    assert sorted(os.listdir(folder)) == sorted(f"{table}.{form}" for table in COLUMNS)
    assert done.stderr.count(" rows in ") == len(COLUMNS)
    some = cli("replay", named(BASIC), "--output", tmp_path, "--table", "messages,histories", "--format", form)
    assert some.returncode == 0, some.stderr
    assert sorted(os.listdir(tmp_path)) == sorted([f"messages.{form}", f"histories.{form}", "new"])


def test_a_pipe_is_written_as_a_file_is(cli: Run, tmp_path: Path) -> None:
    octets = named(BASIC).read_bytes()
    done = cli("replay", "-", "--table", "messages", "--output", tmp_path / "m.jsonl", stdin=octets)
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "m.jsonl") == [
        json.loads(line) for line in cli("replay", "-", "--table", "messages", stdin=octets).stdout.splitlines()
    ]


def test_only_the_chosen_connections_are_written(cli: Run, tmp_path: Path) -> None:
    both = [named(BASIC), named("o091_pika_nack_reject_requeue.pcap")]
    (first, *_) = read_lines(cli("replay", *both, "--table", "connections"))
    done = cli("replay", *both, "--connection", first["connection"], "--output", tmp_path / "c.csv")
    assert done.returncode == 0, done.stderr
    assert {row["connection"] for row in read(tmp_path / "c.csv")} == {first["connection"]}


def read_lines(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["CAPTURE", "--output", "x.txt"], "x.txt: a file ends in .parquet, .arrow, .jsonl or .csv"),
        (["CAPTURE", "--output", "x"], "the name of a folder ends in /"),
        (["CAPTURE", "--output", "x.parquet.gz"], "a file ends in"),
        (["CAPTURE", "--output", "x.parquet", "--table", "events,messages"], "several tables want a folder"),
        (["CAPTURE", "--output", "x.csv", "--format", "jsonl"], "its ending says the format; leave --format jsonl out"),
        (["CAPTURE", "--table", "events,messages"], "several tables want --output with a folder"),
        (["CAPTURE", "--format", "parquet"], "--format parquet wants --output"),
        (["CAPTURE", "--format", "table", "--output", "x.csv"], "--format table is for people"),
        (["CAPTURE", "--table", "mesages"], "there is no table 'mesages', only events, messages"),
        (["CAPTURE", "--table", "mesages"], "did you mean messages?"),
        (["CAPTURE", "--output", "/dev/null/x/"], "/dev/null/x: not a directory"),
        (["CAPTURE", "--output", "CAPTURE/x.csv"], "/c.pcap: file exists"),
        (["no.pcap", "--output", "x.csv"], "no.pcap: no such file"),
    ],
)
def test_outputs_that_cant_be(cli: Run, tmp_path: Path, arguments: list[str], words: str) -> None:
    capture = tmp_path / "c.pcap"
    capture.write_bytes(named(BASIC).read_bytes())
    done = cli("replay", *[each.replace("CAPTURE", str(capture)) for each in arguments], cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert words in done.stderr
    assert os.listdir(tmp_path) == ["c.pcap"]


def test_an_output_that_is_an_input_stays(cli: Run, tmp_path: Path) -> None:
    capture = tmp_path / "c.csv"
    octets = named(BASIC).read_bytes()
    capture.write_bytes(octets)
    done = cli("replay", capture, "--output", capture)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "is one of the captures" in done.stderr
    assert capture.read_bytes() == octets


@pytest.mark.parametrize("ending", ["jsonl", "csv.gz", "parquet"])
def test_a_capture_that_fails_midway_leaves_what_was_there(cli: Run, tmp_path: Path, ending: str) -> None:
    """Whoever reads the file sees the last whole one."""
    path = tmp_path / f"x.{ending}"
    path.write_text("of yesterday")
    (tmp_path / "bad.pcap").write_bytes(b"nothing of the kind")
    done = cli("replay", named(BASIC), tmp_path / "bad.pcap", "--output", path)
    assert done.returncode == 2, done.stderr
    assert path.read_text() == "of yesterday"
    assert sorted(os.listdir(tmp_path)) == sorted(["bad.pcap", path.name])


@pytest.mark.parametrize("ending", ENDINGS)
def test_an_interrupted_run_leaves_no_half_file(tmp_path: Path, ending: str) -> None:
    files = targets(str(tmp_path / f"x.{ending}"), ["violations"], None)
    row = (None, None, 5, None, "rule", "error", "text", 7, None)
    with pytest.raises(KeyboardInterrupt), table_files(files) as writers:
        writers["violations"].write_rows([row] * 1000)
        assert os.listdir(tmp_path) == [f"x.{ending}.part"]
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device stands for a full disk")
@pytest.mark.parametrize("ending", ["jsonl", "csv", "parquet"])
def test_a_full_disk_is_one_line(cli: Run, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    path.symlink_to("/dev/full")
    done = cli("replay", named(BASIC), "--output", path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "no space left on device" in done.stderr.lower()


@pytest.mark.parametrize("ending", ["parquet", "csv.zst"])
def test_without_pyarrow_the_extra_is_named(
    cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] in ("pyarrow", "amqp_sansio_arrow")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    done = cli("replay", named(BASIC), "--output", tmp_path / f"x.{ending}")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f".{ending.rpartition('.')[2]} needs pyarrow: pip install 'amqp-sansio[arrow]'" in done.stderr
    assert os.listdir(tmp_path) == []
