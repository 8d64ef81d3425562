"""Moves octets and time between one connection of the core and one asyncio transport.

The loop of every adapter, in asyncio's callbacks: events first, then one write per turn of the event loop, then the
close hint, then a single timer, which is rescheduled only if its deadline comes nearer.
"""

from __future__ import annotations

import asyncio
import logging
from logging import DEBUG
from typing import TYPE_CHECKING, Final, Generic, Literal, Protocol, TypeVar, cast

from amqp_sansio.endpoint import CloseHint, Endpoint, Side
from amqp_sansio.events import By

from .reading import Reading
from .recording import RecordedConnection, Recorder, shown

if TYPE_CHECKING:
    from collections.abc import Callable

    from amqp_sansio.events import CloseReport
    from amqp_sansio.limits import Limits
    from amqp_sansio.recorded.frame_lines import FrameLines
    from amqp_sansio.websocket import WebSocketStream

    from .clock import Clock, Timer


class CoreConfig(Protocol):
    """The fields that every version's configuration has."""

    @property
    def close_timeout(self) -> float: ...
    @property
    def handshake_timeout(self) -> float: ...
    @property
    def limits(self) -> Limits: ...


class Core(Endpoint, Protocol):
    """A connection of the core, of any version."""

    @property
    def config(self) -> CoreConfig: ...
    @property
    def report(self) -> CloseReport | None: ...
    @property
    def is_open(self) -> bool: ...


CoreT = TypeVar("CoreT", bound=Core)

_logger = logging.getLogger("amqp_sansio_asyncio")
is_logged: Final = _logger.isEnabledFor
"""Asked once for each read and each write: it costs a look-up."""

_KEEP: Final = CloseHint.KEEP
FLUSH_OCTETS: Final = 64 * 1024
"""Octets above which a caller writes at once, and yields to the event loop."""


HANG_UP_TIME: Final = 1.0
"""Seconds that a client has to close its transport after a server has answered its close."""


class Driver(Reading, Generic[CoreT]):
    """The asyncio protocol of a client's or a server's connection; the two differ in `take_events`."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, core: CoreT, recorder: Recorder | None = None, clock: Clock | None = None
    ) -> None:
        self.loop = loop
        """That calls this protocol."""
        self.clock: Clock = loop if clock is None else clock
        """The source of `now`; mostly the loop."""
        self.core = core
        """A connection of any version, or a client above one."""
        self._recorder = recorder
        """Opens `tap` when the addresses are known."""
        self.transport: asyncio.Transport | None = None
        """None before the connection is made."""
        self.tap: RecordedConnection | None = None
        """Takes the octets of both sides for a recording."""
        self._is_known = False
        """Whether this side is the client, or the client has logged in."""
        self.lost: asyncio.Future[None] = loop.create_future()
        """Done when the transport is gone."""
        self.flush_scheduled = False
        """Whether a write follows in this turn of the loop: one is enough for all that was queued."""
        self.write_paused = False
        """Whether the transport's buffer is full."""
        self.reading_paused = False
        """Whether the transport was told to read nothing."""
        self._held = b""
        """Octets that the core had no room for: a transport may give some after it was paused."""
        self._timer: Timer | None = None
        """For the core's next deadline; it is set anew only if that comes nearer."""
        self._closing_timer: asyncio.TimerHandle | None = None
        """Cuts the transport off when the peer doesn't close it."""
        self._eof = False
        """Whether the peer has ended its stream."""
        self._ended_by: Literal["client", "server"] | None = None
        """Which side ended the transport first, for the recording."""
        self._closing_since: float | None = None
        """When the core first wanted the transport closed, in the loop's seconds."""
        self.lingering = False
        """Whether all octets are written, and the driver waits only for the peer's end of the transport."""
        self._dropped = 0
        """Octets that came while it lingers: above `Limits.message` of them it is cut off."""
        self.label = "?"
        """The connection in a log: its two addresses, the own one first."""
        self._lines: FrameLines | None = None
        """Frames for the log at DEBUG; None: none are wanted, or they can't be read any more."""

    # Implemented by clients and servers.

    def take_events(self) -> None:
        """Take events, or wake the caller that does."""
        raise AssertionError("a driver has a role")

    def must_pause(self) -> bool:
        """Whether reading should pause."""
        return bool(self._held) or not self.core.receive_budget

    @property
    def websocket(self) -> WebSocketStream | None:
        """The WebSocket that the connection is inside, None without one."""
        return None if self.transport is None else self.transport.get_extra_info("websocket")

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Custom transports need not derive from asyncio's class.
        self.transport = cast(asyncio.Transport, transport)
        info = self.transport.get_extra_info
        self.label = f"{shown(info('sockname'), '?')}-{shown(info('peername'), '?')}"
        if self._recorder is not None:
            self._record(self._recorder)
        if is_logged(DEBUG):
            self._lines = self._frame_lines()
        self.progress()

    def transport_changed(self, transport: asyncio.Transport) -> None:
        """Use this transport from now on: a WebSocket inside the one before, on which nothing was sent yet."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if self.lingering:
            # Nobody reads the octets, so they aren't recorded.
            self._dropped += len(data)
            if self._dropped > self.core.config.limits.message and self.transport is not None:
                self.note_end(ours=True)
                self.transport.abort()
            return
        if self.tap is not None:
            self._tapped(data, sent=False)
        if is_logged(DEBUG):
            self.log_frames(data, sent=False)
        elif self._lines is not None:
            self._lines = None
        if self._held or len(data) > self.core.receive_budget:
            self._held += data
            self.feed_held()
        else:
            self.core.receive_data(data, self.clock.time())
        self.progress()

    def eof_received(self) -> bool | None:
        self.leave_space()
        self._eof = True
        self.note_end(ours=False)
        if self.lingering:
            return None
        self.core.receive_eof(self.clock.time())
        self.progress()
        self.flush()
        return None

    def connection_lost(self, exc: Exception | None) -> None:
        self.leave_space()
        if exc is None:
            reason = "the peer closed the transport" if self._eof else "the transport was closed"
        else:
            reason = str(exc) or type(exc).__name__
        try:
            self.core.connection_lost(reason, self.clock.time())
            self.take_events()
            self._log_end()
        finally:
            # Nobody may wait forever, whatever fails below.
            for timer in (self._timer, self._closing_timer):
                if timer is not None:
                    timer.cancel()
            self._timer = None
            self._closing_timer = None
            self.note_end(ours=exc is None)
            if self.tap is not None:
                self.tap.close(self._ended_by, reset=exc is not None)
            if not self.lost.done():
                self.lost.set_result(None)

    def pause_writing(self) -> None:
        self.write_paused = True
        self.update_reading()

    def resume_writing(self) -> None:
        self.write_paused = False
        self.flush()
        self.update_reading()

    # For clients, servers and their public classes.

    def progress(self) -> None:
        """Run the driver's loop once: events, octets to send, close hint, deadline, budget."""
        self.take_events()
        self.settle()

    def settle(self) -> None:
        """Do everything that follows taking events."""
        core = self.core
        if core.close_hint is not _KEEP:
            self._close_transport()
            return
        if core.send_backlog:
            self.schedule_flush()
        self.arm()
        self.update_reading()

    def schedule_flush(self) -> None:
        """Write queued octets at the end of this turn of the event loop."""
        if not self.flush_scheduled:
            self.flush_scheduled = True
            self.loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write queued octets, unless the transport's buffer is full."""
        self.flush_scheduled = False
        if not self.write_paused:
            self.write()

    def write(self) -> None:
        """Write queued octets, even if the transport has to buffer them."""
        transport = self.transport
        if transport is None or transport.is_closing() or self.lingering:
            return
        data = self.core.data_to_send(self.clock.time())
        if data:
            self.send(transport, data)
        self.arm()

    def send(self, transport: asyncio.Transport, data: bytes) -> None:
        """Write octets, and show them to the recording and the log."""
        if self.tap is not None:
            self._tapped(data, sent=True)
        if is_logged(DEBUG):
            self.log_frames(data, sent=True)
        elif self._lines is not None:
            self._lines = None
        transport.write(data)

    def arm(self) -> None:
        """Schedule `handle_timeout`."""
        deadline = self.core.next_deadline
        timer = self._timer
        if deadline is not None and (timer is None or deadline < timer.when()):
            if timer is not None:
                timer.cancel()
            self._timer = self.clock.call_at(deadline, self.on_timer)

    def update_reading(self) -> None:
        """Stop or start reading from the transport according to `must_pause`."""
        pause = self.must_pause()
        transport = self.transport
        if pause is self.reading_paused or transport is None or transport.is_closing() or self.lingering:
            return
        self.reading_paused = pause
        if pause:
            transport.pause_reading()
        else:
            # The peer couldn't be heard meanwhile, so its silence starts anew.
            self.core.receive_data(b"", self.clock.time())
            transport.resume_reading()

    def feed_held(self) -> bool:
        """Give the core octets that it had no room for; return whether there were any."""
        size = min(self.core.receive_budget, len(self._held))
        if not size:
            return False
        self.core.receive_data(self._held[:size], self.clock.time())
        self._held = self._held[size:]
        return True

    def start_closing(self) -> None:
        """Write the core's close even if the transport's buffer is full, so that the deadline for the answer starts."""
        if self._closing_since is None:
            self._closing_since = self.loop.time()
        self.write()
        self.progress()

    def log(self, text: str, level: int = logging.INFO) -> None:
        """Log a line about this connection."""
        _logger.log(level, "%s %s", self.label, text)

    def warn(self, text: str) -> None:
        """Log a warning about this connection."""
        _logger.warning("%s %s", self.label, text)

    def log_frames(self, data: bytes, *, sent: bool) -> None:
        """Log the frames that these octets complete; from frames that are recognised on, if DEBUG wasn't on before."""
        if self._lines is None:
            self._lines = self._frame_lines(from_start=False)
        for line in self._lines.feed(data, sent=sent):
            _logger.debug("%s %s", self.label, line)

    def _frame_lines(self, *, from_start: bool = True) -> FrameLines:
        # Observers are loaded where frames are logged.
        from amqp_sansio.recorded.frame_lines import FrameLines

        return FrameLines(is_client=self.core.role is Side.CLIENT, from_start=from_start)

    async def wait_lost(self) -> None:
        """Wait until the transport is closed."""
        await asyncio.shield(self.lost)

    # Internals.

    def _record(self, recorder: Recorder) -> None:
        assert self.transport is not None
        ours = self.transport.get_extra_info("sockname")
        theirs = self.transport.get_extra_info("peername")
        if self.core.role is Side.CLIENT:
            self.tap = recorder.open(ours, theirs)
        else:
            self.tap = recorder.open(theirs, ours)

    def on_timer(self) -> None:
        """Do what is due."""
        self._timer = None
        now = self.clock.time()
        if self.reading_paused and self.core.receive_budget:
            self.core.receive_data(b"", now)
        self.core.handle_timeout(now)
        self.progress()

    def _close_transport(self) -> None:
        """Follow the close hint; the closing handshakes of the transport and of the protocol, if this end began it,
        take `close_timeout` seconds together.
        """
        transport = self.transport
        if transport is None or transport.is_closing():
            return
        if self.core.close_hint is CloseHint.CLOSE_NOW:
            self.note_end(ours=True)
            transport.abort()
            return
        if self.lingering:
            return
        self.write()
        if self.core.role is Side.SERVER and not self._eof and transport.can_write_eof():
            self._linger(transport)
        else:
            self.note_end(ours=True)
            self.hang_up(transport.close)
        since = self.loop.time() if self._closing_since is None else self._closing_since
        if not self.lost.done():
            self._closing_timer = self.loop.call_at(since + self.core.config.close_timeout, self._give_up)

    def _linger(self, transport: asyncio.Transport) -> None:
        """Drop the peer's octets until it closes, as many as `Limits.message` at most.

        Closing a socket with unread octets resets it, and the peer may lose the last octets sent to it. If the peer
        asked for the end, it closes first: some clients mistake an end of the stream right after the answer for a lost
        connection.
        """
        self.lingering = True
        self._held = b""
        if self.reading_paused:
            self.reading_paused = False
            transport.resume_reading()
        report = self.core.report
        if report is not None and report.by is By.REMOTE:
            self.loop.call_later(HANG_UP_TIME, self._end_stream)
        else:
            self._end_stream()

    def note_end(self, *, ours: bool) -> None:
        """Note, for the recording, which side ends the transport: the first one counts."""
        if self._ended_by is None:
            self._ended_by = self.core.role.value if ours else self.core.role.other.value

    def hang_up(self, end: Callable[[], None]) -> None:
        """Close the stream to the peer, or all of it, now that everything is written."""
        end()

    def _end_stream(self) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.note_end(ours=True)
            self.hang_up(self.transport.write_eof)

    def _give_up(self) -> None:
        if self.transport is not None and not self.lost.done():
            self.note_end(ours=True)
            self.transport.abort()

    def _tapped(self, data: bytes, sent: bool) -> None:
        assert self.tap is not None
        if sent is not (self.core.role is Side.CLIENT):
            self.tap.server_sent(data)
            return
        self._is_known = self._is_known or sent or self.core.is_open
        self.tap.client_sent(data, is_known=self._is_known)

    def _log_end(self) -> None:
        """Log the end of a server's connection, and a socket's end without the closing handshake, as every version
        requires, such as 0-9-1's connection.close-ok (4.2.7).
        """
        report = self.core.report
        if report is None:
            return
        if self.core.role is Side.SERVER:
            self.log(f"closed: {report}")
        if report.by is By.TRANSPORT or "without close-ok" in report.hint:
            _logger.info("%s ended without its closing handshake: %s", self.label, report)


__all__ = ["FLUSH_OCTETS", "Core", "CoreConfig", "CoreT", "Driver"]
