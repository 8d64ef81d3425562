"""The octets of units: the last part of each stream, without secrets, and its frames."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from amqp_sansio.capture.redact import Redactor
from amqp_sansio.observer import frame_head
from amqp_sansio.versions import AMQP_0_9_1, Version

KEPT: Final = 8 * 1024 * 1024
"""Octets kept of a stream: a unit that began earlier is shown without its first frames."""
_HEAD: Final = 12
"""Octets that say enough of a frame of every version."""
_VERSIONS: Final = {each.label: each for each in Version}


class Frame(NamedTuple):
    """A frame: its name, its start in the sender's stream, its size, and its first octets."""

    name: str
    offset: int
    size: int
    octets: bytes


class Stream:
    """The octets that one side of a connection sent.

    In a client's stream, responses of the login are asterisks, as in recordings. `whole` says that nothing is missing
    so far, from the protocol header on; otherwise secrets may not have been found.
    """

    __slots__ = ("_begin", "_end", "_pieces", "_redactor", "_size", "whole")

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, bytes, bytes]] = deque()
        """Offset, octets, and the same without secrets, of the last part."""
        self._size = 0
        """Octets of all pieces that are kept."""
        self._begin = b""
        """The first octets, which say whether it is AMQP."""
        self._end = 0
        """The offset behind the last piece."""
        self._redactor = Redactor()
        """Finds secrets, if it sees the stream from its beginning."""
        self.whole = True
        """Whether nothing is missing so far, from the protocol header on; otherwise secrets may not have been found."""

    def add(self, offset: int, octets: bytes) -> None:
        """Add the next octets."""
        if offset != self._end:
            self.whole = False
        if len(self._begin) < 4:
            self._begin += octets[:4]
            if not b"AMQP".startswith(self._begin[:4]):
                self.whole = False
        self._end = offset + len(octets)
        self._pieces.append((offset, octets, self._redactor.feed(octets)))
        self._size += len(octets)
        while self._size > KEPT and len(self._pieces) > 1:
            self._size -= len(self._pieces.popleft()[1])

    def read(self, offset: int, size: int, client: bool) -> bytes:
        """Return at most `size` octets from `offset` on, up to a missing one; `client`: without secrets."""
        found = bytearray()
        # Requests are nearly always for the end.
        pieces: list[tuple[int, bytes]] = []
        for begin, octets, redacted in reversed(self._pieces):
            pieces.append((begin, redacted if client else octets))
            if begin <= offset:
                break
        for begin, octets in reversed(pieces):
            at = offset + len(found)
            if begin > at:
                break
            found += octets[at - begin : at - begin + size - len(found)]
            if len(found) >= size:
                break
        return bytes(found)


def frames(
    stream: Stream, client: bool, protocol: str | None, offset: int, size: int, *, most: int, octets: int
) -> list[Frame]:
    """Return the first `most` frames of a unit that begins at `offset` and has `size` octets, each with its first
    octets.

    `client` says that the stream is the client's. Frames of other channels, which may lie between, are left out. There
    are none where octets are missing.
    """
    found: list[Frame] = []
    at, left, place = offset, size, None
    version = _VERSIONS.get(protocol or "", AMQP_0_9_1)
    while left > 0 and len(found) < most:
        head = frame_head(stream.read(at, _HEAD, client), version)
        if head is None:
            break
        name, length, where = head
        if place is None:
            place = where
        if where == place:
            if length > left:
                break
            found.append(Frame(name, at, length, stream.read(at, min(length, octets), client)))
            left -= length
        at += length
    return found


__all__ = ["Frame", "Stream", "frames"]
