"""Rows of tables as Arrow batches: the one place where a row becomes Arrow, here and on Spark's workers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from amqp_sansio.recorded.tables import Row

from .whole import TABLES

Column: TypeAlias = "pa.Array[Any]"

MOST_ROWS: Final = 2000
"""Rows of a batch."""
MOST_OCTETS: Final = 4 << 20
"""Octets of long texts after which a batch ends, if it has fewer rows."""

_PA: Final[Any] = pa
_TYPES: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "json": pa.string(),
    "int64": pa.int64(),
    "bool": pa.bool_(),
    "timestamp": pa.timestamp("us", tz="UTC"),
}
_LARGE: Final = frozenset({"act", *(name for columns in TABLES.values() for name, kind in columns if kind == "json")})
"""The columns whose values may be long."""


def arrow_schema(table: str, columns: Sequence[str] | None = None, *more: str) -> pa.Schema:
    """Return the schema of a table with these columns (None: all of them), and of further columns of strings.

    Columns of JSON are strings, timestamps have microseconds in UTC. Raises ValueError for a table or column that isn't
    there.
    """
    known = TABLES.get(table)
    if known is None:
        raise ValueError(f"no table is called {table!r}; there are {', '.join(TABLES)}")
    kinds = dict(known)
    for name in columns or ():
        if name not in kinds:
            raise ValueError(f"{table} has no column {name!r}; there are {', '.join(kinds)}")
    names = kinds if columns is None else columns
    return pa.schema([*[(name, _TYPES[kinds[name]]) for name in names], *[(name, pa.string()) for name in more]])


class BatchBuilder:
    """Collects rows of tables, until they are taken as one batch for each table.

    Rows are turned into columns all at once: to do so for the few of each segment takes half as long again.
    """

    def __init__(
        self, schemas: Mapping[str, pa.Schema], *, most_rows: int = MOST_ROWS, most_octets: int = MOST_OCTETS
    ) -> None:
        self.is_full = False
        """Whether the rows should be taken now."""
        self._schemas = schemas
        self._most_rows = most_rows
        self._most_octets = most_octets
        self._large = {
            table: [place for place, name in enumerate(schema.names) if name in _LARGE]
            for table, schema in schemas.items()
        }
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in schemas}
        self._count = 0
        self._octets = 0

    def add(self, rows: Sequence[Row]) -> None:
        """Take rows; their tables are among the schemas."""
        if not rows:
            return
        held, large = self._rows, self._large
        for table, values in rows:
            held[table].append(values)
        self._count += len(rows)
        texts = [values[place] for table, values in rows for place in large[table]]
        self._octets += sum([len(text) for text in texts if text is not None])
        self.is_full = self._count >= self._most_rows or self._octets >= self._most_octets

    def take(self) -> dict[str, pa.RecordBatch]:
        """Return a batch of the rows of each table that has any, and forget them."""
        self.is_full = False
        self._count = 0
        self._octets = 0
        made: dict[str, pa.RecordBatch] = {}
        for table, rows in self._rows.items():
            if rows:
                made[table] = batch_of(list(zip(*rows, strict=True)), self._schemas[table])
                rows.clear()
        return made


def batch_of(columns: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.RecordBatch:
    """Return the values of each column as a batch of that schema; a string that fills its column is made once."""
    every: Any = schema
    count = len(columns[0])
    arrays: list[Column] = []
    for values, kind in zip(columns, every.types, strict=True):
        first = values[0]
        if first is values[-1] and first.__class__ is str and values.count(first) == count:
            arrays.append(_PA.repeat(_PA.scalar(first, pa.string()), count))
        else:
            arrays.append(_PA.array(values, kind))
    made: pa.RecordBatch = _PA.RecordBatch.from_arrays(arrays, schema=schema)
    return made


__all__ = ["MOST_OCTETS", "MOST_ROWS", "BatchBuilder", "arrow_schema", "batch_of"]
