"""Captures made of every kind of packet a reader may meet, and rows of both readers in one form."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from random import Random
from typing import TYPE_CHECKING, Any

from amqp_sansio.capture import NotACapture, read_segments
from tests.kit.packets import block, enhanced, ethernet, interface, ipv4, ipv6, old, pcap, section, simple, tcp

if TYPE_CHECKING:
    from amqp_sansio.capture import CaptureDamage, Segment

Rows = list[dict[str, Any]]

_TEXT = b"octets of a stream\n\r\r\n and more"
_TCP = tcp(5, 6, _TEXT)
_FRAGMENT = struct.pack(">BBHI", 6, 0, 1, 99)
_LAST_FRAGMENT = struct.pack(">BBHI", 6, 0, 16, 99)
_V4 = (
    ipv4(_TCP),
    ipv4(tcp(2**32 - 1, 0, b"")),
    ipv4(tcp(1, 2, b"x" * 1400, sport=5672, dport=40_000, options=bytes(12))),
    ipv4(_TCP, options=b"\x01" * 8),
    ipv4(_TCP, src="192.0.2.7", dst="192.0.2.9") + b"\xee" * 9,
    ipv4(_TCP, total=0),
    ipv4(_TCP, total=19),
    ipv4(_TCP, total=30),
    ipv4(_TCP, total=4000),
    ipv4(_TCP[:12] + b"\x40" + _TCP[13:]),
    ipv4(_TCP[:12] + b"\xf0" + _TCP[13:]),
    b"\x44" + ipv4(_TCP)[1:],
    b"\x65" + ipv4(_TCP)[1:],
    ipv4(_TCP[:24], more=True, ident=9),
    ipv4(_TCP[24:], offset=24, ident=9),
    ipv4(_TCP[:16], more=True, ident=10),
    ipv4(bytes(30), protocol=17),
    ipv4(bytes(30), protocol=17, more=True),
    ipv4(ipv4(_TCP), protocol=4),
    ipv4(b"\0\0\x08\0" + ipv4(_TCP), protocol=47),
    b"",
)
_V6 = (
    ipv6(_TCP),
    ipv6(tcp(9, 8, b"y" * 300, sport=5671), src="::1", dst="::ffff:10.0.0.1"),
    ipv6(_TCP, length=0),
    ipv6(_TCP, length=10),
    ipv6(_TCP, length=3000),
    ipv6(bytes([6, 0]) + bytes(6) + _TCP, following=60),
    ipv6(bytes([6, 1]) + bytes(14) + _TCP, following=0),
    ipv6(bytes([6, 1]) + bytes(10) + _TCP, following=51),
    ipv6(_FRAGMENT + _TCP[:16], following=44),
    ipv6(_LAST_FRAGMENT + _TCP[16:], following=44),
    ipv6(bytes(30), following=17),
    ipv6(b"", following=59),
    b"\x45" + ipv6(_TCP)[1:],
    b"",
)


@cache
def frames(link: int) -> Sequence[bytes]:
    """Packets of a link type: plain ones, rare ones, and ones that contradict themselves."""
    made: list[bytes] = [b"", b"\x45", bytes(11)]
    for packets, ethertype, families in ((_V4, 0x0800, (2,)), (_V6, 0x86DD, (10, 24, 28, 30))):
        for packet in packets:
            if link == 1:
                made.append(ethernet(packet, kind=ethertype))
                for tags in ([(0x8100, 10)], [(0x88A8, 3), (0x8100, 4)], [(0x8100, 0)]):
                    made.append(ethernet(packet, kind=ethertype, tags=tags))
                made.append(ethernet(packet, kind=ethertype, tags=[(0x8100, 1)] * 3))
                snap = b"\xaa\xaa\x03\0\0\0" + struct.pack(">H", ethertype) + packet
                made.append(ethernet(snap, kind=0x0040))
            elif link == 113:
                made.append(bytes(14) + struct.pack(">H", ethertype) + packet)
                made.append(bytes(14) + struct.pack(">HHH", 0x8100, 5, ethertype) + packet)
            elif link == 276:
                made.append(struct.pack(">H", ethertype) + bytes(18) + packet)
            elif link in (0, 108):
                for family in families:
                    made += [struct.pack(order + "I", family) + packet for order in "<>"]
            else:
                made.append(packet)
    others = {1: [ethernet(bytes(28), kind=kind) for kind in (0x0806, 0x8847, 0x0027)]}
    return made + others.get(link, [bytes(60)])


LINKS = (0, 1, 12, 101, 108, 113, 228, 229, 276)


def any_pcap(seed: int, count: int = 60, link: int | None = None) -> bytes:
    """A pcap file of packets in any order, some of them cut by the snap length."""
    chance = Random(seed)
    link = chance.choice(LINKS) if link is None else link
    kinds = frames(link)
    packets: list[tuple[int, int, bytes, int]] = []
    for at in range(count):
        data = chance.choice(kinds)
        wire = len(data) + chance.choice((0, 0, 0, 4, 2**32 - 1 - len(data)))
        if chance.random() < 0.2:
            data = data[: chance.randrange(len(data) + 1)]
        packets.append((1000 + at, chance.randrange(10**6), data, wire))
    magic = chance.choice((0xA1B2C3D4, 0xA1B23C4D))
    return pcap(packets, order=chance.choice("<>"), magic=magic, link=link)


def any_pcapng(seed: int, count: int = 60) -> bytes:
    """A pcapng file of several interfaces and sections, all kinds of blocks, and any packets."""
    chance = Random(seed)
    data = b""
    while count > 0:
        order = chance.choice("<>")
        links = [chance.choice((1, 1, 101, 113, 147)) for _ in range(chance.choice((1, 1, 3)))]
        data += section(order)
        for link in links:
            options = [(9, bytes([chance.choice((6, 9, 3, 12, 0x94, 0))]))]
            options += [(14, struct.pack(order + "q", chance.choice((0, -5, 2**60))))]
            data += interface(link, order=order, options=options[: chance.choice((0, 1, 1, 2))])
        for _ in range(chance.randrange(1, 40)):
            count -= 1
            number = chance.randrange(len(links))
            kinds = frames(links[number] if links[number] != 147 else 1)
            packet = chance.choice(kinds)
            wire = len(packet) + chance.choice((0, 0, 4))
            packet = packet[: chance.choice((len(packet), len(packet), 60))]
            units = chance.choice((chance.randrange(2**40), chance.randrange(2**50), 2**63))
            way = chance.randrange(16)
            if way == 0:
                data += old(packet, units, number=number, order=order)
            elif way == 1:
                data += simple(packet, order=order)
            elif way == 2:
                kind = chance.choice((4, 5, 0x0BAD, 0x80001234, 0x1234))
                data += block(kind, bytes(8), order)
            else:
                which = 7 if way == 3 else number
                data += enhanced(packet, units, number=which, wire=wire, order=order)
    return data


def pieces(data: bytes, seed: int, most: int) -> Iterator[bytes]:
    """The octets, cut anywhere."""
    chance = Random(seed)
    at = 0
    while at < len(data):
        size = chance.choice((1, chance.randint(1, most), most))
        # So many tell what a file is; how fewer are refused depends on how they come.
        size = max(size, 12) if not at else size
        yield data[at : at + size]
        at += size


def general_rows(data: bytes, file: str = "f") -> Rows | str:
    """The rows of the general reader; a text instead when it is no capture."""
    from amqp_sansio_spark.segments import to_batches

    try:
        return as_rows(to_batches(read_segments(data, file=file), 1 << 22))
    except NotACapture as error:
        return str(error)


def bulk_rows(parts: Iterable[bytes], file: str = "f", octets: int = 1 << 22) -> Rows | str:
    """The rows of the reader in bulk; a text instead when it is no capture."""
    from amqp_sansio_spark.bulk import BulkReader
    from amqp_sansio_spark.rows import RowMaker
    from amqp_sansio_spark.segments import ARROW_SCHEMA
    from amqp_sansio_spark.selection import Selection

    reader = BulkReader(file, RowMaker(file, ARROW_SCHEMA.names, Selection(), octets))
    batches: list[Any] = []
    try:
        for part in parts:
            batches += reader.feed(part)
        batches += reader.finish()
    except NotACapture as error:
        return str(error)
    return as_rows(batches)


def as_rows(batches: Iterable[Any]) -> Rows:
    return [row for batch in batches for row in batch.to_pylist()]


def rows_of(found: Sequence[Segment | CaptureDamage]) -> Rows:
    """Segments and damages as rows."""
    from amqp_sansio_spark.segments import to_batches

    return as_rows(to_batches(found, 1 << 22))
