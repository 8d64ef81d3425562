"""Captures with any octets changed, missing or cut anywhere: rows or damage, never an exception, never without end."""

import gzip
import pickle
import struct
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.capture import CaptureDamage, CaptureReader, NotACapture, Segment, read_segments, reassemble, sort_key
from tests.kit.captures import carried
from tests.kit.packets import block, enhanced, ethernet, interface, ipv4, ipv6, old, option, pcap, section, simple, tcp

Rows = list[Segment | CaptureDamage]


def variety() -> bytes:
    """Every kind of block, section, link layer and packet that is read, in one small file."""
    body = tcp(5, 6, b"some octets of a stream")
    fragment = struct.pack(">BBHI", 6, 0, 1, 99)
    packets = [
        ethernet(ipv4(body)),
        ethernet(ipv4(body, options=b"\x01" * 8), tags=[(0x88A8, 3), (0x8100, 4)]),
        ethernet(ipv6(bytes([6, 0]) + bytes(6) + body, following=60), kind=0x86DD),
        ethernet(ipv6(fragment + body[:16], following=44), kind=0x86DD),
        ethernet(ipv4(body[:24], more=True)) + bytes(6),
        ethernet(ipv4(body[24:], offset=24)) + bytes(6),
    ]
    data = b""
    for order in "<>":
        data += section(order, options=option(4, b"test", order))
        data += interface(order=order, options=[(9, b"\x09"), (14, bytes(8)), (2, b"lo")])
        data += interface(101, order=order) + interface(113, order=order, snaplen=100)
        for at, packet in enumerate(packets):
            data += enhanced(packet, at << 30, order=order, options=option(1, b"hm", order))
        data += old(packets[0], 7, order=order) + simple(packets[1], order=order)
        data += enhanced(ipv4(body), 1, number=1, order=order) + block(5, bytes(12), order)
        data += enhanced(bytes(14) + b"\x08\0" + ipv4(body), 2, number=2, order=order)
    return data


SAMPLES = {
    "pcap": carried("o091_raw_wrong_headers.pcap")[0].read_bytes(),
    "pcapng": carried("o08_amqplib_rabbit_errors.pcapng")[0].read_bytes(),
    "cut": carried("o091d_exchange_snap200.pcap")[0].read_bytes(),
    "variety": variety(),
    "big-endian": pcap([(1, 2, ethernet(ipv4(tcp(1, 1, b"abc"))))] * 5, order=">"),
    "gzip": gzip.compress(carried("o_mixed_4_protocols.pcap")[0].read_bytes(), mtime=0),
}


def everything(data: bytes | list[bytes]) -> Rows | None:
    """All rows, reassembled too; None when it is no capture."""
    try:
        rows = list(read_segments(data, file="f"))
    except NotACapture:
        return None
    segments = sorted((row for row in rows if isinstance(row, Segment)), key=sort_key)
    for segment in segments:
        assert len(segment.payload) <= segment.wire_len
        assert -(2**63) <= segment.ts_ns < 2**63
    for item in reassemble(segments):
        assert item.connection
    return rows


def test_the_variety_is_read() -> None:
    rows = everything(SAMPLES["variety"])
    assert rows is not None
    segments = [row for row in rows if isinstance(row, Segment)]
    assert len(segments) == 2 * 8
    assert {row.point for row in segments} == {"", "vlan3.4"}
    assert [row.kind for row in rows if isinstance(row, CaptureDamage)] == ["incomplete-fragments"]


@pytest.mark.parametrize("name", SAMPLES)
def test_changed_octets_cost_rows_and_nothing_else(name: str) -> None:
    chance = Random(name)
    original = SAMPLES[name]
    for _ in range(150):
        data = bytearray(original)
        for _ in range(chance.choice((1, 1, 2, 10))):
            data[chance.randrange(len(data))] = chance.choice((0, 0xFF, chance.randrange(256)))
        rows = everything(bytes(data))
        assert rows is None or len(rows) <= len(original)


@pytest.mark.parametrize("name", SAMPLES)
def test_missing_and_inserted_octets_cost_rows_and_nothing_else(name: str) -> None:
    chance = Random(name)
    original = SAMPLES[name]
    for _ in range(100):
        at = chance.randrange(len(original))
        size = chance.choice((1, 4, 100))
        if chance.random() < 0.5:
            everything(original[:at] + original[at + size :])
        else:
            everything(original[:at] + chance.randbytes(size) + original[at:])


@pytest.mark.parametrize("name", ["variety", "big-endian"])
def test_each_octet_may_be_any_other(name: str, step: int = 11) -> None:
    """Every eleventh of them; tests/system/capture/test_every_octet.py changes each."""
    original = SAMPLES[name]
    for at in range(0, len(original), step):
        for value in (0xFF, original[at] ^ 1):
            rows = everything(original[:at] + bytes([value]) + original[at + 1 :])
            assert rows is None or rows, at


@pytest.mark.parametrize("name", SAMPLES)
def test_a_cut_gives_a_beginning_of_the_rows(name: str) -> None:
    original = SAMPLES[name]
    want = everything(original)
    assert want is not None
    whole = [row for row in want if isinstance(row, Segment)]
    chance = Random(name)
    for length in sorted(chance.sample(range(12, len(original)), min(200, len(original) - 12))):
        rows = everything(original[:length])
        assert rows is not None
        segments = [row for row in rows if isinstance(row, Segment)]
        assert segments == whole[: len(segments)]


@given(st.binary(max_size=200))
def test_any_octets_are_a_capture_or_not(data: bytes) -> None:
    everything(data)
    for head in (pcap([]), section(), section() + interface()):
        everything(head + data)


@given(st.sampled_from(sorted(SAMPLES)), st.integers(0, 2**32 - 1), st.integers(1, 2000))
def test_how_the_octets_are_cut_makes_no_difference(name: str, seed: int, size: int) -> None:
    original = SAMPLES[name]
    chance = Random(seed)
    data = bytearray(original)
    if chance.random() < 0.5:
        data[chance.randrange(12, len(data))] ^= 1 << chance.randrange(8)
    pieces: list[bytes] = []
    at = 0
    while at < len(data):
        step = chance.randint(0, size)
        pieces.append(bytes(data[at : at + step]))
        at += step
    assert everything(pieces) == everything(bytes(data))


@pytest.mark.parametrize("name", [name for name in SAMPLES if name != "gzip"])
def test_octet_by_octet_and_pickled_between(name: str) -> None:
    original = SAMPLES[name][:3000]
    reader = CaptureReader(file="f")
    rows: Rows = []
    for octet in original:
        rows += reader.feed(bytes([octet]))
        reader = pickle.loads(pickle.dumps(reader))
    assert rows + reader.finish() == list(read_segments(original, file="f"))


def test_what_is_kept_between_pieces_is_one_record() -> None:
    """A megabyte of packets in pieces of 1000 octets."""
    frame = ethernet(ipv4(tcp(1, 1, bytes(1400))))
    reader = CaptureReader()
    data = pcap([(1, 0, frame)] * 700)
    for start in range(0, len(data), 1000):
        reader.feed(data[start : start + 1000])
        assert len(pickle.dumps(reader)) < 4000
