"""Connections of 1.0, blocking: sessions, senders, receivers, transactions, requests.

Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from amqp_sansio.amqp_1_0 import LinkRequested, SessionRequested, Source, Target
from amqp_sansio.client.amqp_1_0 import connection as connections
from amqp_sansio.client.amqp_1_0 import link as links
from amqp_sansio.client.amqp_1_0 import receiver as receivers
from amqp_sansio.client.amqp_1_0 import requester as requesters
from amqp_sansio.client.amqp_1_0 import sender as senders
from amqp_sansio.client.amqp_1_0 import session as sessions
from amqp_sansio.client.amqp_1_0 import transaction as transactions
from amqp_sansio.client.amqp_1_0.settings import ConfigOptions
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, Blocking, EventStream, Timed, inner_of, inners_of, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import Delivery, DeliveryState, Described, Error, LinkState, Message, Properties
    from amqp_sansio.amqp_1_0 import Receiver as CoreReceiver
    from amqp_sansio.amqp_1_0 import Sender as CoreSender
    from amqp_sansio.amqp_1_0 import Session as CoreSession
    from amqp_sansio.amqp_1_0.spec import Attach, Coordinator, Open, TransactionalState

    from .driver import Driver

_E = TypeVar("_E", bound=Event)
_L = TypeVar("_L", bound="links.Link[Any]")


class Transaction(Timed[transactions.Transaction]):
    """A transaction, returned by `session.transaction()`: pass it as `transaction` to `send`, `accept` and so on.

    As a context it is declared on entering, committed at the end, and rolled back if an exception leaves it. Raises
    TransactionFailed if the coordinator refuses to declare or to commit, LinkEnded if the coordinator is gone.

    >>> def example(session: Session, sender: Sender) -> None:
    ...     transaction = session.transaction()
    ...     transaction.declare()
    ...     sender.send(b"hello", transaction=transaction)
    ...     transaction.commit()
    """

    __slots__ = ()
    _START = "the declaration of the transaction"

    @property
    def txn_id(self) -> bytes:
        """The coordinator's id for it. Raises LocalProtocolError before it is declared."""
        return self._inner.txn_id

    @property
    def ended(self) -> bool:
        """Whether it was committed or rolled back, successfully or not."""
        return self._inner.ended

    def state(self, outcome: DeliveryState | None = None) -> TransactionalState:
        """Return the delivery state that puts a message, or an outcome, into the transaction. Raises LocalProtocolError
        if the transaction has ended.
        """
        return self._driver.read(lambda: self._inner.state(outcome))

    def declare(self, timeout: float | None = None) -> None:
        """Begin it; entering the context does."""
        self._driver.run(self._inner.declare(), self._seconds(timeout), "the declaration of the transaction")

    def commit(self, timeout: float | None = None) -> None:
        """Make everything done in it effective. Raises TransactionFailed if the coordinator can't: then everything is
        undone.
        """
        self._driver.run(self._inner.commit(), self._seconds(timeout), "the commit")

    def rollback(self, timeout: float | None = None) -> None:
        """Undo everything done in it."""
        self._driver.run(self._inner.rollback(), self._seconds(timeout), "the rollback")


class Link(Blocking[_L]):
    """One attachment of a link, as a sender or a receiver. Dropping the last reference to it closes the link."""

    __slots__ = ()
    _END = "the end of the link"

    @property
    def core(self) -> CoreSender | CoreReceiver:
        """The link of the core, for its properties. Don't call its commands."""
        return self._inner.core

    @property
    def name(self) -> str:
        """Its name between the two containers."""
        return self._inner.name

    @property
    def source(self) -> Source | None:
        """The negotiated source of its messages."""
        return self._inner.source

    @property
    def target(self) -> Target | Coordinator | None:
        """The negotiated target of its messages."""
        return self._inner.target

    @property
    def address(self) -> str:
        """The address at the peer: a sender's target, a receiver's source; the peer chose it for a dynamic node. Empty
        for the anonymous terminus.
        """
        return self._inner.address

    @property
    def remote(self) -> Attach | None:
        """The peer's attach: its properties and capabilities."""
        return self._inner.remote

    @property
    def credit(self) -> int:
        """Deliveries that may still be sent on it."""
        return self._inner.credit

    @property
    def max_message_size(self) -> int:
        """The largest message that the receiving end accepts, in octets; 0: any."""
        return self._inner.max_message_size

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._inner.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    def saved_state(self) -> LinkState:
        """Return the state for a new attachment to continue with: its terminus and its unsettled deliveries. It
        pickles; give it to `open_sender` or `open_receiver` as `state`, on any session and connection.

        >>> def example(session: Session, sender: Sender) -> None:
        ...     sent = sender.send(b"hello", wait=False)
        ...     session.close()
        ...     state = sender.saved_state()
        ...     assert len(state.unsettled) <= 1
        """
        return self._driver.read(lambda: self._inner.saved_state())

    def close(
        self,
        condition: str = "",
        description: str = "",
        info: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> CloseReport:
        """Close the link for good, with an error if `condition` names one, and wait for the peer's answer; return how
        it ended. On an ended link this does nothing. Raises AnswerTimeout after `close_timeout` seconds: the link is
        given up.
        """
        return self._driver.end(lambda: self._inner.close(condition, description, info), timeout, "the end of the link")

    def detach(self, timeout: float | None = None) -> LinkState:
        """Detach without closing, so that both ends keep unsettled deliveries, and return the state to continue with:
        `session.open_sender(state=state)`, or `open_receiver`. Raises AnswerTimeout after `close_timeout` seconds: the
        link is given up, and `saved_state` has its state.

        >>> def example(session: Session, sender: Sender) -> None:
        ...     state = sender.detach()
        ...     with session.open_sender(state=state) as again:
        ...         for sent in again.pending.values():
        ...             sent.result()
        """
        return self._driver.run(self._inner.detach(), timeout, "the end of the link")

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the link has ended, by either side; return how it ended."""
        return self._driver.run(self._inner.wait_closed(), timeout, "the end of the link")


class SentDelivery(Blocking[senders.SentDelivery]):
    """A message in transit: ask `result` for its outcome, any number of times.

    Interrupting the wait doesn't take the message back.
    """

    __slots__ = ()

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        return self._inner.delivery_tag

    @property
    def done(self) -> bool:
        """Whether it is settled, or never will be."""
        return self._inner.done

    @property
    def state(self) -> DeliveryState | None:
        """The receiver's latest state, such as Received; its outcome once it is settled."""
        with self._driver.lock:
            return self._inner.state

    def result(self, timeout: float | None = None) -> DeliveryState | None:
        """Wait for the outcome: Accepted, Rejected, Released or Modified. Raises LinkEnded if the link ends before."""
        return self._driver.run(self._inner.result(), timeout, "the outcome")


class Sender(Link[senders.Sender]):
    """A link on which messages are sent, returned by `session.open_sender()`. `close` it, or leave its context.

    Any number of threads may send at once. Every wait can be interrupted: the link stays usable. When the link ends,
    waiting callers get LinkEnded, with the peer's reason. The waits for credit and for an outcome raise AnswerTimeout
    after `outcome_timeout` seconds.
    """

    __slots__ = ()

    @property
    def core(self) -> CoreSender:
        """The sender of the core, for its properties. Don't call its commands."""
        return self._inner.core

    @property
    def pending(self) -> Mapping[bytes, SentDelivery]:
        """Unsettled deliveries, by tag; after `open_sender(state=...)` including those of the earlier attachment."""
        with self._driver.lock:
            found = self._inner.pending
        return {key: SentDelivery(self._driver, each) for key, each in found.items()}

    @overload
    def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[True] = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
    ) -> DeliveryState | None: ...
    @overload
    def send(
        self,
        message: Message | bytes,
        *,
        wait: Literal[False],
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
    ) -> SentDelivery: ...
    @overload
    def send(
        self,
        message: Message | bytes,
        *,
        wait: bool,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
    ) -> DeliveryState | SentDelivery | None: ...
    def send(
        self,
        message: Message | bytes,
        *,
        wait: bool = True,
        settled: bool | None = None,
        transaction: Transaction | None = None,
        delivery_tag: bytes | None = None,
        message_format: int = 0,
        timeout: float | None = None,
    ) -> DeliveryState | SentDelivery | None:
        """Send one message and return its outcome: Accepted, Rejected, Released or Modified; None if it was sent
        settled. `bytes` are the body of a message with one data section.

        It waits for credit, while the peer reads too slowly, and then for the settlement; with `wait=False` not for the
        latter: the result is a `SentDelivery` to ask later. `settled` None: the link's default. A send that is
        interrupted may have been sent. Raises LinkEnded if the link, session or connection ends, LocalProtocolError for
        a message that can't be sent.

        >>> def example(sender: Sender) -> None:
        ...     outcome = sender.send(b"hello")
        ...     later = [sender.send(Message(n), wait=False) for n in range(100)]
        ...     outcomes = [sent.result() for sent in later]
        """
        operation = self._inner.send(
            message,
            wait=wait,
            settled=settled,
            transaction=inner_of(transaction),
            delivery_tag=delivery_tag,
            message_format=message_format,
        )
        found = self._driver.run(operation, timeout, "the outcome", True)
        return SentDelivery(self._driver, found) if isinstance(found, senders.SentDelivery) else found

    def send_text(
        self,
        text: str,
        *,
        properties: Properties | None = None,
        application_properties: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> DeliveryState | None:
        """Send text in UTF-8 as a data section, with the content type text/plain unless the properties have one; see
        `send`.
        """
        operation = self._inner.send_text(text, properties=properties, application_properties=application_properties)
        return self._driver.run(operation, timeout, "send_text", True)

    def send_json(
        self,
        value: Any,
        *,
        properties: Properties | None = None,
        application_properties: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> DeliveryState | None:
        """Send a value as JSON, with the content type application/json unless the properties have one; see `send`.

        Raises TypeError for a value that JSON hasn't.
        """
        operation = self._inner.send_json(value, properties=properties, application_properties=application_properties)
        return self._driver.run(operation, timeout, "send_json", True)

    def wait_credit(self, timeout: float | None = None) -> int:
        """Wait until the peer accepts a message; return how many. Raises LinkEnded.

        >>> def example(sender: Sender) -> None:
        ...     for number in range(sender.wait_credit()):
        ...         sender.send(Message(number), wait=False)
        """
        return self._driver.run(self._inner.wait_credit(), timeout, "credit")


class ReceivedDelivery(Processed, Blocking[receivers.ReceivedDelivery]):
    """A received message. Settle it once with `accept`, `reject`, `release` or `modify`, unless the sender has settled
    it.

    These return when the disposition is queued; on a link whose receiver settles second, when the sender has settled
    too. They raise LocalProtocolError for a settled delivery, LinkEnded if the link is gone, StaleDelivery if the
    connection was lost since and the link wasn't resumed with it. With `transaction` the outcome takes effect when the
    transaction commits.

    >>> def example(receiver: Receiver) -> None:
    ...     delivery = receiver.fetch(timeout=5)
    ...     if delivery is not None and delivery.body is None:
    ...         delivery.reject("amqp:invalid-field", "nothing to do")
    ...     elif delivery is not None:
    ...         delivery.modify(delivery_failed=True)
    """

    __slots__ = ("receiver",)

    def __init__(self, driver: Driver, inner: receivers.ReceivedDelivery, receiver: Receiver) -> None:
        super().__init__(driver, inner)
        self.receiver = receiver

    @property
    def context(self) -> Any:
        """The value that the hook `on_deliver` returned for it; there is none without the hook."""
        return self._inner.context

    @property
    def message(self) -> Message:
        """The message; its sections are decoded on access, which may raise CodecError."""
        return self._inner.message

    @property
    def body(self) -> Any:
        """The message's body: octets, a value or a list. Raises CodecError if the payload is no message."""
        return self._inner.body

    @property
    def application_properties(self) -> dict[str, Any]:
        """The application's own fields as a plain dict, with plain dicts and lists within; empty without any."""
        return self._inner.application_properties

    @property
    def text(self) -> str:
        """The body as text: a string as it is, octets decoded from UTF-8. Raises TypeError for another body,
        UnicodeDecodeError.
        """
        return self._inner.text

    def json(self) -> Any:
        """Return the JSON value of the body's text. Raises ValueError if it has none, TypeError if it isn't text."""
        return self._driver.do(self._inner.json)

    @property
    def payload(self) -> bytes:
        """The message as received, all sections."""
        return self._inner.payload

    @property
    def delivery_tag(self) -> bytes:
        """Its name on the link."""
        return self._inner.delivery_tag

    @property
    def delivery_id(self) -> int:
        """Its number in the session."""
        return self._inner.delivery_id

    @property
    def message_format(self) -> int:
        """The format of the message: 0 for the standard's own."""
        return self._inner.message_format

    @property
    def settled(self) -> bool:
        """Whether the sender sent it settled, so that it needs no outcome."""
        return self._inner.settled

    @property
    def state(self) -> DeliveryState | Described | None:
        """The sender's state of it, such as the transaction it belongs to."""
        with self._driver.lock:
            return self._inner.state

    @property
    def resumed(self) -> bool:
        """Whether it continues from an earlier attachment of the link."""
        return self._inner.resumed

    @property
    def event(self) -> Delivery:
        """The core's event; another one when its link was resumed."""
        return self._inner.event

    def accept(self, *, transaction: Transaction | None = None, timeout: float | None = None) -> None:
        """Accept it."""
        self._driver.run(self._inner.accept(transaction=inner_of(transaction)), timeout, "the sender's settlement")

    def reject(
        self,
        condition: str = "",
        description: str = "",
        *,
        error: Error | None = None,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Reject it as invalid, with the reason as a condition or a whole `Error`."""
        operation = self._inner.reject(condition, description, error=error, transaction=inner_of(transaction))
        self._driver.run(operation, timeout, "the sender's settlement")

    def release(self, *, transaction: Transaction | None = None, timeout: float | None = None) -> None:
        """Return it unchanged, to be delivered again."""
        self._driver.run(self._inner.release(transaction=inner_of(transaction)), timeout, "the sender's settlement")

    def modify(
        self,
        *,
        delivery_failed: bool = False,
        undeliverable_here: bool = False,
        message_annotations: Mapping[Any, Any] | None = None,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Return it changed: counted as a failed delivery, not for this link again, or with annotations merged into its
        own.
        """
        operation = self._inner.modify(
            delivery_failed=delivery_failed,
            undeliverable_here=undeliverable_here,
            message_annotations=message_annotations,
            transaction=inner_of(transaction),
        )
        self._driver.run(operation, timeout, "the sender's settlement")

    def update(self, state: DeliveryState, *, timeout: float | None = None) -> None:
        """Send a state, such as Received, without settling."""
        self._driver.run(self._inner.update(state), timeout, "update")


class Receiver(Link[receivers.Receiver]):
    """A link on which messages arrive, returned by `session.open_receiver()`: an iterator of `ReceivedDelivery`.
    `close` it, or leave its context.

    With `credit` above 0 at most that many deliveries wait here: taking them grants the sender credit for more. With 0
    you manage it: `flow`, `drain`, or `fetch` for one at a time. The iteration ends when this end closes or detaches
    the link, or closes its session or connection; it raises LinkEnded, with the reason, when the peer or an error ends
    one of these.
    """

    __slots__ = ("timeout",)

    def __init__(self, driver: Driver, inner: receivers.Receiver, timeout: float | None) -> None:
        super().__init__(driver, inner)
        self.timeout = timeout

    def __iter__(self) -> Receiver:
        return self

    def __next__(self) -> ReceivedDelivery:
        try:
            found = self._driver.run(self._inner.__anext__(), self.timeout, f"a delivery from {self.address!r}")
        except StopAsyncIteration:
            raise StopIteration from None
        return ReceivedDelivery(self._driver, found, self)

    @property
    def core(self) -> CoreReceiver:
        """The receiver of the core, for its properties. Don't call its commands."""
        return self._inner.core

    @property
    def pending(self) -> Mapping[bytes, DeliveryState | None]:
        """The unsettled deliveries, by delivery-tag, with the last state sent for each."""
        with self._driver.lock:
            return self._inner.pending

    def fetch(self, timeout: float | None = None) -> ReceivedDelivery | None:
        """Return the next delivery; None if there is none within `timeout` seconds (None: wait).

        Without credit it asks for one delivery, and takes the credit back after the timeout, so that nothing arrives
        unrequested. Raises LinkEnded if the link has ended.

        >>> def example(receiver: Receiver) -> None:
        ...     delivery = receiver.fetch(timeout=5)
        ...     if delivery is not None:
        ...         delivery.accept()
        """
        found = self._driver.run(self._inner.fetch(timeout), None, "fetch")
        return None if found is None else ReceivedDelivery(self._driver, found, self)

    def flow(self, credit: int, *, timeout: float | None = None) -> None:
        """Let the sender send `credit` more deliveries, in place of its remaining credit. For links opened with
        `credit=0`.

        >>> def example(receiver: Receiver) -> None:
        ...     receiver.flow(100)
        ...     receiver.drain()
        ...     print(len(receiver.pending), "deliveries were there")
        """
        self._driver.run(self._inner.flow(credit), timeout, "flow")

    def drain(self, timeout: float | None = None) -> None:
        """Let the sender send its available deliveries, and wait until the credit is used or given up; received ones
        are iterated as usual. Raises LinkEnded, and AnswerTimeout after `answer_timeout` seconds.
        """
        self._driver.run(self._inner.drain(), timeout, "the drain")

    def cancel(self, timeout: float | None = None) -> None:
        """Take back the credit, and wait for the sender's answer. Received deliveries are still iterated, and can be
        settled: the link stays attached.

        >>> def example(receiver: Receiver) -> None:
        ...     receiver.cancel()
        ...     for delivery in receiver:
        ...         delivery.accept()
        """
        return self._driver.end(lambda: self._inner.cancel(), timeout, "the drain")

    def accept(
        self, *deliveries: ReceivedDelivery, transaction: Transaction | None = None, timeout: float | None = None
    ) -> None:
        """Accept any number of deliveries at once, in as few frames as possible.

        >>> def example(receiver: Receiver) -> None:
        ...     found = [receiver.fetch(timeout=0.01) for _ in range(10)]
        ...     receiver.accept(*[each for each in found if each is not None])
        """
        operation = self._inner.accept(*inners_of(deliveries), transaction=inner_of(transaction))
        self._driver.run(operation, timeout, "the sender's settlement")

    def settle(
        self,
        state: DeliveryState,
        *deliveries: ReceivedDelivery,
        transaction: Transaction | None = None,
        timeout: float | None = None,
    ) -> None:
        """Give deliveries an outcome; see `ReceivedDelivery`."""
        operation = self._inner.settle(state, *inners_of(deliveries), transaction=inner_of(transaction))
        self._driver.run(operation, timeout, "the sender's settlement")


class Requester(Blocking[requesters.Requester]):
    """Sends requests and returns the reply to each, returned by `session.open_requester()`. `close` it, or leave its
    context.

    A reply has the request's message-id, or its correlation-id, as its own correlation-id. Any number of threads may
    call at once.
    """

    __slots__ = ()
    _END = "the end of the link"

    @property
    def address(self) -> str:
        """The address for replies, a node created by the peer."""
        return self._inner.address

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._inner.is_open

    def call(self, message: Message | Any, *, timeout: float | None = None) -> Message:
        """Send a request and return its reply. Sets its reply-to, a missing message-id, and a missing correlation-id to
        the same, which a responder of an older version returns. Anything but a Message becomes the body of one.

        Raises NotAccepted if the request isn't accepted, LinkEnded if a link ends. Give it a `timeout`: a reply that
        comes too late is dropped. Raises ValueError for a message-id already in use.

        >>> def example(requester: Requester) -> object:
        ...     return (requester.call("ping")).body
        """
        return self._driver.run(self._inner.call(message), timeout, "the reply")

    def close(self, timeout: float | None = None) -> None:
        """Close both links; callers waiting for a reply get LinkEnded. Raises AnswerTimeout after `close_timeout`
        seconds: the links are given up.
        """
        return self._driver.end(lambda: self._inner.close(), timeout, "close")


class Session(Blocking[sessions.Session]):
    """One session, returned by `connection.open_session()`. `close` it, or leave its context; its links end with it.

    What the peer doesn't answer within `answer_timeout` seconds raises AnswerTimeout: a link, a drain, a transaction.
    """

    __slots__ = ()
    _END = "the end of the session"

    @property
    def core(self) -> CoreSession:
        """The session of the core, for its properties. Don't call its commands."""
        return self._inner.core

    @property
    def channel(self) -> int:
        """The channel on which this end sends."""
        return self._inner.channel

    @property
    def is_open(self) -> bool:
        """Whether links can be opened on it, as far as is known."""
        return self._inner.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    def open_sender(
        self,
        address: str | Target | Coordinator | None = None,
        *,
        name: str | None = None,
        source: Source | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
        timeout: float | None = None,
    ) -> Sender:
        """Open a link to send on: use it as a context that closes the link.

        `address` is a node's, or a whole `Target`; None is the anonymous terminus, to which each message brings its own
        address, or with `dynamic` a node that the peer creates: see `Sender.address`. The default settle modes are 2
        (mixed) and 0 (first). `state` resumes a link and has all of these: unsettled deliveries continue, see
        `Sender.pending`. Raises LinkEnded with the peer's condition if it refuses.

        >>> def example(session: Session) -> None:
        ...     with session.open_sender("jobs") as sender:
        ...         outcome = sender.send(b"hello")
        """
        operation = self._inner.open_sender(
            address,
            name=name,
            source=source,
            dynamic=dynamic,
            snd_settle_mode=snd_settle_mode,
            rcv_settle_mode=rcv_settle_mode,
            max_message_size=max_message_size,
            properties=properties,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
            state=state,
        )
        found = self._driver.run(opened(operation), timeout, "the attach")
        return Sender(self._driver, found)

    def open_receiver(
        self,
        address: str | Source | None = None,
        *,
        credit: int = 10,
        name: str | None = None,
        target: Target | str | None = None,
        dynamic: bool = False,
        snd_settle_mode: int | None = None,
        rcv_settle_mode: int | None = None,
        max_message_size: int = 0,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        state: LinkState | None = None,
        timeout: float | None = None,
    ) -> Receiver:
        """Open a link to receive on: use it as a context that closes the link.

        `address` is a node's, or a whole `Source`, which may have filters; None with `dynamic` is a node that the peer
        creates: see `Receiver.address`. At most `credit` deliveries wait here; with 0 you manage the credit. `state`
        resumes a link, with its address and modes. Raises LinkEnded with the peer's condition if it refuses.

        >>> def example(session: Session) -> None:
        ...     with session.open_receiver("jobs", credit=100) as receiver:
        ...         for delivery in receiver:
        ...             print(delivery.body)
        ...             delivery.accept()
        """
        operation = self._inner.open_receiver(
            address,
            credit=credit,
            name=name,
            target=target,
            dynamic=dynamic,
            snd_settle_mode=snd_settle_mode,
            rcv_settle_mode=rcv_settle_mode,
            max_message_size=max_message_size,
            properties=properties,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
            state=state,
        )
        found = self._driver.run(opened(operation), timeout, "the attach")
        return Receiver(self._driver, found, timeout)

    def open_requester(
        self, address: str | None, *, credit: int = 100, replies: str | None = None, timeout: float | None = None
    ) -> Requester:
        """Open a requester for `address`: a sender there and a receiver on a dynamic node for the replies, or at the
        address `replies`. None: each request names its destination in `to`.

        >>> from amqp_sansio.amqp_1_0 import Message
        >>> def example(session: Session) -> None:
        ...     with session.open_requester("rpc") as requester:
        ...         reply = requester.call(Message("ping"))
        """
        operation = self._inner.open_requester(address, credit=credit, replies=replies)
        found = self._driver.run(opened(operation), timeout, "the attach")
        return Requester(self._driver, found)

    def transaction(self, *, global_id: bytes | None = None, timeout: float | None = None) -> Transaction:
        """Return a transaction, as a context: declared on entering, committed at its end, rolled back if an exception
        leaves it (1.0 part 4).

        >>> def example(session: Session, sender: Sender, receiver: Receiver) -> None:
        ...     with session.transaction() as transaction:
        ...         delivery = receiver.fetch()
        ...         if delivery is not None:
        ...             sender.send(delivery.message, transaction=transaction)
        ...             delivery.accept(transaction=transaction)
        """
        return Transaction(self._driver, self._inner.transaction(global_id=global_id), timeout)

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return the session's other events: LinkRequested (answer it with `accept_link`), CreditChanged,
        DeliveryUpdated and so on; only `kinds`, if given.
        """
        return EventStream(self._driver, self._inner.events(*kinds, limit=limit), timeout)

    def accept_link(self, event: LinkRequested, *, credit: int = 10) -> Sender | Receiver:
        """Accept a link that the peer attaches, on its terms. `credit` is for receivers.

        Without a reader for `events(LinkRequested)`, such links are refused.

        >>> def example(session: Session) -> None:
        ...     for event in session.events(LinkRequested):
        ...         link = session.accept_link(event)
        """
        found = self._driver.do(self._inner.accept_link, event, credit=credit)
        if isinstance(found, senders.Sender):
            return Sender(self._driver, found)
        return Receiver(self._driver, found, None)

    def close(self, condition: str = "", description: str = "", *, timeout: float | None = None) -> CloseReport:
        """End the session and wait for the answer; return how it ended. On an ended session this does nothing.

        Raises AnswerTimeout after `close_timeout` seconds: the session is given up, with its links.
        """
        return self._driver.end(lambda: self._inner.close(condition, description), timeout, "the end of the session")


class Connection(BaseConnection[connections.Connection]):
    """A 1.0 connection, returned by `connect(url, version=AMQP_1_0)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection, of a session or of a link that no call
    has raised and no `report` has shown.

    >>> def example(connection: Connection) -> None:
    ...     session = connection.open_session()
    ...     with session.open_sender("jobs") as sender:
    ...         sender.send(b"hello")
    """

    __slots__ = ()

    @property
    def remote(self) -> Open:
        """The peer's open: its container-id, properties and capabilities."""
        return self._inner.remote

    def open_session(
        self,
        *,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
        timeout: float | None = None,
    ) -> Session:
        """Open a session: use it as a context that closes the session.

        Raises LimitExceeded at the negotiated channel-max, EndpointClosed with the reason if the peer refuses.

        >>> def example(connection: Connection) -> None:
        ...     with connection.open_session() as session:
        ...         sender = session.open_sender("jobs")
        """
        operation = self._inner.open_session(
            properties=properties, offered_capabilities=offered_capabilities, desired_capabilities=desired_capabilities
        )
        found = self._driver.run(opened(operation), timeout, "the begin")
        return Session(self._driver, found)

    def accept_session(self, event: SessionRequested) -> Session:
        """Accept a session that the peer begins. Without a reader for `events(SessionRequested)`, such sessions are
        refused.

        >>> from amqp_sansio.amqp_1_0 import SessionRequested
        >>> def example(connection: Connection) -> None:
        ...     for event in connection.events(SessionRequested):
        ...         session = connection.accept_session(event)
        """
        found = self._driver.do(self._inner.accept_session, event)
        return Session(self._driver, found)

    def put_token(self, entity: str, *, timeout: float | None = None) -> None:
        """Put a token for an entity now, and keep it good as long as the connection lives: for links whose address
        doesn't name the entity that they need.

        The option `cbs` of `connect` says where tokens come from; without it this raises LocalProtocolError. Raises
        TokenRefused with the peer's description, and what the provider raises.
        """
        self._driver.run(self._inner.put_token(entity), timeout, "put_token")

    def close(
        self,
        condition: str = "",
        description: str = "",
        info: Mapping[Any, Any] | None = None,
        *,
        timeout: float | None = None,
    ) -> CloseReport:
        """Close within `close_timeout` seconds, with an error if `condition` names one; return how the connection
        ended. On a closed connection this does nothing.
        """
        return self._close(lambda: self._inner.close(condition, description, info), timeout)


__all__ = [
    "ConfigOptions",
    "Connection",
    "Link",
    "ReceivedDelivery",
    "Receiver",
    "Requester",
    "Sender",
    "SentDelivery",
    "Session",
    "Transaction",
]
