"""The stand-in for Service Bus with Microsoft's clients of other languages, unmodified: each row of their samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

import pytest

from amqp_sansio_pytest import ServiceBus
from tests.interop.brokers.azure_sdks import SERVICE_BUS, Sdk


class Sample(NamedTuple):
    """A row: what the program finds, the queue's options, and what is left of each entity."""

    told: Any
    """What the program prints. A text that begins with `!` is looked up in `NAMES`, since each SDK has its own."""
    options: Mapping[str, Any] = {}
    """Options of the queue `orders`."""
    left: Mapping[str, Any] = {}
    """Numbers that the queue has at the end, by their names."""


NAMES: Final[dict[str, dict[str, Any]]] = {
    "node": {
        "first": 0,
        "lock lost": "MessageLockLost",
        "session lock lost": "SessionLockLost",
        "cannot be locked": "SessionCannotBeLocked",
        "timeout": "ServiceTimeout",
        "missing": "MessagingEntityNotFound",
        "disabled": "MessagingEntityDisabled",
        "full": "QuotaExceeded",
        "too large": "AbortError",
        "no message": "MessageNotFound",
        "there already": "MessagingEntityAlreadyExists",
        "argument": "GeneralError",
        "no rule": "MessagingEntityNotFound",
        "state": "active",
    },
    "go": {
        "first": 1,
        "lock lost": "locklost",
        # It settles on the link that has ended, and waits as long as its caller lets it.
        "session lock lost": "context deadline exceeded",
        "cannot be locked": "com.microsoft:session-cannot-be-locked",
        "timeout": "timeout",
        "missing": "amqp:not-found",
        "disabled": "com.microsoft:entity-disabled",
        "full": "amqp:resource-limit-exceeded",
        "too large": "the message is too large",
        "no message": "notfound",
        "state": 0,
    },
    "java": {
        "first": 0,
        "lock lost": "MESSAGE_LOCK_LOST",
        "session lock lost": "SESSION_LOCK_LOST",
        "cannot be locked": "SESSION_CANNOT_BE_LOCKED",
        "timeout": "IllegalStateException",
        "missing": "MESSAGING_ENTITY_NOT_FOUND",
        "disabled": "MESSAGING_ENTITY_DISABLED",
        "full": "QUOTA_EXCEEDED",
        "too large": "MESSAGE_SIZE_EXCEEDED",
        "no message": "nothing",
        "there already": "MESSAGING_ENTITY_ALREADY_EXISTS",
        "argument": "GENERAL_ERROR",
        "no rule": "MESSAGING_ENTITY_NOT_FOUND",
        "state": "ACTIVE",
    },
}
"""What each SDK calls the service's errors, and what it counts deliveries from."""

SAMPLES: Final[dict[str, Sample]] = {
    "complete": Sample(
        {
            "body": "hello",
            "id": "m1",
            "subject": "s",
            "correlation": "c",
            "type": "text/plain",
            "replyTo": "r",
            "to": "t",
            "key": "p",
            "properties": {"a": 1, "b": "two"},
            "count": "!first",
            "number": 1,
            "enqueued": 1,
            "ttl": 300,
            "lock": 60,
            "expires": 300,
        },
        left={"active": 0, "locked": 0},
    ),
    "batch": Sample(["0", "1", "2", "3", "4", "5"], left={"active": 6}),
    "largest": Sample({"fit": True, "large": "!too large"}, {"max_message_size": 2000}, {"active": 1}),
    "large": Sample(900_000, {"max_message_size": 1 << 20}, {"active": 0}),
    "deleting": Sample(["0", "1"], left={"active": 0}),
    "processor": Sample(["0", "1", "2", "3", "4"], left={"active": 0}),
    "abandon": Sample(
        {"counts": [0, 1, 2], "left": 0, "reason": "MaxDeliveryCountExceeded", "seen": 2},
        {"max_delivery_count": 3},
        {"active": 0, "dead_letters": 1},
    ),
    "dead": Sample(["hello", "bad", "why", "orders"], left={"active": 0, "dead_letters": 0}),
    "defer": Sample(["hello", "refused"], left={"active": 0, "deferred": 0}),
    "deferred": Sample(["0", "1", "2", "3"], left={"deferred": 2, "dead_letters": 1}),
    "peek": Sample([["0", "1", "2"], ["3", "4"], [], "!state"], left={"active": 5, "locked": 0}),
    "schedule": Sample([2, "!no message", [], ["2", "3"]], left={"scheduled": 0}),
    "locks": Sample([20, "!lock lost", 1, "!lock lost"], {"lock_duration": 30}, {"active": 0}),
    "expiry": Sample("TTLExpiredException", {"dead_letters_expired": True}, {"active": 0, "dead_letters": 1}),
    "duplicates": Sample("sent", {"duplicate_window": 60}, {"active": 2}),
    "session": Sample(
        {"found": [["1", "a"], ["3", "a"]], "id": "a", "states": [None, "half"], "renewed": 10},
        {"requires_session": True},
        {"active": 1},
    ),
    "next": Sample([["a", "1"], ["b", "2"]], {"requires_session": True}, {"active": 0}),
    "none": Sample("!timeout", {"requires_session": True}),
    "held": Sample("!cannot be locked", {"requires_session": True}),
    "lost": Sample(["!session lock lost", 1], {"requires_session": True, "lock_duration": 30}),
    "deferredOfSession": Sample("1", {"requires_session": True}, {"active": 0, "deferred": 0}),
    "sessions": Sample(["a", "b", "c"], {"requires_session": True}),
    "topic": Sample(["1", "1", ["1", "2"]]),
    "scheduledToTopic": Sample([[], ["later"]]),
    "rules": Sample(
        {
            "rules": [["blue", "colour = 'blue'"], ["mine", "me"]],
            "action": "SET seen = 'yes'",
            "twice": "!there already",
            "wrong": "!argument",
            "missing": "!no rule",
            "found": [["1", "yes"], ["2", None]],
        }
    ),
    "missing": Sample(["!missing", "!missing"], left={"active": 1}),
    "disabled": Sample("!disabled", {"status": "SendDisabled"}, {"active": 0}),
    "full": Sample("!full", {"max_octets": 300}, {"active": 0}),
    "transactions": Sample([[], ["first", "second"]], left={"active": 2, "scheduled": 1}),
    "settlingInTransactions": Sample(["2", 1], left={"active": 2, "locked": 2, "deferred": 1, "dead_letters": 1}),
    "idle": Sample(["1", "2"], left={"active": 2}),
}
_TRANSACTIONS: Final = {"transactions", "settlingInTransactions"}
NOT_THERE: Final = {"node": {"sessions", *_TRANSACTIONS}, "go": {"rules", *_TRANSACTIONS}, "java": {"sessions"}}
"""What an SDK doesn't have."""
SAME: Final = {"disabled": "refused", "full": "refused"}
"""Rows whose program is that of another."""


ROWS: Final = [(sdk, name) for sdk in SERVICE_BUS for name in SAMPLES if name not in NOT_THERE[sdk]]


@pytest.fixture(scope="module")
def programs() -> Iterator[Callable[[str], Sdk]]:
    """The program of a language, started once."""
    started: dict[str, Sdk] = {}

    def find(language: str) -> Sdk:
        if language not in started:
            started[language] = SERVICE_BUS[language]()
        return started[language]

    yield find
    for each in started.values():
        each.stop()


@pytest.fixture
def bus() -> Iterator[ServiceBus]:
    with ServiceBus() as found:
        yield found
    assert found.broker.errors == []


def named(value: Any, names: Mapping[str, Any]) -> Any:
    """What a row says, with the names of an SDK."""
    if isinstance(value, str):
        return names[value[1:]] if value.startswith("!") else value
    if isinstance(value, list):
        return [named(each, names) for each in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {key: named(each, names) for key, each in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


@pytest.mark.parametrize("language,name", ROWS)
def test_sample(programs: Callable[[str], Sdk], bus: ServiceBus, language: str, name: str) -> None:
    sample = SAMPLES[name]
    queue = bus.queue("orders", **sample.options)
    news = bus.topic("news")
    news.subscription("every")
    news.subscription("red", sql="colour = 'red' AND sys.Label LIKE 's%'")
    told = programs(language).run(SAME.get(name, name), bus.port, bus.clock.advance)
    assert told == named(sample.told, NAMES[language])
    assert {each: getattr(queue, each) for each in sample.left} == sample.left
