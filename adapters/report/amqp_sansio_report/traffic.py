"""Traffic: the beginning and the latest octets of each connection of a recording that goes on, in bounded memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Final

from amqp_sansio.capture import CaptureReader, ConnectionStart, Reassembler, Segment, sort_key
from amqp_sansio.capture.records import ACK, FIN, RST, SYN, endpoint

from .records import Bounds
from .scales import octets
from .sequence import Diagram, Signal, diagrams

_OVERHEAD: Final = 512
"""Approximate octets of a segment besides its payload."""
_FAR: Final = 1 << 30
"""A gap of more octets would be taken for another connection: sequence numbers have 32 bits (RFC 9293 section 3.4)."""
_MASK: Final = 0xFFFF_FFFF


@dataclass(frozen=True)
class TrafficBounds:
    """Bounds of `Traffic`.

    | field | maximum of |
    |---|---|
    | `connections` | connections kept: the one that ended first goes first, then the one that was silent for longest |
    | `head`, `tail` | octets kept of the beginning and of the end of a connection, 512 for a segment included |
    """

    connections: int = 64
    head: int = 32_768
    tail: int = 98_304


@dataclass
class Kept:
    """The part of a connection that is kept.

    `id` is the one that tables and reports have, `number` counts connections. `octets` counts all that each side sent,
    by its address; `dropped` those that aren't kept. `changes` counts the segments.
    """

    id: str
    number: int
    client: str
    server: str
    changes: int = 0
    is_over: bool = False
    octets: dict[str, int] = field(default_factory=dict[str, int])
    dropped: dict[str, int] = field(default_factory=dict[str, int])
    head: list[Segment] = field(default_factory=list[Segment])
    tail: deque[Segment] = field(default_factory=deque[Segment])
    head_size: int = 0
    tail_size: int = 0

    @property
    def missing(self) -> int:
        """Octets of both sides that aren't kept."""
        return sum(self.dropped.values())

    def add(self, segment: Segment, bounds: TrafficBounds) -> None:
        """Keep a segment; the oldest ones behind the beginning go when there are too many."""
        size = len(segment.payload) + _OVERHEAD
        sender = endpoint(segment.src, segment.sport)
        self.changes += 1
        self.octets[sender] = self.octets.get(sender, 0) + segment.wire_len
        if not self.tail and self.head_size + size <= bounds.head:
            self.head.append(segment)
            self.head_size += size
            return
        self.tail.append(segment)
        self.tail_size += size
        while self.tail_size > bounds.tail and len(self.tail) > 1:
            old = self.tail.popleft()
            self.tail_size -= len(old.payload) + _OVERHEAD
            sender = endpoint(old.src, old.sport)
            self.dropped[sender] = self.dropped.get(sender, 0) + old.wire_len

    def copy(self, *, whole: bool) -> Kept:
        """Return a copy that doesn't change, with or without the segments."""
        copied = replace(self, octets=dict(self.octets), dropped=dict(self.dropped), head=[], tail=deque())
        if whole:
            copied.head, copied.tail = list(self.head), deque(self.tail)
        return copied

    def diagram(self, units: int) -> Diagram | None:
        """Return the sequence diagram, of at most so many units; None if nothing was sent."""
        found = diagrams(sorted(self.segments(), key=sort_key), [self.id], Bounds(frames=units))
        if not found:
            return None
        if self.missing:
            gap = Signal(self.tail[0].ts_ns, self.client, f"{octets(self.missing)} of both sides aren't kept")
            found[0].tcp = sorted([*found[0].tcp, gap], key=lambda each: each.ts_ns)
        return found[0]

    def segments(self) -> Iterator[Segment]:
        """Yield what is kept. A gap is at most `_FAR` octets wide: what follows a wider one is moved to the front."""
        yield from self.head
        moved = {sender: size - size % _FAR for sender, size in self.dropped.items() if size >= _FAR}
        for each in self.tail:
            if moved:
                seq = each.seq - moved.get(endpoint(each.src, each.sport), 0)
                ack = each.ack - moved.get(endpoint(each.dst, each.dport), 0)
                each = moved_to(each, seq & _MASK, ack & _MASK)
            yield each


@dataclass(frozen=True)
class TrafficView:
    """The connections kept at a time, in the order of their beginnings and without segments; one of them with all that
    is kept of it; and the number of those that aren't kept any more."""

    connections: tuple[Kept, ...] = ()
    chosen: Kept | None = None
    forgotten: int = 0


def moved_to(segment: Segment, seq: int, ack: int) -> Segment:
    """Return a segment with other numbers."""
    return Segment(
        segment.ts_ns,
        segment.file,
        segment.packet,
        segment.src,
        segment.sport,
        segment.dst,
        segment.dport,
        seq,
        ack,
        segment.flags,
        segment.wire_len,
        segment.payload,
        segment.point,
    )


class Traffic:
    """The connections of a recording that goes on, within bounds.

    >>> from amqp_sansio.capture import PcapngWriter
    >>> writer, traffic = PcapngWriter(), Traffic()
    >>> traffic.feed(writer.header())
    >>> number, octets = writer.open("127.0.0.1:40000", "127.0.0.1:5672", 1_700_000_000_000_000_000)
    >>> traffic.feed(octets + writer.data(number, "client", b"AMQP\\x00\\x00\\x09\\x01", 1_700_000_000_000_000_001))
    >>> chosen = traffic.view().chosen
    >>> (chosen.client, chosen.octets[chosen.client], [unit.event for unit in chosen.diagram(10).units])
    ('127.0.0.1:40000', 8, ['protocol-header'])
    """

    def __init__(self, bounds: TrafficBounds | None = None) -> None:
        self.bounds: Final = bounds or TrafficBounds()
        self.forgotten = 0
        """The number of connections that aren't kept any more."""
        self._number = 0
        """The last id that was given to a connection."""
        self._reader = CaptureReader()
        """Takes the recording apart, wherever it is cut."""
        self._kept: dict[str, Kept] = {}
        """By id, the one with the latest segment last."""
        self._flows: dict[str, Kept] = {}
        """The latest connection of each flow."""

    def view(self, chosen: str = "") -> TrafficView:
        """Return what there is now, with all of the connection `chosen`; if that isn't kept, of the latest one."""
        kept = self._kept.get(chosen) or next(reversed(self._kept.values()), None)
        connections = sorted([each.copy(whole=False) for each in self._kept.values()], key=lambda each: each.number)
        return TrafficView(tuple(connections), None if kept is None else kept.copy(whole=True), self.forgotten)

    def feed(self, recorded: bytes) -> None:
        """Take the next octets of the recording, in pcapng."""
        for each in self._reader.feed(recorded):
            if isinstance(each, Segment):
                self.add(each)

    def add(self, segment: Segment) -> None:
        """Take the next segment. One of a connection that isn't kept, or whose beginning wasn't seen, is ignored."""
        flow = segment.flow
        kept = self._flows.get(flow)
        if segment.flags & SYN and not segment.flags & ACK:
            if kept is not None:
                kept.is_over = True
            kept = self._begin(segment)
        if kept is None:
            return
        kept.add(segment, self.bounds)
        kept.is_over = kept.is_over or bool(segment.flags & (FIN | RST))
        self._kept[kept.id] = self._kept.pop(kept.id)

    def _begin(self, segment: Segment) -> Kept | None:
        for item in Reassembler().push(segment):
            if isinstance(item, ConnectionStart):
                self._number += 1
                kept = Kept(item.connection, self._number, item.client or item.a, item.server or item.b)
                self._kept[kept.id] = self._flows[segment.flow] = kept
                while len(self._kept) > self.bounds.connections:
                    self._forget(next((each for each in self._kept.values() if each.is_over), None))
                return kept
        return None

    def _forget(self, kept: Kept | None) -> None:
        gone = next(iter(self._kept.values())) if kept is None else kept
        del self._kept[gone.id]
        self._flows = {flow: each for flow, each in self._flows.items() if each is not gone}
        self.forgotten += 1


__all__ = ["Kept", "Traffic", "TrafficBounds", "TrafficView", "moved_to"]
