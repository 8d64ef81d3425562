"""Deliveries as an observer puts them together: transfers up to the one that ends the delivery (1.0 part 2 section
2.6.14). The last one carries the message, those before it are units of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._core.stream import IN_FRAMES
from ..._core.stream import Direction as SharedDirection
from ...endpoint import Side
from ..codec.frames import FRAME, HEADER_SIZE
from ..codec.performatives import Declare, Discharge, Received
from ..codec.sections import AMQP_VALUE
from ..model.link_state import CLIENT, SERVER
from .resync import LIKELY_MAX, Descriptors
from .sections import Sections

if TYPE_CHECKING:
    from ..codec.performatives import Transfer


_VALUE: Final = Descriptors({"amqp:amqp-value:*": AMQP_VALUE})
_REQUEST: Final = Descriptors({str(kind.SYMBOL): kind.CODE for kind in (Declare, Discharge)})


def is_request(body: bytes) -> bool:
    """Whether a body, an encoded section, begins as that of a declare or a discharge does."""
    code, at = _VALUE.read(body, 0, len(body))
    return code == AMQP_VALUE and at < len(body) and _REQUEST.read(body, at, len(body))[0] > 0


class Content:
    """A delivery of which more is to come.

    `begun` says that its first transfer was seen; `opaque` that its payload isn't a message from its beginning: it has
    another message-format, or it goes on where an earlier connection left off. `parts` is the payload, None when it
    isn't kept; then `sections` follows it. `octets` is how much of it came, `cut` how much was not captured although
    its frame was; `held` counts the octets that are kept.
    """

    __slots__ = ("begun", "cut", "delivery_id", "held", "octets", "opaque", "parts", "sections")

    def __init__(self, first: Transfer) -> None:
        self.begun = first.delivery_id is not None or first.delivery_tag is not None
        self.delivery_id = first.delivery_id
        state = first.state if first.resume else None
        resumed = isinstance(state, Received) and bool(state.section_number or state.section_offset)
        self.opaque = bool(first.message_format) or resumed or not self.begun
        self.octets = 0
        self.held = 0
        self.cut = 0
        self.parts: list[bytes] | None = []
        self.sections: Sections | None = None


def missing(content: Content) -> int | None:
    """Count the octets that a delivery that ended early lacks, as far as its sections say."""
    sections = content.sections
    if sections is None:
        sections = follow(content, 1)
    if content.opaque or sections.broken or not sections.announced:
        return None
    return sections.announced + content.cut


def follow(content: Content, most: int) -> Sections:
    """Follow the message's sections through the parts that are kept."""
    sections = Sections(most)
    for part in content.parts or ():
        sections.feed(part)
    return sections


class Direction(SharedDirection[tuple[int, int], Content]):
    """The octets that one side sends, and its deliveries that are under way.

    `layer` is the type of the frames that belong here, None while that isn't known; `headers` the protocol headers so
    far. `early` are the largest frame and the highest channel from before the other side's open, each with its offset
    and unit.
    """

    __slots__ = ("early", "good", "headers", "layer", "number")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = CLIENT if self.client else SERVER
        self.layer: int | None = None
        self.headers: list[bytes] = []
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
