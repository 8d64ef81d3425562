"""Reads captures: pcap or pcapng, plain or compressed by gzip, octets in and TCP segments out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, cast

from .bulk import HEAD, may_begin_capture, not_a_capture, open_parser
from .inflating import LONGEST, Inflate, Inflaters, compression_of, inflater, may_be_compressed
from .ip import Output
from .pcap import PcapParser
from .pcapng import PcapngParser
from .records import CaptureDamage, Segment
from .repeats import Repeats

if TYPE_CHECKING:
    from collections.abc import Iterable

    from typing_extensions import Buffer

SLICE: Final = 262_144
"""Most octets parsed at a time, whatever the size of the input."""


def read_segments(
    data: Buffer | Iterable[Buffer], *, file: str = "", inflaters: Inflaters | None = None
) -> Iterator[Segment | CaptureDamage]:
    """Yield the TCP segments of a capture, in its order, and its unreadable parts.

    `data` is the whole capture or its pieces in order, cut anywhere (an open binary file will do); `file` is the name
    for the records. Memory is bounded: only an unfinished record, at most 16 MiB, is kept between pieces. Of equal
    damages in succession only two come out: the first, and one that says how many follow it. `inflaters` undo zstd or
    lz4, by these names, as `Gunzip` does gzip.

    Raises NotACapture at the first step if the first octets are neither pcap nor pcapng nor one of them compressed so.
    """
    repeats = Repeats()
    for rows in _read(data, file, {} if inflaters is None else inflaters):
        yield from repeats.merge(rows)
    rest: Output = []
    repeats.flush(rest)
    yield from rest


def _read(data: Buffer | Iterable[Buffer], file: str, inflaters: Inflaters) -> Iterator[Output]:
    reader = CaptureReader(file=file)
    inflate: Inflate | None = None
    compression: str | None = None
    head = b""
    sniffed = False
    for piece in _slices(data):
        if not sniffed:
            head += piece
            compression = compression_of(head)
            if compression is None and len(head) < LONGEST and may_be_compressed(head):
                continue
            sniffed = True
            piece = head
            if compression is not None:
                inflate = inflater(compression, inflaters, file)
        if inflate is None:
            yield reader.feed(piece)
        else:
            for inflated in inflate.feed(piece):
                yield reader.feed(inflated)
            if inflate.error:
                break
    if not sniffed:
        yield reader.feed(head)
    if inflate is not None and (inflate.error or inflate.finish()):
        if inflate.error:
            yield [reader.damage(f"bad-{compression}", f"{inflate.error}; the rest is not read")]
        else:
            yield [reader.damage("truncated-file", inflate.finish())]
        if not reader.begun:
            return
    yield reader.finish()


class CaptureReader:
    """Reads an uncompressed capture that comes piece by piece; picklable at any point.

    Each damage is a record of its own, however many are equal. A large file can be split: `skip` passes over octets
    without making records, and `boundary` returns a reader that continues after the last complete record.
    """

    __slots__ = ("_file", "_held", "_parser", "_parts")

    def __init__(self, *, file: str = "") -> None:
        self._file = file
        self._parser: PcapParser | PcapngParser | None = None
        self._parts: list[bytes] = []
        self._held = 0

    @property
    def offset(self) -> int:
        """The position in the file after the last complete record."""
        return 0 if self._parser is None else self._parser.offset

    @property
    def packet(self) -> int:
        """The index of the next packet in the file."""
        return 0 if self._parser is None else self._parser.packet

    @property
    def begun(self) -> bool:
        """Whether any octet has been given."""
        return self._parser is not None or bool(self._held)

    def feed(self, data: Buffer) -> list[Segment | CaptureDamage]:
        """Take the next octets and return the records they complete.

        Raises NotACapture if the file's first octets are neither pcap nor pcapng.
        """
        out: Output = []
        self._take(data, out, True)
        return out

    def skip(self, data: Buffer) -> None:
        """Take the next octets like `feed`, but make no records: several times faster.

        Raises NotACapture as `feed` does.
        """
        self._take(data, [], False)

    def boundary(self) -> CaptureReader:
        """Return a reader in the state after the last complete record: feed it the file from `offset` on."""
        from copy import deepcopy

        reader = CaptureReader(file=self._file)
        reader._parser = deepcopy(self._parser)
        if reader._parser is not None:
            # Who reads the octets before counts what isn't read of them.
            reader._parser.forget_unread()
        return reader

    def finish(self) -> list[Segment | CaptureDamage]:
        """Note the end of the file; return remaining records and damage.

        Raises NotACapture if the file ended before its format was clear.
        """
        out: Output = []
        rest = b"".join(self._parts)
        self._parts = []
        self._held = 0
        if self._parser is None:
            if not rest or not may_begin_capture(rest):
                raise not_a_capture(rest, self._file)
            text = f"the file ends after {len(rest)} octets, inside of its header"
            return [CaptureDamage(self._file, 0, 0, 0, "truncated-file", text)]
        self._parser.finish(rest, out)
        return out

    def damage(self, kind: str, text: str) -> CaptureDamage:
        """Return a damage at the current position."""
        ts_ns = 0 if self._parser is None else self._parser.ts_ns
        offset = self.offset + self._held
        return CaptureDamage(self._file, self.packet, ts_ns, offset, kind, text)

    def _take(self, data: Buffer, out: Output, decode: bool) -> None:
        piece = bytes(data)
        parser = self._parser
        need = HEAD if parser is None else parser.need
        if self._held + len(piece) < need:
            if parser is None and not may_begin_capture(head := b"".join([*self._parts, piece])):
                raise not_a_capture(head, self._file)
            if piece:
                self._parts.append(piece)
                self._held += len(piece)
            return
        if self._parts:
            piece = b"".join([*self._parts, piece])
        if parser is None:
            parser = open_parser(piece, self._file)
            self._parser = parser
        done = parser.parse(piece, out, decode)
        rest = piece[done:]
        self._parts = [rest] if rest else []
        self._held = len(rest)


def _slices(data: Buffer | Iterable[Buffer]) -> Iterator[bytes]:
    whole = _view(data)
    if whole is not None:
        yield from _cut(whole)
        return
    for piece in cast("Iterable[Buffer]", data):
        if type(piece) is bytes and len(piece) <= SLICE:
            if piece:
                yield piece
            continue
        view = _view(piece)
        if view is None:
            raise TypeError(f"a piece of a capture must be bytes-like, not {type(piece).__name__}")
        yield from _cut(view)


def _view(data: object) -> memoryview | None:
    try:
        view = memoryview(cast("Buffer", data))
    except TypeError:
        return None
    if view.format == "B" and view.ndim == 1 and view.contiguous:
        return view
    return memoryview(view.tobytes())


def _cut(view: memoryview) -> Iterator[bytes]:
    for start in range(0, len(view), SLICE):
        yield bytes(view[start : start + SLICE])
