"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.stream import IN_DAMAGE, IN_FRAMES
from ..._core.stream import Direction as SharedDirection
from ...endpoint import Side
from ..codec.dialect import get_dialect
from ..codec.frames import BODY, FRAME, OVERHEAD
from .content import end_content, receive_body
from .resync import LIKELY_MAX, Reader

if TYPE_CHECKING:
    from ..codec.dialect import Dialect
    from .connection import ClassicObserver
    from .content import Content

AT_START: Final = 3
"""The first octets are a protocol header or a frame."""


class Direction(SharedDirection):
    """What one side sends, and the messages that are under way."""

    __slots__ = ("contents", "good", "stray", "told")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.contents: dict[int, Content] = {}
        self.stray: dict[int, bool] = {}
        self.good = b"\x00\x00"  # properties that were checked; equal ones needn't be
        self.told = -1  # where the last frame begins whose size was reported

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(7):
            return 0
        size: int
        _, _, size = FRAME.unpack_from(buffer.data, buffer.pos)
        return buffer.offset + size + OVERHEAD if size <= LIKELY_MAX else 0


def damage(
    machine: ClassicObserver, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, 7), direction.end))
    machine.report(direction, (rule, text, offset), at_ns, None, 0)
    abandon(machine, direction)
    machine.joint.missed(direction.client)
    direction.search(offset, offset + 1, offset + size if size else 0)


def look(machine: ClassicObserver, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    if not direction.may_say_more(last):
        return False
    return direction.look(_reader(machine, direction.side), last, machine.events)


def _reader(machine: ClassicObserver, side: Side) -> Reader:
    dialects: tuple[Dialect, ...] = (machine.dialect,)
    if machine.undecided:
        dialects = (get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit"))
    agreed = machine.frame_max
    return Reader(
        dialects, side, min(agreed, machine.limits.unparsed) if agreed > 0 else LIKELY_MAX
    )


def end_octets(machine: ClassicObserver, direction: Direction, at_ns: int) -> None:
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


def cut_body(machine: ClassicObserver, direction: Direction, octets: int) -> None:
    """`octets` octets are missing next: when the rest of a body frame is among them, its message goes on all the same.

    So it is where a snap length cuts packets: how long the body is, its headers tell.
    """
    buffer = direction.buffer
    held = len(buffer)
    if direction.mode != IN_FRAMES or not buffer.want(7):
        return
    kind, number, size = FRAME.unpack_from(buffer.data, buffer.pos)
    content = direction.contents.get(number)
    if (
        kind != BODY
        or content is None
        or content.announced is None
        or not held < size + OVERHEAD <= held + octets
        or content.received + size > content.announced
    ):
        return
    buffer.want(held)
    offset = buffer.offset
    payload = buffer.data[buffer.pos + 7 : buffer.pos + 7 + size]
    buffer.clear()
    content.size += held - size - OVERHEAD
    content.cut += size - len(payload)
    receive_body(machine, direction, number, payload, size, offset, direction.when(direction.end))


def abandon(machine: ClassicObserver, direction: Direction) -> None:
    """No message that is under way can be trusted to go on."""
    for number, content in list(direction.contents.items()):
        end_content(machine, direction, number, content)
        direction.stray[number] = True
