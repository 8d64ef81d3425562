"""What was published and consumed, as collections that a test waits for until nothing happens any more."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from .waiting import clock_of_loop, until

if TYPE_CHECKING:
    from .history import Happening, HistoryView
    from .served import ServedBroker

_T = TypeVar("_T")
INACTIVITY: Final = 1.0
"""Seconds without anything new in the broker after which nothing more is expected."""
TIMEOUT: Final = 30.0
"""Seconds after which a wait ends, though the broker is still active."""
Find = Callable[["HistoryView", "dict[str, Any]"], "list[_T]"]


class Consumed:
    """A delivery to a consumer, or a fetched message, and how it was settled.

    `delivery` and `settlement` are what the history has; `settlement` is None as long as the message is unsettled.
    `outcome` is "accepted", "rejected", "released" or "". `user` and `connection` say whose `consumer` it is.
    """

    __slots__ = ("delivery", "settlement")

    def __init__(self, delivery: Happening, settlement: Happening | None) -> None:
        self.delivery = delivery
        self.settlement = settlement

    @property
    def body(self) -> bytes:
        """The body of the message."""
        return self.delivery.body

    @property
    def queue(self) -> str:
        """The queue that it came from."""
        return self.delivery.queue

    @property
    def consumer(self) -> str:
        """The consumer's tag or link; "" for a fetched message."""
        return self.delivery.consumer

    @property
    def user(self) -> str:
        """The user who consumed it."""
        return self.delivery.user

    @property
    def connection(self) -> int:
        """The number of that user's connection."""
        return self.delivery.connection

    @property
    def redelivered(self) -> bool:
        """Whether it may have been delivered before."""
        return self.delivery.redelivered

    @property
    def outcome(self) -> str:
        """How it was settled."""
        return "" if self.settlement is None else self.settlement.kind

    def __repr__(self) -> str:
        return f"<Consumed {self.outcome or 'unsettled'}: {str(self.delivery).strip()}>"


class Watched(Generic[_T]):
    """What happened and is still happening in a broker: `broker.published`, `broker.consumed`.

    | call | result |
    |---|---|
    | `where(routing_key="jobs", ...)` | those that pass filters, which are those of the history |
    | `any()` | whether there is one: waits for it as long as something happens in the broker |
    | `first()` | the first one, in the same way; raises AssertionError if there is none |
    | `all()` | all of them, as a list, once nothing happens any more |
    | `list()` | those so far, without waiting |
    | `for each in ...` | each one as it comes, until nothing happens any more |

    They block; `awaited` has the same for coroutines of asyncio and trio. A wait ends when nothing has happened to any
    message for `inactivity` seconds, and after `timeout` seconds in any case: real ones, in a simulated world the
    world's, in a coroutine those of its loop.

    >>> broker.published.where(exchange="orders").any()
    True
    """

    def __init__(
        self,
        broker: ServedBroker,
        history: HistoryView,
        find: Find[_T],
        wanted: dict[str, Any] | None = None,
        inactivity: float = INACTIVITY,
        timeout: float = TIMEOUT,
    ) -> None:
        self._broker = broker
        """Whose steps, or seconds, a wait takes."""
        self._history = history
        """Where it looks."""
        self._find = find
        """Makes the items of the history's records."""
        self._wanted = wanted or {}
        """The filters that they pass."""
        self.inactivity = inactivity
        """Seconds without a movement that end a wait."""
        self.timeout = timeout
        """Seconds that end it in any case."""

    def where(self, **wanted: Any) -> Watched[_T]:
        """Return those that pass more filters. Raises TypeError for an unknown filter, when they are looked at."""
        return self._with({**self._wanted, **wanted}, self.inactivity, self.timeout)

    def within(self, inactivity: float, timeout: float = TIMEOUT) -> Watched[_T]:
        """Return the same with other limits of time, in seconds."""
        return self._with(self._wanted, inactivity, timeout)

    @property
    def awaited(self) -> Awaited[_T]:
        """The same for coroutines."""
        return Awaited(self)

    def list(self) -> list[_T]:
        """Return those so far, without waiting."""
        return self._find(self._history, self._wanted)

    def any(self) -> bool:
        """Wait for one; return whether there is one."""
        return bool(self._wait(1))

    def first(self) -> _T:
        """Wait for the first one, and return it. Raises AssertionError if there is none."""
        return self.first_of(self._wait(1))

    def all(self) -> Sequence[_T]:
        """Wait until nothing happens any more, and return all."""
        return self._wait(None)

    def __iter__(self) -> Iterator[_T]:
        seen = 0
        while len(found := self._wait(seen + 1)) > seen:
            yield found[seen]
            seen += 1

    def first_of(self, found: Sequence[_T]) -> _T:
        """Return the first one. Raises AssertionError, with what happened, if there is none."""
        if not found:
            asked = ", ".join([f"{name}={value!r}" for name, value in self._wanted.items()])
            happened = "\n".join([f"  {each}" for each in self._history.all()[-20:]]) or "  nothing"
            raise AssertionError(f"there is none with {asked or 'anything'}; what happened:\n{happened}")
        return found[0]

    def look(self, count: int | None, now: Callable[[], float]) -> Look[_T]:
        """Return a look for `count` of them, None for all."""
        return Look(self._history, lambda: self._find(self._history, self._wanted), count, self.inactivity, now)

    def _wait(self, count: int | None) -> Sequence[_T]:
        look = self.look(count, self._broker.now)
        self._broker.wait(look, self.timeout)
        return look.found

    def _with(self, wanted: dict[str, Any], inactivity: float, timeout: float) -> Watched[_T]:
        return Watched(self._broker, self._history, self._find, wanted, inactivity, timeout)

    def __repr__(self) -> str:
        return f"<Watched {self._wanted!r}: {self.list()!r}>"


class Awaited(Generic[_T]):
    """A `Watched` for coroutines; awaiting it does the same as `all`."""

    def __init__(self, watched: Watched[_T]) -> None:
        self._watched = watched
        """The same for tests that block."""

    async def any(self) -> bool:
        """Wait for one; return whether there is one."""
        return bool(await self._wait(1))

    async def first(self) -> _T:
        """Wait for the first one, and return it. Raises AssertionError if there is none."""
        return self._watched.first_of(await self._wait(1))

    async def all(self) -> Sequence[_T]:
        """Wait until nothing happens any more, and return all."""
        return await self._wait(None)

    def __await__(self) -> Generator[Any, Any, Sequence[_T]]:
        return self._wait(None).__await__()

    async def __aiter__(self) -> AsyncIterator[_T]:
        seen = 0
        while len(found := await self._wait(seen + 1)) > seen:
            yield found[seen]
            seen += 1

    async def _wait(self, count: int | None) -> Sequence[_T]:
        look = self._watched.look(count, clock_of_loop())
        await until(look, self._watched.timeout)
        return look.found


class Look(Generic[_T]):
    """Whether a wait is over: enough is there, or nothing has happened for a while."""

    def __init__(
        self,
        history: HistoryView,
        find: Callable[[], list[_T]],
        count: int | None,
        inactivity: float,
        now: Callable[[], float],
    ) -> None:
        self._history = history
        """Where it looks."""
        self._find = find
        """Returns what is there."""
        self._count = count
        """How many are enough; None: all until nothing moves."""
        self._inactivity = inactivity
        """Seconds without a movement that end the wait."""
        self._now = now
        """The clock, in seconds."""
        self._last = now()
        """When something last moved."""
        self._activity = -1
        """The count of movements then."""
        self.found: Sequence[_T] = ()
        """What the latest look found."""

    def __call__(self) -> bool:
        activity = self._history.activity
        if activity != self._activity:
            self._activity = activity
            self._last = self._now()
            self.found = self._find()
        enough = self._count is not None and len(self.found) >= self._count
        return enough or self._now() - self._last >= self._inactivity


def published(history: HistoryView, wanted: dict[str, Any]) -> list[Happening]:
    """Return the publishes."""
    return list(history.published(**wanted))


def consumed(history: HistoryView, wanted: dict[str, Any]) -> list[Consumed]:
    """Return the deliveries, each with the settlement that followed it."""
    asked = dict(wanted)
    outcome = asked.pop("outcome", None)
    chosen = {id(each.record) for each in history.delivered(**asked)}
    found: list[Consumed] = []
    held: dict[tuple[int, str, str], list[Consumed]] = {}
    for each in history.all("delivered", "got", "accepted", "rejected", "released"):
        place = each.number, each.vhost, each.queue
        if each.kind in ("delivered", "got"):
            delivery = Consumed(each, None)
            held.setdefault(place, []).append(delivery)
            if id(each.record) in chosen:
                found.append(delivery)
        elif waiting := held.get(place):
            waiting.pop(0).settlement = each
    return [each for each in found if outcome is None or each.outcome == outcome]


__all__ = ["INACTIVITY", "TIMEOUT", "Awaited", "Consumed", "Watched", "consumed", "published"]
