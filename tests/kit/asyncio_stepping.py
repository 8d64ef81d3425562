"""Cancelling a coroutine at each single await, in two ways: before anything else happens, and with the answer."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any

Suspend = Callable[["asyncio.Future[Any]", "asyncio.Task[Any]"], None]
"""Cancels a task that is suspended on a future."""


def at_once(future: asyncio.Future[Any], task: asyncio.Task[Any]) -> None:
    """Cancel before anything else happens."""
    task.cancel()


def with_the_answer(future: asyncio.Future[Any], task: asyncio.Task[Any]) -> None:
    """Cancel in the same turn as the answer comes, before the task could see it."""
    future.add_done_callback(lambda _: task.cancel())


async def cancelled_at(main: Coroutine[Any, Any, None], number: int, cancel: Suspend) -> int:
    """Run `main` and cancel it at its suspension `number`; how often it was suspended."""
    return await _stepping(main, number, cancel)


@types.coroutine
def _stepping(main: Coroutine[Any, Any, None], number: int, cancel: Suspend) -> Generator[Any, Any, int]:
    task = asyncio.current_task()
    assert task is not None
    count = 0
    error: BaseException | None = None
    while True:
        try:
            suspended = main.send(None) if error is None else main.throw(error)
        except StopIteration:
            return count
        count += 1
        if count == number and suspended is not None:
            cancel(suspended, task)
        error = None
        try:
            yield suspended
        except BaseException as thrown:
            error = thrown


__all__ = ["Suspend", "at_once", "cancelled_at", "with_the_answer"]
