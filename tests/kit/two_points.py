"""Segments as two points capture them, by clocks that differ."""

from pathlib import Path
from typing import Any

from amqp_sansio.capture import Segment, read_segments, sort_key
from amqp_sansio.capture.records import ACK, PSH, RST, SYN

MS = 1_000_000
SECOND = 1000 * MS
SKEWS = (0, MS, 700 * MS, 3 * SECOND, 7 * 3600 * SECOND)


def segments_of(path: Path) -> list[Segment]:
    return [each for each in read_segments(path.read_bytes(), file="a") if isinstance(each, Segment)]


def moved(segment: Segment, ns: int, file: str) -> Segment:
    """The segment as a clock that is ahead by `ns` stamps it, in another file."""
    values: dict[str, Any] = {name: getattr(segment, name) for name in Segment.__match_args__}
    values.update(ts_ns=segment.ts_ns + ns, file=file)
    return Segment(**values)


def apart(segments: list[Segment], skew: int) -> list[Segment]:
    """A capture for each direction; the clock of "b" is ahead by `skew`."""
    first: dict[str, tuple[str, int]] = {}
    for each in segments:
        first.setdefault(each.flow, (each.src, each.sport))
    return sorted(
        [
            moved(each, 0, "a") if first[each.flow] == (each.src, each.sport) else moved(each, skew, "b")
            for each in segments
        ],
        key=sort_key,
    )


def segment(at: int, sender: str, seq: int, ack: int, flags: int, data: bytes = b"", file: str = "a") -> Segment:
    """One packet between 10.0.0.1:40000 (c) and 10.0.0.2:5672 (s)."""
    ends = [("10.0.0.1", 40000), ("10.0.0.2", 5672)]
    (src, sport), (dst, dport) = ends if sender == "c" else reversed(ends)
    return Segment(at, file, at, src, sport, dst, dport, seq, ack, flags, len(data), data)


def connection(at: int, client: int, server: int, ends: int) -> list[Segment]:
    """A whole connection in which the client sends a kilobyte, from these numbers on, and both end with those flags."""
    return [
        segment(at, "c", client, 0, SYN),
        segment(at + 1, "s", server, client + 1, SYN | ACK),
        *[segment(at + 2 + n, "c", client + 1 + n * 100, server + 1, ACK | PSH, b"%100d" % n) for n in range(10)],
        segment(at + 20, "s", server + 1, client + 1001, ends | ACK, b"" if ends == RST else b"bye"),
        *([] if ends == RST else [segment(at + 21, "c", client + 1001, server + 5, ends | ACK)]),
    ]
