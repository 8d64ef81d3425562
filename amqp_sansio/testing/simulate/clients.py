"""ClientEnd: the driver of one pure client, at the end of a line."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from ...client.driving import BaseClient
from ...endpoint import CloseHint
from ...events import Event, Pending, Signal
from .network import CLOSED, Alarm, Call, Scheduler
from .tasks import Pause

if TYPE_CHECKING:
    from .network import Line


class ClientEnd:
    """Moves octets and time for one client: its `Driver`, and an end of a line.

    `untaken` are the events that nobody asked for. `reconnect` is called with the place of an address when a client
    that recovers wants a new line, which belongs to a new end.
    """

    def __init__(
        self, scheduler: Scheduler, client: BaseClient[Any], reconnect: Callable[[int], None] | None = None
    ) -> None:
        self.client = client
        self.line: Line | None = None
        self.is_over = False
        self.untaken: list[Event] = []
        self._scheduler = scheduler
        self._reconnect = reconnect
        self._flushing = Call(self._flush)
        self._dropping = Call(self._take_dropped)
        self._alarm = Alarm(scheduler, Call(self._on_alarm))
        self._is_flushing = False
        self._pacing: list[Pause] = []
        client.shares_timers = True
        client.attach(self)
        self._alarm.set(client.next_deadline)

    def attach(self, line: Line) -> None:
        """Begin to talk on a line."""
        self.line = line
        self._progress()

    def reconnect_by(self, reconnect: Callable[[int], None]) -> None:
        """Have `reconnect` called from now on."""
        self._reconnect = reconnect

    def abort(self, reason: str) -> None:
        """Reset the line, and open no other; the client learns it at once, its peer when the reset arrives."""
        self._reconnect = None
        if not self.is_over:
            self.ended(reason, is_reset=True)

    # Driver: for the client.

    @property
    def congested(self) -> bool:
        return self.line is not None and self.line.up.room <= 0

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        pause = Pause()
        if pending.done:
            pause.is_over = True
        else:
            assert pending.waiters is not None
            pending.waiters.append(pause)
        return pause

    def flush_soon(self) -> None:
        if not self._is_flushing:
            self._is_flushing = True
            self._scheduler.soon(self._flushing)

    flush_later = flush_soon

    def pace(self) -> Awaitable[object]:
        self._write()
        pause = Pause()
        if self.congested and not self.is_over:
            self._pacing.append(pause)
        else:
            pause.is_over = True
        return pause

    def close_soon(self) -> None:
        self._write()
        self._progress()

    def reading_changed(self) -> None:
        if self.line is not None:
            self.line.down.wake()

    def ring(self) -> None:
        self._scheduler.soon(self._dropping)

    # End: for the line.

    @property
    def room(self) -> int:
        return self.client.receive_budget

    def receive(self, octets: bytes) -> None:
        self.client.receive_data(octets, self._scheduler.now)
        self._progress()

    def writable(self) -> None:
        pacing, self._pacing = self._pacing, []
        for pause in pacing:
            pause.wake()
        self.flush_soon()

    def ended(self, reason: str, *, is_reset: bool) -> None:
        if self.is_over:
            return
        if not is_reset:
            self.client.receive_eof(self._scheduler.now)
            self._take_events()
            self._write()
        self._end(reason, is_reset=is_reset)

    def not_connected(self, reason: str) -> None:
        """Note that an attempt of recovery has found nobody."""
        if not self.is_over:
            self.is_over = True
            self.client.not_connected(reason, self._scheduler.now)
            self._wake()
            self._alarm.set(self.client.next_deadline)

    # Internals.

    @property
    def _is_current(self) -> bool:
        """Whether the client still has this end as its driver, and its process lives."""
        return self.client.driver is self and not (self.is_over and self._reconnect is None)

    def _end(self, reason: str, *, is_reset: bool = False) -> None:
        now = self._scheduler.now
        self.is_over = True
        if self.line is not None:
            self.line.down.stop()
            self.line.up.finish(reason if is_reset else CLOSED, is_reset=is_reset)
        self.client.connection_lost(reason, now)
        self._take_events()
        self.client.transport_ended(reason, now)
        self._wake()
        # A client that recovers waits for its next attempt.
        self._alarm.set(self.client.next_deadline if self._reconnect is not None else None)
        pacing, self._pacing = self._pacing, []
        for pause in pacing:
            pause.wake()

    def _take_events(self) -> None:
        while not isinstance(event := self.client.next_event(), Signal):
            self.untaken.append(event)
        self._wake()

    def _progress(self) -> None:
        self._take_events()
        client = self.client
        if client.close_hint is CloseHint.KEEP:
            if client.send_backlog:
                self.flush_soon()
            self._alarm.set(client.next_deadline)
        elif not self.is_over:
            self._write()
            if client.close_hint is CloseHint.CLOSE_NOW or not client.send_backlog:
                self._end("the transport was closed")

    def _write(self) -> None:
        line = self.line
        if line is None or self.is_over:
            self.client.start_timers(self._scheduler.now)
            if self._is_current:
                self._alarm.set(self.client.next_deadline)
            return
        room = line.up.room
        if room > 0:
            line.up.send(self.client.data_to_send(self._scheduler.now, room))
        else:
            self.client.start_timers(self._scheduler.now)
        self._wake()
        self._alarm.set(self.client.next_deadline)

    def _flush(self) -> None:
        self._is_flushing = False
        self._write()
        if not self.is_over and self.client.close_hint is not CloseHint.KEEP:
            self._progress()
        self._wake()

    def _on_alarm(self) -> None:
        if not self._is_current:
            return
        self.client.handle_timeout(self._scheduler.now)
        self._progress()
        recovery = self.client.recovery
        place = None if recovery is None else recovery.take_wanted()
        if place is not None and self._reconnect is not None:
            self._alarm.set(None)
            self._reconnect(place)

    def _take_dropped(self) -> None:
        self.client.take_dropped()
        self._wake()

    def _wake(self) -> None:
        for pending in self.client.completed():
            for pause in pending.waiters or ():
                pause.wake()
