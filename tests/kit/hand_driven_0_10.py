"""A pure client moved by hand, without event loop, thread or clock: octets go both ways, coroutines are stepped."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from types import coroutine
from typing import Any, Generic, TypeVar

from amqp_sansio import CloseHint, Signal
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.events import Event, Pending

R = TypeVar("R")

STEPS = 10_000
"""More turns than any test needs: beyond it the ends are in a loop."""


class Interrupted(BaseException):
    """Thrown into a call where it waits, as an event loop does with CancelledError."""


@coroutine
def until_done(pending: Pending[Any]) -> Generator[Pending[Any], None, None]:
    """Wait for a pending: whoever steps the coroutine gets it."""
    while not pending.done:
        yield pending


class HandDriver:
    """A driver that does nothing by itself; `World.move` does everything."""

    congested = False

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        return until_done(pending)

    def pace(self) -> Awaitable[object]:
        nothing: Pending[None] = Pending(("nothing",))
        nothing.complete(None)
        return until_done(nothing)

    def flush_soon(self) -> None:
        pass

    def flush_later(self) -> None:
        pass

    def close_soon(self) -> None:
        pass

    def reading_changed(self) -> None:
        pass

    def ring(self) -> None:
        pass


class Call(Generic[R]):
    """A coroutine of the client, stepped by hand. `waits` counts how often it has waited.

    It stops at its wait of number `last`; if `at_once`, it is interrupted there before an answer can come.
    """

    def __init__(self, operation: Coroutine[Any, Any, R], last: int = 0, at_once: bool = False) -> None:
        self.operation = operation
        self.last = last
        self.at_once = at_once
        self.waits = 0
        self.waiting: Pending[Any] | None = None
        self.done = False
        self.error: BaseException | None = None
        self.found: Any = None
        self.step()

    @property
    def result(self) -> R:
        """The call's result. Raises its error."""
        assert self.done, f"it waits still, for {self.waiting}"
        if self.error is not None:
            raise self.error
        result: R = self.found
        return result

    def step(self) -> bool:
        """Go on if there is anything to go on with; return whether there was."""
        if self.done or (self.last and self.waits == self.last):
            return False
        if self.waiting is not None and not self.waiting.done:
            return False
        self._go(lambda: self.operation.send(None))
        if self.at_once and not self.done and self.waits == self.last:
            self.interrupt()
        return True

    def interrupt(self) -> None:
        """Throw `Interrupted` into it where it waits."""
        self.last = 0
        self._go(lambda: self.operation.throw(Interrupted()))

    def _go(self, step: Callable[[], Pending[Any]]) -> None:
        try:
            self.waiting = step()
            self.waits += 1
        except StopIteration as end:
            self.done, self.found = True, end.value
        except BaseException as error:
            self.done, self.error = True, error


class World:
    """A client, its peer, their clock, and the calls of the client's user. `untaken` are events that nobody took.

    `answer` takes octets of the client, and returns those of the peer. While `reads` is false the client gets none.
    """

    def __init__(self, client: BaseClient[Any], answer: Callable[[bytes, float], bytes]) -> None:
        self.client: Any = client
        self.answer = answer
        self.now = 0.0
        self.reads = True
        self.lost = False
        self.calls: list[Call[Any]] = []
        self.untaken: list[Event] = []
        self._kept = b""
        client.attach(HandDriver())
        self.move()

    def begin(self, operation: Coroutine[Any, Any, R], last: int = 0, at_once: bool = False) -> Call[R]:
        """Begin a call, and go on until nothing moves."""
        call = Call(operation, last, at_once)
        self.calls.append(call)
        self.move()
        return call

    def run(self, operation: Coroutine[Any, Any, R]) -> R:
        """Do a call to its end, and return its result."""
        return self.begin(operation).result

    def move(self) -> None:
        """Move octets both ways, and step the calls, until nothing moves; the clock stands still."""
        for _ in range(STEPS):
            moved = self._route()
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
            moved = any([each.step() for each in self.calls]) or moved
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

    def _route(self) -> bool:
        while not isinstance(event := self.client.next_event(), Signal):
            self.untaken.append(event)
        return bool(self.client.completed())


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


__all__ = ["Call", "HandDriver", "Interrupted", "World", "at_rest", "until_done"]
