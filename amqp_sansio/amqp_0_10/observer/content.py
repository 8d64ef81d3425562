"""Assemblies as an observer puts them together: the frames of a control, or of a command with its message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ..._ground.brevity import KEPT
from ..._ground.invariants import ensure
from ..._watching.stream import IN_DAMAGE, IN_FRAMES
from ..._watching.stream import Direction as SharedDirection
from ...endpoint import Side
from ...errors import CodecError
from ..codec.assembly import Assembly
from ..codec.frames import CONTROL_TRACK, FRAME, FRAME_HEADER_SIZE, malformed
from ..codec.message_fields import Headers, check_maps
from ..codec.record import decode_command, decode_control
from ..codec.records import COMMANDS, CONTROLS, MessageTransfer
from ..codec.violation import unreadable

if TYPE_CHECKING:
    from ..._watching.observation import Fault
    from ..codec.structs import Struct

_REQUIRED: Final = "wire/struct-required"
_CODE_SIZE: Final = 2
_KEPT_TRANSFERS: Final = 16
First: TypeAlias = "tuple[Struct | bytes, str, bool]"
"""A control or command, or its octets when it can't be read; its name, and its sync bit."""


class Content:
    """A control or command whose frames haven't all come.

    `first` is its control or command segment, `headers` its header segment, `parts` its body: each None when it isn't
    kept. `begun` says that segments behind the first one came. `octets` are those of the body that came, `cut` those
    that were not captured although their frame was; `size` those of all frames. `read` is what the first segment
    says, once it has ended.
    """

    __slots__ = (
        "assembly",
        "begun",
        "cut",
        "faults",
        "first",
        "headers",
        "held",
        "octets",
        "offset",
        "parts",
        "read",
        "size",
        "track",
    )

    def __init__(self, track: int, offset: int) -> None:
        self.assembly = Assembly()
        self.track = track
        self.offset = offset
        self.size = 0
        self.octets = 0
        self.cut = 0
        self.held = 0
        self.read: First = b"", "", False
        self.begun = False
        self.first: bytearray | None = bytearray()
        self.headers: bytearray | None = None
        self.parts: list[bytes] | None = []
        self.faults: list[Fault] = []

    def check(self, where: str) -> None:
        """Check that what is kept is counted: `held` counts what was read of it, too. Raises AssertionError."""
        parts = (self.first or b"", self.headers or b"", *(self.parts or ()))
        kept = sum(map(len, parts))
        ensure(kept <= self.held, where, "`held` counts the octets that are kept", self.held, kept)
        ensure(self.cut <= self.octets, where, "octets that were not captured are octets of the body", self.cut)
        ensure(not self.assembly.whole, where, "what is whole is no longer under way")


def name_of(track: int, first: bytes | bytearray) -> str:
    """Name the segment that begins so; "" when the specification has nothing of its code."""
    code = int.from_bytes(first[:_CODE_SIZE], "big")
    if len(first) < _CODE_SIZE:
        return ""
    known: Any = CONTROLS if track == CONTROL_TRACK else COMMANDS
    kind = known.get(code)
    return "" if kind is None else str(kind.NAME)


def _unreadable(error: CodecError, text: str, offset: int, *, known: bool) -> Fault:
    return unreadable(error, known=known), f"{text}: {error}", offset, "error"


def announced(properties: Headers | None, octets: int) -> int | None:
    """The octets of a message's body by its properties, or None where they say nothing or less than came (`octets`)."""
    try:
        told = None if properties is None else properties.message_properties
    except CodecError:
        return None
    length = None if told is None else told.content_length
    return None if length is None or length < octets else length


class Direction(SharedDirection[tuple[int, int], Content]):
    """The octets that one side sends, and its assemblies that are under way.

    `contents` are these by channel and track. Where octets are missing, `doubted` is True, and `begun` are the channels
    and tracks where an assembly has begun since: elsewhere a frame may belong to one whose begin wasn't seen.
    `headers` counts the protocol headers.
    """

    __slots__ = ("_known", "_sound", "begun", "doubted", "headers", "number")

    def __init__(self, side: Side, mode: int) -> None:
        super().__init__(side, mode)
        self.number = int(self.client)
        self.headers = 0
        self.doubted = mode == IN_DAMAGE
        self.begun: set[tuple[int, int]] = set()
        # Most messages repeat the octets of one before: what was read of them, and found in order, is read once.
        self._known: dict[bytes, First] = {}
        self._sound = Headers(b"")

    def first_of(self, track: int, octets: bytes, offset: int, faults: list[Fault]) -> First:
        """Read a control or command segment. Broken rules are added to `faults`."""
        found = self._known.get(octets) if track else None
        if found is not None:
            return found
        command: Struct | bytes = octets
        sync = False
        try:
            if track == CONTROL_TRACK:
                command = decode_control(octets, 0, len(octets))
            else:
                command, sync = decode_command(octets, 0, len(octets))
            name = command.NAME
            check_maps(command)
            missing = command.missing()
            if missing:
                faults.append((_REQUIRED, f"{name} without {missing.replace('_', '-')}", offset, "warning"))
            elif isinstance(command, MessageTransfer):
                if len(self._known) >= _KEPT_TRANSFERS:
                    self._known.clear()
                self._known[octets] = command, name, sync
        except CodecError as error:
            name = name_of(track, octets)
            faults.append(_unreadable(error, f"{name or 'a segment'} can't be read", offset, known=bool(name)))
        return command, name, sync

    def headers_of(self, octets: bytes, name: str, offset: int, faults: list[Fault]) -> Headers:
        """Read the header segment of the command `name`. Broken rules are added to `faults`."""
        if octets == self._sound.raw:
            return self._sound
        found = Headers(octets)
        try:
            found.check()
        except CodecError as error:
            faults.append(_unreadable(error, f"the header segment of {name} can't be read", offset, known=True))
        else:
            if len(octets) <= KEPT:
                self._sound = found
        return found

    def frame_end(self) -> int:
        """The offset where the frame ends that has begun to arrive; 0 when there's none, or its size isn't known."""
        buffer = self.buffer
        if self.mode != IN_FRAMES or not buffer.want(FRAME_HEADER_SIZE):
            return 0
        size: int
        flags, kind, size, spare, track, _, tail = FRAME.unpack_from(buffer.data, buffer.pos)
        return 0 if malformed(flags, kind, size, spare, track, tail) else buffer.offset + size
