"""Connection: one end of an AMQP 1.0 connection as a pure value (1.0 part 2 section 2.4)."""

# The modules of this package share one engine; its private state is theirs, not the caller's.
# pyright: reportPrivateUsage=false
from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any, ClassVar, Final

from ..._core.connection import BaseConnection
from ...endpoint import CloseHint, Role, Side
from ...errors import CodecError, EndpointClosed, LimitExceeded, LocalProtocolError
from ...events import NEED_DATA, PAUSED, By, CloseReport, Signal
from ...versions import AMQP_1_0, Version
from ..codec.frames import AMQP, FRAME, HEADER_SIZE, next_frame
from ..codec.performatives import Close, Open, SaslFrame, Transfer, decode_frame_body
from ..codec.violation import Violation, misuse
from ..model import states
from ..model.link_state import number_of
from . import closing, dispatch, idle, opening, sasl_layer, tls_layer
from .config import Config, check_config, own_channel_max, own_max_frame_size
from .fastpath import fast_event
from .session import make_error
from .stages import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from ...events import Event
    from ...sasl import ScramKeys
    from ..codec.performatives import Performative
    from ..model.connection import Half
    from .session import Session

_FRAMES: Final = Stage.FRAMES
_frame: Final = FRAME.unpack_from
_pack: Final = FRAME.pack
_BEGIN: Final = 0x11
_END: Final = 0x17
"""The performatives of sessions, all but open and close."""


class Connection(BaseConnection["Config"]):
    """A client or server connection that consumes octets and produces events and octets; see `Endpoint` for the edge.

    The state is the state as of the last event returned: octets are parsed when an event is taken. `pickle` gives a
    snapshot at any step. Commands take no time; anything random comes from the configuration.

    >>> connection = Connection.client(Config(container_id="me"))
    >>> connection.data_to_send(0.0)[:8]
    b'AMQP\\x00\\x01\\x00\\x00'
    >>> connection.state
    'OPEN_PIPE'
    """

    VERSION: ClassVar[Version] = AMQP_1_0
    SCHEMA: ClassVar[int] = 2

    __slots__ = (
        "_bodies",
        "_half",
        "_incoming_max",
        "_joint",
        "_max_frame",
        "_sasl",
        "_sasl_hostname",
        "_send_within",
        "_serial",
        "_sessions",
        "_side",
        "_stage",
        "_tls",
        "mechanism",
        "own_open",
        "peer_close",
        "peer_open",
    )

    def __init__(self, role: Role, config: Config) -> None:
        check_config(config, role)
        super().__init__(role, config)
        self.mechanism = ""
        self.own_open: Open | None = None
        self.peer_open: Open | None = None
        self.peer_close: Close | None = None
        self._side = number_of(role)
        self._joint = dispatch.EndpointModel(self, config.limits)
        self._half: Half = self._joint.halves[self._side]
        self._sessions: dict[int, Session] = {}
        self._stage = Stage.FIRST
        self._sasl: Any = None
        self._sasl_hostname: str | None = None
        self._max_frame = config.initial_frame_size
        self._incoming_max = config.initial_frame_size
        self._send_within = 0.0
        self._bodies = self._serial = 0
        self._tls = False
        if role is Side.CLIENT:
            self._incoming_max = own_max_frame_size(config)
            opening.start(self)

    @classmethod
    def client(cls, config: Config | None = None) -> Self:
        """A client's end; its protocol header is queued at once, and without SASL its open too.

        Raises ValueError for a configuration that can't work, LocalProtocolError for an open above 512 octets.
        """
        return cls(Side.CLIENT, config or Config())

    @classmethod
    def server(cls, config: Config | None = None) -> Self:
        """A server's end; it waits for the client's protocol header. Raises ValueError.

        >>> Connection.server(Config(mechanisms=("PLAIN",))).state
        'START'
        """
        return cls(Side.SERVER, config or Config())

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        signal: Signal = NEED_DATA
        if self._stage is _FRAMES and self._waiting_for is None:
            event = fast_event(self)
            if event is not None:
                return event
        while self._waiting_for is None:
            if self._stage is _FRAMES:
                self._receive_frames(events)
                if events:
                    return events.popleft()
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
        """Send the empty frame that is due, or give up on a peer that is silent, stuck in the opening, or
        doesn't answer a close."""
        self._clock.advance(now)
        if self._ending is not None or self._close_hint is not CloseHint.KEEP:
            return
        for name in self._timers.due(now):
            if name == "close":
                self._ending = ("close-timeout", "the peer did not answer the close")
            else:
                wanted = self._stage.value if self._waiting_for is None else f"an answer: {self._waiting_for}"
                text = f"the opening did not finish, next should come {wanted}"
                self._ending = ("handshake-timeout", text)
        idle.keep_alive(self, now)
        if self._was_full:
            self._count_silence_anew(now)
        idle.watch(self, now)

    # State.

    @property
    def state(self) -> str:
        """The connection's state by its name in 1.0 part 2 section 2.4.6, such as "OPENED"."""
        if self._stage is Stage.ENDED:
            return "END"
        peer = self._joint.halves[1 - self._side].state
        name = states.connection_state(self._half.state, peer)
        later = self._report_later
        failed = later is not None and later.by is By.LOCAL and later.condition
        return "DISCARDING" if name == "CLOSE_SENT" and failed else name

    @property
    def is_open(self) -> bool:
        """Whether sessions can be opened and used."""
        opened = self._stage is Stage.FRAMES and self._waiting_for != opening.OPEN
        return opened and self._close_hint is CloseHint.KEEP

    @property
    def hostname(self) -> str | None:
        """The host, or virtual host, that the client wants: as its open says, before that as its sasl-init does."""
        if self.role is Side.CLIENT:
            return self.config.hostname
        return self._sasl_hostname if self.peer_open is None else self.peer_open.hostname

    @property
    def max_frame_size(self) -> int:
        """The largest frame in octets that the peer takes."""
        return self._max_frame

    @property
    def channel_max(self) -> int:
        """The highest channel number that this end may use: the peer's word, within `Limits.channels`."""
        peer = 0 if self.peer_open is None else self.peer_open.channel_max
        return min(peer, own_channel_max(self.config))

    @property
    def outgoing_locale(self) -> str:
        """The locale in which the peer wants this end's texts, of those configured (1.0 part 2 section 2.7.1)."""
        wanted = () if self.peer_open is None else self.peer_open.incoming_locales
        return opening.chosen_locale(wanted, self.config.outgoing_locales)

    @property
    def incoming_locale(self) -> str:
        """The locale of the texts that the peer sends."""
        supported = () if self.peer_open is None else self.peer_open.outgoing_locales
        return opening.chosen_locale(self.config.incoming_locales, supported)

    @property
    def sessions(self) -> tuple[int, ...]:
        """The channel numbers of this end's sessions."""
        return tuple(self._sessions)

    def session(self, channel: int) -> Session:
        """The session that this end sends on `channel`. Raises EndpointClosed when there is none."""
        return dispatch.find(self, channel)

    # Commands.

    def open_session(
        self,
        *,
        properties: Mapping[Any, Any] | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
    ) -> Session:
        """Begin a session on the lowest free channel; usable at `Opened(Scope.SESSION, ...)`, which ends its
        `opening` handle.

        Raises LocalProtocolError when no channel is free, EndpointClosed.
        """
        return dispatch.open_session(
            self,
            properties=properties,
            offered_capabilities=offered_capabilities,
            desired_capabilities=desired_capabilities,
        )

    def close(
        self, condition: str = "", description: str = "", info: Mapping[Any, Any] | None = None
    ) -> None:
        """Close the connection with a handshake; `Closed` is its last event. A second call does nothing.

        `condition` is an error condition ("amqp:connection:forced") or "" for a normal close. Before the headers are
        exchanged the socket is closed without a word.
        """
        closing.close_connection(self, condition, description, info)

    def tls_octets(self) -> bytes:
        """What came behind the TLS header, after `TlsStarted`: the beginning of the TLS records, handed over once.

        Raises LocalProtocolError when no TLS layer is waiting.
        """
        return tls_layer.take_octets(self)

    def tls_established(self) -> None:
        """The TLS handshake that `TlsStarted` asked for is over. Raises LocalProtocolError."""
        tls_layer.established(self)

    def accept_authentication(self) -> None:
        """Server: let the client in, answering `AuthenticationRequested`."""
        sasl_layer.accept_authentication(self)

    def refuse_authentication(self, text: str = "", code: int = sasl_layer.AUTH) -> None:
        """Server: turn the client away, answering `AuthenticationRequested`.

        `code` is that of sasl-outcome: 1 for the credentials, 2 to 4 for a failure of the server (1.0 part 5 section
        5.3.3.6). `text` is only for the report: the client doesn't get it.
        """
        sasl_layer.refuse_authentication(self, text or "the login was refused", code)

    def provide_scram_keys(self, keys: ScramKeys | None) -> None:
        """Server: answer `ScramKeysRequested`; None refuses the user, without telling it from a wrong password."""
        sasl_layer.provide_scram_keys(self, keys)

    def accept_open(self, **changes: Any) -> None:
        """Server: answer `OpenRequested` with this end's open; `changes` are fields of it, as `properties`.

        Raises LocalProtocolError, CodecError, TypeError, with the question still open.
        """
        opening.accept_open(self, changes)

    def refuse_open(
        self,
        condition: str = "amqp:not-allowed",
        text: str = "",
        info: Mapping[Any, Any] | None = None,
    ) -> None:
        """Server: answer `OpenRequested` with a close: "amqp:not-found" for an unknown host,
        "amqp:connection:redirect" with an `info` that names another one (1.0 part 2 section 2.8.16)."""
        error = make_error(condition, text, info)
        if error is None:
            raise LocalProtocolError("refuse_open needs an error condition")
        opening.refuse_open(self, error)

    # Inside.

    def _receive_frames(self, events: deque[Event]) -> None:
        """Take whole frames until one gives an event, octets are missing, or one isn't the common case.

        What isn't is left to the general step, with nothing changed.
        """
        buffer = self._buffer
        most = self._incoming_max
        body: Any
        try:
            while not events and self._stage is _FRAMES:
                data = buffer.data
                pos = buffer.pos
                left = len(data) - pos
                if left <= HEADER_SIZE:
                    return
                size, doff, kind, channel = _frame(data, pos)
                if size > left or size > most or size <= HEADER_SIZE or doff != 2 or kind:
                    return
                end = pos + size
                try:
                    body, at = decode_frame_body(data, pos + HEADER_SIZE, end)
                except CodecError:
                    return
                if body.__class__ is not Transfer and (at != end or not _BEGIN <= body.CODE <= _END):
                    return
                self._unit_offset = buffer.consumed + pos
                buffer.pos = end
                dispatch.receive(self, channel, body, data[at:end])
        except (Violation, CodecError, LocalProtocolError) as error:
            closing.fail_for(self, error)

    def _receive_unit(self) -> bool:
        """Parse and apply one unit; False while octets are missing or nothing more is taken."""
        stage = self._stage
        buffer = self._buffer
        if stage is Stage.ENDED or (buffer.need and len(buffer) < buffer.need):
            return False
        self._unit_offset = buffer.offset
        try:
            if stage is Stage.FRAMES or stage is Stage.OPENING:
                return self._receive_frame()
            if stage is Stage.CLOSING:
                return closing.receive(self)
            if stage is Stage.SASL:
                return sasl_layer.receive_frame(self)
            return opening.receive_header(self)
        except (Violation, CodecError, LocalProtocolError) as error:
            closing.fail_for(self, error)
        return True

    def _receive_frame(self) -> bool:
        """Take one AMQP frame. Raises Violation, CodecError."""
        frame = next_frame(self._buffer, AMQP, self._incoming_max)
        if frame is None:
            return False
        channel, data, start, end = frame
        if start == end:
            self._joint.step_empty(1 - self._side, channel)
            return True
        body, at = decode_frame_body(data, start, end)
        if isinstance(body, SaslFrame) or (at != end and body.__class__ is not Transfer):
            raise closing.misplaced(body, end - at)
        if isinstance(body, Open):
            self._joint.step(1 - self._side, channel, body)
            opening.receive_open(self, body)
        elif isinstance(body, Close):
            self._joint.step(1 - self._side, channel, body)
            closing.peer_closes(self, body)
        else:
            dispatch.receive(self, channel, body, data[at:end])
        return True

    def _send(self, channel: int, performative: Performative, payload: bytes = b"") -> None:
        """Step the books for this end's own frame, and queue it. Raises LocalProtocolError, LimitExceeded,
        CodecError, with nothing changed."""
        body = performative.encode()
        size = HEADER_SIZE + len(body) + len(payload)
        self._check_size(performative, size)
        self._check_backlog(size)
        try:
            self._joint.step(self._side, channel, performative, payload)
        except Violation as violation:
            raise misuse(violation) from None
        self._queue_octets(_pack(size, 2, AMQP, channel) + body + payload)

    def _queue(self, channel: int, body: bytes, payload: bytes = b"") -> None:
        """Queue an AMQP frame that the books have seen and the peer takes."""
        size = HEADER_SIZE + len(body) + len(payload)
        out = self._out
        out.parts.append(_pack(size, 2, AMQP, channel) + body + payload)
        out.size += size
        if out.size > self._backlog_high and not self._paused_sending:
            self._pause_sending()

    def _send_deadline(self) -> float | None:
        return idle.send_deadline(self)

    def _silence_deadline(self) -> float | None:
        return idle.silence_deadline(self)

    def _arm_timers(self, now: float) -> None:
        if self._stage is not _FRAMES or self._waiting_for is not None:
            idle.arm(self, now)

    def _check_frames(self, *frames: Performative, spare: int = 0) -> None:
        """Check what is sent together before any of it: each fits a frame, and all, with `spare` octets, the backlog.

        Raises LocalProtocolError, LimitExceeded, CodecError.
        """
        total = spare
        for each in frames:
            size = HEADER_SIZE + len(each.encode())
            total += size
            self._check_size(each, size)
        self._check_backlog(total)

    def _check_size(self, performative: Performative, size: int) -> None:
        if size > self._max_frame:
            raise LocalProtocolError(
                f"{performative.NAME} takes a frame of {size} octets, the peer takes {self._max_frame} "
                "(amqp:frame-size-too-small)",
                rule="1.0/transport/open/max-frame-size",
            )

    def _check_backlog(self, octets: int) -> None:
        """Raises LimitExceeded when so many octets more are more than `Limits.backlog_hard`."""
        size = self._out.size + octets
        hard = self.config.limits.backlog_hard
        if size > hard:
            raise LimitExceeded(
                f"{size} octets would wait to be sent, Limits.backlog_hard allows {hard}; stop at SendPaused",
                rule="1.0/transport/error/resource-limit",
            )

    def _new_serial(self) -> int:
        """A number that this connection hasn't used, for keys and names."""
        self._serial += 1
        return self._serial

    def _check_open(self) -> None:
        """Raises EndpointClosed, and LocalProtocolError before the connection is open."""
        if self._stage is _FRAMES and not self._lost and self._waiting_for != opening.OPEN:
            return
        report = self._report or self._report_later
        if report is None and self._lost and self._ending is not None:
            report = CloseReport(By.TRANSPORT, 0, self._ending[1])
        if report is not None:
            what = "closing" if self._report is None and not self._lost else "closed"
            raise EndpointClosed(f"the connection is {what}: {report}", report)
        raise LocalProtocolError(f"the connection is not open yet ({self.state}); wait for Opened")

    def __repr__(self) -> str:
        return f"<AMQP 1.0 {self.role.value} connection, {self.state}>"
