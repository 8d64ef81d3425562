"""The neutral client over 0-10: a session for each sender, receiver and transaction, and one for requests."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

from ..amqp_0_10 import Rejected as NativeRejected
from ..amqp_0_10 import Released as NativeReleased
from ..amqp_0_10.codec.records import ExchangeBind, QueueDeclare
from ..client.amqp_0_10.subscription import inbox_of
from ..client.opening import Opening
from ..events import Accepted, Rejected, Released
from ..versions import AMQP_0_10
from .addresses import place_of
from .connection import Bounded, Connection, Delivery, Outcome, Receiver, Sender, Sending, Transaction
from .mapping import read_0_10, write_0_10
from .message import Message

if TYPE_CHECKING:
    from ..amqp_1_0 import LinkState
    from ..client.amqp_0_10.connection import Connection as NativeConnection
    from ..client.amqp_0_10.session import Session
    from ..client.amqp_0_10.subscription import ReceivedMessage, Subscription
    from ..versions import Version

_UNROUTABLE: Final = 1
"""The code of message.reject for a message that no queue takes."""


class Sender_0_10(Sender):
    """A sender on a session. `owned`: the session is its own."""

    def __init__(self, address: str, session: Session, owned: bool) -> None:
        super().__init__(address, AMQP_0_10)
        self._place = place_of(address, AMQP_0_10)
        self._session = session
        self._owned = owned

    @property
    def native(self) -> Session:
        return self._session

    async def _send(self, message: Message, wait: bool) -> Outcome | Sending | None:
        exchange, key = self._place.exchange, self._place.key_for(message.subject)
        native = write_0_10(message, exchange, key)
        if wait:
            return _outcome(await self._session.publish(native, exchange, key))
        return Sending(await self._session.publish(native, exchange, key, wait=False), _outcome)

    async def close(self) -> None:
        if self._owned:
            await self._session.close()


def _outcome(native: Any) -> Outcome | None:
    if isinstance(native, NativeRejected):
        return Released(native.text or "unroutable") if native.code == _UNROUTABLE else Rejected(native.text)
    if isinstance(native, NativeReleased):
        return Released()
    return Accepted()


class Delivery_0_10(Delivery):
    """A message of a subscription."""

    __slots__ = ("_native",)

    def __init__(self, native: ReceivedMessage) -> None:
        super().__init__()
        self._native = native

    @property
    def native(self) -> ReceivedMessage:
        return self._native

    @property
    def redelivered(self) -> bool:
        return self._native.redelivered

    async def accept(self) -> None:
        await self._native.accept()

    async def reject(self, reason: str = "") -> None:
        await self._native.reject(text=reason)

    async def release(self) -> None:
        await self._native.release(set_redelivered=True)

    def _read(self) -> Message:
        return read_0_10(self._native.message)

    def _version(self) -> Version:
        return AMQP_0_10


class Receiver_0_10(Receiver):
    """A receiver with a subscription. `owned`: its session is its own."""

    def __init__(self, address: str, session: Session, subscription: Subscription, credit: int, owned: bool) -> None:
        super().__init__(address, AMQP_0_10)
        self._session = session
        self._subscription = subscription
        self._credit = credit
        self._owned = owned

    @property
    def native(self) -> Session:
        return self._session

    async def __anext__(self) -> Delivery:
        subscription = self._subscription
        if not inbox_of(subscription).items and subscription.is_open and subscription.granted[0] == 0:
            await subscription.grant(self._credit)  # The credit was drained.
        return Delivery_0_10(await subscription.__anext__())

    async def fetch(self, timeout: float | None = None) -> Delivery | None:
        subscription = self._subscription
        if not inbox_of(subscription).items and subscription.is_open and subscription.granted[0] == 0:
            await subscription.grant(self._credit)
        found = await subscription.fetch(timeout)
        return None if found is None else Delivery_0_10(found)

    async def drain(self) -> None:
        await self._subscription.flush()

    async def close(self) -> None:
        if self._owned:
            await self._session.close()
        else:
            await self._subscription.close()


async def open_receiver(address: str, session: Session, credit: int, owned: bool) -> Receiver_0_10:
    """Subscribe to a queue, or to a new one of its own that is bound to an exchange."""
    place = place_of(address, AMQP_0_10)
    queue = place.key or ""
    if not place.is_queue:
        queue = f"{session.name.decode()}-{len(session.subscriptions) + 1}"
        await session.call(QueueDeclare(queue, exclusive=True, auto_delete=True))
        await session.call(ExchangeBind(queue, place.exchange, place.key or ""))
    subscription = await session.subscribe(queue, credit=credit)
    return Receiver_0_10(address, session, subscription, credit, owned)


class Transaction_0_10(Transaction):
    """A transaction of one session (class tx)."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session

    def sender(self, address: str) -> Opening[Sender]:
        async def begin() -> Sender:
            return Sender_0_10(address, self._session, owned=False)

        return Opening(begin)

    def receiver(self, address: str, *, credit: int = 100) -> Opening[Receiver]:
        async def begin() -> Receiver:
            return await open_receiver(address, self._session, credit, owned=False)

        return Opening(begin)

    def _make(self) -> AbstractAsyncContextManager[object]:
        return self._session.transaction()

    async def _close(self) -> None:
        await self._session.close()


class Messaging_0_10(Connection):
    """The neutral client over a connection of 0-10."""

    def __init__(self, native: NativeConnection, bounded: Bounded) -> None:
        super().__init__(bounded)
        self._native = native
        self._requests: Session | None = None

    @property
    def version(self) -> Version:
        return AMQP_0_10

    @property
    def native(self) -> NativeConnection:
        return self._native

    async def _open_sender(self, address: str, state: LinkState | None) -> Sender:
        place_of(address, AMQP_0_10)
        return Sender_0_10(address, await self._native.open_session(), owned=True)

    async def _open_receiver(self, address: str, credit: int, state: LinkState | None) -> Receiver:
        place_of(address, AMQP_0_10)
        session = await self._native.open_session()
        try:
            return await open_receiver(address, session, credit, owned=True)
        except BaseException as error:
            await session.__aexit__(type(error), error, None)
            raise

    async def _request(self, address: str, message: Message) -> Message:
        place = place_of(address, AMQP_0_10)
        key = place.key_for(message.subject)
        native = write_0_10(message, place.exchange, key)
        if self._requests is None or (self._native.is_open and not self._requests.is_open):
            self._requests = await self._native.open_session()
        return read_0_10((await self._requests.request(native, place.exchange, key)).message)

    async def _open_transaction(self) -> Transaction:
        return Transaction_0_10(await self._native.open_session())


__all__ = ["Messaging_0_10"]
