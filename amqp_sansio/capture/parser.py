"""What the parsers of both file formats share: position, damage, and being lost after it."""

from __future__ import annotations

from .._core.record import record
from .ip import Output, PacketDecoder
from .link import ETHERNET
from .records import CaptureDamage


@record
class PcapLayout:
    """How the records of a pcap file lie: a header of `header` octets, then the packet's.

    In a header, of four words in the byte order that `big` tells, are seconds, a fraction in units of `unit_ns`, the
    captured octets (more than `limit` is damage) and those on the wire. `known`: packets of link type `link` are read.
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

    Without `known`, `silent` tells that it was said already that its packets can't be read.
    """

    link: int
    multiplier: int
    divisor: int
    offset_ns: int
    known: bool
    silent: bool


@record
class PcapngLayout:
    """How the blocks of the present section of a pcapng file lie."""

    big: bool
    interfaces: tuple[Interface, ...]


class Parser:
    """One file being read; picklable.

    `offset` is the position of the next octet in the file, `packet` the index of the next packet,
    `ts_ns` the time of the last one, `need` how many octets the next record needs at least.
    """

    __slots__ = (
        "_decoder",
        "_link_reported",
        "_lost_at",
        "_lost_why",
        "file",
        "need",
        "offset",
        "packet",
        "ts_ns",
    )

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
        """Read the whole records in `buf` and return how many octets they have."""
        raise NotImplementedError

    def finish(self, rest: bytes, out: Output) -> None:
        """The file ends; `rest` is what `parse` left."""
        raise NotImplementedError

    def layout(self) -> PcapLayout | PcapngLayout | None:
        """How the records from `offset` on lie; None when only `parse` can tell."""
        raise NotImplementedError

    def take(self, octets: int, packets: int, ts_ns: int) -> None:
        """The caller has read whole records of `octets` octets itself; `ts_ns` is the time of the last packet."""
        self.offset += octets
        self.packet += packets
        self.ts_ns = ts_ns

    def decode(
        self,
        buf: bytes,
        start: int,
        stop: int,
        wire: int,
        link: int,
        where: tuple[int, int, int],
        out: Output,
    ) -> None:
        """Read one packet, as `PacketDecoder.decode` does."""
        self._decoder.decode(buf, start, stop, wire, link, where, out)

    @property
    def waiting(self) -> bool:
        """Whether IP fragments wait for the others of their datagram."""
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
    """Whether the packet `buf[start:stop]` can change the decoder's state, judged quickly."""
    if link == ETHERNET and stop - start >= 34:
        kind = buf[start + 12 : start + 14]
        if kind == b"\x08\x00":
            return bool(buf[start + 20] & 0x3F or buf[start + 21])
        if kind == b"\x86\xdd":
            return buf[start + 20] != 6
        return kind in (b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00") or kind < b"\x06\x00"
    return True
