"""Clocks: bounds on the differences between the clocks of several captures.

No octet is acknowledged before it was sent (RFC 9293 section 3.4). If one capture has the octet and another one its
acknowledgement, the second clock is ahead of the first by at most the time between them; the least of all such times
counts. Retransmitted octets and repeated acknowledgements prove nothing and are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from .._ground.record import record
from .records import ACK, FIN, SYN, CaptureDamage, Segment

HELD: Final = 4096
"""Most segments, and sequence numbers, held of one flow: its first ones."""
PAIRS: Final = 10_000
"""Most pairs of captures, the first ones by name."""

_End: TypeAlias = tuple[str, int]
_Seen: TypeAlias = tuple[str, _End, _End, int, int, int, int, int]
"""Of a segment: capture, sender, receiver, time, sequence number, octets, acknowledgement, flags."""

_MASK: Final = 0xFFFF_FFFF
_HALF: Final = 0x8000_0000
_BEGUN: Final = -1
"""Stands for the last acknowledgement of a side that has only sent its SYN."""


@record
class ClockDifference:
    """The clock of the capture `other` is ahead of that of `file`, by `at_least_ns` to `at_most_ns` nanoseconds.

    None is an unknown bound; negative values mean behind. If the least is above the most, one of the clocks was changed
    in between. `proofs` counts the acknowledgements used.
    """

    file: str
    other: str
    at_least_ns: int | None
    at_most_ns: int | None
    proofs: int

    @property
    def skew_ns(self) -> int:
        """The least `clock_skew` for a replay, in nanoseconds: 0 if the clocks may agree.

        >>> ClockDifference("a", "b", 2_900, 3_100, 7).skew_ns, ClockDifference("a", "b", -80, 20, 7).skew_ns
        (3100, 0)
        """
        known = [each for each in (self.at_least_ns, self.at_most_ns) if each is not None]
        ahead = self.at_least_ns is not None and self.at_least_ns > 0
        behind = self.at_most_ns is not None and self.at_most_ns < 0
        return max([abs(each) for each in known]) if ahead or behind else 0


class Clocks:
    """Compares the clocks of captures by their segments, in bounded memory.

    Push the segments of one flow in succession; flows, and the captures within a flow, may come in any order. Results
    of several instances can be merged. Picklable at any point.

    >>> clocks = Clocks()
    >>> for ts_ns, file, src, dst, seq, ack, flags in (
    ...     (5_000, "client.pcap", "10.0.0.1", "10.0.0.2", 99, 0, SYN),
    ...     (1_200, "server.pcap", "10.0.0.2", "10.0.0.1", 7, 100, SYN | ACK),
    ...     (5_400, "client.pcap", "10.0.0.1", "10.0.0.2", 100, 8, ACK),
    ... ):
    ...     clocks.segment(Segment(ts_ns, file, 0, src, 5, dst, 5, seq, ack, flags, 0, b""))
    >>> clocks.differences()
    [ClockDifference(file='client.pcap', other='server.pcap', at_least_ns=-4200, at_most_ns=-3800, proofs=2)]
    """

    __slots__ = ("_acked", "_acks", "_ends", "_file", "_first", "_least", "_left", "_sent", "_tops")

    def __init__(self) -> None:
        self._least: dict[tuple[str, str], tuple[int, int]] = {}
        self.finish()

    def finish(self) -> None:
        """Forget the flow of the last segments."""
        self._ends: tuple[_End, _End, str] | None = None
        # Comparing starts with the flow's second capture; few flows have one.
        self._file = ""
        self._first: list[_Seen] | None = []
        self._left = HELD
        # By sender and number: when each capture had the octets that end there, and their acknowledgement.
        self._sent: dict[tuple[_End, int], list[tuple[str, int]]] = {}
        self._acked: dict[tuple[_End, int], list[tuple[str, int]]] = {}
        # By capture and sender: the end of the octets sent, and the last acknowledgement.
        self._tops: dict[tuple[str, _End], int] = {}
        self._acks: dict[tuple[str, _End], int] = {}

    def segment(self, segment: Segment) -> None:
        """Take a segment."""
        source, target, point = (segment.src, segment.sport), (segment.dst, segment.dport), segment.point
        if self._ends not in ((source, target, point), (target, source, point)):
            self.finish()
            self._ends = source, target, point
            self._file = segment.file
        seen = (segment.file, source, target, segment.ts_ns, segment.seq, segment.wire_len, segment.ack, segment.flags)
        first = self._first
        if first is None:
            self._compare(*seen)
        elif segment.file == self._file:
            if len(first) < HELD:
                first.append(seen)
        else:
            self._first = None
            for each in first:
                self._compare(*each)
            self._compare(*seen)

    def _compare(
        self, file: str, source: _End, target: _End, ts_ns: int, seq: int, wire_len: int, ack: int, flags: int
    ) -> None:
        begins = flags & SYN
        size = wire_len + (1 if flags & (SYN | FIN) else 0)
        key = (file, source)
        if size:
            top = self._tops.get(key)
            end = (seq + size) & _MASK
            if top == seq or (begins and top != end):
                self._note(self._sent, (source, end), file, ts_ns)
                for other, at_ns in self._acked.get((source, end), ()):
                    self._prove(file, other, at_ns - ts_ns)
            if begins or top is None or 0 < (end - top) & _MASK < _HALF:
                self._tops[key] = end
        if not flags & ACK:
            if begins:
                self._acks[key] = _BEGUN
            return
        last = self._acks.get(key)
        if begins or last == _BEGUN or (last is not None and 0 < (ack - last) & _MASK < _HALF):
            self._note(self._acked, (target, ack), file, ts_ns)
            for other, at_ns in self._sent.get((target, ack), ()):
                self._prove(other, file, ts_ns - at_ns)
        elif last is not None:
            return
        self._acks[key] = ack

    def merge(self, other: Clocks) -> None:
        """Merge the results of `other`; the two share no flow."""
        for pair, (least, proofs) in other._least.items():
            self._prove(*pair, least, proofs)

    def differences(self) -> list[ClockDifference]:
        """Return the known differences of every two captures with common flows, by name."""
        found: list[ClockDifference] = []
        for file, other in sorted({(min(pair), max(pair)) for pair in self._least}):
            most, one = self._least.get((file, other), (None, 0))
            least, two = self._least.get((other, file), (None, 0))
            found.append(ClockDifference(file, other, None if least is None else -least, most, one + two))
        return found

    def _note(
        self, into: dict[tuple[_End, int], list[tuple[str, int]]], key: tuple[_End, int], file: str, ts_ns: int
    ) -> None:
        if self._left:
            self._left -= 1
            into.setdefault(key, []).append((file, ts_ns))

    def _prove(self, file: str, other: str, ahead_ns: int, proofs: int = 1) -> None:
        """Record that the clock of `other` is ahead of that of `file` by at most `ahead_ns`."""
        if file == other:
            return
        least, before = self._least.get((file, other), (ahead_ns, 0))
        self._least[file, other] = min(least, ahead_ns), before + proofs
        if len(self._least) > PAIRS:
            del self._least[max(self._least)]


def clock_differences(segments: Iterable[Segment | CaptureDamage]) -> list[ClockDifference]:
    """Return the clock differences of captures with common connections; the segments of a flow must come in succession.

    They do in the order of `sort_key`. Anything but segments is skipped.

    >>> clock_differences([])
    []
    """
    clocks = Clocks()
    for each in segments:
        if isinstance(each, Segment):
            clocks.segment(each)
    return clocks.differences()


__all__ = ["ClockDifference", "Clocks", "clock_differences"]
