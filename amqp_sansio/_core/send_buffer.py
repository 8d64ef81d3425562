"""SendBuffer: encoded octets in order, joined once when they are written."""

from __future__ import annotations

from typing import Final

_DROP: Final = 256
"""Pieces already written are dropped from the list when there are as many, and more than are left."""


class SendBuffer:
    """A list of encoded pieces and the size of what isn't written; the first `_written` pieces are."""

    __slots__ = ("_offset", "_written", "parts", "size")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self._written = 0
        self._offset = 0

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
        self.size = self._written = self._offset = 0
