"""The neutral client over 1.0: a session with a link for each sender and receiver, a session for each transaction."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, Final

from ..amqp_1_0 import Accepted as NativeAccepted
from ..amqp_1_0 import Error, Modified
from ..amqp_1_0 import Rejected as NativeRejected
from ..amqp_1_0 import Released as NativeReleased
from ..amqp_1_0.model.hints import info_of
from ..client.opening import Opening
from ..errors import EndpointClosed, LocalProtocolError
from ..events import Accepted, By, Rejected, Released
from ..versions import AMQP_1_0
from .addresses import Addresses, Place, check_given, place_of, written
from .connection import Bounded, Connection, Delivery, Outcome, Receiver, Sender, Sending, Transaction
from .mapping import read_1_0, write_1_0
from .message import Message

if TYPE_CHECKING:
    from ..amqp_1_0 import LinkState
    from ..client.amqp_1_0.connection import Connection as NativeConnection
    from ..client.amqp_1_0.receiver import ReceivedDelivery
    from ..client.amqp_1_0.receiver import Receiver as NativeReceiver
    from ..client.amqp_1_0.requester import Requester
    from ..client.amqp_1_0.sender import Sender as NativeSender
    from ..client.amqp_1_0.session import Session
    from ..client.amqp_1_0.transaction import Transaction as NativeTransaction
    from ..versions import Version

_REFUSED: Final = "amqp:precondition-failed"
"""The condition of a message that the application rejects with a reason."""
_BY_SUBJECT: Final = (None, "rabbitmq4")
"""Forms of addresses whose exchanges take no key from the subject: each message names its own in `to`."""


class Node:
    """An address of a node of 1.0, in the form of its broker. `target`: what a sender attaches to, None for the
    anonymous terminus.
    """

    def __init__(self, address: str, form: Addresses | None) -> None:
        self._form = form
        self._place: Place | None = None
        check_given(address)
        if form is not None or address.startswith("/exchanges/"):
            self._place = place_of(address, AMQP_1_0)
        self.address = address if self._place is None else written(address, self._place, form)
        by_subject = self._place is not None and self._place.key is None and form in _BY_SUBJECT
        self.target = None if by_subject else self.address

    def to(self, message: Message) -> str | None:
        """Return the address of a message for the anonymous terminus; None for another."""
        if self.target is not None or self._place is None:
            return None
        key = message.subject
        return written(self.address, Place(self._place.exchange, key), "rabbitmq4") if key else self.address


class Sender_1_0(Sender):
    """A sender on a link. `session` is its own, None for a transaction's."""

    def __init__(
        self, address: str, node: Node, link: NativeSender, session: Session | None, scope: Transaction_1_0 | None
    ) -> None:
        super().__init__(address, AMQP_1_0)
        self._node = node
        self._link = link
        self._session = session
        self._scope = scope

    @property
    def native(self) -> NativeSender:
        return self._link

    async def _send(self, message: Message, wait: bool) -> Outcome | Sending | None:
        native = write_1_0(message, self._node.to(message))
        transaction = None if self._scope is None else self._scope.current
        if wait:
            return outcome_of(await self._link.send(native, transaction=transaction))
        return Sending(await self._link.send(native, transaction=transaction, wait=False), outcome_of)

    def saved_state(self) -> LinkState:
        return self._link.saved_state()

    async def close(self) -> None:
        try:
            await self._link.close()
        finally:
            if self._session is not None:
                await self._session.close()


def outcome_of(native: Any) -> Outcome | None:
    """The neutral outcome of one of 1.0; None for a state that is none."""
    if isinstance(native, NativeAccepted):
        return Accepted()
    if isinstance(native, NativeRejected):
        error = native.error
        if not isinstance(error, Error):
            return Rejected()
        return Rejected(f"{error.condition} {error.description or ''}".rstrip(), info_of(error))
    if isinstance(native, (NativeReleased, Modified)):
        return Released()
    return None


class Delivery_1_0(Delivery):
    """A delivery of a link."""

    __slots__ = ("_native", "_scope")

    def __init__(self, native: ReceivedDelivery, scope: Transaction_1_0 | None) -> None:
        super().__init__()
        self._native = native
        self._scope = scope

    @property
    def native(self) -> ReceivedDelivery:
        return self._native

    @property
    def redelivered(self) -> bool:
        header = self._native.message.header
        return header is not None and header.delivery_count > 0

    async def accept(self) -> None:
        await self._native.accept(transaction=self._transaction)

    async def reject(self, reason: str = "") -> None:
        await self._native.reject(_REFUSED if reason else "", reason, transaction=self._transaction)

    async def release(self) -> None:
        await self._native.release(transaction=self._transaction)

    async def modify(self, *, delivery_failed: bool = False, undeliverable_here: bool = False) -> None:
        await self._native.modify(
            delivery_failed=delivery_failed, undeliverable_here=undeliverable_here, transaction=self._transaction
        )

    @property
    def _transaction(self) -> NativeTransaction | None:
        return None if self._scope is None else self._scope.current

    def _read(self) -> Message:
        return read_1_0(self._native.message)

    def _version(self) -> Version:
        return AMQP_1_0


class Receiver_1_0(Receiver):
    """A receiver on a link. `session` is its own, None for a transaction's."""

    def __init__(
        self, address: str, link: NativeReceiver, session: Session | None, scope: Transaction_1_0 | None
    ) -> None:
        super().__init__(address, AMQP_1_0)
        self._link = link
        self._session = session
        self._scope = scope

    @property
    def native(self) -> NativeReceiver:
        return self._link

    async def __anext__(self) -> Delivery:
        return Delivery_1_0(await self._link.__anext__(), self._scope)

    async def fetch(self, timeout: float | None = None) -> Delivery | None:
        found = await self._link.fetch(timeout)
        return None if found is None else Delivery_1_0(found, self._scope)

    async def drain(self) -> None:
        await self._link.drain()

    def saved_state(self) -> LinkState:
        return self._link.saved_state()

    async def close(self) -> None:
        try:
            await self._link.close()
        finally:
            if self._session is not None:
                await self._session.close()


class Transaction_1_0(Transaction):
    """A transaction of one session's coordinator, which its senders and receivers name with each message."""

    def __init__(self, session: Session, form: Addresses | None) -> None:
        super().__init__()
        self._session = session
        self._form: Addresses | None = form
        self._native: NativeTransaction | None = None

    @property
    def current(self) -> NativeTransaction:
        """The coordinator's transaction. Raises LocalProtocolError if it has ended."""
        if self._native is None or self._native.ended:
            raise LocalProtocolError("the transaction has ended; begin another")
        return self._native

    def sender(self, address: str) -> Opening[Sender]:
        async def begin() -> Sender:
            node = Node(address, self._form)
            return Sender_1_0(address, node, await self._session.open_sender(node.target), None, self)

        return Opening(begin)

    def receiver(self, address: str, *, credit: int = 100) -> Opening[Receiver]:
        async def begin() -> Receiver:
            link = await self._session.open_receiver(Node(address, self._form).address, credit=credit)
            return Receiver_1_0(address, link, None, self)

        return Opening(begin)

    def _make(self) -> AbstractAsyncContextManager[object]:
        self._native = self._session.transaction()
        return self._native

    async def _close(self) -> None:
        await self._session.close()


class Messaging_1_0(Connection):
    """The neutral client over a connection of 1.0."""

    def __init__(self, native: NativeConnection, bounded: Bounded, addresses: Addresses | None) -> None:
        super().__init__(bounded)
        self._native = native
        self._form: Addresses | None = addresses
        self._requesters: dict[str, Requester] = {}
        self._has_dynamic = True

    @property
    def version(self) -> Version:
        return AMQP_1_0

    @property
    def native(self) -> NativeConnection:
        return self._native

    def _check_state(self, state: LinkState | None) -> None:
        """1.0 has states of links."""

    async def _open_sender(self, address: str, state: LinkState | None) -> Sender:
        node = Node(address, self._form)
        session = await self._native.open_session()
        try:
            link = await session.open_sender(None if state is not None else node.target, state=state)
        except BaseException as error:
            await session.__aexit__(type(error), error, None)
            raise
        return Sender_1_0(address, node, link, session, None)

    async def _open_receiver(self, address: str, credit: int, state: LinkState | None) -> Receiver:
        node = Node(address, self._form)
        session = await self._native.open_session()
        try:
            link = await session.open_receiver(None if state is not None else node.address, credit=credit, state=state)
        except BaseException as error:
            await session.__aexit__(type(error), error, None)
            raise
        return Receiver_1_0(address, link, session, None)

    async def _request(self, address: str, message: Message) -> Message:
        node = Node(address, self._form)
        requester = self._requesters.get(address)
        if requester is None or (self._native.is_open and not requester.is_open):
            requester = self._requesters[address] = await self._open_requester(node.target)
        return read_1_0(await requester.call(write_1_0(message, node.to(message))))

    async def _open_requester(self, target: str | None) -> Requester:
        """Open a requester with a dynamic node for the replies; where the peer makes none, with an address of a direct
        exchange that nobody else has.
        """
        session = await self._native.open_session()
        if self._has_dynamic:
            try:
                return await session.open_requester(target)
            except EndpointClosed as error:
                await session.close()
                if not self._native.is_open or error.report is None or error.report.by is not By.REMOTE:
                    raise
                refusal = error
            except BaseException as error:
                await session.__aexit__(type(error), error, None)
                raise
            session = await self._native.open_session()
        else:
            refusal = None
        try:
            requester = await session.open_requester(target, replies=self._own_address())
        except BaseException as error:
            await session.__aexit__(type(error), error, None)
            raise (refusal if refusal is not None and isinstance(error, EndpointClosed) else error) from None
        self._has_dynamic = False
        return requester

    def _own_address(self) -> str:
        name = f"{self._native.core.config.container_id}-{len(self._requesters) + 1}"
        return written("", Place("amq.direct", name), self._form or "rabbitmq4")

    async def _open_transaction(self) -> Transaction:
        return Transaction_1_0(await self._native.open_session(), self._form)


__all__ = ["Messaging_1_0"]
