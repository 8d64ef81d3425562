"""Transport: a connected, non-blocking stream of octets, and the only place where a thread waits for it.

`SocketTransport` is that of a socket, plain or TLS.
"""

from __future__ import annotations

import logging
import select
import socket
import ssl
from contextlib import suppress
from logging import DEBUG
from math import ceil
from typing import TYPE_CHECKING, Final, Literal, Protocol, cast

if TYPE_CHECKING:
    from amqp_sansio.recorded.frame_lines import FrameLines

CHUNK: Final = 65_536
"""Octets read at once. More would make the allocator map and unmap memory for every read."""


_logger = logging.getLogger("amqp_sansio_sync")
_is_logged: Final = _logger.isEnabledFor
"""Asked once for each read and each write: it costs a look-up."""


def _frame_lines(*, from_start: bool) -> FrameLines:
    # Observers are loaded where frames are logged.
    from amqp_sansio.recorded.frame_lines import FrameLines

    return FrameLines(is_client=True, from_start=from_start)


class Stream(Protocol):
    """The part of a socket that doesn't block."""

    def recv(self, size: int, /) -> bytes: ...
    def send(self, octets: bytes | memoryview, /) -> int: ...


class Inside(Stream, Protocol):
    """A stream inside another one."""

    @property
    def can_receive(self) -> bool:
        """Whether there is something to read without the stream below."""
        ...

    def end(self) -> None:
        """Say that no more octets come."""
        ...


class Recording(Protocol):
    """Takes the octets of one connection."""

    def client_sent(self, data: bytes) -> None: ...
    def server_sent(self, data: bytes) -> None: ...
    def close(self, by: Literal["client", "server"] | None) -> None: ...


class Records(Protocol):
    """Opens a recording, for the two addresses of a connection."""

    def open(self, client: tuple[object, ...], server: tuple[object, ...]) -> Recording: ...


class Transport:
    """Reads and writes without blocking. `wait` alone blocks, in one thread at a time, until `wake`.

    Errors of the stream are raised as OSError.
    """

    __slots__ = ("_lines", "_recording", "_stream", "label", "write_wanted")

    def __init__(self, stream: Stream, label: str, recording: Recording | None) -> None:
        self._stream = stream
        """A socket, or one of a simulated world."""
        self.label = label
        """The connection in a log: its two addresses, the own one first."""
        self._recording = recording
        """Takes the octets, above TLS; None: nothing is recorded."""
        self._lines: FrameLines | None = _frame_lines(from_start=True) if _is_logged(DEBUG) else None
        """Frames for the log at DEBUG; None: none are wanted."""
        self.write_wanted = False
        """Whether octets wait for room in the socket, so that `wait` looks for that too."""

    def read(self, budget: int) -> bytes | None:
        """Read up to `budget` octets; None if there are none, b"" at the end of the stream."""
        try:
            octets = self._stream.recv(min(budget, CHUNK))
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
        """Write `octets`; return how many were taken."""
        try:
            count = self._stream.send(octets)
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
        raise NotImplementedError

    def wake(self) -> None:
        """Make `wait` return, from any thread."""
        raise NotImplementedError

    def shut(self) -> None:
        """End both directions, and any `wait`; it can still be asked until `close`."""
        raise NotImplementedError

    def close(self) -> None:
        """Close it. No thread may be in `wait`."""
        if self._recording is not None:
            self._recording.close("client")

    def log(self, text: str, level: int = logging.INFO) -> None:
        """Log a line about this connection."""
        _logger.log(level, "%s %s", self.label, text)

    def _log_frames(self, octets: bytes, *, sent: bool) -> None:
        """Log the frames that these octets complete; from frames that are recognised on, if DEBUG wasn't on before."""
        if self._lines is None:
            self._lines = _frame_lines(from_start=False)
        for line in self._lines.feed(octets, sent=sent):
            _logger.debug("%s %s", self.label, line)


class SocketTransport(Transport):
    """The transport of a connected socket, plain or TLS, or of a WebSocket `inside` it."""

    __slots__ = ("_inside", "_waker", "_wakes", "socket")

    def __init__(
        self,
        connected: socket.socket,
        names: tuple[object, object],
        recording: Recording | None,
        inside: Inside | None = None,
    ) -> None:
        """Take a socket with its two addresses, the own one first; whoever gave it closes it if this fails."""
        connected.setblocking(False)
        self._inside = inside
        """The WebSocket, which may have octets when the socket has none left to read; None: there is none."""
        label = f"{shown(names[0])}-{shown(names[1])}"
        super().__init__(inside or connected, label, recording)
        self.socket = connected
        """Plain or TLS; it doesn't block."""
        self._wakes: socket.socket
        """Readable once another thread has called `wake`: who waits for the socket waits for this one, too."""
        self._waker: socket.socket
        """The end that `wake` writes an octet to."""
        self._wakes, self._waker = socket.socketpair()
        self._wakes.setblocking(False)
        self._waker.setblocking(False)

    def wait(self, read: bool, seconds: float | None) -> None:
        if read and isinstance(self.socket, ssl.SSLSocket) and self.socket.pending():
            return
        if read and self._inside is not None and self._inside.can_receive:
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
        try:
            self._waker.send(b"\0")
        except BlockingIOError:
            return  # enough unread wake-ups are queued

    def shut(self) -> None:
        # It may be gone already.
        with suppress(OSError):
            self.socket.shutdown(socket.SHUT_RDWR)
        # A wait without `read` doesn't look at the socket.
        self.wake()

    def close(self) -> None:
        super().close()
        if self._inside is not None:
            self._inside.end()
        for each in (self.socket, self._wakes, self._waker):
            each.close()


class Nowhere(Transport):
    """The transport while there is none: it has no octets and takes none; `wait` ends by `wake` alone."""

    __slots__ = ()

    def read(self, budget: int) -> bytes | None:
        return None

    def write(self, octets: bytes | memoryview) -> int:
        return len(octets)


class NowhereSocket(Nowhere, SocketTransport):
    """The same, on sockets that nothing is written to."""

    __slots__ = ("_other",)

    def __init__(self) -> None:
        one, self._other = socket.socketpair()
        """The other end, kept so that this one isn't closed."""
        SocketTransport.__init__(self, one, (one.getsockname(), one.getpeername()), None)

    def close(self) -> None:
        self._other.close()
        super().close()


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
    pause = _LONGEST_SELECT if seconds is None else min(seconds, _LONGEST_SELECT)
    readers = [main, wakes] if read else [wakes]
    return wakes in select.select(readers, [main] if write else [], [], pause)[0]


def shown(address: object) -> str:
    """Return a socket's address as text; "?" if it is none of IP."""
    if not isinstance(address, tuple):
        return "?"
    address = cast("tuple[object, ...]", address)
    host = str(address[0]).partition("%")[0]
    return f"[{host}]:{address[1]}" if ":" in host else f"{host}:{address[1]}"


_LONGEST: Final = 3600.0
_LONGEST_SELECT: Final = 0.5
"""On Windows no signal interrupts it: the handler of Ctrl-C runs when it has returned, and then it is called again."""
_ready = ready_by_poll if hasattr(select, "poll") else ready_by_select

__all__ = [
    "CHUNK",
    "Inside",
    "Nowhere",
    "NowhereSocket",
    "Recording",
    "Records",
    "SocketTransport",
    "Stream",
    "Transport",
    "ready_by_poll",
    "ready_by_select",
    "shown",
]
