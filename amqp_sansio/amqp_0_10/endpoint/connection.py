"""Connection: one end of an AMQP 0-10 connection as a pure value (0-10 part 1 section 4, class 1).

`FrameReader` reads what comes for it.
"""

from __future__ import annotations

from ..._checking import TYPE_CHECKING
from ..._ground import layouts
from ..._ground.invariants import ensure
from ...endpoint import Role
from ...errors import CodecError, EndpointClosed, LocalProtocolError
from ...events import NEED_DATA, PAUSED, Signal
from ...versions import AMQP_0_10, Version
from ..codec.assembly import Assembly, joined, keep
from ..codec.frames import (
    BODY,
    COMMAND_TRACK,
    CONTROL,
    CONTROL_TRACK,
    FRAME,
    FRAME_HEADER_SIZE,
    MIN_MAX_FRAME_SIZE,
    WHOLE,
    malformed,
    misplaced,
)
from ..codec.record import decode_control
from ..codec.records import ConnectionClose, ConnectionCloseOk, ConnectionHeartbeat
from ..codec.violation import DetachCode, Violation, framing_error
from ..model.states import CONNECTION
from ..model.states import Connection as State
from .channel import Transport
from .config import Config, check_config
from .handshake import CLOSING, INPUTS, Handshake, name_in_class
from .session import Sessions

if TYPE_CHECKING:
    from typing import ClassVar, Final

    from ..._ground.receive_buffer import ReceiveBuffer
    from ...events import CloseReport, Event
    from ...limits import Limits
    from ..codec.record import Control
    from .session import Session
    from .session_state import SessionState

_CLASS: Final = 1
_SESSION_CLASS: Final = 2
_HEADERS: Final = (State.START, State.HEADER_SENT)
_FLAGS: Final = "wire/frame-flags"
_frame: Final = FRAME.unpack_from
_ALL: Final = 1 << 62
"""More octets than any stream has."""


class Connection(Handshake):
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
    LAYOUT: ClassVar[int] = layouts.AMQP_0_10

    __slots__ = ("_frames", "_sessions", "_transport")

    def __init__(self, role: Role, config: Config) -> None:
        check_config(config, role)
        super().__init__(role, config)
        # Takes frames from the buffer, and puts controls in several frames together.
        self._frames = FrameReader(self._buffer, config.limits, MIN_MAX_FRAME_SIZE)
        # What the sessions use of this connection.
        self._transport = Transport(
            self,
            role,
            config,
            self._events,
            self._buffer,
            self._out,
            queue=self._out.queue,
            check_open=self.check_open,
            wait=self._wait,
            unit_offset=self._offset_of_unit,
        )
        # By channel: the attached sessions, and the request that waits for the application.
        self._sessions = Sessions(self._transport)

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        route = self._transport.route
        if route is not None and self._waiting_for is None:
            event = route[0].fast_event()
            if event is not None:
                return event
        signal = self._receive()
        if events:
            return events.popleft()
        return signal if self._ending is None else self._end_of_octets(signal)

    def connection_lost(self, reason: str, now: float) -> None:
        """The transport is gone; takes effect behind the octets still queued."""
        super().connection_lost(reason, now)
        self._transport.is_open = False

    # State.

    @property
    def sessions(self) -> tuple[int, ...]:
        """The channels that have sessions."""
        return self._sessions.channels

    def session(self, channel: int) -> Session:
        """The session on `channel`. Raises EndpointClosed when there is none."""
        session = self._sessions.get(channel)
        if session is None:
            raise EndpointClosed(f"no session on channel {channel}", self._report)
        return session

    def check(self) -> None:
        """As that of every connection, of the sessions and of controls in pieces. Raises AssertionError."""
        super().check()
        self._frames.check()
        self._sessions.check()

    # Commands.

    def open_session(self, name: bytes | str | None = None, *, timeout: int | None = 0, force: bool = False) -> Session:
        """Attach a new session to the lowest free channel; `Opened` says that it is, and ends `session.opening`.

        `name` must be new for the user; None takes `Config.session_prefix` and a number. `timeout`: how many seconds
        both ends keep it when it's detached; 0: not at all, None: for ever. `force` takes it from another connection.
        Raises LocalProtocolError, LimitExceeded when no channel is free, EndpointClosed.
        """
        return self._sessions.open(name, timeout, force=force)

    def resume_session(self, state: SessionState, *, force: bool = True) -> Session:
        """Attach a session again; `Resumed` follows when both ends know what the other has, and all in doubt is sent.

        `state` is `session.detached_state()` of an earlier connection. `force`: also if the peer hasn't seen yet that
        it is gone. Raises LocalProtocolError, EndpointClosed.
        """
        return self._sessions.resume(state, force=force)

    def accept_session(self, channel: int, state: SessionState | None = None) -> Session:
        """Answer `SessionRequested`: with None it's a new session, else one that goes on.

        Raises LocalProtocolError, EndpointClosed.
        """
        return self._sessions.accept(channel, state)

    def refuse_session(self, channel: int, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Answer `SessionRequested` with no: the session is attached elsewhere. Raises LocalProtocolError."""
        self._sessions.refuse(channel, code)

    # Inside.

    def _agree(self, channels: int, frame: int, heartbeat: int | None) -> None:
        super()._agree(channels, frame, heartbeat)
        self._frames.agree(frame)

    def _become_open(self) -> None:
        super()._become_open()
        self._transport.is_open = True

    def _await_close(self, report: CloseReport) -> None:
        super()._await_close(report)
        self._transport.is_open = False
        # The peer's answer is a control of its own, whatever it was in the middle of.
        self._frames.forget_controls()

    def _end_parts(self, report: CloseReport) -> None:
        self._sessions.end(report)

    def _forget(self) -> None:
        super()._forget()
        self._transport.is_open = False
        self._frames.forget_controls()

    def _wait(self, what: str | None) -> None:
        """Parse nothing more until the application has answered."""
        self._waiting_for = what

    def _offset_of_unit(self) -> int:
        return self._unit_offset

    def _receive(self) -> Signal:
        """Parse and apply units until one gives an event, octets are missing, or the application must act first."""
        buffer, events, transport = self._buffer, self._events, self._transport
        attached = self._sessions.attached
        while not events:
            if self._waiting_for is not None or not (transport.crowded is None or transport.takes_more()):
                return PAUSED
            state = self._state
            if state is State.END or (buffer.need and len(buffer) < buffer.need):
                break
            self._unit_offset = buffer.consumed + buffer.pos
            channel: int | None = None
            try:
                if state in _HEADERS:
                    if not self._receive_header():
                        break
                    continue
                frame = self._frames.next()
                if frame is None:
                    break
                kind, channel, flags, start, end = frame
                if kind == CONTROL:
                    control = self._frames.control(channel, flags, start, end)
                    if control is not None:
                        self._take_control(channel, control)
                elif state is State.OPEN:
                    controls = attached.get(channel)
                    if controls is None:
                        self._sessions.receive_unattached(channel, flags)
                    else:
                        controls.incoming.receive(flags, kind, buffer.data, start, end)
                elif state not in CLOSING:
                    raise framing_error(f"a command while the connection is {state.value}")
            except (Violation, CodecError, LocalProtocolError) as error:
                if channel is None or not self._sessions.is_leaving(channel):
                    self._fail(error)
        return NEED_DATA

    def _take_control(self, channel: int, control: Control) -> None:
        """A control has come. Raises Violation."""
        code = control.CODE >> 8
        if code == _SESSION_CLASS and self._state is State.OPEN:
            self._sessions.receive_control(channel, control)
            return
        kind, name = control.__class__, name_in_class(control)
        given = INPUTS.get((self.role.other, name)) if code == _CLASS else None
        if isinstance(control, ConnectionClose):
            self._receive_close(control)
        elif given is None or given not in CONNECTION[self._state]:
            if self._state not in CLOSING:
                raise framing_error(f"{control.NAME} while the connection is {self._state.value}")
        elif kind is ConnectionCloseOk:
            self._receive_close_ok()
        elif kind is not ConnectionHeartbeat:
            self._step(self.role.other, name)
            self._receive_opening(control)


# Frames.


class Partial:
    """A control whose frames haven't all come."""

    __slots__ = ("assembly", "parts", "size")

    def __init__(self) -> None:
        # The flags of its frames so far, which tell the one that must come next.
        self.assembly = Assembly()
        # The octets so far.
        self.parts: list[bytes | bytearray] = []
        # The number of octets in `parts`; `Limits.header` bounds it.
        self.size = 0


class FrameReader:
    """Reads frames, and puts controls together that come in pieces."""

    __slots__ = ("_buffer", "_limits", "_most", "_partials")

    def __init__(self, buffer: ReceiveBuffer, limits: Limits, most: int) -> None:
        # The octets that have arrived, shared with the connection.
        self._buffer = buffer
        # Bounds of controls in several frames.
        self._limits = limits
        # The largest frame that may come, in octets, as agreed.
        self._most = most
        # By channel: the control whose frames haven't all come.
        self._partials: dict[int, Partial] = {}

    def agree(self, most: int) -> None:
        """Take frames of so many octets from now on (connection.tune-ok)."""
        self._most = most

    def check(self) -> None:
        """Check that controls in pieces are few, and counted. For tests; raises AssertionError."""
        limits, where = self._limits, "controls in pieces"
        ensure(len(self._partials) <= limits.channels + 1, where, "there is one on a channel", len(self._partials))
        size = 0
        for each in self._partials.values():
            kept = sum(map(len, each.parts))
            ensure(each.size == kept, where, "`size` counts the pieces", each.size, kept)
            size += kept
        ensure(size <= limits.bodies + limits.header, where, "`Limits` bounds the pieces", size)

    def forget_controls(self) -> None:
        """The controls whose frames haven't all come won't be put together."""
        self._partials.clear()

    def next(self) -> tuple[int, int, int, int, int] | None:
        """The next frame's type, channel and flags, and where its payload begins and ends in the buffer's data.

        None while octets are missing. Raises Violation.
        """
        buffer = self._buffer
        if len(buffer.data) - buffer.pos < FRAME_HEADER_SIZE and not buffer.want(FRAME_HEADER_SIZE):
            return None
        pos = buffer.pos
        flags, kind, size, spare, track, channel, tail = _frame(buffer.data, pos)
        if (
            flags > WHOLE
            or kind > BODY
            or not FRAME_HEADER_SIZE <= size <= self._most
            or spare
            or tail
            or track != (CONTROL_TRACK if kind == CONTROL else COMMAND_TRACK)
        ):
            wrong = malformed(flags, kind, size, spare, track, tail)
            if wrong is None and size > self._most:
                wrong = "connection.tune-ok/max-frame-size", f"frame of {size} octets, {self._most} were agreed"
            wrong = wrong or misplaced(kind, track)
            assert wrong is not None
            # Behind a frame with too small a size it can't be known where the next one begins.
            buffer.skip(size if size >= FRAME_HEADER_SIZE else _ALL)
            raise framing_error(wrong[1], wrong[0])
        if len(buffer.data) - pos < size and not buffer.want(size):
            return None
        pos = buffer.pos
        buffer.pos = pos + size
        return kind, channel, flags, pos + FRAME_HEADER_SIZE, pos + size

    def control(self, channel: int, flags: int, start: int, end: int) -> Control | None:
        """The control that a frame ends; None while more frames of it are to come. Raises Violation, CodecError."""
        partials, limits, data = self._partials, self._limits, self._buffer.data
        partial = partials.get(channel)
        if partial is None:
            if flags == WHOLE:
                return decode_control(data, start, end)
            partial = Partial()
        wrong = partial.assembly.step(flags, CONTROL)
        if wrong:
            partials.pop(channel, None)
            raise framing_error(wrong, _FLAGS)
        partial.size += end - start
        partials[channel] = partial
        if sum([each.size for each in partials.values()]) > limits.bodies:
            raise framing_error("controls in pieces that are too large together")
        if partial.size > limits.header:
            raise framing_error(f"a control of more than {limits.header} octets")
        keep(partial.parts, data[start:end])
        if not partial.assembly.whole:
            if len(partials) > limits.channels:
                raise framing_error("controls on more channels than there are")
            return None
        partials.pop(channel, None)
        octets = joined(partial.parts)
        return decode_control(octets, 0, len(octets))
