"""Rows as Arrow batches: segments read in bulk, and single ones, in the capture's order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from amqp_sansio.capture import CaptureDamage, Segment, flow_key
from amqp_sansio.capture.addresses import ipv4_text, ipv6_text

from . import arrow
from .segments import ARROW_SCHEMA, MAX_ROWS, ROW_OCTETS, damages_batch, segments_batch
from .selection import Direction, Selection

if TYPE_CHECKING:
    from .arrow import Column, Ints
    from .chain import Run
    from .headers import Segments

_MAX_DIRECTIONS: Final = 16_384
_POINT_OCTETS: Final = 4
_PORT_OCTETS: Final = 2
Made = tuple["Ints", pa.RecordBatch]
"""Rows, and the place of each in the order of the run."""


class RowMaker:
    """Makes the selected rows of one file, with the columns `names`, in batches of about `octets` octets."""

    def __init__(self, file: str, names: Sequence[str], selection: Selection, octets: int) -> None:
        self.file = file
        self.names = tuple(names)
        self.schema = arrow.only(ARROW_SCHEMA, self.names)
        self.selection = selection
        self.octets = octets
        self.segments = selection.segments
        self._directions = _Directions(file, selection)

    def bulk(self, buf: bytearray, run: Run, segments: Segments, packet: int) -> Made | None:
        """Return rows of segments whose run begins with the packet number `packet`; None: none is selected."""
        numbers = segments.packet + packet
        ts_ns = run.ts_ns[segments.packet]
        if len(self._directions) > _MAX_DIRECTIONS:
            self._directions = _Directions(self.file, self.selection)
        directions = self._directions
        ways = directions.find(segments.keys)
        mask = self.selection.mask(segments, ts_ns, numbers)
        if not directions.all_wanted:
            wanted = directions.wanted[ways]
            mask = wanted if mask is None else mask & wanted
        if mask is not None:
            keep = np.flatnonzero(mask)
            if not len(keep):
                return None
            segments = segments.only(keep)
            numbers, ts_ns, ways = numbers[keep], ts_ns[keep], ways[keep]
        count = len(numbers)
        indices = arrow.integers(ways)

        def text(column: str) -> Column:
            return arrow.chosen(directions.texts[column], indices)

        make: dict[str, Callable[[], Column]] = {
            "flow": lambda: text("flow"),
            "ts_ns": lambda: arrow.integers(ts_ns),
            "file": lambda: arrow.repeated(self.file, count),
            "packet": lambda: arrow.integers(numbers),
            "src": lambda: text("src"),
            "sport": lambda: arrow.narrow(segments.sport),
            "dst": lambda: text("dst"),
            "dport": lambda: arrow.narrow(segments.dport),
            "seq": lambda: arrow.integers(segments.seq),
            "ack": lambda: arrow.integers(segments.ack),
            "flags": lambda: arrow.narrow(segments.flags),
            "wire_len": lambda: arrow.narrow(segments.wire_len),
            "payload": lambda: arrow.slices(buf, segments.start, segments.stop),
            "point": lambda: text("point"),
            "damage": lambda: arrow.nulls(count, ARROW_SCHEMA, "damage"),
        }
        batch = arrow.batch_of({name: make[name]() for name in self.names}, self.schema)
        return segments.packet, batch

    def single(self, rows: Sequence[tuple[int, Segment | CaptureDamage]]) -> list[Made]:
        """Return rows read one by one, each with its place in the order of the run."""
        rows = [(at, row) for at, row in rows if self.selection.takes(row)]
        made: list[Made] = []
        segments = [(at, row) for at, row in rows if isinstance(row, Segment)]
        if segments:
            batch = segments_batch([row for _, row in segments]).select(self.names)
            made.append((np.array([at for at, _ in segments]), batch))
        damages = [(at, row) for at, row in rows if isinstance(row, CaptureDamage)]
        if damages:
            batch = damages_batch([row for _, row in damages]).select(self.names)
            made.append((np.array([at for at, _ in damages]), batch))
        return made

    def batches(self, made: list[Made]) -> Iterator[pa.RecordBatch]:
        """Yield all rows in the order of the run; those of one place in the given order."""
        return cut(in_order(made), self.octets)


class _Directions:
    """The directions seen in a file; each is decoded once."""

    def __init__(self, file: str, selection: Selection) -> None:
        self.texts: dict[str, Column] = {}
        self.wanted: npt.NDArray[np.bool_] = np.empty(0, dtype=np.bool_)
        self.all_wanted = True
        self._file = file
        self._selection = selection
        self._numbers: dict[bytes, int] = {}
        self._known: list[Direction] = []

    def __len__(self) -> int:
        return len(self._known)

    def find(self, keys: npt.NDArray[np.void]) -> npt.NDArray[np.int32]:
        """Return the number of each key's direction: an index of `wanted` and of the arrays in `texts`."""
        different, indices = arrow.encoded(keys)
        known, before = self._numbers, len(self._known)
        numbers: list[int] = []
        for key in different:
            number = known.get(key)
            if number is None:
                number = known[key] = len(self._known)
                self._known.append(_decode(key, self._file))
            numbers.append(number)
        if len(self._known) > before:
            for column in ("flow", "src", "dst", "point"):
                names = [getattr(direction, column) for direction in self._known]
                self.texts[column] = arrow.texts(names)
            new = [self._selection.takes_direction(way) for way in self._known[before:]]
            self.wanted = np.append(self.wanted, np.array(new, dtype=np.bool_))
            self.all_wanted = bool(self.wanted.all())
        ways: npt.NDArray[np.int32] = np.array(numbers, dtype=np.int32)[indices]
        return ways


def in_order(made: list[Made]) -> pa.RecordBatch:
    """Return all rows in one batch, in the order of the run; those of one place in the given order."""
    if len(made) == 1:
        return made[0][1]
    places = np.concatenate([at for at, _ in made])
    order = np.argsort(places, kind="stable")
    return arrow.sorted_rows([batch for _, batch in made], order)


def cut(batch: pa.RecordBatch, octets: int) -> Iterator[pa.RecordBatch]:
    """Yield the rows in batches of at most about `octets` octets (a single row may be larger)."""
    rows = batch.num_rows
    if "payload" in batch.schema.names:
        sizes = arrow.sizes(batch, "payload")
        total = np.cumsum(sizes + np.int64(ROW_OCTETS))
    else:
        total = np.arange(1, rows + 1, dtype=np.int64) * ROW_OCTETS
    start, before = 0, 0
    while start < rows:
        stop = int(np.searchsorted(total, before + octets, side="right"))
        stop = min(max(stop, start + 1), start + MAX_ROWS, rows)
        yield batch.slice(start, stop - start)
        start, before = stop, int(total[stop - 1])


def _decode(key: bytes, file: str) -> Direction:
    """Decode a key: both addresses, both ports, the VLANs."""
    code = int.from_bytes(key[-_POINT_OCTETS:], "little")
    ports = key[-_POINT_OCTETS - 2 * _PORT_OCTETS : -_POINT_OCTETS]
    addresses = key[: -_POINT_OCTETS - 2 * _PORT_OCTETS]
    half = len(addresses) // 2
    name = ipv4_text if half == 4 else ipv6_text
    src, dst = name(addresses[:half]), name(addresses[half:])
    sport, dport = (int.from_bytes(ports[at : at + _PORT_OCTETS], "big") for at in (0, 2))
    vlans = [str(vlan) for vlan in (code >> 12, code & 0x0FFF) if vlan]
    point = "vlan" + ".".join(vlans) if vlans else ""
    return Direction(flow_key(src, sport, dst, dport, point), src, sport, dst, dport, point, file)
