"""`write`: tables of captures as Parquet and Arrow files."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Final, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from amqp_sansio.recorded.tables import COLUMNS

from .builders import arrow_schema, batch_of
from .readers import tables
from .reading import Captures
from .replacing import whole_file
from .sorting import MEMORY

FORMATS: Final = {".parquet": "parquet", ".arrow": "arrow"}
"""The format for the ending of a file's name."""
GROUP_ROWS: Final = 65_536
"""Most rows of a row group, or of a batch in an Arrow file."""
GROUP_OCTETS: Final = 32 << 20
"""Octets of Arrow's columns after which a row group ends, if it has fewer rows."""
_PA: Final[Any] = pa
_PQ: Final[Any] = pq


class TableWriter:
    """Writes batches of one table to an open file, in row groups of bounded size: as Parquet ("parquet") or in Arrow's
    file format ("arrow").

    Call `close` at the end: without it the file isn't whole.
    """

    def __init__(self, file: IO[bytes], schema: pa.Schema, form: str) -> None:
        if form == "parquet":
            self._into: _Into = _PQ.ParquetWriter(file, schema, compression="zstd")
        elif form == "arrow":
            self._into = _PA.ipc.new_file(file, schema, options=_PA.ipc.IpcWriteOptions(compression="zstd"))
        else:
            raise ValueError(f"a format is parquet or arrow, not {form!r}")
        self.rows = 0
        """The rows written until now."""
        self._schema = schema
        self._held: list[pa.RecordBatch] = []
        """The batches of the next row group."""
        self._held_rows = 0
        self._octets = 0
        """Octets of the held batches."""

    def write(self, batch: pa.RecordBatch) -> None:
        """Take a batch. Raises OSError if the file can't be written."""
        self._held.append(batch)
        self._held_rows += batch.num_rows
        self._octets += batch.nbytes
        if self._held_rows >= GROUP_ROWS or self._octets >= GROUP_OCTETS:
            self._flush()

    def write_rows(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Take rows of all columns of the schema. Raises OSError if the file can't be written."""
        if rows:
            self.write(batch_of(list(zip(*rows, strict=True)), self._schema))

    def close(self) -> None:
        """Write what is left, and the end of the file, which stays open. Raises OSError."""
        self._flush()
        self._into.close()

    def abandon(self) -> None:
        """Leave the file as it is, not whole: nothing is written to it later."""
        self._held = []
        with suppress(OSError, ValueError):
            # A writer of Parquet would write the end when it is collected, into a file that is closed by then.
            self._into.close()

    def _flush(self) -> None:
        if self._held:
            # Arrow cuts a table into the chunks that it was made of, so they are joined first.
            self._into.write_table(_PA.Table.from_batches(self._held).combine_chunks())
        self.rows += self._held_rows
        self._held = []
        self._held_rows = 0
        self._octets = 0


class _Into(Protocol):
    """Pyarrow's writers."""

    def write_table(self, table: pa.Table, /) -> None: ...

    def close(self) -> None: ...


def write(
    captures: Captures,
    output: str | os.PathLike[str],
    names: Iterable[str] = tuple(COLUMNS),
    *,
    columns: Mapping[str, Sequence[str]] | None = None,
    body: str = "size",
    clock_skew: float = 0.0,
    clock_offset: str = "",
    memory: int = MEMORY,
) -> dict[str, int]:
    """Write tables of captures, in one pass, and return the number of rows of each.

    `output` is the name of a file that ends in `.parquet` or `.arrow` for one table, else a folder, which is made, for
    `TABLE.parquet` of each. The other arguments are those of `tables`. A file has its name once it is whole: until then
    it is called `NAME.part`, and it is removed if reading or writing fails. Memory doesn't grow with the captures.

    Raises ValueError for a wrong argument, and OSError and `amqp_sansio.capture.NotACapture` as readers do.
    """
    wanted = tuple(dict.fromkeys(names))
    where = Path(output)
    form = FORMATS.get(where.suffix)
    if form is not None and len(wanted) != 1:
        raise ValueError(f"{where}: is one file, for one table, not {', '.join(wanted) or 'none'}; give a folder")
    made = tables(captures, columns=columns, body=body, clock_skew=clock_skew, clock_offset=clock_offset, memory=memory)
    for table in wanted:
        arrow_schema(table)
    schemas = {table: made.schema(table) for table in wanted}
    if form is None:
        where.mkdir(parents=True, exist_ok=True)
    files = {table: where / f"{table}.parquet" if form is None else where for table in wanted}
    with _writers(files, schemas, form or "parquet") as writers:
        for table, batch in made.batches(wanted):
            writers[table].write(batch)
    return {table: writer.rows for table, writer in writers.items()}


@contextmanager
def _writers(
    files: Mapping[str, Path], schemas: Mapping[str, pa.Schema], form: str
) -> Generator[dict[str, TableWriter]]:
    """Open a file for each table; give them their names at the end, or remove them after an error."""
    with ExitStack() as opened, ExitStack() as abandon:
        writers: dict[str, TableWriter] = {}
        for table, path in files.items():
            writers[table] = TableWriter(opened.enter_context(whole_file(path)), schemas[table], form)
            abandon.callback(writers[table].abandon)
        yield writers
        for writer in writers.values():
            writer.close()
        abandon.pop_all()


__all__ = ["FORMATS", "TableWriter", "write"]
