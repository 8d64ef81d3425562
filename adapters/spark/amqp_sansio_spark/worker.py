"""A task of the replay: sorted segments in, rows out, in memory independent of a connection's size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.tables import COLUMNS, FlowReplay, damage_row

from .segments import from_batch

ARROW_TYPES: Final[dict[str, pa.DataType]] = {
    "string": pa.string(),
    "json": pa.string(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
}
"""Arrow types of the columns; timestamps aren't included, because Spark derives them from `ts_ns`."""
IN_OCTETS: Final = 4 << 20
"""Octets of segments that are Python objects at a time."""
OUT_ROWS: Final = 2000
OUT_OCTETS: Final = 4 << 20


class ReplayTask:
    """A function for `mapInArrow`: takes batches of segments sorted by (flow, ts_ns, file, packet).

    With one table its rows come out as they are; with several, each row is a struct in the column named after its
    table, and the others are null. Nothing outlives the call, so it may run on any worker, any number of times.
    """

    def __init__(self, tables: tuple[str, ...], body: str, skew_ns: int = 0) -> None:
        self.tables = tables
        self.body = body
        self.skew_ns = skew_ns

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replay one partition."""
        out = Output(self.tables)
        current: str | None = None
        connections: FlowReplay | None = None
        for batch in batches:
            for flow, run in from_batch(batch, IN_OCTETS):
                if flow != current:
                    if connections is not None:
                        out.take(connections.finish())
                    current = flow
                    connections = None if flow is None else self._flow(flow)
                for row in run:
                    if connections is not None and isinstance(row, Segment):
                        out.take(connections.push(row))
                    elif isinstance(row, CaptureDamage) and "violations" in self.tables:
                        out.take([damage_row(row)])
                    if out.full:
                        yield from out.flush()
        if connections is not None:
            out.take(connections.finish())
        yield from out.flush()

    def run(self, flow: str, segments: Iterable[Segment]) -> Iterator[pa.RecordBatch]:
        """Replay one flow, whose segments come in order."""
        out = Output(self.tables)
        connections = self._flow(flow)
        for segment in segments:
            out.take(connections.push(segment))
            if out.full:
                yield from out.flush()
        out.take(connections.finish())
        yield from out.flush()

    def _flow(self, flow: str) -> FlowReplay:
        return FlowReplay(flow, tables=self.tables, body=self.body, skew_ns=self.skew_ns)


class Output:
    """Collects rows into Arrow batches of bounded size."""

    def __init__(self, tables: tuple[str, ...]) -> None:
        self.full = False
        self._builders = {name: _Builder(name) for name in tables}
        self._rows = {name: builder.rows for name, builder in self._builders.items()}
        self._heavy = {name: builder.heavy for name, builder in self._builders.items()}
        self._count = 0
        self._octets = 0

    def take(self, rows: Iterable[tuple[str, tuple[object, ...]]]) -> None:
        for table, row in rows:
            self._rows[table].append(row)
            self._count += 1
            for index in self._heavy[table]:
                value = row[index]
                if value is not None:
                    self._octets += len(str(value))
        self.full = self._count >= OUT_ROWS or self._octets >= OUT_OCTETS

    def flush(self) -> Iterator[pa.RecordBatch]:
        """Yield one batch for each table that has rows."""
        self._count = self._octets = 0
        self.full = False
        for name, builder in self._builders.items():
            if not builder.rows:
                continue
            batch = builder.take()
            if len(self._builders) > 1:
                columns: dict[str, Any] = {
                    other: pa.nulls(batch.num_rows, pa.struct(there.schema)) for other, there in self._builders.items()
                }
                columns[name] = batch.to_struct_array()
                batch = pa.RecordBatch.from_pydict(columns)
            yield batch


class _Builder:
    """The rows of one table."""

    def __init__(self, table: str) -> None:
        columns = list(enumerate(COLUMNS[table]))
        self.rows: list[tuple[object, ...]] = []
        self.heavy = [index for index, (_, kind) in columns if kind == "json"]
        self._kept = [index for index, (_, kind) in columns if kind in ARROW_TYPES]
        self.schema = pa.schema([(name, ARROW_TYPES[kind]) for _, (name, kind) in columns if kind in ARROW_TYPES])

    def take(self) -> pa.RecordBatch:
        columns = list(zip(*self.rows, strict=True))
        self.rows.clear()
        named = {name: list(columns[index]) for name, index in zip(self.schema.names, self._kept, strict=True)}
        return pa.RecordBatch.from_pydict(named, schema=self.schema)
