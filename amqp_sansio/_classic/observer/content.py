"""Messages as an observer puts them together: a method with content, its header and its bodies become one unit.

0-9-1 section 4.2.6, 0-8 section 4.2.6.
"""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from ...errors import CodecError
from ..codec.frames import CONTENT_HEADER, OVERHEAD
from ..codec.violation import FRAME_ERROR, Violation

if TYPE_CHECKING:
    from .connection import ClassicObserver
    from .damage import Direction

Fault = tuple[str, str, int]
"""Rule without its version, text, offset."""


class Content:
    """A method with content whose message is still coming.

    `method` is its record, or its payload when it can't be read; `known` says that the joint follows the content too.
    `announced` is the body's size by its header, None before that; `cut` counts octets of the body that were not
    captured although their frame was; `parts` is None when the body isn't kept.
    """

    __slots__ = (
        "announced", "answers", "at_ns", "class_id", "cut", "faults", "known", "method", "name", "offset",
        "parts", "properties", "received", "size",
    )  # fmt: skip

    def __init__(self, method: Any, name: str, class_id: int, known: bool) -> None:
        self.method = method
        self.name = name
        self.class_id = class_id
        self.known = known
        self.answers: int | None = None
        self.offset = 0
        self.size = 0
        self.at_ns = 0
        self.announced: int | None = None
        self.received = 0
        self.cut = 0
        self.properties: Any = None
        self.parts: list[bytes] | None = []
        self.faults: list[Fault] = []


def begin_content(
    machine: ClassicObserver,
    direction: Direction,
    number: int,
    content: Content,
    offset: int,
    size: int,
    at_ns: int,
) -> None:
    """A method with content has come; it takes over the faults found so far."""
    content.offset = offset
    content.size = size
    content.at_ns = at_ns
    content.faults = machine.faults
    machine.faults = []
    direction.contents[number] = content
    if len(direction.contents) > machine.limits.channels:
        # More messages are under way than channels are needed: the oldest one ends here.
        oldest = next(iter(direction.contents))
        end_content(machine, direction, oldest, direction.contents[oldest])


def receive_header(
    machine: ClassicObserver,
    direction: Direction,
    number: int,
    payload: bytes,
    offset: int,
    at_ns: int,
) -> None:
    """A content header."""
    content = direction.contents.get(number)
    if content is None or content.announced is not None or len(payload) < 14:
        _stray(machine, direction, number, "content-header", payload, offset, at_ns)
        return
    class_id, weight, size = CONTENT_HEADER.unpack_from(payload, 0)
    if content.known:
        try:
            machine.joint.header(direction.side, number, class_id, weight, size)
        except Violation as broken:
            _distrust(machine, direction, number, content, broken, offset)
    content.announced = size
    dialect = machine.dialect
    kind = dialect.properties.get(class_id) or dialect.properties[content.class_id]
    content.properties = kind.from_wire(payload[12:], machine.tables)
    try:
        content.properties.check()
    except CodecError as error:
        text = f"the properties of {content.name} can't be read: {error}"
        content.faults.append((error.rule or "wire/content-incomplete", text, offset))
    if machine.body == "size" or size > machine.limits.message:
        content.parts = None
    _count(machine, content, len(payload), at_ns)
    if not size:
        end_content(machine, direction, number, content)


def receive_body(
    machine: ClassicObserver,
    direction: Direction,
    number: int,
    payload: bytes,
    length: int,
    offset: int,
    at_ns: int,
) -> None:
    """A piece of a body of `length` octets; `payload` is shorter where the capture cut it."""
    content = direction.contents.get(number)
    if (
        content is None
        or content.announced is None
        or content.received + length > content.announced
    ):
        _stray(machine, direction, number, "content-body", payload, offset, at_ns)
        return
    if content.known:
        try:
            machine.joint.body(direction.side, number, length)
        except Violation as broken:
            _distrust(machine, direction, number, content, broken, offset)
    if content.parts is not None and length:
        if content.cut or machine.bodies + length > machine.limits.bodies:
            machine.bodies -= content.received
            content.parts = None
        else:
            machine.bodies += length
            content.parts.append(payload)
    content.received += length
    _count(machine, content, length, at_ns)
    if content.received == content.announced:
        end_content(machine, direction, number, content)


def end_content(
    machine: ClassicObserver, direction: Direction, number: int, content: Content
) -> None:
    """The message is whole, or nothing more of it comes: make the unit of it."""
    del direction.contents[number]
    announced = content.announced
    whole = content.received == announced
    missing = None if announced is None else announced - content.received + content.cut
    if not whole and content.known:
        machine.joint.drop_content(direction.client, number)
    body = digest = None
    if content.parts is not None:
        machine.bodies -= content.received
        if missing == 0:
            body = b"".join(content.parts)
            if machine.body != "keep":
                digest = sha256(body).hexdigest()
            if machine.body == "hash":
                body = None
    method = content.method
    if not isinstance(method, bytes) and machine.dialect.replies[method.ID]:
        # Only now is it known which unit a reply to this request will answer.
        channel = machine.joint.channels.get(number)
        calls = channel.calls(direction.client) if channel is not None else None
        for call in calls or ():
            if call.request is method:
                call.token = machine.seq
    faults, machine.faults = machine.faults, content.faults
    machine.observe(
        direction, number, "content" if whole else "partial", content.name, method, content.offset,
        content.size, content.at_ns, content.properties, body, announced or 0, digest, content.answers,
        missing,
    )  # fmt: skip
    machine.faults = faults


def _count(machine: ClassicObserver, content: Content, length: int, at_ns: int) -> None:
    content.size += length + OVERHEAD
    content.at_ns = at_ns
    if machine.faults:
        content.faults += machine.faults
        machine.faults = []


def _distrust(
    machine: ClassicObserver,
    direction: Direction,
    number: int,
    content: Content,
    broken: Violation,
    offset: int,
) -> None:
    """A content frame broke a rule, but can be read all the same: the joint need not follow."""
    content.faults.append((broken.rule or "wire/content-incomplete", broken.text, offset))
    content.known = False
    machine.joint.drop_content(direction.client, number)


def _stray(
    machine: ClassicObserver,
    direction: Direction,
    number: int,
    event: str,
    payload: bytes,
    offset: int,
    at_ns: int,
) -> None:
    """A content frame that belongs to no message: one violation for all that follow each other."""
    joint = machine.joint
    content = direction.contents.get(number)
    if content is None:
        channel = joint.channels.get(number)
        assumed = joint.assumed if channel is None else channel.assumed
        # An empty body behind an empty message is tolerated, as brokers do.
        if number not in direction.stray and not assumed and payload:
            broken = _provoke(machine, direction, number, event, payload)
            machine.faults.append((broken.rule or "wire/content-incomplete", broken.text, offset))
    else:
        if content.known:
            broken = _provoke(machine, direction, number, event, payload)
            content.faults.append((broken.rule or "wire/content-incomplete", broken.text, offset))
        end_content(machine, direction, number, content)
    direction.stray[number] = True
    is_body = event == "content-body"
    machine.observe(
        direction, number, "frame", event, None if is_body else payload, offset,
        len(payload) + OVERHEAD, at_ns, None, payload if is_body and machine.body in ("keep", "all") else None,
        len(payload) if is_body else 0,
    )  # fmt: skip


def _provoke(
    machine: ClassicObserver, direction: Direction, number: int, event: str, payload: bytes
) -> Violation:
    """What the joint says of a content frame that is out of place."""
    joint = machine.joint
    try:
        if event == "content-body":
            joint.body(direction.side, number, len(payload))
        elif len(payload) >= 14:
            joint.header(direction.side, number, *CONTENT_HEADER.unpack_from(payload, 0))
    except Violation as broken:
        return broken
    text = f"content header with {len(payload)} octets, 14 are the least"
    return Violation(FRAME_ERROR, text, rule="wire/content-incomplete")
