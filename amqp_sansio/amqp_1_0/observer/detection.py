"""Scout: reads one direction of a connection that is seen from the middle, to find out whether it's this version's and
which side sends it (1.0 part 2 sections 2.2 and 2.3, part 5 section 5.3).
"""

from __future__ import annotations

from ..._watching.detection import Scout as SharedScout
from ...versions import HEADER_BEGIN
from ..codec.frames import FRAME, HEADER_SIZE, SASL
from .resync import SASL_SENDERS, Reader, descriptor


class Scout(SharedScout[Reader]):
    """Looks for frames and protocol headers of 1.0.

    `equal` says that an AMQP frame was found: behind it there are none but such as both sides may send.
    """

    __slots__ = ("equal",)

    def __init__(self) -> None:
        super().__init__(Reader(None))
        self.equal = False

    @property
    def is_done(self) -> bool:
        return self.equal or self.side is not None

    def _judge(self, data: bytes, at: int) -> int:
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
