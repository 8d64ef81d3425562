"""The neutral client over 0-8 and 0-9-1: a channel for each sender, receiver and transaction, and one for requests."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from ..amqp_0_9_1 import Returned
from ..client.classic.consumer import inbox_of
from ..client.opening import Opening
from ..errors import EndpointClosed
from ..events import Accepted, Rejected, Released
from .addresses import place_of
from .connection import Bounded, Connection, Delivery, Outcome, Receiver, Sender, Sending, Transaction
from .mapping import read_classic, write_classic
from .message import Message

if TYPE_CHECKING:
    from ..amqp_0_9_1 import Dialect
    from ..amqp_1_0 import LinkState
    from ..client.classic.channel import Channel
    from ..client.classic.connection import Connection as NativeConnection
    from ..client.classic.consumer import Consumer
    from ..client.classic.consumer import Delivery as NativeDelivery
    from ..versions import Version


class ClassicSender(Sender):
    """A sender on a channel; `confirms`: in confirm mode. `owned`: the channel is its own."""

    def __init__(self, address: str, channel: Channel, dialect: Dialect, *, confirms: bool, owned: bool) -> None:
        super().__init__(address, dialect.version)
        self._place = place_of(address, dialect.version)
        self._channel = channel
        self._dialect = dialect
        self._confirms = confirms
        self._owned = owned

    @property
    def native(self) -> Channel:
        return self._channel

    async def _send(self, message: Message, wait: bool) -> Outcome | Sending | None:
        exchange, key = self._place.exchange, self._place.key_for(message.subject)
        properties = write_classic(message, self._dialect)
        if self._confirms and not wait:
            sent = await self._channel.publish(
                message.body, exchange=exchange, routing_key=key, mandatory=True, properties=properties, wait=False
            )
            return Sending(sent, _outcome)
        outcome = await self._channel.publish(
            message.body, exchange=exchange, routing_key=key, mandatory=True, properties=properties
        )
        return _outcome(outcome) if wait else Sending(None, _outcome)

    async def close(self) -> None:
        if self._owned:
            await self._channel.close()


def _outcome(native: Accepted | Rejected | Returned | None) -> Outcome | None:
    if isinstance(native, Returned):
        return Released(f"{native.reply_code} {native.reply_text}")
    return native


class ClassicDelivery(Delivery):
    """A delivery of a consumer."""

    __slots__ = ("_dialect", "_native")

    def __init__(self, native: NativeDelivery, dialect: Dialect) -> None:
        super().__init__()
        self._native = native
        self._dialect = dialect

    @property
    def native(self) -> NativeDelivery:
        return self._native

    @property
    def redelivered(self) -> bool:
        return self._native.redelivered

    async def accept(self) -> None:
        await self._native.accept()

    async def reject(self, reason: str = "") -> None:
        await self._native.reject()

    async def release(self) -> None:
        await self._native.release()

    def _read(self) -> Message:
        return read_classic(self._native.body, self._native.properties, self._dialect)

    def _version(self) -> Version:
        return self._dialect.version


class ClassicReceiver(Receiver):
    """A receiver with a consumer. `owned`: its channel is its own."""

    def __init__(self, address: str, channel: Channel, consumer: Consumer, dialect: Dialect, owned: bool) -> None:
        super().__init__(address, dialect.version)
        self._channel = channel
        self._consumer = consumer
        self._dialect = dialect
        self._owned = owned

    @property
    def native(self) -> Channel:
        return self._channel

    async def __anext__(self) -> Delivery:
        return ClassicDelivery(await self._consumer.__anext__(), self._dialect)

    async def fetch(self, timeout: float | None = None) -> Delivery | None:
        inbox = inbox_of(self._consumer)
        client = inbox.channel.client
        timer = None if timeout is None else client.after(timeout)
        woken = False
        try:
            while not (inbox.items or inbox.ended or (timer is not None and timer.done)):
                await inbox.sleep(timer, first=woken)
                woken = True
        finally:
            if timer is not None:
                client.stop(timer)
        if not (inbox.items or inbox.ended):
            return None
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise EndpointClosed(f"the receiver from {self.address!r} is closed", self._channel.report) from None

    async def close(self) -> None:
        if self._owned:
            await self._channel.close()
        else:
            await self._consumer.close()


async def open_receiver(address: str, channel: Channel, dialect: Dialect, credit: int, owned: bool) -> ClassicReceiver:
    """Start a consumer of a queue, or of a new one of its own that is bound to an exchange."""
    place = place_of(address, dialect.version)
    queue = place.key or ""
    if not place.is_queue:
        queue = (await channel.declare_queue(exclusive=True, auto_delete=True)).queue
        await channel.bind_queue(queue, place.exchange, place.key or "")
    consumer = channel.consume(queue, prefetch=credit)
    await consumer.start()
    return ClassicReceiver(address, channel, consumer, dialect, owned)


class ClassicTransaction(Transaction):
    """A transaction of one channel (class tx)."""

    def __init__(self, channel: Channel, dialect: Dialect) -> None:
        super().__init__()
        self._channel = channel
        self._dialect = dialect

    def sender(self, address: str) -> Opening[Sender]:
        async def begin() -> Sender:
            return ClassicSender(address, self._channel, self._dialect, confirms=False, owned=False)

        return Opening(begin)

    def receiver(self, address: str, *, credit: int = 100) -> Opening[Receiver]:
        async def begin() -> Receiver:
            return await open_receiver(address, self._channel, self._dialect, credit, owned=False)

        return Opening(begin)

    def _make(self) -> AbstractAsyncContextManager[object]:
        return self._channel.transaction()

    async def _close(self) -> None:
        await self._channel.close()


class ClassicMessaging(Connection):
    """The neutral client over a connection of 0-8 or 0-9-1."""

    def __init__(self, native: NativeConnection, bounded: Bounded) -> None:
        super().__init__(bounded)
        self._native = native
        self._dialect: Dialect = native.core.dialect
        properties = native.peer_properties
        capabilities: Any = properties.get("capabilities") or {}
        # RabbitMQ's way to announce confirms, and Qpid's.
        told = capabilities.get("publisher_confirms") or properties.get("qpid.confirmed_publish_supported") == "true"
        self._confirms = bool(told) and "confirm.select" in self._dialect.named
        self._requests: Channel | None = None

    @property
    def version(self) -> Version:
        return self._dialect.version

    @property
    def native(self) -> NativeConnection:
        return self._native

    async def _open_sender(self, address: str, state: LinkState | None) -> Sender:
        place_of(address, self.version)
        channel = await self._native.open_channel(confirm=self._confirms)
        return ClassicSender(address, channel, self._dialect, confirms=self._confirms, owned=True)

    async def _open_receiver(self, address: str, credit: int, state: LinkState | None) -> Receiver:
        place_of(address, self.version)
        channel = await self._native.open_channel()
        try:
            return await open_receiver(address, channel, self._dialect, credit, owned=True)
        except BaseException as error:
            await channel.__aexit__(type(error), error, None)
            raise

    async def _request(self, address: str, message: Message) -> Message:
        place = place_of(address, self.version)
        properties = write_classic(message, self._dialect)
        if self._requests is None or not self._requests.is_open:
            self._requests = await self._native.open_channel(confirm=self._confirms)
        reply = await self._requests.request(
            message.body, exchange=place.exchange, routing_key=place.key_for(message.subject), properties=properties
        )
        return read_classic(reply.body, reply.properties, self._dialect)

    async def _open_transaction(self) -> Transaction:
        return ClassicTransaction(await self._native.open_channel(), self._dialect)


__all__ = ["ClassicMessaging"]
