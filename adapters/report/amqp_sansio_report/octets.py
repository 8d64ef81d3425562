"""The octets of units: the last part of each stream, without secrets, and its frames."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from amqp_sansio.capture.redact import Redactor

KEPT: Final = 8 * 1024 * 1024
"""Octets kept of a stream: a unit that began earlier is shown without its first frames."""
_HEADER: Final = 8
_CLASSIC: Final = {1: "method", 2: "content header", 3: "content body", 8: "heartbeat"}
_AMQP_0_10: Final = ("control", "command", "header", "body")
_AMQP_1_0: Final = {0: "AMQP frame", 1: "SASL frame"}


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
        self._size = 0
        self._begin = b""
        self._end = 0
        self._redactor = Redactor()
        self.whole = True

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
    while left > 0 and len(found) < most:
        head = stream.read(at, 12, client)
        if head[:4] == b"AMQP":
            frame: _Head | None = ("protocol header", _HEADER, b"")
        elif protocol == "1.0":
            frame = _amqp_1_0(head)
        elif protocol == "0-10":
            frame = _amqp_0_10(head)
        else:
            frame = _classic(head)
        if frame is None:
            break
        name, length, where = frame
        if place is None:
            place = where
        if where == place:
            if length > left:
                break
            found.append(Frame(name, at, length, stream.read(at, min(length, octets), client)))
            left -= length
        at += length
    return found


_Head = tuple[str, int, bytes]
"""A frame's name, its size, and the key that distinguishes it from frames of other units."""


def _classic(head: bytes) -> _Head | None:
    """0-9-1 section 4.2.3."""
    if len(head) < 8 or head[0] not in _CLASSIC:
        return None
    return _CLASSIC[head[0]], int.from_bytes(head[3:7]) + 8, head[1:3]


def _amqp_0_10(head: bytes) -> _Head | None:
    """0-10 part 1 section 4.4.2: a segment's frames are on one track of one channel."""
    if len(head) < 12 or head[1] >= len(_AMQP_0_10):
        return None
    return (f"{_AMQP_0_10[head[1]]} segment", max(int.from_bytes(head[2:4]), 12), bytes((head[5] & 15, *head[6:8])))


def _amqp_1_0(head: bytes) -> _Head | None:
    """1.0 part 2 section 2.3.1."""
    if len(head) < 8 or head[5] not in _AMQP_1_0:
        return None
    return _AMQP_1_0[head[5]], max(int.from_bytes(head[:4]), 8), head[6:8]


__all__ = ["Frame", "Stream", "frames"]
