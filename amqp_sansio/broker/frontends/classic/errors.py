"""Refusals: maps the model's faults to the reply codes of 0-8 and 0-9-1, and to the end of the channel or connection.

Where RabbitMQ and the specifications differ, the dialect decides: RabbitMQ's behaviour in the dialects named after it,
else the specification's rule for the class or method concerned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from ....versions import AMQP_0_8
from ...model.faults import Fault, FaultKind

if TYPE_CHECKING:
    from ...._classic.codec.dialect import Dialect
    from ...model.owner import Owner

INVALID_PATH: Final = 402
ACCESS_REFUSED: Final = 403
NOT_FOUND: Final = 404
RESOURCE_LOCKED: Final = 405
PRECONDITION_FAILED: Final = 406
NO_ROUTE: Final = 312
NO_CONSUMERS: Final = 313
CONNECTION_FORCED: Final = 320
SYNTAX_ERROR: Final = 502
COMMAND_INVALID: Final = 503
RESOURCE_ERROR: Final = 506
NOT_ALLOWED: Final = 530
NOT_IMPLEMENTED: Final = 540
INTERNAL_ERROR: Final = 541

NAMES: Final[Mapping[int, str]] = {
    311: "CONTENT_TOO_LARGE",
    NO_ROUTE: "NO_ROUTE",
    NO_CONSUMERS: "NO_CONSUMERS",
    CONNECTION_FORCED: "CONNECTION_FORCED",
    INVALID_PATH: "INVALID_PATH",
    ACCESS_REFUSED: "ACCESS_REFUSED",
    NOT_FOUND: "NOT_FOUND",
    RESOURCE_LOCKED: "RESOURCE_LOCKED",
    PRECONDITION_FAILED: "PRECONDITION_FAILED",
    SYNTAX_ERROR: "SYNTAX_ERROR",
    COMMAND_INVALID: "COMMAND_INVALID",
    RESOURCE_ERROR: "RESOURCE_ERROR",
    NOT_ALLOWED: "NOT_ALLOWED",
    NOT_IMPLEMENTED: "NOT_IMPLEMENTED",
    INTERNAL_ERROR: "INTERNAL_ERROR",
}
"""Reply code names as clients know them."""

_LOCKED: Final = (
    "cannot obtain exclusive access to locked queue '{}' in vhost '{}'. It could be originally declared on another "
    "connection or the exclusive property value does not match that of the original declaration."
)
_LONGEST: Final = 255
_SOFT: Final = False
_HARD: Final = True

_RABBIT: Final[Mapping[FaultKind, tuple[int, bool]]] = {
    FaultKind.NOT_FOUND: (NOT_FOUND, _SOFT),
    FaultKind.BINDING_NOT_FOUND: (NOT_FOUND, _SOFT),
    FaultKind.INEQUIVALENT: (PRECONDITION_FAILED, _SOFT),
    FaultKind.TYPE_UNKNOWN: (COMMAND_INVALID, _HARD),
    FaultKind.RESERVED_NAME: (ACCESS_REFUSED, _SOFT),
    FaultKind.NAME_MISSING: (ACCESS_REFUSED, _SOFT),
    FaultKind.DEFAULT_EXCHANGE: (ACCESS_REFUSED, _SOFT),
    FaultKind.LOCKED: (RESOURCE_LOCKED, _SOFT),
    FaultKind.EXCLUSIVE: (ACCESS_REFUSED, _SOFT),
    FaultKind.INTERNAL: (ACCESS_REFUSED, _SOFT),
    FaultKind.IN_USE: (PRECONDITION_FAILED, _SOFT),
    FaultKind.NOT_EMPTY: (PRECONDITION_FAILED, _SOFT),
    FaultKind.USED_AS_ALTERNATE: (PRECONDITION_FAILED, _SOFT),
    FaultKind.BAD_ARGUMENT: (PRECONDITION_FAILED, _SOFT),
    FaultKind.UNKNOWN_ARGUMENT: (PRECONDITION_FAILED, _SOFT),
    FaultKind.NOT_ALLOWED: (NOT_ALLOWED, _HARD),
    FaultKind.LIMIT: (PRECONDITION_FAILED, _SOFT),
    FaultKind.ILLEGAL_STATE: (PRECONDITION_FAILED, _SOFT),
}

_SPEC_0_9_1: Final[Mapping[FaultKind, tuple[int, bool]]] = {
    **_RABBIT,
    # A failed unbind ends the connection (queue.unbind); the specification names no code.
    FaultKind.BINDING_NOT_FOUND: (NOT_FOUND, _HARD),
    FaultKind.LIMIT: (RESOURCE_ERROR, _HARD),
}

_SPEC_0_8: Final[Mapping[FaultKind, tuple[int, bool]]] = {
    **_SPEC_0_9_1,
    # 0-8 has no 406, but requires a channel exception.
    FaultKind.INEQUIVALENT: (NOT_ALLOWED, _SOFT),
    FaultKind.IN_USE: (RESOURCE_LOCKED, _SOFT),
    FaultKind.NOT_EMPTY: (NOT_ALLOWED, _SOFT),
    FaultKind.BAD_ARGUMENT: (NOT_ALLOWED, _SOFT),
    FaultKind.UNKNOWN_ARGUMENT: (NOT_ALLOWED, _SOFT),
    FaultKind.ILLEGAL_STATE: (NOT_ALLOWED, _SOFT),
}

_EXCEPTIONS_OF_THE_SPECIFICATIONS: Final[Mapping[tuple[str, FaultKind], tuple[int, bool]]] = {
    ("file.consume", FaultKind.EXCLUSIVE): (RESOURCE_LOCKED, _SOFT),
    ("stream.consume", FaultKind.EXCLUSIVE): (RESOURCE_LOCKED, _SOFT),
}
_EXCEPTIONS_OF_0_8: Final[Mapping[tuple[str, FaultKind], tuple[int, bool]]] = {
    **_EXCEPTIONS_OF_THE_SPECIFICATIONS,
    ("queue.declare", FaultKind.RESERVED_NAME): (ACCESS_REFUSED, _HARD),
    ("queue.bind", FaultKind.DEFAULT_EXCHANGE): (NOT_ALLOWED, _HARD),
}
"""Methods that differ from the table above."""


class Refusal(Exception):
    """A request fails: the channel, or with `is_hard` the connection, is closed with `code`."""

    def __init__(self, code: int, text: str, *, is_hard: bool = False) -> None:
        super().__init__(text)
        self.code = code
        self.text = text
        self.is_hard = is_hard

    @property
    def reply_text(self) -> str:
        """The text of the close, prefixed with the code's name as in RabbitMQ."""
        return _short(f"{NAMES[self.code]} - {self.text}")


def _short(text: str) -> str:
    """Return a text as RabbitMQ cuts it: a reply text has 255 octets at most."""
    octets = text.encode("utf-8", "surrogateescape")
    if len(octets) <= _LONGEST:
        return text
    return octets[: _LONGEST - 3].decode("utf-8", "ignore") + "..."


def speaks_rabbit(dialect: Dialect) -> bool:
    """Whether RabbitMQ's behaviour applies where it differs from the specification."""
    return dialect.name.endswith("-rabbit")


def refusal_of(fault: Fault, dialect: Dialect, method: Any, owner: Owner) -> Refusal:
    """Return the refusal that a fault means for the client whose `method` caused it."""
    text = _text(fault, method, owner)
    kind = fault.kind
    if speaks_rabbit(dialect):
        if kind is FaultKind.INEQUIVALENT and fault.field == "exclusive":
            # RabbitMQ reports another connection's queue instead.
            return Refusal(RESOURCE_LOCKED, _LOCKED.format(method.queue, owner.vhost.name))
        code, is_hard = _RABBIT[kind]
    else:
        is_old = dialect.version is AMQP_0_8
        exceptions = _EXCEPTIONS_OF_0_8 if is_old else _EXCEPTIONS_OF_THE_SPECIFICATIONS
        if kind is FaultKind.INEQUIVALENT and fault.field == "type":
            # The 507 in 0-8's text doesn't exist; "not allowed" is 530.
            code, is_hard = NOT_ALLOWED, True
        else:
            found = exceptions.get((method.NAME, kind))
            code, is_hard = found or (_SPEC_0_8 if is_old else _SPEC_0_9_1)[kind]
    return Refusal(code, text, is_hard=is_hard)


def _text(fault: Fault, method: Any, owner: Owner) -> str:
    kind = fault.kind
    if kind is FaultKind.DEFAULT_EXCHANGE:
        return "operation not permitted on the default exchange"
    if kind is FaultKind.TYPE_UNKNOWN:
        return f"unknown exchange type '{method.type}'"
    if kind is FaultKind.RESERVED_NAME:
        what = "queue" if method.NAME.startswith("queue.") else "exchange"
        name = getattr(method, what)
        return f"{what} name '{name}' contains reserved prefix 'amq.*'"
    if kind is FaultKind.INEQUIVALENT:
        return _inequivalent(fault, method, owner) or fault.text
    return fault.text


def _inequivalent(fault: Fault, method: Any, owner: Owner) -> str:
    """Return the requested and the existing value, in RabbitMQ's words; "" if unknown."""
    field = fault.field
    if method.NAME == "queue.declare":
        what, name = "queue", method.queue
        found: Any = owner.vhost.queues.get(name)
    else:
        what, name = "exchange", method.exchange
        found = owner.vhost.exchanges.get(name)
    if found is None:
        return ""
    wire_name = "alternate-exchange" if field == "alternate" else field
    if wire_name in ("type", "durable", "auto_delete", "internal", "exclusive"):
        current = found.exclusive_to is not None if field == "exclusive" else getattr(found, field)
        received, is_now = _plain(getattr(method, field)), _plain(current)
    else:
        received = _typed(method.arguments.get(wire_name))
        is_now = _typed(found.arguments.get(wire_name))
    return (
        f"inequivalent arg '{wire_name}' for {what} '{name}' in vhost '{owner.vhost.name}': "
        f"received {received} but current is {is_now}"
    )


def _plain(value: object) -> str:
    return f"'{str(value).lower() if isinstance(value, bool) else value}'"


def _typed(value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return f"the value '{str(value).lower()}' of type 'bool'"
    if isinstance(value, int):
        return f"the value '{value}' of type '{'signedint' if -(1 << 31) <= value < 1 << 31 else 'long'}'"
    if isinstance(value, bytes):
        return f"the value '{value.decode('utf-8', 'replace')}' of type 'longstr'"
    return f"the value '{value}' of type 'longstr'"
