"""Repeats: damages that are equal and follow one another, in two rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .records import CaptureDamage

if TYPE_CHECKING:
    from .ip import Output


class Repeats:
    """Merges equal damages in succession; picklable.

    A capture whose packets are all cut would else have a row for each of them. The first damage comes out at once, and
    the second when the run ends: it says how many it stands for.

    >>> repeats, out = Repeats(), []
    >>> for packet in range(1000):
    ...     out += repeats.merge([CaptureDamage("a", packet, 0, 0, "truncated-packet", "it is cut")])
    >>> repeats.flush(out)
    >>> [(each.packet, each.text) for each in out]
    [(0, 'it is cut'), (1, 'it is cut (999 times in succession)')]
    """

    __slots__ = ("_again", "_count", "_last")

    def __init__(self) -> None:
        self._last: CaptureDamage | None = None
        self._again: CaptureDamage | None = None
        self._count = 0

    @property
    def waiting(self) -> bool:
        """Whether the next damage may be a repetition."""
        return self._last is not None

    def merge(self, rows: Output) -> Output:
        """Return the rows to give out now, for the next rows of a capture in their order."""
        if self._last is None and CaptureDamage not in map(type, rows):
            return rows
        out: Output = []
        for row in rows:
            if not isinstance(row, CaptureDamage):
                self.flush(out)
                out.append(row)
                continue
            last = self._last
            if last is None or (last.kind, last.text) != (row.kind, row.text):
                self.flush(out)
                self._last = row
                out.append(row)
            else:
                self._again = self._again or row
                self._count += 1
        return out

    def flush(self, out: Output) -> None:
        """End the run, if there is one, and append the row that is due."""
        row = self._again
        if row is not None:
            text = row.text
            if self._count > 1:
                text = f"{text} ({self._count:,} times in succession)"
            out.append(CaptureDamage(row.file, row.packet, row.ts_ns, row.offset, row.kind, text))
        self._last = None
        self._again = None
        self._count = 0


__all__ = ["Repeats"]
