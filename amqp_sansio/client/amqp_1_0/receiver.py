"""Receivers of 1.0 and their deliveries (1.0 part 2 section 2.6.7, part 3 section 3.4)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ...amqp_1_0 import Delivery, Error, Message, Modified, Rejected, Released
from ...errors import LinkEnded
from ..bodies import plain
from ..processing import Processed
from .link import Link
from .links import ACCEPTED, ReceiverState

if TYPE_CHECKING:
    from ...amqp_1_0 import DeliveryState, Described, LinkState
    from ...amqp_1_0 import Receiver as CoreReceiver
    from .transaction import Transaction

_PATIENCE: Final = 1.0
"""Seconds that a sender has to answer a drain when a receiver closes or has fetched nothing."""


class ReceivedDelivery(Processed):
    """A received message. Settle it once with `accept`, `reject`, `release` or `modify`, unless the sender has settled
    it.

    These return when the disposition is queued; on a link whose receiver settles second, when the sender has settled
    too. They raise LocalProtocolError for a settled delivery, LinkEnded if the link is gone, StaleDelivery if the
    connection was lost since and the link wasn't resumed with it. With `transaction` the outcome takes effect when the
    transaction commits.

    >>> async def example(receiver: Receiver) -> None:
    ...     delivery = await receiver.fetch(timeout=5)
    ...     if delivery is not None and delivery.body is None:
    ...         await delivery.reject("amqp:invalid-field", "nothing to do")
    ...     elif delivery is not None:
    ...         await delivery.modify(delivery_failed=True)
    """

    __slots__ = ("_attachment", "_event", "_link", "_taken", "context", "receiver")
    context: Any
    """The value that the hook `on_deliver` returned for it; there is none without the hook."""

    def __init__(self, receiver: Receiver, link: ReceiverState, event: Delivery) -> None:
        # The user's, which settles it.
        self.receiver = receiver
        # The routes that it came through.
        self._link = link
        # As it came first, with message, tag and payload.
        self._event = event
        # The number of the attachment that it came on.
        self._attachment = link.attachment
        # Follows it through resumptions; None on a link that isn't resumed.
        self._taken = None if link.held is None else link.take(event)

    @property
    def message(self) -> Message:
        """The message; its sections are decoded on access, which may raise CodecError."""
        return self._event.message

    @property
    def body(self) -> Any:
        """The message's body: octets, a value or a list. Raises CodecError if the payload is no message."""
        return self._event.body

    @property
    def application_properties(self) -> dict[str, Any]:
        """The application's own fields as a plain dict, with plain dicts and lists within; empty without any."""
        found: dict[str, Any] = plain(self.message.application_properties or {})
        return found

    @property
    def text(self) -> str:
        """The body as text: a string as it is, octets decoded from UTF-8. Raises TypeError for another body,
        UnicodeDecodeError.
        """
        body = self.body
        if isinstance(body, str):
            return str(body)
        if isinstance(body, bytes):
            return body.decode()
        raise TypeError(f"the body is no text: {type(body).__name__}; read `body`")

    def json(self) -> Any:
        """Return the JSON value of the body's text. Raises ValueError if it has none, TypeError if it isn't text."""
        return json.loads(self.text)

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
        return self.event.delivery_id

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

    @property
    def event(self) -> Delivery:
        """The core's event; another one when its link was resumed."""
        return self._event if self._taken is None else self._taken.event

    async def accept(self, *, transaction: Transaction | None = None) -> None:
        """Accept it."""
        link = self._link
        event = self._event
        if self._taken is not None or self._attachment != link.attachment:
            event = await self._current()
        if transaction is None and link.accept_later(event):
            link.client.driver.flush_soon()
            link.client.metrics.taken += 1
            if link.client.hooks is not None:
                link.client.hooks.settled("accepted", (self,))
        else:
            await self._settle(ACCEPTED, transaction)

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
        await self._settle(Rejected(error=error), transaction)

    async def release(self, *, transaction: Transaction | None = None) -> None:
        """Return it unchanged, to be delivered again."""
        await self._settle(Released(), transaction)

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
        await self._settle(state, transaction)

    async def update(self, state: DeliveryState) -> None:
        """Send a state, such as Received, without settling."""
        link = self._link
        link.check_open()
        link.core.update([await self._current()], state, settled=False)
        link.client.driver.flush_soon()

    async def _current(self) -> Delivery:
        """Return the core's event of its link's attachment of today, once that is resumed if the connection was lost.

        Raises StaleDelivery if it isn't resumed with this delivery, LinkEnded.
        """
        link, taken = self._link, self._taken
        if link.error is None:
            if taken is not None and taken.attachment != link.attachment:
                await link.until_resumed(taken)
            elif taken is None and self._attachment != link.attachment:
                raise link.stale()
        return self.event

    async def _settle(self, state: DeliveryState, transaction: Transaction | None) -> None:
        await self.receiver.settle(state, self, transaction=transaction)

    def __repr__(self) -> str:
        return f"<ReceivedDelivery {self.delivery_id}, {len(self.payload)} octets>"


class Receiver(Link[ReceiverState]):
    """A link on which messages arrive, returned by `session.open_receiver()`: an async iterator of `ReceivedDelivery`.
    `close` it, or leave its context.

    With `credit` above 0 at most that many deliveries wait here: taking them grants the sender credit for more. With 0
    you manage it: `flow`, `drain`, or `fetch` for one at a time. The iteration ends when this end closes or detaches
    the link, or closes its session or connection; it raises LinkEnded, with the reason, when the peer or an error ends
    one of these.
    """

    @property
    def core(self) -> CoreReceiver:
        """The receiver of the core, for its properties. Don't call its commands."""
        return self._state.core

    @property
    def pending(self) -> Mapping[bytes, DeliveryState | None]:
        """The unsettled deliveries, by delivery-tag, with the last state sent for each."""
        core = self._state.core
        side = core.session.side
        found: dict[bytes, Any] = dict(core.unsettled)
        return {tag: each.states[side] for tag, each in found.items()}

    def saved_state(self) -> LinkState:
        link = self._state
        if link.accepted and link.error is None:
            link.say_accepted()
        return super().saved_state()

    def __aiter__(self) -> Receiver:
        return self

    async def __anext__(self) -> ReceivedDelivery:
        link = self._state
        inbox = link.inbox
        if inbox.items:
            event = inbox.items.popleft()
        else:
            if link.target and link.core.credit <= 0:
                link.top_up()  # The credit was drained.
            event = await inbox.take()
        if link.target:
            link.taken += 1
            if link.taken >= link.batch:
                link.top_up()
        delivery = ReceivedDelivery(self, link, event)
        hooks = link.client.hooks
        if hooks is not None:
            hooks.delivered(delivery, self.address, "", "", lambda: delivery.application_properties)
        return delivery

    async def fetch(self, timeout: float | None = None) -> ReceivedDelivery | None:
        """Return the next delivery; None if there is none within `timeout` seconds (None: wait).

        Without credit it asks for one delivery, and takes the credit back after the timeout, so that nothing arrives
        unrequested. Raises LinkEnded if the link has ended.

        >>> async def example(receiver: Receiver) -> None:
        ...     delivery = await receiver.fetch(timeout=5)
        ...     if delivery is not None:
        ...         await delivery.accept()
        """
        link = self._state
        inbox = link.inbox
        if not inbox.items:
            link.check_takes()
            await self._wait_for_one(timeout)
            if not inbox.items:
                if not inbox.ended:
                    return None
                link.check_takes()
        delivery = await self.__anext__()
        if inbox.sleepers:
            inbox.wake()  # Where no credit is kept, another fetch needs its own.
            link.client.nudge()
        return delivery

    async def flow(self, credit: int) -> None:
        """Let the sender send `credit` more deliveries, in place of its remaining credit. For links opened with
        `credit=0`.

        >>> async def example(receiver: Receiver) -> None:
        ...     await receiver.flow(100)
        ...     await receiver.drain()
        ...     print(len(receiver.pending), "deliveries were there")
        """
        self._state.flow(credit)

    async def drain(self) -> None:
        """Let the sender send its available deliveries, and wait until the credit is used or given up; received ones
        are iterated as usual. Raises LinkEnded, and AnswerTimeout after `answer_timeout` seconds.
        """
        await self._state.drain()

    async def cancel(self) -> None:
        """Take back the credit, and wait for the sender's answer. Received deliveries are still iterated, and can be
        settled: the link stays attached.

        >>> async def example(receiver: Receiver) -> None:
        ...     await receiver.cancel()
        ...     async for delivery in receiver:
        ...         await delivery.accept()
        """
        await self._state.cancel()

    async def accept(self, *deliveries: ReceivedDelivery, transaction: Transaction | None = None) -> None:
        """Accept any number of deliveries at once, in as few frames as possible.

        >>> async def example(receiver: Receiver) -> None:
        ...     found = [await receiver.fetch(timeout=0.01) for _ in range(10)]
        ...     await receiver.accept(*[each for each in found if each is not None])
        """
        await self.settle(ACCEPTED, *deliveries, transaction=transaction)

    async def settle(
        self, state: DeliveryState, *deliveries: ReceivedDelivery, transaction: Transaction | None = None
    ) -> None:
        """Give deliveries an outcome; see `ReceivedDelivery`."""
        outcome = state if transaction is None else transaction.state(state)
        await self._state.settle([await current(delivery) for delivery in deliveries], outcome)
        outcome_name, client = type(state).__name__.lower(), self._state.client
        client.metrics.settled(outcome_name, len(deliveries))
        if client.hooks is not None:
            client.hooks.settled(outcome_name, deliveries)

    async def __aenter__(self) -> Receiver:
        return self

    # Internals.

    async def _wait_for_one(self, seconds: float | None) -> None:
        """Wait for a delivery, the end, or so many seconds."""
        link = self._state
        inbox, client = link.inbox, link.client
        timer = None if seconds is None else client.after(seconds)
        woken = False
        try:
            while not (inbox.items or inbox.ended):
                if timer is not None and timer.done:
                    if not link.target:
                        await link.take_back(self._patience)
                    return
                if link.core.credit <= 0 and not link.drains:
                    link.flow(link.target or 1)
                await inbox.sleep(timer, first=woken)
                woken = True
        finally:
            if timer is not None:
                client.stop(timer)

    async def _close(self, condition: str, description: str, info: Mapping[Any, Any] | None) -> None:
        """Drain outstanding credit first, so that deliveries in transit are returned too."""
        link = self._state
        try:
            if link.core.is_open and link.core.credit > 0 and not link.closing:
                link.target = 0
                with suppress(LinkEnded):
                    await link.take_back(self._patience)
        finally:
            link.start_closing(condition, description, info)

    @property
    def _patience(self) -> float:
        return min(_PATIENCE, self._state.client.config.close_timeout / 2)


async def current(delivery: ReceivedDelivery) -> Delivery:
    """Return the core's event of a delivery in its link's attachment of today; see `ReceivedDelivery`."""
    return await delivery._current()  # pyright: ignore[reportPrivateUsage]


__all__ = ["ReceivedDelivery", "Receiver"]
