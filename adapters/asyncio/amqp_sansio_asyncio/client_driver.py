"""The driver of a 0-8 or 0-9-1 client: dispatches each event to its channel."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from amqp_sansio.amqp_0_9_1 import (
    Blocked,
    ConsumerCancelled,
    Delivery,
    FlowChanged,
    MessageReturned,
    Unblocked,
)
from amqp_sansio.errors import AmqpError, EndpointClosed, Scope
from amqp_sansio.events import (
    Abandoned,
    By,
    Closed,
    CloseReport,
    Event,
    Failed,
    Opened,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)

from .waiting import WaitingDriver

if TYPE_CHECKING:
    from .channel import Channel
    from .classic import ClassicCore
    from .recording import Recorder

_logger = logging.getLogger("amqp_sansio_asyncio")


class ClientDriver(WaitingDriver["ClassicCore"]):
    """The driver of a client connection of 0-8 or 0-9-1."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: ClassicCore, recorder: Recorder | None = None
    ) -> None:
        super().__init__(loop, core, recorder)
        self.channels: dict[int, Channel] = {}
        self.blocked: str | None = None
        self._failures: dict[int, AmqpError] = {}

    # Events.

    def take_events(self) -> None:
        next_event = self.core.next_event
        channels = self.channels
        waiting = self.waiting
        while True:
            event = next_event()
            if type(event) is Delivery:
                feed = channels[event.channel].feeds.get(event.consumer_tag)
                if feed is None:
                    self._publicise(event)
                    continue
                feed.items.append(event)
                if feed.waiters:
                    feed.wake()
                if feed.counted:
                    feed.count(event)
            elif type(event) is Settled:
                state = event.state
                for handle in event.handles:
                    future = waiting.pop(handle.key, None)
                    if future is not None and not future.done():
                        future.set_result(state)
            elif isinstance(event, Signal):
                if not (self._held and self.feed_held()):
                    return
            else:
                handler = self._handlers.get(type(event))
                if handler is not None:
                    handler(self, event)
                else:
                    self._publicise(event)

    async def wait_closed(self, number: int) -> None:
        """Wait until channel `number` has ended."""
        await self.wait_for_end(("closed", number))

    # Internals.

    def _publicise(self, event: Event) -> None:
        """Give an event to the streams that want it; log a message that nobody takes."""
        number = getattr(event, "channel", 0)
        channel = self.channels.get(number)
        taken = self.offer(channel.streams if channel is not None else self.streams, event)
        if not taken and type(event) is MessageReturned and event.handle is None:
            _logger.warning(
                "a message for exchange %r, routing key %r was returned: %d %s; "
                "nobody reads channel.events(MessageReturned)",
                event.exchange,
                event.routing_key,
                event.reply_code,
                event.reply_text,
            )

    def _replied(self, event: Replied | Opened) -> None:
        handle = event.handle
        if handle is not None:
            self.succeed(handle)
        elif not self.opened.done():
            self.opened.set_result(None)

    def _failed(self, event: Failed) -> None:
        self._failures.setdefault(event.channel, event.error)
        self.fail(event.handles, event.error)
        if event.by is By.LOCAL and event.scope is Scope.CHANNEL:
            channel = self.channels.get(event.channel)
            if channel is not None and channel.report is not None:
                self._end_channel(channel, channel.report, event.error)
        else:
            self.over(self.core.failure, event.error)

    def _abandoned(self, event: Abandoned) -> None:
        number = event.handles[0].key[0] if event.handles else 0
        cause = self._failures.get(number) if isinstance(number, int) else None
        self.fail(event.handles, cause or self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        cause = self._failures.pop(event.channel, None) or self._failures.get(0)
        if event.scope is Scope.CHANNEL:
            channel = self.channels.pop(event.channel, None)
            if channel is not None:
                self._end_channel(channel, event.report, cause)
        else:
            self.over(event.report, cause)
        self.ended(("closed", event.channel))

    def _end_channel(self, channel: Channel, report: CloseReport, cause: AmqpError | None) -> None:
        """End a channel."""
        text = f"channel {channel.number}: {report}"
        channel.ended(EndpointClosed(text, report), cause)
        self.end_streams(channel.streams, EndpointClosed(text, report), cause)

    def _consumer_cancelled(self, event: ConsumerCancelled) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.consumer_cancelled(event.consumer_tag)

    def _flow_changed(self, event: FlowChanged) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.flow_changed(event.active)
        self._publicise(event)

    def _blocked(self, event: Blocked) -> None:
        self.blocked = event.reason
        self._publicise(event)

    def _unblocked(self, event: Unblocked) -> None:
        self.blocked = None
        self._publicise(event)

    def _nothing(self, event: Event) -> None:
        """Ignore backlog events: the driver checks the backlog when it writes."""

    _handlers: ClassVar[dict[type[Event], Callable[[ClientDriver, Any], None]]] = {
        Opened: _replied,
        Replied: _replied,
        Failed: _failed,
        Abandoned: _abandoned,
        Closed: _closed,
        ConsumerCancelled: _consumer_cancelled,
        FlowChanged: _flow_changed,
        Blocked: _blocked,
        Unblocked: _unblocked,
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


__all__ = ["ClientDriver"]
