"""Frames of AMQP 1.0: eight octets of header, an extended header nobody reads, a body (1.0 part 2 section 2.3)."""

from __future__ import annotations

from struct import Struct

from ..._checking import TYPE_CHECKING
from ..._ground.receive_buffer import ReceiveBuffer
from .conditions import FRAMING_ERROR
from .violation import Violation

if TYPE_CHECKING:
    from typing import Final

AMQP_HEADER: Final = b"AMQP\x00\x01\x00\x00"
TLS_HEADER: Final = b"AMQP\x02\x01\x00\x00"
SASL_HEADER: Final = b"AMQP\x03\x01\x00\x00"

AMQP: Final = 0
SASL: Final = 1

HEADER_SIZE: Final = 8
FRAME: Final = Struct(">IBBH")
"""Size of the whole frame, where its body begins in words of four octets, type, and the channel of AMQP frames."""
PLAIN: Final = 0x0200
"""A body behind eight octets, and the type of AMQP frames."""
PACK_PLAIN: Final = Struct(">IHH").pack
"""Of a frame's size, `PLAIN` and the channel."""
EMPTY_FRAME: Final = b"\x00\x00\x00\x08\x02\x00\x00\x00"
MIN_MAX_FRAME_SIZE: Final = 512
"""Frames of so many octets are always accepted, and before the peer's open no larger ones (part 2 section 2.4.1)."""

Frame = tuple[int, bytes, int, int]
"""The channel, and the octets in which the body begins and ends at two offsets; equal ones: an empty frame."""

OVERSIZE: Final = "transport/open/max-frame-size"
"""The rule that frames above the announced size break."""

_EVERYTHING: Final = 1 << 62
_header: Final = FRAME.unpack_from


def next_frame(buffer: ReceiveBuffer, wanted: int, most: int) -> Frame | None:
    """Take the next whole frame of the type `wanted`, or return None while octets are missing.

    `most` is the largest frame in octets that is taken; it's checked before the frame is waited for. Raises Violation
    with the frame dropped unread: what follows it can still be read, above all the peer's close. Only a size that
    can't be one leaves nothing to be read any more.

    >>> buffer = ReceiveBuffer()
    >>> buffer.append(EMPTY_FRAME)
    >>> next_frame(buffer, AMQP, 512)[0]
    0
    """
    size: int
    doff: int
    kind: int
    channel: int
    data, pos = buffer.data, buffer.pos
    left = len(data) - pos
    if left < HEADER_SIZE:
        if not buffer.want(HEADER_SIZE):
            return None
        data, pos = buffer.data, buffer.pos
        left = len(data) - pos
    size, doff, kind, channel = _header(data, pos)
    if size < HEADER_SIZE:
        buffer.skip(_EVERYTHING)
        raise Violation(
            FRAMING_ERROR, f"frame with a size of {size}, its header alone takes 8", rule="transport/frame/size"
        )
    if kind != wanted:
        buffer.skip(size)
        names = {AMQP: "an AMQP frame", SASL: "a SASL frame"}
        text = f"{names.get(kind, f'frame of unknown type {kind}')} where {names[wanted]} belongs"
        raise Violation(FRAMING_ERROR, text, rule="transport/frame/type")
    if size > most:
        buffer.skip(size)
        raise Violation(FRAMING_ERROR, f"frame of {size} octets, {most} are allowed", rule=OVERSIZE)
    if doff != 2 and (doff < 2 or 4 * doff > size):
        buffer.skip(size)
        raise Violation(
            FRAMING_ERROR, f"frame of {size} octets whose body begins at octet {4 * doff}", rule="transport/frame/doff"
        )
    if left < size:
        if not buffer.want(size):
            return None
        data, pos = buffer.data, buffer.pos
    end = pos + size
    buffer.pos = end
    return channel, data, pos + 4 * doff, end


def amqp_frame(channel: int, body: bytes, payload: bytes = b"") -> bytes:
    """An AMQP frame around an encoded performative and its payload.

    >>> amqp_frame(1, b"\\x00\\x53\\x17\\x45").hex()
    '0000000c0200000100531745'
    """
    return FRAME.pack(HEADER_SIZE + len(body) + len(payload), 2, AMQP, channel) + body + payload


def sasl_frame(body: bytes) -> bytes:
    """A SASL frame around an encoded SASL frame body (1.0 part 5 section 5.3.1)."""
    return FRAME.pack(HEADER_SIZE + len(body), 2, SASL, 0) + body


def head(data: bytes) -> tuple[str, int, tuple[int, ...]] | None:
    """Name, size and place (`observer.FrameHead`) of the frame that begins here.

    None: it is none, or more octets are needed.
    """
    if len(data) < HEADER_SIZE or data[5] not in (AMQP, SASL):
        return None
    size, _, kind, channel = FRAME.unpack_from(data)
    return "SASL frame" if kind == SASL else "AMQP frame", max(size, HEADER_SIZE), (channel,)
