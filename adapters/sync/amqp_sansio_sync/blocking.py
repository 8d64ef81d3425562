"""The common part of the blocking classes: an object of `amqp_sansio.client`, and the driver that runs its methods."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator, Iterable
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from amqp_sansio import By, CloseReport, EndpointClosed, Event
from amqp_sansio.client.connection import AnyConnection
from amqp_sansio.client.inbox import EventStream as AsyncEventStream
from amqp_sansio.client.opening import Opening

from .handlers import aside, interrupts_itself

if TYPE_CHECKING:
    from typing import Self

    from amqp_sansio.client.metrics import Metrics
    from amqp_sansio.messaging import Connection
    from amqp_sansio.uri import AmqpUri

    from .driver import Driver

_I = TypeVar("_I")
_C = TypeVar("_C", bound="AnyConnection[Any]")
_O = TypeVar("_O", bound=Any)
_E = TypeVar("_E")


class Blocking(Generic[_I]):
    """An object whose methods block. Any thread may call them.

    `_END` names what leaving its context waits for. Two of them are equal if they are for the same thing.
    """

    __slots__ = ("_driver", "_inner")
    _END = "the end"

    def __init__(self, driver: Driver, inner: _I) -> None:
        self._driver = driver
        """Runs the object's coroutines, in the thread that calls."""
        self._inner = inner
        """The client's, whose methods are coroutines."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inner: Any = self._inner
        driver = self._driver
        if driver.ended:
            return
        try:
            driver.run(inner.__aexit__(kind, error, trace), driver.client.config.close_timeout, self._END)
        except (EndpointClosed, TimeoutError):
            if error is None:
                raise  # Otherwise the first error is the better reason.

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Blocking) and inner_of(other) is self._inner

    def __hash__(self) -> int:
        return hash(self._inner)

    def __repr__(self) -> str:
        return repr(self._inner)


class Timed(Blocking[_I]):
    """A context whose beginning and end take `timeout` seconds each, as do its methods that aren't given others."""

    __slots__ = ("timeout",)
    _START = "the start"

    def __init__(self, driver: Driver, inner: _I, timeout: float | None) -> None:
        super().__init__(driver, inner)
        self.timeout = timeout
        """Seconds; None: as long as it takes."""

    def __enter__(self) -> Self:
        inner: Any = self._inner
        self._driver.run(inner.__aenter__(), self.timeout, self._START)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        inner: Any = self._inner
        try:
            self._driver.run(inner.__aexit__(kind, error, trace), self.timeout, self._END)
        except (EndpointClosed, TimeoutError) as failure:
            if error is None:
                raise
            error.add_note(f"the transaction could not be rolled back: {failure}")

    def _seconds(self, timeout: float | None) -> float | None:
        return self.timeout if timeout is None else timeout


class EventStream(Blocking[AsyncEventStream[_E]], Generic[_E]):
    """An iterator over events; close it, or leave its context, to stop reading it.

    `next` raises TimeoutError if nothing came for `timeout` seconds, and EndpointClosed if its channel or connection
    has ended by anything but one's own close. Above `limit` events the connection isn't read while nobody waits for an
    answer on it; far above, the stream ends.
    """

    __slots__ = ("timeout",)

    def __init__(self, driver: Driver, inner: AsyncEventStream[_E], timeout: float | None) -> None:
        super().__init__(driver, inner)
        self.timeout = timeout
        """Seconds that `next` may take; None: as long as it takes."""

    def __iter__(self) -> EventStream[_E]:
        return self

    def __next__(self) -> _E:
        try:
            return self._driver.run(self._inner.__anext__(), self.timeout, "an event")
        except StopAsyncIteration:
            raise StopIteration from None

    def close(self) -> None:
        """Take no more events; waiting ones are dropped. A signal handler may call it."""
        if interrupts_itself():
            aside(self._driver.system, "events", self.close)
        else:
            self._driver.run(self._closing())

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def _closing(self) -> None:
        self._inner.close()


class BaseConnection(Blocking[_C]):
    """A connection of any version, returned by `connect`. Every method may be called from any thread.

    While no thread waits on it, a daemon thread sends heartbeats and checks the server's. `close` it, or leave its
    context, which also raises a failure of the connection or a part of it that no call has raised and no `report` has
    shown.
    """

    __slots__ = ("__weakref__",)

    @property
    def uri(self) -> AmqpUri:
        """The server's address and options."""
        return self._inner.uri

    @property
    def core(self) -> Any:
        """The connection of the core, for its properties: negotiated limits, state. Don't call its commands."""
        return self._inner.core

    @property
    def is_open(self) -> bool:
        """Whether it is usable, as far as is known."""
        return self._inner.is_open and not self._driver.ended

    @property
    def metrics(self) -> Metrics:
        """Its counters and gauges, which live on when it recovers, and can be read after its end."""
        return self._inner.metrics

    @property
    def report(self) -> CloseReport | None:
        """Why it ended, once it has."""
        return self._inner.report

    @overload
    def events(self, *, limit: int = 1000, timeout: float | None = None) -> EventStream[Event]: ...
    @overload
    def events(self, *kinds: type[_E], limit: int = 1000, timeout: float | None = None) -> EventStream[_E]: ...
    def events(self, *kinds: type[Any], limit: int = 1000, timeout: float | None = None) -> EventStream[Any]:
        """Return events of the connection as a whole, such as Blocked of 0-9-1; only `kinds`, if given."""
        return EventStream(self._driver, self._inner.events(*kinds, limit=limit), timeout)

    def wait_closed(self, timeout: float | None = None) -> CloseReport:
        """Wait until the connection has ended, by either side, and its transport is closed; return how it ended."""
        return self._driver.run(self._inner.wait_closed(), timeout, "the end of the connection")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        client = self._driver.client
        before = dict(client.unseen)
        self._close(self._inner.close, None)
        unseen = client.take_unseen(before)
        if unseen is not None and error is None:
            raise unseen

    def _close(self, operation: Callable[[], Coroutine[Any, Any, CloseReport]], timeout: float | None) -> CloseReport:
        if interrupts_itself():
            return aside(self._driver.system, "connection.close", lambda: self._close(operation, timeout))
        driver = self._driver
        seconds = driver.client.config.close_timeout if timeout is None else timeout
        try:
            # Either the connection has ended by itself meanwhile, or the server is too slow: stop it in both cases.
            with suppress(EndpointClosed, TimeoutError):
                if not driver.ended:
                    driver.run(operation(), seconds, "connection.close")
        finally:
            driver.stop("the close was not answered in time")
        report: CloseReport | None = driver.client.report
        return report or CloseReport(By.LOCAL, 0, str(driver.closed()))


class NeutralConnection(Blocking["Connection"]):
    """The part of a neutral connection that `native` does for it, the version's own connection."""

    __slots__ = ("__weakref__", "native")

    def __init__(self, native: BaseConnection[Any], inner: Connection) -> None:
        super().__init__(native._driver, inner)
        self.native = native
        """The version's own connection."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.native.__exit__(kind, error, trace)

    def _close(self, operation: Callable[[], Coroutine[Any, Any, CloseReport]], timeout: float | None) -> CloseReport:
        closing: Any = self.native
        report: CloseReport = closing.close(timeout=timeout)
        return report


def inner_of(value: Any) -> Any:
    """Return the client's object of a blocking one; anything else as it is."""
    if not isinstance(value, Blocking):
        return value
    return value._inner  # pyright: ignore[reportPrivateUsage, reportUnknownMemberType, reportUnknownVariableType]


def inners_of(values: Iterable[Any]) -> list[Any]:
    """Do the same with many."""
    return [inner_of(each) for each in values]


async def opened(opening: Opening[_O]) -> _O:
    """Wait until something is open."""
    return await opening


@contextmanager
def entered(driver: Driver, context: AbstractAsyncContextManager[Any], timeout: float | None) -> Generator[Any]:
    """Enter and leave a context of the client; each of both may take `timeout` seconds."""
    value = driver.run(_entering(context), timeout, "the start")
    try:
        yield value
    except BaseException as error:
        if not driver.run(_leaving(context, error), timeout, "the end"):
            raise
    else:
        driver.run(_leaving(context, None), timeout, "the end")


async def _entering(context: AbstractAsyncContextManager[_O]) -> _O:
    return await context.__aenter__()


async def _leaving(context: AbstractAsyncContextManager[Any], error: BaseException | None) -> bool | None:
    kind = None if error is None else type(error)
    return await context.__aexit__(kind, error, None if error is None else error.__traceback__)


__all__ = [
    "BaseConnection",
    "Blocking",
    "EventStream",
    "NeutralConnection",
    "Timed",
    "entered",
    "inner_of",
    "inners_of",
    "opened",
]
