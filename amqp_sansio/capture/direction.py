"""One direction of a TCP connection: octets in order, octets beyond holes, and the holes.

RFC 9293 section 3.4.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from .._core.snapshot import Slotted

if TYPE_CHECKING:
    from collections.abc import Sequence

OVERHEAD: Final = 256
"""Octets counted for a piece on top of its content, so that many small ones are bounded too."""
_HISTORY: Final = 65_536
_HISTORY_OVERHEAD: Final = 64
_MAX_REMEMBERED: Final = 64
"""Ranges kept to recognise late segments and reported places; the oldest is forgotten."""

_NEAR: Final = 1 << 20
_NEVER: Final = 1 << 40
_HALF: Final = 1 << 31
_MASK: Final = (1 << 32) - 1

Damages = list[tuple[str, str]]
"""Kind and text of each `StreamDamage`."""


class Piece(NamedTuple):
    """Octets beyond a hole."""

    offset: int
    data: bytes
    need: int
    """The position of the other direction that the sender had acknowledged."""
    ts_ns: int
    order: int


class Ready(NamedTuple):
    """The next item of its direction: octets, a gap (no data, but a reason) or the FIN ("fin")."""

    offset: int
    size: int
    data: bytes | None
    reason: str
    need: int
    ts_ns: int
    order: int


_NONE: Final[deque[Any]] = deque(maxlen=0)
"""A deque without items has room for 64."""


class Direction(Slotted):
    """One direction. Positions are offsets from `base`, the number of its first known octet.

    Everything before `pos` is in order: output already (before `out`) or in `ready`, as octets or as a declared gap.
    """

    __slots__ = (
        "acked",
        "anchored",
        "base",
        "base_is_guess",
        "disputed",
        "exact",
        "fin",
        "fin_out",
        "floor",
        "held",
        "history",
        "history_size",
        "hole",
        "hole_at",
        "mark",
        "mark_at",
        "missing",
        "name",
        "out",
        "pending",
        "pos",
        "ready",
        "syn",
        "top",
        "voids",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.base = -1  # -1: unknown
        self.exact = False  # the base comes from a SYN
        self.anchored = False  # from the first word of the other side, which had begun: the stream begins not later
        self.base_is_guess = False  # from a segment without octets: maybe a keep-alive
        self.syn = False
        self.pos = 0
        self.out = 0
        self.top = 0
        self.fin = -1
        self.fin_out = False
        self.acked = 0
        self.mark = 0  # the acknowledged position, waiting since mark_at for the octets before it
        self.mark_at = 0
        self.hole = -1  # the position that hasn't moved since hole_at although later octets are there
        self.hole_at = 0
        self.pending: list[Piece] = []
        self.voids: list[tuple[int, int]] = []
        self.ready: deque[Ready] = deque()
        self.held = 0
        self.missing: list[tuple[int, int]] = []
        self.disputed: list[tuple[int, int]] = []
        self.floor = 0
        self.history: deque[tuple[int, bytes]] = deque()
        self.history_size = 0

    def release(self) -> None:
        """Free the memory of octets: no more come, but the flow of the connection may be kept for long."""
        self.history = _NONE
        self.ready = _NONE

    @property
    def untouched(self) -> bool:
        """Whether nothing of the stream was seen, so that its base may still change."""
        return not (self.pos or self.pending or self.voids or self.fin >= 0 or self.ready)

    def place(self, number: int) -> int:
        """Return the offset of a sequence number: of those 2^32 apart the nearest to the position."""
        pos = self.pos
        return pos + ((number - self.base - pos + _HALF) & _MASK) - _HALF

    def move(self, base: int, other: Direction) -> None:
        """Change the base of an untouched direction; positions in `other` keep their meaning."""
        octets = ((base - self.base + _HALF) & _MASK) - _HALF if self.base >= 0 else 0
        self.base = base
        self.base_is_guess = False
        self.top = 0
        self.mark = 0
        if abs(octets) > _NEAR:  # the acknowledged octets belonged to another connection
            self.acked, octets = 0, _NEVER
        self.acked = max(0, self.acked - octets)
        other.ready = deque([entry._replace(need=entry.need - octets) for entry in other.ready])
        other.pending = [piece._replace(need=piece.need - octets) for piece in other.pending]

    def next_known(self) -> int:
        """Return where octets, cut octets or the FIN follow after a hole at the position; -1: nowhere."""
        known = self.pending[0].offset if self.pending else -1
        if self.voids and (known < 0 or self.voids[0][0] < known):
            known = self.voids[0][0]
        if self.fin >= self.pos and (known < 0 or self.fin < known):
            known = self.fin
        return known

    def forget_acknowledged(self) -> None:
        """Drop the part of the history that retransmissions can't change any more."""
        history = self.history
        while history and history[0][0] + len(history[0][1]) <= self.acked:
            self.history_size -= len(history.popleft()[1]) + _HISTORY_OVERHEAD

    def remember(self, offset: int, pieces: Sequence[bytes]) -> None:
        """Keep octets from `offset` on for comparison with retransmissions, until the peer acknowledges them."""
        history, size = self.history, self.history_size
        for data in pieces:
            history.append((offset, data))
            offset += len(data)
            size += len(data) + _HISTORY_OVERHEAD
        while size > _HISTORY and len(history) > 1:
            size -= len(history.popleft()[1]) + _HISTORY_OVERHEAD
        self.history_size = size

    def insert(self, offset: int, data: bytes, size: int, need: int, ts_ns: int, order: int, damages: Damages) -> None:
        """Insert a segment of `size` octets at `offset`, of which `data` was captured.

        The first octets of a place win.
        """
        end = offset + size
        if size == 1 and end == self.top:
            return  # a keep-alive probe: its octet has no meaning (RFC 9293 section 3.8.4)
        if 0 <= self.fin < end:
            damages.append(("after-fin", f"{end - max(offset, self.fin)} octets after the FIN at {self.fin}"))
            end = max(offset, self.fin)
            data = data[: end - offset]
        self.top = max(self.top, end)
        got = offset + len(data)
        if offset < self.pos:
            if data:
                self._old(offset, data, damages)
            data = data[self.pos - offset :]
            offset = self.pos
        if data:
            self._store(Piece(offset, data, need, ts_ns, order), damages)
        if end > got and end > self.pos:
            void = (max(got, self.pos), end)
            at = bisect_left(self.voids, void)
            if self.voids[at : at + 1] != [void]:
                self.voids.insert(at, void)
                self.held += OVERHEAD

    def set_fin(self, offset: int, damages: Damages) -> None:
        """Note that the stream ends at `offset`."""
        if self.fin >= 0:
            return
        if offset < max(self.pos, self.top):
            text = f"a FIN at {offset}, but octets up to {max(self.pos, self.top)} were captured"
            damages.append(("after-fin", text))
            return
        self.fin = offset
        self.acked = min(self.acked, offset + 1)

    def collect(self, ts_ns: int, need: int, order: int) -> None:
        """Make everything ready that follows the position without a hole.

        The three values are for a FIN or a cut there.
        """
        pending = self.pending
        taken = 0
        while True:
            while self.voids and self.voids[0][1] <= self.pos:
                del self.voids[0]
                self.held -= OVERHEAD
            if taken < len(pending) and pending[taken].offset == self.pos:
                piece = pending[taken]
                taken += 1
                data = piece.data
                self.ready.append(Ready(self.pos, len(data), data, "", *piece[2:]))
                self.remember(self.pos, (data,))
                self.pos += len(data)
            elif self.fin == self.pos:
                self.ready.append(Ready(self.pos, 1, None, "fin", need, ts_ns, order))
                self.held += OVERHEAD
                self.pos += 1
            elif self.voids and self.voids[0][0] <= self.pos:
                end = self.voids[0][1]
                if taken < len(pending):
                    end = min(end, pending[taken].offset)
                if self.fin > self.pos:
                    end = min(end, self.fin)
                self._gap(end, ts_ns, order, "snaplen")
            else:
                break
        del pending[:taken]

    def declare(self, end: int, ts_ns: int, order: int, reason: str) -> None:
        """Give up the octets from the position to `end`, and make ready everything that follows."""
        if self.pending and self.pending[0].offset == end:
            ts_ns, order = self.pending[0].ts_ns, self.pending[0].order
        self._gap(end, ts_ns, order, reason)
        self.collect(ts_ns, 0, order)

    def _gap(self, end: int, ts_ns: int, order: int, reason: str) -> None:
        self.ready.append(Ready(self.pos, end - self.pos, None, reason, 0, ts_ns, order))
        self.held += OVERHEAD
        self.missing.append((self.pos, end))
        del self.missing[:-_MAX_REMEMBERED]
        self.pos = end

    def _store(self, piece: Piece, damages: Damages) -> None:
        """Add octets at or after the position to the pending ones, without replacing any."""
        pending = self.pending
        offset, data = piece.offset, piece.data
        at = len(pending)
        if pending and offset < pending[-1].offset + len(pending[-1].data):
            at = bisect_left(pending, offset, key=_offset)
            if at and pending[at - 1].offset + len(pending[at - 1].data) > offset:
                at -= 1
        used = 0
        while used < len(data):
            there = pending[at] if at < len(pending) else None
            room = len(data) if there is None else there.offset - offset
            if room > used:
                part = data[used:room]
                pending.insert(at, piece._replace(offset=offset + used, data=part))
                self.held += len(part) + OVERHEAD
                at += 1
            if there is None or room >= len(data):
                return
            self._compare(offset, data, there.offset, there.data, damages)
            used = max(used, room + len(there.data))
            at += 1

    def _old(self, offset: int, data: bytes, damages: Damages) -> None:
        """Handle octets before the position: retransmitted, or declared missing earlier."""
        end = min(offset + len(data), self.pos)
        if offset < self.floor:
            text = f"{min(end, self.floor) - offset} octets from before the first known one"
            damages.append(("late-segment", text))
            self.floor = offset
        late = 0
        left: list[tuple[int, int]] = []
        for start, stop in self.missing:
            if start < end and offset < stop:
                late += min(stop, end) - max(start, offset)
                left += [(a, b) for a, b in ((start, offset), (end, stop)) if a < b]
            else:
                left.append((start, stop))
        if late:
            self.missing = left[-_MAX_REMEMBERED:]
            text = f"{late} octets at {max(offset, 0)} came after they were given up"
            damages.append(("late-segment", text))
        history = self.history
        for at in range(bisect_left(history, end, key=_start), 0, -1):
            start, known = history[at - 1]
            if start + len(known) <= offset:
                break
            self._compare(offset, data, start, known, damages)

    def _compare(self, offset: int, data: bytes, start: int, known: bytes, damages: Damages) -> None:
        first = max(offset, start)
        end = min(offset + len(data), start + len(known))
        ours, theirs = data[first - offset : end - offset], known[first - start : end - start]
        if ours == theirs:
            return
        differing = [
            at
            for at, (x, y) in enumerate(zip(ours, theirs, strict=True), first)
            if x != y and not any(a <= at < b for a, b in self.disputed)
        ]
        if not differing:
            return
        self.disputed.append((differing[0], differing[-1] + 1))
        del self.disputed[:-_MAX_REMEMBERED]
        text = f"{len(differing)} octets at {differing[0]} were sent again with other values"
        damages.append(("conflicting-overlap", text))


def _offset(piece: Piece) -> int:
    return piece.offset


def _start(known: tuple[int, bytes]) -> int:
    return known[0]
