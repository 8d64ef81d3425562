"""Recordings of connections as pcapng files, above TLS and without the clients' secrets."""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from amqp_sansio.capture.redact import Redactor


from .system import current
from .transport import shown

RecordTarget: TypeAlias = "str | os.PathLike[str] | IO[bytes] | Recorder"
"""The target of a recording: a path (appended to if it exists), an open binary file, or a shared Recorder."""

_Sender: TypeAlias = Literal["client", "server"]

_logger = logging.getLogger("amqp_sansio_sync")


def _redactor() -> Redactor:
    from amqp_sansio.capture.redact import Redactor

    return Redactor()


class Recorder:
    """One pcapng recording of any number of connections, in any threads.

    A path is opened at once, for appending, and closed by `close`; a file given open stays open. SASL responses and
    updated secrets are written as `*` unless `record_secrets`. The recording is complete when `close` returns, and
    readable up to the last whole packet at any time. If the file can't be written any more, the recording ends and logs
    that; the connections continue.
    """

    def __init__(self, target: str | os.PathLike[str] | IO[bytes], *, record_secrets: bool = False) -> None:
        system = current()
        self._lock = system.lock()
        """Guards the file: connections record in their own threads."""
        self._time_ns = system.time_ns
        """The clock, in nanoseconds since 1970."""
        # Who records nothing doesn't load what reads and writes captures.
        from amqp_sansio.capture import PcapngWriter

        self._writer = PcapngWriter()
        """Makes packets of octets."""
        self._secrets = record_secrets
        """Whether they are written as they are."""
        self._file: IO[bytes]
        """What packets are written to."""
        self._ours: IO[bytes] | None = None
        """The same if it was opened here, and is closed by `close`."""
        if isinstance(target, (str, os.PathLike)):
            self._ours = open(target, "ab")  # noqa: SIM115 (`close` closes it)
            self._file = self._ours
        else:
            self._file = target
        self._failed = False
        """Whether the file couldn't be written: then octets are dropped."""
        self._write(self._writer.header())

    def open(self, client: tuple[object, ...], server: tuple[object, ...]) -> RecordedConnection:
        """Begin a connection between two socket addresses, as returned by `getpeername`."""
        with self._lock:
            number, octets = self._writer.open(shown(client), shown(server), self._time_ns())
            self._write(octets)
        return RecordedConnection(self, number, None if self._secrets else _redactor())

    def data(self, number: int, sender: _Sender, data: bytes) -> None:
        """Record octets of a connection."""
        with self._lock:
            self._write(self._writer.data(number, sender, data, self._time_ns()))

    def end(self, number: int, by: _Sender | None) -> None:
        """Record the end of a connection, by which side if known."""
        with self._lock:
            self._write(self._writer.close(number, by, self._time_ns()), flush=True)

    def close(self) -> None:
        """Write everything; close the file if it was opened here. A second call does nothing."""
        with self._lock:
            if self._file.closed:
                return
            self._write(b"", flush=True)
            if self._ours is not None:
                with suppress(OSError):  # The error has been reported already.
                    self._ours.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, octets: bytes, flush: bool = False) -> None:
        if self._failed or self._file.closed:
            return
        try:
            self._file.write(octets)
            if flush:
                self._file.flush()
        except OSError as error:
            self._failed = True
            _logger.error("the recording ends here, it can't be written: %s", error)


class RecordedConnection:
    """One connection of a recording: takes the octets of each side, and the end."""

    def __init__(self, recorder: Recorder, number: int, redactor: Redactor | None) -> None:
        self._recorder = recorder
        """Takes its packets."""
        self._number = number
        """The one that the recording knows it by."""
        self._redactor = redactor
        """Blanks secrets in the client's octets; None: they are written as they are."""
        self._open = True
        """Whether its end isn't written."""

    def client_sent(self, data: bytes) -> None:
        """Record octets from the client."""
        redacted = data if self._redactor is None else self._redactor.feed(data)
        self._recorder.data(self._number, "client", redacted)

    def server_sent(self, data: bytes) -> None:
        """Record octets from the server."""
        self._recorder.data(self._number, "server", data)

    def close(self, by: _Sender | None) -> None:
        """Record the end, by which side if known. A second call does nothing."""
        if self._open:
            self._open = False
            self._recorder.end(self._number, by)


__all__ = ["RecordTarget", "RecordedConnection", "Recorder"]
