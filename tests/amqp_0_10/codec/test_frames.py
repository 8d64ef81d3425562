"""Frames of 0-10: how assemblies are split, which flags may follow which, and what others see in recorded ones."""

from collections import Counter
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio import CodecError
from amqp_sansio.amqp_0_10.codec.assembly import Assembly, begins
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
    for flags, spare, track, tail in ((0x1F, 0, 0, 0), (0xF, 1, 0, 0), (15, 0, 16, 0), (15, 0, 0, 1)):
        assert "aren't zero" in str(malformed(flags, 0, 12, spare, track, tail))


# The flags of an assembly's frames: which may follow which (part 1 section 4.4.1).


Frames = list[tuple[int, int]]

_GOOD: list[Frames] = [
    [(0xF, CONTROL)],
    [(0xE, CONTROL), (0xC, CONTROL), (0xD, CONTROL)],
    [(0xF, COMMAND)],
    [(0xB, COMMAND), (0x7, HEADER)],
    [(0xB, COMMAND), (0x7, BODY)],
    [(0xB, COMMAND), (0x3, HEADER), (0x7, BODY)],
    [(0xA, COMMAND), (0x9, COMMAND), (0x2, HEADER), (0x1, HEADER), (0x6, BODY), (0x5, BODY)],
]


@pytest.mark.parametrize("frames", _GOOD)
@pytest.mark.rule("0-10/wire/frame-flags")
def test_good_assemblies(frames: Frames) -> None:
    assembly = Assembly()
    for number, (flags, kind) in enumerate(frames):
        assert not assembly.whole
        assert begins(flags) is (number == 0)
        assert assembly.step(flags, kind) == ""
    assert assembly.whole


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([(0x7, BODY)], "isn't the first comes first"),
        ([(0x4, BODY)], "hasn't begun"),
        ([(0xB, COMMAND), (0x5, BODY)], "hasn't begun"),
        ([(0xB, COMMAND), (0xB, COMMAND)], "is the first one behind"),
        ([(0xA, COMMAND), (0x3, HEADER)], "no last frame"),
        ([(0xA, COMMAND), (0x1, HEADER)], "is under way"),
        ([(0xA, COMMAND), (0xD, COMMAND)], "disagree"),
        ([(0xB, COMMAND), (0x3, BODY), (0x7, HEADER)], "behind a body"),
        ([(0xB, COMMAND), (0x3, HEADER), (0x7, HEADER)], "behind a header"),
    ],
)
@pytest.mark.rule("0-10/wire/frame-flags")
def test_what_flags_contradict(frames: Frames, text: str) -> None:
    assembly = Assembly()
    *before, last = frames
    for flags, kind in before:
        assert assembly.step(flags, kind) == ""
    state = [getattr(assembly, name) for name in Assembly.__slots__]
    assert text in assembly.step(*last)
    assert [getattr(assembly, name) for name in Assembly.__slots__] == state


def test_all_assemblies_of_three_frames_are_those_that_make_sense() -> None:
    """Flags say where segments begin and end, whatever the order in which they could come."""
    good = 0
    for frames in product(product(range(16), (COMMAND, HEADER, BODY)), repeat=3):
        assembly = Assembly()
        if all([not assembly.whole and not assembly.step(*frame) for frame in frames]):
            good += assembly.whole
    # One, two or three segments: 1 + 2 * 2 + 1, with each choice of types that grow from a first one.
    assert good == _expected()


def _expected() -> int:
    """The same number counted from the definition: segments of one frame or more that sum up to three."""
    count = 0
    for sizes in ((3,), (1, 2), (2, 1), (1, 1, 1)):
        for kinds in product((COMMAND, HEADER, BODY), repeat=len(sizes)):
            count += list(kinds) == sorted(set(kinds))
    return count
