"""Builds packets and capture files octet by octet, for tests of what reads them."""

import struct
from collections.abc import Iterable, Sequence
from ipaddress import ip_address

ACK = 0x10


def tcp(
    seq: int = 1,
    ack: int = 1,
    payload: bytes = b"",
    *,
    flags: int = ACK,
    sport: int = 1000,
    dport: int = 5672,
    options: bytes = b"",
    window: int = 512,
) -> bytes:
    """A TCP segment; its checksum is 0."""
    offset = (20 + len(options)) // 4 << 4
    header = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, offset, flags, window, 0, 0)
    return header + options + payload


def ipv4(
    payload: bytes,
    *,
    src: str = "10.0.0.1",
    dst: str = "10.0.0.2",
    protocol: int = 6,
    ident: int = 7,
    offset: int = 0,
    more: bool = False,
    options: bytes = b"",
    total: int | None = None,
) -> bytes:
    """An IPv4 packet; `offset` is the fragment's, in octets; its checksum is 0."""
    header = 20 + len(options)
    return (
        struct.pack(
            ">BBHHHBBH4s4s",
            0x40 | header // 4,
            0,
            header + len(payload) if total is None else total,
            ident,
            (0x2000 if more else 0) | offset // 8,
            64,
            protocol,
            0,
            ip_address(src).packed,
            ip_address(dst).packed,
        )
        + options
        + payload
    )


def ipv6(
    payload: bytes, *, src: str = "2001:db8::1", dst: str = "2001:db8::2", following: int = 6, length: int | None = None
) -> bytes:
    size = len(payload) if length is None else length
    addresses = ip_address(src).packed + ip_address(dst).packed
    return struct.pack(">IHBB", 6 << 28, size, following, 64) + addresses + payload


def ethernet(payload: bytes, *, kind: int = 0x0800, tags: Iterable[tuple[int, int]] = ()) -> bytes:
    """An Ethernet frame; `tags` are pairs of EtherType and VLAN."""
    octets = b"\x02\0\0\0\0\x01" + b"\x02\0\0\0\0\x02"
    for tag, vlan in tags:
        octets += struct.pack(">HH", tag, vlan)
    return octets + struct.pack(">H", kind) + payload


def pcap(
    packets: Iterable[tuple[int, int, bytes] | tuple[int, int, bytes, int]],
    *,
    order: str = "<",
    magic: int = 0xA1B2C3D4,
    link: int = 1,
    snaplen: int = 65535,
    version: tuple[int, int] = (2, 4),
) -> bytes:
    """A pcap file of packets (seconds, fraction, octets, and the length on the wire when it is another)."""
    octets = struct.pack(order + "IHHiIII", magic, *version, 0, 0, snaplen, link)
    for seconds, fraction, data, *wire in packets:
        length = wire[0] if wire else len(data)
        octets += struct.pack(order + "IIII", seconds, fraction, len(data), length) + data
    return octets


def block(kind: int, body: bytes, order: str = "<") -> bytes:
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(code: int, value: bytes, order: str = "<") -> bytes:
    return struct.pack(order + "HH", code, len(value)) + value + bytes(-len(value) % 4)


def section(order: str = "<", *, version: tuple[int, int] = (1, 0), options: bytes = b"") -> bytes:
    """A section header block."""
    body = struct.pack(order + "IHHq", 0x1A2B3C4D, *version, -1) + options
    return block(0x0A0D0D0A, body, order)


def interface(link: int = 1, *, snaplen: int = 0, options: Sequence[tuple[int, bytes]] = (), order: str = "<") -> bytes:
    """An interface description block."""
    body = struct.pack(order + "HHI", link, 0, snaplen)
    for code, value in options:
        body += option(code, value, order)
    if options:
        body += option(0, b"", order)
    return block(1, body, order)


def enhanced(
    data: bytes, units: int = 0, *, number: int = 0, wire: int | None = None, options: bytes = b"", order: str = "<"
) -> bytes:
    """An enhanced packet block of interface `number`; `units` is its time."""
    length = len(data) if wire is None else wire
    body = struct.pack(order + "IIIII", number, units >> 32, units & 0xFFFFFFFF, len(data), length)
    return block(6, body + data + bytes(-len(data) % 4) + options, order)


def simple(data: bytes, *, wire: int | None = None, order: str = "<") -> bytes:
    """A simple packet block."""
    return block(3, struct.pack(order + "I", len(data) if wire is None else wire) + data, order)


def old(data: bytes, units: int = 0, *, number: int = 0, order: str = "<") -> bytes:
    """An obsolete packet block."""
    size = len(data)
    head = struct.pack(order + "HHIIII", number, 0, units >> 32, units & 0xFFFFFFFF, size, size)
    return block(2, head + data, order)
