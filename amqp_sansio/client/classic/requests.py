"""Requests: requests and their replies over one queue for replies (0-9-1 basic.properties, reply-to)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from ...amqp_0_9_1 import BasicProperties, MessageReturned, Returned
from ...amqp_0_9_1 import Delivery as Delivered
from ...errors import EndpointClosed, NotAccepted
from ...events import Accepted, Pending
from .client import ConsumerInbox, hooked
from .consumer import Delivery, told

if TYPE_CHECKING:
    from ...amqp_0_9_1 import Channel as CoreChannel
    from .client import ChannelState

DIRECT = "amq.rabbitmq.reply-to"
"""The queue of RabbitMQ that hands replies to the connection that asked."""


class ReplyInbox(ConsumerInbox):
    """Takes replies and ends the requests that they answer. `waiting` are these, by correlation-id."""

    __slots__ = ("waiting",)

    def __init__(self, channel: ChannelState, tag: str) -> None:
        super().__init__(channel, channel.method("basic.consume", consumer_tag=tag, no_ack=True), None, 1)
        # The requests without an answer, by correlation-id.
        self.waiting: dict[str, Pending[tuple[CoreChannel, Delivered]]] = {}

    def extend(self, items: list[Delivered]) -> None:
        for item in items:
            pending = self.waiting.pop(item.properties.correlation_id or "", None)
            if pending is not None:
                self.channel.client.complete(pending, (self.channel.core, item))

    def take_return(self, event: MessageReturned) -> bool:
        """Fail the request that came back; False if it was none of these."""
        pending = self.waiting.pop(event.properties.correlation_id or "", None)
        if pending is None:
            return False
        outcome = Returned(event.reply_code, event.reply_text)
        pending.fail(NotAccepted(f"the request was not accepted: {outcome!r}", outcome))
        self.channel.client.done(pending)
        return True

    def lost(self) -> None:
        """Fail the requests: their replies go to an address that is gone. The next one opens another."""
        self.channel.inboxes.pop(self.tag, None)
        self.starting = None
        self._fail(EndpointClosed("the connection was lost before the reply came", self.channel.core.report))

    def channel_ended(self, error: EndpointClosed | None) -> None:
        super().channel_ended(error)
        late = error or EndpointClosed("the channel was closed before the reply came", self.channel.core.report)
        self._fail(late)

    def _fail(self, error: EndpointClosed) -> None:
        waiting, self.waiting = self.waiting, {}
        for pending in waiting.values():
            pending.fail(error)
            self.channel.client.done(pending)


class Requests:
    """The requests of one channel: the queue for replies is opened with the first."""

    def __init__(self, state: ChannelState) -> None:
        # The channel of all its requests.
        self._state = state
        # Takes the replies.
        self._inbox = ReplyInbox(state, state.new_tag())
        # The opening of the queue for replies, which the first request begins; its result is the queue's name.
        self._address: Pending[Any] | None = None
        # The last number of a correlation-id.
        self._count = 0

    async def call(
        self, body: bytes, exchange: str, routing_key: str, properties: BasicProperties | None, mandatory: bool
    ) -> Delivery:
        """Send a request and return its reply."""
        state, client, inbox = self._state, self._state.client, self._inbox
        await client.until_restored()
        address = await self._reply_to()
        asked = BasicProperties() if properties is None else properties
        number = asked.correlation_id
        if number is None:
            self._count += 1
            number = f"{state.core.number}.{self._count}"
        if number in inbox.waiting:
            raise ValueError(f"a request with the correlation-id {number!r} is under way")
        asked = asked.replace(reply_to=address, correlation_id=number)
        pending: Pending[tuple[CoreChannel, Delivered]] = client.pending()
        inbox.waiting[number] = pending
        try:
            publish: Any = state.core.publish
            if client.hooks is not None:
                publish = partial(hooked, client.hooks, publish)
            sent = publish(body, exchange=exchange, routing_key=routing_key, mandatory=mandatory, properties=asked)
            state.published += sent is None
            if sent is not None:
                outcome = await client.outcome(sent, state.confirm)
                if not isinstance(outcome, Accepted):
                    raise NotAccepted(f"the request was not accepted: {outcome!r}", outcome)
            core, reply = await client.outcome(pending, f"reply to the request {number!r}")
            return told(client.hooks, Delivery(state, reply, (), None, core))
        finally:
            inbox.waiting.pop(number, None)
            # Nobody waits for a reply to a request that was given up.
            client.complete(pending)

    async def _reply_to(self) -> str:
        """Return the address for replies, after opening it once."""
        state, client, inbox = self._state, self._state.client, self._inbox
        if self._address is None or inbox.starting is None:
            capabilities: Any = client.core.peer_properties.get("capabilities") or {}
            if capabilities.get("direct_reply_to"):
                self._address = client.pending()
                queue = DIRECT
                self._address.complete(queue)
            else:
                self._address = state.core.call(state.method("queue.declare", exclusive=True, auto_delete=True))
                queue = ""  # the channel's last declared one (0-9-1 queue name, rule default-queue)
            inbox.starting = state.core.call(
                state.method("basic.consume", queue=queue, consumer_tag=inbox.tag, no_ack=True)
            )
            state.inboxes[inbox.tag] = inbox
            state.take_return = inbox.take_return
            inbox.started = True
        assert inbox.starting is not None
        await client.result(inbox.starting, what="basic.consume of the replies")
        found = await client.result(self._address, what="queue.declare for the replies")
        return found if isinstance(found, str) else str(found.queue)


__all__ = ["DIRECT", "ReplyInbox", "Requests"]
