"""Captures of later traffic, for streams: so late that whatever is open in those before is given up."""

from __future__ import annotations

import struct

from benchmarks.generate import Half

_HOURS = 3 * 3600
_SECOND = 1_000_000_000


def much_later(capture: bytes, number: int) -> bytes:
    """A capture of one packet, hours behind all of `capture`, a generated one, and `number` seconds."""
    seconds = struct.unpack_from("<I", capture, 24)[0] + _HOURS + number
    one, other = Half(1, 1, 2, 2, number), Half(2, 2, 1, 1, 1)
    packet = one.packet(other, 16, b"", seconds * _SECOND)
    return capture[:24] + struct.pack("<IIII", seconds, 0, len(packet.octets), len(packet.octets)) + packet.octets
