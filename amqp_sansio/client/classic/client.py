"""ClassicClient: routes the events of a client of 0-8 or 0-9-1 to its channels and consumers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...amqp_0_9_1 import Blocked, ConsumerCancelled, Delivery, FlowChanged, MessageReturned, Unblocked
from ...errors import AmqpError, ConsumerEnded, EndpointClosed, Scope
from ...events import (
    Abandoned,
    By,
    Closed,
    CloseReport,
    Event,
    Failed,
    Opened,
    Pending,
    Replied,
    SendPaused,
    SendResumed,
    Settled,
    Signal,
)
from ..driving import BaseClient, end_streams, is_own_close, offer
from ..inbox import Inbox, Streams

if TYPE_CHECKING:
    from ...amqp_0_8 import Connection as Connection08
    from ...amqp_0_9_1 import Channel as CoreChannel
    from ...amqp_0_9_1 import Connection as Connection091


Core: TypeAlias = "Connection091 | Connection08"
"""The core's connection of either version."""


class ConsumerInbox(Inbox[Delivery]):
    """The deliveries of one consumer, and what became of it.

    It outlives the Consumer of the user: if that is dropped, the inbox cancels at the server and returns what nobody
    took. `starting` and `cancelling` are the calls under way.
    """

    __slots__ = ("cancelling", "channel", "dropped", "no_ack", "started", "starting", "tag")

    def __init__(self, channel: ChannelState, tag: str, limit: int, no_ack: bool, counted: bool) -> None:
        super().__init__(channel.client, limit, counted)
        self.channel = channel
        self.tag = tag
        self.no_ack = no_ack
        self.starting: Pending[Any] | None = None
        self.cancelling: Pending[Any] | None = None
        self.started = False
        self.dropped = False

    def count(self, item: Delivery) -> None:
        if self.dropped:
            self._give_back()
        elif self.error is not None and not self.no_ack and self.channel.core.is_open:
            self.channel.core.release(self.items.pop().delivery_tag)
        else:
            super().count(item)

    def overrun(self) -> None:
        if self.error is not None:
            return
        text = f"it fell behind, {len(self.items)} deliveries wait; prefetch and acknowledge"
        self.error = ConsumerEnded(f"consumer {self.tag!r}: {text}", CloseReport(By.LOCAL, 0, text), self.tag)
        self.cancel()

    def on_started(self, ok: Any) -> None:
        """Take the tag that the server has given the consumer."""
        channel = self.channel
        self.started = True
        if ok.consumer_tag != self.tag:
            channel.inboxes.pop(self.tag, None)
            self.tag = ok.consumer_tag
            channel.inboxes[self.tag] = self
        if self.dropped:
            self.drop()

    def cancel(self) -> None:
        """Have the server send no more; its answer ends the inbox, after what came before."""
        channel = self.channel
        if self.ended or self.cancelling is not None or not channel.core.is_open:
            return
        self.cancelling = channel.core.call(channel.method("basic.cancel", consumer_tag=self.tag))
        channel.client.expect(self.cancelling, self._on_cancelled)

    def drop(self) -> None:
        """Cancel, and return what waits here: nobody takes deliveries any more."""
        self.dropped = self.counted = True
        if self.started:
            # First, or the server would send again what is returned.
            self.cancel()
            self._give_back()

    def channel_ended(self, error: EndpointClosed | None) -> None:
        """End with the channel, without the deliveries that can't be settled any more: they will come again."""
        if not self.no_ack:
            self.clear()
        self.end(error)

    def _on_cancelled(self, _: object) -> None:
        self.channel.inboxes.pop(self.tag, None)
        if self.dropped:
            self._give_back()
        self.end(self.error)

    def _give_back(self) -> None:
        core = self.channel.core
        for item in self.clear():
            if not self.no_ack and core.is_open:
                core.release(item.delivery_tag)
        self.channel.client.driver.flush_soon()


class ChannelState:
    """A channel's routes: where its events go.

    `inboxes` are its consumers' by tag. `stopped` ends when the server lets content flow again, None while it does.
    `closed` ends when the channel has ended, and `error` says why then. `take_return` is asked first for a message that
    came back, whether it was a request of its own.
    """

    __slots__ = (*("client", "closed", "core", "error", "inboxes", "serial", "stopped", "streams", "take_return"),)

    def __init__(self, client: ClassicClient, core: CoreChannel) -> None:
        self.client = client
        self.core = core
        self.inboxes: dict[str, ConsumerInbox] = {}
        self.streams: Streams = []
        self.stopped: Pending[None] | None = None
        self.closed: Pending[None] = client.pending()
        self.error: EndpointClosed | None = None
        self.serial = 0
        self.take_return: Callable[[MessageReturned], bool] | None = None

    def method(self, name: str, **fields: Any) -> Any:
        """Return a method's record in the connection's dialect."""
        return self.client.core.dialect.named[name](**fields)

    def new_tag(self) -> str:
        """Return a consumer tag that this channel hasn't."""
        while True:
            self.serial += 1
            tag = f"c{self.core.number}.{self.serial}"
            if tag not in self.inboxes:
                return tag

    def flow_changed(self, active: bool) -> None:
        """Stop the publishers, or let them go on."""
        stopped, self.stopped = self.stopped, None
        if not active:
            self.stopped = stopped or self.client.pending()
        elif stopped is not None:
            self.client.complete(stopped)

    def consumer_cancelled(self, tag: str) -> None:
        """End a consumer that the server has cancelled."""
        inbox = self.inboxes.pop(tag, None)
        if inbox is not None:
            text = "the server cancelled the consumer, its queue may be gone"
            inbox.end(ConsumerEnded(f"consumer {tag!r}: {text}", CloseReport(By.REMOTE, 0, text), tag))

    def consumer_gone(self, ok: Any) -> None:
        """End a consumer that a method of the user has cancelled."""
        inbox = self.inboxes.pop(ok.consumer_tag, None)
        if inbox is not None:
            inbox.end(None)

    def end(self, report: CloseReport, cause: AmqpError | None) -> None:
        """End everything on the channel."""
        if self.error is None:
            error = self.error = EndpointClosed(f"channel {self.core.number}: {report}", report)
            error.__cause__ = cause
            last = None if is_own_close(report) else error
            for inbox in list(self.inboxes.values()):
                inbox.channel_ended(last)
            self.inboxes.clear()
            end_streams(self.streams, last)
            self.flow_changed(True)


class ClassicClient(BaseClient["Core"]):
    """A client of 0-8 or 0-9-1, below a driver.

    `blocked` is why the server takes no publishes at the moment (RabbitMQ's connection.blocked), None if it does.
    """

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.channels: dict[int, ChannelState] = {}
        self.blocked: str | None = None

    def next_event(self) -> Event | Signal:
        """Route events until one is left that nobody asked for, or there are no more."""
        next_event = self.core.next_event
        channels = self.channels
        while True:
            event = next_event()
            if type(event) is Delivery:
                state = channels.get(event.channel)
                inbox = state.inboxes.get(event.consumer_tag) if state is not None else None
                if inbox is not None:
                    inbox.items.append(event)
                    if inbox.sleepers:
                        inbox.wake()
                    if inbox.counted:
                        inbox.count(event)
                elif not self._offered(event):
                    return event
            elif type(event) is Settled:
                for handle in event.handles:
                    if handle.waiters is not None:
                        self.done(handle)
            elif isinstance(event, Signal):
                return event
            else:
                route = self._ROUTES.get(type(event))
                if route is not None:
                    route(self, event)
                elif not self._offered(event) and not self._is_told(event):
                    return event

    def error_of(self, pending: Pending[Any]) -> AmqpError:
        error = super().error_of(pending)
        number = pending.key[0]
        report = getattr(error, "report", None)
        if report is not None:
            self.unseen.pop(number, None)
        return error

    def end_parts(self, report: CloseReport) -> None:
        for state in list(self.channels.values()):
            state.end(report, None)
            self.complete(state.closed)
        self.channels.clear()

    def untaken(self, event: Event) -> str:
        if not isinstance(event, MessageReturned):
            return ""
        return (
            f"a message for exchange {event.exchange!r}, routing key {event.routing_key!r} was returned: "
            f"{event.reply_code} {event.reply_text}; nobody reads channel.events(MessageReturned)"
        )

    # Internals.

    def _offered(self, event: Event) -> bool:
        state = self.channels.get(getattr(event, "channel", 0))
        return offer(state.streams if state is not None else self.streams, event)

    def _is_told(self, event: Event) -> bool:
        """Whether a caller learns of an event otherwise: of a returned message by its outcome, or by its request's."""
        if not isinstance(event, MessageReturned):
            return False
        state = self.channels.get(event.channel)
        ask = None if state is None else state.take_return
        return event.handle is not None or (ask is not None and ask(event))

    def _opened(self, event: Opened) -> None:
        self._note(event)
        self._replied(event)

    def _replied(self, event: Replied | Opened) -> None:
        handle = event.handle
        if handle is not None:
            self._answered(handle)
        else:
            self.complete(self.opened)

    def _failed(self, event: Failed) -> None:
        if self._gives_up(event):
            return
        state = self.channels.get(event.channel)
        if state is not None and event.by is By.LOCAL and state.core.report is not None:
            # The server's answer to this end's close changes nothing.
            state.end(state.core.report, event.error)

    def _abandoned(self, event: Abandoned) -> None:
        number = event.handles[0].key[0] if event.handles else 0
        self._failed_all(event.handles, self._failures.get(number) or self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        self._note(event)
        number, report = event.channel, event.report
        cause = self._failures.pop(number, None) if number else None
        cause = cause or self._failures.get(0)
        if event.scope is not Scope.CHANNEL:
            self._over(report, cause)
            return
        state = self.channels.pop(number, None)
        if state is not None:
            state.end(report, cause)
            if cause is not None and state.error is not None:
                self.unseen[number] = state.error
            self.complete(state.closed)

    def _consumer_cancelled(self, event: ConsumerCancelled) -> None:
        state = self.channels.get(event.channel)
        if state is not None:
            state.consumer_cancelled(event.consumer_tag)
        self.notes.append(f"channel {event.channel} consumer {event.consumer_tag!r} ended by the server")
        self._offered(event)

    def _flow_changed(self, event: FlowChanged) -> None:
        state = self.channels.get(event.channel)
        if state is not None:
            state.flow_changed(event.active)
        self._offered(event)

    def _blocked(self, event: Blocked | Unblocked) -> None:
        self.blocked = event.reason if isinstance(event, Blocked) else None
        self.notes.append("unblocked" if self.blocked is None else f"blocked by the server: {self.blocked}")
        self._offered(event)

    def _nothing(self, event: Event) -> None:
        """Ignore an event: who publishes looks at the backlog."""

    _ROUTES: ClassVar[dict[type[Event], Callable[[ClassicClient, Any], object]]] = {
        Opened: _opened,
        Replied: _replied,
        Failed: _failed,
        Abandoned: _abandoned,
        Closed: _closed,
        ConsumerCancelled: _consumer_cancelled,
        FlowChanged: _flow_changed,
        Blocked: _blocked,
        Unblocked: _blocked,
        SendPaused: _nothing,
        SendResumed: _nothing,
    }


__all__ = ["ChannelState", "ClassicClient", "ConsumerInbox", "Core"]
