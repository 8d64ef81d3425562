"""ClassicClient: routes the events of a client of 0-8 or 0-9-1 to its channels and consumers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...amqp_0_9_1 import BasicProperties, Blocked, ConsumerCancelled, Delivery, FlowChanged, MessageReturned, Unblocked
from ...errors import AmqpError, ConsumerEnded, EndpointClosed, Scope, StaleDelivery
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
from ...versions import Version
from .. import inbox as inboxes
from ..driving import BaseClient, end_streams, is_own_close, offer
from ..inbox import Inbox, Streams
from ..recovery import Again, InDoubt, Recovered, RecoveryPolicy
from .restoring import Published, Recall, Republish, Restoring, Topology, replaced

if TYPE_CHECKING:
    from ...amqp_0_8 import Connection as Connection08
    from ...amqp_0_9_1 import Channel as CoreChannel
    from ...amqp_0_9_1 import Connection as Connection091
    from ..hooks import Hooks


Core: TypeAlias = "Connection091 | Connection08"
"""The core's connection of either version."""


class ConsumerInbox(Inbox[Delivery]):
    """The deliveries of one consumer, and what became of it.

    It outlives the Consumer of the user: if that is dropped, the inbox cancels at the server and returns what nobody
    took. `consume` is the method that starts it, `prefetch` what is sent before. `starting` and `cancelling` are the
    calls under way.
    """

    __slots__ = (*("cancelling", "channel", "consume", "dropped", "prefetch", "started", "starting", "tag"),)

    def __init__(self, channel: ChannelState, consume: Any, prefetch: int | None, limit: int) -> None:
        no_ack: bool = consume.no_ack
        super().__init__(channel.client, limit, no_ack or not prefetch)
        self.channel = channel
        self.consume: Any = consume
        self.prefetch = prefetch
        self.tag: str = consume.consumer_tag
        self.starting: Pending[Any] | None = None
        self.cancelling: Pending[Any] | None = None
        self.started = False
        self.dropped = False

    @property
    def no_ack(self) -> bool:
        """Whether its deliveries need no settlement."""
        no_ack: bool = self.consume.no_ack
        return no_ack

    @property
    def queue(self) -> str:
        """The queue that it takes from."""
        queue: str = self.consume.queue
        return queue

    def start(self) -> None:
        """Have the server send deliveries."""
        channel = self.channel
        if self.prefetch is not None and not self.no_ack:
            channel.call(channel.method("basic.qos", prefetch_count=self.prefetch))
        self.starting = channel.call(self.consume)
        channel.inboxes[self.tag] = self
        channel.client.expect(self.starting, self.on_started)

    def follow(self) -> None:
        """Take from the queue by the name that it has today."""
        self.consume = self.channel.client.topology.resolved(self.consume, self.channel.last_queue)

    def resume(self) -> None:
        """Start it once more on the channel of a new connection."""
        channel = self.channel
        if self.prefetch is not None and not self.no_ack:
            channel.core.call(channel.method("basic.qos", prefetch_count=self.prefetch))
        self.starting = channel.core.call(replaced(self.consume, consumer_tag=self.tag))

    def lost(self) -> None:
        """Forget the deliveries that can't be settled any more: they will come again."""
        if not self.no_ack:
            self.clear()

    def count(self, item: Delivery) -> None:
        if self.dropped:
            self._give_back()
        elif self.error is not None and not self.no_ack and self.channel.core.is_open:
            self.channel.core.release(self.items.pop().delivery_tag)
        else:
            # As Inbox.count does, without two calls for each delivery.
            self.octets += len(item.body)
            if len(self.items) >= self.limit or self.octets >= inboxes.FULL_OCTETS:
                self.fill()

    @staticmethod
    def size(item: Delivery) -> int:
        return len(item.body)

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
        if self.ended or self.cancelling is not None:
            return
        if not channel.core.is_open:
            if channel.client.restored is not None:
                self._on_cancelled(None)  # It is gone with its connection.
            return
        self.cancelling = channel.call(channel.method("basic.cancel", consumer_tag=self.tag))
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
    `closed` ends when the channel has ended, and `error` says why then; `closing` says that this end has closed it.
    `take_return` is asked first for a message that came back, whether it was a request of its own.

    With recovery it lives on when its connection is lost: `mode` selects confirms or transactions again, `prefetch` is
    the last basic.qos, `last_queue` the queue declared last, and `sent` are the latest messages without confirms.
    """

    __slots__ = (
        *("client", "closed", "closing", "core", "error", "inboxes", "last_queue", "mode", "prefetch", "publish"),
        *("sent", "sent_octets", "serial", "stopped", "streams", "take_return"),
    )

    def __init__(self, client: ClassicClient, core: CoreChannel) -> None:
        self.client = client
        self.inboxes: dict[str, ConsumerInbox] = {}
        self.streams: Streams = []
        self.stopped: Pending[None] | None = None
        self.closed: Pending[None] = client.pending()
        self.closing = False
        self.error: EndpointClosed | None = None
        self.serial = 0
        self.take_return: Callable[[MessageReturned], bool] | None = None
        self.mode = ""
        self.prefetch: Any = None
        self.last_queue = ""
        self.sent: deque[InDoubt] = deque()
        self.sent_octets = 0
        self.use(core)

    def use(self, core: CoreChannel) -> None:
        """Go on with a channel of the core."""
        self.core = core
        hooks, kept = self.client.hooks, self.client.recovery is not None
        self.publish: Callable[..., Pending[Any] | None] = self._publish if kept else core.publish
        if hooks is not None:
            self.publish = partial(hooked, hooks, self.publish)

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self.core.number

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return None if self.error is None and self.client.restored is not None else self.core.report

    def call(self, method: Any, properties: Any = None, body: bytes | None = None) -> Pending[Any]:
        """Send a request; with recovery, note how it is made again."""
        client = self.client
        if client.recovery is None or body is not None:
            return self.core.call(method, properties, body)
        topology = client.topology
        topology.check_room(method)
        method = topology.resolved(method, self.last_queue)
        pending = self.core.call(method)
        again = Recall(self, method)
        name: str = method.NAME
        if name in ("confirm.select", "tx.select"):
            self.mode = name
        elif name == "basic.qos":
            self.prefetch = method
        if pending.done:
            again.answered(pending)
        else:
            pending.again = again
        return pending

    def stale(self, core: CoreChannel, error: EndpointClosed) -> EndpointClosed:
        """Return the error for a delivery of a channel of the core that can't be settled any more."""
        if self.error is not None or (core is self.core and self.client.restored is None):
            return error
        text = f"channel {self.number}: the delivery came on a connection that was lost since; it will come again"
        return StaleDelivery(text, error.report)

    def lost(self) -> None:
        """Note that the connection is lost, and will be opened again."""
        for inbox in list(self.inboxes.values()):
            inbox.lost()
        self.client.doubts.extend(self.sent)
        self.sent.clear()
        self.sent_octets = 0
        if self.client.waits_to_publish:
            self.flow_changed(False)

    def _publish(
        self, body: bytes, *, exchange: str, routing_key: str, mandatory: bool, immediate: bool, properties: Any
    ) -> Pending[Any] | None:
        """Publish, and keep the message while its fate is unknown."""
        pending = self.core.publish(
            body,
            exchange=exchange,
            routing_key=routing_key,
            mandatory=mandatory,
            immediate=immediate,
            properties=properties,
        )
        if pending is None:
            self.remember(body, exchange, routing_key, properties)
        else:
            pending.again = body, exchange, routing_key, mandatory, immediate, properties, self
            self.client.kept += len(body)
        return pending

    def remember(self, body: bytes, exchange: str, routing_key: str, properties: Any) -> None:
        """Keep a message without a confirm, which is in doubt if the connection is lost; for clients that recover."""
        assert self.client.recovery is not None
        sent, policy = self.sent, self.client.recovery.policy
        sent.append(InDoubt((exchange, routing_key), body, properties))
        self.sent_octets += len(body)
        while len(sent) > policy.remembered or self.sent_octets > policy.in_doubt_octets:
            self.sent_octets -= len(sent.popleft().body)  # type: ignore[arg-type]

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

    async def may_publish(self) -> None:
        """Wait while the server reads too slowly, or has stopped the flow."""
        client = self.client
        while self.core.is_open or self.stopped is not None:
            if self.stopped is not None:
                await client.wait(self.stopped)
            elif client.kept >= client.kept_high and self.core.unconfirmed:
                await client.wait(next(iter(self.core.unconfirmed.values())))
            elif client.driver.congested:
                await client.driver.pace()
            elif client.core.send_backlog >= client.backlog_high:
                await client.room()
                return
            else:
                return

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


def hooked(
    hooks: Hooks, publish: Callable[..., Pending[Any] | None], body: bytes, *, properties: Any = None, **fields: Any
) -> Pending[Any] | None:
    """Publish with the headers that a hook adds."""
    found = None if properties is None else properties.headers
    headers = hooks.published(fields.get("exchange", ""), fields.get("routing_key", ""), found, len(body))
    if headers is not None:
        properties = (properties or BasicProperties()).replace(headers=headers)
    return publish(body, properties=properties, **fields)


class ClassicClient(BaseClient["Core"]):
    """A client of 0-8 or 0-9-1, below a driver.

    `blocked` is why the server takes no publishes at the moment (RabbitMQ's connection.blocked), None if it does.

    With recovery, `topology` has what is declared, and `restoring` declares it again. `doubts` are the messages to
    report as in doubt, and `resent` counts those that were sent again.
    """

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.channels: dict[int, ChannelState] = {}
        self.blocked: str | None = None
        self.topology = Topology(0)
        self.restoring: Restoring | None = None
        self.doubts: list[InDoubt] = []
        self.resent = 0

    def recover(self, policy: RecoveryPolicy, addresses: tuple[str, ...], seed: int) -> None:
        super().recover(policy, addresses, seed)
        self.topology = Topology(policy.declared)

    @property
    def version(self) -> Version:
        return self.core.dialect.version

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
                for pending in event.pendings:
                    again: Published | Again | None = pending.again
                    if again is not None:
                        pending.again = None
                        if isinstance(again, tuple):
                            self.kept -= len(again[0])
                        else:
                            again.answered(pending)
                    if pending.waiters is not None:
                        self.done(pending)
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

    def take_again(self, pending: Pending[Any]) -> Again:
        again: Again | Published = super().take_again(pending)
        return Republish(again) if isinstance(again, tuple) else again

    def on_lost(self) -> None:
        self.restoring = None
        self.blocked = None
        for state in list(self.channels.values()):
            if state.closing:
                self.drop_channel(state.number, CloseReport(By.LOCAL, 200, "closed while the connection was lost"))
            else:
                state.lost()

    def drop_channel(self, number: int, report: CloseReport) -> None:
        """End a channel that isn't opened again."""
        state = self.channels.pop(number)
        state.end(report, None)
        self.complete(state.closed)

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
        return event.pending is not None or (ask is not None and ask(event))

    def _opened(self, event: Opened) -> None:
        self._note(event)
        self._replied(event)

    def _replied(self, event: Replied | Opened) -> None:
        pending = event.pending
        if pending is not None:
            self._answered(pending)
        elif self.restored is not None and self.recovery is not None:
            self.recovery.opened()
            self.restoring = Restoring(self)
            self.restoring.next()
        else:
            self.complete(self.opened)

    def restoring_done(self, event: Callable[[str, int], Recovered]) -> None:
        self.restoring = None
        super().restoring_done(event)
        for state in list(self.channels.values()):
            state.flow_changed(True)

    def _failed(self, event: Failed) -> None:
        if self._gives_up(event):
            return
        state = self.channels.get(event.channel)
        if state is not None and event.by is By.LOCAL and state.core.report is not None:
            # The server's answer to this end's close changes nothing.
            state.end(state.core.report, event.error)
            if state.error is not None:
                self.unseen[event.channel] = state.error

    def _abandoned(self, event: Abandoned) -> None:
        number = event.pendings[0].key[0] if event.pendings else 0
        self._failed_all(event.pendings, self._failures.get(number) or self._failures.get(0))

    def _closed(self, event: Closed) -> None:
        self._note(event)
        number, report = event.channel, event.report
        cause = self._failures.pop(number, None) if number else None
        cause = cause or self._failures.get(0)
        if event.scope is not Scope.CHANNEL:
            self._over(report, cause)
            return
        state = self.channels.get(number)
        if state is None or (self.keeps() and state.error is None and not state.closing):
            return
        if self.channels.pop(number, None) is None:
            return  # `keeps` has noted the loss, which ends the channels that are being closed.
        is_new = state.error is None  # else a caller may have been told before the server's answer came
        state.end(report, cause)
        if is_new and cause is not None and state.error is not None:
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
