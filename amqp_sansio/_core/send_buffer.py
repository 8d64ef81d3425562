"""SendBuffer: encoded octets in order, joined once when they are written.

Between calls `size` is what `parts` have behind `_written` and `_offset`. Above `high` those who queue are asked to
pause, by an event; at `_low` they may go on; above `hard` a command is refused before it changes anything
(`check_room`).
"""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .._ground.invariants import ensure
from ..errors import LimitExceeded
from ..events import SendPaused, SendResumed

if TYPE_CHECKING:
    from collections import deque
    from typing import Final

    from ..events import Event
    from ..limits import Limits

_DROP: Final = 256
"""Pieces already written are dropped from the list when there are as many, and more than are left."""
_LARGE: Final = 8192
"""Octets of a body above which to copy it costs more than a piece of its own."""


class SendBuffer:
    """Octets that wait to be sent, in the pieces that they were encoded in, and their count."""

    __slots__ = ("_events", "_low", "_offset", "_written", "closed", "hard", "high", "parts", "paused", "size")

    def __init__(self, events: deque[Event], limits: Limits) -> None:
        # The pieces in order. Those before `_written` are sent, and go when all are.
        self.parts: list[bytes] = []
        # Octets that aren't sent yet.
        self.size = 0
        # Above so many octets those who queue are asked to pause (`Limits.backlog_high`).
        self.high = limits.backlog_high
        # Whether SendPaused was told, and SendResumed not yet.
        self.paused = False
        # Whether the transport is gone: what is queued then is dropped, and asks nobody to pause.
        self.closed = False
        # The connection's events, which take SendPaused and SendResumed.
        self._events = events
        # At so many octets they may go on (`Limits.backlog_low`).
        self._low = limits.backlog_low
        # Above so many octets a command is refused (`Limits.backlog_hard`).
        self.hard = limits.backlog_hard
        # Pieces that are sent as a whole.
        self._written = 0
        # Octets of the next piece that are sent.
        self._offset = 0

    def queue(self, octets: bytes) -> None:
        """Queue octets, and say so when there are many."""
        self.parts.append(octets)
        self.size += len(octets)
        if self.size > self.high:
            self.pause()

    def add(self, pieces: tuple[bytes, ...], size: int) -> None:
        """Queue a message in pieces; the last but one is its body of `size` octets, which is large or small."""
        if size > _LARGE:
            begin = b"".join(pieces[:-2])
            self.parts += (begin, *pieces[-2:])
            self.size += len(begin) + size + len(pieces[-1])
        else:
            octets = b"".join(pieces)
            self.parts.append(octets)
            self.size += len(octets)
        if self.size > self.high:
            self.pause()

    def check_room(self, octets: int, rule: str | None = None) -> None:
        """Raise LimitExceeded when so many octets more exceed `Limits.backlog_hard`."""
        size = self.size + octets
        if size > self.hard:
            raise LimitExceeded(
                f"{size} octets would wait to be sent, Limits.backlog_hard allows {self.hard}; stop at SendPaused",
                rule=rule,
            )

    def pause(self) -> None:
        """Say once that there are many."""
        if not self.paused:
            self.paused = True
            self._events.append(SendPaused(self.size))

    def resume(self) -> None:
        """Say that there are few again, after a pause."""
        if self.paused and self.size <= self._low:
            self.paused = False
            self._events.append(SendResumed(self.size))

    def close(self) -> None:
        """Drop what was not written: the transport is gone."""
        self.clear()
        self.closed = True

    def append(self, octets: bytes) -> None:
        """Queue `octets`."""
        self.parts.append(octets)
        self.size += len(octets)

    def take(self, max_bytes: int | None = None) -> bytes:
        """Remove and return what is queued, at most `max_bytes` octets."""
        if max_bytes is not None and max_bytes < self.size:
            return self._take_some(max_bytes)
        parts = self.parts
        if self._written or self._offset:
            parts = parts[self._written :]
            parts[0] = parts[0][self._offset :]
        octets = b"".join(parts) if len(parts) != 1 else parts[0]
        self.clear()
        return octets

    def _take_some(self, count: int) -> bytes:
        """As many octets from the front; whatever is taken at a time, each octet is copied once."""
        pieces: list[bytes | memoryview] = []
        while count > 0:
            part = self.parts[self._written]
            left = len(part) - self._offset
            if left > count:
                pieces.append(memoryview(part)[self._offset : self._offset + count])
                self._offset += count
                self.size -= count
                break
            pieces.append(memoryview(part)[self._offset :])
            self.parts[self._written] = b""
            self._written += 1
            self._offset = 0
            self.size -= left
            count -= left
        if self._written >= _DROP and self._written * 2 > len(self.parts):
            del self.parts[: self._written]
            self._written = 0
        return b"".join(pieces)

    def clear(self) -> None:
        """Drop what was not written."""
        self.parts.clear()
        self.size = 0
        self._written = 0
        self._offset = 0

    def check(self) -> None:
        """Check what the module says of `size`, and that a closed buffer is empty. Raises AssertionError."""
        left = sum([len(each) for each in self.parts[self._written :]]) - self._offset
        ensure(self.size == left, "send buffer", "`size` counts the octets that aren't sent", self.size, left)
        ensure(self.size == 0 or not self.closed, "send buffer", "nothing waits where the transport is gone", self.size)
        paused = self.size <= self.high or self.paused or self.closed
        ensure(paused, "send buffer", "above `high` those who queue are asked to pause", self.size, self.high)
