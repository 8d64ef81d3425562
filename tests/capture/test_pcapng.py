"""Reading pcapng: sections, interfaces, every packet block, times, options, and damage."""

import struct

import pytest

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from tests.kit.packets import block, enhanced, ethernet, interface, ipv4, old, option, pcap, section, simple, tcp

FRAME = ethernet(ipv4(tcp(5, 6, b"abc")))


def rows(data: bytes) -> list[Segment | CaptureDamage]:
    return list(read_segments(data, file="f"))


def times(data: bytes) -> list[int]:
    result = rows(data)
    assert all(isinstance(row, Segment) for row in result), result
    return [row.ts_ns for row in result]


@pytest.mark.parametrize("order", ["<", ">"])
def test_every_packet_block_is_read(order: str) -> None:
    data = section(order) + interface(order=order)
    data += enhanced(FRAME, 1_000_000, order=order) + old(FRAME, 2_000_000, order=order)
    data += simple(FRAME, order=order) + enhanced(FRAME, 2**40, order=order)
    result = rows(data)
    assert [row.packet for row in result] == [0, 1, 2, 3]
    assert all(isinstance(row, Segment) and row.payload == b"abc" for row in result)
    # A simple packet block has no time of its own.
    assert times(data) == [10**9, 2 * 10**9, 2 * 10**9, 2**40 * 1000]


@pytest.mark.parametrize(
    ("resolution", "units", "ts_ns"),
    [
        (0, 3, 3_000_000_000),
        (3, 1_234, 1_234_000_000),
        (6, 1_234, 1_234_000),
        (9, 1_234, 1_234),
        (12, 1_234_567, 1_234),
        (0x80, 5, 5_000_000_000),
        (0x8A, 1025, 1_000_976_562),
        (0xA0, 2**32 + 2**31, 1_500_000_000),
        (127, 2**60, 0),
    ],
)
@pytest.mark.parametrize("offset", [None, 0, 1_700_000_000, -5])
def test_times_are_exact_in_any_resolution(resolution: int, units: int, ts_ns: int, offset: int | None) -> None:
    options = [(9, bytes([resolution]))]
    if offset is not None:
        options.append((14, struct.pack("<q", offset)))
    data = section() + interface(options=options) + enhanced(FRAME, units)
    assert times(data) == [ts_ns + (offset or 0) * 10**9]


def test_each_interface_has_its_own_resolution_offset_and_link_type() -> None:
    data = section() + interface() + interface(101, options=[(9, b"\x09"), (2, b"lo")])
    data += enhanced(FRAME, 1) + enhanced(FRAME[14:], 1, number=1) + enhanced(FRAME, 2)
    assert times(data) == [1000, 1, 2000]


def test_a_new_section_may_have_the_other_byte_order_and_forgets_interfaces() -> None:
    data = section() + interface(options=[(9, b"\x09")]) + enhanced(FRAME, 1)
    data += section(">") + interface(order=">") + enhanced(FRAME, 1, order=">")
    data += section() + enhanced(FRAME, 7)
    first, second, damage = rows(data)
    assert (first.ts_ns, first.packet) == (1, 0)
    assert (second.ts_ns, second.packet) == (1000, 1)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet) == ("bad-block", 2)
    assert "interface 0, which isn't described" in damage.text


def test_blocks_without_packets_are_passed_over() -> None:
    others = [4, 5, 9, 10, 0x0BAD, 0x40000BAD, 0xDEADBEEF]
    data = section() + interface() + b"".join(block(kind, b"\1\0\2\0xyz") for kind in others)
    data += enhanced(FRAME, 3, options=option(1, b"a comment") + option(0, b""))
    data += block(5, b"")
    assert times(data) == [3000]


def test_the_snap_length_of_the_interface_ends_a_simple_packet() -> None:
    cut = FRAME[:-1]
    data = section() + interface(snaplen=len(cut)) + simple(cut, wire=len(FRAME))
    (row,) = rows(data)
    assert isinstance(row, Segment)
    assert (row.payload, row.wire_len) == (b"ab", 3)


def test_only_the_interface_with_an_unknown_link_type_is_left_out() -> None:
    data = section() + interface(147) + interface()
    data += enhanced(FRAME) * 2 + enhanced(FRAME, number=1) + enhanced(FRAME)
    damage, row, count = rows(data)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet) == ("unknown-link-type", 0)
    assert isinstance(count, CaptureDamage)
    assert (count.kind, count.packet, count.text.split()[0]) == ("not-read", 0, "3")
    assert isinstance(row, Segment)
    assert row.packet == 2


@pytest.mark.parametrize(
    "bad",
    [
        enhanced(FRAME, number=3),
        block(6, struct.pack("<IIIII", 0, 0, 0, 1000, 1000) + FRAME),
        block(6, bytes(16)),
        block(2, struct.pack("<HHIIII", 0, 0, 0, 0, 1000, 1000) + FRAME),
        block(2, bytes(16)),
        block(3, b""),
    ],
)
def test_a_packet_block_that_makes_no_sense_costs_one_packet(bad: bytes) -> None:
    head = section() + interface() + enhanced(FRAME)
    first, damage, second = rows(head + bad + enhanced(FRAME))
    assert isinstance(first, Segment)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet, damage.offset) == ("bad-block", 1, len(head))
    assert (second.packet, isinstance(second, Segment)) == (2, True)


def test_options_that_pass_the_end_are_reported_and_the_interface_is_kept() -> None:
    wrong = block(1, struct.pack("<HHI", 1, 0, 0) + struct.pack("<HH", 9, 200) + b"\x09")
    damage, row = rows(section() + wrong + enhanced(FRAME, 1))
    assert isinstance(damage, CaptureDamage)
    assert damage.kind == "bad-block"
    assert isinstance(row, Segment)
    assert row.ts_ns == 1000


def test_a_time_beyond_64_bits_is_reported_and_the_packet_kept() -> None:
    options = [(9, b"\x00"), (14, struct.pack("<q", 2**62))]
    data = section() + interface(options=options) + enhanced(FRAME, 1)
    damage, row = rows(data)
    assert isinstance(damage, CaptureDamage)
    assert damage.kind == "bad-block"
    assert isinstance(row, Segment)
    assert row.ts_ns == 0


def test_after_broken_framing_reading_goes_on_at_the_next_section() -> None:
    head = section() + interface() + enhanced(FRAME, 1)
    broken = bytearray(enhanced(FRAME, 2))
    broken[-1] ^= 1
    tail = section(">") + interface(order=">") + enhanced(FRAME, 5, order=">")
    lost = bytes(broken) + enhanced(FRAME, 3)
    first, damage, second = rows(head + lost + tail)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.offset) == ("bad-block", len(head))
    assert f"{len(lost)} octets are not read" in damage.text
    assert (first.ts_ns, second.ts_ns) == (1000, 5000)
    *_, last = rows(head + lost)
    assert isinstance(last, CaptureDamage)
    assert f"{len(lost)} octets are not read" in last.text


@pytest.mark.parametrize("length", [0, 4, 11, 13, 0x7FFFFFFC, 0xFFFFFFFF])
def test_a_block_with_an_impossible_length_is_reported(length: int) -> None:
    head = section() + interface() + enhanced(FRAME)
    wrong = struct.pack("<II", 6, length) + bytes(40)
    first, damage = rows(head + wrong)
    assert isinstance(first, Segment)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.offset) == ("bad-block", len(head))


def test_a_recording_that_was_cut_and_then_appended_to_loses_only_the_cut_packet() -> None:
    head = section() + interface() + enhanced(FRAME, 1)
    last = enhanced(FRAME, 2)
    tail = section() + interface() + enhanced(FRAME, 3) + enhanced(FRAME, 4)
    for cut in range(12, len(last)):
        result = rows(head + last[:cut] + tail)
        assert [row.ts_ns for row in result if isinstance(row, Segment)] == [1000, 3000, 4000]
        (damage,) = [row for row in result if isinstance(row, CaptureDamage)]
        assert (damage.kind, damage.offset) == ("bad-block", len(head))


def test_a_cut_block_may_claim_more_than_the_rest_of_the_file() -> None:
    head = section() + interface()
    cut = struct.pack("<II", 6, 100_000) + bytes(50)
    tail = section() + interface() + enhanced(FRAME, 3)
    damage, row = rows(head + cut + tail + cut + tail)[:2]
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.offset) == ("bad-block", len(head))
    assert row.ts_ns == 3000
    assert len([row for row in rows(head + cut + tail + cut + tail)]) == 4


def test_what_follows_much_later_says_nothing_of_a_block() -> None:
    """Four octets in a packet look like a section's, and the next block's type is of nobody: still a packet."""
    odd = ethernet(ipv4(tcp(1, 1, b"\n\r\r\n, but no section")))
    head = section() + interface() + enhanced(odd, 1) + block(0x1234, bytes(4))
    data = head + section() + interface() + enhanced(FRAME, 2)
    assert times(data) == [1000, 2000]
    for cut in range(len(head), len(data)):
        assert list(read_segments([data[:cut], data[cut:]], file="f")) == rows(data)


def test_a_file_cut_anywhere_gives_the_packets_before_the_cut() -> None:
    blocks = [section(), interface(), enhanced(FRAME, 1), enhanced(FRAME, 2)]
    data = b"".join(blocks)
    ends = [sum(map(len, blocks[:count])) for count in range(1, 5)]
    for length in range(1, len(data)):
        result = rows(data[:length])
        whole = sum(length >= end for end in ends[2:])
        assert [row.packet for row in result if isinstance(row, Segment)] == list(range(whole))
        damages = [row for row in result if isinstance(row, CaptureDamage)]
        assert [damage.kind for damage in damages] == ["truncated-file"] * (length not in ends)


def test_a_section_of_another_version_is_left_out() -> None:
    data = section() + interface() + enhanced(FRAME, 1)
    other = section(version=(2, 0)) + interface() + enhanced(FRAME, 2)
    first, damage, second = rows(data + other + data)
    assert isinstance(damage, CaptureDamage)
    assert "version 2.0" in damage.text
    assert (first.ts_ns, second.ts_ns) == (1000, 1000)


def test_an_empty_packet_is_counted() -> None:
    data = section() + interface() + enhanced(b"", 1) + old(b"", 2) + simple(b"")
    (row,) = rows(data + enhanced(FRAME, 3))
    assert isinstance(row, Segment)
    assert row.packet == 3


def test_a_later_section_with_an_unknown_byte_order_is_left_out() -> None:
    data = section() + interface() + enhanced(FRAME, 1)
    other = bytearray(data)
    other[8] ^= 0xFF
    first, damage, second = rows(data + bytes(other) + data)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.offset) == ("bad-block", len(data))
    assert f"{len(data)} octets are not read" in damage.text
    assert (first.ts_ns, second.ts_ns) == (1000, 1000)


def test_a_section_with_an_unknown_byte_order_is_no_capture() -> None:
    data = bytearray(section() + interface())
    data[8] ^= 0xFF
    with pytest.raises(NotACapture):
        rows(bytes(data))


def test_a_capture_inside_of_a_packet_is_no_packet() -> None:
    """Payloads may well be captures themselves."""
    inner = section() + interface() + enhanced(FRAME, 9) + pcap([(1, 0, FRAME)])
    frame = ethernet(ipv4(tcp(1, 1, inner)))
    (row,) = rows(section() + interface() + enhanced(frame, 1))
    assert isinstance(row, Segment)
    assert row.payload == inner
