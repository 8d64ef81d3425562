"""Fault: what the model answers to a command that it doesn't carry out; each version has its own code for it."""

from __future__ import annotations

from enum import Enum

from ...errors import AmqpError


class FaultKind(Enum):
    """What is wrong with a command, in the model's words. A front end maps it to its version's code and scope."""

    NOT_FOUND = "not-found"
    """The exchange, queue or virtual host doesn't exist."""
    BINDING_NOT_FOUND = "binding-not-found"
    """The exchange and the queue exist, the binding doesn't."""
    INEQUIVALENT = "inequivalent"
    """It exists with another property; `field` names it ("type", "durable", "alternate", an argument)."""
    TYPE_UNKNOWN = "type-unknown"
    """There is no such exchange type."""
    RESERVED_NAME = "reserved-name"
    """Names that begin with "amq." are the broker's."""
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
    """It has bindings or consumers and was to be deleted only without."""
    NOT_EMPTY = "not-empty"
    """The queue has messages and was to be deleted only without."""
    USED_AS_ALTERNATE = "used-as-alternate"
    """The exchange is the alternate of another one or of a queue."""
    BAD_ARGUMENT = "bad-argument"
    """An argument has a value that it can't have; `field` names it."""
    UNKNOWN_ARGUMENT = "unknown-argument"
    """An argument that the model doesn't know, where that was to be refused; `field` names it."""
    NOT_ALLOWED = "not-allowed"
    """The kind of exchange doesn't permit it."""
    LIMIT = "limit"
    """A bound of `BrokerLimits` is reached."""
    ILLEGAL_STATE = "illegal-state"
    """The transaction or message isn't in a state that permits it."""


class Fault(AmqpError):
    """A command that wasn't carried out; nothing has changed.

    `kind` says what is wrong, `field` which property or argument, `text` is for people: who, what and where.
    """

    def __init__(self, kind: FaultKind, text: str, field: str = "") -> None:
        super().__init__(text)
        self.kind = kind
        self.text = text
        self.field = field

    def __reduce__(self) -> tuple[object, ...]:
        return Fault, (self.kind, self.text, self.field)
