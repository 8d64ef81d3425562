"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._core.stream import IN_DAMAGE, IN_FRAMES
from ..._core.stream import Direction as SharedDirection
from ...endpoint import Side
from ..codec.frames import BODY, COMMAND_TRACK, FRAME, FRAME_HEADER_SIZE, reserved
from .content import abandon
from .resync import Reader

if TYPE_CHECKING:
    from .connection import ZeroTenObserver
    from .content import Content


class Direction(SharedDirection):
    """What one side sends, and the assemblies that are under way.

    `contents` are these by channel and track. Where octets are missing, `doubted` is True, and `begun` are the channels
    and tracks where an assembly has begun since: elsewhere a frame may belong to one whose begin wasn't seen.
    """

    __slots__ = ("begun", "contents", "doubted", "headers", "number")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = int(self.client)
        self.headers = 0
        self.contents: dict[tuple[int, int], Content] = {}
        self.doubted = mode == IN_DAMAGE
        self.begun: set[tuple[int, int]] = set()

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(FRAME_HEADER_SIZE):
            return 0
        size: int
        flags, kind, size, spare, track, _, tail = FRAME.unpack_from(buffer.data, buffer.pos)
        wrong = kind > BODY or size < FRAME_HEADER_SIZE or reserved(flags, spare, track, tail)
        return 0 if wrong else buffer.offset + size


def damage(
    machine: ZeroTenObserver, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, FRAME_HEADER_SIZE), direction.end))
    doubt(machine, direction)
    machine.report(direction, (rule, text, offset, "error"), at_ns, None, 0)
    direction.search(offset, offset + 1, offset + size if size else 0)


def doubt(machine: ZeroTenObserver, direction: Direction) -> None:
    """What is under way in a direction ends, and hardly anything is sure from now on."""
    abandon(machine, direction)
    machine.joint.missed(direction.number)
    direction.doubted = True
    direction.begun.clear()


def look(machine: ZeroTenObserver, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    if not direction.may_say_more(last):
        return False
    return direction.look(Reader(direction.side), last, machine.events)


def end_octets(machine: ZeroTenObserver, direction: Direction) -> None:
    """Nothing follows the octets that are held: judge them, and end what is under way."""
    while machine.unit(direction, True):
        pass
    buffer = direction.buffer
    if direction.mode == IN_DAMAGE:
        begin, reason = direction.skip_from, "resync"
    else:
        begin, reason = buffer.offset, "incomplete"
    direction.skip_from = begin
    buffer.clear()
    abandon(machine, direction)
    direction.skip(direction.end, reason, machine.events)
    direction.skip_from = direction.end


def cut_body(machine: ZeroTenObserver, direction: Direction, octets: int) -> bool:
    """`octets` octets are missing next: when the rest of a body frame is among them, its message goes on all the same.

    So it is where a snap length cuts packets. Returns whether the hole is just the rest of the frame, so that nothing
    else is missing.
    """
    buffer = direction.buffer
    held = len(buffer)
    if not direction.frame_end():
        return False
    size: int
    flags, kind, size, _, track, channel, _ = FRAME.unpack_from(buffer.data, buffer.pos)
    content = direction.contents.get((channel, track))
    if (
        kind != BODY
        or track != COMMAND_TRACK
        or content is None
        or not held < size <= held + octets
    ):
        return False
    buffer.want(held)
    offset = buffer.offset
    payload = buffer.data[buffer.pos + FRAME_HEADER_SIZE : buffer.pos + held]
    buffer.clear()
    lost = size - held
    machine.frame(
        direction,
        flags,
        kind,
        track,
        channel,
        payload,
        offset,
        held,
        direction.when(direction.end),
        lost,
    )
    return lost == octets
