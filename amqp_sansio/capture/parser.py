"""What the parsers of both file formats share: position, damage, and being lost after it."""

from __future__ import annotations

from .ip import Output, PacketDecoder
from .link import ETHERNET
from .records import CaptureDamage


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
