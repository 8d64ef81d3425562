"""A core connection on a real socket, driven in the order the library documents; blocking, for tests only."""

import socket
import struct
import time
from collections.abc import Callable
from typing import Any, Generic, Protocol

from typing_extensions import TypeVar

from amqp_sansio import Closed, CloseHint, Endpoint, Event, Opened, Pending, Scope, Signal
from amqp_sansio._classic.endpoint.connection import Connection


class Closeable(Endpoint, Protocol):
    """A connection of any version."""

    def close(self) -> Any: ...


E = TypeVar("E", bound=Event)
C = TypeVar("C", bound=Closeable, default=Connection)


class Wire(Generic[C]):
    """One client connection; `events` keeps everything that was taken."""

    def __init__(self, connection: C, host: str, port: int) -> None:
        self.connection = connection
        self.events: list[Event] = []
        self.socket = socket.create_connection((host, port), timeout=20)
        self.closed: Closed | None = None

    def take(self) -> None:
        """Take the events that are there and write what is due."""
        connection = self.connection
        while not isinstance(event := connection.next_event(), Signal):
            self.events.append(event)
            if isinstance(event, Closed) and event.scope is Scope.CONNECTION:
                self.closed = event
        self.flush()
        if connection.close_hint is not CloseHint.KEEP:
            self.socket.close()

    def step(self, timeout: float = 10.0) -> None:
        """Wait once for octets, the deadline or `timeout` seconds, then take what came."""
        connection = self.connection
        self.take()
        if connection.close_hint is not CloseHint.KEEP:
            return
        deadline = connection.next_deadline
        wait = timeout if deadline is None else min(timeout, max(0.0, deadline - time.monotonic()))
        self.socket.settimeout(max(wait, 0.001))
        try:
            data = self.socket.recv(min(65536, connection.receive_budget))
        except TimeoutError:
            connection.handle_timeout(time.monotonic())
        except OSError as error:
            connection.connection_lost(str(error), time.monotonic())
        else:
            if data:
                connection.receive_data(data, time.monotonic())
            else:
                connection.receive_eof(time.monotonic())
        self.take()

    def until(self, done: Callable[[], bool], timeout: float = 20.0) -> None:
        """Go on until `done`, or fail with what was seen."""
        end = time.monotonic() + timeout
        self.take()
        while not done():
            if self.closed is not None:
                raise AssertionError(f"closed: {self.closed.report}; saw {self.events}")
            if time.monotonic() > end:
                raise AssertionError(f"not done in {timeout} s; saw {self.events}")
            self.step(0.5)

    def idle(self, seconds: float) -> None:
        """Take what comes in that time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and self.closed is None:
            self.step(max(0.01, end - time.monotonic()))

    def flush(self) -> None:
        """Write what is queued."""
        octets = self.connection.data_to_send(time.monotonic())
        if not octets:
            return
        self.socket.settimeout(20)
        try:
            self.socket.sendall(octets)
        except OSError as error:
            self.connection.connection_lost(str(error), time.monotonic())

    def result(self, handle: Pending[Any]) -> Any:
        """The answer of a call; raises what it failed with."""
        self.flush()
        self.until(lambda: handle.done)
        return handle.result

    def opened(self) -> None:
        """Wait until the connection is open."""
        self.until(lambda: any(isinstance(e, Opened) and e.scope is Scope.CONNECTION for e in self.events))

    def next(self, kind: type[E]) -> E:
        """Take the oldest event of that kind out of what was seen, waiting for it."""
        self.flush()
        self.until(lambda: any(isinstance(event, kind) for event in self.events))
        found = next(event for event in self.events if isinstance(event, kind))
        self.events.remove(found)
        return found

    def close(self) -> None:
        """Close with a handshake and wait for its end."""
        self.connection.close()
        self.end()

    def end(self, timeout: float = 20.0) -> Closed:
        """Wait for the connection's last event."""
        end = time.monotonic() + timeout
        while self.closed is None:
            assert time.monotonic() < end, f"never closed; saw {self.events}"
            self.step(0.5)
        self.socket.close()
        return self.closed

    def cut(self) -> None:
        """Reset the transport: both ends lose what is under way."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()
        self.connection.connection_lost("cut by the test", time.monotonic())
        self.take()
        assert self.closed is not None
