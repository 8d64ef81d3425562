"""A hostile server at its end of a simulated world's line: it does what its script says, whatever the client's adapter.

Whoever talks without end must not stop the time, so it hears `LATENCY` seconds late.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from amqp_sansio.testing.simulate import World
from amqp_sansio.testing.simulate.network import Line
from tests.kit.hostile_servers import Act, Deafen, HostileServer, Send, Wait

LATENCY: Final = 0.01
"""Seconds until the server does something."""


class WorldEnd:
    """Listens at a port of its own, and serves one connection."""

    def __init__(self, world: World, server: HostileServer) -> None:
        self.room = 65_536
        self.port: int = world.listen("127.0.0.1", 0, lambda: self).address[1]
        self._world = world
        self._server = server
        self._acts: deque[Act] = deque()
        self._is_going = False
        self._has_waited = False
        self._is_over = False

    def deafen(self) -> None:
        """Read no more."""
        self.room = 0

    # ServerEnd, for the line.

    def attach(self, line: Line) -> None:
        self._line = line
        self._acts += self._server.connected(self._world.now)
        self._go_after(LATENCY)

    def receive(self, octets: bytes) -> None:
        self._acts += self._server.received(octets, self._world.now)
        self._go_after(LATENCY)

    def writable(self) -> None:
        """It writes without asking."""

    def ended(self, reason: str, *, is_reset: bool) -> None:
        self._finish(is_reset=False)

    # For the world.

    def run(self) -> None:
        """Do what its script says, up to the next pause."""
        self._is_going = False
        if self._has_waited:
            self._has_waited = False
            self._acts += self._server.received(b"", self._world.now)
        while self._acts and not self._is_over:
            act = self._acts.popleft()
            if isinstance(act, Send):
                self._line.down.send(act.octets)
            elif isinstance(act, Wait):
                self._has_waited = True
                self._go_after(act.seconds)
                return
            elif isinstance(act, Deafen):
                self.deafen()
            else:
                self._finish(is_reset=act.reset)

    def _go_after(self, seconds: float) -> None:
        if not self._is_going:
            self._is_going = True
            self._world.at(self._world.now + seconds, self)

    def _finish(self, *, is_reset: bool) -> None:
        if not self._is_over:
            self._is_over = True
            self._line.down.finish("the server has ended it", is_reset=is_reset)
            if is_reset:
                self._line.up.stop()


__all__ = ["LATENCY", "WorldEnd"]
