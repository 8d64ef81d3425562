"""A pure client of 0-10 moved by hand, with a peer that is a function; what interrupted calls leave behind."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from amqp_sansio import CloseHint, Signal
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.events import Event
from tests.kit.by_hand import STEPS, Call, HandDriver

R = TypeVar("R")


class World(HandDriver):
    """A client, its peer, their clock, and the calls of the client's user. `untaken` are events that nobody took.

    `answer` takes octets of the client, and returns those of the peer. While `reads` is false the client gets none.
    """

    def __init__(self, client: BaseClient[Any], answer: Callable[[bytes, float], bytes]) -> None:
        super().__init__(client)
        self.answer = answer
        self.now = 0.0
        self.reads = True
        self.lost = False
        self.untaken: list[Event] = []
        self._kept = b""
        self.move()

    def begin(self, operation: Coroutine[Any, Any, R], last: int = 0, at_once: bool = False) -> Call[R]:
        """Begin a call, and go on until nothing moves."""
        call = self.call(operation, last, at_once)
        self.move()
        return call

    def run(self, operation: Coroutine[Any, Any, R]) -> R:
        """Do a call to its end, and return its result."""
        return self.begin(operation).result

    def move(self) -> None:
        """Move octets both ways, and step the calls, until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            self._route()
            moved = False
            if not self.lost:
                octets = self.client.data_to_send(self.now)
                self._kept += self.answer(octets, self.now)
                moved = moved or bool(octets)
                if self._kept and self.reads and self.client.receive_budget:
                    self.client.receive_data(self._kept, self.now)
                    self._kept = b""
                    moved = True
                if self.client.close_hint is not CloseHint.KEEP and not moved:
                    self._end("it was closed")
                    moved = True
            moved = self.step() or moved
            if not moved:
                return
        raise AssertionError("the ends never come to rest")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.now += seconds
        self.client.handle_timeout(self.now)
        self.move()

    def lose(self, reason: str) -> None:
        """Lose the transport."""
        self._end(reason)
        self.move()

    def _end(self, reason: str) -> None:
        self.lost = True
        self.client.connection_lost(reason, self.now)
        self._route()
        self.client.transport_ended(reason)

    def _route(self) -> None:
        while not isinstance(event := self.client.next_event(), Signal):
            self.untaken.append(event)


def at_rest(client: Any) -> list[object]:
    """Everything that interrupted calls have left behind in a client: nothing, if all is well."""
    return [
        *client._waiting.values(),
        *client._late,
        *client.collected,
        *client._gate,
        *[each for _, each in client._starting if not each.done],
        *[each for _, _, each in client._deadlines if not each.done],
    ]
