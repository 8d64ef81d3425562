"""Captures as rotation leaves them: one in several files, and packets out of order."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Final

from tests.kit.captures import named

IN_THREE: Final = "o091_pika_confirms"
SHUFFLED: Final = ("o091_pika_nack_reject_requeue", "o10_proton_proton_types")


def records_of(octets: bytes) -> list[bytes]:
    """The records of a pcap, little-endian."""
    found: list[bytes] = []
    pos = 24
    while pos < len(octets):
        size = struct.unpack_from("<I", octets, pos + 8)[0] + 16
        found.append(octets[pos : pos + size])
        pos += size
    return found


def rotate(folder: Path) -> None:
    """Write a capture in three rotated files, two whose packets are out of order, and a file that is no capture."""
    octets = named(f"{IN_THREE}.pcap").read_bytes()
    records = records_of(octets)
    third = len(records) // 3
    for number, part in enumerate((records[:third], records[third : 2 * third], records[2 * third :])):
        (folder / f"{IN_THREE}.pcap{number}").write_bytes(octets[:24] + b"".join(part))
    for name in SHUFFLED:
        octets = named(f"{name}.pcap").read_bytes()
        records = records_of(octets)
        random.Random(1).shuffle(records)
        (folder / f"{name}.pcap").write_bytes(octets[:24] + b"".join(records))
    (folder / "notes.txt").write_text("no capture")


def paths_of(folder: Path) -> list[Path]:
    """The captures of a folder, in the order of their names."""
    return sorted(folder.glob("*.pcap*"))
