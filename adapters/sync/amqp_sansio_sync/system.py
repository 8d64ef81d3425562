"""System: what a connection takes from the machine: a clock, transports, locks, bells and threads.

A connection keeps the system that is current where it is opened. That is the machine, `MACHINE`, unless `use` says
otherwise; `amqp_sansio_sync.simulated` has that of a simulated world, where programs run without sockets and time.
A program that is to run in both takes its pauses and threads from here too:

>>> done: list[str] = []
>>> thread = current().start(lambda: done.append("beside"), "worker")
>>> thread.join()
>>> done
['beside']
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from .machine import Machine

if TYPE_CHECKING:
    import ssl
    from types import TracebackType

    from amqp_sansio.uri import AmqpUri

    from .transport import Records, Transport


class Lock(Protocol):
    """A lock, as `threading.Lock` returns it."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...
    def release(self) -> None: ...
    def locked(self) -> bool: ...
    def __enter__(self) -> bool: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class Bell(Protocol):
    """Wakes the one thread that waits for it, or that waits next."""

    def ring(self) -> None:
        """Ring, from any thread, and also in a destructor."""
        ...

    def wait(self, seconds: float | None) -> None:
        """Wait until it rings, or until the time is over (None: never)."""
        ...


class Thread(Protocol):
    """A thread that was started."""

    def join(self, timeout: float | None = None) -> None: ...
    def is_alive(self) -> bool: ...


class System(Protocol):
    """A clock, transports, locks, bells and threads, and what must differ between connections."""

    def now(self) -> float:
        """Return the seconds of a clock that never goes back."""
        ...

    def time_ns(self) -> int:
        """Return the nanoseconds since 1970, for recordings."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Wait for a time."""
        ...

    def lock(self) -> Lock: ...
    def bell(self) -> Bell: ...

    def start(self, target: Callable[[], object], name: str) -> Thread:
        """Start a thread that the end of the program doesn't wait for."""
        ...

    def open_transport(
        self,
        uri: AmqpUri,
        context: ssl.SSLContext | None,
        server_name: str | None,
        deadline: float,
        recorder: Records | None,
    ) -> Transport:
        """Connect to a server, with TLS if there is a context. `deadline` is in the clock's seconds. Raises OSError."""
        ...

    def nowhere(self) -> Transport:
        """Return the transport of a connection that waits for another one; see `transport.Nowhere`."""
        ...

    def draw(self, octets: int, /) -> str:
        """Return a name that nobody else has, made of so many random octets."""
        ...

    def seed(self) -> int:
        """Return a number of 64 bits, for the delays of an attempt to recover."""
        ...


MACHINE: Final[System] = Machine()
"""The machine's own clock, sockets and threads."""

_CURRENT: Final[ContextVar[System]] = ContextVar("amqp_sansio_sync.system", default=MACHINE)


def current() -> System:
    """Return the system that connections opened here use."""
    return _CURRENT.get()


@contextmanager
def use(system: System) -> Generator[None]:
    """Let connections that are opened in this context use another system, for as long as they live."""
    token = _CURRENT.set(system)
    try:
        yield
    finally:
        _CURRENT.reset(token)


__all__ = ["MACHINE", "Bell", "Lock", "System", "Thread", "current", "use"]
