"""History: queries, waits and assertions about the messages of a broker."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast, overload

from amqp_sansio.broker.contents.bodies import body_of
from amqp_sansio.broker.model.history import Kind

from .views import shown
from .waiting import until

if TYPE_CHECKING:
    from amqp_sansio.broker import Content, Happened

    from .served import ServedBroker

Body = bytes | str | re.Pattern[bytes] | Callable[[bytes], bool]
"""A body to look for: octets, text, a pattern to be found in it, or a predicate."""
SETTLED: Final[tuple[Kind, ...]] = ("accepted", "rejected", "released")
_SHOWN: Final = 20
"""Most lines of history in a failed assertion."""
_NEAR: Final = 5


class NotAsExpected(AssertionError):
    """The history isn't as a test expected; the text has the difference."""


class Happening:
    """One thing that happened to a message.

    `kind` is "published", "routed", "unroutable", "refused", "delivered", "got", "accepted", "rejected", "released",
    "expired", "dead-lettered", "dropped" or "purged". `number` is the message's, the same in all of its records. `at`
    is in seconds of the broker's clock. `queue`, `consumer` and `reason` are "" if there is none, `user` is the acting
    user and `connection` the number of its connection. `record` is the broker's own.
    """

    __slots__ = (
        "at",
        "body",
        "connection",
        "consumer",
        "content",
        "exchange",
        "headers",
        "kind",
        "number",
        "queue",
        "reason",
        "record",
        "redelivered",
        "routing_key",
        "user",
        "vhost",
    )

    def __init__(self, record: Happened) -> None:
        self.record = record
        self.kind: Kind = record.kind
        self.at = record.at
        self.vhost = record.vhost
        self.number = record.number
        self.exchange = record.exchange
        self.routing_key = record.routing_key
        self.content: Content = record.content
        self.body = body_of(record.content)
        self.headers: dict[str, Any] = dict(record.content.headers)
        self.queue = record.queue
        self.consumer = record.consumer
        self.connection = record.connection
        self.user = record.user
        self.redelivered = record.redelivered
        self.reason = record.reason

    def __str__(self) -> str:
        parts = [f"{self.at:9.3f} s  {self.kind:<13} #{self.number} {shown(self.body)}"]
        parts.append(f"exchange={self.exchange!r} routing_key={self.routing_key!r}")
        for name in ("queue", "consumer", "user", "reason"):
            value = getattr(self, name)
            if value:
                parts.append(f"{name}={value!r}")
        if self.redelivered:
            parts.append("redelivered")
        return " ".join(parts)

    def __repr__(self) -> str:
        return f"<Happening {str(self).strip()}>"


class Happenings(Sequence[Happening]):
    """A part of the history, in order. `bodies` has the bodies alone; `str` is a line for each."""

    def __init__(self, found: Iterable[Happening]) -> None:
        self._found = tuple(found)

    @property
    def bodies(self) -> list[bytes]:
        """The bodies of the messages, in order."""
        return [each.body for each in self._found]

    @overload
    def __getitem__(self, index: int) -> Happening: ...
    @overload
    def __getitem__(self, index: slice) -> Happenings: ...
    def __getitem__(self, index: int | slice) -> Happening | Happenings:
        if isinstance(index, slice):
            return Happenings(self._found[index])
        return self._found[index]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[Happening]:
        return iter(self._found)

    def __str__(self) -> str:
        return "\n".join(map(str, self._found))

    def __repr__(self) -> str:
        return f"<Happenings: {len(self._found)}>\n{self}" if self._found else "<Happenings: none>"


class HistoryView:
    """The history of a broker's messages: `broker.history`.

    All queries have the same filters: `exchange`, `routing_key`, `queue` (for a publish: one that the message entered),
    `body` (see `Body`), `headers` (a subset of the message's), `user`, `vhost`, `consumer`, `reason`, `redelivered`,
    `number`, `connection`.

    >>> broker.history.published(exchange="orders", routing_key="order.paid").bodies
    [b'17']
    >>> broker.history.assert_settled(queue="jobs", count=1)
    """

    def __init__(self, broker: ServedBroker) -> None:
        self._broker = broker

    # Queries.

    def all(self, *kinds: Kind, **wanted: Any) -> Happenings:
        """Return the records of some kinds (none: of all), in order."""
        return self.select(kinds, wanted)

    def published(self, **wanted: Any) -> Happenings:
        """Return publishes by clients and the test."""
        return self.select(("published",), wanted)

    def routed(self, **wanted: Any) -> Happenings:
        """Return messages that entered queues, once for each queue."""
        return self.select(("routed",), wanted)

    def unroutable(self, **wanted: Any) -> Happenings:
        """Return messages that no queue took."""
        return self.select(("unroutable",), wanted)

    def delivered(self, **wanted: Any) -> Happenings:
        """Return messages delivered to consumers, or fetched."""
        return self.select(("delivered", "got"), wanted)

    def settled(self, **wanted: Any) -> Happenings:
        """Return messages accepted, rejected or released."""
        return self.select(SETTLED, wanted)

    def accepted(self, **wanted: Any) -> Happenings:
        """Return messages accepted by consumers."""
        return self.select(("accepted",), wanted)

    def rejected(self, **wanted: Any) -> Happenings:
        """Return messages rejected for good."""
        return self.select(("rejected",), wanted)

    def released(self, **wanted: Any) -> Happenings:
        """Return messages that returned to their queue."""
        return self.select(("released",), wanted)

    def expired(self, **wanted: Any) -> Happenings:
        """Return expired messages."""
        return self.select(("expired",), wanted)

    def dead_lettered(self, **wanted: Any) -> Happenings:
        """Return messages that left a queue for its dead-letter exchange."""
        return self.select(("dead-lettered",), wanted)

    def clear(self) -> None:
        """Discard the history so far."""
        self._broker.call(lambda: self._records().clear())

    @property
    def activity(self) -> int:
        """Number of records so far, also of those that are discarded."""
        return self._broker.call(self._activity)

    def _activity(self) -> int:
        self._records()
        history = self._broker.service.hub.model.history
        return 0 if history is None else history.dropped + len(history.records)

    def __len__(self) -> int:
        return self._broker.call(lambda: len(self._records()))

    def __iter__(self) -> Iterator[Happening]:
        return iter(self.all())

    # Assertions.

    def assert_happened(self, *kinds: Kind, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that something of some kinds happened, `count` times (None: once or more); return it.

        Raises NotAsExpected, an AssertionError, with what happened instead.
        """
        found = self.select(kinds, wanted)
        if len(found) == count or (count is None and found):
            return found
        raise NotAsExpected(self.explained(kinds, wanted, count, found))

    def assert_published(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it was published; see `assert_happened`."""
        return self.assert_happened("published", count=count, **wanted)

    def assert_not_published(self, **wanted: Any) -> None:
        """Assert that no such message was published."""
        self.assert_happened("published", count=0, **wanted)

    def assert_unroutable(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that no queue took it; see `assert_happened`."""
        return self.assert_happened("unroutable", count=count, **wanted)

    def assert_delivered(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it was delivered or fetched; see `assert_happened`."""
        return self.assert_happened("delivered", "got", count=count, **wanted)

    def assert_settled(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it was accepted, rejected or released; see `assert_happened`."""
        return self.assert_happened(*SETTLED, count=count, **wanted)

    def assert_accepted(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it was accepted; see `assert_happened`."""
        return self.assert_happened("accepted", count=count, **wanted)

    def assert_rejected(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it was rejected for good; see `assert_happened`."""
        return self.assert_happened("rejected", count=count, **wanted)

    def assert_expired(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it expired; see `assert_happened`."""
        return self.assert_happened("expired", count=count, **wanted)

    def assert_dead_lettered(self, *, count: int | None = None, **wanted: Any) -> Happenings:
        """Assert that it left a queue for its dead-letter exchange; see `assert_happened`."""
        return self.assert_happened("dead-lettered", count=count, **wanted)

    # Waits.

    def wait_for(
        self,
        what: Kind | Sequence[Kind] | Callable[[HistoryView], object],
        *,
        timeout: float = 5.0,
        count: int = 1,
        **wanted: Any,
    ) -> Happenings:
        """Wait until something of a kind has happened, at least `count` times, or until a function of the history
        returns true; return the result.

        `timeout` is in real seconds, in a simulated world in the world's. Earlier records count. Raises NotAsExpected
        after the timeout, and RuntimeError in an event loop, which it would hold up: there use `wait_until`.
        """
        look = _Look(self, what, count, wanted)
        if not self._broker.wait(look, timeout):
            raise NotAsExpected(look.failure(timeout))
        return look.result()

    async def wait_until(
        self,
        what: Kind | Sequence[Kind] | Callable[[HistoryView], object],
        *,
        timeout: float = 5.0,
        count: int = 1,
        **wanted: Any,
    ) -> Happenings:
        """Do the same as `wait_for` in a coroutine of asyncio or trio, whose loop goes on meanwhile.

        `timeout` is in seconds of the loop's clock. Raises NotAsExpected after it.
        """
        look = _Look(self, what, count, wanted)
        if not await until(look, timeout):
            raise NotAsExpected(look.failure(timeout))
        return look.result()

    # Internals.

    def _records(self) -> Any:
        history = self._broker.service.hub.model.history
        if history is None:
            raise RuntimeError("the broker keeps no history: set EmbeddedBroker(history=...)")
        return history.records

    def select(self, kinds: Sequence[Kind], wanted: Mapping[str, Any]) -> Happenings:
        """Return the records of some kinds (none: of all) that pass the filters, in order."""
        check = _checks(wanted)
        everything = self._everything()
        by_queue = _routes(everything) if "queue" in check else {}
        return Happenings(
            [
                each
                for each in everything
                if (not kinds or each.kind in kinds) and not _differences(each, check, by_queue)
            ]
        )

    def _everything(self) -> list[Happening]:
        records: list[Happened] = self._broker.call(lambda: list(self._records()))
        return [Happening(each) for each in records]

    def explained(self, kinds: Sequence[Kind], wanted: Mapping[str, Any], count: int | None, found: Happenings) -> str:
        """Return what was expected, and what happened instead."""
        what = " or ".join(kinds) or "anything"
        asked = ", ".join([f"{name}={value!r}" for name, value in wanted.items()])
        number = "at least one" if count is None else str(count)
        lines = [f"{number} {what} expected{' with ' + asked if asked else ''}, {len(found) or 'none'} found"]
        lines += [f"  {each}" for each in found[:_SHOWN]]
        everything = self._everything()
        of_kind = [each for each in everything if not kinds or each.kind in kinds]
        check = _checks(wanted)
        by_queue = _routes(everything) if "queue" in check else {}
        near: list[tuple[int, str]] = []
        for each in of_kind:
            differences = _differences(each, check, by_queue)
            if differences:
                near.append((len(differences), f"  {each}\n      but {'; '.join(differences)}"))
        if near and not found:
            near.sort(key=lambda pair: pair[0])
            lines.append(f"the nearest {what}:")
            lines += [text for _, text in near[:_NEAR]]
        elif not of_kind:
            lines.append(f"nothing was {what}; all that happened:" if everything else "nothing has happened")
            lines += [f"  {each}" for each in everything[-_SHOWN:]]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<HistoryView, {len(self)} records>"


class _Look:
    """A look at the history for something that is waited for."""

    def __init__(
        self,
        history: HistoryView,
        what: Kind | Sequence[Kind] | Callable[[HistoryView], object],
        count: int,
        wanted: Mapping[str, Any],
    ) -> None:
        self._history = history
        """Where it looks."""
        self._check = what if callable(what) else None
        """The test's own condition; None: kinds are counted."""
        # A kind is a string, which is a sequence too.
        kinds: tuple[Any, ...] = () if callable(what) else (what,) if isinstance(what, str) else tuple(what)
        self._kinds: tuple[Kind, ...] = kinds
        """What is waited for, in the history's words."""
        self._count = count
        """How many of them."""
        self._wanted = wanted
        """The filters that they pass."""
        self._found = Happenings(())
        """Those so far, for the text of a failure."""

    def __call__(self) -> bool:
        if self._check is not None:
            return bool(self._check(self._history))
        self._found = self._history.select(self._kinds, self._wanted)
        return len(self._found) >= self._count

    def result(self) -> Happenings:
        return self._found if self._check is None else self._history.all(**self._wanted)

    def failure(self, timeout: float) -> str:
        told = self._history.explained(self._kinds, self._wanted, self._count, self._found)
        return f"within {timeout} s: {told}"


_FIELDS: Final = (
    "body",
    "connection",
    "consumer",
    "exchange",
    "headers",
    "number",
    "queue",
    "reason",
    "redelivered",
    "routing_key",
    "user",
    "vhost",
)


def _checks(wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Return the filters. Raises TypeError for an unknown one."""
    for name in wanted:
        if name not in _FIELDS:
            raise TypeError(f"the history has no filter {name!r}; its filters are {', '.join(_FIELDS)}")
    found = dict(wanted)
    if isinstance(found.get("body"), str):
        found["body"] = found["body"].encode()
    return found


def _routes(everything: Iterable[Happening]) -> dict[int, set[str]]:
    """Return the queues that each message entered."""
    found: dict[int, set[str]] = {}
    for each in everything:
        if each.kind == "routed":
            found.setdefault(each.number, set()).add(each.queue)
    return found


def _differences(each: Happening, wanted: Mapping[str, Any], routes: Mapping[int, set[str]]) -> list[str]:
    """Return the differences in words."""
    found: list[str] = []
    for name, value in wanted.items():
        actual = getattr(each, name)
        if name == "queue" and each.kind == "published":
            into = routes.get(each.number, set())
            if value not in into:
                names = ", ".join(map(repr, sorted(into))) or "no queue"
                found.append(f"it came into {names}, not {value!r}")
        elif name == "headers":
            wrong = {key: actual.get(key) for key in value if actual.get(key) != value[key]}
            if wrong:
                found.append(f"of its headers are other: {wrong!r}")
        elif name == "body":
            if not _is_body(actual, value):
                found.append(f"body is {shown(actual)}")
        elif actual != value:
            found.append(f"{name} is {actual!r}")
    return found


def _is_body(actual: bytes, wanted: Any) -> bool:
    if isinstance(wanted, re.Pattern):
        return cast("re.Pattern[bytes]", wanted).search(actual) is not None
    return bool(wanted(actual)) if callable(wanted) else actual == wanted


__all__ = ["Body", "Happening", "Happenings", "HistoryView", "NotAsExpected"]
