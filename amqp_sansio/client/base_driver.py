"""BaseDriver: what all drivers of a client do alike, so that one for another event loop is a page long.

It owns the order of a turn: octets in, events, octets out, those who wait, the close hint, reading, the timer. Between
two calls of its methods nothing of the client is left undone but what a turn that was asked for will do. A subclass
brings the impure part: a transport, a clock, a loop's next turn, and how a caller waits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..endpoint import CloseHint
from ..events import Pending, Signal

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from .driving import BaseClient


class BaseDriver(ABC):
    """Moves octets and time between a client and the transport that a subclass has; see `Driver` for what the client
    asks of it.

    The subclass calls `transport_opened`, `received`, `received_end`, `pause_sending`, `resume_sending` and
    `transport_lost` as its transport tells, and `turn` when it was asked to. All calls but `ring` are made in one
    thread, or under one lock.

    A driver has one transport. The client is its own from `transport_opened` until the next driver says that: up to
    there it keeps the time of a client that recovers, and is told by `reconnect` to open the next transport.
    """

    congested: bool = False
    """Whether a publisher must `pace` first. A subclass whose transport takes everything it is given leaves it."""
    send_size: ClassVar[int | None] = None
    """Most octets that `send` is given at once; None: all there are."""

    def __init__(self, client: BaseClient[Any]) -> None:
        self.client: Final = client
        # Octets that came above the client's budget: it gets them once it has room.
        self._held = bytearray()
        # The last argument of `read`. A transport reads from its beginning.
        self._is_reading = True
        # Whether the transport is there: from `transport_opened` to `transport_lost`.
        self._is_connected = False
        # Whether the transport's buffer is full, so that it is given nothing, until `resume_sending`.
        self._is_full = False
        # Whether `turn_soon` was called for a turn that hasn't begun.
        self._is_due = False
        # Whether the transport was told to end: it is told so once.
        self._is_closing = False

    # For subclasses to implement.

    @abstractmethod
    def now(self) -> float:
        """Return the time in seconds, of a clock that never runs backwards."""

    @abstractmethod
    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        """Return an awaitable that ends when what this adds to `pending.waiters`, a list by now, is woken."""

    @abstractmethod
    def wake(self, waiter: Any) -> None:
        """End the wait of something that `wait` has added; of one that has ended already, do nothing."""

    @abstractmethod
    def give_way(self) -> Awaitable[object]:
        """Return an awaitable that ends in the next turn of the event loop."""

    @abstractmethod
    def turn_soon(self) -> None:
        """Call `turn` in the next turn of the event loop."""

    @abstractmethod
    def turn_at(self, deadline: float | None) -> None:
        """Call `turn` at a time of `now`, and at none of those that were named before; None: at none."""

    @abstractmethod
    def ring(self) -> None:
        """Call `turn` soon. This may be called in any thread, and by a destructor."""

    @abstractmethod
    def send(self, octets: bytes) -> None:
        """Write octets. If the transport can take no more, call `pause_sending` before this returns."""

    @abstractmethod
    def read(self, reads: bool) -> None:
        """Read from the transport from now on, or don't."""

    @abstractmethod
    def close(self) -> None:
        """Close the transport when it has taken what was sent, and call `transport_lost` then."""

    @abstractmethod
    def abort(self) -> None:
        """Close the transport at once, and call `transport_lost` then."""

    @abstractmethod
    def log(self, text: str, warns: bool) -> None:
        """Write a line to a log: what was opened, closed or lost. `warns`: an operator should see it."""

    def reconnect(self, place: int) -> None:
        """Open the next transport of a client that recovers, to the address at `place` (see `Route.again`).

        When there is one, call `client.reconnect` and then `transport_opened` of its driver; if it can't be opened,
        `client.not_connected` and `turn`.

        Without it a client that recovers gets no transport, and gives up when its policy says so.
        """
        self.client.not_connected("its driver opens no transport again", self.now())

    # For subclasses to call, as the transport tells.

    def transport_opened(self) -> None:
        """Begin: the transport is there. The client is this driver's from now on."""
        self.client.attach(self)
        self._is_connected = True
        self.turn()

    def received(self, octets: Buffer) -> None:
        """Take octets that have arrived, any number of them."""
        self._held += octets
        self.turn()

    def received_end(self) -> None:
        """Take the end of the peer's stream."""
        self.client.receive_eof(self.now())
        self.turn()

    def pause_sending(self) -> None:
        """Send nothing from now on: the transport's buffer is full."""
        self._is_full = True

    def resume_sending(self) -> None:
        """Send again what waits: the transport's buffer has room."""
        self._is_full = False
        self.turn()

    def transport_lost(self, reason: str) -> None:
        """Take the end of the transport, whoever ended it; a second call does nothing."""
        if not self._is_connected:
            return
        self._is_connected = False
        self._held.clear()
        client = self.client
        client.connection_lost(reason, self.now())
        self.turn()
        client.transport_ended(reason, self.now())
        self._wake()
        self._after()

    # The turn.

    def turn(self) -> None:
        """Do everything that is due: time, events, octets that wait, those who wait, and what the client wants of the
        transport. Once the client has another driver, do nothing."""
        client = self.client
        self._is_due = False
        if client.driver is not self:
            return
        client.take_dropped()
        client.handle_timeout(self.now())
        self._take()
        if self._is_connected:
            if self._is_full:
                # A caller's time begins although nothing can be written.
                client.start_timers(self.now())
            else:
                self._send()
        self._wake()
        if self._is_connected:
            self._obey()
        self._after()

    # Called by the client; a subclass implements `wait` and `ring`.

    def flush_soon(self) -> None:
        """Write what is queued in the next turn."""
        if not self._is_due:
            self._is_due = True
            self.turn_soon()

    def flush_later(self) -> None:
        """Write what is queued in the next turn."""
        self.flush_soon()

    def reading_changed(self) -> None:
        """Look in the next turn whether there is room for octets."""
        self.flush_soon()

    def close_soon(self) -> None:
        """Take what is queued out of the client now, even if the transport's buffer is full: the deadline of a close
        begins there."""
        if self._is_connected and (octets := self.client.data_to_send(self.now())):
            self.send(octets)
        self.flush_soon()

    async def pace(self) -> None:
        """Write what is queued, and let the event loop turn once, unless the transport's buffer is full."""
        if not self._is_full:
            self._send()
            await self.give_way()

    # Internals.

    def _take(self) -> None:
        """Route events, and hand over what came, as far as there is room."""
        client, held = self.client, self._held
        while True:
            while not isinstance(event := client.next_event(), Signal):
                if text := client.untaken(event):
                    self.log(text, True)
            size = min(client.receive_budget, len(held))
            if not size:
                return
            client.receive_data(bytes(held[:size]), self.now())
            del held[:size]

    def _send(self) -> None:
        """Write what is queued, until the transport's buffer is full."""
        while self._is_connected and not self._is_full:
            octets = self.client.data_to_send(self.now(), self.send_size)
            if not octets:
                return
            self.send(octets)

    def _obey(self) -> None:
        """Close the transport, or read, as the client wants it."""
        client = self.client
        hint = client.close_hint
        if hint is not CloseHint.KEEP:
            if hint is CloseHint.CLOSE_NOW:
                self._is_closing = True
                self.abort()
            elif not client.send_backlog and not self._is_closing:
                self._is_closing = True
                self.close()
            return
        reads = not self._held and client.receive_budget > 0
        if reads is not self._is_reading:
            self._is_reading = reads
            if reads:
                # The peer couldn't be heard meanwhile, so its silence starts anew.
                client.receive_data(b"", self.now())
            self.read(reads)

    def _after(self) -> None:
        """Tell the log, open the next transport if that is wanted, and set the timer."""
        client = self.client
        for text, warns in client.take_notes() if client.notes else ():
            self.log(text, warns)
        recovery = client.recovery
        if recovery is not None and (place := recovery.take_wanted()) is not None:
            self.reconnect(place)
        self.turn_at(client.next_deadline)

    def _wake(self) -> None:
        for pending in self.client.completed():
            for waiter in pending.waiters or ():
                self.wake(waiter)


__all__ = ["BaseDriver"]
