"""Transport: a connected, non-blocking socket, plain or TLS, and the only place where a thread waits for it."""

from __future__ import annotations

import logging
import select
import socket
import ssl
from contextlib import suppress
from logging import DEBUG
from math import ceil
from typing import TYPE_CHECKING, Final

from amqp_sansio.frame_lines import FrameLines

from .recording import shown

if TYPE_CHECKING:
    from .recording import RecordedConnection

CHUNK: Final = 65_536
"""Octets read at once. More would make the allocator map and unmap memory for every read."""


_logger = logging.getLogger("amqp_sansio_sync")
_is_logged: Final = _logger.isEnabledFor
"""Asked once for each read and each write: it costs a look-up."""


class Transport:
    """Reads and writes without blocking. `wait` alone blocks, in one thread at a time, until `wake`.

    Errors of the socket are raised as OSError. The octets, above TLS, also go to `recording`.
    """

    __slots__ = ("_lines", "_recording", "_waker", "_wakes", "label", "socket", "write_wanted")

    def __init__(self, connected: socket.socket, recording: RecordedConnection | None) -> None:
        connected.setblocking(False)
        self.socket = connected
        self._recording = recording
        self.label = f"{shown(connected.getsockname())}-{shown(connected.getpeername())}"
        """The connection in a log: its two addresses, the own one first."""
        self._lines = FrameLines(is_client=True) if _is_logged(DEBUG) else None
        self._wakes, self._waker = socket.socketpair()
        self._wakes.setblocking(False)
        self._waker.setblocking(False)
        self.write_wanted = False

    def read(self, budget: int) -> bytes | None:
        """Read up to `budget` octets; None if there are none, b"" at the end of the stream."""
        try:
            octets = self.socket.recv(min(budget, CHUNK))
        except (BlockingIOError, ssl.SSLWantReadError):
            return None
        except ssl.SSLWantWriteError:
            self.write_wanted = True
            return None
        if _is_logged(DEBUG):
            self._log_frames(octets, sent=False)
        elif self._lines is not None:
            self._lines = None
        if self._recording is not None:
            if octets:
                self._recording.server_sent(octets)
            else:
                self._recording.close("server")
        return octets

    def write(self, octets: bytes | memoryview) -> int:
        """Write `octets`; return how many the socket took."""
        try:
            count = self.socket.send(octets)
        except (BlockingIOError, ssl.SSLWantWriteError):
            self.write_wanted = True
            return 0
        except ssl.SSLWantReadError:
            return 0
        if _is_logged(DEBUG):
            self._log_frames(bytes(octets[:count]), sent=True)
        elif self._lines is not None:
            self._lines = None
        if self._recording is not None:
            self._recording.client_sent(bytes(octets[:count]))
        return count

    def wait(self, read: bool, seconds: float | None) -> None:
        """Block until octets can be read (with `read`), or written after an incomplete write.

        `wake` and the timeout end it too.
        """
        if read and isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return
        write, self.write_wanted = self.write_wanted, False
        try:
            if _ready(self.socket, self._wakes, read, write, seconds):
                with suppress(BlockingIOError):
                    while self._wakes.recv(4096):
                        continue
        except (OSError, ValueError):
            if self._wakes.fileno() >= 0:
                raise  # It is a signal handler's: these sockets are closed only when nobody waits.

    def wake(self) -> None:
        """Make `wait` return, from any thread."""
        try:
            self._waker.send(b"\0")
        except BlockingIOError:
            return  # enough unread wake-ups are queued

    def shut(self) -> None:
        """End both directions, and any `wait`; the descriptors stay valid until `close`."""
        try:
            self.socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            self.wake()  # the socket is gone already

    def log(self, text: str) -> None:
        """Log a line about this connection."""
        _logger.info("%s %s", self.label, text)

    def _log_frames(self, octets: bytes, *, sent: bool) -> None:
        """Log the frames that these octets complete; from frames that are recognised on, if DEBUG wasn't on before."""
        if self._lines is None:
            self._lines = FrameLines(is_client=True, from_start=False)
        for line in self._lines.feed(octets, sent=sent):
            _logger.debug("%s %s", self.label, line)

    def close(self) -> None:
        """Close the sockets. No thread may be in `wait`."""
        if self._recording is not None:
            self._recording.close("client")
        for each in (self.socket, self._wakes, self._waker):
            each.close()


def ready_by_poll(main: socket.socket, wakes: socket.socket, read: bool, write: bool, seconds: float | None) -> bool:
    """Wait until `main` is ready for `read` or `write` or `wakes` for reading; return whether the latter is."""
    poll = select.poll()
    poll.register(wakes, select.POLLIN)
    if read or write:
        poll.register(main, read * select.POLLIN | write * select.POLLOUT)
    # Rounded up: otherwise the last millisecond before a deadline would be polled.
    ready = poll.poll(None if seconds is None else ceil(min(seconds, _LONGEST) * 1000))
    return any(descriptor == wakes.fileno() for descriptor, _ in ready)


def ready_by_select(main: socket.socket, wakes: socket.socket, read: bool, write: bool, seconds: float | None) -> bool:
    """Do the same without poll; it takes only descriptors below 1,024, except on Windows."""
    pause = None if seconds is None else min(seconds, _LONGEST)
    readers = [main, wakes] if read else [wakes]
    return wakes in select.select(readers, [main] if write else [], [], pause)[0]


_LONGEST: Final = 3600.0
_ready = ready_by_poll if hasattr(select, "poll") else ready_by_select

__all__ = ["CHUNK", "Transport", "ready_by_poll", "ready_by_select"]
