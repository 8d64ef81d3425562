"""Link layers: where the IP header of a captured packet begins.

The link types are those of www.tcpdump.org/linktypes.html.
"""

from __future__ import annotations

from typing import Final

from .tunnels import CUT, ETHERTYPES, IPV4, IPV6, NOT_IP, mpls, ppp, pppoe, typed

NULL: Final = 0
ETHERNET: Final = 1
PPP: Final = 9
PPP_HDLC: Final = 50
PPP_ETHER: Final = 51
RAW: Final = 101
CISCO_HDLC: Final = 104
LOOP: Final = 108
LINUX_SLL: Final = 113
RAW_IPV4: Final = 228
RAW_IPV6: Final = 229
MPLS: Final = 219
LINUX_SLL2: Final = 276

# Some BSD systems write 12 and 14 for RAW.
_RAW: Final = frozenset({RAW, 12, 14, RAW_IPV4, RAW_IPV6})
_LOOPBACK: Final = frozenset({NULL, LOOP})
# offset of the EtherType, length of the header
_TYPED: Final = {ETHERNET: (12, 14), LINUX_SLL: (14, 16), LINUX_SLL2: (0, 20), CISCO_HDLC: (2, 4)}
_OTHERS: Final = {PPP: ppp, PPP_HDLC: ppp, PPP_ETHER: pppoe, MPLS: mpls}

LINK_TYPES: Final = _RAW | _LOOPBACK | frozenset(_TYPED) | frozenset(_OTHERS)
"""The supported link types."""

LEAST: Final = {
    **{link: 1 for link in (*_RAW, *_OTHERS)},
    **{link: 4 for link in _LOOPBACK},
    **{link: header for link, (_, header) in _TYPED.items()},
}
"""Fewest octets that identify a packet's content, by link type: a shorter, uncut one isn't IP."""

_VLAN: Final = frozenset({0x8100, 0x88A8, 0x9100, 0x9200})
_IPV4: Final = 0x0800
_IPV6: Final = 0x86DD
_SNAP: Final = b"\xaa\xaa\x03\0\0\0"
# AF_INET6 of Linux, of NetBSD and OpenBSD, of FreeBSD, of Darwin; AF_INET is 2 everywhere.
_AF_INET6: Final = frozenset({10, 24, 28, 30})
_AF_INET: Final = 2
_MAX_TAGS: Final = 8


def network(link: int, buf: bytes, start: int, stop: int) -> tuple[int | str, int, str]:
    """Find the network layer of the packet in `buf[start:stop]`.

    Returns its kind (`IPV4`, `IPV6`, `NOT_IP`, `CUT`, `tunnels.FRAME`, or a text about what can't be read), the offset
    of its first octet, and the VLAN as a segment's `point`. `link` must be one of `LINK_TYPES`.
    """
    if link in _RAW:
        return _by_version(buf, start, stop)
    if link in _OTHERS:
        return *_OTHERS[link](buf, start, stop), ""
    if link in _LOOPBACK:
        return _loopback(buf, start, stop)
    where, header = _TYPED[link]
    at = start + header
    if at > stop:
        return CUT, stop, ""
    kind = int.from_bytes(buf[start + where : start + where + 2], "big")
    point = ""
    if kind in _VLAN:
        kind, at, point = _tags(buf, at, stop)
    if kind == CUT:
        return CUT, stop, point
    if kind < 0x0600 and link == ETHERNET and _SNAP.startswith(buf[at : min(at + 6, stop)]):
        # An IEEE 802.3 length: the EtherType follows LLC and SNAP headers.
        if at + 8 > stop:
            return CUT, stop, point
        kind = int.from_bytes(buf[at + 6 : at + 8], "big")
        at += 8
    if kind == _IPV4:
        return IPV4, at, point
    if kind == _IPV6:
        return IPV6, at, point
    if kind in ETHERTYPES:
        return *typed(kind, buf, at, stop), point
    return NOT_IP, at, point


def _tags(buf: bytes, at: int, stop: int) -> tuple[int, int, str]:
    """Read VLAN tags (IEEE 802.1Q, 802.1ad); return the type after them, the offset of its data, and the point."""
    names: list[str] = []
    for _ in range(_MAX_TAGS):
        if at + 4 > stop:
            return CUT, stop, ""
        vlan = int.from_bytes(buf[at : at + 2], "big") & 0x0FFF
        kind = int.from_bytes(buf[at + 2 : at + 4], "big")
        at += 4
        if vlan:  # 0 is only a priority
            names.append(str(vlan))
        if kind not in _VLAN:
            return kind, at, "vlan" + ".".join(names) if names else ""
    return NOT_IP, at, ""


def _by_version(buf: bytes, at: int, stop: int) -> tuple[int, int, str]:
    if at >= stop:
        return CUT, stop, ""
    version = buf[at] >> 4
    return version if version in (IPV4, IPV6) else NOT_IP, at, ""


def _loopback(buf: bytes, at: int, stop: int) -> tuple[int, int, str]:
    if at + 4 > stop:
        return CUT, stop, ""
    # NULL has the byte order of the capturing machine, LOOP that of the network; no family is above 255.
    family = int.from_bytes(buf[at : at + 4], "little")
    if family > 0xFFFF:
        family = int.from_bytes(buf[at : at + 4], "big")
    if family == _AF_INET:
        return IPV4, at + 4, ""
    if family in _AF_INET6:
        return IPV6, at + 4, ""
    return NOT_IP, at + 4, ""
