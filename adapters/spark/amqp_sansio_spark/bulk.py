"""Reads a capture in large pieces: plain records in bulk, all others by the parsers; the rows are the same."""

from __future__ import annotations

import pickle
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np
import numpy.typing as npt

from amqp_sansio.capture import CaptureDamage, Segment
from amqp_sansio.capture.bulk import HEAD, Output, Parser, may_begin_capture, not_a_capture, open_parser
from amqp_sansio.capture.repeats import Repeats

from .chain import PADDING, UNREAD, Run, walk
from .headers import read_headers

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from .headers import Segments
    from .rows import Made

_NOWHERE: Final = np.empty(0, dtype=np.int64)
_SLOW: Final = 64
"""Octets that a parser gets first for an unusual record."""
_PLAIN: Final = 64
"""Plain records in succession after which the next unusual one is treated as an isolated one."""


class Maker(Protocol):
    """Makes rows of records; with `segments` false only those about damage."""

    segments: bool

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        """Return rows of segments read in bulk."""
        ...

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        """Return rows of records read one by one."""
        ...

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        """Yield all rows, in order and in batches."""
        ...


class Counts:
    """Counts of the records read."""

    def __init__(self) -> None:
        self.packets = 0
        self.segments = 0
        self.rows = 0
        self.damages = 0
        self.first_ns: int | None = None
        self.last_ns: int | None = None

    def times(self, first_ns: int, last_ns: int) -> None:
        """Extend the range of the rows' times."""
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = last_ns if self.last_ns is None else max(self.last_ns, last_ns)


class BulkReader:
    """Reads an uncompressed capture that comes piece by piece, from its beginning or from the position of `parser`.

    The rows are those of `amqp_sansio.capture.read_segments`, in the same order, however the octets are cut. Besides a
    piece, only one unfinished record is kept. `state` is where it stands, for a reader of the octets from `offset` on.

    `packed` is how many octets of a compressed file were read so far; None for others.

    `plain` says that the octets before `offset` alone prove that a record ends there: every reader of those octets
    finds the same end.
    """

    def __init__(self, file: str, maker: Maker, state: bytes = b"") -> None:
        self.parser: Parser | None = None
        self._repeats = Repeats()
        if state:
            self.parser, self._repeats = pickle.loads(state)
        self.counts = Counts()
        self.plain = False
        self.packed: int | None = None
        self._file = file
        self._maker = maker
        self._buf = bytearray(PADDING)
        self._held = 0

    @property
    def offset(self) -> int:
        """The position in the file after the last complete record."""
        return 0 if self.parser is None else self.parser.offset

    @property
    def state(self) -> bytes:
        """The state after the last complete record."""
        return pickle.dumps((self.parser, self._repeats))

    @property
    def waiting(self) -> bool:
        """Whether rows may still come of what was read: of fragments, of damages in succession, or of packets that
        aren't read, which are counted at the end.
        """
        return self._repeats.waiting or (self.parser is not None and (self.parser.waiting or self.parser.unread))

    @property
    def begun(self) -> bool:
        """Whether any octet has been given."""
        return self.parser is not None or bool(self._held)

    def feed(self, data: bytes) -> Iterator[pa.RecordBatch]:
        """Take the next octets; run the iterator to its end.

        Raises NotACapture if the file's first octets are neither pcap nor pcapng.
        """
        self.room(len(data))[:] = data
        return self.filled(len(data))

    def room(self, octets: int) -> memoryview:
        """Return a buffer for at most `octets` next octets; report their number with `filled`."""
        need = self._held + octets + PADDING
        if len(self._buf) < need:
            # One buffer serves for all pieces: allocating memory costs more than using it.
            self._buf = self._buf[: self._held] + bytearray(need - self._held)
        return memoryview(self._buf)[self._held : self._held + octets]

    def filled(self, octets: int) -> Iterator[pa.RecordBatch]:
        """Read the octets in the buffer, as `feed` does."""
        end = self._held + octets
        if self.parser is None:
            self._held = end
            head = bytes(self._buf[: min(end, HEAD)])
            if end < HEAD:
                if not may_begin_capture(head):
                    raise not_a_capture(head, self._file)
                return
            self.parser = open_parser(head, self._file)
        buf = self._buf
        buf[end : end + PADDING] = bytes(PADDING)
        pos = yield from self._records(self.parser, buf, end)
        self._held = end - pos
        buf[: self._held] = buf[pos:end]

    def finish(self) -> Iterator[pa.RecordBatch]:
        """Note the end of the file; yield the remaining rows and damage.

        Raises NotACapture if the file ended before its format was clear.
        """
        rest = bytes(self._buf[: self._held])
        self._held = 0
        out: Output = []
        if self.parser is None:
            if not rest or not may_begin_capture(rest):
                raise not_a_capture(rest, self._file)
            text = f"the file ends after {len(rest)} octets, inside of its header"
            out.append(CaptureDamage(self._file, 0, 0, 0, "truncated-file", text))
        else:
            rest = rest[self.parser.parse(rest, out, True) :]
            self.parser.finish(rest, out)
        out = self._repeats.merge(out)
        self._repeats.flush(out)
        yield from self._batches(self._single(list(enumerate(out))))

    def refuse(self, kind: str, text: str) -> Iterator[pa.RecordBatch]:
        """Yield a damage of the whole file."""
        yield from self._singles([CaptureDamage(self._file, 0, 0, 0, kind, text)])

    def damage(self, kind: str, text: str) -> Iterator[pa.RecordBatch]:
        """Yield a damage at the current position."""
        packet, ts_ns = (0, 0) if self.parser is None else (self.parser.packet, self.parser.ts_ns)
        offset = self.offset + self._held
        yield from self._singles([CaptureDamage(self._file, packet, ts_ns, offset, kind, text)])

    def _records(self, parser: Parser, buf: bytearray, end: int) -> Generator[pa.RecordBatch, None, int]:
        pos = 0
        step = _SLOW
        self.plain = False
        while True:
            layout = parser.layout()
            if layout is not None:
                run = walk(buf, pos, end, layout)
                if run.end > pos:
                    yield from self._run(parser, buf, pos, run)
                    pos = run.end
                    self.plain = True
                if not run.odd:
                    return pos
                if len(run.record) > _PLAIN:
                    step = _SLOW
            out: Output = []
            packets = parser.packet
            while True:
                stop = min(end, pos + step)
                done = parser.parse(bytes(buf[pos:stop]), out, True)
                if done or stop == end:
                    break
                step *= 2
            self.counts.packets += parser.packet - packets
            yield from self._singles(out)
            pos += done
            if not done:
                return pos
            self.plain = False
            # If everything is unusual, looking for plain records mustn't cost more than reading.
            step *= 2

    def _run(self, parser: Parser, buf: bytearray, pos: int, run: Run) -> Iterator[pa.RecordBatch]:
        """Yield rows of the plain records that begin at `pos` in `buf`."""
        base = parser.offset - pos
        packet = parser.packet
        count = len(run.record)
        ts_ns = parser.ts_ns
        if count:
            ts_ns = int(run.ts_ns[-1])
            self.counts.times(int(run.ts_ns.min()), int(run.ts_ns.max()))
        found, odd = read_headers(buf, run)
        unknown = np.flatnonzero(run.link == UNREAD)
        if len(unknown):
            parser.pass_over(packet + int(unknown[0]), len(unknown))
        made: list[Made] = []
        places = np.sort(np.concatenate([_NOWHERE, *[segments.packet for segments in found]]))
        for segments in found:
            self.counts.segments += len(segments.packet)
            if self._maker.segments:
                rows = self._maker.bulk(buf, run, segments, packet)
                if rows is not None:
                    made.append(rows)
        singles: list[tuple[int, Segment | CaptureDamage]] = []
        last = -1
        for at in odd.tolist():
            out: Output = []
            where = (int(run.ts_ns[at]), packet + at, base + int(run.record[at]))
            octets = bytes(buf[int(run.start[at]) : int(run.stop[at])])
            wire, link = int(run.wire[at]), int(run.link[at])
            parser.decode(octets, 0, len(octets), wire, link, where, out)
            if out:
                if isinstance(out[0], Segment) or _any_between(places, last, at):
                    singles += self._end_repeats(last)
                singles += [(at, row) for row in self._repeats.merge(out)]
                last = at
        if _any_between(places, last, count):
            singles += self._end_repeats(last)
        made += self._single(singles)
        parser.take(run.end - pos, count, ts_ns)
        self.counts.packets += count
        yield from self._batches(made)

    def _end_repeats(self, place: int) -> list[tuple[int, Segment | CaptureDamage]]:
        """Return what is due of damages in succession, with its place in the order of the run."""
        out: Output = []
        self._repeats.flush(out)
        return [(place, row) for row in out]

    def _singles(self, out: Output) -> Iterator[pa.RecordBatch]:
        yield from self._batches(self._single(list(enumerate(self._repeats.merge(out)))))

    def _single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        for _, row in rows:
            self.counts.times(row.ts_ns, row.ts_ns)
            if isinstance(row, Segment):
                self.counts.segments += 1
            else:
                self.counts.damages += 1
        return self._maker.single(rows) if rows else []

    def _batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        if made:
            for batch in self._maker.batches(made):
                self.counts.rows += batch.num_rows
                yield batch


def _any_between(places: npt.NDArray[np.int64], first: int, last: int) -> bool:
    """Whether one of some places, which are in order, lies between two others."""
    at = int(np.searchsorted(places, first, side="right"))
    return at < len(places) and int(places[at]) < last
