"""QueueOptions: the meaning of a queue's arguments, under the names that RabbitMQ and Qpid's brokers gave them.

Qpid's are those of Broker-J's appendix "Queue Declaration Arguments" and of the C++ broker; their clients also write
numbers as text.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, Literal

from ..._ground.record import record
from .faults import Fault, FaultKind

NO_ARGUMENTS: Final[Mapping[str, Any]] = {}

Overflow = Literal["drop-head", "reject-publish", "reject-publish-dlx"]
_OVERFLOWS: Final[Mapping[str, Overflow]] = {
    "drop-head": "drop-head",
    "reject-publish": "reject-publish",
    "reject-publish-dlx": "reject-publish-dlx",
}
_POLICY: Final = "qpid.policy_type"
_LIMITS_OF_QPID: Final = ("qpid.max_count", "qpid.max_size")
"""The limits that Qpid's policy applies to."""
_POLICIES: Final[Mapping[str, Overflow | None]] = {
    "reject": "reject-publish",
    "ring": "drop-head",
    "ring_strict": "drop-head",
    "flow_to_disk": None,
}
"""The overflow behaviour of qpid.policy_type; None: no limit, the queue may exceed what it keeps in memory."""
_LAST_VALUE: Final = "qpid.LVQ_key"
"""The default key header of a last-value queue."""
_MOST_LEVELS: Final = 256
_LONGEST_NUMBER: Final = 20
"""Most digits of a number given as text."""
_LONGEST: Final = (1 << 32) - 1
"""The highest time to live, in milliseconds."""


class Lifetime(Enum):
    """When a dynamic node of 1.0 is deleted (part 3 section 5)."""

    ON_CLOSE = "on-close"
    ON_NO_LINKS = "on-no-links"
    ON_NO_MESSAGES = "on-no-messages"
    ON_NO_LINKS_OR_MESSAGES = "on-no-links-or-messages"


@record
class QueueOptions:
    """Properties of a queue that its arguments set.

    | field | argument | meaning |
    |---|---|---|
    | `message_ttl` | x-message-ttl (milliseconds) | seconds that a message may wait; None: forever |
    | `expires` | x-expires (milliseconds) | seconds without use before the queue is deleted; None: never |
    | `max_length` | x-max-length, qpid.max_count | messages that may wait; None: any number |
    | `max_octets` | x-max-length-bytes, qpid.max_size | octets of bodies that may wait |
    | `overflow` | x-overflow, qpid.policy_type | at a limit: drop the oldest, or refuse publishes |
    | `dead_letter_exchange` | x-dead-letter-exchange | exchange for rejected, expired and surplus messages |
    | `dead_letter_routing_key` | x-dead-letter-routing-key | their routing key; None: their own |
    | `max_priority` | x-max-priority | the highest level of priority; None: two levels, 0 to 4 and 5 and above |
    | `single_active_consumer` | x-single-active-consumer | one consumer at a time receives all messages |
    | `delivery_limit` | x-delivery-limit | failed deliveries before dead-lettering; None, -1: any number |
    | `consumer_timeout` | x-consumer-timeout (milliseconds) | seconds to settle; None: the broker's |
    | `levels` | qpid.priorities, x-qpid-priorities | levels of priority, as 0-10 spreads them around the middle |
    | `last_value_key` | qpid.last_value_queue_key, qpid.last_value_queue | header: the newest of each value stays |
    | `group_key` | qpid.group_header_key | header whose value groups messages for one consumer |
    | `shared_groups` | qpid.shared_msg_group | a consumer keeps a group while it holds some of it; else until it ends |
    """

    message_ttl: float | None = None
    expires: float | None = None
    max_length: int | None = None
    max_octets: int | None = None
    overflow: Overflow = "drop-head"
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    max_priority: int | None = None
    single_active_consumer: bool = False
    delivery_limit: int | None = None
    consumer_timeout: float | None = None
    levels: int | None = None
    last_value_key: str | None = None
    group_key: str | None = None
    shared_groups: bool = False


ARGUMENTS: Final[Mapping[str, str]] = {
    "x-message-ttl": "message_ttl",
    "x-expires": "expires",
    "x-max-length": "max_length",
    "x-max-length-bytes": "max_octets",
    "x-overflow": "overflow",
    "x-dead-letter-exchange": "dead_letter_exchange",
    "x-dead-letter-routing-key": "dead_letter_routing_key",
    "x-max-priority": "max_priority",
    "x-single-active-consumer": "single_active_consumer",
    "x-delivery-limit": "delivery_limit",
    "x-consumer-timeout": "consumer_timeout",
    "qpid.policy_type": "overflow",
    "qpid.max_count": "max_length",
    "qpid.max_size": "max_octets",
    "x-qpid-priorities": "levels",
    "qpid.priorities": "levels",
    "qpid.last_value_queue": "last_value_key",
    "qpid.last_value_queue_key": "last_value_key",
    "qpid.group_header_key": "group_key",
    "qpid.shared_msg_group": "shared_groups",
}
"""The field of `QueueOptions` that an argument sets. If several are given, the last one here wins."""
NO_LOCAL: Final = "no-local"
"""Excludes messages of the subscriber's own connection (Qpid's JMS client); the front end applies it."""

WITHOUT_EFFECT: Final = frozenset(
    {
        *("x-queue-type", "x-queue-mode", "x-queue-version", "x-queue-master-locator"),
        *("x-queue-leader-locator", "x-quorum-initial-group-size", "x-max-in-memory-length"),
        *("x-max-in-memory-bytes", "x-dead-letter-strategy"),
        *("qpid.file_count", "qpid.file_size", "qpid.persist_last_node", "qpid.replicate", "qpid.optimistic_consume"),
        *("qpid.flow_stop_count", "qpid.flow_resume_count", "qpid.flow_stop_size", "qpid.flow_resume_size"),
        *("qpid.alert_count", "qpid.alert_size", "qpid.alert_repeat_gap", "qpid.alert_count_up"),
        *("qpid.alert_count_down", "qpid.alert_size_up", "qpid.alert_size_down"),
        *("x-qpid-capacity", "x-qpid-flow-resume-capacity", NO_LOCAL),
    }
)
"""Arguments about storing and monitoring a queue, without effect on its clients."""

_QUEUE_TYPES: Final = ("classic", "quorum")


def queue_options(arguments: Mapping[str, Any], *, strict: bool = False) -> QueueOptions:
    """Parse a queue's arguments. Unknown ones are ignored, or refused with `strict`.

    Raises Fault: BAD_ARGUMENT, UNKNOWN_ARGUMENT; `field` names the argument.
    """
    if not arguments:
        return _DEFAULT
    values: dict[str, Any] = {}
    for name, value in arguments.items():
        if name not in ARGUMENTS:
            if strict and name not in WITHOUT_EFFECT:
                raise Fault(FaultKind.UNKNOWN_ARGUMENT, f"queues have no argument {name!r}", name)
            if name == "x-queue-type":
                _one_of(name, value, _QUEUE_TYPES)
    policy = _policy(_POLICY, arguments.get(_POLICY, "reject"))
    for name, field in ARGUMENTS.items():
        if name not in arguments or name == _POLICY:
            continue
        value = _READERS[name](name, arguments[name])
        if name in _LIMITS_OF_QPID:
            if policy is None:
                continue
            values["overflow"] = policy
        values[field] = value
    if "dead_letter_routing_key" in values and "dead_letter_exchange" not in values:
        name = "x-dead-letter-routing-key"
        raise _bad(name, "it needs x-dead-letter-exchange beside it")
    return QueueOptions(**values)


def as_text(value: Any) -> str | None:
    """Return text given as str or octets; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "surrogateescape")
    return None


def is_whole(value: object) -> bool:
    """Whether it is an integer and no boolean."""
    return isinstance(value, int) and not isinstance(value, bool)


def _seconds(name: str, value: Any) -> float:
    milliseconds = _count(name, value)
    if milliseconds > _LONGEST:
        raise _bad(name, f"{milliseconds} milliseconds are more than {_LONGEST}")
    return milliseconds / 1000


def _positive_seconds(name: str, value: Any) -> float:
    seconds = _seconds(name, value)
    if not seconds:
        raise _bad(name, "0 milliseconds; it has to be 1 at least")
    return seconds


def _count(name: str, value: Any) -> int:
    if not is_whole(value):
        raise _bad(name, f"{value!r} is no whole number")
    if value < 0:
        raise _bad(name, f"{value} is negative")
    return int(value)


def _limit(name: str, value: Any) -> int:
    return -1 if is_whole(value) and value == -1 else _count(name, value)


def _priority(name: str, value: Any) -> int:
    level = _count(name, value)
    if level > 255:
        raise _bad(name, f"{level} is above 255")
    return level


def _text(name: str, value: Any) -> str:
    text = as_text(value)
    if text is None:
        raise _bad(name, f"{value!r} is no text")
    return text


def _truth(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _bad(name, f"{value!r} is no truth value")
    return value


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    text = _text(name, value)
    if text not in allowed:
        raise _bad(name, f"{text!r} is none of {', '.join(allowed)}")
    return text


def _overflow(name: str, value: Any) -> Overflow:
    return _OVERFLOWS[_one_of(name, value, tuple(_OVERFLOWS))]


def _number(name: str, value: Any) -> int:
    """Return a count that may be given as text."""
    text = as_text(value)
    if text is not None and len(text) <= _LONGEST_NUMBER and text.isascii() and text.isdigit():
        return int(text)
    return _count(name, value)


def _levels(name: str, value: Any) -> int:
    levels = _number(name, value)
    if not 1 <= levels <= _MOST_LEVELS:
        raise _bad(name, f"{levels} is outside 1 to {_MOST_LEVELS}")
    return levels


def _flag(name: str, value: Any) -> bool:
    """Return a boolean that may be given as a number or text."""
    text = as_text(value)
    if text is not None and text.lower() in ("true", "false"):
        return text.lower() == "true"
    return value if isinstance(value, bool) else _number(name, value) != 0


def _last_value(name: str, value: Any) -> str | None:
    return _LAST_VALUE if _flag(name, value) else None


def _policy(name: str, value: Any) -> Overflow | None:
    return _POLICIES[_one_of(name, value, tuple(_POLICIES))]


def _bad(name: str, why: str) -> Fault:
    return Fault(FaultKind.BAD_ARGUMENT, f"invalid arg {name!r}: {why}", name)


_READERS: Final = {
    "x-message-ttl": _seconds,
    "x-expires": _positive_seconds,
    "x-max-length": _count,
    "x-max-length-bytes": _count,
    "x-overflow": _overflow,
    "x-dead-letter-exchange": _text,
    "x-dead-letter-routing-key": _text,
    "x-max-priority": _priority,
    "x-single-active-consumer": _truth,
    "x-delivery-limit": _limit,
    "x-consumer-timeout": _positive_seconds,
    "qpid.max_count": _number,
    "qpid.max_size": _number,
    "x-qpid-priorities": _levels,
    "qpid.priorities": _levels,
    "qpid.last_value_queue": _last_value,
    "qpid.last_value_queue_key": _text,
    "qpid.group_header_key": _text,
    "qpid.shared_msg_group": _flag,
}
_DEFAULT: Final = QueueOptions()
