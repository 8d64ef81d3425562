"""Subscriptions of 0-10 and their messages (0-10 class 4, message.subscribe to message.stop)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from amqp_sansio.amqp_0_10 import (
    BYTE,
    CREDIT,
    INFINITE,
    MESSAGE,
    DeliveryProperties,
    Headers,
    Message,
    MessageCancel,
    MessageFlow,
    MessageFlush,
    MessageProperties,
    MessageReceived,
    MessageSetFlowMode,
    MessageStop,
    MessageSubscribe,
)
from amqp_sansio.errors import EndpointClosed, SessionEnded

from ..feed import Feed
from .ends import again

if TYPE_CHECKING:
    from amqp_sansio.events import Pending

    from .session import ZeroTenSession

_LEAST_LIMIT: Final = 1000


class ReceivedMessage:
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

    __slots__ = ("_event", "session")

    def __init__(self, session: ZeroTenSession, event: MessageReceived) -> None:
        self.session = session
        self._event = event

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
        session = self.session
        if not session.accept_later(self._event):
            await session.accept(self._event.command_id)

    async def reject(self, code: int = 0, text: str = "") -> None:
        """Reject it for good; its queue's alternate exchange gets it (message.reject). `code` 0: unspecified, 1:
        unroutable, 2: immediate.
        """
        await self.session.reject(self._event.command_id, code=code, text=text)

    async def release(self, *, set_redelivered: bool = False) -> None:
        """Return it, to be delivered again (message.release)."""
        await self.session.release(self._event.command_id, set_redelivered=set_redelivered)

    async def acquire(self) -> bool:
        """Acquire a message that came unacquired; return whether it was still available (message.acquire)."""
        return bool(await self.session.acquire(self._event.command_id))

    def __repr__(self) -> str:
        return f"<ReceivedMessage {self.command_id}, {len(self.body)} octets>"


class Subscription:
    """Messages of one queue, from `session.subscribe()`: an async iterator of `ReceivedMessage`. `close` it, or leave
    its context.

    With `credit` above 0 at most that many messages wait here, and with `octets` at most that many octets: taking
    messages grants credit for more. With 0 you `grant` it. The iteration ends after `close`, and raises SessionEnded
    when the session ends.
    """

    def __init__(
        self,
        session: ZeroTenSession,
        destination: str,
        flow_mode: int,
        credit: int,
        octets: int | None,
    ) -> None:
        self.session: Final = session
        self.destination: Final = destination
        limit = max(_LEAST_LIMIT, 2 * credit)
        self.feed: Feed[MessageReceived] = Feed(session.driver, limit, True)
        self._flow_mode = flow_mode
        self._credit = credit
        self._octets = octets
        self._closing = False
        self._error: SessionEnded | None = None

    @property
    def is_open(self) -> bool:
        """Whether messages may still come."""
        return not self._closing and self._error is None

    @property
    def granted(self) -> tuple[int | None, int | None]:
        """The messages and octets that the peer may still send; None: any number."""
        return self.session.core.granted(self.destination)

    def __aiter__(self) -> Subscription:
        return self

    async def __anext__(self) -> ReceivedMessage:
        feed = self.feed
        event = feed.items.popleft() if feed.items else await feed.take()
        feed.taken(event)
        session = self.session
        if self._error is None:
            # In window mode this returns the credit.
            session.complete(event.command_id)
            if self._credit and self._flow_mode == CREDIT:
                self._top_up()
        return ReceivedMessage(session, event)

    async def fetch(self, timeout: float | None = None) -> ReceivedMessage | None:
        """Return the next message; None if there is none within `timeout` seconds (None: wait).

        Without credit it grants credit for one message, and takes it back after the timeout; such a subscription should
        have the flow mode CREDIT, so that taking a message grants nothing. Raises SessionEnded.

        >>> async def example(subscription: Subscription) -> None:
        ...     received = await subscription.fetch(timeout=5)
        ...     if received is not None:
        ...         await received.accept()
        """
        feed = self.feed
        if not feed.items:
            self.check_open()
            try:
                async with asyncio.timeout(timeout):
                    while not (feed.items or feed.ended):
                        if not self._credit and 0 in self.granted:
                            await self.grant(1)
                        await feed.sleep()
            except TimeoutError:
                if not self._credit and not feed.items:
                    await self.stop()
                if not feed.items:
                    return None
            if not feed.items:
                self.check_open()
        received = await self.__anext__()
        if not self._credit:
            feed.wake()  # Another fetch needs its own credit.
        return received

    async def grant(self, messages: int | None, octets: int | None = None) -> None:
        """Let the peer send `messages` more messages of `octets` more octets (None: any number, until `stop`). For
        subscriptions with `credit=0`. In window mode each message taken returns its credit.

        >>> async def example(subscription: Subscription) -> None:
        ...     await subscription.grant(100)
        ...     await subscription.flush()
        ...     print(len(subscription.feed.items), "messages were there")
        """
        self.check_open()
        core = self.session.core
        for unit, value in ((MESSAGE, messages), (BYTE, octets)):
            if value is not None or self.granted[unit] is not None:
                # Broker-J treats an absent value as zero.
                given = INFINITE if value is None else value
                core.call(MessageFlow(self.destination, unit, given), sync=False)
        self.session.flush()

    async def flush(self) -> None:
        """Let the peer send its available messages within the credit, and discard the rest of the credit
        (message.flush). Received messages are iterated as usual. Raises SessionEnded.
        """
        self.check_open()
        await self.session.call(MessageFlush(self.destination))

    async def stop(self) -> None:
        """Take all credit back (message.stop); `grant` grants new credit. Raises SessionEnded."""
        self.check_open()
        await self.session.call(MessageStop(self.destination))

    async def close(self) -> None:
        """Cancel the subscription and wait for the peer's answer, after which no message comes. Untaken messages are
        returned. On an ended subscription this does nothing.
        """
        handle = self.start_closing()
        if handle is not None:
            with suppress(EndpointClosed):
                await self.session.driver.wait(handle)

    async def __aenter__(self) -> Subscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "open" if self.is_open else "closed"
        return f"<Subscription {self.destination!r}, {state}>"

    # Called by the session.

    def check_open(self) -> None:
        """Raise the subscription's error if it has ended."""
        if self._error is not None:
            raise again(self._error)
        if self._closing:
            text = f"subscription {self.destination!r} is closed"
            raise SessionEnded(text, self.session.report, self.session.name)
        self.session.check_open()

    def arrived(self, event: MessageReceived) -> None:
        """Handle a message."""
        self.feed.push(event)

    def start_closing(self) -> Pending[None] | None:
        """Do the part of `close` before the wait."""
        if not self.is_open:
            return None
        self._closing = True
        session = self.session
        session.subscriptions.pop(self.destination, None)
        items = list(self.feed.items)
        self.feed.items.clear()
        self.feed.end(None)
        try:
            handle: Pending[None] = session.core.call(MessageCancel(self.destination))
            for event in items:
                session.give_back(event)
        except EndpointClosed:
            return None  # It ends with its session.
        session.flush()
        return handle

    def abandon(self) -> None:
        """Close it after the caller of `subscribe` was cancelled."""
        self.start_closing()

    def ended(self, error: SessionEnded) -> None:
        """Handle the end of the session. Waiting messages come again if it is resumed; if not, only those that need no
        acceptance are still useful.
        """
        if self._error is None and not self._closing:
            self._error = error
            kept = [] if error.resumable else [each for each in self.feed.items if not each.accepts]
            self.feed.items.clear()
            self.feed.items.extend(kept)
            self.feed.end(error)

    # Internals.

    def _top_up(self) -> None:
        """In credit mode, grant new credit when half of it is used."""
        core, items = self.session.core, self.feed.items
        messages, octets = self.granted
        waiting = sum([len(each.body) + len(each.headers.raw) for each in items])
        most = self._octets
        few = messages is not None and 2 * (messages + len(items)) <= self._credit
        small = most is not None and octets is not None and 2 * (octets + waiting) <= most
        if self._closing or not (few or small) or core.is_stopping(self.destination):
            return
        core.top_up(
            self.destination,
            self._credit - len(items),
            None if most is None else max(0, most - waiting),
        )
        self.session.flush()


async def open_subscription(
    session: ZeroTenSession,
    destination: str | None,
    command: Callable[[str], MessageSubscribe],
    flow_mode: int,
    credit: int,
    octets: int | None,
) -> Subscription:
    """Subscribe, and grant the first credit; without a `destination`, with a generated name."""
    known, core = session.subscriptions, session.core
    number = len(known) + 1
    while destination is None:
        name = f"subscription-{number}"
        destination = None if name in known else name
        number += 1
    handle = session.send(command(destination))
    subscription = known[destination] = Subscription(
        session, destination, flow_mode, credit, octets
    )
    if flow_mode == CREDIT:
        core.call(MessageSetFlowMode(destination, CREDIT), sync=False)
    if credit:
        core.top_up(destination, credit, octets)
    # A cancelled caller has no subscription to close.
    await session.driver.wait(handle, lambda _: subscription.abandon())
    return subscription


__all__ = ["ReceivedMessage", "Subscription", "open_subscription"]
