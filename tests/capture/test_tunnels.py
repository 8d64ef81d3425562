"""Tunnels: whatever carries the packets, the segments are the same; what can't be read is counted and named."""

import pickle
from pathlib import Path

import pytest

from amqp_sansio.capture import CaptureDamage, CaptureReader, Segment, read_segments
from tests.kit.captures import named
from tests.kit.conversations import CONVERSATIONS, packets_of
from tests.kit.less import inconsistent, made_up, tables
from tests.kit.packets import ethernet, ipv4, pcap, tcp
from tests.kit.tunnels import TUNNELS, UNREAD, frame, labels, packet_of, udp, wrapped

CAPTURES = ("o091_pika_basic.pcap", "o091_pika_ipv6.pcap", "o10_proton_brokerj_tx.pcap")


def _segments(path: Path) -> list[Segment]:
    found = [each for each in read_segments(path.read_bytes(), file="") if isinstance(each, Segment)]
    return [each for each in found if each.wire_len == len(each.payload)]


def _brief(rows: list[Segment | CaptureDamage]) -> list[object]:
    """The rows, without the numbers of packets and the VLAN of the frame."""
    return [
        (each.ts_ns, each.src, each.sport, each.dst, each.dport, each.seq, each.ack, each.flags, each.payload)
        if isinstance(each, Segment)
        else (each.kind, each.text)
        for each in rows
    ]


@pytest.mark.parametrize("name", CAPTURES)
@pytest.mark.parametrize("tunnel", TUNNELS)
def test_a_tunnel_carries_the_same_segments(tunnel: str, name: str) -> None:
    segments = _segments(named(name))
    assert _brief(list(read_segments(wrapped(segments, *TUNNELS[tunnel])))) == _brief([*segments])


@pytest.mark.parametrize("tunnel", TUNNELS)
def test_a_tunnelled_capture_says_what_the_plain_one_says(tunnel: str) -> None:
    for make in CONVERSATIONS.values():
        segments = packets_of(make(3))
        whole = tables(segments)
        found = tables(read_segments(wrapped(segments, *TUNNELS[tunnel]), file="f.pcap"))
        assert not inconsistent(found)
        assert not made_up(whole, found)
        assert [len(rows) for rows in found.values()] == [len(rows) for rows in whole.values()]


@pytest.mark.parametrize("tunnel", UNREAD)
def test_what_is_not_read_is_counted_and_named(tunnel: str) -> None:
    link, wrap, word = UNREAD[tunnel]
    segments = _segments(named(CAPTURES[0]))
    rows = [each for each in read_segments(wrapped(segments, link, wrap), file="a") if isinstance(each, CaptureDamage)]
    (row,) = [each for each in rows if each.kind == "not-read"]
    assert row.text.startswith(f"{len(segments)} packets aren't read: ")
    assert word in row.text
    assert (row.packet, row.offset) == (0, 24)


def test_ordinary_traffic_that_is_not_tcp_is_not_named() -> None:
    others = [ethernet(bytes(28), kind=kind) for kind in (0x0806, 0x88CC, 0x0027)]
    others += [frame(ipv4(udp(b"x" * 40, 53), protocol=17)), frame(ipv4(bytes(8), protocol=1))]
    assert list(read_segments(pcap([(1, 0, each) for each in others]))) == []


@pytest.mark.parametrize("tunnel", [*TUNNELS, *UNREAD])
def test_a_packet_that_is_cut_or_changed_anywhere_raises_nothing(tunnel: str) -> None:
    link, wrap = TUNNELS[tunnel] if tunnel in TUNNELS else UNREAD[tunnel][:2]
    made = wrap(ipv4(tcp(1, 1, b"payload")))
    whole = made if isinstance(made, bytes) else made[0]
    packets = [(1, 0, whole[:size], len(whole)) for size in range(len(whole))]
    for value in (b"\0", b"\xff"):
        packets += [(1, 0, whole[:at] + value + whole[at + 1 :], len(whole)) for at in range(len(whole))]
    for row in read_segments(pcap(packets, link=link)):
        assert isinstance(row, CaptureDamage) or row.payload in b"payload" or len(row.payload) < 60


def test_labels_without_an_end_are_bounded() -> None:
    stack = b"".join([labels(16)[:2] + b"\0" + labels(16)[3:]] * 40)
    (row,) = read_segments(pcap([(1, 0, ethernet(stack, kind=0x8847))]), file="a")
    assert isinstance(row, CaptureDamage)
    assert "16 labels" in row.text


def test_a_reader_that_goes_on_counts_what_it_reads() -> None:
    """A state between pieces keeps the count; a reader of a later part of the file counts that part alone."""
    link, wrap, _ = UNREAD["ESP"]
    octets = wrapped(_segments(named(CAPTURES[0]))[:10], link, wrap)
    size = (len(octets) - 24) // 10
    reader = CaptureReader(file="a")
    half = 24 + sum([16 + len(wrap(packet_of(each))) for each in _segments(named(CAPTURES[0]))[:5]])
    assert size
    reader.feed(octets[:half])
    later = reader.boundary()
    reader = pickle.loads(pickle.dumps(reader))
    for each, count in ((reader, 10), (later, 5)):
        rows = [*each.feed(octets[half:]), *each.finish()]
        assert [row.text.split()[0] for row in rows if isinstance(row, CaptureDamage)] == [str(count)]
