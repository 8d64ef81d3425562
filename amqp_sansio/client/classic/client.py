"""ClassicClient: routes the events of a client of 0-8 or 0-9-1 to its channels and consumers.

A channel of the user is a `ChannelState`, a consumer a `ConsumerInbox`: both live longer than the core's objects, which
recovery replaces. Events go by channel number, deliveries from there by consumer tag.

Between two events these hold: each channel that the user has open has its state in `channels`; a consumer is in
`inboxes` from its request until its last event; and who waits for something of a channel that has ended is told so.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from ...amqp_0_9_1 import BasicProperties, Blocked, ConsumerCancelled, Delivery, FlowChanged, MessageReturned, Unblocked
from ...errors import AmqpError, ConsumerEnded, EndpointClosed, Scope, StaleDelivery
from ...events import (
    Abandoned,
    Accepted,
    Again,
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
from ..recovery import InDoubt, Recovered, RecoveryPolicy
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
    took.
    """

    __slots__ = (
        "cancelling",
        "channel",
        "closed",
        "consume",
        "dropped",
        "given_up",
        "held",
        "prefetch",
        "started",
        "starting",
        "tag",
        "taking",
    )

    def __init__(self, channel: ChannelState, consume: Any, prefetch: int | None, limit: int) -> None:
        no_ack: bool = consume.no_ack
        super().__init__(channel.client, limit, no_ack or not prefetch)
        # Whose consumer it is.
        self.channel = channel
        # The method that starts it, with its queue's name of today: recovery sends it again.
        self.consume: Any = consume
        # What is sent before that as basic.qos; None: nothing.
        self.prefetch = prefetch
        # The server may answer with another than was asked for.
        self.tag: str = consume.consumer_tag
        # The basic.consume under way, or answered; None before.
        self.starting: Pending[Any] | None = None
        # This end's basic.cancel; None: it hasn't cancelled.
        self.cancelling: Pending[Any] | None = None
        # Ends with the consumer, whoever ended it.
        self.closed: Pending[None] = channel.client.pending()
        # Whether the server has answered, so that recovery starts it again.
        self.started = False
        # Whether the user has let go of it: what still comes is given back.
        self.dropped = False
        # Whether this end took it as over before the server had answered its cancel.
        self.given_up = False
        # The items, and the channel of the core that they came on: another connection has others of both, so what is
        # taken from one pair can only be settled where it came from.
        self.held = channel.core, self.items
        # The queue that the topology counts it for, until it has ended.
        self.taking: str | None = None

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the server still owes an answer."""
        return self.given_up and self.channel.inboxes.get(self.tag) is self

    def give_up(self, report: CloseReport) -> None:
        """Take it as over although the server hasn't answered."""
        self.given_up = True
        self.drop()
        self.end(None)

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
        self.held = channel.core, self.items
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
        self.starting = channel.core.call(self.resumed(self.tag))

    def resumed(self, tag: str) -> Any:
        """Return the method that starts it once more, under a tag."""
        return replaced(self.consume, consumer_tag=tag)

    def end(self, error: AmqpError | None) -> None:
        super().end(error)
        self.channel.client.complete(self.closed)
        taking, self.taking = self.taking, None
        if taking is not None:
            self.channel.client.topology.consumer_ended(taking)

    def lost(self) -> None:
        """Forget the deliveries that can't be settled any more: they will come again."""
        if not self.no_ack:
            self.clear()
            # Who looks at the old items without the lock finds none of the next connection.
            self.items = deque()

    async def take_held(self) -> tuple[CoreChannel, Delivery]:
        """Wait for the next delivery; return it with the channel of the core that it came on."""
        item = await self.take()
        return self.held[0], item

    def extend(self, items: list[Delivery]) -> None:
        """Add deliveries that came together.

        `octets` may have those of deliveries that were taken while it wasn't full: they are counted again when it may
        be full.
        """
        waiting = self.items
        octets = 0
        at_once = not self.counted
        if self.counted and not self.dropped and self.error is None:
            octets = self.octets + sum([len(each.body) for each in items])
            # Up to the bound where an inbox ends they only fill it, whichever of them does.
            at_once = (
                len(waiting) + len(items) < self.limit * inboxes.OVERRUN
                and octets < inboxes.FULL_OCTETS * inboxes.OVERRUN
            )
        if at_once:
            waiting.extend(items)
            if self.counted:
                self.octets = octets
                if len(waiting) >= self.limit or octets >= inboxes.FULL_OCTETS:
                    self._recount()
                    if len(waiting) >= self.limit or self.octets >= inboxes.FULL_OCTETS:
                        self.fill()
        else:
            self._recount()
            for item in items:
                waiting.append(item)
                self.count(item)
        for _ in items[: len(self.sleepers)]:
            self.wake()

    def _recount(self) -> None:
        if not self.full:
            self.octets = sum([len(each.body) for each in self.items])

    def count(self, item: Delivery) -> None:
        if self.dropped:
            self._give_back()
        elif self.error is not None and not self.no_ack and self.channel.core.is_open:
            self.channel.core.release(self.items.pop().delivery_tag)
        else:
            super().count(item)

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
        if channel.client.recovery is not None:
            self.follow()
            self.taking = self.queue
            channel.client.topology.consumer_began(self.queue)
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
        self.dropped = True
        self.counted = True
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

    With recovery it lives on when its connection is lost, with another channel of the core.
    """

    __slots__ = (
        *("client", "closed", "closing", "core", "error", "given_up", "inboxes", "last_queue", "mode", "prefetch"),
        *("publish", "out", "sent", "sent_octets", "serial", "stopped", "streams", "take_return"),
        *("accepted", "published", "used"),
    )

    def __init__(self, client: ClassicClient, core: CoreChannel) -> None:
        # Whose channel it is.
        self.client = client
        # Its consumers', by tag.
        self.inboxes: dict[str, ConsumerInbox] = {}
        # The inboxes of users that read its events.
        self.streams: Streams = []
        # Ends when the server lets content flow again (channel.flow); None while it does.
        self.stopped: Pending[None] | None = None
        # Ends when the channel has ended for good.
        self.closed: Pending[None] = client.pending()
        # Whether this end has closed it.
        self.closing = False
        # Whether this end took it as over before the server had answered its close.
        self.given_up = False
        # Why it ended, once it has.
        self.error: EndpointClosed | None = None
        # The last number of a consumer tag made here.
        self.serial = 0
        # Publishes for the metrics, beside those that the core's channel counts in confirm mode.
        self.published = 0
        # Deliveries that were accepted, for the metrics.
        self.accepted = 0
        # The channel of the core whose publishes with confirms still count beside `published`.
        self.used: CoreChannel | None = None
        # Asked first for a message that came back: whether it was a request of its own.
        self.take_return: Callable[[MessageReturned], bool] | None = None
        # The method that selected confirms or transactions, "" for neither: recovery sends it again.
        self.mode = ""
        # The last basic.qos: recovery sends it again.
        self.prefetch: Any = None
        # The queue declared last, which a method means that names none (0-9-1 section 1.7.2).
        self.last_queue = ""
        # The latest messages without confirms: a loss reports them as in doubt. The policy bounds them.
        self.sent: deque[InDoubt] = deque()
        # Of the bodies in `sent`.
        self.sent_octets = 0
        self.use(core)

    def use(self, core: CoreChannel) -> None:
        """Go on with a channel of the core."""
        self.published += self.published_with_confirms
        self.core = core
        self.used = core
        for inbox in self.inboxes.values():
            inbox.held = core, inbox.items
        self.out = self.client.core.send_buffer
        hooks, kept = self.client.hooks, self.client.recovery is not None
        self.publish: Callable[..., Pending[Any] | None] = self._publish if kept else core.publish
        if hooks is not None:
            self.publish = partial(hooked, hooks, self.publish)

    @property
    def published_with_confirms(self) -> int:
        """What the channel of the core has counted: the publishes since its confirms are on."""
        return 0 if self.used is None else self.used.publish_count

    @property
    def number(self) -> int:
        """Its number on the connection."""
        return self.core.number

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        if self.error is not None:
            return self.error.report
        return None if self.client.restored is not None else self.core.report

    @property
    def is_overdue(self) -> bool:
        """Whether it was given up, and the server still owes the answer."""
        return self.given_up and self.client.channels.get(self.number) is self

    def give_up(self, report: CloseReport) -> None:
        """Take it as over although the server hasn't answered; it is closed for the server too."""
        if not self.closing:
            self.closing = True
            with suppress(EndpointClosed):  # It ends with its connection.
                self.core.close(200, "given up")
        self.given_up = True
        self.end(report, None)
        self.client.complete(self.closed)

    def call(self, method: Any, properties: Any = None, body: bytes | None = None) -> Pending[Any]:
        """Send a request; with recovery, note how it is made again."""
        client = self.client
        if client.recovery is None or body is not None:
            return self.core.call(method, properties, body)
        if self.error is not None:
            # Not that of the core's channel, which ended with a connection before.
            raise client.for_caller(self.error)
        topology = client.topology
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

    def why_ended(self, error: EndpointClosed) -> EndpointClosed:
        """Return why it takes no publishes any more; `error` is what the core's channel says, which may have ended with
        a connection before."""
        if self.client.recovery is not None and self.error is not None:
            return self.client.for_caller(self.error)
        self.client.seen(error.report)
        return error

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

    def publish_counted(self, body: bytes, **fields: Any) -> Pending[Any] | None:
        """Publish, and count it in the same step, for a driver whose callers are in several threads."""
        pending = self.publish(body, **fields)
        self.published += pending is None
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

    @property
    def waits(self) -> bool:
        """Whether a publish waits, although its channel of the core has ended."""
        return self.stopped is not None and self.error is None

    async def may_publish(self) -> None:
        """Wait while the server reads too slowly, or has stopped the flow."""
        client = self.client
        while self.core.is_open or self.stopped is not None:
            if self.stopped is not None:
                what = f"channel.flow that lets channel {self.number} publish again"
                await client.within(client.outcome_limit, self.stopped, what)
            elif client.kept >= client.kept_high and self.core.unconfirmed:
                oldest = next(iter(self.core.unconfirmed.values()))
                await client.within(client.outcome_limit, oldest, self.confirm)
            elif client.driver.congested:
                await client.driver.pace()
            elif self.out.size >= client.backlog_high:
                await client.room()
            else:
                return

    @property
    def confirm(self) -> str:
        """What a publisher waits for, for the error of one that has waited too long."""
        return f"confirm of a publish on channel {self.number}"

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
            topology = self.client.topology
            if inbox.taking is not None:
                topology.forget_queue(topology.renamed.get(inbox.taking, inbox.taking))
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
            error = EndpointClosed(f"channel {self.core.number}: {report}", report)
            self.error = error
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
    """A client of 0-8 or 0-9-1, below a driver."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        # By number: those that the user hasn't seen the end of.
        self.channels: dict[int, ChannelState] = {}
        # Why the server takes no publishes at the moment (RabbitMQ's connection.blocked); None if it does.
        self.blocked: str | None = None
        # What this client has declared and recovery declares again.
        self.topology = Topology(0)
        # The steps under way after a loss; None otherwise.
        self.restoring: Restoring | None = None
        # Messages of the lost connection to be reported as in doubt once it is restored.
        self.doubts: list[InDoubt] = []
        # How many of its messages were sent again.
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
        confirmed = 0
        while True:
            event = next_event()
            if type(event) is Delivery:
                state = channels.get(event.channel)
                inbox = state.inboxes.get(event.consumer_tag) if state is not None else None
                if inbox is not None:
                    # Those that follow are to the same consumer.
                    events = [event, *self.core.next_deliveries(event)]
                    self.metrics.delivered += len(events)
                    inbox.extend(events)
                elif not self._offered(event):
                    self.metrics.confirmed += confirmed
                    return event
            elif type(event) is Settled:
                pendings: Sequence[Pending[object]] = event.pendings
                if type(event.state) is Accepted:
                    pendings = [*pendings, *self.core.next_confirms()]
                    confirmed += len(pendings)
                else:
                    self.metrics.outcome(event.state, len(pendings))
                for pending in pendings:
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
                self.metrics.confirmed += confirmed
                return event
            else:
                route = self._ROUTES.get(type(event))
                if confirmed:
                    # Whoever is called may look at the metrics.
                    self.metrics.confirmed += confirmed
                    confirmed = 0
                if route is not None:
                    route(self, event)
                elif not self._offered(event) and not self._is_told(event):
                    return event

    @property
    def published_count(self) -> int:
        return sum([each.published + each.published_with_confirms for each in self.channels.values()])

    @property
    def accepted_count(self) -> int:
        return sum([each.accepted for each in self.channels.values()])

    def _take_counts(self, state: ChannelState) -> None:
        """Count what was published and accepted on a channel that ends."""
        self.metrics.sent += state.published + state.published_with_confirms
        state.used = None
        self.metrics.taken += state.accepted
        state.published = 0
        state.accepted = 0

    @property
    def channel_count(self) -> int:
        return sum([each.core.is_open for each in self.channels.values()])

    def error_of(self, pending: Pending[Any]) -> AmqpError:
        error = super().error_of(pending)
        number = pending.key[0]
        report = getattr(error, "report", None)
        if report is not None:
            self.unseen.pop(number, None)
        return error

    def why_unanswered(self) -> str:
        return "" if self.blocked is None else f"; the server has blocked the connection: {self.blocked}"

    def _end_restoring(self) -> None:
        if self.restoring is not None:
            self.restoring.end()

    def end_parts(self, report: CloseReport) -> None:
        self._end_restoring()
        for state in list(self.channels.values()):
            state.end(report, None)
            self.complete(state.closed)
            self._take_counts(state)
        self.channels.clear()

    def _republish(self, published: Published) -> Again:
        return Republish(published)

    def on_lost(self) -> None:
        self._end_restoring()
        self.blocked = None
        self.blocked_changed(False)
        for state in list(self.channels.values()):
            if state.closing:
                self.drop_channel(state.number, CloseReport(By.LOCAL, 200, "closed while the connection was lost"))
            else:
                state.lost()

    def drop_channel(self, number: int, report: CloseReport) -> None:
        """End a channel that isn't opened again."""
        state = self.channels.pop(number)
        self._take_counts(state)
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
            self._end_restoring()
            self._over(report, cause)
            return
        state = self.channels.get(number)
        if state is None or (self.keeps() and state.error is None and not state.closing):
            return
        if self.restoring is not None and self.restoring.reopens(state):
            return
        if self.channels.pop(number, None) is None:
            return  # `keeps` has noted the loss, which ends the channels that are being closed.
        self._take_counts(state)
        is_new = state.error is None  # else a caller may have been told before the server's answer came
        state.end(report, cause)
        if is_new and cause is not None and state.error is not None:
            self.unseen[number] = state.error
        self.complete(state.closed)

    def _consumer_cancelled(self, event: ConsumerCancelled) -> None:
        state = self.channels.get(event.channel)
        if state is not None:
            state.consumer_cancelled(event.consumer_tag)
        self.note(f"channel {event.channel} consumer {event.consumer_tag!r} ended by the server")
        self._offered(event)

    def _flow_changed(self, event: FlowChanged) -> None:
        state = self.channels.get(event.channel)
        if state is not None:
            state.flow_changed(event.active)
        self._offered(event)

    def _blocked(self, event: Blocked | Unblocked) -> None:
        self.blocked = event.reason if isinstance(event, Blocked) else None
        self.blocked_changed(self.blocked is not None)
        self.note("unblocked" if self.blocked is None else f"blocked by the server: {self.blocked}")
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
