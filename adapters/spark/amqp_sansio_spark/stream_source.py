"""The stream of `amqp-capture`: captures that are being written, read as far as their records are complete."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, cast

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from amqp_sansio.capture import NotACapture
from amqp_sansio.capture.inflating import LONGEST, compression_of
from amqp_sansio_arrow.files import CaptureFile, find_captures, why_not_a_file

from .bulk import BulkReader
from .pieces import CHUNK, NothingMaker, read_piece, tasks_of
from .plans import Piece

if TYPE_CHECKING:
    import pyarrow as pa

    from .options import Options, StreamOptions

_MOST_STATES: Final = 1024


class StreamPartition(InputPartition):
    """The input of one task of a batch."""

    def __init__(self, pieces: tuple[Piece, ...]) -> None:
        super().__init__(pieces)
        self.pieces = pieces


class CaptureStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Determines how far files can be read, and reads the parts between two offsets.

    An offset has for each file the number of octets read, always up to the end of a record, and the closed files: those
    without writes for `closedAfter` seconds. Octets behind the last whole record of a closed file are damage, as in a
    batch; in other files the reader waits for the rest. Compressed files are read when they are closed.
    """

    def __init__(self, paths: list[str], options: Options, stream: StreamOptions, names: tuple[str, ...]) -> None:
        self.paths = paths
        self.options = options
        self.stream = stream
        self.names = names
        self._states: dict[tuple[str, int], bytes] = {}
        self._target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, Any]:
        """Return the offset before anything was read."""
        return {"read": {}, "closed": {}}

    def getDefaultReadLimit(self) -> ReadLimit:
        """Return the limit set by the options."""
        if self.stream.max_files is not None:
            return ReadMaxFiles(self.stream.max_files)
        if self.stream.max_octets is not None:
            return ReadMaxBytes(self.stream.max_octets)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:
        """Record the current size of the files: no more of them is read."""
        self._target = {file.name: _size(file.path) for file in self._files()}

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:
        """Return how far files can be read now: whole records only, in the order of the files' names."""
        files = self._files()
        there = {file.name for file in files}
        read, closed = _offsets(start)
        read = {name: octets for name, octets in read.items() if name in there}
        closed = {name: octets for name, octets in closed.items() if name in there}
        octets_left = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        files_left = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        for file in files:
            if file.name in closed:
                continue
            before = read.get(file.name, 0)
            end, done = self._end(file, before, octets_left)
            if done:
                closed[file.name] = end
                read.pop(file.name, None)
            elif end > before:
                read[file.name] = end
            if done or end > before:
                files_left = None if files_left is None else files_left - 1
                octets_left = None if octets_left is None else octets_left - (end - before)
            if (files_left is not None and files_left <= 0) or (octets_left is not None and octets_left <= 0):
                break
        return {"read": dict(sorted(read.items())), "closed": dict(sorted(closed.items()))}

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[StreamPartition]:
        """Return the tasks for the part between two offsets."""
        paths = {file.name: file.path for file in self._files()}
        read, closed = _offsets(start)
        until, finished = _offsets(end)
        pieces: list[Piece] = []
        for name in sorted({*until, *finished}):
            if name in closed:
                continue
            begin, stop = read.get(name, 0), finished.get(name, until.get(name, 0))
            done = name in finished
            if stop == begin and not done:
                continue
            file = CaptureFile(paths.get(name, name), name)
            # A piece that isn't a file's last one ends before the file does.
            size = stop if done else stop + 1
            pieces.append(Piece(file.path, name, begin, stop, size, self._state(file, begin)))
        tasks = [StreamPartition(task) for task in tasks_of(pieces, self.options)]
        return tasks or [StreamPartition(())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one task."""
        assert isinstance(partition, StreamPartition)
        for piece in partition.pieces:
            yield from read_piece(piece, self.options, self.names)

    def _files(self) -> list[CaptureFile]:
        try:
            found = find_captures(self.paths, recursive=self.options.recursive, pattern=self.options.pattern)
        except FileNotFoundError:
            return []  # the folder may get files later
        return [file for file in found if self.options.selection.takes_file(file.name)]

    def _end(self, file: CaptureFile, before: int, most: int | None) -> tuple[int, bool]:
        """Return how far a file can be read from `before` on, and whether it ends there."""
        if why_not_a_file(file.path):
            return before, False
        size = _size(file.path)
        if self._target is not None:
            size = min(size, self._target.get(file.name, 0))
        idle = time.time() - os.stat(file.path).st_mtime
        done = idle >= self.stream.closed_after and size == _size(file.path)
        if size == before and not (done and size == 0):
            return before, done
        try:
            end = self._walk(file, before, size, most)
        except NotACapture:
            end = None
        if end is None:
            # Only its reader can tell whether it is compressed, or no capture.
            return (size, True) if done else (before, False)
        if done and (most is None or end - before < most):
            return size, True
        return end, False

    def _walk(self, file: CaptureFile, before: int, size: int, most: int | None) -> int | None:
        """Return the end of the last whole record up to `size`; None for a file that isn't walked.

        With `most`, the walk ends after that many octets.
        """
        with open(file.path, "rb", buffering=0) as opened:
            if compression_of(opened.read(LONGEST)) is not None:
                return None
            opened.seek(before)
            reader = BulkReader(file.name, NothingMaker(), self._state(file, before))
            end, left = before, size - before
            while left and (count := opened.readinto(reader.room(min(CHUNK, left)))):
                left -= count
                for _ in reader.filled(count):
                    pass
                if reader.plain and reader.parser is not None:
                    end = reader.offset
                    self._keep(file.name, end, reader.state)
                if most is not None and end - before >= most:
                    break
            return end

    def _keep(self, name: str, offset: int, state: bytes) -> None:
        if len(self._states) >= _MOST_STATES:
            del self._states[next(iter(self._states))]
        self._states[name, offset] = state

    def _state(self, file: CaptureFile, offset: int) -> bytes:
        """Return the reader's state at a record's end: cached, or found by walking there again, as after a restart."""
        if not offset:
            return b""
        if (file.name, offset) not in self._states:
            self._walk(file, 0, offset, None)
        return self._states.get((file.name, offset), b"")


def _offsets(offset: Mapping[str, Any]) -> tuple[dict[str, int], dict[str, int]]:
    return dict(cast("dict[str, int]", offset["read"])), dict(cast("dict[str, int]", offset["closed"]))


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


__all__ = ["CaptureStreamReader", "StreamPartition"]
