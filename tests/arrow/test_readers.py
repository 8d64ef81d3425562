"""`tables`: readers of Arrow batches, with the rows of the local replay and the types of Spark's schema."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import amqp_sansio_arrow
from amqp_sansio.capture import NotACapture
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from amqp_sansio_arrow.builders import BatchBuilder, arrow_schema
from amqp_sansio_arrow.whole import TABLES
from amqp_sansio_spark.columns import schema_of
from tests.kit.captures import named
from tests.kit.tables import segments_of

CAPTURES = ["o091_pika_basic.pcap", "o091_pika_nack_reject_requeue.pcap"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SPARK_TYPES = {"string": "string", "int64": "bigint", "bool": "boolean"}


@pytest.fixture(scope="module")
def paths() -> list[Path]:
    return [named(name) for name in CAPTURES]


def rows_of(batches: Any) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for batch in batches for row in batch.to_pylist()]


def plain(value: object) -> object:
    """A moment as the microseconds that a row has."""
    return (value - _EPOCH) // timedelta(microseconds=1) if isinstance(value, datetime) else value


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_are_those_of_the_local_replay(paths: list[Path], table: str) -> None:
    read = rows_of(amqp_sansio_arrow.tables(paths)[table])
    made = [row for name, row in replay_segments(segments_of(paths)) if name == table]
    assert [tuple(map(plain, row)) for row in read] == made
    assert read or table == "violations"


@pytest.mark.parametrize("table", COLUMNS)
def test_names_and_types_are_those_of_spark(table: str) -> None:
    """Spark derives `ts` from `ts_ns`, and makes a VARIANT of `fields`."""
    schema: Any = arrow_schema(table)
    names = [name for name, kind in COLUMNS[table] if kind != "timestamp"]
    kinds = {str(field.type): field for field in schema}
    assert set(kinds) <= {"string", "int64", "bool", "timestamp[us, tz=UTC]"}
    written = ", ".join([f"{name} {SPARK_TYPES[str(schema.field(name).type)]}" for name in names])
    assert written == schema_of(table, names)
    assert schema.names == [name for name, _ in COLUMNS[table]]


def test_any_memory_gives_the_same_rows(paths: list[Path]) -> None:
    whole = amqp_sansio_arrow.tables(paths)
    small = amqp_sansio_arrow.tables(paths, memory=2_000)
    for table in TABLES:
        assert rows_of(small[table]) == rows_of(whole[table])


def test_one_pass_gives_several_tables(paths: list[Path]) -> None:
    tables = amqp_sansio_arrow.tables(paths)
    found: dict[str, list[tuple[Any, ...]]] = {}
    for table, batch in tables.batches(["messages", "histories", "events"]):
        found.setdefault(table, []).extend(rows_of([batch]))
    assert found == {table: rows_of(tables[table]) for table in ("messages", "histories", "events")}


def test_only_the_wanted_columns_are_there(paths: list[Path]) -> None:
    wanted = {"messages": ["outcome", "queue"], "histories": ["what", "history"]}
    tables = amqp_sansio_arrow.tables(paths, columns=wanted)
    for table, names in wanted.items():
        reader: Any = tables[table]
        assert reader.schema.names == names
        every = amqp_sansio_arrow.tables(paths)[table].read_all().select(names).to_pylist()
        assert reader.read_all().to_pylist() == every
    both = {table: rows_of([batch]) for table, batch in tables.batches(["messages", "histories"])}
    assert both == {table: rows_of(tables[table]) for table in wanted}


def test_a_batch_is_full_by_its_rows_or_its_octets() -> None:
    schemas = {"violations": arrow_schema("violations")}
    row = ("violations", (None, None, 5, None, "rule", "error", "text", 7, None))
    builder = BatchBuilder(schemas, most_rows=3)
    builder.add([row, row])
    assert not builder.is_full
    builder.add([row])
    assert builder.is_full
    assert builder.take()["violations"].num_rows == 3
    assert not builder.is_full and builder.take() == {}
    large = BatchBuilder({"events": arrow_schema("events", ["fields"])}, most_octets=100)
    large.add([("events", ("x" * 100,))])
    assert large.is_full


def test_other_files_of_a_folder_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("no capture\n")
    (tmp_path / "a.pcap").write_bytes(named(CAPTURES[0]).read_bytes())
    assert amqp_sansio_arrow.tables(tmp_path)["connections"].read_all().num_rows == 1
    with pytest.raises(NotACapture, match=r"notes.txt: begins with 6e6f2063, not as pcap"):
        amqp_sansio_arrow.tables(tmp_path / "notes.txt")["connections"].read_all()


def test_arguments_that_cant_be_used(paths: list[Path], tmp_path: Path) -> None:
    tables = amqp_sansio_arrow.tables
    with pytest.raises(ValueError, match="no table is called 'message'"):
        tables(paths, columns={"message": ["seq"]})
    with pytest.raises(ValueError, match="messages has no column 'sq'"):
        tables(paths, columns={"messages": ["sq"]})
    with pytest.raises(ValueError, match="body is none, size or base64, not 'all'"):
        tables(paths, body="all")
    with pytest.raises(ValueError, match="no table is called 'x'"):
        tables(paths).batches(["x"])
    with pytest.raises(FileNotFoundError, match="nothing: no such file"):
        tables(tmp_path / "nothing")
    with pytest.raises(KeyError):
        tables(paths)["x"]


def test_it_is_a_mapping_of_tables_by_name(paths: list[Path]) -> None:
    tables = amqp_sansio_arrow.tables(paths)
    assert list(tables) == list(TABLES) and len(tables) == len(TABLES)
    named = "connections, events, messages, violations, consumers, histories, topology"
    assert repr(tables) == f"<Tables of 2 captures: {named}>"
    assert tables.schema("messages") == arrow_schema("messages")
    assert isinstance(tables["messages"], pa.RecordBatchReader)


def test_without_pyarrow_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str, package: str) -> object:
        raise ModuleNotFoundError("No module named 'pyarrow'", name="pyarrow")

    monkeypatch.setattr(amqp_sansio_arrow, "import_module", missing)
    with pytest.raises(
        ModuleNotFoundError, match=r"amqp_sansio_arrow.write needs pyarrow: pip install 'amqp-sansio\[arrow\]'"
    ):
        _ = amqp_sansio_arrow.write
