"""Recordings of connections as pcapng files, above TLS and without secrets."""

from __future__ import annotations

import logging
import os
import threading
import time
import weakref
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Final, Literal, TypeAlias, cast

if TYPE_CHECKING:
    from amqp_sansio.capture.redact import Redactor


RecordTarget: TypeAlias = "str | os.PathLike[str] | IO[bytes] | Recorder"
"""The target of a recording: a path (appended to if it exists), an open binary file, or a shared Recorder."""


_logger = logging.getLogger("amqp_sansio_asyncio")

STRANGER_OCTETS: Final = 16 * 1024
"""Octets recorded of a client before its login: more than any login needs. Above it, the client isn't recorded further,
so that nobody without a password can fill a recording, or delay others by it."""
UNWRITTEN: Final = 32 * 1024 * 1024
"""Most octets that wait for the file. Above it the event loop waits too: a recording is never incomplete."""


def _redactor() -> Redactor:
    from amqp_sansio.capture.redact import Redactor

    return Redactor()


class Recorder:
    """One pcapng recording of any number of connections, which may overlap.

    A path is opened at once, for appending, and closed by `close`; a file given open stays open. SASL responses and
    updated secrets are written as `*` unless `record_secrets`. A thread writes the file, so a slow disk delays no
    connection. The recording is complete when `close` returns, and readable up to the last whole packet at any time. If
    the file can't be written any more, the recording ends and logs that; the connections continue.
    """

    def __init__(self, target: str | os.PathLike[str] | IO[bytes], *, record_secrets: bool = False) -> None:
        # Who records nothing doesn't load what reads and writes captures.
        from amqp_sansio.capture import PcapngWriter

        self._writer = PcapngWriter()
        """Makes packets of octets."""
        self._secrets = record_secrets
        """Whether they are written as they are."""
        self._count = 0
        """How many connections were opened in it."""
        if isinstance(target, (str, os.PathLike)):
            self._file = _FileThread(open(target, "ab"), closes=True)  # noqa: SIM115
            """What a thread writes."""
        else:
            self._file = _FileThread(target, closes=False)
        self._file.write(self._writer.header())
        # A recorder that isn't closed writes its octets when it is collected, or the program ends.
        self._finalizer = weakref.finalize(self, self._file.close)
        """Called at the latest when the program ends."""

    def open(self, client: object, server: object) -> RecordedConnection:
        """Begin a connection between two socket addresses, as returned by `getpeername`.

        Anything without an IP address (a Unix socket, another kind of transport) is written as 127.0.0.1, a client with
        a port that counts connections.
        """
        self._count += 1
        fallback = 1 + self._count % 65535
        names = shown(client, f"127.0.0.1:{fallback}"), shown(server, "127.0.0.1:5672")
        number, octets = self._writer.open(*names, time.time_ns())
        self._file.write(octets)
        return RecordedConnection(self, number, None if self._secrets else _redactor(), names[0])

    def close(self) -> None:
        """Write everything; close the file if it was opened here. A second call does nothing."""
        self._finalizer()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # For RecordedConnection.

    def data(self, number: int, sender: Literal["client", "server"], data: bytes) -> None:
        """Record octets of one side."""
        self._file.write(self._writer.data(number, sender, data, time.time_ns()))

    def end(self, number: int, by: Literal["client", "server"] | None, reset: bool) -> None:
        """Record the end of a connection."""
        self._file.write(self._writer.close(number, by, time.time_ns(), reset))


class _FileThread:
    """Writes to a file in its own thread, from the first octets until `close`."""

    def __init__(self, file: IO[bytes], *, closes: bool) -> None:
        self._file = file
        """The path's or the caller's."""
        self._closes = closes
        """Whether it was opened here."""
        self._changed = threading.Condition()
        """Guards all of this, and wakes the thread, and those who wait for it."""
        self._waiting: list[bytes] = []
        """Octets that the thread hasn't taken."""
        self._size = 0
        """Octets waiting or being written."""
        self._is_closed = False
        """Whether nothing more is taken; the thread ends when it has written the rest."""
        self._failed = False
        """Whether the file couldn't be written: then octets are dropped."""
        self._thread = threading.Thread(target=self._run, name="amqp-sansio-recording", daemon=True)
        """Started with the first octets."""

    def write(self, octets: bytes) -> None:
        """Queue octets; waits while more than `UNWRITTEN` are queued."""
        with self._changed:
            if self._is_closed or self._failed or not octets:
                return
            if not self._thread.is_alive():
                self._thread.start()
            self._waiting.append(octets)
            self._size += len(octets)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._size <= UNWRITTEN or self._failed)

    def close(self) -> None:
        """Wait until everything is written. Called once."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        if self._closes:
            with suppress(OSError):  # The error has been reported already.
                self._file.close()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closed)
                octets = b"".join(self._waiting)
                self._waiting.clear()
            if not octets:
                return
            try:
                self._file.write(octets)
                self._file.flush()
            except (OSError, ValueError) as error:
                # ValueError: the file's owner has closed it.
                _logger.error("the recording ends here, it can't be written: %s", error)
                with self._changed:
                    self._failed = True
                    self._changed.notify_all()
                return
            with self._changed:
                self._size -= len(octets)
                self._changed.notify_all()


class RecordedConnection:
    """One connection of a recording: takes the octets of each side, and the end."""

    def __init__(self, recorder: Recorder, number: int, redactor: Redactor | None, client: str) -> None:
        self._recorder = recorder
        """Takes its packets."""
        self._number = number
        """The one that the recording knows it by."""
        self._redactor = redactor
        """Blanks secrets in the client's octets; None: they are written as they are."""
        self._client = client
        """Its address, for the log."""
        self._open = True
        """Whether its end isn't written."""
        self._left = STRANGER_OCTETS
        """Octets that are still recorded of a client that hasn't logged in."""

    def client_sent(self, data: bytes, *, is_known: bool = True) -> None:
        """Record octets from the client; before it `is_known`, by its login, only a limited number."""
        if not self._open:
            return
        is_too_much = not is_known and len(data) > self._left
        if not is_known:
            data = data[: self._left]
            self._left -= len(data)
        redacted = data if self._redactor is None else self._redactor.feed(data)
        self._recorder.data(self._number, "client", redacted)
        if is_too_much:
            self.close(None)
            _logger.info(
                "the recording omits further octets of %s, which has sent %d without logging in",
                self._client,
                STRANGER_OCTETS,
            )

    def server_sent(self, data: bytes) -> None:
        """Record octets from the server."""
        if self._open:
            self._recorder.data(self._number, "server", data)

    def close(self, by: Literal["client", "server"] | None, reset: bool = False) -> None:
        """Record the end, by which side if known, with a RST if `reset`. A second call does nothing."""
        if self._open:
            self._open = False
            self._recorder.end(self._number, by, reset)


def recorder_for(target: RecordTarget | None, record_secrets: bool) -> tuple[Recorder | None, bool]:
    """Return the recorder for a `record` argument, and whether it was created here."""
    if target is None or isinstance(target, Recorder):
        return target, False
    return Recorder(target, record_secrets=record_secrets), True


def shown(address: object, other: str) -> str:
    """Return a socket's address as text, `other` if it is none of IP."""
    if not isinstance(address, tuple):
        return other
    parts = cast("tuple[object, ...]", address)
    host, port = str(parts[0]).partition("%")[0], parts[1]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


__all__ = ["RecordTarget", "RecordedConnection", "Recorder", "recorder_for", "shown"]
