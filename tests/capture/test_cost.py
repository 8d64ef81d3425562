"""Hostile captures cost no more for their octets when there are more of them: steps and copied octets are counted.

tests/system/capture/test_cost_at_large.py counts with ten times as many.
"""

from collections.abc import Callable, Sequence
from struct import pack
from typing import Any, SupportsIndex

import pytest

from amqp_sansio.capture import Reassembler, Segment, read_segments
from amqp_sansio.capture.ip import Output
from amqp_sansio.capture.pcapng import PcapngParser
from tests.kit.packets import enhanced, ethernet, interface, pcap, section
from tests.kit.steps import count_steps

ACK, SYN = 0x10, 0x02


def segment(at: int, number: int, payload: bytes = b"x", *, flags: int = ACK, wire: int | None = None) -> Segment:
    size = len(payload) if wire is None else wire
    return Segment(at, "f", at, "10.0.0.1", 1000, "10.0.0.2", 5672, number & 0xFFFFFFFF, 0, flags, size, payload)


def stream(pieces: Sequence[tuple[int, bytes, int | None]]) -> list[Segment]:
    """A connection of which the client sends these: place, octets, size on the wire."""
    start = segment(0, 100, b"", flags=SYN)
    return [start, *[segment(at, 101 + place, octets, wire=wire) for at, (place, octets, wire) in enumerate(pieces)]]


STREAMS: dict[str, Callable[[int], list[Segment]]] = {
    "backwards": lambda n: stream([(2 * (n - at), b"x", None) for at in range(n)]),
    "every second one later": lambda n: stream(
        [(2 * at + 1, b"x", None) for at in range(n // 2)] + [(2 * at, b"x", None) for at in range(n // 2)]
    ),
    "overlapping": lambda n: stream([(1 + 3 * at, b"q" * 20, None) for at in range(n)]),
    "cut by the snap length": lambda n: stream([(1 + at, b"", 60_000) for at in range(n)]),
    "sent again": lambda n: stream([(at % (n // 2), b"xz"[at >= n // 2 :][:1], None) for at in range(n)]),
    "far apart": lambda n: stream([(at * 0x9E3779B1, b"abc", None) for at in range(n)]),
    "connections": lambda n: [segment(at, 100 + 70_000 * at, b"", flags=SYN) for at in range(n)],
}


@pytest.mark.parametrize("kind", STREAMS)
def test_segments_cost_the_same_whatever_their_number(kind: str, number: int = 200) -> None:
    def run(segments: list[Segment]) -> Callable[[], object]:
        def reassemble() -> None:
            reassembler = Reassembler()
            for each in segments:
                reassembler.push(each)
            reassembler.finish()

        return reassemble

    once, twice = [count_steps(run(STREAMS[kind](count))) for count in (number, 2 * number)]
    assert twice <= 2.2 * once
    assert twice / (2 * number) <= 410


def fragment(offset: int, *, ident: int = 1, size: int = 8, more: bool = True) -> bytes:
    field = (0x2000 if more else 0) | offset // 8
    head = (0x45, 0, 20 + size, ident, field, 64, 6, 0, b"\1\1\1\1", b"\2\2\2\2")
    return ethernet(pack(">BBHHHBBH4s4s", *head) + bytes(size))


def fragments(packets: list[bytes]) -> bytes:
    return pcap([(1, at, packet) for at, packet in enumerate(packets)])


EMPTY = enhanced(b"", 0)
HOLED = "fragments with a hole"
"""Each costs a step for each one before it, up to 1024 of them: thousands are needed to see that it ends there."""

FILES: dict[str, Callable[[int], bytes]] = {
    "fragments of one place": lambda n: fragments([fragment(0) for _ in range(n)]),
    "fragments of many datagrams": lambda n: fragments([fragment(0, ident=at) for at in range(n)]),
    HOLED: lambda n: fragments(
        [fragment(800 if at % 500 == 0 else 8 + 16 * (at % 450), size=16, more=at % 500 > 0) for at in range(n)]
    ),
    "interfaces": lambda n: section() + interface() * n,
    "interfaces and packets": lambda n: section() + (interface() + EMPTY) * n,
    "sections": lambda n: section() * n,
    "sections that are cut": lambda n: (section() + pack("<II", 7, 13)) * n,
    "sections in a block": lambda n: section() + pack("<II", 7, 12 + 28 * n) + section() * n + pack("<I", 12 + 28 * n),
    "signs of sections in a block": lambda n: (
        section() + pack("<II", 7, 12 + 16 * n) + (section()[:4] + bytes(12)) * n + pack("<I", 12 + 16 * n)
    ),
    "blocks that pass the end": lambda n: (section() + pack("<II", 7, 8 << 20)) * n,
}


@pytest.mark.parametrize("kind", [each for each in FILES if each != HOLED])
def test_records_cost_the_same_whatever_their_number(kind: str, number: int = 100) -> None:
    def run(data: bytes) -> Callable[[], object]:
        pieces = [data[at : at + 65_536] for at in range(0, len(data), 65_536)]
        return lambda: list(read_segments(pieces))

    once, twice = [count_steps(run(FILES[kind](count))) for count in (number, 2 * number)]
    assert twice <= 2.2 * once


class Copied(bytes):
    """Octets that count what is copied out of them."""

    octets = 0

    def __getitem__(self, key: SupportsIndex | slice) -> Any:
        part = super().__getitem__(key)
        if isinstance(part, int):
            return part
        Copied.octets += len(part)
        return Copied(part)


def test_cut_recordings_one_behind_the_other_are_copied_once() -> None:
    """Each cut block is said to be longer than the file: everything behind it is looked at again."""
    copied: list[int] = []
    for count in (500, 1000):
        Copied.octets = 0
        out: Output = []
        PcapngParser("f").finish(Copied((section() + pack("<II", 7, 8 << 20)) * count), out)
        assert len(out) == count
        copied.append(Copied.octets)
    assert copied[1] <= 2.2 * copied[0]
