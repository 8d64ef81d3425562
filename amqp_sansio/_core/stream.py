"""Direction: what one side of an observed connection sends, and how reading goes on behind damage, in every version."""

from __future__ import annotations

from collections import deque
from typing import Final, Generic, TypeVar

from ..endpoint import Side
from .receive_buffer import ReceiveBuffer

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


_K = TypeVar("_K")
_C = TypeVar("_C")


class Direction(Generic[_K, _C]):
    """The octets that one side sends, when they arrived, and where reading them stands.

    In damage, `skip_from` is where the octets begin that became nothing, `scan` where to look for a frame, `prefer` a
    place to look at first (0: none), all as offsets in the stream; `need` is how many octets it takes to say more.
    `contents` are the messages under way, by the version's own keys.
    """

    __slots__ = (
        "at_ns", "buffer", "client", "contents", "end", "mark_end", "marks", "mode", "need", "prefer", "scan", "side",
        "skip_from",
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
        self.skip_from = 0
        self.scan = 0
        self.need = 1
        self.prefer = 0
        self.contents: dict[_K, _C] = {}

    def receive(self, octets: bytes, at_ns: int) -> None:
        """Queue octets."""
        self.end += len(octets)
        marks = self.marks
        if marks and marks[-1][1] == at_ns:
            marks.pop()
        marks.append((self.end, at_ns))
        self.buffer.append(octets)

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
        if self.prefer:
            at = self.prefer - buffer.consumed
            beyond = REFUTED if last else 1
            answer = reader.prove(data, at, last) if at < len(data) else beyond
            if answer > 0:
                self.need = at - buffer.pos + answer
                return False
        if answer != PROVEN:
            self.prefer = 0
            at, answer = reader.find(data, max(buffer.pos, self.scan - buffer.consumed), last)
        buffer.pos = at
        if answer == PROVEN:
            self.mode = IN_FRAMES
            return True
        self.when(buffer.offset)
        self.need = 1 if answer == REFUTED else answer
        return False
