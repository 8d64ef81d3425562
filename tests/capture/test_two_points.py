"""Captures of several points: the same packet twice, a file for each direction, and clocks that differ."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from zlib import crc32

import pytest

from amqp_sansio.capture import ConnectionEnd, ConnectionStart, Item, Segment, StreamData, reassemble, sort_key
from amqp_sansio.capture.records import ACK, FIN, RST, SYN
from amqp_sansio.recorded.tables import COLUMNS, FlowReplay, replay_segments
from tests.kit.captures import CARRIED, sampled
from tests.kit.two_points import SECOND, SKEWS, apart, connection, moved, segment, segments_of

ORDER = ("seq", "settled_seq", "ended_by", "most_held")
"""Columns that say which of two things was first that don't depend on each other.

A message may be sent before the one that is settled meanwhile, or behind it: `most_held` counts one more or not.
"""


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


def skews_of(path: Path) -> Sequence[int]:
    """All for a capture that the repository carries; the big set, of ten times their octets, takes them in turn."""
    return SKEWS if path.parent == CARRIED else (SKEWS[crc32(path.name.encode()) % len(SKEWS)],)


@pytest.mark.parametrize("path", sampled())
def test_packets_captured_at_two_points_count_once(path: Path) -> None:
    segments = segments_of(path)
    wanted = rows(segments)
    for skew in skews_of(path):
        assert rows([*segments, *(moved(each, skew, "b") for each in segments)]) == wanted, skew


@pytest.mark.parametrize("path", sampled())
def test_a_file_for_each_direction(path: Path) -> None:
    segments = segments_of(path)
    wanted = rows(segments, 0, ORDER)
    if any('"capture/' in row for row in wanted):
        pytest.skip("where octets are missing, the order of the two directions is a matter of time")
    for skew in {way * skew for skew in skews_of(path) for way in (1, -1)}:
        assert rows(apart(segments, skew), abs(skew), ORDER) == wanted, skew


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


@pytest.mark.parametrize("skew", [0, 5, SECOND // 2])
@pytest.mark.parametrize(("acks", "how", "by"), [(5_011, "fin", "10.0.0.1:40000"), (5_010, "rst", "10.0.0.2:5672")])
def test_a_rst_that_acknowledges_a_fin_comes_behind_it_whatever_the_clocks_say(
    skew: int, acks: int, how: str, by: str
) -> None:
    """The client hangs up, and the server, whose capture has a slow clock, answers with a RST, or sent it before."""
    hangs_up, resets = (19, 20) if how == "fin" else (20, 19)
    segments = [
        segment(0, "c", 5_000 - 1, 0, SYN),
        segment(1 - skew, "s", 7_000 - 1, 5_000, SYN | ACK, file="b"),
        segment(2, "c", 5_000, 7_000, ACK, b"0123456789"),
        segment(hangs_up, "c", 5_010, 7_000, FIN | ACK),
        segment(resets - skew, "s", 7_000, acks, RST | ACK, file="b"),
    ]
    (end,) = [each for each in reassemble(sorted(segments, key=sort_key)) if isinstance(each, ConnectionEnd)]
    assert (end.how, end.by, end.complete) == (how, by, True)


def test_a_negative_skew_is_refused() -> None:
    with pytest.raises(ValueError, match="skew_ns is at least 0, not -1"):
        FlowReplay("x", skew_ns=-1)
