"""Reads the link, IP and TCP headers of many packets at once, and marks those that need the decoder."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from amqp_sansio.capture.bulk import MAX_SEGMENT
from amqp_sansio.capture.link import ETHERNET, LINUX_SLL, LINUX_SLL2, LOOP, NULL, RAW, RAW_IPV4, RAW_IPV6
from amqp_sansio.capture.records import RST, ZERO_WINDOW
from amqp_sansio.capture.tunnels import AUTHENTICATION, ETHERTYPES, PORTS, PROTOCOLS, UDP

from .arrow import Ints
from .chain import UNREAD, Run, words

Bools = npt.NDArray[np.bool_]

_NOTHING: Final = 0
_IPV4: Final = 4
_IPV6: Final = 6
_ODD: Final = -1
_TCP: Final = 6
# Extension headers of IPv6 that may precede TCP, fragments and authentication among them.
_EXTENSIONS: Final = (0, 43, 44, 51, 60, 135, 139, 140)
# Some BSD systems write 12 and 14 for RAW.
_RAW: Final = (RAW, 12, 14, RAW_IPV4, RAW_IPV6)
_AF_INET: Final = 2
_AF_INET6: Final = (10, 24, 28, 30)
_VLAN: Final = (0x8100, 0x88A8, 0x9100, 0x9200)
_DECODED_TYPES: Final = (*_VLAN, *sorted(ETHERTYPES))
"""EtherTypes that the decoder reads: more VLANs than two, and tunnels."""
_TUNNELS: Final = (*PROTOCOLS, AUTHENTICATION)
_TUNNEL_PORTS: Final = tuple(PORTS)
_ETHERTYPE_IPV4: Final = 0x0800
_ETHERTYPE_IPV6: Final = 0x86DD
_MIN_ETHERTYPE: Final = 0x0600
# offset of the EtherType, length of the header
_TYPED: Final = {ETHERNET: (12, 14), LINUX_SLL: (14, 16), LINUX_SLL2: (0, 20)}

_WORD16: Final = np.dtype([("value", ">u2")])
_TAG: Final = np.dtype([("tag", ">u2"), ("kind", ">u2")])
_FAMILY: Final = np.dtype([("little", "<u4")])
_V4: Final = np.dtype(
    [
        *(("first", "u1"), ("tos", "u1"), ("total", ">u2"), ("ident", ">u2"), ("fragment", ">u2")),
        *(("ttl", "u1"), ("protocol", "u1"), ("checksum", ">u2"), ("addresses", "V8")),
    ]
)
_V6: Final = np.dtype(
    [*(("first", "u1"), ("label", "V3"), ("length", ">u2"), ("next", "u1"), ("hops", "u1")), ("addresses", "V32")]
)
_TCP_HEADER: Final = np.dtype(
    [("ports", "V4"), ("seq", ">u4"), ("ack", ">u4"), ("size", "u1"), ("flags", "u1"), ("window", ">u2")]
)
_PORTS: Final = np.dtype([("sport", ">u2"), ("dport", ">u2")])
_KEYS: Final = {
    octets: np.dtype([("addresses", f"V{octets}"), ("ports", "V4"), ("point", "<u4")]) for octets in (8, 32)
}


class Segments(NamedTuple):
    """TCP segments over one version of IP; each array has one element for each."""

    packet: Ints
    """Their packets, as indices of the run."""
    start: Ints
    stop: Ints
    """Positions of their payloads in the buffer."""
    wire_len: Ints
    sport: Ints
    dport: Ints
    seq: Ints
    ack: Ints
    flags: Ints
    keys: npt.NDArray[np.void]
    """Addresses, ports and network of each: equal for segments of one direction of a flow."""

    def only(self, keep: Ints) -> Segments:
        """Return the segments at these indices."""
        return Segments(
            self.packet[keep],
            self.start[keep],
            self.stop[keep],
            self.wire_len[keep],
            self.sport[keep],
            self.dport[keep],
            self.seq[keep],
            self.ack[keep],
            self.flags[keep],
            self.keys[keep],
        )


def read_headers(buf: bytearray, run: Run) -> tuple[list[Segments], Ints]:
    """Return the segments of a run, and the packets that need the decoder.

    All others carry no TCP over IP. Positions are as in the run.
    """
    family = np.zeros(len(run.record), dtype=np.int8)
    at = run.start.copy()
    point = np.zeros(len(run.record), dtype=np.uint32)
    links = run.link
    if len(links) and (links == links[0]).all():
        _locate(buf, run, int(links[0]), slice(None), family, at, point)
    else:
        for link in np.unique(links).tolist():
            _locate(buf, run, link, np.flatnonzero(links == link), family, at, point)
    found: list[Segments] = []
    for version, read in ((_IPV4, _ipv4), (_IPV6, _ipv6)):
        which = np.flatnonzero(family == version)
        if len(which):
            found.append(read(buf, run, which, at[which], point[which], family))
    return [segments for segments in found if len(segments.packet)], np.flatnonzero(family == _ODD)


def _locate(
    buf: bytearray,
    run: Run,
    link: int,
    which: Ints | slice,
    family: npt.NDArray[np.int8],
    at: Ints,
    point: npt.NDArray[np.uint32],
) -> None:
    """Find the network layer of the packets `which`, all of one link type."""
    if link == UNREAD:
        return
    start, stop = run.start[which], run.stop[which]
    if link in _TYPED:
        _typed(buf, link, start, stop, which, family, at, point)
        return
    if link in (NULL, LOOP):
        raw = words(buf, start, 4, _FAMILY)["little"]
        value = np.where(raw > 0xFFFF, raw.byteswap(), raw)
        kinds = np.zeros(len(start), dtype=np.int8)
        kinds[value == _AF_INET] = _IPV4
        kinds[np.isin(value, _AF_INET6)] = _IPV6
        kinds[start + 4 > stop] = _ODD
        at[which] = start + 4
    elif link in _RAW:
        first = np.frombuffer(buf, np.uint8)[start] >> 4
        kinds = np.zeros(len(start), dtype=np.int8)
        kinds[first == 4] = _IPV4
        kinds[first == 6] = _IPV6
        kinds[start >= stop] = _ODD
    else:
        kinds = np.full(len(start), _ODD, dtype=np.int8)
    family[which] = kinds


def _typed(
    buf: bytearray,
    link: int,
    start: Ints,
    stop: Ints,
    which: Ints | slice,
    family: npt.NDArray[np.int8],
    at: Ints,
    point: npt.NDArray[np.uint32],
) -> None:
    where, header = _TYPED[link]
    here = start + header
    kind = words(buf, start + where, 2, _WORD16)["value"].astype(np.int64)
    odd = here > stop
    codes = np.zeros(len(start), dtype=np.uint32)
    for shift in (12, 0):
        tagged = np.flatnonzero(np.isin(kind, _VLAN) & ~odd)
        if not len(tagged):
            break
        tags = words(buf, here[tagged], 4, _TAG)
        codes[tagged] |= (tags["tag"] & np.uint16(0x0FFF)).astype(np.uint32) << np.uint32(shift)
        kind[tagged] = tags["kind"]
        here[tagged] += 4
        odd |= here > stop
    odd |= np.isin(kind, _DECODED_TYPES)
    if link == ETHERNET:
        odd |= kind < _MIN_ETHERTYPE
    kinds = np.zeros(len(start), dtype=np.int8)
    kinds[kind == _ETHERTYPE_IPV4] = _IPV4
    kinds[kind == _ETHERTYPE_IPV6] = _IPV6
    kinds[odd] = _ODD
    family[which] = kinds
    at[which] = here
    point[which] = codes


def _ipv4(
    buf: bytearray, run: Run, which: Ints, at: Ints, point: npt.NDArray[np.uint32], family: npt.NDArray[np.int8]
) -> Segments:
    start, stop = run.start[which], run.stop[which]
    headers = words(buf, at, 20, _V4)
    first = headers["first"]
    header = (first & 15).astype(np.int64) * 4
    total = headers["total"].astype(np.int64)
    end = np.where(total == 0, start + np.maximum(run.wire[which], stop - start), at + total)
    odd = (stop - at < 20) | (first >> 4 != 4) | (header < 20)
    tcp = headers["protocol"] == _TCP
    odd |= tcp & ((end - at < header) | (headers["fragment"] & np.uint16(0x3FFF) != 0))
    odd |= np.isin(headers["protocol"], _TUNNELS) | _is_tunnel(buf, headers["protocol"], at + header)
    return _tcp(buf, which, at + header, np.minimum(stop, end), end, headers, point, tcp, odd, family)


def _is_tunnel(buf: bytearray, protocol: npt.NDArray[np.uint8], at: Ints) -> Bools:
    """Whether datagrams are sent to the UDP port of a tunnel."""
    datagrams: Bools = protocol == UDP
    which = np.flatnonzero(datagrams)
    if len(which):
        ports = words(buf, at[which], 4, _PORTS)["dport"]
        datagrams[which] = np.isin(ports, _TUNNEL_PORTS)
    return datagrams


def _ipv6(
    buf: bytearray, run: Run, which: Ints, at: Ints, point: npt.NDArray[np.uint32], family: npt.NDArray[np.int8]
) -> Segments:
    start, stop = run.start[which], run.stop[which]
    headers = words(buf, at, 40, _V6)
    length = headers["length"].astype(np.int64)
    whole = start + np.maximum(run.wire[which], stop - start)
    end = np.where(length == 0, whole, at + 40 + length)
    stop = np.where(length == 0, stop, np.minimum(stop, end))
    odd = (run.stop[which] - at < 40) | (headers["first"] >> 4 != 6)
    odd |= np.isin(headers["next"], _EXTENSIONS) | np.isin(headers["next"], _TUNNELS)
    odd |= _is_tunnel(buf, headers["next"], at + 40)
    tcp = headers["next"] == _TCP
    return _tcp(buf, which, at + 40, stop, end, headers, point, tcp, odd, family)


def _tcp(
    buf: bytearray,
    which: Ints,
    at: Ints,
    stop: Ints,
    end: Ints,
    network: npt.NDArray[np.void],
    point: npt.NDArray[np.uint32],
    tcp: Bools,
    odd: Bools,
    family: npt.NDArray[np.int8],
) -> Segments:
    """Return the segments at `at`; mark in `family` the packets without one."""
    headers = words(buf, at, 16, _TCP_HEADER)
    header = (headers["size"] >> 4).astype(np.int64) * 4
    odd |= tcp & ((stop - at < 20) | (header < 20) | (at + header > end) | (end - at > MAX_SEGMENT))
    family[which[odd]] = _ODD
    good = np.flatnonzero(tcp & ~odd)
    headers, stop, end, payload = headers[good], stop[good], end[good], (at + header)[good]
    addresses = network["addresses"][good]
    keys = np.empty(len(good), dtype=_KEYS[addresses.dtype.itemsize])
    keys["addresses"] = addresses
    keys["ports"] = headers["ports"]
    keys["point"] = point[good]
    ports = np.ascontiguousarray(headers["ports"]).view(_PORTS)
    flags = headers["flags"].astype(np.int64)
    flags[(headers["window"] == 0) & (flags & RST == 0)] |= ZERO_WINDOW
    return Segments(
        which[good],
        np.minimum(payload, stop),
        stop,
        end - payload,
        ports["sport"].astype(np.int64),
        ports["dport"].astype(np.int64),
        headers["seq"].astype(np.int64),
        headers["ack"].astype(np.int64),
        flags,
        keys,
    )
