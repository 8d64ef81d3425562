"""Tasks: coroutines that are stepped, and their waits."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import suppress
from types import CoroutineType
from typing import Any, Final, Generic, Protocol, TypeVar

from .network import Job

_T = TypeVar("_T")
LEAVING: Final = 1000
"""Waits on the way out of a coroutine whose process has ended, with those that it awaits."""


class Owner(Protocol):
    """The process of a task."""

    @property
    def is_alive(self) -> bool: ...

    def holds(self, job: Job) -> bool:
        """Whether it does nothing now; the job is done later then."""
        ...


class Cancelled(BaseException):
    """Raised in a program where it waits, by `Task.cancel`, as event loops do."""


class Pause:
    """The wait of a task; it ends when `wake` is called."""

    __slots__ = ("_task", "is_over")

    def __init__(self) -> None:
        self.is_over = False
        self._task: Task[Any] | None = None

    def wake(self) -> None:
        """Let the task go on."""
        if not self.is_over:
            self.is_over = True
            if self._task is not None:
                self._task.woken(self)

    run = wake

    def bind(self, task: Task[Any]) -> None:
        """Have a task wait for it."""
        self._task = task
        if self.is_over:
            task.woken(self)

    def __await__(self) -> Generator[Pause, None, None]:
        yield self


class Machine(Protocol):
    """The part of a world that tasks use."""

    running: Task[Any] | None
    """The task whose code runs."""

    def enter(self, process: Owner | None) -> Owner | None: ...
    def soon(self, job: Job) -> None: ...


class Task(Generic[_T]):
    """A coroutine that is stepped; `await` it for its result. `waits` counts its waits.

    `cancel_at` is the number of the wait at which it is cancelled.
    """

    def __init__(
        self, machine: Machine, coroutine: Coroutine[Any, Any, _T], process: Owner | None = None, cancel_at: int = 0
    ) -> None:
        self.coroutine = coroutine
        self.process = process
        self.waits = 0
        self.done = False
        self.error: BaseException | None = None
        self._machine = machine
        self._cancel_at = cancel_at
        self._result: Any = None
        self.pause: Pause | None = None
        """Its wait."""
        self.is_due = False
        """Whether it can go on."""
        self._joined: list[Pause] = []
        self._callbacks: list[Callable[[Task[_T]], object]] = []

    @property
    def result(self) -> _T:
        """Its return value. Raises its error, RuntimeError while it waits."""
        if not self.done:
            raise RuntimeError(f"{self!r} still waits; run the world until it is done")
        if self.error is not None:
            raise self.error
        result: _T = self._result
        return result

    def when_done(self, callback: Callable[[Task[_T]], object]) -> None:
        """Call `callback` with the task when it is done."""
        self._callbacks.append(callback)

    def resume(self) -> None:
        """Let it begin in a step of its own."""
        self.is_due = True
        self._machine.soon(self)

    def woken(self, pause: Pause) -> None:
        """Let it go on in a step of its own, if it still waits for `pause`."""
        if pause is self.pause:
            self.resume()

    def run(self) -> None:
        """Run it to its next wait."""
        if self.is_due and not self.done:
            if self.process is not None and self.process.holds(self):
                return
            self._go(None)
            if self._cancel_at and self.waits == self._cancel_at and not self.done:
                self.cancel()

    def cancel(self) -> None:
        """Raise Cancelled where it waits."""
        if not self.done:
            self._go(Cancelled())

    def close(self) -> None:
        """End it, as if its process didn't exist any more."""
        if not self.done:
            self.done = True
            before = self._machine.enter(self.process)
            try:
                discard(self.coroutine)
            finally:
                self._machine.enter(before)

    def _go(self, thrown: BaseException | None) -> None:
        self.is_due = False
        self.pause = None
        before = self._machine.enter(self.process)
        outer, self._machine.running = self._machine.running, self
        try:
            pause: object = self.coroutine.send(None) if thrown is None else self.coroutine.throw(thrown)
        except StopIteration as end:
            self._finish(end.value, None)
        except (Exception, Cancelled) as error:
            self._finish(None, error)
        else:
            self.waits += 1
            if isinstance(pause, Pause):
                self.pause = pause
                pause.bind(self)
            else:
                text = f"it awaits {pause!r}, which the world doesn't wake; run asyncio's programs in a simulated_loop"
                self._go(TypeError(text))
        finally:
            self._machine.enter(before)
            self._machine.running = outer

    def _finish(self, result: Any, error: BaseException | None) -> None:
        self.done = True
        self._result = result
        self.error = error
        for pause in self._joined:
            pause.wake()
        for callback in self._callbacks:
            callback(self)

    def __await__(self) -> Generator[Pause, None, _T]:
        if not self.done:
            pause = Pause()
            self._joined.append(pause)
            yield pause
        return self.result

    def __repr__(self) -> str:
        return f"<Task {getattr(self.coroutine, '__qualname__', self.coroutine)}, {'done' if self.done else 'waiting'}>"


def discard(coroutine: Coroutine[Any, Any, object]) -> None:
    """End a coroutine that nobody awaits any more, whatever it does on its way out.

    The innermost of those that await each other is closed first: one that waits on its way out, closed by the one
    that awaits it, would be left where it is.
    """
    for _ in range(LEAVING):
        open_ones = [each for each in _awaited(coroutine) if each.cr_frame is not None]
        with suppress(Exception):
            # It may await something that never comes, or fail, which nobody sees.
            (open_ones[-1] if open_ones else coroutine).close()
            if not open_ones:
                return


def _awaited(coroutine: object) -> Iterator[CoroutineType[Any, Any, Any]]:
    """Yield a coroutine, the one that it awaits, and so on."""
    while isinstance(coroutine, CoroutineType):
        yield coroutine
        coroutine = coroutine.cr_await
