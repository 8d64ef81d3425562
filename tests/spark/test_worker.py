"""What a task does, without Spark: Arrow batches of segments in, rows out."""

import gc
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("pyspark", reason="needs the extra `spark`")

import pyarrow as pa

from amqp_sansio import AMQP_1_0
from amqp_sansio.capture import CaptureDamage, Segment, sort_key
from amqp_sansio.recorded.tables import COLUMNS, replay_segments
from amqp_sansio_spark.join_worker import EventsTask, HistoryTask, StepsTask, TopologyTask
from amqp_sansio_spark.plans import Setting
from amqp_sansio_spark.segments import ARROW_SCHEMA, from_batch, to_batches
from amqp_sansio_spark.tables import setting_of
from amqp_sansio_spark.worker import PassedTask, ReplayTask
from tests.kit.captures import named
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.less import changed
from tests.kit.tables import local_rows, normal, segments_of

NAMES = ("o091_pika_confirms.pcap", "o08_amqplib_rabbit_basic.pcap", "o091d_exchange_gap.pcap")
DAMAGE = CaptureDamage("cut.pcap", 3, 99, 1234, "truncated-file", "it ends inside of a packet")


def found() -> list[Segment | CaptureDamage]:
    return [DAMAGE, *segments_of(named(name) for name in NAMES)]


def in_order(rows: list[Segment | CaptureDamage]) -> list[Segment | CaptureDamage]:
    """As Spark sorts: nulls first."""
    damages = [row for row in rows if isinstance(row, CaptureDamage)]
    return [*damages, *sorted((row for row in rows if isinstance(row, Segment)), key=sort_key)]


def batches(rows: Sequence[Segment | CaptureDamage], size: int) -> Iterator[pa.RecordBatch]:
    """Batches of `size` rows, as Spark cuts them: anywhere."""
    for batch in pa.Table.from_batches(to_batches(rows, 1 << 20), ARROW_SCHEMA).to_batches():
        for start in range(0, batch.num_rows, size):
            yield batch.slice(start, size)


def run(task: ReplayTask, rows: Sequence[Segment | CaptureDamage], size: int = 1000) -> pa.Table:
    return pa.Table.from_batches(list(task(batches(rows, size))))


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
def test_rows_are_the_local_engines_of_one_table_and_of_several_and_of_chosen_columns(table: str) -> None:
    rows = in_order(found())
    whole = run(ReplayTask((table,)), rows)
    assert whole.column_names == [name for name, kind in COLUMNS[table] if kind != "timestamp"]
    values = [[row.get(name) for name, _ in COLUMNS[table]] for row in whole.to_pylist()]
    assert values and normal(table, values) == local_rows(rows)[table]
    together = [row[table] for row in run(ReplayTask(tuple(COLUMNS)), rows, 50).to_pylist()]
    assert [row for row in together if row is not None] == whole.to_pylist()
    for names in (whole.column_names[::-3], ["connection"]):
        assert run(ReplayTask({table: names}), rows) == whole.select(names)


@given(st.integers(1, 40), st.sampled_from(sorted(COLUMNS)))
def test_the_size_of_batches_makes_no_difference(size: int, table: str) -> None:
    rows = in_order(found())
    assert run(ReplayTask((table,)), rows, size) == run(ReplayTask((table,)), rows)


def test_a_task_that_stops_and_others_in_between_leave_nothing_behind() -> None:
    """A worker serves many tasks, and some of them die."""
    rows = in_order(found())
    task = ReplayTask(("events",))
    wanted = run(task, rows)
    half = task(islice(batches(rows, 7), 12))
    next(half, None)
    other = task(batches(rows, 13))
    next(other)
    assert run(task, rows) == wanted


def test_nothing_in_gives_nothing_out() -> None:
    assert list(ReplayTask(("events",))(iter([]))) == list(to_batches([], 1000)) == []


def _beside_amqp() -> list[Segment]:
    """A connection of AMQP to port 15672 whose beginning isn't captured, and one of SSH."""
    talk = packets_of(CONVERSATIONS[AMQP_1_0](1))
    moved = [_to_port(each, 15_672) for each in talk[len(talk) // 2 :]]
    ssh = packets_of([("client", b"SSH-2.0-x\r\n"), ("server", b"SSH-2.0-y\r\n")])
    return sorted([*moved, *[_to_port(each, 22) for each in ssh]], key=sort_key)


def _to_port(segment: Segment, port: int) -> Segment:
    sport, dport = (port if each == 5672 else each for each in (segment.sport, segment.dport))
    return changed(segment, sport=sport, dport=dport)


@pytest.mark.parametrize("known", ["nothing", "ports", "servers"])
def test_ports_and_servers_tell_the_roles_as_in_the_local_engine(known: str) -> None:
    rows = _beside_amqp()
    servers = ("10.0.0.2:15672",) if known == "servers" else ()
    setting = setting_of("size", 0.0, (15_672,) if known == "ports" else (), servers)
    (made,) = run(ReplayTask(("connections",), setting), rows).to_pylist()
    by = {"nothing": (None, "frame"), "ports": ("port",), "servers": ("capture",)}
    assert made["roles_by"] in by[known]
    local = [
        row for table, row in replay_segments(rows, servers=servers, ports=setting.ports) if table == "connections"
    ]
    names = [name for name, _ in COLUMNS["connections"]]
    assert [dict(zip(names, row, strict=True))["roles_by"] for row in local] == [made["roles_by"]]


def test_what_is_not_amqp_is_counted_and_has_no_rows() -> None:
    rows = _beside_amqp()
    counted = run(PassedTask(Setting()), rows)
    assert counted.to_pylist() == [{"protocol": "SSH", "connections": 1}]
    assert {row["server"] for row in run(ReplayTask(("connections",)), rows).to_pylist()} <= {None, "10.0.0.2:15672"}
    ssh = [each for each in rows if 22 in (each.sport, each.dport)]
    (batch,) = PassedTask(Setting()).run(ssh[0].flow, ssh)
    assert batch.to_pylist() == counted.to_pylist()


def test_a_wrong_port_is_named() -> None:
    with pytest.raises(ValueError, match="a port is 1 to 65535, not 0"):
        setting_of("size", 0.0, ports=(0,))


TASKS: dict[str, Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]] = {
    "replay": ReplayTask(("events",)),
    "passed": PassedTask(Setting()),
    "events": EventsTask(("events",)),
    "steps": StepsTask(Setting()),
    "topology": TopologyTask(),
    "histories": HistoryTask(),
}


@pytest.fixture
def usual() -> Iterator[tuple[int, int, int]]:
    """Python's own thresholds of the collector, which the suite raises for itself."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield gc.get_threshold()
    gc.set_threshold(*before)


@pytest.mark.parametrize("ended", ["at its end", "by an error"])
@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_the_collector_looks_seldom_for_as_long_as_a_task_runs(
    task: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]], ended: str, usual: tuple[int, int, int]
) -> None:
    seen: list[tuple[int, int, int]] = []

    def given() -> Iterator[pa.RecordBatch]:
        seen.append(gc.get_threshold())
        if ended == "by an error":
            raise ValueError(ended)
        yield from ()

    if ended == "by an error":
        with pytest.raises(ValueError, match=ended):
            list(task(given()))
    else:
        assert not list(task(given()))
    assert [each[0] > usual[0] for each in seen] == [True]
    assert gc.get_threshold() == usual


def test_a_task_that_nobody_reads_to_its_end_leaves_the_collector_as_it_was(usual: tuple[int, int, int]) -> None:
    made = ReplayTask(("events",))(batches(in_order(found()), 1000))
    next(made)
    assert gc.get_threshold() != usual
    made.close()
    assert gc.get_threshold() == usual


@pytest.mark.parametrize("threshold", [0, 1_000_000])
def test_a_collector_that_looks_never_or_more_seldom_stays_so(threshold: int, usual: tuple[int, int, int]) -> None:
    gc.set_threshold(threshold, *usual[1:])
    made = ReplayTask(("events",))(batches(in_order(found()), 1000))
    next(made)
    assert gc.get_threshold() == (threshold, *usual[1:])
    made.close()
