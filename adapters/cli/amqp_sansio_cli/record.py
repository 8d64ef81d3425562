"""`amqp-sansio record`: a proxy between clients and a broker that writes all octets as pcapng."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from ssl import SSLContext
from typing import BinaryIO, Literal

from amqp_sansio.capture import CaptureReader, NotACapture, PcapngWriter, endpoint
from amqp_sansio.capture.redact import Redactor

from .errors import CommandError, describe, say
from .tls import make_context, upstream_context

READ_SIZE = 65_536
_NO_LINGER = struct.pack("ii", 1, 0)
_PCAPNG = b"\x0a\x0d\x0d\x0a"

Sender = Literal["client", "server"]
Address = tuple[str, int]


def parse_address(text: str) -> Address:
    """Parse `HOST:PORT` or `[IPv6]:PORT`. Raises CommandError for anything else."""
    host, colon, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        raise CommandError(f"{text}: write an IPv6 address as [ADDRESS]:PORT")
    if not colon or not host or not port.isdecimal() or len(port) > 5 or int(port) > 65535:
        raise CommandError(f"{text}: expected HOST:PORT")
    try:
        host.encode("idna")
    except UnicodeError:
        raise CommandError(f"{text}: {host!r} can't be the name of a host") from None
    return host, int(port)


def record(
    listen: Address,
    upstream: Address,
    output: Path,
    ready_file: Path | None,
    secrets: bool,
    tls: tuple[Path | None, Path | None] = (None, None),
    upstream_tls: bool = False,
    upstream_ca: Path | None = None,
) -> int:
    """Run the proxy until SIGINT or SIGTERM; return the exit status.

    `tls` are the certificate for clients and its key, if they use TLS. With `upstream_tls` the broker does, and its
    certificate is verified, against `upstream_ca` or the system's authorities. The recording is above TLS. Raises
    CommandError if an address or a file is unusable.
    """
    contexts = make_context(*tls, None), upstream_context(upstream_tls, upstream_ca)
    with Recording(output) as recording:
        proxy = Proxy(upstream, recording, secrets=secrets, contexts=contexts)
        asyncio.run(proxy.run(listen, ready_file))
    say(f"{proxy.count} connections, {recording.size} octets in {output}")
    return 0


class Recording:
    """A growing pcapng file: everything written is in the file at once.

    An existing recording is continued; if it ends inside of a packet, that incomplete packet is cut off. Raises
    CommandError if the file can't be written or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.writer = PcapngWriter()
        self.size = 0
        self.error: OSError | None = None
        self.on_error: Callable[[], None] = _nothing
        try:
            self._file = _open_to_append(path)
            self.write(self.writer.header())
        except (OSError, NotACapture) as error:
            raise CommandError(describe(error)) from None
        if self.error is not None:
            self._file.close()
            raise CommandError(describe(self.error, str(path)))

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._file.close()

    def write(self, octets: bytes) -> None:
        """Append; the first failure is kept in `error`, and nothing more is written."""
        if self.error is not None:
            return
        view = memoryview(octets)
        try:
            while view:
                written = self._file.write(view)
                view = view[written:]
                self.size += written
        except OSError as error:
            self.error = error
            self.on_error()


class Proxy:
    """Passes octets between the two sides and records them on arrival.

    `contexts` are those of TLS with clients and with the broker; None: without TLS.
    """

    def __init__(
        self,
        upstream: Address,
        recording: Recording,
        *,
        secrets: bool,
        contexts: tuple[SSLContext | None, SSLContext | None] = (None, None),
    ) -> None:
        self._with_clients, self._with_broker = contexts
        self.count = 0
        self._upstream = upstream
        self._recording = recording
        self._secrets = secrets
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, listen: Address, ready_file: Path | None) -> None:
        """Serve until a signal stops it. Raises CommandError if it can't continue."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        self._recording.on_error = stop.set
        try:
            host, port = await _one_address(listen)
            server = await asyncio.start_server(self._accept, host, port, ssl=self._with_clients)
        except OSError as error:
            where = endpoint(*listen)
            raise CommandError(f"{where}: {error.strerror or error}".lower()) from None
        where = _name(server.sockets[0].getsockname())
        say(f"listening on {where}, upstream {endpoint(*self._upstream)}; stop with Ctrl-C")
        try:
            if ready_file is not None:
                announce(ready_file, where)
            await stop.wait()
        except OSError as error:
            raise CommandError(describe(error)) from None
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._recording.error is not None:
            raise CommandError(f"the recording ends here: {self._recording.error}")

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._connect(reader, writer)
        except asyncio.CancelledError:
            # The proxy ends: asyncio would report a cancelled handler as an error.
            return
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._upstream, ssl=self._with_broker)
        except OSError as error:
            say(f"upstream {endpoint(*self._upstream)}: {error.strerror or error}")
            _reset(writer)
            return
        try:
            client = _name(writer.get_extra_info("peername"))
            server = _name(server_writer.get_extra_info("peername"))
            link = _Link(self._recording, client, server, secrets=self._secrets)
            self.count += 1
            async with asyncio.TaskGroup() as group:
                group.create_task(link.pump("client", reader, server_writer))
                group.create_task(link.pump("server", server_reader, writer))
            link.close()
        finally:
            server_writer.transport.abort()


class _Link:
    """One connection through the proxy, and its place in the recording."""

    def __init__(self, recording: Recording, client: str, server: str, *, secrets: bool) -> None:
        self._recording = recording
        self._redactor = None if secrets else Redactor()
        self._number, octets = recording.writer.open(client, server, time.time_ns())
        recording.write(octets)
        self._ended_by: Sender | None = None
        self._reset = False

    async def pump(self, sender: Sender, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Pass one direction on, until its sender ends it or either side resets the connection."""
        while True:
            try:
                data = await reader.read(READ_SIZE)
            except OSError:
                self._end(sender, reset=True)
                _reset(writer)
                return
            if not data:
                break
            self._record(sender, data)
            try:
                writer.write(data)
                await writer.drain()
            except OSError:
                # The receiver is gone: its own direction records how.
                return
        self._end(sender, reset=False)
        if writer.transport.is_closing():
            return
        if not writer.can_write_eof():
            # TLS ends in both directions at once.
            writer.close()
            return
        with suppress(OSError):
            writer.write_eof()

    def close(self) -> None:
        """Write the end of the connection, by the side that ended first."""
        writer = self._recording.writer
        octets = writer.close(self._number, self._ended_by, time.time_ns(), self._reset)
        self._recording.write(octets)

    def _record(self, sender: Sender, data: bytes) -> None:
        if sender == "client" and self._redactor is not None:
            data = self._redactor.feed(data)
        writer = self._recording.writer
        self._recording.write(writer.data(self._number, sender, data, time.time_ns()))

    def _end(self, sender: Sender, *, reset: bool) -> None:
        if self._ended_by is None or (reset and not self._reset):
            self._ended_by, self._reset = sender, reset


def _open_to_append(path: Path) -> BinaryIO:
    """Open the file, unbuffered."""
    cut_torn_end(path)
    return open(path, "ab", buffering=0)


def cut_torn_end(path: Path) -> None:
    """Cut an existing recording at the end of its last whole block.

    Raises NotACapture if the file is something else, OSError if it can't be changed.
    """
    if path.is_file():
        os.truncate(path, _whole(path))


def _whole(path: Path) -> int:
    """Return the number of octets in whole blocks of the recording."""
    reader = CaptureReader(file=str(path))
    with open(path, "rb") as file:
        if file.read(4) not in (b"", _PCAPNG):
            raise NotACapture(f"{path}: exists and is no pcapng recording")
        file.seek(0)
        while piece := file.read(READ_SIZE):
            reader.skip(piece)
    return reader.offset


async def _one_address(listen: Address) -> Address:
    """Return, for port 0, the first address of the host: each would get a different port."""
    host, port = listen
    if port:
        return listen
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=1)
    return str(found[0][4][0]), port


def announce(path: Path, text: str) -> None:
    """Write the file atomically: a program that waits for it reads it as soon as it exists.

    Anything but a regular file (a pipe, a terminal) is written to, and not replaced. Raises OSError.
    """
    line = text + "\n"
    if path.exists() and not path.is_file():
        try:
            path.write_text(line, encoding="ascii")
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from None
        return
    where = path.resolve()
    part = where.with_name(where.name + ".part")
    part.write_text(line, encoding="ascii")
    os.replace(part, where)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    writer.transport.abort()


def _name(address: tuple[str, int]) -> str:
    """Return a socket address (in IPv6 it has four parts) as the recording writes it."""
    return endpoint(address[0].partition("%")[0], address[1])


def _nothing() -> None:
    pass
