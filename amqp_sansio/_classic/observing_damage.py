"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from .._receive import ReceiveBuffer
from ..endpoint import Side
from ..observer import Skipped
from .dialect import get_dialect
from .frames import BODY, FRAME, OVERHEAD
from .observing_content import end_content, receive_body
from .resync import LIKELY_MAX, PROVEN, REFUTED, Reader

if TYPE_CHECKING:
    from .observing import ClassicMachine
    from .observing_content import Content

AT_HEADER: Final = 0
"""The first octets are a protocol header."""
AT_START: Final = 1
"""The first octets are a protocol header or a frame."""
IN_FRAMES: Final = 2
IN_DAMAGE: Final = 3
"""Looking for the next proven frame."""


class Direction:
    """What one side sends: its octets, where reading them stands, and the messages that are under way.

    In damage, `skip_from` is where the octets begin that became nothing, `scan` where to look for a frame, `prefer` a
    place to look at first (0: none), all as offsets in the stream; `need` is how many octets it takes to say more.
    """

    __slots__ = (
        "at_ns", "buffer", "client", "contents", "end", "good", "mark_end", "marks", "mode", "need",
        "prefer", "scan", "side", "skip_from", "stray", "told",
    )  # fmt: skip

    def __init__(self, side: Side, mode: int) -> None:
        self.side = side
        self.client = side is Side.CLIENT
        self.mode = mode
        self.buffer = ReceiveBuffer()
        self.end = 0
        self.marks: deque[tuple[int, int]] = deque()
        self.mark_end = 0
        self.at_ns = 0
        self.contents: dict[int, Content] = {}
        self.stray: dict[int, bool] = {}
        self.good = b"\x00\x00"  # properties that were checked; equal ones needn't be
        self.skip_from = 0
        self.scan = 0
        self.need = 1
        self.prefer = 0
        self.told = -1  # where the last frame begins whose size was reported

    def receive(self, octets: bytes, at_ns: int) -> None:
        """Queue octets."""
        self.end += len(octets)
        self.marks.append((self.end, at_ns))
        self.buffer.append(octets)

    def when(self, end: int) -> int:
        """When the octet before the offset `end` arrived; the last answer for an offset that was passed already."""
        while end > self.mark_end:
            self.mark_end, self.at_ns = self.marks.popleft()
        return self.at_ns

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(7):
            return 0
        size: int
        _, _, size = FRAME.unpack_from(buffer.data, buffer.pos)
        return buffer.offset + size + OVERHEAD if size <= LIKELY_MAX else 0

    def search(self, skip_from: int, scan: int, prefer: int = 0) -> None:
        """From now on look for the next proven frame."""
        self.mode = IN_DAMAGE
        self.skip_from = skip_from
        self.scan = scan
        self.need = 1
        self.prefer = prefer


def damage(
    machine: ClassicMachine, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, 7), direction.end))
    machine.report(direction, (rule, text, offset), at_ns, None, 0)
    abandon(machine, direction)
    machine.joint.missed(direction.client)
    direction.search(offset, offset + 1, offset + size if size else 0)


def look(machine: ClassicMachine, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    buffer = direction.buffer
    held = len(buffer)
    if not held or not (last or held >= direction.need):
        return False
    buffer.want(held)
    data = buffer.data
    reader = _reader(machine, direction.side)
    if direction.prefer:
        at = direction.prefer - buffer.consumed
        beyond = REFUTED if last else 1
        answer = reader.prove(data, at, last) if at < len(data) else beyond
        if answer > 0:
            direction.need = at - buffer.pos + answer
            return False
        if answer == PROVEN:
            _resume(machine, direction, at)
            return True
        direction.prefer = 0
    at, answer = reader.find(data, max(buffer.pos, direction.scan - buffer.consumed), last)
    if answer == PROVEN:
        _resume(machine, direction, at)
        return True
    buffer.pos = at
    direction.need = 1 if answer == REFUTED else answer
    return False


def _resume(machine: ClassicMachine, direction: Direction, at: int) -> None:
    """A frame begins at `at`; what lies before it is skipped."""
    buffer = direction.buffer
    buffer.pos = at
    octets = buffer.offset - direction.skip_from
    if octets:
        at_ns = direction.when(buffer.offset)
        machine.events.append(Skipped(direction.side, direction.skip_from, octets, at_ns, "resync"))
    direction.mode = IN_FRAMES


def _reader(machine: ClassicMachine, side: Side) -> Reader:
    dialects = [machine.dialect]
    if machine.undecided:
        dialects = [get_dialect("0-9-1-rabbit"), get_dialect("0-8-rabbit")]
    agreed = machine.frame_max
    return Reader(
        dialects, side, min(agreed, machine.limits.unparsed) if agreed > 0 else LIKELY_MAX
    )


def end_octets(machine: ClassicMachine, direction: Direction, at_ns: int) -> None:
    """Nothing follows the octets that are held: judge them, and end what is under way."""
    while machine.unit(direction, True):
        pass
    buffer = direction.buffer
    if direction.mode == IN_DAMAGE:
        begin, reason = direction.skip_from, "resync"
    else:
        begin, reason = buffer.offset, "incomplete"
    octets = direction.end - begin
    buffer.clear()
    abandon(machine, direction)
    if octets:
        at_ns = direction.when(direction.end)
        machine.events.append(Skipped(direction.side, begin, octets, at_ns, reason))
    direction.skip_from = direction.end


def cut_body(machine: ClassicMachine, direction: Direction, octets: int) -> None:
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


def abandon(machine: ClassicMachine, direction: Direction) -> None:
    """No message that is under way can be trusted to go on."""
    for number, content in list(direction.contents.items()):
        end_content(machine, direction, number, content)
        direction.stray[number] = True


__all__ = [
    "AT_HEADER",
    "AT_START",
    "IN_DAMAGE",
    "IN_FRAMES",
    "Direction",
    "abandon",
    "cut_body",
    "damage",
    "end_octets",
    "look",
]
