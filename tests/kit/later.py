"""Captures of other times: so late that whatever is open in those before is given up, and of clocks that differ."""

import struct
from collections.abc import Callable

from benchmarks.generate import Half

_HOURS = 3 * 3600
_SECOND = 1_000_000_000


def much_later(capture: bytes, number: int) -> bytes:
    """A capture of one packet, hours behind all of `capture`, a generated one, and `number` seconds."""
    seconds = struct.unpack_from("<I", capture, 24)[0] + _HOURS + number
    one, other = Half(1, 1, 2, 2, number), Half(2, 2, 1, 1, 1)
    packet = one.packet(other, 16, b"", seconds * _SECOND)
    return capture[:24] + struct.pack("<IIII", seconds, 0, len(packet.octets), len(packet.octets)) + packet.octets


def restamped(capture: bytes, seconds: float, wanted: Callable[[int, bytes], bool] = lambda at, packet: True) -> bytes:
    """The pcap (little-endian) as a clock that is ahead stamps it, of those packets, told by index and octets.

    Its units are nanoseconds; of one in microseconds the seconds have to be whole.
    """
    out, pos, index = [capture[:24]], 24, 0
    while pos < len(capture):
        at, nanos, size, whole = struct.unpack_from("<IIII", capture, pos)
        packet = capture[pos + 16 : pos + 16 + size]
        pos += 16 + size
        if wanted(index, packet):
            at, nanos = divmod(at * _SECOND + nanos + round(seconds * _SECOND), _SECOND)
            out.append(struct.pack("<IIII", at, nanos, size, whole) + packet)
        index += 1
    return b"".join(out)
