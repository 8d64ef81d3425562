"""The batch data source `amqp-capture`: one task for each file, Arrow batches of bounded size."""

from __future__ import annotations

import json
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
DEFAULT_BATCH_OCTETS = 4 << 20
_HEAD = 4096
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class CaptureSource(DataSource):
    """Reads pcap and pcapng captures, plain or compressed by gzip, as TCP segments.

    Name: `amqp-capture`.

    Path: a file, a folder, a pattern, several with commas between, or a list; see
    `amqp_sansio_spark.files.find_captures`. Every worker must be able to open it.

    Options:

    - `maxBytesPerBatch` (default 4m): octets of one Arrow batch; k, m and g are understood.
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
            max_octets=_octets(options.get("maxBytesPerBatch")),
            strict=strict == "true",
        )


class CapturePartition(InputPartition):
    """One file."""

    def __init__(self, file: CaptureFile) -> None:
        super().__init__(file)
        self.file = file


class CaptureReader(DataSourceReader):
    """Plans one task for each file and reads it there."""

    def __init__(self, paths: list[str], *, max_octets: int, strict: bool) -> None:
        self.paths = paths
        self.max_octets = max_octets
        self.strict = strict

    def partitions(self) -> list[CapturePartition]:
        """The files. Raises FileNotFoundError, or NotACapture when one begins like something else."""
        files = find_captures(self.paths)
        if self.strict:
            for file in files:
                _check(file)
        return [CapturePartition(file) for file in files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The segments of one file."""
        assert isinstance(partition, CapturePartition)
        return to_batches(self._rows(partition.file), self.max_octets)

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


def _octets(text: str | None) -> int:
    if text is None:
        return DEFAULT_BATCH_OCTETS
    digits = text.strip().lower().removesuffix("b")
    unit = digits[-1:] if digits[-1:] in _UNITS else ""
    number = digits.removesuffix(unit)
    if not number.isdecimal() or not 1 <= (size := int(number) * _UNITS[unit]) <= 1 << 30:
        raise ValueError(f"{FORMAT}: maxBytesPerBatch is 1 to 1g, not {text!r}")
    return size
