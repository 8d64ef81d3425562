"""Senders of 1.0 and their deliveries (1.0 part 2 sections 2.6.7 and 2.6.12)."""

from __future__ import annotations

import asyncio
import copy
from collections import deque
from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from amqp_sansio.amqp_1_0 import Message, NoCredit, TransactionalState
from amqp_sansio.amqp_1_0 import Sender as CoreSender
from amqp_sansio.errors import EndpointClosed, LinkEnded, LocalProtocolError

from .link import Link

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import CreditChanged, DeliveryState, Resumed
    from amqp_sansio.events import Handle

    from .session import Session
    from .transaction import Transaction


class SentDelivery:
    """A message in transit: `await` it for its outcome, any number of times.

    Cancelling the wait doesn't take the message back.
    """

    __slots__ = ("_handle", "_sender")

    def __init__(self, sender: Sender, handle: Handle[DeliveryState | None]) -> None:
        self._sender = sender
        self._handle = handle

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        tag = self._handle.key[2]
        assert isinstance(tag, bytes)
        return tag

    @property
    def done(self) -> bool:
        """Whether it is settled, or never will be."""
        return self._handle.done

    @property
    def state(self) -> DeliveryState | None:
        """The receiver's latest state, such as Received; its outcome once it is settled."""
        handle = self._handle
        if not handle.done:
            return self._sender.driver.told.get(handle.key)  # type: ignore[return-value]
        return None if handle.error is not None else outcome_of(handle.result)

    def __await__(self) -> Generator[Any, None, DeliveryState | None]:
        return self._wait().__await__()

    async def _wait(self) -> DeliveryState | None:
        handle = self._handle
        if handle.done:
            if handle.error is not None:
                self._sender.check_open()
                raise copy.copy(handle.error)
            return outcome_of(handle.result)
        return outcome_of(await self._sender.driver.wait_with_others(handle))

    def __repr__(self) -> str:
        state = "pending" if not self.done else "failed" if self._handle.error else "done"
        return f"<SentDelivery {self.delivery_tag!r}, {state}>"


class Sender(Link[CoreSender]):
    """A link on which messages are sent, returned by `session.open_sender()`. `close` it, or leave its context.

    Any number of tasks may send at once. Every wait can be cancelled: the link stays usable. When the link ends,
    waiting callers get LinkEnded, with the peer's reason.
    """

    def __init__(self, session: Session, core: CoreSender) -> None:
        super().__init__(session, core)
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._drain_asked = False

    @property
    def pending(self) -> Mapping[bytes, SentDelivery]:
        """The unsettled deliveries, by tag; after `open_sender(state=...)` including those of the earlier attachment.
        """
        return {tag: SentDelivery(self, handle) for tag, handle in self.core.pending.items()}

    @overload
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[True] = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> DeliveryState | None: ...
    @overload
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[False],
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> SentDelivery: ...
    async def send(
        self,
        message: Message | bytes,
        *,
        wait: bool = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
    ) -> DeliveryState | SentDelivery | None:
        """Send one message and return its outcome: Accepted, Rejected, Released or Modified; None if it was sent
        settled. `bytes` are the body of a message with one data section.

        It waits for credit, while the peer reads too slowly, and then for the settlement; with `wait=False` not for the
        latter: the result is a `SentDelivery` to await later. `settled` None: the link's default. A cancelled send may
        have been sent. Raises LinkEnded if the link, session or connection ends, LocalProtocolError for a message that
        can't be sent.

        >>> async def example(sender: Sender) -> None:
        ...     outcome = await sender.send(b"hello")
        ...     later = [await sender.send(Message(n), wait=False) for n in range(100)]
        ...     outcomes = [await sent for sent in later]
        """
        whole = message if isinstance(message, Message) else Message(message)
        state = transaction.state() if transaction is not None else None
        core, driver = self.core, self.driver
        woken = False
        if self._waiters or driver.gated or driver.core.send_backlog >= driver.flush_octets:
            await self._may_send()
            woken = True
        while True:
            try:
                handle = core.send(
                    whole,
                    delivery_tag=delivery_tag,
                    settled=settled,
                    state=state,
                    message_format=message_format,
                )
                break
            except NoCredit:
                await self._wait_credit(first=woken)
                woken = True
            except LocalProtocolError:
                self._wake()  # Pass the turn on.
                raise
            except EndpointClosed:
                self.check_open()
                raise
        if self._waiters:
            self._wake()
        if not driver.flush_scheduled:
            driver.schedule_flush()
        if not wait:
            return SentDelivery(self, handle)
        if handle.done:
            return outcome_of(handle.result)
        future: asyncio.Future[Any] = driver.loop.create_future()
        driver.waiting[handle.key] = future
        if driver.reading_paused:
            driver.update_reading()
        return outcome_of(await future)

    async def wait_credit(self) -> int:
        """Wait until the peer accepts a message; return how many. Raises LinkEnded.

        >>> async def example(sender: Sender) -> None:
        ...     for number in range(await sender.wait_credit()):
        ...         await sender.send(Message(number), wait=False)
        """
        self.check_open()
        while self.core.credit <= 0:
            await self._wait_credit(first=False)
        self._wake()
        return self.core.credit

    async def __aenter__(self) -> Sender:
        return self

    # Called by the driver.

    def credit_changed(self, event: CreditChanged) -> None:
        """Handle new credit, or room in the session's window."""
        self._wake()
        if event.drain and not self._drain_asked:
            self._drain_asked = True
            # Woken callers send first.
            self.driver.loop.call_soon(self._drain)

    def resumed(self, event: Resumed) -> None:
        """Handle the compared unsettled maps."""
        self._wake()

    def on_ended(self, error: LinkEnded) -> None:
        """Wake waiting callers."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)

    # Internals.

    async def _may_send(self) -> None:
        self.check_open()
        driver = self.driver
        if driver.gated:
            await driver.wait_gate()
        elif driver.core.send_backlog >= driver.flush_octets:
            await driver.pace()
        if self._waiters:
            await self._wait_credit(first=False)

    async def _wait_credit(self, first: bool) -> None:
        """Wait for a turn to try; raise the link's error if it has ended."""
        self.check_open()
        driver = self.driver
        waiter: asyncio.Future[None] = driver.loop.create_future()
        if first:
            self._waiters.appendleft(waiter)
        else:
            self._waiters.append(waiter)
        # Credit is an answer: the connection must be read while somebody waits for it.
        driver.waiting[waiter] = waiter
        if driver.reading_paused:
            driver.update_reading()
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            else:
                self._wake()
            raise
        finally:
            del driver.waiting[waiter]
        self.check_open()

    def _wake(self) -> None:
        """Let as many callers try as there is credit."""
        waiters = self._waiters
        credit = self.core.credit if waiters else 0
        while waiters and credit > 0:
            waiter = waiters.popleft()
            if not waiter.done():
                waiter.set_result(None)
                credit -= 1

    def _drain(self) -> None:
        """Answer a drain if nobody here has more to send."""
        self._drain_asked = False
        if not self._waiters and self.core.is_open:
            self.core.drained()
            self.driver.schedule_flush()


def outcome_of(state: Any) -> DeliveryState | None:
    """Return a delivery's outcome, also from within a transactional state (1.0 part 4 section 4.5.8)."""
    outcome: DeliveryState | None = state
    if isinstance(state, TransactionalState):
        outcome = cast("DeliveryState | None", state.outcome)
    return outcome


__all__ = ["Sender", "SentDelivery", "outcome_of"]
