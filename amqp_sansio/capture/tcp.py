"""Reassembles the TCP connections of captured flows, in causal order (RFC 9293 section 3)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from .._core.snapshot import Laid
from .._ground.layouts import REASSEMBLER
from .connection import NEVER, Connection
from .direction import Damages, Direction
from .records import ACK, FIN, RST, SYN, Item, Segment, StreamData

DEFAULT_LIMIT: Final = 16 * 1024 * 1024
DEFAULT_GRACE_NS: Final = 1_000_000_000
DEFAULT_PATIENCE_NS: Final = 300_000_000_000

_HALF: Final = 1 << 31
_MASK: Final = (1 << 32) - 1
_WINDOW: Final = 1 << 30
"""No window is larger (RFC 7323 section 2.3): an acknowledgement further ahead is garbage."""
_FAR: Final = 1 << 26
"""Octets this far behind the position belong to another connection; they are no retransmission."""
_FAR_BEYOND_FIN: Final = 1 << 22
_PLAIN: Final = SYN | FIN | RST | ACK
_RUN: Final = 1 << 17
"""About as many octets are taken together."""
_HANDSHAKE: Final = 1 << 16
"""Most that a SYN and ACK acknowledges: the SYN and its octets (RFC 7413)."""


def reassemble(segments: Iterable[Segment]) -> Iterator[Item]:
    """Reassemble segments of any number of flows that come in the order of `sort_key`."""
    flow = ""
    last: tuple[str, int, str, int, str] | None = None
    reassembler = Reassembler()
    for segment in segments:
        key = (segment.src, segment.sport, segment.dst, segment.dport, segment.point)
        if key != last:
            last = key
            if segment.flow != flow:
                flow = segment.flow
                yield from reassembler.finish()
                reassembler = Reassembler()
        yield from reassembler.push(segment)
    yield from reassembler.finish()


class Reassembler(Laid):
    """The connections of one flow (one 4-tuple), in succession; picklable at any point.

    Give it the segments of one flow in the order of `sort_key`; the items are a function of that sequence alone. Each
    direction's octets come in order. The two directions are merged causally: octets wait until everything that their
    sender had acknowledged has come out of the other direction. Octets missing in the capture become a `StreamGap`:
    `grace_ns` (nanoseconds of capture time) after the peer acknowledged them, so that a segment captured a little late
    still finds its place; `patience_ns` after later octets arrived without acknowledgement; when more than `limit`
    octets wait; or at the end.

    An item's time is that of the segment with its octets, but never before the time of the item before it.
    """

    _LAYOUT = REASSEMBLER
    _WHAT = "a reassembler"

    __slots__ = ("_connection", "_grace_ns", "_limit", "_now", "_patience_ns", "_previous", "_started")

    def __init__(
        self, *, limit: int = DEFAULT_LIMIT, grace_ns: int = DEFAULT_GRACE_NS, patience_ns: int = DEFAULT_PATIENCE_NS
    ) -> None:
        self._limit = limit
        self._grace_ns = grace_ns
        self._patience_ns = patience_ns
        self._now = -NEVER
        self._started = 0  # earlier connections
        self._previous: tuple[tuple[int, int], ...] = ()  # the range of the previous one's octets, by side
        self._connection: Connection | None = None

    @property
    def held(self) -> int:
        """Octets that wait, including the overhead of their records."""
        connection = self._connection
        return 0 if connection is None else connection.first.held + connection.second.held

    @property
    def is_over(self) -> bool:
        """Whether the connection at hand has ended, as far as it was captured: by FINs of both sides, or a RST."""
        return self._connection is None or self._connection.is_over

    @property
    def due_ns(self) -> int | None:
        """The capture time at which `advance` has work to do (nanoseconds); None: never."""
        connection = self._connection
        return None if connection is None or connection.due_ns == NEVER else connection.due_ns

    def push(self, segment: Segment) -> list[Item]:
        """Take the flow's next segment and return the items complete now."""
        straight, pieces, _ = self._in_order((segment,), 0)
        connection = self._connection
        if straight is not None and connection is not None:
            (data,) = pieces
            return [StreamData(connection.id, straight.name, data, connection.clock, straight.pos - len(data))]
        return self._push(segment)

    def run(self, segments: Sequence[Segment], start: int) -> tuple[str, str, list[bytes], list[int]] | list[Item]:
        """Take the flow's next segments from `segments[start]` on, as long as all are octets of one sender in order.

        Returns the connection, the sender, and the octets and time of each segment that was taken; each stands for one
        `StreamData`. Where the first isn't such a segment, it alone is taken; returns what `push` returns of it.
        """
        straight, pieces, times = self._in_order(segments, start)
        connection = self._connection
        if straight is None or connection is None:
            return self._push(segments[start])
        return connection.id, straight.name, pieces, times

    def _push(self, segment: Segment) -> list[Item]:
        """Take any segment."""
        items: list[Item] = []
        connection = self._connection
        if segment.ts_ns > self._now:
            self._now = segment.ts_ns
            if connection is not None and connection.due_ns <= self._now:
                self._expire(connection, items)
        flags = segment.flags
        if self._previous and connection is not None and not flags & SYN:
            this, _ = connection.sides(segment)
            if self._repeats(this, this is connection.second, segment):
                return items
        if connection is None or connection.ended or flags & (SYN | RST):
            connection = self._select(connection, segment, items)
            if connection is None:
                return items
        this, other = connection.sides(segment)
        need = self._acknowledged(other, this, segment.ack) if flags & ACK else 0
        size = segment.wire_len
        if not size and not flags & FIN:
            if this.base < 0:
                this.base = segment.seq
                this.base_is_guess = True
            if other.acked > other.pos:
                self._settle(connection, items)
            return items
        offset = _offset(this, other, segment)
        if size and _is_foreign(this, offset):
            connection = self._begin(connection, segment, items)
            this, other = connection.sides(segment)
            this.base, offset, need = segment.seq, 0, 0
        self._take(connection, this, segment, offset, need, items)
        return items

    def advance(self, ts_ns: int) -> list[Item]:
        """Note that the capture has reached `ts_ns` without a segment of this flow; return the items complete now."""
        items: list[Item] = []
        if ts_ns > self._now:
            self._now = ts_ns
            if self._connection is not None and self._connection.due_ns <= ts_ns:
                self._expire(self._connection, items)
        return items

    def finish(self) -> list[Item]:
        """Note the end of the capture; return everything that waits, and the connection's end."""
        items: list[Item] = []
        connection = self._connection
        if connection is not None:
            self._leave(connection, "end-of-capture", items)
            self._connection = None
        return items

    def _in_order(self, segments: Sequence[Segment], start: int) -> tuple[Direction | None, list[bytes], list[int]]:
        """Take the segments of one direction from `segments[start]` on whose octets come out at once.

        Returns the direction (None: there are none), and the octets and times of the segments.
        """
        pieces: list[bytes] = []
        times: list[int] = []
        connection = self._connection
        if connection is None or not connection.calm or self._previous:
            return None, pieces, times
        address, port = segments[start].src, segments[start].sport
        this, other = connection.sides(segments[start])
        base, pos = this.base, this.pos
        until = pos + _RUN
        clock, number = connection.clock, -1
        for at in range(start, len(segments)):
            segment = segments[at]
            payload = segment.payload
            size = len(payload)
            if (
                not size
                or size != segment.wire_len
                or segment.seq != (base + pos) & _MASK
                or segment.ts_ns < clock
                or segment.flags & _PLAIN != ACK
                or segment.sport != port
                or segment.src != address
            ):
                break
            if segment.ack != number:
                number = segment.ack
                if self._acknowledged(other, this, number) > other.out:
                    break
            clock = segment.ts_ns
            pieces.append(payload)
            times.append(clock)
            pos += size
            if pos >= until:
                break
        if not pieces:
            return None, pieces, times
        this.remember(this.pos, pieces)
        this.out = pos
        this.top = pos
        this.pos = pos
        connection.clock = clock
        connection.heard[this.name] = clock
        if clock > self._now:
            self._now = clock
        return this, pieces, times

    def _acknowledged(self, direction: Direction, other: Direction, number: int) -> int:
        """Return the position in `direction` that `other` acknowledges with `number`."""
        if direction.base < 0:
            direction.base = number
            direction.anchored = other.syn and not other.pos
        pos = direction.pos
        position = pos + ((number - direction.base - pos + _HALF) & _MASK) - _HALF
        if position <= direction.acked:
            return position
        if position > max(direction.top, pos) + _WINDOW:
            return 0
        if position == 1 and direction.base_is_guess and direction.untouched:
            # Its only segment was a keep-alive, whose number is one below the next (RFC 9293 section 3.8.4).
            direction.move(number, other)
            return 0
        if 0 <= direction.fin < position:
            position = direction.fin + 1
        direction.acked = position
        direction.forget_acknowledged()
        return position

    def _take(
        self, connection: Connection, this: Direction, segment: Segment, offset: int, need: int, items: list[Item]
    ) -> None:
        damages: Damages = []
        size, ts_ns = segment.wire_len, segment.ts_ns
        order = connection.order + 1
        connection.order = order
        if this is connection.reset_by and ts_ns > connection.reset_at and this.fin < 0:
            is_new = offset + size > max(this.pos, this.top)
            connection.reset_followed = connection.reset_followed or is_new or bool(segment.flags & FIN)
        if size:
            this.insert(offset, segment.payload, size, need, ts_ns, order, damages)
        if segment.flags & FIN:
            this.set_fin(offset + size, damages)
        this.collect(ts_ns, need, order)
        connection.drain(items)
        for kind, text in damages:
            connection.damage(this, kind, text, ts_ns, items)
        self._settle(connection, items)

    def _settle(self, connection: Connection, items: list[Item]) -> None:
        connection.relieve(self._limit, items)
        if connection.first.fin_out and connection.second.fin_out:
            connection.end("fin", items)
        else:
            connection.settle(self._now, self._grace_ns, self._patience_ns)

    def _expire(self, connection: Connection, items: list[Item]) -> None:
        connection.expire(self._now, self._grace_ns, self._patience_ns, items)
        if not connection.ended:
            self._settle(connection, items)

    def _select(self, connection: Connection | None, segment: Segment, items: list[Item]) -> Connection | None:
        """Return the connection of a segment that may begin or end one; None: it needs no more work."""
        flags = segment.flags
        if connection is None:
            return None if flags & RST else self._begin(None, segment, items)
        this, other = connection.sides(segment)
        if flags & RST:
            if not connection.ended:
                self._reset(connection, this, segment, items)
            return None
        if flags & SYN:
            return self._greeted(connection, this, other, segment, items)
        if not segment.wire_len:
            return None
        if this.base >= 0:
            offset = this.place(segment.seq)
            if offset >= this.pos - _FAR and offset + segment.wire_len <= this.pos:
                return None  # a late retransmission
        return self._begin(connection, segment, items)

    def _is_base_of_previous(self, base: int) -> bool:
        return base in [start for start, _ in self._previous]

    def _repeats(self, this: Direction, side: int, segment: Segment) -> bool:
        """Whether the segment belongs to the previous connection, captured again at a point whose clock is behind."""
        base, top = self._previous[side]
        # With the FIN, which has a number too.
        if base < 0 or ((segment.seq - base) & _MASK) + segment.wire_len > top + 1:
            return False
        # The octet before a keep-alive's is this connection's, and so are octets that may be on their way.
        return this.base < 0 or not -1 <= this.place(segment.seq) <= max(this.top, this.pos) + _FAR

    def _begin(self, old: Connection | None, segment: Segment, items: list[Item]) -> Connection:
        """Begin a connection with this segment; it replaces `old`."""
        if old is not None:
            self._leave(old, "reuse", items)
        connection = Connection(segment, self._started)
        self._connection = connection
        if segment.flags & SYN:
            this, other = connection.sides(segment)
            connection.greet(this, other, segment, bool(segment.flags & ACK))
            connection.start(items)
            connection.settle(self._now, self._grace_ns, self._patience_ns)
        return connection

    def _leave(self, connection: Connection, how: str, items: list[Item]) -> None:
        connection.end(how, items)
        if connection.started:
            self._started += 1
            self._previous = tuple([(it.base, it.top) for it in (connection.first, connection.second)])

    def _greeted(
        self, connection: Connection, this: Direction, other: Direction, segment: Segment, items: list[Item]
    ) -> Connection | None:
        """Return the connection of a SYN if one is known: that, a new one, or None for a past one."""
        base = (segment.seq + 1) & _MASK
        answer = bool(segment.flags & ACK)
        if connection.ended:
            # After a refusal the same number is another attempt; otherwise the packet was captured twice.
            refused = connection.how in ("refused", "rst") and not (this.top or other.top or other.syn)
            again = this.syn and this.base == base
            if (again and not refused) or (not again and self._is_base_of_previous(base)):
                return None
            return self._begin(connection, segment, items)
        if this.base == base:
            if not this.syn:  # captured after later packets
                this.exact = True
                this.syn = True
            connection.greet_again(segment)
            return connection
        if self._is_base_of_previous(base):
            return None
        if not answer and not connection.started:
            return self._begin(connection, segment, items)
        fits = not answer or other.base < 0 or 0 <= other.place(segment.ack) <= _HANDSHAKE
        if this.untouched and fits and (answer or (not this.syn and other.untouched)):
            connection.greet(this, other, segment, answer)
            connection.start(items)
            return connection
        return self._begin(connection, segment, items)

    def _reset(self, connection: Connection, this: Direction, segment: Segment, items: list[Item]) -> None:
        offset = this.pos
        if this.base >= 0 and (segment.seq or this.syn):
            offset = this.place(segment.seq)
            if abs(offset - this.pos) > _FAR:
                text = f"a RST {offset - this.pos:+} octets away from the stream's position"
                connection.damage(this, "stray-reset", text, segment.ts_ns, items)
                return
        connection.reset(this, segment, offset)
        self._settle(connection, items)


def _offset(this: Direction, other: Direction, segment: Segment) -> int:
    """Return the offset of the segment's octets; determines where a stream observed from the middle begins."""
    number = segment.seq + 1 & _MASK if segment.flags & SYN else segment.seq
    if this.base < 0:
        this.base = number
        return 0
    offset = this.place(number)
    if offset and not this.exact and this.untouched:
        # The stream begins with the first octets, except for a hole that an acknowledgement proves.
        before = -_FAR < offset < 0
        after = offset > 0 and not this.anchored and (this.acked <= 0 or (offset == 1 and this.base_is_guess))
        if before or after:
            this.move(number, other)
            return 0
    return offset


def _is_foreign(this: Direction, offset: int) -> bool:
    """Whether octets at `offset` must belong to another connection, whose start wasn't captured."""
    return offset < this.pos - _FAR or (this.fin_out and offset > this.pos + _FAR_BEYOND_FIN)
