"""Waiting callers of a driver: futures by the keys of the core's handles, full feeds, and a gate for publishers that
are faster than the peer reads.
"""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from amqp_sansio.errors import AmqpError, EndpointClosed
from amqp_sansio.events import CloseReport, Event, Pending

from .driver import FLUSH_OCTETS, CoreT, Driver
from .feed import Streams

if TYPE_CHECKING:
    from .recording import Recorder

_R = TypeVar("_R")


class WaitingDriver(Driver[CoreT]):
    """The driver of a connection whose events are taken when their octets arrive.

    `waiting` has the futures, by the handles' keys. `hooks` are called when a handle ends, independently of waiting
    callers, for work that must be done before the next event is taken.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: CoreT, recorder: Recorder | None = None
    ) -> None:
        super().__init__(loop, core, recorder)
        self.waiting: dict[object, asyncio.Future[Any]] = {}
        self.hooks: dict[object, Callable[[Pending[Any]], None]] = {}
        self.streams: Streams = []
        self.opened: asyncio.Future[None] = loop.create_future()
        self.full_feeds = 0
        self.gated = False
        self._gate: deque[asyncio.Future[None]] = deque()
        limits = core.config.limits
        self.flush_octets = min(FLUSH_OCTETS, limits.backlog_high)
        self._backlog_high = limits.backlog_high

    # Called by the driver's loop.

    def must_pause(self) -> bool:
        """Pause for the core's budget, and for a full feed unless somebody waits for an answer or to write, which
        unread octets could block.
        """
        if self.full_feeds and not (self.waiting or self.hooks or self.write_paused):
            return True
        return super().must_pause()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self.gated and not self.write_paused:
            self.open_gate()

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            super().connection_lost(exc)
        finally:
            self.open_gate()
            for future in (self.opened, *self.waiting.values()):
                if not future.done():
                    future.set_exception(EndpointClosed(f"the transport was lost: {exc}"))

    def closed_at_once(self) -> bool:
        """Whether the peer refused the connection by opening and closing it."""
        return False

    # Waiting.

    async def wait(self, handle: Pending[_R], late: Callable[[_R], None] | None = None) -> _R:
        """Return the result of a core's call. `late` gets it if the caller was cancelled before."""
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

    async def wait_with_others(self, handle: Pending[_R]) -> _R:
        """Return the result of a call that any number of tasks may await, and cancel."""
        while True:
            if handle.done:
                return handle.result
            future = self.waiting.get(handle.key)
            if future is None or future.cancelled():
                future = self.waiting[handle.key] = self.loop.create_future()
            if self.reading_paused:
                self.update_reading()
            try:
                result: _R = await asyncio.shield(future)
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if not future.cancelled() or (task is not None and task.cancelling()):
                    raise
            else:
                return result

    def expect(self, handle: Pending[Any], hook: Callable[[Pending[Any]], None]) -> None:
        """Call `hook` when a core's call ends, successfully or not, before the next event is taken."""
        self.hooks[handle.key] = hook
        self.schedule_flush()
        if self.reading_paused:
            self.update_reading()

    async def wait_for_end(self, key: object) -> None:
        """Wait until `ended` is called with that key."""
        future = self.waiting.get(key)
        if future is None:
            future = self.waiting[key] = self.loop.create_future()
        if self.reading_paused:
            self.update_reading()
        await asyncio.shield(future)

    async def wait_gate(self) -> None:
        """Wait until the send backlog has gone down."""
        while self.gated:
            waiter: asyncio.Future[None] = self.loop.create_future()
            self._gate.append(waiter)
            await waiter

    async def pace(self) -> None:
        """Write a publisher's octets, and yield to others; wait while the peer reads too slowly."""
        if self.write_paused:
            if self.core.send_backlog >= self._backlog_high:
                self.gated = True
                self.update_reading()
                await self.wait_gate()
            return
        self.flush()
        await asyncio.sleep(0)

    # Called by the versions' drivers.

    def open_gate(self) -> None:
        """Release everybody who waits at the gate."""
        self.gated = False
        while self._gate:
            waiter = self._gate.popleft()
            if not waiter.done():
                waiter.set_result(None)

    def succeed(self, handle: Pending[Any]) -> None:
        """Set a call's result."""
        hook = self.hooks.pop(handle.key, None)
        if hook is not None:
            hook(handle)
        future = self.waiting.pop(handle.key, None)
        if future is not None and not future.done():
            future.set_result(handle.result)

    def fail(self, handles: tuple[Pending[object], ...], cause: AmqpError | None) -> None:
        """Fail calls; `cause` is the cause of each error."""
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

    def ended(self, key: object) -> None:
        """Wake `wait_for_end`."""
        future = self.waiting.pop(key, None)
        if future is not None and not future.done():
            future.set_result(None)

    def over(self, report: CloseReport | None, cause: AmqpError | None) -> None:
        """Fail all waiting callers but those closing, because the connection has ended or is given up."""
        if report is None:
            return
        error = EndpointClosed(f"the connection is closed: {report}", report)
        self.end_streams(self.streams, error, cause)
        if not self.opened.done():
            self.opened.set_exception(error)
        self.open_gate()

    @staticmethod
    def offer(streams: Streams, event: Event) -> bool:
        """Give an event to the streams that want it; return whether any did."""
        taken = False
        for kinds, feed in streams:
            if isinstance(event, kinds):
                feed.push(event)
                taken = True
        return taken

    @staticmethod
    def end_streams(streams: Streams, error: EndpointClosed, cause: AmqpError | None) -> None:
        """End these streams."""
        error.__cause__ = cause
        for _, feed in streams:
            feed.end(error)

    # Internals.

    def _call_late(self, handle: Pending[Any], late: Callable[[Any], None]) -> None:
        if handle.error is None:
            late(handle.result)
            self.schedule_flush()


__all__ = ["WaitingDriver"]
