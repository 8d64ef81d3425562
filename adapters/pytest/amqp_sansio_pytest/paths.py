"""Paths: the path of octets between clients and the broker, with its faults; all in the broker's thread."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from amqp_sansio_asyncio import faults

if TYPE_CHECKING:
    from amqp_sansio.broker import Client, Hub
    from amqp_sansio_asyncio.faults import Line

Direction = Literal["from_client", "to_client"]
DIRECTIONS: Final[tuple[Direction, Direction]] = ("from_client", "to_client")


class Obstacle:
    """A fault on a path: it loses, holds back or delays octets, or ends the connection."""

    is_wall = False
    """Holds octets back until it is removed."""
    loses = False
    """Loses octets."""
    delay = 0.0
    """Seconds of delay, as clients count them."""
    turns_away = False
    """Refuses new clients."""

    def concerns(self, client: Client, direction: Direction) -> bool:
        """Whether it affects this path."""
        raise NotImplementedError

    def met(self, number: int) -> None:
        """Note a new client."""

    def room(self, client: Client, size: int) -> int:
        """Return how many of `size` octets it lets pass."""
        return size

    def is_spent(self, client: Client) -> bool:
        """Whether to cut the connection now."""
        return False

    def struck(self, octets: int) -> None:
        """Count an effect."""


class Paths(faults.Faults):
    """Passes all octets of the serving broker."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.hub: Hub | None = None
        """Says whose connection it is; None before it serves."""
        self.activity = 0
        """Counts the movements on all connections: a wait ends when it stands still."""
        self._loop = loop
        """Of the broker, whose thread this is."""
        self._obstacles: list[Obstacle] = []
        """Faults in effect, in the order in which they were made."""
        self._lanes: dict[tuple[int, Direction], _Lane] = {}
        """Directions that have, or had, faults."""
        self._lines: dict[int, Line] = {}
        """Connections by number."""

    # Called by the broker's drivers.

    def connected(self, line: Line) -> bool:
        self.activity += 1
        self._lines[line.number] = line
        for each in self._obstacles:
            each.met(line.number)
        for each in self._obstacles:
            if each.turns_away:
                each.struck(0)
                return False
        return True

    def received(self, line: Line, data: bytes) -> bytes:
        self.activity += 1
        if not self._obstacles and not self._lanes:
            return data
        return self._lane(line, "from_client").push(data)

    def sending(self, line: Line, data: bytes) -> bytes:
        self.activity += 1
        if not self._obstacles and not self._lanes:
            return data
        return self._lane(line, "to_client").push(data)

    def received_end(self, line: Line, end: Callable[[], None]) -> None:
        self._end(line, "from_client", end)

    def sending_end(self, line: Line, end: Callable[[], None]) -> None:
        self._end(line, "to_client", end)

    def lost(self, line: Line) -> None:
        self.activity += 1
        self._lines.pop(line.number, None)
        for direction in DIRECTIONS:
            self._lanes.pop((line.number, direction), None)

    # Called by faults and the clock.

    def put_in(self, obstacle: Obstacle) -> None:
        """Add a fault."""
        self._obstacles.append(obstacle)
        for line in list(self._lines.values()):
            for direction in DIRECTIONS:
                self._lane(line, direction).cut_if_spent()

    def take_out(self, obstacle: Obstacle) -> None:
        """Remove a fault; octets it held back continue."""
        if obstacle in self._obstacles:
            self._obstacles.remove(obstacle)
        for lane in list(self._lanes.values()):
            lane.pump()

    def clear(self) -> None:
        """Remove all faults."""
        for each in list(self._obstacles):
            self.take_out(each)

    def in_way(self, client: Client, direction: Direction) -> list[Obstacle]:
        """Return the faults on one path of a client, in the order they were added."""
        return [each for each in self._obstacles if each.concerns(client, direction)]

    def is_mute(self, client: Client) -> bool:
        """Whether a client can't be heard."""
        return any([each.is_wall or each.loses for each in self.in_way(client, "from_client")])

    # Internals.

    def _end(self, line: Line, direction: Direction, end: Callable[[], None]) -> None:
        self.activity += 1
        # The hub may have forgotten a client whose transport is about to end.
        if (self._obstacles or self._lanes) and self.hub is not None and line.number in self.hub.clients:
            self._lane(line, direction).end(end)
        else:
            end()

    def _lane(self, line: Line, direction: Direction) -> _Lane:
        key = (line.number, direction)
        lane = self._lanes.get(key)
        if lane is None:
            hub = self.hub
            assert hub is not None
            lane = self._lanes[key] = _Lane(self, self._loop, line, hub.clients[line.number], direction)
        return lane


class _Lane:
    """One direction of a connection that has, or had, faults."""

    def __init__(
        self, paths: Paths, loop: asyncio.AbstractEventLoop, line: Line, client: Client, direction: Direction
    ) -> None:
        self._paths = paths
        """With the faults in effect."""
        self._loop = loop
        """Whose timers let delayed octets go."""
        self._line = line
        """The connection."""
        self._client = client
        """The broker's end of it."""
        self._direction: Direction = direction
        """Of its octets."""
        self._deliver: Callable[[bytes], None] = line.give if direction == "from_client" else line.put
        """Hands octets on at the end of the path."""
        self._waiting: deque[tuple[float, Callable[[], None]]] = deque()
        """What is delayed: when it goes, and what is done then."""
        self._timer: asyncio.TimerHandle | None = None
        """For the first of these."""
        self._is_cut = False
        """Whether nothing more passes."""

    def push(self, data: bytes) -> bytes:
        """Take octets; return those to pass on at once."""
        if self._is_cut:
            return b""
        must_wait = bool(self._waiting)
        for each in self._paths.in_way(self._client, self._direction):
            if each.loses:
                each.struck(len(data))
                return b""
            if each.is_wall or each.delay:
                each.struck(len(data))
                must_wait = True
            data = data[: each.room(self._client, len(data))]
        if self._is_spent():
            # Octets before the cut arrive before it.
            self.flush()
            self._deliver(data)
            self.cut_if_spent()
            return b""
        if not must_wait:
            return data
        self._wait(partial(self._deliver, data))
        return b""

    def end(self, end: Callable[[], None]) -> None:
        """Take the end of the stream, which is delayed like octets, and comes after them."""
        if not self._is_cut:
            self._wait(end)

    def pump(self) -> None:
        """Pass on octets that have waited long enough."""
        while self._waiting:
            in_way = self._paths.in_way(self._client, self._direction)
            if any([each.is_wall for each in in_way]):
                return
            left = self._waiting[0][0] + sum([each.delay for each in in_way]) - self._loop.time()
            if left > 0:
                if self._timer is None:
                    self._timer = self._loop.call_later(left, self._on_timer)
                return
            self._pop()

    def flush(self) -> None:
        """Pass everything on."""
        while self._waiting:
            self._pop()

    def cut_if_spent(self) -> None:
        """Cut the connection if a fault lets no more octets pass."""
        for each in self._paths.in_way(self._client, self._direction):
            if each.is_spent(self._client) and not self._is_cut:
                each.struck(0)
                self._is_cut = True
                self._line.cut()

    def _is_spent(self) -> bool:
        return any([each.is_spent(self._client) for each in self._paths.in_way(self._client, self._direction)])

    def _on_timer(self) -> None:
        self._timer = None
        self.pump()

    def _pop(self) -> None:
        self._paths.activity += 1
        _, pass_on = self._waiting.popleft()
        pass_on()

    def _wait(self, pass_on: Callable[[], None]) -> None:
        self._waiting.append((self._loop.time(), pass_on))
        self.pump()


__all__ = ["DIRECTIONS", "Direction", "Obstacle", "Paths"]
