"""Twice: connections that are in captures under two 4-tuples, as before and behind an address translation.

A translation changes addresses and ports, and leaves the numbers of TCP alone: the answer to a SYN has one of 32 bits
for each side, chosen at random (RFC 9293 section 3.4.1, RFC 6528). A proxy that ends connections has its own numbers.
"""

from __future__ import annotations

from typing import Final

from .records import ACK, SYN, Segment

MOST: Final = 100_000
"""Most connections that are compared, the first ones."""
_NEAR_NS: Final = 24 * 3600 * 1_000_000_000


class Twice:
    """Takes all segments of captures, in any order; picklable.

    >>> twice = Twice()
    >>> for src, dst in (("10.0.0.2", "10.0.0.1"), ("172.17.0.2", "10.0.0.1"), ("10.0.0.2", "10.0.0.1")):
    ...     twice.segment(Segment(1_000, "a", 0, src, 5672, dst, 40000, 77_000_001, 88_000_001, SYN | ACK, 0, b""))
    >>> twice.found
    [('10.0.0.1:40000-10.0.0.2:5672', '10.0.0.1:40000-172.17.0.2:5672')]
    """

    __slots__ = ("_answers", "found")

    def __init__(self) -> None:
        self._answers: dict[tuple[int, int], tuple[str, int]] = {}
        self.found: list[tuple[str, str]] = []

    def segment(self, segment: Segment) -> None:
        """Take a segment."""
        if segment.flags & (SYN | ACK) != SYN | ACK:
            return
        numbers = segment.seq, segment.ack
        known = self._answers.get(numbers)
        if known is None:
            if len(self._answers) < MOST:
                self._answers[numbers] = segment.flow, segment.ts_ns
            return
        flow, ts_ns = known
        pair = flow, segment.flow
        if flow != segment.flow and abs(segment.ts_ns - ts_ns) < _NEAR_NS and pair not in self.found[-8:]:
            self.found.append(pair)


__all__ = ["Twice"]
