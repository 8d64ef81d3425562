"""The batch data source `amqp-capture`: files to tasks, segments to Arrow batches of bounded size."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments

from .files import CaptureFile, find_captures, read_octets
from .segments import SEGMENTS_SCHEMA, to_batches

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

FORMAT = "amqp-capture"
_HEAD = 4096
_OPENING = 1 << 20
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class CaptureSource(DataSource):
    """Reads pcap and pcapng captures, plain or compressed by gzip, as TCP segments.

    Name: `amqp-capture`.

    Path: a file, a folder, a pattern, several with commas between, or a list; see
    `amqp_sansio_spark.files.find_captures`. Every worker must be able to open it.

    Options:

    - `maxBytesPerBatch` (default 4m): octets of one Arrow batch; k, m and g are understood.
    - `maxBytesPerTask` (default 32m): small files share a task up to that size, where each counts
      1m more than it has; a larger file has a task of its own. With 1, every file has.
    - `strict` (default true): a file that is no capture is an error. With false it becomes a row
      with `damage` of the kind `not-a-capture`, as damage inside of a capture always does.

    The schema is `SEGMENTS_SCHEMA`. `file` is the file's base name, or, where base names repeat,
    its path below the common folder.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The columns, as Spark writes a schema."""
        return SEGMENTS_SCHEMA

    def reader(self, schema: StructType) -> CaptureReader:
        """The reader of the paths in the options. Raises ValueError for options it can't use."""
        options = self.options
        if (paths := options.get("paths")) is not None:
            given = [str(path) for path in json.loads(paths)]
        elif (path := options.get("path")) is not None:
            given = [path]
        else:
            raise ValueError(f"{FORMAT}: say what to read: load(path)")
        strict = (options.get("strict") or "true").strip().lower()
        if strict not in ("true", "false"):
            raise ValueError(f"{FORMAT}: strict is true or false, not {strict!r}")
        return CaptureReader(
            given,
            batch_octets=_octets("maxBytesPerBatch", options.get("maxBytesPerBatch", "4m")),
            task_octets=_octets("maxBytesPerTask", options.get("maxBytesPerTask", "32m")),
            strict=strict == "true",
        )


class CapturePartition(InputPartition):
    """The files of one task."""

    def __init__(self, files: tuple[CaptureFile, ...]) -> None:
        super().__init__(files)
        self.files = files


class CaptureReader(DataSourceReader):
    """Plans which task reads which files, and reads them there."""

    def __init__(
        self, paths: list[str], *, batch_octets: int, task_octets: int, strict: bool
    ) -> None:
        self.paths = paths
        self.batch_octets = batch_octets
        self.task_octets = task_octets
        self.strict = strict

    def partitions(self) -> list[CapturePartition]:
        """The tasks. Raises FileNotFoundError, or NotACapture when a file begins like something else."""
        files = find_captures(self.paths)
        if self.strict:
            for file in files:
                _check(file)
        tasks: list[list[CaptureFile]] = []
        room = 0
        for file in files:
            size = os.path.getsize(file.path) + _OPENING
            if size > room:
                tasks.append([])
                room = self.task_octets
            tasks[-1].append(file)
            room -= size
        return [CapturePartition(tuple(task)) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The segments of one task's files."""
        assert isinstance(partition, CapturePartition)
        rows = (row for file in partition.files for row in self._rows(file))
        return to_batches(rows, self.batch_octets)

    def _rows(self, file: CaptureFile) -> Iterator[Segment | CaptureDamage]:
        try:
            yield from read_segments(read_octets(file.path), file=file.name)
        except NotACapture as error:
            if self.strict:
                raise
            yield CaptureDamage(file.name, 0, 0, 0, "not-a-capture", str(error))


def _check(file: CaptureFile) -> None:
    """Look at the file's beginning now, so that no task has to fail for it."""
    with open(file.path, "rb") as opened:
        head = opened.read(_HEAD)
    for _ in read_segments(head, file=file.name):
        return


def _octets(option: str, text: str) -> int:
    digits = text.strip().lower().removesuffix("b")
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    number = digits.removesuffix(unit)
    if not number.isdecimal() or not 1 <= (size := int(number) * _UNITS[unit]) <= 1 << 30:
        raise ValueError(f"{FORMAT}: {option} is 1 to 1g, not {text!r}")
    return size
