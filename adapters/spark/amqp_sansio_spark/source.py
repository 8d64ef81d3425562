"""The batch data source `amqp-capture`: files and pieces of files to tasks, and their rows as Arrow batches."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING
from uuid import uuid4

from pyspark.sql.datasource import DataSource, DataSourceReader, Filter, InputPartition

from .arrow import types
from .complaints import PROBLEMS_ARROW, PROBLEMS_SCHEMA, plainly
from .files import find_captures
from .options import FORMAT, Options, parse_options, parse_stream_options
from .pieces import Piece, check_beginning, read_piece, split, tasks_of
from .segments import ARROW_SCHEMA, segments_schema
from .stream_source import CaptureStreamReader

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType


class CaptureSource(DataSource):
    """Reads pcap and pcapng captures, plain or compressed by gzip, as TCP segments.

    Name: `amqp-capture`.

    Path: a file, a folder, a pattern, several with commas between, or a list; see
    `amqp_sansio_spark.files.find_captures`. The driver and every worker must be able to open it by its path.

    Options, with sizes in octets (k, m, g and t are understood):

    - `splitBytes` (128m): a larger file is read in pieces of about that size, by several tasks. Where they begin is
      found by walking the whole file, record by record, when the query is planned. Compressed files are never split.
    - `maxBytesPerTask` (64m): small files share a task up to that size, where each counts 1m more than it has. With 1,
      every file has a task of its own.
    - `maxBytesPerBatch` (4m): octets of one Arrow batch.
    - `port`, `host`: only segments from or to one of these ports or IP addresses, with commas between.
    - `from`, `to`: only rows not before the one time and before the other; ISO 8601, or nanoseconds since 1970.
    - `columns`: only these, with commas between. The format can't learn from Spark which ones a query needs.
    - `table` (segments): with `problems`, rows about what can't be read (`PROBLEMS_SCHEMA`), and nothing else.
    - `failFast` (false): what can't be read stops the query; else it is a row with `damage`, and all else is read.
    - `recursiveFileLookup` (true): also what is in folders of folders.
    - `pathGlobFilter`: of folders and patterns only files whose base name matches.
    - `pushFilters` (false): filters of the query reach the reader, which drops what they leave out before it makes rows
      of it; needs `spark.sql.python.filterPushdown.enabled`. Only for a frame that one query uses once: Spark 4.3 keeps
      the filtered reader for whatever else is made of the same frame, and gives those queries too few rows.

    As a stream (`readStream`), files are read while they are written, as far as their records are whole. More options:

    - `maxFilesPerTrigger` or `maxBytesPerTrigger` (all there is): how much a batch takes.
    - `closedAfter` (60): a file that nobody wrote to for so many seconds is closed: what is behind its last whole
      record is damage, and what is written to it later isn't read. Compressed files are read when they are closed.

    The schema is `SEGMENTS_SCHEMA`, or what of it `columns` or the query's own schema names. For `file` see
    `amqp_sansio_spark.files.name_files`. The rows depend on nothing but the files' octets and names.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The columns, as Spark writes a schema. Raises ValueError for options that can't be."""
        options = parse_options(self.options)
        return PROBLEMS_SCHEMA if options.table == "problems" else segments_schema(options.columns)

    def reader(self, schema: StructType) -> CaptureReader:
        """The reader of the paths in the options. Raises ValueError for options it can't use."""
        options = parse_options(self.options)
        kind = FilteringReader if options.push_filters else CaptureReader
        return kind(self._paths(), options, _names(schema, options))

    def streamReader(self, schema: StructType) -> CaptureStreamReader:
        """The reader of a stream of the paths in the options. Raises ValueError for options it can't use."""
        options, stream = parse_options(self.options), parse_stream_options(self.options)
        return CaptureStreamReader(self._paths(), options, stream, _names(schema, options))

    def _paths(self) -> list[str]:
        if (paths := self.options.get("paths")) is not None:
            return [str(path) for path in json.loads(paths)]
        if (path := self.options.get("path")) is not None:
            return [path]
        raise ValueError(f"{FORMAT}: say what to read: load(path)")


class CapturePartition(InputPartition):
    """What one task reads."""

    def __init__(self, pieces: tuple[Piece, ...], read: str) -> None:
        super().__init__(pieces)
        self.pieces = pieces
        self.read = read


class CaptureReader(DataSourceReader):
    """Plans which task reads what, and reads it there."""

    def __init__(self, paths: list[str], options: Options, names: tuple[str, ...]) -> None:
        self.paths = paths
        self.options = options
        self.names = names

    def partitions(self) -> list[CapturePartition]:
        """The tasks. Raises FileNotFoundError; CaptureProblem, with failFast, for a file that begins wrongly."""
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
        """The rows of one task."""
        assert isinstance(partition, CapturePartition)
        for piece in partition.pieces:
            yield from plainly(read_piece(piece, self.options, self.names, read=partition.read))


class FilteringReader(CaptureReader):
    """The same with a query's filters. Spark refuses a reader that has this method while its setting is false."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take what can be judged here; Spark checks all of them again."""
        selection = self.options.selection.with_filters(filters)
        self.options = self.options._replace(selection=selection)
        return filters


def _names(schema: StructType, options: Options) -> tuple[str, ...]:
    """The columns to make, in order. Raises ValueError for a schema that the format doesn't have."""
    from pyspark.sql.pandas.types import to_arrow_schema

    known = PROBLEMS_ARROW if options.table == "problems" else ARROW_SCHEMA
    there = types(known)
    for name, kind in types(to_arrow_schema(schema, timezone="UTC")).items():
        if there.get(name) != kind:
            wanted = PROBLEMS_SCHEMA if options.table == "problems" else segments_schema()
            raise ValueError(f"{FORMAT}: no column {name} {kind}; there are {wanted}")
    return tuple(schema.fieldNames())


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        # Its reader says why.
        return 0
