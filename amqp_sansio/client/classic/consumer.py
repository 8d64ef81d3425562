"""Consumers and their deliveries (0-9-1 section 1.8.3)."""

from __future__ import annotations

import json
from collections.abc import Sized
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TypeVar

from ...amqp_0_9_1 import Delivery as Delivered
from ...amqp_0_9_1 import Table
from ...errors import EndpointClosed
from ..processing import Processed

if TYPE_CHECKING:
    from ...amqp_0_9_1 import BasicProperties
    from ...amqp_0_9_1 import Channel as CoreChannel
    from ..hooks import Hooks
    from ..metrics import Metrics
    from .client import ChannelState, ConsumerInbox

_new: Final = object.__new__


class DeliveryFields:
    """The parts of a delivery. `event` is the core's; `message_count` the number of messages left in the queue, known
    for `get` only.
    """

    __slots__ = ("body", "context", "event", "message_count")

    context: Any
    """The value that the hook `on_deliver` returned for it; there is none without the hook."""
    body: bytes
    """The message's octets."""

    def __init__(self, event: Delivered, message_count: int | None = None) -> None:
        # The core's, whose parts these are.
        self.event = event
        self.body = event.body
        # Messages left in the queue, known for `get` only.
        self.message_count = message_count

    @property
    def properties(self) -> BasicProperties:
        """The message's properties, decoded on first access; None for absent ones. Damaged ones raise CodecError."""
        return self.event.properties

    @property
    def headers(self) -> dict[str, Any]:
        """The application's own fields as a plain dict, with plain dicts and lists within; empty without any."""
        headers = self.properties.headers
        return headers.to_dict() if isinstance(headers, Table) else {}

    @property
    def exchange(self) -> str:
        """The exchange it was published to; empty for the default exchange."""
        return self.event.exchange

    @property
    def routing_key(self) -> str:
        """The routing key it was published with."""
        return self.event.routing_key

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self.event.redelivered

    @property
    def delivery_tag(self) -> int:
        """Its number on the channel."""
        return self.event.delivery_tag

    @property
    def consumer_tag(self) -> str:
        """The tag of its consumer; empty for a message fetched with `get`."""
        return self.event.consumer_tag

    @property
    def text(self) -> str:
        """The body as text, in the encoding that the properties name, else UTF-8. Raises UnicodeDecodeError."""
        return self.body.decode(self.properties.content_encoding or "utf-8")

    def json(self) -> Any:
        """Return the body's JSON value. Raises ValueError if it has none."""
        return json.loads(self.body)

    def __repr__(self) -> str:
        return (
            f"<Delivery {self.delivery_tag} on channel {self.event.channel}, exchange {self.exchange!r}, "
            f"routing key {self.routing_key!r}, {len(self.body)} octets>"
        )


class Delivery(Processed, DeliveryFields):
    """A message from a consumer or from `channel.get`.

    Settle it once with `accept`, `reject` or `release`, unless it was taken with `no_ack`. These queue a method, which
    is sent at once, or together with others while more deliveries wait. They raise LocalProtocolError for a delivery
    that is settled, EndpointClosed if the channel is gone.
    """

    __slots__ = ("_held", "_state")

    def __init__(
        self,
        state: ChannelState,
        event: Delivered,
        waiting: Sized = (),
        message_count: int | None = None,
        core: CoreChannel | None = None,
    ) -> None:
        # The core's, with body and properties.
        self.event = event
        self.body = event.body
        # Messages left in the queue, known for `get` only.
        self.message_count = message_count
        # The channel that it came on.
        self._state = state
        # The inbox's: the channel of the core that it came on, where alone it can be settled, and the deliveries behind
        # it: while there are more, settlements are sent together.
        self._held = core or state.core, waiting

    async def accept(self, *, multiple: bool = False) -> None:
        """Acknowledge it; with `multiple` also all before it on the channel (basic.ack)."""
        state = self._state
        core = self._held[0]
        try:
            if multiple:
                accept_all(core, self.event.delivery_tag, state.client.metrics)
            else:
                core.accept(self.event.delivery_tag)
                state.accepted += 1
        except EndpointClosed as error:
            raise state.stale(core, error) from error.__cause__
        self._settled("accepted", multiple)

    async def reject(self) -> None:
        """Reject it for good: the broker drops or dead-letters it (basic.reject)."""
        try:
            self._held[0].reject(self.delivery_tag)
            self._state.client.metrics.rejected += 1
        except EndpointClosed as error:
            raise self._state.stale(self._held[0], error) from error.__cause__
        self._settled("rejected")

    async def release(self) -> None:
        """Return it to its queue, to be delivered again (basic.reject with requeue)."""
        try:
            self._held[0].release(self.delivery_tag)
            self._state.client.metrics.released += 1
        except EndpointClosed as error:
            raise self._state.stale(self._held[0], error) from error.__cause__
        self._settled("released")

    def _settled(self, outcome: str, multiple: bool = False) -> None:
        client = self._state.client
        driver = client.driver
        if client.hooks is not None:
            client.hooks.settled(outcome, (self,), multiple)
        if self._held[1]:
            driver.flush_later()
        else:
            driver.flush_soon()


def accept_all(core: CoreChannel, delivery_tag: int, metrics: Metrics) -> None:
    """Acknowledge all deliveries of a channel up to one, and count them."""
    before = len(core.unsettled)
    core.accept(delivery_tag, True)
    metrics.taken += before - len(core.unsettled)


_D = TypeVar("_D", bound=DeliveryFields)


def told(hooks: Hooks | None, delivery: _D) -> _D:
    """Tell the hooks of a delivery, and return it."""
    if hooks is not None:
        place = delivery.consumer_tag, delivery.exchange, delivery.routing_key
        hooks.delivered(delivery, *place, lambda: delivery.headers)
    return delivery


class Consumer:
    """An async iterator over the deliveries of one consumer; it starts when it is iterated or entered as a context.

    The iteration ends after `cancel`, raises ConsumerEnded when the server ends the consumer, and EndpointClosed when
    the channel or the connection ends. Leaving the context, or dropping the last reference to the consumer, cancels it
    and returns what nobody took.
    """

    def __init__(self, state: ChannelState, inbox: ConsumerInbox) -> None:
        # The channel that it consumes on.
        self._state = state
        # Its deliveries; it outlives this object.
        self._inbox = inbox

    @property
    def consumer_tag(self) -> str:
        """Its name on the channel."""
        return self._inbox.tag

    @property
    def queue(self) -> str:
        """The queue that it takes from."""
        return self._inbox.queue

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> Delivery:
        inbox = self._inbox
        items = inbox.items
        if items:
            item = items.popleft()
            body = item.body
            if inbox.full:
                # As Inbox.taken does, without two calls for each delivery. Before it is full nobody asks for `octets`.
                inbox.octets -= len(body)
                inbox.emptied()
        else:
            if inbox.starting is None and not inbox.ended:
                await self._begin()
            item = await inbox.take()
            body = item.body
        state = self._state
        # As the constructor of Delivery does, without its call for each delivery.
        delivery = _new(Delivery)
        slot: Any = delivery
        slot.event = item
        slot.body = body
        slot.message_count = None
        slot._state = state
        slot._held = inbox.held
        hooks = state.client.hooks
        return delivery if hooks is None else told(hooks, delivery)

    async def start(self) -> None:
        """Wait for the server's confirmation. Raises EndpointClosed if it refuses, AnswerTimeout if it doesn't answer
        within `answer_timeout` seconds.
        """
        inbox = self._inbox
        if inbox.starting is None:
            await self._begin()
        assert inbox.starting is not None
        await self._state.client.result(inbox.starting, what=f"basic.consume of consumer {self.consumer_tag!r}")

    async def cancel(self) -> None:
        """Tell the server to send no more, and wait for its answer. Received deliveries are still iterated."""
        self._inbox.cancel()
        await self._wait_ended()

    async def close(self) -> None:
        """Do `cancel`, and return what nobody took. Raises AnswerTimeout after `close_timeout` seconds: the consumer is
        given up.
        """
        await self._leave(None)

    async def __aenter__(self) -> Consumer:
        try:
            await self.start()
        except BaseException:
            # Nobody leaves a context that wasn't entered.
            self._inbox.drop()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that reads on gets the reason from the iterator; leaving the context needs no more.
        try:
            await self._leave(error)
        except EndpointClosed:
            return

    async def _begin(self) -> None:
        await self._state.client.until_restored()
        if self._inbox.starting is None:
            self._inbox.start()

    async def _wait_ended(self) -> None:
        inbox = self._inbox
        if inbox.starting is None:
            inbox.end(None)
            return
        if inbox.cancelling is None and not inbox.ended:
            # The answer to its start is still to come.
            await self._state.client.result(inbox.starting, what=f"basic.consume of consumer {self.consumer_tag!r}")
            inbox.cancel()
        if inbox.cancelling is not None and not inbox.ended:
            await self._state.client.result(inbox.cancelling, what=self._cancelling)

    async def _leave(self, error: BaseException | None) -> None:
        await self._state.client.leave(self._inbox, self._cancelling, self._end, error)

    async def _end(self) -> None:
        """Return what nobody took, and wait until nothing more comes."""
        inbox, client = self._inbox, self._state.client
        inbox.drop()
        if inbox.starting is None:
            inbox.end(None)
        if inbox.ended:
            return
        client.driver.flush_soon()
        await client.until(inbox.closed)
        for call in (inbox.starting, inbox.cancelling):
            if call is not None and call.done and call.error is not None:
                raise client.error_of(call)

    @property
    def _cancelling(self) -> str:
        return f"basic.cancel of consumer {self.consumer_tag!r}"

    def __del__(self) -> None:
        inbox = getattr(self, "_inbox", None)
        if inbox is not None and inbox.starting is not None and not (inbox.ended or inbox.dropped):
            inbox.channel.client.drop_later(inbox.drop)


def core_of(delivery: Delivery) -> CoreChannel:
    """Return the channel of the core that a delivery came on, for those who settle it for another driver."""
    return delivery._held[0]  # pyright: ignore[reportPrivateUsage]


def inbox_of(consumer: Consumer) -> ConsumerInbox:
    """Return what a consumer takes from, for those who write its iteration for another driver."""
    return consumer._inbox  # pyright: ignore[reportPrivateUsage]


__all__ = ["Consumer", "Delivery", "DeliveryFields", "accept_all", "core_of", "inbox_of", "told"]
