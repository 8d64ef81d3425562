"""The flags of an assembly's frames: which may follow which (part 1 section 4.4.1)."""

from __future__ import annotations

from itertools import product

import pytest

from amqp_sansio.amqp_0_10.codec.assembly import Assembly, begins
from amqp_sansio.amqp_0_10.codec.frames import BODY, COMMAND, CONTROL, HEADER

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
