"""The source in Spark: one digest however a read is cut, filters, columns, problems, progress, other file systems."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.captures import named
from tests.kit.tables import digest, local_rows, segments_of, spark_rows
from tests.kit.traffic import Rows, any_pcap, any_pcapng, rows_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.spark
NAMES = ("o091_pika_confirms.pcap", "o08_amqplib_rabbit_errors.pcapng", "o10_proton_brokerj_tx.pcap")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rotated and foreign files, in folders: captured traffic, and packets of any kind."""
    folder = tmp_path_factory.mktemp("captures")
    for at, name in enumerate(NAMES):
        target = folder / f"day{at % 2}"
        target.mkdir(exist_ok=True)
        shutil.copy(named(name), target / name)
    (folder / "day0" / "any.pcap").write_bytes(any_pcap(1, 150, 1))
    (folder / "day1" / "any.pcap").write_bytes(any_pcapng(2, 150))
    (folder / "day1" / "any.pcap1.gz").write_bytes(gzip.compress(any_pcap(3, 100, 113), mtime=0))
    (folder / "day1" / "being written.pcap2").write_bytes(any_pcap(4, 100, 1)[:-7])
    (folder / "day1" / "notes.txt").write_text("no capture")
    (folder / "day1" / "empty").write_bytes(b"")
    return folder


def wanted_rows(folder: Path) -> Rows:
    """What the general reader finds, under the names that the source gives."""
    from amqp_sansio.capture import CaptureDamage, read_segments

    rows: Rows = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        name = path.relative_to(folder).as_posix()
        if path.name == "notes.txt":
            text = f"{name}: begins with 6e6f2063, not as pcap or pcapng does"
            rows += rows_of([CaptureDamage(name, 0, 0, 0, "not-a-capture", text)])
        elif path.name == "empty":
            rows += rows_of([CaptureDamage(name, 0, 0, 0, "empty-file", "the file is empty")])
        else:
            rows += rows_of(list(read_segments(path.read_bytes(), file=name)))
    return rows


def texts(rows: Rows) -> str:
    lines = [json.dumps(row, sort_keys=True, default=lambda octets: octets.hex()) for row in rows]
    return hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest()


def collected(frame: DataFrame) -> str:
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    for row in rows:
        row["payload"] = None if row["payload"] is None else bytes(row["payload"])
    return texts(rows)


@pytest.fixture
def source(spark: SparkSession) -> SparkSession:
    from amqp_sansio_spark import register

    register(spark)
    return spark


def test_one_digest_however_the_read_is_cut(source: SparkSession, folder: Path, tmp_path: Path) -> None:
    from amqp_sansio_spark import segments_of

    wanted = texts(wanted_rows(folder))
    moved = tmp_path / "elsewhere" / "deep"
    shutil.copytree(folder, moved)
    read = source.read.format("amqp-capture")
    one_by_one = sorted(str(path) for path in moved.rglob("*") if path.is_file())
    frames = {
        "default": read.load(str(folder)),
        "pieces": read.options(splitBytes="20k", maxBytesPerTask="1").load(str(folder)),
        "other pieces": read.options(splitBytes="700", maxBytesPerBatch="1k").load(str(moved)),
        "backwards": read.load(one_by_one[::-1]),
        "stages": segments_of(source, folder.as_uri(), splitBytes="20k"),
        "together": segments_of(source, [str(moved / "day1"), str(moved / "day0")]),
    }
    found = {name: collected(frame) for name, frame in frames.items()}
    assert found == dict.fromkeys(frames, wanted)
    counts = {name: frame.rdd.getNumPartitions() for name, frame in list(frames.items())[:3]}
    assert counts["default"] == 1 and counts["other pieces"] > 1 and counts["pieces"] > 6


def test_the_tables_are_those_of_the_local_engine_for_every_size_of_pieces(source: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import replay

    paths = [next(folder.rglob(name)) for name in NAMES]
    local = digest(local_rows(segments_of(paths)))
    frame = source.read.format("amqp-capture").option("splitBytes", "2k").load([*map(str, paths)])
    tables = replay(frame, 3).cache()
    try:
        assert digest(spark_rows(tables)) == local
    finally:
        tables.unpersist()


def test_progress_tells_what_was_read_and_what_was_left_out(source: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import progress, segments_of

    with pytest.raises(ValueError, match=r"set spark\.sql\.pyspark\.worker\.logging\.enabled=true"):
        progress(source)
    session = source.newSession()
    session.conf.set("spark.sql.pyspark.worker.logging.enabled", "true")
    options = {"splitBytes": "4k", "port": "40000"}
    frame = session.read.format("amqp-capture").options(**options).load(str(folder / "day1"))
    rows = [row for row in wanted_rows(folder) if row["file"].startswith("day1/")]
    kept = [row for row in rows if row["damage"] or 40_000 in (row["sport"], row["dport"])]
    assert frame.count() == len(kept)
    done = {f"day1/{row.file}": row for row in progress(session).collect()}
    assert set(done) == {row["file"] for row in rows}
    assert sum(row.rows for row in done.values()) == len(kept)
    for name, row in done.items():
        found = [row for row in rows if row["file"] == name]
        size = (folder / name).stat().st_size
        assert (row.pieces, row.octets, row["size"]) == (row.of, size, size)
        assert row.problems == len([each for each in found if each["damage"]])
        assert row.segments == len(found) - row.problems
        assert row.other == row.packets - row.segments
        assert row.filtered == len(found) - row.rows
    assert done["day1/any.pcap"].of > 2 and done["day1/any.pcap"].other > 50
    # The same query counts once; another read has rows of its own.
    frame.count()
    segments_of(session, str(folder / "day1" / "any.pcap"), splitBytes="4k").count()
    again = {row.read: row for row in progress(session).where("file = 'any.pcap'").collect()}
    assert len(again) == 2
    assert {(row.pieces, row.packets, row.segments) for row in again.values()} == {
        (row.of, row.packets, row.segments) for row in [done["day1/any.pcap"]]
    }


def test_filters_reach_the_reader_where_that_is_asked_for(source: SparkSession, folder: Path) -> None:
    from pyspark.errors import PySparkException

    session = source.newSession()
    chosen = "dport = 40000 and wire_len > 100 and file like 'day1/%'"
    read = session.read.format("amqp-capture").option("pushFilters", "true")
    with pytest.raises(PySparkException, match=r"spark\.sql\.python\.filterPushdown\.enabled"):
        read.load(str(folder)).where(chosen).count()
    session.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    kept = [
        row
        for row in wanted_rows(folder)
        if row["dport"] == 40_000 and row["wire_len"] > 100 and row["file"].startswith("day1/")
    ]
    assert kept and collected(read.load(str(folder)).where(chosen)) == texts(kept)
    # Without the option a frame serves any number of queries.
    frame = session.read.format("amqp-capture").load(str(folder))
    assert collected(frame.where(chosen)) == texts(kept)
    assert frame.count() == len(wanted_rows(folder))


def test_columns_are_chosen_by_an_option_or_a_schema(source: SparkSession, folder: Path) -> None:
    from pyspark.errors import PySparkException

    path = str(folder / "day0" / NAMES[0])
    read = source.read.format("amqp-capture")
    rows = [(row["ts_ns"], row["flow"]) for row in rows_of(segments_of([Path(path)]))]
    by_option = read.option("columns", "ts_ns, flow").load(path)
    assert by_option.columns == ["ts_ns", "flow"]
    assert sorted((row.ts_ns, row.flow) for row in by_option.collect()) == sorted(rows)
    by_schema = source.read.schema("flow string, ts_ns bigint").format("amqp-capture").load(path)
    assert sorted((row.ts_ns, row.flow) for row in by_schema.collect()) == sorted(rows)
    wrong = source.read.schema("flow string, colour int").format("amqp-capture").load(path)
    with pytest.raises(PySparkException, match="no column colour int; there are flow string"):
        wrong.count()


def test_problems_are_a_view_and_the_rest_is_read(source: SparkSession, folder: Path) -> None:
    from amqp_sansio_spark import problems

    rows = wanted_rows(folder)
    wanted = {
        (
            row["file"],
            row["damage"]["offset"],
            row["damage"]["kind"],
            row["damage"]["text"].removeprefix(f"{row['file']}: "),
        )
        for row in rows
        if row["damage"]
    }
    frame = problems(source, str(folder), splitBytes="2k")
    assert frame.columns == ["file", "offset", "packet", "ts_ns", "kind", "reason"]
    found = source.table("amqp_capture_problems").collect()
    assert {(row.file, row.offset, row.kind, row.reason) for row in found} == wanted
    whole = {(row.file, row.kind) for row in found if row.offset == 0}
    assert {("day1/notes.txt", "not-a-capture"), ("day1/empty", "empty-file")} <= whole
    assert "truncated-file" in {row.kind for row in found if row.file.endswith("pcap2")}
    few = problems(source, [str(folder / "day1")], view="bad", pathGlobFilter="*.txt")
    assert [row.kind for row in few.collect()] == ["not-a-capture"]
    assert source.sql("select reason from bad").collect()[0].reason.startswith("begins with 6e6f")
    sql = "create temporary view also using `amqp-capture` options (path '{}', table 'problems')"
    source.sql(sql.format(folder / "day1" / "empty"))
    assert [row.kind for row in source.table("also").collect()] == ["empty-file"]


def test_fail_fast_in_a_task_says_why_in_one_line(source: SparkSession, folder: Path) -> None:
    from pyspark.errors import PySparkException

    from amqp_sansio_spark import segments_of

    path = folder / "day1" / "being written.pcap2"
    line = r"CaptureProblem: being written\.pcap2, offset \d+: [a-z-]+: [^\n]+$"
    for frame in (
        source.read.format("amqp-capture").option("failFast", "true").load(str(path)),
        segments_of(source, str(path), failFast=True),
    ):
        with pytest.raises(PySparkException, match=line):
            frame.count()


@pytest.fixture
def elsewhere(spark: SparkSession, folder: Path) -> Iterator[str]:
    """The folder on a file system that Spark knows and Python doesn't."""
    key = "fs.viewfs.mounttable.lab.link./captures"
    spark.conf.set(key, folder.as_uri())
    yield "viewfs://lab/captures"
    spark.conf.unset(key)


def test_other_file_systems(
    source: SparkSession, folder: Path, elsewhere: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from amqp_sansio_spark import problems, segments_of

    wanted = wanted_rows(folder)
    assert collected(segments_of(source, elsewhere)) == texts(wanted)
    filtered = segments_of(source, f"{elsewhere}/day1", port=40_000, columns="file,dport,sport")
    ports = [row for row in wanted if 40_000 in (row["sport"], row["dport"])]
    assert filtered.where("sport is not null").count() == len([row for row in ports if row["file"].startswith("day1/")])
    monkeypatch.setattr("amqp_sansio_spark.stages.MAX_CONTENT", 5000)
    large = [path for path in folder.rglob("*") if path.is_file() and path.stat().st_size > 5000]
    found = problems(source, elsewhere, splitBytes="1k").where("kind = 'too-large'").collect()
    assert {row.file for row in found} == {path.relative_to(folder).as_posix() for path in large}
    mixed = segments_of(source, [f"{elsewhere}/day1", str(folder / "day0" / NAMES[0])])
    files = {row.file for row in mixed.select("file").distinct().collect()}
    assert {"notes.txt", "empty", "any.pcap1.gz", NAMES[0]} <= files
    with pytest.raises(FileNotFoundError, match="nothing: no file"):
        (folder / "nothing").mkdir(exist_ok=True)
        segments_of(source, f"{elsewhere}/nothing")
