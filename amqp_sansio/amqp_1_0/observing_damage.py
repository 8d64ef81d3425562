"""What one side sends, as an observer reads it, and what becomes of it where octets are missing or make no frame."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from .._receive import ReceiveBuffer
from ..endpoint import Side
from ..errors import CodecError
from ..observer import Skipped
from ._performatives import Transfer
from .books import CLIENT, SERVER
from .frames import AMQP, FRAME, HEADER_SIZE
from .observing_content import abandon
from .performative import decode_frame_body
from .resync import LIKELY_MAX, PROVEN, REFUTED, Reader, descriptor

if TYPE_CHECKING:
    from .observing import OneZeroMachine
    from .observing_content import Content

AT_HEADER: Final = 0
"""The first octets are a protocol header."""
IN_FRAMES: Final = 1
IN_DAMAGE: Final = 2
"""Looking for the next proven frame."""
IN_TLS: Final = 3
"""What follows is encrypted (part 5 section 5.2)."""


class Direction:
    """What one side sends: its octets, where reading them stands, and the deliveries that are under way.

    `layer` is the type of the frames that belong here, None while that isn't known; `headers` the protocol headers so
    far. `early` are the largest frame and the highest channel from before the other side's open, each with its offset
    and unit. In damage, `skip_from` is where the octets begin that became nothing, `scan` where to look for a frame,
    `prefer` a place to look at first (0: none), all as offsets in the stream; `need` is how many octets
    it takes to say more.
    """

    __slots__ = (
        "at_ns", "buffer", "client", "contents", "early", "end", "good", "headers", "layer", "mark_end", "marks",
        "mode", "need", "number", "prefer", "scan", "side", "skip_from",
    )  # fmt: skip

    def __init__(self, side: Side, mode: int) -> None:
        self.side = side
        self.client = side is Side.CLIENT
        self.number = CLIENT if self.client else SERVER
        self.mode = mode
        self.layer: int | None = None
        self.headers: list[bytes] = []
        self.buffer = ReceiveBuffer()
        self.end = 0
        self.marks: deque[tuple[int, int]] = deque()
        self.mark_end = 0
        self.at_ns = 0
        self.contents: dict[tuple[int, int], Content] = {}
        self.good = b""  # sections before a body that were checked; equal ones needn't be
        self.early = [(0, 0, 0), (0, 0, 0)]
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
        if self.mode != IN_FRAMES or not buffer.want(HEADER_SIZE):
            return 0
        size: int
        size, offset, kind, _ = FRAME.unpack_from(buffer.data, buffer.pos)
        likely = 8 <= 4 * offset <= size <= LIKELY_MAX and kind <= 1
        return buffer.offset + size if likely else 0


def search(
    machine: OneZeroMachine, direction: Direction, skip_from: int, scan: int, prefer: int = 0
) -> None:
    """From now on look for the next proven frame."""
    direction.mode = IN_DAMAGE
    direction.skip_from = skip_from
    direction.scan = scan
    direction.need = 1
    direction.prefer = prefer
    machine.joint.blind = True


def damage(
    machine: OneZeroMachine, direction: Direction, rule: str, text: str, size: int = 0
) -> None:
    """A frame can't be read: say so, and look for the next. `size` is what it takes, where that may be believed."""
    offset = direction.buffer.offset
    at_ns = direction.when(min(offset + max(size, HEADER_SIZE), direction.end))
    machine.report(direction, (rule, text, offset, "error"), at_ns, None, 0)
    doubt(machine, direction)
    search(machine, direction, offset, offset + 1, offset + size if size else 0)


def doubt(machine: OneZeroMachine, direction: Direction) -> None:
    """What is under way in a direction ends, and hardly anything is sure from now on."""
    abandon(machine, direction)
    machine.joint.missed()
    machine.joint.dropped(direction.number)
    direction.layer = None


def look(machine: OneZeroMachine, direction: Direction, last: bool) -> bool:
    """Look for the next frame that can be proven; False when octets are missing."""
    buffer = direction.buffer
    held = len(buffer)
    if not held or not (last or held >= direction.need):
        return False
    buffer.want(held)
    data = buffer.data
    reader = Reader(direction.side, machine.likely(direction), machine.limits.header)
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


def _resume(machine: OneZeroMachine, direction: Direction, at: int) -> None:
    """A frame begins at `at`; what lies before it is skipped."""
    buffer = direction.buffer
    buffer.pos = at
    octets = buffer.offset - direction.skip_from
    if octets:
        at_ns = direction.when(buffer.offset)
        machine.events.append(Skipped(direction.side, direction.skip_from, octets, at_ns, "resync"))
    direction.mode = IN_FRAMES
    machine.joint.blind = any([each.mode == IN_DAMAGE for each in machine.directions])
    machine.joint.missed()


def end_octets(machine: OneZeroMachine, direction: Direction, at_ns: int) -> None:
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
    octets = direction.end - begin
    buffer.clear()
    if octets:
        at_ns = direction.when(direction.end)
        machine.events.append(Skipped(direction.side, begin, octets, at_ns, reason))
    direction.skip_from = direction.end


def cut_transfer(machine: OneZeroMachine, direction: Direction, octets: int) -> bool:
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


__all__ = [
    "AT_HEADER",
    "IN_DAMAGE",
    "IN_FRAMES",
    "IN_TLS",
    "Direction",
    "cut_transfer",
    "damage",
    "doubt",
    "end_octets",
    "look",
    "search",
]
