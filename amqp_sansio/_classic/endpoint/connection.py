"""Connection: one end of a 0-8 or 0-9-1 connection as a pure value (0-9-1 sections 2.2.4 and 4)."""

from __future__ import annotations

from zlib import crc32

from ..._checking import TYPE_CHECKING, cast
from ..._ground import layouts
from ..._ground.free_numbers import FreeNumbers
from ...endpoint import CloseHint, Role, Side
from ...errors import CodecError, EndpointClosed, LimitExceeded, RemoteProtocolError, Scope
from ...events import NEED_DATA, PAUSED, By, CloseReport, Failed, Opened, Pending, Replied, Signal
from ..codec.dialect import default_dialect
from ..codec.frames import (
    BODY,
    CONTENT_HEADER,
    FRAME,
    HEADER,
    HEARTBEAT,
    METHOD,
    METHOD_ID,
    OVERSIZE,
    TRACE,
    Frame,
    check_plain,
    next_frame,
)
from ..codec.methods import BasicDeliver, BasicPublish, BasicReturn
from ..codec.rule_ids import rule_id
from ..codec.table import check_tables
from ..codec.violation import COMMAND_INVALID, NOT_ALLOWED, NOT_IMPLEMENTED, SILENT, SYNTAX_ERROR, Violation, misplaced
from ..model import hints
from ..model.channel_state import ChannelState
from ..model.connection import CHANNEL_CLOSES, CLOSES, ConnectionModel
from ..model.states import Channel as ChannelStates
from ..model.states import Mode
from . import events
from .channel import LIVE, Channel, ChannelZero
from .config import Config, check_config
from .fastpath import ClientFastPath, FastPath, ServerFastPath
from .handshake import CLOSABLE, Handshake, report_of
from .outgoing import merged_report

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, ClassVar

    from ...events import Event
    from ...limits import Limits
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..codec.methods import BasicCancel, ChannelClose, ChannelFlow
    from ..codec.methods_0_9_1 import ConnectionBlocked
    from ..codec.properties import Properties
    from ..model.channel_state import ContentState, Step
    from .channel import Owner
    from .outgoing import Outgoing


class EndpointModel(ConnectionModel):
    """The model of a connection whose channels are this end's Channel objects."""

    __slots__ = ("_outgoing", "_owner")

    def __init__(self, dialect: Dialect, limits: Limits) -> None:
        super().__init__(dialect, limits)
        # The connection, which its channels ask whether they may be used; set by `belong_to`, for the connection is
        # made of its model.
        self._owner: Owner | None = None
        # The way out that new channels share; set together with it.
        self._outgoing: Outgoing | None = None

    def belong_to(self, owner: Owner, outgoing: Outgoing) -> ChannelZero:
        """Make channels for `owner`; returns its channel 0."""
        self._owner = owner
        self._outgoing = outgoing
        zero = ChannelZero(owner, outgoing)
        self.serve(zero)
        return zero

    def new_channel(self, number: int) -> ChannelState:
        assert self._owner is not None
        assert self._outgoing is not None
        return Channel(self._owner, self._outgoing, number)

    def _check_room(self, number: int) -> None:
        assert self._outgoing is not None
        if self._outgoing.role is Side.CLIENT or not self.dialect.counts_channels:
            super()._check_room(number)
        elif len(self.channels) >= self.channel_max:
            opened = f"number of channels opened ({len(self.channels)})"
            text = f"{opened} has reached the negotiated channel_max ({self.channel_max})"
            raise Violation(NOT_ALLOWED, text, rule="connection.tune/channel-max-highest")


class Connection(Handshake):
    """A client or server connection that consumes octets and produces events and octets; see `Endpoint` for the edge.

    The state is the state as of the last event returned: octets are parsed when an event is taken. `pickle` gives a
    snapshot at any step. Commands take no time; anything random comes from the configuration.
    """

    LAYOUT: ClassVar[int] = layouts.CLASSIC

    __slots__ = (
        "_channels",
        "_fast_path",
        "_free",
        "_full_channel",
        "_unit_channel",
        "_unit_method",
        "_validate",
        "_zero",
    )

    def __init__(self, role: Role, config: Config) -> None:
        dialect = config.dialect or default_dialect(self.VERSION)
        check_config(config, role, dialect)
        model = EndpointModel(dialect, config.limits)
        super().__init__(role, config, model)
        # Channel 0: the connection's own methods go through it, and it is never closed.
        self._zero = model.belong_to(self, self._outgoing)
        # The model's channels, by number: those that aren't closed on both sides.
        self._channels = model.channels
        # Numbers of channels that may be opened next, the lowest first.
        self._free = FreeNumbers(1)
        # A channel on which as many requests of the peer wait for answers as `Limits.requests` allows: nothing is
        # parsed until the application has answered one.
        self._full_channel: ChannelState | None = None
        # The channel of the frame that is being taken, for the report of what it breaks; 0 between frames.
        self._unit_channel = 0
        # The class and method id of that frame, in one number; 0 for frames that carry none.
        self._unit_method = 0
        validate = config.validate_content
        # Whether properties of arriving content are decoded at once, so that damaged ones are the sender's fault.
        self._validate = role is Side.SERVER if validate is None else validate
        kind = ClientFastPath if role is Side.CLIENT else ServerFastPath
        # The shortcuts of this side: tried first for each frame, and asked again by the general way when they leave it.
        self._fast_path: FastPath = kind(config, self._buffer, self._outgoing, self._validate)
        self._limits_changed()

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        buffer = self._buffer
        if self._full_channel is None:
            if buffer.need and len(buffer) < buffer.need and self._waiting_for is None and self._ending is None:
                return NEED_DATA
            event = self._fast_path.read(buffer, None)
            if event is not None:
                if event is not NEED_DATA or self._ending is None:
                    return event
            elif buffer.pos == len(buffer.data) and not buffer.held and self._waiting_for is None:
                # Nothing is left of what arrived, as at the end of most reads.
                buffer.want(FRAME.size)
                if self._ending is None:
                    return NEED_DATA
        signal: Signal = NEED_DATA
        while self._waiting_for is None and (self._full_channel is None or not self._is_full(self._full_channel)):
            if not self._receive_unit():
                break
            if events:
                return events.popleft()
        else:
            signal = PAUSED
        return signal if self._ending is None else self._end_of_octets(signal)

    def next_deliveries(self, after: events.Delivery) -> list[events.Delivery]:
        """Deliveries to the same consumer that `next_event` would return one by one now, or none; `after` is the event
        that it has just returned."""
        path = self._fast_path
        if isinstance(path, ClientFastPath) and self._full_channel is None:
            return path.following(after) or []
        return []

    def next_confirms(self) -> list[Pending[object]]:
        """Publishes that are confirmed next, each by a method of its own: those of `Settled` with `Accepted` that
        `next_event` would return one by one now, or none."""
        path = self._fast_path
        if isinstance(path, ClientFastPath) and self._full_channel is None:
            return path.confirms() or []
        return []

    def next_acks(self, channel: int, most: int) -> list[int]:
        """Delivery tags that are acknowledged next on a channel, each by a method of its own: those of
        `MethodReceived` that `next_event` would return one by one now, at most so many, or none."""
        path = self._fast_path
        if isinstance(path, ServerFastPath) and self._full_channel is None and most > 0:
            return path.acks(channel, most) or []
        return []

    # State.

    def channel(self, number: int) -> Channel:
        """The open channel `number`; 0 is the connection's own. Raises EndpointClosed when there is none."""
        channel = self._channels.get(number) if number else self._zero
        if not isinstance(channel, Channel):
            raise EndpointClosed(f"channel {number} is not open", self._report)
        return channel

    @property
    def channels(self) -> tuple[int, ...]:
        """The numbers of the channels that are not closed."""
        return tuple(self._channels)

    @property
    def unanswered(self) -> tuple[Method, ...]:
        """Requests of the peer that wait for this end's reply, oldest first, of all channels."""
        peer_is_client = self.role is Side.SERVER
        channels = [self._zero, *self._channels.values()]
        return tuple(call.request for each in channels for call in each.calls(peer_is_client) or ())

    def check(self) -> None:
        """As that of every connection, and of the model with all its channels. Raises AssertionError."""
        super().check()
        self._model.check()

    # Commands.

    def open_channel(self, number: int | None = None) -> Channel:
        """Client: open a channel, the lowest free one when `number` is None; usable at `Opened`, or at once
        by pipelining.

        Raises LocalProtocolError (no free channel, number in use or out of range), EndpointClosed.
        """
        if self.role is not Side.CLIENT:
            raise self._outgoing.misuse("only a client opens channels", "connection/error-scope")
        self.check_open()
        if number is None:
            number = self._lowest_free()
        elif not 1 <= number <= self.channel_max:
            text = f"channel {number} is outside 1 to {self.channel_max}, the agreed channel-max"
            raise self._outgoing.misuse(text, "connection.tune/channel-max-highest")
        opening = self.dialect.named["channel.open"]()
        outgoing = self._outgoing
        pending: Pending[object] = Pending((number, outgoing.calls + 1))
        outgoing.send(number, opening, pending)
        outgoing.calls += 1
        channel = self.channel(number)
        channel.opening = pending
        return channel

    def call(self, method: Method) -> Pending[Method]:
        """Send a request of the connection class, such as ConnectionUpdateSecret. Raises LocalProtocolError,
        EndpointClosed."""
        return cast("Pending[Method]", self._zero.call(method))

    def send(self, method: Method) -> None:
        """Send a connection-class method that has no reply, such as ConnectionBlocked (server)."""
        self._zero.send(method)

    def reply(self, method: Method) -> None:
        """Answer the oldest unanswered request of the connection class that `method` answers."""
        self._zero.reply(method)

    def is_waiting(self, event: events.Request) -> bool:
        """Whether a request of the peer waits for its reply; a close of its channel answers it, too."""
        channel = self._channels.get(event.channel) if event.channel else self._zero
        if event.channel and (channel is None or channel.state is not ChannelStates.OPEN):
            return False
        calls = None if channel is None else channel.calls(self.role is Side.SERVER)
        return calls is not None and calls.has(event.method)

    # Inside.

    def _lowest_free(self) -> int:
        number = self._free.lowest(self._channels.__contains__)
        if number <= self.channel_max:
            return number
        raise LimitExceeded(f"all {self.channel_max} channels of the agreed channel-max are open")

    def _receive_unit(self) -> bool:
        """Parse and apply one unit; False while octets are missing or nothing more is taken."""
        if self._report is not None:
            return False
        buffer = self._buffer
        self._unit_offset = buffer.consumed + buffer.pos
        self._unit_channel = 0
        self._unit_method = 0
        frame: Frame | None = None
        try:
            if not self._started:
                return self._receive_header()
            frame = next_frame(buffer, self.dialect.version, self._body_max, self._other_max)
            if frame is None:
                return False
            kind, number, data, start, end = frame
            self._unit_channel = number
            if self._report_later is not None and not self._is_close(frame):
                # Once a close is on its way everything else is dropped (0-9-1 connection.close).
                return True
            if kind == METHOD:
                self._receive_method(number, data, start, end)
            elif kind == BODY:
                self._receive_body(number, data, start, end)
            elif kind == HEADER:
                self._receive_content_header(number, data, start, end)
            elif kind in (HEARTBEAT, TRACE):
                check_plain(kind, number, end - start)
                if kind == HEARTBEAT and self.config.report_heartbeats:
                    self._events.append(events.HeartbeatReceived())
            else:
                text = f"out-of-band frame of type {kind}; content goes in band"
                raise Violation(NOT_IMPLEMENTED, text, rule="wire/oob-format")
        except Violation as violation:
            if frame is None or not self._is_discarded(frame):
                self._fail(violation)
        return True

    def _is_discarded(self, frame: Frame) -> bool:
        """Whether a frame that breaks a rule is dropped, because its channel waits for a close-ok."""
        kind, number, data, start, end = frame
        channel = self._channels.get(number)
        if channel is None or not self._model.discards(channel, self.role is Side.SERVER):
            return False
        method = self.dialect.methods.get(METHOD_ID.unpack_from(data, start)[0]) if end - start >= 4 else None
        return kind != METHOD or method is None or method.NAME not in CHANNEL_CLOSES

    def _is_close(self, frame: Frame) -> bool:
        kind, number, data, start, end = frame
        if kind != METHOD or number or end - start < 4:
            return False
        method = self.dialect.methods.get(METHOD_ID.unpack_from(data, start)[0])
        return method is not None and method.NAME in CLOSES

    def _is_full(self, channel: ChannelState) -> bool:
        """Whether as many requests of the peer still wait for answers on a channel as `Limits.requests` allows."""
        calls = channel.calls(self.role is Side.SERVER)
        if calls is not None and len(calls) >= self.config.limits.requests:
            return True
        self._full_channel = None
        return False

    def _receive_method(self, number: int, data: bytes, start: int, end: int) -> None:
        if end - start < 4:
            text = f"method frame with {end - start} octets, 4 are the least"
            raise Violation(SYNTAX_ERROR, text, rule="wire/method-payload")
        (method_id,) = METHOD_ID.unpack_from(data, start)
        self._unit_method = method_id
        kind = self.dialect.methods.get(method_id)
        if kind is None:
            text = f"class {method_id >> 16} has no method {method_id & 0xFFFF} in {self.dialect.name}"
            raise Violation(COMMAND_INVALID, text, rule="wire/method-payload")
        try:
            method = kind.decode(data, start + 4, end, self._outgoing.tables)
            if self._validate:
                rules = self._outgoing.tables
                # Clients say of themselves that they know "basic.nack", a name that the specification forbids.
                own = method.NAME == "connection.start-ok"
                check_tables(method, rules.with_any_names() if own else rules)
        except CodecError as error:
            raise _unreadable(error, "wire/method-payload") from None
        step = self._model.step(self.role.other, number, method, None, False)
        if step is None:
            return
        channel: Any = step.channel
        if step.replied:
            calls = channel.calls(self.role is Side.SERVER)
            if calls is not None and len(calls) >= self.config.limits.requests:
                self._full_channel = channel
        receiver = self._RECEIVERS.get(method.NAME)
        if receiver is not None:
            receiver(self, channel, method, step)
        elif not method.HAS_CONTENT:
            self._receive_other(number, method, step)

    def _receive_other(self, number: int, method: Method, step: Step) -> None:
        if method.NAME in self.OWN_METHODS:
            self._receive_own(method)
        elif step.answered is not None and step.answered.token is not None:
            self._complete(step.answered.token, method)
        elif step.replied:
            self._events.append(events.Request(number, method))
        else:
            self._events.append(events.MethodReceived(number, method))
        self._outgoing.settle(step)

    def _complete(self, pending: Pending[object], result: object) -> None:
        pending.complete(result)
        self._events.append(Replied(pending))

    def _receive_content_header(self, number: int, data: bytes, start: int, end: int) -> None:
        if end - start < 14:
            raise misplaced(self.dialect.version, f"content header with {end - start} octets, 14 are the least")
        class_id, weight, size = CONTENT_HEADER.unpack_from(data, start)
        raw = data[start + 12 : end]
        channel = self._channels.get(number)
        threshold = self.config.stream_above
        large = threshold is not None and size > threshold
        streaming = large and isinstance(channel, Channel) and self._streams(channel)
        content = self._model.header(self.role.other, number, class_id, weight, size, raw, streaming)
        if content is None or channel is None:
            return
        if self._validate:
            try:
                self._properties(content).check()
            except CodecError as error:
                raise _unreadable(error, "wire/content-flags") from None
        if streaming and isinstance(channel, Channel):
            self.channel(number).streaming = True
            published = content.method.NAME == "basic.publish" and channel.mode is Mode.CONFIRM
            count = channel.publish_count if published else 0
            self._events.append(events.ContentBegun(number, content.method, self._properties(content), size, count))
        elif not size:
            self._end_content(number, content, b"")

    def _streams(self, channel: Channel) -> bool:
        """Whether a large body comes in pieces. One that was returned doesn't: it must be compared with its publish."""
        content = channel.content(self.role is Side.SERVER)
        return content is not None and content.method.NAME != "basic.return"

    def _receive_body(self, number: int, data: bytes, start: int, end: int) -> None:
        content = self._model.body(self.role.other, number, end - start)
        if content is None:
            return
        last = content.received == content.size
        piece = data[start:end]
        parts = content.parts
        if content.streaming:
            if piece:
                self._events.append(events.ContentChunk(number, piece, last))
            if last:
                self.channel(number).streaming = False
                self._end_streamed(content)
        elif last:
            self._end_content(number, content, b"".join((*parts, piece)) if parts else piece)
        else:
            content.keep(piece)

    def _properties(self, content: ContentState) -> Properties:
        kind = self.dialect.properties[content.method.CLASS_ID]
        return kind.from_wire(content.properties, self._outgoing.tables)

    def _end_streamed(self, content: ContentState) -> None:
        """A reply whose body came in pieces ends its call without them."""
        if content.answered is not None and content.answered.token is not None:
            self._complete(content.answered.token, events.Message(content.method, self._properties(content), b""))

    def _end_content(self, number: int, content: ContentState, body: bytes) -> None:
        """A message is complete: hand it to the call it answers, or to the application."""
        method = content.method
        raw = content.properties
        tables = self._outgoing.tables
        event: Event
        if content.answered is not None and content.answered.token is not None:
            self._complete(content.answered.token, events.Message(method, self._properties(content), body))
            return
        if isinstance(method, BasicDeliver):
            event = events.Delivery(
                number,
                method.consumer_tag,
                method.delivery_tag,
                method.redelivered,
                method.exchange,
                method.routing_key,
                body,
                raw,
                tables,
            )
        elif isinstance(method, BasicPublish):
            channel = self._channels[number]
            event = events.Published(
                number,
                method.exchange,
                method.routing_key,
                method.mandatory,
                method.immediate,
                body,
                raw,
                tables,
                channel.publish_count if channel.mode is Mode.CONFIRM else 0,
            )
        elif isinstance(method, BasicReturn):
            event = events.MessageReturned(
                number,
                method.reply_code,
                method.reply_text,
                method.exchange,
                method.routing_key,
                body,
                raw,
                tables,
                self._handle_returned(number, method, body),
            )
        else:
            event = events.ContentReceived(number, method, self._properties(content), body)
        self._events.append(event)

    def _handle_returned(self, number: int, method: BasicReturn, body: bytes) -> Pending[object] | None:
        """The pending of the publish that comes back, when confirms are on."""
        channel = self.channel(number)
        if channel.returns is None:
            return None
        key = (method.exchange, method.routing_key, len(body), crc32(body))
        outcome = events.Returned(method.reply_code, method.reply_text)
        return channel.unconfirmed.get(channel.returns.came_back(key, outcome))

    def _ack(self, channel: Channel, method: Method, step: Step) -> None:
        if self.role is Side.CLIENT:
            channel.settle_confirms(step.settled, step.outcome)
            return
        self._events.append(events.MethodReceived(channel.number, method))
        self._outgoing.settle(step)

    def _channel_open(self, channel: Channel, method: object, step: Step) -> None:
        self._outgoing.answer(channel.number, self.dialect.named["channel.open-ok"]())
        self._events.append(Opened(Scope.CHANNEL, channel.number))

    def _channel_open_ok(self, channel: Channel, method: object, step: Step) -> None:
        pending = channel.opening
        if channel.state is ChannelStates.OPEN and pending is not None:
            channel.opening = None
            pending.complete(method)
            self._events.append(Opened(Scope.CHANNEL, channel.number, pending))

    def _channel_close(self, channel: Channel, method: ChannelClose, step: Step) -> None:
        self._outgoing.answer(channel.number, self.dialect.named["channel.close-ok"]())
        report = merged_report(channel.report, report_of(method, self.dialect))
        if channel.state is ChannelStates.CLOSED:
            self._end_channel(channel, report)
        else:
            # Both closes crossed: this end's awaits its answer.
            channel.report = report

    def _channel_close_ok(self, channel: Channel, method: object, step: Step) -> None:
        if channel.state is ChannelStates.CLOSED:
            self._end_channel(channel, channel.report or CloseReport(By.LOCAL))

    def _flow(self, channel: Channel, method: ChannelFlow, step: Step) -> None:
        channel.answer(self.dialect.named["channel.flow-ok"](method.active))
        self._events.append(events.FlowChanged(channel.number, method.active))

    def _cancel(self, channel: Channel, method: BasicCancel, step: Step) -> None:
        if self.role is Side.SERVER:
            self._receive_other(channel.number, method, step)
            return
        if not method.no_wait:
            channel.answer(self.dialect.named["basic.cancel-ok"](method.consumer_tag))
        self._events.append(events.ConsumerCancelled(channel.number, method.consumer_tag))

    def _blocked(self, channel: Channel, method: ConnectionBlocked, step: Step) -> None:
        self._events.append(events.Blocked(method.reason))

    def _unblocked(self, channel: Channel, method: object, step: Step) -> None:
        self._events.append(events.Unblocked())

    _RECEIVERS: ClassVar[Mapping[str, Callable[[Any, Channel, Any, Step], None]]] = {
        "connection.blocked": _blocked,
        "connection.unblocked": _unblocked,
        "channel.open": _channel_open,
        "channel.open-ok": _channel_open_ok,
        "channel.flow": _flow,
        "channel.close": _channel_close,
        "channel.close-ok": _channel_close_ok,
        "basic.ack": _ack,
        "basic.nack": _ack,
        "basic.reject": _ack,
        "basic.cancel": _cancel,
    }
    """Methods that mean more to an endpoint than a request, a reply or news."""

    # The end.

    def _end_channel(self, channel: Channel, report: CloseReport) -> None:
        channel.end(report)
        self._free.give_back(channel.number)

    def _end_parts(self, report: CloseReport) -> None:
        for channel in list(self._channels.values()):
            assert isinstance(channel, Channel)
            if channel.report is not None:
                channel.end(channel.report)
            else:
                channel.end(report, with_connection=True)
        self._zero.end(report)
        self._model.drop_channels()

    def _forget(self) -> None:
        super()._forget()
        self._full_channel = None

    def _fail(self, violation: Violation) -> None:
        """The peer broke a rule: queue the reply that the specification demands and the event that says so."""
        if self._report_later is not None:
            # It is closing anyway, and the rest of the stream can't be read, unless a frame was only too large.
            if violation.rule != OVERSIZE:
                self._end(self._report_later, CloseHint.CLOSE_WHEN_SENT)
            return
        number = self._unit_channel
        channel = self._channels.get(number)
        if violation.scope is not Scope.CHANNEL or channel is None or channel.state not in LIVE:
            channel = None
        ids = self._unit_method >> 16, self._unit_method & 0xFFFF
        version = self.dialect.version
        rule = rule_id(version, violation.rule) if violation.rule else None
        code = violation.code if self._model.state in CLOSABLE else SILENT
        error = RemoteProtocolError(
            violation.text,
            scope=Scope.CONNECTION if channel is None else Scope.CHANNEL,
            code=code,
            channel=number,
            class_id=ids[0],
            method_id=ids[1],
            offset=self._unit_offset,
            rule=rule,
        )
        self._events.append(Failed(error.scope, 0 if channel is None else number, error, By.LOCAL))
        hint = hints.of_first_octets(self.first_octets(hints.LOOKED_AT))
        report = CloseReport(By.LOCAL, code, violation.text, *ids, hint=hint, rule=rule)
        # The peer's answer to the close is waited for; nothing that it says changes the report, or answers a call.
        if isinstance(channel, Channel):
            channel.send_close(report, self._words(violation))
            channel.abandon(report)
        elif code == SILENT:
            self._end(report, CloseHint.CLOSE_WHEN_SENT)
        else:
            self._send_close(report, self._words(violation))
            self._end_parts(report)

    def _words(self, violation: Violation) -> str:
        """The text that the peer gets: clients look for the code's name, with which every text of RabbitMQ begins."""
        name = self.dialect.codes.get(violation.code, ("", True))[0]
        if self.role is not Side.SERVER or not name:
            return violation.text
        return f"{name.replace('-', '_').upper()} - {violation.text}"

    def _limits_changed(self) -> None:
        self._fast_path.agree(self._body_max, self._other_max)
        self._fast_path.use(self._outgoing.tables)

    def _kept(self) -> dict[str, object]:
        # The unit at hand matters only until its step ends.
        return {**super()._kept(), "_unit_channel": 0, "_unit_method": 0}

    def __repr__(self) -> str:
        return f"<{self.dialect.name} {self.role.value} connection, {self._model.state.value}>"


def _unreadable(error: CodecError, rule: str) -> Violation:
    """The violation of a peer whose octets can't be read."""
    return Violation(error.code or SYNTAX_ERROR, str(error), rule=error.rule or rule)
