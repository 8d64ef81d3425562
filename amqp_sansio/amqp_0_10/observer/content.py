"""Assemblies as an observer puts them together: the frames of a control, or of a command with its message."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from ...errors import CodecError
from ..codec.assembly import Assembly
from ..codec.frames import BODY, CONTROL_TRACK, HEADER
from ..codec.message_fields import Headers, check_maps
from ..codec.record import decode_command, decode_control
from ..codec.records import COMMANDS, CONTROLS

if TYPE_CHECKING:
    from ..codec.record import Struct
    from .connection import Fault, ZeroTenObserver
    from .damage import Direction

_FIELDS: Final = "wire/struct-size-includes"
_CODES: Final = "wire/struct-code"
_REQUIRED: Final = "wire/struct-required"
_CODE_SIZE: Final = 2


class Content:
    """A control or command under way.

    `first` is its control or command segment, `headers` its header segment, `parts` its body: each None when it isn't
    kept. `begun` says that segments behind the first one came. `octets` are those of the body that came, `cut` those
    that were not captured although their frame was; `size` those of all frames. `command` is the record once the
    first segment has ended, its octets when it can't be read.
    """

    __slots__ = (
        "assembly", "begun", "command", "cut", "faults", "first", "headers", "held", "name", "octets", "offset",
        "parts", "size", "sync", "track",
    )  # fmt: skip

    def __init__(self, track: int, offset: int) -> None:
        self.assembly = Assembly()
        self.track = track
        self.offset = offset
        self.size = 0
        self.name = ""
        self.command: Struct | bytes | None = None
        self.sync = False
        self.first: bytearray | None = bytearray()
        self.headers: bytearray | None = None
        self.parts: list[bytes] | None = []
        self.begun = False
        self.octets = 0
        self.cut = 0
        self.held = 0
        self.faults: list[Fault] = []


def add_frame(
    machine: ZeroTenObserver, content: Content, kind: int, payload: bytes, lost: int
) -> None:
    """Take a frame whose flags the assembly has taken. `lost` octets of its payload were not captured."""
    if kind == BODY:
        content.begun = True
        _add_body(machine, content, payload, lost)
    elif kind == HEADER:
        content.begun = True
        headers = content.headers
        if headers is None:
            headers = content.headers = bytearray()
        if len(headers) + len(payload) <= machine.limits.header:
            headers += payload
            _hold(machine, content, len(payload))
    else:
        _add_first(machine, content, payload)


def _add_first(machine: ZeroTenObserver, content: Content, payload: bytes) -> None:
    first = content.first
    if first is not None:
        if len(first) + len(payload) > machine.limits.header:
            content.first = None
            content.name = content.name or _name(content.track, bytes(first) + payload)
        else:
            first += payload
            _hold(machine, content, len(payload))
    if content.assembly.ended:
        decode_first(content)


def decode_first(content: Content) -> None:
    """The first segment is all there: read it."""
    if content.first is None:
        content.command = b""
        return
    first = bytes(content.first)
    content.name = _name(content.track, first)
    try:
        if content.track == CONTROL_TRACK:
            content.command = decode_control(first, 0, len(first))
        else:
            content.command, content.sync = decode_command(first, 0, len(first))
        check_maps(content.command)
        name = content.command.missing()
        if name:
            text = f"{content.name} without {name.replace('_', '-')}"
            content.faults.append((_REQUIRED, text, content.offset, "warning"))
    except CodecError as error:
        rule = _FIELDS if content.name else _CODES
        _blame(content, error, rule, f"{content.name or 'a segment'} can't be read")
        if content.command is None:
            content.command = first
    content.first = bytearray()


def _name(track: int, first: bytes | bytearray) -> str:
    """What a segment that begins so is called; "" when the specification has nothing of its code."""
    code = int.from_bytes(first[:_CODE_SIZE], "big")
    if len(first) < _CODE_SIZE:
        return ""
    known: Any = CONTROLS if track == CONTROL_TRACK else COMMANDS
    kind = known.get(code)
    return "" if kind is None else str(kind.NAME)


def _blame(content: Content, error: CodecError, rule: str, text: str) -> None:
    broken = (error.rule or rule).removeprefix("0-10/")
    content.faults.append((broken, f"{text}: {error}", content.offset, "error"))


def _hold(machine: ZeroTenObserver, content: Content, octets: int) -> None:
    content.held += octets
    machine.bodies += octets


def _add_body(machine: ZeroTenObserver, content: Content, payload: bytes, lost: int) -> None:
    """More of the body; it's kept as long as all of it is there and within the limits."""
    octets = len(payload)
    limits = machine.limits
    content.octets += octets + lost
    content.cut += lost
    parts = content.parts
    if parts is None:
        return
    above = content.octets > limits.message or machine.bodies + octets > limits.bodies
    if machine.body == "size" or lost or above:
        kept = sum([len(part) for part in parts])
        content.parts = None
        _hold(machine, content, -kept)
    elif octets:
        parts.append(payload)
        _hold(machine, content, octets)


def end_content(
    machine: ZeroTenObserver, content: Content
) -> tuple[Headers | None, bytes | None, int, str | None]:
    """The assembly has ended: the properties of its message, the body, its size and its digest."""
    machine.bodies -= content.held
    content.held = 0
    properties = None
    if content.headers is not None:
        properties = Headers(bytes(content.headers))
        try:
            properties.check()
        except CodecError as error:
            _blame(content, error, _FIELDS, f"the header segment of {content.name} can't be read")
    body = digest = None
    if content.parts is not None and content.begun:
        body = content.parts[0] if len(content.parts) == 1 else b"".join(content.parts)
        if machine.body in ("hash", "all"):
            digest = sha256(body).hexdigest()
        if machine.body not in ("keep", "all"):
            body = None
    return properties, body, content.octets, digest


def _announced(content: Content, properties: Headers | None) -> int | None:
    """How long the body of a message is by its properties, where they say so."""
    try:
        told = None if properties is None else properties.message_properties
    except CodecError:
        return None
    length = None if told is None else told.content_length
    return None if length is None or length < content.octets else length


def drop_content(machine: ZeroTenObserver, direction: Direction, key: tuple[int, int]) -> None:
    """Nothing more of an assembly comes, or what comes can't be trusted to belong to it: it's a partial unit."""
    content = direction.contents.pop(key)
    if content.command is None:
        first = bytes(content.first or b"")
        content.name = content.name or _name(content.track, first)
        content.command = first
    properties, body, body_size, _ = end_content(machine, content)
    machine.faults += content.faults
    announced = _announced(content, properties)
    missing = None
    if announced is not None:
        missing = announced - body_size + content.cut
        body_size = announced
    machine.observe_assembly(
        direction, key[0], "partial", content, properties, body, body_size, None, missing, direction.at_ns
    )  # fmt: skip


def abandon(machine: ZeroTenObserver, direction: Direction) -> None:
    """No assembly that is under way can be trusted to go on."""
    for key in list(direction.contents):
        drop_content(machine, direction, key)
