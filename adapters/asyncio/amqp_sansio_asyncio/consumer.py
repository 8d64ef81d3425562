"""Consumers and their deliveries (0-9-1 section 1.8.3)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.amqp_0_9_1 import BasicProperties
from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.errors import ConsumerEnded, EndpointClosed
from amqp_sansio.events import By, CloseReport, Handle

from .feed import Feed

if TYPE_CHECKING:
    from .channel import Channel

OVERRUN: Final = 64
"""A consumer without bound is cancelled when this many times its limit wait."""


class Delivery:
    """A message for a consumer. Settle it once with `accept`, `reject` or `release`, unless the consumer needs no
    acknowledgement.
    """

    __slots__ = ("_channel", "_event")

    def __init__(self, channel: Channel, event: Delivered) -> None:
        self._channel = channel
        self._event = event

    @property
    def body(self) -> bytes:
        """The message's octets."""
        return self._event.body

    @property
    def properties(self) -> BasicProperties:
        """The message's properties, decoded on first access; None for absent ones."""
        return self._event.properties

    @property
    def exchange(self) -> str:
        """The exchange it was published to; empty for the default exchange."""
        return self._event.exchange

    @property
    def routing_key(self) -> str:
        """The routing key it was published with."""
        return self._event.routing_key

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self._event.redelivered

    @property
    def delivery_tag(self) -> int:
        """Its number on the channel."""
        return self._event.delivery_tag

    @property
    def consumer_tag(self) -> str:
        """The tag of its consumer; empty for a message fetched with `get`."""
        return self._event.consumer_tag

    async def accept(self, *, multiple: bool = False) -> None:
        """Acknowledge it; with `multiple` also all before it on the channel.

        Like its siblings it only queues the method, so it returns at once. Raises LocalProtocolError for a settled
        delivery, EndpointClosed if the channel is gone.
        """
        channel = self._channel
        channel.core.accept(self._event.delivery_tag, multiple)
        driver = channel.driver
        if not driver.flush_scheduled:
            driver.schedule_flush()

    async def reject(self) -> None:
        """Reject it for good: the broker drops or dead-letters it."""
        self._channel.core.reject(self._event.delivery_tag)
        self._channel.driver.schedule_flush()

    async def release(self) -> None:
        """Return it to its queue, to be delivered again."""
        self._channel.core.release(self._event.delivery_tag)
        self._channel.driver.schedule_flush()

    def __repr__(self) -> str:
        event = self._event
        return (
            f"<Delivery {event.delivery_tag} on channel {event.channel}, exchange "
            f"{event.exchange!r}, routing key {event.routing_key!r}, {len(event.body)} octets>"
        )


class ConsumerFeed(Feed[Delivered]):
    """The deliveries and the state of one consumer.

    It outlives the Consumer that the application holds: if that is dropped, the feed cancels at the server and returns
    untaken deliveries.
    """

    __slots__ = ("begun", "cancelling", "channel", "dropped", "no_ack", "started", "tag")

    def __init__(self, channel: Channel, limit: int, no_ack: bool, counted: bool) -> None:
        super().__init__(channel.driver, limit, counted)
        self.channel = channel
        self.no_ack = no_ack
        self.tag = ""
        self.begun = False
        self.started = False
        self.cancelling = False
        self.dropped = False

    def begin(self, prefetch: int | None, consume: Any) -> None:
        """Send basic.qos, unless `prefetch` is None, and basic.consume."""
        core, driver = self.channel.core, self.channel.driver
        if prefetch is not None and not self.no_ack:
            core.call(driver.core.dialect.named["basic.qos"](0, prefetch, False))
        driver.expect(core.call(consume), self.on_started)
        self.begun = True

    def on_started(self, handle: Handle[Any]) -> None:
        """Handle the answer to basic.consume, or its failure."""
        if handle.error is not None:
            self.end(handle.error)
            return
        self.started = True
        self.tag = handle.result.consumer_tag
        self.channel.feeds[self.tag] = self
        self.wake_all()
        if self.cancelling:
            self.send_cancel()

    def count(self, item: Delivered) -> None:
        if self.dropped:
            self.give_back()
            return
        super().count(item)
        if len(self.items) >= self.limit * OVERRUN and not self.cancelling:
            text = f"it fell behind, {len(self.items)} deliveries wait; prefetch and acknowledge"
            report = CloseReport(By.LOCAL, 0, text)
            self.error = ConsumerEnded(f"consumer {self.tag!r}: {text}", report, self.tag)
            self.cancel()

    def cancel(self) -> None:
        """Tell the server to send no more; received deliveries stay available."""
        if not self.begun:
            self.end(None)
        elif not self.cancelling and not self.ended:
            self.cancelling = True
            if self.started:
                self.send_cancel()

    def send_cancel(self) -> None:
        """Send basic.cancel; its answer ends the feed."""
        if self.channel.core.is_open:
            core, driver = self.channel.core, self.channel.driver
            cancel = driver.core.dialect.named["basic.cancel"]
            driver.expect(core.call(cancel(self.tag)), self.on_cancelled)

    def on_cancelled(self, handle: Handle[Any]) -> None:
        """Handle the answer to basic.cancel, or the end of the channel, which ended the feed."""
        if handle.error is None:
            self.channel.feeds.pop(self.tag, None)
            self.end(self.error)
            if self.dropped:
                self.give_back()

    def drop(self) -> None:
        """Cancel, because nobody takes deliveries any more."""
        self.dropped = self.counted = True
        self.cancel()
        self.give_back()

    def give_back(self) -> None:
        """Release untaken deliveries."""
        core = self.channel.core
        if not self.no_ack and core.is_open:
            for item in self.items:
                core.release(item.delivery_tag)
            self.channel.driver.schedule_flush()
        self.items.clear()
        self.octets = 0
        self.not_full()

    def channel_ended(self, error: EndpointClosed) -> None:
        """Handle the end of the channel: drop deliveries that can't be acknowledged any more, which the broker will
        deliver again.
        """
        if not self.no_ack:
            self.items.clear()
        self.end(error)


class Consumer:
    """An async iterator over the deliveries of one consumer; it starts when it is iterated or entered as a context.

    The iteration ends after `cancel`, raises ConsumerEnded when the server ends the consumer, and EndpointClosed when
    the channel or the connection ends. Leaving the context, or dropping the last reference to the consumer, cancels it
    and returns untaken deliveries.
    """

    def __init__(
        self, channel: Channel, consume: Any, prefetch: int | None, no_ack: bool, buffer: int
    ) -> None:
        counted = no_ack or not prefetch
        self._channel = channel
        self._feed = ConsumerFeed(channel, buffer, no_ack, counted)
        self._prefetch = prefetch
        self._consume = consume

    @property
    def consumer_tag(self) -> str:
        """Its name on the channel; empty before it has started if the server chooses the name."""
        return self._feed.tag or str(self._consume.consumer_tag)

    def __aiter__(self) -> Consumer:
        return self

    async def __anext__(self) -> Delivery:
        feed = self._feed
        if feed.items:
            event = feed.items.popleft()
        else:
            if not feed.begun:
                self._begin()
            event = await feed.take()
        if feed.counted:
            feed.taken(event)
        return Delivery(feed.channel, event)

    async def start(self) -> None:
        """Wait for the server's confirmation. Raises EndpointClosed if it refuses."""
        feed = self._feed
        if not feed.begun:
            self._begin()
        while not (feed.started or feed.ended):
            await feed.sleep()
        if feed.error is not None and not feed.started:
            raise copy.copy(feed.error)

    async def cancel(self) -> None:
        """Tell the server to send no more, and wait for its answer. Received deliveries are still iterated."""
        feed = self._feed
        feed.cancel()
        while not feed.ended:
            await feed.sleep()

    async def close(self) -> None:
        """Do `cancel`, and return untaken deliveries."""
        feed = self._feed
        feed.drop()
        while not feed.ended:
            await feed.sleep()

    async def __aenter__(self) -> Consumer:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _begin(self) -> None:
        self._feed.begin(self._prefetch, self._consume)

    def __del__(self) -> None:
        feed = self._feed
        if feed.begun and not feed.ended and not feed.dropped:
            loop = feed.driver.loop
            if not loop.is_closed():
                # The last reference may have been dropped in another thread.
                loop.call_soon_threadsafe(feed.drop)


def consume_method(
    named: Mapping[str, Any],
    queue: str,
    arguments: Mapping[str, object] | None,
    fields: dict[str, Any],
) -> Any:
    """Return basic.consume in the connection's dialect; 0-8 needs the arguments left out if there are none."""
    if arguments:
        fields["arguments"] = arguments
    return named["basic.consume"](queue=queue, **fields)


__all__ = ["Consumer", "ConsumerFeed", "Delivery", "consume_method"]
