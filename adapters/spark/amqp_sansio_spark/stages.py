"""The stages of a read that Spark runs as `mapInArrow`: files to pieces, pieces to rows."""

from __future__ import annotations

import io
import pickle
import posixpath
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote
from uuid import uuid4

import pyarrow as pa

from amqp_sansio_arrow.files import CaptureFile, name_files, native_path

from .arrow import content
from .bulk import BulkReader
from .complaints import PROBLEMS_SCHEMA, plainly
from .interpreter import short_errors
from .options import FORMAT, Options
from .pieces import make_rows, read_piece, split, tasks_of, whole
from .plans import Piece
from .source import schema_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MAX_CONTENT: Final = 1 << 30
"""The largest file, in octets, among those that only Spark can open: a task gets it as one value."""
_PLANNED: Final = "task int, payload binary"
_COLUMNS: Final[list[tuple[str, pa.DataType]]] = [("task", pa.int32()), ("payload", pa.binary())]
_PLANNED_ARROW: Final = pa.schema(_COLUMNS)


def read_anywhere(spark: SparkSession, given: Sequence[str], options: Options) -> DataFrame:
    """Return the rows of the files that Spark finds at the paths. Raises FileNotFoundError if there are none."""
    listed = [(each, _list(spark, each, options)) for each in given]
    sizes = {uri: size for _, found in listed for uri, size in found}
    if not sizes:
        raise FileNotFoundError(f"{', '.join(given) or FORMAT}: no file")
    paths = [_folders(uri) for uri in sizes]
    chosen = name_files(paths, [posixpath.basename(path) for path in paths])
    names = dict(zip(sizes, chosen, strict=True))
    with short_errors(spark):
        return _frames(spark, listed, names, options)


def _frames(
    spark: SparkSession, listed: list[tuple[str, list[tuple[str, int]]]], names: dict[str, str], options: Options
) -> DataFrame:
    read = uuid4().hex[:12]
    sizes = {uri: size for _, found in listed for uri, size in found}
    frames: list[DataFrame] = []
    local = {uri: size for uri, size in sizes.items() if not size or uri.startswith("file:")}
    if local:
        files = [
            (CaptureFile(native_path("/" + uri.removeprefix("file:").lstrip("/")), names[uri]), size)
            for uri, size in local.items()
        ]
        files.sort(key=lambda file: file[0].name)
        frames.append(_open_by_path(spark, files, options, read))
    elsewhere = [each for each, found in listed if any(uri not in local for uri, _ in found)]
    if elsewhere:
        wanted = [(uri, name) for uri, name in names.items() if uri not in local]
        frames.append(_through_spark(spark, elsewhere, wanted, options, read))
    return reduce(lambda one, other: one.unionAll(other), frames)


def _names(options: Options) -> tuple[str, ...]:
    if options.table == "problems":
        return tuple(column.partition(" ")[0] for column in PROBLEMS_SCHEMA.split(", "))
    return options.columns


class _Split:
    """For `mapInArrow`: turns large files into pieces."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                file, size = pickle.loads(row["payload"])
                pieces = split(file, size, self.options)
                planned = [(row["task"] + piece.number, (piece,)) for piece in pieces]
                yield _planned(planned)


class _Read:
    """For `mapInArrow`: turns pieces into rows."""

    def __init__(self, options: Options, read: str) -> None:
        self.options = options
        self.names = _names(options)
        self.read = read

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for row in batch.to_pylist():
                pieces: tuple[Piece, ...] = pickle.loads(row["payload"])
                for piece in pieces:
                    # An empty file needn't be opened, wherever it is.
                    opened = None if piece.size else io.BytesIO()
                    made = read_piece(piece, self.options, self.names, opened=opened, read=self.read)
                    yield from plainly(made)


class _ReadContents(_Read):
    """For `mapInArrow`: turns files that come as values into rows."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            described = batch.select(["name", "length"]).to_pylist()
            for at, row in enumerate(described):
                file, size = CaptureFile("", row["name"]), row["length"]
                opened = content(batch, 2, at)
                if opened is None:
                    maker = make_rows(file.name, self.options, self.names)
                    text = f"{size} octets, and only Spark can open it: more than {MAX_CONTENT}"
                    made = BulkReader(file.name, maker).refuse("too-large", text)
                else:
                    made = read_piece(whole(file, size), self.options, self.names, opened=opened, read=self.read)
                yield from plainly(made)


def _list(spark: SparkSession, path: str, options: Options) -> list[tuple[str, int]]:
    frame = _binary_files(spark, [path], options)
    found = {_folders(row.path): row for row in frame.select("path", "length").collect()}
    listed = [(row.path, row.length) for row in found.values()]
    # Empty files have no rows, but they are files.
    every = [unquote(uri) for uri in frame.inputFiles()]
    return listed + [(uri, 0) for uri in every if _folders(uri) not in found]


def _binary_files(spark: SparkSession, paths: list[str], options: Options) -> DataFrame:
    reader = spark.read.format("binaryFile")
    reader = reader.option("recursiveFileLookup", str(options.recursive).lower())
    if options.pattern is not None:
        reader = reader.option("pathGlobFilter", options.pattern)
    return reader.load(paths)


def _folders(uri: str) -> str:
    """Return a URI as an absolute path, whose first folder is the file system."""
    scheme, _, rest = uri.partition(":")
    return f"/{scheme}/{rest.lstrip('/')}"


def _open_by_path(spark: SparkSession, files: list[tuple[CaptureFile, int]], options: Options, read: str) -> DataFrame:
    small = [whole(file, size) for file, size in files if size <= options.split_octets]
    small = [piece for piece in small if options.selection.takes_file(piece.name)]
    tasks = list(enumerate(tasks_of(small, options)))
    planned = spark.createDataFrame([(at, pickle.dumps(task)) for at, task in tasks], _PLANNED)
    count = len(tasks)
    large: list[tuple[int, bytes]] = []
    for file, size in files:
        if size > options.split_octets:
            large.append((count, pickle.dumps((file, size))))
            # All pieces but the last have at least the split size.
            count += size // options.split_octets + 1
    if large:
        walked = spark.createDataFrame(large, _PLANNED).repartition(len(large))
        walked = walked.mapInArrow(_Split(options), _PLANNED)
        planned = planned.unionAll(walked)
    planned = planned.repartitionById(max(count, 1), planned["task"])
    return planned.mapInArrow(_Read(options, read), schema_of(options))


def _through_spark(
    spark: SparkSession, paths: list[str], wanted: list[tuple[str, str]], options: Options, read: str
) -> DataFrame:
    from pyspark.sql import functions as f

    files = _binary_files(spark, paths, options)
    nothing = f.lit(None).cast("binary").alias("content")
    large = files.where(f.col("length") > MAX_CONTENT).select("path", "length", nothing)
    files = files.where(f.col("length") <= MAX_CONTENT).select("path", "length", "content")
    names = spark.createDataFrame(wanted, "path string, name string")
    named = files.unionAll(large).join(f.broadcast(names), "path")
    rows = named.select("name", "length", "content")
    return rows.mapInArrow(_ReadContents(options, read), schema_of(options))


def _planned(rows: Sequence[tuple[int, tuple[Piece, ...]]]) -> pa.RecordBatch:
    values = [{"task": task, "payload": pickle.dumps(pieces)} for task, pieces in rows]
    return pa.RecordBatch.from_pylist(values, schema=_PLANNED_ARROW)
