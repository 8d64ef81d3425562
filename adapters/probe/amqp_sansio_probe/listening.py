"""The port that clients under test connect to."""

from __future__ import annotations

import socket
import time
from typing import Protocol

from .transport import SocketTransport, Transport, endpoint
from .verdicts import Unusable


class Accepted(Transport, Protocol):
    """A connection of a client under test: the server can end it in more ways than one."""

    def shut(self) -> None:
        """Say that nothing more will be sent; what the peer sends can still be read."""

    def reset(self) -> None:
        """End the connection by a reset, whatever is still to be sent or read."""


class Listener(Protocol):
    """Takes connections, one after another."""

    @property
    def address(self) -> str:
        """The host and the port, as in a URL."""
        ...

    def accept(self, seconds: float) -> Accepted | None:
        """Return the next connection; None if none comes in time."""
        ...

    def drop(self) -> None:
        """Take the connections that wait, and end them: a client that connects again has no part in the next case."""

    def now(self) -> float:
        """Return the time in seconds, by the clock of its connections."""
        ...


class SocketListener:
    """A listening socket at an address; port 0 takes a free one. Raises Unusable."""

    def __init__(self, host: str, port: int) -> None:
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            self._socket = socket.create_server((host, port), family=family)
        except OSError as error:
            # `create_server` adds the address to the system's words.
            words = (error.strerror or str(error)).partition(" (")[0]
            raise Unusable(f"can't listen at {host}:{port}: {words.lower()}") from None

    @property
    def address(self) -> str:
        return endpoint(self._socket.getsockname())

    def accept(self, seconds: float) -> Accepted | None:
        self._socket.settimeout(max(seconds, 0.001))
        try:
            joined, _ = self._socket.accept()
        except TimeoutError:
            return None
        joined.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return SocketTransport(joined, endpoint(joined.getpeername()), endpoint(joined.getsockname()))

    def drop(self) -> None:
        while (late := self.accept(0.0)) is not None:
            late.close()

    def now(self) -> float:
        return time.monotonic()

    def close(self) -> None:
        self._socket.close()
