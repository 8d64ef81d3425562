"""Scout: reads one direction of a connection that is seen from the middle, to find out which side sends it."""

from __future__ import annotations

from ..._watching.detection import Scout as SharedScout
from ...endpoint import Side
from ..codec.dialect import get_dialect
from ..codec.frames import FRAME, METHOD, OVERHEAD
from .resync import Reader


class Scout(SharedScout[Reader]):
    """Looks for frames of 0-8 or 0-9-1."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Reader((get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit")), None))

    def _judge(self, data: bytes, at: int) -> int:
        size: int
        kind, _, size = FRAME.unpack_from(data, at)
        if kind == METHOD:
            senders = [each for _, each in self._reader.methods(data[at + 7 : at + 7 + size])]
            for side in Side:
                if all([each == (side,) for each in senders]):
                    self.side = side
        return size + OVERHEAD
