"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.stream import IN_DAMAGE, IN_FRAMES
from ..._core.stream import Direction as SharedDirection
from ...endpoint import Side
from ...errors import CodecError
from ..codec.composite import decode_frame_body
from ..codec.frames import AMQP, FRAME, HEADER_SIZE
from ..codec.performatives import Transfer
from ..model.link_state import CLIENT, SERVER
from .content import abandon
from .resync import LIKELY_MAX, Reader, descriptor

if TYPE_CHECKING:
    from .connection import OneZeroObserver
    from .content import Content

IN_TLS: Final = 3
"""What follows is encrypted (part 5 section 5.2)."""


class Direction(SharedDirection):
    """What one side sends, and the deliveries that are under way.

    `layer` is the type of the frames that belong here, None while that isn't known; `headers` the protocol headers so
    far. `early` are the largest frame and the highest channel from before the other side's open, each with its offset
    and unit.
    """

    __slots__ = ("contents", "early", "good", "headers", "layer", "number")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = CLIENT if self.client else SERVER
        self.layer: int | None = None
        self.headers: list[bytes] = []
        self.contents: dict[tuple[int, int], Content] = {}
        self.good = b""  # sections before a body that were checked; equal ones needn't be
        self.early = [(0, 0, 0), (0, 0, 0)]

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(HEADER_SIZE):
            return 0
        size: int
        size, offset, kind, _ = FRAME.unpack_from(buffer.data, buffer.pos)
        likely = 8 <= 4 * offset <= size <= LIKELY_MAX and kind <= 1
        return buffer.offset + size if likely else 0


def search(
    machine: OneZeroObserver, direction: Direction, skip_from: int, scan: int, prefer: int = 0
) -> None:
    """From now on look for the next proven frame."""
    direction.search(skip_from, scan, prefer)
    machine.joint.blind = True


def damage(
    machine: OneZeroObserver, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, HEADER_SIZE), direction.end))
    machine.report(direction, (rule, text, offset, "error"), at_ns, None, 0)
    doubt(machine, direction)
    search(machine, direction, offset, offset + 1, offset + size if size else 0)


def doubt(machine: OneZeroObserver, direction: Direction) -> None:
    """What is under way in a direction ends, and hardly anything is sure from now on."""
    abandon(machine, direction)
    machine.joint.missed()
    machine.joint.dropped(direction.number)
    direction.layer = None


def look(machine: OneZeroObserver, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    if not direction.may_say_more(last):
        return False
    reader = Reader(direction.side, machine.likely(direction), machine.limits.header)
    if not direction.look(reader, last, machine.events):
        return False
    machine.joint.blind = any([each.mode == IN_DAMAGE for each in machine.directions])
    machine.joint.missed()
    return True


def end_octets(machine: OneZeroObserver, direction: Direction, at_ns: int) -> None:
    """Nothing follows the octets that are held: judge them, and end what is under way."""
    while machine.unit(direction, True):
        pass
    buffer = direction.buffer
    if direction.mode == IN_DAMAGE:
        begin, reason = direction.skip_from, "resync"
    elif direction.mode == IN_TLS:
        begin, reason = direction.skip_from, "undecoded"
    else:
        cut_transfer(machine, direction, 0)
        begin, reason = buffer.offset, "incomplete"
    direction.skip_from = begin
    buffer.clear()
    direction.skip(direction.end, reason, machine.events)
    direction.skip_from = direction.end


def cut_transfer(machine: OneZeroObserver, direction: Direction, octets: int) -> bool:
    """`octets` octets are missing next: a transfer that has begun is a unit all the same if its performative is there.

    So it is where a snap length cuts packets. Returns whether the hole is just the rest of the frame, so that nothing
    else is missing.
    """
    buffer = direction.buffer
    held = len(buffer)
    if direction.mode != IN_FRAMES or not buffer.want(HEADER_SIZE):
        return False
    size: int
    size, doff, kind, number = FRAME.unpack_from(buffer.data, buffer.pos)
    if kind != AMQP or doff < 2 or not 4 * doff < held < size:
        return False
    buffer.want(held)
    data = buffer.data
    begin, end = buffer.pos + 4 * doff, buffer.pos + held
    code, _ = descriptor(data, begin, end)
    if code != Transfer.CODE:
        return False
    try:
        frame, start = decode_frame_body(data, begin, end)
    except CodecError:
        return False
    assert isinstance(frame, Transfer)
    offset = buffer.offset
    payload = data[start:end]
    buffer.clear()
    lost = size - held if size <= held + octets else -1
    machine.transfer(
        direction, number, frame, payload, offset, held, direction.when(direction.end), lost
    )
    return lost == octets
