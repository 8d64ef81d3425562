"""Receiver and ReceivedDelivery: received messages and their settlement (1.0 part 2 section 2.6.12)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio import AmqpError, EndpointClosed, Event, LocalProtocolError
from amqp_sansio.amqp_1_0 import (
    Accepted,
    Delivery,
    DeliveryState,
    Drained,
    Error,
    Message,
    Modified,
    Rejected,
    Released,
    Symbol,
)
from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver

from ..feed import Feed
from ..handlers import aside, interrupts_itself
from .link import Attachment, Link, in_transaction

if TYPE_CHECKING:
    from types import TracebackType

    from .session import Session
    from .transaction import Transaction

_CANCELLED: Final = "the receiver is cancelled, nothing more comes; open another one"


class ReceivedDelivery:
    """A message taken from a receiver. Settle it once, in any thread, unless it came settled.

    Settling raises LocalProtocolError for a settled delivery, EndpointClosed if the link is gone. If the link's
    `rcv_settle_mode` is 1 (second) it waits until the sender has settled. `state` is the sender's state of it;
    `resumed`: it came, at least in part, before the link was attached again.
    """

    __slots__ = ("receiver", "source")

    def __init__(self, receiver: Receiver, source: Delivery) -> None:
        self.receiver = receiver
        self.source = source

    @property
    def message(self) -> Message:
        """The message; its sections are decoded on access, which raises CodecError for damaged ones."""
        return self.source.message

    @property
    def body(self) -> Any:
        """The message's body: octets, a value, or a list."""
        return self.source.message.body

    @property
    def payload(self) -> bytes:
        """The octets of the whole message."""
        return self.source.payload

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link, chosen by the sender."""
        return self.source.delivery_tag

    @property
    def delivery_id(self) -> int:
        """Its number in the session."""
        return self.source.delivery_id

    @property
    def message_format(self) -> int:
        """The format of the message; 0 is the one that `message` reads."""
        return self.source.message_format

    @property
    def settled(self) -> bool:
        """Whether the sender sent it settled, so that it needs no outcome."""
        return self.source.settled

    @property
    def state(self) -> DeliveryState | None:
        """The state in which the sender sent it, such as that of a transaction."""
        state: Any = self.source.state
        return state  # type: ignore[no-any-return]

    @property
    def resumed(self) -> bool:
        """Whether it continues a delivery from before the link was attached again."""
        return self.source.resumed

    def accept(self, *, transaction: Transaction | None = None, timeout: float | None = None) -> None:
        """Accept it.

        >>> def example(receiver: Receiver) -> None:
        ...     next(receiver).accept()
        """
        self.receiver.settle(Accepted(), self, transaction=transaction, timeout=timeout)

    def reject(
        self,
        condition: str = "",
        description: str = "",
        *,
        error: Error | None = None,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Reject it as invalid, with an optional reason: the node keeps or drops it accordingly.

        >>> def example(receiver: Receiver) -> None:
        ...     next(receiver).reject("amqp:decode-error", "not the JSON that was agreed on")
        """
        if error is None and condition:
            error = Error(Symbol(condition), description or None)
        self.receiver.settle(Rejected(error), self, transaction=transaction, timeout=timeout)

    def release(self, *, transaction: Transaction | None = None, timeout: float | None = None) -> None:
        """Return it as if it had not been sent, to be delivered again, here or elsewhere.

        >>> def example(receiver: Receiver) -> None:
        ...     next(receiver).release()
        """
        self.receiver.settle(Released(), self, transaction=transaction, timeout=timeout)

    def modify(
        self,
        *,
        delivery_failed: bool = False,
        undeliverable_here: bool = False,
        message_annotations: Mapping[Any, Any] | None = None,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Return it changed: counted as a failed delivery, not for this link again, or with additional annotations.

        >>> def example(receiver: Receiver) -> None:
        ...     next(receiver).modify(delivery_failed=True, undeliverable_here=True)
        """
        outcome = Modified(delivery_failed, undeliverable_here, message_annotations)
        self.receiver.settle(outcome, self, transaction=transaction, timeout=timeout)

    def update(self, state: DeliveryState) -> None:
        """Send a state to the sender without settling.

        >>> def example(receiver: Receiver) -> None:
        ...     next(receiver).update(Received(0, 0))
        """
        self.receiver.tell(self.source, state)

    def __repr__(self) -> str:
        return f"<ReceivedDelivery {self.delivery_id} from {self.receiver.address!r}, {len(self.payload)} octets>"


class ReceiverAttachment(Attachment[CoreReceiver]):
    """A receiver's link: its waiting deliveries, and its credit."""

    __slots__ = ("cancelled", "credit", "feed", "held")

    def __init__(self, session: Session, core: CoreReceiver, credit: int) -> None:
        super().__init__(session, core)
        self.credit = credit
        self.held = False
        self.cancelled = False
        self.feed: Feed[Delivery] = Feed(session.wire, max(credit, 1), False)

    def deliver(self, event: Delivery) -> None:
        """Handle a message."""
        if not self.dropped:
            self.feed.put(event)
        elif not event.settled:
            # If that can't be sent any more, the end of the link returns it.
            with suppress(AmqpError):
                self.core.release(event)

    def take(self, event: Event) -> None:
        if isinstance(event, Drained):
            self.held = True
            if self.cancelled:
                self.feed.finish(None)

    def cancel(self) -> None:
        """Take back the credit; the peer's answer ends the feed."""
        if self.cancelled or not self.core.is_open:
            return
        self.cancelled = self.held = True
        if self.core.credit:
            self.core.drain()
        else:
            self.feed.finish(None)

    def no_more(self, error: EndpointClosed) -> None:
        super().no_more(error)
        # Unsettled deliveries can't be settled any more; they will be delivered again.
        kept = [each for each in self.feed.clear() if each.settled]
        self.feed.items.extend(kept)
        self.feed.finish(None if self.dropped else error)

    def drop(self) -> None:
        self.give_back()
        super().drop()

    def give_back(self) -> None:
        """Release waiting deliveries, because nobody takes them any more."""
        self.dropped = True
        unsettled = [each for each in self.feed.clear() if not each.settled]
        if unsettled and self.core.is_open:
            self.core.release(*unsettled)

    def wants_credit(self) -> bool:
        """Whether half of the credit is used; waiting deliveries count as unused."""
        if not self.credit or self.held or self.ended:
            return False
        return 2 * (self.core.credit + len(self.feed.items)) <= self.credit

    def top_up(self) -> None:
        """Grant credit again, so that at most `credit` deliveries are in transit or wait here."""
        if self.wants_credit() and self.core.is_open:
            self.core.flow(self.credit - len(self.feed.items))


class Receiver(Link[CoreReceiver]):
    """The receiving end of a link, returned by `session.open_receiver`: an iterator over its deliveries.

    `next` raises TimeoutError if nothing came for `timeout` seconds; you may continue afterwards. The iteration ends
    after `cancel`, `close` or `detach`, and raises LinkEnded when the peer ends the link. Leaving the context, or
    dropping the last reference, closes the link and releases untaken deliveries.
    """

    __slots__ = ("timeout",)

    def __init__(self, attachment: ReceiverAttachment, timeout: float | None) -> None:
        super().__init__(attachment)
        self.timeout = timeout

    @property
    def credit(self) -> int:
        """Number of deliveries that the peer may still send."""
        return self.core.credit

    @property
    def pending(self) -> Mapping[bytes, DeliveryState | None]:
        """The unsettled deliveries, including those before a re-attachment: the last state by delivery tag."""
        with self.wire.lock:
            side = self.core.session.side
            unsettled: dict[bytes, Any] = dict(self.core.unsettled)
        return {tag: each.states[side] for tag, each in unsettled.items()}

    def __iter__(self) -> Receiver:
        return self

    def __next__(self) -> ReceivedDelivery:
        return self._take(self.timeout, ask=bool(self._receiving.credit))

    def fetch(self, timeout: float | None = None) -> ReceivedDelivery | None:
        """Return the next delivery, or None if none came for `timeout` seconds (None: wait without limit).

        With `credit=0` it grants credit for one delivery, and takes it back after `timeout`, so that nothing comes
        unrequested.

        >>> def example(session: Session) -> ReceivedDelivery | None:
        ...     with session.open_receiver("jobs", credit=0) as receiver:
        ...         return receiver.fetch(timeout=0.5)
        """
        receiving = self._receiving
        asked = not receiving.credit
        try:
            if asked and timeout == 0 and not receiving.feed.items:
                return self._fetch_now()
            return self._take(timeout, ask=timeout != 0)
        except TimeoutError:
            return self._fetch_now() if asked else None
        except StopIteration:
            if receiving.cancelled and not receiving.ended:
                raise LocalProtocolError(_CANCELLED) from None
            raise self.gone() from None

    def flow(self, credit: int) -> None:
        """Let the peer send `credit` deliveries from now on; for links opened with `credit=0`.

        The iteration takes them without granting more.

        >>> def example(session: Session) -> list[bytes]:
        ...     with session.open_receiver("jobs", credit=0) as receiver:
        ...         receiver.flow(2)
        ...         return [next(receiver).body for _ in range(2)]
        """
        receiving = self._receiving

        def grant() -> None:
            if receiving.cancelled:
                raise LocalProtocolError(_CANCELLED)
            receiving.held = False
            self.core.flow(credit)

        self.post(grant)

    def drain(self, timeout: float | None = None) -> None:
        """Let the peer send its available deliveries within the credit, and discard the rest; return when that is done.

        Received deliveries are still iterated. Credit is granted again when an iteration finds nothing, or by `flow`.

        >>> def example(receiver: Receiver) -> int:
        ...     receiver.drain(timeout=5)
        ...     return receiver.credit
        """
        receiving = self._receiving

        def begin() -> None:
            receiving.held = True
            if self.core.credit:
                self.core.drain()

        self.post(begin)
        self.wire.wait(lambda: not self.core.draining or receiving.error is not None, timeout, "the drain")
        if receiving.error is not None:
            raise self.gone()

    def cancel(self, timeout: float | None = None) -> None:
        """Take back the credit, and wait for the peer's answer. Received deliveries are still iterated, and can be
        settled: the link stays attached.

        A signal handler that interrupts the iteration, or any other call of this package, may call it, and doesn't wait
        then: the iteration continues and ends with the answer.

        >>> def example(receiver: Receiver) -> None:
        ...     signal.signal(signal.SIGTERM, lambda number, frame: receiver.cancel())
        ...     for delivery in receiver:
        ...         delivery.accept()
        """
        receiving = self._receiving
        if receiving.feed.over:
            return
        if interrupts_itself():
            aside("drain", lambda: self.cancel(timeout))
            return
        self.post(receiving.cancel)
        self.wire.wait(lambda: receiving.feed.over, timeout, "the drain")

    def accept(
        self, *deliveries: ReceivedDelivery, transaction: Transaction | None = None, timeout: float | None = None
    ) -> None:
        """Accept many deliveries at once.

        >>> def example(receiver: Receiver) -> None:
        ...     receiver.accept(*[next(receiver) for _ in range(2)])
        """
        self.settle(Accepted(), *deliveries, transaction=transaction, timeout=timeout)

    def settle(
        self,
        outcome: DeliveryState,
        *deliveries: ReceivedDelivery,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Settle many deliveries at once with the same outcome.

        >>> def example(receiver: Receiver) -> None:
        ...     receiver.settle(Released(), *[next(receiver) for _ in range(2)])
        """
        deadline = None if timeout is None else monotonic() + timeout
        state = in_transaction(transaction, outcome)
        handles = self.post(self._settle, tuple([each.source for each in deliveries]), state)
        for handle in handles:
            left = None if deadline is None else max(0.0, deadline - monotonic())
            self.finish(handle, left, "the sender's settlement")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that reads on gets the reason from the iterator; leaving the context needs no more.
        with suppress(EndpointClosed):
            super().__exit__(kind, error, trace)

    # For deliveries.

    def tell(self, delivery: Delivery, state: DeliveryState) -> None:
        """Send a state of a delivery without settling it."""
        self.post(self._tell, delivery, state)

    # Internals.

    def _settle(self, deliveries: tuple[Delivery, ...], state: DeliveryState) -> Any:
        return self.core.update(deliveries, state)

    def _tell(self, delivery: Delivery, state: DeliveryState) -> None:
        self.core.update([delivery], state, settled=False)

    def _take(self, timeout: float | None, *, ask: bool) -> ReceivedDelivery:
        receiving = self._receiving
        feed = receiving.feed
        if ask and not feed.items and not receiving.ended:
            self._ask()
        source = feed.take(timeout, f"a delivery from {self.address!r}")
        if receiving.wants_credit():
            with suppress(EndpointClosed):  # Only the next delivery is affected.
                self.post(receiving.top_up)
        return ReceivedDelivery(self, source)

    def _ask(self) -> None:
        """Grant credit if no delivery is here or can come."""
        receiving = self._receiving

        def grant() -> None:
            cancelled = receiving.cancelled
            if not (self.core.credit or receiving.feed.items or cancelled) and self.core.is_open:
                receiving.held = False
                self.core.flow(receiving.credit or 1)

        if not self.core.credit:
            with suppress(EndpointClosed):  # The feed raises the reason, after its deliveries.
                self.post(grant)

    def _fetch_now(self) -> ReceivedDelivery | None:
        """Take a delivery that the peer has now, and leave no credit outstanding."""
        receiving = self._receiving

        def drain() -> None:
            if self.core.is_open and not receiving.cancelled:
                self.core.flow(max(1, self.core.credit), drain=True)

        with suppress(EndpointClosed, TimeoutError):
            self.post(drain)
            seconds = self.wire.core.config.close_timeout
            self.wire.wait(lambda: not self.core.draining or receiving.error is not None, seconds, "the drain")
        try:
            return self._take(0, ask=False)
        except TimeoutError:
            return None

    def _leave(self, command: Callable[[], object], timeout: float | None) -> None:
        receiving = self._receiving
        if receiving.ended:
            return

        def leave() -> None:
            receiving.give_back()
            command()

        self.wire.run(leave)
        self.wire.wait(lambda: receiving.ended, timeout, "the detach")

    @property
    def _receiving(self) -> ReceiverAttachment:
        attachment = self._attachment
        assert isinstance(attachment, ReceiverAttachment)
        return attachment


__all__ = ["ReceivedDelivery", "Receiver", "ReceiverAttachment"]
