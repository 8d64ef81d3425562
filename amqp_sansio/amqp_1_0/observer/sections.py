"""Sections: what a message consists of, read piece by piece, without keeping its body (1.0 part 3 section 3.2).

An observer sees deliveries whose body it must not or can't keep, and pieces that may be cut anywhere, even in a
descriptor. It counts the body, and keeps the sections before it.
"""

from __future__ import annotations

from typing import Final

from ..._watching.stream import PROVEN, REFUTED
from ..codec.decode import WIDTHS
from ..codec.fastpath import read_start
from ..codec.octets import READ_U32
from ..codec.sections import AMQP_SEQUENCE, AMQP_VALUE, BINARIES, DATA, SYMBOLS
from .resync import Descriptors

_DESCRIPTORS: Final = Descriptors(SYMBOLS)
_OTHER: Final = (0, 0, -1)
_LISTS: Final = (0x5370, 0x5373)
"""The begins of a header and properties; those of the other sections before a body, which are maps."""
_MAPS: Final = (0x5371, 0x5372, 0x5374)
_SHORT: Final = frozenset([*[each << 8 | 0xC0 for each in _LISTS], *[each << 8 | 0xC1 for each in _MAPS]])
_LONG: Final = frozenset([each | 0x10 for each in _SHORT])
_EMPTY: Final = frozenset([each << 8 | 0x45 for each in _LISTS])
_DATA_8: Final = 0x5375A0
_DATA_32: Final = 0x5375B0
_VALUE: Final = 0x5377
_KINDS: Final = {DATA: "data", AMQP_SEQUENCE: "sequence", AMQP_VALUE: "value"}


class Sections:
    """Reads a message. `head` are the octets of the sections before the body, up to `most` of them, else None.

    `kind` is that of the body ("data", "sequence", "value", "" while there's none), `size` its octets as far as they
    passed: what the data sections hold, or the whole sections of other kinds. `announced` is what it says about
    the rest. `broken` says that what came last is no section, so that nothing behind it can be read.
    """

    __slots__ = ("_left", "_pending", "_values", "broken", "head", "kind", "most", "section", "size")

    def __init__(self, most: int) -> None:
        self.most = most
        self.head: bytearray | None = bytearray()
        self.kind = ""
        self.size = 0
        self.section = 0
        self.broken = False
        self._pending = b""
        self._left = 0
        self._values = 0

    @property
    def announced(self) -> int:
        """How many octets of the body are still to come in its present section."""
        return self._left if self.section in _KINDS else 0

    @property
    def whole(self) -> bool:
        """Whether what passed are whole sections."""
        return self.section != 0 and not (self.broken or self._pending or self._left or self._values)

    def feed(self, piece: bytes, body: list[bytes] | None = None) -> None:
        """Read the next piece of the message; the octets of its body go to `body`."""
        data = self._pending + piece if self._pending else piece
        self._pending = b""
        pos, end = 0, len(data)
        while pos < end and not self.broken:
            if self._left:
                stop = min(end, pos + self._left)
                self._left -= stop - pos
                self._take(data, pos, stop, self.section in _KINDS, body)
            else:
                stop = (self._constructor if self._values else self._descriptor)(data, pos, end)
                self._take(data, pos, stop, self.section in _KINDS and self.section != DATA, body)
            if stop == pos:
                self._pending = b"" if self.broken else data[pos:]
                return
            pos = stop

    def skip(self, octets: int) -> None:
        """The next `octets` octets of the message are missing."""
        if self._pending or octets > self._left:
            self.broken = True
            return
        self._left -= octets
        if self.section in _KINDS:
            self.size += octets
        elif self.section < DATA:
            self.head = None

    def _take(self, data: bytes, pos: int, stop: int, in_body: bool, body: list[bytes] | None) -> None:
        if in_body:
            self.size += stop - pos
            if body is not None:
                body.append(data[pos:stop])
        elif self.section < DATA and self.head is not None:
            if len(self.head) + stop - pos > self.most:
                self.head = None
            else:
                self.head += data[pos:stop]

    def _descriptor(self, data: bytes, pos: int, end: int) -> int:
        """Read a section's descriptor; where it ends, `pos` when octets are missing or it's none."""
        code, stop = _DESCRIPTORS.read(data, pos, end)
        if code == PROVEN:
            return pos
        if code == REFUTED:
            self.broken = True
            return pos
        self.section = code
        self.kind = self.kind or _KINDS.get(code, "")
        self._values = 1
        return stop

    def _constructor(self, data: bytes, pos: int, end: int) -> int:
        """Read a value's constructor; where it ends, `pos` when octets are missing or it's none."""
        code = data[pos]
        if self.section == DATA and code not in BINARIES:
            self.broken = True
            return pos
        if not code:
            # A described value: its descriptor is a value too.
            self._values += 1
            return pos + 1
        width = WIDTHS.get(code >> 4)
        if width is not None:
            self._left = width
            self._values -= 1
            return pos + 1
        if code < 0xA0:
            self.broken = True
            return pos
        # The lower of the two size classes has one octet of size, the higher one four.
        if code & 0x10:
            if end - pos < 5:
                return pos
            self._left = READ_U32(data, pos + 1)[0]
            size = 5
        else:
            if end - pos < 2:
                return pos
            self._left = data[pos + 1]
            size = 2
        self._values -= 1
        return pos + size


def body_of(payload: bytes, pos: int = 0) -> tuple[int, int, int]:
    """Where the body of a message begins, where its octets do, and how many these are; its section is the last one.

    The octets up to `pos` are whole sections, which aren't looked at.

    Raises struct.error, or gives sizes that don't fit, for a message of another kind or with a footer.

    >>> body_of(b"\\x00Sp\\xc0\\x02\\x01\\x41\\x00Su\\xa0\\x01x")
    (7, 12, 1)
    """
    while True:
        word, size = read_start(payload, pos)
        if word in _SHORT:
            pos += 5 + size
        elif word in _LONG:
            pos += 8 + READ_U32(payload, pos + 4)[0]
        elif word in _EMPTY:
            pos += 4
        else:
            break
    if word == _DATA_8:
        return pos, pos + 5, size
    if word == _DATA_32:
        return pos, pos + 8, READ_U32(payload, pos + 4)[0]
    code = word & 0xFF
    if word >> 8 != _VALUE or code < 0xA0:
        return _OTHER
    # A body that is no data is its encoded section. Of its two size classes the higher one has four octets of size.
    return pos, pos, 8 + READ_U32(payload, pos + 4)[0] if code & 0x10 else 5 + size
