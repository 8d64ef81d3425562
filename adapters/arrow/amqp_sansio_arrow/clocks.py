"""Corrections of the clocks that captures were made with, by the files' names."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from amqp_sansio.capture import CaptureDamage, Segment

_YEARS: Final = 100 * 366 * 86_400
_NS: Final = 1_000_000_000


class ClockOffsets(NamedTuple):
    """Nanoseconds that are added to the times in files, by patterns of their names; the first that matches holds."""

    patterns: tuple[tuple[str, int], ...] = ()

    def of(self, file: str) -> int:
        """Return the nanoseconds to add to the times of a file."""
        for pattern, offset_ns in self.patterns:
            if fnmatchcase(file, pattern):
                return offset_ns
        return 0


NO_OFFSETS: Final = ClockOffsets()


def parse_offsets(text: str) -> ClockOffsets:
    """Parse `FILE=SECONDS`, several separated by commas, or `SECONDS` for all files.

    FILE is the name of a file in the rows, or a pattern (`*`, `?`, `[...]`). Raises ValueError.

    >>> parse_offsets("tap-b.pcap=-0.25, web*=3600").of("tap-b.pcap")
    -250000000
    """
    found: list[tuple[str, int]] = []
    for part in text.split(",") if text.strip() else ():
        pattern, equals, seconds = part.rpartition("=")
        try:
            offset = float(seconds)
        except ValueError:
            offset = float("nan")
        if not -_YEARS <= offset <= _YEARS or (equals and not pattern.strip()):
            raise ValueError(f"a clock's offset is FILE=SECONDS or SECONDS, not {part.strip()!r}")
        found.append((pattern.strip() or "*", round(offset * _NS)))
    return ClockOffsets(tuple(found))


def corrected(row: Segment | CaptureDamage, offset_ns: int) -> Segment | CaptureDamage:
    """Return a record with its time moved; a damage before the first packet has none."""
    if isinstance(row, Segment):
        return Segment(
            row.ts_ns + offset_ns,
            row.file,
            row.packet,
            row.src,
            row.sport,
            row.dst,
            row.dport,
            row.seq,
            row.ack,
            row.flags,
            row.wire_len,
            row.payload,
            row.point,
        )
    ts_ns = row.ts_ns + offset_ns if row.ts_ns else 0
    return CaptureDamage(row.file, row.packet, ts_ns, row.offset, row.kind, row.text)


__all__ = ["NO_OFFSETS", "ClockOffsets", "corrected", "parse_offsets"]
