"""Captures of several points: the same packet twice, a file for each direction, and clocks that differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.capture import (
    ConnectionEnd,
    ConnectionStart,
    Item,
    Segment,
    StreamData,
    read_segments,
    reassemble,
    sort_key,
)
from amqp_sansio.tables import COLUMNS, FlowReplay, replay_segments
from tests.support.captures import everywhere

MS = 1_000_000
SECOND = 1000 * MS
SKEWS = (0, MS, 700 * MS, 3 * SECOND, 7 * 3600 * SECOND)
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def moved(segment: Segment, ns: int, file: str) -> Segment:
    """The segment as a clock that is ahead by `ns` stamps it, in another file."""
    values: dict[str, Any] = {name: getattr(segment, name) for name in Segment.__match_args__}
    values.update(ts_ns=segment.ts_ns + ns, file=file)
    return Segment(**values)


def segments_of(path: Path) -> list[Segment]:
    """What a capture has."""
    return [each for each in read_segments(path.read_bytes(), file="a") if isinstance(each, Segment)]


ORDER = ("seq", "settled_seq", "ended_by")
"""Columns that say which of two things was first that don't depend on each other."""


def rows(segments: Iterable[Segment], skew_ns: int = 0, without: Sequence[str] = ()) -> list[str]:
    """All rows without times and without the ids that are made of them."""
    found: list[str] = []
    for table, row in replay_segments(segments, skew_ns=skew_ns):
        values = {
            name: value
            for (name, kind), value in zip(COLUMNS[table], row, strict=True)
            if name not in ("connection", *without) and kind != "timestamp" and not name.endswith("_ns")
        }
        found.append(f"{table} {json.dumps(values, sort_keys=True)}")
    return sorted(found)


@pytest.mark.parametrize("path", everywhere())
def test_packets_captured_at_two_points_count_once(path: Path) -> None:
    segments = segments_of(path)
    wanted = rows(segments)
    for skew in SKEWS:
        assert rows([*segments, *(moved(each, skew, "b") for each in segments)]) == wanted, skew


@pytest.mark.parametrize("path", everywhere())
def test_a_file_for_each_direction(path: Path) -> None:
    segments = segments_of(path)
    wanted = rows(segments, 0, ORDER)
    if any('"capture/' in row for row in wanted):
        pytest.skip("where octets are missing, the order of the two directions is a matter of time")
    first: dict[str, tuple[str, int]] = {}
    for each in segments:
        first.setdefault(each.flow, (each.src, each.sport))
    for skew in (*SKEWS, *(-skew for skew in SKEWS)):
        apart = [
            moved(each, skew, "a") if first[each.flow] == (each.src, each.sport) else moved(each, 0, "b")
            for each in segments
        ]
        assert rows(apart, abs(skew), ORDER) == wanted, skew


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


@pytest.mark.parametrize("near", [20_000, 15_000_000, 900_000_000, 3_000_000_000])
@pytest.mark.parametrize("ends", [RST, FIN])
@pytest.mark.parametrize("skew", [5, 30, 50, 3 * SECOND])
def test_what_a_slow_clock_repeats_of_the_connection_before(skew: int, ends: int, near: int) -> None:
    """The numbers of a 4-tuple that is used again begin not far behind those before (RFC 6528), or anywhere."""
    one, other = 5_000_000, 70_000_000
    segments = [
        *connection(0, one, other, ends),
        *connection(2 * SECOND, one + near, other + near, ends),
        segment(40 * SECOND, "c", 1, 0, SYN),
    ]
    both = sorted([*segments, *(moved(each, skew, "b") for each in segments)], key=sort_key)

    def brief(items: Iterable[Item]) -> list[object]:
        """What came out of both, without times."""
        found: list[object] = []
        for each in items:
            if isinstance(each, StreamData):
                found.append((each.sender, each.offset, each.data))
            elif isinstance(each, ConnectionEnd):
                found.append((each.how, each.by, each.complete))
            else:
                found.append(type(each))
        return found

    assert brief(reassemble(both)) == brief(reassemble(segments))


def test_a_refused_attempt_with_the_same_number_is_another_one() -> None:
    attempts = [
        segment(0, "c", 5_000, 0, SYN),
        segment(1, "s", 0, 5_001, RST | ACK),
        segment(2 * SECOND, "c", 5_000, 0, SYN),
        segment(2 * SECOND + 1, "s", 0, 5_001, RST | ACK),
    ]
    assert len([each for each in reassemble(attempts) if isinstance(each, ConnectionStart)]) == 2


def test_a_negative_skew_is_refused() -> None:
    with pytest.raises(ValueError, match="skew_ns is at least 0, not -1"):
        FlowReplay("x", skew_ns=-1)
