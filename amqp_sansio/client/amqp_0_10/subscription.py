"""Subscriptions of 0-10 and their messages (0-10 class 4, message.subscribe to message.stop)."""

from __future__ import annotations

import json
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from ...amqp_0_10 import DeliveryProperties, Headers, Message, MessageProperties, MessageReceived
from ...amqp_0_10.codec.choices import BYTE, CREDIT, INFINITE, MESSAGE
from ...amqp_0_10.codec.records import MessageFlow, MessageFlush, MessageSetFlowMode, MessageStop, MessageSubscribe
from ...errors import AnswerTimeout, CodecError, EndpointClosed
from ..bodies import plain
from ..processing import Processed
from .routes import SubscriptionInbox

if TYPE_CHECKING:
    from ...amqp_0_10 import SequenceSet
    from ...events import CloseReport, Pending
    from ..hooks import Hooks
    from .routes import SessionRoutes


class Settling(Protocol):
    """The session of a message: it settles it."""

    async def accept(self, *messages: Any) -> None: ...
    async def reject(self, *messages: Any, code: int = 0, text: str = "") -> None: ...
    async def release(self, *messages: Any, set_redelivered: bool = False) -> None: ...
    async def acquire(self, *messages: Any) -> SequenceSet | tuple[()]: ...


class ReceivedMessage(Processed):
    """A received message. Settle it once with `accept`, `reject` or `release`, unless its sender doesn't wait for that
    (accept-mode none).

    These return when the command is queued; `session.sync` waits for its execution. They raise LocalProtocolError for a
    message that doesn't wait for it, SessionEnded if the session is gone: then `release` or `accept` of a resumed
    session take the message too.

    >>> async def example(subscription: Subscription) -> None:
    ...     received = await subscription.fetch(timeout=5)
    ...     if received is not None and received.redelivered:
    ...         await received.reject(text="not again")
    ...     elif received is not None:
    ...         await received.accept()
    """

    __slots__ = ("_epoch", "_event", "_state", "context", "session")
    context: Any
    """The value that the hook `on_deliver` returned for it; there is none without the hook."""

    def __init__(self, session: Settling, state: SessionRoutes, event: MessageReceived) -> None:
        # The user's session, which settles it.
        self.session = session
        # The routes that it came through.
        self._state = state
        # The core's, with its headers, body and command-id.
        self._event = event
        # The peer's session that it came in: in another one it is stale.
        self._epoch = state.epoch

    @property
    def event(self) -> MessageReceived:
        """The core's event."""
        return self._event

    @property
    def body(self) -> bytes:
        """The message's body."""
        return self._event.body

    @property
    def headers(self) -> Headers:
        """All properties, decoded on access, which may raise CodecError."""
        return self._event.headers

    @property
    def message(self) -> Message:
        """The message, suitable for sending it on unchanged."""
        return self._event.message

    @property
    def delivery_properties(self) -> DeliveryProperties:
        """Exchange, routing key, priority and so on; empty if there are none."""
        return self._event.headers.delivery_properties or DeliveryProperties()

    @property
    def message_properties(self) -> MessageProperties:
        """Message-id, content type, application headers and so on; empty if there are none."""
        return self._event.headers.message_properties or MessageProperties()

    @property
    def exchange(self) -> str:
        """The exchange it was published to; empty for the default exchange."""
        return self.delivery_properties.exchange or ""

    @property
    def routing_key(self) -> str:
        """The routing key it was published with."""
        return self.delivery_properties.routing_key or ""

    @property
    def application_headers(self) -> dict[str, Any]:
        """The application's own fields as a plain dict, with plain dicts and lists within; empty without any."""
        found: dict[str, Any] = plain(self.message_properties.application_headers or {})
        return found

    @property
    def text(self) -> str:
        """The body as text in UTF-8. Raises UnicodeDecodeError."""
        return self.body.decode()

    def json(self) -> Any:
        """Return the body's JSON value. Raises ValueError if it has none."""
        return json.loads(self.body)

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self.delivery_properties.redelivered

    @property
    def command_id(self) -> int:
        """The number of its transfer in the session, which survives connections."""
        return self._event.command_id

    @property
    def destination(self) -> str:
        """The name of its subscription."""
        return self._event.destination

    @property
    def accepts(self) -> bool:
        """Whether its sender waits for it to be accepted, rejected or released."""
        return self._event.accepts

    @property
    def acquired(self) -> bool:
        """Whether it came acquired; otherwise it must be acquired before it can be accepted."""
        return self._event.acquired

    async def accept(self) -> None:
        """Accept it (message.accept)."""
        self.check_current()
        if not self._state.accept_later(self._event):
            await self.session.accept(self)
            return
        client = self._state.client
        client.metrics.taken += 1
        if client.hooks is not None:
            client.hooks.settled("accepted", (self,))

    async def reject(self, code: int = 0, text: str = "") -> None:
        """Reject it for good; its queue's alternate exchange gets it (message.reject). `code` 0: unspecified, 1:
        unroutable, 2: immediate.
        """
        await self.session.reject(self, code=code, text=text)

    async def release(self, *, set_redelivered: bool = False) -> None:
        """Return it, to be delivered again (message.release)."""
        await self.session.release(self, set_redelivered=set_redelivered)

    async def acquire(self) -> bool:
        """Acquire a message that came unacquired; return whether it was still available (message.acquire)."""
        return bool(await self.session.acquire(self._event.command_id))

    def check_current(self) -> None:
        """Raise StaleDelivery if its session was lost since, and couldn't be resumed."""
        if self._epoch != self._state.epoch:
            raise self._state.stale()

    def __repr__(self) -> str:
        return f"<ReceivedMessage {self.command_id}, {len(self.body)} octets>"


def told(hooks: Hooks | None, received: ReceivedMessage) -> ReceivedMessage:
    """Tell the hooks of a message, and return it."""
    if hooks is not None:
        try:
            place = received.exchange, received.routing_key
        except CodecError:
            place = "", ""
        hooks.delivered(received, received.destination, *place, lambda: received.application_headers)
    return received


class Subscription:
    """Messages of one queue, from `session.subscribe()`: an async iterator of `ReceivedMessage`. `close` it, or leave
    its context.

    With `credit` above 0 at most that many messages wait here, and with `octets` at most that many octets: taking
    messages grants credit for more. With 0 you `grant` it. The iteration ends after `close`, and raises SessionEnded
    when the session ends.
    """

    __slots__ = ("_inbox", "_state", "session")

    def __init__(self, session: Settling, inbox: SubscriptionInbox) -> None:
        # The user's session that made it.
        self.session = session
        # Its messages; it outlives this object.
        self._inbox = inbox
        # The routes of its session.
        self._state = inbox.session
        inbox.shown_as = self

    @property
    def destination(self) -> str:
        """Its name in the session."""
        return self._inbox.destination

    @property
    def is_open(self) -> bool:
        """Whether messages may still come."""
        return self._inbox.is_open

    @property
    def granted(self) -> tuple[int | None, int | None]:
        """The messages and octets that the peer may still send; None: any number."""
        return self._state.core.granted(self._inbox.destination)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ReceivedMessage:
        inbox = self._inbox
        if inbox.items:
            event = inbox.items.popleft()
            inbox.taken(event)
        else:
            event = await inbox.take()
        state = self._state
        if inbox.failure is None:
            inbox.complete(event)
            if inbox.credit and inbox.flow_mode == CREDIT:
                inbox.top_up()
        received = ReceivedMessage(self.session, state, event)
        hooks = state.client.hooks
        return received if hooks is None else told(hooks, received)

    async def fetch(self, timeout: float | None = None) -> ReceivedMessage | None:
        """Return the next message; None if there is none within `timeout` seconds (None: wait).

        Without credit it grants credit for one message, and takes it back after the timeout; such a subscription should
        have the flow mode CREDIT, so that taking a message grants nothing. Raises SessionEnded.

        >>> async def example(subscription: Subscription) -> None:
        ...     received = await subscription.fetch(timeout=5)
        ...     if received is not None:
        ...         await received.accept()
        """
        inbox, client = self._inbox, self._state.client
        if not inbox.items:
            inbox.check_open()
            timer = None if timeout is None else client.after(timeout)
            woken = False
            try:
                while not (inbox.items or inbox.ended or (timer is not None and timer.done)):
                    if not inbox.credit and 0 in self.granted:
                        await self.grant(1)
                    await inbox.sleep(timer, first=woken)
                    woken = True
            finally:
                if timer is not None:
                    client.stop(timer)
            if not (inbox.items or inbox.ended):
                if not inbox.credit:
                    await self.stop()
                if not inbox.items:
                    return None
            if not inbox.items:
                inbox.check_open()
        received = await self.__anext__()
        if not inbox.credit:
            # Another fetch needs its own credit.
            inbox.wake()
            client.nudge()
        return received

    async def grant(self, messages: int | None, octets: int | None = None) -> None:
        """Let the peer send `messages` more messages of `octets` more octets (None: any number, until `stop`). For
        subscriptions with `credit=0`. In window mode each message taken returns its credit.

        >>> async def example(subscription: Subscription) -> None:
        ...     await subscription.grant(100)
        ...     await subscription.flush()
        ...     print(subscription.granted, "is what may still come")
        """
        inbox, state = self._inbox, self._state
        await state.client.until_restored()
        inbox.check_open()
        for unit, value in ((MESSAGE, messages), (BYTE, octets)):
            if value is not None or self.granted[unit] is not None:
                # Broker-J treats an absent value as zero.
                given = INFINITE if value is None else value
                state.core.call(MessageFlow(inbox.destination, unit, given), sync=False)
        state.client.driver.flush_soon()

    async def flush(self) -> None:
        """Let the peer send its available messages within the credit, and discard the rest of the credit
        (message.flush). Received messages are iterated as usual. Raises SessionEnded.
        """
        inbox, state = self._inbox, self._state
        await state.client.until_restored()
        inbox.check_open()
        await state.result(state.send(MessageFlush(inbox.destination)), None, "message.flush")

    async def stop(self) -> None:
        """Take all credit back (message.stop); `grant` grants new credit. Raises SessionEnded."""
        inbox, state = self._inbox, self._state
        await state.client.until_restored()
        inbox.check_open()
        await state.result(state.send(MessageStop(inbox.destination)), None, "message.stop")

    async def close(self) -> None:
        """Cancel the subscription and wait for the peer's answer, after which no message comes. Untaken messages are
        returned. On an ended subscription this does nothing. Raises AnswerTimeout after `close_timeout` seconds: the
        subscription is given up.
        """
        await self._leave(None)

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._leave(error)

    async def _leave(self, error: BaseException | None) -> None:
        cancelling, state = self._inbox.close(), self._state
        if cancelling is not None:
            what = f"message.cancel of subscription {self.destination!r}"
            client = state.client
            is_known, seconds = client.is_overdue, client.end_limit
            answer = state.result(cancelling, None, what, seconds)
            try:
                await client.finish(Cancelled(state, cancelling), "the subscription is given up", answer, error)
            except EndpointClosed:
                return
            except AnswerTimeout:
                if not is_known:
                    raise

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<Subscription {self.destination!r}, {state}>"


class Cancelled:
    """A subscription that is being cancelled by `closed`: it is over for this side already."""

    def __init__(self, session: SessionRoutes, closed: Pending[None]) -> None:
        # The routes that the cancel was sent through.
        self.session = session
        # Ends with the answer to message.cancel.
        self.closed = closed

    @property
    def is_overdue(self) -> bool:
        """Whether the peer still owes the answer."""
        session = self.session
        return not self.closed.done and session.client.sessions.get(session.core.channel) is session

    def give_up(self, report: CloseReport) -> None:
        """Nothing: nobody waits for it."""


async def open_subscription(
    session: Settling,
    state: SessionRoutes,
    destination: str | None,
    command: Callable[[str], MessageSubscribe],
    flow_mode: int,
    credit: int,
    octets: int | None,
) -> Subscription:
    """Subscribe, and grant the first credit; without a `destination`, with a generated name."""
    await state.client.until_restored()
    known, core = state.subscriptions, state.core
    while destination is None:
        # Never again the name of one that is being cancelled.
        state.named += 1
        name = f"subscription-{state.named}"
        destination = None if name in known else name
    subscribe = command(destination)
    starting = state.send(subscribe)
    inbox = known[destination] = SubscriptionInbox(state, destination, flow_mode, credit, octets, subscribe)
    if flow_mode == CREDIT:
        core.call(MessageSetFlowMode(destination, CREDIT), sync=False)
    if credit:
        core.top_up(destination, credit, octets)
    # A caller that is gone has no subscription to close.
    await state.result(starting, lambda _: inbox.close(), f"message.subscribe of {destination!r}")
    return shown(session, inbox)


def inbox_of(subscription: Subscription) -> SubscriptionInbox:
    """Return what a subscription takes from, for those who drive it otherwise."""
    return subscription._inbox  # pyright: ignore[reportPrivateUsage]


def shown(session: Settling, inbox: SubscriptionInbox) -> Subscription:
    """Return the user's object of a subscription, always the same one."""
    found: Subscription | None = inbox.shown_as
    return Subscription(session, inbox) if found is None else found


__all__ = ["ReceivedMessage", "Subscription", "inbox_of", "open_subscription", "shown", "told"]
