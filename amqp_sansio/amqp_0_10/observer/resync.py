"""Finding the next frame that can be proven in octets that may begin anywhere (0-10 part 1 sections 4.3 and 4.4).

A decision is yes, no, or "more octets are needed"; it never depends on where an arrival ends. A frame that holds a
whole control, command or header segment, whose fields fill it, is proven by itself, and so is the protocol header.
Other frames say too little: what follows them must look like a frame, or be the end.
"""

from __future__ import annotations

from typing import Final

from ..._watching.stream import REFUTED, FrameRecognizer
from ...endpoint import Side
from ...errors import CodecError
from ..codec import frames
from ..codec.record import Command, Control, decode_command, decode_control, decode_headers
from ..codec.records import COMMANDS, CONTROLS, STRUCTS

_KINDS: Final[tuple[type[Control] | type[Command[object]], ...]] = (*CONTROLS.values(), *COMMANDS.values())
SENDERS: Final = {kind.NAME: Side(kind.HANDLERS[0]).other for kind in _KINDS if len(kind.HANDLERS) == 1}
"""The only side that may send a control or command; either side may send the others."""

_SPARE: Final = b"\0\0\0\0"
_SPARE_AT: Final = 8
_ZEROS: Final = bytes(256)
_CODE_SIZE: Final = 2


class Reader(FrameRecognizer):
    """How frames are told from other octets; `side` is the sender's (None: not known)."""

    __slots__ = ("side",)

    def __init__(self, side: Side | None) -> None:
        self.side = side

    def _size(self, data: bytes, pos: int) -> int:
        if data.startswith(frames.PROTOCOL_HEADER, pos):
            return frames.PROTOCOL_HEADER_SIZE
        size: int
        _, _, size, _, _, _, _ = frames.FRAME.unpack_from(data, pos)
        return size

    def _proves(self, data: bytes, pos: int, after: int) -> bool | None:
        if data.startswith(frames.PROTOCOL_HEADER, pos):
            return True
        flags, kind = data[pos], data[pos + 1]
        if kind == frames.BODY or flags & frames.ALONE != frames.ALONE:
            return None
        return self._reads(data, pos + frames.FRAME_HEADER_SIZE, after, kind)

    def read(self, data: bytes, begin: int, end: int, kind: int) -> Control | Command[object] | None:
        """The control or command between `begin` and `end`; None when it can't be one, or not this side's."""
        found: Control | Command[object]
        try:
            if kind == frames.CONTROL:
                found = decode_control(data, begin, end)
            else:
                found, _ = decode_command(data, begin, end)
        except CodecError:
            return None
        return found if self.side in (None, SENDERS.get(found.NAME, self.side)) else None

    def _reads(self, data: bytes, begin: int, end: int, kind: int) -> bool:
        if kind != frames.HEADER:
            return self.read(data, begin, end, kind) is not None
        try:
            structs = decode_headers(data, begin, end)
        except CodecError:
            return False
        return any([getattr(struct, "CODE", 0) in STRUCTS for struct in structs])

    def _begins(self, data: bytes, pos: int) -> int:
        if data[pos] == frames.PROTOCOL_HEADER[0]:
            head = data[pos : pos + frames.PROTOCOL_HEADER_SIZE]
            return frames.PROTOCOL_HEADER_SIZE if frames.PROTOCOL_HEADER.startswith(head) else REFUTED
        held = len(data) - pos
        if data[pos] > frames.WHOLE:
            return REFUTED
        if held > 1 and (data[pos + 1] > frames.BODY or not _places(data[pos], data[pos + 1])):
            return REFUTED
        if held < frames.FRAME_HEADER_SIZE:
            return frames.FRAME_HEADER_SIZE
        flags: int
        kind: int
        size: int
        flags, kind, size, spare, track, _, tail = frames.FRAME.unpack_from(data, pos)
        if frames.malformed(flags, kind, size, spare, track, tail) or frames.misplaced(kind, track):
            return REFUTED
        if kind > frames.COMMAND or not flags & frames.FIRST_FRAME:
            return frames.FRAME_HEADER_SIZE
        need = frames.FRAME_HEADER_SIZE + _CODE_SIZE
        if size < need:
            return REFUTED
        if held < need:
            return need
        code = int.from_bytes(data[pos + frames.FRAME_HEADER_SIZE : pos + need], "big")
        return need if code in (CONTROLS if track == frames.CONTROL_TRACK else COMMANDS) else REFUTED

    def _candidate(self, data: bytes, pos: int) -> int:
        """The first place from `pos` on where a header may begin by its reserved octets, or is cut short."""
        begin = pos
        while data.startswith(_ZEROS, pos):
            # No frame begins with two zeros, so of many only the last one may begin it.
            pos += len(_ZEROS)
        pos = max(begin, pos - 1)
        found = max(len(data) - frames.FRAME_HEADER_SIZE + 1, pos)
        at = data.find(_SPARE, pos + _SPARE_AT, found + frames.FRAME_HEADER_SIZE)
        if at >= 0:
            found = min(found, at - _SPARE_AT)
        at = data.find(frames.PROTOCOL_HEADER, pos, found + frames.PROTOCOL_HEADER_SIZE)
        return found if at < 0 else min(found, at)


def _places(flags: int, kind: int) -> bool:
    """Whether a segment of this type may be where its flags say that it is."""
    place = flags & (frames.FIRST_SEGMENT | frames.LAST_SEGMENT)
    if kind == frames.CONTROL:
        return place == frames.FIRST_SEGMENT | frames.LAST_SEGMENT
    if kind == frames.COMMAND:
        return place & frames.FIRST_SEGMENT != 0
    if kind == frames.HEADER:
        return not place & frames.FIRST_SEGMENT
    return place == frames.LAST_SEGMENT
