"""A client, the pure broker and coroutines in one thread, without an event loop: `Stepped` moves octets and time."""

from __future__ import annotations

import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

from amqp_sansio import CloseHint, Signal
from amqp_sansio.broker import Hub, Settings
from amqp_sansio.client.driving import BaseClient
from amqp_sansio.client.recovery import RecoveryPolicy
from amqp_sansio.events import Pending

_T = TypeVar("_T")


@types.coroutine
def _until(pending: Pending[Any]) -> Generator[Pending[Any], None, None]:
    yield pending


class Task:
    """A coroutine that is stepped: its result or exception, once it is `done`."""

    def __init__(self, coroutine: Coroutine[Any, Any, Any]) -> None:
        self.coroutine = coroutine
        self.waits_for: Pending[Any] | None = None
        self.done = False
        self.waits = 0
        self._result: Any = None
        self._error: BaseException | None = None

    def step(self, error: BaseException | None = None) -> None:
        """Let it go on to its next wait; with `error` by raising that where it waits."""
        try:
            send = self.coroutine.send(None) if error is None else self.coroutine.throw(error)
            self.waits_for = send
            self.waits += 1
        except StopIteration as end:
            self.done, self._result = True, end.value
        except BaseException as failure:
            self.done, self._error = True, failure

    @property
    def result(self) -> Any:
        """What it returned. Raises what it raised."""
        assert self.done, "it still waits"
        if self._error is not None:
            raise self._error
        return self._result


class Stepped:
    """A driver without an event loop. Octets are handed over in pieces of `size`, one second takes `turn(1.0)`."""

    congested = False

    def __init__(self, client: BaseClient[Any], *, hub: Hub | None = None, size: int = 65_536) -> None:
        self.client = client
        self.hub = hub or Hub(Settings(seed=b"stepped"))
        self.server = self.hub.connect()
        self.size = size
        self.now = 0.0
        self.tasks: list[Task] = []
        self.untaken: list[object] = []
        self.is_cut = self.is_refusing = False
        self.make_core: Callable[[], Any] = Any
        self.tried: list[str] = []
        client.attach(self)
        self.turn()

    # Driver.

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        return _until(pending)

    def flush_soon(self) -> None:
        """Everything is written at the next turn."""

    flush_later = close_soon = reading_changed = ring = flush_soon

    def pace(self) -> Awaitable[object]:
        sent = self.client.data_to_send(self.now)
        if sent and not self.is_cut:
            self.server.receive_data(sent, self.now)
        done: Pending[None] = Pending(("pace",))
        done.complete(None)
        return _until(done)

    # For tests.

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Task:
        """Begin a coroutine."""
        task = Task(coroutine)
        self.tasks.append(task)
        task.step()
        return task

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Carry out a coroutine, and all others meanwhile."""
        task = self.start(coroutine)
        for _ in range(10_000):
            if task.done:
                result: _T = task.result
                return result
            self.turn()
        raise AssertionError(f"it waits for ever for {task.waits_for}")

    def turn(self, seconds: float = 0.0) -> None:
        """Move what is queued, route it, and step the coroutines that can go on."""
        self.now += seconds
        self.client.take_dropped()
        if self.is_cut:
            self.reopen()
        for _ in range(1000):
            moved = self.move()
            self._route()
            moved = self.step_tasks() or moved
            if not moved:
                break
        else:
            raise AssertionError("it never comes to rest")
        if self.client.close_hint is not CloseHint.KEEP and not self.is_cut:
            self.is_cut = True
            self.client.transport_ended("closed", self.now)
            self.step_tasks()

    def cut(self, reason: str = "the cable is cut") -> None:
        """Lose the transport, in both directions."""
        self.is_cut = True
        self.client.connection_lost(reason, self.now)
        self._route()
        self.client.transport_ended(reason, self.now)
        self.server.connection_lost(reason, self.now)
        self.server.next_event()
        self.step_tasks()

    def recover(self, make_core: Callable[[], Any], policy: RecoveryPolicy) -> None:
        """Let the client recover; each new connection is one of the hub's, unless `is_refusing`."""
        self.make_core = make_core
        self.client.recover(policy, ("amqp://one", *policy.addresses), 7)

    def reopen(self) -> bool:
        """Do what recovery asks of a driver; return whether there is a new transport."""
        client, recovery = self.client, self.client.recovery
        if recovery is None:
            return False
        if (client.next_deadline or self.now + 1) <= self.now:
            client.handle_timeout(self.now)
        if (wanted := recovery.take_wanted()) is None:
            return False
        self.tried.append(recovery.addresses[wanted])
        client.reconnect(self.make_core())
        if self.is_refusing:
            client.connection_lost("connection refused", self.now)
            self._route()
            client.transport_ended("connection refused", self.now)
            return self.reopen()
        self.server = self.hub.connect()
        self.is_cut = False
        return True

    def move(self) -> bool:
        """Move what is queued, once in each direction, and route it; return whether there was anything."""
        if self.is_cut:
            return False
        sent = self.client.data_to_send(self.now)
        for place in range(0, len(sent), self.size):
            self.server.receive_data(sent[place : place + self.size], self.now)
            self.server.next_event()
        self.hub.take_dirty()
        self.server.next_event()
        answer = self.server.data_to_send(self.now, self.client.receive_budget or None)
        for place in range(0, len(answer), self.size):
            self.client.receive_data(answer[place : place + self.size], self.now)
            self._route()
        if (self.client.next_deadline or self.now + 1) <= self.now:
            self.client.handle_timeout(self.now)
        return bool(sent or answer)

    def _route(self) -> None:
        while not isinstance(event := self.client.next_event(), Signal):
            self.untaken.append(event)

    def step_tasks(self) -> bool:
        """Step the coroutines that can go on; return whether there were any."""
        self.client.completed()
        ready = [each for each in self.tasks if not each.done and (each.waits_for is None or each.waits_for.done)]
        for task in ready:
            task.step()
        self.tasks = [each for each in self.tasks if not each.done]
        return bool(ready)


__all__ = ["Stepped", "Task"]
