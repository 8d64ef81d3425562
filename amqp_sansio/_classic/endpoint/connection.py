"""Connection: one end of a 0-8 or 0-9-1 connection as a pure value (0-9-1 sections 2.2.4 and 4)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from ..._core.connection import BaseConnection
from ...endpoint import CloseHint, Role, Side
from ...errors import EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import NEED_DATA, PAUSED, By, CloseReport, Handle, Signal
from ...versions import AMQP_0_9_1, Version
from ..codec.dialect import default_dialect
from ..codec.frames import HEARTBEAT_FRAME, OVERHEAD
from ..codec.table import Table
from ..codec.violation import NOT_ALLOWED, Violation, misuse
from ..model.channel_state import ChannelState
from ..model.connection import BEFORE_OPEN, ConnectionModel
from ..model.states import Connection as State
from . import closing, handshake, receiving
from .channel import Channel, ChannelZero
from .config import Config, check_config
from .fastpath import LONGEST_DELIVER, fast_event
from .sending import send_frames

if TYPE_CHECKING:
    from typing import Self

    from ...events import Event
    from ...sasl import ScramKeys
    from ..codec.dialect import Dialect
    from ..codec.method import Method
    from ..codec.methods import BasicProperties



class _EndpointModel(ConnectionModel):
    """The books of a connection whose channels are this end's Channel objects."""

    __slots__ = ("connection",)

    connection: Connection

    def new_channel(self, number: int) -> ChannelState:
        return Channel(self.connection, number)

    def _check_room(self, number: int) -> None:
        if self.connection.role is Side.CLIENT or not self.dialect.counts_channels:
            super()._check_room(number)
        elif len(self.channels) >= self.channel_max:
            raise Violation(
                NOT_ALLOWED,
                f"number of channels opened ({len(self.channels)}) has reached the negotiated "
                f"channel_max ({self.channel_max})",
                rule="connection.tune/channel-max-highest",
            )


class Connection(BaseConnection["Config"]):
    """A client or server connection that consumes octets and produces events and octets; see `Endpoint` for the edge.

    The state is the state as of the last event returned: octets are parsed when an event is taken. `pickle` gives a
    snapshot at any step. Commands take no time; anything random comes from the configuration.
    """

    VERSION: ClassVar[Version] = AMQP_0_9_1
    SCHEMA: ClassVar[int] = 3

    __slots__ = (
        "_begins",
        "_body_max",
        "_calls",
        "_channels",
        "_checked",
        "_deliver_cache",
        "_frame_max",
        "_free_from",
        "_full_channel",
        "_heartbeat",
        "_insisted",
        "_joint",
        "_offered",
        "_other_max",
        "_publish_cache",
        "_publishes",
        "_quick",
        "_routes",
        "_sasl",
        "_started",
        "_tables",
        "_unit_channel",
        "_unit_method",
        "_unusual",
        "_validate",
        "_zero",
        "dialect",
        "mechanism",
        "peer_properties",
        "vhost",
    )

    def __init__(self, role: Role, config: Config) -> None:
        super().__init__(role, config)
        self.dialect: Dialect = config.dialect or default_dialect(self.VERSION)
        check_config(config, role, self.dialect)
        self.peer_properties = Table.from_wire(b"", self.dialect.tables)
        self.mechanism = ""
        self.vhost = config.vhost if role is Side.CLIENT else ""
        joint = _EndpointModel(self.dialect, config.limits)
        joint.connection = self
        joint.zero = self._zero = ChannelZero(self)
        self._joint: ConnectionModel = joint
        self._channels = cast("dict[int, Channel]", joint.channels)
        self._free_from = 1
        self._calls = 0
        self._frame_max = 0
        self._body_max = self._other_max = min(
            joint.frame_max, config.limits.header, config.limits.unparsed - OVERHEAD
        )
        self._heartbeat = 0.0
        self._sasl: Any = None
        self._tables = self.dialect.tables.limited(config.limits.nesting, config.limits.entries)
        self._validate = config.validate_content
        if self._validate is None:
            self._validate = role is Side.SERVER
        self._publish_cache: dict[tuple[object, ...], bytes] = {}
        self._deliver_cache: dict[tuple[int, str, str, str], tuple[bytes, bytes]] = {}
        self._publishes: dict[bytes, tuple[str, str, bool, bool]] = {}
        self._checked: dict[bytes, BasicProperties] = {}
        self._begins: dict[bytes, tuple[int, int, str]] = {}
        self._routes: dict[bytes, tuple[str, str, int]] = {}
        self._unit_channel = self._unit_method = 0
        self._started = self._insisted = False
        limits = config.limits
        self._unusual = config.stream_above is not None or min(limits.message, limits.bodies) < limits.unparsed
        self._unusual |= (role is Side.CLIENT and self._validate) or self.dialect.strict
        self._unusual |= limits.header < LONGEST_DELIVER
        # Whether whole deliveries take the shortcut.
        self._quick = role is Side.CLIENT and not self._unusual
        self._offered: tuple[int, int] = (0, 0)
        self._full_channel: ChannelState | None = None
        if role is Side.CLIENT:
            self._out.append(self.dialect.header)
            joint.step_header(Side.CLIENT)

    @classmethod
    def client(cls, config: Config) -> Self:
        """A client's end; its protocol header is queued at once."""
        return cls(Side.CLIENT, config)

    @classmethod
    def server(cls, config: Config | None = None) -> Self:
        """A server's end; it waits for the client's protocol header."""
        return cls(Side.SERVER, config or Config())

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        buffer = self._buffer
        if buffer.need and len(buffer) < buffer.need and self._waits_for_octets():
            return NEED_DATA
        signal: Signal = NEED_DATA
        if self._full_channel is None:
            event = fast_event(self)
            if event is not None:
                return event
        while self._waiting_for is None and not receiving.requests_full(self):
            if not receiving.receive_unit(self):
                break
            if events:
                return events.popleft()
        else:
            signal = PAUSED
        if self._ending is not None:
            closing.finish(self, *self._ending)
            if events:
                return events.popleft()
        return signal

    def handle_timeout(self, now: float) -> None:
        """Send the heartbeat that is due, or give up on a peer that is silent, stuck in the opening, or
        doesn't answer a close."""
        self._clock.advance(now)
        if self._ending is not None or self._close_hint is not CloseHint.KEEP:
            return
        for name in self._timers.due(now):
            if name == "close":
                self._ending = ("close-timeout", "the peer did not answer the close")
            else:
                state = self._joint.state.value
                self._ending = ("handshake-timeout", f"the opening did not finish, it is {state}")
        due = self._send_deadline()
        if due is not None and due <= now:
            self._out.append(HEARTBEAT_FRAME)
        if self._was_full:
            self._count_silence_anew(now)
        silence = self._silence_deadline()
        if silence is not None and silence <= now:
            self._ending = ("silent", f"nothing arrived for {2 * self._heartbeat:g} seconds, twice the heartbeat")

    # State.

    @property
    def state(self) -> State:
        """Where the connection is in its life-cycle (both ends together)."""
        return self._joint.state

    @property
    def is_open(self) -> bool:
        """Whether channels can be opened and used."""
        return self._joint.state is State.OPEN and self._close_hint is CloseHint.KEEP

    @property
    def frame_max(self) -> int:
        """The agreed largest frame in octets, with its 8 octets of header and end; 0: no limit."""
        return self._frame_max

    @property
    def channel_max(self) -> int:
        """The agreed highest channel number."""
        return self._joint.channel_max

    @property
    def heartbeat(self) -> float:
        """The agreed heartbeat interval in seconds; 0: none."""
        return self._heartbeat

    def channel(self, number: int) -> Channel:
        """The open channel `number`; 0 is the connection's own. Raises EndpointClosed when there is none."""
        channel = self._channels.get(number) if number else self._zero
        if channel is None:
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

    # Commands.

    def open_channel(self, number: int | None = None) -> Channel:
        """Client: open a channel, the lowest free one when `number` is None; usable at `Opened`, or at once
        by pipelining.

        Raises LocalProtocolError (no free channel, number in use or out of range), EndpointClosed.
        """
        if self.role is not Side.CLIENT:
            raise misuse(self.VERSION, "only a client opens channels", "connection/error-scope")
        self._check_open()
        if number is None:
            number = self._lowest_free()
        elif not 1 <= number <= self.channel_max:
            raise misuse(
                self.VERSION,
                f"channel {number} is outside 1 to {self.channel_max}, the agreed channel-max",
                "connection.tune/channel-max-highest",
            )
        opening = self.dialect.named["channel.open"]()
        handle: Handle[object] = Handle((number, self._calls + 1))
        send_frames(self, number, opening, handle, None)
        self._calls += 1
        channel = self._channels[number]
        channel.opening = handle
        return channel

    def call(self, method: Method) -> Handle[Any]:
        """Send a request of the connection class, such as ConnectionUpdateSecret. Raises LocalProtocolError,
        EndpointClosed."""
        return self._zero.call(method)

    def send(self, method: Method) -> None:
        """Send a connection-class method that has no reply, such as ConnectionBlocked (server)."""
        self._zero.send(method)

    def reply(self, method: Method) -> None:
        """Answer the oldest unanswered request of the connection class that `method` answers."""
        self._zero.reply(method)

    def close(self, code: int = 200, text: str = "Normal shutdown", cause: Method | None = None) -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `cause` is the method blamed in an error close. Before the connection is open the socket is closed without a
        word (0-9-1 section 2.2.4).
        """
        closing.close_connection(self, code, text, cause)

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        handshake.accept_authentication(self)

    def refuse_authentication(self, text: str = "ACCESS_REFUSED") -> None:
        """Server: turn the client away with 403 if it announced that it understands that, else by closing
        the socket."""
        handshake.refuse_authentication(self, text)

    def provide_scram_keys(self, keys: ScramKeys | None) -> None:
        """Server: answer `ScramKeysRequested`; None refuses the user, without telling it from a wrong password."""
        handshake.provide_scram_keys(self, keys)

    def accept_open(self) -> None:
        """Server: let the client into the virtual host, answering `OpenRequested`."""
        handshake.accept_open(self)

    def refuse_open(self, code: int = 530, text: str = "NOT_ALLOWED - no such virtual host") -> None:
        """Server: close the connection instead of opening it: 530 for an unknown virtual host, 403 for a
        forbidden one."""
        handshake.refuse_open(self, code, text)

    def redirect(self, host: str, known_hosts: str = "") -> None:
        """Server, 0-8: answer `OpenRequested` by sending the client to `host` ("name:port")."""
        handshake.redirect(self, host, known_hosts)

    # Inside.

    def _use_dialect(self, dialect: Dialect) -> None:
        """Speak another dialect of the version from now on; nothing that depends on it has happened yet."""
        limits = self.config.limits
        self.dialect = self._joint.dialect = dialect
        self._tables = dialect.tables.limited(limits.nesting, limits.entries)

    def _check_open(self) -> None:
        state = self._joint.state
        if state is State.OPEN and not self._lost:
            return
        report = self._report or self._report_later
        if report is None and self._lost and self._ending is not None:
            report = CloseReport(By.TRANSPORT, 0, self._ending[1])
        if report is not None:
            what = "closing" if self._report is None and not self._lost else "closed"
            raise EndpointClosed(f"the connection is {what}: {report}", report)
        raise LocalProtocolError(f"the connection is not open yet, it is {state.value}; wait for Opened")

    def _waits_for_octets(self) -> bool:
        return self._waiting_for is None and self._full_channel is None and self._ending is None

    def _lowest_free(self) -> int:
        for number in range(self._free_from, self.channel_max + 1):
            if number not in self._channels:
                self._free_from = number
                return number
        raise LimitExceeded(f"all {self.channel_max} channels of the agreed channel-max are open")

    def _arm_timers(self, now: float) -> None:
        """The opening is timed from the first turn of the loop on, a close from when it has left."""
        if self._joint.state is State.OPEN:
            return
        timers = self._timers
        if self._joint.state in BEFORE_OPEN:
            if "handshake" not in timers.deadlines:
                timers.set("handshake", now + self.config.handshake_timeout)
        elif (
            self._report_later is not None
            and self._report is None
            and (self._out.size or "close" not in timers.deadlines)
        ):
            timers.set("close", now + self.config.close_timeout)

    def _send_deadline(self) -> float | None:
        if not self._heartbeat or self._out.size or self._last_sent is None:
            return None
        return self._last_sent + self._heartbeat / 2

    def _silence_deadline(self) -> float | None:
        if not self._heartbeat or self._last_received is None or not self.receive_budget:
            return None
        return self._last_received + 2 * self._heartbeat

    def _kept(self) -> dict[str, object]:
        # What the caches hold is made anew, and what the unit at hand was is of no use any more.
        state = super()._kept()
        state["_publish_cache"] = {}
        state["_deliver_cache"] = {}
        state["_publishes"] = {}
        state["_checked"] = {}
        state["_begins"] = {}
        state["_routes"] = {}
        state["_unit_channel"] = state["_unit_method"] = 0
        return state

    def __repr__(self) -> str:
        return f"<{self.dialect.name} {self.role.value} connection, {self._joint.state.value}>"
