"""Inboxes: what arrived and nobody has taken yet, within bounds and with an end."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable
from typing import Any, Final, Generic, Protocol, TypeAlias, TypeVar

from ..errors import AmqpError, EndpointClosed
from ..events import By, CloseReport, Pending

_E = TypeVar("_E")
_Error = TypeVar("_Error", bound=AmqpError)

FULL_OCTETS: Final = 16 * 1024 * 1024
"""An inbox whose bodies have this many octets is full, whatever their number."""
OVERRUN: Final = 16
"""Factor by which an inbox may exceed its bound while somebody waits for an answer that may come behind its items."""


class Owner(Protocol):
    """The client of an inbox; it counts full inboxes, and has their readers wait and wakes them."""

    full: int

    def pending(self) -> Pending[Any]: ...
    def sleep(self, pending: Pending[Any]) -> Awaitable[object]: ...
    def wake(self, pending: Pending[Any]) -> None: ...
    def bound(self, timer: Pending[None], pending: Pending[Any]) -> None: ...
    def for_caller(self, error: _Error) -> _Error: ...
    def reading_changed(self) -> None: ...
    def nudge(self) -> None: ...


class Inbox(Generic[_E]):
    """Items in order of arrival, until they are taken.

    `limit` of them, or FULL_OCTETS in their bodies, make it full, which stops the reading; OVERRUN times that end it.
    """

    __slots__ = ("counted", "ended", "error", "full", "items", "limit", "octets", "owner", "sleepers")

    def __init__(self, owner: Owner, limit: int, counted: bool = True) -> None:
        # The client, whose `full` counts this inbox.
        self.owner = owner
        # What arrived and wasn't taken, the oldest first.
        self.items: deque[_E] = deque()
        # Readers that wait for an item, the first one first; an item wakes one of them.
        self.sleepers: deque[Pending[Any]] = deque()
        # Items that make it full.
        self.limit = limit
        # Whether the bounds apply: a consumer that the peer's prefetch bounds needs none.
        self.counted = counted
        # Of the bodies of `items`, where they are counted.
        self.octets = 0
        # Whether the owner counts it; it goes on when it is half empty.
        self.full = False
        # Whether nothing comes any more; what is in it can still be taken.
        self.ended = False
        # What a reader gets behind the last item; None: the iteration ends.
        self.error: AmqpError | None = None

    @staticmethod
    def size(item: Any) -> int:
        """Return the octets of an item's body."""
        body: object = getattr(item, "body", None) or getattr(item, "data", None)
        return len(body) if isinstance(body, bytes) else 0

    def put(self, item: _E) -> None:
        """Add an item."""
        if self.ended:
            return
        self.items.append(item)
        if self.sleepers:
            self.wake()
        if self.counted:
            self.count(item)

    def count(self, item: _E) -> None:
        """Count an item that was added."""
        self.octets += self.size(item)
        if len(self.items) >= self.limit or self.octets >= FULL_OCTETS:
            self.fill()

    def fill(self) -> None:
        """Stop the reading, or end an inbox that is far too full."""
        if not self.full:
            self.full = True
            self.owner.full += 1
        if len(self.items) >= self.limit * OVERRUN or self.octets >= FULL_OCTETS * OVERRUN:
            self.overrun()

    def taken(self, item: _E) -> None:
        """Count an item that was removed."""
        self.octets -= self.size(item)
        if self.full:
            self.emptied()

    def emptied(self) -> None:
        """Let the reading go on if a full inbox has room again."""
        if len(self.items) <= self.limit // 2 and self.octets <= FULL_OCTETS // 2:
            self._not_full()

    def wake(self) -> None:
        """Wake one reader."""
        if self.sleepers:
            self.owner.wake(self.sleepers.popleft())

    def end(self, error: AmqpError | None) -> None:
        """End it: after the last item, `take` raises `error`, or ends an iteration."""
        if not self.ended:
            self.ended = True
            self.error = error
            self._not_full()
            while self.sleepers:
                self.wake()
            self.owner.nudge()

    def clear(self) -> list[_E]:
        """Take everything."""
        items = list(self.items)
        self.items.clear()
        self.octets = 0
        self._not_full()
        return items

    def overrun(self) -> None:
        """End an inbox that nobody empties."""
        text = f"{len(self.items)} events wait to be taken, and more came; take them faster, or close what isn't read"
        self.end(EndpointClosed(text, CloseReport(By.LOCAL, 0, text)))

    async def sleep(self, timer: Pending[None] | None = None, *, first: bool) -> None:
        """Wait until an item comes or the end, or until `timer` is done; before all others if this is the `first`."""
        pending = self.owner.pending()
        if first:
            self.sleepers.appendleft(pending)
        else:
            self.sleepers.append(pending)
        try:
            if timer is None:
                await self.owner.sleep(pending)
            else:
                self.owner.bound(timer, pending)
                if not pending.done:
                    await self.owner.sleep(pending)
                if timer.done and pending in self.sleepers:
                    self.sleepers.remove(pending)
        except BaseException:
            if pending in self.sleepers:
                self.sleepers.remove(pending)
            elif self.items:
                self.wake()  # The item that woke this reader is another's now.
                self.owner.nudge()
            raise

    async def take(self) -> _E:
        """Wait for the next item and return it. At the end it raises StopAsyncIteration, or the error."""
        woken = False
        while not self.items:
            if self.ended:
                raise self.last_error() or StopAsyncIteration
            # Who was woken in vain keeps the place that he had.
            await self.sleep(first=woken)
            woken = True
        item = self.items.popleft()
        if self.counted:
            self.taken(item)
        return item

    def last_error(self) -> AmqpError | None:
        """Return the error that a reader gets at the end; None for an orderly one."""
        return None if self.error is None else self.owner.for_caller(self.error)

    def _not_full(self) -> None:
        if self.full:
            self.full = False
            self.owner.full -= 1
            self.owner.reading_changed()


Streams: TypeAlias = "list[tuple[tuple[type[Any], ...], Inbox[Any]]]"
"""The event streams of a connection or a part of it, each with the kinds of events that it takes."""


class EventStream(Generic[_E]):
    """An async iterator over events; close it, or leave its context, to stop reading it.

    It ends with EndpointClosed when its connection, or the part of it, ends by anything but one's own close. At most
    `limit` events wait in it: above that, the connection isn't read while nobody waits for an answer on it.
    """

    __slots__ = ("_inbox", "_streams")

    def __init__(self, inbox: Inbox[_E], streams: Streams) -> None:
        # Its events.
        self._inbox = inbox
        # Where the events come from: closing it takes its inbox out of there.
        self._streams = streams

    def __aiter__(self) -> EventStream[_E]:
        return self

    async def __anext__(self) -> _E:
        return await self._inbox.take()

    def close(self) -> None:
        """Take no more events; those that wait are dropped."""
        inbox = self._inbox
        self._streams[:] = [each for each in self._streams if each[1] is not inbox]
        inbox.clear()
        inbox.end(None)

    async def __aenter__(self) -> EventStream[_E]:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


__all__ = ["FULL_OCTETS", "OVERRUN", "EventStream", "Inbox", "Streams"]
