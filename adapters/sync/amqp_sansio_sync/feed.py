"""Feeds: bounded buffers of received items, with an end."""

from __future__ import annotations

import copy
from collections import deque
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias, TypeVar

from amqp_sansio import By, CloseReport, EndpointClosed

from .handlers import aside, interrupts_itself

if TYPE_CHECKING:
    from types import TracebackType

    from .wire import Wire

_E = TypeVar("_E")

FULL_OCTETS: Final = 16 * 1024 * 1024
"""A feed whose bodies reach this many octets is full, regardless of their number."""
OVERRUN: Final = 16
"""Factor by which a feed may exceed its bound while somebody waits for an answer that may come after its items."""

Streams: TypeAlias = "list[tuple[tuple[type[Any], ...], Feed[Any]]]"


class Feed(Generic[_E]):
    """Events in order of arrival.

    `limit` of them, or FULL_OCTETS in their bodies, make it full; OVERRUN times that end it. `counted` applies the
    bound: a consumer bounded by the server's prefetch needs none. The wire's lock guards it; taking from `items` if it
    isn't counted needs no lock.
    """

    __slots__ = ("counted", "error", "full", "items", "limit", "octets", "over", "wire")

    def __init__(self, wire: Wire[Any], limit: int, counted: bool) -> None:
        self.wire = wire
        self.limit = limit
        self.counted = counted
        self.items: deque[_E] = deque()
        self.octets = 0
        self.full = False
        self.over = False
        self.error: EndpointClosed | None = None

    def put(self, item: _E) -> None:
        """Add an item."""
        if self.over:
            return
        self.items.append(item)
        if self.counted:
            self._note(item, 1)
            if len(self.items) >= self.limit * OVERRUN or self.octets >= FULL_OCTETS * OVERRUN:
                self.overrun()

    def take(self, timeout: float | None, what: str) -> _E:
        """Wait for and return the next item; the lock must not be held.

        Raises TimeoutError after `timeout` seconds, and at the end the error or StopIteration.
        """
        wire = self.wire
        while True:
            with wire.lock:
                if self.items:
                    item = self.items.popleft()
                    if self.counted:
                        self._note(item, -1)
                    return item
                if self.over:
                    if self.error is None:
                        raise StopIteration
                    wire.seen(self.error.report)
                    raise copy.copy(self.error)
            wire.wait(self._has_news, timeout, what)

    def finish(self, error: EndpointClosed | None) -> None:
        """End the feed; after the last item, `take` raises `error` or ends the iteration."""
        if not self.over:
            self.over = True
            self.error = error
            self._set_full(False)

    def clear(self) -> list[_E]:
        """Take everything."""
        items = list(self.items)
        self.items.clear()
        self.octets = 0
        self._set_full(False)
        return items

    def overrun(self) -> None:
        """End a feed in which too much waits."""
        text = f"{len(self.items)} events wait to be taken, and more came; take them faster, or close what isn't read"
        self.finish(EndpointClosed(text, CloseReport(By.LOCAL, 0, text)))

    def _note(self, item: _E, sign: int) -> None:
        self.octets += sign * len(getattr(item, "body", b""))
        over = len(self.items) >= self.limit or self.octets >= FULL_OCTETS
        if over is not self.full and not self.over:
            self._set_full(over)

    def _set_full(self, full: bool) -> None:
        if full is not self.full:
            self.full = full
            self.wire.full += 1 if full else -1

    def _has_news(self) -> bool:
        return bool(self.items) or self.over


class EventStream(Generic[_E]):
    """An iterator over events; close it, or leave its context, to stop reading it.

    `next` raises TimeoutError if nothing came for `timeout` seconds, and EndpointClosed if its channel or connection
    has ended. Above `limit` events the connection isn't read while nobody waits on it; far above, the stream ends.
    """

    __slots__ = ("_feed", "_streams", "timeout")

    def __init__(self, feed: Feed[_E], streams: Streams, timeout: float | None) -> None:
        self._feed = feed
        self._streams = streams
        self.timeout = timeout

    def __iter__(self) -> EventStream[_E]:
        return self

    def __next__(self) -> _E:
        return self._feed.take(self.timeout, "an event")

    def close(self) -> None:
        """Take no more events; waiting ones are dropped. A signal handler may call it."""
        if interrupts_itself():
            aside("events", self.close)
            return
        self._feed.wire.change(self._close)

    def __enter__(self) -> EventStream[_E]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _close(self) -> None:
        feed = self._feed
        self._streams[:] = [each for each in self._streams if each[1] is not feed]
        feed.clear()
        feed.finish(None)


def publicise(streams: Streams, event: object) -> bool:
    """Give an event to the streams that want it; return whether any did. The lock is held."""
    taken = False
    for kinds, feed in streams:
        if isinstance(event, kinds):
            feed.put(event)
            taken = True
    return taken


__all__ = ["FULL_OCTETS", "OVERRUN", "EventStream", "Feed", "Streams", "publicise"]
