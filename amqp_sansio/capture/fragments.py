"""Reassembles fragmented IP datagrams (RFC 791 section 3.2, RFC 8200 section 4.5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from .records import Packet

_MAX_DATAGRAMS: Final = 64
"""Most datagrams waiting; the oldest is given up."""
_MAX_OCTETS: Final = 131_072
"""Most octets held for one datagram: twice its largest size, for overlaps and repeats."""
_MAX_PIECES: Final = 1024
_LIFETIME_NS: Final = 60_000_000_000
"""Later, the same identification may belong to another datagram."""


class _Datagram:
    __slots__ = ("first", "held", "kind", "pieces", "total")

    def __init__(self, first: Packet) -> None:
        self.first = first
        self.pieces: list[tuple[int, int, bytes]] = []
        self.held = 0
        self.total = -1
        self.kind = -1


class Fragments:
    """The datagrams of one file that are missing fragments; picklable."""

    __slots__ = ("_given_up", "_waiting")

    def __init__(self) -> None:
        self._waiting: dict[bytes, _Datagram] = {}
        self._given_up: list[tuple[Packet, str]] = []

    def add(
        self, key: bytes, offset: int, more: bool, data: bytes, size: int, kind: int, packet: Packet
    ) -> tuple[bytes, int, int] | None:
        """Take a fragment of the datagram `key`; return the datagram if it is complete now.

        `data` is the captured part of the fragment's `size` octets at `offset`, `kind` the protocol in its header.
        Returns the captured octets up to the first missing one, the size of the whole, and the protocol in the first
        fragment.
        """
        waiting = self._waiting
        datagram = waiting.get(key)
        if datagram is not None and abs(packet.ts_ns - datagram.first.ts_ns) > _LIFETIME_NS:
            self._give_up(key)
            datagram = None
        if datagram is None:
            if len(waiting) >= _MAX_DATAGRAMS:
                self._give_up(next(iter(waiting)))
            datagram = waiting[key] = _Datagram(packet)
        datagram.pieces.append((offset, size, data))
        datagram.held += size
        if offset == 0 and datagram.kind < 0:
            datagram.kind = kind
        if not more and datagram.total < 0:
            datagram.total = offset + size
        if 0 <= datagram.total <= datagram.held:
            whole = _join(datagram)
            if whole is not None:
                del waiting[key]
                return whole, datagram.total, datagram.kind
        if datagram.held > _MAX_OCTETS or len(datagram.pieces) > _MAX_PIECES:
            self._give_up(key)
        return None

    @property
    def waiting(self) -> bool:
        """Whether any datagram is missing fragments."""
        return bool(self._waiting)

    def given_up(self) -> list[tuple[Packet, str]]:
        """Return the datagrams given up since the last call: their first packets and what is known."""
        result = self._given_up
        if result:
            self._given_up = []
        return result

    def finish(self) -> list[tuple[Packet, str]]:
        """Give up all waiting datagrams."""
        for key in list(self._waiting):
            self._give_up(key)
        return self.given_up()

    def _give_up(self, key: bytes) -> None:
        datagram = self._waiting.pop(key)
        total = "unknown" if datagram.total < 0 else str(datagram.total)
        text = (
            f"{len(datagram.pieces)} fragments with {datagram.held} octets of a datagram whose "
            f"length is {total}; the others are missing"
        )
        self._given_up.append((datagram.first, text))


def _join(datagram: _Datagram) -> bytes | None:
    parts: list[bytes] = []
    at = 0
    whole = True
    for offset, size, data in sorted(datagram.pieces, key=_offset):
        if offset > at:
            return None
        end = offset + size
        if end <= at:
            continue
        if whole:
            part = data[at - offset :]
            parts.append(part)
            # A fragment cut by the snap length ends the usable part.
            whole = len(part) == end - at
        at = end
    if at < datagram.total:
        return None
    return b"".join(parts)[: datagram.total]


def _offset(piece: tuple[int, int, bytes]) -> int:
    return piece[0]
