"""Reading pcap: byte orders, time units, lengths, and files that end or go wrong."""

import pickle
import struct
from array import array
from collections.abc import Iterable

import pytest

from amqp_sansio.capture import CaptureDamage, CaptureReader, NotACapture, Segment, read_segments
from tests.kit.captures import carried
from tests.kit.packets import ethernet, ipv4, ipv6, pcap, tcp

FRAME = ethernet(ipv4(tcp(5, 6, b"abc")))


def rows(data: bytes | Iterable[bytes]) -> list[Segment | CaptureDamage]:
    return list(read_segments(data, file="f"))


def test_a_segment_has_everything_of_its_packet() -> None:
    frame = ethernet(ipv4(tcp(5, 6, b"abc", sport=40000, flags=0x18)))
    (row,) = rows(pcap([(1_700_000_000, 123_456, frame)]))
    assert isinstance(row, Segment)
    assert row == Segment(
        ts_ns=1_700_000_000_123_456_000,
        file="f",
        packet=0,
        src="10.0.0.1",
        sport=40000,
        dst="10.0.0.2",
        dport=5672,
        seq=5,
        ack=6,
        flags=0x18,
        wire_len=3,
        payload=b"abc",
        point="",
    )
    assert row.flow == "10.0.0.1:40000-10.0.0.2:5672"


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_both_byte_orders_and_both_time_units(order: str, magic: int, unit: int) -> None:
    packets = [(2**32 - 1, 999_999, FRAME), (7, 0, FRAME)]
    first, second = rows(pcap(packets, order=order, magic=magic))
    assert first.ts_ns == (2**32 - 1) * 10**9 + 999_999 * unit
    assert (second.ts_ns, second.packet) == (7 * 10**9, 1)


def test_record_headers_of_the_modified_format_are_longer() -> None:
    plain = pcap([(1, 2, FRAME), (3, 4, FRAME)], magic=0xA1B2CD34)
    size = 16 + len(FRAME)
    longer = plain[:24] + plain[24:40] + bytes(8) + FRAME
    longer += plain[24 + size : 40 + size] + bytes(8) + FRAME
    assert [row.ts_ns for row in rows(longer)] == [1_000_002_000, 3_000_004_000]


def test_packets_are_counted_even_when_they_are_not_tcp() -> None:
    arp = ethernet(bytes(28), kind=0x0806)
    (row,) = rows(pcap([(1, 0, arp), (2, 0, arp), (3, 0, FRAME)]))
    assert row.packet == 2


def test_what_the_snap_length_cut_is_in_wire_len() -> None:
    (row,) = rows(pcap([(1, 0, FRAME[:-1], len(FRAME))]))
    assert isinstance(row, Segment)
    assert (row.payload, row.wire_len) == (b"ab", 3)
    (row,) = rows(pcap([(1, 0, FRAME[:54], len(FRAME))]))
    assert isinstance(row, Segment)
    assert (row.payload, row.wire_len) == (b"", 3)


def test_a_packet_cut_inside_of_its_headers_is_reported() -> None:
    whole = pcap([(1, 0, FRAME)])
    for length in range(len(FRAME) - 3):
        (row,) = rows(pcap([(9, 0, FRAME[:length], len(FRAME))]))
        assert isinstance(row, CaptureDamage), length
        assert (row.kind, row.packet, row.ts_ns) == ("truncated-packet", 0, 9 * 10**9)
        assert row.offset == 24
    assert isinstance(rows(whole)[0], Segment)


def test_a_file_cut_anywhere_gives_the_packets_before_the_cut() -> None:
    data = pcap([(1, 0, FRAME), (2, 0, FRAME)])
    size = 16 + len(FRAME)
    for length in range(1, len(data)):
        result = rows(data[:length])
        whole = max(0, length - 24) // size
        assert [row.packet for row in result if isinstance(row, Segment)] == list(range(whole))
        damages = [row for row in result if isinstance(row, CaptureDamage)]
        if length >= 24 and (length - 24) % size == 0:
            assert not damages
        else:
            (damage,) = damages
            assert (damage.kind, damage.packet) == ("truncated-file", whole)
            assert damage.offset == (24 + whole * size if length > 24 else 0)


def test_a_record_that_makes_no_sense_ends_the_reading_and_is_reported() -> None:
    good = pcap([(1, 0, FRAME), (2, 0, FRAME)])
    bad = struct.pack("<IIII", 3, 0, 0x7FFFFFFF, 0x7FFFFFFF) + bytes(100)
    first, second, damage = rows(good + bad)
    assert isinstance(first, Segment)
    assert isinstance(second, Segment)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.offset, damage.packet) == ("bad-block", len(good), 2)
    assert damage.ts_ns == second.ts_ns
    assert "116 octets are not read" in damage.text


def test_a_packet_as_long_as_the_snap_length_is_read() -> None:
    big = ethernet(ipv4(tcp(payload=bytes(300_000)), total=0))
    (row,) = rows(pcap([(1, 0, big)], snaplen=400_000))
    assert isinstance(row, Segment)
    assert row.wire_len == len(row.payload) == 300_000


def test_a_snap_length_without_bound_does_not_make_any_record_believable() -> None:
    good = pcap([(1, 0, FRAME)], snaplen=0x7FFFFFFF)
    bad = struct.pack("<IIII", 3, 0, 0x1000001, 0x1000001) + bytes(100)
    _, damage = rows(good + bad)
    assert isinstance(damage, CaptureDamage)
    assert damage.kind == "bad-block"


def test_an_unknown_link_type_is_reported_once() -> None:
    row, count = rows(pcap([(1, 0, FRAME), (2, 0, FRAME)], link=147))
    assert isinstance(row, CaptureDamage)
    assert (row.kind, row.packet, row.offset) == ("unknown-link-type", 0, 24)
    assert "147" in row.text
    assert isinstance(count, CaptureDamage)
    assert (count.kind, count.packet, count.text.split()[0]) == ("not-read", 0, "2")


def test_frame_check_sequence_bits_are_no_part_of_the_link_type() -> None:
    frame = FRAME + b"\xde\xad\xbe\xef"
    (row,) = rows(pcap([(1, 0, frame)], link=1 | 1 << 26 | 4 << 28))
    assert isinstance(row, Segment)
    assert row.payload == b"abc"


@pytest.mark.parametrize(
    "data", [b"", b"\xd4", b"\xd4\xc3\xb2", b"\x0a\x0d\x0d", b"PK\x03\x04", b"AMQP\0\0\x09\x01" * 9], ids=repr
)
def test_what_is_no_capture_is_refused_before_anything_is_read(data: bytes) -> None:
    if data and (b"\xd4\xc3\xb2\xa1".startswith(data) or b"\x0a\x0d\x0d\x0a".startswith(data)):
        (row,) = rows(data)
        assert isinstance(row, CaptureDamage)
        assert row.kind == "truncated-file"
    else:
        with pytest.raises(NotACapture, match="f: "):
            rows(data)


def test_another_version_of_pcap_is_refused() -> None:
    with pytest.raises(NotACapture, match=r"version 3\.0"):
        rows(pcap([(1, 0, FRAME)], version=(3, 0)))


def test_what_is_no_octets_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="bytes-like, not str"):
        list(read_segments("a.pcap"))  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]


def test_any_buffer_or_any_pieces_will_do() -> None:
    data = pcap([(1, 0, FRAME), (2, 0, FRAME)])
    want = list(read_segments(data))
    assert len(want) == 2
    assert list(read_segments(bytearray(data))) == want
    assert list(read_segments(memoryview(data))) == want
    spread = memoryview(bytes(octet for octet in data for _ in range(2)))[::2]
    assert list(read_segments(spread)) == want
    assert list(read_segments(array("H", data))) == want
    assert list(read_segments([data])) == want
    assert list(read_segments(iter([data[:7], b"", data[7:]]))) == want


def test_an_open_file_will_do() -> None:
    path = carried("o091_pika_basic.pcap")[0]
    with path.open("rb") as file:
        assert rows(file) == rows(path.read_bytes())


def test_a_reader_can_be_pickled_after_any_piece() -> None:
    data = pcap([(1, 0, FRAME), (2, 0, FRAME), (3, 0, FRAME)])
    want = rows(data)
    for step in (1, 7, 50, 1000):
        reader = CaptureReader(file="f")
        got: list[Segment | CaptureDamage] = []
        for start in range(0, len(data), step):
            reader = pickle.loads(pickle.dumps(reader))
            got += reader.feed(data[start : start + step])
        assert got + reader.finish() == want


@pytest.mark.parametrize("name", ["o_mixed_4_protocols.pcap", "o_mixed_4_protocols.pcapng"])
def test_a_file_can_be_read_in_parts(name: str) -> None:
    """Walk over it once, keep a reader every few octets, then read each part by itself."""
    data = carried(name)[0].read_bytes()
    walker = CaptureReader(file="f")
    starts = [(0, walker.boundary())]
    for start in range(0, len(data), 5000):
        walker.skip(data[start : start + 5000])
        if walker.offset > starts[-1][0]:
            starts.append((walker.offset, pickle.loads(pickle.dumps(walker.boundary()))))
    assert len(starts) > 4
    got: list[Segment | CaptureDamage] = []
    ends = [start for start, _ in starts[1:]] + [len(data)]
    for (start, reader), end in zip(starts, ends, strict=True):
        got += reader.feed(data[start:end])
        assert reader.offset == end
    assert got + starts[-1][1].finish() == rows(data)
    assert walker.packet == 173


V4_BODY = tcp(1, 1, bytes(range(64)))
V6_BODY = bytes([6, 0]) + bytes(6) + V4_BODY


@pytest.mark.parametrize(
    "frames",
    [
        [ethernet(ipv4(V4_BODY[:40], more=True)), ethernet(ipv4(V4_BODY[40:], offset=40))],
        [
            ethernet(ipv6(b"\x3c\0\0\x01\0\0\0\x09" + V6_BODY[:40], following=44), kind=0x86DD),
            ethernet(ipv6(b"\x3c\0\0\x28\0\0\0\x09" + V6_BODY[40:], following=44), kind=0x86DD),
        ],
        [
            ethernet(ipv4(V4_BODY[:40], more=True), tags=[(0x8100, 3)]),
            ethernet(ipv4(V4_BODY[40:], offset=40), tags=[(0x8100, 3)]),
        ],
    ],
    ids=["IPv4", "IPv6", "VLAN"],
)
def test_fragments_that_lie_in_two_parts_still_come_together(frames: list[bytes]) -> None:
    data = pcap([(1, 0, frames[0]), (2, 0, frames[1])])
    walker = CaptureReader(file="f")
    cut = 24 + 16 + len(frames[0])
    walker.skip(data[:cut])
    assert walker.offset == cut
    (row,) = walker.boundary().feed(data[cut:])
    assert [row] == rows(data)
    assert isinstance(row, Segment)
    assert row.payload == bytes(range(64))
