"""Assembly: which segments and frames of one control or command have come, by the flags of its frames.

One is under way at most on each channel and track (part 1 section 4.4.1).
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from .frames import BEGINS, FIRST_FRAME, FIRST_SEGMENT, LAST_FRAME, LAST_SEGMENT, SEGMENTS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Final

_SMALL: Final = 512
"""Pieces of fewer octets share an object."""


class Assembly:
    """`kind` is the type of the segment under way or ended last, -1 before the first one.

    `ended` says that this segment has ended, `whole` that the assembly has.

    >>> assembly = Assembly()
    >>> assembly.step(0x0B, 1), assembly.whole
    ('', False)
    >>> assembly.step(0x07, 3), assembly.whole
    ('', True)
    """

    __slots__ = ("ended", "kind", "place", "whole")

    def __init__(self) -> None:
        self.kind = -1
        self.place = 0
        self.ended = True
        self.whole = False

    def step(self, flags: int, kind: int) -> str:
        """Take the next frame; "", or what its flags contradict, with nothing changed."""
        place = flags & (FIRST_SEGMENT | LAST_SEGMENT)
        if flags & FIRST_FRAME:
            # Segments come in the order of their types, and only the first one says that it's the first.
            fits = self.ended and kind > self.kind and (self.kind < 0) == (flags & FIRST_SEGMENT != 0)
        else:
            fits = not self.ended and kind == self.kind and place == self.place
        if not fits:
            return self._fault(flags, kind)
        self.kind = kind
        self.place = place
        self.ended = flags & LAST_FRAME != 0
        self.whole = self.ended and place & LAST_SEGMENT != 0
        return ""

    def _fault(self, flags: int, kind: int) -> str:
        """Say what a frame that doesn't fit contradicts by its flags."""
        name = SEGMENTS[kind]
        if not flags & FIRST_FRAME:
            if self.ended:
                return f"a {name} segment goes on that hasn't begun"
            if kind != self.kind:
                return f"a {name} segment goes on, a {SEGMENTS[self.kind]} segment is under way"
            return f"the frames of a {name} segment disagree about its place"
        if not self.ended:
            return f"a {name} segment begins, the {SEGMENTS[self.kind]} segment before it has no last frame"
        if self.kind < 0:
            return f"a {name} segment that isn't the first comes first"
        if flags & FIRST_SEGMENT:
            return f"a {name} segment is the first one behind another"
        return f"a {name} segment behind a {SEGMENTS[self.kind]} segment"


def begins(flags: int) -> bool:
    """Whether a frame with these flags is the first one of an assembly."""
    return flags & BEGINS == BEGINS


def keep(parts: list[bytes | bytearray], octets: bytes) -> None:
    """Keep a piece; small ones share an object, each would cost more than what is in it."""
    if not octets:
        return
    if parts and len(octets) < _SMALL:
        last = parts[-1]
        if isinstance(last, bytearray):
            last += octets
            return
        if len(last) < _SMALL:
            parts[-1] = bytearray(last) + octets
            return
    parts.append(octets)


def joined(parts: Sequence[bytes | bytearray]) -> bytes:
    """The octets of all pieces."""
    only = parts[0] if len(parts) == 1 else None
    return only if isinstance(only, bytes) else b"".join(parts)
