"""The client's driver: takes every event when its octets arrive, and wakes who waits for it."""

from __future__ import annotations

import asyncio
import copy
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from amqp_sansio.amqp_0_9_1 import (
    Blocked,
    ConsumerCancelled,
    Delivery,
    FlowChanged,
    MessageReturned,
    Unblocked,
)
from amqp_sansio.errors import AmqpError, EndpointClosed, Scope
from amqp_sansio.events import (
    Abandoned,
    Closed,
    Event,
    Failed,
    Handle,
    Opened,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)

from .driver import FLUSH_OCTETS, Core, Driver
from .feed import Streams

if TYPE_CHECKING:
    from .channel import Channel
    from .recording import Recorder

_R = TypeVar("_R")

_logger = logging.getLogger("amqp_sansio_asyncio")


class ClientDriver(Driver):
    """The registers of a client connection: who waits for which handle, which channel is which.

    `waiting` has the futures, by the handles' keys. `hooks` are called when a handle ends, whoever
    waits: they do what must be done before the next event is taken.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: Core, recorder: Recorder | None = None
    ) -> None:
        super().__init__(loop, core, recorder)
        self.channels: dict[int, Channel] = {}
        self.waiting: dict[object, asyncio.Future[Any]] = {}
        self.hooks: dict[object, Callable[[Handle[Any]], None]] = {}
        self.streams: Streams = []
        self.opened: asyncio.Future[None] = loop.create_future()
        self.full_feeds = 0
        self.gated = False
        self.blocked: str | None = None
        self._failures: dict[int, AmqpError] = {}
        self._gate: deque[asyncio.Future[None]] = deque()
        limits = core.config.limits
        self.flush_octets = min(FLUSH_OCTETS, limits.backlog_high)
        self._backlog_high = limits.backlog_high

    # Events.

    def take_events(self) -> None:
        next_event = self.core.next_event
        channels = self.channels
        waiting = self.waiting
        while True:
            event = next_event()
            if type(event) is Delivery:
                feed = channels[event.channel].feeds.get(event.consumer_tag)
                if feed is None:
                    self._publicise(event)
                    continue
                feed.items.append(event)
                if feed.waiters:
                    feed.wake()
                if feed.counted:
                    feed.count(event)
            elif type(event) is Settled:
                state = event.state
                for handle in event.handles:
                    future = waiting.pop(handle.key, None)
                    if future is not None and not future.done():
                        future.set_result(state)
            elif isinstance(event, Signal):
                if not (self._held and self.feed_held()):
                    return
            else:
                handler = self._handlers.get(type(event))
                if handler is not None:
                    handler(self, event)
                else:
                    self._publicise(event)

    def must_pause(self) -> bool:
        """Besides the core's budget: a feed is full, and nobody waits for an answer or to write,
        which could hang on what isn't read.
        """
        if self.full_feeds and not (self.waiting or self.hooks or self.write_paused):
            return True
        return super().must_pause()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.gated and not self.write_paused:
            self._open_gate()

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            super().connection_lost(exc)
        finally:
            self._open_gate()
            for future in (self.opened, *self.waiting.values()):
                if not future.done():
                    future.set_exception(EndpointClosed(f"the transport was lost: {exc}"))

    # Waiting.

    async def wait(self, handle: Handle[_R], late: Callable[[_R], None] | None = None) -> _R:
        """The result of a call of the core. `late` gets it when the caller was cancelled before."""
        self.schedule_flush()
        if handle.done:
            return handle.result
        future: asyncio.Future[_R] = self.loop.create_future()
        self.waiting[handle.key] = future
        if self.reading_paused:
            self.update_reading()
        try:
            return await future
        except asyncio.CancelledError:
            if late is not None:
                if not handle.done:
                    self.hooks[handle.key] = lambda ended: self._call_late(ended, late)
                else:
                    self._call_late(handle, late)
            raise

    def expect(self, handle: Handle[Any], hook: Callable[[Handle[Any]], None]) -> None:
        """Call `hook` when a call of the core ends, well or not, before the next event is taken."""
        self.hooks[handle.key] = hook
        self.schedule_flush()
        if self.reading_paused:
            self.update_reading()

    async def wait_closed(self, number: int) -> None:
        """Wait until channel `number` has ended."""
        key = ("closed", number)
        future = self.waiting.get(key)
        if future is None:
            future = self.waiting[key] = self.loop.create_future()
        if self.reading_paused:
            self.update_reading()
        await asyncio.shield(future)

    async def wait_gate(self) -> None:
        """Wait until the backlog of what is to be sent has gone down."""
        while self.gated:
            waiter: asyncio.Future[None] = self.loop.create_future()
            self._gate.append(waiter)
            await waiter

    async def pace(self) -> None:
        """Write what a publisher has queued, and let others have a turn; wait where the peer reads
        too slowly.
        """
        if self.write_paused:
            if self.core.send_backlog >= self._backlog_high:
                self.gated = True
                self.update_reading()
                await self.wait_gate()
            return
        self.flush()
        await asyncio.sleep(0)

    # Inside.

    def _open_gate(self) -> None:
        self.gated = False
        while self._gate:
            waiter = self._gate.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def _call_late(self, handle: Handle[Any], late: Callable[[Any], None]) -> None:
        if handle.error is None:
            late(handle.result)
            self.schedule_flush()

    def _publicise(self, event: Event) -> None:
        """Give an event to the streams that want it; a message nobody takes is worth a line in the
        log.
        """
        number = getattr(event, "channel", 0)
        channel = self.channels.get(number)
        taken = False
        for kinds, feed in channel.streams if channel is not None else self.streams:
            if isinstance(event, kinds):
                feed.push(event)
                taken = True
        if not taken and type(event) is MessageReturned and event.handle is None:
            _logger.warning(
                "a message for exchange %r, routing key %r came back: %d %s; "
                "nobody reads channel.events(MessageReturned)",
                event.exchange,
                event.routing_key,
                event.reply_code,
                event.reply_text,
            )

    def _replied(self, event: Replied | Opened) -> None:
        handle = event.handle
        if handle is None:
            if not self.opened.done():
                self.opened.set_result(None)
            return
        hook = self.hooks.pop(handle.key, None)
        if hook is not None:
            hook(handle)
        future = self.waiting.pop(handle.key, None)
        if future is not None and not future.done():
            future.set_result(handle.result)

    def _fail_handles(self, handles: tuple[Handle[object], ...], cause: AmqpError | None) -> None:
        for handle in handles:
            hook = self.hooks.pop(handle.key, None)
            if hook is not None:
                hook(handle)
            future = self.waiting.pop(handle.key, None)
            if future is not None and not future.done():
                error = copy.copy(handle.error)
                assert error is not None
                error.__cause__ = cause if cause is not handle.error else None
                future.set_exception(error)

    def _failed(self, event: Failed) -> None:
        self._failures.setdefault(event.channel, event.error)
        self._fail_handles(event.handles, event.error)

    def _abandoned(self, event: Abandoned) -> None:
        number = event.handles[0].key[0] if event.handles else 0
        cause = self._failures.get(number) if isinstance(number, int) else None
        self._fail_handles(event.handles, cause or self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        cause = self._failures.pop(event.channel, None) or self._failures.get(0)
        if event.scope is Scope.CHANNEL:
            channel = self.channels.pop(event.channel, None)
            if channel is not None:
                text = f"channel {event.channel}: {event.report}"
                channel.ended(EndpointClosed(text, event.report), cause)
                self._end_streams(channel.streams, EndpointClosed(text, event.report), cause)
        else:
            error = EndpointClosed(f"the connection is closed: {event.report}", event.report)
            error.__cause__ = cause
            self._end_streams(self.streams, error, cause)
            if not self.opened.done():
                self.opened.set_exception(error)
            self._open_gate()
        future = self.waiting.pop(("closed", event.channel), None)
        if future is not None and not future.done():
            future.set_result(None)

    def _end_streams(
        self, streams: Streams, error: EndpointClosed, cause: AmqpError | None
    ) -> None:
        error.__cause__ = cause
        for _, feed in streams:
            feed.end(error)

    def _consumer_cancelled(self, event: ConsumerCancelled) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.consumer_cancelled(event.consumer_tag)

    def _flow_changed(self, event: FlowChanged) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.flow_changed(event.active)
        self._publicise(event)

    def _blocked(self, event: Blocked) -> None:
        self.blocked = event.reason
        self._publicise(event)

    def _unblocked(self, event: Unblocked) -> None:
        self.blocked = None
        self._publicise(event)

    def _nothing(self, event: Event) -> None:
        """Backlog news: the driver looks at the backlog when it writes."""

    _handlers: ClassVar[dict[type[Event], Callable[[ClientDriver, Any], None]]] = {
        Opened: _replied,
        Replied: _replied,
        Failed: _failed,
        Abandoned: _abandoned,
        Closed: _closed,
        ConsumerCancelled: _consumer_cancelled,
        FlowChanged: _flow_changed,
        Blocked: _blocked,
        Unblocked: _unblocked,
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


__all__ = ["ClientDriver"]
