"""A server's core in a simulated world, at its end of one line."""

from __future__ import annotations

from typing import Any

from amqp_sansio import CloseHint, Event, Signal
from amqp_sansio.testing.simulate import World
from amqp_sansio.testing.simulate.network import Line


class ServerCore:
    """Listens as "server". `events` are those that came; a subclass answers them."""

    def __init__(self, world: World, core: Any) -> None:
        self.core = core
        self.events: list[Event] = []
        self._world = world
        self._line: Line
        world.listen("server", 5672, lambda: self)

    def answer(self, event: Event) -> None:
        """Do what the server's application does at an event."""
        raise NotImplementedError

    def pump(self) -> None:
        """Answer what came, and send what is queued."""
        while not isinstance(event := self.core.next_event(), Signal):
            self.events.append(event)
            self.answer(event)
        self._line.up.wake()
        self._line.down.send(self.core.data_to_send(self._world.now))
        if self.core.close_hint is not CloseHint.KEEP:
            self._line.down.finish("the server has closed")

    # ServerEnd, for the line.

    @property
    def room(self) -> int:
        budget: int = self.core.receive_budget
        return budget

    def attach(self, line: Line) -> None:
        self._line = line

    def receive(self, octets: bytes) -> None:
        self.core.receive_data(octets, self._world.now)
        self.pump()

    def writable(self) -> None:
        """Nothing: it sends little."""

    def ended(self, reason: str, *, is_reset: bool) -> None:
        """Nothing: no test asks what the server thinks of its client's end."""
