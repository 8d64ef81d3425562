"""Receivers of 1.0 and their deliveries (1.0 part 2 section 2.6.7, part 3 section 3.4)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_1_0 import (
    Accepted,
    Delivery,
    Error,
    Message,
    Modified,
    Rejected,
    Released,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
from amqp_sansio.errors import LinkEnded
from amqp_sansio.events import By

from ..feed import Feed
from .link import Link

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import DeliveryState, Described, LinkState
    from amqp_sansio.events import CloseReport

    from .session import Session
    from .transaction import Transaction

_ACCEPTED: Final = Accepted()
_PATIENCE: Final = 1.0
"""Seconds that a sender has to answer a drain when a receiver closes or has fetched nothing."""


class ReceivedDelivery:
    """A received message. Settle it once with `accept`, `reject`, `release` or `modify`, unless the sender has settled
    it.

    These return when the disposition is queued; on a link whose receiver settles second, when the sender has settled
    too. They raise LocalProtocolError for a settled delivery, LinkEnded if the link is gone. With `transaction` the
    outcome takes effect when the transaction commits.

    >>> async def example(receiver: Receiver) -> None:
    ...     delivery = await receiver.fetch(timeout=5)
    ...     if delivery is not None and delivery.body is None:
    ...         await delivery.reject("amqp:invalid-field", "nothing to do")
    ...     elif delivery is not None:
    ...         await delivery.modify(delivery_failed=True)
    """

    __slots__ = ("_event", "receiver")

    def __init__(self, receiver: Receiver, event: Delivery) -> None:
        self.receiver = receiver
        self._event = event

    @property
    def message(self) -> Message:
        """The message; its sections are decoded on access, which may raise CodecError."""
        return self._event.message

    @property
    def body(self) -> Any:
        """The message's body: octets, a value or a list. Raises CodecError if the payload is no message."""
        return self._event.body

    @property
    def payload(self) -> bytes:
        """The message as received, all sections."""
        return self._event.payload

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        return self._event.delivery_tag

    @property
    def delivery_id(self) -> int:
        """Its number in the session."""
        return self._event.delivery_id

    @property
    def message_format(self) -> int:
        """The format of the message: 0 for the standard's own."""
        return self._event.message_format

    @property
    def settled(self) -> bool:
        """Whether the sender sent it settled, so that it needs no outcome."""
        return self._event.settled

    @property
    def state(self) -> DeliveryState | Described | None:
        """The sender's state of it, such as the transaction it belongs to."""
        return self._event.state

    @property
    def resumed(self) -> bool:
        """Whether it continues from an earlier attachment of the link."""
        return self._event.resumed

    async def accept(self, *, transaction: Transaction | None = None) -> None:
        """Accept it."""
        receiver = self.receiver
        if transaction is not None or not receiver.accept_later(self._event):
            await receiver.settle(_ACCEPTED, self, transaction=transaction)

    async def reject(
        self,
        condition: str = "",
        description: str = "",
        *,
        error: Error | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        """Reject it as invalid, with the reason as a condition or a whole `Error`."""
        if error is None and condition:
            error = Error(condition=condition, description=description or None)
        await self.receiver.settle(Rejected(error=error), self, transaction=transaction)

    async def release(self, *, transaction: Transaction | None = None) -> None:
        """Return it unchanged, to be delivered again."""
        await self.receiver.settle(Released(), self, transaction=transaction)

    async def modify(
        self,
        *,
        delivery_failed: bool = False,
        undeliverable_here: bool = False,
        message_annotations: Mapping[Any, Any] | None = None,
        transaction: Transaction | None = None,
    ) -> None:
        """Return it changed: counted as a failed delivery, not for this link again, or with annotations merged into its
        own.
        """
        state = Modified(
            delivery_failed=delivery_failed,
            undeliverable_here=undeliverable_here,
            message_annotations=message_annotations,
        )
        await self.receiver.settle(state, self, transaction=transaction)

    async def update(self, state: DeliveryState) -> None:
        """Send a state, such as Received, without settling."""
        receiver = self.receiver
        receiver.check_open()
        receiver.core.update([self._event], state, settled=False)
        receiver.flush()

    def __repr__(self) -> str:
        return f"<ReceivedDelivery {self.delivery_id}, {len(self.payload)} octets>"

    @property
    def event(self) -> Delivery:
        """The core's event."""
        return self._event


class Receiver(Link[CoreReceiver]):
    """A link on which messages arrive, returned by `session.open_receiver()`: an async iterator of `ReceivedDelivery`.
    `close` it, or leave its context.

    With `credit` above 0 at most that many deliveries wait here: taking them grants the sender credit for more. With 0
    you manage it: `flow`, `drain`, or `fetch` for one at a time. The iteration ends after `close` and `detach`, and
    raises LinkEnded, with the reason, when the peer ends the link, or the session or the connection ends.
    """

    def __init__(self, session: Session, core: CoreReceiver, credit: int) -> None:
        super().__init__(session, core)
        self.feed: Feed[Delivery] = Feed(self.driver, 1, False)
        self._target = credit
        self._batch = (credit + 1) // 2
        self._taken = 0
        self.drains: list[asyncio.Future[None]] = []
        self._accepted: dict[int, Delivery] = {}

    @property
    def pending(self) -> Mapping[bytes, DeliveryState | None]:
        """The unsettled deliveries, by delivery-tag, with the last state sent for each."""
        side = self.core.session.side
        found: dict[bytes, Any] = dict(self.core.unsettled)
        return {tag: each.states[side] for tag, each in found.items()}

    def __aiter__(self) -> Receiver:
        return self

    async def __anext__(self) -> ReceivedDelivery:
        feed = self.feed
        if feed.items:
            event = feed.items.popleft()
        else:
            if self._target and self.core.credit <= 0:
                self._top_up()  # The credit was drained.
            event = await feed.take()
        if self._target:
            self._taken += 1
            if self._taken >= self._batch:
                self._top_up()
        return ReceivedDelivery(self, event)

    async def fetch(self, timeout: float | None = None) -> ReceivedDelivery | None:
        """Return the next delivery; None if there is none within `timeout` seconds (None: wait).

        Without credit it asks for one delivery, and takes the credit back after the timeout, so that nothing arrives
        unrequested. Raises LinkEnded if the link has ended.

        >>> async def example(receiver: Receiver) -> None:
        ...     delivery = await receiver.fetch(timeout=5)
        ...     if delivery is not None:
        ...         await delivery.accept()
        """
        feed = self.feed
        if not feed.items:
            self.check_open()
            try:
                async with asyncio.timeout(timeout):
                    while not (feed.items or feed.ended):
                        if self.core.credit <= 0 and not self.drains:
                            await self.flow(self._target or 1)
                        await feed.sleep()
            except TimeoutError:
                if not self._target and not feed.items:
                    await self._take_back()
                if not feed.items:
                    return None
            if not feed.items:
                self.check_open()
        delivery = await self.__anext__()
        if not self._target:
            feed.wake()  # Another fetch needs its own credit.
        return delivery

    async def flow(self, credit: int) -> None:
        """Let the sender send `credit` more deliveries, in place of its remaining credit. For links opened with
        `credit=0`.

        >>> async def example(receiver: Receiver) -> None:
        ...     await receiver.flow(100)
        ...     await receiver.drain()
        ...     print(len(receiver.pending), "deliveries were there")
        """
        self.check_open()
        self.core.flow(credit)
        self.flush()

    async def drain(self) -> None:
        """Let the sender send its available deliveries, and wait until the credit is used or given up; received ones
        are iterated as usual. Raises LinkEnded.
        """
        self.check_open()
        if self.core.credit <= 0:
            return
        driver = self.driver
        self.core.drain()
        driver.schedule_flush()
        waiter: asyncio.Future[None] = driver.loop.create_future()
        self.drains.append(waiter)
        driver.waiting[waiter] = waiter
        if driver.reading_paused:
            driver.update_reading()
        try:
            await waiter
        finally:
            del driver.waiting[waiter]
            self.drains.remove(waiter)
            self.feed.wake_all()
        self.check_open()

    async def accept(
        self, *deliveries: ReceivedDelivery, transaction: Transaction | None = None
    ) -> None:
        """Accept any number of deliveries at once, in as few frames as possible.

        >>> async def example(receiver: Receiver) -> None:
        ...     found = [await receiver.fetch(timeout=0.01) for _ in range(10)]
        ...     await receiver.accept(*[each for each in found if each is not None])
        """
        await self.settle(_ACCEPTED, *deliveries, transaction=transaction)

    async def settle(
        self,
        state: DeliveryState,
        *deliveries: ReceivedDelivery,
        transaction: Transaction | None = None,
    ) -> None:
        """Give deliveries an outcome; see `ReceivedDelivery`."""
        if self._error is not None:
            self.check_open()
        if self._accepted:
            self.say_accepted()
        if transaction is not None:
            state = transaction.state(state)
        events = [delivery.event for delivery in deliveries]
        handles = self.core.update(events, state)
        driver = self.driver
        if not driver.flush_scheduled:
            driver.schedule_flush()
        for handle in handles:
            if not handle.done:
                await driver.wait_with_others(handle)

    async def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> CloseReport:
        """Close the link for good: outstanding credit is drained first, so that deliveries in transit are returned too.
        Return how it ended; on an ended link this does nothing.
        """
        try:
            if self.core.is_open and self.core.credit > 0 and not self._closing:
                self._target = 0
                with suppress(LinkEnded):
                    await self._take_back()
        finally:
            self.start_closing(condition, description, info)
        return await super().close()

    async def __aenter__(self) -> Receiver:
        return self

    # Called by the driver.

    def drained(self) -> None:
        """Handle the end of a drain: the sender has used or given up its credit."""
        for waiter in self.drains:
            if not waiter.done():
                waiter.set_result(None)

    def accept_later(self, event: Delivery) -> bool:
        """Accept a delivery together with others, before the next octets are sent: one frame for all with consecutive
        ids. Return False if that is impossible.
        """
        core = self.core
        if (
            event.delivery_tag not in core.unsettled
            or core.rcv_settle_mode
            or self._error is not None
        ):
            return False
        accepted = self._accepted
        if event.delivery_id in accepted:
            return False
        driver = self.driver
        if not accepted:
            driver.accepting.append(self)
        accepted[event.delivery_id] = event
        if not driver.flush_scheduled:
            driver.schedule_flush()
        return True

    def say_accepted(self) -> None:
        """Queue the acceptances collected by `accept_later`."""
        unsettled = self.core.unsettled
        events = [each for each in self._accepted.values() if each.delivery_tag in unsettled]
        self._accepted.clear()
        if events and self.core.is_open:
            self.core.update(events, _ACCEPTED)

    def saved_state(self) -> LinkState:
        if self._accepted and self._error is None:
            self.say_accepted()
        return super().saved_state()

    def before_end(self) -> None:
        """Return untaken deliveries to the sender, and iterate no more."""
        self.say_accepted()
        unsettled = self.core.unsettled
        items = [event for event in self.feed.items if event.delivery_tag in unsettled]
        if items and self.core.is_open:
            self.core.release(*items)
        self.feed.items.clear()

    def on_ended(self, error: LinkEnded) -> None:
        """Forget unsettled deliveries: the sender will deliver them again."""
        self._accepted.clear()
        kept = [event for event in self.feed.items if event.settled]
        self.feed.items.clear()
        self.feed.items.extend(kept)
        ours = self._closing and (error.report is None or error.report.by is By.LOCAL)
        self.feed.end(None if ours else error)
        self.drained()

    # Internals.

    async def _take_back(self) -> None:
        """Drain; if the sender doesn't answer, take its credit away."""
        try:
            async with asyncio.timeout(min(_PATIENCE, self.driver.core.config.close_timeout)):
                await self.drain()
        except TimeoutError:
            await self.flow(0)

    def _top_up(self) -> None:
        self._taken = 0
        core = self.core
        if core.is_open and not self._closing and core.top_up(self._target - len(self.feed.items)):
            self.flush()


__all__ = ["ReceivedDelivery", "Receiver"]
