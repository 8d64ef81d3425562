"""Connections and channels of 0-8 and 0-9-1, blocking.

Generated; edit the generator, tools/codegen/blocking.py, or amqp_sansio.client.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar, overload

from amqp_sansio.amqp_0_9_1 import BasicProperties, Message
from amqp_sansio.amqp_0_9_1.spec import BasicGet, BasicGetOk, Method
from amqp_sansio.client.classic import connection as connections
from amqp_sansio.client.classic.channel import PublishOutcome
from amqp_sansio.client.classic.channel import Table as Arguments
from amqp_sansio.events import CloseReport, Event

from .blocking import BaseConnection, EventStream, entered, opened
from .messages import Consumer, Delivery, PublishingChannel, taken

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
    from amqp_sansio.amqp_0_9_1 import Table
    from amqp_sansio.amqp_0_9_1.spec import (
        BasicGetEmpty,
        ExchangeBindOk,
        ExchangeDeclareOk,
        ExchangeDeleteOk,
        ExchangeUnbindOk,
        Properties,
        QueueBindOk,
        QueueDeclareOk,
        QueueDeleteOk,
        QueuePurgeOk,
        QueueUnbindOk,
        RequestMethod,
    )

_R = TypeVar("_R", bound=Method)
_E = TypeVar("_E", bound=Event)


class Channel(PublishingChannel):
    """One channel, returned by `connection.open_channel()`. `close` it, or leave its context.

    Every wait can be interrupted: the channel stays usable, a late answer is dropped. A request that the server refuses
    raises EndpointClosed, with the server's reason, and ends the channel; `report` keeps it. One that isn't answered
    within `answer_timeout` seconds raises AnswerTimeout, and the channel stays usable.
    """

    __slots__ = ()
    _END = "channel.close"

    @property
    def core(self) -> CoreChannel:
        """The channel of the core, for its properties, such as `unsettled`. Don't call its commands."""
        return self._inner.core

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self._inner.number

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._inner.is_open

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    def publish_text(
        self,
        text: str,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        properties: BasicProperties | None = None,
        timeout: float | None = None,
    ) -> PublishOutcome | None:
        """Publish text in UTF-8, with the content type text/plain unless the properties have one; see `publish`."""
        operation = self._inner.publish_text(
            text, exchange=exchange, routing_key=routing_key, mandatory=mandatory, properties=properties
        )
        return self._driver.run(operation, timeout, "publish_text", True)

    def publish_json(
        self,
        value: Any,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        properties: BasicProperties | None = None,
        timeout: float | None = None,
    ) -> PublishOutcome | None:
        """Publish a value as JSON, with the content type application/json unless the properties have one; see
        `publish`.

        Raises TypeError for a value that JSON hasn't.
        """
        operation = self._inner.publish_json(
            value, exchange=exchange, routing_key=routing_key, mandatory=mandatory, properties=properties
        )
        return self._driver.run(operation, timeout, "publish_json", True)

    def wait_for_confirms(self, timeout: float | None = None) -> None:
        """Wait until every publish of this channel has its outcome.

        Raises EndpointClosed if the channel ended before; `report.unconfirmed` has the numbers.
        """
        self._driver.run(self._inner.wait_for_confirms(), timeout, "the confirms")

    @contextmanager
    def batch(self, timeout: float | None = None) -> Generator[None]:
        """Send publishes and settlements together.

        They are sent when 64 KiB are collected, before any wait, and at the end.
        """
        with entered(self._driver, self._inner.batch(), timeout):
            yield

    def consume(
        self,
        queue: str,
        *,
        prefetch: int | None = 100,
        no_ack: bool = False,
        consumer_tag: str = "",
        no_local: bool = False,
        exclusive: bool = False,
        arguments: Arguments = None,
        buffer: int = 1000,
        timeout: float | None = None,
    ) -> Consumer:
        """Return an iterator over the deliveries from `queue`; `with` starts it at once and cancels it at the end.

        `prefetch` bounds the unsettled deliveries: it is sent as basic.qos before, 0 for no bound, None to leave the
        channel's unchanged. Without acknowledgement (`no_ack`) or bound, the connection isn't read while `buffer`
        deliveries or 16 MiB wait here, unless somebody waits for an answer on it; if 16 times as many arrive that way,
        the consumer is cancelled and its iteration ends, after the last of them, with ConsumerEnded.
        """
        inner = self._inner.consume(
            queue,
            prefetch=prefetch,
            no_ack=no_ack,
            consumer_tag=consumer_tag,
            no_local=no_local,
            exclusive=exclusive,
            arguments=arguments,
            buffer=buffer,
        )
        return Consumer(self._driver, inner, timeout)

    def get(self, queue: str, *, no_ack: bool = False, timeout: float | None = None) -> Delivery | None:
        """Fetch one message, or None if the queue is empty (basic.get)."""
        found = self._driver.run(self._inner.get(queue, no_ack=no_ack), timeout, "basic.get")
        return None if found is None else taken(self._driver, found)

    def set_prefetch(
        self, count: int, *, octets: int = 0, all_consumers: bool = False, timeout: float | None = None
    ) -> None:
        """Bound the unsettled deliveries of each consumer started from now on, or of the channel with
        `all_consumers` (basic.qos; what global means depends on the broker).
        """
        operation = self._inner.set_prefetch(count, octets=octets, all_consumers=all_consumers)
        self._driver.run(operation, timeout, "set_prefetch")

    def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> QueueDeclareOk:
        """Declare a queue, or with `passive` only look whether it is there (queue.declare).

        Return its name, which the server chooses for "", and how many messages and consumers it has.
        """
        operation = self._inner.declare_queue(
            queue, passive=passive, durable=durable, exclusive=exclusive, auto_delete=auto_delete, arguments=arguments
        )
        return self._driver.run(operation, timeout, "declare_queue")

    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> QueueDeleteOk:
        """Delete a queue; return how many messages it had (queue.delete)."""
        operation = self._inner.delete_queue(queue, if_unused=if_unused, if_empty=if_empty)
        return self._driver.run(operation, timeout, "delete_queue")

    def purge_queue(self, queue: str, *, timeout: float | None = None) -> QueuePurgeOk:
        """Drop a queue's messages that aren't delivered yet; return how many (queue.purge)."""
        return self._driver.run(self._inner.purge_queue(queue), timeout, "purge_queue")

    def bind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> QueueBindOk:
        """Let an exchange send messages to a queue (queue.bind)."""
        operation = self._inner.bind_queue(queue, exchange, routing_key, arguments=arguments)
        return self._driver.run(operation, timeout, "bind_queue")

    def unbind_queue(
        self,
        queue: str,
        exchange: str,
        routing_key: str = "",
        *,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> QueueUnbindOk:
        """Undo `bind_queue` with the same arguments (queue.unbind). 0-8 hasn't got it: LocalProtocolError."""
        operation = self._inner.unbind_queue(queue, exchange, routing_key, arguments=arguments)
        return self._driver.run(operation, timeout, "unbind_queue")

    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> ExchangeDeclareOk:
        """Declare an exchange: direct, fanout, topic, headers, or another type of the server (exchange.declare)."""
        operation = self._inner.declare_exchange(
            exchange,
            type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
            arguments=arguments,
        )
        return self._driver.run(operation, timeout, "declare_exchange")

    def delete_exchange(
        self, exchange: str, *, if_unused: bool = False, timeout: float | None = None
    ) -> ExchangeDeleteOk:
        """Delete an exchange (exchange.delete)."""
        return self._driver.run(self._inner.delete_exchange(exchange, if_unused=if_unused), timeout, "delete_exchange")

    def bind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> ExchangeBindOk:
        """Let the exchange `source` send messages to the exchange `destination` (RabbitMQ's exchange.bind)."""
        operation = self._inner.bind_exchange(destination, source, routing_key, arguments=arguments)
        return self._driver.run(operation, timeout, "bind_exchange")

    def unbind_exchange(
        self,
        destination: str,
        source: str,
        routing_key: str = "",
        *,
        arguments: Arguments = None,
        timeout: float | None = None,
    ) -> ExchangeUnbindOk:
        """Undo `bind_exchange` with the same arguments (RabbitMQ's exchange.unbind)."""
        operation = self._inner.unbind_exchange(destination, source, routing_key, arguments=arguments)
        return self._driver.run(operation, timeout, "unbind_exchange")

    def request(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        properties: BasicProperties | None = None,
        mandatory: bool = True,
        timeout: float | None = None,
    ) -> Delivery:
        """Publish a request and return its reply, a message with the same correlation-id on a queue for replies.

        It sets reply-to, and a correlation-id where there is none. The queue for replies is the server's direct
        reply-to if it announces that, else an exclusive queue of this channel; replies need no settlement. Any number
        of tasks may call at once. Give it a `timeout`: a reply that comes too late is dropped. Raises NotAccepted for a
        `mandatory` request that no queue took.

        >>> def example(channel: Channel) -> bytes:
        ...     reply = channel.request(b"ping", routing_key="rpc")
        ...     return reply.body
        """
        operation = self._inner.request(
            body, exchange=exchange, routing_key=routing_key, properties=properties, mandatory=mandatory
        )
        found = self._driver.run(operation, timeout, "request")
        return taken(self._driver, found)

    @contextmanager
    def transaction(self, timeout: float | None = None) -> Generator[None]:
        """Enter a transaction: what is published and settled on the channel takes effect together at the end (class
        tx). An exception that leaves the context undoes it.

        The channel is selected for transactions the first time: from then on, what is done outside of such a context
        takes effect when the next one commits.
        """
        with entered(self._driver, self._inner.transaction(), timeout):
            yield

    @overload
    def call(  # type: ignore[overload-overlap]  # pyright: ignore[reportOverlappingOverload]
        self,
        method: BasicGet,
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

        A reply with content is a `Message`. Raises EndpointClosed, LocalProtocolError, LimitExceeded.
        """
        return self._driver.run(self._inner.call(method, properties, body), timeout, method.NAME)

    def send(
        self,
        method: Method,
        properties: Properties | None = None,
        body: bytes | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Send a method that has no reply."""
        self._driver.run(self._inner.send(method, properties, body), timeout, "the outcome", True)

    def reply(
        self,
        method: Method,
        properties: Properties | None = None,
        body: bytes | None = None,
        *,
        timeout: float | None = None,
    ) -> None:
        """Answer the server's oldest request that `method` answers; `events(Request)` returns requests."""
        self._driver.run(self._inner.reply(method, properties, body), timeout, "reply")

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return the channel's other events: MessageReturned, FlowChanged, ContentReceived, and with the option
        `stream_above` the pieces of big messages; only `kinds`, if given.
        """
        return EventStream(self._driver, self._inner.events(*kinds, limit=limit), timeout)

    def close(self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None) -> CloseReport:
        """Close the channel and wait for the server's answer; return how it ended. On a closed channel this does
        nothing. Raises AnswerTimeout after `close_timeout` seconds: the channel is given up.
        """
        return self._driver.end(lambda: self._inner.close(code, text), timeout, "channel.close")


class Connection(BaseConnection[connections.Connection]):
    """A connection to a broker, returned by `connect`. `close` it, or leave its context.

    Leaving the context without an exception raises a failure of the connection or of a channel that no call has raised
    and no `report` has shown.
    """

    __slots__ = ()

    @property
    def peer_properties(self) -> Table:
        """The server's properties: product, version, capabilities."""
        return self._inner.peer_properties

    @property
    def blocked(self) -> str | None:
        """Why the server accepts no publishes at the moment (RabbitMQ's connection.blocked), or None if it does."""
        return self._inner.blocked

    def open_channel(self, *, confirm: bool = False, timeout: float | None = None) -> Channel:
        """Open a channel: use it as a context that closes the channel. With `confirm` each publish is confirmed.

        Raises LimitExceeded at the negotiated channel-max, LocalProtocolError if the version has no confirms.
        """
        found = self._driver.run(opened(self._inner.open_channel(confirm=confirm)), timeout, "channel.open")
        return Channel(self._driver, found)

    @overload
    def call(self, method: RequestMethod[_R], *, timeout: float | None = None) -> _R: ...
    @overload
    def call(self, method: Method, *, timeout: float | None = None) -> Any: ...
    def call(self, method: Method, *, timeout: float | None = None) -> Any:
        """Send a request of the connection class, such as ConnectionUpdateSecret, and return its reply."""
        return self._driver.run(self._inner.call(method), timeout, "call")

    def close(self, code: int = 200, text: str = "Normal shutdown", *, timeout: float | None = None) -> CloseReport:
        """Close with a handshake of at most `close_timeout` seconds; return how the connection ended. On a closed
        connection this does nothing.
        """
        return self._close(lambda: self._inner.close(code, text), timeout)


__all__ = [
    "Channel",
    "Connection",
]
