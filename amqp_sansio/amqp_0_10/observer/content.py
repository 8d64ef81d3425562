"""Assemblies as an observer puts them together: the frames of a control, or of a command with its message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from ..._core.stream import IN_DAMAGE, IN_FRAMES
from ..._core.stream import Direction as SharedDirection
from ...endpoint import Side
from ...errors import CodecError
from ..codec.assembly import Assembly
from ..codec.frames import CONTROL_TRACK, FRAME, FRAME_HEADER_SIZE, malformed
from ..codec.message_fields import check_maps
from ..codec.record import decode_command, decode_control
from ..codec.records import COMMANDS, CONTROLS
from ..codec.violation import unreadable

if TYPE_CHECKING:
    from ..._core.observation import Fault
    from ..codec.message_fields import Headers
    from ..codec.structs import Struct

_REQUIRED: Final = "wire/struct-required"
_CODE_SIZE: Final = 2


class Content:
    """A control or command under way.

    `first` is its control or command segment, `headers` its header segment, `parts` its body: each None when it isn't
    kept. `begun` says that segments behind the first one came. `octets` are those of the body that came, `cut` those
    that were not captured although their frame was; `size` those of all frames. `command` is the record once the
    first segment has ended, its octets when it can't be read. `properties`, `body` and `digest` are those of its
    message once it has ended.
    """

    __slots__ = (
        "assembly", "begun", "body", "command", "cut", "digest", "faults", "first", "headers", "held", "name", "octets",
        "offset", "parts", "properties", "size", "sync", "track",
    )  # fmt: skip

    def __init__(self, track: int, offset: int) -> None:
        self.assembly = Assembly()
        self.track = track
        self.offset = offset
        self.size = self.octets = self.cut = self.held = 0
        self.name = ""
        self.command: Struct | bytes | None = None
        self.sync = self.begun = False
        self.first: bytearray | None = bytearray()
        self.headers: bytearray | None = None
        self.parts: list[bytes] | None = []
        self.faults: list[Fault] = []
        self.properties: Headers | None = None
        self.body: bytes | None = None
        self.digest: str | None = None


def decode_first(content: Content) -> None:
    """The first segment is all there: read it."""
    if content.first is None:
        content.command = b""
        return
    first = bytes(content.first)
    try:
        if content.track == CONTROL_TRACK:
            content.command = decode_control(first, 0, len(first))
        else:
            content.command, content.sync = decode_command(first, 0, len(first))
        content.name = content.command.NAME
        check_maps(content.command)
        name = content.command.missing()
        if name:
            text = f"{content.name} without {name.replace('_', '-')}"
            content.faults.append((_REQUIRED, text, content.offset, "warning"))
    except CodecError as error:
        content.name = name_of(content.track, first)
        blame(content, error, f"{content.name or 'a segment'} can't be read", known=bool(content.name))
        if content.command is None:
            content.command = first
    content.first = bytearray()


def name_of(track: int, first: bytes | bytearray) -> str:
    """Name the segment that begins so; "" when the specification has nothing of its code."""
    code = int.from_bytes(first[:_CODE_SIZE], "big")
    if len(first) < _CODE_SIZE:
        return ""
    known: Any = CONTROLS if track == CONTROL_TRACK else COMMANDS
    kind = known.get(code)
    return "" if kind is None else str(kind.NAME)


def blame(content: Content, error: CodecError, text: str, *, known: bool) -> None:
    broken = unreadable(error, known=known)
    content.faults.append((broken, f"{text}: {error}", content.offset, "error"))


def announced(content: Content) -> int | None:
    """How long the body of a message is by its properties, where they say so."""
    properties = content.properties
    try:
        told = None if properties is None else properties.message_properties
    except CodecError:
        return None
    length = None if told is None else told.content_length
    return None if length is None or length < content.octets else length


class Direction(SharedDirection[tuple[int, int], Content]):
    """The octets that one side sends, and its assemblies that are under way.

    `contents` are these by channel and track. Where octets are missing, `doubted` is True, and `begun` are the channels
    and tracks where an assembly has begun since: elsewhere a frame may belong to one whose begin wasn't seen.
    """

    __slots__ = ("begun", "doubted", "headers", "number")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = int(self.client)
        self.headers = 0
        self.doubted = mode == IN_DAMAGE
        self.begun: set[tuple[int, int]] = set()

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(FRAME_HEADER_SIZE):
            return 0
        size: int
        flags, kind, size, spare, track, _, tail = FRAME.unpack_from(buffer.data, buffer.pos)
        return 0 if malformed(flags, kind, size, spare, track, tail) else buffer.offset + size
