"""The neutral client: connections, senders, receivers, deliveries and transactions, alike in every version."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, overload

from ..client.opening import Opening
from ..client.processing import Processed
from ..errors import AnswerTimeout, Unsupported
from ..events import Accepted, CloseReport, Rejected, Released
from .message import Message

if TYPE_CHECKING:
    from typing import Self

    from ..amqp_1_0 import LinkState
    from ..client.amqp_0_10.connection import Connection as Connection_0_10
    from ..client.amqp_0_10.publishing import SentMessage
    from ..client.amqp_0_10.session import Session as Session_0_10
    from ..client.amqp_0_10.subscription import ReceivedMessage
    from ..client.amqp_1_0.connection import Connection as Connection_1_0
    from ..client.amqp_1_0.receiver import ReceivedDelivery
    from ..client.amqp_1_0.receiver import Receiver as Receiver_1_0
    from ..client.amqp_1_0.sender import Sender as Sender_1_0
    from ..client.amqp_1_0.sender import SentDelivery
    from ..client.classic.channel import Channel, Confirmation
    from ..client.classic.connection import Connection as ClassicConnection
    from ..client.classic.consumer import Delivery as ClassicDelivery
    from ..client.metrics import Metrics
    from ..uri import AmqpUri
    from ..versions import Version

    Native: TypeAlias = ClassicConnection | Connection_0_10 | Connection_1_0

Outcome: TypeAlias = Accepted | Rejected | Released
"""The outcome of a message that was sent, in every version."""
Bounded: TypeAlias = "Callable[[float | None], AbstractAsyncContextManager[object]]"
"""Returns a context that raises TimeoutError after so many seconds; the adapter's."""

_INSTEAD: Final = {
    "modify": "call release() to have it delivered again, or reject()",
    "drain": "call fetch(timeout=...) until it returns None",
    "saved_state": "the state of a link outlives its connection in 1.0 only; in 0-10 see Session.detached_state()",
}


def unsupported(version: Version, what: str) -> Unsupported:
    """Return the error of a call that a version has nothing for."""
    return Unsupported(f"AMQP {version.label} has no {what}: {_INSTEAD[what]}")


async def _left(close: Callable[[], Awaitable[object]], error: BaseException | None) -> None:
    """Close something whose context is left; `error`, which leaves it, goes on with a note if nobody answers that."""
    try:
        await close()
    except AnswerTimeout as late:
        if error is None:
            raise
        error.add_note(str(late))


class Sending:
    """A message on its way, from `sender.send(message, wait=False)`: `await` it for its outcome."""

    __slots__ = ("_native", "_read")

    def __init__(
        self, native: Confirmation | SentMessage | SentDelivery | None, read: Callable[[Any], Outcome | None]
    ) -> None:
        self._native = native
        self._read = read

    @property
    def done(self) -> bool:
        """Whether its outcome is known, or never will be."""
        return self._native is None or self._native.done

    async def result(self) -> Outcome | None:
        """Wait for its outcome; see `Sender.send`."""
        return None if self._native is None else self._read(await self._native.result())

    def __await__(self) -> Generator[Any, None, Outcome | None]:
        return self.result().__await__()

    def __repr__(self) -> str:
        return f"<Sending, {'done' if self.done else 'pending'}>"


class Sender(ABC):
    """Sends messages to one address, from `connection.sender(address)`. `close` it, or leave its context.

    It has a channel or session of its own: an error of one sender ends no other.
    """

    def __init__(self, address: str, version: Version) -> None:
        self._address = address
        self._version = version

    @property
    def address(self) -> str:
        """Its address, as it was given."""
        return self._address

    @property
    def version(self) -> Version:
        """The connection's version."""
        return self._version

    @property
    @abstractmethod
    def native(self) -> Channel | Session_0_10 | Sender_1_0:
        """The version's own object that sends."""

    @overload
    async def send(self, message: Message | bytes, *, wait: Literal[True] = True) -> Outcome | None: ...
    @overload
    async def send(self, message: Message | bytes, *, wait: Literal[False]) -> Sending: ...
    @overload
    async def send(self, message: Message | bytes, *, wait: bool) -> Outcome | Sending | None: ...
    async def send(self, message: Message | bytes, *, wait: bool = True) -> Outcome | Sending | None:
        """Send a message and return its outcome: Accepted, Rejected, or Released if it came back, as one that no queue
        takes. `bytes` are the body of a message without other fields.

        None: 0-8, and transactions of 0-8 and 0-9-1, have no outcomes. With `wait=False` it doesn't wait for the
        outcome: the result is a `Sending` to await later. Raises EndpointClosed if the sender or the connection has
        ended, CodecError, TypeError and ValueError for a message that the version can't express.

        >>> async def example(sender: Sender) -> None:
        ...     outcome = await sender.send(Message(b"hello", durable=True))
        ...     later = [await sender.send(b"%d" % number, wait=False) for number in range(100)]
        ...     outcomes = [await each for each in later]
        """
        whole = message if isinstance(message, Message) else Message(message)
        return await self._send(whole, wait)

    def saved_state(self) -> LinkState:
        """Return the state of a link of 1.0, for `connection.sender(address, state=...)` on another connection.

        Raises Unsupported in other versions.
        """
        raise unsupported(self.version, "saved_state")

    @abstractmethod
    async def close(self) -> None:
        """Close it. On a closed sender this does nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _left(self.close, error)

    @abstractmethod
    async def _send(self, message: Message, wait: bool) -> Outcome | Sending | None: ...

    def __repr__(self) -> str:
        return f"<Sender to {self.address!r}, AMQP {self.version.label}>"


class Delivery(Processed, ABC):
    """A received message. Settle it once with `accept`, `reject`, `release` or `modify`.

    These return when the settlement is queued, and raise LocalProtocolError for a delivery that is settled already,
    EndpointClosed if its receiver or connection has ended.
    """

    __slots__ = ("_message",)

    def __init__(self) -> None:
        self._message: Message | None = None

    @property
    def message(self) -> Message:
        """The message, decoded on first access, without damaged properties."""
        if self._message is None:
            self._message = self._read()
        return self._message

    @property
    @abstractmethod
    def native(self) -> ClassicDelivery | ReceivedMessage | ReceivedDelivery:
        """The version's own delivery, with everything that a neutral message has no field for."""

    @property
    @abstractmethod
    def redelivered(self) -> bool:
        """Whether it may have been delivered before; in 1.0, whether a delivery has failed."""

    @abstractmethod
    async def accept(self) -> None:
        """Accept it: its queue forgets it."""

    @abstractmethod
    async def reject(self, reason: str = "") -> None:
        """Reject it for good: its queue drops or dead-letters it. 0-10 and 1.0 tell the broker the `reason`."""

    @abstractmethod
    async def release(self) -> None:
        """Return it to its queue, to be delivered again."""

    async def modify(self, *, delivery_failed: bool = False, undeliverable_here: bool = False) -> None:
        """Return it to its queue, counted as a failed delivery, or not for this receiver again.

        Raises Unsupported in versions before 1.0.
        """
        raise unsupported(self._version(), "modify")

    @abstractmethod
    def _read(self) -> Message: ...

    @abstractmethod
    def _version(self) -> Version: ...

    def __repr__(self) -> str:
        return f"<Delivery, AMQP {self._version().label}, {len(self.native.body)} octets>"


class Receiver(ABC):
    """Receives messages from one address, from `connection.receiver(address)`: an async iterator of `Delivery`.
    `close` it, or leave its context.

    The iteration ends when this end closes the receiver or its connection, and raises EndpointClosed, with the reason,
    when the peer or an error does. It has a channel or session of its own: an error of one receiver ends no other.
    """

    def __init__(self, address: str, version: Version) -> None:
        self._address = address
        self._version = version

    @property
    def address(self) -> str:
        """Its address, as it was given."""
        return self._address

    @property
    def version(self) -> Version:
        """The connection's version."""
        return self._version

    @property
    @abstractmethod
    def native(self) -> Channel | Session_0_10 | Receiver_1_0:
        """The version's own object that receives."""

    def __aiter__(self) -> Self:
        return self

    @abstractmethod
    async def __anext__(self) -> Delivery: ...

    @abstractmethod
    async def fetch(self, timeout: float | None = None) -> Delivery | None:
        """Return the next delivery; None if there is none within `timeout` seconds (None: wait).

        >>> async def example(receiver: Receiver) -> None:
        ...     while (delivery := await receiver.fetch(timeout=1)) is not None:
        ...         await delivery.accept()
        """

    async def drain(self) -> None:
        """Let the peer send what it has, and wait until it has; received messages are iterated as usual.

        Raises Unsupported in 0-8 and 0-9-1.
        """
        raise unsupported(self.version, "drain")

    def saved_state(self) -> LinkState:
        """Return the state of a link of 1.0, for `connection.receiver(address, state=...)` on another connection.

        Raises Unsupported in other versions.
        """
        raise unsupported(self.version, "saved_state")

    @abstractmethod
    async def close(self) -> None:
        """Close it; messages that aren't settled return to their queue. On a closed receiver this does nothing."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await _left(self.close, error)

    def __repr__(self) -> str:
        return f"<Receiver from {self.address!r}, AMQP {self.version.label}>"


class Transaction(ABC):
    """A transaction, from `connection.transaction()`: an async context that commits at its end, and undoes everything
    if an exception leaves it.

    It covers what its own senders and receivers send and settle. They end with it; messages that aren't settled return
    to their queues.
    """

    def __init__(self) -> None:
        self._current: AbstractAsyncContextManager[object] | None = None

    @abstractmethod
    def sender(self, address: str) -> Opening[Sender]:
        """Return a sender in the transaction: `await` it, or use it as an async context."""

    @abstractmethod
    def receiver(self, address: str, *, credit: int = 100) -> Opening[Receiver]:
        """Return a receiver in the transaction: `await` it, or use it as an async context."""

    async def commit(self) -> None:
        """Make everything done so far effective, and go on with another transaction on the same senders and receivers.

        Raises TransactionFailed or EndpointClosed if the broker can't: then it is undone.
        """
        await self._end(None, None, None)
        await self._begin()

    async def __aenter__(self) -> Self:
        if self._current is None:
            await self._begin()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._end(kind, error, trace)
        except BaseException as failure:
            await _left(self._close, failure)
            raise
        await _left(self._close, error)

    async def _begin(self) -> None:
        """Begin it, or close it if that fails."""
        current = self._make()
        try:
            await current.__aenter__()
        except BaseException as failure:
            await _left(self._close, failure)
            raise
        self._current = current

    async def _end(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        current, self._current = self._current, None
        if current is not None:
            await current.__aexit__(kind, error, trace)

    @abstractmethod
    def _make(self) -> AbstractAsyncContextManager[object]:
        """Return the version's own transaction, not begun."""

    @abstractmethod
    async def _close(self) -> None: ...


class Connection(ABC):
    """A connection of any version, from `connect(url)`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection, or of a part of it, that no call has
    raised.

    >>> async def example(connection: Connection) -> None:
    ...     async with connection.sender("/queues/jobs") as sender:
    ...         await sender.send(Message(b"hello", subject="greeting", headers={"try": 1}))
    ...     async with connection.receiver("/queues/jobs", credit=10) as receiver:
    ...         async for delivery in receiver:
    ...             await delivery.accept()
    """

    def __init__(self, bounded: Bounded) -> None:
        self._bounded = bounded

    @property
    @abstractmethod
    def version(self) -> Version:
        """The version that was negotiated."""

    @property
    @abstractmethod
    def native(self) -> Native:
        """The version's own connection, for what isn't neutral: declarations, and commands of one version."""

    @property
    def uri(self) -> AmqpUri:
        """The server's address and options."""
        return self.native.uri

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self.native.is_open

    @property
    def metrics(self) -> Metrics:
        """Its counters and gauges, which live on when it recovers, and can be read after its end."""
        return self.native.metrics

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.native.report

    def sender(self, address: str, *, state: LinkState | None = None) -> Opening[Sender]:
        """Return a sender to an address: `await` it, or use it as an async context that closes it.

        Addresses are `/queues/Q`, `Q`, `/exchanges/E/K`, and `/exchanges/E`, whose routing key is the message's
        subject. `state` resumes a link of 1.0. Raises ValueError for a malformed address, Unsupported for `state` in
        another version, EndpointClosed if the peer refuses. Of a queue or exchange that isn't there 1.0 tells at once,
        earlier versions with the first message: it is Released, or raises EndpointClosed.
        """
        self._check_state(state)
        return Opening(lambda: self._open_sender(address, state))

    def receiver(self, address: str, *, credit: int = 100, state: LinkState | None = None) -> Opening[Receiver]:
        """Return a receiver from an address: `await` it, or use it as an async context that closes it.

        At most `credit` messages wait here to be taken, in 0-8 and 0-9-1 to be settled; it is kept filled. An exchange
        as the address means a queue of the receiver's own, bound with the key. `state` resumes a link of 1.0. Raises
        ValueError for a malformed address or a credit below 1, Unsupported, EndpointClosed if the peer refuses.
        """
        if credit < 1:
            raise ValueError(f"credit {credit} is below 1: a receiver keeps it filled")
        self._check_state(state)
        return Opening(lambda: self._open_receiver(address, credit, state))

    async def request(self, address: str, message: Message | bytes, *, timeout: float | None = None) -> Message:
        """Send a request and return its reply, a message with the same correlation-id.

        It sets reply-to, to an address of this connection's own, and a missing correlation-id. Any number of tasks may
        call at once. Raises TimeoutError after `timeout` seconds (None: never), NotAccepted for a request that isn't
        accepted, EndpointClosed.

        >>> async def example(connection: Connection) -> bytes:
        ...     return (await connection.request("/queues/rpc", Message(b"ping"), timeout=5)).body
        """
        whole = message if isinstance(message, Message) else Message(message)
        try:
            async with self._bounded(timeout):
                return await self._request(address, whole)
        except TimeoutError as error:
            if timeout is None or error.args:
                raise
            raise TimeoutError(f"no reply from {address} within {timeout:g} seconds") from None

    def transaction(self) -> Opening[Transaction]:
        """Return a transaction, as an async context.

        >>> async def example(connection: Connection) -> None:
        ...     async with connection.transaction() as transaction:
        ...         receiver = await transaction.receiver("/queues/jobs")
        ...         sender = await transaction.sender("/queues/done")
        ...         delivery = await receiver.fetch()
        ...         if delivery is not None:
        ...             await sender.send(delivery.message)
        ...             await delivery.accept()
        """
        return Opening(self._begin_transaction)

    async def close(self) -> CloseReport:
        """Close with a handshake; return how the connection ended. On a closed connection this does nothing."""
        return await self.native.close()

    async def wait_closed(self) -> CloseReport:
        """Wait until the connection has ended, by either side; return how it ended."""
        return await self.native.wait_closed()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.native.__aexit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<Connection of AMQP {self.version.label}: {self.native!r}>"

    # Internals.

    def _check_state(self, state: LinkState | None) -> None:
        """Raise Unsupported for a state in a version without any."""
        if state is not None:
            raise unsupported(self.version, "saved_state")

    @abstractmethod
    async def _open_sender(self, address: str, state: LinkState | None) -> Sender: ...

    @abstractmethod
    async def _open_receiver(self, address: str, credit: int, state: LinkState | None) -> Receiver: ...

    @abstractmethod
    async def _request(self, address: str, message: Message) -> Message: ...

    async def _begin_transaction(self) -> Transaction:
        return await (await self._open_transaction()).__aenter__()

    @abstractmethod
    async def _open_transaction(self) -> Transaction:
        """Return a transaction that hasn't begun, with a channel or session of its own."""


__all__ = [
    "Bounded",
    "Connection",
    "Delivery",
    "Outcome",
    "Receiver",
    "Sender",
    "Sending",
    "Transaction",
    "unsupported",
]
