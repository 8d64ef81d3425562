"""What a task does, without Spark: Arrow batches of segments in, rows out."""

from collections.abc import Iterator
from itertools import islice

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.tables import COLUMNS
from amqp_sansio_spark.segments import ARROW_SCHEMA, from_batch, to_batches
from amqp_sansio_spark.worker import ReplayTask
from tests.kit.captures import named
from tests.kit.tables import local_rows, normal, segments_of

NAMES = ("o091_pika_confirms.pcap", "o08_amqplib_rabbit_basic.pcap", "o091d_exchange_gap.pcap")
DAMAGE = CaptureDamage("cut.pcap", 3, 99, 1234, "truncated-file", "it ends inside of a packet")


def found() -> list[Segment | CaptureDamage]:
    return [DAMAGE, *segments_of(named(name) for name in NAMES)]


def in_order(rows: list[Segment | CaptureDamage]) -> list[Segment | CaptureDamage]:
    """As Spark sorts: nulls first."""
    damages = [row for row in rows if isinstance(row, CaptureDamage)]
    return [*damages, *sorted((row for row in rows if isinstance(row, Segment)), key=sort_key)]


def batches(rows: list[Segment | CaptureDamage], size: int) -> Iterator[pa.RecordBatch]:
    """Batches of `size` rows, as Spark cuts them: anywhere."""
    for batch in pa.Table.from_batches(to_batches(rows, 1 << 20), ARROW_SCHEMA).to_batches():
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)


def run(task: ReplayTask, rows: list[Segment | CaptureDamage], size: int = 1000) -> list[str]:
    (table,) = task.tables
    made = pa.Table.from_batches(list(task(batches(rows, size))))
    return [str(row) for row in made.to_pylist()] if table else []


@pytest.mark.parametrize("octets", [1, 3000, 1 << 20])
def test_segments_and_damage_survive_arrow(octets: int) -> None:
    rows = found()
    made = list(to_batches(rows, octets))
    assert all(batch.schema.equals(ARROW_SCHEMA) for batch in made)
    back = [row for batch in made for _, run in from_batch(batch, octets) for row in run]
    assert back == rows
    flows = [flow for batch in made for flow, run in from_batch(batch, octets) for _ in run]
    assert flows == [row.flow if isinstance(row, Segment) else None for row in rows]


def test_batches_are_bounded() -> None:
    rows = segments_of([named("o091_aiopika_channels_interleaved.pcap")])
    limit = 64 << 10
    sizes = [batch.nbytes for batch in to_batches(rows, limit)]
    largest = max(len(row.payload) for row in rows if isinstance(row, Segment))
    assert len(sizes) > 2 and max(sizes) <= limit + largest


@pytest.mark.parametrize("table", COLUMNS)
def test_rows_are_the_local_engines(table: str) -> None:
    rows = found()
    made = pa.Table.from_batches(list(ReplayTask((table,), "size")(batches(in_order(rows), 1000))))
    names = [name for name, kind in COLUMNS[table] if kind != "timestamp"]
    assert made.column_names == names
    values = [[row.get(name) for name, _ in COLUMNS[table]] for row in made.to_pylist()]
    assert normal(table, values) == local_rows(rows)[table]
    assert values


@given(st.integers(1, 40), st.sampled_from(sorted(COLUMNS)))
def test_the_size_of_batches_makes_no_difference(size: int, table: str) -> None:
    rows = in_order(found())
    assert run(ReplayTask((table,), "size"), rows, size) == run(ReplayTask((table,), "size"), rows)


def test_all_tables_at_once_are_structs() -> None:
    rows = in_order(found())
    tables = tuple(COLUMNS)
    made = pa.Table.from_batches(list(ReplayTask(tables, "size")(batches(rows, 50)))).to_pylist()
    for row in made:
        assert sum(value is not None for value in row.values()) == 1
    for table in tables:
        alone = pa.Table.from_batches(list(ReplayTask((table,), "size")(batches(rows, 50))))
        assert [row[table] for row in made if row[table] is not None] == alone.to_pylist()


def test_a_task_that_stops_and_others_in_between_leave_nothing_behind() -> None:
    """A worker serves many tasks, and some of them die."""
    rows = in_order(found())
    task = ReplayTask(("events",), "size")
    wanted = run(task, rows)
    half = task(islice(batches(rows, 7), 12))
    for _ in islice(half, 1):
        pass
    other = task(batches(rows, 13))
    next(other)
    assert run(task, rows) == wanted


def test_nothing_in_gives_nothing_out() -> None:
    assert list(ReplayTask(("events",), "size")(iter([]))) == []
    assert list(to_batches([], 1000)) == []
