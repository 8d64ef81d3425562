"""Channels of a client: calls, publishing, consuming (0-9-1 sections 1.4 to 1.9)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

from amqp_sansio.amqp_0_9_1 import (
    BasicGet,
    BasicGetOk,
    BasicProperties,
    Message,
    Method,
    Returned,
)
from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.errors import AmqpError, ConsumerEnded, EndpointClosed
from amqp_sansio.events import Accepted, By, CloseReport, Event, Rejected

from .consumer import Consumer, ConsumerFeed, Delivery, consume_method
from .feed import EventStream, Feed, Streams

if TYPE_CHECKING:
    from amqp_sansio.amqp_0_9_1 import BasicGetEmpty, Properties, RequestMethod

    from .client_driver import ClientDriver

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)

PublishOutcome: TypeAlias = Accepted | Rejected | Returned
"""The outcome of a publish in confirm mode."""


class Channel:
    """One channel, returned by `connection.open_channel()`.

    Every wait can be cancelled: the channel stays usable, a late answer is dropped. A request that the server refuses
    raises EndpointClosed, with the server's reason, and ends the channel; `report` keeps it.
    """

    def __init__(self, driver: ClientDriver, core: CoreChannel) -> None:
        self.driver: Final = driver
        self.core: Final = core
        self.feeds: Final[dict[str, ConsumerFeed]] = {}
        self.streams: Final[Streams] = []
        self._stopped: asyncio.Event | None = None

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self.core.number

    @property
    def is_open(self) -> bool:
        """Whether it is usable."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self.core.report

    @overload
    async def call(  # type: ignore[overload-overlap]
        self, method: BasicGet
    ) -> Message[BasicGetOk] | BasicGetEmpty: ...
    @overload
    async def call(
        self,
        method: RequestMethod[_R],
        properties: Properties | None = None,
        body: bytes | None = None,
    ) -> _R: ...
    @overload
    async def call(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> Any: ...
    async def call(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> Any:
        """Send a request and return its reply, such as QueueDeclareOk for QueueDeclare; None with `no_wait`.

        A reply with content is a `Message`. Raises EndpointClosed, LocalProtocolError, LimitExceeded.
        """
        return await self.driver.wait(self.core.call(method, properties, body))

    async def send(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> None:
        """Send a method that has no reply."""
        self.core.send(method, properties, body)
        self.driver.schedule_flush()

    async def publish(
        self,
        body: bytes,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
    ) -> PublishOutcome | None:
        """Publish one message. In confirm mode wait for its outcome: Accepted, Rejected, or Returned if no queue took
        it.

        Without confirms it returns None when the message is queued, after waiting while the server reads too slowly or
        has stopped the flow; read returned messages with `events(MessageReturned)`. A publish cancelled while it waits
        may have been sent.
        """
        driver = self.driver
        if driver.gated or self._stopped is not None:
            await self._may_publish()
        handle = self.core.publish(
            body,
            exchange=exchange,
            routing_key=routing_key,
            mandatory=mandatory,
            immediate=immediate,
            properties=properties,
        )
        if handle is None:
            if driver.core.send_backlog >= driver.flush_octets:
                await driver.pace()
            elif not driver.flush_scheduled:
                driver.schedule_flush()
            return None
        future: asyncio.Future[PublishOutcome] = driver.loop.create_future()
        driver.waiting[handle.key] = future
        if driver.core.send_backlog >= driver.flush_octets:
            driver.flush()
        elif not driver.flush_scheduled:
            driver.schedule_flush()
        if driver.reading_paused:
            driver.update_reading()
        return await future

    def consume(
        self,
        queue: str,
        *,
        prefetch: int | None = 100,
        no_ack: bool = False,
        consumer_tag: str = "",
        no_local: bool = False,
        exclusive: bool = False,
        arguments: Mapping[str, object] | None = None,
        buffer: int = 1000,
    ) -> Consumer:
        """Return an async iterator over the deliveries from `queue`; `async with` starts it at once and cancels it at
        the end.

        `prefetch` bounds the unsettled deliveries: it is sent as basic.qos before, 0 for no bound, None to leave the
        channel's unchanged. Without acknowledgement (`no_ack`) or bound, the connection isn't read while `buffer`
        deliveries or 16 MiB wait here, unless somebody waits for an answer on it; if 64 times as many arrive that way,
        the consumer is cancelled and its iteration ends, after the last of them, with ConsumerEnded.
        """
        fields: dict[str, Any] = {"consumer_tag": consumer_tag, "no_local": no_local}
        fields.update(no_ack=no_ack, exclusive=exclusive)
        method = consume_method(self.driver.core.dialect.named, queue, arguments, fields)
        return Consumer(self, method, prefetch, no_ack, buffer)

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        """Fetch one message, or None if the queue is empty (basic.get)."""
        request = BasicGet(queue, no_ack)
        late = None if no_ack else self._give_back
        answer = await self.driver.wait(self.core.call(request), late)
        if not isinstance(answer, Message):
            return None
        ok = answer.method
        tables = self.driver.core.dialect.tables
        event = Delivered(
            self.number, "", ok.delivery_tag, ok.redelivered, ok.exchange, ok.routing_key,
            answer.body, answer.properties.encode(tables), tables,
        )  # fmt: skip
        return Delivery(self, event)

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return the channel's other events: MessageReturned, FlowChanged, ContentReceived, and with the option
        `stream_above` the pieces of big messages; only `kinds`, if given.
        """
        feed: Feed[Any] = Feed(self.driver, limit, True)
        if not self.core.is_open:
            report = self.core.report
            feed.end(EndpointClosed(f"channel {self.number}: {report}", report))
        self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams)

    async def close(self, code: int = 200, text: str = "Normal shutdown") -> CloseReport:
        """Close the channel and wait for the server's answer; return how it ended. On a closed channel this does
        nothing.
        """
        core, driver = self.core, self.driver
        core.close(code, text)
        if driver.channels.get(core.number) is self:
            driver.schedule_flush()
            await driver.wait_closed(core.number)
        report = core.report
        assert report is not None
        return report

    async def __aenter__(self) -> Channel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.report}" if self.report else "opening"
        return f"<Channel {self.number}, {state}>"

    # Called by the driver.

    def ended(self, error: EndpointClosed, cause: AmqpError | None) -> None:
        """Handle the end of the channel."""
        error.__cause__ = cause
        for feed in list(self.feeds.values()):
            feed.channel_ended(error)
        self.feeds.clear()
        if self._stopped is not None:
            self._stopped.set()

    def consumer_cancelled(self, tag: str) -> None:
        """Handle the server's cancel of a consumer."""
        feed = self.feeds.pop(tag, None)
        if feed is not None:
            text = "the server cancelled the consumer, its queue may be gone"
            report = CloseReport(By.REMOTE, 0, text)
            feed.end(ConsumerEnded(f"consumer {tag!r}: {text}", report, tag))

    def flow_changed(self, active: bool) -> None:
        """Handle a stop or restart of the flow."""
        if not active:
            self._stopped = asyncio.Event()
        elif self._stopped is not None:
            self._stopped.set()
            self._stopped = None

    # Internals.

    async def _may_publish(self) -> None:
        while self.driver.gated or (self._stopped is not None and self.core.is_open):
            if self._stopped is not None:
                await self._stopped.wait()
            await self.driver.wait_gate()

    def _give_back(self, answer: Message[BasicGetOk] | BasicGetEmpty) -> None:
        """Return a message that was fetched for a cancelled caller."""
        if isinstance(answer, Message) and self.core.is_open:
            self.core.release(answer.method.delivery_tag)


__all__ = ["Channel", "PublishOutcome"]
