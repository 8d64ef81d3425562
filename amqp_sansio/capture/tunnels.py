"""Tunnels: what is carried by a packet that isn't TCP over IP, and where it begins.

GRE (RFC 2784, 2890) with IP, Ethernet or MPLS, ERSPAN types I to III in it, IP in IP (RFC 2003, 2473, 4213), EtherIP
(RFC 3378), AH (RFC 4302), MPLS (RFC 3032, 4023, 4385, 7510), PPP (RFC 1661) and PPPoE (RFC 2516), VXLAN (RFC 7348) and
its generic protocol extension, Geneve (RFC 8926), GTP-U (3GPP TS 29.281).

Each function takes the octets `buf[at:stop]` and returns what they carry: a family, and the offset of its first octet.
A text instead of a family says what can't be read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

IPV4: Final = 4
IPV6: Final = 6
NOT_IP: Final = 0
CUT: Final = -1
"""The packet was captured too short to tell its content."""
FRAME: Final = 1
"""An Ethernet frame."""

Carried: TypeAlias = tuple[int | str, int]

DEEPEST: Final = 8
"""Most tunnels in one another."""
TOO_DEEP: Final = f"more than {DEEPEST} tunnels in one another"
_MOST_LABELS: Final = 16
_MOST_EXTENSIONS: Final = 8

ETHERTYPE_MPLS: Final = 0x8847
_MPLS_UPSTREAM: Final = 0x8848
ETHERTYPE_PPPOE: Final = 0x8864
_BRIDGED: Final = 0x6558
_ERSPAN: Final = 0x88BE
_ERSPAN_3: Final = 0x22EB
_IP: Final = {0x0800: IPV4, 0x86DD: IPV6}
_UNREAD_TYPES: Final = {
    0x88E5: "MACsec, which is encrypted",
    0x88E7: "provider backbone bridges (IEEE 802.1ah)",
    0x894F: "network service headers (RFC 8300)",
    0x22F3: "TRILL (RFC 6325)",
}
ETHERTYPES: Final = frozenset({ETHERTYPE_MPLS, _MPLS_UPSTREAM, ETHERTYPE_PPPOE, *_UNREAD_TYPES})
"""EtherTypes of what may carry IP."""


def typed(kind: int, buf: bytes, at: int, stop: int) -> Carried:
    """Return what an EtherType announces, one of `ETHERTYPES` or IP's."""
    if kind in _IP:
        return _IP[kind], at
    if kind in (ETHERTYPE_MPLS, _MPLS_UPSTREAM):
        return mpls(buf, at, stop)
    if kind == ETHERTYPE_PPPOE:
        return pppoe(buf, at, stop)
    return _UNREAD_TYPES.get(kind, NOT_IP), at


def mpls(buf: bytes, at: int, stop: int) -> Carried:
    """Return what is below a stack of labels: it says so itself, by the first four bits."""
    for _ in range(_MOST_LABELS):
        if at + 4 > stop:
            return CUT, at
        last = buf[at + 2] & 1
        at += 4
        if last:
            return _pseudowire(buf, at, stop)
    return f"more than {_MOST_LABELS} labels of MPLS", at


def _pseudowire(buf: bytes, at: int, stop: int) -> Carried:
    if at >= stop:
        return CUT, at
    first = buf[at] >> 4
    if first in (IPV4, IPV6):
        return first, at
    if first == 0:
        return FRAME, at + 4  # behind a control word
    if first == 1:
        return NOT_IP, at  # an associated channel
    return "MPLS with neither IP nor a control word and Ethernet", at


def pppoe(buf: bytes, at: int, stop: int) -> Carried:
    """Return what a PPPoE session carries."""
    if at + 6 > stop:
        return CUT, at
    if buf[at] != 0x11 or buf[at + 1]:
        return NOT_IP, at
    return ppp(buf, at + 6, stop)


def ppp(buf: bytes, at: int, stop: int) -> Carried:
    """Return what a PPP frame carries; address, control, and the protocol's first octet may be compressed."""
    if buf[at : min(at + 2, stop)] == b"\xff\x03":
        at += 2
    if at >= stop or (at + 2 > stop and not buf[at] & 1):
        return CUT, at
    size = 1 if buf[at] & 1 else 2
    protocol = int.from_bytes(buf[at : at + size], "big")
    at += size
    if protocol == 0x0021:
        return IPV4, at
    if protocol == 0x0057:
        return IPV6, at
    if protocol == 0x0281:
        return mpls(buf, at, stop)
    if protocol == 0x003D:
        return "multilink PPP (RFC 1990)", at
    if protocol in (0x0053, 0x0055):
        return "PPP that is encrypted", at
    if protocol in (0x002D, 0x002F, 0x00FB, 0x00FD):
        return "PPP that is compressed", at
    return NOT_IP, at


def _gre(buf: bytes, at: int, stop: int) -> Carried:
    if at + 4 > stop:
        return CUT, at
    flags = int.from_bytes(buf[at : at + 2], "big")
    kind = int.from_bytes(buf[at + 2 : at + 4], "big")
    version = flags & 7
    sequence = bool(flags & 0x1000)
    if version == 1:
        # PPTP (RFC 2637): the key has length and call, and an acknowledgement may follow.
        at += 8 + 4 * sequence + 4 * bool(flags & 0x0080)
        return ppp(buf, at, stop) if kind == 0x880B and at < stop else (NOT_IP, at)
    if version or flags & 0x4000:
        return "GRE with routing (RFC 1701)", at
    at += 4 + 4 * bool(flags & 0x8000) + 4 * bool(flags & 0x2000) + 4 * sequence
    if kind == _BRIDGED:
        return FRAME, at
    if kind == _ERSPAN:
        # Type I has no header of its own, and GRE no sequence number then.
        return FRAME, at + 8 * sequence
    if kind == _ERSPAN_3:
        return _erspan_3(buf, at, stop)
    if kind in _IP or kind in ETHERTYPES:
        return typed(kind, buf, at, stop)
    return f"GRE with the EtherType 0x{kind:04x}", at


def _erspan_3(buf: bytes, at: int, stop: int) -> Carried:
    if at + 12 > stop:
        return CUT, at
    word = int.from_bytes(buf[at + 10 : at + 12], "big")
    at += 12 + 8 * (word & 1)
    kind = word >> 10 & 31
    if kind == 0:
        return FRAME, at
    if kind == 2:
        return _by_version(buf, at, stop)
    return f"ERSPAN with frames of type {kind}", at


def _by_version(buf: bytes, at: int, stop: int) -> Carried:
    if at >= stop:
        return CUT, at
    version = buf[at] >> 4
    return version if version in (IPV4, IPV6) else NOT_IP, at


def _in_ipv4(buf: bytes, at: int, stop: int) -> Carried:
    return IPV4, at


def _in_ipv6(buf: bytes, at: int, stop: int) -> Carried:
    return IPV6, at


def _etherip(buf: bytes, at: int, stop: int) -> Carried:
    return FRAME, at + 2


def _unread(text: str) -> Callable[[bytes, int, int], Carried]:
    return lambda buf, at, stop: (text, at)


UDP: Final = 17
AUTHENTICATION: Final = 51
PROTOCOLS: Final[dict[int, Callable[[bytes, int, int], Carried]]] = {
    4: _in_ipv4,
    41: _in_ipv6,
    47: _gre,
    50: _unread("ESP (IPsec), which is encrypted"),
    97: _etherip,
    115: _unread("L2TP"),
    137: mpls,
}
"""IP protocols of what may carry IP, beside UDP and AH."""


def _vxlan(buf: bytes, at: int, stop: int) -> Carried:
    if at + 8 > stop:
        return CUT, at
    return (FRAME, at + 8) if buf[at] & 0x08 else (NOT_IP, at)


def _vxlan_gpe(buf: bytes, at: int, stop: int) -> Carried:
    if at + 8 > stop:
        return CUT, at
    kind = buf[at + 3] if buf[at] & 0x04 else 3
    return {1: IPV4, 2: IPV6, 3: FRAME}.get(kind, NOT_IP), at + 8


def _geneve(buf: bytes, at: int, stop: int) -> Carried:
    if at + 8 > stop:
        return CUT, at
    kind = int.from_bytes(buf[at + 2 : at + 4], "big")
    if buf[at] >> 6:
        return NOT_IP, at
    at += 8 + 4 * (buf[at] & 0x3F)
    return (FRAME, at) if kind == _BRIDGED else typed(kind, buf, at, stop)


def _gtp(buf: bytes, at: int, stop: int) -> Carried:
    if at + 8 > stop:
        return CUT, at
    flags = buf[at]
    if flags >> 4 != 3 or buf[at + 1] != 255:
        return NOT_IP, at  # not version 1, or no user's packet
    at += 8
    if not flags & 7:
        return _by_version(buf, at, stop)
    if at + 4 > stop:
        return CUT, at
    following = buf[at + 3] if flags & 4 else 0
    at += 4
    for _ in range(_MOST_EXTENSIONS):
        if not following:
            return _by_version(buf, at, stop)
        size = 4 * buf[at] if at < stop else 0
        if not size or at + size > stop:
            return CUT, at
        following = buf[at + size - 1]
        at += size
    return NOT_IP, at


PORTS: Final[dict[int, Callable[[bytes, int, int], Carried]]] = {
    4789: _vxlan,
    8472: _vxlan,
    4790: _vxlan_gpe,
    6081: _geneve,
    2152: _gtp,
    6635: mpls,
    1701: _unread("L2TP"),
    4341: _unread("LISP"),
    4500: _unread("ESP (IPsec) in UDP, which is encrypted"),
    51820: _unread("WireGuard, which is encrypted"),
    37008: _unread("TZSP"),
}
"""UDP ports that tunnels are sent to."""


def is_tunnel(protocol: int, buf: bytes, at: int) -> bool:
    """Whether a datagram at `at` is sent to the UDP port of a tunnel."""
    return protocol == UDP and int.from_bytes(buf[at + 2 : at + 4], "big") in PORTS


def in_ip(protocol: int, buf: bytes, at: int, stop: int) -> Carried:
    """Return what an IP packet carries, by its protocol."""
    if protocol == UDP:
        if at + 8 > stop:
            return NOT_IP, at
        read = PORTS.get(int.from_bytes(buf[at + 2 : at + 4], "big"))
        return (NOT_IP, at) if read is None else read(buf, at + 8, stop)
    read = PROTOCOLS.get(protocol)
    return (NOT_IP, at) if read is None else read(buf, at, stop)


__all__ = [
    "AUTHENTICATION",
    "CUT",
    "DEEPEST",
    "ETHERTYPES",
    "FRAME",
    "IPV4",
    "IPV6",
    "NOT_IP",
    "PORTS",
    "PROTOCOLS",
    "TOO_DEEP",
    "UDP",
    "in_ip",
    "is_tunnel",
    "mpls",
    "ppp",
    "pppoe",
    "typed",
]
