"""Deliveries as an observer puts them together: transfers up to the one that ends the delivery (1.0 part 2 section
2.6.14). The last one carries the message, those before it are units of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._ground.invariants import ensure
from ..._watching.stream import IN_FRAMES
from ..._watching.stream import Direction as SharedDirection
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

    def check(self, where: str) -> None:
        """Check that what is kept is counted. Raises AssertionError."""
        parts, sections = self.parts, self.sections
        head = b"" if sections is None else sections.head or b""
        kept = len(head) if parts is None else sum(map(len, parts))
        ensure(kept == self.held, where, "`held` counts the octets that are kept", self.held, kept)
        ensure(self.cut <= self.octets, where, "octets that were not captured are octets of the payload", self.cut)
        ensure((parts is None) == (sections is not None), where, "either the payload is kept or its sections are")


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

    `surely` says which links have had a transfer, or an attach, since something was missed: their next delivery begins
    with its next transfer, while that of any other link may have begun unseen (None: of no link). `torn` are the
    deliveries that were under way then, by their link. `layer` is the type of the frames that belong here, None while
    that isn't known; `headers` the protocol headers so far. `on` are the handles of `contents` by channel. `early` are
    the largest frame and the highest channel from before the other side's open, each with its offset and unit.
    """

    __slots__ = ("early", "good", "headers", "layer", "number", "on", "surely", "torn")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = CLIENT if self.client else SERVER
        self.layer: int | None = None
        self.headers: list[bytes] = []
        self.on: dict[int, dict[int, None]] = {}
        self.good = b""  # sections before a body that were checked; equal ones needn't be
        self.early = [(0, 0, 0), (0, 0, 0)]
        self.surely: set[tuple[int, int]] | None = None
        self.torn: dict[tuple[int, int], int | None] = {}

    def check(self, most: int) -> int:
        """As the base's, and that `on` has the handles of what is under way."""
        held = super().check(most)
        where = f"the octets of the {self.side.value}"
        on = {(channel, handle) for channel, handles in self.on.items() for handle in handles}
        ensure(on == set(self.contents), where, "`on` has the handles of `contents`", on)
        ensure(all(self.on.values()), where, "no channel is in `on` without a handle", list(self.on))
        return held

    def hold(self, key: tuple[int, int], content: Content) -> None:
        """A delivery goes on, on a channel and handle."""
        self.contents[key] = content
        self.on.setdefault(key[0], {})[key[1]] = None

    def release(self, key: tuple[int, int]) -> Content:
        """A delivery doesn't go on any more."""
        channel, handle = key
        handles = self.on[channel]
        del handles[handle]
        if not handles:
            del self.on[channel]
        return self.contents.pop(key)

    def ended_by(self, channel: int, handle: int | None) -> list[tuple[int, int]]:
        """The deliveries that end with a link, or with the session on a channel."""
        if handle is None:
            return [(channel, each) for each in self.on.get(channel, ())]
        return [(channel, handle)] if (channel, handle) in self.contents else []

    def tear(self) -> None:
        """Something was missed: nobody knows which deliveries are under way."""
        self.surely = set()
        self.torn = {key: content.delivery_id for key, content in self.contents.items()}

    def continues(self, key: tuple[int, int], frame: Transfer, payload: bytes) -> bool:
        """Whether the first transfer of a link since something was missed may go on with a delivery that began unseen.

        It doesn't if it carries whole sections: a part of a message is hardly ever cut so.
        """
        if frame.delivery_id is not None and self.torn.get(key) == frame.delivery_id:
            return True
        sections = Sections(1)
        sections.feed(payload)
        return not (sections.section if frame.more else sections.whole)

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(HEADER_SIZE):
            return 0
        size: int
        size, offset, kind, _ = FRAME.unpack_from(buffer.data, buffer.pos)
        likely = 8 <= 4 * offset <= size <= LIKELY_MAX and kind <= 1
        return buffer.offset + size if likely else 0
