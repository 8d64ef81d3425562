"""Requests: requests of a session and their replies over one queue for replies (0-10 message-properties, reply-to)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...amqp_0_10 import Message, MessageProperties, MessageReceived
from ...amqp_0_10.codec.choices import NONE, PRE_ACQUIRED, WINDOW
from ...amqp_0_10.codec.records import MessageSubscribe, QueueDeclare, ReplyTo
from ...errors import CodecError, EndpointClosed, NotAccepted, SessionEnded
from ...events import Accepted, Pending
from .publishing import Publisher, rewritten
from .routes import SubscriptionInbox

if TYPE_CHECKING:
    from .routes import SessionRoutes

_CREDIT = 100


class ReplyInbox(SubscriptionInbox):
    """Takes replies and ends the requests that they answer. `waiting` are these, by correlation-id."""

    __slots__ = ("waiting",)

    def __init__(self, session: SessionRoutes, destination: str) -> None:
        super().__init__(session, destination, WINDOW, _CREDIT, None)
        # The requests without an answer, by correlation-id.
        self.waiting: dict[bytes, Pending[MessageReceived]] = {}

    def put(self, item: MessageReceived) -> None:
        if self.session.core.report is None:
            self.session.complete(item.command_id)
        try:
            properties = item.headers.message_properties
        except CodecError:
            return  # It can't be assigned to a request.
        number = None if properties is None else properties.correlation_id
        pending = self.waiting.pop(number or b"", None)
        if pending is not None:
            self.session.client.complete(pending, item)

    def replaced(self) -> None:
        super().replaced()
        core = self.session.core
        text = f"session {core.name!r} was lost before the reply came"
        self._fail(SessionEnded(text, core.report, core.name))

    def session_ended(self, error: SessionEnded, last: SessionEnded | None) -> None:
        super().session_ended(error, last)
        self._fail(error)

    def _fail(self, error: SessionEnded) -> None:
        """End the requests that wait."""
        waiting, self.waiting = self.waiting, {}
        for pending in waiting.values():
            pending.fail(error)
            self.session.client.done(pending)


class Requests:
    """The requests of one session: the queue for replies is opened with the first."""

    __slots__ = ("_count", "_inbox", "_publisher", "_queue", "_started", "_state")

    def __init__(self, state: SessionRoutes, publisher: Publisher) -> None:
        # The session's routes.
        self._state = state
        # Sends the requests in turn with the session's other messages.
        self._publisher = publisher
        # Takes the replies.
        self._inbox = ReplyInbox(state, "amqp-sansio-replies")
        # The name of the queue for replies, which each request names.
        self._queue = f"{state.core.name.decode('utf-8', 'backslashreplace')}.replies"
        # The subscription of that queue, begun with the first request; None before.
        self._started: Pending[None] | None = None
        # The last number of a correlation-id.
        self._count = 0

    async def call(self, message: Message, exchange: str, accept_mode: int) -> MessageReceived:
        """Send a request and return its reply."""
        state, client, inbox = self._state, self._state.client, self._inbox
        queue = self._queue
        await client.until_restored()
        if self._started is None:
            state.send(QueueDeclare(queue, exclusive=True, auto_delete=True))
            inbox.command = MessageSubscribe(queue, inbox.destination, NONE, PRE_ACQUIRED)
            self._started = state.send(inbox.command)
            state.subscriptions[inbox.destination] = inbox
            state.core.top_up(inbox.destination, _CREDIT, None)
        await state.result(self._started, None, "message.subscribe to the replies")
        number = message.message_properties.correlation_id
        if number is None:
            self._count += 1
            number = b"%d" % self._count
        if number in inbox.waiting:
            raise ValueError(f"a request with the correlation-id {number!r} is under way")
        asked = rewritten(message, MessageProperties, correlation_id=number, reply_to=ReplyTo("", queue))
        pending: Pending[MessageReceived] = client.pending()
        inbox.waiting[number] = pending
        try:
            sent = await self._publisher.send(asked, exchange, accept_mode, True, repeats=False)
            outcome = await self._publisher.result(sent)
            if outcome is not None and not isinstance(outcome, Accepted):
                raise NotAccepted(f"the request was not accepted: {outcome!r}", outcome)
            try:
                return await client.outcome(pending, f"reply to the request {number!r}")
            except EndpointClosed:
                state.check_open()
                raise
        finally:
            if inbox.waiting.get(number) is pending:
                del inbox.waiting[number]
            # Nobody waits for a reply to a request that was given up.
            client.complete(pending)


__all__ = ["ReplyInbox", "Requests"]
