"""ClientDriver: what a client of any version needs of asyncio."""

from __future__ import annotations

import asyncio
import inspect
import logging
from typing import TYPE_CHECKING, Any

from amqp_sansio.client.driving import BaseClient
from amqp_sansio.events import Event, Signal

from .clock import time_of_day
from .driver import Driver

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from amqp_sansio.client.reaching import Reopening
    from amqp_sansio.events import Pending

    from .recording import Recorder

_logger = logging.getLogger("amqp_sansio_asyncio")


class ClientDriver(Driver["BaseClient[Any]"]):
    """Moves octets and time for a client; its callers wait for futures."""

    congested = False
    """asyncio's transports take everything, and tell to pause."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        client: BaseClient[Any],
        recorder: Recorder | None = None,
        reconnect: Callable[[BaseClient[Any], int], None] | None = None,
    ) -> None:
        super().__init__(loop, client, recorder)
        self._reconnect = reconnect
        """Opens the next transport of a client that recovers."""
        self.reopening: Reopening | None = None
        """The attempt of recovery that this driver's transport is for."""
        self._tasks: set[asyncio.Task[object]] = set()
        """Operations of the client that nobody waits for."""
        # A future ends whatever its pending says.
        client.shares_timers = True
        client.attach(self)
        if not client.opened.done:
            client.wait(client.opened)
        self.opened: asyncio.Future[None] = (client.opened.waiters or [])[0]
        """Ends when the first connection is open, or can't be."""

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        if self.reopening is not None:
            self.core.reconnect(self.reopening.core, self.reopening.seconds)
        super().connection_made(transport)

    # Called by the driver's loop.

    def take_events(self) -> None:
        client = self.core
        while True:
            event = client.next_event()
            if not isinstance(event, Signal):
                self._untaken(event)
            elif not (self._held and self.feed_held()):
                break
        if client.notes:
            for text, warns in client.take_notes():
                self.log(text, logging.WARNING if warns else logging.INFO)
        self._wake()

    def flush(self) -> None:
        super().flush()
        if self.write_paused:
            # A caller's time begins although nothing can be written.
            self.core.start_timers(self.clock.time())
            self.arm()
            self._wake()

    def write(self) -> None:
        try:
            super().write()
        finally:
            self._wake()

    def connection_lost(self, exc: Exception | None) -> None:
        try:
            super().connection_lost(exc)
        finally:
            self.core.transport_ended(str(exc or "it was closed"), self.clock.time())
            self._wake()
        self.arm()

    def not_connected(self, error: Exception) -> None:
        """Note that there is no transport, because of this error."""
        if self.transport is not None:
            self.transport.abort()
            return
        self.core.not_connected(str(error) or type(error).__name__, self.clock.time())
        self.take_events()
        if not self.lost.done():
            self.lost.set_result(None)
        self.arm()

    def on_timer(self) -> None:
        super().on_timer()
        recovery = self.core.recovery
        if recovery is not None and self._reconnect and (place := recovery.take_wanted()) is not None:
            self._reconnect(self.core, place)

    # For the client.

    def wait(self, pending: Pending[Any]) -> asyncio.Future[None]:
        future: asyncio.Future[None] = self.loop.create_future()
        pending.waiters.append(future)  # type: ignore[union-attr]
        return future

    def flush_soon(self) -> None:
        if not self.flush_scheduled:
            self.flush_scheduled = True
            self.loop.call_soon(self.flush)

    flush_later = flush_soon

    async def pace(self) -> None:
        if not self.write_paused:
            self.flush()
            await asyncio.sleep(0)

    def close_soon(self) -> None:
        self.start_closing()

    def reading_changed(self) -> None:
        if self._held and self.core.receive_budget:
            # Octets that came before the pause are taken first; whoever empties an inbox isn't interrupted.
            self.loop.call_soon(self.progress)
        self.update_reading()

    def ring(self) -> None:
        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self._take_dropped)

    def start(self, work: Coroutine[Any, Any, object], /) -> None:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def ask(self, function: Callable[[], object], seconds: float | None, /) -> object:
        async with asyncio.timeout(seconds):
            found = function()
            return await found if inspect.isawaitable(found) else found

    def time_of_day(self) -> float:
        return time_of_day(self.loop)

    # Internals.

    def _wake(self) -> None:
        for pending in self.core.completed():
            for future in pending.waiters or ():
                if future.done():
                    continue
                if future is self.opened and pending.error is not None:
                    future.set_exception(pending.error)
                else:
                    future.set_result(None)

    def _take_dropped(self) -> None:
        self.core.take_dropped()
        self._wake()

    def _untaken(self, event: Event) -> None:
        """Log an event that nobody asked for, if it means that something was lost."""
        text = self.core.untaken(event)
        if text:
            _logger.warning("%s %s", self.label, text)


__all__ = ["ClientDriver"]
