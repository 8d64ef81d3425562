"""Feeds: bounded buffers of received items, with a wake-up and an end."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from amqp_sansio.errors import AmqpError

_E = TypeVar("_E")

FULL_OCTETS: Final = 16 * 1024 * 1024
"""A feed whose bodies reach this many octets is full, regardless of their number."""


Streams: TypeAlias = "list[tuple[tuple[type[Any], ...], Feed[Any]]]"
"""The event streams of a channel or connection, each with the wanted kinds of events."""


class FeedDriver(Protocol):
    """The driver of a feed's connection; it doesn't read while any of its feeds is full."""

    full_feeds: int

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The connection's event loop."""
        ...

    def update_reading(self) -> None:
        """Read, or don't, as `full_feeds` and the backlog say."""
        ...


class Feed(Generic[_E]):
    """Events in order of arrival; `limit` of them make it full, which stops reading unless somebody waits for an
    answer.

    `counted` applies the limit: a consumer bounded by the server's prefetch needs none.
    """

    __slots__ = (
        "counted", "driver", "ended", "error", "full", "items", "limit", "octets", "waiters",
    )  # fmt: skip

    def __init__(self, driver: FeedDriver, limit: int, counted: bool) -> None:
        self.driver = driver
        self.items: deque[_E] = deque()
        self.waiters: deque[asyncio.Future[None]] = deque()
        self.limit = limit
        self.counted = counted
        self.octets = 0
        self.full = False
        self.ended = False
        self.error: AmqpError | None = None

    def push(self, item: _E) -> None:
        """Add an item."""
        self.items.append(item)
        if self.waiters:
            self.wake()
        if self.counted:
            self.count(item)

    def count(self, item: _E) -> None:
        """Count the size of an added item; a full feed stops the reading."""
        self.octets += _size(item)
        if not self.full and (len(self.items) >= self.limit or self.octets >= FULL_OCTETS):
            self.full = True
            self.driver.full_feeds += 1

    def taken(self, item: _E) -> None:
        """Count the removal of an item."""
        self.octets -= _size(item)
        if self.full and len(self.items) <= self.limit // 2 and self.octets <= FULL_OCTETS // 2:
            self.not_full()

    def not_full(self) -> None:
        """Let the reading continue, as far as this feed is concerned."""
        if self.full:
            self.full = False
            self.driver.full_feeds -= 1
            self.driver.update_reading()

    def wake(self) -> None:
        """Wake one waiting task."""
        waiters = self.waiters
        while waiters:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                return

    def wake_all(self) -> None:
        """Wake all waiting tasks."""
        while self.waiters:
            self.wake()

    def end(self, error: AmqpError | None) -> None:
        """End the feed; after the last item, `take` raises `error` or ends the iteration."""
        if not self.ended:
            self.ended = True
            self.error = error
            self.not_full()
            self.wake_all()

    async def sleep(self) -> None:
        """Wait until something changes."""
        waiter: asyncio.Future[None] = self.driver.loop.create_future()
        self.waiters.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            waiter.cancel()
            if waiter in self.waiters:
                self.waiters.remove(waiter)
            elif self.items:
                self.wake()  # It had been woken: wake another task instead.
            raise

    async def take(self) -> _E:
        """Return the next item. Raises StopAsyncIteration or the error at the end."""
        while not self.items:
            if self.ended:
                if self.error is not None:
                    raise copy.copy(self.error)
                raise StopAsyncIteration
            await self.sleep()
        return self.items.popleft()


class EventStream(Generic[_E]):
    """An async iterator over events; close it, or leave its context, to stop reading it.

    It ends with EndpointClosed when its channel or connection does. At most `limit` events wait in it: above that, the
    connection isn't read while nobody waits for an answer on it.
    """

    def __init__(self, feed: Feed[_E], streams: Streams) -> None:
        self._feed = feed
        self._streams = streams

    def __aiter__(self) -> EventStream[_E]:
        return self

    async def __anext__(self) -> _E:
        feed = self._feed
        item = feed.items.popleft() if feed.items else await feed.take()
        feed.taken(item)
        return item

    def close(self) -> None:
        """Take no more events; waiting ones are dropped."""
        feed = self._feed
        self._streams[:] = [each for each in self._streams if each[1] is not feed]
        feed.items.clear()
        feed.end(None)

    async def __aenter__(self) -> EventStream[_E]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _size(item: object) -> int:
    body: object = getattr(item, "body", None) or getattr(item, "data", None)
    return len(body) if isinstance(body, bytes) else 0


__all__ = ["FULL_OCTETS", "EventStream", "Feed", "Streams"]
