"""Finding the next frame that can be proven in octets that may begin anywhere (0-9-1 sections 2.3.5 and 4.2.3).

A decision is yes, no, or "more octets are needed"; it never depends on where an arrival ends. A method or content
header is proven by itself: known numbers, a sender that may send it, arguments that fill its size exactly, the end
octet. A body or heartbeat says too little, so what follows it must look like a frame, or be the end of the octets.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final

from ..._watching.stream import REFUTED, FrameRecognizer
from ...endpoint import Side
from ...errors import CodecError
from ..codec.frames import BODY, END, FRAME, HEADER, HEARTBEAT, KNOWN, METHOD, METHOD_ID, OVERHEAD

if TYPE_CHECKING:
    from ..codec.dialect import Dialect

LIKELY_MAX: Final = 131_072
"""The largest payload that is looked for while no frame-max is known: the default of the brokers."""

_STARTS: Final = bytes([1 if octet in KNOWN else 0 for octet in range(256)])
_WINDOW: Final = 1024
"""How many octets are looked through at once: often the next frame is near."""
_CLASS_AND_WEIGHT: Final = Struct(">HH").unpack_from


class Reader(FrameRecognizer):
    """How frames are told from other octets: `dialects` that may be spoken, the sender's `side` (None: not known) and
    the largest payload in octets.
    """

    __slots__ = ("dialects", "largest", "side")

    def __init__(self, dialects: Sequence[Dialect], side: Side | None, largest: int = LIKELY_MAX) -> None:
        self.dialects = tuple(dialects)
        self.side = side
        self.largest = largest

    def _size(self, data: bytes, pos: int) -> int:
        size: int
        _, _, size = FRAME.unpack_from(data, pos)
        return size + OVERHEAD

    def _proves(self, data: bytes, pos: int, after: int) -> bool | None:
        kind = data[pos]
        if data[after - 1] != END:
            return False
        if kind == METHOD:
            return bool(self.methods(data[pos + 7 : after - 1]))
        return self._header(data[pos + 7 : after - 1]) if kind == HEADER else None

    def find(self, data: bytes, pos: int, last: bool) -> tuple[int, int]:
        """As in the base; so many places may begin a frame that they are marked a window at a time."""
        for begin in range(pos, len(data), _WINDOW):
            marks = data[begin : begin + _WINDOW].translate(_STARTS)
            at = marks.find(1)
            while at >= 0:
                answer = self.prove(data, begin + at, last)
                if answer != REFUTED:
                    return begin + at, answer
                at = marks.find(1, at + 1)
        return len(data), REFUTED

    def methods(self, payload: bytes) -> list[tuple[str, tuple[Side, ...]]]:
        """List the methods that a frame's payload may hold: name and senders in each dialect that can read it."""
        found: list[tuple[str, tuple[Side, ...]]] = []
        for dialect in self.dialects:
            try:
                method = dialect.decode_method(payload)
            except CodecError:
                continue
            senders = dialect.senders[method.ID]
            if self.side is None or self.side in senders:
                found.append((method.NAME, senders))
        return found

    def _header(self, payload: bytes) -> bool:
        (number, _) = _CLASS_AND_WEIGHT(payload, 0)
        for dialect in self.dialects:
            properties = dialect.properties.get(number)
            if properties is not None:
                try:
                    properties.from_wire(payload[12:], dialect.tables).check()
                except CodecError:
                    continue
                return True
        return False

    def _begins(self, data: bytes, pos: int) -> int:
        if data[pos] not in KNOWN:
            return REFUTED
        left = len(data) - pos
        if left < 7:
            return 7
        kind, number, size = FRAME.unpack_from(data, pos)
        if kind == HEARTBEAT:
            return 8 if not number and not size else REFUTED
        if size > self.largest:
            return REFUTED
        if kind == METHOD:
            if size < 4:
                return REFUTED
            if left < 11:
                return 11
            (method_id,) = METHOD_ID.unpack_from(data, pos + 7)
            return 11 if any([method_id in dialect.methods for dialect in self.dialects]) else REFUTED
        if not number:
            return REFUTED
        if kind == BODY:
            return 7 if size else REFUTED
        if size < 14:
            return REFUTED
        if left < 11:
            return 11
        class_id, weight = _CLASS_AND_WEIGHT(data, pos + 7)
        known = any([class_id in dialect.properties for dialect in self.dialects])
        return 11 if known and not weight else REFUTED
