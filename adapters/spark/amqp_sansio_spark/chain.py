"""Walks the chain of a capture's records: the packets' positions as numpy arrays, up to the first unusual record."""

from __future__ import annotations

from struct import Struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from amqp_sansio.capture.bulk import MAX_BLOCK, SECTION, Interface, PcapLayout, PcapngLayout

from .arrow import Ints

PADDING: Final = 128
"""Zero octets after the input, so that headers can be read without checking for the buffer's end."""
UNREAD: Final = -1
"""The link type of packets that are known to be unreadable."""

_LITTLE: Final = Struct("<I").unpack_from
_BIG: Final = Struct(">I").unpack_from
_ENHANCED: Final = 6
_ENHANCED_HEADER: Final = 28
_ENHANCED_MIN: Final = 32
# Section, interface, obsolete packet, simple packet: blocks that change the state, and rare ones.
_FOR_THE_PARSER: Final = (0x0A0D0D0A, 1, 2, 3)
_FEW_WORDS: Final = 4096
_FIRST_PAIR: Final = int.from_bytes(SECTION[:2], "little")
_MIDDLE_PAIR: Final = int.from_bytes(SECTION[1:3], "little")
_INT64: Final = 1 << 63
_UINT64: Final = 1 << 64


class Run(NamedTuple):
    """Packets of a buffer, in order; positions are those in the buffer."""

    record: Ints
    """Start of their records."""
    start: Ints
    stop: Ints
    """Their captured octets."""
    wire: Ints
    """Octets on the wire, according to the record."""
    ts_ns: Ints
    link: Ints
    """Link types; `UNREAD` for unreadable packets."""
    end: int
    """Start of the first record that wasn't taken."""
    odd: bool
    """Whether that record needs the parser; otherwise it is incomplete in the buffer."""


def walk(buf: bytearray, pos: int, end: int, layout: PcapLayout | PcapngLayout) -> Run:
    """Return the plain records of `buf[pos:end]`, from the first on; `PADDING` octets follow `end` in `buf`.

    Every record is proven by the ones before it: the walk begins at the start of a record and stops at the first one
    that isn't plain.
    """
    if isinstance(layout, PcapLayout):
        return _walk_pcap(buf, pos, end, layout)
    return _walk_pcapng(buf, pos, end, layout)


def words(buf: bytearray, at: Ints, octets: int, dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Return the `octets` octets at each position in `at`, as records of `dtype`."""
    # Gathering plain octets is five times as fast as records with fields.
    kind = np.dtype(f"V{octets}")
    every: npt.NDArray[np.void] = np.ndarray((len(buf) - octets + 1,), kind, buffer=buf, strides=(1,))
    return every[at].view(dtype)


def _record(order: str, *names: str) -> np.dtype[np.void]:
    return np.dtype([(name, order + "u4") for name in names])


_PCAP: Final = {
    big: _record(order, "seconds", "fraction", "captured", "wire") for big, order in ((False, "<"), (True, ">"))
}
_BLOCK: Final = {
    big: _record(order, "kind", "length", "interface", "high", "low", "captured", "wire")
    for big, order in ((False, "<"), (True, ">"))
}
_TRAILER: Final = {False: _record("<", "length"), True: _record(">", "length")}


def _walk_pcap(buf: bytearray, pos: int, end: int, layout: PcapLayout) -> Run:
    unpack = _BIG if layout.big else _LITTLE
    header = layout.header
    found: list[int] = []
    append = found.append
    last = end - header
    while pos <= last:
        append(pos)
        pos += header + unpack(buf, pos + 8)[0]
    at = np.array(found, dtype=np.int64)
    fields = words(buf, at, 16, _PCAP[layout.big])
    captured = fields["captured"].astype(np.int64)
    wrong = np.flatnonzero(captured > layout.limit)
    odd = bool(len(wrong))
    if odd:
        count = int(wrong[0])
        pos = int(at[count])
    else:
        count = len(at)
        if pos > end:
            count -= 1
            pos = int(at[count])
    at, fields, captured = at[:count], fields[:count], captured[:count]
    start = at + header
    ts_ns = fields["seconds"].astype(np.int64) * 1_000_000_000
    ts_ns += fields["fraction"].astype(np.int64) * layout.unit_ns
    link = np.full(count, layout.link if layout.known else UNREAD, dtype=np.int64)
    wire = fields["wire"].astype(np.int64)
    return Run(at, start, start + captured, wire, ts_ns, link, pos, odd)


def _walk_pcapng(buf: bytearray, pos: int, end: int, layout: PcapngLayout) -> Run:
    unpack = _BIG if layout.big else _LITTLE
    first = pos
    found: list[int] = []
    append = found.append
    last = end - 12
    while pos <= last:
        append(pos)
        length = unpack(buf, pos + 4)[0]
        if length < 12:
            break
        pos += length
    at = np.array(found, dtype=np.int64)
    count = len(at)
    whole = pos <= end
    if count and not whole:
        count -= 1
    blocks = words(buf, at, _ENHANCED_HEADER, _BLOCK[layout.big])
    kind = blocks["kind"]
    length_of = blocks["length"].astype(np.int64)
    odd = (length_of < 12) | (length_of & 3 != 0) | (length_of > MAX_BLOCK)
    for special in _FOR_THE_PARSER:
        odd |= kind == special
    trailer = words(buf, np.minimum(at + length_of, end) - 4, 4, _TRAILER[layout.big])["length"]
    odd[:count] |= (trailer != length_of)[:count]
    enhanced = kind == _ENHANCED
    captured = blocks["captured"].astype(np.int64)
    interface = blocks["interface"].astype(np.int64)
    odd |= enhanced & (
        (length_of < _ENHANCED_MIN) | (captured > length_of - _ENHANCED_MIN) | (interface >= len(layout.interfaces))
    )
    # A section inside of a packet may follow a block that was cut short.
    inside = _find_section(buf, first, end)
    if inside >= 0:
        odd[max(0, int(np.searchsorted(at, inside, side="right")) - 1) :] = True
    wrong = np.flatnonzero(odd)
    stopped = bool(len(wrong))
    if stopped:
        count = int(wrong[0])
    taken = np.flatnonzero(enhanced[:count])
    picked = blocks[taken]
    interface = interface[taken]
    units = picked["high"].astype(np.uint64) << np.uint64(32) | picked["low"].astype(np.uint64)
    ts_ns = np.zeros(len(taken), dtype=np.int64)
    link = np.full(len(taken), UNREAD, dtype=np.int64)
    unusable: list[int] = []
    numbers: list[int] = np.unique(interface).tolist()
    for number in numbers:
        which = np.flatnonzero(interface == number)
        described: Interface = layout.interfaces[number]
        times, good = _times(units[which], described)
        ts_ns[which] = times
        if not (described.known or described.silent):
            good = 0
        if good < len(which):
            unusable.append(int(which[good]))
        if described.known:
            link[which] = described.link
    if unusable:
        cut = min(unusable)
        stopped, count = True, int(taken[cut])
        taken, ts_ns, link, picked = taken[:cut], ts_ns[:cut], link[:cut], picked[:cut]
    stop_at = int(at[count]) if count < len(at) else pos
    record = at[taken]
    start = record + _ENHANCED_HEADER
    wire = picked["wire"].astype(np.int64)
    return Run(record, start, start + captured[taken], wire, ts_ns, link, stop_at, stopped)


def _find_section(buf: bytearray, start: int, end: int) -> int:
    """Return the first position of `SECTION` in `buf[start:end]`; -1: none. Much faster than `bytearray.find`."""
    count = (end - start) // 2
    if count < _FEW_WORDS:
        return buf.find(SECTION, start, end)
    octets = np.frombuffer(buf, np.uint8)
    pairs = np.frombuffer(buf, "<u2", count, start)
    # Its octets are 0a 0d 0d 0a: from an even position two pairs, from an odd one the middle pair.
    likely = pairs == _FIRST_PAIR
    likely |= pairs == _MIDDLE_PAIR
    at = start + 2 * np.flatnonzero(likely)
    at -= octets[at] == SECTION[1]
    at = at[at >= start]
    for number, octet in enumerate(SECTION):
        at = at[octets[at + number] == octet]
    found = int(at[0]) if len(at) else -1
    if found < 0 or found + len(SECTION) > end:
        # An odd octet may be left over.
        return buf.find(SECTION, max(start, end - len(SECTION)), end)
    return found


def _times(units: npt.NDArray[np.uint64], interface: Interface) -> tuple[Ints, int]:
    """Return times in nanoseconds, and how many of them, from the first on, fit 64 bits."""
    multiplier, divisor, offset_ns = interface.multiplier, interface.divisor, interface.offset_ns
    highest = int(units.max())
    low = int(units.min()) * multiplier // divisor
    high = highest * multiplier // divisor
    fits = high < _INT64 and low + offset_ns >= -_INT64 and high + offset_ns < _INT64
    if fits and highest * multiplier < _UINT64 and divisor < _UINT64:
        scaled = units * np.uint64(multiplier) // np.uint64(divisor)
        return scaled.astype(np.int64) + offset_ns, len(units)
    exact = [unit * multiplier // divisor + offset_ns for unit in units.tolist()]
    good = next((at for at, time in enumerate(exact) if not -_INT64 <= time < _INT64), len(exact))
    return np.array(exact[:good] + [0] * (len(exact) - good), dtype=np.int64), good
