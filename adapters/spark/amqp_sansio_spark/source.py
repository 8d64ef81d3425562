"""The batch data source `amqp-capture`: distributes (pieces of) files over tasks, with rows as Arrow batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from amqp_sansio_arrow.files import find_captures

from .comments import columns_in, ddl
from .complaints import PROBLEMS_SCHEMA, plainly
from .options import FORMAT, Options, parse_options, parse_stream_options
from .pieces import check_beginning, read_piece, split, tasks_of
from .plans import Piece
from .segments import segments_schema

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

    from .stream_source import CaptureStreamReader


class CaptureSource(DataSource):
    """Reads pcap and pcapng captures, plain or compressed by gzip, as TCP segments.

    Name: `amqp-capture`.

    Path: a file, a folder, a pattern, several separated by commas, or a list; see
    `amqp_sansio_arrow.files.find_captures`. The driver and every worker must be able to open it by its path.

    Options, with sizes in octets (k, m, g and t are understood):

    - `splitBytes` (128m): a larger file is read in pieces of about that size, by several tasks. Their boundaries are
      found by walking the whole file, record by record, when the query is planned. Compressed files are never split.
    - `maxBytesPerTask` (64m): small files share a task up to that size; each counts 1m more than its size. With 1,
      every file has its own task.
    - `maxBytesPerBatch` (4m): octets of one Arrow batch.
    - `port`, `host`: only segments from or to one of these ports or IP addresses, separated by commas.
    - `from`, `to`: only rows from the first time on and before the second; ISO 8601, or nanoseconds since 1970.
    - `clockOffset`: seconds to add to the times of a file whose clock was wrong: `tap-b.pcap=-0.25`, several separated
      by commas; a pattern of names, or seconds alone for all files. `from` and `to` are about the corrected times.
    - `columns`: only these, separated by commas. Spark doesn't tell the format which ones a query needs.
    - `table` (segments): with `problems`, only rows about unreadable parts (`PROBLEMS_SCHEMA`).
    - `failFast` (false): an unreadable part stops the query; otherwise it is a row with `damage`, and the rest is read.
    - `recursiveFileLookup` (true): include nested folders.
    - `pathGlobFilter`: of folders and patterns only files whose base name matches.
    - `pushFilters` (false): filters of the query reach the reader, which drops rows that don't match before making
      them; needs `spark.sql.python.filterPushdown.enabled`. Only for a frame that a single query uses: Spark 4.3 reuses
      the filtered reader for everything else made of the same frame, and gives those queries too few rows.

    As a stream (`readStream`), files are read while being written, up to the last complete record. More options:

    - `maxFilesPerTrigger` or `maxBytesPerTrigger` (everything available): the size of a batch.
    - `closedAfter` (60): a file without writes for that many seconds is closed: octets behind its last whole record are
      damage, and later writes to it aren't read. Compressed files are read when they are closed.

    The schema is `SEGMENTS_SCHEMA`, or the part of it in `columns` or the query's own schema. For `file` see
    `amqp_sansio_arrow.files.name_files`. The rows depend only on the files' octets and names.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the schema, as Spark writes it. Raises ValueError for invalid options."""
        return schema_of(parse_options(self.options))

    def reader(self, schema: StructType) -> CaptureReader:
        """Return the reader of the paths in the options. Raises ValueError for invalid options."""
        options = parse_options(self.options)
        kind = FilteringReader if options.push_filters else CaptureReader
        return kind(self._paths(), options, _names(schema, options))

    def streamReader(self, schema: StructType) -> CaptureStreamReader:
        """Return the reader of a stream of the paths in the options. Raises ValueError for invalid options."""
        from .stream_source import CaptureStreamReader  # Spark 4.2

        options, stream = parse_options(self.options), parse_stream_options(self.options)
        return CaptureStreamReader(self._paths(), options, stream, _names(schema, options))

    def _paths(self) -> list[str]:
        if (paths := self.options.get("paths")) is not None:
            return [str(path) for path in json.loads(paths)]
        if (path := self.options.get("path")) is not None:
            return [path]
        raise ValueError(f"{FORMAT}: say what to read: load(path)")


class CapturePartition(InputPartition):
    """The input of one task."""

    def __init__(self, pieces: tuple[Piece, ...], read: str) -> None:
        super().__init__(pieces)
        self.pieces = pieces
        self.read = read


class CaptureReader(DataSourceReader):
    """Plans the tasks of a read, and reads in them."""

    def __init__(self, paths: list[str], options: Options, names: tuple[str, ...]) -> None:
        self.paths = paths
        self.options = options
        self.names = names

    def partitions(self) -> list[CapturePartition]:
        """Return the tasks. Raises FileNotFoundError; CaptureProblem, with failFast, for a file that begins wrongly."""
        options = self.options
        files = find_captures(self.paths, recursive=options.recursive, pattern=options.pattern)
        files = [file for file in files if options.selection.takes_file(file.name)]
        if options.fail_fast:
            for file in files:
                check_beginning(file)
        pieces = [piece for file in files for piece in split(file, _size(file.path), options)]
        read = uuid4().hex[:12]
        tasks = [CapturePartition(task, read) for task in tasks_of(pieces, options)]
        return tasks or [CapturePartition((), read)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        assert isinstance(partition, CapturePartition)
        for piece in partition.pieces:
            yield from plainly(read_piece(piece, self.options, self.names, read=partition.read))


class FilteringReader(CaptureReader):
    """The same with a query's filters. Spark refuses a reader with this method while its setting is false."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters that can be evaluated here; Spark checks all of them again."""
        selection = self.options.selection.with_filters(filters)
        self.options = self.options._replace(selection=selection)
        return filters


def schema_of(options: Options) -> str:
    """Return the schema of a read's rows, with comments."""
    return ddl(options.table, PROBLEMS_SCHEMA if options.table == "problems" else segments_schema(options.columns))


def _names(schema: StructType, options: Options) -> tuple[str, ...]:
    """Return the columns to make, in order. Raises ValueError for a schema that the format doesn't have."""
    wanted = PROBLEMS_SCHEMA if options.table == "problems" else segments_schema()
    there = {name: kind.replace(" ", "") for name, _, kind in [each.partition(" ") for each in columns_in(wanted)]}
    for field in schema:
        kind = field.dataType.simpleString()
        if there.get(field.name) != kind:
            raise ValueError(f"{FORMAT}: no column {field.name} {kind}; there are {wanted}")
    return tuple(schema.fieldNames())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        # Its reader reports why.
        return 0
