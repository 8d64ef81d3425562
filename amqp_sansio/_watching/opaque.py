"""OpaqueObserver: observes what is no AMQP, or a version that nobody knows: it counts octets.

Protocol headers: 0-9-1 section 4.2.2, 0-10 section 4.3, 1.0 part 2 section 2.2.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from .._core.hints import of_first_octets
from .._ground.invariants import ensure
from ..endpoint import Side
from ..versions import HEADER_BEGIN, HEADER_SIZE
from .observation import Identified, Observed, Skipped, Violation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .observation import ObserverEvent, Setting


class _Direction:
    """What is known of the octets that one side sends."""

    __slots__ = ("done", "head", "offset", "side", "skipped_from")

    def __init__(self, side: Side, done: bool) -> None:
        # Who sends them.
        self.side = side
        # The first octets, up to the 8 of a protocol header.
        self.head = b""
        # Whether `head` takes no more: it is full, or the beginning wasn't seen.
        self.done = done
        # Octets so far, those of gaps included: where the next one stands in the stream.
        self.offset = 0
        # Where the octets begin that no event has told of yet.
        self.skipped_from = 0


class OpaqueObserver:
    """The machine for no version at all."""

    __slots__ = ("_at_ns", "_directions", "_events", "_judged", "_seq")

    def __init__(self, setting: Setting) -> None:
        # What isn't taken yet.
        self._events: deque[ObserverEvent] = deque()
        begun = not setting.from_start
        # Whether the protocol headers have been judged, or can't be, because the beginning wasn't seen.
        self._judged = begun
        # The server's, then the client's: `directions[client]` is the one of a side.
        self._directions = (_Direction(Side.SERVER, begun), _Direction(Side.CLIENT, begun))
        # The number of the next unit.
        self._seq = 0
        # When the last octets arrived, in nanoseconds since 1970.
        self._at_ns = setting.at_ns
        self._events.append(Identified(setting.version, "", setting.client, setting.server, setting.by, setting.at_ns))

    def check(self) -> None:
        """Check what is kept of each side. For tests; raises AssertionError."""
        for each in self._directions:
            where = f"the unread octets of the {each.side.value}"
            ensure(len(each.head) <= HEADER_SIZE, where, "no more than a header is kept", len(each.head))
            ensure(each.skipped_from <= each.offset, where, "what was told has arrived", each.skipped_from, each.offset)

    def receive(self, client: bool, pieces: Sequence[bytes], times: Sequence[int]) -> bool:
        """Count octets; the first eight may be a protocol header. Return whether there may be an event."""
        for octets, at_ns in zip(pieces, times, strict=True):
            self.receive_piece(client, octets, at_ns)
        return True

    def receive_piece(self, client: bool, octets: bytes, at_ns: int) -> bool:
        """As `receive`, of one piece."""
        direction = self._directions[client]
        self._at_ns = at_ns
        direction.offset += len(octets)
        if not direction.done:
            self._begin(direction, octets)
        return True

    def _begin(self, direction: _Direction, octets: bytes) -> None:
        head = (direction.head + octets)[:HEADER_SIZE]
        direction.head = head
        direction.done = len(head) == HEADER_SIZE
        self._judge(False)
        if direction.done and head.startswith(HEADER_BEGIN):
            direction.skipped_from = HEADER_SIZE
            self._events.append(
                Observed(
                    self._seq,
                    direction.side,
                    0,
                    "header",
                    "protocol-header",
                    head,
                    None,
                    None,
                    0,
                    None,
                    0,
                    HEADER_SIZE,
                    self._at_ns,
                )
            )
            self._seq += 1

    def _judge(self, last: bool) -> None:
        """Say that the client's first octets are no header: an error when the server turns out to speak AMQP."""
        server, client = self._directions
        first = client.head
        if self._judged or HEADER_BEGIN.startswith(first[:4]) or not (last or client.done):
            return
        answer = server.head
        spoken = answer[:4] == HEADER_BEGIN or answer[:1] == b"\x01"
        if not (last or spoken or server.done):
            return
        self._judged = True
        hint = of_first_octets(first)
        text = f"a connection begins with a protocol header, this one with {first!r}"
        self._events.append(
            Violation(
                Side.CLIENT,
                "0-9-1/wire/header-client-first",
                "error" if spoken else "warning",
                f"{text}; {hint}" if hint else text,
                0,
                self._at_ns,
            )
        )

    def gap(self, client: bool, octets: int, at_ns: int) -> None:
        """Octets are missing."""
        direction = self._directions[client]
        self._at_ns = at_ns
        self._skip(direction)
        self._events.append(Skipped(direction.side, direction.offset, octets, at_ns, "gap"))
        direction.offset += octets
        direction.skipped_from = direction.offset
        direction.done = True
        self._judge(False)

    def finish(self, at_ns: int) -> None:
        """Say how many octets were not decoded."""
        self._at_ns = at_ns
        self._judge(True)
        for direction in reversed(self._directions):
            self._skip(direction)

    def _skip(self, direction: _Direction) -> None:
        octets = direction.offset - direction.skipped_from
        if octets:
            begin = direction.skipped_from
            self._events.append(Skipped(direction.side, begin, octets, self._at_ns, "unrecognised"))
            direction.skipped_from = direction.offset

    @property
    def held(self) -> int:
        """Octets held: none but the first eight of each side."""
        return sum([len(direction.head) for direction in self._directions])

    def next(self) -> ObserverEvent | None:
        """The next event."""
        return self._events.popleft() if self._events else None
