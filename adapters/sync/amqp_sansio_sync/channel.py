"""Channels: calls, publishing, consuming (0-9-1 sections 1.4 to 1.9)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, cast, overload

from amqp_sansio import (
    Accepted,
    By,
    CloseReport,
    EndpointClosed,
    Event,
    Handle,
    LocalProtocolError,
    Rejected,
)
from amqp_sansio.amqp_0_9_1 import (
    BasicGet,
    BasicGetEmpty,
    BasicGetOk,
    BasicProperties,
    ConsumerCancelled,
    Message,
    MessageReturned,
    Method,
    Returned,
)
from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
from amqp_sansio.errors import ConsumerEnded

from .consumer import Consumer, ConsumerFeed, Delivery
from .feed import EventStream, Feed, Streams, publicise
from .handlers import aside, interrupts_itself
from .wire import BATCH, CALLER_ERRORS

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Buffer

    from amqp_sansio.amqp_0_9_1 import Properties, RequestMethod

    from .connection import Connection, Core
    from .wire import Wire

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)

PublishOutcome: TypeAlias = Accepted | Rejected | Returned
"""The outcome of a publish in confirm mode."""

_logger = logging.getLogger("amqp_sansio_sync")


class Confirmation:
    """The pending outcome of one publish in confirm mode."""

    __slots__ = ("_channel", "_handle")

    def __init__(self, channel: Channel, handle: Handle[Any]) -> None:
        self._channel = channel
        self._handle = handle

    @property
    def done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._handle.done

    def result(self, timeout: float | None = None) -> PublishOutcome:
        """Wait for the outcome: Accepted, Rejected, or Returned if no queue took it.

        Raises TimeoutError after `timeout` seconds, and EndpointClosed if the channel ended before: the server may or
        may not have taken the message.
        """
        outcome: PublishOutcome = self._channel.finish(self._handle, timeout, "the confirm")
        return outcome


class Channel:
    """One channel, returned by `connection.open_channel()`. Every method may be called from any thread.

    A request that the server refuses raises EndpointClosed, with the server's reason, and ends the channel; `report`
    keeps it. A wait raises TimeoutError after `timeout` seconds (None: never) and can be interrupted: the channel stays
    usable, a late answer is dropped.
    """

    __slots__ = (
        "_batches",
        "_connection",
        "confirms",
        "core",
        "ended",
        "feeds",
        "streams",
        "tags",
        "wire",
    )

    def __init__(self, connection: Connection, core: CoreChannel) -> None:
        self._connection = connection
        self.wire: Wire[Core] = connection.wire
        self.core = core
        self.confirms = False
        self.ended = False
        self.feeds: dict[str, ConsumerFeed] = {}
        self.streams: Streams = []
        self.tags = 0
        self._batches = 0

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self.core.number

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self.core.report
        if report is not None:
            self.wire.seen(report)
        return report

    @overload
    def call(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        method: BasicGet,
        properties: None = None,
        body: None = None,
        *,
        timeout: float | None = None,
    ) -> Message[BasicGetOk] | BasicGetEmpty: ...
    @overload
    def call(
        self,
        method: RequestMethod[_R],
        properties: Properties | None = None,
        body: bytes | None = None,
        *,
        timeout: float | None = None,
    ) -> _R: ...
    @overload
    def call(
        self,
        method: Method,
        properties: Properties | None = None,
        body: bytes | None = None,
        *,
        timeout: float | None = None,
    ) -> Any: ...
    def call(
        self,
        method: Method,
        properties: Properties | None = None,
        body: bytes | None = None,
        *,
        timeout: float | None = None,
    ) -> Any:
        """Send a request and return its reply, such as QueueDeclareOk for QueueDeclare; None with `no_wait`.

        A reply with content is a `Message`. Raises EndpointClosed, LocalProtocolError, LimitExceeded, TimeoutError.
        """

        def begin() -> Handle[Any]:
            handle = self.core.call(method, properties, body)
            if method.NAME == "basic.cancel" and not handle.done:
                self.expect(handle, lambda ok: self.consumer_gone(ok.consumer_tag, None))
            return handle

        late = self._give_back if method.NAME == "basic.get" else None
        reply = self.finish(self.wire.run(begin), timeout, method.NAME, late)
        if method.NAME == "confirm.select":
            self.confirms = True
        return reply

    def send(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> None:
        """Send a method that has no reply."""
        self.wire.run(lambda: self.core.send(method, properties, body))

    def reply(
        self, method: Method, properties: Properties | None = None, body: bytes | None = None
    ) -> None:
        """Answer the server's oldest request that `method` answers; `events(Request)` returns requests."""
        self.wire.run(lambda: self.core.reply(method, properties, body))

    def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        timeout: float | None = None,
    ) -> PublishOutcome | None:
        """Publish one message.

        In confirm mode wait for its outcome: Accepted, Rejected, or Returned if no queue took it. Without confirms it
        returns None when the socket has taken the message, after waiting while the server reads too slowly or has
        stopped the flow; read returned messages with `events(MessageReturned)`. After a TimeoutError the message may
        still be sent.
        """
        handle = self._publish(
            body, exchange, routing_key, mandatory, immediate, properties, timeout
        )
        if handle is None:
            return None
        outcome: PublishOutcome = self.finish(handle, timeout, "the confirm")
        return outcome

    def publish_nowait(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        timeout: float | None = None,
    ) -> Confirmation:
        """Publish in confirm mode without waiting for the outcome, so that many are in transit.

        `timeout` is for the socket to take the message. Raises LimitExceeded if `Limits.unconfirmed` publishes wait for
        an outcome.

        >>> def publish_all(channel: Channel, bodies: list[bytes]) -> list[PublishOutcome]:
        ...     pending = [channel.publish_nowait(body, routing_key="jobs") for body in bodies]
        ...     return [each.result() for each in pending]
        """
        if not self.confirms:
            raise LocalProtocolError(
                "publish_nowait needs confirm mode: open_channel(confirm=True)"
            )
        handle = self._publish(
            body, exchange, routing_key, mandatory, immediate, properties, timeout
        )
        assert handle is not None
        return Confirmation(self, handle)

    def wait_for_confirms(self, timeout: float | None = None) -> None:
        """Wait until every publish of this channel has its outcome.

        Raises EndpointClosed if the channel ended before; `report.unconfirmed` has the numbers.
        """
        core = self.core
        self.wire.wait(lambda: not (core.unconfirmed and core.report is None), timeout, "the confirms")
        if core.report is not None and (core.unconfirmed or core.report.unconfirmed):
            raise self._gone(core.report)

    @contextmanager
    def batch(self) -> Generator[None]:
        """Send publishes and settlements of this channel together.

        They are sent when 64 KiB are collected, before any wait, and at the end.
        """
        with self.wire.lock:
            self._batches += 1
        try:
            yield
        finally:
            with self.wire.lock:
                self._batches -= 1
            if not self.wire.ended:
                self.wire.wait(self._sent, None, "the batch")

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
        timeout: float | None = None,
    ) -> Consumer:
        """Start a consumer; iterate over it for its deliveries.

        At most `prefetch` deliveries are unsettled (0: any number; None: as set by basic.qos). With `no_ack` deliveries
        need no settlement, and may be lost in transit. `buffer` bounds the waiting deliveries if nothing else does.
        `timeout` applies to the start and then to each delivery.
        """
        tag = consumer_tag or self._new_tag()
        fields: dict[str, Any] = {"arguments": arguments} if arguments else {}
        fields.update(no_local=no_local, no_ack=no_ack, exclusive=exclusive)
        consume = self.record("basic.consume", queue=queue, consumer_tag=tag, **fields)
        feed = ConsumerFeed(self, queue, tag, no_ack, buffer, no_ack or not prefetch)

        def begin() -> Handle[Any]:
            if prefetch is not None and not no_ack:
                self.core.call(self.record("basic.qos", prefetch_count=prefetch))
            handle = self.core.call(consume)
            self.feeds[tag] = feed
            return handle

        handle = self.wire.run(begin)
        self.finish(handle, timeout, "basic.consume", lambda _: feed.drop())
        return Consumer(feed, timeout)

    def get(
        self, queue: str, *, no_ack: bool = False, timeout: float | None = None
    ) -> Delivery | None:
        """Fetch one message, or None if the queue is empty (basic.get)."""
        answer = self.call(self.record("basic.get", queue=queue, no_ack=no_ack), timeout=timeout)
        return Delivery.got(self, answer) if isinstance(answer, Message) else None

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(
        self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None
    ) -> EventStream[_E]: ...
    def events(
        self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None
    ) -> EventStream[Any]:
        """Return the channel's other events, such as MessageReturned and FlowChanged; only `kinds`, if given."""
        feed: Feed[Any] = Feed(self.wire, limit, True)
        with self.wire.lock:
            if self.core.report is not None:
                feed.finish(self._gone(self.core.report))
            self.streams.append((kinds or (Event,), feed))
        return EventStream(feed, self.streams, timeout)

    def close(
        self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None
    ) -> CloseReport:
        """Close the channel and wait for the server's answer; return how it ended. Does nothing on a closed channel.

        A signal handler that interrupts a call of this package may call it, and doesn't wait then.
        """
        if interrupts_itself():
            return aside("channel.close", lambda: self.close(code, text, timeout=timeout))
        if not self.ended:
            self.wire.run(lambda: self.core.close(code, text))
            self.wire.wait(lambda: self.ended, timeout, "channel.close")
        report = self.report
        if report is None:
            raise self.wire.closed()
        return report

    def __enter__(self) -> Channel:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not self.ended and not self.wire.ended:
            self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self.core.report}"
        return f"<Channel {self.number}, {state}>"

    # For the other parts of the adapter.

    def settle(self, more: bool, command: Callable[..., None], *arguments: Any) -> None:
        """Settle deliveries; with `more`, that is if others wait, it may be sent together with their settlements."""
        self.wire.post(self._batches > 0, command, *arguments, soon=more)

    def finish(
        self,
        handle: Handle[Any],
        timeout: float | None,
        what: str,
        late: Callable[[Any], object] | None = None,
    ) -> Any:
        """Wait for a handle and return its result. `late` takes a result after a timeout."""
        return self._connection.finish(handle, timeout, what, late)

    def expect(self, handle: Handle[Any], hook: Callable[[Any], object]) -> None:
        """Call `hook` with the result of a handle, before the next event is taken. The lock is held."""
        self._connection.expect(handle, hook)

    def record(self, name: str, **fields: Any) -> Any:
        """Return a method's class in the connection's dialect."""
        return self.wire.core.dialect.named[name](**fields)

    # Events; the lock is held.

    def deliver(self, event: Delivered) -> None:
        """Handle a message."""
        feed = self.feeds.get(event.consumer_tag)
        if feed is not None:
            feed.put(event)
        else:
            publicise(self.streams, event)

    def take(self, event: Event) -> None:
        """Handle any other event that doesn't end a call."""
        if isinstance(event, ConsumerCancelled):
            text = "the server cancelled the consumer, its queue may be gone"
            report = CloseReport(By.REMOTE, 0, text)
            tag = event.consumer_tag
            self.consumer_gone(tag, ConsumerEnded(f"consumer {tag!r}: {text}", report, tag))
        taken = publicise(self.streams, event)
        if not taken and isinstance(event, MessageReturned) and event.handle is None:
            _logger.warning(
                "a message for exchange %r, routing key %r was returned: %d %s; nobody reads events(MessageReturned)",
                *(event.exchange, event.routing_key, event.reply_code, event.reply_text),
            )

    def consumer_gone(self, tag: str, error: ConsumerEnded | None) -> None:
        """Handle the end of a consumer; with `error` by the server."""
        feed = self.feeds.pop(tag, None)
        if feed is not None:
            feed.finish(error)

    def end(self, error: EndpointClosed) -> None:
        """Handle the end of the channel."""
        self.ended = True
        self.no_more(error)

    def no_more(self, error: EndpointClosed) -> None:
        """End all events of the channel."""
        for feed in self.feeds.values():
            feed.channel_ended(error)
        self.feeds.clear()
        for _, stream in self.streams:
            stream.finish(error)

    # Internals.

    def _publish(
        self,
        body: Buffer,
        exchange: str,
        routing_key: str,
        mandatory: bool,
        immediate: bool,
        properties: BasicProperties | None,
        timeout: float | None,
    ) -> Handle[Any] | None:
        wire, core = self.wire, self.core
        if not isinstance(body, bytes):
            body = bytes(memoryview(body))
        if wire.unsent or core.client_stopped:
            wire.wait(self._may_publish, timeout, "the publish")
        with wire.lock:
            wire.claim()
            try:
                now = monotonic()
                wire.look(now)
                handle = core.publish(
                    body,
                    exchange=exchange,
                    routing_key=routing_key,
                    mandatory=mandatory,
                    immediate=immediate,
                    properties=properties,
                )
                if not self._batches or wire.core.send_backlog > BATCH:
                    wire.write(now)
            except CALLER_ERRORS as error:
                wire.release(error)
                raise
            except BaseException as error:
                wire.give_up(error)
                raise
            wire.release()
        if wire.unsent:
            wire.wait(self._sent, timeout, "the publish")
        elif wire.ended and handle is None:
            raise wire.closed()
        return handle

    def _may_publish(self) -> bool:
        return not self.core.is_open or not (self.wire.unsent or self.core.client_stopped)

    def _sent(self) -> bool:
        return not self.wire.unsent and not self.wire.ended

    def _new_tag(self) -> str:
        with self.wire.lock:
            self.tags += 1
            return f"c{self.number}.{self.tags}"

    def _give_back(self, answer: Any) -> None:
        """Return a message that was fetched for a caller that is gone."""
        if isinstance(answer, Message):
            tag = cast("Message[BasicGetOk]", answer).method.delivery_tag
            if tag in self.core.unsettled:
                self.core.release(tag)

    def _gone(self, report: CloseReport) -> EndpointClosed:
        return EndpointClosed(f"channel {self.number} is closed: {report}", report)


__all__ = ["Channel", "Confirmation", "PublishOutcome"]
