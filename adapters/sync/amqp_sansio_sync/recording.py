"""Recorder: what one connection carries, without its secrets, as pcapng in a file."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, BinaryIO, Protocol

from amqp_sansio import Side
from amqp_sansio.capture import PcapngWriter
from amqp_sansio.capture.redact import Redactor

if TYPE_CHECKING:
    import socket
    from typing import TypeAlias

    class Writable(Protocol):
        """Where a recording can go besides a file of the recorder's own."""

        def write(self, data: bytes, /) -> object: ...
        def flush(self) -> object: ...

    Record: TypeAlias = "str | os.PathLike[str] | Writable | None"


class Recorder:
    """Writes a recording as it happens; every piece is flushed, so that a crash leaves it readable.

    A path is opened for appending (pcapng files may be put behind each other) and closed at the end; anything else with
    `write` and `flush` stays open. Passwords and tokens are blanked. When writing fails, recording ends, the connection
    goes on, and `error` says why.
    """

    __slots__ = ("_connection", "_file", "_owned", "_redactor", "_writer", "error")

    def __init__(self, target: str | os.PathLike[str] | Writable) -> None:
        self._owned: BinaryIO | None = None
        self._file: Writable | None
        if isinstance(target, (str, os.PathLike)):
            self._file = self._owned = open(target, "ab")  # noqa: SIM115 (closed by `closed`)
        else:
            self._file = target
        self._writer = PcapngWriter()
        self._redactor = Redactor()
        self._connection = -1
        self.error: OSError | None = None

    def opened(self, connected: socket.socket) -> None:
        """The connection begins."""
        client, server = _endpoint(connected.getsockname()), _endpoint(connected.getpeername())
        self._connection, octets = self._writer.open(client, server, time.time_ns())
        self._put(self._writer.header() + octets)

    def sent(self, octets: bytes) -> None:
        """Octets that the socket took."""
        octets = self._redactor.feed(octets)
        self._put(self._writer.data(self._connection, Side.CLIENT, octets, time.time_ns()))

    def received(self, octets: bytes) -> None:
        """Octets that came."""
        self._put(self._writer.data(self._connection, Side.SERVER, octets, time.time_ns()))

    def closed(self) -> None:
        """The connection ends."""
        self._put(self._writer.close(self._connection, Side.CLIENT, time.time_ns()))
        self._file = None
        if self._owned is not None:
            self._owned.close()

    def _put(self, octets: bytes) -> None:
        if self._file is None:
            return
        try:
            self._file.write(octets)
            self._file.flush()
        except OSError as error:
            self.error = error
            self._file = None


def _endpoint(name: tuple[str, int] | tuple[str, int, int, int]) -> str:
    host = name[0].partition("%")[0]
    return f"[{host}]:{name[1]}" if ":" in host else f"{host}:{name[1]}"
