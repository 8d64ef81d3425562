"""The common part of both file formats' parsers: position, damage, and recovery."""

from __future__ import annotations

from typing import Final

from .._ground.record import record
from .ip import Output, PacketDecoder
from .link import ETHERNET
from .records import CaptureDamage, Packet
from .tunnels import ETHERTYPES, PROTOCOLS, UDP

UNKNOWN_LINK: Final = "their link type is not known"


@record
class PcapLayout:
    """The layout of a pcap file's records: a header of `header` octets, then the packet's.

    A header has four words in the byte order of `big`: seconds, a fraction in units of `unit_ns`, the captured octets
    (more than `limit` is damage) and those on the wire. `known`: packets of link type `link` are supported.
    """

    big: bool
    header: int
    limit: int
    unit_ns: int
    link: int
    known: bool


@record
class Interface:
    """An interface of a pcapng section: time = units * multiplier // divisor + offset_ns.

    Without `known`, its packets are unreadable; `silent`: that was reported.
    """

    link: int
    multiplier: int
    divisor: int
    offset_ns: int
    known: bool
    silent: bool


@record
class PcapngLayout:
    """The layout of the blocks in the current section of a pcapng file."""

    big: bool
    interfaces: tuple[Interface, ...]


class Parser:
    """One file being read; picklable.

    `offset` is the position of the next octet in the file, `packet` the index of the next packet, `ts_ns` the time of
    the last one, `need` the fewest octets that the next record needs.
    """

    __slots__ = ("_decoder", "_link_reported", "_lost_at", "_lost_why", "file", "need", "offset", "packet", "ts_ns")

    def __init__(self, file: str) -> None:
        self.file = file
        self.need = 1
        self.offset = 0
        self.packet = 0
        self.ts_ns = 0
        self._decoder = PacketDecoder(file)
        self._lost_at = -1
        self._lost_why = ""
        self._link_reported = False

    def parse(self, buf: bytes, out: Output, decode: bool) -> int:
        """Read the complete records in `buf`; return the number of their octets."""
        raise NotImplementedError

    def finish(self, rest: bytes, out: Output) -> None:
        """Note the end of the file; `rest` is the part that `parse` left."""
        raise NotImplementedError

    def layout(self) -> PcapLayout | PcapngLayout | None:
        """Return the layout of the records at `offset`; None if they need `parse`."""
        raise NotImplementedError

    def take(self, octets: int, packets: int, ts_ns: int) -> None:
        """Note that the caller has read complete records of `octets` octets; `ts_ns` is the last packet's time."""
        self.offset += octets
        self.packet += packets
        self.ts_ns = ts_ns

    def decode(
        self, buf: bytes, start: int, stop: int, wire: int, link: int, where: tuple[int, int, int], out: Output
    ) -> None:
        """Read one packet, as `PacketDecoder.decode` does."""
        self._decoder.decode(buf, start, stop, wire, link, where, out)

    def pass_over(self, number: int, count: int) -> None:
        """Count packets of unknown link types, of which the packet `number` is the first."""
        self._decoder.pass_over(UNKNOWN_LINK, Packet(self.ts_ns, number, self.offset), count)

    @property
    def unread(self) -> bool:
        """Whether packets weren't read that may carry TCP: `finish` counts them."""
        return self._decoder.unread

    def forget_unread(self) -> None:
        """Count no packets of before this place."""
        self._decoder.report_unread([])

    @property
    def waiting(self) -> bool:
        """Whether fragments wait for the rest of their datagram."""
        return self._decoder.waiting

    def damage(self, offset: int, kind: str, text: str, out: Output) -> None:
        """Append a damage at `offset` of the file."""
        out.append(CaptureDamage(self.file, self.packet, self.ts_ns, offset, kind, text))

    def _lose(self, offset: int, why: str) -> None:
        self._lost_at = offset
        self._lost_why = why

    def _found(self, offset: int, out: Output) -> None:
        text = f"{self._lost_why}; {offset - self._lost_at} octets are not read"
        self.damage(self._lost_at, "bad-block", text, out)
        self._lost_at = -1


def may_be_fragment(buf: bytes, start: int, stop: int, link: int) -> bool:
    """Whether the packet `buf[start:stop]` can change the decoder's state, by a quick look."""
    if link == ETHERNET and stop - start >= 34:
        kind = buf[start + 12 : start + 14]
        if kind == b"\x08\x00":
            protocol = buf[start + 23]
            return bool(buf[start + 20] & 0x3F or buf[start + 21]) or protocol == UDP or protocol in PROTOCOLS
        if kind == b"\x86\xdd":
            return buf[start + 20] != 6
        tagged = kind in (b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00")
        return tagged or kind < b"\x06\x00" or int.from_bytes(kind, "big") in ETHERTYPES
    return True
