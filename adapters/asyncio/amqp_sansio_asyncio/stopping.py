"""`on_stop`: what a program does when it is told to end, the same on every system and with every event loop."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

SIGNALS: Final = tuple(
    number
    for name in ("SIGINT", "SIGTERM", "SIGBREAK")
    if isinstance(number := getattr(signal, name, None), signal.Signals)
)
"""Ctrl-C, what an orchestrator sends, and Ctrl-Break of Windows, where the latter is what another process can send."""
LOOK: Final = 0.5
"""Seconds between two looks for a signal on Windows, whose selector loop no signal wakes."""
_LOOKS: Final = os.name == "nt"


@contextmanager
def on_stop(callback: Callable[[], object]) -> Generator[None]:
    """Within the block, SIGINT (Ctrl-C) and SIGTERM, on Windows also SIGBREAK, call `callback` instead of ending the
    program.

    It is called in the running event loop, once for each signal; a coroutine that it returns runs as a task. No
    `loop.add_signal_handler` is needed, which the loops of Windows haven't. Behind the block signals do what they did
    before. Signals are the main thread's: in another one, and in a simulated world, the block has no effect.

    >>> async def example() -> None:
    ...     stop = asyncio.Event()
    ...     with on_stop(stop.set):
    ...         await stop.wait()
    """
    loop = asyncio.get_running_loop()
    if threading.current_thread() is not threading.main_thread() or not getattr(loop, "has_signals", True):
        yield
        return
    stopping = _Stopping(loop, callback)
    stopping.begin()
    try:
        yield
    finally:
        stopping.end()


class _Stopping:
    """The handler of the signals, and what was there before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], object]) -> None:
        self._loop = loop
        """Where the callback is called, whatever thread the signal comes in."""
        self._callback = callback
        """The program's."""
        self._tasks: set[asyncio.Task[Any]] = set()
        """Of callbacks that are coroutines, kept so that they aren't collected."""
        self._before: dict[signal.Signals, Any] = {}
        """The handlers that were there, which are put back."""
        self._handler = self._handle
        """One object, so that it is known again."""
        self._looking: asyncio.TimerHandle | None = None
        """Wakes a loop that signals don't wake."""

    def begin(self) -> None:
        for number in SIGNALS:
            self._before[number] = signal.signal(number, self._handler)
        if _LOOKS:
            self._look()

    def end(self) -> None:
        for number, before in self._before.items():
            # A handler that was installed meanwhile stays; None is one that Python can't put back.
            if before is not None and signal.getsignal(number) is self._handler:
                signal.signal(number, before)
        if self._looking is not None:
            self._looking.cancel()

    def _handle(self, number: int, frame: FrameType | None) -> None:
        # It interrupts the loop anywhere: this wakes it.
        self._loop.call_soon_threadsafe(self._call)

    def _call(self) -> None:
        wanted = self._callback()
        if asyncio.iscoroutine(wanted):
            task = self._loop.create_task(wanted)
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _look(self) -> None:
        self._looking = self._loop.call_later(LOOK, self._look)


__all__ = ["on_stop"]
