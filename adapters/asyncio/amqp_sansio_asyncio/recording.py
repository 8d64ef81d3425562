"""Recordings of what connections carry, as pcapng files, above TLS and without secrets."""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from typing import IO, Final, Literal, TypeAlias, cast

from amqp_sansio.capture import PcapngWriter
from amqp_sansio.capture.redact import Redactor

RecordTarget: TypeAlias = "str | os.PathLike[str] | IO[bytes] | Recorder"
"""Where a recording goes: a path (appended to when it's there), an open binary file, or a Recorder
that is shared.
"""


_logger = logging.getLogger("amqp_sansio_asyncio")

STRANGER_OCTETS: Final = 16 * 1024
"""Octets that are recorded of a client that hasn't logged in: more than any login takes. Who sends more isn't recorded
any further, so that a recording can't be filled, nor others be held up by it, without a password."""


class Recorder:
    """One pcapng recording of any number of connections, which may overlap.

    A path is opened at once, for appending, and closed by `close`; a file that was given open stays
    open. SASL responses and updated secrets are written as `*` unless `record_secrets`. What is
    written is complete when `close` returns, and readable up to the last whole packet at any time.
    When the file can't be written any more the recording ends with a line in the log; the
    connections go on.
    """

    def __init__(
        self, target: str | os.PathLike[str] | IO[bytes], *, record_secrets: bool = False
    ) -> None:
        self._writer = PcapngWriter()
        self._secrets = record_secrets
        self._file: IO[bytes]
        if isinstance(target, (str, os.PathLike)):
            self._file = open(target, "ab")  # noqa: SIM115
        else:
            self._file = target
        self._ours = self._file is not target
        self._failed = False
        self._count = 0
        self._file.write(self._writer.header())

    def open(self, client: object, server: object) -> RecordedConnection:
        """Begin a connection between two socket addresses, as `getpeername` returns them.

        What has no IP address (a Unix socket, another kind of transport) is written as 127.0.0.1, a
        client with a port that counts connections.
        """
        self._count += 1
        fallback = 1 + self._count % 65535
        names = _name(client, fallback), _name(server, 5672)
        number, octets = self._writer.open(*names, time.time_ns())
        self._write(octets)
        return RecordedConnection(self, number, None if self._secrets else Redactor(), names[0])

    def close(self) -> None:
        """Write everything out; close the file if it was opened here."""
        if self._file.closed:
            return
        self._write(b"", flush=True)
        if self._ours:
            with suppress(OSError):  # What couldn't be flushed has been reported.
                self._file.close()

    def __enter__(self) -> Recorder:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What a RecordedConnection uses.

    def data(self, number: int, sender: Literal["client", "server"], data: bytes) -> None:
        """Octets of one side."""
        self._write(self._writer.data(number, sender, data, time.time_ns()))

    def end(self, number: int, by: Literal["client", "server"] | None, reset: bool) -> None:
        """The end of a connection."""
        self._write(self._writer.close(number, by, time.time_ns(), reset), flush=True)

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
    """One connection of a recording: tell it what each side sends, and how it ends."""

    def __init__(
        self, recorder: Recorder, number: int, redactor: Redactor | None, client: str
    ) -> None:
        self._recorder = recorder
        self._number = number
        self._redactor = redactor
        self._client = client
        self._open = True
        self._left = STRANGER_OCTETS

    def client_sent(self, data: bytes, *, is_known: bool = True) -> None:
        """Octets from the client; until it `is_known`, by having logged in, the recording takes few of them."""
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
                "the recording leaves out what else %s sends: it has sent %d octets without logging in",
                self._client, STRANGER_OCTETS,
            )  # fmt: skip

    def server_sent(self, data: bytes) -> None:
        """Octets from the server."""
        if self._open:
            self._recorder.data(self._number, "server", data)

    def close(self, by: Literal["client", "server"] | None, reset: bool = False) -> None:
        """The connection ended, by whom if that is known, with a RST if `reset`. A second call does
        nothing.
        """
        if self._open:
            self._open = False
            self._recorder.end(self._number, by, reset)


def recorder_for(target: RecordTarget | None, record_secrets: bool) -> tuple[Recorder | None, bool]:
    """The recorder for a `record` argument, and whether it was made here."""
    if target is None or isinstance(target, Recorder):
        return target, False
    return Recorder(target, record_secrets=record_secrets), True


def _name(address: object, fallback: int) -> str:
    if isinstance(address, tuple):
        parts = cast("tuple[object, ...]", address)
        host, port = str(parts[0]).partition("%")[0], parts[1]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    return f"127.0.0.1:{fallback}"


__all__ = ["RecordTarget", "RecordedConnection", "Recorder", "recorder_for"]
