"""Connections that are most of the data: each replayed by a task that reads the files in their order, without a sort.

A sort of hundreds of gigabytes of one connection spills to disk and can't be spread, as a connection is sequential.
"""

from __future__ import annotations

import heapq
import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pyspark.sql.datasource import EqualTo

from amqp_sansio.capture import NotACapture, Segment, read_segments, sort_key

from .files import CaptureFile, find_captures, read_octets
from .options import Options, parse_options
from .pieces import read_piece, whole
from .reading import segments_of
from .segments import ARROW_SCHEMA, ROW_OCTETS, from_batch
from .tables import BodyMode, Replay, default_partitions, tables_schema
from .worker import IN_OCTETS, ReplayTask

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

WINDOW: Final = 10_000
"""Segments of a flow that are held back for each file, because captures have packets a little out of order."""
_SLACK_NS: Final = 60_000_000_000
"""A file is opened when the replay has come so close to its first packet, nanoseconds."""


class Plan(NamedTuple):
    """What a task needs: the flow, and the files with the time of their first segment."""

    flow: str
    files: tuple[tuple[int, CaptureFile, int], ...]
    options: Options
    body: str
    window: int = WINDOW


def replay_files(
    spark: SparkSession,
    path: str | Sequence[str],
    *,
    hot_octets: int = 4 << 30,
    partitions: int | None = None,
    body: BodyMode = "size",
    **options: str | int | bool,
) -> Replay:
    """Replay what is in captures, of any shape: the rows of `replay(segments_of(spark, path, **options))`.

    Flows of more than `hot_octets` octets, which a first pass over the captures counts, are replayed by
    `replay_hot`, without a shuffle; all others as `replay` does. That pass runs at once, everything else when a table
    is used. Captures that only Spark can open have no hot flows.

    Raises ValueError for a wrong argument or option, FileNotFoundError where nothing is found.
    """
    from .tables import replay

    if hot_octets < 1:
        raise ValueError(f"hot_octets is at least 1, not {hot_octets}")
    segments = segments_of(spark, path, **options)
    flows = _hot_flows(spark, path, hot_octets, options)
    if not flows:
        return replay(segments, partitions, body=body)
    from pyspark.sql import functions as f

    cold = segments.where(f.col("flow").isNull() | ~f.col("flow").isin(*flows))
    plans = _plans(path, flows, options, body)
    return HotReplay(spark, cold, plans, partitions or default_partitions(cold), body)


def replay_hot(
    spark: SparkSession,
    path: str | Sequence[str],
    flow: str | Sequence[str],
    *,
    body: BodyMode = "size",
    **options: str | int | bool,
) -> Replay:
    """Replay one flow (all connections of one 4-tuple), or several, without a shuffle, in memory that no size changes.

    Each flow has a task of its own, which reads the captures in the order of their time.

    The rows are those of `replay`. Each file may have packets out of order by up to 10,000 segments of the flow, and
    files may overlap in time. Every task reads all files, of which it drops the other flows early, so that few flows
    are worth it: those that are a large part of the data. Every worker must be able to open the files by their paths.

    A capture whose packets are further out of order fails the query, and the error says which one; `replay` sorts it.
    Raises ValueError for a wrong option, FileNotFoundError where nothing is found.
    """
    flows = [flow] if isinstance(flow, str) else list(flow)
    plans = _plans(path, flows, options, body)
    nothing = segments_of(spark, path, **options).where("false")
    return HotReplay(spark, nothing, plans, 1, body)


class HotReplay(Replay):
    """The tables of some flows by tasks of their own, and of the others by sorted segments."""

    def __init__(
        self, spark: SparkSession, cold: DataFrame, plans: Sequence[Plan], partitions: int, body: str
    ) -> None:
        super().__init__(cold, partitions, body)
        self._spark = spark
        self._plans = plans

    def _run(self, tables: tuple[str, ...]) -> DataFrame:
        task = _HotTask([pickle.dumps(plan) for plan in self._plans], tables)
        numbers = self._spark.range(0, len(self._plans), 1, len(self._plans))
        return super()._run(tables).unionAll(numbers.mapInArrow(task, tables_schema(tables)))


class _HotTask:
    """For `mapInArrow`: numbers of plans to the rows of their flows."""

    def __init__(self, plans: list[bytes], tables: tuple[str, ...]) -> None:
        self.plans = plans
        self.tables = tables

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers: list[int] = batch.to_pydict()["id"]
            for number in numbers:
                plan: Plan = pickle.loads(self.plans[number])
                yield from ReplayTask(self.tables, plan.body).run(plan.flow, in_order(plan))


def in_order(plan: Plan) -> Iterator[Segment]:
    """The segments of the plan's flow in the order of reassembly, whatever file they are in. Raises RuntimeError for a
    file whose packets are further out of order than the window.
    """
    waiting = sorted(plan.files, key=lambda each: (each[0], each[1].name), reverse=True)
    heads: list[tuple[tuple[Any, ...], int, Segment, Iterator[Segment]]] = []
    opened = 0
    last: tuple[Any, ...] | None = None
    while heads or waiting:
        while waiting and (not heads or waiting[-1][0] - _SLACK_NS <= heads[0][2].ts_ns):
            _, file, size = waiting.pop()
            rows = _sorted(_rows(file, size, plan), plan.window)
            segment = next(rows, None)
            if segment is not None:
                opened += 1
                heapq.heappush(heads, (sort_key(segment), opened, segment, rows))
        if not heads:
            continue
        place, number, segment, rows = heads[0]
        if last is not None and place < last:
            raise RuntimeError(
                f"amqp-capture: packet {segment.packet} of {segment.file} is out of order by more than {plan.window} "
                f"segments of {plan.flow}: replay(segments) sorts it"
            )
        last = place
        yield segment
        following = next(rows, None)
        if following is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (sort_key(following), number, following, rows))


def _rows(file: CaptureFile, size: int, plan: Plan) -> Iterator[Segment]:
    selection = plan.options.selection.with_filters([EqualTo(("flow",), plan.flow)])
    options = plan.options._replace(selection=selection)
    for batch in read_piece(whole(file, size), options, tuple(ARROW_SCHEMA.names)):
        for flow, run in from_batch(batch, IN_OCTETS):
            if flow == plan.flow:
                for row in run:
                    assert isinstance(row, Segment)
                    yield row


def _sorted(rows: Iterable[Segment], window: int) -> Iterator[Segment]:
    """The rows of one file, of which each may be up to `window` rows late."""
    held: list[tuple[tuple[Any, ...], Segment]] = []
    for row in rows:
        # No two rows of a file have the same number, so that segments are never compared.
        item = (sort_key(row), row)
        if len(held) < window:
            heapq.heappush(held, item)
        else:
            yield heapq.heappushpop(held, item)[1]
    while held:
        yield heapq.heappop(held)[1]


def _hot_flows(
    spark: SparkSession, path: str | Sequence[str], hot_octets: int, options: dict[str, str | int | bool]
) -> list[str]:
    from pyspark.sql import functions as f

    try:
        _files(path, options)
    except ValueError:
        return []
    counted = segments_of(spark, path, **{**options, "columns": "flow,wire_len"})
    sizes = (
        counted.where("flow is not null")
        .groupBy("flow")
        .agg(f.sum(f.col("wire_len") + f.lit(ROW_OCTETS)).alias("octets"))
        .where(f.col("octets") > hot_octets)
    )
    return sorted([str(row["flow"]) for row in sizes.collect()])


def _plans(
    path: str | Sequence[str], flows: Sequence[str], options: dict[str, str | int | bool], body: str
) -> list[Plan]:
    checked = parse_options({name: str(value) for name, value in options.items()})
    files = tuple([(_first_ns(file), file, _size(file.path)) for file in _files(path, options)])
    return [Plan(flow, files, checked, body) for flow in flows]


def _files(path: str | Sequence[str], options: dict[str, str | int | bool]) -> list[CaptureFile]:
    checked = parse_options({name: str(value) for name, value in options.items()})
    given = [path] if isinstance(path, str) else [str(each) for each in path]
    return find_captures(given, recursive=checked.recursive, pattern=checked.pattern)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # its reader says why


def _first_ns(file: CaptureFile) -> int:
    """When a file's first segment was captured, as far as that can be read; what can't be is a row of others."""
    try:
        for row in read_segments(read_octets(file.path), file=file.name):
            if isinstance(row, Segment):
                return row.ts_ns
    except (OSError, NotACapture):
        return 0
    return 0


__all__ = ["HotReplay", "Plan", "in_order", "replay_files", "replay_hot"]
