"""Both clients under one scenario: the asyncio client as it is, the blocking one with each of its calls in a thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

import amqp_sansio_asyncio
import amqp_sansio_sync

WAIT = 120.0
"""Seconds for what a thread waits for."""


class Blocking:
    """An object of the blocking client that is used as the asyncio client's is: what waits there waits in a thread."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.inner, name)
        return Call.of(value) if callable(value) else shown(value)

    def __await__(self) -> Any:
        """The result of what is pending."""
        return Call(self.inner.result, WAIT).__await__()

    async def __aenter__(self) -> Any:
        return shown(await asyncio.to_thread(self.inner.__enter__))

    async def __aexit__(self, *reason: Any) -> Any:
        return await asyncio.to_thread(self.inner.__exit__, *reason)

    def __aiter__(self) -> Blocking:
        return self

    async def __anext__(self) -> Any:
        found = await asyncio.to_thread(next, self.inner, None)
        if found is None:
            raise StopAsyncIteration
        return shown(found)


class Call:
    """A blocking call that is still to be made: awaited, or entered, as an `Opening` of asyncio's is."""

    def __init__(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        values = {name: hidden(value) for name, value in options.items()}
        self._making = asyncio.to_thread(function, *[hidden(each) for each in arguments], **values)
        self._made: Any = None

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Callable[..., Call]:
        return lambda *arguments, **options: cls(function, *arguments, **options)

    def __await__(self) -> Any:
        return self._make().__await__()

    async def _make(self) -> Any:
        return shown(await self._making)

    async def __aenter__(self) -> Any:
        self._made = await self._make()
        return await self._made.__aenter__()

    async def __aexit__(self, *reason: Any) -> Any:
        return await self._made.__aexit__(*reason)


def shown(value: Any) -> Any:
    """Objects of the client, and contexts, as the scenario sees them; other values are the same in both clients."""
    if type(value).__module__.startswith("amqp_sansio_sync") or hasattr(value, "__enter__"):
        return Blocking(value)
    return value


def hidden(value: Any) -> Any:
    """What the blocking client wants to be given for what the scenario sees."""
    return value.inner if isinstance(value, Blocking) else value


CONNECT: dict[str, Callable[..., Any]] = {
    "asyncio": amqp_sansio_asyncio.connect,
    "blocking": Call.of(amqp_sansio_sync.connect),
}
"""What a client connects with, by the client's name."""

each_client = pytest.mark.parametrize("connect", CONNECT.values(), ids=CONNECT)
