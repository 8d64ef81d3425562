"""Damage: changes an input octet by octet, or frame by frame if its frames are known.

A single `Random` makes all choices, so that a seed gives the same inputs everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from struct import error as StructError
from struct import pack, unpack_from
from typing import Final

from amqp_sansio import AMQP_0_10, AMQP_1_0, Version

from .targets import packed, pieces_of

EDGES: Final = (0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
HEADER: Final = 8
_TOKENS: Final = (
    *(" AND ", " OR ", " NOT ", " LIKE ", " IN (", ")", "(", " BETWEEN ", " ESCAPE '\\\\'", " IS NULL", "'", '"'),
    *("%", "_", "a", "b", "c", "d", "e", "f", "s", "1", "0x", "1e9999", "-", "+", "*", "/", "%", "= ", "<>", "<", ">="),
    *("9" * 30, "''", "TRUE", "null", "amqp.header.priority", "\0", "\udfff", "é", "٣", "\U0001f600"),
)


def mutate(random: Random, octets: bytes, others: Sequence[bytes]) -> bytes:
    """Make a few changes, octet by octet."""
    found = bytearray(octets)
    for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
        random.choice(_CHANGES)(random, found, others)
    return bytes(found)


def mutate_text(random: Random, octets: bytes, others: Sequence[bytes]) -> bytes:
    """Make a few changes to a selector, word by word."""
    found = octets.decode("utf-8", "replace")
    for _ in range(random.choice((1, 2, 4, 8))):
        at = random.randint(0, len(found))
        word = random.choice(_TOKENS)
        if random.random() < 0.2:
            word *= random.choice((2, 10, 300))
        elif random.random() < 0.2:
            word = random.choice(others).decode("utf-8", "replace")
        cut = at + random.choice((0, 0, 1, 3, 10))
        found = found[:at] + word + found[cut:]
    return found.encode("utf-8", "replace")


def mutate_stream(
    random: Random, octets: bytes, others: Sequence[bytes], frames: Sequence[bytes], version: Version
) -> bytes:
    """Change a stream of frames: leave out, duplicate, swap or insert frames, or damage them with a correct size."""
    if random.random() < 0.15:
        return mutate(random, octets, others)
    parts = split(octets, version)
    for _ in range(random.choice((1, 1, 2, 3, 8))):
        at = random.randint(min(1, len(parts)), len(parts))
        choice = random.random()
        if choice < 0.35 and frames:
            parts.insert(at, _on_channel(random, random.choice(frames), version))
        elif at >= len(parts):
            parts.append(random.choice(parts))
        elif choice < 0.6:
            parts[at] = _damaged(random, parts[at], frames or others, version)
        elif choice < 0.7:
            del parts[at]
        elif choice < 0.8:
            parts.insert(at, parts[at])
        elif choice < 0.9:
            other = random.randrange(len(parts))
            parts[at], parts[other] = parts[other], parts[at]
        else:
            parts[at] = mutate(random, parts[at], others)
    return b"".join(parts)


def mutate_pieces(random: Random, octets: bytes, others: Sequence[bytes], change: Callable[[bytes], bytes]) -> bytes:
    """Change an observer's input: the pieces, their order, their sides, and gaps."""
    pieces = pieces_of(octets)
    if not pieces:
        return packed([(0, octets)])
    for _ in range(random.choice((1, 1, 2, 4))):
        at = random.randrange(len(pieces))
        kind, piece = pieces[at]
        match random.randrange(8):
            case 0:
                pieces[at] = (kind ^ 1, piece)
            case 1:
                pieces[at] = (kind | 2, piece)
            case 2:
                del pieces[at]
            case 3:
                pieces.insert(at, pieces[random.randrange(len(pieces))])
            case 4:
                pieces[at:at] = pieces_of(random.choice(others))[:5]
            case _:
                pieces[at] = (kind, change(piece))
        if not pieces:
            return b""
    return packed(pieces)


def split(octets: bytes, version: Version) -> list[bytes]:
    """Return the protocol header and the frames; an incomplete frame is the last part."""
    parts: list[bytes] = []
    at = 0
    while at < len(octets):
        size = HEADER if octets[at : at + 4] == b"AMQP" else _size(octets, at, version)
        parts.append(octets[at : at + max(size, 1)])
        at += max(size, 1)
    return parts


def _size(octets: bytes, at: int, version: Version) -> int:
    try:
        if version is AMQP_1_0:
            return int(unpack_from(">I", octets, at)[0])
        if version is AMQP_0_10:
            return int(unpack_from(">H", octets, at + 2)[0])
        return int(unpack_from(">I", octets, at + 3)[0]) + 8
    except StructError:
        return len(octets) - at


def _resized(frame: bytes, version: Version) -> bytes:
    """Return the frame with a correct size field."""
    if version is AMQP_1_0:
        return pack(">I", len(frame)) + frame[4:]
    if version is AMQP_0_10:
        return frame[:2] + pack(">H", len(frame) & 0xFFFF) + frame[4:]
    return frame[:3] + pack(">I", max(0, len(frame) - 8)) + frame[7:-1] + b"\xce"


def _on_channel(random: Random, frame: bytes, version: Version) -> bytes:
    """Return the frame on a channel that is likely to be in use."""
    at = 6 if version is AMQP_1_0 else 4 if version is AMQP_0_10 else 1
    channel = random.choice((0, 0, 1, 1, 1, 2, 2, 3)) if len(frame) > 8 else 0
    return frame[:at] + pack(">H", channel) + frame[at + 2 :]


def _damaged(random: Random, frame: bytes, others: Sequence[bytes], version: Version) -> bytes:
    """Return the frame with other octets inside, and a correct size."""
    head = 8 if version is AMQP_1_0 else 12 if version is AMQP_0_10 else 7
    tail = len(frame) - (version not in (AMQP_0_10, AMQP_1_0))
    if len(frame) <= head + 1:
        return mutate(random, frame, others)
    inside = mutate(random, frame[head:tail], others)
    return _resized(frame[:head] + inside + frame[tail:], version)


def _flip(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    if found:
        found[random.randrange(len(found))] ^= 1 << random.randrange(8)


def _set(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    if found:
        found[random.randrange(len(found))] = random.choice((*EDGES[:7], random.randrange(256)))


def _edge(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    width = random.choice((2, 4, 8))
    at = random.randint(0, max(0, len(found) - width))
    value = random.choice((*EDGES, len(found), len(found) - at))
    found[at : at + width] = (value & ((1 << 8 * width) - 1)).to_bytes(width, "big")


def _insert(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    at = random.randint(0, len(found))
    found[at:at] = random.randbytes(random.choice((1, 1, 2, 4, 9)))


def _delete(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    at = random.randint(0, len(found))
    del found[at : at + random.choice((1, 1, 2, 4, 16))]


def _truncate(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    del found[random.randint(0, len(found)) :]


def _repeat(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    at = random.randint(0, len(found))
    part = found[at : at + random.choice((1, 2, 5, 20))]
    found[at:at] = part * random.choice((1, 2, 30))


def _splice(random: Random, found: bytearray, others: Sequence[bytes]) -> None:
    other = random.choice(others) if others else b""
    start = random.randint(0, len(other))
    at = random.randint(0, len(found))
    found[at : at + random.choice((0, 4))] = other[start : start + random.choice((4, 20, 300))]


_CHANGES: Final = (_flip, _flip, _set, _set, _edge, _edge, _insert, _delete, _truncate, _repeat, _splice)

__all__ = ["mutate", "mutate_pieces", "mutate_stream", "mutate_text", "split"]
