"""Direction: what one side of an observed connection sends, and how reading goes on behind damage, in every version."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from itertools import pairwise

from .._checking import TYPE_CHECKING, Generic, Protocol, TypeVar
from .._ground.invariants import ensure
from .._ground.receive_buffer import ReceiveBuffer
from ..endpoint import Side

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

AT_HEADER: Final = 0
"""The first octets are a protocol header."""
IN_FRAMES: Final = 1
IN_DAMAGE: Final = 2
"""Looking for the next proven frame."""
OPAQUE: Final = 3
"""The octets that follow can't be read: they are encrypted."""

_MARK: Final = 32

PROVEN: Final = 0
REFUTED: Final = -1


class FrameRecognizer:
    """Tells frames from other octets; a version says how its frames begin, and which of them prove themselves."""

    __slots__ = ()

    def prove(self, data: bytes, pos: int, last: bool) -> int:
        """Whether a frame begins at `pos`: PROVEN, REFUTED, or how many octets from there are needed to say.

        With `last` nothing follows `data`, so the answer is one of the first two.
        """
        need = self._begins(data, pos)
        if need <= 0:
            return REFUTED
        held = len(data) - pos
        if held < need:
            # Each further octet may refute it.
            return REFUTED if last else held + 1
        size = self._size(data, pos)
        if held < size:
            return REFUTED if last else size
        after = pos + size
        itself = self._proves(data, pos, after)
        if itself is not None:
            return PROVEN if itself else REFUTED
        # It says too little: the next frame, or the end, must follow it.
        if after == len(data):
            return PROVEN if last else held + 1
        follows = self._begins(data, after)
        if follows <= 0:
            return REFUTED
        return PROVEN if last or len(data) - after >= follows else held + 1

    def find(self, data: bytes, pos: int, last: bool) -> tuple[int, int]:
        """The first place from `pos` on where a frame is proven or may still be, and the answer of `prove` there.

        Nowhere: the end of `data`, and REFUTED.
        """
        at = self._candidate(data, pos)
        while at < len(data):
            answer = self.prove(data, at, last)
            if answer != REFUTED:
                return at, answer
            at = self._candidate(data, at + 1)
        return len(data), REFUTED

    # Each version has its own.

    def _begins(self, data: bytes, pos: int) -> int:
        """How many octets the begin of a frame takes that looks right so far; REFUTED when it doesn't.

        With too few octets the answer is how many are needed to say more.
        """
        raise NotImplementedError

    def _size(self, data: bytes, pos: int) -> int:
        """The octets of the frame or protocol header whose begin looks right."""
        raise NotImplementedError

    def _proves(self, data: bytes, pos: int, after: int) -> bool | None:
        """Whether the frame between `pos` and `after` is proven by itself; None when it says too little."""
        raise NotImplementedError

    def _candidate(self, data: bytes, pos: int) -> int:
        """The first place from `pos` on where a frame may begin, or is cut short."""
        raise NotImplementedError


class UnderWay(Protocol):
    """A message whose frames haven't all come, as its direction sees it."""

    held: int

    def check(self, where: str) -> None: ...


_K = TypeVar("_K")
_C = TypeVar("_C", bound=UnderWay)


class Direction(Generic[_K, _C]):
    """The octets that one side sends, when they arrived, and where reading them stands.

    It is in frames, and reads them, or in damage, and looks for the next frame that is proven, or opaque, and skips all
    that follows. Offsets count octets of the stream, those of gaps included.
    """

    __slots__ = (
        "at_ns",
        "buffer",
        "client",
        "contents",
        "end",
        "held_to",
        "mark_end",
        "marks",
        "mode",
        "need",
        "prefer",
        "scan",
        "side",
        "skip_from",
    )

    def __init__(self, side: Side, mode: int) -> None:
        # Who sends them.
        self.side = side
        # Whether that is the client: an index into the observer's `directions`.
        self.client = side is Side.CLIENT
        # IN_FRAMES, IN_DAMAGE or OPAQUE.
        self.mode = mode
        # Octets that arrived and aren't read.
        self.buffer = ReceiveBuffer()
        # The offset behind the last octet that arrived.
        self.end = 0
        # Where arrivals end, and when each came, in nanoseconds since 1970: those behind `mark_end`.
        self.marks: deque[tuple[int, int]] = deque()
        # Where the arrival ends that is being read.
        self.mark_end = 0
        # When that one came.
        self.at_ns = 0
        # In damage: where the octets begin that became nothing.
        self.skip_from = 0
        # In damage: where to look for a frame from; what lies before it was looked at.
        self.scan = 0
        # In damage: how many octets it takes to say more.
        self.need = 1
        # In damage: a place to look at first, where the damaged frame should have ended; 0: none.
        self.prefer = 0
        # The offset up to which frames were there before one of them was proven, 0: none. Only the arrival behind it
        # proves the first, so they are read later than they arrived.
        self.held_to = 0
        # Messages under way, by the version's own keys: their frames haven't all come.
        self.contents: dict[_K, _C] = {}

    def receive(self, pieces: Sequence[bytes], times: Sequence[int]) -> None:
        """Queue octets, each piece with its time."""
        end, marks = self.end, self.marks
        for octets, at_ns in zip(pieces, times, strict=True):
            end += len(octets)
            if marks and marks[-1][1] == at_ns:
                marks.pop()
            marks.append((end, at_ns))
        self.end = end
        self.buffer.append(pieces[0] if len(pieces) == 1 else b"".join(pieces))

    def receive_piece(self, octets: bytes, at_ns: int) -> bool:
        """Queue octets that arrived at one time; return whether frames are read and nothing waits in front of them."""
        end = self.end + len(octets)
        self.end = end
        marks = self.marks
        if self.buffer.append(octets) and self.mode == IN_FRAMES and not marks and not self.contents:
            # As `when` leaves it: what came before became units, so that nobody asks again when it came.
            self.mark_end = end
            self.at_ns = at_ns
            return True
        if marks and marks[-1][1] == at_ns:
            marks.pop()
        marks.append((end, at_ns))
        return False

    @property
    def held(self) -> int:
        """Octets that aren't parsed, with an overhead for each further time at which some of them arrived."""
        return len(self.buffer) + _MARK * max(0, len(self.marks) - 1)

    def when(self, end: int) -> int:
        """When the octet before the offset `end` arrived; the last answer for an offset that was passed already."""
        while end > self.mark_end:
            self.mark_end, self.at_ns = self.marks.popleft()
        return self.at_ns

    def search(self, skip_from: int, scan: int, prefer: int = 0) -> None:
        """From now on look for the next proven frame."""
        self.mode = IN_DAMAGE
        self.skip_from = skip_from
        self.scan = scan
        self.need = 1
        self.prefer = prefer
        self.held_to = 0

    def check(self, most: int) -> int:
        """Check what waits and what is under way, of which there are at most `most` messages; the octets of these.

        For tests; raises AssertionError.
        """
        where = f"the octets of the {self.side.value}"
        buffer, end = self.buffer, self.end
        buffer.check(where)
        behind = buffer.offset + len(buffer)
        ensure(behind == end, where, "what waits ends where the last arrival does", behind, end)
        ends = [self.mark_end, *[each for each, _ in self.marks]]
        ensure(all([one < other for one, other in pairwise(ends)]), where, "`marks` are in order", ends)
        known = ends[-1] == end or (ends[-1] < end and not len(buffer))
        ensure(known, where, "each octet that waits has its time", ends[-1], end)
        places = max(self.skip_from, self.held_to)
        ensure(places <= end, where, "what was skipped or held has arrived", places, end)
        contents = self.contents
        ensure(self.mode == IN_FRAMES or not contents, where, "a message is under way in frames only", self.mode)
        ensure(len(contents) <= most, where, "`limits` bounds the messages under way", len(contents))
        for key, content in contents.items():
            content.check(f"message {key} of {where}")
        return sum([content.held for content in contents.values()])

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        raise NotImplementedError

    def look(self, reader: FrameRecognizer, last: bool) -> bool:
        """Look for the next frame that can be proven, and go on there; False when octets are missing."""
        buffer = self.buffer
        held = len(buffer)
        if not held or not (last or held >= self.need):
            # Looking can neither prove nor refute anything.
            return False
        buffer.want(held)
        data = buffer.data
        at, answer = buffer.pos, REFUTED
        begin = max(buffer.pos, self.scan - buffer.consumed)
        prefer = self.prefer - buffer.consumed if self.prefer else -1
        if prefer >= 0:
            at = prefer
            beyond = REFUTED if last else 1
            answer = reader.prove(data, at, last) if at < len(data) else beyond
            if answer > 0:
                self.need = at - buffer.pos + answer
                return False
        if answer != PROVEN:
            self.prefer = 0
            at, answer = reader.find(data, begin, last)
        buffer.pos = at
        if answer == PROVEN:
            self.mode = IN_FRAMES
            self.held_to = self._held_before(reader, data, at, begin, prefer)
            return True
        self.when(buffer.offset)
        self.need = 1 if answer == REFUTED else answer
        return False

    def _held_before(self, reader: FrameRecognizer, data: bytes, at: int, begin: int, prefer: int) -> int:
        """The offset where the arrival begins that proves the frame at `at`; 0 when the frame begins in this arrival.

        `begin` and `prefer` are where it was looked for; -1 as `prefer` for no such place. The answer is the same
        however many arrivals are there by now.
        """
        consumed = self.buffer.consumed
        ends: list[int] = []
        before = None
        for end, at_ns in ((self.mark_end, self.at_ns), *self.marks):
            if end <= consumed + at:
                continue
            if at_ns == before:
                ends.pop()
            ends.append(end)
            before = at_ns
        base = begin if prefer < 0 else min(begin, prefer)

        def proves(end: int) -> bool:
            """Whether the octets up to an offset are enough."""
            octets = data[base : end - consumed]
            if prefer >= 0:
                first = REFUTED + 2 if prefer - base >= len(octets) else reader.prove(octets, prefer - base, False)
                if first != REFUTED:
                    return first == PROVEN
            return reader.find(octets, begin - base, False) == (at - base, PROVEN)

        # Mostly it's one of the first.
        most = 1
        while most < len(ends) and not proves(ends[most - 1]):
            most *= 2
        proof = bisect_left(ends, True, most // 2, min(most, len(ends)) - 1, key=proves) if ends else 0
        return ends[proof - 1] if proof else 0
