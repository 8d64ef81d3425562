"""ServedBroker: a running broker, as its clock, faults, history and views use it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from .service import Service

_T = TypeVar("_T")


class ServedBroker(Protocol):
    """A broker in a thread of its own, or in a world."""

    @property
    def is_running(self) -> bool:
        """Whether clients can connect."""
        ...

    @property
    def service(self) -> Service:
        """The serving broker. Raises RuntimeError if it isn't running."""
        ...

    def call(self, function: Callable[[], _T]) -> _T:
        """Call a function in the broker's thread, after all received octets are handled, and return its result."""
        ...

    def run(self, make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
        """Run a coroutine in the broker's event loop, and return its result."""
        ...

    def now(self) -> float:
        """Return the seconds of the clock that waits go by."""
        ...

    def wait(self, condition: Callable[[], object], timeout: float) -> bool:
        """Wait until a function returns something true; return False if it doesn't within `timeout` seconds."""
        ...


__all__ = ["ServedBroker"]
