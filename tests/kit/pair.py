"""Pair: a client and a server of any version joined in memory, with a clock that jumps to the next deadline."""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from functools import partial
from types import MethodType
from typing import Any, Final, Generic, Protocol, Self, cast

from amqp_sansio import CloseHint, Event, Pending, Signal
from amqp_sansio.amqp_0_10.spec import Struct
from amqp_sansio.endpoint import Side
from tests.kit.versions import Application, C, VersionKit

SIDES: Final = (Side.CLIENT, Side.SERVER)
STEPS: Final = 10_000
"""More deliveries in a row than any test needs: beyond it the two sides are in a loop."""

Chunks = Callable[[bytes], Iterable[bytes]]
"""Cuts what one write gave into the pieces that arrive."""


class Observing(Protocol):
    """What a Pair wants of an observer that watches beside it."""

    def receive_data(self, data: bytes, sender: str, at_ns: int) -> object: ...


class Pair(Generic[C]):
    """A client and a server of one version and what lies between them; a version's own Pair adds what it has inside.

    `applications` are called with each event before the next one is taken; what is given replaces the kit's.
    `sent[side]` are all octets that `side` has sent, `events[side]` what was returned on that side (see `take`),
    `flying[side]` what that side sent and the other has not received. `chunks` cuts every arrival; `observer` sees what
    is sent.
    """

    def __init__(
        self,
        kit: VersionKit[C],
        *,
        client: Any = None,
        server: Any = None,
        applications: Mapping[Side, Application[C]] | None = None,
        chunks: Chunks | None = None,
        observer: Observing | Iterable[Observing] | None = None,
    ) -> None:
        self.kit = kit
        self.ends = {Side.CLIENT: kit.end(Side.CLIENT, client), Side.SERVER: kit.end(Side.SERVER, server)}
        self.applications: dict[Side, Application[C]] = {**kit.applications(), **(applications or {})}
        self.chunks = chunks
        self.observers: tuple[Observing, ...] = ()
        if observer is not None:
            self.observers = tuple(observer) if isinstance(observer, Iterable) else (observer,)
        self.now = 0.0
        self.sent = {side: bytearray() for side in SIDES}
        self.flying = {side: bytearray() for side in SIDES}
        self.events: dict[Side, list[Event]] = {side: [] for side in SIDES}
        self.taken = {side: 0 for side in SIDES}
        self.closed = {side: False for side in SIDES}
        self.stalled = {side: False for side in SIDES}

    @property
    def client(self) -> C:
        return self.ends[Side.CLIENT]

    @property
    def server(self) -> C:
        return self.ends[Side.SERVER]

    def open(self) -> Self:
        """Deliver until the connection is open at both ends."""
        self.pump()
        assert self.client.is_open, self.events
        assert self.server.is_open, self.events
        return self

    def hear(self, side: Side, event: Event) -> None:
        """Each event, before the next one is taken."""
        self.events[side].append(event)
        self.applications[side](self.ends[side], event)

    def tell(self, hear: Callable[[Side, Event], object]) -> None:
        """From now on `hear` gets each event, with its side, behind the application that is there."""
        for side, application in self.applications.items():
            self.applications[side] = partial(_both, application, partial(hear, side))

    def drain(self, side: Side) -> bool:
        """Take the events of one side until it has none; whether there were any."""
        end = self.ends[side]
        found = False
        while not isinstance(event := end.next_event(), Signal):
            found = True
            self.hear(side, event)
        return found

    def write(self, side: Side, max_bytes: int | None = None) -> bool:
        """Let one side write what it has, and hang up if that was all; whether it did anything."""
        end = self.ends[side]
        octets = end.data_to_send(self.now, max_bytes)
        self.sent[side] += octets
        self.flying[side] += octets
        if octets:
            for observer in self.observers:
                observer.receive_data(octets, side.value, round(self.now * 1_000_000_000))
        if end.close_hint is not CloseHint.KEEP and not end.send_backlog and not self.closed[side]:
            self.closed[side] = True
            return True
        return bool(octets)

    def arrive(self, receiver: Side, count: int | None = None) -> bool:
        """Let at most `count` octets, or all, arrive at `receiver`; whether there were any."""
        end = self.ends[receiver]
        pipe = self.flying[receiver.other]
        room = end.receive_budget if end.close_hint is CloseHint.KEEP else len(pipe)
        size = min(len(pipe), room) if count is None else min(len(pipe), room, count)
        if self.stalled[receiver] or not size:
            return False
        octets = bytes(pipe[:size])
        del pipe[:size]
        for piece in self.chunks(octets) if self.chunks is not None else (octets,):
            self.ends[receiver].receive_data(piece, self.now)
            self.drain(receiver)
        return True

    def turn(self, side: Side) -> bool:
        """One turn of an adapter's loop: take events, write, read; whether anything moved."""
        moved = self.drain(side)
        moved = self.write(side) or moved
        if self.closed[side.other] and not self.flying[side.other]:
            moved = self._hang_up(side) or moved
        return self.arrive(side) or moved

    def pump(self) -> None:
        """Turn both sides until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            moved = [self.turn(side) for side in SIDES]
            if not any(moved):
                return
        raise AssertionError("the two sides never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass, serving every deadline on the way."""
        end = self.now + seconds
        for _ in range(STEPS):
            self.pump()
            deadline = self.deadline
            if deadline is None or deadline > end:
                self.now = end
                return
            self._fire(deadline)
        raise AssertionError("deadlines come without end")

    def drive(self, jumps: int = 100) -> None:
        """Deliver, else jump to the earliest deadline, until nothing is left to do; at most `jumps` times."""
        for _ in range(jumps):
            self.pump()
            deadline = self.deadline
            if deadline is None:
                return
            self._fire(deadline)
        raise AssertionError("deadlines come without end")

    @property
    def deadline(self) -> float | None:
        """The earlier deadline of the two ends. Everything is written, so an end that wants to close has closed."""
        deadlines = [end.next_deadline for end in self.ends.values() if end.close_hint is CloseHint.KEEP]
        return min([each for each in deadlines if each is not None], default=None)

    def take(self, side: Side, kind: type[Any] | None = None) -> list[Any]:
        """The events of one side since the last `take`, or of these those of one class."""
        new = self.events[side][self.taken[side] :]
        self.taken[side] = len(self.events[side])
        return new if kind is None else [event for event in new if isinstance(event, kind)]

    def of(self, side: Side, kind: type[Any]) -> list[Any]:
        """The events of one side that are of a class."""
        return [event for event in self.events[side] if isinstance(event, kind)]

    def cut(self, *arriving: int, lose: bool = True, reason: str = "reset") -> None:
        """The transport vanishes for both sides, with what is on the way when `lose`.

        So many octets still arrive before, at the client and at the server.
        """
        for side, count in zip(SIDES, arriving, strict=False):
            self.arrive(side, count)
        for side in SIDES:
            if not lose:
                self.arrive(side)
            self.flying[side].clear()
            self.ends[side].connection_lost(reason, self.now)
        for side in SIDES:
            self.drain(side)

    def refork(self) -> None:
        """Replace both ends by what their pickles give."""
        for side in SIDES:
            self.ends[side] = pickle.loads(pickle.dumps(self.ends[side]))

    def _hang_up(self, side: Side) -> bool:
        """The other side has closed its transport: this one sees the end of the stream."""
        end = self.ends[side]
        if end.report is not None:
            return False
        end.receive_eof(self.now)
        return self.drain(side)

    def _fire(self, deadline: float) -> None:
        self.now = max(self.now, deadline)
        for end in self.ends.values():
            due = end.next_deadline
            if due is not None and due <= self.now:
                end.handle_timeout(self.now)


def _both(first: Application[C], then: Callable[[Event], object], connection: C, event: Event) -> None:
    first(connection, event)
    then(event)


def told(event: Event) -> str:
    """An event as text that is the same for equal events of two copies: handles by key and outcome, all fields."""
    fields = [f"{name}={_plain(getattr(event, name))}" for name in event.__match_args__]
    return f"{type(event).__name__}({', '.join(fields)})"


def _plain(value: Any) -> str:
    if isinstance(value, Pending):
        state: tuple[Any, ...] = value.__getstate__()
        return f"<{', '.join([repr(each) for each in state])}>"
    kind: Any = value.__class__
    if kind is tuple:
        return f"({', '.join(map(_plain, value))})"
    return repr(value)


def pieces(*sizes: int) -> Chunks:
    """Chunks of the given sizes in turn, over and over, across all arrivals."""
    position = 0

    def cut(octets: bytes) -> Iterator[bytes]:
        nonlocal position
        at = 0
        while at < len(octets):
            size = sizes[position % len(sizes)]
            position += 1
            yield octets[at : at + size]
            at += size

    return cut


def structure(value: Any) -> object:
    """What a pickle of `value` says, without its sharing: equal for two endpoints in the same state."""
    return _structure(value, {})


# Most of what a state holds: exact types, looked up before anything else is asked.
_PLAIN: Final = frozenset((type(None), bool, int, float, str, bytes))


def _structure(value: Any, seen: dict[int, int]) -> object:
    kind: Any = value.__class__
    if kind in _PLAIN:
        return value
    if isinstance(value, (tuple, list, deque)):
        return [each if each.__class__ in _PLAIN else _structure(each, seen) for each in cast("list[Any]", value)]
    if kind is dict:
        return [_structure(item, seen) for item in value.items()]
    if isinstance(value, (bool, int, float, str, bytes, Enum)):
        return value
    if isinstance(value, MethodType):
        return [value.__name__, _structure(value.__self__, seen)]
    if isinstance(value, (bytearray, type)) or callable(value):
        return repr(value)
    if id(value) in seen:
        return ("seen", seen[id(value)])
    if not isinstance(value, Struct):
        # A record of 0-10 never changes: one that several share is as good as several.
        seen[id(value)] = len(seen)
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        return reduced
    return [_structure(part, seen) for part in reduced if not hasattr(part, "__next__")]
