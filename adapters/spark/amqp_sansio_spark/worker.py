"""A task of the replay: sorted segments in, rows out, in memory independent of a connection's size."""

from __future__ import annotations

import gc
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from itertools import islice
from typing import ClassVar, Final, ParamSpec, Protocol

import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.recorded.tables import FlowReplay, Row, damage_row
from amqp_sansio_arrow.builders import BatchBuilder, arrow_schema

from .arrow import side_by_side
from .columns import carried
from .plans import Setting
from .segments import from_batch

IN_OCTETS: Final = 4 << 20
"""Octets of segments that are Python objects at a time."""
TOGETHER: Final = 100
"""Segments of a flow in a task of its own that are Python objects at a time."""
OUT_ROWS: Final = 2000
_COUNTED: Final[list[tuple[str, pa.DataType]]] = [("protocol", pa.string()), ("connections", pa.int64())]
_PASSED: Final = pa.schema(_COUNTED)
OUT_OCTETS: Final = 4 << 20
_COLLECT: Final = 50_000
"""New objects between two looks for cycles of the youngest, while a task runs."""
_Given = ParamSpec("_Given")


def seldom_collected(task: Callable[_Given, Iterator[pa.RecordBatch]]) -> Callable[_Given, Generator[pa.RecordBatch]]:
    """Let a task's process look for cycles less often until the task has ended.

    Rows are freed by their counts: at Python's own threshold of 700 objects, of which a batch has more, a tenth of a
    replay's time went into looking at them.
    """

    @wraps(task)
    def run(*args: _Given.args, **kwargs: _Given.kwargs) -> Generator[pa.RecordBatch]:
        before = gc.get_threshold()
        # 0 is for never.
        gc.set_threshold(before[0] and max(before[0], _COLLECT), *before[1:])
        try:
            yield from task(*args, **kwargs)
        finally:
            gc.set_threshold(*before)

    return run


class ReplayTask:
    """A function for `mapInArrow`: takes batches of segments sorted by (flow, ts_ns, file, packet).

    With one table its rows come out as they are; with several, each row is a struct in the column named after its
    table, beside rows of the others, or nulls, that have nothing to do with it. Of `tables`, which may name the columns
    of each, only those are made; of events only those in `events` (None: all). Nothing outlives the call, so it may run
    on any worker, any number of times.
    """

    events: ClassVar[Collection[str] | None] = None

    def __init__(self, tables: Collection[str] | Mapping[str, Collection[str]], setting: Setting | None = None) -> None:
        self.tables = carried(tables)
        self.setting = setting or Setting()

    @seldom_collected
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replay one partition."""
        out = self.output()
        current: str | None = None
        connections: FlowRows | None = None
        for batch in batches:
            for flow, run in from_batch(batch, IN_OCTETS):
                if flow != current:
                    if connections is not None:
                        out.take(connections.finish())
                    current = flow
                    connections = None if flow is None else self.flow(flow)
                if connections is not None:
                    segments = [row for row in run if isinstance(row, Segment)]
                    yield from out.collect(connections.push_all(segments))
                elif "violations" in self.tables:
                    columns = self.tables["violations"]
                    damages = [damage_row(row, columns) for row in run if isinstance(row, CaptureDamage)]
                    yield from out.collect([damages])
        if connections is not None:
            out.take(connections.finish())
        yield from out.flush()

    @seldom_collected
    def run(self, flow: str, segments: Iterable[Segment]) -> Iterator[pa.RecordBatch]:
        """Replay one flow, whose segments come in order."""
        out = self.output()
        connections = self.flow(flow)
        left = iter(segments)
        while some := list(islice(left, TOGETHER)):
            yield from out.collect(connections.push_all(some))
        out.take(connections.finish())
        yield from out.flush()

    def output(self) -> Output:
        """Return what collects the rows of a partition."""
        return Output({table: arrow_schema(table, names) for table, names in self.tables.items()})

    def flow(self, flow: str) -> FlowRows:
        """Return the replay of a flow."""
        return self.setting.flow(flow, tables=self.tables, events=self.events)


class PassedTask(ReplayTask):
    """Counts the connections of a partition that aren't AMQP, by the name of their protocol."""

    def __init__(self, setting: Setting) -> None:
        super().__init__({"connections": ("connection",)}, setting)

    @seldom_collected
    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        counts: dict[str, int] = {}
        current: FlowReplay | None = None
        for batch in batches:
            for flow, run in from_batch(batch, IN_OCTETS):
                if flow is None:
                    continue
                if current is None or flow != current.flow:
                    _count(current, counts)
                    current = self.setting.flow(flow, tables=self.tables)
                for _ in current.push_all([row for row in run if isinstance(row, Segment)]):
                    pass
        _count(current, counts)
        yield from _counted(counts)

    @seldom_collected
    def run(self, flow: str, segments: Iterable[Segment]) -> Iterator[pa.RecordBatch]:
        counts: dict[str, int] = {}
        replay = self.setting.flow(flow, tables=self.tables)
        left = iter(segments)
        while some := list(islice(left, TOGETHER)):
            for _ in replay.push_all(some):
                pass
        _count(replay, counts)
        yield from _counted(counts)


def _count(replay: FlowReplay | None, counts: dict[str, int]) -> None:
    if replay is not None:
        replay.finish()
        for name, many in replay.passed.items():
            counts[name] = counts.get(name, 0) + many


def _counted(counts: Mapping[str, int]) -> Iterator[pa.RecordBatch]:
    if counts:
        yield pa.RecordBatch.from_pydict(
            {"protocol": list(counts), "connections": list(counts.values())}, schema=_PASSED
        )


class FlowRows(Protocol):
    """Makes rows of the segments of one flow, as `FlowReplay`."""

    def push_all(self, segments: Sequence[Segment]) -> Iterator[list[Row]]:
        """Take the next segments."""
        ...

    def finish(self) -> list[Row]:
        """Note the end of the capture."""
        ...


class Output:
    """Collects rows into Arrow batches of bounded size, as a task yields them."""

    def __init__(self, schemas: Mapping[str, pa.Schema]) -> None:
        self._schemas = schemas
        self._builder = BatchBuilder(schemas, most_rows=OUT_ROWS, most_octets=OUT_OCTETS)

    def collect(self, many: Iterable[Sequence[Row]]) -> Iterator[pa.RecordBatch]:
        """Take rows, and yield batches whenever they are full."""
        builder = self._builder
        for rows in many:
            builder.add(rows)
            if builder.is_full:
                yield from self.flush()

    def take(self, rows: Sequence[Row]) -> None:
        """Take rows."""
        self._builder.add(rows)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield a batch of the rows, if there are any."""
        made = self._builder.take()
        if made:
            yield side_by_side(made, self._schemas) if len(self._schemas) > 1 else made.popitem()[1]
