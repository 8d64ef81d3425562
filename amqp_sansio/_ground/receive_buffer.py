"""ReceiveBuffer: queued octets, read with an offset, joined only where a frame straddles two arrivals."""

from __future__ import annotations

from .._checking import TYPE_CHECKING
from .invariants import ensure

if TYPE_CHECKING:
    from typing import Final

_SMALL: Final = 512
"""Arrivals of fewer octets are collected."""
_COPIED: Final = 8192
"""Copying so many octets twice takes less time than making two views of them."""
_UNENDING: Final = 1 << 61
"""Who drops more octets than these drops all."""


class ReceiveBuffer:
    """Octets that arrived and aren't parsed: `data[pos:]`, then `parts`.

    Between calls `held` is the size of `parts`, and `consumed + pos` the offset in the stream of the next octet.
    """

    __slots__ = ("consumed", "data", "held", "need", "parts", "pos", "skipping")

    def __init__(self) -> None:
        # Octets in one piece, which frames are parsed from.
        self.data: bytes = b""
        # Where the next frame begins in `data`; a parser moves it on when it has taken one.
        self.pos: int = 0
        # What arrived behind `data`, unjoined: a frame in many arrivals would be copied each time. Small arrivals share
        # a bytearray.
        self.parts: list[bytes | bytearray] = []
        # Octets in `parts`.
        self.held: int = 0
        # Octets that the parser asked for and that weren't there: before they are, it needn't look again. 0: it has to.
        self.need: int = 0
        # Octets of the stream that lie before `data`.
        self.consumed: int = 0
        # Octets that are dropped when they arrive: the rest of a frame that nobody wants.
        self.skipping = 0

    def __len__(self) -> int:
        return len(self.data) - self.pos + self.held

    @property
    def is_lost(self) -> bool:
        """Whether nothing more is read: where the next frame begins can't be known, so that all octets are dropped."""
        return self.skipping > _UNENDING

    @property
    def offset(self) -> int:
        """The offset in the stream of the next octet to parse."""
        return self.consumed + self.pos

    @property
    def is_due(self) -> bool:
        """Whether as many octets are there as the parser has asked for."""
        return len(self.data) - self.pos + self.held >= self.need

    def append(self, octets: bytes) -> bool:
        """Take what arrived; return whether it's the next to be parsed, since nothing waits in front of it."""
        if self.skipping:
            dropped = min(self.skipping, len(octets))
            self.skipping -= dropped
            self.consumed += dropped
            octets = octets[dropped:]
            if not octets:
                return False
        if self.pos == len(self.data) and not self.parts:
            self.consumed += self.pos
            self.data = octets
            self.pos = 0
            self.need = 0
            return True
        parts = self.parts
        self.held += len(octets)
        if len(octets) >= _SMALL:
            parts.append(octets)
        elif parts and isinstance(parts[-1], bytearray):
            # Each object costs tens of octets beside its own: small arrivals share one.
            parts[-1] += octets
        else:
            parts.append(bytearray(octets))
        return False

    def take_all(self) -> bytes:
        """Everything that is left, which isn't kept here."""
        left = b"".join((self.data[self.pos :], *self.parts))
        self.clear()
        return left

    def want(self, count: int) -> bool:
        """Whether `count` octets can be read from `data` at `pos`, joining what arrived when that helps."""
        left = len(self.data) - self.pos
        if left >= count:
            return True
        if left + self.held < count:
            self.need = count
            if not left:
                # A consumed arrival isn't kept alive by an idle connection.
                self.consumed += self.pos
                self.data = b""
                self.pos = 0
            return False
        self.consumed += self.pos
        self.data = b"".join((self.data[self.pos :], *self.parts))
        self.pos = 0
        self.held = 0
        self.parts.clear()
        self.need = 0
        return True

    def octet(self, index: int) -> int:
        """The octet `index` places behind `pos`, which must have arrived."""
        index -= len(self.data) - self.pos
        if index < 0:
            return self.data[index]
        for part in self.parts:
            if index < len(part):
                return part[index]
            index -= len(part)
        raise IndexError(index)

    def gather(self, skip: int, count: int) -> bytes:
        """Skip `skip` octets of `data`, then take `count` octets that straddle arrivals; what follows them
        isn't copied.

        `skip + count + 1` octets must have arrived, `skip` of them in `data`.
        """
        missing = count - len(self.data) + self.pos + skip
        rest = self.parts[0]
        if missing < len(rest) and count <= _COPIED and type(rest) is bytes:
            body = self.data[self.pos + skip :] + rest[:missing]
            self.consumed += len(self.data)
            self.held -= len(rest)
            self.data = rest
            self.pos = missing
            self.need = 0
            del self.parts[0]
            return body
        first = memoryview(self.data)[self.pos + skip :]
        pieces: list[bytes | bytearray | memoryview] = [first]
        missing = count - len(first)
        taken = 0
        self.consumed += len(self.data)
        parts = self.parts
        while missing >= len(parts[taken]):
            missing -= len(parts[taken])
            pieces.append(parts[taken])
            self.consumed += len(parts[taken])
            self.held -= len(parts[taken])
            taken += 1
        rest = parts[taken]
        if missing:
            pieces.append(memoryview(rest)[:missing])
        del parts[: taken + 1]
        self.held -= len(rest)
        self.data = bytes(rest)
        self.pos = missing
        self.need = 0
        return b"".join(pieces)

    def skip(self, count: int) -> None:
        """Drop the next `count` octets, and those of them that haven't arrived yet when they do."""
        left = len(self.data) - self.pos
        if count <= left:
            self.pos += count
            return
        count -= left
        self.consumed += len(self.data)
        self.data = b""
        self.pos = 0
        while self.parts and count:
            part = self.parts.pop(0)
            self.held -= len(part)
            if len(part) > count:
                self.data = bytes(part)
                self.pos = count
                return
            count -= len(part)
            self.consumed += len(part)
        self.need = 0
        self.skipping = count

    def clear(self) -> None:
        """Drop everything, counting it as read."""
        self.consumed += self.pos + len(self)
        self.data = b""
        self.pos = 0
        self.parts.clear()
        self.held = 0
        self.need = 0
        self.skipping = 0

    def check(self, where: object) -> None:
        """Check the invariants of the octets that wait, which `where` names. For tests; raises AssertionError."""
        parts = sum(map(len, self.parts))
        ensure(self.held == parts, where, "`held` counts the octets of `parts`", self.held, parts)
        ensure(0 <= self.pos <= len(self.data), where, "`pos` lies in `data`", self.pos, len(self.data))
        ensure(not (self.skipping and len(self)), where, "nothing waits while octets are dropped", self.skipping)

    def __getstate__(self) -> tuple[object, ...]:
        octets = b"".join((self.data[self.pos :], *self.parts))
        return self.consumed + self.pos, octets, self.need, self.skipping

    def __setstate__(self, state: tuple[int, bytes, int, int]) -> None:
        self.consumed, self.data, self.need, self.skipping = state
        self.pos = 0
        self.parts = []
        self.held = 0
