"""What a client needs below it: a core, and a driver that moves octets and time and knows how one waits."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, runtime_checkable

from ..endpoint import Endpoint
from ..events import CloseReport, Pending

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..limits import Limits


class Config(Protocol):
    """The fields that every version's configuration has."""

    @property
    def close_timeout(self) -> float: ...
    @property
    def handshake_timeout(self) -> float: ...
    @property
    def limits(self) -> Limits: ...
    @property
    def properties(self) -> Mapping[str, Any]: ...


class Core(Endpoint, Protocol):
    """A client's connection of any version."""

    @property
    def config(self) -> Config: ...
    @property
    def report(self) -> CloseReport | None: ...
    @property
    def failure(self) -> CloseReport | None: ...
    @property
    def is_open(self) -> bool: ...


class Driver(Protocol):
    """The impure part below a client: its transport, its clock, and how a caller waits."""

    @property
    def congested(self) -> bool:
        """Whether a caller that publishes must `pace` first, because the transport takes nothing at the moment."""
        ...

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        """Return an awaitable that ends when `pending` is done.

        It adds to `pending.waiters` what it has to wake when `completed()` returns the pending.
        """
        ...

    def flush_soon(self) -> None:
        """Write what is queued, at the latest before anything is read."""
        ...

    def flush_later(self) -> None:
        """Do the same, but more is likely to follow at once that can be written together with it."""
        ...

    def pace(self) -> Awaitable[object]:
        """Return an awaitable that ends when the transport has taken what is queued, or can take no more at once."""
        ...

    def close_soon(self) -> None:
        """Write what is queued even if the transport's buffer is full: a close's deadline starts when it is written."""
        ...

    def reading_changed(self) -> None:
        """Read, or don't: whether `receive_budget` is 0 may have changed."""
        ...

    def ring(self) -> None:
        """Call `take_dropped` soon. Unlike the others this may be called in any thread, and by a destructor."""
        ...


@runtime_checkable
class TaskDriver(Driver, Protocol):
    """A driver that also starts operations of its client that no caller waits for, and calls what may take its time."""

    def start(self, work: Coroutine[Any, Any, object], /) -> None:
        """Carry out an operation of the client; what it raises is logged."""
        ...

    def ask(self, function: Callable[[], object], seconds: float | None, /) -> Awaitable[object]:
        """Return an awaitable of a function's result, or of what that gives when it is awaited.

        Raises TimeoutError after `seconds` where that is awaited.
        """
        ...

    def time_of_day(self) -> float:
        """Return the seconds since 1970."""
        ...


class NoDriver:
    """The driver of a client that has none yet: nobody can wait, and there is nothing to tell."""

    congested = False

    def wait(self, pending: Pending[Any]) -> Awaitable[object]:
        raise RuntimeError("this client has no driver yet: call attach(driver)")

    def pace(self) -> Awaitable[object]:
        raise RuntimeError("this client has no driver yet: call attach(driver)")

    def flush_soon(self) -> None:
        """Do nothing: whoever attaches a driver writes what is queued."""

    flush_later = close_soon = reading_changed = ring = flush_soon


CoreT = TypeVar("CoreT", bound=Core)


__all__ = ["Config", "Core", "CoreT", "Driver", "NoDriver", "TaskDriver"]
