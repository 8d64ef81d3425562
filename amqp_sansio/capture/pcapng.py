"""The pcapng file format: sections, interfaces, packet blocks (draft-ietf-opsawg-pcapng)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from .ip import Output, PacketDecoder
from .link import LEAST, LINK_TYPES
from .parser import UNKNOWN_LINK, Interface, Parser, PcapngLayout, may_be_fragment
from .records import Packet

SECTION: Final = b"\x0a\x0d\x0d\x0a"
BYTE_ORDER_BIG: Final = b"\x1a\x2b\x3c\x4d"
BYTE_ORDER_LITTLE: Final = b"\x4d\x3c\x2b\x1a"

_SECTION_TYPE: Final = 0x0A0D0D0A
_INTERFACE: Final = 1
_OLD_PACKET: Final = 2
_SIMPLE_PACKET: Final = 3
_ENHANCED_PACKET: Final = 6
_IF_TSRESOL: Final = 9
_IF_TSOFFSET: Final = 14

MAX_BLOCK: Final = 16 * 1024 * 1024
"""A block with a greater length counts as damage."""
_MAX_INTERFACES: Final = 65_536
_MAX_LAYOUT: Final = 1024
"""A section with more interfaces isn't plain: describing them costs more than it saves."""
_MIN_SECTION: Final = 28
_STANDARD: Final = frozenset({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0x0BAD, 0x4000_0BAD, _SECTION_TYPE})
"""The block types that the format assigns, except those for local use."""
_INT64: Final = 1 << 63


class _Order:
    """The readers of one byte order."""

    __slots__ = ("block", "enhanced", "name", "old", "option", "word")

    def __init__(self, sign: str, name: str) -> None:
        self.name = name
        self.block = Struct(sign + "II").unpack_from
        self.word = Struct(sign + "I").unpack_from
        self.option = Struct(sign + "HH").unpack_from
        self.enhanced = Struct(sign + "IIIII").unpack_from
        self.old = Struct(sign + "HHIIII").unpack_from


_BIG: Final = _Order(">", "big")
_LITTLE: Final = _Order("<", "little")

# link type, snap length, time = units * multiplier // divisor + offset (nanoseconds)
_Interface = tuple[int, int, int, int, int]


class PcapngParser(Parser):
    """Reads one pcapng file, of any number of sections."""

    __slots__ = ("_at_end", "_big", "_interfaces", "_silent")

    def __init__(self, file: str) -> None:
        super().__init__(file)
        self._at_end = False  # nothing follows the input of `parse`
        self._big = False
        self._interfaces: list[_Interface] = []
        self._silent: list[bool] = []  # interfaces reported as unreadable
        self.need = 12

    def parse(self, buf: bytes, out: Output, decode: bool) -> int:
        """Read the complete blocks in `buf`; return the number of their octets."""
        return self._walk(buf, 0, out, decode)

    def _walk(self, buf: bytes, pos: int, out: Output, decode: bool) -> int:
        """Read the complete blocks in `buf` from `pos` on, at `offset` of the file; return where the rest begins."""
        end = len(buf)
        base = self.offset - pos
        order = _BIG if self._big else _LITTLE
        while True:
            if self._lost_at >= 0:
                found = find_section(buf, pos)
                if found < 0:
                    pos = max(pos, end - _MIN_SECTION + 1)
                    need = _MIN_SECTION
                    break
                pos = found
                self._found(base + pos, out)
            if end - pos < 12:
                need = 12
                break
            if buf[pos : pos + 4] == SECTION:
                magic = buf[pos + 8 : pos + 12]
                if magic not in (BYTE_ORDER_BIG, BYTE_ORDER_LITTLE):
                    self._lose(base + pos, f"a section with the byte order {magic.hex()}")
                    pos += 4
                    continue
                self._big = magic == BYTE_ORDER_BIG
                order = _BIG if self._big else _LITTLE
                self._interfaces = []
                self._silent = []
            kind, length = order.block(buf, pos)
            if length < 12 or length & 3 or length > MAX_BLOCK:
                self._lose(base + pos, f"a block of type {kind} with the length {length}")
                pos += 4
                continue
            if pos + length > end:
                need = length
                break
            (trailer,) = order.word(buf, pos + length - 4)
            if trailer != length:
                why = f"a block of type {kind} with the lengths {length} and {trailer}"
                self._lose(base + pos, why)
                pos += 4
                continue
            if buf.find(SECTION, pos + 4, pos + length - 4) >= 0:
                # A capture inside of a packet, or a cut block whose length happens to fit. The search is limited to the
                # size of a section header that begins in the block, so that the result doesn't depend on how the input
                # is cut.
                following = pos + length
                seen = following + _MIN_SECTION
                if seen > end and not self._at_end:
                    need = length + _MIN_SECTION
                    break
                if not _plausible(order, buf, following) and (find_section(buf, pos + 4, following - 4, seen) >= 0):
                    self._lose(base + pos, f"a block of type {kind} that was cut short")
                    pos += 4
                    continue
            if kind == _ENHANCED_PACKET:
                self._enhanced(order, buf, pos, length, base + pos, out, decode)
            elif kind == _SECTION_TYPE:
                if not self._section(order, buf, pos, length, base + pos):
                    pos += 4
                    continue
            elif kind == _INTERFACE:
                self._interface(order, buf, pos, length, base + pos, out)
            elif kind == _SIMPLE_PACKET:
                self._simple(order, buf, pos, length, base + pos, out, decode)
            elif kind == _OLD_PACKET:
                self._old(order, buf, pos, length, base + pos, out, decode)
            pos += length
        self.offset = base + pos
        self.need = need
        return pos

    def layout(self) -> PcapngLayout | None:
        """Return the layout of the blocks at `offset`; None if they need `parse`."""
        if self._lost_at >= 0 or len(self._interfaces) > _MAX_LAYOUT:
            return None
        interfaces = [
            Interface(link, multiplier, divisor, offset_ns, link in LINK_TYPES, silent)
            for (link, _, multiplier, divisor, offset_ns), silent in zip(self._interfaces, self._silent, strict=True)
        ]
        return PcapngLayout(self._big, tuple(interfaces))

    def finish(self, rest: bytes, out: Output) -> None:
        """Note the end of the file; `rest` is the part that `parse` left."""
        self._at_end = True
        pos = self._walk(rest, 0, out, True)
        while pos < len(rest) and self._lost_at < 0:
            # A recording that was cut and then appended to: the cut block's length covers the next section.
            found = find_section(rest, pos + 4)
            if found < 0:
                text = f"the file ends inside of a block, after {len(rest) - pos} of at least {self.need} octets"
                self.damage(self.offset, "truncated-file", text, out)
                break
            self._lose(self.offset, "a block that was cut short")
            self.offset += found - pos
            pos = self._walk(rest, found, out, True)
        if self._lost_at >= 0:
            self._found(self.offset + len(rest) - pos, out)
        self._decoder.finish(out)

    def _section(self, order: _Order, buf: bytes, pos: int, length: int, at: int) -> bool:
        if length < _MIN_SECTION:
            self._lose(at, f"a section header of {length} octets")
            return False
        major, minor = order.option(buf, pos + 12)
        if major != 1:
            self._lose(at, f"a section of pcapng version {major}.{minor}, not 1.x")
            return False
        return True

    def _interface(self, order: _Order, buf: bytes, pos: int, length: int, at: int, out: Output) -> None:
        if length < 20 or len(self._interfaces) >= _MAX_INTERFACES:
            text = f"interface {len(self._interfaces)} in a block of {length} octets"
            self.damage(at, "bad-block", text, out)
            return
        link, _ = order.option(buf, pos + 8)
        (snaplen,) = order.word(buf, pos + 12)
        multiplier, divisor, offset_ns = 1000, 1, 0
        options, whole = read_options(order, buf, pos + 16, pos + length - 4)
        if not whole:
            text = f"the options of interface {len(self._interfaces)} pass the block's end"
            self.damage(at, "bad-block", text, out)
        for code, value in options:
            if code == _IF_TSRESOL and len(value) == 1:
                multiplier, divisor = _resolution(value[0])
            elif code == _IF_TSOFFSET and len(value) == 8:
                seconds = int.from_bytes(value, "big" if self._big else "little", signed=True)
                offset_ns = seconds * 1_000_000_000
        self._interfaces.append((link, snaplen, multiplier, divisor, offset_ns))
        self._silent.append(False)

    def _enhanced(self, order: _Order, buf: bytes, pos: int, length: int, at: int, out: Output, decode: bool) -> None:
        if length < 32:
            self._bad_packet(f"an enhanced packet block of {length} octets", at, out)
            return
        interface, high, low, captured, wire = order.enhanced(buf, pos + 8)
        if captured > length - 32:
            text = f"a packet of {captured} octets in a block of {length}"
            self._bad_packet(text, at, out)
            return
        units = high << 32 | low
        self._packet(buf, pos + 28, captured, wire, interface, units, at, out, decode)

    def _old(self, order: _Order, buf: bytes, pos: int, length: int, at: int, out: Output, decode: bool) -> None:
        if length < 32:
            self._bad_packet(f"a packet block of {length} octets", at, out)
            return
        interface, _drops, high, low, captured, wire = order.old(buf, pos + 8)
        if captured > length - 32:
            self._bad_packet(f"a packet of {captured} octets in a block of {length}", at, out)
            return
        units = high << 32 | low
        self._packet(buf, pos + 28, captured, wire, interface, units, at, out, decode)

    def _simple(self, order: _Order, buf: bytes, pos: int, length: int, at: int, out: Output, decode: bool) -> None:
        if length < 16:
            self._bad_packet(f"a simple packet block of {length} octets", at, out)
            return
        (wire,) = order.word(buf, pos + 8)
        captured = min(wire, length - 16)
        if self._interfaces and self._interfaces[0][1]:
            captured = min(captured, self._interfaces[0][1])
        self._packet(buf, pos + 12, captured, wire, 0, None, at, out, decode)

    def _packet(
        self,
        buf: bytes,
        start: int,
        captured: int,
        wire: int,
        interface: int,
        units: int | None,
        at: int,
        out: Output,
        decode: bool,
    ) -> None:
        """Give a packet to the decoder; without a time (`units` None) it gets the last one's."""
        if interface >= len(self._interfaces):
            self._bad_packet(f"a packet of interface {interface}, which isn't described", at, out)
            return
        link, _, multiplier, divisor, offset_ns = self._interfaces[interface]
        if units is not None:
            ts_ns = units * multiplier
            if divisor != 1:
                ts_ns //= divisor
            ts_ns += offset_ns
            if -_INT64 <= ts_ns < _INT64:
                self.ts_ns = ts_ns
            else:
                text = "a packet whose time is out of range; it gets that of the one before"
                self.damage(at, "bad-block", text, out)
        if link not in LINK_TYPES:
            if not self._silent[interface]:
                self._silent[interface] = True
                text = f"link type {link} of interface {interface} is not known"
                self.damage(at, "unknown-link-type", text, out)
            self._decoder.pass_over(UNKNOWN_LINK, Packet(self.ts_ns, self.packet, at))
        elif captured < LEAST[link] and wire <= captured:
            pass
        elif decode or may_be_fragment(buf, start, start + captured, link):
            decoder: PacketDecoder = self._decoder
            where = (self.ts_ns, self.packet, at)
            decoder.decode(buf, start, start + captured, wire, link, where, out)
        self.packet += 1

    def _bad_packet(self, text: str, at: int, out: Output) -> None:
        self.damage(at, "bad-block", text, out)
        self.packet += 1


def find_section(buf: bytes, start: int, stop: int | None = None, end: int | None = None) -> int:
    """Return where the next section header block begins in `buf[start:stop]`; -1: nowhere.

    Its first octets, which identify it, must be before `end`.
    """
    size = len(buf) if end is None else min(end, len(buf))
    last = size if stop is None else stop
    while True:
        at = buf.find(SECTION, start, last)
        if at < 0 or at + _MIN_SECTION > size:
            return -1
        magic = buf[at + 8 : at + 12]
        if magic in (BYTE_ORDER_BIG, BYTE_ORDER_LITTLE):
            order = _BIG if magic == BYTE_ORDER_BIG else _LITTLE
            _, length = order.block(buf, at)
            major, _ = order.option(buf, at + 12)
            if _MIN_SECTION <= length <= MAX_BLOCK and not length & 3 and major == 1:
                return at
        start = at + 1


def _plausible(order: _Order, buf: bytes, pos: int) -> bool:
    """Whether a block may begin at `pos`."""
    if pos + 8 > len(buf):
        return True
    kind, length = order.block(buf, pos)
    if length < 12 or length & 3 or length > MAX_BLOCK:
        return buf[pos : pos + 4] == SECTION
    return kind in _STANDARD or kind >= 0x8000_0000


def read_options(order: _Order, buf: bytes, pos: int, stop: int) -> tuple[list[tuple[int, bytes]], bool]:
    """Return the options in `buf[pos:stop]`, and whether the list was well-formed."""
    result: list[tuple[int, bytes]] = []
    while stop - pos >= 4:
        code, length = order.option(buf, pos)
        if code == 0:
            return result, True
        pos += 4
        if pos + length > stop:
            return result, False
        result.append((code, buf[pos : pos + length]))
        pos += (length + 3) & ~3
    return result, pos >= stop


def _resolution(value: int) -> tuple[int, int]:
    if value & 0x80:
        return 1_000_000_000, 1 << (value & 0x7F)
    if value <= 9:
        return 10 ** (9 - value), 1
    return 1, 10 ** (value - 9)
