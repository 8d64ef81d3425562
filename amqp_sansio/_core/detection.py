"""Scout: reads one direction of a connection that is seen from the middle; what the scouts of all versions do alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

from .receive_buffer import ReceiveBuffer
from .stream import PROVEN, REFUTED, FrameRecognizer

if TYPE_CHECKING:
    from ..endpoint import Side

_R = TypeVar("_R", bound=FrameRecognizer)


class Scout(Generic[_R]):
    """Looks for frames and protocol headers, with the version's `reader`.

    `proven` says that one was found, `at` where the first one begins, `side` who must have sent what was found.
    """

    __slots__ = ("_buffer", "_need", "_reader", "at", "proven", "side")

    def __init__(self, reader: _R) -> None:
        self._buffer = ReceiveBuffer()
        self._reader = reader
        self._need = 1
        self.proven = False
        self.at = 0
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
