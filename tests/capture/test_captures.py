"""Every recorded capture reassembles to the streams that tshark saw, and damaged ones to their sources' streams."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from amqp_sansio.capture import (
    CaptureDamage,
    ConnectionEnd,
    ConnectionStart,
    Item,
    Segment,
    StreamDamage,
    StreamData,
    StreamGap,
    read_segments,
    reassemble,
    sort_key,
)
from tests.kit.captures import carried, named, oracle, sampled, truth

Stream = tuple[str, int, str]
"""Sender, length, SHA-256."""


def segments_of(path: Path) -> list[Segment]:
    result: list[Segment] = []
    for row in read_segments(path.read_bytes(), file=path.name):
        assert isinstance(row, Segment), row
        result.append(row)
    return result


def items_of(segments: Iterable[Segment]) -> list[Item]:
    return list(reassemble(sorted(segments, key=sort_key)))


def streams_of(items: Iterable[Item], marked: bool = False) -> dict[tuple[str, str], bytes]:
    """Octets by connection and sender; `marked`: with tshark's text in place of what is missing."""
    result: dict[tuple[str, str], bytearray] = defaultdict(bytearray)
    for item in items:
        if isinstance(item, StreamData):
            result[item.connection, item.sender] += item.data
        elif isinstance(item, StreamGap) and marked and item.reason == "lost":
            mark = f"[{item.octets} bytes missing in capture file]\0".encode()
            result[item.connection, item.sender] += mark
    return {key: bytes(octets) for key, octets in result.items()}


def summary(streams: dict[tuple[str, str], bytes]) -> Counter[Stream]:
    return Counter((sender, len(octets), hashlib.sha256(octets).hexdigest()) for (_, sender), octets in streams.items())


def expected(path: Path) -> Counter[Stream]:
    result: Counter[Stream] = Counter()
    for stream in oracle(path)["streams"].values():
        for direction, node in (("n0_to_n1", "node0"), ("n1_to_n0", "node1")):
            if stream[direction]["len"]:
                known = stream[direction]
                result[stream[node][0], known["len"], known["sha256"]] += 1
    return result


@pytest.mark.parametrize("path", sampled())
def test_the_streams_are_those_of_tshark(path: Path) -> None:
    items = items_of(segments_of(path))
    assert summary(streams_of(items, marked=True)) == expected(path)
    assert not [item for item in items if isinstance(item, StreamDamage)]
    connections = [item.connection for item in items if isinstance(item, ConnectionStart)]
    assert len(set(connections)) == len(connections) == len(oracle(path)["streams"])
    ends = [item for item in items if isinstance(item, ConnectionEnd)]
    assert Counter(end.connection for end in ends) == Counter(connections)
    gaps = [item for item in items if isinstance(item, StreamGap)]
    markers = sum(stream["missing_markers"] for stream in oracle(path)["streams"].values())
    assert len([gap for gap in gaps if gap.reason == "lost"]) == markers
    if "_snap" not in path.name:
        assert len(gaps) == markers


@pytest.mark.parametrize("path", sampled("*.pcapng"))
def test_both_formats_hold_the_same_traffic(path: Path) -> None:
    """Two programs captured at the same time: the same octets, even where one began a packet later."""
    other = named(path.stem + ".pcap")
    ours = streams_of(items_of(segments_of(path)))
    theirs = streams_of(items_of(segments_of(other)))
    assert summary(ours) == summary(theirs)


def test_both_formats_give_the_same_segments() -> None:
    """A file that was converted, not captured twice, gives equal rows but for the finer time."""
    rows = segments_of(named("o_mixed_4_protocols.pcap"))
    others = segments_of(named("o_mixed_4_protocols.pcapng"))
    assert len(rows) == 173

    def content(row: Segment) -> tuple[object, ...]:
        numbers = (row.sport, row.dport, row.seq, row.ack, row.flags, row.wire_len)
        return (row.ts_ns // 1000, row.src, row.dst, *numbers, row.payload)

    assert sorted(map(content, rows)) == sorted(map(content, others))


def derived(among: Callable[[str], list[Any]]) -> list[Any]:
    """Parameters: the rewritten captures, but those without their SYN."""
    found = [*among("o091d_*.pcap*"), *among("o10d_*.pcap*")]
    return [param for param in found if "_nosyn" not in str(param.id)]


def source_streams(path: Path) -> dict[str, bytes]:
    source = named(truth(path)["derived_from"] + ".pcap")
    streams = streams_of(items_of(segments_of(source)))
    return {sender: octets for (_, sender), octets in streams.items()}


@pytest.mark.parametrize("path", derived(sampled))
def test_a_rewritten_capture_gives_the_streams_of_its_source(path: Path) -> None:
    """What is there is at its place, and gaps are exactly what isn't there."""
    want = source_streams(path)
    items = items_of(segments_of(path))
    covered: dict[str, int] = defaultdict(int)
    for item in items:
        if isinstance(item, StreamData):
            assert item.offset == covered[item.sender]
            covered[item.sender] += len(item.data)
            assert want[item.sender][item.offset : covered[item.sender]] == item.data
        elif isinstance(item, StreamGap):
            assert item.offset == covered[item.sender]
            covered[item.sender] += item.octets
    assert covered == {sender: len(octets) for sender, octets in want.items()}
    gaps = [item for item in items if isinstance(item, StreamGap)]
    (end,) = [item for item in items if isinstance(item, ConnectionEnd)]
    lossless = truth(path)["truth"]["kind"] == "lossless"
    assert bool(gaps) is not lossless
    assert end.complete is lossless


@pytest.mark.parametrize("path", derived(sampled))
def test_capture_order_does_as_well_as_time_order(path: Path) -> None:
    segments = segments_of(path)
    in_file_order = list(reassemble(segments))
    assert streams_of(in_file_order) == streams_of(items_of(segments))
    assert not [item for item in in_file_order if isinstance(item, StreamDamage)]


@pytest.mark.parametrize(
    ("name", "octets", "sender"), [("o091d_channels_gap.pcap", 3132, 56720), ("o091d_exchange_gap.pcap", 82, 56720)]
)
def test_one_packet_removed_is_one_gap_of_its_size(name: str, octets: int, sender: int) -> None:
    """The truth says which packet of the source was taken out."""
    items = items_of(segments_of(named(name)))
    (gap,) = [item for item in items if isinstance(item, StreamGap)]
    assert (gap.octets, gap.sender, gap.reason) == (octets, f"127.0.0.1:{sender}", "lost")


def test_without_its_syn_a_connection_begins_at_its_first_octet() -> None:
    """Both SYNs and two packets of the client are missing."""
    path = named("o091d_exchange_gaps_nosyn.pcap")
    items = items_of(segments_of(path))
    start = items[0]
    assert isinstance(start, ConnectionStart)
    assert (start.client, start.server, start.syn_seen) == (None, None, False)
    assert (start.a, start.b) == ("127.0.0.1:36300", "127.0.0.1:56720")
    gaps = [item for item in items if isinstance(item, StreamGap)]
    assert [(gap.sender, gap.octets) for gap in gaps] == [(start.a, 19), (start.a, 31)]
    want = source_streams(path)[start.a]
    for item in items:
        if isinstance(item, StreamData) and item.sender == start.a:
            assert want[item.offset : item.offset + len(item.data)] == item.data


def test_a_connection_knows_who_opened_it_and_how_it_ended() -> None:
    items = items_of(segments_of(named("o091_pika_rst_midframe.pcap")))
    start, end = items[0], items[-1]
    assert isinstance(start, ConnectionStart)
    assert isinstance(end, ConnectionEnd)
    assert start.syn_seen
    assert start.server is not None
    assert start.server.endswith(":56720")
    assert (end.how, end.by, end.connection) == ("rst", start.client, start.connection)
    assert {start.client, start.server} == {start.a, start.b}


def test_octets_of_one_side_never_precede_what_they_answer() -> None:
    """In a capture with packets out of order every frame still follows what its sender had read."""
    path = named("o091d_channels_reorder.pcap")
    source = items_of(segments_of(named(truth(path)["derived_from"] + ".pcap")))
    for order in (segments_of(path), sorted(segments_of(path), key=sort_key)):
        seen: dict[str, int] = defaultdict(int)
        allowed = needs(source)
        for item in reassemble(order):
            if isinstance(item, StreamData):
                other = next(name for name in allowed if name != item.sender)
                need = max(need for offset, need in allowed[item.sender] if offset <= item.offset + len(item.data) - 1)
                assert seen[other] >= need
                seen[item.sender] += len(item.data)


def needs(items: list[Item]) -> dict[str, list[tuple[int, int]]]:
    """For each side: from which of its offsets on how many octets of the other side it had seen."""
    segments = segments_of(named("o091_aiopika_channels_interleaved.pcap"))
    start = items[0]
    assert isinstance(start, ConnectionStart)
    base = {f"{row.src}:{row.sport}": row.seq + 1 for row in segments if row.flags & 2}
    result: dict[str, list[tuple[int, int]]] = {start.a: [(0, 0)], start.b: [(0, 0)]}
    for row in segments:
        sender, other = f"{row.src}:{row.sport}", f"{row.dst}:{row.dport}"
        if row.payload:
            result[sender].append((row.seq - base[sender], row.ack - base[other]))
    return result


def test_nothing_is_damaged_in_the_carried_captures() -> None:
    for path in carried():
        rows = list(read_segments(path.read_bytes()))
        assert not [row for row in rows if isinstance(row, CaptureDamage)], path.name
