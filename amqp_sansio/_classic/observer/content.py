"""One side of an observed connection, and the messages whose frames it is sending (0-9-1 and 0-8 section 4.2.6)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._ground.invariants import ensure
from ..._watching.stream import IN_FRAMES
from ..._watching.stream import Direction as SharedDirection
from ...endpoint import Side
from ..codec.frames import FRAME, OVERHEAD
from .resync import LIKELY_MAX

if TYPE_CHECKING:
    from ..._watching.observation import Fault
    from ..codec.methods import BasicProperties
    from ..codec.violation import Violation

AT_START: Final = 4
"""The first octets are a protocol header or a frame."""


class Content:
    """A method with content whose message is still coming.

    `method` is its record, or its payload when it can't be read; `known` says that the model follows the content too,
    `booked` where it has its message, as a delivery tag or a number.
    `announced` is the body's size by its header, None before that; `cut` counts octets of the body that were not
    captured although their frame was; `parts` is None when the body isn't kept. `held` counts the octets that are kept.
    """

    __slots__ = (
        "announced",
        "answers",
        "at_ns",
        "booked",
        "class_id",
        "cut",
        "faults",
        "held",
        "known",
        "method",
        "name",
        "offset",
        "parts",
        "properties",
        "received",
        "size",
    )

    def __init__(self, method: Any, name: str, class_id: int, known: bool) -> None:
        self.method = method
        self.name = name
        self.class_id = class_id
        self.known = known
        self.answers: int | None = None
        self.booked: int | None = None
        self.offset = 0
        self.size = 0
        self.at_ns = 0
        self.announced: int | None = None
        self.received = 0
        self.cut = 0
        self.held = 0
        self.properties: Any = None
        self.parts: list[bytes] | None = []
        self.faults: list[Fault] = []

    def check(self, where: str) -> None:
        """Check that what is kept is counted: `held` counts the method and properties, too. Raises AssertionError."""
        kept = sum(map(len, self.parts or ()))
        ensure(kept <= self.held, where, "`held` counts the octets that are kept", self.held, kept)
        ensure(self.cut <= self.received, where, "octets that were not captured are octets of the body", self.cut)
        whole = self.announced is not None and self.received >= self.announced
        ensure(not whole, where, "what is whole is no longer under way", self.received, self.announced)

    def blame(self, broken: Violation, offset: int) -> None:
        """A frame of it breaks a rule."""
        rule = broken.rule or "wire/content-incomplete"
        self.faults.append((rule, broken.text, offset, "error"))


class Direction(SharedDirection[int, Content]):
    """The octets that one side sends, and its messages that are under way."""

    __slots__ = ("good", "sound", "stray", "told")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.stray: dict[int, bool] = {}
        # The octets of the last properties that were found in order, and these: equal octets are the same properties.
        self.good = b""
        self.sound: BasicProperties | None = None
        self.told = -1  # where the last frame begins whose size was reported

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(7):
            return 0
        size: int
        _, _, size = FRAME.unpack_from(buffer.data, buffer.pos)
        return buffer.offset + size + OVERHEAD if size <= LIKELY_MAX else 0
