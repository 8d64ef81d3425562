"""ClassicFrontend: a client of 0-8 or 0-9-1, between its engine and the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ...._classic.codec.methods import BasicAck
from ...._classic.endpoint.config import announces
from ...._classic.endpoint.events import ContentReceived, FlowChanged, MethodReceived, Published, Request
from ....errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError, Scope
from ....events import (
    AuthenticationRequested,
    Closed,
    Failed,
    Opened,
    OpenRequested,
    Replied,
    ScramKeysRequested,
    Signal,
)
from ...contents.classic import ClassicContent
from ...model.commands import CloseOwner, OpenOwner, Outcome, Settle, SetWindow
from ...model.effects import Cancelled, Deliver, Effect
from ...model.faults import Fault, Postponed
from ..frontend import REQUEST_STEPS
from . import basic, files, old_classes, publishing, timeouts, topology
from .channel import BASIC, FILE, ChannelFrontend, ClassicChannel, ClassicConsumer
from .contents import counted
from .errors import (
    ACCESS_REFUSED,
    CONNECTION_FORCED,
    INTERNAL_ERROR,
    INVALID_PATH,
    NAMES,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    RESOURCE_ERROR,
    SYNTAX_ERROR,
    Refusal,
    refusal_of,
)

if TYPE_CHECKING:
    from ...._classic.endpoint.connection import Connection
    from ....events import Event
    from ...model.entry import Entry
    from ..frontend import ClientContext, HubContext

_CANCEL_NOTIFY: Final = "consumer_cancel_notify"
_BLOCKED: Final = "connection.blocked"
_BASIC_CANCEL: Final = 60 << 16 | 30


class ClassicFrontend(ChannelFrontend):
    """The broker's side of one connection."""

    __slots__ = ("client", "takes_blocked", "takes_cancel", "told_blocked")

    def __init__(self, hub: HubContext, number: int, connection: Connection, client: ClientContext) -> None:
        super().__init__(hub, number, connection)
        self.client = client
        self.takes_blocked = False
        self.takes_cancel = False
        self.told_blocked = False

    # Called by Hub and Client.

    def take_events(self) -> None:
        """Take the engine's events until there are none, and carry each out."""
        next_event, handlers = self.next_event, self._EVENTS
        effects = self.hub.model.effects
        while True:
            event: Event | Signal = next_event()
            take = handlers.get(type(event))
            if take is not None:
                try:
                    take(self, event)
                except Postponed:
                    self.postpone(event)
                    return
                except EndpointClosed:
                    # The event precedes the loss of the transport: nobody can receive an answer.
                    pass
                except LimitExceeded as error:
                    self._give_up(RESOURCE_ERROR, str(error))
                except CodecError as error:
                    # A table that the engine doesn't check (`Config.validate_content`).
                    self._give_up(error.code or SYNTAX_ERROR, str(error))
                except LocalProtocolError as error:
                    # This front end sent something invalid: limit the damage to this client.
                    self._give_up(INTERNAL_ERROR, str(error))
                if effects:
                    self.hub.settle()
            elif isinstance(event, Signal):
                return

    def perform(self, effect: Effect) -> None:
        """Send a delivery, or a consumer's cancellation."""
        if type(effect) is Deliver:
            consumer = self.consumers.get(effect.consumer.number)
            if consumer is not None:
                self.deliver(consumer, effect.entry)
        elif isinstance(effect, Cancelled):
            self._cancelled(effect)

    def block(self, reason: str) -> None:
        """Tell the client that no publishes are accepted: RabbitMQ's way if it announced that, else by channel.flow."""
        if self.takes_blocked:
            if not self.told_blocked:
                self.told_blocked = True
                self._try(self.connection.send, self.named["connection.blocked"](reason[:255]))
        elif self._uses_flow():
            for channel in self.channels.values():
                if channel.published:
                    self.hold_up(channel)

    def unblock(self) -> None:
        """Tell the client that publishes are accepted again."""
        if self.told_blocked:
            self.told_blocked = False
            self._try(self.connection.send, self.named["connection.unblocked"]())
        for channel in self.channels.values():
            if channel.held_up:
                channel.held_up = False
                self._try(channel.engine.call, self.named["channel.flow"](True))

    def node_deleted(self, kind: str, name: str) -> None:
        """Do nothing: only consumers hear of a deletion, that of their queue."""

    def caught_up(self) -> None:
        """Continue after the model's deliveries for the client have been made."""

    def shut_down(self, text: str) -> None:
        """Close the connection, because the broker ends."""
        self._try(self.connection.close, CONNECTION_FORCED, f"{NAMES[CONNECTION_FORCED]} - {text}")
        self._end()

    def describe(self) -> tuple[str, str]:
        """Return the user and virtual host, "" before they are known."""
        return self.user, "" if self.owner is None else self.owner.vhost.name

    # Deliveries.

    def deliver(self, consumer: ClassicConsumer, entry: Entry, redelivered: bool = False) -> None:
        """Send a message to a consumer of this connection."""
        channel = consumer.channel
        model = consumer.model
        message = entry.message
        content: Any = message.content
        try:
            if consumer.class_id != BASIC:
                if consumer.class_id == FILE:
                    files.deliver(self, consumer, entry)
                else:
                    files.send(self, consumer, entry)
                return
            if type(content) is not ClassicContent or content.tables is not self.tables:
                content = self.content_of(message)
            if entry.delivery_count and entry.queue.is_quorum:
                content = counted(content, entry)
            tag = channel.engine.forward(
                content.body,
                content.raw_properties,
                consumer.tag,
                message.exchange,
                message.routing_key,
                entry.redelivered or redelivered,
            )
        except EndpointClosed:
            return
        except LimitExceeded as error:
            self.refuse(channel, Refusal(RESOURCE_ERROR, str(error)))
            return
        except LocalProtocolError as error:
            # This version's octets can't express the message, or its frame is above what the client takes: it is for
            # dead letters, or other consumers.
            if model is not None:
                self.hub.not_sent(model, entry, str(error))
            if model is not None and not model.settles:
                owner = channel.owner
                if entry.queue.options.dead_letter_exchange is not None:
                    self.hub.apply(Settle(owner, (entry,), Outcome.REJECT, unsaid=True))
                else:
                    self.hub.apply(Settle(owner, (entry,), Outcome.RELEASE, excluded=True))
            return
        if model is None or not model.settles:
            channel.entries[tag] = entry
            if self.is_rabbit and not self.is_old:
                timeouts.note(self, channel, tag)

    # Channels.

    def refuse(self, channel: ClassicChannel | None, refusal: Refusal, cause: Any = None) -> None:
        """Close a channel or the connection because of a failed request."""
        if refusal.code not in self.dialect.codes:
            # 0-8 has no 406.
            refusal = Refusal(NOT_ALLOWED, refusal.text, is_hard=refusal.is_hard)
        if channel is None or refusal.is_hard:
            self._try(self.connection.close, refusal.code, refusal.reply_text, cause)
            self._end()
            return
        self._try(channel.engine.close, refusal.code, refusal.reply_text, cause)
        self.end_channel(channel)

    def end_channel(self, channel: ClassicChannel) -> None:
        """Close a channel: its messages return to the queues, and its consumers end."""
        if self.channels.get(channel.number) is not channel:
            return
        del self.channels[channel.number]
        for consumer in channel.own_consumers.values():
            if consumer.model is not None:
                self.consumers.pop(consumer.model.number, None)
        self.hub.apply(CloseOwner(channel.owner))
        self.hub.disown(channel.owner)
        old_classes.end_channel(self, channel)

    def hold_up(self, channel: ClassicChannel) -> None:
        """Ask a client to stop publishing on a channel (channel.flow)."""
        if not channel.held_up:
            channel.held_up = True
            self._try(channel.engine.call, self.named["channel.flow"](False))

    # Events.

    def _authentication(self, event: AuthenticationRequested) -> None:
        client = self.client
        verdict = self.hub.settings.authenticate(
            event.credentials, is_secure=client.is_secure, peer_name=client.peer_name
        )
        if not verdict.user:
            self.connection.refuse_authentication(
                f"ACCESS_REFUSED - Login was refused using authentication mechanism {event.mechanism}. "
                "For details see the broker logfile."
            )
            return
        self.user = verdict.user
        self.connection.accept_authentication()

    def _scram_keys(self, event: ScramKeysRequested) -> None:
        self.connection.provide_scram_keys(self.hub.settings.scram_keys(event.mechanism, event.user))

    def _open_requested(self, event: OpenRequested) -> None:
        connection, hub = self.connection, self.hub
        self.use_dialect()
        if hub.is_closing:
            connection.refuse_open(CONNECTION_FORCED, "CONNECTION_FORCED - the broker is shutting down")
            return
        verdict = hub.settings.may_open(self.user, event.vhost)
        if verdict == "refused":
            code = NOT_ALLOWED if self.is_rabbit else ACCESS_REFUSED
            text = f"access to vhost '{event.vhost}' refused for user '{self.user}'"
            connection.refuse_open(code, f"{NAMES[code]} - {text}")
            return
        try:
            if verdict:
                raise Refusal(NOT_ALLOWED, verdict)
            self.owner = hub.apply(OpenOwner(event.vhost, self.user))
        except (Fault, Refusal):
            code = NOT_ALLOWED if self.is_rabbit else INVALID_PATH
            connection.refuse_open(code, f"{NAMES[code]} - vhost {event.vhost} not found")
            return
        assert self.owner is not None
        hub.own(self.owner, self)
        connection.accept_open()

    def _opened(self, event: Opened) -> None:
        if event.scope is Scope.CONNECTION:
            properties = self.connection.peer_properties
            self.takes_blocked = "connection.blocked" in self.named and announces(properties, _BLOCKED)
            senders = self.dialect.senders.get(_BASIC_CANCEL, ())
            self.takes_cancel = self.connection.role in senders and announces(properties, _CANCEL_NOTIFY)
            if self.hub.is_blocked:
                self.block(self.hub.is_blocked)
            return
        if self.owner is None:
            return
        earlier = self.channels.get(event.channel)
        if earlier is not None:
            self.end_channel(earlier)
        owner = self.hub.apply(OpenOwner(parent=self.owner))
        self.hub.own(owner, self)
        self.channels[event.channel] = ClassicChannel(event.channel, owner, self.connection.channel(event.channel))

    def _closed(self, event: Closed) -> None:
        if event.scope is Scope.CONNECTION:
            self._end()
            return
        channel = self.channels.get(event.channel)
        # The end of the connection ends all its channels, and is handled last.
        if channel is not None and self.connection.is_open:
            self.end_channel(channel)

    def _failed(self, event: Failed) -> None:
        if event.scope is Scope.CONNECTION:
            self._end()
            return
        channel = self.channels.get(event.channel)
        # The end of the connection ends all its channels, and is handled last.
        if channel is not None and self.connection.is_open:
            self.end_channel(channel)

    def _request(self, event: Request) -> None:
        method: Any = event.method
        self.ledger.room -= REQUEST_STEPS
        if event.channel == 0:
            self._connection_request(method)
            return
        channel = self.channels.get(event.channel)
        if channel is None:
            return
        reply = self._carry_out(channel, method)
        if reply is not None:
            channel.engine.reply(reply)

    def _method(self, event: MethodReceived) -> None:
        channel = self.channels.get(event.channel)
        if channel is None:
            return
        method = event.method
        if type(method) is BasicAck:
            # It can't fail: the engine has checked its tag, and those of all that follow.
            basic.ack(self, channel, method)
            # Each settles a message, and gives room to another one.
            following = self.connection.next_acks(event.channel, self.ledger.room // 2 - 1)
            if following:
                basic.ack_all(self, channel, following)
        else:
            self._carry_out(channel, method)

    def _carry_out(self, channel: ClassicChannel, method: Any, *content: Any) -> Any:
        handler: Any = _METHODS.get(method.NAME)
        try:
            if handler is None:
                text = f"{method.NAME} isn't supported by this broker"
                raise Refusal(NOT_IMPLEMENTED, text, is_hard=True)
            return handler(self, channel, method, *content)
        except Refusal as refusal:
            self.refuse(channel, refusal, method)
        except Fault as fault:
            self.refuse(channel, refusal_of(fault, self.dialect, method, channel.owner), method)
        return None

    def _connection_request(self, method: Any) -> None:
        if method.NAME == "connection.update-secret":
            self.connection.reply(self.named["connection.update-secret-ok"]())
        else:
            text = f"{method.NAME} isn't supported by this broker"
            self.refuse(None, Refusal(NOT_IMPLEMENTED, text, is_hard=True), method)

    def _published(self, event: Published) -> None:
        channel = self.channels.get(event.channel)
        if channel is None:
            return
        try:
            publishing.publish(self, channel, event)
        except Refusal as refusal:
            self.refuse(channel, refusal, publishing.method_of(self, event))
        except Fault as fault:
            method = publishing.method_of(self, event)
            self.refuse(channel, refusal_of(fault, self.dialect, method, channel.owner), method)

    def _content(self, event: ContentReceived) -> None:
        channel = self.channels.get(event.channel)
        if channel is None:
            return
        reply = self._carry_out(channel, event.method, event.properties, event.body)
        if reply is not None:
            method, properties, body = reply
            channel.engine.reply(method, properties, body)

    def _replied(self, event: Replied) -> None:
        number: Any = event.pending.key[0]
        channel = self.channels.get(number)
        if channel is not None:
            try:
                files.replied(self, channel, event.pending)
            except Refusal as refusal:
                self.refuse(channel, refusal)

    def _flow_changed(self, event: FlowChanged) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.flow_stopped = not event.active
            # One window for all keeps the channel's consumers in their rotation with others.
            self.hub.apply(SetWindow(channel.flow, None if event.active else 0))

    # Internals.

    def _cancelled(self, effect: Cancelled) -> None:
        consumer = self.consumers.get(effect.consumer.number)
        if consumer is None:
            return
        self.remove_consumer(consumer)
        channel = consumer.channel
        if channel.replies and consumer.model is not None and consumer.model.queue.name == channel.replies:
            channel.replies = ""
        if self.takes_cancel and consumer.class_id == BASIC:
            self._try(channel.engine.call, self.named["basic.cancel"](consumer.tag, True))

    def _uses_flow(self) -> bool:
        """Whether channel.flow stops publishers; clients of RabbitMQ's 0-9-1 don't understand that."""
        return self.is_old or not self.is_rabbit

    def _give_up(self, code: int, text: str) -> None:
        """Close the connection after an error."""
        self.refuse(None, Refusal(code, text, is_hard=True))

    def _try(self, command: Callable[..., object], *arguments: object) -> bool:
        """Send something if the client is still there; return whether it was."""
        try:
            command(*arguments)
        except EndpointClosed:
            return False
        return True

    def _end(self) -> None:
        """Clean up after the connection with all its channels."""
        owner = self.owner
        if owner is not None and not owner.is_closed:
            # All channels at once, so that none receives the messages of another.
            self.hub.apply(CloseOwner(owner))
            self.hub.disown(owner)
        for channel in list(self.channels.values()):
            self.end_channel(channel)

    _EVENTS: ClassVar[Mapping[type[Any], Callable[[Any, Any], None]]] = {
        Published: _published,
        MethodReceived: _method,
        Request: _request,
        ContentReceived: _content,
        Replied: _replied,
        FlowChanged: _flow_changed,
        Opened: _opened,
        Closed: _closed,
        Failed: _failed,
        AuthenticationRequested: _authentication,
        ScramKeysRequested: _scram_keys,
        OpenRequested: _open_requested,
    }


_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    **topology.METHODS,
    **basic.METHODS,
    **publishing.METHODS,
    **files.METHODS,
    **old_classes.METHODS,
}
