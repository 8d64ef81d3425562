"""Ledger: what became of every message of a world; findings are what a promise doesn't allow."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, Final

from ..._ground.record import record
from ...broker.contents.bodies import body_of
from ...broker.model.states import State
from ...printing import printable

if TYPE_CHECKING:
    from ...broker import Broker, Happened
    from ...broker.model.entry import Entry

LONGEST: Final = 60


class Promise(Enum):
    """How often a message that the broker accepted, or that a program knows to be sent, is worked on."""

    AT_MOST_ONCE = "at most once"
    AT_LEAST_ONCE = "at least once"
    EXACTLY_ONCE = "exactly once"


class Kind(Enum):
    """The kinds of findings."""

    LOST = "lost"
    """It left its queue, and nobody worked on it; or its sender knows it to be sent, and it never came into a queue."""
    DOUBLED = "doubled"
    """It was worked on more than once."""
    UNSETTLED = "unsettled"
    """At rest a consumer holds it, and neither settles nor returns it."""
    LEFT = "left"
    """At rest it waits in its queue, and nobody takes it."""
    STUCK = "stuck"
    """A program waits for something that never comes."""
    FAILED = "failed"
    """A program ended with an error, more often than it may be started again."""
    MEMORY = "memory"
    """A connection or a broker kept more octets than its limits allow."""
    UNSTEADY = "unsteady"
    """Two runs of one schedule differ: a program takes something from outside the world."""


@record
class Finding:
    """Something that a promise doesn't allow: of one message by its `body`, or of a program (`body` is empty)."""

    kind: Kind
    body: bytes
    text: str

    def __str__(self) -> str:
        return f"{self.kind.value}: {self.text}"


def shown(body: bytes) -> str:
    """Return a body for a line of text."""
    text = repr(body if len(body) <= LONGEST else body[:LONGEST])
    return printable(text if len(body) <= LONGEST else f"{text}...")


class Ledger:
    """Counts by body, which tells messages apart: what entered the queues under watch, was sent, and was worked on."""

    def __init__(self, promise: Promise) -> None:
        self.promise = promise
        self.queues: set[str] = set()
        self.entered: dict[bytes, int] = {}
        self.sent: dict[bytes, int] = {}
        self.worked: dict[bytes, int] = {}
        self.left_by: dict[bytes, str] = {}
        self.seen = 0
        """Messages that entered a queue under watch, ever."""

    def clear(self) -> None:
        """Forget every message."""
        for counts in (self.entered, self.sent, self.worked, self.left_by):
            counts.clear()

    def take(self, happened: Happened) -> str:
        """Count a record of a broker's history; return a line about it, "" if it concerns no queue under watch."""
        if happened.queue not in self.queues or happened.kind in ("published", "unroutable"):
            return ""
        body = body_of(happened.content)
        kind = happened.kind
        where = f"in {happened.queue!r}"
        if kind == "routed":
            self.entered[body] = self.entered.get(body, 0) + 1
            self.seen += 1
            return f"{shown(body)} enters queue {happened.queue!r}"
        again = " again" if happened.redelivered else ""
        if kind in ("delivered", "got"):
            return f"the broker delivers {shown(body)}{again}"
        self.left_by[body] = f"{kind}{f' ({happened.reason})' if happened.reason else ''}"
        return f"{shown(body)} {where} is {self.left_by[body]}"

    def findings(self, brokers: Iterable[Broker]) -> Iterator[Finding]:
        """Yield what the promise doesn't allow, at rest."""
        inside: set[bytes] = set()
        for broker in brokers:
            for entry in self._entries(broker):
                body, queue = body_of(entry.message.content), entry.queue.name
                inside.add(body)
                if entry.state is State.ACQUIRED:
                    text = f"{shown(body)} of queue {queue!r} was delivered, and is neither settled nor returned"
                    yield Finding(Kind.UNSETTLED, body, text)
                else:
                    yield Finding(Kind.LEFT, body, f"{shown(body)} waits in queue {queue!r}, and nobody takes it")
        for body in self.entered | self.sent:
            count = self.worked.get(body, 0)
            if count > 1 and self.promise is not Promise.AT_LEAST_ONCE:
                yield Finding(Kind.DOUBLED, body, f"{shown(body)} was worked on {count} times")
            if not count and body not in inside and self.promise is not Promise.AT_MOST_ONCE:
                yield Finding(Kind.LOST, body, self._story(body))

    def _story(self, body: bytes) -> str:
        if body not in self.entered:
            return f"{shown(body)} was sent, as its sender knows, and never entered a queue"
        return f"{shown(body)} was {self.left_by.get(body, 'in its queue, which is gone')}, and nobody worked on it"

    def _entries(self, broker: Broker) -> Iterator[Entry]:
        """Yield the messages in the queues under watch, waiting or held by somebody."""
        for vhost in broker.vhosts.values():
            for name in sorted(self.queues & set(vhost.queues)):
                yield from vhost.queues[name].available()
        for owner in broker.owners.values():
            for entry in owner.held:
                if entry.queue.name in self.queues and entry.state is State.ACQUIRED:
                    yield entry
