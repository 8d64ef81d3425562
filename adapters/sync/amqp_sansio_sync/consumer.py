"""Consumer and Delivery: messages that a server sends, as an iterator, and what becomes of each (0-9-1 section 1.8.3)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from amqp_sansio import EndpointClosed

if TYPE_CHECKING:
    from types import TracebackType

    from typing_extensions import Self

    from amqp_sansio import amqp_0_9_1
    from amqp_sansio.amqp_0_9_1 import BasicGetOk, BasicProperties, Message

    from .channel import Channel

OVERHEAD: Final = 512
"""What a message that waits to be taken counts besides the octets of its body."""


class Delivery:
    """A message from a consumer or from `channel.get`, to be settled once, in any thread.

    `message_count` is how many more the queue holds, for `get` only. What a consumer or `get` took with `no_ack` is settled
    already. Settling raises LocalProtocolError for what is settled, EndpointClosed when the channel is gone.
    """

    __slots__ = (
        *("_channel", "_source", "body", "consumer_tag", "delivery_tag", "exchange", "message_count"),
        *("redelivered", "routing_key"),
    )

    body: bytes
    consumer_tag: str
    delivery_tag: int
    redelivered: bool
    exchange: str
    routing_key: str
    message_count: int | None

    def __init__(self, channel: Channel, source: amqp_0_9_1.Delivery) -> None:
        self._channel = channel
        self._source: amqp_0_9_1.Delivery | Message[BasicGetOk] = source
        self.body = source.body
        self.consumer_tag = source.consumer_tag
        self.delivery_tag = source.delivery_tag
        self.redelivered = source.redelivered
        self.exchange = source.exchange
        self.routing_key = source.routing_key
        self.message_count = None

    @classmethod
    def got(cls, channel: Channel, message: Message[BasicGetOk]) -> Self:
        """The delivery in the answer to a basic.get."""
        self = cls.__new__(cls)
        method = message.method
        self._channel = channel
        self._source = message
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
        """The message's properties; what the sender left out is None. Reading damaged ones raises CodecError."""
        return self._source.properties  # type: ignore[return-value]

    def accept(self, *, multiple: bool = False) -> None:
        """The message was dealt with; with `multiple`, so were all before it on the channel (basic.ack)."""
        self._channel.settle(self._channel.core.accept, self.delivery_tag, multiple)

    def reject(self) -> None:
        """The message can't be dealt with: it's dropped or dead-lettered (basic.reject)."""
        self._channel.settle(self._channel.core.reject, self.delivery_tag)

    def release(self) -> None:
        """Give the message back to its queue, to be delivered again (basic.reject with requeue)."""
        self._channel.settle(self._channel.core.release, self.delivery_tag)

    def __repr__(self) -> str:
        return (
            f"<Delivery {self.delivery_tag} on channel {self._channel.number}: {len(self.body)} octets, "
            f"exchange {self.exchange!r}, routing key {self.routing_key!r}>"
        )


class Consumer:
    """The deliveries of one consumer: an iterator, and a context manager that cancels it at the end.

    `next` raises TimeoutError when nothing came for `timeout` seconds; one may go on afterwards. When the server cancels the
    consumer, or the channel or connection ends, `next` raises the reason as EndpointClosed, every time; after `close` or
    a close of the channel or connection by this side the iteration just ends.
    """

    __slots__ = ("_bounded", "_buffer", "_channel", "_discards", "_over", "_reason", "no_ack", "queue", "tag", "timeout")

    def __init__(self, channel: Channel, queue: str, tag: str, no_ack: bool, bounded: bool, timeout: float | None) -> None:
        self._channel = channel
        self._buffer: deque[amqp_0_9_1.Delivery] = deque()
        self._bounded = bounded
        self._discards = False
        self._over = False
        self._reason: EndpointClosed | None = None
        self.queue = queue
        self.tag = tag
        self.no_ack = no_ack
        self.timeout = timeout

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Delivery:
        link = self._channel.link
        while True:
            with link.lock:
                if self._buffer:
                    source = self._buffer.popleft()
                    size = len(source.body) + OVERHEAD
                    link.held -= size
                    if not self._bounded:
                        link.unbounded -= size
                    break
                if self._over:
                    if self._reason is None:
                        raise StopIteration
                    link.unseen = None
                    raise EndpointClosed(str(self._reason), self._reason.report)
            what = f"a delivery from queue {self.queue!r}"
            link.wait(self._has_news, self.timeout, what)
        return Delivery(self._channel, source)

    def close(self, timeout: float | None = None) -> None:
        """Cancel the consumer. What was delivered and not taken goes back to the queue; without acknowledgement it can still be taken.

        A second call does nothing. Raises TimeoutError when the server didn't answer within `timeout` seconds.
        """
        if not self._over:
            self._channel.cancel(self, timeout)

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

    # For the channel, with the lock held.

    def put(self, source: amqp_0_9_1.Delivery) -> None:
        """A message came."""
        if self._discards:
            self._channel.core.release(source.delivery_tag)
            return
        self._buffer.append(source)
        link = self._channel.link
        size = len(source.body) + OVERHEAD
        link.held += size
        if not self._bounded:
            link.unbounded += size

    def give_back(self) -> None:
        """Nobody takes messages from here any more: give back what is here and what comes."""
        if self.no_ack:
            return
        self._discards = True
        for source in self._drop():
            self._channel.core.release(source.delivery_tag)

    def finish(self, reason: EndpointClosed | None, keep: bool) -> None:
        """Nothing more comes. With `keep`, what is here can still be taken."""
        if not keep:
            self._drop()
        self._over = True
        self._reason = reason

    def _drop(self) -> list[amqp_0_9_1.Delivery]:
        dropped = list(self._buffer)
        self._buffer.clear()
        size = sum([len(source.body) + OVERHEAD for source in dropped])
        link = self._channel.link
        link.held -= size
        if not self._bounded:
            link.unbounded -= size
        return dropped

    def _has_news(self) -> bool:
        return bool(self._buffer) or self._over
