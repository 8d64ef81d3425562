"""From link layers to TCP: every way to a segment, padding, fragments, extension headers, and nonsense."""

import ipaddress
import pickle
import struct
from collections.abc import Callable, Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture import CaptureDamage, CaptureReader, Segment, endpoint, read_segments
from amqp_sansio.capture.addresses import ipv6_text, map_to_ipv6, parse_endpoint
from amqp_sansio.capture.records import ACK, RST, ZERO_WINDOW
from tests.kit.packets import ethernet, ipv4, ipv6, pcap, tcp

V4 = ipv4(tcp(5, 6, b"abc"))
V6 = ipv6(tcp(5, 6, b"abc"))


def rows(link: int, *frames: bytes, wire: int | None = None) -> list[Segment | CaptureDamage]:
    packets = [(at, 0, frame, wire or len(frame)) for at, frame in enumerate(frames)]
    return list(read_segments(pcap(packets, link=link), file="f"))


def one(link: int, frame: bytes) -> Segment:
    (row,) = rows(link, frame)
    assert isinstance(row, Segment), row
    return row


@pytest.mark.parametrize(
    ("link", "before_v4", "before_v6"),
    [
        (0, struct.pack("<I", 2), struct.pack("<I", 10)),
        (0, struct.pack(">I", 2), struct.pack(">I", 30)),
        (0, struct.pack("<I", 2), struct.pack("<I", 24)),
        (108, struct.pack(">I", 2), struct.pack(">I", 28)),
        (101, b"", b""),
        (12, b"", b""),
        (14, b"", b""),
        (228, b"", b""),
        (229, b"", b""),
        (113, bytes(14) + b"\x08\0", bytes(14) + b"\x86\xdd"),
        (113, bytes(14) + b"\x81\0\0\0\x08\0", bytes(14) + b"\x81\0\0\0\x86\xdd"),
        (276, b"\x08\0" + bytes(18), b"\x86\xdd" + bytes(18)),
        (1, bytes(12) + b"\x08\0", bytes(12) + b"\x86\xdd"),
        (1, bytes(12) + b"\0\x40\xaa\xaa\x03\0\0\0\x08\0", bytes(12) + b"\0\x40\xaa\xaa\x03\0\0\0\x86\xdd"),
    ],
)
def test_every_link_type_leads_to_both_ip_versions(link: int, before_v4: bytes, before_v6: bytes) -> None:
    four = one(link, before_v4 + V4)
    assert (four.src, four.dst, four.payload, four.point) == ("10.0.0.1", "10.0.0.2", b"abc", "")
    six = one(link, before_v6 + V6)
    assert (six.src, six.dst) == ("2001:db8::1", "2001:db8::2")
    assert (six.payload, six.wire_len, six.seq, six.ack) == (b"abc", 3, 5, 6)


@pytest.mark.parametrize(
    ("tags", "point"),
    [
        ([(0x8100, 10)], "vlan10"),
        ([(0x88A8, 100), (0x8100, 10)], "vlan100.10"),
        ([(0x9100, 4095), (0x9200, 1), (0x8100, 2)], "vlan4095.1.2"),
        ([(0x8100, 0)], ""),
        ([(0x8100, 0x2000 | 7)], "vlan7"),
    ],
)
def test_vlan_tags_become_the_point(tags: list[tuple[int, int]], point: str) -> None:
    row = one(1, ethernet(V4, tags=tags))
    assert (row.point, row.payload) == (point, b"abc")
    assert row.flow == "10.0.0.1:1000-10.0.0.2:5672" + (f"/{point}" if point else "")
    assert one(1, ethernet(V6, kind=0x86DD, tags=tags)).point == point


@pytest.mark.parametrize(
    ("link", "frame"),
    [
        (1, ethernet(bytes(28), kind=0x0806)),
        (1, ethernet(bytes(60), kind=0x0027)),
        (1, ethernet(V4, kind=0x8847)),
        (1, ethernet(V4, tags=[(0x8100, 1)] * 9)),
        (0, struct.pack("<I", 7) + bytes(40)),
        (101, b"\x50" + bytes(40)),
        (1, ethernet(ipv4(bytes(30), protocol=17))),
        (1, ethernet(ipv4(bytes(30), protocol=17, more=True))),
        (1, ethernet(ipv6(bytes(30), following=17), kind=0x86DD)),
        (1, ethernet(ipv6(bytes(30), following=58), kind=0x86DD)),
        (1, ethernet(ipv6(b"", following=59), kind=0x86DD)),
        (1, b""),
        (1, bytes(13)),
        (113, bytes(15)),
    ],
)
def test_what_is_not_tcp_over_ip_gives_nothing(link: int, frame: bytes) -> None:
    assert rows(link, frame, ethernet(V4))[:-1] == [] if link == 1 else rows(link, frame) == []


@pytest.mark.parametrize("link", [1, 12], ids=["in one step", "layer by layer"])
def test_a_window_of_zero_is_a_flag_except_of_a_reset(link: int) -> None:
    for window, flags, wanted in ((0, ACK, ACK | ZERO_WINDOW), (1, ACK, ACK), (0, RST, RST)):
        packet = ipv4(tcp(flags=flags, window=window))
        assert one(link, ethernet(packet) if link == 1 else packet).flags == wanted


def test_padding_after_the_ip_packet_is_cut() -> None:
    for packet, kind in ((V4, 0x0800), (V6, 0x86DD)):
        row = one(1, ethernet(packet + b"\xee" * 20, kind=kind))
        assert (row.payload, row.wire_len) == (b"abc", 3)
    acknowledgement = one(1, ethernet(ipv4(tcp(5, 6)) + bytes(6)))
    assert (acknowledgement.payload, acknowledgement.wire_len) == (b"", 0)


def test_a_length_left_to_segmentation_offload_is_that_of_the_record() -> None:
    big = bytes(range(256)) * 400
    row = one(1, ethernet(ipv4(tcp(1, 1, big), total=0)))
    assert (row.payload, row.wire_len) == (big, len(big))
    row = one(1, ethernet(ipv6(tcp(1, 1, big), length=0), kind=0x86DD))
    assert (row.payload, row.wire_len) == (big, len(big))
    frame = ethernet(ipv4(tcp(1, 1, big), total=0))
    (cut,) = rows(1, frame[:100], wire=len(frame))
    assert isinstance(cut, Segment)
    assert (cut.payload, cut.wire_len) == (big[:46], len(big))


def test_options_of_ip_and_tcp_are_passed_over() -> None:
    packet = ipv4(tcp(5, 6, b"abc", options=bytes(12)), options=b"\x01" * 40)
    row = one(1, ethernet(packet))
    assert (row.payload, row.wire_len, row.seq) == (b"abc", 3, 5)
    frame = ethernet(ipv4(tcp(5, 6, b"abc", options=b"\x01" * 40)))
    assert one(1, frame).payload == b"abc"
    (cut,) = rows(1, frame[:60], wire=len(frame))
    assert isinstance(cut, Segment)
    assert (cut.payload, cut.wire_len) == (b"", 3)


def extension(kind: int, following: int, units: int = 0) -> bytes:
    if kind == 51:
        return bytes([following, units + 1]) + bytes(2 + 4 * units + 8)
    return bytes([following, units]) + bytes(6 + 8 * units)


@pytest.mark.parametrize("units", [0, 1, 3])
@pytest.mark.parametrize("chain", [[0], [60], [43], [0, 43, 60], [51], [0, 51, 135, 139, 140], [44]])
def test_ipv6_extension_headers_are_passed_over(chain: list[int], units: int) -> None:
    body = tcp(5, 6, b"abc")
    following = 6
    for kind in reversed(chain):
        # A fragment header with neither offset nor more to come is just passed over.
        header = bytes([following]) + bytes(7) if kind == 44 else extension(kind, following, units)
        body, following = header + body, kind
    row = one(1, ethernet(ipv6(body, following=following), kind=0x86DD))
    assert (row.payload, row.wire_len, row.seq) == (b"abc", 3, 5)


@pytest.mark.parametrize(
    ("frame", "text"),
    [
        (ethernet(b"\x55" + V4[1:]), "IPv4"),
        (ethernet(b"\x44" + V4[1:]), "IPv4"),
        (ethernet(V4[:2] + b"\0\x13" + V4[4:]), "whole datagram"),
        (ethernet(V4[:19]), "IPv4"),
        (ethernet(b"\x45" + V6[1:], kind=0x86DD), "IPv6"),
        (ethernet(V6[:39], kind=0x86DD), "IPv6"),
        (ethernet(ipv4(tcp()[:19])), "TCP header"),
        (ethernet(ipv4(tcp()[:12] + b"\x40" + tcp()[13:])), "TCP header"),
        (ethernet(ipv4(tcp()[:12] + b"\xf0" + tcp()[13:])), "TCP header"),
        (ethernet(ipv6(b"\x06\xff" + bytes(30), following=0), kind=0x86DD), "TCP header"),
        (ethernet(ipv6(b"\x06\0", following=0), kind=0x86DD), "extension header"),
        (ethernet(ipv6(bytes(8) * 40, following=0), kind=0x86DD), "extension headers"),
    ],
)
def test_headers_that_contradict_themselves_are_reported(frame: bytes, text: str) -> None:
    damage, row = rows(1, frame, ethernet(V4))
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet) == ("bad-packet", 0)
    assert text in damage.text
    assert isinstance(row, Segment)


def test_a_cut_ipv6_packet_is_reported_or_has_less_payload() -> None:
    frame = ethernet(ipv6(extension(0, 6) + tcp(5, 6, b"abc"), following=0), kind=0x86DD)
    headers = 14 + 40 + 8 + 20
    for length in range(len(frame)):
        (row,) = rows(1, frame[:length], wire=len(frame))
        if length < headers:
            assert isinstance(row, CaptureDamage)
            assert row.kind == "truncated-packet"
        else:
            assert isinstance(row, Segment)
            assert (row.payload, row.wire_len) == (b"abc"[: length - headers], 3)


@pytest.mark.parametrize(("link", "lengths"), [(0, range(4)), (108, range(4)), (101, [0])])
def test_a_cut_link_layer_is_reported(link: int, lengths: Iterable[int]) -> None:
    frame = struct.pack(">I", 2) + V4
    for length in lengths:
        (row,) = rows(link, frame[:length], wire=len(frame))
        assert isinstance(row, CaptureDamage)
        assert row.kind == "truncated-packet"


def test_tags_cut_by_the_snap_length_are_reported() -> None:
    frame = ethernet(V4, tags=[(0x8100, 1), (0x8100, 2)])
    for length in (15, 17, 20):
        (row,) = rows(1, frame[:length], wire=len(frame))
        assert isinstance(row, CaptureDamage)
        assert row.kind == "truncated-packet"


def test_a_cut_snap_header_is_reported_whatever_follows_in_the_file() -> None:
    frame = ethernet(b"\xaa\xaa\x03\0\0\0\x08\0" + V4, kind=0x0040)
    for length in range(14, 22):
        # The next record begins with the octets of its time: those that are missing here, and others.
        for seconds in (0, 0xFFFFFFFF):
            whole = ethernet(V4)
            packets = [(1, 0, frame[:length], len(frame)), (seconds, 0, whole, len(whole))]
            damage, row = read_segments(pcap(packets))
            assert isinstance(damage, CaptureDamage)
            assert (damage.kind, damage.packet) == ("truncated-packet", 0)
            assert isinstance(row, Segment)


BODY = tcp(5, 6, bytes(range(200)))


def fragments_v4(cuts: list[int], ident: int = 7) -> list[bytes]:
    edges = [0, *cuts, len(BODY)]
    return [ethernet(ipv4(BODY[a:b], ident=ident, offset=a, more=b < len(BODY))) for a, b in pairwise(edges)]


def fragments_v6(cuts: list[int], ident: int = 7) -> list[bytes]:
    whole = extension(60, 6) + BODY
    edges = [0, *cuts, len(whole)]
    frames: list[bytes] = []
    for a, b in pairwise(edges):
        header = struct.pack(">BBHI", 60, 0, a | (b < len(whole)), ident)
        frames.append(ethernet(ipv6(header + whole[a:b], following=44), kind=0x86DD))
    return frames


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [0, 0, 2, 2, 1, 1, 3]])
@pytest.mark.parametrize("build", [fragments_v4, fragments_v6])
def test_fragments_come_together_in_any_order(build: Callable[[list[int]], list[bytes]], order: list[int]) -> None:
    frames = build([8, 64, 128])
    (row,) = rows(1, *[frames[at] for at in order])
    assert isinstance(row, Segment)
    assert (row.payload, row.wire_len) == (bytes(range(200)), 200)
    # It has the place of the packet that completed it.
    assert row.packet == len(order) - 1
    assert row.ts_ns == row.packet * 10**9


def test_overlapping_fragments_come_together() -> None:
    edges = [(0, 80), (40, 160), (120, len(BODY))]
    frames = [ethernet(ipv4(BODY[a:b], offset=a, more=b < len(BODY))) for a, b in reversed(edges)]
    (row,) = rows(1, *frames)
    assert isinstance(row, Segment)
    assert row.payload == bytes(range(200))


def test_fragments_of_several_datagrams_are_kept_apart() -> None:
    ones, others = fragments_v4([64]), fragments_v4([128], ident=8)
    result = rows(1, ones[0], others[1], ones[1], others[0])
    assert [row.packet for row in result] == [2, 3]
    assert all(isinstance(row, Segment) and row.payload == bytes(range(200)) for row in result)


def test_a_missing_fragment_is_reported_at_the_end() -> None:
    frames = fragments_v4([64, 128])
    row, damage = rows(1, frames[0], frames[2], ethernet(V4))
    assert isinstance(row, Segment)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet, damage.offset) == ("incomplete-fragments", 0, 24)
    assert "220" in damage.text


def test_fragments_that_wait_are_bounded() -> None:
    frames = [fragments_v4([64], ident=number)[0] for number in range(100)]
    reader = CaptureReader()
    result = reader.feed(pcap([(1, 0, frame) for frame in frames]))
    assert len(pickle.dumps(reader)) < 30_000
    result += reader.finish()
    damages = [row for row in result if isinstance(row, CaptureDamage)]
    assert [damage.packet for damage in damages] == list(range(100))


def test_a_datagram_that_only_grows_is_given_up() -> None:
    same = ethernet(ipv4(bytes(1400), offset=2800, more=True))
    result = list(read_segments(pcap([(1, 0, same)] * 100)))
    assert [row.packet for row in result if isinstance(row, CaptureDamage)] == [0, 94]


def test_an_identification_means_something_else_a_minute_later() -> None:
    first, second = fragments_v4([64])
    data = pcap([(0, 0, first), (61, 0, second), (62, 0, first)])
    damage, row = read_segments(data)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet) == ("incomplete-fragments", 0)
    assert isinstance(row, Segment)
    assert row.packet == 2


def test_a_cut_fragment_ends_what_is_known() -> None:
    first, second, third = fragments_v4([64, 128])
    packets = [(1, 0, first, len(first)), (2, 0, second[:-10], len(second)), (3, 0, third, len(third))]
    (row,) = read_segments(pcap(packets))
    assert isinstance(row, Segment)
    assert (row.payload, row.wire_len) == (bytes(range(200))[: 128 - 20 - 10], 200)


@given(st.binary(min_size=16, max_size=16) | st.lists(st.sampled_from([0, 1]), min_size=16, max_size=16).map(bytes))
def test_ipv6_addresses_have_their_canonical_text(raw: bytes) -> None:
    text = ipv6_text(raw)
    assert parse_endpoint(endpoint(text, 5672)) == (raw, 5672)
    if raw[:12] != bytes(10) + b"\xff\xff":
        assert text == str(ipaddress.IPv6Address(raw))


@pytest.mark.parametrize(
    ("text", "raw", "port"),
    [
        ("127.0.0.1:5672", bytes([127, 0, 0, 1]), 5672),
        ("[::1]:0", bytes(15) + b"\x01", 0),
        ("[::]:65535", bytes(16), 65535),
        ("[fe80::1%eth0]:1", b"\xfe\x80" + bytes(13) + b"\x01", 1),
        ("[::ffff:10.0.0.1]:1", bytes(10) + b"\xff\xff\x0a\0\0\x01", 1),
        ("[1:2:3:4:5:6:7:8]:1", bytes([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0, 7, 0, 8]), 1),
        ("[1:2:3:4:5:6:1.2.3.4]:1", bytes([0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 1, 2, 3, 4]), 1),
    ],
)
def test_an_endpoint_is_an_address_and_a_port(text: str, raw: bytes, port: int) -> None:
    assert parse_endpoint(text) == (raw, port)


@pytest.mark.parametrize(
    "text",
    [
        *("", ":1", "localhost:5672", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1"),
        *("1.2.3:1", "1.2.3.256:1", "1.2.3.4.5:1", "::1:5672", "[::1:5672", "[1::2::3]:1", "[]:1"),
        *("[12345::]:1", "[g::]:1", "[1:2:3:4:5:6:7]:1", "[1:2:3:4:5:6:7:8:9]:1", "[:1]:1"),
        *("[1:2:3:4::5:6:7:8]:1", "[::1.2.3]:1", "[1.2.3.4]:1", "127.0.0.1:٣"),
    ],
)
def test_what_is_no_endpoint_is_a_value_error(text: str) -> None:
    with pytest.raises(ValueError, match="is no endpoint"):
        parse_endpoint(text)


def test_an_ipv4_address_has_an_ipv6_form() -> None:
    assert ipv6_text(map_to_ipv6(bytes([10, 0, 0, 1]))) == "::ffff:10.0.0.1"
    assert map_to_ipv6(bytes(16)) == bytes(16)


def test_a_length_that_no_segment_can_have_is_reported() -> None:
    """The IP header leaves it open, and the record claims four gigabytes."""
    for packet, kind in ((ipv4(tcp(1, 1, b"abc"), total=0), 0x0800), (ipv6(tcp(), length=0), 0x86DD)):
        (damage,) = rows(1, ethernet(packet, kind=kind), wire=2**32 - 1)
        assert isinstance(damage, CaptureDamage)
        assert (damage.kind, damage.packet) == ("bad-packet", 0)
        assert "a TCP segment of 42949672" in damage.text
