"""What the rules of the machine that compares both models choose from: names, arguments, messages, windows."""

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from amqp_sansio.broker.model.commands import Lifetime

QUEUES = ("qa", "qb", "qc", "q1")
"""`OddLength` wants what is published with the names of the first and the last."""
EXCHANGES = ("ea", "eb", "ec")
OWN = ("amq.direct", "amq.fanout", "amq.topic", "amq.headers", "amq.match")
KEYS = (*QUEUES, "", "x.a", "x.y.1", "y")
PATTERNS = (*KEYS, "#", "*", "x.*", "#.1", "*.y.#")

_Value = TypeVar("_Value")


def rarely(usual: _Value, *others: _Value) -> st.SearchStrategy[_Value]:
    """`usual` in three of four cases, and in what every shrunk example has."""
    return st.sampled_from((*[usual] * 3 * len(others), *others))


def often(names: tuple[str, ...], *others: str) -> st.SearchStrategy[str]:
    """Names that are right mostly; `others` now and then."""
    return st.sampled_from((*names * 3, *others))


PICK = st.integers(0, 9)
"""A place in a list of any length, as `picked` reads it."""
NAME = st.integers(0, 99)
"""A name of those that there are, as `named` reads it."""
QUEUE = often(QUEUES, "", "amq.mine")
EXCHANGE = often((*EXCHANGES, *OWN), "", "amq.mine")
KEY = st.sampled_from(KEYS)
PATTERN = st.sampled_from(PATTERNS)
TYPE = often(("direct", "fanout", "topic", "headers"), "system", "failover", "no-type")
ALTERNATE = rarely(None, *EXCHANGES[:2], "amq.fanout", "nowhere")
SELDOM = rarely(False, True)
NEVER = st.sampled_from((*[False] * 7, True))
"""Hardly ever."""
FEW = st.sampled_from((1, 1, 1, 2, 3))

TIMES: tuple[dict[str, Any], ...] = ({"x-message-ttl": 0}, {"x-message-ttl": 2000}, {"x-expires": 3000})
BOUNDS: tuple[dict[str, Any], ...] = (
    {"x-max-length": 0},
    {"x-max-length": 2},
    {"x-max-length": 3, "x-overflow": "drop-head"},
    {"x-max-length-bytes": 12},
    {"x-max-length": 1, "x-overflow": "reject-publish"},
    {"x-max-length-bytes": 9, "x-overflow": "reject-publish-dlx"},
)
DEATHS: tuple[dict[str, Any], ...] = (
    {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "qa"},
    {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "qb"},
    {"x-dead-letter-exchange": "amq.fanout"},
    {"x-dead-letter-exchange": "ea"},
    {"x-dead-letter-exchange": ""},
)
RETRIES: tuple[dict[str, Any], ...] = ({"x-delivery-limit": 0}, {"x-delivery-limit": 1})
PRIORITIES: tuple[dict[str, Any], ...] = ({"x-max-priority": 0}, {"x-max-priority": 2})
SINGLE: tuple[dict[str, Any], ...] = (
    {"x-single-active-consumer": True},
    {"x-single-active-consumer": True},
    {"x-single-active-consumer": False},
)
FAULTY: tuple[dict[str, Any], ...] = (
    {"x-dead-letter-routing-key": "qa"},
    {"x-message-ttl": -1},
    {"x-message-ttl": 2**32},
    {"x-expires": 0},
    {"x-max-length": "3"},
    {"x-max-length": True},
    {"x-max-priority": 256},
    {"x-overflow": "no-overflow"},
    {"x-single-active-consumer": 1},
    {"x-dead-letter-exchange": 7},
    {"x-queue-type": "stream"},
    {"x-queue-type": "quorum"},
    {"x-unknown": 1},
)
"""Most of them are refused, by some only where everything has to be known."""


@st.composite
def queue_arguments(draw: st.DrawFn, most: int = 3) -> dict[str, Any]:
    """Arguments of a queue, of different kinds."""
    merged: dict[str, Any] = {}
    kinds = (DEATHS, TIMES, BOUNDS, RETRIES, PRIORITIES, SINGLE)
    for kind in draw(st.lists(st.sampled_from(kinds), max_size=most)):
        merged.update(draw(st.sampled_from(kind)))
    if draw(st.integers(0, 29)) == 29:
        merged.update(draw(st.sampled_from(FAULTY)))
    return merged


@st.composite
def ring(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Arguments of queues, of which each sends its dead letters to the next one."""
    ways: tuple[dict[str, Any], ...] = ({}, *TIMES[:2], BOUNDS[1], BOUNDS[4], *RETRIES)
    made: list[dict[str, Any]] = []
    for following in ("qb", "qc", "qa"):
        told = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": following}
        made.append({**told, **draw(st.sampled_from(ways))})
    return made


GROUND = st.one_of(st.lists(queue_arguments(2), min_size=1, max_size=3), ring())
"""The arguments of the queues that there are from the start."""


class Mail(NamedTuple):
    """A message that is to be published."""

    size: int
    priority: int | None
    milliseconds: int | None
    headers: dict[str, Any] | None
    mandatory: bool
    immediate: bool
    persistent: bool
    alternates: bool
    chained: bool
    rerouted: bool
    promised: bool


HEADERS: tuple[dict[str, Any] | None, ...] = (
    None,
    None,
    {"h": 1},
    {"h": True},
    {"h": 2, "k": "v"},
    {"k": "v", "x-h": 1},
)
MATCHES: tuple[dict[str, Any], ...] = (
    {},
    {},
    {"h": 1},
    {"x-match": "all", "h": 2, "k": "v"},
    {"x-match": "any", "h": 1, "k": "v"},
    {"x-match": "any"},
    {"k": None},
    {"x-match": "all-with-x", "x-h": 1},
    {"x-match": "any-with-x", "x-h": 2, "h": 1},
    {"x-match": "none"},
)
MAIL = st.builds(
    Mail,
    st.sampled_from((0, 0, 3, 6)),
    rarely(None, 1, 4, 5, 9),
    st.sampled_from((None, None, None, 0, 1000, 5000)),
    st.sampled_from(HEADERS),
    SELDOM,
    rarely(False, False, False, True),
    st.booleans(),
    rarely(True, False),
    SELDOM,
    NEVER,
    NEVER,
)


class Credit(NamedTuple):
    """A window that is to be made."""

    messages: int | None
    octets: int | None
    refills: bool
    overdraws: bool
    idles: bool


CREDIT = st.builds(
    Credit,
    st.sampled_from((None, None, 1, 1, 2, 3, 8, 0)),
    st.sampled_from((None, None, None, 4, 8, 20)),
    st.booleans(),
    SELDOM,
    st.booleans(),
)


class Terms(NamedTuple):
    """How somebody consumes."""

    acquires: bool
    settles: bool
    exclusive: bool
    no_local: bool
    priority: int
    choosy: bool
    measured: bool


TERMS = st.builds(Terms, rarely(True, False), NEVER, NEVER, NEVER, st.sampled_from((0, 0, 0, 1, -1)), NEVER, SELDOM)


class Nature(NamedTuple):
    """What a queue is beside its arguments."""

    durable: bool
    auto_delete: bool
    exclusive: bool
    alternate: str | None
    lifetime: Lifetime | None
    outlives: bool
    strict: bool


LIFETIME = st.sampled_from((None, None, None, None, *Lifetime))
NATURE = st.builds(Nature, st.booleans(), SELDOM, SELDOM, ALTERNATE, LIFETIME, st.booleans(), st.booleans())


class Way(NamedTuple):
    """An exchange that there is from the start: by `key` it sends to a queue, and gets what the one before it gets."""

    type: str
    auto_delete: bool
    alternate: str | None
    key: str


WAYS = st.lists(
    st.builds(
        Way,
        st.sampled_from(("direct", "fanout", "topic", "topic")),
        SELDOM,
        st.sampled_from((None, "ea", "eb", "ec", "amq.fanout")),
        PATTERN,
    ),
    max_size=3,
)
SIMPLE = Nature(True, False, False, None, None, False, False)


class Verdict(NamedTuple):
    """What becomes of messages."""

    how: str
    redelivered: bool
    failed: bool
    excluded: bool
    unsaid: bool
    rewritten: bool


HOW = st.sampled_from(("accept", "reject", "reject", "release", "release"))
VERDICT = st.builds(Verdict, HOW, SELDOM, st.booleans(), SELDOM, SELDOM, NEVER)
LIMITS: st.SearchStrategy[dict[str, int]] = rarely(
    {},
    {"memory_high": 3000, "memory_low": 2000},
    {"memory_high": 1200, "memory_low": 1200},
    {"transaction_octets": 800, "transactions": 2},
    {"consumers": 1, "queues": 2, "bindings": 2, "exchanges": 10},
)
COMPARED = st.sampled_from(
    [(), (), (), ("durable", "exclusive", "auto_delete", "alternate", "arguments"), ("durable",), ("arguments",)]
)

SECONDS = st.sampled_from((0.5, 1.0, 2.0, 4.0))


def picked(values: list[_Value], number: int) -> _Value:
    return values[number % len(values)]


def named(names: Iterable[str], number: int) -> str:
    there = [*names]
    return picked(there, number) if there and number < 98 else ("", "nowhere")[number % 2]


def some(values: list[_Value], number: int, count: int) -> list[_Value]:
    """Up to so many of them, each once, in any order."""
    kept = list(values)
    return [kept.pop(number * 7 % len(kept)) for _ in range(min(count, len(kept)))]
