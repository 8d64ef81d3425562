"""SendBuffer: encoded octets in order, joined once when they are written."""

from __future__ import annotations


class SendBuffer:
    """A list of encoded pieces and their size; `mark` finds a piece's end in the stream of everything sent."""

    __slots__ = ("parts", "size", "taken")

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.size = 0
        self.taken = 0

    def append(self, octets: bytes) -> None:
        """Queue `octets`."""
        self.parts.append(octets)
        self.size += len(octets)

    @property
    def mark(self) -> int:
        """The offset in the sent stream behind the last queued octet."""
        return self.taken + self.size

    def take(self, max_bytes: int | None = None) -> bytes:
        """Remove and return what is queued, at most `max_bytes` octets."""
        if not self.size:
            return b""
        octets = b"".join(self.parts) if len(self.parts) > 1 else self.parts[0]
        self.parts.clear()
        if max_bytes is not None and len(octets) > max_bytes:
            self.parts.append(octets[max_bytes:])
            octets = octets[:max_bytes]
        self.size -= len(octets)
        self.taken += len(octets)
        return octets

    def clear(self) -> None:
        """Drop what was not written."""
        self.parts.clear()
        self.size = 0
