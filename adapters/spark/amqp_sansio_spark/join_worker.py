"""The tasks of `histories` and `topology`: sorted rows in, rows out, in bounded batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import pyarrow as pa

from amqp_sansio.histories import (
    HISTORY_COLUMNS,
    TOPOLOGY_COLUMNS,
    Happening,
    Matcher,
    Message,
    Topology,
    body_key,
    fold_topology,
)

from .worker import ARROW_TYPES

_ROWS: Final = 2000


class TopologyTask:
    """A function for `mapInArrow`: turns batches of events, sorted by connection and seq, into acts of the topology."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Fold one partition."""
        events = (Happening(**row) for batch in batches for row in _rows(batch))
        return _batches(fold_topology(events), TOPOLOGY_COLUMNS)


class HistoryTask:
    """A function for `mapInArrow`: turns batches of (bucket, body, order_ns, rank, message, act) into steps of
    histories. For each bucket the topology comes first, then its messages body by body.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Join one partition."""
        return _batches(self._steps(batches), HISTORY_COLUMNS)

    def _steps(self, batches: Iterator[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
        current: object = None
        acts: list[tuple[Any, ...]] = []
        topology: Topology | None = None
        body: tuple[str, int] | None = None
        matcher: Matcher | None = None
        for batch in batches:
            for row in _rows(batch):
                bucket, values, act = row["bucket"], row["message"], row["act"]
                if bucket != current:
                    current, acts, topology, body = bucket, [], None, None
                if values is None:
                    acts.append(tuple(act.values()))
                    continue
                if topology is None:
                    topology = Topology(acts)
                message = Message(**values)
                key = body_key(message)
                if matcher is None or key != body:
                    body, matcher = key, Matcher(topology)
                yield from matcher.push(message)


def _rows(batch: pa.RecordBatch) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = batch.to_pylist()
    return rows


def _batches(rows: Iterable[tuple[Any, ...]], columns: tuple[tuple[str, str], ...]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, ARROW_TYPES[kind]) for name, kind in columns])
    pending: list[tuple[Any, ...]] = []
    for row in rows:
        pending.append(row)
        if len(pending) >= _ROWS:
            yield _batch(pending, schema)
            pending = []
    if pending:
        yield _batch(pending, schema)


def _batch(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.RecordBatch:
    columns = {name: list(values) for name, values in zip(schema.names, zip(*rows, strict=True), strict=True)}
    return pa.RecordBatch.from_pydict(columns, schema=schema)
