"""Fault: the model's refusal of a command; each version maps it to its own code."""

from __future__ import annotations

from enum import Enum

from ...errors import AmqpError


class FaultKind(Enum):
    """The model's error categories. A front end maps them to its version's code and scope."""

    NOT_FOUND = "not-found"
    """The exchange, queue or virtual host doesn't exist."""
    BINDING_NOT_FOUND = "binding-not-found"
    """The exchange and the queue exist, the binding doesn't."""
    INEQUIVALENT = "inequivalent"
    """It exists with another property; `field` names that ("type", "durable", "alternate", an argument)."""
    TYPE_UNKNOWN = "type-unknown"
    """There is no such exchange type."""
    RESERVED_NAME = "reserved-name"
    """Names that begin with "amq." are reserved for the broker."""
    NAME_MISSING = "name-missing"
    """A name is empty where one is needed."""
    DEFAULT_EXCHANGE = "default-exchange"
    """The nameless exchange can't be declared, deleted, bound or unbound."""
    LOCKED = "locked"
    """The queue is exclusive to another owner."""
    EXCLUSIVE = "exclusive"
    """A consumer wants the queue for itself and isn't alone, or another has it for itself."""
    INTERNAL = "internal"
    """Clients can't publish to an internal exchange."""
    IN_USE = "in-use"
    """It has bindings or consumers, and `if_unused` was set."""
    NOT_EMPTY = "not-empty"
    """The queue has messages, and `if_empty` was set."""
    USED_AS_ALTERNATE = "used-as-alternate"
    """The exchange is the alternate of another one or of a queue."""
    BAD_ARGUMENT = "bad-argument"
    """An argument has an invalid value; `field` names it."""
    UNKNOWN_ARGUMENT = "unknown-argument"
    """The model doesn't know an argument and `strict` was set; `field` names it."""
    NOT_ALLOWED = "not-allowed"
    """The type of exchange doesn't permit it."""
    LIMIT = "limit"
    """A bound of `BrokerLimits` is reached."""
    ILLEGAL_STATE = "illegal-state"
    """The state of the transaction or message doesn't permit it."""


class Fault(AmqpError):
    """A command failed; nothing has changed."""

    def __init__(self, kind: FaultKind, text: str, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        """The category, which each version maps to a code."""
        self.text = text
        """For people: who, what and where."""
        self.field = field
        """The property or argument of the command that is to blame; "" for none."""

    def __reduce__(self) -> tuple[object, ...]:
        return Fault, (self.kind, self.text, self.field)


class Postponed(Exception):
    """A command has changed nothing, and has to wait for a later turn: what it asks for isn't known yet."""
