"""Sender and SentDelivery: sent messages and their outcomes (1.0 part 2 section 2.6.12)."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, overload

from amqp_sansio import EndpointClosed, Event, LocalProtocolError, Pending
from amqp_sansio.amqp_1_0 import CreditChanged, DeliveryState, Message, NoCredit
from amqp_sansio.amqp_1_0 import Sender as CoreSender

from .link import Attachment, Link, in_transaction, outcome_of

if TYPE_CHECKING:
    from .session import Session
    from .transaction import Transaction


class SentDelivery:
    """A sent message, and its outcome once that is known."""

    __slots__ = ("_handle", "_sender")

    def __init__(self, sender: Sender, handle: Pending[Any]) -> None:
        self._sender = sender
        self._handle = handle

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        tag: bytes = self._handle.key[-1]  # type: ignore[assignment]
        return tag

    @property
    def done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._handle.done

    @property
    def state(self) -> DeliveryState | None:
        """The receiver's latest state; None before the first one, and if it was sent settled."""
        handle = self._handle
        if handle.done and handle.error is None:
            settled: DeliveryState | None = handle.result
            return settled
        return self._sender.state_of(handle)

    def result(self, timeout: float | None = None) -> DeliveryState | None:
        """Wait for the outcome: Accepted, Rejected, Released or Modified; None if it was sent settled.

        Raises TimeoutError after `timeout` seconds, and EndpointClosed if the link ended before: the receiver may or
        may not have taken the message. Then the link can be attached again with its saved state.

        >>> def example(sender: Sender) -> DeliveryState | None:
        ...     sent = sender.send(b"hello", wait=False)
        ...     return sent.result(timeout=5)
        """
        return outcome_of(self._sender.settled(self._handle, timeout))

    def __repr__(self) -> str:
        return f"<SentDelivery {self.delivery_tag.hex()}, {self.state if self.done else 'unsettled'}>"


class SenderAttachment(Attachment[CoreSender]):
    """A sender's link: its credit, and the receiver's requests."""

    __slots__ = ("draining", "waiting")

    def __init__(self, session: Session, core: CoreSender) -> None:
        super().__init__(session, core)
        self.draining = False
        self.waiting = 0

    def take(self, event: Event) -> None:
        if isinstance(event, CreditChanged):
            self.draining = event.drain
            self.drained()

    def drained(self) -> None:
        """Give up the remaining credit, if the receiver requests that and nobody waits for credit."""
        if self.draining and not self.waiting and self.core.is_open:
            # A delivery in progress goes first; CreditChanged comes after it.
            with suppress(LocalProtocolError):
                self.core.drained()
                self.draining = False


class Sender(Link[CoreSender]):
    """The sending end of a link, returned by `session.open_sender`."""

    __slots__ = ()

    @property
    def credit(self) -> int:
        """Number of messages that the receiver takes at the moment."""
        return self.core.credit

    @property
    def max_message_size(self) -> int:
        """The largest message that the receiver accepts, in octets; 0: any."""
        remote = self.core.remote
        return 0 if remote is None else remote.max_message_size or 0

    @property
    def pending(self) -> Mapping[bytes, SentDelivery]:
        """The unsettled deliveries, including those before the link was attached again, by delivery tag."""
        with self.wire.lock:
            return {tag: SentDelivery(self, each) for tag, each in self.core.pending.items()}

    @overload
    def send(
        self,
        message: Message | bytes,
        *,
        transaction: Transaction | None = None,
        settled: bool | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
        wait: Literal[True] = True,
    ) -> DeliveryState | None: ...
    @overload
    def send(
        self,
        message: Message | bytes,
        *,
        transaction: Transaction | None = None,
        settled: bool | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
        wait: Literal[False],
    ) -> SentDelivery: ...
    def send(
        self,
        message: Message | bytes,
        *,
        transaction: Transaction | None = None,
        settled: bool | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
        wait: bool = True,
    ) -> DeliveryState | SentDelivery | None:
        """Send one message and wait for its outcome: Accepted, Rejected, Released or Modified.

        It waits for credit, and while the peer reads too slowly. Octets are sent as one data section. With `settled`
        there is no outcome, and the result is None. Without `wait` the result is a SentDelivery once the socket has
        taken the message, so that many can be in transit. `timeout` applies to the whole call; after a TimeoutError the
        message may still be sent if its delivery is in `pending`. Raises LimitExceeded if too much is unsettled,
        LocalProtocolError for a message larger than the peer accepts.

        >>> def example(sender: Sender) -> bool:
        ...     outcome = sender.send(Message(body=b"hello", properties=Properties(subject="greeting")))
        ...     return isinstance(outcome, Accepted)
        """
        deadline = None if timeout is None else monotonic() + timeout
        made = message if isinstance(message, Message) else Message(message)
        fields: dict[str, Any] = {"message_format": message_format}
        if settled is not None:
            fields["settled"] = settled
        if delivery_tag is not None:
            fields["delivery_tag"] = delivery_tag
        if transaction is not None:
            fields["state"] = in_transaction(transaction, None)
        handle = self._post(lambda: self.core.send(made, **fields), deadline, timeout)
        if self.wire.unsent:
            self._wait(self._sent, deadline, timeout, "the send")
        if not wait:
            return SentDelivery(self, handle)
        if not handle.done:
            self._wait(lambda: handle.done, deadline, timeout, "the outcome")
        return outcome_of(self.settled(handle, None))

    def wait_credit(self, timeout: float | None = None) -> int:
        """Wait until the receiver takes messages; return how many. Raises LinkEnded if the link has ended.

        >>> def example(sender: Sender) -> int:
        ...     return sender.wait_credit(timeout=5)
        """
        deadline = None if timeout is None else monotonic() + timeout
        with self._wanting_credit():
            self._wait(lambda: self.core.credit > 0 or not self.core.is_open, deadline, timeout, "credit")
        if not self.core.is_open:
            raise self.gone()
        return self.core.credit

    # For deliveries.

    def state_of(self, handle: Pending[Any]) -> DeliveryState | None:
        """Return the receiver's state of an unsettled delivery."""
        told: DeliveryState | None = self.session.told(handle)
        return told

    def settled(self, handle: Pending[Any], timeout: float | None) -> DeliveryState | None:
        """Wait until a delivery is settled; return its state."""
        state: DeliveryState | None = self.finish(handle, timeout, "the outcome")
        return state

    def ask(self, command: Callable[[], Pending[Any]], timeout: float | None) -> Pending[Any]:
        """Wait for credit, then carry out a command that uses it."""
        return self._post(command, None if timeout is None else monotonic() + timeout, timeout)

    # Internals.

    def _post(self, command: Callable[[], Pending[Any]], deadline: float | None, timeout: float | None) -> Pending[Any]:
        if not self.wire.unsent:
            with suppress(NoCredit):
                return self.post(self._send, command)
        with self._wanting_credit():
            while True:
                self._wait(self._may_send, deadline, timeout, "credit to send")
                with suppress(NoCredit):  # Another thread was faster.
                    return self.post(self._send, command)

    def _send(self, command: Callable[[], Pending[Any]]) -> Pending[Any]:
        handle = command()
        self._sending.drained()
        return handle

    @contextmanager
    def _wanting_credit(self) -> Generator[None]:
        """Keep new credit even if the receiver wants to drain it."""
        attachment = self._sending
        with self.wire.lock:
            attachment.waiting += 1
        try:
            yield
        finally:
            with self.wire.lock:
                attachment.waiting -= 1
            if attachment.draining:
                with suppress(EndpointClosed):  # There is no credit to give up.
                    self.wire.run(attachment.drained)

    def _wait(self, done: Callable[[], bool], deadline: float | None, timeout: float | None, what: str) -> None:
        left = None if deadline is None else max(0.0, deadline - monotonic())
        try:
            self.wire.wait(done, left, what)
        except TimeoutError:
            raise TimeoutError(f"{what}: not within {timeout:g} seconds") from None

    @property
    def _sending(self) -> SenderAttachment:
        attachment = self._attachment
        assert isinstance(attachment, SenderAttachment)
        return attachment

    def _may_send(self) -> bool:
        return not self.core.is_open or (self.core.credit > 0 and not self.wire.unsent)

    def _sent(self) -> bool:
        return not self.wire.unsent


__all__ = ["Sender", "SenderAttachment", "SentDelivery"]
