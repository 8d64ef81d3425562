"""Reads what arrives into space that the connections share.

For an asyncio.Protocol an event loop reads into a new object of 256 KiB, and shrinks it to what came: the allocator
maps and unmaps that for each read, which takes longer than the read itself. A BufferedProtocol brings its own space.
"""

from __future__ import annotations

import asyncio
from typing import Final

READ_OCTETS: Final = 256 * 1024
"""Octets of one read at most, as many as asyncio's transports read for a Protocol."""
SPARE: Final = 4
"""Spaces that are kept for the next read: one is enough for each thread with an event loop."""

_spare: Final[list[memoryview]] = []


class Reading(asyncio.Protocol, asyncio.BufferedProtocol):
    """A protocol that takes octets by `data_received`, whichever way its transport has them.

    It is both kinds of protocol: the user's transports may call `data_received`, asyncio's own fill the space that
    `get_buffer` gives. A space belongs to one connection from there until `buffer_updated`, and stays with it where
    nothing was read.
    """

    _space: memoryview | None = None
    """The space that the transport may read into; None between reads."""

    def get_buffer(self, sizehint: int) -> memoryview:
        space = self._space
        if space is None:
            try:
                space = _spare.pop()
            except IndexError:
                space = memoryview(bytearray(READ_OCTETS))
            self._space = space
        return space

    def buffer_updated(self, nbytes: int) -> None:
        space = self._space
        assert space is not None
        octets = bytes(space[:nbytes])
        self.leave_space()
        self.data_received(octets)

    def leave_space(self) -> None:
        """Give the space to the next reader: a connection that nothing comes from any more has none."""
        space, self._space = self._space, None
        if space is not None and len(_spare) < SPARE:
            _spare.append(space)


__all__ = ["READ_OCTETS", "SPARE", "Reading"]
