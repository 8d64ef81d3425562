"""Every way to carry an IP packet that a reader of captures unwraps: the packet in, a frame of a link type out."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from ipaddress import ip_address
from typing import Final

from amqp_sansio.capture import Segment
from tests.kit.packets import ethernet, ipv4, ipv6, pcap, tcp

ETHERNET, PPP, PPP_HDLC, PPP_ETHER, CISCO_HDLC, MPLS, SLL, SLL2 = 1, 9, 50, 51, 104, 219, 113, 276
_PPP_IP: Final = {4: b"\x00\x21", 6: b"\x00\x57"}
_TYPE: Final = {4: 0x0800, 6: 0x86DD}


def _version(packet: bytes) -> int:
    return packet[0] >> 4


def frame(packet: bytes) -> bytes:
    """An Ethernet frame with an IP packet."""
    return ethernet(packet, kind=_TYPE[_version(packet)])


def udp(payload: bytes, port: int) -> bytes:
    return struct.pack(">HHHH", 49_152, port, 8 + len(payload), 0) + payload


def gre(payload: bytes, kind: int, *, key: bytes = b"", number: bytes = b"", checksum: bytes = b"") -> bytes:
    flags = (0x8000 if checksum else 0) | (0x2000 if key else 0) | (0x1000 if number else 0)
    return struct.pack(">HH", flags, kind) + checksum + key + number + payload


def labels(*numbers: int) -> bytes:
    """A stack of MPLS labels."""
    last = len(numbers) - 1
    return b"".join(
        [struct.pack(">I", each << 12 | (0x100 if at == last else 0) | 64) for at, each in enumerate(numbers)]
    )


def _outer(payload: bytes, protocol: int) -> bytes:
    return frame(ipv4(payload, src="192.0.2.1", dst="192.0.2.2", protocol=protocol))


def _outer_6(payload: bytes, protocol: int) -> bytes:
    return frame(ipv6(payload, src="2001:db8:1::1", dst="2001:db8:1::2", following=protocol))


def _fragmented(packet: bytes) -> tuple[bytes, ...]:
    """GRE in two fragments of IPv4."""
    payload = gre(packet, _TYPE[_version(packet)])
    half = 16
    return (
        frame(ipv4(payload[:half], src="192.0.2.1", dst="192.0.2.2", protocol=47, ident=len(payload), more=True)),
        frame(ipv4(payload[half:], src="192.0.2.1", dst="192.0.2.2", protocol=47, ident=len(payload), offset=half)),
    )


_VXLAN: Final = b"\x08\0\0\0\0\x12\x34\0"
_ERSPAN_2: Final = b"\x10\x01\x08\x64\0\0\0\x05"
_NUMBER: Final = b"\0\0\0\x09"
_KEY: Final = b"\0\0\0\x07"


def _erspan_3(packet: bytes, *, more: bool = False, raw: bool = False) -> bytes:
    word = (2 << 10 if raw else 0) | more
    head = b"\x20\x01\x08\x64" + bytes(6) + struct.pack(">H", word) + (bytes(8) if more else b"")
    return _outer(gre(head + (packet if raw else frame(packet)), 0x22EB, number=_NUMBER), 47)


def _geneve(packet: bytes, options: bytes = b"", *, raw: bool = False) -> bytes:
    kind = _TYPE[_version(packet)] if raw else 0x6558
    head = struct.pack(">BBHI", len(options) // 4, 0, kind, 0x100)
    return _outer(udp(head + options + (packet if raw else frame(packet)), 6081), 17)


def _gtp(packet: bytes, flags: int = 0x30, more: bytes = b"") -> bytes:
    return _outer(udp(struct.pack(">BBHI", flags, 255, len(packet) + len(more), 0x1234) + more + packet, 2152), 17)


def _nested(packet: bytes, depth: int) -> bytes:
    for _ in range(depth):
        packet = ipv4(packet, src="192.0.2.1", dst="192.0.2.2", protocol={4: 4, 6: 41}[_version(packet)])
    return frame(packet)


Wrap = Callable[[bytes], "bytes | tuple[bytes, ...]"]
TUNNELS: Final[dict[str, tuple[int, Wrap]]] = {
    "plain": (ETHERNET, frame),
    "GRE": (ETHERNET, lambda ip: _outer(gre(ip, _TYPE[_version(ip)]), 47)),
    "GRE with a key": (ETHERNET, lambda ip: _outer(gre(ip, _TYPE[_version(ip)], key=_KEY), 47)),
    "GRE with all": (
        ETHERNET,
        lambda ip: _outer(gre(ip, _TYPE[_version(ip)], key=_KEY, number=_NUMBER, checksum=bytes(4)), 47),
    ),
    "GRE with Ethernet": (ETHERNET, lambda ip: _outer(gre(frame(ip), 0x6558, key=_KEY), 47)),
    "GRE over IPv6": (ETHERNET, lambda ip: _outer_6(gre(ip, _TYPE[_version(ip)]), 47)),
    "GRE with MPLS": (ETHERNET, lambda ip: _outer(gre(labels(16) + ip, 0x8847), 47)),
    "GRE in fragments": (ETHERNET, _fragmented),
    "PPTP": (
        ETHERNET,
        lambda ip: _outer(
            struct.pack(">HHHHII", 0x3081, 0x880B, len(ip) + 2, 1, 1, 1) + _PPP_IP[_version(ip)] + ip, 47
        ),
    ),
    "ERSPAN I": (ETHERNET, lambda ip: _outer(gre(frame(ip), 0x88BE), 47)),
    "ERSPAN II": (ETHERNET, lambda ip: _outer(gre(_ERSPAN_2 + frame(ip), 0x88BE, number=_NUMBER), 47)),
    "ERSPAN III": (ETHERNET, _erspan_3),
    "ERSPAN III with a subheader": (ETHERNET, lambda ip: _erspan_3(ip, more=True)),
    "ERSPAN III with IP": (ETHERNET, lambda ip: _erspan_3(ip, raw=True)),
    "VXLAN": (ETHERNET, lambda ip: _outer(udp(_VXLAN + frame(ip), 4789), 17)),
    "VXLAN of Linux": (ETHERNET, lambda ip: _outer(udp(_VXLAN + frame(ip), 8472), 17)),
    "VXLAN over IPv6": (ETHERNET, lambda ip: _outer_6(udp(_VXLAN + frame(ip), 4789), 17)),
    "VXLAN GPE": (
        ETHERNET,
        lambda ip: _outer(udp(bytes((0x0C, 0, 0, {4: 1, 6: 2}[_version(ip)])) + bytes(4) + ip, 4790), 17),
    ),
    "Geneve": (ETHERNET, _geneve),
    "Geneve with options": (ETHERNET, lambda ip: _geneve(ip, bytes(8))),
    "Geneve with IP": (ETHERNET, lambda ip: _geneve(ip, raw=True)),
    "GTP-U": (ETHERNET, _gtp),
    "GTP-U with a number": (ETHERNET, lambda ip: _gtp(ip, 0x32, bytes(4))),
    "GTP-U with an extension": (ETHERNET, lambda ip: _gtp(ip, 0x34, bytes(3) + b"\x85\x01\0\0\0")),
    "IP in IP": (ETHERNET, lambda ip: _nested(ip, 1)),
    "IP in IP, eight times": (ETHERNET, lambda ip: _nested(ip, 8)),
    "IP in IPv6": (ETHERNET, lambda ip: _outer_6(ip, {4: 4, 6: 41}[_version(ip)])),
    "EtherIP": (ETHERNET, lambda ip: _outer(b"\x30\0" + frame(ip), 97)),
    "AH": (ETHERNET, lambda ip: _outer(bytes(({4: 4, 6: 41}[_version(ip)], 4)) + bytes(22) + ip, 51)),
    "MPLS": (ETHERNET, lambda ip: ethernet(labels(16) + ip, kind=0x8847)),
    "MPLS, two labels on a VLAN": (ETHERNET, lambda ip: ethernet(labels(16, 17) + ip, kind=0x8847, tags=[(0x8100, 5)])),
    "MPLS with Ethernet": (ETHERNET, lambda ip: ethernet(labels(16) + bytes(4) + frame(ip), kind=0x8847)),
    "MPLS in UDP": (ETHERNET, lambda ip: _outer(udp(labels(16) + ip, 6635), 17)),
    "MPLS in IP": (ETHERNET, lambda ip: _outer(labels(16) + ip, 137)),
    "PPPoE": (
        ETHERNET,
        lambda ip: ethernet(struct.pack(">BBHH", 0x11, 0, 1, len(ip) + 2) + _PPP_IP[_version(ip)] + ip, kind=0x8864),
    ),
    "PPPoE on a VLAN": (
        ETHERNET,
        lambda ip: ethernet(
            struct.pack(">BBHH", 0x11, 0, 1, len(ip) + 2) + _PPP_IP[_version(ip)] + ip, kind=0x8864, tags=[(0x8100, 7)]
        ),
    ),
    "link PPP": (PPP, lambda ip: b"\xff\x03" + _PPP_IP[_version(ip)] + ip),
    "link PPP, compressed": (PPP, lambda ip: _PPP_IP[_version(ip)][1:] + ip),
    "link PPP in HDLC": (PPP_HDLC, lambda ip: b"\xff\x03" + _PPP_IP[_version(ip)] + ip),
    "link PPPoE": (PPP_ETHER, lambda ip: struct.pack(">BBHH", 0x11, 0, 1, len(ip) + 2) + _PPP_IP[_version(ip)] + ip),
    "link Cisco HDLC": (CISCO_HDLC, lambda ip: b"\x0f\0" + struct.pack(">H", _TYPE[_version(ip)]) + ip),
    "link MPLS": (MPLS, lambda ip: labels(16) + ip),
    "link any with MPLS": (SLL, lambda ip: bytes(14) + b"\x88\x47" + labels(16) + ip),
    "link any 2 with PPPoE": (
        SLL2,
        lambda ip: b"\x88\x64" + bytes(18) + struct.pack(">BBHH", 0x11, 0, 1, len(ip) + 2) + _PPP_IP[_version(ip)] + ip,
    ),
}
"""Of each tunnel the link type of its frames, and what makes them of an IP packet."""
UNREAD: Final[dict[str, tuple[int, Wrap, str]]] = {
    "ESP": (ETHERNET, lambda ip: _outer(ip, 50), "ESP"),
    "ESP over IPv6": (ETHERNET, lambda ip: _outer_6(ip, 50), "ESP"),
    "L2TP": (ETHERNET, lambda ip: _outer(udp(ip, 1701), 17), "L2TP"),
    "WireGuard": (ETHERNET, lambda ip: _outer(udp(ip, 51820), 17), "WireGuard"),
    "MACsec": (ETHERNET, lambda ip: ethernet(ip, kind=0x88E5), "MACsec"),
    "GRE with another type": (ETHERNET, lambda ip: _outer(gre(ip, 0x1234), 47), "0x1234"),
    "compressed PPP": (PPP, lambda ip: b"\xff\x03\x00\xfd" + ip, "compressed"),
    "IP in IP, nine times": (ETHERNET, lambda ip: _nested(ip, 9), "more than 8"),
    "another link type": (147, lambda ip: ip, "link type"),
}
"""What isn't read, and a word of what is said of it."""


def packet_of(segment: Segment) -> bytes:
    """The IP packet of a segment."""
    octets = tcp(
        segment.seq,
        segment.ack,
        segment.payload,
        flags=segment.flags & 0xFF,
        sport=segment.sport,
        dport=segment.dport,
        window=0 if segment.flags & 0x1000 else 512,
    )
    made = ipv4 if ip_address(segment.src).version == 4 else ipv6
    return made(octets, src=segment.src, dst=segment.dst)


def wrapped(segments: Iterable[Segment], link: int, wrap: Wrap) -> bytes:
    """A pcap file of the segments, each in its tunnel; those that the capture cut are cut on the wire too."""
    packets: list[tuple[int, int, bytes]] = []
    for each in segments:
        found = wrap(packet_of(each))
        seconds, ns = divmod(each.ts_ns, 1_000_000_000)
        packets += [(seconds, ns, octets) for octets in ((found,) if isinstance(found, bytes) else found)]
    return pcap(packets, magic=0xA1B23C4D, link=link)
