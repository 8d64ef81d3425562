"""`report`: the page about recorded connections, gathered by Spark's tasks and assembled on the driver."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.recorded.histories import HISTORY_COLUMNS
from amqp_sansio.recorded.tables import FlowReplay, damage_row
from amqp_sansio_report import Bounds, Diagram, Gather, diagrams
from amqp_sansio_report import Report as Page
from amqp_sansio_report.gather import STEP
from amqp_sansio_report.report import choose

from .joining import histories
from .plans import Setting
from .segments import from_batch
from .tables import Replay, default_partitions, replay
from .worker import IN_OCTETS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PICKLED = "pickled binary"
_ARROW = pa.schema([("pickled", pa.binary())])


class Report(Page):
    """A report: `html` is the page, `plot(name)` one of its charts as PNG; notebooks display it."""

    def save(self, path: str | Path) -> None:
        """Write the page to a file of the driver's machine."""
        Path(path).write_text(self.html, encoding="utf-8")


def report(
    of: Replay | DataFrame, *, connections: Sequence[str] = (), bounds: Bounds | None = None, join: bool = True
) -> Report:
    """Make the report of a replay, or of segments that `amqp-capture` read. Runs at once.

    Tasks replay connections and gather the page's facts, each in bounded memory; the driver merges them, so the page is
    the same for any partitioning. `connections` are ids, or beginnings of ids, of those to draw as sequence diagrams;
    by default the most interesting ones. For the diagrams the segments of their flows are read again. With `join`
    messages are also joined across connections, for the times from publish to delivery: that is another replay, unless
    the tables are cached.

    Raises ValueError if no connection, or more than one, has such an id.
    """
    tables = of if isinstance(of, Replay) else replay(of, default_partitions(of))
    bounds = bounds or Bounds()
    empty = Gather(bounds, wanted=connections)
    gather = _merged(tables.sorted_segments, _GatherTask(empty, tables.setting), empty)
    if join and gather.messages:
        joined = histories(tables)
        steps = joined.where("what in ('deliver', 'redeliver')").select(*STEP)
        gather.merge(_merged(steps, _StepsTask(Gather(bounds)), Gather(bounds)))
    chosen, flows = choose(gather)
    return Report(gather, _diagrams(tables, chosen, flows, bounds))


def _merged(rows: DataFrame, task: _GatherTask | _StepsTask, into: Gather) -> Gather:
    """Add the results of the tasks to `into`."""
    for row in rows.mapInArrow(task, _PICKLED).toLocalIterator():
        gathered: Gather = pickle.loads(row.pickled)
        into.merge(gathered)
    return into


def _diagrams(tables: Replay, chosen: Sequence[str], flows: Iterable[str], bounds: Bounds) -> list[Diagram]:
    from pyspark.sql import functions as f

    if not chosen:
        return []
    some = tables.sorted_segments.where(f.col("flow").isin(*sorted(flows)))
    found: dict[str, Diagram] = {}
    for row in some.mapInArrow(_DiagramTask(tuple(chosen), bounds, tables.setting), _PICKLED).toLocalIterator():
        drawn: list[Diagram] = pickle.loads(row.pickled)
        found.update({diagram.connection: diagram for diagram in drawn})
    return [found[connection] for connection in chosen if connection in found]


class _GatherTask:
    """For `mapInArrow`: turns sorted segments into one pickled `Gather`."""

    def __init__(self, empty: Gather, setting: Setting) -> None:
        self._empty = pickle.dumps(empty)
        self._setting = setting

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gather: Gather = pickle.loads(self._empty)
        current: str | None = None
        flow_replay: FlowReplay | None = None
        for batch in batches:
            for flow, run in from_batch(batch, IN_OCTETS):
                if flow != current:
                    if flow_replay is not None:
                        _finish(flow_replay, gather)
                    current = flow
                    flow_replay = None if flow is None else self._setting.flow(flow)
                segments: list[Segment] = []
                for row in run:
                    if isinstance(row, CaptureDamage):
                        gather.add(*damage_row(row))
                    else:
                        gather.segment(row)
                        segments.append(row)
                if flow_replay is not None:
                    for rows in flow_replay.push_all(segments):
                        _add(rows, flow, gather)
        if flow_replay is not None:
            _finish(flow_replay, gather)
        gather.clocks.finish()
        yield _pickled(gather)


class _StepsTask:
    """For `mapInArrow`: turns steps of histories into one pickled `Gather`."""

    def __init__(self, empty: Gather) -> None:
        self._empty = pickle.dumps(empty)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        gather: Gather = pickle.loads(self._empty)
        for batch in batches:
            for row in batch.to_pylist():
                gather.add("histories", tuple(row.get(name) for name, _ in HISTORY_COLUMNS))
        yield _pickled(gather)


class _DiagramTask:
    """For `mapInArrow`: turns sorted segments into pickled sequence diagrams."""

    def __init__(self, chosen: tuple[str, ...], bounds: Bounds, setting: Setting) -> None:
        self.chosen = chosen
        self.bounds = bounds
        self.setting = setting

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        def segments() -> Iterator[Segment]:
            for batch in batches:
                for _, run in from_batch(batch, IN_OCTETS):
                    yield from (row for row in run if isinstance(row, Segment))

        given = self.setting
        drawn = diagrams(
            segments(), self.chosen, self.bounds, skew_ns=given.skew_ns, servers=given.servers, ports=given.ports
        )
        yield _pickled(drawn)


def _finish(replay: FlowReplay, gather: Gather) -> None:
    _add(replay.finish(), replay.flow, gather)
    gather.pass_over(replay.passed)


def _add(rows: Iterable[tuple[str, tuple[object, ...]]], flow: str | None, gather: Gather) -> None:
    for table, row in rows:
        gather.add(table, row, flow or "")


def _pickled(value: object) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict({"pickled": [pickle.dumps(value)]}, schema=_ARROW)


__all__ = ["Report", "report"]
