"""Frames of 0-10: how assemblies are split, and that recorded ones are what others see in them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import CodecError
from amqp_sansio.amqp_0_10.codec.assembly import Assembly
from amqp_sansio.amqp_0_10.codec.frames import (
    BODY,
    COMMAND,
    CONTROL,
    FRAME,
    FRAME_HEADER_SIZE,
    HEADER,
    SEGMENTS,
    WHOLE,
    encode_assembly,
    malformed,
    misplaced,
)
from tests.kit.captures import everywhere, oracle
from tests.kit.observing import recorded


def _captures() -> list[object]:
    return [param for param in everywhere("o010_*.pcap")]


def _split(octets: bytes) -> list[tuple[int, int, int, int, bytes]]:
    """Flags, type, track, channel and payload of each frame."""
    found: list[tuple[int, int, int, int, bytes]] = []
    pos = 0
    while pos < len(octets):
        flags, kind, size, spare, track, channel, tail = FRAME.unpack_from(octets, pos)
        assert (spare, tail) == (0, 0)
        payload = octets[pos + FRAME_HEADER_SIZE : pos + size]
        assert len(payload) == size - FRAME_HEADER_SIZE
        found.append((flags, kind, track, channel, payload))
        pos += size
    return found


@pytest.mark.parametrize("path", _captures())
@pytest.mark.rule("0-10/wire/frame-flags", "0-10/wire/controls-track0", "0-10/wire/commands-track1")
def test_recorded_frames_are_those_of_the_oracle(path: Path) -> None:
    names = oracle(path)["streams"]
    for number, directions in oracle(path)["frames"].items():
        for way, node in (("n0_to_n1", "node0"), ("n1_to_n0", "node1")):
            sender = names[number][node][0]
            octets = b"".join(
                [
                    what
                    for each in recorded(path)
                    for at, what, _ in each.arrivals
                    if at == sender and isinstance(what, bytes)
                ]
            )
            counts = Counter(["header " + "-".join(map(str, octets[4:8]))])
            for flags, kind, track, _, payload in _split(octets[8:]):
                assert misplaced(kind, track) is None
                name = SEGMENTS[kind]
                counts[name if kind > COMMAND else f"{name} {payload[0]}.{payload[1]}"] += 1
                if flags != WHOLE:
                    counts[f"flags {flags:x}"] += 1
            assert counts == directions[way]["counts"]


@pytest.mark.rule("0-10/wire/frame-flags")
def test_an_assembly_in_one_frame_for_each_segment() -> None:
    octets = encode_assembly(3, [(COMMAND, b"command"), (HEADER, b"header"), (BODY, b"body")])
    assert _split(octets) == [
        (0x0B, COMMAND, 1, 3, b"command"),
        (0x03, HEADER, 1, 3, b"header"),
        (0x07, BODY, 1, 3, b"body"),
    ]
    assert _split(encode_assembly(3, [(CONTROL, b"control")])) == [(0x0F, CONTROL, 0, 3, b"control")]


@pytest.mark.rule("0-10/wire/frame-flags")
def test_a_segment_in_several_frames() -> None:
    octets = encode_assembly(0, [(COMMAND, b"ab"), (BODY, b"12345678")], 15)
    assert _split(octets) == [
        (0x0B, COMMAND, 1, 0, b"ab"),
        (0x06, BODY, 1, 0, b"123"),
        (0x04, BODY, 1, 0, b"456"),
        (0x05, BODY, 1, 0, b"78"),
    ]


def test_an_empty_segment_is_a_frame() -> None:
    assert _split(encode_assembly(0, [(COMMAND, b"c"), (BODY, b"")]))[1] == (7, BODY, 1, 0, b"")


@pytest.mark.parametrize("largest", [-1, 0, 12])
def test_frames_that_hold_nothing(largest: int) -> None:
    with pytest.raises(CodecError, match="hold nothing"):
        encode_assembly(0, [(CONTROL, b"x")], largest)


@given(st.lists(st.binary(max_size=60), min_size=1, max_size=3), st.integers(13, 40))
def test_what_was_split_is_put_together(segments: list[bytes], largest: int) -> None:
    octets = encode_assembly(1, list(enumerate(segments, COMMAND)), largest)
    assembly = Assembly()
    joined = [b""] * len(segments)
    found = _split(octets)
    for number, (flags, kind, _, _, payload) in enumerate(found):
        assert len(payload) <= largest - FRAME_HEADER_SIZE
        assert assembly.step(flags, kind) == ""
        assert assembly.whole is (number == len(found) - 1)
        joined[kind - COMMAND] += payload
    assert joined == segments


@pytest.mark.rule("0-10/wire/frame-reserved-zero")
def test_what_must_be_zero() -> None:
    assert malformed(0x0F, 1, 12, 0, 1, 0) is None
    assert "version 1" in str(malformed(0x4F, 0, 12, 0, 0, 0))
    for flags, spare, track, tail in (
        (0x1F, 0, 0, 0),
        (0xF, 1, 0, 0),
        (15, 0, 16, 0),
        (15, 0, 0, 1),
    ):
        assert "aren't zero" in str(malformed(flags, 0, 12, spare, track, tail))
