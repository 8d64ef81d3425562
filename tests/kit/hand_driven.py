"""A pure client without an event loop: its coroutines are stepped, its octets moved and its time passed by the test."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, Generic, Protocol, TypeVar

from amqp_sansio import CloseHint, Event, Pending, Signal
from amqp_sansio.amqp_1_0 import Config, LinkRequested, SessionRequested
from amqp_sansio.amqp_1_0 import Connection as Core
from amqp_sansio.client.amqp_1_0.client import Client
from amqp_sansio.client.amqp_1_0.connection import Connection
from amqp_sansio.events import OpenRequested
from amqp_sansio.uri import parse
from tests.kit.hub_1_0 import World

_T = TypeVar("_T")
STEPS = 10_000


class Cancelled(BaseException):
    """Thrown into a coroutine at a wait, as event loops do."""


class Pause:
    """The wait for a pending; None is one turn."""

    def __init__(self, pending: Pending[Any] | None) -> None:
        self.pending = pending

    def __await__(self) -> Generator[Pause, None, None]:
        yield self


class Task(Generic[_T]):
    """A coroutine that is stepped; `waits` counts its waits, and the wait number `cancel_at` ends it."""

    def __init__(self, coroutine: Coroutine[Any, Any, _T], cancel_at: int | None = None) -> None:
        self._coroutine = coroutine
        self._cancel_at = cancel_at
        self._pause: Pause | None = Pause(None)
        self.waits = 0
        self.done = False
        self.error: BaseException | None = None
        self._result: _T | None = None

    @property
    def result(self) -> Any:
        """What it returned; raises its error."""
        assert self.done, "it still waits"
        if self.error is not None:
            raise self.error
        return self._result

    def is_due(self, completed: list[Pending[Any]]) -> bool:
        """Whether it goes on now."""
        if self.done or self._pause is None:
            return False
        pending = self._pause.pending
        return pending is None or any(each is pending for each in completed)

    def step(self) -> None:
        """Run it to its next wait."""
        self._run(None)
        if not self.done and self.waits == self._cancel_at:
            self.cancel()

    def cancel(self) -> None:
        """Cancel it at its wait."""
        self._run(Cancelled())

    def _run(self, thrown: BaseException | None) -> None:
        try:
            if thrown is None:
                self._pause = self._coroutine.send(None)
            else:
                self._pause = self._coroutine.throw(thrown)
            self.waits += 1
        except StopIteration as end:
            self.done, self._result = True, end.value
        except BaseException as error:
            self.done, self.error = True, error


class Far(Protocol):
    """The other end, and the clock: a World of `hub_1_0`, or a Server."""

    def pump(self) -> None: ...
    def advance(self, seconds: float) -> None: ...


class Hand:
    """The driver of one client."""

    congested = False

    def __init__(self, client: Client, far: Far) -> None:
        self.client = client
        self.far = far
        self.tasks: list[Task[Any]] = []
        client.attach(self)

    # For the client.

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        assert pending.waiters is not None
        pause = Pause(pending)
        pending.waiters.append(pause)
        return pause

    def pace(self) -> Awaitable[object]:
        return Pause(None)

    def flush_soon(self) -> None:
        """Nothing: `settle` moves everything."""

    flush_later = close_soon = reading_changed = ring = flush_soon

    # For tests.

    def start(self, coroutine: Coroutine[Any, Any, _T], cancel_at: int | None = None) -> Task[_T]:
        """Step a coroutine until nothing moves any more."""
        task = Task(coroutine, cancel_at)
        self.tasks.append(task)
        self.settle()
        return task

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Return what a coroutine returns, which needs no time."""
        result: _T = self.start(coroutine).result
        return result

    def settle(self) -> None:
        """Move octets and step what goes on, until nothing moves."""
        client = self.client
        for _ in range(STEPS):
            self.far.pump()
            client.take_dropped()
            if client.core.report is not None and client.core.close_hint is not CloseHint.KEEP:
                client.transport_ended("the transport was closed")
            completed = client.completed()
            due = [each for each in self.tasks if each.is_due(completed)]
            for each in due:
                each.step()
            self.tasks = [each for each in self.tasks if not each.done]
            if not due:
                return
        raise AssertionError("they talk without end")

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.settle()
        self.far.advance(seconds)
        self.settle()


class Server:
    """A server's core that does as the test says, and one client, joined in memory.

    It accepts the connection, sessions and links; receiving links get `credit`. `answers` is asked first.
    """

    def __init__(self, credit: int = 0, answers: Callable[[Server, Event], bool] | None = None) -> None:
        self.core = Core.server(Config(container_id="server"))
        self.client = Client(Core.client(Config(container_id="client")), "unique")
        self.now = 0.0
        self.credit = credit
        self.answers = answers
        self.events: list[Event] = []

    def pump(self) -> None:
        for _ in range(STEPS):
            while not isinstance(self.client.next_event(), Signal):
                pass
            while not isinstance(event := self.core.next_event(), Signal):
                self.events.append(event)
                if self.answers is None or not self.answers(self, event):
                    self._answer(event)
            there, back = self.client.data_to_send(self.now), self.core.data_to_send(self.now)
            if not there and not back:
                return
            if there and self.core.close_hint is CloseHint.KEEP:
                self.core.receive_data(there, self.now)
            if back and self.client.close_hint is CloseHint.KEEP:
                self.client.receive_data(back, self.now)
        raise AssertionError("they talk without end")

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while (due := self.client.next_deadline) is not None and due <= end:
            self.now = max(self.now, due)
            self.client.handle_timeout(self.now)
            self.pump()
        self.now = end

    def _answer(self, event: Event) -> None:
        core = self.core
        if isinstance(event, OpenRequested):
            core.accept_open()
        elif isinstance(event, SessionRequested):
            core.session(event.channel).accept()
        elif isinstance(event, LinkRequested):
            link: Any = core.session(event.channel).link(event.link)
            link.accept_attach()
            if link.role == "receiver" and self.credit:
                link.flow(self.credit)


def served(credit: int = 0, answers: Callable[[Server, Event], bool] | None = None) -> tuple[Hand, Connection, Server]:
    """A connection that is open to a Server."""
    server = Server(credit, answers)
    return *_opened(server.client, server), server


def brokered() -> tuple[Hand, Connection, World]:
    """A connection that is open to a broker with the queue "q"."""
    world = World()
    world.queue("q")
    user: Any = world.user()
    user.end = Client(user.end, "unique")
    return *_opened(user.end, world), world


def _opened(client: Client, far: Far) -> tuple[Hand, Connection]:
    hand = Hand(client, far)
    hand.settle()
    assert client.opened.done
    return hand, Connection(client, parse("amqp://guest:guest@nowhere/"))


__all__ = ["Cancelled", "Hand", "Pause", "Server", "Task", "brokered", "served"]
