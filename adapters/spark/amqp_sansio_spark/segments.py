"""The table of TCP segments: its schema, and conversions to and from Arrow batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment, flow_key

_DDL = {
    **{"flow": "string", "ts_ns": "bigint", "file": "string", "packet": "bigint", "src": "string"},
    **{"sport": "int", "dst": "string", "dport": "int", "seq": "bigint", "ack": "bigint"},
    **{"flags": "int", "wire_len": "int", "payload": "binary", "point": "string"},
    "damage": "struct<kind: string, offset: bigint, text: string>",
}


def segments_schema(names: Iterable[str] = tuple(_DDL)) -> str:
    """Return the schema of these columns, as Spark writes it."""
    return ", ".join(f"{name} {_DDL[name]}" for name in names)


SEGMENTS_SCHEMA = segments_schema()
"""The schema of a read capture, as Spark writes it.

A row is a TCP segment, or, with `flow` null and `damage` set, an unreadable part of the file.
"""

_DAMAGE: list[tuple[str, pa.DataType]] = [("kind", pa.string()), ("offset", pa.int64()), ("text", pa.string())]
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("flow", pa.string()),
    ("ts_ns", pa.int64()),
    ("file", pa.string()),
    ("packet", pa.int64()),
    ("src", pa.string()),
    ("sport", pa.int32()),
    ("dst", pa.string()),
    ("dport", pa.int32()),
    ("seq", pa.int64()),
    ("ack", pa.int64()),
    ("flags", pa.int32()),
    ("wire_len", pa.int32()),
    ("payload", pa.binary()),
    ("point", pa.string()),
    ("damage", pa.struct(_DAMAGE)),
]
ARROW_SCHEMA = pa.schema(_COLUMNS)
ROW_OCTETS = 256
"""Approximate octets of a segment besides its payload."""
MAX_ROWS = 10_000
_FLOWS = 4096


class FlowNames:
    """Names of 4-tuples, each made once; cleared when there are too many."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, int, str, int, str], str] = {}

    def name(self, segment: Segment) -> str:
        """Return the name of the segment's flow."""
        key = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        name = self._names.get(key)
        if name is None:
            if len(self._names) >= _FLOWS:
                self._names.clear()
            name = self._names[key] = flow_key(*key)
        return name


def to_batches(rows: Iterable[Segment | CaptureDamage], max_octets: int) -> Iterator[pa.RecordBatch]:
    """Yield Arrow batches of at most about `max_octets` octets (a single segment may be larger)."""
    flows = FlowNames()
    pending: list[Segment] = []
    octets = 0
    for row in rows:
        if isinstance(row, CaptureDamage):
            if pending:
                yield segments_batch(pending, flows)
                pending, octets = [], 0
            yield damages_batch([row])
            continue
        pending.append(row)
        octets += ROW_OCTETS + len(row.payload)
        if octets >= max_octets or len(pending) >= MAX_ROWS:
            yield segments_batch(pending, flows)
            pending, octets = [], 0
    if pending:
        yield segments_batch(pending, flows)


def segments_batch(rows: list[Segment], flows: FlowNames | None = None) -> pa.RecordBatch:
    """Return the segments as one batch."""
    name = (flows or FlowNames()).name
    columns: list[list[object]] = [
        [name(row) for row in rows],
        [row.ts_ns for row in rows],
        [row.file for row in rows],
        [row.packet for row in rows],
        [row.src for row in rows],
        [row.sport for row in rows],
        [row.dst for row in rows],
        [row.dport for row in rows],
        [row.seq for row in rows],
        [row.ack for row in rows],
        [row.flags for row in rows],
        [row.wire_len for row in rows],
        [row.payload for row in rows],
        [row.point for row in rows],
        [None] * len(rows),
    ]
    named = dict(zip(ARROW_SCHEMA.names, columns, strict=True))
    return pa.RecordBatch.from_pydict(named, schema=ARROW_SCHEMA)


def damages_batch(rows: list[CaptureDamage]) -> pa.RecordBatch:
    """Return the damages as one batch."""
    values = [
        {
            "ts_ns": row.ts_ns,
            "file": row.file,
            "packet": row.packet,
            "damage": {"kind": row.kind, "offset": row.offset, "text": row.text},
        }
        for row in rows
    ]
    return pa.RecordBatch.from_pylist(values, schema=ARROW_SCHEMA)


def from_batch(batch: pa.RecordBatch, max_octets: int) -> Iterator[tuple[str | None, list[Segment | CaptureDamage]]]:
    """Yield runs of rows of one flow (None: damage), in order, at most `max_octets` at a time."""
    rows = batch.num_rows
    if not rows:
        return
    step = max(1, rows * max_octets // (batch.nbytes + ROW_OCTETS))
    for start in range(0, rows, step):
        columns = list(batch.slice(start, step).to_pydict().values())
        flows, damages = columns[0], columns[14]
        values = list(zip(*columns[1:14], strict=True))
        if flows[0] is not None and flows[0] == flows[-1]:
            # The rows are sorted by flow: these are all of one.
            yield flows[0], [Segment(*value) for value in values]
            continue
        for flow, run in groupby(range(len(flows)), key=flows.__getitem__):
            if flow is None:
                yield None, [_damage(values[row], damages[row]) for row in run]
            else:
                yield flow, [Segment(*values[row]) for row in run]


def _damage(values: tuple[Any, ...], damage: dict[str, Any]) -> CaptureDamage:
    ts_ns, file, packet = values[:3]
    return CaptureDamage(file, packet, ts_ns, damage["offset"], damage["kind"], damage["text"])
