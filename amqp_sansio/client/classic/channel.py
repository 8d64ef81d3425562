"""Channels of a client: calls, publishing, consuming (0-9-1 sections 1.4 to 1.9)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar, cast, overload

from ...amqp_0_9_1 import BasicProperties, Message, Returned
from ...amqp_0_9_1 import Delivery as Delivered
from ...amqp_0_9_1.spec import BasicGet, BasicGetOk, Method
from ...errors import EndpointClosed, LocalProtocolError, TransactionFailed
from ...events import Accepted, By, CloseReport, Event, Pending, Rejected
from ..bodies import JSON, TEXT, json_octets, wrong_body
from ..connection import open_stream
from ..inbox import EventStream
from .client import ChannelState, ConsumerInbox
from .consumer import Consumer, Delivery, told
from .requests import Requests

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ...amqp_0_9_1 import Channel as CoreChannel
    from ...amqp_0_9_1.spec import (
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

PublishOutcome: TypeAlias = Accepted | Rejected | Returned
"""The outcome of a publish in confirm mode."""
Table: TypeAlias = "Mapping[str, Any] | None"
"""The arguments of a declaration, such as {"x-max-length": 10}."""


class Confirmation:
    """A publish in confirm mode whose outcome wasn't waited for: `await` it, any number of times.

    Raises EndpointClosed if the channel ended before: the server may have taken the message or not.
    """

    __slots__ = ("_pending", "_state")

    def __init__(self, state: ChannelState, pending: Pending[PublishOutcome]) -> None:
        # The channel that it was published on, for errors.
        self._state = state
        # Of the publish; the server's confirm or a return ends it.
        self._pending = pending

    @property
    def done(self) -> bool:
        """Whether the outcome is known, or never will be."""
        return self._pending.done

    async def result(self) -> PublishOutcome:
        """Wait for the outcome: Accepted, Rejected, or Returned if no queue took it."""
        return await self

    def __await__(self) -> Generator[Any, Any, PublishOutcome]:
        pending = self._pending
        if not pending.done or pending.error is not None:
            yield from self._state.client.outcome(pending, self._state.confirm).__await__()
        return pending.result

    def __repr__(self) -> str:
        return f"<Confirmation {self._pending.key}, {'done' if self.done else 'pending'}>"


class Channel:
    """One channel, returned by `connection.open_channel()`. `close` it, or leave its context.

    Every wait can be cancelled: the channel stays usable, a late answer is dropped. A request that the server refuses
    raises EndpointClosed, with the server's reason, and ends the channel; `report` keeps it. One that isn't answered
    within `answer_timeout` seconds raises AnswerTimeout, and the channel stays usable.
    """

    __slots__ = ("_client", "_requests", "_state")

    def __init__(self, state: ChannelState) -> None:
        # The channel below, which goes on through recovery.
        self._state = state
        # Whose channel it is, for waits and hooks.
        self._client = state.client
        # Made with the first `request`.
        self._requests: Requests | None = None

    @property
    def core(self) -> CoreChannel:
        """The channel of the core, for its properties, such as `unsettled`. Don't call its commands."""
        return self._state.core

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self._state.core.number

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._state.core.is_open and self._client.restored is None

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        report = self._state.report
        self._client.seen(report)
        return report

    # Publishing.

    @overload
    async def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: Literal[True] = True,
    ) -> PublishOutcome | None: ...
    @overload
    async def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: Literal[False],
    ) -> Confirmation: ...
    @overload
    async def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: bool,
    ) -> PublishOutcome | Confirmation | None: ...
    async def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: bool = True,
    ) -> PublishOutcome | Confirmation | None:
        """Publish one message. In confirm mode wait for its outcome: Accepted, Rejected, or Returned if no queue took
        it; with `wait=False` not for the outcome: the result is a `Confirmation` to await later.

        Without confirms it returns None when the message is queued, after waiting while the server reads too slowly or
        has stopped the flow; read returned messages with `events(MessageReturned)`. A publish cancelled while it waits
        may have been sent. Raises TypeError for a body that isn't octets:
        `publish_text` and `publish_json` take others.

        >>> async def publish_all(channel: Channel, bodies: list[bytes]) -> list[PublishOutcome]:
        ...     sent = [await channel.publish(body, routing_key="jobs", wait=False) for body in bodies]
        ...     return [await each for each in sent]
        """
        state, client = self._state, self._client
        driver = client.driver
        is_kept = client.recovery is not None and client.hooks is None
        while True:
            if (
                state.stopped is not None
                or driver.congested
                or state.out.size >= client.backlog_high
                or client.kept >= client.kept_high
            ):
                await state.may_publish()
                driver = client.driver
            try:
                octets = body if isinstance(body, bytes) else bytes(memoryview(body))
                pending = (state.core.publish if is_kept else state.publish)(
                    octets,
                    exchange=exchange,
                    routing_key=routing_key,
                    mandatory=mandatory,
                    immediate=immediate,
                    properties=properties,
                )
                break
            except EndpointClosed as error:
                if state.waits:
                    continue  # The connection was lost meanwhile.
                found = state.why_ended(error)
                raise found from found.__cause__
            except (TypeError, AttributeError) as error:
                raise wrong_arguments(body, properties) or error from None
        if pending is None:
            # Those of a channel with confirms are counted by the core.
            state.published += 1
            if is_kept:
                state.remember(octets, exchange, routing_key, properties)
        elif is_kept:
            pending.again = octets, exchange, routing_key, mandatory, immediate, properties, state
            client.kept += len(octets)
        driver.flush_soon()
        if state.out.size >= client.flush_octets:
            # Behind the publish, so that those of other tasks don't overtake it.
            await client.room()
        if pending is None:
            if not wait:
                raise LocalProtocolError("wait=False needs confirm mode: open_channel(confirm=True)")
            return None
        if not wait:
            return Confirmation(state, pending)
        if not pending.done:
            term = client.join(pending)
            if term is None:
                await client.decided(pending, state.confirm)
            else:
                # As `decided` does, without a coroutine for each publish.
                core = client.core
                mine = client.driver.wait(pending)
                try:
                    await mine
                finally:
                    client.parted(term, pending, mine)
                if not pending.done:
                    await client.undecided(term, core, pending, state.confirm)
        if pending.error is not None:
            raise client.error_of(pending)
        outcome: PublishOutcome = pending.result
        return outcome

    async def publish_text(
        self,
        text: str,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        properties: BasicProperties | None = None,
    ) -> PublishOutcome | None:
        """Publish text in UTF-8, with the content type text/plain unless the properties have one; see `publish`."""
        return await self.publish(
            text.encode(),
            exchange=exchange,
            routing_key=routing_key,
            mandatory=mandatory,
            properties=_typed(properties, TEXT),
        )

    async def publish_json(
        self,
        value: Any,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        properties: BasicProperties | None = None,
    ) -> PublishOutcome | None:
        """Publish a value as JSON, with the content type application/json unless the properties have one; see
        `publish`.

        Raises TypeError for a value that JSON hasn't.
        """
        return await self.publish(
            json_octets(value),
            exchange=exchange,
            routing_key=routing_key,
            mandatory=mandatory,
            properties=_typed(properties, JSON),
        )

    async def wait_for_confirms(self) -> None:
        """Wait until every publish of this channel has its outcome.

        Raises EndpointClosed if the channel ended before; `report.unconfirmed` has the numbers.
        """
        state, client = self._state, self._client
        await client.until_restored()
        while state.core.unconfirmed and state.report is None:
            newest = next(reversed(state.core.unconfirmed.values()))
            await client.within(client.outcome_limit, newest, state.confirm)
            await client.until_restored()
        report = state.report
        if report is not None and (state.core.unconfirmed or report.unconfirmed):
            raise self._ended_error()

    @asynccontextmanager
    async def batch(self) -> AsyncGenerator[None]:
        """Send publishes and settlements together.

        They are sent when 64 KiB are collected, before any wait, and at the end.
        """
        client = self._client
        client.hold += 1
        try:
            yield
        finally:
            client.hold -= 1
            client.driver.flush_soon()
        await client.driver.pace()

    # Consuming.

    def consume(
        self,
        queue: str,
        *,
        prefetch: int | None = 100,
        no_ack: bool = False,
        consumer_tag: str = "",
        no_local: bool = False,
        exclusive: bool = False,
        arguments: Table = None,
        buffer: int = 1000,
    ) -> Consumer:
        """Return an async iterator over the deliveries from `queue`; `async with` starts it at once and cancels it at
        the end.

        `prefetch` bounds the unsettled deliveries: it is sent as basic.qos before, 0 for no bound, None to leave the
        channel's unchanged. Without acknowledgement (`no_ack`) or bound, the connection isn't read while `buffer`
        deliveries or 16 MiB wait here, unless somebody waits for an answer on it; if 16 times as many arrive that way,
        the consumer is cancelled and its iteration ends, after the last of them, with ConsumerEnded.
        """
        state = self._state
        tag = consumer_tag or state.new_tag()
        fields: dict[str, Any] = {"arguments": arguments} if arguments else {}
        consume = state.method(
            "basic.consume",
            queue=queue,
            consumer_tag=tag,
            no_local=no_local,
            no_ack=no_ack,
            exclusive=exclusive,
            **fields,
        )
        return Consumer(state, ConsumerInbox(state, consume, prefetch, buffer))

    async def get(self, queue: str, *, no_ack: bool = False) -> Delivery | None:
        """Fetch one message, or None if the queue is empty (basic.get)."""
        state = self._state
        await self._client.until_restored()
        request = state.call(state.method("basic.get", queue=queue, no_ack=no_ack))
        came_on = self._came_on(request)
        late = None if no_ack else partial(self._give_back, came_on)
        answer = await self._client.result(request, late, "basic.get")
        if not isinstance(answer, Message):
            return None
        found = cast("Message[BasicGetOk]", answer)
        ok = found.method
        tables = self._client.core.dialect.tables
        event = Delivered(
            self.number,
            "",
            ok.delivery_tag,
            ok.redelivered,
            ok.exchange,
            ok.routing_key,
            found.body,
            found.properties.encode(tables),
            tables,
        )
        self._client.metrics.delivered += 1
        return told(self._client.hooks, Delivery(state, event, (), ok.message_count, came_on.core))

    async def set_prefetch(self, count: int, *, octets: int = 0, all_consumers: bool = False) -> None:
        """Bound the unsettled deliveries of each consumer started from now on, or of the channel with
        `all_consumers` (basic.qos; what global means depends on the broker).
        """
        state = self._state
        method = state.method("basic.qos", prefetch_size=octets, prefetch_count=count, global_=all_consumers)
        await self._client.until_restored()
        await self._client.result(state.call(method), what="basic.qos")

    # Queues and exchanges.

    async def declare_queue(
        self,
        queue: str = "",
        *,
        passive: bool = False,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        arguments: Table = None,
    ) -> QueueDeclareOk:
        """Declare a queue, or with `passive` only look whether it is there (queue.declare).

        Return its name, which the server chooses for "", and how many messages and consumers it has.
        """
        reply: QueueDeclareOk = await self._ask(
            "queue.declare",
            arguments,
            queue=queue,
            passive=passive,
            durable=durable,
            exclusive=exclusive,
            auto_delete=auto_delete,
        )
        return reply

    async def delete_queue(self, queue: str, *, if_unused: bool = False, if_empty: bool = False) -> QueueDeleteOk:
        """Delete a queue; return how many messages it had (queue.delete)."""
        reply: QueueDeleteOk = await self._ask("queue.delete", queue=queue, if_unused=if_unused, if_empty=if_empty)
        return reply

    async def purge_queue(self, queue: str) -> QueuePurgeOk:
        """Drop a queue's messages that aren't delivered yet; return how many (queue.purge)."""
        reply: QueuePurgeOk = await self._ask("queue.purge", queue=queue)
        return reply

    async def bind_queue(
        self, queue: str, exchange: str, routing_key: str = "", *, arguments: Table = None
    ) -> QueueBindOk:
        """Let an exchange send messages to a queue (queue.bind)."""
        reply: QueueBindOk = await self._ask(
            "queue.bind", arguments, queue=queue, exchange=exchange, routing_key=routing_key
        )
        return reply

    async def unbind_queue(
        self, queue: str, exchange: str, routing_key: str = "", *, arguments: Table = None
    ) -> QueueUnbindOk:
        """Undo `bind_queue` with the same arguments (queue.unbind). 0-8 hasn't got it: LocalProtocolError."""
        reply: QueueUnbindOk = await self._ask(
            "queue.unbind", arguments, queue=queue, exchange=exchange, routing_key=routing_key
        )
        return reply

    async def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        passive: bool = False,
        durable: bool = False,
        auto_delete: bool = False,
        internal: bool = False,
        arguments: Table = None,
    ) -> ExchangeDeclareOk:
        """Declare an exchange: direct, fanout, topic, headers, or another type of the server (exchange.declare)."""
        reply: ExchangeDeclareOk = await self._ask(
            "exchange.declare",
            arguments,
            exchange=exchange,
            type=type,
            passive=passive,
            durable=durable,
            auto_delete=auto_delete,
            internal=internal,
        )
        return reply

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False) -> ExchangeDeleteOk:
        """Delete an exchange (exchange.delete)."""
        reply: ExchangeDeleteOk = await self._ask("exchange.delete", exchange=exchange, if_unused=if_unused)
        return reply

    async def bind_exchange(
        self, destination: str, source: str, routing_key: str = "", *, arguments: Table = None
    ) -> ExchangeBindOk:
        """Let the exchange `source` send messages to the exchange `destination` (RabbitMQ's exchange.bind)."""
        reply: ExchangeBindOk = await self._ask(
            "exchange.bind", arguments, destination=destination, source=source, routing_key=routing_key
        )
        return reply

    async def unbind_exchange(
        self, destination: str, source: str, routing_key: str = "", *, arguments: Table = None
    ) -> ExchangeUnbindOk:
        """Undo `bind_exchange` with the same arguments (RabbitMQ's exchange.unbind)."""
        reply: ExchangeUnbindOk = await self._ask(
            "exchange.unbind", arguments, destination=destination, source=source, routing_key=routing_key
        )
        return reply

    # Requests and transactions.

    async def request(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        properties: BasicProperties | None = None,
        mandatory: bool = True,
    ) -> Delivery:
        """Publish a request and return its reply, a message with the same correlation-id on a queue for replies.

        It sets reply-to, and a correlation-id where there is none. The queue for replies is the server's direct
        reply-to if it announces that, else an exclusive queue of this channel; replies need no settlement. Any number
        of tasks may call at once. Limit it by time: a reply that comes too late is dropped. Raises NotAccepted for a
        `mandatory` request that no queue took.

        >>> async def example(channel: Channel) -> bytes:
        ...     reply = await channel.request(b"ping", routing_key="rpc")
        ...     return reply.body
        """
        if self._requests is None:
            self._requests = Requests(self._state)
        return await self._requests.call(bytes(body), exchange, routing_key, properties, mandatory)

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[None]:
        """Enter a transaction: what is published and settled on the channel takes effect together at the end (class
        tx). An exception that leaves the context undoes it.

        The channel is selected for transactions the first time: from then on, what is done outside of such a context
        takes effect when the next one commits.
        """
        await self._ask("tx.select")
        core = self._state.core
        try:
            yield
            await self._client.until_restored()
            if self._state.core is not core and self._state.error is None:
                text = "the connection was lost within the transaction, so the server has rolled it back; do it again"
                raise TransactionFailed(f"channel {self.number}: {text}")
        except BaseException as error:
            # Without its channel the transaction is rolled back too; the exception that leaves says more.
            with suppress(EndpointClosed):
                await self._end_transaction("tx.rollback", self._client.end_limit, error)
            raise
        await self._end_transaction("tx.commit", None, None)

    # Methods as such.

    @overload
    async def call(  # type: ignore[overload-overlap]
        self, method: BasicGet
    ) -> Message[BasicGetOk] | BasicGetEmpty: ...
    @overload
    async def call(
        self, method: RequestMethod[_R], properties: Properties | None = None, body: bytes | None = None
    ) -> _R: ...
    @overload
    async def call(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> Any: ...
    async def call(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> Any:
        """Send a request and return its reply, such as QueueDeclareOk for QueueDeclare; None with `no_wait`.

        A reply with content is a `Message`. Raises EndpointClosed, LocalProtocolError, LimitExceeded.
        """
        await self._client.until_restored()
        pending = self._state.call(method, properties, body)
        late = partial(self._give_back, self._came_on(pending)) if method.NAME == "basic.get" else None
        if method.NAME == "basic.cancel" and not pending.done:
            self._client.expect(pending, self._state.consumer_gone)
        return await self._client.result(pending, late, method.NAME)

    async def send(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Send a method that has no reply."""
        await self._client.until_restored()
        self._state.core.send(method, properties, body)
        self._client.driver.flush_soon()

    async def reply(self, method: Method, properties: Properties | None = None, body: bytes | None = None) -> None:
        """Answer the server's oldest request that `method` answers; `events(Request)` returns requests."""
        self._state.core.reply(method, properties, body)
        self._client.driver.flush_soon()

    @overload
    def events(self, *, limit: int = 1000) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000) -> EventStream[Any]:
        """Return the channel's other events: MessageReturned, FlowChanged, ContentReceived, and with the option
        `stream_above` the pieces of big messages; only `kinds`, if given.
        """
        state = self._state
        ended = None if state.report is None else self._ended_error()
        return open_stream(self._client, state.streams, kinds, limit, ended)

    async def close(self, code: int = 200, text: str = "Normal shutdown") -> CloseReport:
        """Close the channel and wait for the server's answer; return how it ended. On a closed channel this does
        nothing. Raises AnswerTimeout after `close_timeout` seconds: the channel is given up.
        """
        await self._leave(code, text)
        report = self.report
        assert report is not None
        return report

    async def __aenter__(self) -> Channel:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that only leaves the context hasn't seen why the channel had ended before.
        await self._leave(200, "Normal shutdown", error)

    def __repr__(self) -> str:
        state = "open" if self.is_open else f"closed: {self._state.report}" if self._state.report else "waiting"
        return f"<Channel {self.number}, {state}>"

    # Internals.

    async def _leave(self, code: int, text: str, error: BaseException | None = None) -> None:
        what = f"channel.close of channel {self.number}"
        await self._client.leave(self._state, what, lambda: self._close(code, text), error)

    async def _end_transaction(self, name: str, seconds: float | None, error: BaseException | None) -> None:
        """Commit or roll back; without an answer nobody knows what the channel does, so it is given up."""
        await self._client.until_restored()
        call = self._state.call(self._state.method(name))
        answer = self._client.result(call, None, name, seconds)
        await self._client.finish(self._state, f"the transaction could not be ended by {name}", answer, error)

    async def _close(self, code: int, text: str) -> None:
        state, client = self._state, self._client
        state.closing = True
        if client.restored is not None and not state.core.is_open and client.channels.get(self.number) is state:
            client.drop_channel(state.number, CloseReport(By.LOCAL, code, text))
            return
        state.core.close(code, text)
        if not state.closed.done and client.channels.get(self.number) is state:
            client.driver.flush_soon()
            await client.until(state.closed)

    async def _ask(self, name: str, arguments: Table = None, **fields: Any) -> Any:
        """Send a request of the connection's dialect and return its reply; fields that are False are left out."""
        given = {field: value for field, value in fields.items() if value is not False}
        if arguments:
            given["arguments"] = arguments
        named = self._client.core.dialect.named
        if name not in named:
            raise LocalProtocolError(f"{self._client.core.dialect.name} has no {name}")
        await self._client.until_restored()
        return await self._client.result(self._state.call(named[name](**given)), what=name)

    def _came_on(self, request: Pending[Any]) -> CameOn:
        """Return what gets the channel of the core on which an answer comes, when it does."""
        found = CameOn(self._state)
        self._client.expect(request, found)
        return found

    def _give_back(self, came_on: CameOn, answer: Message[Any] | Method) -> None:
        """Return a message that was fetched for a caller that is gone."""
        core = came_on.core or self._state.core
        if isinstance(answer, Message) and core.is_open:
            core.release(answer.method.delivery_tag)

    def _ended_error(self) -> EndpointClosed:
        report = self.report
        whose = "" if report is None else self._client.whose(report)
        return EndpointClosed(f"channel {self.number} is closed: {report}{whose}", report)


class CameOn:
    """Notes the channel of the core on which an answer comes: `core`, None before."""

    __slots__ = ("_state", "core")

    def __init__(self, state: ChannelState) -> None:
        # The channel that the answer comes for.
        self._state = state
        # Set when the answer comes.
        self.core: CoreChannel | None = None

    def __call__(self, answer: object) -> None:
        self.core = self._state.core


def _typed(properties: BasicProperties | None, content_type: str) -> BasicProperties:
    if properties is None:
        return BasicProperties(content_type=content_type)
    return properties if properties.content_type is not None else properties.replace(content_type=content_type)


def state_of(channel: Channel) -> ChannelState:
    """Return the state of a user's channel, for those who write its calls for another driver."""
    return channel._state  # pyright: ignore[reportPrivateUsage]


def wrong_arguments(body: object, properties: object) -> TypeError | None:
    """Return the error that says what to pass instead of a body or properties of the wrong type."""
    wrong = wrong_body(body)
    if wrong is not None:
        return wrong
    if properties is not None and not isinstance(properties, BasicProperties):
        name = type(properties).__name__
        return TypeError(f"properties are BasicProperties(content_type=..., headers=...), not {name}")
    return None


__all__ = ["Channel", "Confirmation", "PublishOutcome", "Table", "state_of", "wrong_arguments"]
