"""Deliveries as an observer puts them together: transfers up to the one that ends the delivery (1.0 part 2 section
2.6.14). The last one carries the message, those before it are units of their own.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from ...errors import CodecError
from ..codec.faults import READ_FAULTS
from ..codec.message import Message, check_message
from ..codec.performatives import Declare, Discharge, Received
from ..codec.sections import AMQP_VALUE
from .sections import Sections, body_of

if TYPE_CHECKING:
    from ..codec.performatives import Transfer
    from .connection import OneZeroObserver
    from .damage import Direction


def _descriptors(code: int, symbol: str) -> tuple[bytes, ...]:
    """All forms of a descriptor."""
    name = symbol.encode("ascii")
    size = len(name)
    forms = (b"\x53%c" % code, b"\x80" + code.to_bytes(8, "big"), b"\xa3%c" % size + name)
    return tuple([b"\0" + form for form in (*forms, b"\xb3" + size.to_bytes(4, "big") + name)])


_REQUESTS: Final = tuple(
    [
        section + value
        for section in _descriptors(AMQP_VALUE, "amqp:amqp-value:*")
        for kind in (Declare, Discharge)
        for value in _descriptors(kind.CODE, kind.SYMBOL)
    ]
)
"""How the body of a declare or a discharge begins."""


class Content:
    """A delivery of which more is to come.

    `begun` says that its first transfer was seen; `opaque` that its payload isn't a message from its beginning: it has
    another message-format, or it goes on where an earlier connection left off. `parts` is the payload, None when it
    isn't kept; then `sections` follows it. `octets` is how much of it came, `cut` how much was not captured although
    its frame was.
    """

    __slots__ = ("begun", "cut", "delivery_id", "octets", "opaque", "parts", "sections")

    def __init__(self, first: Transfer) -> None:
        self.begun = first.delivery_id is not None or first.delivery_tag is not None
        self.delivery_id = first.delivery_id
        state = first.state if first.resume else None
        resumed = isinstance(state, Received) and bool(state.section_number or state.section_offset)
        self.opaque = bool(first.message_format) or resumed or not self.begun
        self.octets = 0
        self.cut = 0
        self.parts: list[bytes] | None = []
        self.sections: Sections | None = None


def receive_transfer(
    machine: OneZeroObserver,
    direction: Direction,
    number: int,
    frame: Transfer,
    payload: bytes,
    offset: int,
    size: int,
    at_ns: int,
    lost: int = 0,
) -> None:
    """A transfer of `size` octets. `lost` octets of its payload were not captured; -1: it isn't known how many."""
    key = (number, frame.handle)
    content = direction.contents.get(key)
    if content is not None and frame.delivery_id not in (None, content.delivery_id):
        drop_content(machine, direction, key)
        content = None
    if content is None:
        content = Content(frame)
    else:
        del direction.contents[key]
    if not frame.aborted:
        _add(machine, content, payload, lost, frame.more)
    if lost < 0 or frame.aborted or (not content.begun and not frame.more):
        _end(machine, content)
        machine.observe(
            direction, number, "partial", "transfer", frame, offset, size, at_ns, missing=_missing(content)
        )  # fmt: skip
    elif frame.more:
        direction.contents[key] = content
        if len(direction.contents) > machine.limits.consumers:
            drop_content(machine, direction, next(iter(direction.contents)))
        machine.observe(direction, number, "part", "transfer", frame, offset, size, at_ns)
    else:
        properties, body, body_size, digest = _message(machine, content, offset)
        machine.observe(
            direction, number, "content", "transfer", frame, offset, size, at_ns, properties, body, body_size,
            digest, missing=None if content.opaque and not frame.message_format else content.cut,
        )  # fmt: skip


def drop_content(machine: OneZeroObserver, direction: Direction, key: tuple[int, int]) -> None:
    """Nothing more of a delivery comes, or what comes can't be trusted to belong to it."""
    _end(machine, direction.contents.pop(key))


def _end(machine: OneZeroObserver, content: Content) -> None:
    if content.parts is not None:
        machine.bodies -= content.octets


def _missing(content: Content) -> int | None:
    """What a delivery that ended early lacks, as far as its sections say."""
    sections = content.sections
    if sections is None:
        sections = _follow(content, 1)
    if content.opaque or sections.broken or not sections.announced:
        return None
    return sections.announced + content.cut


def _add(machine: OneZeroObserver, content: Content, payload: bytes, lost: int, more: bool) -> None:
    """More of the payload; it's kept as long as all of it is there and within the limits."""
    limits = machine.limits
    octets = len(payload)
    if content.parts is not None:
        total = content.octets + octets
        counted = machine.body == "size" and more
        if counted or lost or total > limits.message or machine.bodies + octets > limits.bodies:
            machine.bodies -= content.octets
            content.sections = _follow(content, limits.header)
            content.parts = None
        else:
            machine.bodies += octets
            content.parts.append(payload)
    content.octets += octets + max(lost, 0)
    sections = content.sections
    if sections is not None:
        sections.feed(payload)
        if lost > 0:
            content.cut += lost
            sections.skip(lost)


def _follow(content: Content, most: int) -> Sections:
    """What the parts that are kept say about the message's sections."""
    sections = Sections(most)
    for part in content.parts or ():
        sections.feed(part)
    return sections


def _message(
    machine: OneZeroObserver, content: Content, offset: int
) -> tuple[Message | None, bytes | None, int, str | None]:
    """The message of a delivery that is whole: its properties, body, the body's size and digest."""
    _end(machine, content)
    if content.parts is None:
        sections = content.sections
        if content.opaque or sections is None:
            return None, None, content.octets, None
        head = sections.head
        properties = None if head is None else Message.from_wire(bytes(head))
        return properties, None, sections.size, None
    parts = content.parts
    payload = parts[0] if len(parts) == 1 else b"".join(parts)
    if content.opaque:
        return (None, *_treat(machine, payload))
    return read_message(machine, payload, offset)


def read_message(
    machine: OneZeroObserver, payload: bytes, offset: int
) -> tuple[Message | None, bytes | None, int, str | None]:
    """What a whole payload holds: as much as the machine is told to keep. Without octets there's no message."""
    if not payload:
        return (None, *_treat(machine, payload))
    at = begin = 0
    size = -1
    try:
        check_message(payload)
        at, begin, size = body_of(payload)
    except CodecError as error:
        rule = (error.rule or "message/section-order").removeprefix("1.0/")
        machine.blame(rule, f"the message can't be read: {error}", offset)
    except READ_FAULTS:
        # It's a message of a rarer kind, which the general way reads.
        size = -1
    if size >= 0 and begin + size == len(payload):
        head, body, request = payload[:at], payload[begin:], False
    else:
        pieces: list[bytes] = []
        sections = Sections(len(payload))
        sections.feed(payload, pieces)
        body = pieces[0] if len(pieces) == 1 else b"".join(pieces)
        head = bytes(sections.head or b"")
        request = sections.kind == "value" and body.startswith(_REQUESTS)
    kept, size, digest = _treat(machine, body)
    # A declare or a discharge is no application's: it's always kept (part 4 section 4.2).
    whole = kept is not None or request
    return Message.from_wire(payload if whole else head), kept, size, digest


def _treat(machine: OneZeroObserver, body: bytes) -> tuple[bytes | None, int, str | None]:
    """The body if it's kept, its size, its digest if it's wanted."""
    treatment = machine.body
    digest = None
    if treatment != "keep" and treatment != "size":
        digest = sha256(body).hexdigest()
    return body if treatment in ("keep", "all") else None, len(body), digest


def abandon(machine: OneZeroObserver, direction: Direction) -> None:
    """No delivery that is under way can be trusted to go on."""
    for key in list(direction.contents):
        drop_content(machine, direction, key)
