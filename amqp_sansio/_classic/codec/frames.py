"""Frames of 0-8 and 0-9-1: seven octets of header, the payload, the end octet (section 4.2.3 of both)."""

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._ground.receive_buffer import ReceiveBuffer
from ...versions import AMQP_0_8, Version
from .violation import FRAME_ERROR, SILENT, Violation

if TYPE_CHECKING:
    from typing import Final

METHOD: Final = 1
HEADER: Final = 2
BODY: Final = 3
OOB_METHOD: Final = 4
OOB_HEADER: Final = 5
OOB_BODY: Final = 6
TRACE: Final = 7
HEARTBEAT: Final = 8

END: Final = 0xCE
END_OCTET: Final = b"\xce"
OVERHEAD: Final = 8
HEARTBEAT_FRAME: Final = b"\x08\x00\x00\x00\x00\x00\x00\xce"

FRAME: Final = Struct(">BHI")
CONTENT_HEADER: Final = Struct(">HHQ")
METHOD_ID: Final = Struct(">I")

KNOWN: Final = (METHOD, HEADER, BODY, HEARTBEAT)
"""The types of frames that both versions have."""
RARE: Final = {OOB_METHOD: "oob-method", OOB_HEADER: "oob-header", OOB_BODY: "oob-body", TRACE: "trace"}
"""The types that only 0-8 has, with their names."""

NAMES: Final = {METHOD: "method", HEADER: "content header", BODY: "content body", HEARTBEAT: "heartbeat"}


def head(data: bytes) -> tuple[str, int, tuple[int, ...]] | None:
    """Name, size and place (`observer.FrameHead`) of the frame that begins here.

    None: it is none of both versions, or more octets are needed.
    """
    if len(data) < OVERHEAD or data[0] not in NAMES:
        return None
    kind, channel, size = FRAME.unpack_from(data)
    return NAMES[kind], size + OVERHEAD, (channel,)


Frame = tuple[int, int, bytes, int, int]
"""Type, channel, and the octets in which the payload begins and ends at two offsets."""

OVERSIZE: Final = "wire/frame-oversize-receive"
"""The rule that frames above the agreed size break; they are dropped unread."""

GATHERED: Final = 1024
"""Body frames above this many octets that straddle arrivals are put together from them, without what follows."""


def next_frame(buffer: ReceiveBuffer, version: Version, body_max: int, other_max: int) -> Frame | None:
    """Take the next whole frame, or return None while octets are missing.

    `body_max` and `other_max` bound the payload of body frames and of all others, in octets; they are checked before a
    payload is waited for. Raises Violation, with a frame that is too large dropped, others left where they are.
    """
    if len(buffer.data) - buffer.pos < 7 and not buffer.want(7):
        return None
    data = buffer.data
    pos = buffer.pos
    kind: int
    channel: int
    size: int
    kind, channel, size = FRAME.unpack_from(data, pos)
    if kind not in KNOWN and (kind not in RARE or version is not AMQP_0_8):
        raise Violation(SILENT, f"frame of unknown type {kind}", rule="wire/frame-type-unknown")
    if size > (body_max if kind == BODY else other_max):
        # The frames behind it can still be read, above all the answer to the close.
        buffer.skip(size + OVERHEAD)
        agreed = (body_max if kind == BODY else other_max) + OVERHEAD
        raise Violation(FRAME_ERROR, f"frame of {size + OVERHEAD} octets, {agreed} are agreed", rule=OVERSIZE)
    start = pos + 7
    end = start + size
    if end >= len(data):
        if len(buffer) < size + OVERHEAD:
            buffer.need = size + OVERHEAD
            return None
        if size > GATHERED:
            payload = buffer.gather(7, size)
            octet = buffer.data[buffer.pos]
            buffer.pos += 1
            if octet != END:
                raise _bad_end(octet)
            return kind, channel, payload, 0, size
        buffer.want(size + OVERHEAD)
        data = buffer.data
        start = buffer.pos + 7
        end = start + size
    if data[end] != END:
        raise _bad_end(data[end])
    buffer.pos = end + 1
    return kind, channel, data, start, end


def _bad_end(octet: int) -> Violation:
    return Violation(SILENT, f"frame ends with octet 0x{octet:02x}, not 0xce", rule="wire/frame-end-check")


def check_plain(kind: int, channel: int, size: int) -> None:
    """Refuse a heartbeat on a channel or with a payload (0-9-1 section 4.2.7), and a trace frame on a channel."""
    if kind == HEARTBEAT and (channel or size):
        text = f"heartbeat on channel {channel} with {size} octets, not empty on channel 0"
        raise Violation(FRAME_ERROR, text, rule="wire/heartbeat-invalid")
    if kind == TRACE and channel:
        raise Violation(FRAME_ERROR, f"trace frame on channel {channel}", rule="wire/trace-channel")


def method_frame(channel: int, payload: bytes) -> bytes:
    """A method frame around `payload`."""
    return b"%b%b\xce" % (FRAME.pack(METHOD, channel, len(payload)), payload)


def header_frame(channel: int, class_id: int, size: int, properties: bytes) -> bytes:
    """A content header frame; `properties` are the flags and the property list (0-9-1 section 4.2.6.1)."""
    return b"%b%b%b\xce" % (
        FRAME.pack(HEADER, channel, 12 + len(properties)),
        CONTENT_HEADER.pack(class_id, 0, size),
        properties,
    )


def body_frames(channel: int, body: bytes, frame_max: int) -> list[bytes]:
    """`body` cut into body frames of at most `frame_max` octets each (0: one frame); nothing for an empty body."""
    size = len(body)
    room = frame_max - OVERHEAD if frame_max else size
    if size <= room:
        return [FRAME.pack(BODY, channel, size), body, END_OCTET] if size else []
    pieces: list[bytes] = []
    for start in range(0, size, room):
        piece = body[start : start + room]
        pieces += (FRAME.pack(BODY, channel, len(piece)), piece, END_OCTET)
    return pieces
