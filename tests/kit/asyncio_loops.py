"""How the asyncio tests run: with a deadline, and where seconds matter on an event loop whose clock is fast."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine, Mapping
from typing import Any, TypeVar

_T = TypeVar("_T")


def run(main: Coroutine[Any, Any, _T], seconds: float = 30) -> _T:
    """`asyncio.run`, ended with TimeoutError when it takes too long."""

    async def bounded() -> _T:
        return await asyncio.wait_for(main, seconds)

    return asyncio.run(bounded())


class _FastSelector(selectors.DefaultSelector):
    speed = 1.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        return super().select(timeout if timeout is None else timeout / self.speed)


class FastLoop(asyncio.SelectorEventLoop):
    """An event loop whose seconds pass `speed` times as fast; its sockets are real."""

    def __init__(self, speed: float) -> None:
        selector = _FastSelector()
        selector.speed = speed
        self._speed = speed
        super().__init__(selector)

    def time(self) -> float:
        return super().time() * self._speed


def run_fast(main: Coroutine[Any, Any, _T], speed: float = 5.0) -> _T:
    """Run on a fast loop. More speed would take a pause of a busy machine for a silent peer."""
    with asyncio.Runner(loop_factory=lambda: FastLoop(speed)) as runner:
        return runner.run(_bounded(main))


async def _bounded(main: Coroutine[Any, Any, _T]) -> _T:
    return await asyncio.wait_for(main, 600)


class Problems:
    """What the event loop complains about: exceptions that nobody took."""

    def __init__(self) -> None:
        self.contexts: list[Mapping[str, Any]] = []

    def watch(self) -> None:
        """Listen to the running loop."""
        asyncio.get_running_loop().set_exception_handler(self._note)

    def _note(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        self.contexts.append(context)
