"""A driver that does nothing by itself, for clients without an event loop: the test moves octets, time and tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from amqp_sansio.client.driving import BaseClient
from amqp_sansio.events import Pending
from amqp_sansio.testing.simulate import Pause, Task

_T = TypeVar("_T")
STEPS = 10_000
"""More turns than any test needs: beyond it the ends are in a loop."""


class Wait(Pause):
    """The wait for a pending."""

    __slots__ = ("pending",)

    def __init__(self, pending: Pending[Any]) -> None:
        super().__init__()
        self.pending = pending


class Call(Task[_T]):
    """A task that goes no further than its wait number `last`; 0: to its end."""

    last = 0

    def interrupt(self) -> None:
        """Cancel it where it waits, and let it go on."""
        self.last = 0
        self.cancel()

    @property
    def is_answered(self) -> bool:
        """Whether what it waits for is done."""
        return isinstance(self.pause, Wait) and self.pause.pending.done


class HandDriver:
    """The driver of one client, and the tasks of the client's user."""

    congested = False
    running: Task[Any] | None = None

    def __init__(self, client: BaseClient[Any]) -> None:
        self.client: Any = client
        self.calls: list[Call[Any]] = []
        client.attach(self)

    # For the client.

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        wait = Wait(pending)
        assert pending.waiters is not None
        pending.waiters.append(wait)
        if pending.done:
            wait.wake()
        return wait

    def pace(self) -> Awaitable[object]:
        pause = Pause()
        pause.wake()
        return pause

    def flush_soon(self) -> None:
        """Nothing: the test moves everything."""

    flush_later = close_soon = reading_changed = ring = flush_soon

    # For tasks.

    def soon(self, job: object) -> None:
        """Nothing: `step` looks who can go on."""

    def enter(self, process: object) -> None:
        """Nothing: there are no processes."""

    # For tests.

    def call(self, coroutine: Coroutine[Any, Any, _T], last: int = 0, at_once: bool = False) -> Call[_T]:
        """Add a task that stops at its wait number `last`, or is cancelled there `at_once`."""
        call = Call(self, coroutine, None, last if at_once else 0)
        call.last = 0 if at_once else last
        call.resume()
        self.calls.append(call)
        return call

    def step(self) -> bool:
        """Wake whose answer is there, and let those go on that can; return whether there were any."""
        for pending in self.client.completed():
            for wait in pending.waiters or ():
                wait.wake()
        due = [each for each in self.calls if each.is_due and not (each.last and each.waits == each.last)]
        for each in due:
            each.run()
        self.calls = [each for each in self.calls if not each.done]
        return bool(due)
