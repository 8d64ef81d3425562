"""Requests and replies over a dynamic node (1.0 part 3 sections 3.2.4 and 3.5.4)."""

from __future__ import annotations

from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ...amqp_1_0 import Accepted, Delivery, Message, Properties
from ...errors import AmqpError, CodecError, LinkEnded, NotAccepted
from ...events import Pending
from ..inbox import Inbox
from ..leaving import Both
from .link import ended_by
from .links import ACCEPTED, LinkClient, ReceiverState, SessionState

if TYPE_CHECKING:
    from ...amqp_1_0 import Receiver as CoreReceiver
    from .receiver import Receiver
    from .sender import Sender


class ReplyInbox(Inbox[Delivery]):
    """Takes replies and ends the requests that they answer. `waiting` are these, by message-id."""

    __slots__ = ("client", "last", "link", "waiting")

    def __init__(self, client: LinkClient) -> None:
        super().__init__(client, 1, True)
        # Ends the pendings of requests.
        self.client = client
        # The receiver's routes, set when it is attached.
        self.link: ReceiverState | None = None
        # The requests without an answer, by message-id and by correlation-id.
        self.waiting: dict[object, Pending[Message]] = {}
        # Why no reply comes any more; None while they may.
        self.last: AmqpError | None = None

    def count(self, item: Delivery) -> None:
        self.items.clear()
        self._hand_out(item)
        link = self.link
        assert link is not None
        if not item.settled and not link.accept_later(item):
            with suppress(AmqpError):
                link.core.update([item], ACCEPTED)
        link.taken += 1
        if link.taken >= link.batch:
            link.top_up()
        self.client.driver.flush_soon()

    def end(self, error: AmqpError | None) -> None:
        """End the requests that wait: no reply comes any more."""
        super().end(error)
        link = self.link
        if self.last is None:
            found = None if link is None or link.closing else link.error
            self.last = found or LinkEnded("the requester was closed")
        self.fail(self.last)

    def fail(self, error: AmqpError) -> None:
        """End the requests that wait."""
        waiting, self.waiting = self.waiting, {}
        for pending in waiting.values():
            pending.fail(error)
            self.client.done(pending)

    def check_open(self) -> None:
        """Raise why no reply will come any more."""
        if self.last is not None:
            raise self.client.for_caller(self.last)

    def _hand_out(self, item: Delivery) -> None:
        try:
            properties = item.message.properties
            number = None if properties is None else properties.correlation_id
        except CodecError:
            return  # It can't be assigned to a request.
        pending = self.waiting.pop(number, None)
        if pending is not None:
            self.client.complete(pending, item.message)


class ReplyRoutes(ReceiverState):
    """The routes of a receiver for replies: those under way are lost with their connection."""

    def __init__(
        self, session: SessionState, core: CoreReceiver, credit: int, inbox: ReplyInbox, asked: dict[str, Any] | None
    ) -> None:
        # Its requests fail with the connection.
        self._replies = inbox
        super().__init__(session, core, credit, inbox, asked)

    def remember(self) -> None:
        super().remember()
        report = self.core.report
        self._replies.fail(LinkEnded(f"the connection was lost before the reply came: {report}", report, self.name))


class Requester:
    """Sends requests and returns the reply to each, returned by `session.open_requester()`. `close` it, or leave its
    context.

    A reply has the request's message-id, or its correlation-id, as its own correlation-id. Any number of tasks may call
    at once.
    """

    def __init__(self, sender: Sender, receiver: Receiver, inbox: ReplyInbox) -> None:
        # Sends the requests.
        self._sender = sender
        # Its dynamic node is the address for replies.
        self._receiver = receiver
        # The requests under way.
        self._inbox = inbox
        # The last number of a message-id made here.
        self._count = 0
        inbox.client.requesters += 1
        # The beginning of these message-ids, unique among all programs.
        self._prefix = f"{inbox.client.prefix}-{inbox.client.requesters}"

    @property
    def address(self) -> str:
        """The address for replies, a node created by the peer."""
        return self._receiver.address

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._sender.is_open and self._receiver.is_open

    async def call(self, message: Message | Any) -> Message:
        """Send a request and return its reply. Sets its reply-to, a missing message-id, and a missing correlation-id to
        the same, which a responder of an older version returns. Anything but a Message becomes the body of one.

        Raises NotAccepted if the request isn't accepted, LinkEnded if a link ends. Limit it by time: a reply that comes
        too late is dropped. Raises ValueError for a message-id already in use.

        >>> async def example(requester: Requester) -> object:
        ...     return (await requester.call("ping")).body
        """
        inbox, client = self._inbox, self._inbox.client
        await client.until_restored()
        inbox.check_open()
        request, number, numbers = self._request(message if isinstance(message, Message) else Message(message))
        for each in numbers:
            if each in inbox.waiting:
                raise ValueError(f"a request with the message-id {each!r} is under way")
        pending: Pending[Message] = client.pending()
        inbox.waiting.update(dict.fromkeys(numbers, pending))
        try:
            outcome = await self._sender.send(request)
            if outcome is not None and not isinstance(outcome, Accepted):
                raise NotAccepted(f"the request was not accepted: {outcome!r}", outcome)
            return await client.outcome(pending, f"reply to the request {number!r}")
        finally:
            for each in numbers:
                if inbox.waiting.get(each) is pending:
                    del inbox.waiting[each]
            client.complete(pending)

    async def close(self) -> None:
        """Close both links; callers waiting for a reply get LinkEnded. Raises AnswerTimeout after `close_timeout`
        seconds: the links are given up.
        """
        await self._leave(None)

    async def __aenter__(self) -> Requester:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave(error)

    def __repr__(self) -> str:
        return f"<Requester {self._sender.address!r}, replies to {self.address!r}>"

    # Internals.

    async def _leave(self, error: BaseException | None) -> None:
        sender, receiver = ended_by(self._sender), ended_by(self._receiver)

        async def end() -> None:
            await sender[1]()
            await receiver[1]()

        both = Both(sender[0], receiver[0])
        what = f"detach of the requester's links for {self._sender.address!r}"
        await self._inbox.client.leave(both, what, end, error)

    def _request(self, message: Message) -> tuple[Message, object, set[object]]:
        """Return the message with its reply-to, message-id and correlation-id, its message-id, and the two that a reply
        may have.
        """
        properties = message.properties or Properties()
        number: object = properties.message_id
        if number is None:
            self._count += 1
            number = f"{self._prefix}-{self._count}"
        related = number if properties.correlation_id is None else properties.correlation_id
        asked = properties.replace(message_id=number, correlation_id=related, reply_to=self.address)
        return message.replace(properties=asked), number, {number, related}


__all__ = ["ReplyInbox", "ReplyRoutes", "Requester"]
