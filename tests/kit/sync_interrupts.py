"""Interrupts of blocking calls: by signals of the machine, or by calls in the world that a test runs in.

A signal handler is called between two instructions of the main thread, in whose frames it stands then. In a world the
code that waits takes the world's steps, so what is called in one of them stands in its frames too.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType
from typing import Any, Final, Protocol

from amqp_sansio.testing.simulate import World
from tests.kit.sync_user import WAIT

Handler = Callable[[], object]
LATER: Final = 0.05
"""Seconds in which a thread has come to its wait."""


class Hung(BaseException):
    """The main thread didn't go on."""


class Interrupts(Protocol):
    """Interrupts the test's own code."""

    def handling(self, handler: Handler) -> AbstractContextManager[None]:
        """Call `handler` for the first interrupt in this context; later ones do nothing."""
        ...

    def now(self) -> None:
        """Interrupt the code that calls this, or that a trace function of its thread looks at."""
        ...

    def soon(self) -> None:
        """Interrupt the test's own code from another thread."""
        ...

    def later(self, seconds: float) -> None:
        """Interrupt the test's own code after a time, once it waits."""
        ...


class Calls:
    """Interrupts in a world: the handler is called."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._handlers: list[Handler] = []

    @contextmanager
    def handling(self, handler: Handler) -> Generator[None]:
        self._handlers.append(handler)
        yield
        self._handlers.clear()

    def now(self) -> None:
        if self._handlers:
            self._handlers.pop()()

    def soon(self) -> None:
        self.later(0.0)

    def later(self, seconds: float) -> None:
        self._world.at(self._world.now + seconds, self)

    run = now
    """A job of the world."""


class Signals:
    """Interrupts by SIGUSR1. Raises Hung in the main thread if it's still in `handling` after WAIT seconds."""

    def __init__(self) -> None:
        self._timers: list[threading.Timer] = []
        """Signals to come."""

    @contextmanager
    def handling(self, handler: Handler) -> Generator[None]:
        handlers = [handler]

        def handle(number: int, frame: FrameType | None) -> None:
            if handlers:
                handlers.pop()()

        def hung(number: int, frame: FrameType | None) -> None:
            raise Hung

        before = signal.signal(signal.SIGUSR1, handle), signal.signal(signal.SIGALRM, hung)
        signal.setitimer(signal.ITIMER_REAL, WAIT)
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            # A signal that comes late interrupts nobody; without a handler it ends the process.
            handlers.clear()
            while self._timers:
                timer = self._timers.pop()
                timer.cancel()
                timer.join()
            signal.signal(signal.SIGUSR1, before[0])
            signal.signal(signal.SIGALRM, before[1])

    def now(self) -> None:
        signal.raise_signal(signal.SIGUSR1)

    def soon(self) -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def later(self, seconds: float) -> None:
        timer = threading.Timer(seconds, self.soon)
        self._timers.append(timer)
        timer.start()


class Instructions:
    """Counts this thread's instructions of the adapter; the one with the number `at` is interrupted."""

    def __init__(self, at: int, interrupts: Interrupts) -> None:
        self.at = at
        self.count = 0
        self._interrupts = interrupts

    def __enter__(self) -> Instructions:
        self._before = sys.gettrace()
        sys.settrace(self._trace)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _trace(self, frame: FrameType, event: str, argument: object) -> Any:
        if event == "call":
            name: str = frame.f_globals.get("__name__", "")
            if not name.startswith("amqp_sansio_sync") or name == "amqp_sansio_sync.simulated" or is_kept(frame):
                return None
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        elif event == "opcode":
            self.count += 1
            if self.count == self.at:
                self._interrupts.now()
        return self._trace


def is_kept(frame: FrameType | None) -> bool:
    """Whether a frame is one of a keeper, which is a thread of its own also where a world runs all in one."""
    while frame is not None and frame.f_code.co_name != "_look_after":
        frame = frame.f_back
    return frame is not None


__all__ = ["LATER", "Calls", "Handler", "Hung", "Instructions", "Interrupts", "Signals", "is_kept"]
