"""Captures compressed by gzip, whole and damaged."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import pytest

from amqp_sansio.capture import CaptureDamage, NotACapture, Segment, read_segments
from amqp_sansio.capture.gz import SLICE, STEP, Gunzip
from tests.kit.captures import carried
from tests.kit.packets import ethernet, ipv4, pcap, tcp
from tests.kit.steps import count_steps, peak_of

PLAIN = carried("o_mixed_4_protocols.pcap")[0].read_bytes()
NG = carried("o_mixed_4_protocols.pcapng")[0].read_bytes()


def rows(data: bytes) -> list[Segment | CaptureDamage]:
    return list(read_segments(data, file="f"))


@pytest.mark.parametrize("data", [PLAIN, NG], ids=["pcap", "pcapng"])
def test_a_compressed_capture_is_the_capture(data: bytes) -> None:
    assert rows(gzip.compress(data)) == rows(data)


def test_members_are_joined_and_padding_is_nothing() -> None:
    parts = [gzip.compress(PLAIN[start : start + 1000]) for start in range(0, len(PLAIN), 1000)]
    assert rows(b"".join(parts)) == rows(PLAIN)
    assert rows(b"\0\0".join(parts) + bytes(512)) == rows(PLAIN)


def test_a_member_may_have_all_optional_fields() -> None:
    plain = gzip.compress(PLAIN)
    fields = b"\x05\0extra" + b"name\0" + b"comment\0"
    header = plain[:3] + bytes([0x04 | 0x08 | 0x10]) + plain[4:10]
    assert rows(header + fields + plain[10:]) == rows(PLAIN)


def test_a_cut_file_gives_what_was_before_the_cut() -> None:
    packed = gzip.compress(PLAIN)
    want = rows(PLAIN)
    counts: set[int] = set()
    for length in range(2, len(packed), 97):
        result = rows(packed[:length])
        whole = [row for row in result if isinstance(row, Segment)]
        assert whole == want[: len(whole)]
        counts.add(len(whole))
        kinds = [row.kind for row in result if isinstance(row, CaptureDamage)]
        assert set(kinds) == {"truncated-file"}
    assert len(counts) > 20


def test_a_wrong_checksum_is_reported_after_all_rows() -> None:
    packed = bytearray(gzip.compress(PLAIN))
    packed[-6] ^= 1
    *got, damage = rows(bytes(packed))
    assert got == rows(PLAIN)
    assert isinstance(damage, CaptureDamage)
    assert (damage.kind, damage.packet, damage.offset) == ("bad-gzip", 173, len(PLAIN))


def test_damage_in_the_middle_keeps_what_came_before() -> None:
    packed = bytearray(gzip.compress(PLAIN))
    want = rows(PLAIN)
    packed[len(packed) // 2 : len(packed) // 2 + 4] = b"\xff\xff\xff\xff"
    result = rows(bytes(packed))
    whole = [row for row in result if isinstance(row, Segment)]
    assert whole[:20] == want[:20]
    assert any(isinstance(row, CaptureDamage) for row in result)


def test_octets_after_the_last_member_are_reported() -> None:
    *got, damage = rows(gzip.compress(PLAIN) + b"something else")
    assert got == rows(PLAIN)
    assert isinstance(damage, CaptureDamage)
    assert damage.kind == "bad-gzip"


def test_a_compressed_something_else_is_no_capture() -> None:
    with pytest.raises(NotACapture):
        rows(gzip.compress(b"AMQP\0\0\x09\x01" * 10))
    with pytest.raises(NotACapture):
        rows(gzip.compress(gzip.compress(PLAIN)))
    with pytest.raises(NotACapture):
        rows(gzip.compress(b""))


def test_a_bomb_is_inflated_step_by_step() -> None:
    """64 MiB of one octet in 64 KiB: no step gives more than its bound."""
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    assert len(bomb) < 70_000
    inflate = Gunzip()
    sizes = [len(piece) for piece in inflate.feed(bomb)]
    assert max(sizes) <= STEP
    assert sum(sizes) == 64 * 1024 * 1024
    assert not inflate.finish()


def test_every_size_around_a_step_comes_out_whole() -> None:
    for size in (1, STEP - 1, STEP, STEP + 1, 2 * STEP):
        for pieces in (1, 1000):
            packed = gzip.compress(bytes(range(256)) * (size // 256 + 1))
            want = zlib.decompress(packed, 31)
            inflate = Gunzip()
            cut = max(1, len(packed) // pieces)
            got = b"".join(
                piece for start in range(0, len(packed), cut) for piece in inflate.feed(packed[start : start + cut])
            )
            assert got == want
            assert not inflate.finish()


def test_a_large_packet_comes_through_many_steps() -> None:
    frames = [ethernet(ipv4(tcp(1, 1, bytes(60_000)))) for _ in range(40)]
    data = pcap([(1, 0, frame) for frame in frames])
    assert rows(gzip.compress(data)) == rows(data)
    assert len(rows(data)) == 40


def steps(data: bytes) -> int:
    """The steps that reading a capture takes."""
    return count_steps(lambda: list(read_segments(data)))


SEGMENT = ethernet(ipv4(tcp(1, 1)))
TINY = [b"", b"x", bytes(13)]


@pytest.mark.parametrize("packet", [*TINY, SEGMENT], ids=["empty", "one", "thirteen", "segment"])
def test_compressed_records_take_as_many_steps_as_plain_ones(packet: bytes) -> None:
    once, twice = (pcap([(1, 0, packet)] * count) for count in (2000, 4000))
    plain = steps(once)
    packed = steps(gzip.compress(once))
    assert packed <= 1.2 * plain
    assert steps(gzip.compress(twice)) <= 2.05 * packed


@pytest.mark.parametrize("packet", TINY, ids=["empty", "one", "thirteen"])
def test_the_smallest_records_take_no_more_steps_for_their_octets_than_segments(packet: bytes) -> None:
    """In few octets of gzip are millions of them."""
    tiny, segments = pcap([(1, 0, packet)] * 2000), pcap([(1, 0, SEGMENT)] * 2000)
    assert steps(tiny) / len(tiny) <= 1.2 * steps(segments) / len(segments)


class CountedInflate:
    """zlib's object, with a count of the octets that it's given."""

    given = 0

    def __init__(self, inflate: Any) -> None:
        self._inflate = inflate

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inflate, name)

    def copy(self) -> CountedInflate:
        return CountedInflate(self._inflate.copy())

    def decompress(self, data: bytes, most: int) -> bytes:
        CountedInflate.given += len(data)
        piece: bytes = self._inflate.decompress(data, most)
        assert len(piece) <= STEP
        return piece


def test_small_members_and_bombs_are_inflated_in_few_octets_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind each member, and each step of a bomb, zlib copies the input that is left."""
    begin = zlib.decompressobj

    def counted(window: int) -> CountedInflate:
        return CountedInflate(begin(window))

    monkeypatch.setattr(zlib, "decompressobj", counted)
    member = gzip.compress(bytes(16))
    count = 8000
    CountedInflate.given = 0
    assert rows(gzip.compress(pcap([])) + member * count) == []
    assert CountedInflate.given <= count * SLICE
    bomb = gzip.compress(pcap([]) + bytes(16 * 1024 * 1024))
    CountedInflate.given = 0
    held = 0
    inflate = Gunzip()
    for piece in inflate.feed(bomb):
        held = max(held, len(piece))
    assert held <= STEP and not inflate.finish()
    assert CountedInflate.given <= len(bomb) + 64 * SLICE


def test_a_bomb_is_read_within_little_memory() -> None:
    bomb = gzip.compress(pcap([]) + bytes(2 * 1024 * 1024))
    assert peak_of(lambda: rows(bomb)) < 5 * STEP
    assert rows(bomb) == []
