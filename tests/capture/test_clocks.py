"""Clocks of captures: what segments say of how far they are apart."""

import pickle
import random
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.capture import ClockDifference, Clocks, Segment, clock_differences, sort_key
from amqp_sansio.capture.records import ACK, PSH, SYN
from tests.kit.captures import sampled
from tests.kit.two_points import MS, SECOND, SKEWS, apart, connection, moved, segment, segments_of


def on_point(segment: Segment, point: str) -> Segment:
    """The segment, of another network with the same addresses."""
    values: dict[str, Any] = {name: getattr(segment, name) for name in Segment.__match_args__}
    values["point"] = point
    return Segment(**values)


@pytest.mark.parametrize("path", sampled())
def test_what_is_found_is_true_of_every_capture(path: Path) -> None:
    segments = segments_of(path)
    for skew in (*SKEWS, *(-skew for skew in SKEWS)):
        flows = sorted({each.flow for each in segments})
        doubled = sorted([*segments, *(moved(each, skew, "b") for each in segments)], key=sort_key)
        for halves in (apart(segments, skew), doubled):
            found = clock_differences([each for flow in flows for each in halves if each.flow == flow])
            assert len(found) <= 1
            for each in found:
                assert (each.file, each.other) == ("a", "b")
                assert each.at_least_ns is None or each.at_least_ns <= skew
                assert each.at_most_ns is None or skew <= each.at_most_ns
                assert each.skew_ns >= abs(skew) or not each.skew_ns
                assert each.proofs


@pytest.mark.parametrize("skew", [0, -3 * SECOND, 3 * SECOND, 7 * 3600 * SECOND])
def test_it_is_as_close_as_the_answers_were_quick(skew: int) -> None:
    segments = [one for each in range(5) for one in connection(each * SECOND, each * 9_000_000, each * 7_000_000, ACK)]
    [found] = clock_differences(apart(segments, skew))
    assert found.at_least_ns is not None and found.at_most_ns is not None
    assert skew - 20 <= found.at_least_ns <= skew <= found.at_most_ns <= skew + 20
    assert abs(skew) <= found.skew_ns <= (abs(skew) + 20 if skew else 0)


def test_one_clock_has_no_difference() -> None:
    assert clock_differences(connection(0, 5, 7, ACK)) == []


def test_what_is_sent_again_proves_nothing() -> None:
    """A capture that begins late has octets only when they are sent again, an hour after they were acknowledged."""
    hour = 3600 * SECOND
    early = [segment(0, "s", 500, 900, ACK, file="b"), segment(MS, "s", 500, 1000, ACK, file="b")]
    late = [
        segment(hour, "c", 999, 500, ACK, b"x", file="a"),
        segment(hour + SECOND, "c", 999, 500, ACK, b"x", file="a"),
        segment(hour + 2 * SECOND, "c", 1000, 500, ACK | PSH, b"new", file="a"),
    ]
    again = [segment(hour + 3 * SECOND, "s", 500, 1003, ACK, file="b")]
    assert clock_differences([*early, *late, *again]) == [ClockDifference("a", "b", None, SECOND, 1)]


def test_a_beginning_that_is_sent_again_proves_nothing() -> None:
    """The answer to the first SYN crossed the second one."""
    begin = [
        segment(0, "c", 500, 0, SYN, file="a"),
        segment(SECOND, "c", 500, 0, SYN, file="a"),
        segment(SECOND - MS, "s", 900, 501, SYN | ACK, file="b"),
        segment(SECOND + MS, "c", 501, 901, ACK, file="a"),
    ]
    assert clock_differences(begin) == [ClockDifference("a", "b", -2 * MS, SECOND - MS, 2)]


def test_numbers_that_begin_anew() -> None:
    near_the_end = 0xFFFF_FFF0
    [found] = clock_differences(apart(connection(0, near_the_end, near_the_end + 3, ACK), -5 * SECOND))
    assert found.at_most_ns is not None and found.at_least_ns is not None
    assert -5 * SECOND - 20 <= found.at_least_ns <= -5 * SECOND <= found.at_most_ns < -4 * SECOND


def test_in_any_order_and_in_parts() -> None:
    flows = [[on_point(each, f"vlan{n}") for each in apart(connection(n, 9 * n, 7, ACK), SECOND)] for n in range(6)]
    wanted = clock_differences([each for flow in flows for each in flow])
    shuffled = random.Random(5)
    for _ in range(10):
        shuffled.shuffle(flows)
        parts = Clocks(), Clocks()
        for flow in flows:
            part = shuffled.choice(parts)
            for each in flow:
                part.segment(each)
        whole = pickle.loads(pickle.dumps(parts[0]))
        whole.merge(parts[1])
        assert whole.differences() == wanted


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    from amqp_sansio.capture import clocks as module

    monkeypatch.setattr(module, "HELD", 8)
    monkeypatch.setattr(module, "PAIRS", 3)
    [found] = clock_differences(apart(connection(0, 5, 7, ACK), 3 * SECOND))
    assert found.at_most_ns is not None and 3 * SECOND <= found.at_most_ns < 3 * SECOND + 10
    clocks = Clocks()
    names = [f"{number:02}" for number in range(10)]
    random.Random(1).shuffle(names)
    for name in names:
        clocks.segment(segment(0, "c", 5, 0, SYN, file="z"))
        clocks.segment(segment(SECOND, "s", 5, 6, SYN | ACK, file=name))
        clocks.finish()
    assert [each.file for each in clocks.differences()] == ["00", "01", "02"]
