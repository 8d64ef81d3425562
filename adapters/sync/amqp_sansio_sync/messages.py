"""Deliveries and consumers, blocking: each of their calls counts, so they are written by hand."""

from __future__ import annotations

from collections.abc import Callable, Sized
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, overload

from amqp_sansio import EndpointClosed, LocalProtocolError
from amqp_sansio.client.classic import channel as channels
from amqp_sansio.client.classic import consumer as consumers
from amqp_sansio.client.classic.channel import PublishOutcome, wrong_arguments
from amqp_sansio.client.classic.consumer import DeliveryFields, accept_all, told

from .blocking import Blocking
from .processing import Processed

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from amqp_sansio.amqp_0_9_1 import BasicProperties
    from amqp_sansio.amqp_0_9_1 import Channel as CoreChannel
    from amqp_sansio.amqp_0_9_1 import Delivery as Delivered
    from amqp_sansio.client.classic.client import ChannelState
    from amqp_sansio.events import Pending

    from .driver import Driver


class Delivery(Processed, DeliveryFields):
    """A message from a consumer or from `channel.get`.

    Settle it once, in any thread, unless it was taken with `no_ack`. The settlement is sent at once, or, while other
    deliveries of its consumer wait, within a few milliseconds and together with later ones. Settling raises
    LocalProtocolError for a settled delivery, EndpointClosed if the channel is gone, StaleDelivery if the connection
    was lost and is recovered. `message_count` is the number of messages left in the queue, known for `get` only.
    """

    __slots__ = ("_core", "_driver", "_waiting")

    def __init__(
        self, driver: Driver, core: CoreChannel, event: Delivered, waiting: Sized = (), message_count: int | None = None
    ) -> None:
        super().__init__(event, message_count)
        self._driver = driver
        """Runs its settlement."""
        self._core = core
        """The channel of the core that it came on: it can only be settled there."""
        self._waiting = waiting
        """The deliveries behind it: while there are more, settlements are sent together."""

    def accept(self, *, multiple: bool = False) -> None:
        """Acknowledge it; with `multiple` also all before it on the channel (basic.ack)."""
        self._settle("accepted", self._accept, multiple)

    def reject(self) -> None:
        """Reject it for good: the broker drops or dead-letters it (basic.reject)."""
        self._settle("rejected", self._reject)

    def release(self) -> None:
        """Return it to its queue, to be delivered again (basic.reject with requeue)."""
        self._settle("released", self._release)

    # Counted under the connection's lock, as the commands are made.

    def _accept(self, multiple: bool) -> None:
        metrics = self._driver.client.metrics
        if multiple:
            accept_all(self._core, self.event.delivery_tag, metrics)
        else:
            self._core.accept(self.event.delivery_tag)
            metrics.taken += 1

    def _reject(self) -> None:
        self._core.reject(self.event.delivery_tag)
        self._driver.client.metrics.rejected += 1

    def _release(self) -> None:
        self._core.release(self.event.delivery_tag)
        self._driver.client.metrics.released += 1

    def _settle(self, outcome: str, command: Callable[..., object], *arguments: object) -> None:
        try:
            self._driver.post(bool(self._waiting), command, *arguments)
            if self._driver.ended:
                raise self._driver.closed()
        except EndpointClosed as error:
            client: Any = self._driver.client
            state: ChannelState | None = client.channels.get(self._core.number)
            if state is None:
                raise
            raise state.stale(self._core, error) from error.__cause__
        hooks = self._driver.client.hooks
        if hooks is not None:
            hooks.settled(outcome, (self,), arguments == (True,))


def taken(driver: Driver, found: consumers.Delivery) -> Delivery:
    """Return a single message that a call of the client has fetched."""
    delivery = Delivery(driver, consumers.core_of(found), found.event, (), found.message_count)
    if driver.client.hooks is not None:
        delivery.context = getattr(found, "context", None)
    return delivery


class Consumer(Blocking[consumers.Consumer]):
    """An iterator over the deliveries of one consumer, returned by `channel.consume`.

    `next` raises TimeoutError if nothing came for `timeout` seconds; you may continue afterwards. The iteration ends
    after `cancel`, raises ConsumerEnded when the server ends the consumer, and EndpointClosed when the channel or the
    connection ends. Leaving the context, or dropping the last reference to the consumer, cancels it and returns
    untaken deliveries.
    """

    __slots__ = ("_inbox", "timeout")

    def __init__(self, driver: Driver, inner: consumers.Consumer, timeout: float | None) -> None:
        super().__init__(driver, inner)
        inbox = consumers.inbox_of(inner)
        self._inbox = inbox
        """Its deliveries, which `next` takes from without a coroutine."""
        self.timeout = timeout
        """Seconds that `next` may take; None: as long as it takes."""
        try:
            driver.run(inner.start(), timeout, "basic.consume")
        except BaseException:
            driver.client.drop_later(inbox.drop)
            raise

    @property
    def consumer_tag(self) -> str:
        """Its name on the channel."""
        return self._inner.consumer_tag

    @property
    def queue(self) -> str:
        """The queue that it takes from."""
        return self._inner.queue

    def __iter__(self) -> Consumer:
        return self

    def __next__(self) -> Delivery:
        inbox = self._inbox
        core, items = inbox.held
        item = None
        if not inbox.counted:
            with suppress(IndexError):
                item = items.popleft()
        if item is None:
            try:
                core, item = self._driver.run(inbox.take_held(), self.timeout, f"a delivery from {inbox.queue!r}")
            except StopAsyncIteration:
                raise StopIteration from None
        delivery = Delivery(self._driver, core, item, items)
        hooks = self._driver.client.hooks
        return delivery if hooks is None else told(hooks, delivery)

    def cancel(self, timeout: float | None = None) -> None:
        """Tell the server to send no more, and wait for its answer. Received deliveries are still iterated.

        A signal handler that interrupts the iteration, or any other call of this package, may call it, and doesn't wait
        then: the iteration continues and ends with the answer.

        >>> def example(consumer: Consumer) -> None:
        ...     signal.signal(signal.SIGTERM, lambda number, frame: consumer.cancel())
        ...     for delivery in consumer:
        ...         delivery.accept()
        """
        self._driver.end(self._inner.cancel, timeout, "basic.cancel")

    def close(self, timeout: float | None = None) -> None:
        """Do `cancel`, and return untaken deliveries. In signal handlers as `cancel`."""
        self._driver.end(self._inner.close, timeout, "basic.cancel")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A caller that reads on gets the reason from the iterator; leaving the context needs no more.
        with suppress(EndpointClosed):
            self._driver.end(lambda: self._inner.__aexit__(kind, error, trace), None, "basic.cancel")


class Confirmation:
    """The pending outcome of one publish in confirm mode."""

    __slots__ = ("_driver", "_name", "_pending")

    def __init__(self, driver: Driver, pending: Pending[PublishOutcome], name: str) -> None:
        self._driver = driver
        """Waits for the outcome."""
        self._pending = pending
        """Of the publish; the server's confirm or a return ends it."""
        self._name = name
        """What it waits for, in errors."""

    @property
    def done(self) -> bool:
        """Whether `result` returns or raises at once."""
        return self._pending.done

    def result(self, timeout: float | None = None) -> PublishOutcome:
        """Wait for the outcome: Accepted, Rejected, or Returned if no queue took it.

        Raises TimeoutError after `timeout` seconds, without that AnswerTimeout after `outcome_timeout`, and
        EndpointClosed if the channel ended before: the server may or may not have taken the message.
        """
        return self._driver.outcome(self._pending, timeout, self._name)

    def __repr__(self) -> str:
        return f"<Confirmation {self._pending.key}, {'done' if self.done else 'pending'}>"


class PublishingChannel(Blocking[channels.Channel]):
    """The part of a channel that publishes."""

    __slots__ = ()

    @overload
    def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: Literal[True] = True,
        timeout: float | None = None,
    ) -> PublishOutcome | None: ...
    @overload
    def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: Literal[False],
        timeout: float | None = None,
    ) -> Confirmation: ...
    def publish(
        self,
        body: Buffer,
        *,
        exchange: str = "",
        routing_key: str = "",
        mandatory: bool = False,
        immediate: bool = False,
        properties: BasicProperties | None = None,
        wait: bool = True,
        timeout: float | None = None,
    ) -> PublishOutcome | Confirmation | None:
        """Publish one message. In confirm mode wait for its outcome: Accepted, Rejected, or Returned if no queue took
        it; with `wait=False` not for the outcome: the result is a `Confirmation` to ask later, and many go
        out together, within a few milliseconds.

        Without confirms it returns None when the socket has taken the message, after waiting while the server reads too
        slowly or has stopped the flow; read returned messages with `events(MessageReturned)`. After a TimeoutError the
        message may still be sent. Raises TypeError for a body that isn't octets: `publish_text` and `publish_json` take
        others.

        >>> def publish_all(channel: Channel, bodies: list[bytes]) -> list[PublishOutcome]:
        ...     sent = [channel.publish(body, routing_key="jobs", wait=False) for body in bodies]
        ...     return [each.result() for each in sent]
        """
        driver, state = self._driver, channels.state_of(self._inner)
        client = state.client
        while True:
            if state.stopped is not None or driver.congested or client.kept >= client.kept_high:
                driver.run(state.may_publish(), timeout, "the publish")
            try:
                pending = driver.post(
                    not wait,
                    state.publish_counted,
                    body if type(body) is bytes else bytes(memoryview(body)),
                    exchange=exchange,
                    routing_key=routing_key,
                    mandatory=mandatory,
                    immediate=immediate,
                    properties=properties,
                )
                break
            except (TypeError, AttributeError) as error:
                raise wrong_arguments(body, properties) or error from None
            except EndpointClosed as error:
                if not state.waits:
                    found = state.why_ended(error)
                    raise found from found.__cause__
                # The connection was lost meanwhile.
        if driver.congested:
            driver.run(driver.written(), timeout, "the publish")
        if pending is None:
            if not wait:
                raise LocalProtocolError("wait=False needs confirm mode: open_channel(confirm=True)")
            if driver.ended:
                raise driver.closed()
            return None
        if not wait:
            return Confirmation(driver, pending, state.confirm)
        outcome: PublishOutcome = driver.outcome(pending, timeout, state.confirm)
        return outcome


__all__ = ["Confirmation", "Consumer", "Delivery", "PublishingChannel", "taken"]
