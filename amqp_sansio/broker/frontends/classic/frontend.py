"""ClassicFrontend: a client of 0-8 or 0-9-1, between its engine and the model."""

# What events do is said in a table beside the class, whose methods are its own.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from ...._classic.codec.methods import BasicAck
from ...._classic.endpoint.config import announces
from ...._classic.endpoint.events import (
    ContentReceived,
    FlowChanged,
    MethodReceived,
    Published,
    Request,
)
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
from ...model.consumer import Window
from ...model.effects import Cancelled, Deliver, Effect
from ...model.faults import Fault
from ..frontend import Frontend
from . import basic, files, old_classes, publishing, streams, topology
from .channel import (
    BASIC,
    FILE,
    ClassicChannel,
    ClassicConsumer,
    left_of,
    outstanding,
)
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
    speaks_rabbit,
)

if TYPE_CHECKING:
    from ...._classic.endpoint.connection import Connection
    from ....events import Event
    from ...client import Client
    from ...hub import Hub
    from ...model.entry import Entry, Message
    from ...model.owner import Owner

_CANCEL_NOTIFY: Final = "consumer_cancel_notify"
_BLOCKED: Final = "connection.blocked"
_BASIC_CANCEL: Final = 60 << 16 | 30

Handler: TypeAlias = "Callable[[ClassicFrontend, ClassicChannel, Any], Any]"
"""Carries a method out; returns the reply, None when there is none or it was sent."""


class ClassicFrontend(Frontend):
    """The broker's side of one connection.

    `channels` are those that are open by their numbers, `consumers` all consumers by the model's numbers. `is_rabbit`:
    RabbitMQ's habits hold where they differ from the specification; `window` is what all channels share then not.
    """

    __slots__ = (
        "channels", "client", "consumers", "dialect", "is_old", "is_rabbit", "named", "owner", "tables",
        "takes_blocked", "takes_cancel", "told_blocked", "user", "version", "whole", "window",
    )  # fmt: skip

    def __init__(self, hub: Hub, number: int, connection: Connection, client: Client) -> None:
        super().__init__(hub, number, connection)
        self.client = client
        self._use_dialect()
        self.is_old = self.version.label == "0-8"
        self.user = ""
        self.owner: Owner | None = None
        self.channels: dict[int, ClassicChannel] = {}
        self.consumers: dict[int, ClassicConsumer] = {}
        self.window = Window(refills=True)
        """What acknowledging consumers of all channels have together (basic.qos with global, in the specifications)."""
        self.whole = 0, 0
        self.takes_blocked = self.takes_cancel = self.told_blocked = False

    def _use_dialect(self) -> None:
        """Speak what the engine speaks, whose dialect may be known only from what the client says of itself."""
        self.dialect = self.connection.dialect
        self.named: Mapping[str, type[Any]] = self.dialect.named
        self.version = self.dialect.version
        self.tables = self.dialect.tables
        self.is_rabbit = speaks_rabbit(self.dialect)

    # What Hub and Client call.

    def take_events(self) -> None:
        """Take the engine's events until there is none, and do what each asks for."""
        next_event = self.next_event
        effects = self.hub.model.effects
        while True:
            event: Event | Signal = next_event()
            take = _EVENTS.get(type(event))
            if take is not None:
                try:
                    take(self, event)
                except EndpointClosed:
                    # Work that came before the transport went: there is nobody to answer.
                    pass
                except LimitExceeded as error:
                    self._give_up(RESOURCE_ERROR, str(error))
                except CodecError as error:
                    # A table that the engine was told not to look through (`Config.validate_content`).
                    self._give_up(error.code or SYNTAX_ERROR, str(error))
                except LocalProtocolError as error:
                    # What this front end sent was wrong: nobody else is to suffer from that.
                    self._give_up(INTERNAL_ERROR, str(error))
                if effects:
                    self.hub.settle()
            elif isinstance(event, Signal):
                return

    def perform(self, effect: Effect) -> None:
        """Send a delivery, or tell that a consumer was cancelled."""
        if type(effect) is Deliver:
            consumer = self.consumers.get(effect.consumer.number)
            if consumer is not None:
                self.deliver(consumer, effect.entry)
        elif isinstance(effect, Cancelled):
            self._cancelled(effect)

    def block(self, reason: str) -> None:
        """Tell that no publishes are taken: RabbitMQ's way to who announced it, else by channel.flow."""
        if self.takes_blocked:
            if not self.told_blocked:
                self.told_blocked = True
                self._try(self.connection.send, self.named["connection.blocked"](reason[:255]))
        elif self._uses_flow():
            for channel in self.channels.values():
                if channel.published:
                    self.hold_up(channel)

    def unblock(self) -> None:
        """Tell that publishes are taken again."""
        if self.told_blocked:
            self.told_blocked = False
            self._try(self.connection.send, self.named["connection.unblocked"]())
        for channel in self.channels.values():
            if channel.held_up:
                channel.held_up = False
                self._try(channel.engine.call, self.named["channel.flow"](True))

    def node_deleted(self, kind: str, name: str) -> None:
        """Only consumers are told, when their queue goes."""

    def caught_up(self) -> None:
        """What the model had for the client has been delivered."""

    def shut_down(self, text: str) -> None:
        """Close the connection: the broker ends."""
        self._try(self.connection.close, CONNECTION_FORCED, f"{NAMES[CONNECTION_FORCED]} - {text}")
        self._end()

    def describe(self) -> tuple[str, str]:
        """The user and virtual host, "" before they are known."""
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
                    streams.deliver(self, consumer, entry)
                return
            if type(content) is not ClassicContent or content.tables is not self.tables:
                content = self.content_of(message)
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
        except LocalProtocolError:
            # The message can't be said in this version's octets: it is for the dead letters, or for others.
            if model is not None and not model.settles:
                owner = channel.owner
                if entry.queue.options.dead_letter_exchange is not None:
                    self.hub.apply(Settle(owner, (entry,), Outcome.REJECT, unsaid=True))
                else:
                    self.hub.apply(Settle(owner, (entry,), Outcome.RELEASE, excluded=True))
            return
        if model is None or not model.settles:
            channel.entries[tag] = entry

    def content_of(self, message: Message) -> ClassicContent:
        """A message's content as this version has it."""
        content = message.content
        if type(content) is ClassicContent and content.tables.name == self.tables.name:
            return content
        from ...conversion import as_classic

        return as_classic(message, self.version, self.tables)

    # Channels.

    def refuse(self, channel: ClassicChannel | None, refusal: Refusal, cause: Any = None) -> None:
        """Close a channel or the connection because of a request."""
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
        """A channel is gone: what it has goes back to the queues, its consumers end."""
        if self.channels.get(channel.number) is not channel:
            return
        del self.channels[channel.number]
        for consumer in channel.own_consumers.values():
            if consumer.model is not None:
                self.consumers.pop(consumer.model.number, None)
        self.hub.apply(CloseOwner(channel.owner))
        self.hub.disown(channel.owner)
        old_classes.end_channel(self, channel)

    def add_consumer(self, consumer: ClassicConsumer, model: Any) -> None:
        """A consumer has begun."""
        consumer.model = model
        self.consumers[model.number] = consumer
        consumer.channel.own_consumers[consumer.tag] = consumer

    def remove_consumer(self, consumer: ClassicConsumer) -> None:
        """A consumer has ended."""
        consumer.channel.own_consumers.pop(consumer.tag, None)
        if consumer.model is not None:
            self.consumers.pop(consumer.model.number, None)

    def set_window(self, channel: ClassicChannel) -> None:
        """Let the window of a channel be what its qos says."""
        messages, octets = outstanding(channel.kept())
        limit = channel.shared
        channel.window.idle_octets = limit[1] or None
        self.hub.apply(
            SetWindow(channel.window, left_of(limit[0], messages), left_of(limit[1], octets))
        )

    def set_whole_window(self) -> None:
        """Let the window of the whole connection be what its qos says."""
        kept = [each for channel in self.channels.values() for each in channel.kept()]
        messages, octets = outstanding(kept)
        limit = self.whole
        self.window.idle_octets = limit[1] or None
        self.hub.apply(SetWindow(self.window, left_of(limit[0], messages), left_of(limit[1], octets)))

    def hold_up(self, channel: ClassicChannel) -> None:
        """Ask a client not to publish on a channel (channel.flow)."""
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
        self._use_dialect()
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
        self.channels[event.channel] = ClassicChannel(
            event.channel, owner, self.connection.channel(event.channel)
        )

    def _closed(self, event: Closed) -> None:
        if event.scope is Scope.CONNECTION:
            self._end()
            return
        channel = self.channels.get(event.channel)
        # With the connection all its channels end, and that is told last.
        if channel is not None and self.connection.is_open:
            self.end_channel(channel)

    def _failed(self, event: Failed) -> None:
        if event.scope is Scope.CONNECTION:
            self._end()
            return
        channel = self.channels.get(event.channel)
        # With the connection all its channels end, and that is told last.
        if channel is not None and self.connection.is_open:
            self.end_channel(channel)

    def _request(self, event: Request) -> None:
        method: Any = event.method
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
            # Nothing can be wrong with it, the engine has looked at its tag.
            basic.ack(self, channel, method)
        else:
            self._carry_out(channel, method)

    def _carry_out(self, channel: ClassicChannel, method: Any, *content: Any) -> Any:
        handler: Any = _METHODS.get(method.NAME)
        try:
            if handler is None:
                text = f"{method.NAME} is nothing that this broker does"
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
            text = f"{method.NAME} is nothing that this broker does"
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
        number: Any = event.handle.key[0]
        channel = self.channels.get(number)
        if channel is not None:
            try:
                files.replied(self, channel, event.handle)
            except Refusal as refusal:
                self.refuse(channel, refusal)

    def _flow_changed(self, event: FlowChanged) -> None:
        channel = self.channels.get(event.channel)
        if channel is not None:
            channel.flow_stopped = not event.active
            # One window for all: who consumes on the channel goes on taking turns with the others on it.
            self.hub.apply(SetWindow(channel.flow, None if event.active else 0))

    # Inside.

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
        """Whether publishers are held up by channel.flow; clients of RabbitMQ's 0-9-1 don't know that from it."""
        return self.is_old or not self.is_rabbit

    def _give_up(self, code: int, text: str) -> None:
        """Close the connection, which can't go on."""
        self.refuse(None, Refusal(code, text, is_hard=True))

    def _try(self, command: Callable[..., object], *arguments: object) -> bool:
        """Send something if the client is still there; whether it was."""
        try:
            command(*arguments)
        except EndpointClosed:
            return False
        return True

    def _end(self) -> None:
        """The connection is gone, with all its channels."""
        owner = self.owner
        if owner is not None and not owner.is_closed:
            # All channels at once: what one leaves isn't for another.
            self.hub.apply(CloseOwner(owner))
            self.hub.disown(owner)
        for channel in list(self.channels.values()):
            self.end_channel(channel)


_EVENTS: Final[Mapping[type[Any], Callable[[ClassicFrontend, Any], None]]] = {
    Published: ClassicFrontend._published,
    MethodReceived: ClassicFrontend._method,
    Request: ClassicFrontend._request,
    ContentReceived: ClassicFrontend._content,
    Replied: ClassicFrontend._replied,
    FlowChanged: ClassicFrontend._flow_changed,
    Opened: ClassicFrontend._opened,
    Closed: ClassicFrontend._closed,
    Failed: ClassicFrontend._failed,
    AuthenticationRequested: ClassicFrontend._authentication,
    ScramKeysRequested: ClassicFrontend._scram_keys,
    OpenRequested: ClassicFrontend._open_requested,
}

_METHODS: Final[Mapping[str, Callable[..., Any]]] = {
    **topology.METHODS,
    **basic.METHODS,
    **publishing.METHODS,
    **files.METHODS,
    **streams.METHODS,
    **old_classes.METHODS,
}
