"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from .._receive import ReceiveBuffer
from ..endpoint import Side
from ..observer import Skipped
from .frames import BODY, COMMAND_TRACK, FRAME, FRAME_HEADER_SIZE, reserved
from .observing_content import abandon
from .resync import PROVEN, REFUTED, Reader

if TYPE_CHECKING:
    from .observing import ZeroTenMachine
    from .observing_content import Content

AT_HEADER: Final = 0
"""The first octets are a protocol header."""
IN_FRAMES: Final = 1
IN_DAMAGE: Final = 2
"""Looking for the next proven frame."""


class Direction:
    """What one side sends: its octets, where reading them stands, and the assemblies that are under way.

    `contents` are these by channel and track. Where octets are missing, `doubted` is True, and `begun` are the channels
    and tracks where an assembly has begun since: elsewhere a frame may belong to one whose begin wasn't seen.

    In damage, `skip_from` is where the octets begin that became nothing, `scan` where to look for a frame, `prefer` a
    place to look at first (0: none), all as offsets in the stream; `need` is how many octets it takes to say more.
    """

    __slots__ = (
        "at_ns", "begun", "buffer", "client", "contents", "doubted", "end", "headers", "mark_end", "marks", "mode",
        "need", "number", "prefer", "scan", "side", "skip_from",
    )  # fmt: skip

    def __init__(self, side: Side, mode: int) -> None:
        self.side = side
        self.client = side is Side.CLIENT
        self.number = int(self.client)
        self.mode = mode
        self.headers = 0
        self.buffer = ReceiveBuffer()
        self.end = 0
        self.marks: deque[tuple[int, int]] = deque()
        self.mark_end = 0
        self.at_ns = 0
        self.contents: dict[tuple[int, int], Content] = {}
        self.doubted = mode == IN_DAMAGE
        self.begun: set[tuple[int, int]] = set()
        self.skip_from = 0
        self.scan = 0
        self.need = 1
        self.prefer = 0

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
        if self.mode != IN_FRAMES or not buffer.want(FRAME_HEADER_SIZE):
            return 0
        size: int
        flags, kind, size, spare, track, _, tail = FRAME.unpack_from(buffer.data, buffer.pos)
        wrong = kind > BODY or size < FRAME_HEADER_SIZE or reserved(flags, spare, track, tail)
        return 0 if wrong else buffer.offset + size


def search(direction: Direction, skip_from: int, scan: int, prefer: int = 0) -> None:
    """From now on look for the next proven frame."""
    direction.mode = IN_DAMAGE
    direction.skip_from = skip_from
    direction.scan = scan
    direction.need = 1
    direction.prefer = prefer


def damage(
    machine: ZeroTenMachine, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, FRAME_HEADER_SIZE), direction.end))
    doubt(machine, direction)
    machine.report(direction, (rule, text, offset, "error"), at_ns, None, 0)
    search(direction, offset, offset + 1, offset + size if size else 0)


def doubt(machine: ZeroTenMachine, direction: Direction) -> None:
    """What is under way in a direction ends, and hardly anything is sure from now on."""
    abandon(machine, direction)
    machine.joint.missed(direction.number)
    direction.doubted = True
    direction.begun.clear()


def look(machine: ZeroTenMachine, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    buffer = direction.buffer
    held = len(buffer)
    if not held or not (last or held >= direction.need):
        return False
    buffer.want(held)
    data = buffer.data
    reader = Reader(direction.side)
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
    direction.when(buffer.offset)
    direction.need = 1 if answer == REFUTED else answer
    return False


def _resume(machine: ZeroTenMachine, direction: Direction, at: int) -> None:
    """A frame begins at `at`; what lies before it is skipped."""
    buffer = direction.buffer
    buffer.pos = at
    octets = buffer.offset - direction.skip_from
    if octets:
        at_ns = direction.when(buffer.offset)
        machine.events.append(Skipped(direction.side, direction.skip_from, octets, at_ns, "resync"))
    direction.mode = IN_FRAMES


def end_octets(machine: ZeroTenMachine, direction: Direction) -> None:
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


def cut_body(machine: ZeroTenMachine, direction: Direction, octets: int) -> bool:
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


__all__ = [
    "AT_HEADER",
    "IN_DAMAGE",
    "IN_FRAMES",
    "Direction",
    "cut_body",
    "damage",
    "doubt",
    "end_octets",
    "look",
    "search",
]
