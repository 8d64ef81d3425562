"""ConnectionModel: both ends of one 0-8 or 0-9-1 connection, stepped by what either side sends.

An endpoint steps it with what it sends and what it receives, an observer with what it sees; the rules are here once.
It owns the connection's state, its channels by their numbers, and the count of octets of bodies that are under way;
nothing outside `model` assigns any of it. `step_header` comes first, once for each side. Then `step` takes each method,
and for one with content `header` and `body` its frames, in the order in which they were sent on a channel. They check
everything first and change the state afterwards, so a refused unit leaves no trace.

Between two calls, as `ConnectionModel.check` says: `channels` has just the channels whose state isn't CLOSED, each
under its number, and none before the connection's open; their number and theirs are within what was agreed on; `bodies`
is the sum of `counted` over all content that is under way, which `Limits.bodies` bounds. Where the start wasn't seen
(`assumed`) there may be more.

Sections of 0-9-1: 2.2.4 (life-cycle), 2.3.7 (closing), 4.2.3 (channels), 4.2.6 (content).
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground.invariants import ensure
from ...endpoint import Side
from ...errors import Scope
from ...versions import AMQP_0_8
from ..codec.violation import (
    CHANNEL_ERROR,
    COMMAND_INVALID,
    CONTENT_TOO_LARGE,
    FRAME_ERROR,
    NOT_ALLOWED,
    NOT_IMPLEMENTED,
    SILENT,
    Violation,
    codes_of,
    misplaced,
    too_many,
)
from .access import check_ticket, grant_ticket
from .channel_state import BOOKS, Call, ChannelState, ContentState, Step, check_staged
from .states import (
    CHANNEL,
    CHANNEL_DISCARDS,
    CHANNEL_INPUTS,
    CHANNEL_OTHER,
    CONNECTION,
    CONNECTION_DISCARDS,
    CONNECTION_INPUTS,
    CONNECTION_OTHER,
    CONTENT,
    MODE,
    MODE_INPUTS,
    Channel,
    ChannelInput,
    Connection,
    ConnectionInput,
    Content,
    ContentInput,
    Mode,
)
from .values import check_values, disregarded

if TYPE_CHECKING:
    from typing import Final

    from ...limits import Limits
    from ..codec.dialect import Dialect
    from ..codec.method import Method

CONNECTION_CLASS: Final = 10
DTX_CLASS: Final = 100
_CANCELS: Final = ("basic.cancel", "file.cancel", "stream.cancel")
_CLOSED: Final = "channel/closed-when"
# A member of an enumeration takes longer to get from its class than all else that a check of it does.
_OPEN: Final = Connection.OPEN
_CHANNEL_OPEN: Final = Channel.OPEN
_HEADER: Final = Content.HEADER
_BODY: Final = Content.BODY
CLOSES: Final = ("connection.close", "connection.close-ok")
CHANNEL_CLOSES: Final = ("channel.close", "channel.close-ok")
"""Methods that still count while a closing connection, or channel, discards everything else."""
CHANNEL_MAX: Final = 65535
MIN_FRAME_MAX: Final = 4096
HANDSHAKE_FRAME_MAX: Final = 65536
"""Frames up to 4096 octets must be taken before tuning (0-9-1 connection.tune); large tokens need more."""

BEFORE_OPEN: Final = (
    Connection.START,
    Connection.HEADER_SENT,
    Connection.STARTED,
    Connection.AUTHENTICATING,
    Connection.CHALLENGED,
    Connection.TUNING,
    Connection.TUNED,
)
"""States in which an error closes the socket without a word (0-9-1 section 2.2.4)."""


class ConnectionModel:
    """Both ends of a connection; see the module's docstring."""

    __slots__ = ("assumed", "bodies", "channel_max", "channels", "dialect", "frame_max", "limits", "state", "zero")

    def __init__(self, dialect: Dialect, limits: Limits, zero: ChannelState | None = None) -> None:
        # The methods and their rules. A server, and an observer, find out which it is when the peer has said it.
        self.dialect = dialect
        # The bounds of what is kept; an observer's are beyond every peer.
        self.limits = limits
        # A row of the table CONNECTION, moved by `step_header` and by methods of class connection.
        self.state = Connection.START
        # The agreed frame-max in octets (connection.tune-ok), 0 for no bound; before tuning what is taken anyway.
        self.frame_max = HANDSHAKE_FRAME_MAX
        # The highest channel number that was agreed on.
        self.channel_max = CHANNEL_MAX
        # The channels that aren't closed, by number, in the order of their opening.
        self.channels: dict[int, ChannelState] = {}
        # Channel 0, on which requests of class connection wait for their replies (update-secret).
        self.zero = zero or ChannelState(0)
        # Octets of bodies under way on all channels, whole ones, whatever of them has come (`Limits.bodies`).
        self.bodies = 0
        # Whether something was missed, so that a state that doesn't fit is no fault. Observers only.
        self.assumed = False

    def serve(self, zero: ChannelState) -> None:
        """Use this as channel 0; nothing has happened on it yet."""
        self.zero = zero

    def speak(self, dialect: Dialect) -> None:
        """The peers speak another dialect of the version than was thought so far."""
        self.dialect = dialect

    def agree(self, channel_max: int, frame_max: int) -> None:
        """These limits hold from now on (connection.tune-ok)."""
        self.channel_max = channel_max
        self.frame_max = frame_max

    def assume(self, assumed: bool = True) -> None:
        """Whether something of the connection wasn't seen, from now on."""
        self.assumed = assumed

    def assume_open(self) -> None:
        """The connection was open before anybody saw it."""
        self.state = Connection.OPEN

    def drop_channel(self, number: int) -> None:
        """A channel is no more, though nobody saw it closed."""
        del self.channels[number]

    def drop_channels(self) -> None:
        """No channel is left, nor what was under way on any: the connection ends, if not at once."""
        self.channels.clear()
        self.bodies = 0

    def put_last(self, number: int) -> None:
        """A channel counts as the one that was opened last."""
        self.channels[number] = self.channels.pop(number)

    def end(self) -> None:
        """The connection is over, however that came."""
        self.state = Connection.END
        self.bodies = 0

    def check(self) -> None:
        """Check the module's invariants, and those of each channel. Raises AssertionError."""
        where = f"{self.dialect.name} connection"
        bodies = 0
        for number, channel in self.channels.items():
            ensure(channel.number == number, where, "each channel is kept under its number", number, channel.number)
            ensure(channel.state is not Channel.CLOSED, where, "no channel is kept that is closed", number)
            channel.check(self.limits)
            bodies += sum([each.counted for each in (channel.client_content, channel.server_content) if each])
        if not self.assumed:
            early = self.state in BEFORE_OPEN and self.channels
            ensure(not early, where, "channels open behind the connection", self.state, list(self.channels))
            high = [each for each in self.channels if not 0 < each <= self.channel_max]
            ensure(not high, where, "channel numbers are within channel-max", self.channel_max, high)
            most = max(self.limits.channels, self.channel_max if self.dialect.counts_channels else 0)
            ensure(len(self.channels) <= most, where, "`Limits.channels` bounds channels", len(self.channels))
        if self.state is not Connection.END:
            ensure(self.bodies == bodies, where, "`bodies` counts the bodies under way", self.bodies, bodies)
            ensure(bodies <= self.limits.bodies, where, "`Limits.bodies` bounds the bodies under way", bodies)
        ensure(self.zero.number == 0, where, "channel 0 is the connection's own", self.zero.number)
        self.zero.check(self.limits)

    def new_channel(self, number: int) -> ChannelState:
        """Make the books of a channel that is being opened."""
        return ChannelState(number)

    def step_header(self, side: Side) -> None:
        """`side` sends a protocol header."""
        given = ConnectionInput.C_HEADER if side is Side.CLIENT else ConnectionInput.S_HEADER
        self.state = CONNECTION[self.state].get(given) or self._unforeseen(given, "protocol header")

    def step(
        self, side: Side, number: int, method: Method, token: object = None, whole: bool = True, size: int | None = None
    ) -> Step | None:
        """`side` sends `method` on channel `number`; None: it's discarded, because channel or connection is closing.

        With `whole` false a method with content is followed by `header` and `body`; else its content of `size` octets
        comes with it. Raises Violation.
        """
        client = side is Side.CLIENT
        if side not in self.dialect.senders[method.ID]:
            rule = "connection/life-cycle" if method.CLASS_ID == CONNECTION_CLASS else "connection/error-scope"
            raise Violation(COMMAND_INVALID, f"{method.NAME} is not for the {side.value} to send", rule=rule)
        if self.state in CONNECTION_DISCARDS[client] and method.NAME not in CLOSES and self.discards(None, client):
            return None
        if method.CLASS_ID == CONNECTION_CLASS:
            return self._step_connection(client, number, method, token)
        if number == 0:
            text = f"{method.NAME} on channel 0, which is the connection's own"
            if method.HAS_CONTENT:
                raise Violation(CHANNEL_ERROR, text, rule="wire/content-channel-zero")
            raise Violation(COMMAND_INVALID, text, rule="wire/channel-zero")
        if CONNECTION_OTHER[client] not in CONNECTION[self.state]:
            self._unforeseen(CONNECTION_OTHER[client], method.NAME)
        other = CHANNEL_OTHER[client]
        inputs = CHANNEL_INPUTS.get(method.NAME)
        given = (inputs and inputs[not client]) or other
        channel = self.channels.get(number)
        if channel is None:
            channel = self._unopened(number, given, method)
        elif (
            channel.state in CHANNEL_DISCARDS[client]
            and method.NAME not in CHANNEL_CLOSES
            and self.discards(channel, client)
        ):
            return None
        after = CHANNEL[channel.state].get(given) or self._unforeseen_of(channel, given, method)
        content = self._step_content(channel, client, method, given)
        step = self._books(channel, client, method, token, size)
        channel.state = after
        if given is ChannelInput.C_OPEN:
            self.channels[number] = channel
        if content is not None and not whole:
            channel.set_content(client, ContentState(method, step.answered, token))
        elif given in (ChannelInput.C_CLOSE, ChannelInput.S_CLOSE, ChannelInput.C_CLOSE_OK, ChannelInput.S_CLOSE_OK):
            self._drop_content(channel, client)
        if after is Channel.CLOSED:
            self.drop_contents(channel)
            del self.channels[number]
        return step

    def header(
        self,
        side: Side,
        number: int,
        class_id: int,
        weight: int,
        size: int,
        properties: bytes = b"",
        streaming: bool = False,
    ) -> ContentState | None:
        """`side` sends a content header announcing `size` octets; None when it is discarded. Raises Violation.

        `properties` are kept for who reads them when the body is there. With `streaming` the body is handed on in
        pieces, so its size doesn't count against `Limits`.
        """
        client = side is Side.CLIENT
        content = self._under_way(client, number, _HEADER, "content header")
        if content is None:
            return None
        if class_id != content.method.CLASS_ID:
            text = f"content header of class {class_id} after {content.method.NAME} (class {content.method.CLASS_ID})"
            raise Violation(FRAME_ERROR, text, rule="wire/content-class")
        if weight:
            text = f"content header with weight {weight}; content within content is not supported"
            if self.dialect.version is AMQP_0_8:
                raise Violation(NOT_IMPLEMENTED, text, rule="wire/structured-optional")
            raise Violation(codes_of(self.dialect.version).unexpected_frame, text, rule="wire/content-weight")
        if content.answered is not None:
            check_staged(content.answered, size)
        if not streaming and not self.has_room(size):
            raise self._no_room(size)
        content.announce(size, properties, streaming)
        self.bodies += content.counted
        if not size:
            self._end_content(self.channels[number], client, content)
        return content

    def body(self, side: Side, number: int, length: int) -> ContentState | None:
        """`side` sends a body frame with `length` octets; None when it is discarded. Raises Violation."""
        client = side is Side.CLIENT
        content = self._under_way(client, number, _BODY, "content body")
        if content is None:
            return None
        received = content.received + length
        if received > content.size:
            raise misplaced(self.dialect.version, f"body of {received} octets where {content.size} were announced")
        content.received = received
        if received == content.size:
            content.state = CONTENT[content.state][ContentInput.LAST_BODY]
            self._end_content(self.channels[number], client, content)
        return content

    # The usual delivery of an open connection whose body comes later than its header: `step`, `header` and `body` in
    # two calls, once `ChannelState.take_usual_delivery` has taken the method.

    def has_room(self, size: int) -> bool:
        """Whether a body of so many octets is within the limits, beside those under way."""
        return size <= self.limits.message and self.bodies + size <= self.limits.bodies

    def begin_usual_body(self, channel: ChannelState, method: Method, properties: bytes, size: int) -> None:
        """The server has sent a method and its header, which announces `size` octets, for which there is room."""
        content = ContentState(method, None, None)
        content.announce(size, properties, False)
        self.bodies += size
        channel.server_content = content

    def take_usual_body(self, channel: ChannelState, size: int) -> ContentState | None:
        """The server's body frame with the last `size` octets of a delivery: the content, or None when it isn't taken.

        It isn't for another message than a delivery, for a body that goes on, and for one that is handed on in pieces.
        """
        content = channel.server_content
        if (
            content is None
            or channel.state is not _CHANNEL_OPEN
            or self.state is not _OPEN
            or content.streaming
            or content.state is not _BODY
            or content.size - content.received != size
            or content.method.NAME != "basic.deliver"
        ):
            return None
        self._end_content(channel, False, content)
        return content

    def discards(self, channel: ChannelState | None, client: bool) -> bool:
        """Whether the receiver drops what this side sends: it has sent its own close, and waits for the close-ok.

        That is the close of `channel`, or without one the connection's. Close and close-ok still count.
        """
        if channel is not None:
            return channel.state in CHANNEL_DISCARDS[client]
        return self.state in CONNECTION_DISCARDS[client]

    def _unforeseen(self, given: ConnectionInput, what: str) -> Connection:
        """The state after what the table has no row for: there is none. Raises Violation."""
        code = SILENT if self.state in BEFORE_OPEN else COMMAND_INVALID
        raise Violation(code, f"{what} while the connection is {self.state.value}", rule="connection/life-cycle")

    def _step_connection(self, client: bool, number: int, method: Method, token: object) -> Step:
        if number:
            raise Violation(COMMAND_INVALID, f"{method.NAME} on channel {number}, not on 0", rule="wire/channel-zero")
        other = CONNECTION_OTHER[client]
        inputs = CONNECTION_INPUTS.get(method.NAME)
        given = (inputs and inputs[not client]) or other
        after = CONNECTION[self.state].get(given) or self._unforeseen(given, method.NAME)
        if given is other:
            step = self._books(self.zero, client, method, token)
        else:
            check_values(self.dialect, method)
            step = Step(self.zero, client, method, None, token, self.dialect.version, self.limits)
        self.state = after
        return step

    def _unopened(self, number: int, given: ChannelInput, method: Method) -> ChannelState:
        if given is ChannelInput.C_OPEN:
            self._check_room(number)
            return self.new_channel(number)
        if self.assumed:
            channel = self.new_channel(number)
            channel.state = Channel.OPEN
            channel.assumed = True
            self.channels[number] = channel
            return channel
        raise _not_open(f"{method.NAME} on channel {number}, which isn't open")

    def _check_room(self, number: int) -> None:
        """Whether a client may have one more channel, with that number. Raises Violation."""
        if number > self.channel_max:
            text = f"channel {number} is above the agreed channel-max {self.channel_max}"
            raise Violation(CHANNEL_ERROR, text, rule="connection.tune/channel-max-highest")
        if len(self.channels) >= self.limits.channels:
            raise too_many(f"{len(self.channels)} channels are open", "channels", Scope.CONNECTION)

    def _unforeseen_of(self, channel: ChannelState, given: ChannelInput, method: Method) -> Channel:
        """As `_unforeseen`, of a channel."""
        rule = "channel.open/already-open" if given is ChannelInput.C_OPEN else _CLOSED
        raise _not_open(f"{method.NAME} while channel {channel.number} is {channel.state.value}", rule)

    def _books(
        self, channel: ChannelState, client: bool, method: Method, token: object, size: int | None = None
    ) -> Step:
        """Match replies, step the channel's mode and keep the books of one method that counts."""
        check_values(self.dialect, method)
        answered = None
        if (method.IS_REPLY and method.CLASS_ID != 20) or method.NAME == "channel.flow-ok":
            answered = channel.find_call(not client, method, self.dialect.replies)
            if answered is None and not channel.assumed:
                text = f"{method.NAME} answers no request on channel {channel.number}"
                raise Violation(COMMAND_INVALID, text, rule="method/sync-reply")
        mode = channel.mode
        select = MODE_INPUTS.get(method.NAME)
        if select is not None:
            after = MODE[mode].get(select)
            if after is not None:
                mode = after
            elif not (channel.assumed and mode is Mode.NORMAL):
                raise self._wrong_mode(channel, method)
        if self.dialect.strict:
            self._check_strictly(channel, method)
        step = Step(channel, client, method, answered, token, self.dialect.version, self.limits)
        step.size = size
        step.exact = self.dialect.exact_tags
        step.channels = self.channels
        asks = bool(self.dialect.replies[method.ID]) if method.CLASS_ID != 20 else method.NAME == "channel.flow"
        if asks and method.HAS_NO_WAIT and method.no_wait:  # type: ignore[attr-defined]
            asks = False
        if asks:
            calls = channel.calls(client)
            if calls is not None and len(calls) >= self.limits.calls:
                waiting = f"{len(calls)} requests wait for their reply on channel {channel.number}"
                raise too_many(waiting, "calls", Scope.CONNECTION)
        step.replied = asks
        books = BOOKS.get(method.NAME)
        if books is not None and (answered is not None or not method.IS_REPLY):
            books(step)
        channel.mode = mode
        if answered is not None:
            channel.end_call(not client, answered)
        if asks:
            channel.add_call(client, Call(method, token, step.remaining))
        if answered is not None and method.NAME == "access.request-ok" and self.dialect.strict:
            grant_ticket(channel, answered.request, method.ticket)  # type: ignore[attr-defined]
        if client and self.dialect.is_rabbit and (ignored := disregarded(method)) is not None:
            self.tolerate(ignored)
        return step

    def tolerate(self, violation: Violation) -> None:
        """Take a broken rule that does no harm: an endpoint says nothing of it."""

    def _check_strictly(self, channel: ChannelState, method: Method) -> None:
        """Check the rules of the specifications that their implementations disregard."""
        if channel.assumed:
            return
        if self.dialect.version is AMQP_0_8:
            check_ticket(channel, method)
            if method.NAME == "basic.recover" and channel.mode is Mode.TRANSACTED:
                text = f"basic.recover on channel {channel.number}, which is transacted"
                raise self._not_transacted(text, "basic.recover/transacted")
        if method.NAME in _CANCELS:
            tag: str = method.consumer_tag  # type: ignore[attr-defined]
            if tag not in channel.consumers and any([tag in other.consumers for other in self.channels.values()]):
                text = f"{method.NAME}: consumer {tag!r} belongs to another channel than {channel.number}"
                raise Violation(NOT_ALLOWED, text, rule="basic.consume/tag-channel-scope")

    def _wrong_mode(self, channel: ChannelState, method: Method) -> Violation:
        if method.NAME in ("tx.commit", "tx.rollback"):
            text = f"{method.NAME} on channel {channel.number}, which is not transacted; send tx.select first"
            return self._not_transacted(text, f"{method.NAME}/not-transacted")
        rule = "rabbitmq/confirm.select-not-tx"
        if method.CLASS_ID == DTX_CLASS:
            rule = "dtx.select/required" if method.NAME == "dtx.start" else "dtx/grammar"
        elif channel.mode is Mode.DISTRIBUTED:
            rule = "dtx/grammar"
        text = f"{method.NAME} on channel {channel.number}, which is in {channel.mode.value} mode"
        return self._not_transacted(text, rule)

    def _not_transacted(self, text: str, rule: str) -> Violation:
        return Violation(codes_of(self.dialect.version).not_transacted, text, rule=rule, scope=Scope.CHANNEL)

    def _step_content(self, channel: ChannelState, client: bool, method: Method, given: ChannelInput) -> Content | None:
        """Check a method against the content its sender has under way; the new state when the method begins content."""
        content = channel.client_content if client else channel.server_content
        piece = ContentInput.CONTENT_METHOD if method.HAS_CONTENT else ContentInput.METHOD
        if given not in (ChannelInput.C_OTHER, ChannelInput.S_OTHER, ChannelInput.C_OPEN, ChannelInput.S_OPEN_OK):
            piece = ContentInput.CLOSE
        after = CONTENT[content.state if content is not None else Content.IDLE].get(piece)
        if after is None and content is not None:
            wanted = f"the {content.state.value} of {content.method.NAME}"
            text = f"{method.NAME} on channel {channel.number} where {wanted} must come"
            raise misplaced(self.dialect.version, text)
        return after if method.HAS_CONTENT else None

    def _under_way(self, client: bool, number: int, wanted: Content, what: str) -> ContentState | None:
        """The content that a header or body belongs to, which wants it next; None when it is discarded."""
        if self.state in CONNECTION_DISCARDS[client] and self.discards(None, client):
            return None
        if number == 0:
            raise Violation(CHANNEL_ERROR, f"{what} on channel 0", rule="wire/content-channel-zero")
        if CONNECTION_OTHER[client] not in CONNECTION[self.state]:
            self._unforeseen(CONNECTION_OTHER[client], what)
        channel = self.channels.get(number)
        if channel is None:
            raise _not_open(f"{what} on channel {number}, which isn't open")
        if channel.state in CHANNEL_DISCARDS[client] and self.discards(channel, client):
            return None
        if CHANNEL_OTHER[client] not in CHANNEL[channel.state]:
            raise _not_open(f"{what} while channel {number} is {channel.state.value}")
        content = channel.client_content if client else channel.server_content
        if content is None or content.state is not wanted:
            expected = "a method" if content is None else f"the {content.state.value}"
            raise misplaced(self.dialect.version, f"{what} on channel {number} where {expected} must come")
        return content

    def _no_room(self, size: int) -> Violation:
        limits = self.limits
        if size > limits.message:
            text = f"a body of {size} octets, Limits.message allows {limits.message}"
        else:
            text = f"a body of {size} octets beside {self.bodies} under way, Limits.bodies allows {limits.bodies}"
        return Violation(CONTENT_TOO_LARGE, text, scope=Scope.CHANNEL)

    def _end_content(self, channel: ChannelState, client: bool, content: ContentState) -> None:
        self.bodies -= content.counted
        channel.set_content(client, None)

    def drop_contents(self, channel: ChannelState) -> None:
        """Cut what both sides have under way on a channel."""
        self._drop_content(channel, True)
        self._drop_content(channel, False)

    def _drop_content(self, channel: ChannelState, client: bool) -> None:
        content = channel.content(client)
        if content is not None:
            self._end_content(channel, client, content)
            if content.answered is not None:
                # The reply never came whole: its call is open as before.
                channel.add_call(not client, content.answered, first=True)


def _not_open(text: str, rule: str = _CLOSED) -> Violation:
    return Violation(CHANNEL_ERROR, text, rule=rule)
