"""Rows of the five tables in one form, whichever engine made them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from amqp_sansio.capture import CaptureDamage, Segment, read_segments
from amqp_sansio.recorded.tables import COLUMNS, replay_segments

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from amqp_sansio_spark import Replay

Rows = dict[str, list[str]]
"""Of each table the rows, as JSON texts, sorted."""


def segments_of(paths: Iterable[Path], *, apart: bool = False) -> list[Segment | CaptureDamage]:
    """What is in the files; `apart` keeps equal 4-tuples of different files from being one flow."""
    found: list[Segment | CaptureDamage] = []
    for path in paths:
        for row in read_segments(path.read_bytes(), file=path.name):
            if apart and isinstance(row, Segment):
                values: dict[str, Any] = {name: getattr(row, name) for name in Segment.__match_args__}
                values["point"] = path.name
                row = Segment(**values)
            found.append(row)
    return found


def local_rows(segments: Iterable[Segment | CaptureDamage], *, body: str = "size") -> Rows:
    """The local engine's rows."""
    rows: dict[str, list[Sequence[object]]] = {table: [] for table in COLUMNS}
    # Spark takes flows apart: no other one tells the roles in one.
    for table, row in replay_segments(segments, body=body, servers=()):
        rows[table].append(row)
    return {table: normal(table, found) for table, found in rows.items()}


def spark_rows(tables: Replay) -> Rows:
    """The rows of a replay in Spark."""
    return {table: normal(table, collect(getattr(tables, table))) for table in COLUMNS}


def collect(frame: DataFrame) -> list[tuple[object, ...]]:
    """A table's rows with VARIANT columns as JSON."""
    from pyspark.sql import functions as f

    for name, kind in frame.dtypes:
        if kind == "variant":
            frame = frame.withColumn(name, f.to_json(name))
    return [tuple(row) for row in frame.collect()]


def normal(table: str, rows: Iterable[Sequence[object]]) -> list[str]:
    """Rows as sorted texts: JSON with its keys in order, no column that repeats another in another type."""
    columns = COLUMNS[table]
    texts: list[str] = []
    for row in rows:
        values: Mapping[str, object] = {
            name: json.loads(value) if kind == "json" and isinstance(value, str) else value
            for (name, kind), value in zip(columns, row, strict=True)
            if kind != "timestamp"
        }
        texts.append(json.dumps(values, sort_keys=True))
    return sorted(texts)


def digest(rows: Rows) -> str:
    """One digest of all tables."""
    return hashlib.sha256(json.dumps(rows, sort_keys=True).encode()).hexdigest()
