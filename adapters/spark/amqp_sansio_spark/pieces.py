"""Pieces of captures: the part of a file that a task reads, where big files are cut, and how a piece is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, Protocol

from amqp_sansio.capture import CaptureDamage, NotACapture
from amqp_sansio.capture.inflating import LONGEST, compression_of, inflater
from amqp_sansio_arrow.clocks import corrected
from amqp_sansio_arrow.compressed import installed
from amqp_sansio_arrow.files import CaptureFile, why_not_a_file

from .bulk import BulkReader, Counts
from .complaints import ProblemMaker, stop
from .plans import Piece
from .progress import report
from .rows import RowMaker

if TYPE_CHECKING:
    import pyarrow as pa

    from amqp_sansio.capture import Segment

    from .bulk import Maker
    from .chain import Run
    from .headers import Segments
    from .options import Options
    from .rows import Made
    from .selection import Selection

CHUNK: Final = 4 << 20
"""Octets read at a time."""
_MIN_CHUNK: Final = 1 << 18
_MIN_STEP: Final = 256
_PACKED_CHUNK: Final = 1 << 16
_TOLD: Final = 1 << 25
"""Octets of a compressed file between two records of its progress: it can't be read in pieces."""
OPENING: Final = 1 << 20
"""Opening a file costs about as much as reading that many octets."""


class Input(Protocol):
    """An open file."""

    def readinto(self, buffer: Any, /) -> int | None:
        """Read into a buffer and return the number of octets; 0 at the end."""
        ...

    def seek(self, offset: int, /) -> int:
        """Continue at an octet."""
        ...

    def close(self) -> None:
        """Close the file."""
        ...


def whole(file: CaptureFile, size: int) -> Piece:
    """Return a file as one piece."""
    return Piece(file.path, file.name, 0, size, size)


def split(file: CaptureFile, size: int, options: Options) -> list[Piece]:
    """Return the pieces of a file that a read must look at, each of about `options.split_octets` octets.

    Every boundary is proven: the whole file is walked, record by record, from its beginning. A file that is unreadable,
    compressed, or no capture is one piece; its reader reports the problem.
    """
    if size <= options.split_octets or why_not_a_file(file.path):
        return [whole(file, size)]
    try:
        with open(file.path, "rb", buffering=0) as opened:
            return _walk(opened, file, size, options)
    except (OSError, NotACapture):
        return [whole(file, size)]


def tasks_of(pieces: Sequence[Piece], options: Options) -> list[tuple[Piece, ...]]:
    """Group pieces into tasks, small ones together."""
    tasks: list[list[Piece]] = []
    room = 0
    for piece in pieces:
        size = piece.stop - piece.start + OPENING
        if size > room:
            tasks.append([])
            room = options.task_octets
        tasks[-1].append(piece)
        room -= size
    return [tuple(task) for task in tasks]


def check_beginning(file: CaptureFile) -> None:
    """Check a file's beginning now, so that no task fails because of it. Raises `CaptureProblem`."""
    why = why_not_a_file(file.path)
    if why:
        stop(CaptureDamage(file.name, 0, 0, 0, "unreadable", why))
    try:
        with open(file.path, "rb", buffering=0) as opened:
            head = opened.read(4096)
    except OSError as error:
        stop(CaptureDamage(file.name, 0, 0, 0, "unreadable", error.strerror or str(error)))
    if not head:
        stop(CaptureDamage(file.name, 0, 0, 0, "empty-file", "the file is empty"))
    try:
        reader = BulkReader(file.name, NothingMaker())
        name = compression_of(head)
        if name is not None:
            for inflated in inflater(name, installed(), file.name).feed(head):
                _drain(reader.feed(inflated))
        else:
            _drain(reader.feed(head))
    except NotACapture as error:
        stop(CaptureDamage(file.name, 0, 0, 0, "not-a-capture", str(error)))


def read_piece(
    piece: Piece, options: Options, names: Sequence[str], *, opened: Input | None = None, read: str = ""
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a piece, with the columns `names`; unreadable parts are rows too.

    `opened` is the file if it can't be opened by its path, `read` the name of the query in the log. With the option
    failFast, raises `CaptureProblem` for the first damage.
    """
    maker = make_rows(piece.name, options, names)
    reader = BulkReader(piece.name, maker, piece.state)
    began = perf_counter()
    done = False
    told = _TOLD
    try:
        for batch in _read(piece, reader, options, opened):
            if reader.packed is not None and reader.packed >= told:
                told = reader.packed + _TOLD
                report(piece, reader, perf_counter() - began, read, done)
            yield batch
        done = True
    finally:
        report(piece, reader, perf_counter() - began, read, done)


def make_rows(file: str, options: Options, names: Sequence[str]) -> Maker:
    """Return the maker of a file's rows."""
    maker: Maker
    if options.table == "problems":
        maker = ProblemMaker(names, options.selection)
    else:
        maker = RowMaker(file, names, options.selection, options.batch_octets)
    offset_ns = options.clocks.of(file)
    if offset_ns:
        maker = _Corrected(maker, offset_ns)
    return _Strict(maker) if options.fail_fast else maker


def _read(piece: Piece, reader: BulkReader, options: Options, opened: Input | None) -> Iterator[pa.RecordBatch]:
    try:
        if opened is not None:
            yield from _read_open(piece, reader, options, opened)
            return
        why = why_not_a_file(piece.path)
        if why:
            yield from reader.refuse("unreadable", why)
            return
        with open(piece.path, "rb", buffering=0) as local:
            yield from _read_open(piece, reader, options, local)
    except OSError as error:
        yield from reader.damage("unreadable", error.strerror or str(error))
    except NotACapture as error:
        yield from reader.refuse("not-a-capture", str(error))


def _read_open(piece: Piece, reader: BulkReader, options: Options, opened: Input) -> Iterator[pa.RecordBatch]:
    if piece.stop == 0:
        yield from reader.refuse("empty-file", "the file is empty")
        return
    chunk = min(CHUNK, max(_MIN_CHUNK, options.batch_octets))
    if piece.start:
        opened.seek(piece.start)
    else:
        name = _compression(opened)
        if name is not None:
            yield from _read_compressed(name, piece, reader, chunk, opened)
            return
    left = piece.stop - piece.start
    while left and (count := opened.readinto(reader.room(min(chunk, left)))):
        left -= count
        yield from reader.filled(count)
    if left:
        text = f"the file had {piece.stop} octets when the read was planned, but {left} are gone"
        yield from reader.damage("changed-file", text)
    if piece.last:
        yield from reader.finish()
    elif reader.offset != piece.stop and not left:
        text = f"a record ends at {reader.offset}, not at {piece.stop} as when the read was planned"
        yield from reader.damage("changed-file", text)


def _compression(opened: Input) -> str | None:
    """Return the name of the file's compression, None if it has none."""
    head = bytearray(LONGEST)
    count = opened.readinto(head)
    opened.seek(0)
    return compression_of(bytes(head[: count or 0]))


def _read_compressed(
    name: str, piece: Piece, reader: BulkReader, chunk: int, opened: Input
) -> Iterator[pa.RecordBatch]:
    inflate = inflater(name, installed(), piece.name)
    left = piece.stop
    packed = memoryview(bytearray(_PACKED_CHUNK))
    parts: list[bytes] = []
    size = 0
    while left and (count := opened.readinto(packed[: min(_PACKED_CHUNK, left)])):
        left -= count
        reader.packed = piece.stop - left
        for inflated in inflate.feed(bytes(packed[:count])):
            parts.append(inflated)
            size += len(inflated)
            if size >= chunk:
                yield from reader.feed(b"".join(parts))
                parts, size = [], 0
        if inflate.error:
            break
    if parts:
        yield from reader.feed(b"".join(parts))
    if inflate.error:
        yield from reader.damage(f"bad-{name}", f"{inflate.error}; the rest is not read")
    elif inflate.finish():
        yield from reader.damage("truncated-file", inflate.finish())
    if reader.begun or not (inflate.error or inflate.finish()):
        yield from reader.finish()


class NothingMaker:
    """For walking without rows."""

    segments = False

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        return None

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        return []

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        return iter(())


class _Corrected:
    """Moves the times of a file."""

    def __init__(self, maker: Maker, offset_ns: int) -> None:
        self.segments = maker.segments
        self._maker = maker
        self._offset_ns = offset_ns

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        return self._maker.bulk(buf, run._replace(ts_ns=run.ts_ns + self._offset_ns), segments, packet)

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        return self._maker.single([(at, corrected(row, self._offset_ns)) for at, row in rows])

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        return self._maker.batches(made)


class _Strict:
    """Stops at the first damage."""

    def __init__(self, maker: Maker) -> None:
        self.segments = maker.segments
        self._maker = maker

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        return self._maker.bulk(buf, run, segments, packet)

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        for _, row in rows:
            if isinstance(row, CaptureDamage):
                stop(row)
        return self._maker.single(rows)

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        return self._maker.batches(made)


def _drain(batches: Iterator[pa.RecordBatch]) -> None:
    for _ in batches:
        pass


def _takes(selection: Selection, counts: Counts, offset_ns: int) -> bool:
    first, last = counts.first_ns, counts.last_ns
    return first is None or last is None or selection.takes_times(first + offset_ns, last + offset_ns)


def _walk(opened: Input, file: CaptureFile, size: int, options: Options) -> list[Piece]:
    reader = BulkReader(file.name, NothingMaker())
    selection, offset_ns = options.selection, options.clocks.of(file.name)
    pieces: list[Piece] = []
    start, state, number = 0, b"", 0
    must = True
    left = size
    # Boundaries lie at the ends of reads.
    chunk = min(CHUNK, max(_MIN_STEP, options.split_octets // 8))
    if _compression(opened) is not None:
        return [whole(file, size)]
    while left and (count := opened.readinto(reader.room(min(chunk, left)))):
        left -= count
        _drain(reader.filled(count))
        parser = reader.parser
        if parser is None or not left or parser.offset - start < options.split_octets:
            continue
        if not reader.plain:
            continue
        if must or _takes(selection, reader.counts, offset_ns):
            pieces.append(Piece(file.path, file.name, start, parser.offset, size, state, number))
        start, state, number = parser.offset, reader.state, number + 1
        # Fragments of earlier packets may be given up at any time, with those packets' times; so damages are told.
        must = reader.waiting
        reader.counts = Counts()
        reader.counts.times(parser.ts_ns, parser.ts_ns)
    if must or _takes(selection, reader.counts, offset_ns):
        pieces.append(Piece(file.path, file.name, start, size, size, state, number))
    return [piece._replace(of=len(pieces)) for piece in pieces]
