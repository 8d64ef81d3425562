"""Segments come out by flow and time, however many of them memory holds."""

import tracemalloc
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture import Segment
from amqp_sansio_arrow import sorting
from amqp_sansio_arrow.sorting import SortedSegments

Flows = list[tuple[str, list[Segment]]]


def segment(ts_ns: int, port: int, packet: int, file: str = "a.pcap", payload: bytes = b"") -> Segment:
    return Segment(ts_ns, file, packet, "10.0.0.1", port, "10.0.0.2", 5672, 1, 2, 16, len(payload), payload, "vlan7")


def by_flow(segments: list[Segment]) -> Flows:
    """The flows, by the plain definition of their order."""
    flows: dict[str, list[Segment]] = {}
    for each in segments:
        flows.setdefault(each.flow, []).append(each)
    return [
        (flow, sorted(flows[flow], key=lambda each: (each.ts_ns, each.file, each.packet))) for flow in sorted(flows)
    ]


def taken(of: SortedSegments) -> Flows:
    return [(flow, list(segments)) for flow, segments in of.flows()]


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(1, 4), st.sampled_from("ab"), st.binary(max_size=9))),
    st.sampled_from([1, 2000, 1 << 30]),
)
def test_any_segments_in_any_memory(rows: list[tuple[int, int, str, bytes]], memory: int) -> None:
    segments = [segment(ts_ns, port, at, file, payload) for at, (ts_ns, port, file, payload) in enumerate(rows)]
    with SortedSegments(memory) as found:
        for each in segments:
            found.add(each)
        assert taken(found) == by_flow(segments)
        assert taken(found) == by_flow(segments), "a second time"


def test_runs_are_merged_when_they_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "_RUNS", 4)
    random = Random(5)
    segments = [segment(random.randrange(100), random.randrange(1, 6), at) for at in range(300)]
    runs: list[int] = []
    with SortedSegments(5 * 600) as found:
        for each in segments:
            found.add(each)
            runs.append(len(found._runs))  # pyright: ignore[reportPrivateUsage]
        assert taken(found) == by_flow(segments)
    assert max(runs) == 3


def test_blocks_end_at_their_octets_too() -> None:
    segments = [segment(at, 1, at, payload=bytes(100_000)) for at in range(8)]
    with SortedSegments(300_000) as found:
        for each in segments:
            found.add(each)
        assert taken(found) == by_flow(segments)


def test_few_segments_are_in_memory_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is added is written at the limit, and a merge holds a block of each run, not the runs."""
    monkeypatch.setattr(sorting, "_BLOCK_OCTETS", 4_000)
    payload = bytes(2_000)
    with SortedSegments(200_000) as found:
        tracemalloc.start()
        for at in range(2_000):
            # Each has octets of its own, as those of a file do.
            found.add(segment(at % 97, 1 + at % 3, at, payload=payload + at.to_bytes(4, "big")))
        for _, segments in found.flows():
            for _ in segments:
                pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    # 26 runs, and of each two blocks of 4,000 octets.
    assert most < 1_000_000, f"{most:,} octets for 4,000,000"


def test_memory_is_at_least_an_octet() -> None:
    with pytest.raises(ValueError, match="memory is at least 1 octet, not 0"):
        SortedSegments(0)


def test_a_store_that_nobody_closes_closes_its_file() -> None:
    found = SortedSegments(1)
    found.add(segment(1, 1, 1))
    file = found._file  # pyright: ignore[reportPrivateUsage]
    assert file is not None and not file.closed
    del found
    assert file.closed
