"""Reassembly of one TCP connection: the order of its output, and when to give up holes.

RFC 9293 section 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .._core.snapshot import Slotted
from .direction import OVERHEAD, Direction, Ready
from .records import ACK, ConnectionEnd, ConnectionStart, Item, StreamDamage, StreamData, StreamGap, endpoint

if TYPE_CHECKING:
    from .records import Segment

NEVER: Final = 1 << 66
"""Later than any time of a capture."""
_AGAIN_NS: Final = 500_000_000
"""A SYN so much later isn't the first one captured twice: it is sent again after a second (RFC 6298 section 2.1)."""


class Connection(Slotted):
    """The state of one connection and of its output.

    `calm` says that all output is done and nothing is missing, so that octets in order may pass straight through.
    """

    __slots__ = (
        "address",
        "calm",
        "client",
        "clock",
        "due_ns",
        "ended",
        "ended_at",
        "ended_by",
        "ended_heard",
        "file",
        "first",
        "first_seq",
        "first_ts_ns",
        "flow",
        "gaps",
        "heard",
        "how",
        "id",
        "incarnation",
        "order",
        "port",
        "refused",
        "repeated",
        "reset_acks",
        "reset_at",
        "reset_by",
        "reset_followed",
        "reset_heard",
        "reset_offset",
        "second",
        "started",
    )

    def __init__(self, segment: Segment, incarnation: int) -> None:
        ends = [(segment.src, segment.sport), (segment.dst, segment.dport)]
        if ends[0] > ends[1]:
            ends.reverse()
        self.flow = segment.flow
        self.address, self.port = ends[0]
        self.first = Direction(endpoint(*ends[0]))
        self.second = Direction(endpoint(*ends[1]))
        self.incarnation = incarnation
        self.file = segment.file
        self.first_ts_ns = segment.ts_ns
        self.first_seq = segment.seq
        self.id = ""
        self.client = ""
        self.started = False
        self.ended = False
        self.how = ""
        self.calm = False
        self.clock = segment.ts_ns
        self.due_ns = NEVER
        self.order = 0
        self.gaps = 0
        self.heard: dict[str, int] = {}  # when the last octets of each endpoint came out
        # The sender of the FIN that came out first, its time, and when the other one was heard last before it.
        self.ended_by = ""
        self.ended_at = 0
        self.ended_heard: int | None = None
        self.reset_by: Direction | None = None
        self.reset_at = 0
        self.reset_acks: int | None = None  # the number that it acknowledges
        self.reset_followed = False  # its sender sent more
        self.reset_heard: int | None = None
        self.refused = False  # the RST answers the SYN
        self.repeated = False  # the SYN came again, so much later that it was sent again
        self.reset_offset = 0

    def sides(self, segment: Segment) -> tuple[Direction, Direction]:
        """Return the direction of the segment, and the other one."""
        if segment.sport == self.port and segment.src == self.address:
            return self.first, self.second
        return self.second, self.first

    def greet(self, this: Direction, other: Direction, segment: Segment, answer: bool) -> None:
        """Take the start of a direction from a SYN or, with `answer`, from a SYN and ACK."""
        this.move((segment.seq + 1) & 0xFFFF_FFFF, other)
        this.exact = True
        this.syn = True
        if answer and other.base < 0:
            other.move(segment.ack, this)
            other.exact = True
        if not self.started:
            self.client = other.name if answer else (self.client or this.name)

    def other(self, direction: Direction) -> Direction:
        """Return the other direction."""
        return self.second if direction is self.first else self.first

    def reset(self, this: Direction, segment: Segment, offset: int) -> None:
        """Take a RST at an offset of its sender's stream; the first one counts."""
        if self.reset_by is not None:
            return
        other = self.other(this)
        self.reset_by = this
        self.reset_at = segment.ts_ns
        self.reset_acks = segment.ack if segment.flags & ACK else None
        self.reset_offset = offset
        self.reset_heard = self.heard.get(other.name)
        # What refuses a SYN has no number of its own (RFC 9293 section 3.10.7.1).
        answers = bool(segment.flags & ACK) and not segment.seq and other.syn
        self.refused = answers and not this.syn and this.base < 0 and other.untouched

    @property
    def is_reset(self) -> bool:
        """Whether the RST ended the connection: behind one nothing comes but what was captured late."""
        reset = self.reset_by
        return reset is not None and not (self.reset_followed and reset.pos != self.reset_offset)

    def is_behind_fin(self, reset: Direction) -> bool:
        """Whether the RST was sent behind the FIN that came out first: it acknowledges it, or else its time says so.

        It may be in a capture whose clock is behind.
        """
        other = self.other(reset)
        acks = self.reset_acks
        if other.name == self.ended_by and acks is not None and other.place(acks) == other.fin + 1:
            return True
        return self.ended_at <= self.reset_at

    @property
    def is_over(self) -> bool:
        """Whether the ends of both streams have been captured, or a RST that its receiver takes.

        It takes none ahead of the octets that it has (RFC 5961 section 3.2).
        """
        if self.ended or (self.first.fin >= 0 and self.second.fin >= 0):
            return True
        reset = self.reset_by
        return reset is not None and self.is_reset and self.reset_offset <= reset.pos

    @property
    def is_unanswered(self) -> bool:
        """Whether the SYN was sent again, and neither side shows that the other one has ever answered."""
        return self.repeated and any(
            [
                this.syn and this.untouched and not other.syn and other.base < 0
                for this, other in ((self.first, self.second), (self.second, self.first))
            ]
        )

    def greet_again(self, segment: Segment) -> None:
        """Take a SYN that is there already."""
        is_later = segment.file == self.file and segment.ts_ns - self.first_ts_ns >= _AGAIN_NS
        if is_later and not segment.flags & ACK:
            self.repeated = True

    def start(self, items: list[Item]) -> None:
        """Report the connection's start, once."""
        if self.started:
            return
        from hashlib import blake2b

        self.started = True
        text = f"{self.flow} {self.incarnation} {self.first_ts_ns} {self.first_seq}"
        self.id = blake2b(text.encode(), digest_size=16).hexdigest()
        a, b = self.first.name, self.second.name
        client = self.client or None
        server = None if client is None else (b if client == a else a)
        syn = self.first.syn or self.second.syn
        items.append(ConnectionStart(self.id, client, server, a, b, self.first_ts_ns, syn))

    def damage(self, direction: Direction, kind: str, text: str, ts_ns: int, items: list[Item]) -> None:
        """Report a contradiction in one direction."""
        self.start(items)
        self.clock = max(self.clock, ts_ns)
        items.append(StreamDamage(self.id, direction.name, kind, text, self.clock))

    def drain(self, items: list[Item], force: bool = False) -> None:
        """Output everything that is ready on either side and may come out by now.

        An entry may come out when the other direction has reached the point that the entry's sender had seen. Two
        entries that wait for each other (a retransmission carries a newer acknowledgement than the original) come out
        in the order of the capture. With `force` everything comes out.
        """
        first, second = self.first, self.second
        while True:
            x = first.ready[0] if first.ready else None
            y = second.ready[0] if second.ready else None
            may_x = x is not None and (x.need <= second.out or second.fin_out)
            may_y = y is not None and (y.need <= first.out or first.fin_out)
            if not may_x and not may_y:
                circular = x is not None and y is not None and x.need <= second.pos and y.need <= first.pos
                if not circular and not force:
                    return
                may_x, may_y = x is not None, y is not None
            if x is not None and may_x and (y is None or not may_y or x.order <= y.order):
                self._put(first, x, items)
            elif y is not None:
                self._put(second, y, items)
            else:
                return

    def give_up(self, direction: Direction, reason: str) -> bool:
        """Declare the hole at the position of `direction` a gap; return False if there is no hole."""
        other = self.second if direction is self.first else self.first
        known = direction.next_known()
        acked = direction.acked
        if known < 0 and acked <= direction.pos:
            return False
        if (
            known < 0
            and direction.fin < 0
            and acked == direction.pos + 1
            and (other.fin >= 0 or self.reset_by is not None)
        ):
            # Only the FIN is missing: the peer acknowledged one octet more and ends the connection too.
            direction.fin = direction.pos
            direction.collect(self.clock, 0, self.order)
            return True
        end = acked if known < 0 else known
        ts_ns = direction.mark_at if acked > direction.pos else self.clock
        # Without octets after it, it comes after everything captured until now.
        reason = "lost" if acked > direction.pos else reason
        direction.declare(end, ts_ns, self.order + 1, reason)
        return True

    def expire(self, now: int, grace_ns: int, patience_ns: int, items: list[Item]) -> None:
        """Give up the holes that are due, and end the connection some time after its RST."""
        for direction in (self.first, self.second):
            if direction.acked > direction.pos and now - direction.mark_at >= grace_ns:
                mark = direction.mark
                while direction.pos < mark and self.give_up(direction, "lost"):
                    pass
            elif direction.hole >= 0 and now - direction.hole_at >= patience_ns:
                self.give_up(direction, "timeout")
        self.drain(items)
        if self.reset_by is not None and now - self.reset_at >= grace_ns:
            if self.is_reset:
                self.end("rst", items)
            else:
                # It was none of this connection.
                self.reset_by = None
                self.reset_followed = False

    def relieve(self, limit: int, items: list[Item]) -> None:
        """Give up holes until the waiting octets are within `limit`."""
        first, second = self.first, self.second
        while first.held + second.held > limit:
            # Take the hole that something ready waits for, else the one with more octets beyond it.
            if first.ready and first.ready[0].need > second.pos:
                direction = second
            elif second.ready and second.ready[0].need > first.pos:
                direction = first
            else:
                direction = max(first, second, key=_beyond)
            force = not self.give_up(direction, "buffer-full")
            self.drain(items, force)

    def settle(self, now: int, grace_ns: int, patience_ns: int) -> None:
        """Determine whether something is missing, since when, and when to give it up."""
        due_ns = NEVER if self.reset_by is None else self.reset_at + grace_ns
        calm = self.started and self.reset_by is None
        for direction in (self.first, self.second):
            pos = direction.pos
            if direction.acked > pos:
                if direction.mark <= pos:
                    direction.mark = direction.acked
                    direction.mark_at = now
                due_ns = min(due_ns, direction.mark_at + grace_ns)
            else:
                direction.mark = 0
            if direction.next_known() >= 0:
                if direction.hole != pos:
                    direction.hole = pos
                    direction.hole_at = now
                due_ns = min(due_ns, direction.hole_at + patience_ns)
            else:
                direction.hole = -1
            calm = calm and direction.base >= 0 and direction.fin < 0 and not direction.ready
        self.due_ns = due_ns
        self.calm = calm and due_ns == NEVER

    def end(self, how: str, items: list[Item]) -> None:
        """Output everything that waits, with its holes, and end.

        A connection without output ends silently.
        """
        if self.ended:
            return
        for direction in (self.first, self.second):
            while self.give_up(direction, "end-of-capture"):
                pass
        self.drain(items, force=True)
        self.first.release()
        self.second.release()
        self.ended = True
        self.calm = False
        self.due_ns = NEVER
        if not self.started:
            return
        reset = self.reset_by if self.is_reset else None
        whole = self.first.syn and self.second.syn and not self.gaps
        at = self.clock
        if not (self.first.fin_out and self.second.fin_out):
            whole = whole and reset is not None and self.reset_offset <= reset.pos
            if reset is not None:
                at = max(at, self.reset_at)
        by: str | None = None
        by_ns = heard_ns = None
        if self.ended_by and (reset is None or self.is_behind_fin(reset)):
            how, by, by_ns, heard_ns = "fin", self.ended_by, self.ended_at, self.ended_heard
        elif reset is not None:
            how = "refused" if self.refused else "rst"
            by, by_ns, heard_ns = reset.name, self.reset_at, self.reset_heard
        elif self.is_unanswered:
            how = "unanswered"
        self.how = how
        items.append(ConnectionEnd(self.id, at, by, how, whole, by_ns, heard_ns))

    def _put(self, direction: Direction, entry: Ready, items: list[Item]) -> None:
        direction.ready.popleft()
        direction.out = entry.offset + entry.size
        if entry.ts_ns > self.clock:
            self.clock = entry.ts_ns
        if entry.data is not None:
            direction.held -= entry.size
            self.heard[direction.name] = self.clock
            self.start(items)
            items.append(StreamData(self.id, direction.name, entry.data, self.clock, entry.offset))
        elif entry.reason == "fin":
            direction.fin_out = True
            if not self.ended_by:
                self.ended_by = direction.name
                self.ended_at = entry.ts_ns
                self.ended_heard = self.heard.get(self.other(direction).name)
        else:
            self.gaps += 1
            self.start(items)
            items.append(StreamGap(self.id, direction.name, entry.size, self.clock, entry.offset, entry.reason))
        direction.held -= OVERHEAD


def _beyond(direction: Direction) -> int:
    return direction.held if direction.next_known() >= 0 else 0
