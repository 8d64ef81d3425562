"""Scout: reads one direction of a connection that is seen from the middle; what the scouts of all versions do alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from .._ground.receive_buffer import ReceiveBuffer
from .stream import PROVEN, REFUTED, FrameRecognizer

if TYPE_CHECKING:
    from ..endpoint import Side

_R = TypeVar("_R", bound=FrameRecognizer)


class Scout(Generic[_R]):
    """Looks for frames and protocol headers, with the version's `reader`."""

    __slots__ = ("_buffer", "_need", "_reader", "at", "proven", "side")

    def __init__(self, reader: _R) -> None:
        # What was seen and proves nothing yet.
        self._buffer = ReceiveBuffer()
        # What tells this version's frames from other octets.
        self._reader = reader
        # Octets that must be there before another look can say more.
        self._need = 1
        # Whether a frame or header was found; it stays so.
        self.proven = False
        # The offset in the stream where the first one begins, once one is proven.
        self.at = 0
        # Who must have sent what was found; None while that may be either.
        self.side: Side | None = None

    def receive(self, octets: bytes) -> None:
        """Look at more octets."""
        if octets and not self.is_done:
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

    @property
    def is_done(self) -> bool:
        """Whether nothing that follows can tell more."""
        return self.side is not None

    def _look(self, last: bool) -> None:
        buffer = self._buffer
        if not len(buffer) or not (last or len(buffer) >= self._need):
            return
        buffer.want(len(buffer))
        data = buffer.data
        while buffer.pos < len(data) and not self.is_done:
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
        raise NotImplementedError
