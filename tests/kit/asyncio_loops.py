"""How the asyncio tests run: in a simulated world, with a deadline; those of tests/system on a real loop."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from contextlib import nullcontext
from typing import Any, TypeVar

from amqp_sansio.testing.simulate import World
from amqp_sansio_asyncio.simulated import simulated_loop

_T = TypeVar("_T")

is_real = False
"""Whether `run` takes a real loop: tests/system/asyncio runs tests of tests/asyncio over sockets, too."""


def run(main: Coroutine[Any, Any, _T], seconds: float = 600, *, world: World | None = None) -> _T:
    """`asyncio.run` in a simulated world, by default a new one; ended with TimeoutError after that many of its seconds.

    Sockets are the world's network, and waiting takes no time. While `is_real`, it is a real loop.
    """
    if is_real and world is None:
        return run_real(main)
    with (
        World() if world is None else nullcontext(world) as own,
        asyncio.Runner(loop_factory=lambda: simulated_loop(own)) as runner,
    ):
        return runner.run(_bounded(main, seconds))


def run_real(main: Coroutine[Any, Any, _T], seconds: float = 60) -> _T:
    """`asyncio.run`, ended with TimeoutError when it takes too long."""
    return asyncio.run(_bounded(main, seconds))


async def _bounded(main: Coroutine[Any, Any, _T], seconds: float) -> _T:
    return await asyncio.wait_for(main, seconds)


class Problems:
    """What the event loop complains about: exceptions that nobody took."""

    def __init__(self) -> None:
        self.contexts: list[Mapping[str, Any]] = []

    def watch(self) -> None:
        """Listen to the running loop."""
        asyncio.get_running_loop().set_exception_handler(self._note)

    def _note(self, loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        self.contexts.append(context)
