"""From a captured packet to its TCP segment, through tunnels: IPv4 (RFC 791), IPv6 (RFC 8200), TCP (RFC 9293)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from .addresses import ipv4_text, ipv6_text
from .fragments import Fragments
from .link import ETHERNET, network
from .records import RST, ZERO_WINDOW, CaptureDamage, Packet, Segment
from .tunnels import AUTHENTICATION, CUT, DEEPEST, FRAME, IPV4, IPV6, NOT_IP, PROTOCOLS, TOO_DEEP, in_ip, is_tunnel

Output = list[Segment | CaptureDamage]
"""Collects the records of packets."""

_TCP: Final = 6
# Hop-by-hop, routing, destination, mobility, HIP, Shim6: the length is in units of 8 octets,
# without the first.
_EXTENSIONS: Final = frozenset({0, 43, 60, 135, 139, 140})
_FRAGMENT: Final = 44
_MAX_EXTENSIONS: Final = 32
_MAX_ADDRESSES: Final = 16384
MAX_SEGMENT: Final = 1 << 30
"""No window is larger (RFC 7323 section 2.3); a length left open by the IP header may claim more."""

_MORE_OR_OFFSET: Final = 0x3FFF
_ETHERTYPE_TO_TCP: Final = Struct(">HBxHxxHxBxx4s4sHHIIBBH").unpack_from
_IPV4_HEADER: Final = Struct(">BBHHHBBH4s4s").unpack_from
_IPV6_HEADER: Final = Struct(">IHBB16s16s").unpack_from
_TCP_HEADER: Final = Struct(">HHIIBBH").unpack_from


class PacketDecoder:
    """Turns captured packets of one file into segments; picklable.

    Holds IP fragments until their datagrams are complete. Counts the packets that may carry TCP but can't be read.
    """

    __slots__ = ("_addresses", "_depth", "_file", "_fragments", "_unread")

    def __init__(self, file: str = "") -> None:
        self._file = file
        self._addresses: dict[bytes, str] = {}
        self._fragments = Fragments()
        self._depth = 0
        self._unread: dict[str, tuple[int, Packet]] = {}

    def decode(
        self, buf: bytes, start: int, stop: int, wire: int, link: int, where: tuple[int, int, int], out: Output
    ) -> None:
        """Read the packet `buf[start:stop]`, of `wire` octets on the wire, into `out`.

        `where` holds the fields of a `Packet`. Packets other than TCP over IP add nothing. `link` must be in
        `LINK_TYPES`.
        """
        if link == ETHERNET and stop - start >= 54:
            (kind, version, total, fragment, protocol, src, dst, sport, dport, seq, ack, size, flags, window) = (
                _ETHERTYPE_TO_TCP(buf, start + 12)
            )
            header = 20 + (size >> 4) * 4
            if (
                kind == 0x0800
                and version == 0x45
                and protocol == _TCP
                and not fragment & _MORE_OR_OFFSET
                and size >= 0x50
                and total >= header
            ):
                names = self._addresses
                start += 14
                end = start + total
                out.append(
                    Segment(
                        where[0],
                        self._file,
                        where[1],
                        names.get(src) or self._name(src),
                        sport,
                        names.get(dst) or self._name(dst),
                        dport,
                        seq,
                        ack,
                        flags if window or flags & RST else flags | ZERO_WINDOW,
                        total - header,
                        buf[start + header : end if end < stop else stop],
                    )
                )
                return
        family, at, point = network(link, buf, start, stop)
        if family == NOT_IP:
            return
        self._network(family, buf, at, stop, start + max(wire, stop - start), Packet(*where), point, out)

    def pass_over(self, reason: str, packet: Packet, count: int = 1) -> None:
        """Count packets that aren't read."""
        before, first = self._unread.get(reason, (0, packet))
        self._unread[reason] = before + count, first

    def _network(
        self,
        family: int | str,
        buf: bytes,
        at: int,
        stop: int,
        end: int,
        packet: Packet,
        point: str,
        out: Output,
        header: str = "its link-layer header",
    ) -> None:
        """Read what a frame or tunnel carries."""
        if family == IPV4:
            self._ipv4(buf, at, stop, end, packet, point, out)
        elif family == IPV6:
            self._ipv6(buf, at, stop, end, packet, point, out)
        elif family == CUT or (family == FRAME and at >= stop):
            if stop < end:
                self._cut(packet, header, out)
        elif family == FRAME:
            # The networks inside of it are told apart by its own VLANs.
            inner, at, point = network(ETHERNET, buf, at, stop)
            if self._deeper(packet):
                self._network(inner, buf, at, stop, end, packet, point, out, header)
                self._depth -= 1
        elif isinstance(family, str):
            self.pass_over(family, packet)

    def _deeper(self, packet: Packet) -> bool:
        """Whether one more tunnel is read; `_depth` is to be taken back then."""
        if self._depth >= DEEPEST:
            self.pass_over(TOO_DEEP, packet)
            return False
        self._depth += 1
        return True

    def _carried(
        self, protocol: int, buf: bytes, at: int, stop: int, end: int, packet: Packet, point: str, out: Output
    ) -> None:
        """Read what a protocol other than TCP carries."""
        family, at = in_ip(protocol, buf, at, stop)
        if family == NOT_IP or not self._deeper(packet):
            return
        self._network(family, buf, at, stop, end, packet, point, out, "the header of its tunnel")
        self._depth -= 1

    @property
    def waiting(self) -> bool:
        """Whether fragments wait for the rest of their datagram."""
        return self._fragments.waiting

    def __getstate__(self) -> tuple[str, Fragments, dict[str, tuple[int, Packet]]]:
        return self._file, self._fragments, self._unread

    def __setstate__(self, state: tuple[str, Fragments, dict[str, tuple[int, Packet]]]) -> None:
        self._file, self._fragments, self._unread = state
        self._addresses = {}
        self._depth = 0

    @property
    def unread(self) -> bool:
        """Whether packets weren't read that may carry TCP."""
        return bool(self._unread)

    def report_unread(self, out: Output) -> None:
        """Report the packets that weren't read since the last report, by their reasons."""
        unread, self._unread = self._unread, {}
        for reason, (count, first) in unread.items():
            text = f"{count:,} packets aren't read: {reason}" if count > 1 else f"a packet isn't read: {reason}"
            self._damage(first, "not-read", text, out)

    def finish(self, out: Output) -> None:
        """Note the end of the file: report the incomplete IP datagrams."""
        for packet, text in self._fragments.finish():
            self._damage(packet, "incomplete-fragments", text, out)
        self.report_unread(out)

    def _ipv4(self, buf: bytes, at: int, stop: int, end: int, packet: Packet, point: str, out: Output) -> None:
        if stop - at < 20:
            if stop < end:
                self._cut(packet, "its IPv4 header", out)
            else:
                self._bad(packet, "an IPv4 header has 20 octets, but not so many are there", out)
            return
        protocol: int
        first: int
        first, _tos, total, ident, fragment, _ttl, protocol, _checksum, src, dst = _IPV4_HEADER(buf, at)
        header = (first & 15) * 4
        if first >> 4 != 4 or header < 20:
            self._bad(packet, f"0x{first:02x} can't begin an IPv4 header", out)
            return
        if protocol == AUTHENTICATION and at + header + 12 <= stop:
            protocol = buf[at + header]
            header += 4 * (buf[at + header + 1] + 2)
        fragmented = fragment & _MORE_OR_OFFSET
        if protocol != _TCP and protocol not in PROTOCOLS and (fragmented or not is_tunnel(protocol, buf, at + header)):
            return
        if total == 0:
            # The network card had to cut it into packets (segmentation offload): the record has the length.
            total = end - at
        if total < header:
            text = f"the IPv4 header has {header} octets, the whole datagram {total}"
            self._bad(packet, text, out)
            return
        body, end = at + header, at + total
        stop = min(stop, end)
        if not fragmented:
            if protocol == _TCP:
                self._tcp(buf, body, stop, end, src, dst, packet, point, out)
            else:
                self._carried(protocol, buf, body, stop, end, packet, point, out)
            return
        key = b"4" + src + dst + ident.to_bytes(2, "big") + point.encode()
        whole = self._fragments.add(
            key, (fragment & 0x1FFF) * 8, bool(fragment & 0x2000), buf[body:stop], end - body, protocol, packet
        )
        self._report_fragments(out)
        if whole is not None:
            data, size, protocol = whole
            if protocol == _TCP:
                self._tcp(data, 0, len(data), size, src, dst, packet, point, out)
            else:
                self._carried(protocol, data, 0, len(data), size, packet, point, out)

    def _ipv6(self, buf: bytes, at: int, stop: int, end: int, packet: Packet, point: str, out: Output) -> None:
        if stop - at < 40:
            if stop < end:
                self._cut(packet, "its IPv6 header", out)
            else:
                self._bad(packet, "an IPv6 header has 40 octets, but not so many are there", out)
            return
        first, length, kind, _hops, src, dst = _IPV6_HEADER(buf, at)
        if first >> 28 != 6:
            self._bad(packet, f"0x{first >> 24:02x} can't begin an IPv6 header", out)
            return
        if length:  # 0: a jumbogram, or left to segmentation offload
            end = at + 40 + length
            stop = min(stop, end)
        self._extensions(buf, at + 40, stop, end, kind, src, dst, packet, point, out)

    def _extensions(
        self,
        buf: bytes,
        at: int,
        stop: int,
        end: int,
        kind: int,
        src: bytes,
        dst: bytes,
        packet: Packet,
        point: str,
        out: Output,
    ) -> None:
        """Follow the extension headers from `at` to the TCP header (RFC 8200 section 4)."""
        for _ in range(_MAX_EXTENSIONS):
            if kind == _TCP:
                self._tcp(buf, at, stop, end, src, dst, packet, point, out)
                return
            if kind not in _EXTENSIONS and kind not in (_FRAGMENT, AUTHENTICATION):
                self._carried(kind, buf, at, stop, end, packet, point, out)
                return
            if at + 8 > stop:
                if stop < end:
                    self._cut(packet, "its IPv6 extension headers", out)
                else:
                    self._bad(packet, "an IPv6 extension header passes the packet's end", out)
                return
            following = buf[at]
            if kind == _FRAGMENT:
                field = int.from_bytes(buf[at + 2 : at + 4], "big")
                if field & 0xFFF9:
                    key = b"6" + src + dst + buf[at + 4 : at + 8] + point.encode()
                    self._ipv6_fragment(buf, at + 8, stop, end, key, field, following, src, dst, packet, point, out)
                    return
                at += 8
            elif kind == AUTHENTICATION:
                at += (buf[at + 1] + 2) * 4
            else:
                at += (buf[at + 1] + 1) * 8
            kind = following
        self._bad(packet, f"more than {_MAX_EXTENSIONS} IPv6 extension headers", out)

    def _ipv6_fragment(
        self,
        buf: bytes,
        at: int,
        stop: int,
        end: int,
        key: bytes,
        field: int,
        kind: int,
        src: bytes,
        dst: bytes,
        packet: Packet,
        point: str,
        out: Output,
    ) -> None:
        offset = field & 0xFFF8
        # The first fragment has the protocol; other fragments than TCP's aren't kept.
        if kind != _TCP and kind not in _EXTENSIONS and kind != AUTHENTICATION and kind not in PROTOCOLS:
            return
        whole = self._fragments.add(key, offset, bool(field & 1), buf[at:stop], end - at, kind, packet)
        self._report_fragments(out)
        if whole is not None:
            data, size, kind = whole
            self._extensions(data, 0, len(data), size, kind, src, dst, packet, point, out)

    def _tcp(
        self, buf: bytes, at: int, stop: int, end: int, src: bytes, dst: bytes, packet: Packet, point: str, out: Output
    ) -> None:
        if stop - at < 20:
            if stop < end:
                self._cut(packet, "its TCP header", out)
            else:
                self._bad(packet, "a TCP header has 20 octets, but not so many are there", out)
            return
        sport, dport, seq, ack, size, flags, window = _TCP_HEADER(buf, at)
        header = (size >> 4) * 4
        if header < 20 or at + header > end:
            self._bad(packet, f"a TCP header of {header} octets in {end - at}", out)
            return
        if end - at > MAX_SEGMENT:
            self._bad(packet, f"a TCP segment of {end - at} octets", out)
            return
        out.append(
            Segment(
                packet.ts_ns,
                self._file,
                packet.number,
                self._name(src),
                sport,
                self._name(dst),
                dport,
                seq,
                ack,
                flags if window or flags & RST else flags | ZERO_WINDOW,
                end - at - header,
                buf[at + header : stop],
                point,
            )
        )

    def _name(self, raw: bytes) -> str:
        names = self._addresses
        name = names.get(raw)
        if name is None:
            if len(names) >= _MAX_ADDRESSES:
                names.clear()
            name = ipv4_text(raw) if len(raw) == 4 else ipv6_text(raw)
            names[raw] = name
        return name

    def _report_fragments(self, out: Output) -> None:
        for packet, text in self._fragments.given_up():
            self._damage(packet, "incomplete-fragments", text, out)

    def _cut(self, packet: Packet, what: str, out: Output) -> None:
        self._damage(packet, "truncated-packet", f"the snap length cut {what}", out)

    def _bad(self, packet: Packet, text: str, out: Output) -> None:
        self._damage(packet, "bad-packet", text, out)

    def _damage(self, packet: Packet, kind: str, text: str, out: Output) -> None:
        out.append(CaptureDamage(self._file, packet.number, packet.ts_ns, packet.offset, kind, text))
