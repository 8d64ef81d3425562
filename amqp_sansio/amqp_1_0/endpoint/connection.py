"""Connection: one end of an AMQP 1.0 connection as a pure value (1.0 part 2 section 2.4)."""

from __future__ import annotations

from collections import deque

from ..._checking import TYPE_CHECKING
from ..._ground import layouts
from ...endpoint import Role, Side
from ...errors import CodecError, LocalProtocolError
from ...events import NEED_DATA, PAUSED, Signal
from ...versions import AMQP_1_0, Version
from ..codec.frames import AMQP, FRAME, HEADER_SIZE, next_frame
from ..codec.odd import OddRecord
from ..codec.performatives import Close, Open, SaslFrame, Transfer, decode_frame_body
from ..codec.violation import Violation
from ..model.harm import Harm, worst
from ..model.link_state import SessionViolation
from .config import Config, check_config
from .fastpath import FastPath
from .handshake import Handshake, Stage, misplaced
from .session import EndpointModel

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any, ClassVar, Final

    from ...events import CloseReport, Event
    from ..codec.types import AmqpMap
    from ..model.connection import ConnectionModel
    from .session import Session

_FRAMES: Final = Stage.FRAMES
_frame: Final = FRAME.unpack_from
_BEGIN: Final = 0x11
_END: Final = 0x17
"""The performatives of sessions, all but open and close."""


class Connection(Handshake):
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
    LAYOUT: ClassVar[int] = layouts.AMQP_1_0

    __slots__ = ("_fast", "_sessions")

    def __init__(self, role: Role, config: Config) -> None:
        check_config(config, role)
        super().__init__(role, config)
        # The shortcut, tried first for each frame while the connection is open.
        self._fast = FastPath(self._sessions, self._side, self._buffer, self._events, config)
        if role is Side.CLIENT:
            self._begin()

    def _new_model(self) -> ConnectionModel:
        self._sessions = EndpointModel(self, self._side, self._events, self._out, self.check_open)
        return self._sessions

    # The edge: what adapters call.

    def next_event(self) -> Event | Signal:
        """One step: the next event, NEED_DATA, or PAUSED while a request of the peer waits for its answer."""
        events = self._events
        if events:
            return events.popleft()
        signal: Signal = NEED_DATA
        if self._stage is _FRAMES and self._waiting_for is None:
            buffer = self._buffer
            offset = buffer.consumed + buffer.pos
            event = self._fast.event(self._incoming_max)
            if event is not None:
                self._unit_offset = offset
                return event
            if buffer.need > len(buffer.data) - buffer.pos + buffer.held:
                # A frame begins here of which octets are missing: no other way gets further.
                self._unit_offset = offset
                return signal if self._ending is None else self._end_of_octets(signal)
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
        return signal if self._ending is None else self._end_of_octets(signal)

    # State.

    @property
    def sessions(self) -> tuple[int, ...]:
        """The channel numbers of this end's sessions."""
        return self._sessions.channels

    def session(self, channel: int) -> Session:
        """The session that this end sends on `channel`. Raises EndpointClosed when there is none."""
        return self._sessions.find(channel, self._report)

    def check(self) -> None:
        """As that of every connection, and of the model with all sessions, links and deliveries. Raises
        AssertionError."""
        super().check()
        self._sessions.check()

    # Commands.

    def open_session(
        self,
        *,
        properties: AmqpMap | None = None,
        offered_capabilities: Iterable[str] = (),
        desired_capabilities: Iterable[str] = (),
    ) -> Session:
        """Begin a session on the lowest free channel; usable at `Opened(Scope.SESSION, ...)`, which ends its
        `opening` pending.

        Raises LocalProtocolError when no channel is free, EndpointClosed.
        """
        return self._sessions.open_session(self.channel_max, properties, offered_capabilities, desired_capabilities)

    # Inside.

    def _receive_frames(self, events: deque[Event]) -> None:
        """Take whole frames until one gives an event, octets are missing, or one isn't the common case.

        Everything else is left to the general step, with nothing changed.
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
                self._sessions.receive(channel, body, data[at:end])
        except (Violation, CodecError, LocalProtocolError) as error:
            self._fail(error)

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
                return self._receive_closing()
            if stage is Stage.SASL:
                return self._receive_sasl()
            return self._receive_header()
        except (Violation, CodecError, LocalProtocolError) as error:
            self._fail(error)
        return True

    def _receive_frame(self) -> bool:
        """Take one AMQP frame. Raises Violation, CodecError."""
        frame = next_frame(self._buffer, AMQP, self._incoming_max)
        if frame is None:
            return False
        channel, data, start, end = frame
        if start == end:
            self._model.step_empty(1 - self._side, channel)
            return True
        body: Any
        fault: OddRecord | None = None
        try:
            body, at = decode_frame_body(data, start, end)
        except OddRecord as odd:
            if self._sessions.has_ended(channel):
                return True
            if self.config.strict:
                raise
            fault = odd
            body, at = odd.record, odd.stop
        except CodecError:
            if self._sessions.has_ended(channel):
                return True
            raise
        if isinstance(body, SaslFrame) or (at != end and body.__class__ is not Transfer):
            raise misplaced(body, end - at)
        harm, violation = (Harm.NONE, None) if fault is None else worst(fault.odds)
        if fault is not None and harm is Harm.CONNECTION:
            raise fault
        if isinstance(body, Open):
            self._model.step(1 - self._side, channel, body)
            self._receive_open(body)
        elif isinstance(body, Close):
            self._model.step(1 - self._side, channel, body)
            self._peer_closes(body)
        elif violation is None or harm is Harm.NONE:
            self._sessions.receive(channel, body, data[at:end])
        else:
            self._sessions.receive_odd(channel, body, data[at:end], harm, violation)
        return True

    def _take_frames_of(self, size: int) -> None:
        super()._take_frames_of(size)
        self._sessions.transport.max_frame = size

    def _end_parts(self, report: CloseReport) -> None:
        self._sessions.connection_ended(report)

    def _fail_part(self, violation: SessionViolation) -> None:
        self._sessions.fail(violation, self._unit_offset)
