"""Finding the next frame that can be proven in octets that may begin anywhere (1.0 part 2 sections 2.2 and 2.3).

A decision is yes, no, or "more octets are needed"; it never depends on where an arrival ends. A frame whose body is one
performative to its last octet, each field of its type, is proven by itself, and so is a protocol header. A transfer
(whose payload may be anything) and an empty frame say too little: what follows must look like a frame, or be the end.
Frames with an extended header, which nothing defines, aren't looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from ..._watching.stream import PROVEN, REFUTED, FrameRecognizer
from ...endpoint import Side
from ...errors import CodecError
from ...versions import HEADER_BEGIN
from ..codec.composite import Performative, SaslFrame, decode_frame_body
from ..codec.decode import COMPOSITES
from ..codec.frames import AMQP, AMQP_HEADER, FRAME, HEADER_SIZE, SASL, SASL_HEADER, TLS_HEADER
from ..codec.octets import READ_U32
from ..codec.performatives import Transfer
from ..model.connection import SASL_FRAMES
from ..model.link_state import CLIENT

if TYPE_CHECKING:
    from collections.abc import Mapping

HEADERS: Final = (AMQP_HEADER, TLS_HEADER, SASL_HEADER)
"""The protocol headers of this version."""

LIKELY_MAX: Final = 1_048_576
"""The largest frame, in octets, that is looked for while no max-frame-size is known."""

_BODIES: Final = {kind.CODE: kind for kind in COMPOSITES.values() if issubclass(kind, (Performative, SaslFrame))}
NAMES: Final = {code: kind.NAME for code, kind in _BODIES.items()}
"""The frame bodies by the number of their descriptor."""
SASL_SENDERS: Final = {
    kind.CODE: Side.CLIENT if sender == CLIENT else Side.SERVER for kind, (sender, _) in SASL_FRAMES.items()
}
"""The only side that may send each frame of the SASL layer (part 5 section 5.3.2); either side may send the others."""

_TRANSFER: Final = Transfer.CODE
_OF_TYPE: Final = (frozenset(NAMES) - frozenset(SASL_SENDERS), frozenset(SASL_SENDERS))
_PLAIN: Final = 2
"""The data offset of a frame without an extended header, in words of four octets."""
_MARKS: Final = tuple([bytes((_PLAIN, kind)) for kind in (AMQP, SASL)])


class Descriptors:
    """Reads descriptors from octets that may end early; `symbols` are those of all types, with their codes."""

    __slots__ = ("_codes", "_longest", "_symbols")

    def __init__(self, symbols: Mapping[str, int]) -> None:
        self._symbols = {symbol.encode("ascii"): code for symbol, code in symbols.items()}
        self._codes = frozenset(symbols.values())
        self._longest = max(map(len, symbols))

    def read(self, data: bytes, pos: int, end: int) -> tuple[int, int]:
        """The code of the descriptor at `pos` and where it ends, within `end`.

        The code is REFUTED for what is none of these descriptors; the second number says how many octets from `pos` on
        it takes to say more when the descriptor goes beyond `end`, and the code is PROVEN then.
        """
        if data[pos]:
            return REFUTED, 0
        if end - pos < 3:
            return PROVEN, 3
        kind = data[pos + 1]
        if kind == 0x53:
            code = data[pos + 2]
            return (code, pos + 3) if code in self._codes else (REFUTED, 0)
        if kind == 0x80:
            if end - pos < 10:
                return PROVEN, 10
            code = int.from_bytes(data[pos + 2 : pos + 10], "big")
            return (code, pos + 10) if code in self._codes else (REFUTED, 0)
        if kind == 0xA3:
            begin, size = pos + 3, data[pos + 2]
        elif kind == 0xB3:
            if end - pos < 6:
                return PROVEN, 6
            begin, size = pos + 6, READ_U32(data, pos + 2)[0]
        else:
            return REFUTED, 0
        if size > self._longest:
            return REFUTED, 0
        if end < begin + size:
            return PROVEN, begin + size - pos
        named = self._symbols.get(data[begin : begin + size])
        return (REFUTED, 0) if named is None else (named, begin + size)


descriptor: Final = Descriptors({str(kind.SYMBOL): code for code, kind in _BODIES.items()}).read
"""Reads the descriptor of a frame body."""


class Reader(FrameRecognizer):
    """How frames are told from other octets: the sender's `side` (None: not known), the `largest` frame and the
    largest performative, in octets.
    """

    __slots__ = ("largest", "performative", "side")

    def __init__(self, side: Side | None, largest: int = LIKELY_MAX, performative: int = LIKELY_MAX) -> None:
        self.side = side
        self.largest = largest
        self.performative = performative

    def _size(self, data: bytes, pos: int) -> int:
        if data.startswith(HEADER_BEGIN, pos):
            return HEADER_SIZE
        size: int
        size, _, _, _ = FRAME.unpack_from(data, pos)
        return size

    def _proves(self, data: bytes, pos: int, after: int) -> bool | None:
        if data.startswith(HEADER_BEGIN, pos):
            return True
        if after - pos == HEADER_SIZE:
            return None
        try:
            frame, payload = decode_frame_body(data, pos + HEADER_SIZE, after)
        except CodecError:
            return False
        return None if frame.CODE == _TRANSFER else payload == after

    def _candidate(self, data: bytes, pos: int) -> int:
        """The first place from `pos` on where a header may begin by its data offset and type, or is cut short."""
        # Four octets of size lie before data offset and type; the last five places lack one of these.
        found = len(data) - 5
        for mark in (*_MARKS, HEADER_BEGIN):
            ahead = 0 if mark is HEADER_BEGIN else 4
            at = data.find(mark, pos + ahead, max(found, pos) + ahead + len(mark))
            if at >= 0:
                found = min(found, at - ahead)
        return max(found, pos)

    def _begins(self, data: bytes, pos: int) -> int:
        left = len(data) - pos
        if data[pos] == 0x41:
            head = data[pos : pos + HEADER_SIZE]
            if any([header.startswith(head) for header in HEADERS]):
                return HEADER_SIZE
        if left < HEADER_SIZE:
            return HEADER_SIZE if data[pos] <= self.largest >> 24 else REFUTED
        size: int
        kind: int
        size, offset, kind, _ = FRAME.unpack_from(data, pos)
        if offset != _PLAIN or not HEADER_SIZE <= size <= self.largest or kind > SASL:
            return REFUTED
        if size == HEADER_SIZE:
            return HEADER_SIZE if kind == AMQP else REFUTED
        end = min(len(data), pos + size)
        begin = pos + HEADER_SIZE
        if end <= begin:
            return HEADER_SIZE + 1
        code, at = descriptor(data, begin, end)
        if code == REFUTED:
            return REFUTED
        if code == PROVEN:
            return HEADER_SIZE + at if HEADER_SIZE + at <= size else REFUTED
        if code not in _OF_TYPE[kind]:
            return REFUTED
        if kind == SASL and self.side not in (None, SASL_SENDERS[code]):
            return REFUTED
        return self._list(data, pos, at, size, code)

    def _list(self, data: bytes, pos: int, at: int, size: int, code: int) -> int:
        """As `_begins`, for the list at `at` in a frame of `size` octets at `pos`."""
        held = len(data) - at
        after = at - pos
        if after >= size:
            return REFUTED
        if not held:
            return after + 1
        kind = data[at]
        if kind == 0x45:
            after += 1
        elif kind == 0xC0:
            if held < 2:
                return after + 2
            after += 2 + data[at + 1]
        elif kind == 0xD0:
            if held < 5:
                return after + 5
            after += 5 + READ_U32(data, at + 1)[0]
        else:
            return REFUTED
        if after > size if code == _TRANSFER else after != size:
            return REFUTED
        if after - (at - pos) > self.performative:
            return REFUTED
        return at - pos + (1 if kind == 0x45 else 2 if kind == 0xC0 else 5)
