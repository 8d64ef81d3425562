"""Frames of 0-10: a header of twelve octets, and a piece of a segment behind it (part 1 sections 4.3 and 4.4)."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from ..._checking import TYPE_CHECKING
from ...errors import CodecError

if TYPE_CHECKING:
    from typing import Final

PROTOCOL_HEADER: Final = b"AMQP\x01\x01\x00\x0a"
PROTOCOL_HEADER_SIZE: Final = 8

FRAME: Final = Struct(">BBHBBHI")
"""Flags, segment type, size with this header, a reserved octet, track, channel, four reserved octets."""
FRAME_HEADER_SIZE: Final = 12
MIN_MAX_FRAME_SIZE: Final = 4096
"""Frames up to this size are taken by every peer, before anything is agreed."""
LARGEST_FRAME: Final = 65_535

FIRST_SEGMENT: Final = 8
LAST_SEGMENT: Final = 4
FIRST_FRAME: Final = 2
LAST_FRAME: Final = 1
WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME
ENDS: Final = LAST_SEGMENT | LAST_FRAME
ALONE: Final = FIRST_FRAME | LAST_FRAME
"""The only frame of its segment."""
FIRST_ALONE: Final = FIRST_SEGMENT | ALONE
"""The only frame of a first segment, behind which more segments come."""

CONTROL: Final = 0
COMMAND: Final = 1
HEADER: Final = 2
BODY: Final = 3
SEGMENTS: Final = ("control", "command", "header", "body")
"""The segment types by their number."""

CONTROL_TRACK: Final = 0
COMMAND_TRACK: Final = 1

HEADER_FRAME: Final = ALONE << 8 | HEADER
"""Flags and type of a header's only frame, behind which the body comes."""
BODY_FRAME: Final = (LAST_SEGMENT | ALONE) << 8 | BODY
PLACE: Final = COMMAND_TRACK << 16
"""The track of commands, with room for the channel."""


def encode_assembly(channel: int, segments: Sequence[tuple[int, bytes]], max_frame_size: int = LARGEST_FRAME) -> bytes:
    """The frames of one control or command: type and octets of each of its segments, split where they must be.

    `max_frame_size` is in octets, with the frame's header. Raises CodecError when it isn't above 12.

    >>> encode_assembly(1, [(CONTROL, bytes.fromhex("010a0000"))]).hex()
    '0f0000100000000100000000010a0000'
    """
    room = min(max_frame_size, LARGEST_FRAME) - FRAME_HEADER_SIZE
    if room <= 0:
        raise CodecError(f"frames of {max_frame_size} octets hold nothing")
    frames: list[bytes] = []
    last = len(segments) - 1
    for number, (kind, octets) in enumerate(segments):
        place = (0 if number else FIRST_SEGMENT) | (LAST_SEGMENT if number == last else 0)
        track = CONTROL_TRACK if kind == CONTROL else COMMAND_TRACK
        begin = 0
        while True:
            piece = octets[begin : begin + room]
            flags = place | (0 if begin else FIRST_FRAME)
            begin += room
            if begin >= len(octets):
                flags |= LAST_FRAME
            size = FRAME_HEADER_SIZE + len(piece)
            frames += (FRAME.pack(flags, kind, size, 0, track, channel, 0), piece)
            if flags & LAST_FRAME:
                break
    return b"".join(frames)


def misplaced(kind: int, track: int) -> tuple[str, str] | None:
    """The rule that a segment of this type breaks on this track, and what to say; None when it belongs there."""
    if kind == CONTROL:
        if track == CONTROL_TRACK:
            return None
        return "wire/controls-track0", f"a control on track {track}"
    if track == COMMAND_TRACK:
        return None
    return "wire/commands-track1", f"a {SEGMENTS[kind]} segment on track {track}"


def malformed(flags: int, kind: int, size: int, spare: int, track: int, tail: int) -> tuple[str, str] | None:
    """The rule that a frame's header breaks by itself, and what to say; None when it's in order."""
    if size < FRAME_HEADER_SIZE:
        text = f"frame with a size of {size}, its header alone takes {FRAME_HEADER_SIZE}"
        return "wire/frame-size<12 malformed", text
    if flags & 0xC0:
        text = f"frame format version {flags >> 6}"
    elif flags & 0x30 or spare or track & 0xF0 or tail:
        text = "reserved bits of a frame's header that aren't zero"
    elif kind > BODY:
        text = f"a segment of type {kind}, which isn't defined"
    else:
        return None
    return "wire/frame-reserved-zero", text


def head(data: bytes) -> tuple[str, int, tuple[int, ...]] | None:
    """Name, size and place (`observer.FrameHead`) of the frame that begins here.

    None: it is none, or more octets are needed.

    The frames of an assembly are on one track of one channel (part 1 section 4.4.2).
    """
    if len(data) < FRAME_HEADER_SIZE or data[1] >= len(SEGMENTS):
        return None
    _, kind, size, _, track, channel, _ = FRAME.unpack_from(data)
    return f"{SEGMENTS[kind]} segment", max(size, FRAME_HEADER_SIZE), (track & 15, channel)
