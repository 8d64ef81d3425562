"""A connection's octets, and the time in which they come: over a socket, or over whatever else a test joins."""

from __future__ import annotations

import socket
import ssl
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final, Protocol

from amqp_sansio.uri import AmqpUri

from .verdicts import Unusable

_SIZE = 65_536
OVERSLEPT: Final = 0.5
"""Seconds by which a wait may be longer than it was to be."""
_TURN = 0.5
"""Seconds after which a wait looks whether the run is stopped."""


class Transport(Protocol):
    """One connection. Its clock counts seconds."""

    local: str
    remote: str

    def send(self, octets: bytes) -> None:
        """Write octets; those that the peer no longer takes are dropped."""

    def receive(self, seconds: float) -> bytes | None:
        """Return the next octets, none at the end of the connection, or None if nothing came in time."""

    def now(self) -> float: ...

    def wall(self) -> int:
        """Return nanoseconds since 1970."""
        ...

    @property
    def how_it_ended(self) -> str:
        """Say how the peer ended the connection: "" (not at all), "closed" or "reset"."""
        ...

    def close(self) -> None: ...


class Opener(Protocol):
    """Opens connections to the peer under test, always to the same address."""

    def __call__(self) -> Transport: ...


class SocketOpener:
    """Opens TCP connections to the address of a URL, with TLS for amqps.

    `patience` is the number of seconds that a connect may take. Raises Unusable.
    """

    def __init__(self, uri: AmqpUri, patience: float) -> None:
        self.uri = uri
        self.patience = patience
        self._context: ssl.SSLContext | None = None
        if uri.tls:
            self._context = ssl.create_default_context(cafile=uri.cacertfile)
            if uri.verify == "verify_none":
                self._context.check_hostname = False
                self._context.verify_mode = ssl.CERT_NONE
            if uri.certfile is not None:
                self._context.load_cert_chain(uri.certfile, uri.keyfile)

    def __call__(self) -> Transport:
        where = f"{self.uri.host}:{self.uri.port}"
        try:
            joined = socket.create_connection((self.uri.host, self.uri.port), timeout=self.patience)
        except TimeoutError:
            raise Unusable(f"{where} doesn't answer within {self.patience:g} s") from None
        except OSError as error:
            raise Unusable(f"can't connect to {where}: {(error.strerror or str(error)).lower()}") from None
        try:
            # It raises where the peer has reset the connection: `wrap_socket` would leave a socket open that nobody
            # knows.
            local, remote = endpoint(joined.getsockname()), endpoint(joined.getpeername())
            joined.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._context is not None:
                name = self.uri.server_name_indication or self.uri.host
                joined = self._context.wrap_socket(joined, server_hostname=name)
        except OSError as error:
            joined.close()
            step = "TLS with" if isinstance(error, ssl.SSLError) else "the connection to"
            raise Unusable(f"{step} {where} fails: {_of_tls(error)}") from None
        return SocketTransport(joined, local, remote)


def _of_tls(error: OSError) -> str:
    """Say why a handshake fails, and what to do."""
    if isinstance(error, ssl.SSLCertVerificationError):
        why = error.verify_message.strip(".")
        return f"{why}; name its authority with ?cacertfile=FILE, or take any with ?verify=verify_none"
    if isinstance(error, ssl.SSLError) and error.reason:
        if error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return "the peer speaks something else: try amqp"
        return error.reason.replace("_", " ").lower()
    return (error.strerror or str(error)).lower()


class SocketTransport:
    """A blocking socket."""

    def __init__(self, joined: socket.socket, local: str, remote: str) -> None:
        self._socket = joined
        self.local = local
        self.remote = remote
        self._how = ""

    def send(self, octets: bytes) -> None:
        self._socket.settimeout(10.0)
        try:
            self._socket.sendall(octets)
        except OSError:
            # The peer has ended the connection, or reads no more: what it said before is still to be read.
            return

    def receive(self, seconds: float) -> bytes | None:
        if self._how:
            return b""
        self._socket.settimeout(max(seconds, 0.001))
        try:
            octets = self._socket.recv(_SIZE)
        except TimeoutError:
            return None
        except OSError:
            self._how = "reset"
            return b""
        if not octets:
            self._how = "closed"
        return octets

    def now(self) -> float:
        return time.monotonic()

    def wall(self) -> int:
        return time.time_ns()

    @property
    def how_it_ended(self) -> str:
        return self._how

    def shut(self) -> None:
        """Say that nothing more will be sent; what the peer sends can still be read."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)

    def reset(self) -> None:
        """End the connection by a reset, whatever is still to be sent or read."""
        with suppress(OSError):
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()

    def close(self) -> None:
        self._socket.close()


class Watched:
    """A connection whose waits are measured, and can be ended from another thread."""

    def __init__(self, transport: Transport, is_stopped: Callable[[], bool]) -> None:
        self.transport = transport
        self.local = transport.local
        self.remote = transport.remote
        self.overslept = 0.0
        """The most seconds by which a wait was longer than it was to be: so late was the machine."""
        self._is_stopped = is_stopped

    def send(self, octets: bytes) -> None:
        self.transport.send(octets)

    def receive(self, seconds: float) -> bytes | None:
        """Return the next octets as any transport does. Raises Unusable when the run is stopped."""
        deadline = self.transport.now() + seconds
        while True:
            if self._is_stopped():
                raise Unusable("the run is stopped")
            before = self.transport.now()
            turn = max(min(deadline - before, _TURN), 0.0)
            octets = self.transport.receive(turn)
            if octets is not None:
                return octets
            now = self.transport.now()
            self.overslept = max(self.overslept, now - before - turn)
            # Where no time passes there is nothing to wait for: a simulated connection is over.
            if now >= deadline or now == before:
                return None

    def now(self) -> float:
        return self.transport.now()

    def wall(self) -> int:
        return self.transport.wall()

    @property
    def how_it_ended(self) -> str:
        return self.transport.how_it_ended

    def close(self) -> None:
        self.transport.close()


def endpoint(address: tuple[str, int] | tuple[str, int, int, int]) -> str:
    """Return a socket's address as text."""
    host, port = address[:2]
    return f"[{host.partition('%')[0]}]:{port}" if ":" in host else f"{host}:{port}"
