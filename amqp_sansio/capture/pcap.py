"""The classic pcap file format, with microseconds or nanoseconds (draft-ietf-opsawg-pcap)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from .ip import Output, PacketDecoder
from .link import LEAST, LINK_TYPES
from .parser import UNKNOWN_LINK, Parser, PcapLayout, may_be_fragment
from .records import NotACapture, Packet

_LITTLE: Final = Struct("<IIII").unpack_from
_BIG: Final = Struct(">IIII").unpack_from
_LITTLE_HEADER: Final = Struct("<HHIIII").unpack_from
_BIG_HEADER: Final = Struct(">HHIIII").unpack_from
_FILE_HEADER: Final = 24

# magic -> big-endian, nanoseconds per unit of the fraction, octets in a record's header.
# The third pair is the "modified" format, whose record headers are 8 octets longer.
MAGICS: Final = {
    b"\xd4\xc3\xb2\xa1": (False, 1000, 16),
    b"\xa1\xb2\xc3\xd4": (True, 1000, 16),
    b"\x4d\x3c\xb2\xa1": (False, 1, 16),
    b"\xa1\xb2\x3c\x4d": (True, 1, 16),
    b"\x34\xcd\xb2\xa1": (False, 1000, 24),
    b"\xa1\xb2\xcd\x34": (True, 1000, 24),
}

_MAX_CAPTURED: Final = 262_144
"""Largest packet accepted if the file's snap length is smaller or missing."""
_MAX_SNAPLEN: Final = 16 * 1024 * 1024


class PcapParser(Parser):
    """Reads one pcap file; `parse` gets its octets from the file header on."""

    __slots__ = ("_big", "_header", "_limit", "_link", "_link_known", "_unit_ns")

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._header = 0  # octets of a record's header; 0: the file's header isn't read yet
        self._big = False
        self._unit_ns = 0
        self._limit = 0
        self._link = -1
        self._link_known = False
        self.need = _FILE_HEADER

    def parse(self, buf: bytes, out: Output, decode: bool) -> int:
        """Read the complete records in `buf`; return the number of their octets."""
        if self._lost_at >= 0:
            self.offset += len(buf)
            return len(buf)
        pos = 0
        if not self._header:
            if len(buf) < _FILE_HEADER:
                return 0
            self._read_header(buf)
            pos = _FILE_HEADER
        end = len(buf)
        unpack = _BIG if self._big else _LITTLE
        header, limit, link, unit_ns = self._header, self._limit, self._link, self._unit_ns
        decoder: PacketDecoder = self._decoder
        base = self.offset
        index, ts_ns = self.packet, self.ts_ns
        need = header
        least = LEAST.get(link, 0)
        while pos + header <= end:
            seconds, fraction, captured, wire = unpack(buf, pos)
            if captured > limit:
                self._lose(base + pos, f"a record of {captured} octets, the limit is {limit}")
                need, pos = 1, end
                break
            start = pos + header
            stop = start + captured
            if stop > end:
                need = header + captured
                break
            ts_ns = seconds * 1_000_000_000 + fraction * unit_ns
            if not self._link_known:
                if not self._link_reported:
                    self._link_reported = True
                    self.packet = index
                    self.ts_ns = ts_ns
                    self.damage(base + pos, "unknown-link-type", f"link type {link} is not known", out)
                decoder.pass_over(UNKNOWN_LINK, Packet(ts_ns, index, base + pos))
            elif captured < least and wire <= captured:
                pass  # An empty record. A file can hold millions of these in few octets of gzip.
            elif decode or may_be_fragment(buf, start, stop, link):
                decoder.decode(buf, start, stop, wire, link, (ts_ns, index, base + pos), out)
            index += 1
            pos = stop
        self.packet = index
        self.ts_ns = ts_ns
        self.offset = base + pos
        self.need = need
        return pos

    def layout(self) -> PcapLayout | None:
        """Return the layout of the records at `offset`; None if they need `parse`."""
        if not self._header or self._lost_at >= 0 or not (self._link_known or self._link_reported):
            return None
        return PcapLayout(self._big, self._header, self._limit, self._unit_ns, self._link, self._link_known)

    def finish(self, rest: bytes, out: Output) -> None:
        """Note the end of the file; `rest` is the part that `parse` left."""
        if self._lost_at >= 0:
            self._found(self.offset + len(rest), out)
        elif rest:
            what = "a record" if self._header else "its header"
            self.damage(
                self.offset,
                "truncated-file",
                f"the file ends inside of {what}, after {len(rest)} of {self.need} octets",
                out,
            )
        self._decoder.finish(out)

    def _read_header(self, buf: bytes) -> None:
        self._big, self._unit_ns, header = MAGICS[buf[:4]]
        unpack = _BIG_HEADER if self._big else _LITTLE_HEADER
        major, minor, _zone, _accuracy, snaplen, network = unpack(buf, 4)
        if major != 2:
            raise NotACapture(f"{self.file or 'the data'}: pcap version {major}.{minor}, not 2.x")
        # The upper 16 bits describe frame check sequences, which the IP header's length cuts off.
        self._link = network & 0xFFFF
        self._link_known = self._link in LINK_TYPES
        self._limit = max(_MAX_CAPTURED, min(snaplen, _MAX_SNAPLEN))
        self._header = header
