"""Scout: reads one direction of a connection that is seen from the middle, to find out whether it's this version's and
which side sends it (1.0 part 2 sections 2.2 and 2.3, part 5 section 5.3).
"""

from __future__ import annotations

from .._receive import ReceiveBuffer
from ..endpoint import Side
from .frames import FRAME, HEADER_SIZE, SASL
from .resync import HEADER_BEGIN, PROVEN, REFUTED, SASL_SENDERS, Reader, descriptor


class Scout:
    """Looks for frames and protocol headers.

    `proven` says that one was found, `at` where the first one begins, `side` who must have sent what was found. `equal`
    says that an AMQP frame was found: behind it there are none but such as both sides may send.
    """

    __slots__ = ("_buffer", "_need", "_reader", "at", "equal", "proven", "side")

    def __init__(self) -> None:
        self._buffer = ReceiveBuffer()
        self._reader = Reader(None)
        self._need = 1
        self.proven = False
        self.at = 0
        self.equal = False
        self.side: Side | None = None

    def receive(self, octets: bytes) -> None:
        """Look at more octets."""
        if octets and not self._is_done():
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

    def _is_done(self) -> bool:
        return self.equal or self.side is not None

    def _look(self, last: bool) -> None:
        buffer = self._buffer
        if not len(buffer) or not (last or len(buffer) >= self._need):
            return
        buffer.want(len(buffer))
        data = buffer.data
        while buffer.pos < len(data) and not self._is_done():
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
            return HEADER_SIZE
        size: int
        size, offset, kind, _ = FRAME.unpack_from(data, at)
        if kind == SASL:
            code, _ = descriptor(data, at + 4 * offset, at + size)
            self.side = SASL_SENDERS[code]
        else:
            self.equal = True
        return size


__all__ = ["Scout"]
