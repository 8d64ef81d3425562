"""Scout: reads one direction of a connection that is seen from the middle, to find out whether it's this version's and
which side sends it (0-10 part 1 sections 4.3 and 4.4).
"""

from __future__ import annotations

from .._receive import ReceiveBuffer
from ..endpoint import Side
from .frames import (
    FIRST_FRAME,
    FRAME,
    FRAME_HEADER_SIZE,
    HEADER,
    HEADER_BEGIN,
    LAST_FRAME,
    PROTOCOL_HEADER_SIZE,
)
from .resync import PROVEN, REFUTED, SENDERS, Reader


class Scout:
    """Looks for frames and protocol headers.

    `proven` says that one was found, `at` where the first one begins, `side` who must have sent what was found.
    """

    __slots__ = ("_buffer", "_need", "_reader", "at", "proven", "side")

    def __init__(self) -> None:
        self._buffer = ReceiveBuffer()
        self._reader = Reader(None)
        self._need = 1
        self.proven = False
        self.at = 0
        self.side: Side | None = None

    def receive(self, octets: bytes) -> None:
        """Look at more octets."""
        if octets and self.side is None:
            self._buffer.append(octets)
            self._look(False)

    def gap(self) -> None:
        """Octets are missing here."""
        self._look(True)
        self._buffer.clear()
        self._need = 1

    def finish(self) -> None:
        """Nothing more comes."""
        self._look(True)

    @property
    def scanned(self) -> int:
        """Before this place, counted in octets that were received, nothing begins but what was found."""
        return self._buffer.offset

    def _look(self, last: bool) -> None:
        buffer = self._buffer
        if not len(buffer) or not (last or len(buffer) >= self._need):
            return
        buffer.want(len(buffer))
        data = buffer.data
        while buffer.pos < len(data) and self.side is None:
            at, answer = self._reader.find(data, buffer.pos, last)
            buffer.pos = at
            if answer == REFUTED:
                break
            if answer != PROVEN:
                self._need = answer
                return
            if not self.proven:
                self.proven = True
                self.at = buffer.offset
            buffer.pos = at + self._judge(data, at)
        self._need = 1

    def _judge(self, data: bytes, at: int) -> int:
        """Take what is proven to begin at `at`; how long it is."""
        if data.startswith(HEADER_BEGIN, at):
            return PROTOCOL_HEADER_SIZE
        flags, kind, size, _, _, _, _ = FRAME.unpack_from(data, at)
        ends = FIRST_FRAME | LAST_FRAME
        if kind < HEADER and flags & ends == ends:
            found = self._reader.read(data, at + FRAME_HEADER_SIZE, at + size, kind)
            if found is not None:
                self.side = SENDERS.get(found.NAME)
        return int(size)


__all__ = ["Scout"]
