"""Makes the segments of a TCP connection, for tests of reassembly."""

from collections.abc import Iterable
from typing import Any

from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Item,
    Reassembler,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
)

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
CLIENT = "10.0.0.9:40000"
SERVER = "10.0.0.1:5672"
MASK = 0xFFFFFFFF
MS = 1_000_000


class Wire:
    """Two ends that number what they send; every call returns a segment and lets a millisecond pass."""

    def __init__(self, client_isn: int = 1000, server_isn: int = 2000, at_ns: int = 0) -> None:
        self.isn = {CLIENT: client_isn, SERVER: server_isn}
        self.sent = {CLIENT: 0, SERVER: 0}
        self.at_ns = at_ns
        self.packet = 0

    def segment(
        self,
        sender: str,
        payload: bytes = b"",
        *,
        offset: int | None = None,
        acked: int | None = None,
        flags: int = ACK,
        seq: int | None = None,
        wire_len: int | None = None,
        at_ns: int | None = None,
    ) -> Segment:
        """A segment with `payload` at `offset` of its stream that has seen `acked` octets of the other."""
        other = SERVER if sender == CLIENT else CLIENT
        here = self.sent[sender] if offset is None else offset
        size = len(payload) if wire_len is None else wire_len
        self.sent[sender] = max(self.sent[sender], here + size)
        seen = self.sent[other] if acked is None else acked
        self.at_ns = self.at_ns + MS if at_ns is None else at_ns
        self.packet += 1
        src, sport = sender.split(":")
        dst, dport = other.split(":")
        return Segment(
            self.at_ns,
            "f",
            self.packet - 1,
            src,
            int(sport),
            dst,
            int(dport),
            (self.isn[sender] + 1 + here) & MASK if seq is None else seq & MASK,
            (self.isn[other] + 1 + seen) & MASK if flags & ACK else 0,
            flags,
            size,
            payload,
        )

    def handshake(self) -> list[Segment]:
        """SYN, SYN and ACK, ACK."""
        return [
            self.segment(CLIENT, seq=self.isn[CLIENT], flags=SYN),
            self.segment(SERVER, seq=self.isn[SERVER], flags=SYN | ACK),
            self.segment(CLIENT),
        ]

    def finish(self, first: str = CLIENT) -> list[Segment]:
        """FIN, FIN, ACK."""
        second = SERVER if first == CLIENT else CLIENT
        return [
            self.segment(first, flags=FIN | ACK),
            self.segment(second, acked=self.sent[first] + 1, flags=FIN | ACK),
            self.segment(first, offset=self.sent[first] + 1, acked=self.sent[second] + 1),
        ]


def changed(segment: Segment, **values: Any) -> Segment:
    """The segment with other values in some fields."""
    fields: dict[str, Any] = {name: getattr(segment, name) for name in Segment.__match_args__}
    return Segment(**(fields | values))


def run(segments: Iterable[Segment], reassembler: Reassembler | None = None) -> list[Item]:
    """All items of the segments of one flow, to the end."""
    reassembler = reassembler or Reassembler()
    items: list[Item] = []
    for segment in segments:
        items += reassembler.push(segment)
    return items + reassembler.finish()


def brief(items: Iterable[Item]) -> list[tuple[object, ...]]:
    """The items in short: ("c" or "s", octets), ("gap", side, octets, reason), ("damage", side, kind), ..."""
    result: list[tuple[object, ...]] = []
    for item in items:
        if isinstance(item, ConnectionStart):
            result.append(("start", item.client, item.server))
        elif isinstance(item, ConnectionEnd):
            result.append(("end", item.how, side(item.by), item.complete))
        elif isinstance(item, StreamData):
            result.append((side(item.sender), item.data))
        elif isinstance(item, StreamGap):
            result.append(("gap", side(item.sender), item.octets, item.reason))
        else:
            result.append(("damage", side(item.sender), item.kind))
    return result


def content(items: Iterable[Item]) -> list[tuple[object, ...]]:
    """As `brief`, without the beginning and the end."""
    return [entry for entry in brief(items) if entry[0] not in ("start", "end")]


def octets(items: Iterable[Item], sender: str) -> bytes:
    """What came out of one direction."""
    return b"".join(item.data for item in items if isinstance(item, StreamData) and item.sender == sender)


def damages(items: Iterable[Item]) -> list[StreamDamage]:
    """The damages among the items."""
    return [item for item in items if isinstance(item, StreamDamage)]


def side(sender: str | None) -> str | None:
    """ "c" for the client, "s" for the server."""
    return None if sender is None else ("c" if sender == CLIENT else "s")
