"""Channel: calls, publishing and consuming on one channel (0-9-1 sections 1.3 to 1.9)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, overload

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
    ConsumerCancelled,
    FlowChanged,
    Message,
    MessageReturned,
    Returned,
)

from .consumer import OVERHEAD, Consumer, Delivery
from .link import CALLER_ERRORS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Buffer, Self

    from amqp_sansio import amqp_0_9_1
    from amqp_sansio.amqp_0_9_1 import BasicProperties, FieldValue, Method, Properties, RequestMethod

    from .connection import Connection
    from .link import Link

_R = TypeVar("_R")

Outcome: TypeAlias = Accepted | Rejected | Returned
"""What became of a confirmed publish."""

BATCH: Final = 65_536
"""Octets that a batch collects before it sends them."""
RETURNS: Final = 1000
"""Returned messages that a channel keeps."""


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

    def result(self, timeout: float | None = None) -> Outcome:
        """Wait for the outcome: Accepted, Rejected or Returned.

        Raises TimeoutError after `timeout` seconds, and EndpointClosed when the channel ended before: the server may have
        taken the message or not.
        """
        outcome: Outcome = self._channel.finish(self._handle, timeout, "the confirm")
        return outcome


class Channel:
    """One channel. Every method may be called from any thread.

    Methods raise EndpointClosed, with the report of who closed it and why, when the channel or connection is gone;
    LocalProtocolError for what the protocol forbids; TimeoutError when `timeout` seconds (None: any time) were not enough.
    """

    __slots__ = ("_batches", "_connection", "_consumers", "_inbox", "_tags", "confirms", "core", "ended", "link", "returned")

    def __init__(self, connection: Connection, core: amqp_0_9_1.Channel) -> None:
        self._connection = connection
        self.link: Link = connection.link
        self.core = core
        self.confirms = False
        self.ended = False
        self.returned: deque[MessageReturned] = deque(maxlen=RETURNS)
        self._batches = 0
        self._consumers: dict[str, Consumer] = {}
        self._inbox: deque[Event] = deque()
        self._tags = 0

    @property
    def number(self) -> int:
        """The channel's number on its connection."""
        return self.core.number

    @property
    def is_open(self) -> bool:
        """Whether it can be used, as far as is known."""
        return self.core.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why the channel ended, once it has."""
        return self.core.report

    @overload
    def call(
        self,
        method: RequestMethod[_R],
        *,
        properties: Properties | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> _R: ...
    @overload
    def call(
        self,
        method: Method,
        *,
        properties: Properties | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Any: ...
    def call(
        self,
        method: Method,
        *,
        properties: Properties | None = None,
        body: bytes | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Send a request and wait for its reply; one with content is a `Message`, with `no_wait` there is none (None).

        A reply that comes after the timeout is taken and dropped; a message in it goes back to its queue.
        """
        handle: Handle[Any] = self.link.run(lambda: self.core.call(method, properties, body))
        late = self._release if method.NAME == "basic.get" else None
        reply = self.finish(handle, timeout, method.NAME, late)
        if method.NAME == "confirm.select":
            self.confirms = True
        elif method.NAME == "basic.cancel":
            self._end_consumer(getattr(method, "consumer_tag", ""))
        return reply

    def send(self, method: Method, *, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Send a method that has no reply, with its content if it carries one."""
        self.link.run(lambda: self.core.send(method, properties, body))

    def reply(self, method: Method, *, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Answer the server's oldest request that `method` answers (`next_event` gives requests)."""
        self.link.run(lambda: self.core.reply(method, properties, body))

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
    ) -> Outcome | None:
        """Publish one message. In confirm mode, wait for its outcome; else return, with None, when the socket has taken it.

        It waits while the server reads nothing or has stopped the flow. After a TimeoutError the message may still go out.
        """
        handle = self._publish(body, exchange, routing_key, mandatory, immediate, properties, timeout)
        if handle is None:
            return None
        outcome: Outcome = self.finish(handle, timeout, "the confirm")
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
        """Publish in confirm mode without waiting for the outcome: many can be under way at a time.

        >>> confirmations = [channel.publish_nowait(body, routing_key="jobs") for body in bodies]  # doctest: +SKIP
        >>> outcomes = [each.result() for each in confirmations]  # doctest: +SKIP

        `timeout` is for the socket to take it. Raises LimitExceeded when `Limits.unconfirmed` are waiting.
        """
        if not self.confirms:
            raise LocalProtocolError("publish_nowait needs confirm mode: open_channel(confirm=True)")
        handle = self._publish(body, exchange, routing_key, mandatory, immediate, properties, timeout)
        assert handle is not None
        return Confirmation(self, handle)

    def wait_for_confirms(self, timeout: float | None = None) -> None:
        """Wait until every publish of this channel has its outcome."""
        self.link.wait(lambda: not self.core.unconfirmed, timeout, "the confirms")
        if self.core.report is not None and self.core.report.unconfirmed:
            raise self._closed()

    @contextmanager
    def batch(self) -> Generator[None]:
        """Collect publishes and settlements of this channel and send them together: at 64 KiB, before any wait, and at the end."""
        with self.link.lock:
            self._batches += 1
        try:
            yield
        finally:
            with self.link.lock:
                self._batches -= 1
            if not self.link.ended:
                self.link.wait(self._sent, None, "the batch")

    def consume(
        self,
        queue: str,
        *,
        prefetch: int = 100,
        no_ack: bool = False,
        exclusive: bool = False,
        no_local: bool = False,
        consumer_tag: str = "",
        arguments: Mapping[str, FieldValue] | None = None,
        timeout: float | None = None,
    ) -> Consumer:
        """Start a consumer; iterate over it for its deliveries.

        At most `prefetch` deliveries (0: any number) are under way, sent and not settled. With `no_ack` nothing is to be
        settled, and what is lost on the way stays lost. `timeout` holds for the start and then for each delivery.
        """
        if not no_ack:
            self.call(self._record("basic.qos", prefetch_count=prefetch), timeout=timeout)
        bounded = prefetch > 0 and not no_ack

        def begin() -> tuple[Consumer, Handle[Any]]:
            tag = consumer_tag or self._new_tag()
            consumer = Consumer(self, queue, tag, no_ack, bounded, timeout)
            record = self._record(
                "basic.consume",
                queue=queue,
                consumer_tag=tag,
                no_local=no_local,
                no_ack=no_ack,
                exclusive=exclusive,
                arguments=arguments or {},
            )
            handle = self.core.call(record)
            self._consumers[tag] = consumer
            return consumer, handle

        consumer, handle = self.link.run(begin)
        try:
            self.finish(handle, timeout, "basic.consume", lambda _: self._cancel(consumer))
        except EndpointClosed:
            self._consumers.pop(consumer.tag, None)
            raise
        return consumer

    def get(self, queue: str, *, no_ack: bool = False, timeout: float | None = None) -> Delivery | None:
        """Take one message from a queue; None when it's empty."""
        reply = self.call(self._record("basic.get", queue=queue, no_ack=no_ack), timeout=timeout)
        return Delivery.got(self, reply) if isinstance(reply, Message) else None

    def next_event(self, timeout: float | None = None) -> Event:
        """What nothing else here takes: requests of the server, content of other classes, deliveries of a consumer that `call` began."""
        self.link.wait(lambda: bool(self._inbox) or self.ended, timeout, "an event")
        with self.link.lock:
            if not self._inbox:
                raise self._closed()
            event = self._inbox.popleft()
            self._count(event, -1)
        return event

    def close(self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None) -> None:
        """Close the channel; the connection stays. Does nothing when it's closed."""
        if self.ended:
            return
        self.link.run(lambda: self.core.close(code, text))
        self.link.wait(lambda: self.ended, timeout, "channel.close")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except EndpointClosed:
            if error is None:
                raise

    def __repr__(self) -> str:
        return f"<Channel {self.number}, {'open' if self.is_open else 'closed'}>"

    # For consumers, deliveries and confirmations.

    def settle(self, command: Callable[..., None], *arguments: Any) -> None:
        """Settle deliveries; what the socket doesn't take at once goes out later."""
        link = self.link
        with link.lock:
            link.claim()
            try:
                now = monotonic()
                link.look(now)
                command(*arguments)
                if not self._batches or link.core.send_backlog > BATCH:
                    link.write(now)
            except CALLER_ERRORS as error:
                link.release(error)
                raise
            except BaseException as error:
                link.give_up(error)
                raise
            if link.unsent:
                link.keeper.ring()
            link.release()

    def finish(
        self, handle: Handle[Any], timeout: float | None, what: str, late: Callable[[Any], None] | None = None
    ) -> Any:
        """Wait for the end of a handle and return its result. `late` takes a result that nobody waits for any more."""
        return self._connection.finish(handle, timeout, what, late)

    def cancel(self, consumer: Consumer, timeout: float | None) -> None:
        """End a consumer."""
        handle = self.link.run(lambda: self._cancel(consumer))
        if handle is not None:
            self.finish(handle, timeout, "basic.cancel")
        self._end_consumer(consumer.tag)

    # For the connection, with the lock held.

    def deliver(self, event: amqp_0_9_1.Delivery) -> None:
        """A message came."""
        consumer = self._consumers.get(event.consumer_tag)
        if consumer is not None:
            consumer.put(event)
        else:
            self.take(event)

    def take(self, event: Event) -> None:
        """Another event of this channel that isn't the end of a call."""
        if isinstance(event, MessageReturned):
            if event.handle is None:
                self.returned.append(event)
        elif isinstance(event, ConsumerCancelled):
            consumer = self._consumers.pop(event.consumer_tag, None)
            if consumer is not None:
                text = f"the server cancelled consumer {consumer.tag!r} of queue {consumer.queue!r}"
                consumer.finish(EndpointClosed(text), keep=True)
        elif not isinstance(event, FlowChanged):
            self._inbox.append(event)
            self._count(event, 1)

    def end(self, report: CloseReport) -> None:
        """The channel has ended."""
        self.ended = True
        deliberate = report.by is By.LOCAL and report.code in (0, 200) and report.rule is None
        reason = None if deliberate else self._closed()
        for consumer in self._consumers.values():
            consumer.finish(reason, keep=consumer.no_ack)
        self._consumers.clear()

    # Inside.

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
        link, core = self.link, self.core
        if not isinstance(body, bytes):
            body = bytes(memoryview(body))
        if link.unsent or core.client_stopped:
            link.wait(self._may_publish, timeout, "the publish")
        with link.lock:
            link.claim()
            try:
                now = monotonic()
                link.look(now)
                handle = core.publish(
                    body,
                    exchange=exchange,
                    routing_key=routing_key,
                    mandatory=mandatory,
                    immediate=immediate,
                    properties=properties,
                )
                if not self._batches or link.core.send_backlog > BATCH:
                    link.write(now)
            except CALLER_ERRORS as error:
                link.release(error)
                raise
            except BaseException as error:
                link.give_up(error)
                raise
            link.release()
        if link.unsent:
            link.wait(self._sent, timeout, "the publish")
        elif link.ended and handle is None:
            raise link.closed()
        return handle

    def _may_publish(self) -> bool:
        return not self.core.is_open or not (self.link.unsent or self.core.client_stopped)

    def _sent(self) -> bool:
        return not self.link.unsent and not self.link.ended

    def _record(self, name: str, **fields: Any) -> Any:
        """The version's record of a method."""
        return self.link.core.dialect.named[name](**fields)

    def _new_tag(self) -> str:
        self._tags += 1
        tag = f"c{self.number}.{self._tags}"
        return tag if tag not in self.core.consumers else self._new_tag()

    def _cancel(self, consumer: Consumer) -> Handle[Any] | None:
        if consumer.tag not in self._consumers:
            return None
        consumer.give_back()
        return self.core.call(self._record("basic.cancel", consumer_tag=consumer.tag))

    def _end_consumer(self, tag: str) -> None:
        with self.link.lock:
            consumer = self._consumers.pop(tag, None)
            if consumer is not None:
                consumer.finish(None, keep=True)

    def _release(self, reply: Any) -> None:
        if isinstance(reply, Message) and reply.method.delivery_tag in self.core.unsettled:
            self.core.release(reply.method.delivery_tag)

    def _count(self, event: Event, sign: int) -> None:
        size = sign * (OVERHEAD + len(getattr(event, "body", b"")))
        self.link.held += size
        self.link.unbounded += size

    def _closed(self) -> EndpointClosed:
        report = self.core.report or self.link.core.report
        return EndpointClosed(f"channel {self.number} is closed: {report}", report)
