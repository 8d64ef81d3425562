"""Scout: reads one direction of a connection that is seen from the middle, to find out which side sends it."""

from __future__ import annotations

from .._receive import ReceiveBuffer
from ..endpoint import Side
from .dialect import get_dialect
from .frames import FRAME, METHOD, OVERHEAD
from .resync import PROVEN, REFUTED, Reader


class Scout:
    """Looks for frames of 0-8 or 0-9-1. `proven` says that one was found, `side` who must have sent what was found."""

    __slots__ = ("_buffer", "_need", "_reader", "proven", "side")

    def __init__(self) -> None:
        self._buffer = ReceiveBuffer()
        self._reader = Reader((get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit")), None)
        self._need = 1
        self.proven = False
        self.side: Side | None = None

    def receive(self, octets: bytes) -> None:
        """Look at more octets."""
        if octets:
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

    def _look(self, last: bool) -> None:
        buffer = self._buffer
        if self.side is not None or not (last or len(buffer) >= self._need) or not len(buffer):
            return
        buffer.want(len(buffer))
        data = buffer.data
        while buffer.pos < len(data) and self.side is None:
            at, answer = self._reader.find(data, buffer.pos, last)
            buffer.pos = at
            if answer == REFUTED:
                self._need = 1
                return
            if answer != PROVEN:
                self._need = answer
                return
            kind, _, size = FRAME.unpack_from(data, at)
            self.proven = True
            if kind == METHOD:
                self._judge(data[at + 7 : at + 7 + size])
            buffer.pos = at + size + OVERHEAD
        self._need = 1

    def _judge(self, payload: bytes) -> None:
        senders = [each for _, each in self._reader.methods(payload)]
        for side in Side:
            if all([each == (side,) for each in senders]):
                self.side = side


__all__ = ["Scout"]
