"""Machine: the system that programs run on, with its clock, sockets, locks and threads."""

from __future__ import annotations

import os
import queue
import secrets
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.client.reaching import unresolved

from .tls import tls_error
from .transport import NowhereSocket, SocketTransport

if TYPE_CHECKING:
    from amqp_sansio.uri import AmqpUri

    from .transport import Records
    from .websocket import Inside


Connector: TypeAlias = "Callable[[AmqpUri, float], socket.socket]"
"""Returns a socket that is connected to the server of a URL, within so many seconds. Raises OSError."""
LONGEST_WAIT: Final = 0.5 if os.name == "nt" else None
"""Seconds of one wait for another thread. On Windows no signal interrupts it: the handler of Ctrl-C runs when it has
returned, and then it goes on."""


class QueueBell:
    """A bell that may ring where a lock may not be taken: in a destructor, which runs anywhere.

    It waits for at most `longest` seconds at a time, None: as long as it takes.
    """

    __slots__ = ("_longest", "_queue")

    def __init__(self, longest: float | None = LONGEST_WAIT) -> None:
        self._longest = longest
        """Seconds of one wait, since an interrupt isn't noticed within one; None: any number."""
        self._queue: queue.SimpleQueue[None] = queue.SimpleQueue()
        """Has an item for each ring that wasn't heard."""

    def ring(self) -> None:
        if self._queue.empty():
            self._queue.put(None)

    def wait(self, seconds: float | None) -> None:
        if self._longest is not None:
            self._wait_in_parts(seconds, self._longest)
            return
        # The time may be over, too.
        with suppress(queue.Empty):
            self._queue.get(timeout=None if seconds is None else min(seconds, threading.TIMEOUT_MAX))

    def _wait_in_parts(self, seconds: float | None, longest: float) -> None:
        deadline = None if seconds is None else time.monotonic() + seconds
        while True:
            left = longest if deadline is None else min(longest, deadline - time.monotonic())
            try:
                self._queue.get(timeout=max(0.0, left))
                return
            except queue.Empty:
                if left < longest:
                    return


class Machine:
    """The machine; there is one, `system.MACHINE`. Its functions are bound as they are: they are on every hot path."""

    now = staticmethod(time.monotonic)
    time_ns = staticmethod(time.time_ns)
    sleep = staticmethod(time.sleep)
    lock = staticmethod(threading.Lock)
    bell = staticmethod(QueueBell)
    nowhere = staticmethod(NowhereSocket)
    draw = staticmethod(secrets.token_urlsafe)

    def start(self, target: Callable[[], object], name: str) -> threading.Thread:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        return thread

    def seed(self) -> int:
        return secrets.randbits(64)

    def reach(self, uri: AmqpUri, seconds: float) -> socket.socket:
        """Return a socket that is connected to the server of a URL. Raises OSError."""
        return socket.create_connection((uri.host, uri.port), seconds)

    def open_transport(
        self,
        uri: AmqpUri,
        context: ssl.SSLContext | None,
        server_name: str | None,
        deadline: float,
        recorder: Records | None,
    ) -> SocketTransport:
        connected = _open_socket(self.reach, uri, context, server_name, deadline)
        try:
            inside = _open_websocket(connected, uri, deadline) if uri.websocket else None
            names = connected.getsockname(), connected.getpeername()
            recording = None if recorder is None else recorder.open(*names)
            return SocketTransport(connected, names, recording, inside)
        except BaseException as error:
            connected.close()
            _name(uri, error)
            raise


class Behind(Machine):
    """The machine, whose servers a `connector` reaches, such as through a proxy."""

    def __init__(self, connector: Connector) -> None:
        self._connector = connector
        """Called for each attempt, with the URI and the seconds that are left; returns a connected socket."""

    def reach(self, uri: AmqpUri, seconds: float) -> socket.socket:
        return self._connector(uri, seconds)


def _open_socket(
    reach: Connector, uri: AmqpUri, context: ssl.SSLContext | None, server_name: str | None, deadline: float
) -> socket.socket:
    try:
        connected = reach(uri, _left(deadline))
    except TimeoutError as error:
        raise TimeoutError(f"no connection to {uri}: nothing answers in time") from error
    except socket.gaierror as error:
        error.strerror = unresolved(uri, error)
        raise
    except OSError as error:
        error.strerror = f"no connection to {uri}: {error.strerror or error}"
        raise
    try:
        # Frames are complete when written; waiting for more would only delay them.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # For connections without heartbeats; 1.0 part 2 section 2.4.5 recommends it beside its own.
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if context is None:
            return connected
        connected.settimeout(_left(deadline))
        # `wrap_socket` leaves a socket open, which nobody knows then, where the peer has reset the connection.
        connected.getpeername()
        return context.wrap_socket(connected, server_hostname=server_name)
    except BaseException as error:
        connected.close()
        told = tls_error(uri, error)
        _name(uri, told)
        if told is error:
            raise
        raise told from error


def _name(uri: AmqpUri, error: BaseException) -> None:
    """Say in an error of the system whose connection it was."""
    if isinstance(error, OSError) and error.strerror and not isinstance(error, ssl.SSLError | TimeoutError):
        where = f"no connection to {uri}"
        if where not in error.strerror:
            error.strerror = f"{where}: {error.strerror}"


def _open_websocket(connected: socket.socket, uri: AmqpUri, deadline: float) -> Inside:
    from .websocket import Inside

    inside = Inside(connected, uri)
    inside.shake_hands(lambda: connected.settimeout(_left(deadline)))
    return inside


def _left(deadline: float) -> float:
    return max(0.001, deadline - time.monotonic())


__all__ = ["LONGEST_WAIT", "Behind", "Connector", "Machine", "QueueBell"]
