"""`amqp-sansio record`: a proxy between clients and a broker that writes all octets as pcapng."""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import stat
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from ssl import SSLContext
from typing import BinaryIO, Literal

from amqp_sansio.capture import CaptureReader, NotACapture, PcapngWriter, endpoint
from amqp_sansio.capture.redact import Redactor
from amqp_sansio_asyncio import on_stop
from amqp_sansio_asyncio.listening import Address, listen_on

from .addresses import Listening, announce, check_upstream, listening, named
from .errors import CommandError, describe, say
from .files import check_outputs
from .tls import make_context, upstream_context

READ_SIZE = 65_536
_NO_LINGER = struct.pack("hh" if os.name == "nt" else "ii", 1, 0)
_PCAPNG = b"\x0a\x0d\x0d\x0a"

Sender = Literal["client", "server"]


def record(
    listen: Sequence[Address],
    upstream: Address,
    output: Path,
    ready_file: Path | None,
    secrets: bool,
    tls: tuple[Path | None, Path | None] = (None, None),
    upstream_tls: bool = False,
    upstream_ca: Path | None = None,
) -> int:
    """Run the proxy until it is told to stop; return the exit status.

    `tls` are the certificate for clients and its key, if they use TLS. With `upstream_tls` the broker does, and its
    certificate is verified, against `upstream_ca` or the system's authorities. The recording is above TLS. Raises
    CommandError if an address or a file is unusable; the file is opened when the addresses are known to be usable.
    """
    contexts = make_context(*tls, None), upstream_context(upstream_tls, upstream_ca)
    check_outputs(
        {"--output": output, "--ready-file": ready_file},
        {"--tls-cert": tls[0], "--tls-key": tls[1], "--upstream-ca": upstream_ca},
    )
    check_recording(output)

    async def run() -> None:
        stop = asyncio.Event()
        with on_stop(stop.set):
            async with listening(listen, allow_remote=True) as where:
                await check_upstream(upstream, where.sockets)
                with Recording(output) as recording:
                    proxy = Proxy(upstream, recording, secrets=secrets, contexts=contexts)
                    await proxy.run(where, ready_file, stop)
        say(f"{proxy.count} connections, {recording.size} octets in {output}")

    asyncio.run(run())
    return 0


class Recording:
    """A growing pcapng file: everything written is in the file at once.

    An existing recording is continued; if it ends inside of a packet, that incomplete packet is cut off. Raises
    CommandError if the file can't be written or is something else.
    """

    def __init__(self, path: Path) -> None:
        self.writer = PcapngWriter()
        """Makes packets of octets."""
        self.size = 0
        """Octets of the file so far."""
        self.error: OSError | None = None
        """Why it can't be written any more."""
        self.on_error: Callable[[], None] = _nothing
        """Called once then."""
        try:
            self._file = _open_to_append(path)
            """The recording, open for writing at its end; each packet is written at once."""
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
        """TLS with the broker; None: without."""
        """TLS with clients; None: without."""
        self.count = 0
        """Connections so far."""
        self._upstream = upstream
        """Where the broker is."""
        self._recording = recording
        """Takes the octets of both sides."""
        self._secrets = secrets
        """Whether they are recorded as they are."""
        self._tasks: set[asyncio.Task[None]] = set()
        """Of connections that aren't over."""
        self._stop = asyncio.Event()
        """Set to end the proxy."""
        self._accepted: set[tuple[object, object]] = set()
        """The addresses of each connection from a client: one that `_opened` has too leads back to the proxy."""
        """The connections of clients, by both addresses: the client's, and the proxy's."""
        self._opened: set[tuple[object, object]] = set()
        """Those of each connection to the broker."""
        """The connections with the broker, by both addresses: the proxy's, and the broker's."""
        self._is_circle = False
        """Whether there was one."""

    async def run(self, where: Listening, ready_file: Path | None, stop: asyncio.Event) -> None:
        """Serve clients of the listening sockets until `stop`. Raises CommandError if it can't continue."""
        self._stop = stop
        self._recording.on_error = stop.set
        server = await listen_on(self._new_protocol, where.sockets, ssl=self._with_clients)
        await server.start_serving()
        say(f"listening on {where}, upstream {endpoint(*self._upstream)}; stop with Ctrl-C")
        try:
            if ready_file is not None:
                announce(ready_file, where.asked)
            await stop.wait()
        except OSError as error:
            raise CommandError(describe(error)) from None
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._recording.error is not None:
            raise CommandError(f"the recording ends here: {describe(self._recording.error)}")
        if self._is_circle:
            raise CommandError(f"upstream {endpoint(*self._upstream)}: its connections come back to the proxy itself")

    def _new_protocol(self) -> asyncio.StreamReaderProtocol:
        """Return the protocol of a new client, as `asyncio.start_server` makes it."""
        return asyncio.StreamReaderProtocol(asyncio.StreamReader(), self._accept)

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
        ends = writer.get_extra_info("peername"), writer.get_extra_info("sockname")
        self._accepted.add(ends)
        try:
            if ends in self._opened:
                self._end_circle()
                return
            await self._pass(reader, writer)
        finally:
            self._accepted.discard(ends)

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            server_reader, server_writer = await asyncio.open_connection(*self._upstream, ssl=self._with_broker)
        except OSError as error:
            is_refused = isinstance(error, ConnectionRefusedError)
            why = "connection refused" if is_refused else str(error.strerror or error).lower()
            say(f"upstream {endpoint(*self._upstream)}: {why}")
            _reset(writer)
            return
        ends = server_writer.get_extra_info("sockname"), server_writer.get_extra_info("peername")
        self._opened.add(ends)
        try:
            if ends in self._accepted:
                self._end_circle()
                return
            client = named(writer.get_extra_info("peername"))
            server = named(server_writer.get_extra_info("peername"))
            link = _Link(self._recording, client, server, secrets=self._secrets)
            self.count += 1
            try:
                async with asyncio.TaskGroup() as group:
                    group.create_task(link.pump("client", reader, server_writer))
                    group.create_task(link.pump("server", server_reader, writer))
            finally:
                link.close()
        finally:
            self._opened.discard(ends)
            server_writer.transport.abort()

    def _end_circle(self) -> None:
        """End: the proxy is its own client, and each connection would open another one."""
        self._is_circle = True
        self._stop.set()


class _Link:
    """One connection through the proxy, and its place in the recording."""

    def __init__(self, recording: Recording, client: str, server: str, *, secrets: bool) -> None:
        self._recording = recording
        """Takes its packets."""
        self._redactor = None if secrets else Redactor()
        """Blanks secrets; None: they are written as they are."""
        self._number, octets = recording.writer.open(client, server, time.time_ns())
        """The one that the recording knows it by."""
        recording.write(octets)
        self._ended_by: Sender | None = None
        """Which side ended it first."""
        self._reset = False
        """Whether that side cut it off (RST) instead of ending it (FIN); the recording tells the two apart."""

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
        """Write the end of the connection, by the side that ended first; none if the proxy ends and no side has."""
        if self._ended_by is None:
            return
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
            self._ended_by = sender
            self._reset = reset
        if not self._reset and not reset:
            writer = self._recording.writer
            self._recording.write(writer.finish(self._number, sender, time.time_ns()))


def _open_to_append(path: Path) -> BinaryIO:
    """Open the file, unbuffered."""
    cut_torn_end(path)
    return open(path, "ab", buffering=0)


def check_recording(path: Path) -> None:
    """Check that a recording can be there, and change nothing. Raises CommandError."""
    try:
        mode = _mode(path)
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if stat.S_ISREG(mode):
            with open(path, "rb") as file:
                _check_magic(path, file)
    except (OSError, NotACapture) as error:
        raise CommandError(describe(error)) from None


def _mode(path: Path) -> int:
    """Return the mode of a file, 0 for one that isn't there yet but whose folder is. Raises OSError."""
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        if not path.absolute().parent.is_dir():
            raise
        return 0


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
        _check_magic(path, file)
        while piece := file.read(READ_SIZE):
            reader.skip(piece)
    return reader.offset


def _check_magic(path: Path, file: BinaryIO) -> None:
    if file.read(4) not in (b"", _PCAPNG):
        raise NotACapture(f"{path}: exists and is no pcapng recording")
    file.seek(0)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close with a RST."""
    with suppress(OSError):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    writer.transport.abort()


def _nothing() -> None:
    pass
