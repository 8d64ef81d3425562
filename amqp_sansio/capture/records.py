"""The records of the capture layer: TCP segments, damage, and the results of reassembly."""

from __future__ import annotations

from typing import Final, NamedTuple

from .._ground.record import record
from ..errors import AmqpError

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
PSH: Final = 0x08
ACK: Final = 0x10
ZERO_WINDOW: Final = 0x1000
"""Beside the flag bits: the sender takes no more octets. A RST has no window."""


class NotACapture(AmqpError):
    """The octets begin neither as pcap nor as pcapng, plain or compressed by gzip."""


class Packet(NamedTuple):
    """The position of a packet, for segments and damage."""

    ts_ns: int
    number: int
    """Its index in the file, from 0."""
    offset: int
    """The offset of its record, in the uncompressed octets of the file."""


@record
class Segment:
    """One TCP segment of a capture.

    `ts_ns` is in nanoseconds since 1970, `packet` the index of its packet in the file, from 0. `seq` and `ack` are the
    numbers in the TCP header, `flags` its eight flag bits and `ZERO_WINDOW`. `wire_len` is the length of the payload on
    the wire in octets, `payload` its captured part: shorter if the capture has a snap length. `point` distinguishes
    networks that may use the same addresses; it is "vlan10" or "vlan100.10" on a VLAN and empty elsewhere.
    """

    ts_ns: int
    file: str
    packet: int
    src: str
    sport: int
    dst: str
    dport: int
    seq: int
    ack: int
    flags: int
    wire_len: int
    payload: bytes
    point: str = ""

    @property
    def flow(self) -> str:
        """The 4-tuple's name, for both directions: `10.0.0.1:5672-10.0.0.2:40000`."""
        return flow_key(self.src, self.sport, self.dst, self.dport, self.point)


@record
class CaptureDamage:
    """An unreadable part of a capture.

    `packet` is the index that the next (or the damaged) packet has in the file, `offset` the position of the damage in
    the uncompressed octets, `ts_ns` the time of the damaged packet, or of the last one before it (0: none yet).

    The kinds: `truncated-file` (it ends inside of a record), `bad-block` (a record's framing or content is wrong),
    `bad-gzip` (`bad-zstd`, `bad-lz4`), `unknown-link-type` (reported once for an interface), `not-read` (packets that
    may carry TCP, counted at the end of the file, with what they are), `truncated-packet` (the snap length cut the
    headers), `bad-packet` (the IP or TCP header contradicts itself), `incomplete-fragments` (an IP datagram that
    carries TCP lacks fragments). Of equal ones in succession the second says in its text how many it stands for.
    """

    file: str
    packet: int
    ts_ns: int
    offset: int
    kind: str
    text: str


@record
class ConnectionStart:
    """A TCP connection begins, or its first captured octet is here.

    `connection` is its stable id. `client` and `server` are endpoints ("ip:port", "[v6]:port") if a SYN was captured,
    else None. `a` and `b` are both endpoints in the order of the flow's name.
    """

    connection: str
    client: str | None
    server: str | None
    a: str
    b: str
    ts_ns: int
    syn_seen: bool


@record
class StreamData:
    """Octets of one direction, in order; `offset` counts from its first known octet."""

    connection: str
    sender: str
    data: bytes
    ts_ns: int
    offset: int


@record
class StreamGap:
    """`octets` octets of one direction, from `offset` on, are not in the capture.

    The reasons: `lost` (the peer acknowledged them), `snaplen` (the capture cut the packet),
    `buffer-full`, `timeout` (no retransmission in five minutes), `end-of-capture` (later octets are
    there, but no acknowledgement).
    """

    connection: str
    sender: str
    octets: int
    ts_ns: int
    offset: int
    reason: str


@record
class StreamDamage:
    """A contradiction in the capture of one direction; the stream isn't changed by it.

    The kinds: `conflicting-overlap` (a retransmission with other octets; the first ones count), `late-segment` (octets
    that arrived after they were declared missing, or octets from before the first known one), `after-fin` (octets after
    the end of the stream), `stray-reset` (a RST far outside of the stream, ignored).
    """

    connection: str
    sender: str
    kind: str
    text: str
    ts_ns: int


@record
class ConnectionEnd:
    """The last item of a connection.

    `how` is `fin` or `rst`, whichever came first; without them `reuse` (a new connection took over the 4-tuple),
    `refused` (a RST answered the SYN), `unanswered` (the SYN was repeated, and nothing answered it) or
    `end-of-capture`. `by` is the endpoint that sent the first FIN or RST, or None. `by_ns` is when it did, `heard_ns`
    when the other one's last octets before that came (None: none did). `complete` says that every octet from the SYN to
    the end was captured.
    """

    connection: str
    ts_ns: int
    by: str | None
    how: str
    complete: bool
    by_ns: int | None = None
    heard_ns: int | None = None


Item = ConnectionStart | StreamData | StreamGap | StreamDamage | ConnectionEnd
"""Everything that a `Reassembler` returns."""


def sort_key(segment: Segment) -> tuple[str, int, str, int]:
    """The order in which segments of any number of files go into reassembly."""
    return segment.flow, segment.ts_ns, segment.file, segment.packet


def flow_key(src: str, sport: int, dst: str, dport: int, point: str = "") -> str:
    """Return the name of a 4-tuple, the same for both directions."""
    if (src, sport) <= (dst, dport):
        key = f"{endpoint(src, sport)}-{endpoint(dst, dport)}"
    else:
        key = f"{endpoint(dst, dport)}-{endpoint(src, sport)}"
    return f"{key}/{point}" if point else key


def endpoint(address: str, port: int) -> str:
    """Return an endpoint's name: `10.0.0.1:5672`, or `[::1]:5672` (RFC 3986 section 3.2.2)."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


__all__ = [
    "ACK",
    "FIN",
    "PSH",
    "RST",
    "SYN",
    "ZERO_WINDOW",
    "CaptureDamage",
    "ConnectionEnd",
    "ConnectionStart",
    "Item",
    "NotACapture",
    "Segment",
    "StreamDamage",
    "StreamData",
    "StreamGap",
    "endpoint",
    "flow_key",
    "sort_key",
]
