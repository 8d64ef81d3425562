"""Replays of connections that are most of the data: each by a task that reads the files in order, without a sort.

A sort of hundreds of gigabytes of one connection spills to disk, and a connection can't be distributed.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Sequence
from typing import TYPE_CHECKING

from amqp_sansio.capture import NotACapture, Segment, read_segments
from amqp_sansio_arrow.files import CaptureFile, find_captures, read_octets

from .plans import Plan, Setting
from .tables import BodyMode, Replay, default_partitions, replay, setting_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from pyspark.sql import DataFrame, SparkSession

    from .options import Options
    from .worker import ReplayTask


def replay_files(
    spark: SparkSession,
    path: str | Sequence[str],
    *,
    hot_octets: int = 4 << 30,
    partitions: int | None = None,
    body: BodyMode = "size",
    clock_skew: float = 0.0,
    ports: Collection[int] = (),
    servers: Collection[str] = (),
    **options: str | int | bool,
) -> Replay:
    """Replay captures of any shape: the rows of `replay(segments_of(spark, path, **options))`.

    A first pass over the captures counts the octets of each flow; flows of more than `hot_octets` are replayed by
    `replay_hot`, without a shuffle, all others as in `replay`. That pass runs at once, everything else when a table is
    used. Captures that only Spark can open have no hot flows. `body`, `clock_skew`, `ports` and `servers` are as for
    `replay`.

    Raises ValueError for a wrong argument or option, FileNotFoundError if nothing is found.
    """
    from .reading import segments_of

    if hot_octets < 1:
        raise ValueError(f"hot_octets is at least 1, not {hot_octets}")
    segments = segments_of(spark, path, **options)
    setting = setting_of(body, clock_skew, ports, servers)
    flows = _hot_flows(spark, path, hot_octets, options)
    if not flows:
        return replay(segments, partitions, body=body, clock_skew=clock_skew, ports=ports, servers=servers)
    from pyspark.sql import functions as f

    cold = segments.where(f.col("flow").isNull() | ~f.col("flow").isin(*flows))
    plans = _plans(path, flows, options, setting)
    return HotReplay(spark, cold, plans, partitions or default_partitions(cold), setting)


def replay_hot(
    spark: SparkSession,
    path: str | Sequence[str],
    flow: str | Sequence[str],
    *,
    body: BodyMode = "size",
    clock_skew: float = 0.0,
    ports: Collection[int] = (),
    servers: Collection[str] = (),
    **options: str | int | bool,
) -> Replay:
    """Replay one flow (all connections of one 4-tuple), or several, without a shuffle, in bounded memory.

    Each flow has its own task, which reads the captures in the order of their time.

    The rows are those of `replay`. Each file may have packets out of order by up to 10,000 segments of the flow, and
    files may overlap in time. Every task reads all files and drops other flows early, so use this only for few flows:
    those that are a large part of the data. Every worker must be able to open the files by their paths.

    A capture whose packets are further out of order fails the query, and the error names it; `replay` sorts it. Raises
    ValueError for a wrong option, FileNotFoundError if nothing is found.
    """
    from .reading import segments_of

    flows = [flow] if isinstance(flow, str) else list(flow)
    setting = setting_of(body, clock_skew, ports, servers)
    plans = _plans(path, flows, options, setting)
    nothing = segments_of(spark, path, **options).where("false")
    return HotReplay(spark, nothing, plans, 1, setting)


class HotReplay(Replay):
    """The tables of some flows from their own tasks, and of the others from sorted segments."""

    def __init__(
        self, spark: SparkSession, cold: DataFrame, plans: Sequence[Plan], partitions: int, setting: Setting
    ) -> None:
        super().__init__(cold, partitions, setting)
        self._spark = spark
        self._plans = plans

    def rows(self, make: Callable[[Setting], ReplayTask], schema: str) -> DataFrame:
        """Return the rows of both."""
        from .hot_worker import HotTask

        task = HotTask([pickle.dumps(plan) for plan in self._plans], make)
        numbers = self._spark.range(0, len(self._plans), 1, len(self._plans))
        return super().rows(make, schema).unionAll(numbers.mapInArrow(task, schema))


def _hot_flows(
    spark: SparkSession, path: str | Sequence[str], hot_octets: int, options: dict[str, str | int | bool]
) -> list[str]:
    from pyspark.sql import functions as f

    from .reading import segments_of
    from .segments import ROW_OCTETS

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
    path: str | Sequence[str], flows: Sequence[str], options: dict[str, str | int | bool], setting: Setting
) -> list[Plan]:
    checked = _checked(options)
    files = tuple(
        [(_first_ns(file) + checked.clocks.of(file.name), file, _size(file.path)) for file in _files(path, options)]
    )
    return [Plan(flow, files, checked, setting) for flow in flows]


def _files(path: str | Sequence[str], options: dict[str, str | int | bool]) -> list[CaptureFile]:
    checked = _checked(options)
    given = [path] if isinstance(path, str) else [str(each) for each in path]
    return find_captures(given, recursive=checked.recursive, pattern=checked.pattern)


def _checked(options: dict[str, str | int | bool]) -> Options:
    from .options import parse_options

    return parse_options({name: str(value) for name, value in options.items()})


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0  # its reader reports why


def _first_ns(file: CaptureFile) -> int:
    """Return the time of a file's first segment, as far as it is readable; unreadable parts are rows of other flows."""
    try:
        for row in read_segments(read_octets(file.path), file=file.name):
            if isinstance(row, Segment):
                return row.ts_ns
    except (OSError, NotACapture):
        return 0
    return 0


__all__ = ["HotReplay", "Plan", "replay_files", "replay_hot"]
