"""Connection: one end of an AMQP 0-10 connection as a pure value (0-10 part 1 section 4, class 1)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..._core.connection import BaseConnection
from ...endpoint import CloseHint, Role, Side
from ...errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import NEED_DATA, PAUSED, By, CloseReport, Signal
from ...versions import AMQP_0_10, Version
from ..codec.frames import CONTROL, MIN_MAX_FRAME_SIZE, PROTOCOL_HEADER, encode_assembly
from ..codec.records import ConnectionClose, ConnectionCloseOk, ConnectionHeartbeat
from ..codec.violation import INVALID_PATH, NORMAL, DetachCode, Violation, framing_error
from ..model.states import CONNECTION, ConnectionInput
from ..model.states import Connection as State
from . import closing, opening, session_controls
from .config import Config, check_config, own_channel_max
from .fastpath import fast_event
from .receiving import Partial, control_name, receive_frame

if TYPE_CHECKING:
    from typing import Self

    from ...events import Event
    from ...sasl import ScramKeys
    from ..codec.record import Control
    from ..model.events import SessionRequested
    from ..model.session_state import SessionState
    from .fastpath import Route
    from .session import Session

_CLASS: Final = 1
_SESSION_CLASS: Final = 2
_HEADERS: Final = (State.START, State.HEADER_SENT)


class Connection(BaseConnection["Config"]):
    """A client or server connection that consumes octets and produces events and octets; see `Endpoint` for the edge.

    The state is the state as of the last event returned: octets are parsed when an event is taken. `pickle` gives a
    snapshot at any step. Commands take no time; anything random comes from the configuration.

    >>> from amqp_sansio.sasl import Plain
    >>> connection = Connection.client(Config(sasl=Plain("guest", "guest")))
    >>> connection.data_to_send(0.0)
    b'AMQP\\x01\\x01\\x00\\n'
    >>> connection.state
    'header sent'
    """

    VERSION: ClassVar[Version] = AMQP_0_10
    SCHEMA: ClassVar[int] = 1

    __slots__ = (
        "_bodies",
        "_crowded",
        "_fast_body",
        "_heartbeat",
        "_incoming_max",
        "_insists",
        "_max_frame",
        "_partials",
        "_requested",
        "_route",
        "_sasl",
        "_serial",
        "_sessions",
        "_state",
        "_validates",
        "capabilities",
        "channel_max",
        "known_hosts",
        "locale",
        "mechanism",
        "peer_properties",
        "user",
        "vhost",
    )

    def __init__(self, role: Role, config: Config) -> None:
        check_config(config, role)
        super().__init__(role, config)
        self.mechanism = self.user = self.locale = ""
        self.vhost = config.vhost if role is Side.CLIENT else ""
        self.capabilities: tuple[str, ...] = ()
        self.known_hosts: tuple[str, ...] = ()
        self.peer_properties: Any = None
        self.channel_max = own_channel_max(config)
        self._state = State.START
        self._sasl: Any = None
        self._sessions: dict[int, Session] = {}
        self._partials: dict[int, Partial] = {}
        self._requested: SessionRequested | None = None
        self._crowded: Session | None = None
        self._route: Route | None = None
        self._max_frame = self._incoming_max = MIN_MAX_FRAME_SIZE
        self._heartbeat = 0.0
        limits = config.limits
        above = limits.message if config.stream_above is None else config.stream_above
        self._fast_body = min(above, limits.message, limits.bodies, limits.header)
        self._bodies = self._serial = 0
        self._insists = False
        validates = config.validate_content
        self._validates = role is Side.SERVER if validates is None else validates
        if role is Side.CLIENT:
            self._step(ConnectionInput.C_HEADER)
            self._out.append(PROTOCOL_HEADER)

    @classmethod
    def client(cls, config: Config) -> Self:
        """A client's end; its protocol header is queued at once.

        Raises ValueError for a configuration that can't work.
        """
        return cls(Side.CLIENT, config)

    @classmethod
    def server(cls, config: Config | None = None) -> Self:
        """A server's end; it waits for the client's protocol header. Raises ValueError.

        >>> Connection.server().state
        'start'
        """
        return cls(Side.SERVER, config or Config())

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        signal: Signal = NEED_DATA
        if self._route is not None and self._waiting_for is None:
            event = fast_event(self)
            if event is not None:
                return event
        while self._takes_more():
            if not self._receive_unit():
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
        """Send the heartbeat that is due, or give up on a peer that is silent, stuck in the opening, or doesn't
        answer a close."""
        self._clock.advance(now)
        if self._ending is not None or self._close_hint is not CloseHint.KEEP:
            return
        for name in self._timers.due(now):
            if name == "close":
                self._ending = ("close-timeout", "the peer did not answer the close")
            else:
                text = f"the opening did not finish, it is {self._state.value}"
                self._ending = ("handshake-timeout", text)
        due = self._send_deadline()
        if due is not None and due <= now:
            self._send_control(0, ConnectionHeartbeat())
        if self._was_full:
            self._count_silence_anew(now)
        silent = self._silence_deadline()
        if silent is not None and silent <= now:
            text = f"nothing arrived for {2 * self._heartbeat:g} seconds, twice the heartbeat"
            self._ending = ("silent", text)

    # State.

    @property
    def state(self) -> str:
        """The connection's state, such as "open"; the tables of `states` have them all."""
        return self._state.value

    @property
    def is_open(self) -> bool:
        """Whether sessions can be attached and used."""
        return self._state is State.OPEN and self._close_hint is CloseHint.KEEP

    @property
    def max_frame_size(self) -> int:
        """The agreed largest frame in octets, with its header of 12."""
        return self._max_frame

    @property
    def heartbeat(self) -> float:
        """The agreed heartbeat in seconds; 0: none."""
        return self._heartbeat

    @property
    def sessions(self) -> tuple[int, ...]:
        """The channels that have sessions."""
        return tuple(self._sessions)

    def session(self, channel: int) -> Session:
        """The session on `channel`. Raises EndpointClosed when there is none."""
        session = self._sessions.get(channel)
        if session is None:
            raise EndpointClosed(f"no session on channel {channel}", self._report)
        return session

    # Commands.

    def open_session(
        self, name: bytes | str | None = None, *, timeout: int | None = 0, force: bool = False
    ) -> Session:
        """Attach a new session to the lowest free channel; `Opened` says that it is, and ends `session.opening`.

        `name` must be new for the user; None takes `Config.session_prefix` and a number. `timeout`: how many seconds
        both ends keep it when it's detached; 0: not at all, None: for ever. `force` takes it from another connection.
        Raises LocalProtocolError, LimitExceeded when no channel is free, EndpointClosed.
        """
        if name is None:
            prefix = self.config.session_prefix
            if not prefix:
                raise LocalProtocolError("a session needs a name, or Config.session_prefix")
            self._check_open()
            name = f"{prefix}{self._serial + 1}"
        octets = name.encode() if isinstance(name, str) else bytes(name)
        return session_controls.open_session(self, octets, timeout, force=force)

    def resume_session(self, state: SessionState, *, force: bool = True) -> Session:
        """Attach a session again; `Resumed` follows when both ends know what the other has, and all in doubt is sent.

        `state` is `session.detached_state()` of an earlier connection. `force`: also if the peer hasn't seen yet that
        it is gone. Raises LocalProtocolError, LimitExceeded, EndpointClosed.
        """
        return session_controls.resume_session(self, state, force=force)

    def accept_session(self, channel: int, state: SessionState | None = None) -> Session:
        """Answer `SessionRequested`: with None it's a new session, else one that goes on.

        Raises LocalProtocolError, EndpointClosed.
        """
        return session_controls.accept(self, channel, state)

    def refuse_session(self, channel: int, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Answer `SessionRequested` with no: the session is attached elsewhere. Raises LocalProtocolError."""
        session_controls.refuse(self, channel, code)

    def close(self, code: int = NORMAL, text: str = "") -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `code` is 200, 320 (forced by an operator), 402 or 501. Sessions with a timeout can be resumed on another
        connection.
        """
        closing.close_connection(self, code, text)

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        opening.accept_authentication(self)

    def refuse_authentication(self, text: str = "the login was refused") -> None:
        """Server: turn the client away, answering `AuthenticationRequested`, with a close (320)."""
        opening.refuse_authentication(self, text)

    def provide_scram_keys(self, keys: ScramKeys | None) -> None:
        """Server: answer `ScramKeysRequested`; None refuses the user, without telling it from a wrong password."""
        opening.provide_scram_keys(self, keys)

    def accept_open(self) -> None:
        """Server: let the client into the virtual host, answering `OpenRequested`."""
        opening.accept_open(self)

    def refuse_open(
        self, code: int = INVALID_PATH, text: str = "there is no such virtual host"
    ) -> None:
        """Server: close the connection instead of opening it: 402 for an unknown virtual host, 320 for a forbidden
        one."""
        opening.refuse_open(self, code, text)

    def redirect(self, host: str, known_hosts: tuple[str, ...] = ()) -> None:
        """Server: answer `OpenRequested` by sending the client to `host` ("amqp:tcp:name:port").

        Raises LocalProtocolError when the client insists on this server.
        """
        opening.redirect(self, host, known_hosts)

    # Inside.

    def _kept(self) -> dict[str, object]:
        state = super()._kept()
        state["_route"] = None
        return state

    def _takes_more(self) -> bool:
        if self._waiting_for is not None:
            return False
        crowded = self._crowded
        if crowded is None:
            return True
        limits = self.config.limits
        state = crowded._state
        if crowded._report is None and (
            state.waiting >= limits.requests or state.weight > limits.bodies
        ):
            return False
        self._crowded = None
        return True

    def _receive_unit(self) -> bool:
        """Parse and apply one unit; False while octets are missing or nothing more is taken."""
        buffer = self._buffer
        if self._state is State.END or (buffer.need and len(buffer) < buffer.need):
            return False
        self._unit_offset = buffer.offset
        try:
            if self._state in _HEADERS:
                return opening.receive_header(self)
            return receive_frame(self)
        except (Violation, CodecError, LocalProtocolError) as error:
            closing.fail_for(self, error)
        return True

    def _take_control(self, channel: int, control: Any) -> None:
        """A control has come. Raises Violation."""
        code = control.CODE >> 8
        if code == _SESSION_CLASS and self._state is State.OPEN:
            session_controls.receive(self, channel, control)
            return
        if code != _CLASS:
            if self._state in closing.CLOSING:
                return
            raise framing_error(f"{control.NAME} while the connection is {self._state.value}")
        kind = control.__class__
        if kind is ConnectionClose:
            closing.receive_close(self, control)
            return
        given = _INPUTS.get((self.role.other, control_name(control)))
        if given is None or given not in CONNECTION[self._state]:
            if self._state in closing.CLOSING:
                return
            raise framing_error(f"{control.NAME} while the connection is {self._state.value}")
        if kind is ConnectionCloseOk:
            closing.receive_close_ok(self)
        elif kind is not ConnectionHeartbeat:
            self._step(given)
            opening.receive(self, control)

    def _step(self, given: ConnectionInput) -> None:
        self._state = CONNECTION[self._state][given]

    def _send_control(self, channel: int, control: Control) -> None:
        segments = [(CONTROL, control.encode_assembly())]
        self._queue_octets(encode_assembly(channel, segments, self._max_frame))

    def _check_backlog(self, octets: int) -> None:
        """Raises LimitExceeded when so many octets more are more than `Limits.backlog_hard`."""
        size = self._out.size + octets
        hard = self.config.limits.backlog_hard
        if size > hard:
            raise LimitExceeded(
                f"{size} octets would wait to be sent, Limits.backlog_hard allows {hard}; stop at SendPaused"
            )

    def _knows(self, name: bytes) -> bool:
        """Whether a session of that name is attached here."""
        return any(
            [each.name == name and each._report is None for each in self._sessions.values()]
        )

    def _new_serial(self) -> int:
        """A number that this connection hasn't used, for keys and names."""
        self._serial += 1
        return self._serial

    def _check_open(self) -> None:
        """Raises EndpointClosed, and LocalProtocolError before the connection is open."""
        if self._state is State.OPEN and not self._lost:
            return
        report = self._report or self._report_later
        if report is None and self._lost and self._ending is not None:
            report = CloseReport(By.TRANSPORT, 0, self._ending[1])
        if report is not None:
            what = "closing" if self._report is None and not self._lost else "closed"
            raise EndpointClosed(f"the connection is {what}: {report}", report)
        raise LocalProtocolError(f"the connection is not open yet ({self.state}); wait for Opened")

    def _arm_timers(self, now: float) -> None:
        """The opening is timed from the first turn of the loop on, a close from when it has left."""
        if self._state is State.OPEN:
            return
        timers = self._timers
        if self._state not in closing.CLOSING:
            if "handshake" not in timers.deadlines:
                timers.set("handshake", now + self.config.handshake_timeout)
        elif self._report is None and (self._out.size or "close" not in timers.deadlines):
            timers.set("close", now + self.config.close_timeout)

    def _send_deadline(self) -> float | None:
        if not self._heartbeat or self._out.size or self._last_sent is None or self._state not in _BEATING:
            return None
        return self._last_sent + self._heartbeat / 2

    def _silence_deadline(self) -> float | None:
        if not self._heartbeat or self._last_received is None or not self.receive_budget:
            return None
        return self._last_received + 2 * self._heartbeat

    def __repr__(self) -> str:
        return f"<AMQP 0-10 {self.role.value} connection, {self.state}>"


_BEATING: Final = (State.TUNED, State.OPENING, State.OPEN)
_INPUTS: Final = {
    (Side.CLIENT if each.value[0] == "C" else Side.SERVER, each.value[2:]): each for each in ConnectionInput
}
