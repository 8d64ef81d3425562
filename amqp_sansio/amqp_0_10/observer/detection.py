"""Scout: reads one direction of a connection that is seen from the middle, to find out whether it's this version's and
which side sends it (0-10 part 1 sections 4.3 and 4.4).
"""

from __future__ import annotations

from ..._watching.detection import Scout as SharedScout
from ...versions import HEADER_BEGIN
from ..codec import frames
from .resync import SENDERS, Reader


class Scout(SharedScout[Reader]):
    """Looks for frames and protocol headers of 0-10."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(Reader(None))

    def _judge(self, data: bytes, at: int) -> int:
        if data.startswith(HEADER_BEGIN, at):
            return frames.PROTOCOL_HEADER_SIZE
        flags, kind, size, _, _, _, _ = frames.FRAME.unpack_from(data, at)
        if kind < frames.HEADER and flags & frames.ALONE == frames.ALONE:
            found = self._reader.read(data, at + frames.FRAME_HEADER_SIZE, at + size, kind)
            if found is not None:
                self.side = SENDERS.get(found.NAME)
        return int(size)
