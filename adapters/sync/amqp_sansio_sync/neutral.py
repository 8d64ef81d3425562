"""The neutral client of all versions, blocking: senders, receivers, requests, transactions.

Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, overload

from amqp_sansio.events import CloseReport
from amqp_sansio.messaging import Message, Outcome
from amqp_sansio.messaging import connection as neutral

from .blocking import Blocking, NeutralConnection, Timed, opened
from .processing import Processed

if TYPE_CHECKING:
    from amqp_sansio.amqp_1_0 import LinkState
    from amqp_sansio.client.metrics import Metrics
    from amqp_sansio.uri import AmqpUri
    from amqp_sansio.versions import Version

    from .driver import Driver


class Sending(Blocking[neutral.Sending]):
    """A message on its way, from `sender.send(message, wait=False)`: ask `result` for its outcome."""

    __slots__ = ()

    @property
    def done(self) -> bool:
        """Whether its outcome is known, or never will be."""
        return self._inner.done

    def result(self, timeout: float | None = None) -> Outcome | None:
        """Wait for its outcome; see `Sender.send`."""
        return self._driver.run(self._inner.result(), timeout, "result")


class Sender(Blocking[neutral.Sender]):
    """Sends messages to one address, from `connection.sender(address)`. `close` it, or leave its context.

    It has a channel or session of its own: an error of one sender ends no other.
    """

    __slots__ = ()
    _END = "the end of the sender"

    @property
    def address(self) -> str:
        """Its address, as it was given."""
        return self._inner.address

    @property
    def version(self) -> Version:
        """The connection's version."""
        return self._inner.version

    @overload
    def send(
        self, message: Message | bytes, *, wait: Literal[True] = True, timeout: float | None = None
    ) -> Outcome | None: ...
    @overload
    def send(self, message: Message | bytes, *, wait: Literal[False], timeout: float | None = None) -> Sending: ...
    @overload
    def send(
        self, message: Message | bytes, *, wait: bool, timeout: float | None = None
    ) -> Outcome | Sending | None: ...
    def send(
        self, message: Message | bytes, *, wait: bool = True, timeout: float | None = None
    ) -> Outcome | Sending | None:
        """Send a message and return its outcome: Accepted, Rejected, or Released if it came back, as one that no queue
        takes. `bytes` are the body of a message without other fields.

        None: 0-8, and transactions of 0-8 and 0-9-1, have no outcomes. With `wait=False` it doesn't wait for the
        outcome: the result is a `Sending` to ask later. Raises EndpointClosed if the sender or the connection has
        ended, CodecError, TypeError and ValueError for a message that the version can't express.

        >>> def example(sender: Sender) -> None:
        ...     outcome = sender.send(Message(b"hello", durable=True))
        ...     later = [sender.send(b"%d" % number, wait=False) for number in range(100)]
        ...     outcomes = [each.result() for each in later]
        """
        found = self._driver.run(self._inner.send(message, wait=wait), timeout, "the outcome", True)
        return Sending(self._driver, found) if isinstance(found, neutral.Sending) else found

    def saved_state(self) -> LinkState:
        """Return the state of a link of 1.0, for `connection.sender(address, state=...)` on another connection.

        Raises Unsupported in other versions.
        """
        return self._driver.read(lambda: self._inner.saved_state())

    def close(self, timeout: float | None = None) -> None:
        """Close it. On a closed sender this does nothing."""
        return self._driver.end(lambda: self._inner.close(), timeout, "close")


class Delivery(Processed, Blocking[neutral.Delivery]):
    """A received message. Settle it once with `accept`, `reject`, `release` or `modify`.

    These return when the settlement is queued, and raise LocalProtocolError for a delivery that is settled already,
    EndpointClosed if its receiver or connection has ended.
    """

    __slots__ = ()

    @property
    def message(self) -> Message:
        """The message, decoded on first access, without damaged properties."""
        return self._inner.message

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before; in 1.0, whether a delivery has failed."""
        return self._inner.redelivered

    def accept(self, timeout: float | None = None) -> None:
        """Accept it: its queue forgets it."""
        self._driver.run(self._inner.accept(), timeout, "accept")

    def reject(self, reason: str = "", *, timeout: float | None = None) -> None:
        """Reject it for good: its queue drops or dead-letters it. 0-10 and 1.0 tell the broker the `reason`."""
        self._driver.run(self._inner.reject(reason), timeout, "reject")

    def release(self, timeout: float | None = None) -> None:
        """Return it to its queue, to be delivered again."""
        self._driver.run(self._inner.release(), timeout, "release")

    def modify(
        self, *, delivery_failed: bool = False, undeliverable_here: bool = False, timeout: float | None = None
    ) -> None:
        """Return it to its queue, counted as a failed delivery, or not for this receiver again.

        Raises Unsupported in versions before 1.0.
        """
        operation = self._inner.modify(delivery_failed=delivery_failed, undeliverable_here=undeliverable_here)
        self._driver.run(operation, timeout, "modify")


class Receiver(Blocking[neutral.Receiver]):
    """Receives messages from one address, from `connection.receiver(address)`: an iterator of `Delivery`. `close` it,
    or leave its context.

    The iteration ends when this end closes the receiver or its connection, and raises EndpointClosed, with the reason,
    when the peer or an error does. It has a channel or session of its own: an error of one receiver ends no other.
    """

    __slots__ = ("timeout",)
    _END = "the end of the receiver"

    def __init__(self, driver: Driver, inner: neutral.Receiver, timeout: float | None) -> None:
        super().__init__(driver, inner)
        self.timeout = timeout

    def __iter__(self) -> Receiver:
        return self

    def __next__(self) -> Delivery:
        try:
            found = self._driver.run(self._inner.__anext__(), self.timeout, f"a delivery from {self.address!r}")
        except StopAsyncIteration:
            raise StopIteration from None
        return Delivery(self._driver, found)

    @property
    def address(self) -> str:
        """Its address, as it was given."""
        return self._inner.address

    @property
    def version(self) -> Version:
        """The connection's version."""
        return self._inner.version

    def fetch(self, timeout: float | None = None) -> Delivery | None:
        """Return the next delivery; None if there is none within `timeout` seconds (None: wait).

        >>> def example(receiver: Receiver) -> None:
        ...     while (delivery := receiver.fetch(timeout=1)) is not None:
        ...         delivery.accept()
        """
        found = self._driver.run(self._inner.fetch(timeout), None, "fetch")
        return None if found is None else Delivery(self._driver, found)

    def drain(self, timeout: float | None = None) -> None:
        """Let the peer send what it has, and wait until it has; received messages are iterated as usual.

        Raises Unsupported in 0-8 and 0-9-1.
        """
        self._driver.run(self._inner.drain(), timeout, "the drain")

    def saved_state(self) -> LinkState:
        """Return the state of a link of 1.0, for `connection.receiver(address, state=...)` on another connection.

        Raises Unsupported in other versions.
        """
        return self._driver.read(lambda: self._inner.saved_state())

    def close(self, timeout: float | None = None) -> None:
        """Close it; messages that aren't settled return to their queue. On a closed receiver this does nothing."""
        return self._driver.end(lambda: self._inner.close(), timeout, "close")


class Transaction(Timed[neutral.Transaction]):
    """A transaction, from `connection.transaction()`: a context that commits at its end, and undoes everything if an
    exception leaves it.

    It covers what its own senders and receivers send and settle. They end with it; messages that aren't settled return
    to their queues.
    """

    __slots__ = ()
    _END = "the commit"

    def sender(self, address: str, *, timeout: float | None = None) -> Sender:
        """Return a sender in the transaction: use it as a context."""
        found = self._driver.run(opened(self._inner.sender(address)), self._seconds(timeout), "sender")
        return Sender(self._driver, found)

    def receiver(self, address: str, *, credit: int = 100, timeout: float | None = None) -> Receiver:
        """Return a receiver in the transaction: use it as a context."""
        operation = self._inner.receiver(address, credit=credit)
        found = self._driver.run(opened(operation), self._seconds(timeout), "receiver")
        return Receiver(self._driver, found, self._seconds(timeout))

    def commit(self, timeout: float | None = None) -> None:
        """Make everything done so far effective, and go on with another transaction on the same senders and receivers.

        Raises TransactionFailed or EndpointClosed if the broker can't: then it is undone.
        """
        self._driver.run(self._inner.commit(), self._seconds(timeout), "the commit")


class Connection(NeutralConnection):
    """A connection of any version, from `connect(url)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection, or of a part of it, that no call has
    raised.

    >>> def example(connection: Connection) -> None:
    ...     with connection.sender("/queues/jobs") as sender:
    ...         sender.send(Message(b"hello", subject="greeting", headers={"try": 1}))
    ...     with connection.receiver("/queues/jobs", credit=10) as receiver:
    ...         for delivery in receiver:
    ...             delivery.accept()
    """

    __slots__ = ()

    @property
    def version(self) -> Version:
        """The version that was negotiated."""
        return self._inner.version

    @property
    def uri(self) -> AmqpUri:
        """The server's address and options."""
        return self._inner.uri

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._inner.is_open

    @property
    def metrics(self) -> Metrics:
        """Its counters and gauges, which live on when it recovers, and can be read after its end."""
        return self._inner.metrics

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    def sender(self, address: str, *, state: LinkState | None = None, timeout: float | None = None) -> Sender:
        """Return a sender to an address: use it as a context that closes it.

        Addresses are `/queues/Q`, `Q`, `/exchanges/E/K`, and `/exchanges/E`, whose routing key is the message's
        subject. `state` resumes a link of 1.0. Raises ValueError for a malformed address, Unsupported for `state` in
        another version, EndpointClosed if the peer refuses. Of a queue or exchange that isn't there 1.0 tells at once,
        earlier versions with the first message: it is Released, or raises EndpointClosed.
        """
        found = self._driver.run(opened(self._inner.sender(address, state=state)), timeout, "sender")
        return Sender(self._driver, found)

    def receiver(
        self, address: str, *, credit: int = 100, state: LinkState | None = None, timeout: float | None = None
    ) -> Receiver:
        """Return a receiver from an address: use it as a context that closes it.

        At most `credit` messages wait here to be taken, in 0-8 and 0-9-1 to be settled; it is kept filled. An exchange
        as the address means a queue of the receiver's own, bound with the key. `state` resumes a link of 1.0. Raises
        ValueError for a malformed address or a credit below 1, Unsupported, EndpointClosed if the peer refuses.
        """
        found = self._driver.run(opened(self._inner.receiver(address, credit=credit, state=state)), timeout, "receiver")
        return Receiver(self._driver, found, timeout)

    def request(self, address: str, message: Message | bytes, *, timeout: float | None = None) -> Message:
        """Send a request and return its reply, a message with the same correlation-id.

        It sets reply-to, to an address of this connection's own, and a missing correlation-id. Any number of threads
        may call at once. Raises TimeoutError after `timeout` seconds (None: never), NotAccepted for a request that
        isn't accepted, EndpointClosed.

        >>> def example(connection: Connection) -> bytes:
        ...     return (connection.request("/queues/rpc", Message(b"ping"), timeout=5)).body
        """
        return self._driver.run(self._inner.request(address, message), timeout, "request")

    def transaction(self, timeout: float | None = None) -> Transaction:
        """Return a transaction, as a context.

        >>> def example(connection: Connection) -> None:
        ...     with connection.transaction() as transaction:
        ...         receiver = transaction.receiver("/queues/jobs")
        ...         sender = transaction.sender("/queues/done")
        ...         delivery = receiver.fetch()
        ...         if delivery is not None:
        ...             sender.send(delivery.message)
        ...             delivery.accept()
        """
        found = self._driver.run(opened(self._inner.transaction()), timeout, "transaction")
        return Transaction(self._driver, found, timeout)

    def close(self, timeout: float | None = None) -> CloseReport:
        """Close with a handshake; return how the connection ended. On a closed connection this does nothing."""
        return self._close(lambda: self._inner.close(), timeout)

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the connection has ended, by either side; return how it ended."""
        return self._driver.run(self._inner.wait_closed(), timeout, "wait_closed")


__all__ = [
    "Connection",
    "Delivery",
    "Receiver",
    "Sender",
    "Sending",
    "Transaction",
]
