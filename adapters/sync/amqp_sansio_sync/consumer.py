"""Consumer and Delivery: messages from the server and their settlement (0-9-1 section 1.8.3)."""

from __future__ import annotations

from collections.abc import Sized
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from amqp_sansio import By, CloseReport, EndpointClosed
from amqp_sansio.amqp_0_9_1 import BasicGetOk, BasicProperties, Message
from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.errors import ConsumerEnded

from .feed import Feed
from .handlers import aside, interrupts_itself

if TYPE_CHECKING:
    from types import TracebackType

    from amqp_sansio import Handle

    from .channel import Channel


class Delivery:
    """A message from a consumer or from `channel.get`.

    Settle it once, in any thread, unless it was taken with `no_ack`. The settlement is sent at once, or, while other
    deliveries of its consumer wait, within a few milliseconds and together with later ones. Settling raises
    LocalProtocolError for a settled delivery, EndpointClosed if the channel is gone. `message_count` is the number of
    messages left in the queue, known for `get` only.
    """

    __slots__ = (
        *("_channel", "_source", "_waiting", "body", "consumer_tag", "delivery_tag", "exchange"),
        *("message_count", "redelivered", "routing_key"),
    )

    def __init__(self, channel: Channel, source: Delivered, waiting: Sized = ()) -> None:
        self._channel = channel
        self._source: Any = source
        self._waiting = waiting
        self.body = source.body
        self.consumer_tag = source.consumer_tag
        self.delivery_tag = source.delivery_tag
        self.redelivered = source.redelivered
        self.exchange = source.exchange
        self.routing_key = source.routing_key
        self.message_count: int | None = None

    @classmethod
    def got(cls, channel: Channel, message: Message[BasicGetOk]) -> Delivery:
        """Return the delivery in the answer to a basic.get."""
        self = cls.__new__(cls)
        method = message.method
        self._channel = channel
        self._source = message
        self._waiting = ()
        self.body = message.body
        self.consumer_tag = ""
        self.delivery_tag = method.delivery_tag
        self.redelivered = method.redelivered
        self.exchange = method.exchange
        self.routing_key = method.routing_key
        self.message_count = method.message_count
        return self

    @property
    def properties(self) -> BasicProperties:
        """The message's properties; None for absent ones. Reading damaged ones raises CodecError."""
        properties: BasicProperties = self._source.properties
        return properties

    def accept(self, *, multiple: bool = False) -> None:
        """Acknowledge it; with `multiple` also all before it on the channel (basic.ack)."""
        channel = self._channel
        channel.settle(bool(self._waiting), channel.core.accept, self.delivery_tag, multiple)

    def reject(self) -> None:
        """Reject it for good: the broker drops or dead-letters it (basic.reject)."""
        channel = self._channel
        channel.settle(bool(self._waiting), channel.core.reject, self.delivery_tag)

    def release(self) -> None:
        """Return it to its queue, to be delivered again (basic.reject with requeue)."""
        channel = self._channel
        channel.settle(bool(self._waiting), channel.core.release, self.delivery_tag)

    def __repr__(self) -> str:
        return (
            f"<Delivery {self.delivery_tag} on channel {self._channel.number}, exchange {self.exchange!r}, "
            f"routing key {self.routing_key!r}, {len(self.body)} octets>"
        )


class ConsumerFeed(Feed[Delivered]):
    """The deliveries and the state of one consumer.

    It outlives the Consumer that the application holds: if that is dropped, the keeper cancels at the server and
    returns untaken deliveries.
    """

    __slots__ = ("cancelling", "channel", "dropped", "no_ack", "queue", "tag")

    def __init__(
        self, channel: Channel, queue: str, tag: str, no_ack: bool, limit: int, counted: bool
    ) -> None:
        super().__init__(channel.wire, limit, counted)
        self.channel = channel
        self.queue = queue
        self.tag = tag
        self.no_ack = no_ack
        self.cancelling: Handle[Any] | None = None
        self.dropped = False

    def put(self, item: Delivered) -> None:
        if not self.dropped:
            super().put(item)
        elif not self.no_ack:
            self.channel.core.release(item.delivery_tag)

    def cancel(self) -> None:
        """Tell the server to send no more; its answer ends the feed."""
        if self.cancelling is None and self.channel.core.is_open:
            cancel = self.channel.record("basic.cancel", consumer_tag=self.tag)
            self.cancelling = self.channel.core.call(cancel)
            self.channel.expect(
                self.cancelling, lambda _: self.channel.consumer_gone(self.tag, None)
            )

    def drop(self) -> None:
        """Cancel, and return waiting and coming deliveries, because nobody takes them any more."""
        self.dropped = True
        # Cancel first: otherwise the server would send returned deliveries again.
        self.cancel()
        for item in self.clear():
            if not self.no_ack and self.channel.core.is_open:
                self.channel.core.release(item.delivery_tag)

    def overrun(self) -> None:
        text = f"the consumer fell behind: {len(self.items)} deliveries wait; use a prefetch and acknowledge"
        self.finish(
            ConsumerEnded(
                f"consumer {self.tag!r}: {text}", CloseReport(By.LOCAL, 0, text), self.tag
            )
        )
        self.dropped = True
        self.cancel()

    def channel_ended(self, error: EndpointClosed) -> None:
        """Handle the end of the channel: drop deliveries that can't be settled any more, since they will come again."""
        if not self.no_ack:
            self.clear()
        self.finish(error)


class Consumer:
    """An iterator over the deliveries of one consumer.

    `next` raises TimeoutError if nothing came for `timeout` seconds; you may continue afterwards. The iteration ends
    after `cancel`, raises ConsumerEnded when the server ends the consumer, and EndpointClosed when the channel or the
    connection ends. Leaving the context, or dropping the last reference to the consumer, cancels it and returns untaken
    deliveries.
    """

    __slots__ = ("_channel", "_feed", "_items", "timeout")

    def __init__(self, feed: ConsumerFeed, timeout: float | None) -> None:
        self._channel = feed.channel
        self._feed = feed
        self._items = feed.items
        self.timeout = timeout

    @property
    def consumer_tag(self) -> str:
        """Its name on the channel."""
        return self._feed.tag

    def __iter__(self) -> Consumer:
        return self

    def __next__(self) -> Delivery:
        feed = self._feed
        if not feed.counted:
            with suppress(IndexError):
                return Delivery(self._channel, self._items.popleft(), self._items)
        item = feed.take(self.timeout, f"a delivery from {feed.queue!r}")
        return Delivery(self._channel, item, self._items)

    def cancel(self, timeout: float | None = None) -> None:
        """Tell the server to send no more, and wait for its answer. Received deliveries are still iterated.

        A signal handler that interrupts the iteration, or any other call of this package, may call it, and doesn't wait
        then: the iteration continues and ends with the answer.

        >>> def example(consumer: Consumer) -> None:
        ...     signal.signal(signal.SIGTERM, lambda number, frame: consumer.cancel())
        ...     for delivery in consumer:
        ...         delivery.accept()
        """
        self._end(self._feed.cancel, timeout)

    def close(self, timeout: float | None = None) -> None:
        """Do `cancel`, and return untaken deliveries. In signal handlers as `cancel`."""
        self._end(self._feed.drop, timeout)

    def __enter__(self) -> Consumer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # A caller that reads on gets the reason from the iterator; leaving the context needs no more.
        with suppress(EndpointClosed):
            self.close()

    def __del__(self) -> None:
        feed = self._feed
        if not (feed.over or feed.dropped):
            wire = feed.wire
            wire.chores.append(feed.drop)
            wire.keeper.ring()

    def _end(self, how: Any, timeout: float | None) -> None:
        feed = self._feed
        if feed.over:
            return
        if interrupts_itself():
            aside("basic.cancel", lambda: self._end(how, timeout))
            return
        self._channel.wire.run(how)
        if feed.cancelling is not None:
            self._channel.finish(feed.cancelling, timeout, "basic.cancel")


__all__ = ["Consumer", "ConsumerFeed", "Delivery"]
