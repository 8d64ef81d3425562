"""Captures of any size: `python -m benchmarks.generate --output FOLDER --size 1g`.

Writes real traffic (`benchmarks.traffic`) many times over, as connections that overlap in time, with faults that
captures have. The same arguments give the same octets, except for the properties and times of clients and broker.
"""

from __future__ import annotations

import argparse
import heapq
import random
import struct
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.traffic import VERSIONS, Template, record

MSS = 1448
_RECORD = struct.Struct("<IIII")
_IP = struct.Struct(">BBHHHBBHII")
_TCP = struct.Struct(">HHIIBBHHH")
_ETHERNET = bytes.fromhex("020000000002020000000001") + b"\x08\x00"
_HEADERS = len(_ETHERNET) + _IP.size + _TCP.size
_FILE = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1)
_SERVER = 0x0A010001
_SYN, _ACK, _PSH, _FIN, _RST = 2, 16, 8, 1, 4
_SECOND = 1_000_000_000
_START_NS = 1_790_000_000 * _SECOND
_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

FAULTS = ("lost", "repeated", "swapped", "no-syn", "reset", "silent", "reused")
"""Faults of a capture: a packet that is missing, or present twice, or before its neighbour; a connection whose start
wasn't captured, that is reset in the middle, that nobody closes, or that reuses the ports of the one before."""


class Packet(NamedTuple):
    """The time of a packet, and its octets from the Ethernet header on."""

    ts_ns: int
    octets: bytes


class Plan(NamedTuple):
    """One connection of the capture."""

    number: int
    template: Template
    start_ns: int
    client: int
    port: int
    fault: str | None


def generate(
    folder: Path,
    octets: int,
    *,
    versions: Sequence[str] = ("0-9-1", "1.0"),
    sizes: Sequence[int] = (128, 4096),
    messages: int = 500,
    files: int = 1,
    faults: float = 0.0,
    hot: float = 0.0,
    seed: int = 7,
) -> list[Path]:
    """Write about `octets` octets of captures, as `files` rotated files, and return their paths.

    Each connection has `messages` messages of one of `sizes` in one of `versions`, as a publisher or a consumer; `hot`
    is the share of all octets in one connection, a publisher of 0-9-1; `faults` the share of connections with a fault.
    """
    rng = random.Random(seed)
    templates = [each for version in versions for size in sizes for each in record(version, size, messages)]
    streams = [_connections(templates, int(octets * (1 - hot)), faults, rng)]
    if hot:
        streams.append(_in_turn(_hot(record("0-9-1", max(sizes), messages)[0], int(octets * hot))))
    folder.mkdir(parents=True, exist_ok=True)
    names = [folder / ("traffic.pcap" if files == 1 else f"traffic.pcap{number}") for number in range(files)]
    rotated = octets // files
    packets = iter(heapq.merge(*streams, key=_when))
    for place, path in enumerate(names):
        with path.open("wb", buffering=1 << 20) as file:
            file.write(_FILE)
            left = rotated
            for packet in packets:
                size = len(packet.octets)
                file.write(_RECORD.pack(packet.ts_ns // _SECOND, packet.ts_ns % _SECOND, size, size))
                file.write(packet.octets)
                left -= size + _RECORD.size
                if left <= 0 and place + 1 < files:
                    break
    return names


def _when(packet: Packet) -> int:
    return packet.ts_ns


def _connections(templates: list[Template], octets: int, faults: float, rng: random.Random) -> Iterator[Packet]:
    """Yield the packets of as many connections as fit the octets, in the order of time."""
    waiting = _plans(templates, octets, faults, rng)
    following = next(waiting, None)
    heads: list[tuple[int, int, Packet, Iterator[Packet]]] = []
    while heads or following is not None:
        while following is not None and (not heads or following.start_ns <= heads[0][0]):
            packets = _faulty(_in_turn(_packets(following)), following.fault, random.Random(following.number))
            first = next(packets, None)
            if first is not None:
                heapq.heappush(heads, (first.ts_ns, following.number, first, packets))
            following = next(waiting, None)
        if not heads:
            continue
        _, number, packet, packets = heads[0]
        yield packet
        later = next(packets, None)
        if later is None:
            heapq.heappop(heads)
        else:
            heapq.heapreplace(heads, (later.ts_ns, number, later, packets))


def _plans(templates: list[Template], octets: int, faults: float, rng: random.Random) -> Iterator[Plan]:
    number = 0
    start_ns = next_ns = _START_NS
    before: tuple[int, int, int] | None = None
    while octets > 0 or number % 2:
        template = templates[number % len(templates)]
        if not number % 2:
            start_ns = next_ns
        fault = rng.choice(FAULTS) if rng.random() < faults else None
        client, port = 0x0A000001 + number // 50_000, 10_000 + number % 50_000
        if fault == "reused" and before is not None:
            # The ports of the last connection, after its end.
            client, port, start_ns = before[0], before[1], max(start_ns, before[2] + _SECOND)
        yield Plan(number, template, start_ns, client, port, fault)
        before = client, port, start_ns + template.length_ns
        octets -= template.octets + (template.octets // MSS + 4) * (_HEADERS + _RECORD.size)
        # A publisher and its consumer run together, and about eight overlap.
        next_ns = max(next_ns, start_ns) + template.length_ns // 8 + rng.randrange(1_000_000)
        number += 1


def _hot(template: Template, octets: int) -> Iterator[Packet]:
    """Yield one connection that publishes endlessly: its messages repeat."""
    client = Half(0x0B000001, 40_000, _SERVER, 5672, 1000)
    server = Half(_SERVER, 5672, 0x0B000001, 40_000, 5000)
    at_ns = _START_NS
    yield from _opening(client, server, at_ns)
    first = template.places[True][0]
    whole = [chunk for chunk in template.chunks if chunk.from_client]
    step = next(index for index, chunk in enumerate(whole) if chunk.stop > first)
    for chunk in template.chunks:
        if chunk.from_client and chunk.start >= whole[step].start:
            break
        at_ns += 1000
        half, other = (client, server) if chunk.from_client else (server, client)
        yield from half.send(template.sides[chunk.from_client][chunk.start : chunk.stop], other, at_ns)
    unit = _unit(template)
    number = 0
    while octets > 0:
        batch = bytearray()
        for _ in range(max(1, 65_536 // len(unit))):
            made = bytearray(unit)
            place = made.find(b"message ") + len(b"message ")
            made[place : place + 12] = b"9%011d" % number
            batch += made
            number += 1
        at_ns += 100_000
        for packet in client.send(bytes(batch), server, at_ns):
            octets -= len(packet.octets) + _RECORD.size
            yield packet
    yield from _closing(client, server, at_ns + 1000)


def _unit(template: Template) -> bytes:
    """Return the frames of one publish: from one mark to the next."""
    octets, places = template.sides[True], template.places[True]
    length = places[1] - places[0]
    # A method frame of basic.publish begins with its type, channel and size, then class and method.
    begin = octets.rfind(b"\x00\x3c\x00\x28", 0, places[0]) - 7
    return octets[begin : begin + length]


class Half:
    """One end of a TCP connection."""

    def __init__(self, src: int, sport: int, dst: int, dport: int, isn: int) -> None:
        self.src = src
        self.sport = sport
        self.dst = dst
        self.dport = dport
        self.seq = isn

    def packet(self, other: Half, flags: int, payload: bytes | memoryview, ts_ns: int) -> Packet:
        """Return one packet, which takes sequence numbers for its payload."""
        length = _IP.size + _TCP.size + len(payload)
        ip = _IP.pack(0x45, 0, length, 0, 0x4000, 64, 6, 0, self.src, self.dst)
        ack = other.seq & 0xFFFFFFFF if flags & _ACK else 0
        tcp = _TCP.pack(self.sport, self.dport, self.seq & 0xFFFFFFFF, ack, 0x50, flags, 65535, 0, 0)
        self.seq += len(payload) + bool(flags & (_SYN | _FIN))
        return Packet(ts_ns, b"".join((_ETHERNET, ip, tcp, payload)))

    def send(self, data: bytes | memoryview, other: Half, ts_ns: int) -> Iterator[Packet]:
        """Yield the packets of some octets."""
        view = memoryview(data)
        for start in range(0, len(view), MSS):
            yield self.packet(other, _ACK | _PSH, view[start : start + MSS], ts_ns + start // MSS)


def _opening(client: Half, server: Half, at_ns: int) -> Iterator[Packet]:
    yield client.packet(server, _SYN, b"", at_ns)
    yield server.packet(client, _SYN | _ACK, b"", at_ns + 10)
    yield client.packet(server, _ACK, b"", at_ns + 20)


def _closing(client: Half, server: Half, at_ns: int) -> Iterator[Packet]:
    yield client.packet(server, _FIN | _ACK, b"", at_ns)
    yield server.packet(client, _FIN | _ACK, b"", at_ns + 10)
    yield client.packet(server, _ACK, b"", at_ns + 20)


def _packets(plan: Plan) -> Iterator[Packet]:
    client = Half(plan.client, plan.port, _SERVER, 5672, plan.number * 7919)
    server = Half(_SERVER, 5672, plan.client, plan.port, plan.number * 104_729)
    # A publisher and its consumer have the same messages.
    sides = plan.template.copy(plan.number // 2 % 1_000_000)
    at_ns = plan.start_ns + plan.template.begin_ns
    yield from _opening(client, server, at_ns)
    for chunk in plan.template.chunks:
        at_ns = plan.start_ns + 1000 + chunk.at_ns
        half, other = (client, server) if chunk.from_client else (server, client)
        yield from half.send(memoryview(sides[chunk.from_client])[chunk.start : chunk.stop], other, at_ns)
    if plan.fault != "silent":
        yield from _closing(client, server, at_ns + 1000)


def _in_turn(packets: Iterable[Packet]) -> Iterator[Packet]:
    """Yield the packets of a connection, each later than the one before."""
    last = 0
    for packet in packets:
        last = max(packet.ts_ns, last + 1)
        yield packet._replace(ts_ns=last)


def _faulty(packets: Iterable[Packet], fault: str | None, rng: random.Random) -> Iterator[Packet]:
    """Yield the packets of a connection as they are captured."""
    if fault not in ("lost", "repeated", "swapped", "no-syn", "reset"):
        yield from packets
        return
    every = list(packets)
    chosen = rng.randrange(4, max(5, len(every) - 4))
    if fault == "lost":
        del every[chosen]
    elif fault == "repeated":
        every.insert(chosen + 1, every[chosen]._replace(ts_ns=every[chosen].ts_ns))
    elif fault == "swapped":
        one, other = every[chosen], every[chosen + 1]
        every[chosen : chosen + 2] = [other._replace(ts_ns=one.ts_ns), one._replace(ts_ns=other.ts_ns)]
    elif fault == "no-syn":
        del every[:4]
    else:
        cut = every[chosen].octets
        flags = len(_ETHERNET) + _IP.size + 13
        every[chosen:] = [every[chosen]._replace(octets=cut[:flags] + bytes([_RST]) + cut[flags + 1 : _HEADERS])]
    yield from every


def octets_of(text: str) -> int:
    """Return a number of octets, which may end in k, m or g."""
    unit = _UNITS.get(text[-1:].lower(), 1)
    return int(text.rstrip("kmgKMG")) * unit


def main() -> int:
    """Run the command; return the exit status."""
    parser = argparse.ArgumentParser(description="Writes captures of any size.")
    parser.add_argument("--output", type=Path, required=True, help="a folder")
    parser.add_argument("--size", type=octets_of, default=1 << 30, help="octets in all; k, m, g (default 1g)")
    parser.add_argument("--version", action="append", choices=list(VERSIONS), help="several times (default 0-9-1, 1.0)")
    parser.add_argument("--message", action="append", type=int, help="octets, several times (default 128, 4096)")
    parser.add_argument("--messages", type=int, default=500, help="of a connection (default 500)")
    parser.add_argument("--files", type=int, default=1, help="rotated files (default 1)")
    parser.add_argument("--faults", type=float, default=0.0, help="part of the connections that have one (default 0)")
    parser.add_argument("--hot", type=float, default=0.0, help="part of the octets that is one connection (default 0)")
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    began = time.perf_counter()
    paths = generate(
        options.output,
        options.size,
        versions=options.version or ("0-9-1", "1.0"),
        sizes=options.message or (128, 4096),
        messages=options.messages,
        files=options.files,
        faults=options.faults,
        hot=options.hot,
        seed=options.seed,
    )
    size = sum([path.stat().st_size for path in paths])
    print(f"{len(paths)} files, {size} octets, {time.perf_counter() - began:.1f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
