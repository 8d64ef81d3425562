"""Finding the next frame that can be proven in octets that may begin anywhere (0-10 part 1 sections 4.3 and 4.4).

A decision is yes, no, or "more octets are needed"; it never depends on where an arrival ends. A frame that holds a
whole control, command or header segment, whose fields fill it, is proven by itself, and so is the protocol header.
Other frames say too little: what follows them must look like a frame, or be the end.
"""

from __future__ import annotations

from typing import Any, Final

from ..._core.stream import PROVEN, REFUTED
from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import (
    BODY,
    COMMAND,
    CONTROL,
    CONTROL_TRACK,
    FIRST_FRAME,
    FIRST_SEGMENT,
    FRAME,
    FRAME_HEADER_SIZE,
    HEADER,
    LAST_FRAME,
    LAST_SEGMENT,
    PROTOCOL_HEADER,
    PROTOCOL_HEADER_SIZE,
    WHOLE,
    malformed,
    misplaced,
)
from ..codec.record import Command, Control, decode_command, decode_control, decode_headers
from ..codec.records import COMMANDS, CONTROLS, STRUCTS

_KINDS: Final[tuple[type[Control] | type[Command[Any]], ...]] = (*CONTROLS.values(), *COMMANDS.values())
SENDERS: Final = {kind.NAME: Side(kind.HANDLERS[0]).other for kind in _KINDS if len(kind.HANDLERS) == 1}
"""The only side that may send a control or command; either side may send the others."""

_SPARE: Final = b"\0\0\0\0"
_SPARE_AT: Final = 8
_ZEROS: Final = bytes(256)
_CODE_SIZE: Final = 2


class Reader:
    """How frames are told from other octets; `side` is the sender's (None: not known)."""

    __slots__ = ("side",)

    def __init__(self, side: Side | None) -> None:
        self.side = side

    def prove(self, data: bytes, pos: int, last: bool) -> int:
        """Whether a frame or protocol header begins at `pos`: PROVEN, REFUTED, or how many octets from there are
        needed to say. With `last` nothing follows `data`, so the answer is one of the first two.
        """
        need = self._begins(data, pos)
        if need <= 0:
            return REFUTED
        held = len(data) - pos
        if held < need:
            # Each further octet may refute it.
            return REFUTED if last else held + 1
        if data.startswith(PROTOCOL_HEADER, pos):
            return PROVEN
        flags: int
        kind: int
        size: int
        flags, kind, size, _, _, _, _ = FRAME.unpack_from(data, pos)
        if held < size:
            return REFUTED if last else size
        after = pos + size
        if kind != BODY and flags & (FIRST_FRAME | LAST_FRAME) == FIRST_FRAME | LAST_FRAME:
            return PROVEN if self._reads(data, pos + FRAME_HEADER_SIZE, after, kind) else REFUTED
        if after == len(data):
            return PROVEN if last else held + 1
        follows = self._begins(data, after)
        if follows <= 0:
            return REFUTED
        if last or len(data) - after >= follows:
            return PROVEN
        return held + 1

    def find(self, data: bytes, pos: int, last: bool) -> tuple[int, int]:
        """The first place from `pos` on where a frame is proven or may still be, and the answer of `prove` there.

        Nowhere: the end of `data`, and REFUTED.
        """
        length = len(data)
        at = pos
        while at < length:
            at = _candidate(data, at)
            if at < length:
                answer = self.prove(data, at, last)
                if answer != REFUTED:
                    return at, answer
                at = _behind_zeros(data, at)
        return length, REFUTED

    def read(self, data: bytes, begin: int, end: int, kind: int) -> Control | Command[Any] | None:
        """The control or command between `begin` and `end`; None when it can't be one, or not this side's."""
        found: Control | Command[Any]
        try:
            if kind == CONTROL:
                found = decode_control(data, begin, end)
            else:
                found, _ = decode_command(data, begin, end)
        except CodecError:
            return None
        return found if self.side in (None, SENDERS.get(found.NAME, self.side)) else None

    def _reads(self, data: bytes, begin: int, end: int, kind: int) -> bool:
        if kind != HEADER:
            return self.read(data, begin, end, kind) is not None
        try:
            structs = decode_headers(data, begin, end)
        except CodecError:
            return False
        return any([getattr(struct, "CODE", 0) in STRUCTS for struct in structs])

    def _begins(self, data: bytes, pos: int) -> int:
        """How many octets the begin of a frame takes that looks right so far; REFUTED when it doesn't.

        With too few octets the answer is how many are needed to say more.
        """
        if data[pos] == PROTOCOL_HEADER[0]:
            head = data[pos : pos + PROTOCOL_HEADER_SIZE]
            return PROTOCOL_HEADER_SIZE if PROTOCOL_HEADER.startswith(head) else REFUTED
        held = len(data) - pos
        if data[pos] > WHOLE:
            return REFUTED
        if held > 1 and (data[pos + 1] > BODY or not _places(data[pos], data[pos + 1])):
            return REFUTED
        if held < FRAME_HEADER_SIZE:
            return FRAME_HEADER_SIZE
        flags: int
        kind: int
        size: int
        flags, kind, size, spare, track, _, tail = FRAME.unpack_from(data, pos)
        if malformed(flags, kind, size, spare, track, tail) or misplaced(kind, track):
            return REFUTED
        if kind > COMMAND or not flags & FIRST_FRAME:
            return FRAME_HEADER_SIZE
        need = FRAME_HEADER_SIZE + _CODE_SIZE
        if size < need:
            return REFUTED
        if held < need:
            return need
        code = int.from_bytes(data[pos + FRAME_HEADER_SIZE : pos + need], "big")
        return need if code in (CONTROLS if track == CONTROL_TRACK else COMMANDS) else REFUTED


def _places(flags: int, kind: int) -> bool:
    """Whether a segment of this type may be where its flags say that it is."""
    place = flags & (FIRST_SEGMENT | LAST_SEGMENT)
    if kind == CONTROL:
        return place == FIRST_SEGMENT | LAST_SEGMENT
    if kind == COMMAND:
        return place & FIRST_SEGMENT != 0
    if kind == HEADER:
        return not place & FIRST_SEGMENT
    return place == LAST_SEGMENT


def _behind_zeros(data: bytes, pos: int) -> int:
    """The next place to look at: no frame begins with two zeros, so of many only the last one may begin it."""
    end = pos
    while data.startswith(_ZEROS, end):
        end += len(_ZEROS)
    return max(pos + 1, end - 1)


def _candidate(data: bytes, pos: int) -> int:
    """The first place from `pos` on where a header may begin by its reserved octets, or is cut short."""
    found = max(len(data) - FRAME_HEADER_SIZE + 1, pos)
    at = data.find(_SPARE, pos + _SPARE_AT, found + FRAME_HEADER_SIZE)
    if at >= 0:
        found = min(found, at - _SPARE_AT)
    at = data.find(PROTOCOL_HEADER, pos, found + PROTOCOL_HEADER_SIZE)
    return found if at < 0 else min(found, at)


__all__ = ["PROVEN", "REFUTED", "SENDERS", "Reader"]
