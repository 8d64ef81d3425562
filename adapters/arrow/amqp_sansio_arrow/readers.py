"""`tables`: the tables of captures as Arrow, each a reader of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

import pyarrow as pa

from amqp_sansio.recorded.tables import COLUMNS, Row

from .builders import BatchBuilder, arrow_schema
from .reading import Captures, Reading
from .sorting import MEMORY
from .whole import TABLES, WholeTables, chosen

_TOGETHER: Final = 256
"""Rows that are added at a time."""
_PA: Final[Any] = pa


def tables(
    captures: Captures,
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    body: str = "size",
    clock_skew: float = 0.0,
    clock_offset: str = "",
    memory: int = MEMORY,
) -> Tables:
    """Return the tables of captures, by name, as `pyarrow.RecordBatchReader`s.

    `captures` are files, folders and patterns (pcap, pcapng, gzip of them). The tables are those of docs/tables.md, and
    `histories` and `topology`; their names and types are those of the Spark schema, except that `fields` is a string of
    JSON. `columns` names the wanted columns of some tables; others aren't made. `body` selects the fields of message
    bodies in events: nothing ("none"), the "size", or also the octets ("base64"). `clock_skew` is the largest
    difference between the clocks of captures that share connections (seconds); `clock_offset` is `FILE=SECONDS` to
    add to a file's times, several separated by commas. About `memory` octets of packets are held, the rest waits in a
    temporary file; `histories` holds the rows of all messages besides.

    Nothing is read before a reader is. Raises ValueError for a wrong argument, FileNotFoundError if nothing is found;
    readers raise OSError for a file that can't be read, and `amqp_sansio.capture.NotACapture` for one that is no
    capture.
    """
    reading = Reading(captures, body=body, clock_skew=clock_skew, clock_offset=clock_offset, memory=memory)
    return Tables(reading, columns or {})


class Tables(Mapping[str, "pa.RecordBatchReader"]):
    """The tables of captures by name. Each item that is taken is a new reader with a pass of its own.

    `batches` reads several tables in one pass.
    """

    def __init__(self, reading: Reading, columns: Mapping[str, Sequence[str]]) -> None:
        self._reading = reading
        for table in columns:
            arrow_schema(table)
        self._schemas = {table: arrow_schema(table, columns.get(table)) for table in TABLES}

    def __getitem__(self, table: str) -> pa.RecordBatchReader:
        if table not in self._schemas:
            raise KeyError(table)
        reader: pa.RecordBatchReader = _PA.RecordBatchReader.from_batches(
            self._schemas[table], (batch for _, batch in self.batches([table]))
        )
        return reader

    def __iter__(self) -> Iterator[str]:
        return iter(self._schemas)

    def __len__(self) -> int:
        return len(self._schemas)

    def __repr__(self) -> str:
        return f"<Tables of {len(self._reading.files)} captures: {', '.join(self._schemas)}>"

    def schema(self, table: str) -> pa.Schema:
        """Return the schema of a table. Raises KeyError for one that isn't there."""
        return self._schemas[table]

    def batches(self, names: Iterable[str] = tuple(COLUMNS)) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield batches of several tables, each with its table's name, of one pass over the captures.

        Batches have at most 2,000 rows, and about 4 MB of long texts. Raises ValueError for a table that isn't there.
        """
        wanted = tuple(dict.fromkeys(names))
        for table in wanted:
            arrow_schema(table)
        return self._batches(wanted)

    def _batches(self, wanted: Sequence[str]) -> Iterator[tuple[str, pa.RecordBatch]]:
        builder = BatchBuilder({table: self._schemas[table] for table in wanted})
        rows = self.rows(wanted)
        while some := list(islice(rows, _TOGETHER)):
            builder.add(some)
            if builder.is_full:
                yield from builder.take().items()
        yield from builder.take().items()

    def rows(self, names: Iterable[str]) -> Iterator[Row]:
        """Yield the rows of tables in one pass, each with its table's name: the values of the schema's columns."""
        columns = {table: tuple(self._schemas[table].names) for table in names}
        straight = {table: names for table, names in columns.items() if table in COLUMNS}
        whole = WholeTables([table for table in columns if table not in COLUMNS], self._reading.skew_ns)
        for table, values in self._reading.rows({**straight, **whole.needs}):
            if table in whole.needs:
                whole.add(table, values)
                if table in straight:
                    yield table, chosen(table, straight[table], values)
            else:
                yield table, values
        for table, values in whole.rows():
            yield table, chosen(table, columns[table], values)


__all__ = ["Tables", "tables"]
