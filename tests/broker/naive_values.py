"""What the naive model is made of: messages, queues, consumers, owners, exchanges, transactions; and matching."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, NoReturn

PREDECLARED = {
    "": "direct",
    "amq.direct": "direct",
    "amq.fanout": "fanout",
    "amq.topic": "topic",
    "amq.headers": "headers",
    "amq.match": "headers",
}
TYPES = ("direct", "fanout", "topic", "headers", "system")
MODES = ("all", "any", "all-with-x", "any-with-x")
MESSAGE = PLACE = 256
"""Octets that a message takes beside its content, and each of its places in queues."""


class Disagreement(AssertionError):
    """The other model did what may not be done."""


class Refusal(Exception):
    """A command that isn't carried out; `kinds` are the faults that it has, any of which may be told."""

    def __init__(self, *kinds: str) -> None:
        super().__init__(*kinds)
        self.kinds = kinds


class Dying(NamedTuple):
    """One death of a message, as `Death` has it."""

    queue: str
    reason: str
    times: int
    exchange: str
    keys: tuple[str, ...]
    time: float


class Note:
    """A message: what the naive model knows of its content is what it was told."""

    def __init__(
        self,
        body: bytes,
        exchange: str,
        key: str,
        headers: dict[str, Any] | None = None,
        priority: int = 0,
        ttl: float | None = None,
        publisher: int = 0,
        deaths: tuple[Dying, ...] = (),
        persistent: bool = False,
        kept: int = 0,
    ) -> None:
        self.body = body
        self.exchange = exchange
        self.key = key
        self.headers: dict[str, Any] = headers or {}
        self.priority = priority
        self.ttl = ttl
        self.publisher = publisher
        self.deaths = deaths
        self.persistent = persistent
        self.kept = kept
        """Octets of its properties and body, for windows that overdraw and for transactions."""
        self.walk: list[str] | None = None
        """The queues that it and its kin have reached as dead letters, since a rejection."""

    def letter(self, exchange: str, key: str, deaths: tuple[Dying, ...]) -> Note:
        """What goes on when it dies: the same message without its time to live."""
        return Note(
            self.body, exchange, key, self.headers, self.priority, None, self.publisher, deaths, self.persistent
        )


class Copy:
    """A message in one queue: state "available", "acquired" or "archived". `tag` is the other model's name for it."""

    def __init__(self, note: Note, queue: NaiveQueue, position: int, expires: float | None) -> None:
        self.note = note
        self.queue = queue
        self.position = position
        self.expires = expires
        self.state = "available"
        self.redelivered = False
        self.count = 0
        self.owner: int | None = None
        self.consumer: NaiveConsumer | None = None
        self.transaction: int | None = None
        self.excluded: list[Hashable] = []
        self.takers: list[NaiveConsumer] = []
        self.tag: Hashable = None

    @property
    def level(self) -> int:
        highest = self.queue.arguments.get("x-max-priority")
        if highest is None:
            return 1 if self.note.priority >= 5 else 0
        return int(min(self.note.priority, highest))


class NaiveQueue:
    """`copies` are all that aren't archived, in the order in which they came."""

    def __init__(self, name: str, arguments: dict[str, Any], now: float) -> None:
        self.name = name
        self.arguments = arguments
        self.durable = False
        self.auto_delete = False
        self.outlives = False
        self.exclusive: int | None = None
        self.active: NaiveConsumer | None = None
        self.alternate: str | None = None
        self.copies: list[Copy] = []
        self.consumers: list[NaiveConsumer] = []
        self.positions = 0
        self.used = now
        self.gone = False
        self.lifetime: str | None = None
        self.creator: int | None = None
        self.links: list[int] = []

    def ordered(self) -> list[Copy]:
        """Those that are available, as they are to be delivered: by priority, then age."""
        return sorted(
            (each for each in self.copies if each.state == "available"), key=lambda each: (-each.level, each.position)
        )

    def held(self) -> list[Copy]:
        return [each for each in self.copies if each.state == "acquired"]


class Room:
    """A window: what may still be delivered. With `overdraws` a message fits while anything is left, and with `idle`
    one that is too big fits while nothing else is out."""

    def __init__(
        self, messages: int | None, octets: int | None, refills: bool, overdraws: bool = False, idle: int | None = None
    ) -> None:
        self.messages = messages
        self.octets = octets
        self.refills = refills
        self.overdraws = overdraws
        self.idle = idle

    def fits(self, size: int) -> bool:
        if self.messages is not None and self.messages <= 0:
            return False
        if self.octets is None or self.octets == self.idle:
            return True
        return self.octets > 0 if self.overdraws else size <= self.octets

    def move(self, messages: int, octets: int) -> None:
        if self.messages is not None:
            self.messages += messages
        if self.octets is not None:
            self.octets += octets


class NaiveConsumer:
    def __init__(self, number: int, owner: int, queue: NaiveQueue, key: Hashable, rooms: list[Room]) -> None:
        self.number = number
        self.owner = owner
        self.queue = queue
        self.key = key
        self.rooms = rooms
        self.acquires = True
        self.settles = False
        self.exclusive = False
        self.no_local = False
        self.priority = 0
        self.accepts: Callable[[Note], bool] | None = None
        self.octets_of: Callable[[Note], int] | None = None
        self.passed: dict[int, int] = {}
        self.overtaken: dict[int, int] = {}
        self.starved = 0
        self.ended = False

    def size_of(self, note: Note) -> int:
        """Octets that a message takes of its windows."""
        return len(note.body) if self.octets_of is None else self.octets_of(note)

    def has_room(self, note: Note) -> bool:
        return all(room.fits(self.size_of(note)) for room in self.rooms)


class NaiveOwner:
    def __init__(self, number: int, parent: int | None, connection: int) -> None:
        self.number = number
        self.parent = parent
        self.connection = connection


class NaiveExchange:
    def __init__(self, name: str, type: str) -> None:
        self.name = name
        self.type = type
        self.own = name in PREDECLARED
        self.durable = self.own
        self.auto_delete = False
        self.internal = False
        self.alternate: str | None = None


class Binding(NamedTuple):
    source: str
    kind: str
    """"queue" or "exchange"."""
    destination: str
    key: str
    arguments: tuple[tuple[str, Any], ...]


class Branch:
    """A transaction with what is to be done at its end."""

    def __init__(self, owner: int | None) -> None:
        self.owner = owner
        self.is_over = False
        self.work: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
        self.copies: list[Copy] = []
        self.octets = 0


class Witness(ABC):
    """Who saw the deliveries that the other model made, those to different clients in order, too."""

    @abstractmethod
    def choose(
        self, queue: NaiveQueue, legal: Sequence[tuple[NaiveConsumer, Copy]]
    ) -> tuple[NaiveConsumer, Copy] | None:
        """Which of the deliveries that a queue may make now was made next; None: none of them, or later."""

    def choose_letter(self, letters: Sequence[tuple[NaiveQueue, Note, str]]) -> int:
        """Which of these dead letters, each the first one of its queue, went first."""
        return 0


class Event(NamedTuple):
    """What else is told to others: ("cancelled", consumer's number) or ("deleted", kind and name)."""

    what: str
    whom: Any


def matches_topic(pattern: str, key: str) -> bool:
    """0-9-1 section 3.1.3.3: "*" is one word, "#" any number of words."""

    def match(patterns: list[str], words: list[str]) -> bool:
        if not patterns:
            return not words
        if patterns[0] == "#":
            return any(match(patterns[1:], words[count:]) for count in range(len(words) + 1))
        return bool(words) and patterns[0] in ("*", words[0]) and match(patterns[1:], words[1:])

    return match(pattern.split(".") if pattern else [], key.split(".") if key else [])


def matches_headers(wanted: dict[str, Any], headers: dict[str, Any]) -> bool:
    """0-9-1 section 3.1.3.4; a binding without x-match wants all. RabbitMQ's modes with x look at names with x- too."""
    mode = wanted.get("x-match", "all")
    with_x = mode.endswith("-with-x")
    names = [name for name in wanted if name != "x-match" and (with_x or not name.startswith("x-"))]
    hits = [name in headers and (wanted[name] is None or typed(headers[name]) == typed(wanted[name])) for name in names]
    return any(hits) if mode.startswith("any") else all(hits)


def typed(value: Any) -> tuple[str, Any]:
    """A value that is equal only to one of the same type."""
    return type(value).__name__, value


def typed_items(arguments: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    """What two sets of arguments have to have alike to be the same."""
    return tuple((name, typed(arguments[name])) for name in sorted(arguments))


KNOWN: dict[str, Callable[[Any], bool]] = {
    "x-message-ttl": lambda value: is_count(value, 0, 2**32 - 1),
    "x-expires": lambda value: is_count(value, 1, 2**32 - 1),
    "x-max-length": lambda value: is_count(value, 0, None),
    "x-max-length-bytes": lambda value: is_count(value, 0, None),
    "x-max-priority": lambda value: is_count(value, 0, 255),
    "x-delivery-limit": lambda value: is_count(value, 0, None),
    "x-dead-letter-exchange": lambda value: isinstance(value, str),
    "x-dead-letter-routing-key": lambda value: isinstance(value, str),
    "x-overflow": lambda value: value in ("drop-head", "reject-publish", "reject-publish-dlx"),
    "x-single-active-consumer": lambda value: isinstance(value, bool),
}
"""The arguments of queues, and what their values may be."""


def is_count(value: Any, least: int, most: int | None) -> bool:
    """Whether it is a whole number between the two."""
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least and (most is None or value <= most)


def argument_faults(arguments: dict[str, Any], strict: bool) -> list[str]:
    """What is wrong with a queue's arguments."""
    faults = ["bad-argument" for name, value in arguments.items() if name in KNOWN and not KNOWN[name](value)]
    if "x-dead-letter-routing-key" in arguments and "x-dead-letter-exchange" not in arguments:
        faults.append("bad-argument")
    if arguments.get("x-queue-type", "classic") not in ("classic", "quorum"):
        faults.append("bad-argument")
    if strict and any(name not in KNOWN and name != "x-queue-type" for name in arguments):
        faults.append("unknown-argument")
    return faults


def fail(text: str) -> NoReturn:
    raise Disagreement(text)
